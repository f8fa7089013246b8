"""cfrc_ext: what contacts, equalities, tendons and users do to bodies, beside MuJoCo's."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

# a table of two bodies that cannot move, with a ball and a box on it; an arm on a foot of its own that leans on the box
SCENE = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="2 2 .1"/>
  <body name="table" pos="0 0 .4"><geom type="box" size=".4 .4 .05" mass="3"/>
    <body name="rim" pos=".45 0 .05"><geom type="capsule" size=".05 .3" zaxis="0 1 0" mass="1"/></body></body>
  <body pos="0 .05 .495"><freejoint/><geom type="sphere" size=".05" condim="6" friction="1 .01 .01"/></body>
  <body pos=".35 0 .495"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
  <body name="foot" pos="-.6 0 .1"><geom type="box" size=".1 .1 .1" mass="4"/>
    <body pos="0 0 .1"><joint axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 .25"/></body></body>
</worldbody></mujoco>"""

# two chains that a connect, a weld and tendons hold, one to the other and to the world
HELD = """<mujoco><option timestep="0.002"/><worldbody><site name="hook" pos="0 0 2"/>
  <body name="a" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/><site name="sa" pos=".05 0 0"/>
    <body name="b" pos=".3 0 0"><joint axis="0 1 0"/><geom size=".08" mass=".7"/><site name="sb" pos="0 .02 0"/></body></body>
  <body name="c" pos=".9 .1 1"><freejoint/><geom size=".1" mass="2"/><site name="sc" pos="0 0 .05"/></body>
  <body name="d" pos="-.4 0 1"><joint type="ball"/><geom size=".05" pos=".1 0 0" mass=".4"/></body>
</worldbody>
<equality><connect body1="b" body2="c" anchor=".2 0 0"/><weld body1="d" body2="a" torquescale=".5"/>
  <connect body1="c" anchor=".1 .1 0"/></equality>
<tendon><spatial name="rope" range="0 .3" limited="true"><site site="hook"/><site site="sa"/><site site="sc"/></spatial>
  <spatial name="spring" stiffness="40" damping="2" springlength=".1"><site site="sa"/><site site="sb"/><pulley divisor="2"/>
    <site site="sb"/><site site="sc"/></spatial></tendon>
<actuator><motor tendon="spring" gear="3"/></actuator></mujoco>"""
SCENES = {"scene": SCENE, "held": HELD}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["scene", "held", "humanoid", "three_humanoids", "pusher"])
def test_it_is_mujocos(name, dtype):
    model = ds.Model.from_mjcf(SCENES[name]) if name in SCENES else ds.Model.named(name)
    model.opt.tolerance = 1e-12 if dtype == "float64" else 0
    rng = np.random.default_rng(4)
    with ds.Batch(model, 7, device="cpu", dtype=dtype, num_threads=1) as sim:
        sim.qvel[:] = rng.normal(size=sim.qvel.shape) * 0.1
        sim.step(150)
        sim.xfrc_applied[3:5] = rng.normal(size=(2, model.nbody, 6))
        sim.ctrl[:] = rng.normal(size=sim.ctrl.shape)
        sim.forward()
        found = np.array(sim.cfrc_ext)
        m = model.mj_model
        m.opt.solver, m.opt.tolerance, m.opt.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 1e-14, 200
        data, pushed = mujoco.MjData(m), 0
        for env in range(7):
            for field in ("qpos", "qvel", "ctrl", "xfrc_applied"):
                getattr(data, field)[...] = getattr(sim, field)[env]
            mujoco.mj_forward(m, data)
            mujoco.mj_rnePostConstraint(m, data)
            # the world's own is the sum of what its bodies do to it, and nobody's
            wanted = data.cfrc_ext[1:]
            pushed += (np.abs(wanted).max(1) > 1e-3).sum()
            scale = max(1.0, np.abs(wanted).max())
            assert np.abs(found[env, 1:] - wanted).max() < (1e-6 if dtype == "float64" else 2e-3) * scale
            assert (found[env, 0] == 0).all()
        assert pushed > 7


def test_it_depends_on_no_neighbour():
    model = ds.Model.from_mjcf(SCENE)
    found = []
    for count, place, isa in ((1, 0, "portable"), (20, 17, None)):
        with ds.Batch(model, count, device="cpu", num_threads=1, isa=isa) as sim:
            others = np.random.default_rng(1).normal(size=sim.qvel.shape)
            sim.qvel[:] = others
            sim.qvel[place] = 0.01
            sim.step(200)
            found.append(np.array(sim.cfrc_ext[place]))
    assert (found[0] == found[1]).all() and np.abs(found[0]).max() > 1
