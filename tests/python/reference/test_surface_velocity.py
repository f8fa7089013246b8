"""Surfaces that move while their geoms do not, against MuJoCo: belts, turntables, and what goes with them."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

# a belt on a slope, a roller, a turntable on a body that moves, a sphere whose own surface moves, and what lies on them
SCENE = """<mujoco><option timestep="0.004" cone="{cone}" integrator="{integrator}" impratio="2"/>
<default><geom condim="{condim}" friction=".7 .02 .001"/></default>
<worldbody>
  <geom name="belt" type="box" size="1 .4 .05" pos="0 0 .1" euler="5 3 0" surfacevel="1.3 .2 0 0 0 .4"/>
  <geom name="roller" type="capsule" size=".1 .4" pos="1.1 0 .05" euler="90 0 0" surfacevel="0 0 0 0 0 -9"/>
  <geom type="plane" size="4 4 .1" surfacevel="0 -.3 0 0 0 1"/>
  <body pos="2 0 .2"><joint type="slide" axis="1 0 0" damping="1"/><joint axis="0 0 1" damping=".1"/>
    <geom name="table" type="box" size=".5 .4 .05" mass="3" surfacevel="0 0 0 .1 0 4"/></body>
  <body pos="-.3 0 .24"><freejoint/><geom type="box" size=".08 .06 .05" euler="5 3 20"/></body>
  <body pos=".3 .1 .24"><freejoint/><geom type="sphere" size=".08" surfacevel="0 0 0 3 -2 1"/></body>
  <body pos="1.1 0 .2"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
  <body pos="2.2 .1 .3"><freejoint/><geom type="capsule" size=".05 .06" pos=".01 0 0" euler="0 80 30"/></body>
  <body pos="1.8 -.2 .29"><freejoint/><geom type="sphere" size=".05" pos="0 .01 0"/></body>
  {more}
</worldbody></mujoco>"""
MANY = "".join(f'<body pos="{-1.5 + 0.3 * i} -1 .049"><freejoint/><geom type="box" size=".05 .05 .05"/></body>' for i in range(8))


def states(text, count=6, every=20):
    """MuJoCo's model, and states along its motion."""
    m = mujoco.MjModel.from_xml_string(text)
    d, out = mujoco.MjData(m), []
    for _ in range(count):
        for _ in range(every):
            mujoco.mj_step(m, d)
        out.append((d.qpos.copy(), d.qvel.copy()))
    assert np.all(np.isfinite(d.qpos))
    return m, out


def converged(m):
    m.opt.solver, m.opt.iterations, m.opt.tolerance, m.opt.ls_tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 200, 0, 1e-12
    return m


def accelerations(m, states):
    d, out = mujoco.MjData(m), []
    for qpos, qvel in states:
        d.qpos[:], d.qvel[:], d.qacc_warmstart[:] = qpos, qvel, 0
        mujoco.mj_forward(m, d)
        out.append(d.qacc.copy())
    return np.array(out)


