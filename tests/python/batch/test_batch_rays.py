"""Rays into a batch, and rangefinders, meet what MuJoCo's do."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

SCENE = """<mujoco><asset><mesh name="tetra" vertex="0 0 0 .4 0 0 0 .4 0 0 0 .4"/></asset><worldbody>
<geom type="plane" size="1.5 0 1" pos="0 0 -.4" group="1"/><geom type="box" size=".2 .3 .1" pos=".6 .2 .1"/>
<geom size=".2" pos="-.5 0 .3" rgba="1 0 0 0"/>
<body name="a" pos="0 0 .5"><freejoint/><geom type="capsule" size=".1 .2" group="2"/><geom size=".15" pos=".3 0 0"/>
  <site name="down" euler="170 10 0"/><site name="across" pos="0 0 .1" euler="0 100 20"/></body>
<body name="b" pos="0 .6 .4"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/><geom type="cylinder" size=".15 .1" group="7"/></body>
<body name="c" pos="-.5 .5 .4"><freejoint/><geom type="ellipsoid" size=".15 .1 .2"/></body>
<body name="d" pos=".4 -.6 .4"><freejoint/><geom type="mesh" mesh="tetra"/></body>
</worldbody><sensor>
<rangefinder site="down"/><rangefinder site="across" data="dist dir origin point depth"/>
<rangefinder site="across" cutoff=".4"/><insidesite site="down" objtype="body" objname="c"/>
</sensor></mujoco>"""
FILTERS = [dict(), dict(groups=[0, 2]), dict(groups=[1, 5]), dict(exclude_body=1), dict(fixed=False)]


def states(mj, rng, count):
    made = []
    for _ in range(count):
        data = mujoco.MjData(mj)
        mujoco.mj_integratePos(mj, data.qpos, rng.normal(scale=0.3, size=mj.nv), 1)
        mujoco.mj_forward(mj, data)
        made.append(data)
    return made


def batch_at(mj, data, dtype="float64", **options):
    sim = ds.Batch(ds.Model.from_mujoco(mj), len(data), dtype=dtype, **options)
    for env, one in enumerate(data):
        sim.qpos[env] = one.qpos
    sim.forward()
    return sim


@pytest.mark.parametrize("options", FILTERS)
def test_rays_meet_what_mujocos_do(options, rng):
    mj = mujoco.MjModel.from_xml_string(SCENE)
    data = states(mj, rng, 6)
    count = 50
    origin = rng.uniform(-1, 1, (6, count, 3))
    direction = rng.normal(size=(6, count, 3))
    groups = options.get("groups")
    flags = None if groups is None else np.isin(np.arange(6), groups).astype(np.uint8)
    with batch_at(mj, data) as sim:
        distance, geom = sim.ray(origin, direction, **options)
    assert distance.shape == geom.shape == (6, count)
    met = 0
    for env in range(6):
        for k in range(count):
            found = np.zeros(1, np.int32)
            want = mujoco.mj_ray(
                mj, data[env], origin[env, k], direction[env, k], flags, options.get("fixed", True),
                options.get("exclude_body", -1), found,
            )  # fmt: skip
            assert geom[env, k] == found[0]
            assert distance[env, k] == pytest.approx(want, rel=1e-9)
            met += want >= 0
    assert 10 < met < 6 * count


def test_rays_of_all_environments_from_one_place(rng):
    mj = mujoco.MjModel.from_xml_string(SCENE)
    with batch_at(mj, states(mj, rng, 3), dtype="float32") as sim:
        distance, geom = sim.ray([0, 0, 3], [[0, 0, -1], [0, 0, 1]])
        assert distance.shape == (3, 2) and distance.dtype == np.float32
        assert (distance[:, 1] == -1).all() and (geom[:, 1] == -1).all() and (distance[:, 0] > 0).all()
        with pytest.raises(ValueError, match=r"rays of shapes \(2, 3\) and \(4, 3\) are given, and \(3, M, 3\)"):
            sim.ray(np.zeros((2, 3)), np.zeros((4, 3)))
        with pytest.raises(ValueError, match="groups 0 to 5"):
            sim.ray([0, 0, 3], [0, 0, -1], groups=[6])


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_rangefinders_are_mujocos(device, rng):
    mj = mujoco.MjModel.from_xml_string(SCENE)
    data = states(mj, rng, 30)
    if device == "reference":
        ref = ds.Reference(ds.Model.from_mujoco(mj))
        got = []
        for one in data:
            ref.qpos = one.qpos
            ref.forward()
            got.append(np.array(ref.sensordata))
    else:
        with batch_at(mj, data, device=device) as sim:
            got = np.array(sim.sensordata)
    want = np.array([one.sensordata for one in data])
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    # hits and misses
    assert 5 < np.count_nonzero(want[:, 0] > 0) and 5 < np.count_nonzero(want[:, 1] > 0) < 30


def test_a_height_field_stops_no_ray_and_is_refused(rng):
    xml = """<mujoco><asset><hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset><worldbody>
    <geom type="hfield" hfield="h" group="3" contype="0" conaffinity="0"/>
    <body pos="0 0 3"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    with ds.Batch(ds.Model.from_mjcf(xml), 1) as sim:
        with pytest.raises(ValueError, match="rays do not meet height fields"):
            sim.ray([0, 0, 5], [0, 0, -1])
        assert sim.ray([0, 0, 5], [0, 0, -1], groups=[0])[1][0, 0] == 1
