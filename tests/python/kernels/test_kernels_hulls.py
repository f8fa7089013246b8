"""Meshes and ellipsoids in a Batch: contacts against MuJoCo's along a motion, one answer, rest."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

XML = """<mujoco><option timestep="0.002"/><asset>
<mesh name="cube" vertex="-.1 -.1 -.1 .1 -.1 -.1 -.1 .1 -.1 .1 .1 -.1 -.1 -.1 .1 .1 -.1 .1 -.1 .1 .1 .1 .1 .1"/>
<mesh name="wedge" vertex="-.1 -.1 -.05 .1 -.1 -.05 -.1 .1 -.05 .1 .1 -.05 0 0 .12 .05 .05 .1"/></asset>
<worldbody><geom type="plane" size="3 3 .1"/>
<body pos="0 0 .12"><freejoint/><geom type="mesh" mesh="cube"/></body>
<body pos=".05 .02 .3"><freejoint/><geom type="mesh" mesh="wedge"/></body>
<body pos=".5 0 .1"><freejoint/><geom type="ellipsoid" size=".1 .15 .08"/></body>
<body pos=".5 .05 .3"><freejoint/><geom type="capsule" size=".05 .1"/></body>
<body pos="1 0 .1"><freejoint/><geom type="box" size=".1 .15 .08"/></body>
<body pos="1 .05 .3"><freejoint/><geom type="mesh" mesh="cube"/></body>
<body pos="1.5 0 .1"><freejoint/><geom type="cylinder" size=".1 .08"/></body>
<body pos="1.5 .05 .3"><freejoint/><geom type="mesh" mesh="cube"/></body>
</worldbody></mujoco>"""


def deepest(geoms, dists):
    """The least distance of each pair of geoms, and how many contacts it has."""
    found = {}
    for pair, dist in zip(np.sort(geoms, axis=1).tolist(), dists, strict=True):
        least, count = found.get(tuple(pair), (np.inf, 0))
        found[tuple(pair)] = min(least, float(dist)), count + 1
    return found


# of shapes of 0.1 m: the bounds for the depth by the size of the smaller shape are 1e-6 and 1e-4
@pytest.mark.parametrize("dtype, close", [("float64", 1e-6), ("float32", 3e-5)])
def test_depths_are_mujocos_along_a_fall(dtype, close):
    m = mujoco.MjModel.from_xml_string(XML)
    m.opt.ccd_tolerance, m.opt.ccd_iterations = 1e-10, 300
    d, seen = mujoco.MjData(m), set()
    model = ds.Model.from_mjcf(XML)
    with ds.Batch(model, 3, dtype=dtype) as batch, ds.Batch(model, 1, dtype="float64") as exact:
        for _ in range(30):
            batch.step(20)
            batch.forward()
            assert not np.array(batch.status).any()
            assert np.array_equal(*np.array(batch.qpos)[[0, 2]])
            count = int(np.array(batch.contact_count)[0])
            mine = deepest(np.array(batch.contact_geom)[0, :count], np.array(batch.contact_dist)[0, :count])
            exact.qpos[:] = np.array(batch.qpos)[:1]
            exact.forward()
            count = int(np.array(exact.contact_count)[0])
            finer = deepest(np.array(exact.contact_geom)[0, :count], np.array(exact.contact_dist)[0, :count])
            d.qpos[:] = np.array(batch.qpos)[0]
            mujoco.mj_forward(m, d)
            theirs = deepest(d.contact.geom, d.contact.dist)
            for pair in mine.keys() | theirs.keys():
                a, b = mine.get(pair, (0.0, 0))[0], theirs.get(pair, (0.0, 0))[0]
                # both precisions find one depth, and MuJoCo too, but for a cylinder on a mesh, where it differs from
                # both by up to 6e-5 m
                assert abs(a - finer.get(pair, (0.0, 0))[0]) < close, (pair, a)
                slack = 6e-5 if pair == (7, 8) else 0
                assert abs(a - b) < close + slack, (pair, a, b)
            seen |= mine.keys()
        assert np.abs(np.array(batch.qvel)).max() < 0.5
    assert len(seen) >= 8
    # what lies flat has as many contacts as in MuJoCo
    for pair in ((0, 1), (0, 5), (1, 2), (5, 6), (7, 8)):
        assert mine[pair][1] == theirs[pair][1] == 4, pair


PRISM = """<mujoco><option timestep="0.002"/><asset>
<mesh name="prism" vertex="-.1 0 -.1 .1 0 -.1 -.1 .08 .05 .1 .08 .05 -.1 -.08 .05 .1 -.08 .05"/>
<mesh name="slab" vertex="-1 -1 -.1 1 -1 -.1 -1 1 -.1 1 1 -.1 -1 -1 .1 1 -1 .1 -1 1 .1 1 1 .1"/></asset>
<worldbody>{under}<body pos=".1 .05 {height}" euler="0 0 30"><freejoint/><geom type="mesh" mesh="prism"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("gap", [-1e-4, 1e-4])
@pytest.mark.parametrize("under", ['type="box" size="1 1 .1"', 'type="mesh" mesh="slab"'], ids=["box", "mesh"])
def test_a_prism_on_its_edge_touches_at_both_ends(under, gap, device):
    """MuJoCo's contacts and accelerations, and the reference's."""
    m = mujoco.MjModel.from_xml_string(PRISM.format(under=f'<geom {under} margin=".01"/>', height=0.2 + gap))
    m.opt.tolerance, m.opt.iterations = 0, 300
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    assert d.ncon == 2 and np.abs(d.contact.dist - gap).max() < 1e-6
    model = ds.Model.from_mujoco(m)
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    reference = ds.Reference(model)
    reference.qpos[...] = d.qpos
    reference.forward()
    with ds.Batch(model, 1, device=device, dtype="float64") as batch:
        batch.qpos[:] = d.qpos
        batch.forward()
        assert int(batch.contact_count[0]) == 2
        places = np.array(batch.contact_pos)[0, :2]
        order = np.argsort(places[:, 0])
        for other in (np.array(d.contact.pos), np.array(reference.contacts().pos)):
            assert np.abs(places[order] - other[np.argsort(other[:, 0])]).max() < 2e-6
        assert np.abs(np.array(batch.qacc)[0] - d.qacc).max() < 1e-6
        assert np.abs(np.array(batch.qacc)[0] - np.array(reference.qacc)).max() < 1e-9


