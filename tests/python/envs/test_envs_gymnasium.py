"""Each task against Gymnasium's own code: one step from the same 1,000 random states, with the same actions.

Without constraint rows, observations and rewards agree to 1e-5 (in single precision, 1e-4); with them, to 1e-3.
Gymnasium's humanoids ask MuJoCo for sweeps that end before they converge, so that what it feels of contacts depends
on where it stopped: there MuJoCo is asked for a converged solution.
"""

import functools

import numpy as np
import pytest
from gymnasium_states import TASKS, gymnasium_env, gymnasium_steps, random_states

import dualstep as ds

STATES = 1000
HUMANOIDS = ("Humanoid", "HumanoidStandup")


def ours(name, dtype, qpos, qvel, actions, **options):
    env = ds.envs.make(name, len(qpos), dtype=dtype, num_threads=1, **options)
    env.reset(seed=0)
    env.unwrapped.sim.qpos[...] = qpos
    env.unwrapped.sim.qvel[...] = qvel
    observation, reward, terminated, _, info = env.step(actions)
    observation = info.get("final_obs", observation)
    env.close()
    return observation, reward, terminated


@functools.cache
def theirs(name):
    env = gymnasium_env(name)
    if name in HUMANOIDS:
        env.model.opt.solver, env.model.opt.iterations = 2, 100
    start = random_states(env, STATES, seed=1)
    return start, gymnasium_steps(env, *start)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", TASKS)
def test_one_step_agrees_with_gymnasium(name, dtype):
    start, (wanted, reward, terminated, rows) = theirs(name)
    got, our_reward, our_end = ours(name, dtype, *start)
    assert np.array_equal(terminated, our_end)
    # forces of contacts reach thousands of N: beyond 1, errors are relative
    error = (abs(got - wanted) / np.maximum(1, abs(wanted))).max(axis=1)
    error = np.maximum(error, abs(our_reward - reward) / np.maximum(1, abs(reward)))
    free = rows == 0
    # single precision has rounded every timestep by then
    assert error[free].max(initial=0) < (1e-5 if dtype == "float64" else 1e-4)
    assert error[~free].max(initial=0) < 1e-3
