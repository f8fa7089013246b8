"""Height fields against every shape: contacts of Batch and Reference against each other, against MuJoCo's where they are
shallow, against those of a plane, and bodies that rest, slide and roll on them."""

import mujoco
import numpy as np
import pytest
from answers import present

import dualstep as ds

SHAPES = {
    "sphere": 'type="sphere" size=".12"', "capsule": 'type="capsule" size=".06 .15"', "box": 'type="box" size=".1 .15 .08"',
    "ellipsoid": 'type="ellipsoid" size=".1 .15 .08"', "cylinder": 'type="cylinder" size=".1 .08"',
    "mesh": 'type="mesh" mesh="wedge"',
}  # fmt: skip
WEDGE = (
    """<mesh name="wedge" vertex="-.1 -.1 -.05 .1 -.1 -.05 -.1 .1 -.05 .1 .1 -.05 0 0 .12 .05 .05 .1 -.1 -.1 .05"/>"""
)


def field(heights, size, geom=""):
    rows, columns = heights.shape  # the file begins with the row at the far end
    numbers = " ".join(repr(float(h)) for h in heights[::-1].ravel())
    return (
        f'<hfield name="h" nrow="{rows}" ncol="{columns}" size="{size}" elevation="{numbers}"/>',
        f'<geom name="ground" type="hfield" hfield="h" {geom}/>',
    )


def scene(ground, *bodies, option=""):
    asset, geom = ground
    body = "".join(f"<body pos='{pos}'><freejoint/><geom {shape}/></body>" for pos, shape in bodies)
    return f"<mujoco>{option}<asset>{asset}{WEDGE}</asset><worldbody>{geom}{body}</worldbody></mujoco>"


def rough(seed, height=0.12, geom='pos=".1 .2 .3" euler="10 20 30"'):
    return field(np.random.default_rng(seed).uniform(size=(9, 8)), f".9 1.1 {height} .4", geom)


def partly_flat(seed, geom='euler="10 20 30"'):
    """Rough ground with a terrace, and a slope."""
    heights = np.random.default_rng(seed).uniform(size=(24, 24))
    heights[2:12, 2:12] = 0.5
    x, y = np.meshgrid(np.arange(10) / 9, np.arange(10) / 9)
    heights[12:22, 12:22] = 0.2 + 0.3 * x + 0.4 * y
    return field(heights, "1.15 1.15 .12 .4", geom)


def contacts(source):
    """(dist, pos, normal) of each contact of environment 0 of a Batch, or of a Reference."""
    if isinstance(source, ds.Reference):
        c = source.contacts()
        return np.c_[np.reshape(c.dist, -1), np.reshape(c.pos, (-1, 3)), np.reshape(c.frame, (-1, 9))[:, :3]]
    n = int(np.array(source.contact_count)[0])
    arrays = (np.array(a)[0].reshape(-1, w)[:n, :k] for a, w, k in (
        (source.contact_dist, 1, 1), (source.contact_pos, 3, 3), (source.contact_frame, 9, 3)))  # fmt: skip
    return np.concatenate(list(arrays), axis=1)


def touching(model, data, rng, depth):
    """A pose in which the body overlaps the ground by about `depth`, as MuJoCo finds it."""
    q = np.r_[rng.uniform(-0.4, 0.4, 2), 0, rng.normal(size=4)]
    q[3:] /= np.linalg.norm(q[3:])
    low, high = 0.0, 2.0
    for _ in range(30):
        q[2] = (low + high) / 2
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if data.ncon and data.contact.dist.min() < 0:
            low = q[2]
        else:
            high = q[2]
    q[2] = low - depth
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    return q


def distance(a, b):
    """How far the rows of one set of contacts are from those of another."""
    return max((np.abs(b - row).max(1).min() for row in a), default=0.0)


# how well kernels and reference agree, where a contact with an edge is searched for
CLOSE = {"ellipsoid": 1e-8, "mesh": 1e-6, "cylinder": 1e-8}


