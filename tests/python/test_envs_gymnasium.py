"""Each task against Gymnasium's own code: one step from the same 1,000 random states, with the same actions.

Without constraint rows, observations and rewards agree to 1e-5; with them, to 1e-3. Gymnasium's humanoids ask
MuJoCo for sweeps that end before they converge, so that what it feels of contacts depends on where it stopped: there
MuJoCo is asked for a converged solution, and what it gives without being asked is compared apart.
"""

import numpy as np
import pytest
from gymnasium_states import TASKS, gymnasium_env, gymnasium_steps, random_states

import dualstep as ds

STATES = 1000
HUMANOIDS = ("Humanoid", "HumanoidStandup")


def ours(name, qpos, qvel, actions, **options):
    env = ds.envs.make(name, len(qpos), dtype="float64", num_threads=1, **options)
    env.reset(seed=0)
    env.unwrapped.sim.qpos[...] = qpos
    env.unwrapped.sim.qvel[...] = qvel
    observation, reward, terminated, _, info = env.step(actions)
    observation = info.get("final_obs", observation)
    env.close()
    return observation, reward, terminated


@pytest.mark.parametrize("name", TASKS)
def test_one_step_agrees_with_gymnasium(name):
    theirs = gymnasium_env(name)
    if name in HUMANOIDS:
        theirs.model.opt.solver, theirs.model.opt.iterations = 2, 100
    qpos, qvel, actions = random_states(theirs, STATES, seed=1)
    wanted, reward, terminated, rows = gymnasium_steps(theirs, qpos, qvel, actions)
    got, our_reward, our_end = ours(name, qpos, qvel, actions)
    assert np.array_equal(terminated, our_end)
    # forces of contacts reach thousands of N: beyond 1, errors are relative
    error = (abs(got - wanted) / np.maximum(1, abs(wanted))).max(axis=1)
    error = np.maximum(error, abs(our_reward - reward) / np.maximum(1, abs(reward)))
    free = rows == 0
    assert error[free].max(initial=0) < 1e-5
    assert error[~free].max(initial=0) < 1e-3
