"""impulsive in the kernels: impacts with restitution and friction, against the reference, figures and the law."""

import numpy as np
import pytest
from answers import assert_one_answer
from formulation_models import hollow_ball, particle

import dualstep as ds

# bodies that touch at one point each: the law has one solution
BALLS = """<mujoco><option timestep="0.002" cone="elliptic"/><worldbody><geom type="plane" size="5 5 .1" friction="0.6"/>
<body pos="0 0 .15"><freejoint/><geom type="sphere" size=".1" friction=".5" density="400"/></body>
<body pos="0.03 0.02 .4"><freejoint/><geom type="sphere" size=".08" friction=".7" density="300"/></body>
<body pos="1 0 .12"><freejoint/><geom type="sphere" size=".1" friction=".3" density="700"/></body>
<body pos="0 1 .3"><joint name="hinge" axis="0 1 0" range="-40 40" limited="true" damping=".2" frictionloss="{loss}"/>
<geom type="capsule" fromto="0 0 0 .4 0 -.1" size=".04" friction=".4"/></body></worldbody>
<actuator><motor joint="hinge" gear="2" ctrlrange="-1 1"/></actuator></mujoco>"""
# flat and stacked ones: many contacts strike together
BOXES = """<mujoco><option timestep="0.004" cone="elliptic"/><worldbody><geom type="plane" size="5 5 .1" friction="0.6"/>
<body pos="0 0 .12"><freejoint/><geom type="box" size=".2 .15 .1" friction=".5" density="400"/></body>
<body pos="0.05 0.02 .36"><freejoint/><geom type="box" size=".1 .1 .1" friction=".7" density="300"/></body>
<body pos="1 0 .2"><freejoint/><geom type="capsule" size=".06 .15" friction=".8"/></body></worldbody></mujoco>"""
# two links whose ends a connect constraint ties, thrown on the floor
TIED = """<mujoco><option timestep="0.002" cone="elliptic"/><worldbody><geom type="plane" size="5 5 .1" friction="0.6"/>
<body name="a" pos="0 0 .2"><freejoint/><geom type="capsule" fromto="-.1 0 0 .1 0 0" size=".04" friction=".5"/></body>
<body name="b" pos=".2 0 .2"><freejoint/><geom type="sphere" size=".05" friction=".5" contype="0" conaffinity="2"/></body>
<body pos=".6 0 .3"><joint type="slide" axis="0 0 1"/><geom type="sphere" size=".05" contype="1"/></body></worldbody>
<equality><connect body1="a" body2="b" anchor=".1 0 0"/></equality></mujoco>"""


def build(xml, **options):
    model = ds.Model.from_mjcf(xml)
    for name, value in {"contact_model": "impulsive", "restitution": 0.6, "cone": "elliptic", **options}.items():
        setattr(model.opt, name, value)
    return model


def side_by_side(model, rng, steps, speed, *, envs=4, tolerance=1e-12):
    """Rollouts of the reference, each step also taken by a batch from the same state: errors of qvel in units of the
    fastest, and whether the step had an impact."""
    model.opt.tolerance, model.opt.iterations = tolerance, 100
    references, errors, jumps = [ds.Reference(model) for _ in range(envs)], [], []
    for reference in references:
        reference.qvel[:] = rng.normal(scale=speed, size=model.nv)
    with ds.Batch(model, envs, device="cpu", dtype="float64") as batch:
        _ = batch.qacc, batch.qfrc_constraint
        for _ in range(steps):
            before = np.array([r.qvel for r in references])
            for env, reference in enumerate(references):
                reference.ctrl[:] = rng.uniform(-1, 1)
                batch.qpos[env], batch.qvel[env], batch.ctrl[env] = reference.qpos, reference.qvel, reference.ctrl
            batch.step()
            found = batch.contacts()
            for env, reference in enumerate(references):
                reference.step()
                scale = 1e-3 + np.max(np.abs(before[env]))
                errors.append(np.max(np.abs(batch.qvel[env] - reference.qvel)) / scale)
                jumps.append(np.max(np.abs(reference.qvel - before[env])))
                assert found.count[env] == reference.contacts().count
                if errors[-1] < 1e-9:
                    np.testing.assert_allclose(
                        batch.qfrc_constraint[env], reference.qfrc_constraint, rtol=0,
                        atol=1e-6 * (1 + np.max(np.abs(reference.qfrc_constraint))))  # fmt: skip
    return np.array(errors), np.array(jumps)


