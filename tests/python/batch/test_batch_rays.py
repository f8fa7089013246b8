"""Rays into a batch, and rangefinders, meet what MuJoCo's do."""

import mujoco
import numpy as np
import pytest
from answers import present

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
<rangefinder site="down"/><rangefinder site="across" data="dist dir origin point normal depth"/>
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


def readings(mj, data, device):
    """(N, nsensordata) of a batch on a device, or of "reference", at the states of MuJoCo."""
    if device != "reference":
        with batch_at(mj, data, device=device) as sim:
            return np.array(sim.sensordata)
    reference, found = ds.Reference(ds.Model.from_mujoco(mj)), []
    for one in data:
        reference.qpos = one.qpos
        reference.forward()
        found.append(np.array(reference.sensordata))
    return np.array(found)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_rangefinders_are_mujocos(device, rng):
    mj = mujoco.MjModel.from_xml_string(SCENE)
    data = states(mj, rng, 30)
    got = readings(mj, data, device)
    want = np.array([one.sensordata for one in data])
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    # hits and misses
    assert 5 < np.count_nonzero(want[:, 0] > 0) and 5 < np.count_nonzero(want[:, 1] > 0) < 30


HEIGHTS = " ".join(str(h) for h in np.random.default_rng(3).integers(0, 100, 56))
GROUND = f"""<mujoco><asset><hfield name="h" nrow="7" ncol="8" size=".9 1.1 .4 .3" elevation="{HEIGHTS}"/></asset><worldbody>
<geom type="hfield" hfield="h" pos=".1 -.2 .3" euler="20 -10 30" contype="0" conaffinity="0"/>
<body pos="0 0 1"><freejoint/><geom size=".01"/><site name="a" euler="170 10 0"/><site name="b" euler="0 100 20"/></body>
</worldbody><sensor><rangefinder site="a"/><rangefinder site="b"/><rangefinder site="b" data="point"/>
<rangefinder site="a" data="normal"/><rangefinder site="b" data="normal"/></sensor></mujoco>"""


def rays_at_a_field(mj, data, rng):
    """From all around it, from above and below its surface, along and across its cells, through its vertices."""
    frame, at = data.geom_xmat[0].reshape(3, 3), data.geom_xpos[0]
    origin, direction = rng.uniform(-1.6, 1.6, (2000, 3)), rng.normal(size=(2000, 3))
    origin[1000:, 2] *= 0.2
    direction[500:700, 2] = 0
    direction[700:800, 0] = 0
    direction[800:900, :2] = 0
    direction[900:1000, 1:] = 0
    size = mj.hfield_size[0]
    i, j = rng.integers(0, 8, 300), rng.integers(0, 7, 300)
    height = mj.hfield_data.reshape(7, 8)[j, i] * size[2]
    vertex = np.c_[2 * size[0] * i / 7 - size[0], 2 * size[1] * j / 6 - size[1], height]
    origin[1700:] = vertex + rng.normal(size=(300, 3))
    direction[1700:] = (vertex - origin[1700:]) * rng.uniform(0.2, 5, (300, 1))
    return at + origin @ frame.T, direction @ frame.T


def test_rays_meet_height_fields_as_mujocos_do(rng):
    mj = mujoco.MjModel.from_xml_string(GROUND)
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    origin, direction = rays_at_a_field(mj, data, rng)
    with batch_at(mj, [data]) as sim:
        distance, geom = sim.ray(origin[None], direction[None], groups=[0])
    found = np.zeros(1, np.int32)

    def mujocos(k, shift=0.0):
        return mujoco.mj_ray(mj, data, origin[k] + shift, direction[k], None, 1, -1, found)

    met = 0
    for k in range(1700):
        want = mujocos(k)
        assert geom[0, k] == found[0], k
        assert abs(distance[0, k] - want) < 1e-9, k
        met += want >= 0
    assert met > 400
    # to a vertex: what a ray beside it meets, and nothing that none of them does
    for k in range(1700, 2000):
        beside = [mujocos(k)] + [mujocos(k, 1e-7 * rng.normal(size=3)) for _ in range(20)]
        assert np.abs(distance[0, k] - beside).min() < 1e-5, (k, distance[0, k], beside)


@pytest.mark.parametrize("device", ["cpu", "emulated", "reference"])
def test_rangefinders_meet_height_fields_as_mujocos_do(device, rng):
    if device == "emulated" and not present("emulated"):
        pytest.skip("no emulated device in this build")
    mj = mujoco.MjModel.from_xml_string(GROUND)
    data = states(mj, rng, 40 if device != "emulated" else 6)
    want = np.array([one.sensordata for one in data])
    got = readings(mj, data, device)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-9)
    assert (want[:, :2] > 0).any()


