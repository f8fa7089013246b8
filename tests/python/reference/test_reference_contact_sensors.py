"""Contact sensors of the reference against MuJoCo's: every kind of object, order of slots and data."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

OBJECTS = ['geom1="g"', 'body1="b"', 'body1="b" body2="c"', 'subtree1="b"', 'site="s"', 'geom1="f" geom2="h"',
           'body1="c" subtree2="world"']  # fmt: skip
READINGS = [(3, "none", "found force torque dist pos normal tangent"), (2, "mindist", "found dist pos"),
            (2, "maxforce", "found force normal"), (1, "netforce", "found force torque dist pos normal tangent")]  # fmt: skip
SCENE = """<mujoco><option cone="elliptic" tolerance="0" iterations="200"/><worldbody>
<geom name="f" type="plane" size="1 1 1"/><site name="s" type="box" size=".15 .15 .02"/>
<body name="b" pos="0 0 .09"><freejoint/><geom name="g" type="box" size=".1 .1 .1" condim="6"/>
  <body pos=".05 0 .2"><joint axis="0 1 0"/><geom name="h" type="capsule" size=".05 .2" condim="4"/></body></body>
<body name="c" pos=".1 .05 .3"><freejoint/><geom name="k" size=".12" margin=".02" gap=".01"/></body>
</worldbody><sensor>{}</sensor></mujoco>"""


def test_readings_are_mujocos():
    sensors = [f'<contact {o} num="{n}" reduce="{r}" data="{data}"/>' for o in OBJECTS for n, r, data in READINGS]
    model = mujoco.MjModel.from_xml_string(SCENE.format("".join(sensors)))
    data, ref, rng, read = mujoco.MjData(model), ds.Reference(ds.Model.from_mujoco(model)), np.random.default_rng(0), 0
    for _ in range(40):
        mujoco.mj_resetData(model, data)
        data.qpos[:3] += rng.normal(size=3) * 0.02
        data.qpos[8:11] += rng.normal(size=3) * 0.05
        data.qpos[3:7] += rng.normal(size=4) * 0.05
        data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        ref.qpos, ref.qvel = data.qpos, data.qvel
        ref.forward()
        np.testing.assert_allclose(ref.sensordata, data.sensordata, rtol=1e-7, atol=1e-7)
        read += np.count_nonzero(data.sensordata)
    assert read > 5000


def test_velocities_of_contacts_are_refused():
    model = mujoco.MjModel.from_xml_string(SCENE.format('<contact name="v" geom1="g" data="found linvel"/>'))
    with pytest.raises(ds.UnsupportedModelError, match="contact sensor of velocities: sensor 'v'"):
        ds.Model.from_mujoco(model)


def test_infinite_ranges_are_no_limits():
    xml = """<mujoco><worldbody><body><joint name="j" {0}/><geom size=".1"/></body></worldbody>
    <actuator><motor joint="j" {1}/></actuator></mujoco>"""
    free = ds.Reference(ds.Model.from_mjcf(xml.format("", "")))
    wide = 'limited="true" range="-inf inf"', 'ctrllimited="true" ctrlrange="-inf inf" forcelimited="true" forcerange="-inf inf"'
    infinite = ds.Model.from_mjcf(xml.format(*wide))
    assert np.isfinite(infinite.jnt_range).all()
    other = ds.Reference(infinite)
    for ref in (free, other):
        ref.ctrl = [3.0]
        for _ in range(20):
            ref.step()
    assert free.qpos[0] == other.qpos[0] != 0
    with ds.Batch(infinite, 1, dtype="float64") as batch:
        batch.ctrl = [[3.0]]
        batch.step(20)
        assert np.asarray(batch.qpos)[0, 0] == pytest.approx(free.qpos[0], rel=1e-9)
