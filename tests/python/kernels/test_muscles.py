"""Muscles: each law against MuJoCo's own function, motions against MuJoCo's, and strength that follows from masses.

tests/scenes/actuator_muscle.xml has the features beside each other, for every other test of scenes.
"""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

HINGE = """
<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body></worldbody>
  <actuator><general joint="j" dyntype="muscle" gaintype="{gain}" biastype="{bias}" dynprm="{dyn}" gainprm="{prm}" biasprm="{prm}"
   lengthrange="{low} {high}"/></actuator></mujoco>"""


def words(values):
    return " ".join(f"{v:.17g}" for v in values)


def drawn(rng):
    """Parameters as users give them: range, force, scale, lmin, lmax, vmax, fpmax, fvmax; those of dynamics; lengths."""
    low = rng.uniform(0.4, 0.9)
    prm = [low, low + rng.uniform(0.1, 0.7), rng.choice([-1.0, 30.0]), 80, rng.uniform(0.2, 0.9), rng.uniform(1.1, 2),
           rng.uniform(0.5, 5), rng.uniform(0.1, 2), rng.uniform(1.05, 1.6)]  # fmt: skip
    dyn = [rng.uniform(0.005, 0.05), rng.uniform(0.02, 0.1), rng.choice([0.0, 0.01, 0.3, 2.0])]
    start = rng.uniform(-0.5, 0.5)
    return prm, dyn, (start, start + rng.uniform(0.1, 1.0))


def forces(model, states, device):
    """(act_dot or act one step on, force) of each state (q, v, act, ctrl)."""
    if device == "reference":
        found, reference = [], ds.Reference(model)
        for q, v, act, ctrl in states:
            reference.reset()
            reference.qpos[0], reference.qvel[0], reference.act[0], reference.ctrl[0] = q, v, act, ctrl
            reference.step()
            found.append((reference.act[0], reference.actuator_force[0]))
        return np.array(found)
    with ds.Batch(model, len(states), device=device, dtype="float64") as batch:
        for field, column in zip(("qpos", "qvel", "act", "ctrl"), np.transpose(states)):
            getattr(batch, field)[:, 0] = column
        batch.actuator_force
        batch.step()
        return np.column_stack([batch.act[:, 0], batch.actuator_force[:, 0]])


@pytest.mark.parametrize("device", ["reference", "cpu", "emulated"])
@pytest.mark.parametrize("parts", ["gain", "bias", "both"])
def test_laws_are_mujocos_functions(parts, device, rng):
    gain, bias = "fixed" if parts == "bias" else "muscle", "none" if parts == "gain" else "muscle"
    for _ in range(8):
        prm, dyn, span = drawn(rng)
        mj = mujoco.MjModel.from_xml_string(
            HINGE.format(gain=gain, bias=bias, dyn=words(dyn), prm=words(prm), low=span[0], high=span[1])
        )
        acc0, h, length = mj.actuator_acc0[0], mj.opt.timestep, mj.actuator_lengthrange[0]
        optimal = (length[1] - length[0]) / (prm[1] - prm[0])
        states = []
        for _ in range(40):
            L, V = rng.uniform(0, 2.2), rng.uniform(-1.6, 1.6)
            q = length[0] + (L - prm[0]) * optimal
            states.append((q, V * optimal * prm[6], rng.uniform(-0.3, 1.4), rng.uniform(-0.5, 1.5)))
        # at the ends of every piece
        for L in (prm[4], (1 + prm[4]) / 2, 1, (1 + prm[5]) / 2, prm[5]):
            for V in (-1, 0, prm[8] - 1):
                states.append((length[0] + (L - prm[0]) * optimal, V * optimal * prm[6], 0.5, 0.5))
        found = forces(ds.Model.from_mujoco(mj), states, device)
        for (q, v, act, ctrl), (after, force) in zip(states, found):
            rate = mujoco.mju_muscleDynamics(ctrl, act, np.array(dyn))
            want = mujoco.mju_muscleGain(q, v, length, acc0, np.array(prm)) * act if gain == "muscle" else prm[0] * act
            if bias == "muscle":
                want += mujoco.mju_muscleBias(q, length, acc0, np.array(prm))
            assert abs(after - (act + h * rate)) < 1e-12 * max(1, abs(h * rate))
            assert abs(force - want) < 1e-10 * max(1.0, abs(want), prm[2])


def test_a_muscle_is_as_strong_as_what_it_moves(rng):
    """`scale` without `force`: strength follows from acc0, which follows from the masses of an environment."""
    spec = mujoco.MjSpec.from_file(str(scenes.SCENES["actuator_muscle"]))
    mj = spec.compile()
    model = ds.Model.from_mujoco(mj)
    mass, gear = mj.body_mass * 1.7, mj.actuator_gear * 0.6
    heavy = spec.compile()
    heavy.body_mass[:], heavy.body_inertia[:], heavy.actuator_gear[:] = mass, mj.body_inertia * 1.7, gear
    mujoco.mj_setConst(heavy, mujoco.MjData(heavy))
    data = scenes.draw_state(heavy, rng)
    with ds.Batch(model, 3, device="cpu", dtype="float64") as batch:
        batch.set_parameter("body_mass", mass[None], envs=[1])
        batch.set_parameter("body_inertia", heavy.body_inertia[None], envs=[1])
        batch.set_parameter("actuator_gear", gear[None], envs=[1])
        for field in ("qpos", "qvel", "act", "ctrl"):
            getattr(batch, field)[:] = getattr(data, field)
        batch.forward()
        mujoco.mj_forward(heavy, data)
        want = scenes.compile_mj(scenes.SCENES["actuator_muscle"])
        assert np.max(np.abs(heavy.actuator_acc0 / want.actuator_acc0 - 1)) > 0.1
        np.testing.assert_allclose(batch.actuator_force[1], data.actuator_force, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("integrator", scenes.MJ_INTEGRATOR)
@pytest.mark.parametrize("name", ["actuator_muscle", "actuator_site", "actuator_slidercrank"])
def test_motions_are_mujocos(name, integrator, rng):
    """One step from energetic states, muscles in each piece of their curves; the derivative of gains is in implicitfast."""
    mj = scenes.compile_mj(scenes.SCENES[name])
    mj.opt.integrator = scenes.MJ_INTEGRATOR[integrator]
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    for _ in range(100):
        data = scenes.draw_state(mj, rng, speed=rng.choice([0.3, 1.0, 5.0]))
        data.act[:] = rng.uniform(-0.1, 1.2, mj.na)
        scenes.copy_state(data, reference)
        reference.step()
        mujoco.mj_step(mj, data)
        for field in ("qvel", "qpos", "act"):
            assert scenes.error(getattr(reference, field), getattr(data, field)) < scenes.exactness(integrator), field
        # MuJoCo's are those of the last stage
        if integrator != "rk4":
            assert scenes.error(reference.actuator_force, data.actuator_force) < 1e-9


def test_a_moment_is_the_slope_of_its_length(rng):
    """Of sites seen from another and of slider-cranks: work is force times the way of the length."""
    for name in ("actuator_site", "actuator_slidercrank"):
        mj = scenes.compile_mj(scenes.SCENES[name])
        reference = ds.Reference(ds.Model.from_mujoco(mj))
        for _ in range(20):
            data = scenes.draw_state(mj, rng)
            mujoco.mj_forward(mj, data)
            scenes.copy_state(data, reference)
            reference.forward()
            np.testing.assert_allclose(reference.actuator_length, data.actuator_length, rtol=0, atol=1e-9)
            np.testing.assert_allclose(reference.actuator_velocity, data.actuator_velocity, rtol=0, atol=1e-8)