@pytest.mark.parametrize("more", ["", MANY], ids=["one-problem", "islands"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim, integrator", [(3, "Euler"), (4, "implicitfast"), (6, "RK4"), (3, "discrete"), (1, "Euler")])
def test_accelerations_are_mujocos(cone, condim, integrator, more):
    text = SCENE.format(cone=cone, condim=condim, integrator=integrator, more=more)
    m, some = states(text)
    want = accelerations(converged(m), some)
    model = ds.Model.from_mjcf(text)
    reference = ds.Reference(model)
    scale = np.abs(want).max(axis=1)
    for (qpos, qvel), acceleration, size in zip(some, want, scale, strict=True):
        reference.qpos[:], reference.qvel[:] = qpos, qvel
        reference.forward()
        assert np.abs(reference.qacc - acceleration).max() < 1e-6 * size
    for dtype, tolerance, error in (("float64", 1e-9, 1e-6), ("float32", 1e-5, 2e-3)):
        model.opt.tolerance = tolerance
        with ds.Batch(model, len(some), dtype=dtype, num_threads=1) as sim:
            sim.qpos[:], sim.qvel[:] = np.array([s[0] for s in some]), np.array([s[1] for s in some])
            sim.forward()
            assert not np.any(sim.status)
            off = np.abs(sim.qacc - want).max(axis=1) / scale
            assert np.median(off) < error and off.max() < 10 * error, off


def test_a_box_goes_with_the_belt():
    """And one on a turntable without spin friction of its own moves at omega r."""
    text = """<mujoco><option timestep=".002" cone="elliptic"/><worldbody>
    <geom type="box" size="5 .4 .05" surfacevel="1.5 0 0 0 0 0"/>
    <geom type="cylinder" size="1 .05" pos="0 3 0" surfacevel="0 0 0 0 0 2"/>
    <body pos="-2 0 .1"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
    <body pos=".3 3 .1"><freejoint/><geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>"""
    with ds.Batch(ds.Model.from_mjcf(text), 3) as sim:
        sim.step(1000)
        assert np.allclose(sim.qvel[:, 0], 1.5, atol=2e-3) and np.allclose(sim.qvel[:, 1:6], 0, atol=1e-2)
        radius = np.linalg.norm(sim.qpos[:, 7:9] - [0, 3], axis=1)
        assert np.allclose(np.linalg.norm(sim.qvel[:, 6:8], axis=1), 2 * radius, rtol=0.02)
        assert np.allclose(sim.qvel[:, 11], 2, rtol=0.02)


@pytest.mark.parametrize("law", ["anitescu", "stewart_trinkle", "desaxce"])
def test_laws_with_rows_have_it(law):
    text = """<mujoco><option timestep=".002"/><worldbody><geom type="box" size="5 1 .05" surfacevel="1 .5 0 0 0 0"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>"""
    model = ds.Model.from_mjcf(text)
    if law == "desaxce":
        model.opt.desaxce = True
    else:
        model.opt.contact_model = law
    reference = ds.Reference(model)
    reference.step(500)
    assert np.allclose(reference.qvel[:2], [1, 0.5], atol=1e-2)
    with ds.Batch(model, 2) as sim:
        sim.step(500)
        assert np.allclose(sim.qvel[:, :2], [1, 0.5], atol=2e-2)


def test_belts_of_their_own_speed():
    text = """<mujoco><worldbody><geom type="box" size="5 .4 .05" surfacevel="1 0 0 0 0 0"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>"""
    with ds.Batch(ds.Model.from_mjcf(text), 3) as sim:
        speeds = np.zeros((3, 2, 6))
        speeds[:, 0, 0] = [0.5, 1, -2]
        sim.set_parameter("geom_surfacevel", speeds)
        sim.step(500)
        assert np.allclose(sim.qvel[:, 0], [0.5, 1, -2], atol=5e-3)


def test_belts_stop_in_some_environments():
    """All surfaces of an environment at rest: the bits of a model of their own. From rest in the model none can start."""
    text = SCENE.format(cone="elliptic", condim=4, integrator="Euler", more="")
    m = mujoco.MjModel.from_xml_string(text)
    speeds = np.stack([m.geom_surfacevel, 0 * m.geom_surfacevel, -m.geom_surfacevel])
    alone = []
    for speed in speeds:
        m.geom_surfacevel[:] = speed
        with ds.Batch(ds.Model.from_mujoco(m), 1, num_threads=1) as sim:
            sim.step(60)
            alone.append(sim.qpos[0].copy())
    with ds.Batch(ds.Model.from_mjcf(text), 3, num_threads=1) as sim:
        sim.set_parameter("geom_surfacevel", speeds)
        sim.step(60)
        assert np.array_equal(sim.qpos, alone)
    m.geom_surfacevel[:] = 0
    with ds.Batch(ds.Model.from_mujoco(m), 3, num_threads=1) as sim, pytest.raises(ValueError, match="switched on"):
        sim.set_parameter("geom_surfacevel", speeds)


@pytest.mark.parametrize("law", ["compliant", "impulsive", "soft_anchor"])
def test_others_refuse_it(law):
    model = ds.Model.from_mjcf(SCENE.format(cone="elliptic", condim=3, integrator="Euler", more=""))
    model.opt.contact_model = law
    for make in (ds.Reference, lambda given: ds.Batch(given, 1)):
        with pytest.raises(ds.UnsupportedModelError, match="(?s)surface velocity.*'belt'") as refused:
            make(model)
        words = "compliant, soft_anchor, impulsive, event_driven and variational"
        assert f"surfaces do not move under {words}" in str(refused.value)
