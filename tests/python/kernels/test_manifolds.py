"""Contacts of one pair are distinct points, and kernels and reference choose the same ones where a line touches."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

PAIR = """<mujoco><option gravity="0 0 0"/><worldbody><geom type="{0}" size="{1}"/>
<body pos="{2}"><freejoint/><geom type="{3}" size="{4}"/></body></worldbody></mujoco>"""
CYLINDER = ".05 .03"


def tilted(axis, degrees):
    """A rotation as a quaternion."""
    half = np.deg2rad(degrees) / 2
    return np.r_[np.cos(half), np.sin(half) * np.asarray(axis, float)]


def quaternions(rng, count):
    """Half of them turned a little from upright or lying, half any."""
    values = rng.normal(size=(count, 4))
    for k in range(0, count, 2):
        base = [(1, 0, 0, 0), (np.sqrt(0.5), np.sqrt(0.5), 0, 0)][k // 2 % 2]
        values[k] = np.asarray(base) + rng.normal(size=4) * 10.0 ** rng.uniform(-7, -1.5)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "pair",
    [("cylinder", CYLINDER, "cylinder", ".04 .06"), ("cylinder", CYLINDER, "box", ".05 .06 .04"),
     ("cylinder", CYLINDER, "capsule", ".02 .05"), ("cylinder", CYLINDER, "cylinder", CYLINDER)],
    ids=lambda p: f"{p[0]}-{p[2]}",
)  # fmt: skip
def test_contacts_of_a_pair_are_apart(pair, dtype, rng):
    first, size, second, other = pair
    model = ds.Model.from_mjcf(PAIR.format(first, size, "0 0 .05", second, other))
    count, seen = 400, 0
    with ds.Batch(model, count, dtype=dtype, num_threads=1) as batch:
        away = rng.normal(size=(count, 3)) * (1, 1, 1)
        # beside and above too, where faces and sides lie flat
        away[::3, :2] *= 0.05
        away[1::3, 2] *= 0.05
        batch.qpos[:, :3] = away / np.linalg.norm(away, axis=1, keepdims=True) * rng.uniform(0.05, 0.1, (count, 1))
        batch.qpos[:, 3:] = quaternions(rng, count)
        batch.forward()
        found = batch.contacts()
        longest = [max(map(float, s.split())) if kind != "capsule" else sum(map(float, s.split())) for kind, s in
                   ((first, size), (second, other))]  # fmt: skip
        for k in range(count):
            points = np.asarray(found.pos[k, : found.count[k]], float)
            between = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.eye(len(points))
            seen += len(points) > 1
            assert np.min(between, initial=1) > 0.0099 * min(longest), (batch.qpos[k], points)
    assert seen > 40


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0)])
def test_sides_that_lie_along_each_other_touch_where_the_reference_says(axis):
    model = ds.Model.from_mjcf(PAIR.format("cylinder", CYLINDER, "0 .098 0", "cylinder", CYLINDER))
    reference = ds.Reference(model)
    for tilt in (0, 0.02, 0.1, 0.2, 0.5, 1, 5, 20):
        with ds.Batch(model, 1, dtype="float64", num_threads=1) as batch:
            batch.qpos[0] = np.r_[0, 0.098, 0, tilted(axis, tilt)]
            batch.forward()
            reference.qpos[:] = batch.qpos[0]
            reference.forward()
            here, there = batch.contacts(), reference.contacts()
            points, wanted = np.asarray(here.pos[0, : here.count[0]]), np.asarray(there.pos)
            assert len(points) == len(wanted), (tilt, points, wanted)
            for p in points:
                assert np.min(np.linalg.norm(wanted - p, axis=1)) < 5e-6, (tilt, points, wanted)
            np.testing.assert_allclose(batch.qacc[0], reference.qacc, atol=2e-4 * np.abs(reference.qacc).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_faces_that_only_touch_do_not_brake(dtype):
    model = ds.Model.from_mjcf("""<mujoco><option gravity="0 0 0" timestep="0.002"/><worldbody>
<geom type="cylinder" size=".25 .25" euler="20 20 20"/><body euler="20 20 20"><body pos="0 0 .5"><joint axis="0 0 1"/>
<geom type="cylinder" size=".25 .25"/></body></body></worldbody></mujoco>""")
    with ds.Batch(model, 8, dtype=dtype, num_threads=1) as batch:
        batch.qpos[:, 0], batch.qvel[:] = np.linspace(0, 3, 8), 1
        batch.step(500)
        np.testing.assert_allclose(batch.qvel, 1, atol=1e-6)


@pytest.mark.parametrize(
    "pose",
    [
        [0.31048, 0.11292, -0.01765, 0.85023, -0.29276, 0.11446, 0.42227],
        [0.30554, 0.2047, -0.08393, 0.01523, -0.25424, -0.967, -0.00681],
        [-0.30615, 0.21051, -0.1452, 0.0202, -0.89077, 0.45386, -0.01114],
        [0.30483, 0.05602, -0.09739, 0.66739, -0.67998, -0.22057, -0.20873],
    ],
)
def test_a_capsule_across_a_corner_has_mujocos_two_contacts(pose):
    """The second point is as far along the edge as the shorter of two sides lets it."""
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom type="box" size=".3 .2 .1"/>'
        '<body><freejoint/><geom type="capsule" size=".02 .3" mass="1"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(mj)
    data.qpos[:] = pose
    mujoco.mj_forward(mj, data)
    with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype="float64") as sim:
        sim.qpos[0] = data.qpos
        sim.forward()
        count = int(sim.contact_count[0])
        found = np.sort(np.array(sim.contact_dist[0, :count]))
    wanted = np.sort([contact.dist for contact in data.contact])
    assert count == data.ncon == 2
    np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("plane", [0, 180])
def test_an_upright_capsule_has_mujocos_tangents(plane, dtype):
    """Where its axis is the normal it says nothing of t1, which is x then: friction differs by direction."""
    mj = mujoco.MjModel.from_xml_string(f"""<mujoco><option gravity="0 0 0" tolerance="0"/><worldbody>
<geom name="floor" type="plane" size="5 5 .1" euler="0 0 30"/>
<body pos="0 0 .29"><freejoint/><geom name="pill" type="capsule" size=".1 .2" euler="{plane} 0 0"/></body></worldbody>
<contact><pair geom1="floor" geom2="pill" condim="3" friction="1 .05 .01 .001 .001"/></contact></mujoco>""")
    data = mujoco.MjData(mj)
    model = ds.Model.from_mujoco(mj)
    reference = ds.Reference(model)
    with ds.Batch(model, 4, dtype=dtype, device="cpu") as sim:
        angles = np.deg2rad([0, 40, 90, 200])
        sim.qvel[:, :2] = np.c_[np.cos(angles), np.sin(angles)]
        sim.forward()
        for e in range(len(angles)):
            data.qvel[:] = reference.qvel[:] = sim.qvel[e]
            mujoco.mj_forward(mj, data)
            reference.forward()
            np.testing.assert_allclose(reference.qacc, data.qacc, atol=1e-9 * np.abs(data.qacc).max())
            np.testing.assert_allclose(sim.qacc[e], data.qacc, atol=(1e-4 if dtype == "float32" else 1e-9) * np.abs(data.qacc).max())
