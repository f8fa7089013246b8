"""Actuators on bodies: forces that contacts decide on, against MuJoCo and the reference, in a batch."""

import contact_oracle as oracle
import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

SCENE = scenes.SCENES["contact_adhesion"]
CONES = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}
STATE = ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied")


def states_of(mj, count, rng):
    states = []
    for data in oracle.run(mj, rng, count, speed=0.5):
        # between controls that pull, and pushes by the user
        data.ctrl[:3] = rng.uniform(0, 1.5, 3)
        data.xfrc_applied[1:] = rng.normal(size=(mj.nbody - 1, 6)) * rng.choice([0.0, 0.3])
        data.qfrc_applied[:] = rng.normal(size=mj.nv) * 0.1
        states.append(data)
    return states


def batch_at(model, states, dtype="float64"):
    batch = ds.Batch(model, len(states), dtype=dtype, num_threads=1)
    for name in STATE:
        getattr(batch, name)[:] = [getattr(data, name) for data in states]
    return batch


@pytest.mark.parametrize("dtype, bound", [("float64", 1e-6), ("float32", 2e-3)])
@pytest.mark.parametrize("cone", CONES)
def test_forces_are_mujocos(cone, dtype, bound, rng):
    mj, reference = oracle.load(SCENE, cone=CONES[cone])
    states = states_of(mj, 150, rng)
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance = 1e-10 if dtype == "float64" else 1e-2
    pulled = 0
    with batch_at(model, states, dtype) as batch:
        batch.forward()
        for k, data in enumerate(states):
            oracle.forward(mj, data, reference)
            for name in ("actuator_force", "qfrc_actuator", "qfrc_smooth", "qacc_smooth", "qacc"):
                want = getattr(data, name)
                assert scenes.error(getattr(reference, name), want) < 1e-7, name
                if dtype == "float64" or name != "qacc":
                    assert scenes.error(getattr(batch, name)[k], want) < bound, name
            pulled += np.any(data.actuator_moment != 0) and np.any(data.ctrl[:3] > 0)
    assert pulled > 100


@pytest.mark.parametrize("integrator", ["euler", "implicit", "implicitfast", "discrete", "rk4"])
def test_steps_are_the_references(integrator, rng):
    mj, _ = oracle.load(SCENE)
    states = states_of(mj, 40, rng)
    model = ds.Model.from_mujoco(mj)
    model.opt.integrator, model.opt.tolerance = integrator, 1e-12
    reference = ds.Reference(model)
    with batch_at(model, states) as batch:
        batch.step()
        for k, data in enumerate(states):
            scenes.copy_state(data, reference)
            reference.step()
            for name in ("qpos", "qvel", "act"):
                assert scenes.error(getattr(batch, name)[k], getattr(reference, name)) < 1e-8, name


def test_a_foot_holds_on_a_wall():
    """Gravity wins as soon as the actuator lets go."""
    model = ds.Model.from_mjcf(SCENE)
    with ds.Batch(model, 2, device="cpu") as batch:
        batch.ctrl[0, 0] = 1
        batch.step(500)
        held, fallen = (float(np.array(batch.xpos)[env, 1, 2]) for env in range(2))
    assert held > 0.35 and fallen < 0.2


def test_what_a_batch_does_not_know_is_refused():
    text = SCENE.read_text()
    gap = ds.Model.from_mjcf(text.replace('margin="0.01"', 'margin="0.01" gap="0.01"'))
    ds.Reference(gap).step()
    with pytest.raises(ds.UnsupportedModelError, match="adhesion across a gap"):
        ds.Batch(gap, 1, device="cpu")
    named = text.replace('<adhesion body="foot"', '<adhesion name="glue" body="foot"')
    sensor = named.replace("</mujoco>", '<sensor><actuatorvel name="speed" actuator="glue"/></sensor></mujoco>')
    with pytest.raises(ds.UnsupportedModelError, match="sensor actuatorvel of adhesion.*'speed'"):
        ds.Model.from_mjcf(sensor)
    assert ds.Model.from_mjcf(sensor, drop="sensor actuatorvel of adhesion").nsensor == 0


def test_contacts_within_a_gap_count(rng):
    mj, reference = oracle.load(SCENE.read_text().replace('margin="0.01"', 'margin="0.01" gap="0.02"'))
    apart = 0
    for data in states_of(mj, 100, rng):
        oracle.forward(mj, data, reference)
        assert scenes.error(reference.qfrc_actuator, data.qfrc_actuator) < 1e-8
        apart += np.any(data.contact.exclude == 1)
    assert apart > 5
