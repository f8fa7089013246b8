"""One step of the reference against MuJoCo's, per integrator; resets, keyframes; divergence."""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

STATES = 30
TOLERANCE = 1e-9
INTEGRATORS = ("euler", "implicitfast", "rk4")
MJ_INTEGRATOR = {
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}


def worst_step(path, integrator, states, seed=1):
    model = scenes.compile_mj(path)
    model.opt.integrator = MJ_INTEGRATOR[integrator]
    ref = ds.Reference(ds.Model.from_mujoco(model))
    rng = np.random.default_rng(seed)
    worst = {"qpos": 0.0, "qvel": 0.0, "act": 0.0, "time": 0.0}
    for _ in range(states):
        data = scenes.draw_state(model, rng)
        scenes.copy_state(data, ref)
        mujoco.mj_step(model, data)
        ref.step()
        for name in worst:
            worst[name] = max(worst[name], scenes.error(getattr(ref, name), getattr(data, name)))
    return worst


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", scenes.ALL)
def test_step_agrees_with_mujoco(name, integrator):
    worst = worst_step(scenes.ALL[name], integrator, STATES)
    wrong = {key: value for key, value in worst.items() if not value <= TOLERANCE}
    assert not wrong, wrong