# every shape that a ray meets, apart from each other; a site that the user moves looks at them from outside and from within
GALLERY = f"""<mujoco><asset><mesh name="tetra" vertex="0 0 0 .4 0 0 0 .4 0 0 0 .4"/>
<hfield name="h" nrow="7" ncol="8" size=".9 1.1 .4 .3" elevation="{HEIGHTS}"/></asset><worldbody>
<geom type="plane" size="3 3 1" pos="0 0 -2" euler="10 0 0"/><geom size=".3" pos="-3 0 0"/>
<geom type="ellipsoid" size=".2 .4 .3" pos="-2 0 0" euler="20 30 0"/><geom type="capsule" size=".2 .3" pos="-1 0 0" euler="70 0 10"/>
<geom type="cylinder" size=".3 .3" pos="0 0 0" euler="10 50 0"/><geom type="box" size=".3 .2 .4" pos="1 0 0" euler="0 30 40"/>
<geom type="mesh" mesh="tetra" pos="2 0 0" euler="0 10 40"/><geom type="hfield" hfield="h" pos="4 0 0" euler="20 -10 30"/>
<body name="eye" mocap="true"><site name="eye"/></body><body pos="0 9 0"><joint/><geom size=".1"/></body></worldbody>
<sensor><rangefinder site="eye" data="normal"/><rangefinder site="eye" data="dist normal depth"/></sensor></mujoco>"""


@pytest.mark.parametrize("kind", ["float64", "float32", "emulated", "reference"])
def test_normals_of_what_rays_meet_are_mujocos(kind, rng):
    if kind == "emulated" and not present("emulated"):
        pytest.skip("no emulated device in this build")
    mj, count = mujoco.MjModel.from_xml_string(GALLERY), 800 if kind.startswith("float") else 150
    data, model = mujoco.MjData(mj), ds.Model.from_mujoco(mj)
    centre = np.array([-3, -2, -1, 0, 1, 2.1, 4, 4])[np.arange(count) % 8]
    place = rng.normal(scale=0.5, size=(count, 3)) + np.c_[centre, np.zeros((count, 2))]
    aim = rng.normal(scale=0.2, size=(count, 3)) + np.c_[centre, np.zeros((count, 2))] - place
    quat = np.empty((count, 4))
    for row, way in zip(quat, aim, strict=True):
        mujoco.mju_quatZ2Vec(row, way)
    want = np.empty((count, 8))
    for k in range(count):
        data.mocap_pos[:], data.mocap_quat[:] = place[k], quat[k]
        mujoco.mj_forward(mj, data)
        want[k] = data.sensordata
    if kind == "reference":
        got, reference = np.empty_like(want), ds.Reference(model)
        for k in range(count):
            reference.mocap_pos[:], reference.mocap_quat[:] = place[k], quat[k]
            reference.forward()
            got[k] = reference.sensordata
    else:
        device, dtype = ("cpu", kind) if kind != "emulated" else ("emulated", "float64")
        with ds.Batch(model, count, device=device, dtype=dtype) as sim:
            sim.mocap_pos[:], sim.mocap_quat[:] = place[:, None], quat[:, None]
            sim.forward()
            got = np.array(sim.sensordata)
    error = np.abs(got - want).max(axis=1)
    # in single precision a ray may take the other side of an edge
    assert np.count_nonzero(error > (1e-9 if kind != "float32" else 1e-3)) <= (4 if kind == "float32" else 0), error.max()
    assert np.count_nonzero(np.linalg.norm(want[:, :3], axis=1) > 0.99) > 0.8 * count


