"""Actions and observations that come late."""

import copy
import pickle

import numpy as np
import pytest

import dualstep as ds
from test_envs_groups import Grouped

ds.envs.register_task("Grouped", Grouped)


def made(task="HalfCheetah", count=5, **options):
    return ds.envs.make(task, count, num_threads=1, **options)


def run(env, actions, seed=3):
    seen = [env.reset(seed=seed)[0]]
    for action in actions:
        seen.append(env.step(action)[0])
    return seen


def actions_of(count, width, steps=12, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, count, width)).astype(np.float32)


@pytest.mark.parametrize("output", ["numpy", "torch"])
@pytest.mark.parametrize("delay", [1, 3])
def test_actions_come_late(output, delay):
    if output == "torch":
        torch = pytest.importorskip("torch")
    actions = actions_of(5, 6)
    late = run(made(action_delay=delay), actions)
    # what the actuators get by then; the first one stands for those before it
    plain = run(made(), [actions[max(0, k - delay)] for k in range(len(actions))])
    assert all(np.array_equal(a, b) for a, b in zip(late, plain, strict=True))
    if output == "torch":
        other = run(made(action_delay=delay, output="torch"), list(map(torch.from_numpy, actions)))
        assert all(np.array_equal(a.numpy(), b) for a, b in zip(other, plain, strict=True))


def test_observations_are_old():
    actions = actions_of(5, 6)
    plain, late = run(made(), actions), run(made(observation_delay=2), actions)
    assert all(np.array_equal(late[k], plain[max(0, k - 2)]) for k in range(len(late)))


def test_a_critic_is_told_what_is_so_now():
    actions = actions_of(4, 1)
    plain, late = run(made("Grouped", 4), actions), run(made("Grouped", 4, observation_delay=1), actions)
    began = 0
    for k, groups in enumerate(late):
        before = plain[max(0, k - 1)]
        goes_on = plain[k]["clock"] > before["clock"]
        began += k > 0 and (~goes_on).sum()
        # the first of an episode is not late
        assert np.array_equal(groups["policy"], np.where(goes_on, before["policy"], plain[k]["policy"]))
        assert all(np.array_equal(groups[name], plain[k][name]) for name in ("critic", "clock"))
    assert 0 < began < 40


def test_each_episode_draws_its_own():
    env = made("InvertedPendulum", 64, action_delay=(0, 2), max_episode_steps=4)
    drawn = []
    for seed in (1, 2):
        env.reset(seed=seed)
        drawn.append(env._memory["action_delay"][:, 0].copy())
        assert {0.0, 1.0, 2.0} == set(drawn[-1].tolist())
    assert (drawn[0] != drawn[1]).any()
    for _ in range(4):
        env.step(np.zeros((64, 1), np.float32))
    assert (env._memory["action_delay"][:, 0] != drawn[1]).any()
    # the rest of an episode's beginning is what it is without
    assert np.array_equal(made("InvertedPendulum", 64).reset(seed=2)[0], made("InvertedPendulum", 64, action_delay=(0, 2)).reset(seed=2)[0])


def test_nothing_of_an_episode_reaches_the_next():
    actions = actions_of(2, 1, 9)
    env = made("InvertedPendulum", 2, action_delay=2, observation_delay=1, max_episode_steps=4)
    run(env, actions[:4])
    fresh = made("InvertedPendulum", 2, action_delay=2, observation_delay=1, max_episode_steps=4)
    fresh.load_state(env.state())
    # at its beginning: whatever came before, what is remembered is of this episode
    for name in ("action_delay_past", "observation_delay_past"):
        env._memory[name][...] = np.where(env._memory[f"{name.removesuffix('_past')}_begun"][:, :, None] > 0, env._memory[name], 77)
    for action in actions[4:]:
        assert np.array_equal(env.step(action)[0], fresh.step(action)[0])


def test_a_reset_of_others_changes_nothing():
    actions = actions_of(2, 6, 8)
    options = {"observation_delay": 3, "action_delay": (0, 2), "autoreset_mode": "DISABLED", "max_episode_steps": None}
    plain = run(made(count=2, **options), actions)
    env, other = made(count=2, **options), made(count=2, **options)
    env.reset(seed=3)
    for k, action in enumerate(actions):
        env.step(action)
        if k == 4:
            # of a loaded state too
            other.reset(seed=4)
            other.load_state(env.state())
            env = other
            observation, info = env.reset(options={"reset_mask": np.array([True, False])})
            assert np.array_equal(observation[1], plain[5][1]) and not np.array_equal(observation[0], plain[5][0])
            assert info["_x_position"].tolist() == [True, False] and info["x_position"][1] == 0
    assert np.array_equal(env._observed[1], plain[-1][1])


def test_what_a_task_keeps_as_it_observes_is_of_its_own_steps():
    class Counting(Grouped):
        memory = {"seen": 1}

        def observe(self, s):
            s.keep("seen", s.recall("seen") + 1)
            return s.xp.concatenate([s.qpos, s.recall("seen")], axis=1)

    env = ds.envs.BatchEnv(Counting(), 3, num_threads=1, autoreset_mode="DISABLED")
    env.reset(seed=0)
    for k in range(3):
        observation = env.step(np.zeros((3, 1)))[0]
        env.reset(options={"reset_mask": np.array([True, False, False])})
        assert observation[:, 2].tolist() == [2, k + 2, k + 2]


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on(how):
    actions = actions_of(5, 6)
    env = made(action_delay=(0, 3), observation_delay=(1, 2))
    run(env, actions[:6])
    other = how(env)
    for action in actions[6:]:
        assert np.array_equal(env.step(action)[0], other.step(action)[0])
    assert type(env.task).__name__ == "HalfCheetah"


def test_none_is_no_delay():
    assert type(made(action_delay=0, observation_delay=None).task) is type(made().task)


@pytest.mark.parametrize("given", [-1, (2, 1), (0, 1, 2), 1.5, "one", (0, 5000), (0.5, 1), True, (False, True)])
def test_what_is_no_delay_is_refused(given):
    with pytest.raises((TypeError, ValueError), match="action_delay .* is given, and"):
        made(action_delay=given)
