"""Numbers of a task that are not finite: the function that gave them is named, or they are 0 and counted."""

import re

import numpy as np
import pytest

import dualstep as ds
from dualstep.envs.given import Given
from test_envs_interface import Plain


def nan_in_two(array):
    """Of three rows, the last two."""
    return array * np.where(np.arange(len(array)) > 0, np.nan, 1)[:, None]


@pytest.mark.parametrize(
    ("function", "gives", "what"),
    [
        ("control", lambda s, a: nan_in_two(a), "control()['ctrl']"),
        ("reset", lambda s, d: {"qvel": nan_in_two(d.normal(2))}, "reset()['qvel']"),
        ("events", lambda s, d: {"qvel": nan_in_two(s.qvel)}, "events()['qvel']"),
        ("reward", lambda s: (nan_in_two(s.qpos)[:, 0], {}), "reward()"),
        ("reward", lambda s: (s.qpos[:, 0], {"n": s.qpos[:, 0] > 0, "a": nan_in_two(s.qpos)}), "reward()[1]['a']"),
        ("observe", lambda s: nan_in_two(s.qpos) if s.sim.time.any() else s.qpos, "observe()"),
    ],
)
def test_what_is_not_finite_is_told_of_the_function_that_gave_it(function, gives, what):
    wrong = type("Wrong", (Plain,), {function: lambda self, *given: gives(*given)})
    message = re.escape(f"Wrong.{what} is not finite in 2 of 3 environments: [1, 2]")
    env = ds.envs.BatchEnv(wrong(), 3, num_threads=1)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=0)
        env.step(np.ones((3, 1)))
    assert np.isfinite(env.sim.qvel).all(), "nothing of it reaches the simulation"
    env = ds.envs.BatchEnv(wrong(), 3, num_threads=1, nonfinite="clamp")
    env.reset(seed=0)
    observation, reward, *_, info = env.step(np.ones((3, 1)))
    assert env.nonfinite_counts == {what: 2} and "diverged" not in info
    assert all(np.isfinite(array).all() for array in (observation, reward, *info.values()))


def test_all_that_a_task_gives_is_asked_about_once(monkeypatch):
    """Once in a step, and once where episodes begin: a device answers each question late."""
    asked = []

    class Own(Plain):
        def control(self, s, action):
            return 2 * action

    def counted(function):
        def ask(self, *given, **more):
            asked.append(function.__name__)
            return function(self, *given, **more)

        return ask

    for function in (Given.finite, Given.all_finite):
        monkeypatch.setattr(Given, function.__name__, counted(function))
    env = ds.envs.BatchEnv(Own(), 3, num_threads=1, max_episode_steps=2)
    for begin in (lambda: env.reset(seed=0), lambda: env.step(np.ones((3, 1)))):
        begin()
        assert asked == ["all_finite"]
        asked.clear()
    env.step(np.ones((3, 1)))
    assert asked == ["all_finite", "all_finite"]


@pytest.mark.parametrize("function", ["control", "events", "reset"])
def test_the_batchs_own_array_is_looked_at_as_it_was_given(function):
    name = "ctrl" if function == "control" else "qvel"

    def broken(self, s, given):
        array = getattr(s.sim, name)
        array[1:] = np.nan
        return array if function == "control" else {name: array}

    wrong = type("Wrong", (Plain,), {function: broken})
    what = f"{function}()['{name}']"
    env = ds.envs.BatchEnv(wrong(), 3, num_threads=1)
    with pytest.raises(ValueError, match=re.escape(f"Wrong.{what} is not finite in 2 of 3 environments: [1, 2]")):
        env.reset(seed=0)
        env.step(np.ones((3, 1)))
    env = ds.envs.BatchEnv(wrong(), 3, num_threads=1, nonfinite="clamp")
    env.reset(seed=0)
    env.step(np.ones((3, 1)))
    assert env.nonfinite_counts == {what: 2}


def test_environments_that_begin_anew_are_named_by_their_numbers():
    class Wrong(Plain):
        def reset(self, s, draw):
            return {"qpos": draw.normal(2) * (np.nan if len(s.qpos) == 1 else 0.1)}

    env = ds.envs.BatchEnv(Wrong(), 3, num_threads=1)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"reset\(\)\['qpos'\] is not finite in 1 of 1 environments: \[2\]"):
        env.reset(options={"reset_mask": np.array([False, False, True])})


def test_a_reset_that_was_refused_counts_no_episode():
    class Wrong(Plain):
        broken = False

        def reset(self, s, draw):
            return {"qpos": draw.normal(2) * (np.nan if self.broken else 0.1)}

    env, other = (ds.envs.BatchEnv(Wrong(), 3, num_threads=1) for _ in range(2))
    last = {"options": {"reset_mask": np.array([False, False, True])}}
    env.reset(seed=0), other.reset(seed=0)
    env.task.broken = True
    with pytest.raises(ValueError, match="is not finite"):
        env.reset(**last)
    env.task.broken = False
    assert np.array_equal(env.reset(**last)[0], other.reset(**last)[0])
    assert np.array_equal(env.state()["episodes"], [0, 0, 1])


@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP", "DISABLED"])
def test_a_simulation_that_diverged_is_not_the_fault_of_its_task(mode):
    class Servo(Plain):
        def control(self, s, action):
            return action - s.qpos[:, :1]

        def reward(self, s):
            return s.qpos[:, 0], {"speed": s.qvel[:, 0] * np.where(abs(s.qvel[:, 0]) > 1e6, np.nan, 1)}

        def events(self, s, draw):
            return {"qvel": s.qvel * np.where(abs(s.qvel) > 1e6, np.nan, 1)}

    env = ds.envs.BatchEnv(Servo(), 2, num_threads=1, autoreset_mode=mode)
    env.reset(seed=0)
    env.sim.qvel[1] = 1e30
    info = env.step(np.zeros((2, 1)))[4]
    assert info["diverged"].tolist() == [False, True] and np.isfinite(info["speed"]).all()
    env.forget_ends()
    assert np.isfinite(env.step(np.zeros((2, 1)))[0]).all() and not env.nonfinite_counts
