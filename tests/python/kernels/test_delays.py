"""Controls with a delay: what acts, between samples too, and what is kept of them, against MuJoCo's.

tests/scenes/actuator_delay.xml has orders, whole and broken delays, and motors with several inputs beside each other.
"""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

SCENE = "actuator_delay"
HINGE = """
<mujoco><option timestep="0.002"/><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".05" pos=".2 0 0"/></body></worldbody>
<actuator><motor joint="j" {}/></actuator></mujoco>"""


def drawn(mj, rng):
    data = scenes.draw_state(mj, rng, speed=1.0)
    data.time = rng.integers(5) * mj.opt.timestep
    return data, scenes.start_histories(mj, data, rng)


@pytest.mark.parametrize("integrator", [0, 1, 2, 3])
def test_the_reference_moves_as_mujoco(integrator, rng):
    mj = scenes.compile_mj(scenes.SCENES[SCENE])
    mj.opt.integrator = integrator
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    for _ in range(20):
        data, kept = drawn(mj, rng)
        scenes.copy_state(data, reference)
        reference.ctrl_history[:] = kept
        for _ in range(12):
            data.ctrl[:] = rng.normal(size=mj.nu)
            reference.ctrl[:] = data.ctrl
            mujoco.mj_step(mj, data)
            reference.step()
            for field in ("qvel", "qpos", "act"):
                assert scenes.error(getattr(reference, field), getattr(data, field)) < 1e-9, field
            if integrator != 1:
                assert scenes.error(reference.actuator_force, data.actuator_force) < 1e-9


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("dtype, bound", [("float64", 1e-9), ("float32", 2e-5)])
@pytest.mark.parametrize("integrator", [0, 1])
def test_a_batch_moves_as_mujoco(integrator, device, dtype, bound, rng):
    mj = scenes.compile_mj(scenes.SCENES[SCENE])
    mj.opt.integrator = integrator
    # after a step of Runge and Kutta's MuJoCo shows the forces at its start
    fields = ("qvel", "qpos", "act") if integrator == 1 else ("actuator_force", "qvel", "qpos", "act")
    states = [drawn(mj, rng) for _ in range(5)]
    with ds.Batch(ds.Model.from_mujoco(mj), len(states), device=device, dtype=dtype) as batch:
        for field in ("qpos", "qvel", "act", "qfrc_applied", "xfrc_applied"):
            getattr(batch, field)[:] = np.reshape([getattr(data, field) for data, _ in states], getattr(batch, field).shape)
        batch.ctrl_history[:] = [kept for _, kept in states]
        batch.actuator_force
        for _ in range(12):
            batch.ctrl[:] = rng.normal(size=batch.ctrl.shape)
            for e, (data, _) in enumerate(states):
                data.ctrl[:] = batch.ctrl[e]
                mujoco.mj_step(mj, data)
            batch.step()
            for e, (data, _) in enumerate(states):
                for field in fields:
                    assert scenes.error(getattr(batch, field)[e], getattr(data, field), floor=1) < bound, field


@pytest.mark.parametrize("interp", ["zoh", "linear", "cubic"])
def test_an_impulse_arrives_after_its_delay(interp, rng):
    """The response of a motor to one sample, over delays of each length, in MuJoCo's buffer and here."""
    for delay in (0.001, 0.002, 0.0035, 0.004, 0.0072, 0.01, 0.0111):
        mj = scenes.compile_mj(HINGE.format(f'delay="{delay}" nsample="6" interp="{interp}"'))
        data, reference = mujoco.MjData(mj), ds.Reference(ds.Model.from_mujoco(mj))
        with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype="float64") as batch:
            batch.actuator_force
            for step in range(12):
                data.ctrl[0] = reference.ctrl[0] = batch.ctrl[0, 0] = step == 1
                mujoco.mj_step(mj, data)
                reference.step()
                batch.step()
                assert abs(reference.actuator_force[0] - data.actuator_force[0]) < 1e-12
                assert abs(batch.actuator_force[0, 0] - data.actuator_force[0]) < 1e-12


def test_a_call_of_many_steps_keeps_each(rng):
    mj = scenes.compile_mj(scenes.SCENES[SCENE])
    model = ds.Model.from_mujoco(mj)
    with ds.Batch(model, 2) as one, ds.Batch(model, 2) as many:
        one.ctrl[:] = many.ctrl[:] = rng.normal(size=one.ctrl.shape)
        many.step(9)
        for _ in range(9):
            one.step()
        np.testing.assert_array_equal(one.ctrl_history, many.ctrl_history)
        np.testing.assert_array_equal(one.qpos, many.qpos)
        assert np.any(one.ctrl_history)
        one.reset()
        assert not np.any(one.ctrl_history)


@pytest.mark.parametrize("integrator", [0, 1])
def test_each_environment_has_its_delay(integrator, rng):
    mj, other = scenes.compile_mj(scenes.SCENES[SCENE]), scenes.compile_mj(scenes.SCENES[SCENE])
    mj.opt.integrator = other.opt.integrator = integrator
    other.actuator_delay[:] *= rng.uniform(0.5, 1.3, other.nactuator)
    states = [drawn(model, rng) for model in (mj, other)]
    with ds.Batch(ds.Model.from_mujoco(mj), 2, dtype="float64") as batch:
        batch.set_parameter("actuator_delay", other.actuator_delay[None], envs=[1])
        for e, (data, kept) in enumerate(states):
            for field in ("qpos", "qvel", "act", "qfrc_applied"):
                getattr(batch, field)[e] = getattr(data, field)
            batch.xfrc_applied[e] = data.xfrc_applied.reshape(batch.xfrc_applied[e].shape)
            batch.ctrl_history[e] = kept
        for _ in range(8):
            batch.ctrl[:] = rng.normal(size=batch.ctrl.shape)
            for e, (data, model) in enumerate(zip([data for data, _ in states], (mj, other))):
                data.ctrl[:] = batch.ctrl[e]
                mujoco.mj_step(model, data)
            batch.step()
            for e, (data, _) in enumerate(states):
                assert scenes.error(batch.qvel[e], data.qvel) < 1e-9
        # a control is kept in all environments or in none
        with pytest.raises(ValueError):
            batch.set_parameter("actuator_delay", np.zeros((1, mj.nactuator)), envs=[0])