@pytest.mark.parametrize("elevation", [" ".join(["1"] * 9), "0 0 0 0 1 0 0 0 0"])
def test_rays_at_flat_ground_and_at_a_peak(elevation):
    xml = f"""<mujoco><asset><hfield name="h" nrow="3" ncol="3" size="1 1 1 1" elevation="{elevation}"/></asset><worldbody>
    <geom type="hfield" hfield="h" group="3" contype="0" conaffinity="0"/>
    <body pos="0 0 3"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    top = 1.0 if "0" in elevation else 0.0
    with ds.Batch(ds.Model.from_mjcf(xml), 1, dtype="float64") as sim:
        origin = [[[0, 0, 2], [0.5, 0.5, 2], [0, 0, -3], [3, 0, 2], [1.5, 0, -0.5]]]
        direction = [[[0, 0, -1], [0, 0, -1], [0, 0, 2], [0, 0, -1], [-1, 0, 0]]]
        distance, geom = sim.ray(origin, direction, groups=[3])
        np.testing.assert_allclose(distance[0], [2 - top, 2 - top / 2, 1, -1, 0.5], atol=1e-12)
        assert sim.ray([0, 0, 5], [0, 0, -1], groups=[0])[1][0, 0] == 1


@pytest.mark.parametrize("y", [0.5, -0.5, 0.2])
def test_a_ray_along_the_side_of_a_height_field_meets_its_wall(y):
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><asset><hfield name="h" nrow="3" ncol="4" size="1 .5 .4 .1" elevation="1 1 1 1 1 1 0 1 1 1 1 1"/></asset>'
        f'<worldbody><geom type="hfield" hfield="h"/><body pos="-2 {y} .2" euler="0 90 0"><site name="s"/></body>'
        '<body pos="0 0 5"><freejoint/><geom size=".01"/></body></worldbody>'
        '<sensor><rangefinder site="s"/></sensor></mujoco>'
    )
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    reference.forward()
    with batch_at(mj, [data]) as sim:
        found = np.array(sim.sensordata)[0]
    assert data.sensordata == pytest.approx([1.0])
    assert found == pytest.approx(data.sensordata) and reference.sensordata == pytest.approx(data.sensordata)


@pytest.mark.parametrize("shape", ["capsule", "cylinder"])
def test_a_ray_almost_along_an_axis_meets_the_side(shape):
    # a ten-millionth of a turn: below it the side is nowhere, for MuJoCo and here
    mj = mujoco.MjModel.from_xml_string(f'<mujoco><worldbody><geom type="{shape}" size=".1 10"/></worldbody></mujoco>')
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    origin, direction = np.array([0.1 - 5e-7, 0, 0]), np.array([1e-7, 0, 1])
    wanted = mujoco.mj_ray(mj, data, origin, direction, None, 1, -1, np.zeros(1, np.int32))
    with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype="float64") as sim:
        sim.forward()
        distance, _ = sim.ray(origin[None, None], direction[None, None])
    assert wanted == pytest.approx(5, rel=1e-6) and distance == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("origin, direction", [([-2, 0.5], [1, -1]), ([2, 0.5], [-1, -1]), ([-2, -1.5], [1, 1])])
def test_a_ray_that_touches_a_corner_of_a_height_field_meets_it(origin, direction):
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><asset><hfield name="h" nrow="3" ncol="4" size="1 .5 .4 .1" elevation="1 1 1 1 1 1 0 1 1 1 1 1"/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    start, way = np.array([*origin, 0.2]), np.array([*direction, 0.0])
    wanted = mujoco.mj_ray(mj, data, start, way, None, 1, -1, np.zeros(1, np.int32))
    with batch_at(mj, [data]) as sim:
        distance, _ = sim.ray(start[None, None], way[None, None])
    assert wanted == pytest.approx(1) and distance == pytest.approx(wanted)


def test_rays_through_the_edges_of_cells_do_not_slip_through():
    # where one cell ends and the next begins rounding may put the surface on either side of the ray
    rng = np.random.default_rng(6)
    heights = rng.uniform(0, 1, (9, 9))
    xml = f"""<mujoco><asset><hfield name="h" nrow="9" ncol="9" size="1 1 .1 1" elevation="{" ".join(map(str, heights.ravel()))}"/>
    </asset><worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml)
    vertices = np.dstack([*np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9)), mj.hfield_data.reshape(9, 9) * 0.1])
    # a point of a side or of a diagonal, between two vertices that are neighbours; steeper than any slope, from above
    count = 20000
    i, j = rng.integers(1, 7, (2, count))
    step = np.array([[0, 1], [1, 0], [1, 1]])[rng.integers(0, 3, count)]
    share = rng.uniform(0, 1, (count, 1)) * (rng.random((count, 1)) < 0.8)
    aim = (1 - share) * vertices[i, j] + share * vertices[i + step[:, 0], j + step[:, 1]]
    direction = np.column_stack([rng.uniform(-0.3, 0.3, (count, 2)), -np.ones(count)])
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-12)):
        with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype=dtype) as sim:
            distance, geom = sim.ray((aim - 0.5 * direction)[None], direction[None])
        assert (geom == 0).all()
        np.testing.assert_allclose(distance[0], 0.5, atol=tolerance)