LONE = {
    "capsule": 'type="capsule" size=".05 .1"', "cylinder": 'type="cylinder" size=".1 .08"', "box": 'type="box" size=".1 .15 .08"',
    "mesh": 'type="mesh" mesh="prism"',
}  # fmt: skip
ITERATED = [("capsule", "cylinder"), ("cylinder", "cylinder"), ("cylinder", "box"), ("capsule", "mesh"), ("cylinder", "mesh"),
            ("box", "mesh"), ("mesh", "mesh")]  # fmt: skip
FALLING = """<mujoco><option timestep="0.002" gravity="0 0 0"><flag multiccd="disable"/></option><asset>
<mesh name="prism" vertex="-.1 0 -.1 .1 0 -.1 -.1 .08 .05 .1 .08 .05 -.1 -.08 .05 .1 -.08 .05"/></asset><worldbody>
{bodies}</worldbody></mujoco>"""


def one_body(shape, pos="0 0 0"):
    return f'<body pos="{pos}"><freejoint/><geom {LONE[shape]}/></body>'


def touches(m, d, height):
    d.qpos[9] = height
    mujoco.mj_forward(m, d)
    return d.ncon > 0


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("kinds", ITERATED, ids="-".join)
def test_one_contact_without_multiccd(kinds, device):
    """What MuJoCo finds by iteration has one contact, as deep as the reference's, and as MuJoCo's where its search ends."""
    m = mujoco.MjModel.from_xml_string(FALLING.format(bodies="".join(map(one_body, kinds))))
    m.opt.ccd_tolerance, m.opt.ccd_iterations = 1e-10, 300
    d, rng, model = mujoco.MjData(m), np.random.default_rng(0), ds.Model.from_mujoco(m)
    reference, close, touching = ds.Reference(model), 0, 0
    with ds.Batch(model, 1, device=device, dtype="float64") as batch:
        for trial in range(60):
            d.qpos[:7] = 0, 0, 0, 1, 0, 0, 0
            # every third time upright and less than 5 mm deep, so that faces lie on faces
            d.qpos[10:14] = rng.normal(size=4) if trial % 3 else (1, 0, 0, 0)
            d.qpos[7:10] = rng.normal(size=3) * (0.07 if trial % 3 else 0.02)
            mujoco.mj_normalizeQuat(m, d.qpos)
            if trial % 3 == 0:
                d.qpos[9] = next(z for z in np.arange(0.5, 0, -0.005) if touches(m, d, z))
            mujoco.mj_forward(m, d)
            batch.qpos[0], reference.qpos[...] = d.qpos, d.qpos
            batch.forward()
            reference.forward()
            count = int(batch.contact_count[0])
            assert count == reference.contacts().count <= 1 and d.ncon <= 1
            if count == 0 or d.ncon == 0:
                continue
            touching += 1
            depth = float(np.array(batch.contact_dist)[0, 0])
            assert abs(depth - reference.contacts().dist[0]) < 1e-7
            close += abs(depth - d.contact.dist[0]) < 1e-6
    assert touching > 20 and close > 0.7 * touching, (close, touching)


def test_two_alike_deep_inside_each_other():
    """Where all faces of a hull are parallel to those of the other, so that the difference has large flat sides."""
    m = mujoco.MjModel.from_xml_string(FALLING.format(bodies=one_body("mesh") * 2))
    model, rng = ds.Model.from_mujoco(m), np.random.default_rng(0)
    reference = ds.Reference(model)
    states = np.tile([0.0, 0, 0, 1, 0, 0, 0], (200, 2))
    states[:, 7:10] = rng.normal(size=(200, 3)) * (0.02, 0.02, 0.1)
    with ds.Batch(model, 200, dtype="float64", device="cpu") as batch:
        batch.qpos = states
        batch.forward()
        count, depth = np.array(batch.contact_count), np.array(batch.contact_dist)
    assert np.count_nonzero(count) > 100
    for row in np.flatnonzero(count):
        reference.qpos[...] = states[row]
        reference.forward()
        assert abs(depth[row, : count[row]].min() - reference.contacts().dist.min()) < 1e-7, states[row]