@pytest.mark.parametrize("height", [0.12, 0.5])
@pytest.mark.parametrize("kind", SHAPES)
def test_contacts_are_the_references_and_the_depth_is_mujocos(kind, height):
    rng = np.random.default_rng(7)
    counts, depths, normals = [], [], []
    for seed in range(3):
        xml = scene(rough(seed, height), ("0 0 1", SHAPES[kind]))
        m = mujoco.MjModel.from_xml_string(xml)
        m.opt.ccd_tolerance, m.opt.ccd_iterations = 1e-12, 1000
        d, model = mujoco.MjData(m), ds.Model.from_mjcf(xml)
        reference = ds.Reference(model)
        with ds.Batch(model, 1, dtype="float64") as batch:
            for k in range(40):
                depth = [1e-6, 1e-5, 1e-4, 0.05][k % 4]
                q = touching(m, d, rng, depth)
                reference.qpos, batch.qpos[:] = q, q
                reference.forward()
                batch.forward()
                a, b = contacts(batch), contacts(reference)
                counts.append(len(a) == len(b))
                if counts[-1]:
                    assert distance(a, b) < CLOSE.get(kind, 1e-9), (seed, k)
                # at the border MuJoCo has walls
                border = np.abs(d.geom_xmat[0].reshape(3, 3).T @ (d.contact.pos - d.geom_xpos[0]).T)[0].max() > 0.89
                if depth > 1e-3 or border:
                    continue
                assert len(b) > 0, (seed, k)
                i, j = d.contact.dist.argmin(), b[:, 0].argmin()
                depths.append(abs(d.contact.dist[i] - b[j, 0]))
                normals.append(np.abs(d.contact.frame[i, :3] - b[j, 4:]).max())
    # of a cylinder on an edge they may list another number
    assert np.mean(counts) > (0.95 if kind == "cylinder" else 0.999)
    # where a corner pierces an edge between coplanar cells, MuJoCo finds a shorter way out of one of its prisms
    assert np.quantile(depths, 0.9) < 1e-6 and max(depths) < 1.5e-4
    assert np.quantile(normals, 0.85) < 1e-5


@pytest.mark.parametrize("kind", SHAPES)
def test_no_normal_points_down_and_no_contact_is_missed_deep_inside(kind):
    xml = scene(rough(3, 0.3, ""), ("0 0 1", SHAPES[kind]))
    model, rng = ds.Model.from_mjcf(xml), np.random.default_rng(0)
    with ds.Batch(model, 16, dtype="float64") as batch:
        q = np.c_[rng.uniform(-0.5, 0.5, (16, 2)), np.linspace(-0.3, 0.05, 16), rng.normal(size=(16, 4))]
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
        batch.qpos[:] = q
        batch.forward()
        count, frame = np.array(batch.contact_count), np.array(batch.contact_frame)
        assert count.min() > 0
        for e in range(16):
            assert frame[e].reshape(-1, 9)[: count[e], 2].min() >= 0


def tilted():
    """A planar field along a slope in x and y, and a plane in its place."""
    x, y = np.meshgrid(np.arange(9) / 8, np.arange(11) / 10)
    rise = (0.25 * x + 0.5 * y) / 0.75
    normal = np.array([-0.75 / 3 / 2, -0.75 / 3 * 2 / 2.5, 1])
    return field(rise, "1 1.25 .75 .2"), normal / np.linalg.norm(normal)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("flat", [True, False])
def test_a_planar_field_is_a_plane(kind, flat):
    """Depth, place and normal of every contact, whatever the triangles below it."""
    ground, n = tilted()
    if flat:
        ground, n = field(np.ones((12, 10)), "1 1.25 .1 .2"), np.array([0.0, 0, 1])
    origin = np.array([-1, -1.25, 0]) if not flat else np.zeros(3)
    x, z = np.cross([0, 1, 0], n), n
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    axes = " ".join(repr(float(v)) for v in (*x, *y))
    pos = " ".join(map(str, origin))
    plane = ("", f'<geom type="plane" size="5 5 1" pos="{pos}" xyaxes="{axes}"/>')
    models = [ds.Model.from_mjcf(scene(g, ("0 0 1", SHAPES[kind]))) for g in (ground, plane)]
    rng = np.random.default_rng(2)
    with ds.Batch(models[0], 1, dtype="float64") as a, ds.Batch(models[1], 1, dtype="float64") as b:
        some = 0
        for k in range(60):
            q = np.r_[rng.uniform(-0.6, 0.6, 2), 0, rng.normal(size=4)]
            q[3:] = [1, 0, 0, 0] if k % 4 == 0 else q[3:] / np.linalg.norm(q[3:])
            q[2] = (n @ origin - n[:2] @ q[:2]) / n[2] + rng.uniform(0, 0.15)
            found = []
            for batch in (a, b):
                batch.qpos[:] = q
                batch.forward()
                found.append(contacts(batch))
            one, other = found
            # heights are single precision; of a hull up to four corners are chosen, seen from above and along the normal
            if kind == "mesh" and not flat:
                assert (len(one) > 0) == (len(other) > 0) and distance(other[:1], one[:1]) < 3e-7, (k, one, other)
            else:
                assert len(one) == len(other), (k, one, other)
                assert distance(one, other) < 3e-7 and distance(other, one) < 3e-7, (k, one, other)
            some += len(one)
        assert some > 30