@pytest.mark.parametrize("options", [
    {}, {"friction_directions": 0}, {"restitution": 0.0}, {"restitution": 1.0}, {"desaxce": True},
    {"contact_parameters": "spring_damper", "contact_time_constant": 0.02}, {"condim": 6}, {"condim": 4, "friction_directions": 0},
    {"condim": 1}, {"cone": "pyramidal"}, {"cone": "pyramidal", "friction_directions": 0, "condim": 6},
    {"cone": "pyramidal", "desaxce": True, "condim": 4},
])  # fmt: skip
def test_rollouts_follow_the_reference(rng, options):
    xml = BALLS.format(loss=0 if "contact_parameters" in options else 0.05)
    xml = xml.replace('"sphere"', f'"sphere" condim="{options.get("condim", 3)}"')
    model = build(xml, **{name: value for name, value in options.items() if name != "condim"})
    errors, jumps = side_by_side(model, rng, 400, 1.5)
    assert np.sum(jumps > 0.3) > 12, np.sum(jumps > 0.3)
    assert errors.max() < 1e-9, np.sort(errors)[-8:]


@pytest.mark.parametrize("directions", [0, 4])
def test_flat_bodies_follow_the_reference(rng, directions):
    """Where several solutions exist, as in a jam, the two may find different ones: that is rare."""
    errors, jumps = side_by_side(build(BOXES, friction_directions=directions), rng, 300, 0.7)
    assert np.sum(jumps > 0.3) > 15
    assert np.mean(errors < 1e-6) > 0.99, np.sort(errors)[-40:]


def test_constraints_keep_their_velocity_through_an_impact(rng):
    errors, jumps = side_by_side(build(TIED), rng, 300, 1.0)
    assert np.sum(jumps > 0.3) > 10
    assert errors.max() < 1e-6, np.sort(errors)[-8:]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("directions", [0, 4])
@pytest.mark.parametrize("mu, wanted", [(0.25, (1.6, 2.4, 16)), (0.05, (1.73, 2.4, 14.05)), (0, (2, 2.4, 10))])
def test_spinning_ball(mu, wanted, directions, dtype):
    model = build(hollow_ball(mu=mu), restitution=0.8, friction_directions=directions)
    with ds.Batch(model, 3, device="cpu", dtype=dtype) as batch:
        batch.qpos[:, 1] = 0 if dtype == "float64" else -1e-7  # closed in either precision
        batch.qvel[:] = (2, -3, 10)
        batch.qvel[1] = (2, 3, 10)
        batch.step()
        np.testing.assert_allclose(batch.qvel[[0, 2]], [wanted] * 2, rtol=0, atol=1e-9 if dtype == "float64" else 2e-4)
        np.testing.assert_allclose(batch.qvel[1], (2, 3, 10), rtol=0, atol=1e-5)
        assert not batch.status.any()