def test_one_contact_without_multiccd_in_scenes_of_many_bodies():
    """Where pairs of single environments go side by side."""
    places = [f"{0.143 * (i % 3)} {0.147 * (i // 3 % 3)} {0.123 * (i // 9)}" for i in range(27)]
    shapes = ("cylinder", "box", "capsule")
    bodies = "".join(one_body(shapes[(i + i // 9) % 3], pos) for i, pos in enumerate(places))
    counts = {}
    for flag in ("disable", "enable"):
        model = ds.Model.from_mjcf(FALLING.format(bodies=bodies).replace("disable", flag))
        model.opt.contact_capacity = 400
        reference = ds.Reference(model)
        reference.forward()
        with ds.Batch(model, 2, dtype="float64", device="cpu") as batch:
            batch.forward()
            counts[flag] = int(batch.contact_count[1])
            pairs = np.array(batch.contact_geom)[1, : counts[flag]]
            dists = np.array(batch.contact_dist)[1, : counts[flag]]
        iterated = [model.geom_type[list(pair)].max() != 6 or model.geom_type[list(pair)].min() == 5 for pair in pairs]
        cylinders = [tuple(p) for p, it in zip(pairs.tolist(), iterated, strict=True) if it and 5 in model.geom_type[p]]
        if flag == "disable":
            assert len(set(cylinders)) == len(cylinders) > 10
            mine = deepest(pairs, dists)
            theirs = deepest(reference.contacts().geom, reference.contacts().dist)
            assert mine.keys() == theirs.keys()
            assert all(abs(mine[pair][0] - theirs[pair][0]) < 1e-7 for pair in mine)
    assert counts["disable"] < counts["enable"]


def pile(rng):
    """Bodies of every kind that is searched for, in one place: hulls of 5 to 400 points, and others, of random conditions."""
    assets, bodies = [], []
    for i, kind in enumerate(["mesh", "mesh", *rng.choice(["mesh", "box", "capsule", "cylinder", "ellipsoid", "sphere"], 3)]):
        size = rng.uniform(0.03, 0.3, 3)
        shape = f'type="{kind}" size="{size[0]} {size[1]} {size[2]}"'
        if kind == "mesh":
            points = rng.normal(size=(int(rng.choice([5, 8, 9, 16, 17, 60, 130, 400])), 3))
            points = points / np.linalg.norm(points, axis=1, keepdims=True) * size + rng.uniform(-0.1, 0.1, 3)
            assets.append(f'<mesh name="{i}" inertia="convex" vertex="{" ".join(map(str, points.ravel()))}"/>')
            shape = f'type="mesh" mesh="{i}"'
        margin, dim = rng.choice([0, 0.01]), rng.choice([1, 3, 4, 6])
        bodies.append(f'<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/><geom {shape} condim="{dim}" '
                      f'margin="{margin}" solref="{rng.uniform(0.01, 0.03)} 1" friction="{rng.uniform(0.2, 1)}"/></body>')
    flag, integrator = rng.choice(["enable", "disable"]), rng.choice(["Euler", "implicitfast", "discrete"])
    return (f'<mujoco><option gravity="0 0 0" integrator="{integrator}"><flag multiccd="{flag}"/></option>'
            f'<asset>{"".join(assets)}</asset><worldbody>{"".join(bodies)}</worldbody></mujoco>')


@pytest.mark.parametrize("capacity", [0, 3], ids=["room", "overflow"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pairs_side_by_side_are_what_each_is_alone(dtype, capacity):
    """On a CPU pairs of several environments stand in one pack, each with its own hulls; on lanes an environment has its own."""
    rng, contacts = np.random.default_rng(5), 0
    for _ in range(4):
        model = ds.Model.from_mjcf(pile(rng))
        model.opt.contact_capacity = capacity
        poses = rng.normal(size=(19, model.nq // 7, 7))
        poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
        poses[..., :3] *= rng.choice([0.1, 0.3])
        fields = ("contact_count", "contact_geom", "contact_dist", "contact_pos", "contact_frame", "qacc", "status")
        found = []
        for where in ({"device": "cpu"}, {"device": "emulated", "lanes": 1}, {"device": "emulated", "lanes": 4}):
            with ds.Batch(model, len(poses), dtype=dtype, **where) as batch:
                batch.qpos[:] = poses.reshape(len(poses), -1)
                batch.forward()
                found.append({name: np.array(getattr(batch, name)).tobytes() for name in fields})
                contacts += int(np.array(batch.contact_count).sum())
        assert found[0] == found[1] == found[2]
    assert contacts > 300