@pytest.mark.parametrize("kind", SHAPES)
def test_flat_parts_of_rough_ground_have_the_references_contacts(kind):
    """Environments side by side stand on the terrace, on the slope, at their edges and on rough ground."""
    model = ds.Model.from_mjcf(scene(partly_flat(1, ""), ("0 0 1", SHAPES[kind])))
    reference, rng, count = ds.Reference(model), np.random.default_rng(4), 120
    q = np.c_[rng.uniform(-1, 1, (count, 2)), rng.uniform(0.05, 0.2, count), rng.normal(size=(count, 4))]
    q[::2, 0] = q[::2, 1] + rng.normal(scale=0.2, size=count // 2)
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    some, same = 0, []
    with ds.Batch(model, count, dtype="float64") as batch:
        batch.qpos[:] = q
        batch.forward()
        number, names = np.array(batch.contact_count), ("contact_dist", "contact_pos", "contact_frame")
        dist, pos, frame = (np.array(getattr(batch, name)).reshape(count, -1, w) for name, w in zip(names, (1, 3, 9)))
        for e in range(count):
            reference.qpos = q[e]
            reference.forward()
            a = np.concatenate([dist[e], pos[e], frame[e, :, :3]], axis=1)[: number[e]]
            b = contacts(reference)
            same.append(len(a) == len(b))
            if same[-1]:
                # heights of the slope are single precision, and planar as far as they go
                assert distance(a, b) < max(CLOSE.get(kind, 1e-9), 2e-6 if abs(q[e, :2] - 0.5).max() < 0.6 else 0), e
            some += len(a)
    assert some > 60 and np.mean(same) > (0.95 if kind == "cylinder" else 0.999)


@pytest.mark.parametrize("kind", ["sphere", "box", "capsule", "cylinder", "mesh"])
def test_what_slides_over_flat_ground_keeps_the_speed_that_it_has_on_a_plane(kind):
    option = (
        '<option timestep=".002" cone="elliptic" tolerance="1e-12"/><default><geom friction=".3 .005 .0001"/></default>'
    )
    ground = field(np.ones((31, 31)), "3 3 .1 .2")
    body = ("-2 .013 .15", SHAPES[kind])
    plane = ("", '<geom type="plane" size="5 5 1"/>')
    speeds = []
    for g in (ground, plane):
        with ds.Batch(ds.Model.from_mjcf(scene(g, body, option=option)), 1, dtype="float64") as batch:
            batch.qvel[:] = [[3, 0.2, 0, 0, 0, 0]]
            trail = []
            for _ in range(40):
                batch.step(10)
                trail.append(np.r_[np.array(batch.qvel)[0], np.array(batch.qpos)[0]])
            assert not np.array(batch.status).any()
            speeds.append(np.array(trail))
    apart = np.abs(speeds[0] - speeds[1])
    if kind == "cylinder":
        # which tumbles; its contacts come in another order, and the solver's residual is that of another path
        assert apart[:12].max() < 1e-4
    else:
        assert apart.max() < 1e-5 and apart[:20, :2].max() < 1e-6


def test_loads_are_carried_at_rest():
    bodies = [(f"{0.35 * (i % 3) - 0.3} {0.5 * (i // 3) - 0.2} .5", f'{shape} condim="6" friction="1 .1 .1" euler="90 0 0"')
              for i, shape in enumerate(SHAPES.values())]  # fmt: skip
    xml = scene(rough(5, 0.06, ""), *bodies, option='<option timestep=".002"/>')
    model = ds.Model.from_mjcf(xml)
    for dtype in ("float64", "float32"):
        with ds.Batch(model, 2, dtype=dtype) as batch:
            batch.step(3000)
            batch.forward()
            assert not np.array(batch.status).any()
            assert np.abs(np.array(batch.qvel)).max() < 0.1
            qpos = np.array(batch.qpos)[0].reshape(-1, 7)
            assert qpos[:, 2].min() > 0.03
            force = np.array(batch.contact_force)[0]
            frame = np.array(batch.contact_frame)[0].reshape(-1, 3, 3)
            count = int(np.array(batch.contact_count)[0])
            lifted = sum((frame[c].T @ force[c, :3])[2] for c in range(count))
            weight = 9.81 * model.body_mass.sum()
            assert abs(lifted - weight) < 0.02 * weight


def test_a_ridge_and_a_peak_carry_a_box():
    ridge = np.zeros((9, 9))
    ridge[:, 4] = 1
    peak = np.zeros((9, 9))
    peak[4, 4] = 1
    for heights, count in ((ridge, 2), (peak, 1)):
        xml = scene(field(heights, ".8 .8 .3 .1"), ("0 0 .395", 'type="box" size=".25 .15 .1"'))
        model = ds.Model.from_mjcf(xml)
        reference = ds.Reference(model)
        reference.forward()
        with ds.Batch(model, 1, dtype="float64") as batch:
            batch.forward()
            found = contacts(batch)
        assert distance(found, contacts(reference)) < 1e-12
        # ends of the stretch, and the vertices between them
        assert len(found) >= count
        assert np.allclose(found[:, 0], -0.005) and np.allclose(found[:, 4:], [0, 0, 1])
        assert np.isclose(np.ptp(found[:, 2]), 0.3 if count == 2 else 0)


RIDGE = field(np.array([[0.0] * 3, [1.0] * 3, [0.0] * 3]), "1 1 .3 .1")
THIN = {
    "box": 'type="box" size=".01 .15 .01" mass=".5"',
    "capsule": 'type="capsule" size=".01 .15" euler="90 0 0" mass=".5"',
    "wide capsule": 'type="capsule" size=".05 .3" euler="80 0 20" mass=".5"',
    "mesh": 'type="mesh" mesh="wedge" mass=".5"',
}


@pytest.mark.parametrize("speed", [1, 4, 8])
@pytest.mark.parametrize("kind", THIN)
def test_nothing_falls_through_a_ridge(kind, speed):
    """Bodies across a ridge that pass it in one step, whole or in part, come back up."""
    model = ds.Model.from_mjcf(scene(RIDGE, (".1 .05 .6", THIN[kind]), option='<option timestep="0.005"/>'))
    reference = ds.Reference(model)
    with ds.Batch(model, 1, dtype="float64") as batch:
        batch.qvel[:, 2] = reference.qvel[2] = -speed
        for _ in range(200):
            batch.step()
            reference.step()
            # it may slide down the slope and off the border; into the solid it goes by what it falls in two steps
            for x, y, z in (batch.qpos[0, :3], reference.qpos[:3]):
                assert max(abs(x), abs(y)) > 1 or z > 0.3 * (1 - abs(y)) - 0.04 - 2 * 0.005 * speed


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_lies_across_a_ridge_is_pushed_over_it_at_any_depth(dtype):
    """The depth grows with the way below the ridge: of a box its lower face, of a capsule its axis and radius."""
    for shape, half in (('type="box" size=".05 .3 .05"', 0.05), ('type="capsule" size=".02 .3" euler="90 0 0"', 0.02)):
        model = ds.Model.from_mjcf(scene(RIDGE, (".1 .05 0", shape)))
        reference = ds.Reference(model)
        with ds.Batch(model, 1, dtype=dtype) as batch:
            for height in (0.31, 0.29, 0.26, 0.24, 0.22):
                batch.qpos[0, 2] = reference.qpos[2] = height
                batch.forward()
                reference.forward()
                for found in (contacts(batch), contacts(reference)):
                    up = found[found[:, 6] > 0.999]
                    assert len(up) and abs(up[:, 0].min() - (height - half - 0.3)) < 1e-6, (shape, height)


def test_a_box_in_the_air_beside_a_needle_has_no_contact():
    """Below the height of a steep ridge, turned, and beside it: no direction that leads out of the ridge leads to it."""
    steep = field(np.array([[0.0] * 3, [0.0] * 3, [1.0] * 3, [0.0] * 3, [0.0] * 3]), "1 1 2 .1")
    for angle in (0, 20, 45, 70):
        model = ds.Model.from_mjcf(scene(steep, (".1 .65 .5", f'type="box" size=".05 .1 .1" euler="{angle} 0 0"')))
        reference = ds.Reference(model)
        reference.forward()
        with ds.Batch(model, 1, dtype="float64") as batch:
            batch.forward()
            assert len(contacts(reference)) == 0 and len(contacts(batch)) == 0


@pytest.mark.parametrize("ground", [rough(6, 0.2, ""), partly_flat(6, "")], ids=["rough", "partly flat"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_answer_over_lanes_and_places(dtype, ground):
    bodies = [(f"{0.4 * (i % 3) - 0.4} {0.5 * (i // 3) - 0.2} .5", shape) for i, shape in enumerate(SHAPES.values())]
    model = ds.Model.from_mjcf(scene(ground, *bodies))
    answers = []
    devices = [("cpu", 9, {}), ("cpu", 1, {}), ("emulated", 1, {"lanes": 4})]
    for device, count, options in devices if present("emulated") else devices[:2]:
        with ds.Batch(model, count, dtype=dtype, device=device, **options) as batch:
            # neighbours stand over other cells
            start = np.array(batch.qpos)
            for e in range(1, count):
                start[e, 0::7] += 0.03 * e
            batch.qpos[:] = start
            batch.step(150)
            answers.append(np.array(batch.qpos)[0])
    assert all(a.tobytes() == answers[0].tobytes() for a in answers)


def test_margin_and_gap():
    ground = field(np.ones((5, 5)), "1 1 .1 .1", 'margin=".02" gap=".01"')
    for height, found in ((0.015, 1), (0.0205, 0)):
        model = ds.Model.from_mjcf(scene(ground, (f"0.1 0 {height + 0.12}", SHAPES["sphere"])))
        with ds.Batch(model, 1, dtype="float64") as batch:
            batch.forward()
            assert int(np.array(batch.contact_count)[0]) == found


@pytest.mark.parametrize("kind", ["sphere", "box", "mesh"])
def test_each_of_several_fields_has_its_own_ground(kind):
    """Of another size and elsewhere: on the later one, contacts are those that it has alone in a model."""
    grounds = [partly_flat(1, 'pos="-3 0 0"'), rough(2, 0.2, 'pos="3 0 0"'), partly_flat(5, "")]
    numbered = [
        [part.replace('"h"', f'"h{i}"').replace("ground", f"ground{i}") for part in g] for i, g in enumerate(grounds)
    ]
    together = ("".join(asset for asset, _ in numbered), "".join(geom for _, geom in numbered))
    answers = []
    for ground in (together, grounds[2]):
        model, rng = ds.Model.from_mjcf(scene(ground, ("0 0 1", SHAPES[kind]))), np.random.default_rng(4)
        reference = ds.Reference(model)
        with ds.Batch(model, 1, dtype="float64") as batch:
            for _ in range(8):
                reference.qpos = batch.qpos[:] = np.r_[rng.uniform(-0.4, -0.1, 2), 0.1, 1, 0.03 * rng.normal(size=3)]
                batch.forward()
                reference.forward()
                answers.append(contacts(batch))
                assert distance(answers[-1], contacts(reference)) < 1e-9
    for a, b in zip(answers[:8], answers[8:]):
        assert len(a) > 0
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", ['type="sphere" size=".04"', 'type="box" size=".05 .03 .04"'], ids=["sphere", "box"])
def test_peaks_among_flat_cells_are_found_from_all_sides(shape):
    """The search for cells passes over blocks whose largest height is below the shape."""
    rng, touched = np.random.default_rng(3), 0
    for _ in range(4):
        heights = np.zeros((17, 19))
        heights[rng.integers(1, 16, 14), rng.integers(1, 18, 14)] = rng.uniform(0.3, 1, 14)
        heights[8, 9] = 1
        model = ds.Model.from_mjcf(scene(field(heights, "1.8 1.6 .6 .1"), ("0 0 1", shape)))
        q = np.c_[rng.uniform(-1.6, 1.6, 300), rng.uniform(-1.4, 1.4, 300), rng.uniform(0.03, 0.5, 300), rng.normal(size=(300, 4))]
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
        reference = ds.Reference(model)
        with ds.Batch(model, len(q), dtype="float64") as batch:
            batch.qpos[:] = q
            batch.forward()
            for pose, found in zip(q, np.array(batch.contact_count)):
                reference.qpos = pose
                reference.forward()
                assert found == reference.contacts().count, pose
                touched += found > 0
    assert touched > 80


def test_the_surface_alone_collides():
    """Not the walls at the border, nor the base; what is inside is pushed up, however deep."""
    ground = field(np.r_[np.zeros((1, 5)), np.ones((4, 5))], "1 1 .5 .4")
    cases = [((0, 0.2, 0.55), -0.07), ((0, 0.2, 0.3), -0.32), ((0, 0.2, -0.35), -0.97)]
    cases += [((1.1, 0.2, 0.2), None), ((0, 0.2, -0.45), None), ((0, 0.2, 0.63), None)]
    for pos, depth in cases:
        model = ds.Model.from_mjcf(scene(ground, (" ".join(map(str, pos)), SHAPES["sphere"])))
        reference = ds.Reference(model)
        reference.forward()
        with ds.Batch(model, 1, dtype="float64") as batch:
            batch.forward()
            for found in (contacts(batch), contacts(reference)):
                assert len(found) == (depth is not None), pos
                if depth is not None:
                    assert np.allclose(found[0], [depth, *pos[:2], pos[2] - 0.12 - depth / 2, 0, 0, 1]), pos
