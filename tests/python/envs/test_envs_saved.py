"""States of environments: one that is refused changes nothing, and the refusal names what is wrong."""

import copy
import pickle

import numpy as np
import pytest

import dualstep as ds
from dualstep.envs.randomize import Vary

gymnasium = pytest.importorskip("gymnasium")

ACTION = np.zeros((3, 3), np.float32)


def hoppers(**options):
    vary = [Vary("body_mass", 0.9, 1.1, when=(0.05, 0.1))]
    env = ds.envs.make("Hopper", 3, **{"num_threads": 1, "max_episode_steps": 25, "randomize": vary, **options})
    env.reset(seed=2)
    for _ in range(4):
        env.step(ACTION + 1)
    return env


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def refused(env, state, told):
    before = env.state()
    with pytest.raises(ValueError, match=told) as error:
        env.load_state(state)
    assert "\n" not in str(error.value)
    assert same(env.state(), before)


@pytest.mark.parametrize("damaged", ["seeds", "episodes", "elapsed", "fresh", "pending", "diverged_count",
                                     "vary_due", "vary_asked", "sim"])  # fmt: skip
def test_a_damaged_state_is_refused_and_changes_nothing(damaged):
    env = hoppers()
    state = env.state()
    env.step(ACTION)
    refused(env, {name: array for name, array in state.items() if name != damaged}, f"'{damaged}' is missing, and an")
    refused(env, {**state, damaged: None}, f"'{damaged}' is NoneType, and an array of shape .* is wanted")
    refused(env, {**state, damaged: state[damaged].astype(np.float32)}, f"'{damaged}' has .* dtype float32, and .* is")
    refused(env, {**state, damaged: state[damaged][None]}, f"'{damaged}' has shape .* is wanted")


def test_what_is_tracked_or_kept_is_looked_at_too():
    env = ds.envs.make("Ant", 2, num_threads=1)
    env.reset(seed=0)
    state = env.state()
    assert "tracked" in state
    refused(env, {name: array for name, array in state.items() if name != "tracked"}, "'tracked' is missing")
    refused(env, {**state, "tracked": state["tracked"][:1]}, "'tracked' has shape")
    refused(env, {name: array for name, array in state.items() if name != "observed"}, "'observed' is missing")
    refused(env, {**state, "memory_target": state["elapsed"]}, "'memory_target' is given, and this environment has: ")
    refused(env, None, "NoneType is given, and the dict that state")
    refused(env, {**state, "sim": state["sim"][:-8]}, "state")


def test_a_state_of_other_options_is_refused():
    env = hoppers()
    state = env.state()
    for name, value in (("max_episode_steps", 50), ("ctrl_cost_weight", 0.5), ("autoreset_mode", "NEXT_STEP")):
        with pytest.raises(ValueError, match=f"{name} .* is given, and this environment has {value!r}"):
            hoppers(**{name: value}).load_state(state)
    refused(env, {**state, "options": np.zeros(3, np.uint8)}, "'options' is damaged")
    # a state may be silent about them
    del state["options"]
    after = env.step(ACTION)[0]
    env.load_state(state)
    assert np.array_equal(env.step(ACTION)[0], after)


def test_a_copy_has_what_was_changed_in_its_task():
    env = hoppers()
    env.task.ctrl_cost_weight = 7.0
    assert copy.deepcopy(env).task.ctrl_cost_weight == 7.0


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_has_what_was_changed_in_the_environment(how):
    env = hoppers(nonfinite="clamp")
    env.max_episode_steps, env.autoreset_mode = 5, gymnasium.vector.AutoresetMode.DISABLED
    env.nonfinite_counts["observe()"] = 3
    other = how(env)
    assert other.nonfinite == "clamp" and other.nonfinite_counts == {"observe()": 3}
    assert env.step(ACTION)[3].all() and other.step(ACTION)[3].all()
    with pytest.raises(gymnasium.error.ResetNeeded, match="are done"):
        other.step(ACTION)
    other.nonfinite = "refuse"
    assert how(other).nonfinite == "refuse"
    with pytest.raises(ValueError, match="nonfinite 'ignore' is given"):
        other.nonfinite = "ignore"


def test_a_copy_that_was_never_reset_has_what_was_changed_in_its_batch():
    env = ds.envs.make("Hopper", 3, num_threads=1)
    env.sim.set_parameter("opt_gravity", [0, 0, -1.0])
    other = copy.deepcopy(env)
    assert np.array_equal(other.sim.get_parameter("opt_gravity"), env.sim.get_parameter("opt_gravity"))
    with pytest.raises(gymnasium.error.ResetNeeded):
        other.step(ACTION)
    assert np.array_equal(env.reset(seed=1)[0], other.reset(seed=1)[0])


def test_batches_of_several_laws_go_back_together():
    env = ds.envs.make("Hopper", 4, num_threads=1, contact=["todorov", "anitescu"])
    env.reset(seed=0)
    state = env.state()
    env.step(np.zeros((4, 3), np.float32))
    refused(env, {**state, "1/elapsed": None}, "'elapsed' is NoneType")
    refused(env, {**state, "1/sim": state["1/sim"][:-8]}, "state")
