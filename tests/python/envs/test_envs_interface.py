"""The interface of Gymnasium: making, resetting, ending and going on, seeds, wrappers, what is refused."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import vector as wrappers
from gymnasium_states import TASKS

import dualstep as ds
from users_task import Upright

MODES = list(AutoresetMode)


def tumbling(num_envs=6, **options):
    """Hoppers that fall soon, at different times."""
    options = {"num_threads": 1, "reset_noise_scale": 0.05, **options}
    return ds.envs.make("Hopper", num_envs, **options)


def actions_of(env, rng):
    return rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_made_by_name_and_steps(name):
    env = gymnasium.make_vec(f"dualstep/{name}-v0", num_envs=3, num_threads=1)
    theirs = gymnasium.spec(f"{name}-v5")
    assert isinstance(env, VectorEnv) and env.spec.id == f"dualstep/{name}-v0"
    assert env.spec.max_episode_steps == env.max_episode_steps == theirs.max_episode_steps
    assert env.spec.reward_threshold == theirs.reward_threshold
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert env.observation_space.contains(observation) and reward.shape == (3,)
    assert terminated.dtype == truncated.dtype == bool
    assert all(info["_" + key].shape == (3,) for key in info if not key.startswith("_"))
    env.close()


@pytest.mark.parametrize("name", TASKS)
def test_spaces_and_options_are_gymnasiums(name):
    pytest.importorskip("gymnasium.envs.mujoco")
    theirs = gymnasium.make(f"{name}-v5").unwrapped
    env = ds.envs.make(name, 2, dtype="float64", num_threads=1)
    assert env.single_observation_space == theirs.observation_space
    assert env.single_action_space == theirs.action_space
    assert env.metadata["render_fps"] == theirs.metadata["render_fps"]
    import inspect

    given = inspect.signature(type(theirs).__init__).parameters
    ours = inspect.signature(type(env.task).__init__).parameters
    for key, parameter in given.items():
        if key in ("self", "kwargs", "default_camera_config"):
            continue
        assert ours[key].default == parameter.default, key
    env.close()


@pytest.mark.parametrize("name", TASKS)
def test_resets_are_scattered_as_gymnasiums(name):
    """Two samples of starts: each number of the observation has the same distribution."""
    theirs = gymnasium.make(f"{name}-v5").unwrapped
    wanted = np.array([theirs.reset(seed=seed)[0] for seed in range(400)])
    env = ds.envs.make(name, 400, dtype="float64", num_threads=1)
    got, _ = env.reset(seed=0)
    assert (np.ptp(got, axis=0) > 0).tolist() == (np.ptp(wanted, axis=0) > 0).tolist()
    for ours, reference in zip(got.T, wanted.T, strict=True):
        if np.ptp(reference) == 0:
            assert np.allclose(ours, reference[0], atol=1e-12)
            continue
        # Kolmogorov and Smirnov: 0.16 is passed by chance once in 20,000 times
        both = np.sort(np.concatenate([ours, reference]))
        steps = (np.searchsorted(np.sort(sample), both, side="right") / 400 for sample in (ours, reference))
        assert abs(np.subtract(*steps)).max() < 0.16


@pytest.mark.parametrize("name", ["Ant", "InvertedPendulum", "Reacher"])
def test_checker(name):
    env = gymnasium.make(f"dualstep/{name}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert isinstance(env.unwrapped.sim, ds.Batch)
    env.close()


def test_single_environment_has_gymnasiums_time_limit():
    env = gymnasium.make("dualstep/Reacher-v0")
    env.reset(seed=0)
    for step in range(50):
        *_, truncated, _ = env.step(env.action_space.sample())
        assert truncated == (step == 49)


@pytest.mark.parametrize("mode", MODES)
def test_metadata_says_how_it_resets(mode):
    for given in (mode, mode.value, mode.name):
        env = gymnasium.make_vec("dualstep/Hopper-v0", num_envs=2, autoreset_mode=given, num_threads=1)
        assert env.metadata["autoreset_mode"] is mode and env.autoreset_mode is mode
        env.close()


def test_resets_are_in_the_same_step_unless_said():
    assert gymnasium.make_vec("dualstep/Hopper-v0", num_envs=1).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def steps_until_some_end(env, rng, limit=400):
    for _ in range(limit):
        result = env.step(actions_of(env, rng))
        if (result[2] | result[3]).any() and not (result[2] | result[3]).all():
            return result
    raise AssertionError("no episode ended")


def test_same_step_begins_anew_and_keeps_the_last_observation():
    env = tumbling()
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    observation, reward, terminated, truncated, info = steps_until_some_end(env, rng)
    done = terminated | truncated
    assert np.array_equal(info["_final_obs"], done) and info["final_obs"].shape == observation.shape
    # those that go on saw the same; those that ended stand in a start again
    assert np.array_equal(info["final_obs"][~done], observation[~done])
    assert (info["final_obs"][done][:, 0] < 0.7).any() or (abs(info["final_obs"][done][:, 1]) > 0.2).any()
    assert (abs(observation[done][:, 0] - 1.25) < 0.06).all()
    assert np.array_equal(env.sim.qpos[:, 1:], observation[:, :5])
    # a reset tells of positions; rewards are of those that go on, and in final_info of the others
    assert info["_x_position"].all() and np.array_equal(info["_reward_forward"], ~done)
    assert np.array_equal(info["final_info"]["_reward_forward"], done)
    assert np.array_equal(info["x_position"], env.sim.qpos[:, 0])
    total = info["final_info"]["reward_forward"] + info["final_info"]["reward_ctrl"]
    assert np.allclose(total + info["final_info"]["reward_survive"], reward, atol=1e-6)


def test_next_step_ignores_the_action_after_the_end():
    env = tumbling(autoreset_mode="NextStep")
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    observation, _, terminated, truncated, info = steps_until_some_end(env, rng)
    done = terminated | truncated
    assert "final_obs" not in info
    assert (abs(observation[done][:, 1]) > 0.2).any() or (observation[done][:, 0] < 0.7).any()
    actions = actions_of(env, rng)
    actions[done] = np.nan
    observation, reward, terminated, truncated, info = env.step(actions)
    assert (reward[done] == 0).all() and not (terminated | truncated)[done].any()
    assert (abs(observation[done][:, 0] - 1.25) < 0.06).all()
    assert not info["_reward_forward"][done].any() and info["_reward_forward"][~done].all()
    assert np.array_equal(info["x_position"], env.sim.qpos[:, 0])


def test_disabled_waits_for_a_reset_by_mask():
    env = tumbling(autoreset_mode="Disabled")
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    observation, _, terminated, truncated, _ = steps_until_some_end(env, rng)
    done = terminated | truncated
    with pytest.raises(gymnasium.error.ResetNeeded, match="are done"):
        env.step(actions_of(env, rng))
    before = env.sim.qpos[~done].copy()
    begun, info = env.reset(options={"reset_mask": done})
    assert np.array_equal(begun[~done], observation[~done]) and np.array_equal(env.sim.qpos[~done], before)
    assert (abs(begun[done][:, 0] - 1.25) < 0.06).all()
    assert np.array_equal(info["_x_position"], done)
    env.step(actions_of(env, rng))


def test_those_that_were_never_reset_are_not_stepped():
    env, wanted = tumbling(autoreset_mode="Disabled", seed=3), tumbling(seed=3)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"before step\(\): 6 of 6 environments were never reset"):
        env.step(np.zeros((6, 3)))
    mask = np.arange(6) < 4
    first, _ = env.reset(options={"reset_mask": mask})
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"2 of 6 environments were never reset: \[4, 5\]"):
        env.step(np.zeros((6, 3)))
    observation, _ = env.reset(options={"reset_mask": ~mask})
    whole, _ = wanted.reset()
    assert np.array_equal(observation, whole) and np.array_equal(first, whole * mask[:, None])
    assert np.array_equal(env.step(np.zeros((6, 3)))[0], wanted.step(np.zeros((6, 3)))[0])


@pytest.mark.parametrize(
    ("mask", "kind"),
    [
        (np.ones(5, bool), ValueError),
        (np.ones(6), TypeError),
        (np.zeros(6, bool), ValueError),
    ],
)
def test_reset_mask_is_checked(mask, kind):
    env = tumbling()
    env.reset(seed=0)
    with pytest.raises(kind, match="reset_mask"):
        env.reset(options={"reset_mask": mask})


def test_the_modes_see_the_same_episodes():
    """Same seeds, same actions by (episode, step): the same rewards, whatever the mode."""
    returns = {}
    for mode in MODES:
        env = tumbling(autoreset_mode=mode)
        env.reset(seed=7)
        sums: list[list[float]] = [[] for _ in range(env.num_envs)]
        current, step, episode = np.zeros(6), np.zeros(6, int), np.zeros(6, int)
        idle = np.zeros(6, bool)
        for _ in range(250):
            seeds = zip(episode, step, strict=True)
            action = np.array([np.random.default_rng([e, t, i]).uniform(-1, 1, 3) for i, (e, t) in enumerate(seeds)])
            _, reward, terminated, truncated, _ = env.step(action)
            done = terminated | truncated
            current += reward
            step += 1
            if mode == AutoresetMode.NEXT_STEP:
                step[idle] = 0
                idle = done
            for i in np.flatnonzero(done):
                sums[i].append(current[i])
                current[i] = 0
                step[i] = 0
                episode[i] += 1
            if mode == AutoresetMode.DISABLED and done.any():
                env.reset(options={"reset_mask": done})
        returns[mode] = [row[:3] for row in sums]
    assert returns[AutoresetMode.SAME_STEP] == returns[AutoresetMode.DISABLED] == returns[AutoresetMode.NEXT_STEP]
    assert all(len(row) == 3 for row in returns[AutoresetMode.SAME_STEP])


def rollout(env, seed, steps=60, rows=None):
    observation, _ = env.reset(seed=seed)
    seen = [observation]
    for t in range(steps):
        action = np.stack([np.random.default_rng([i, t]).uniform(-1, 1, 3) for i in (rows or range(env.num_envs))])
        seen.append(env.step(action)[0])
    return np.array(seen)


def test_an_environment_does_not_depend_on_the_rest_of_the_batch():
    whole = rollout(tumbling(9), seed=11)
    part = rollout(tumbling(2), seed=[13, 16], rows=[2, 5])
    assert np.array_equal(whole[:, [2, 5]], part)
    assert not np.array_equal(whole[0, 0], whole[0, 1])


def test_seeds_repeat_and_differ():
    env = tumbling()
    first, second = rollout(env, seed=5), rollout(env, seed=5)
    assert np.array_equal(first, second)
    assert not np.array_equal(first[0], env.reset()[0])
    assert not np.array_equal(first[0], env.reset(seed=6)[0])
    single = gymnasium.make("dualstep/Hopper-v0", reset_noise_scale=0.05)
    assert np.array_equal(single.reset(seed=7)[0], first[0, 2])
    with pytest.raises(ValueError, match="2 seeds are given"):
        env.reset(seed=[1, 2])
    for seed in (1.5, True, "1", [0, 1, 2, 3, 4, 5.0]):
        with pytest.raises(gymnasium.error.Error, match="Seed must be a python integer, actual type"):
            env.reset(seed=seed)
    for seed in (-1, [0, 1, 2, 3, 4, -5]):
        with pytest.raises(gymnasium.error.Error, match="Seed must be greater or equal to zero"):
            tumbling(seed=seed)
    env.reset(seed=np.arange(6))
    for steps in (0, 2.5, True, "9"):
        with pytest.raises(ValueError, match="max_episode_steps .* is given, and it must be a positive"):
            tumbling(max_episode_steps=steps)


@pytest.mark.parametrize("mode", MODES)
def test_statistics_and_reward_wrappers(mode):
    env = wrappers.RecordEpisodeStatistics(tumbling(autoreset_mode=mode, max_episode_steps=30))
    env = wrappers.NormalizeReward(wrappers.ClipAction(env))
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    lengths = []
    for _ in range(100):
        *_, terminated, truncated, info = env.step(actions_of(env, rng))
        if "episode" in info:
            lengths += info["episode"]["l"][info["_episode"]].tolist()
        if mode == AutoresetMode.DISABLED and (terminated | truncated).any():
            env.reset(options={"reset_mask": terminated | truncated})
    assert lengths and max(lengths) <= 30


def test_observation_wrappers():
    env = wrappers.NormalizeObservation(tumbling(autoreset_mode="NextStep"))
    observation, _ = env.reset(seed=1)
    for _ in range(20):
        observation = env.step(env.action_space.sample())[0]
    assert np.isfinite(observation).all()
    env = wrappers.RescaleAction(tumbling(), -2.0, 2.0)
    env = wrappers.DictInfoToList(env)
    env.reset(seed=1)
    infos = env.step(env.action_space.sample())[4]
    assert len(infos) == 6 and "x_position" in infos[0]


def test_time_limit_truncates():
    env = ds.envs.make("HalfCheetah", 3, max_episode_steps=5, num_threads=1)
    env.reset(seed=0)
    for step in range(12):
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        assert not terminated.any() and (truncated == (step % 5 == 4)).all()
        assert ("final_obs" in info) == truncated.all()


def test_actions_that_are_not_finite():
    env = tumbling()
    env.reset(seed=0)
    bad = np.zeros((6, 3))
    bad[2, 1] = np.nan
    bad[4, 0] = np.inf
    state = env.sim.qpos.copy()
    with pytest.raises(ValueError, match=r"environments \[2, 4\]"):
        env.step(bad)
    assert np.array_equal(state, env.sim.qpos)
    env = tumbling(nonfinite="clamp")
    env.reset(seed=0)
    _, reward, _, _, info = env.step(bad)
    assert info["action_nonfinite"].tolist() == [False, False, True, False, True, False]
    assert env.sim.ctrl[4, 0] == 1 and env.sim.ctrl[2, 1] == 0 and np.isfinite(reward).all()
    assert "action_nonfinite" not in env.step(np.zeros((6, 3)))[4]
    with pytest.raises(ValueError, match=r"\(6, 3\) is wanted"):
        env.step(np.zeros((6, 2)))
    with pytest.raises(ValueError, match="refuse"):
        tumbling(nonfinite="ignore")


class Plain(ds.envs.Task):
    """Four functions that are right, for tests that make one of them wrong."""

    derived = False

    def __init__(self) -> None:
        super().__init__("inverted_pendulum.xml")

    def reset(self, s, draw):
        return {"qpos": 0.1 * draw.normal(2)}

    def observe(self, s):
        return s.qpos

    def reward(self, s):
        return s.qpos[:, 0], {"away": s.qpos[:, 0]}


class Free(Plain):
    def action_bounds(self):
        return np.array([-np.inf], np.float32), np.array([2.0], np.float32)


def test_infinite_actions_without_bounds_are_zero():
    env = ds.envs.BatchEnv(Free(), 3, nonfinite="clamp", num_threads=1)
    env.reset(seed=0)
    env.step(np.array([[-np.inf], [np.inf], [np.nan]]))
    assert env.sim.ctrl[:, 0].tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    ("function", "gives", "kind", "message"),
    [
        ("observe", lambda s: s.qpos[:, 0], ValueError, r"observe\(\) has shape \(3,\), and \(3, n\) is wanted"),
        ("observe", lambda s: [1.0], TypeError, r"observe\(\) is list, and an array of shape \(3, n\) is wanted"),
        ("reward", lambda s: s.qpos[:, 0], TypeError, r"reward\(\) is ndarray, and a pair is wanted"),
        ("reward", lambda s: (s.qpos[:, :1], {}), ValueError, r"reward\(\)\[0\] has shape \(3, 1\), and \(3,\) is"),
        ("reward", lambda s: (s.qpos[:, 0], {"a": 1.0}), TypeError, r"reward\(\)\[1\]\['a'\] is float, and an array"),
        ("reward", lambda s: (s.qpos[:, 0], None), TypeError, r"reward\(\)\[1\] is NoneType, and a dict"),
        ("reward", lambda s: (s.qpos[:, 0], {1: s.qpos}), TypeError, r"reward\(\)\[1\] has 1, and names are wanted"),
        ("info", lambda s: {2: s.qpos}, TypeError, r"info\(\) has 2, and names are wanted there, each with an array"),
        ("observe", lambda s: s.recall("a"), KeyError, r"memory has no 'a'; there is: nothing"),
        ("terminated", lambda s: s.qpos[:, 0], TypeError, r"terminated\(\) has dtype float32, and booleans are wanted"),
        ("terminated", lambda s: s.qpos > 1, ValueError, r"terminated\(\) has shape \(3, 2\), and \(3,\) is wanted"),
        ("reset", lambda s, d: {"qpso": d.normal(2)}, ValueError, r"reset\(\)\['qpso'\] is given, and these"),
        ("reset", lambda s, d: {"xpos": s.xpos}, ValueError, r"reset\(\)\['xpos'\] is given, and these can be written"),
        ("reset", lambda s, d: {"qpos": d.normal(1)}, ValueError, r"reset\(\)\['qpos'\] has shape \(3, 1\), and"),
        ("reset", lambda s, d: d.normal(2), TypeError, r"reset\(\) is ndarray, and a dict of arrays by name is wanted"),
        ("control", lambda s, a: a[:, 0], ValueError, r"control\(\)\['ctrl'\] has shape \(3,\), and \(3, 1\) is"),
        ("info", lambda s: {"a": s.qpos[:2]}, ValueError, r"info\(\)\['a'\] has shape \(2, 2\), and \(3, ...\) is"),
    ],
)
def test_what_a_task_gives_is_checked(function, gives, kind, message):
    wrong = type("Wrong", (Plain,), {function: lambda self, *given: gives(*given)})
    with pytest.raises(kind, match="Wrong." + message):
        env = ds.envs.BatchEnv(wrong(), 3, num_threads=1)
        env.reset(seed=0)
        env.step(np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("memory", "kind", "message"),
    [
        (3, TypeError, r"memory is 3, and a dict of shapes by name is wanted"),
        ({1: 2}, TypeError, r"memory has 1, and names are wanted"),
        ({"a": -1}, ValueError, r"memory\['a'\] is -1, and an integer of 0 or more, or a tuple of such, is wanted"),
        ({"a": "x"}, ValueError, r"memory\['a'\] is 'x', and an integer"),
        ({"a": (2, 0.5)}, ValueError, r"memory\['a'\] is \(2, 0.5\), and an integer"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"action_delay": 1}, {"motor_model": "dcmotor"}])
def test_the_memory_of_a_task_is_checked(memory, kind, message, options):
    ds.envs.register_task("Wrong", type("Wrong", (Plain,), {"memory": memory, "no_load_velocity": {".*": 9.0}}))
    with pytest.raises(kind, match="Wrong." + message):
        ds.envs.make("Wrong", 3, num_threads=1, **options)


@pytest.mark.parametrize(
    ("bounds", "kind", "message"),
    [
        (None, TypeError, r"is NoneType, and a pair is wanted: the least and the largest action"),
        ((np.zeros(1), ["x"]), TypeError, r"\[1\] has dtype <U1, and numbers are wanted"),
        ((np.zeros(1), np.zeros(2)), ValueError, r"has shapes \(1,\) and \(2,\), and \(k,\) twice is wanted"),
        ((0.0, 1.0), ValueError, r"has shapes \(\) and \(\), and \(k,\) twice is wanted"),
        ((np.ones(1), np.zeros(1)), ValueError, r"has 1.0 and 0.0 at 0, and the least one first is wanted"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"action_delay": 1}])
def test_the_bounds_of_a_task_are_checked(bounds, kind, message, options):
    ds.envs.register_task("Wrong", type("Wrong", (Plain,), {"action_bounds": lambda self: bounds}))
    with pytest.raises(kind, match=r"Wrong.action_bounds\(\) ?" + message):
        ds.envs.make("Wrong", 3, num_threads=1, **options)


def test_a_mode_that_is_none_is_told_those_there_are():
    with pytest.raises(ValueError, match="the name of one: 'NEXT_STEP', 'SAME_STEP', 'DISABLED'"):
        tumbling(autoreset_mode="foo")


@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
def test_what_is_closed_is_not_drawn(render_mode):
    for env in (tumbling(render_mode=render_mode), ds.envs.make_single("Hopper", render_mode=render_mode)):
        env.close()
        with pytest.raises(RuntimeError, match="this environment is closed"):
            env.render()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Ant", {"healthy_z_range": (2, 1)}, r"healthy_z_range \(2, 1\) is given, and \(least, most\) is wanted"),
        ("Ant", {"contact_force_range": (float("nan"), 1)}, "contact_force_range nan is given, and a number is wanted"),
        ("Hopper", {"healthy_state_range": 3}, r"healthy_state_range 3 is given, and \(least, most\) is wanted"),
        ("Walker2d", {"ctrl_cost_weight": float("nan")}, "ctrl_cost_weight nan is given, and a finite number"),
        ("Humanoid", {"healthy_reward": float("inf")}, "healthy_reward inf is given, and a finite number is wanted"),
        ("HumanoidStandup", {"impact_cost_range": (0, "1")}, "impact_cost_range '1' is given, and a number is wanted"),
        ("HalfCheetah", {"reset_noise_scale": -0.1}, "reset_noise_scale -0.1 is given, and a .* of 0 or more"),
        ("Swimmer", {"forward_reward_weight": "much"}, "forward_reward_weight 'much' is given"),
        ("InvertedPendulum", {"reset_noise_scale": float("nan")}, "reset_noise_scale nan is given"),
        ("InvertedDoublePendulum", {"healthy_reward": None}, "healthy_reward None is given"),
        ("Reacher", {"reward_dist_weight": float("inf")}, "reward_dist_weight inf is given"),
        ("Pusher", {"reward_near_weight": float("nan")}, "reward_near_weight nan is given"),
    ],
)
def test_options_that_make_no_sense(name, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ds.envs.make(name, 1, **options)


def test_only_tasks_are_registered():
    for given, what in ((int, "int"), (Plain(), "an object of Plain"), (None, "an object of NoneType")):
        with pytest.raises(TypeError, match=f"task 'Mine' is {what}, and a subclass of dualstep.envs.Task"):
            ds.envs.register_task("Mine", given)
    for name in ("a b/c", "dualstep/Mine", "Mine-v0", "file.py:Mine", "", 3):
        with pytest.raises(ValueError, match=f"^the name {re.escape(repr(name))} of a task is given, and letters, digits"):
            ds.envs.register_task(name, Plain)
    for steps in (-2, 0, 1.5, True, "9"):
        with pytest.raises(ValueError, match=f"^max_episode_steps {steps!r} is given, and it must be a positive integer"):
            ds.envs.register_task("Mine", Plain, max_episode_steps=steps)
    assert not {"Mine", "a b/c", ""}.intersection(ds.envs.names())


def test_tasks_of_the_package_are_not_replaced():
    for name in ("Hopper", "CartpoleBalance"):
        entry = ds.envs.registry.find(name)
        with pytest.raises(ValueError, match=f"^there is another task '{name}', and Plain wants a name of its own$"):
            ds.envs.register_task(name, Plain)
        assert ds.envs.registry.find(name) == entry


def test_a_task_out_of_a_file(tmp_path, monkeypatch):
    text = "from test_envs_interface import Plain\nimport dualstep as ds\n"
    text += "class OutOfFile(Plain): pass\nclass Known(Plain): pass\nclass Ant(Plain): pass\n"
    (tmp_path / "tasks_of_mine.py").write_text(text + 'ds.envs.register_task("KnownToo", Known, max_episode_steps=7)')
    (tmp_path / "broken.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    env = ds.envs.make("tasks_of_mine.py:OutOfFile", 2)
    assert type(env.task).__name__ == "OutOfFile" and env.max_episode_steps == 1000
    assert type(ds.envs.make("OutOfFile").task) is type(env.task)
    assert gymnasium.make("dualstep/OutOfFile-v0").unwrapped.task.frame_skip == 1
    assert ds.envs.make(f"{tmp_path}/tasks_of_mine.py:Known").max_episode_steps == 7
    assert type(ds.envs.make("test_envs_interface:Free").task) is Free
    for name, kind, message in (
        ("nowhere.py:A", ValueError, "there is no file '.*nowhere.py'"),
        ("broken.py:A", ValueError, "'broken.py' cannot be imported: ZeroDivisionError"),
        ("no_such_module:A", ValueError, "cannot be imported: ModuleNotFoundError"),
        ("tasks_of_mine.py:Anything", ValueError, "has no 'Anything'"),
        ("tasks_of_mine.py:Ant", ValueError, "there is another task 'Ant'"),
        ("tasks_of_mine.py:ds", TypeError, "an object of module, and a subclass"),
    ):
        with pytest.raises(kind, match=message):
            ds.envs.make(name)


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_diverged_environments_begin_anew_and_are_counted(mode):
    env = ds.envs.make("Ant", 4, num_threads=1, autoreset_mode=mode)
    env.reset(seed=0)
    env.step(np.zeros((4, 8)))
    env.sim.qvel[1] = 1e30
    observation, reward, terminated, _, info = env.step(np.zeros((4, 8)))
    assert info["diverged"].tolist() == [False, True, False, False] and env.diverged_count == 1
    assert terminated[1] and reward[1] == 0
    assert np.isfinite(observation).all() and np.isfinite(reward).all()
    for _ in range(3):
        observation, reward, terminated, _, info = env.step(np.zeros((4, 8)))
        assert "diverged" not in info and not terminated[1]
    assert np.isfinite(env.sim.qpos).all() and env.diverged_count == 1


def test_names_that_are_not_there():
    with pytest.raises(ValueError, match="near it are: Humanoid"):
        ds.envs.make("Humanid")
    with pytest.raises(ValueError, match="the tasks are: Ant, "):
        ds.envs.make("Zzzz")
    with pytest.raises(gymnasium.error.NameNotFound, match="Did you mean"):
        gymnasium.make_vec("dualstep/Humanod-v0")
    with pytest.raises(TypeError, match="unexpected keyword argument 'ctrl_cost_wieght'; near it are: ctrl_cost"):
        ds.envs.make("Ant", 1, ctrl_cost_wieght=1)
    with pytest.raises(ValueError, match="autoreset_mode 'never'"):
        ds.envs.make("Ant", 1, autoreset_mode="never")
    with pytest.raises(ValueError, match="output 'tensorflow'"):
        ds.envs.make("Ant", 1, output="tensorflow")
    with pytest.raises(gymnasium.error.ResetNeeded):
        ds.envs.make("Ant", 1).step(np.zeros((1, 8)))


def test_state_written_from_outside_is_seen():
    """Ant's speed is of the last evaluation: a jump of the state is not a speed."""
    env = ds.envs.make("Ant", 3, num_threads=1)
    env.reset(seed=0)
    env.step(np.zeros((3, 8)))
    env.sim.qpos[1, 0] += 5
    info = env.step(np.zeros((3, 8)))[4]
    assert abs(info["x_velocity"]).max() < 5