def test_restitution_of_a_pair_and_at_a_stop():
    model = build(particle(h=1e-4, mass=1), restitution=0.9)
    model.set_restitution("floor", "ball", 0.5)
    with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
        batch.qvel[0, 2] = -1
        batch.step()
        assert batch.qvel[0, 2] == pytest.approx(0.5, abs=2e-3)
        batch.qpos[0, 2], batch.qvel[0] = -1e-6, (0, 0, -0.04)  # too slow to bounce
        batch.step()
        assert -0.04 < batch.qvel[0, 2] < 0.01
    stop = build("""<mujoco><option timestep="1e-4" gravity="0 0 0"/><worldbody><body><joint type="slide" limited="true"
      range="-1 0"/><geom size=".1"/></body></worldbody></mujoco>""")
    with ds.Batch(stop, 1, device="cpu", dtype="float64") as batch:
        batch.qvel[0, 0] = 1
        batch.step()
        assert batch.qvel[0, 0] == pytest.approx(-0.6, abs=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_impact_never_gains_energy(dtype):
    """The rod that Newton's restitution with friction would speed up: every e is scaled down until it does not."""
    model = build("""<mujoco><option timestep="1e-6" gravity="0 0 0"/><worldbody><geom type="plane" size="5 5 .1"
      friction="20 0 0"/><body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".0833333333 .0833333333 .0833333333"/>
      <geom type="sphere" size="1e-3" pos="0 0 -.5" friction="20 0 0"/></body></worldbody></mujoco>""", restitution=0.9)
    qpos, qvel = (0, 0.5 * np.cos(0.6) + 1e-3 - 1e-6, -0.6), (-0.62, -1, 0)
    reference = ds.Reference(model)
    reference.qpos[:], reference.qvel[:] = qpos, qvel
    before = reference.kinetic_energy
    reference.step()
    assert reference.kinetic_energy == pytest.approx(before, rel=1e-6)  # it is the limit that acts
    with ds.Batch(model, 2, device="cpu", dtype=dtype) as batch:
        batch.qpos[:], batch.qvel[0], batch.qvel[1] = qpos, qvel, (0.62, -1, 0)
        batch.step()
        near = 1e-6 if dtype == "float64" else 2e-3
        np.testing.assert_allclose(batch.qvel[0], reference.qvel, rtol=0, atol=near)
        reference.qpos[:], reference.qvel[:] = qpos, (0.62, -1, 0)
        reference.step()
        np.testing.assert_allclose(batch.qvel[1], reference.qvel, rtol=0, atol=near)


def test_float32_bounces_as_float64_does(rng):
    model = build(BALLS.format(loss=0.05))
    reference = ds.Reference(model)
    with ds.Batch(model, 40, device="cpu", dtype="float32") as single, ds.Batch(model, 40, device="cpu", dtype="float64") as double:
        for k in range(40):
            reference.reset()
            reference.qvel[:] = rng.normal(scale=1.5, size=model.nv)
            # up to where something strikes next
            for step in range(200):
                single.qpos[k], single.qvel[k], before = reference.qpos, reference.qvel, reference.qvel.copy()
                reference.step()
                if np.abs(reference.qvel - before).max() > 0.5 and step > k:
                    break
        double.qpos[:], double.qvel[:] = single.qpos, single.qvel
        before = double.qvel.copy()
        single.step()
        double.step()
        assert not single.status.any()
        assert np.sum(np.abs(double.qvel - before).max(axis=1) > 0.3) > 20
        np.testing.assert_allclose(single.qvel, double.qvel, rtol=0, atol=2e-3 * np.abs(before).max())


@pytest.mark.parametrize("name, options", [("boxes", {}), ("balls", {"friction_directions": 0}), ("tied", {})])
def test_packs_and_lanes_have_one_answer(name, options):
    model = build({"boxes": BOXES, "balls": BALLS.format(loss=0.05), "tied": TIED}[name], **options)
    assert_one_answer(model, 60, ["qpos", "qvel", "qacc", "status", "residual", "contact_force"])


def test_what_a_batch_does_not_have_is_refused_by_name():
    def refused(match, xml=BALLS.format(loss=0), **options):
        with pytest.raises(ds.UnsupportedModelError, match=match):
            ds.Batch(build(xml, **options), 1)

    refused("friction_directions", friction_directions=8)
    refused("rk4", integrator="rk4")
    refused("implicitfast", integrator="implicitfast")
    refused("pgs", solver="pgs")
    refused("friction above 1e6", xml=particle(mu=1e7))
    refused("limit of a ball joint with contact_model = impulsive", xml="""<mujoco><worldbody><body>
      <joint type="ball" limited="true" range="0 40"/><geom size=".1"/></body></worldbody></mujoco>""")


# three boxes that a hinge and a slide hold in the ground: their impacts jam
JAMMED = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body pos="-0.01 0.08 0.12"><joint axis="-0.5 -0.5 -1.1"/>
<joint type="slide" axis="-0.5 -1.1 -0.5"/><geom type="box" size="0.11 0.04 0.07"/></body><body pos="-0.05 -0.01 0.05">
<joint axis="0.3 -0.1 1.0"/><joint type="slide" axis="-0.1 1.0 0.3"/><geom type="box" size="0.05 0.06 0.04"/></body>
<body pos="0.03 0.05 0.05"><joint axis="2.5 -0.1 -0.4"/><joint type="slide" axis="-0.1 -0.4 2.5"/>
<geom type="box" size="0.04 0.09 0.11"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_impacts_that_jam_gain_no_energy(dtype):
    model = build(JAMMED, friction_directions=0, timestep=1e-7)  # of the rows of such a step nothing is seen
    qvel = np.array([-1.1, -0.1, -2.0, 1.5, -0.7, -0.2])
    with ds.Batch(model, 1, dtype=dtype, num_threads=1) as batch:
        batch.qvel[0] = qvel
        mass = np.array(batch.mass_matrix()[0], float)
        batch.step()
        after = np.array(batch.qvel[0], float)
    assert after @ mass @ after <= qvel @ mass @ qvel * (1 + 1e-4)


def test_a_reference_tells_impacts_that_it_has_not_solved():
    model = build(JAMMED, friction_directions=0)
    reference = ds.Reference(model)
    reference.qvel[:] = -1.1, -0.1, -2.0, 1.5, -0.7, -0.2
    reference.step()
    assert np.isfinite(reference.qvel).all() and reference.status & ds.Status.NOT_CONVERGED