def test_state_written_from_outside_is_seen_after_a_reset_of_others():
    env = ds.envs.make("Ant", 3, num_threads=1)
    env.reset(seed=0)
    env.step(np.zeros((3, 8)))
    env.sim.qpos[1, 0] += 5
    env.reset(options={"reset_mask": np.array([True, False, False])})
    info = env.step(np.zeros((3, 8)))[4]
    assert abs(info["x_velocity"]).max() < 5


def test_outputs_are_fresh_at_every_step():
    env = ds.envs.make("InvertedPendulum", 2, num_threads=1)
    first, _ = env.reset(seed=0)
    kept = first.copy()
    second, *_, info = env.step(np.ones((2, 1)))
    assert np.array_equal(first, kept) and not np.array_equal(first, second)
    kept = second.copy()
    env.step(np.ones((2, 1)))
    assert np.array_equal(second, kept)


@pytest.mark.parametrize("output", ["torch", "jax", "dlpack"])
def test_outputs_of_other_libraries(output):
    library = {"torch": "torch", "jax": "jax.numpy", "dlpack": "numpy"}[output]
    library = pytest.importorskip(library)
    wanted = tumbling()
    env = tumbling(output=output)
    wanted.reset(seed=2)
    observation, _ = env.reset(seed=2)
    assert hasattr(observation, "__dlpack__")
    for _ in range(30):
        action = wanted.action_space.sample()
        expected = wanted.step(action)
        got = env.step(library.asarray(action) if output != "dlpack" else action)
        for a, b in zip(expected[:4], got[:4], strict=True):
            assert np.array_equal(a, np.asarray(b))
    if output == "torch":
        assert isinstance(observation, library.Tensor) and isinstance(got[4]["x_position"], library.Tensor)


def test_tasks_of_a_user():
    """A model and four functions, in a few lines."""

    class Balance(Upright):
        def reward(self, s):
            away = abs(s.qpos[:, 0] - self.target)
            return -away, {"away": away}

    ds.envs.register_task("Balance", Balance, max_episode_steps=20)
    env = gymnasium.make_vec("dualstep/Balance-v0", num_envs=5, target=0.5)
    env.reset(seed=0)
    for _ in range(25):
        _, reward, _, truncated, info = env.step(env.action_space.sample())
    assert reward.shape == (5,) and env.task.target == 0.5 and "away" in info
    check_env(gymnasium.make("dualstep/Balance-v0").unwrapped, skip_render_check=True)
