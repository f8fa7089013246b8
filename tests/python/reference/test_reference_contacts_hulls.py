"""Hulls of meshes and ellipsoids against every shape: depth against a search over directions that starts from coal's,
MuJoCo's and random ones, contacts against the surfaces they must lie on, and closed forms where there are some."""

import itertools

import coal
import contact_oracle as oracle
import mujoco
import numpy as np
import pytest
import scenes
import shape_oracle as shapes
from scipy.spatial import ConvexHull

import dualstep as ds

ROUND = ("sphere", "capsule", "cylinder", "box")
PAIRS = [*((k, "mesh") for k in ROUND), ("ellipsoid", "mesh"), ("mesh", "mesh"), ("sphere", "ellipsoid"),
         ("capsule", "ellipsoid"), ("ellipsoid", "ellipsoid"), ("ellipsoid", "cylinder"), ("ellipsoid", "box")]  # fmt: skip
APART = 0.01


class Shape(shapes.Shape):
    """A shape of the oracle, and hulls and ellipsoids."""

    points = None

    def reach(self, n):
        local = np.asarray(n) @ self.mat
        if self.kind == "ellipsoid":
            return np.linalg.norm(local * self.size, axis=-1)
        return (local @ self.points.T).max(-1) if self.kind == "mesh" else super().reach(n)

    @property
    def extent(self):
        if self.kind == "mesh":
            return np.linalg.norm(self.points, axis=1).max()
        return {"sphere": np.max, "ellipsoid": np.max, "capsule": np.sum}.get(self.kind, np.linalg.norm)(self.size)

    def outside(self, x):
        """Distance of a point from the shape, or a lower bound of it; 0 or less inside."""
        p = self.mat.T @ (np.asarray(x) - self.pos)
        if self.kind == "mesh":
            faces = ConvexHull(self.points).equations
            return np.max(faces[:, :3] @ p + faces[:, 3])
        if self.kind == "ellipsoid":
            scaled = p / self.size
            return (np.linalg.norm(scaled) - 1) / max(np.linalg.norm(scaled / self.size), 1e-9)
        return self.distance(x)

    def coal(self):
        if self.kind == "mesh":
            points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
            hull = ConvexHull(self.points)
            # outwards
            for corners, plane in zip(hull.simplices, hull.equations):
                a, b, c = self.points[corners]
                i, j, k = corners if np.cross(b - a, c - a) @ plane[:3] > 0 else corners[::-1]
                triangles.append(coal.Triangle(int(i), int(j), int(k)))
            for x in self.points:
                points.append(x)
            return coal.Convex(points, triangles)
        s = self.size
        return {
            "sphere": lambda: coal.Sphere(s[0]), "capsule": lambda: coal.Capsule(s[0], 2 * s[1]),
            "cylinder": lambda: coal.Cylinder(s[0], 2 * s[1]), "ellipsoid": lambda: coal.Ellipsoid(*s),
            "box": lambda: coal.Box(*(2 * s)),
        }[self.kind]()  # fmt: skip


def cloud(rng, scale):
    """Corners of a hull: a cloud, a ball, a flat one, a needle, a box, a prism."""
    kind, n = rng.integers(6), int(rng.integers(5, 50))
    x = rng.normal(size=(n, 3))
    if kind > 0:
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    if kind in (2, 3):
        x *= [[1, 0.3, 0.01], [1, 0.02, 0.02]][kind - 2]
    if kind == 4:
        x = np.array(list(itertools.product((-1, 1), (-0.5, 0.5), (-0.3, 0.3))))
    if kind == 5:
        t = np.arange(n) * 2 * np.pi / n
        x = np.vstack([np.c_[np.cos(t), np.sin(t), np.full(n, h)] for h in (-0.4, 0.4)])
    return x * scale


def geom(kind, size, i, rng=None, extra="", points=None):
    """The asset and the geom of one shape."""
    if kind != "mesh":
        return "", f'<geom type="{kind}" size="{" ".join(repr(float(x)) for x in size)}" mass="1" {extra}/>'
    points = cloud(rng, size) if points is None else points
    vertex = " ".join(f"{x:.9g}" for x in np.ravel(points))
    return (f'<mesh name="m{i}" inertia="convex" vertex="{vertex}"/>', f'<geom type="mesh" mesh="m{i}" mass="1" {extra}/>')


def compiled(parts, extra=""):
    assets, geoms = zip(*parts)
    bodies = "".join(g if 'type="plane"' in g else f"<body><freejoint/>{g}</body>" for g in geoms)
    model = scenes.compile_mj(
        '<mujoco><compiler balanceinertia="true" boundmass="1e-9" boundinertia="1e-12"/>'
        f"<asset>{''.join(assets)}</asset><worldbody>{bodies}</worldbody>{extra}</mujoco>",
        constraints=True,
    )
    oracle.converge(model)
    return model, mujoco.MjData(model), ds.Reference(ds.Model.from_mujoco(model))


def random_size(kind, rng):
    scale = 10 ** rng.uniform(np.log10(0.003), 0)
    if kind == "mesh":
        return scale
    sizes = scale * np.exp(rng.uniform(-1.5, 0, 3))
    if kind == "ellipsoid" and rng.integers(3) == 0:
        sizes = scale * np.array([1, 0.1, 0.02])
    return sizes[: {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)]


def posed(model, data, kinds):
    """The shapes of the oracle as MuJoCo has placed them."""
    result = []
    for g, kind in enumerate(kinds):
        shape = Shape(kind, model.geom_size[g], data.geom_xpos[g].copy(), data.geom_xmat[g].reshape(3, 3).copy())
        shape.size = shape.size[: {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)]
        if kind == "mesh":
            mesh = model.geom_dataid[g]
            start = model.mesh_vertadr[mesh]
            shape.points = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(float)
        result.append(shape)
    return result


def poses(model, data, kinds, rng, count):
    """States that touch, overlap a little or deeply, or stand apart, along random directions."""
    for _ in range(count):
        quats = [rng.normal(size=4) if rng.integers(4) else np.array([1.0, 0, 0, 0]) for _ in range(2)]
        data.qpos[:] = np.r_[np.zeros(3), quats[0], np.zeros(3), quats[1]]
        mujoco.mj_kinematics(model, data)
        a, b = posed(model, data, kinds)
        n = rng.normal(size=(600, 3))
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        u = n[0]
        rate = n @ u
        apart = np.min(-shapes.gap(a, b, n)[rate > 0.1] / rate[rate > 0.1])
        depth = min(a.extent, b.extent) * rng.choice([-0.04, -1e-3, 0, 1e-6, 1e-3, 0.05, 0.3, 1])
        data.qpos[7:10] += (apart - depth) * u
        data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
        data.qpos[10:14] /= np.linalg.norm(data.qpos[10:14])
        mujoco.mj_fwdPosition(model, data)
        yield posed(model, data, kinds)


def reference_contacts(ref, data):
    ref.qpos = data.qpos
    ref.forward()
    return ref.contacts()


def coal_separation(a, b):
    """coal's distance or depth, and its direction from a to b."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    d = coal.distance(a.coal(), coal.Transform3s(a.mat, a.pos), b.coal(), coal.Transform3s(b.mat, b.pos), request, result)
    return d, np.array(result.normal)


def cases(kinds, seed, models, per_model, margin=0.05):
    rng = np.random.default_rng(seed)
    for _ in range(models):
        sizes = [random_size(kind, rng) for kind in kinds]
        wide = margin * min(np.max(s) for s in sizes)
        parts = [geom(k, s, i, rng, f'margin="{float(wide) / 2!r}"') for i, (k, s) in enumerate(zip(kinds, sizes))]
        model, data, ref = compiled(parts)
        for a, b in poses(model, data, kinds, rng, per_model):
            yield a, b, reference_contacts(ref, data), model, data, wide, rng


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_depths_are_the_least_over_all_directions(kinds):
    errors, coal_errors, touching = [], [], 0
    for a, b, got, model, data, wide, rng in cases(kinds, 0, 12, 3):
        size = min(a.extent, b.extent)
        fromto = np.zeros(6)
        theirs = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, fromto)
        along = np.sign(theirs) * (fromto[3:] - fromto[:3])
        coal_dist, coal_normal = coal_separation(a, b)
        starts = [n for n in (along, coal_normal, b.pos - a.pos) if np.isfinite(n).all() and np.linalg.norm(n) > 1e-12]
        if got.count:
            starts.append(got.frame[0, 0])
        best, _ = shapes.separation(a, b, rng, [n / np.linalg.norm(n) for n in starts], count=200)
        if got.count == 0:
            assert best > wide - 1e-9 * size
            continue
        touching += 1
        # the normal bears out the depth, and no direction shows less overlap
        assert abs(shapes.gap(a, b, got.frame[0, 0]) - got.dist[0]) < 1e-9 * size
        errors.append((best - got.dist[0]) / size)
        coal_errors.append(abs(coal_dist - got.dist[0]) / size)
    assert touching > 12
    assert np.quantile(errors, 0.99) < 1e-6 and np.max(errors) < 1e-5
    assert np.median(coal_errors) < 1e-4


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_contacts_lie_between_the_surfaces(kinds):
    for a, b, got, *_ in cases(kinds, 1, 12, 6):
        size = min(a.extent, b.extent)
        assert got.count <= 4
        for i in range(got.count):
            n, dist, pos = got.frame[i, 0], got.dist[i], got.pos[i]
            np.testing.assert_allclose(n, got.frame[0, 0], rtol=0, atol=1e-15)
            assert dist >= got.dist[0]
            slack = 1e-4 * size
            assert a.outside(pos - n * dist / 2) < slack and b.outside(pos + n * dist / 2) < slack
            # half the depth is between a contact and either surface
            assert n @ (pos - a.pos) <= a.reach(n) + dist / 2 + slack
            assert n @ (pos - b.pos) >= -b.reach(-n) - dist / 2 - slack
            for j in range(i):
                assert np.linalg.norm(pos - got.pos[j]) > (APART - 1e-6) * size


@pytest.mark.parametrize("kinds", [("mesh", "mesh"), ("ellipsoid", "ellipsoid")], ids="-".join)
def test_exchanged_shapes_have_the_same_contacts(kinds):
    rng = np.random.default_rng(2)
    for _ in range(8):
        parts = [geom(k, random_size(k, rng), i, rng) for i, k in enumerate(kinds)]
        model, data, ref = compiled(parts)
        _, _, other = compiled(parts[::-1])
        for a, b in poses(model, data, kinds, rng, 5):
            got = reference_contacts(ref, data)
            other.qpos = np.r_[data.qpos[7:], data.qpos[:7]]
            other.forward()
            back = other.contacts()
            size = min(a.extent, b.extent)
            # a direction that another one equals to rounding may be exchanged for it
            if got.count and back.count and np.linalg.norm(got.frame[0, 0] + back.frame[0, 0]) > 1e-6:
                assert abs(got.dist[0] - back.dist[0]) < 1e-9 * size
                continue
            assert got.count == back.count
            np.testing.assert_allclose(np.sort(back.dist), np.sort(got.dist), rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("seed", range(3))
def test_an_ellipsoid_on_a_plane(seed):
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(-3, 0, 3))
    model, data, ref = compiled([geom("plane", [5, 5, 0.1], 0), geom("ellipsoid", size, 1)])
    quat = rng.normal(size=4)
    data.qpos[:] = np.r_[0.3, -0.2, 0.01, quat / np.linalg.norm(quat)]
    mujoco.mj_fwdPosition(model, data)
    got = reference_contacts(ref, data)
    # the lowest point of |S^-1 R' (x - c)| = 1
    S = data.geom_xmat[1].reshape(3, 3) @ np.diag(size)
    height = np.linalg.norm(S[2])
    lowest = data.qpos[:3] - S @ S[2] / height
    assert got.count == data.ncon == 1
    np.testing.assert_allclose(got.dist[0], 0.01 - height, atol=1e-14)
    np.testing.assert_allclose(got.pos[0], lowest - [0, 0, got.dist[0] / 2], atol=1e-14)
    np.testing.assert_allclose(got.pos, data.contact.pos, atol=1e-12)


CORNERS = np.array(list(itertools.product((-0.2, 0.2), (-0.1, 0.1), (-0.05, 0.05))))


@pytest.mark.parametrize("kind", ["plane", "sphere", "capsule", "cylinder", "box"])
def test_a_box_of_vertices_is_as_deep_as_a_box(kind):
    """What two ways to write one box have in common: depth and normal of the deepest contact."""
    rng = np.random.default_rng(3)
    size = {"plane": [3, 3, 0.1], "sphere": [0.1], "capsule": [0.05, 0.1], "cylinder": [0.06, 0.05], "box": [0.1, 0.2, 0.05]}[kind]
    hull = compiled([geom(kind, size, 0), geom("mesh", 1, 1, points=CORNERS)])
    box = compiled([geom(kind, size, 0), geom("box", [0.2, 0.1, 0.05], 1)])
    touching = 0
    for _ in range(40):
        quat, pos = rng.normal(size=4), rng.normal(size=3) * 0.08 + [0, 0, 0.1]
        free = np.r_[pos, quat / np.linalg.norm(quat)]
        found = []
        for model, data, ref in (hull, box):
            data.qpos[:] = free if kind == "plane" else np.r_[np.zeros(3), 1, 0, 0, 0, free]
            mujoco.mj_fwdPosition(model, data)
            found.append(reference_contacts(ref, data))
        a, b = found
        assert (a.count > 0) == (b.count > 0)
        # an axis that enters a box counts as a ball at its deepest point
        if a.count and not (kind == "capsule" and a.dist[0] < -0.05):
            touching += 1
            deepest = int(np.argmin(b.dist))
            assert abs(a.dist[0] - b.dist[deepest]) < (2e-3 if kind in ("box", "capsule") else 1e-7)
    assert touching > 10


@pytest.mark.parametrize("under", ["plane", "box", "mesh", "cylinder"])
def test_a_face_that_rests_has_a_contact_at_each_corner(under):
    parts = {
        "plane": geom("plane", [3, 3, 0.1], 0), "box": geom("box", [1, 1, 0.05], 0), "cylinder": geom("cylinder", [1, 0.05], 0),
        "mesh": geom("mesh", 1, 0, points=CORNERS * [10, 10, 1]),
    }[under]  # fmt: skip
    model, data, ref = compiled([parts, geom("mesh", 1, 1, points=CORNERS)])
    height = 0.05 if under == "plane" else 0.1
    # turned by less than a degree: the corners keep their own depths
    for tilt in (0.0, 1e-3, 5e-3):
        free = [0.1, 0.05, height - 1e-3, np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
        data.qpos[:] = free if under == "plane" else np.r_[np.zeros(3), 1, 0, 0, 0, free]
        mujoco.mj_fwdPosition(model, data)
        got = reference_contacts(ref, data)
        corners = CORNERS[CORNERS[:, 2] < 0] @ data.xmat[model.nbody - 1].reshape(3, 3).T + free[:3]
        gaps = corners[:, 2] - (height - 0.05)
        assert got.count == (gaps < 0).sum() >= 2
        np.testing.assert_allclose(np.sort(got.dist), np.sort(gaps[gaps < 0]), atol=1e-4 * tilt + 1e-6)
        reached = corners[gaps < 0]
        for pos in got.pos:
            assert np.linalg.norm(reached[:, :2] - pos[:2], axis=1).min() < 1e-4


@pytest.mark.parametrize("gap", [-1e-3, 1e-3])
@pytest.mark.parametrize("above", ["capsule", "cylinder", "mesh"])
def test_edges_side_by_side_touch_at_the_ends_of_what_they_share(above, gap):
    if above == "mesh" and gap < 0:
        return  # the least depth of two edges is across one of them
    roof = np.array([[x, y, z] for x in (-0.1, 0.1) for y, z in ((0, 0.075), (0.08, -0.075), (-0.08, -0.075))])
    lying = [0.5**0.5, 0, 0.5**0.5, 0]  # along x
    over, quat, height = {
        "capsule": (geom("capsule", [0.05, 0.2], 1, extra='margin=".01"'), lying, 0.05),
        "cylinder": (geom("cylinder", [0.05, 0.2], 1, extra='margin=".01"'), lying, 0.05),
        "mesh": (geom("mesh", 1, 1, extra='margin=".01"', points=roof * [2, 1, -1]), [1, 0, 0, 0], 0.075),
    }[above]
    model, data, ref = compiled([geom("mesh", 1, 0, points=roof), over])
    for shift, ends in ((0.05, (-0.1, 0.1)), (0.15, (-0.05, 0.1)), (-0.24, (-0.1, -0.04))):
        data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, shift, 0, 0.075 + height + gap, *quat]
        got = reference_contacts(ref, data)
        assert got.count == 2
        np.testing.assert_allclose(got.dist, gap, atol=1e-7)
        found = got.pos[np.argsort(got.pos[:, 0])]
        np.testing.assert_allclose(found, [[x, 0, 0.075 + gap / 2] for x in ends], atol=1e-6)


def test_a_sphere_on_the_face_of_a_hull():
    model, data, ref = compiled([geom("sphere", [0.1], 0), geom("mesh", 1, 1, points=CORNERS)])
    data.qpos[:] = [0.05, 0.02, 0.14, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    mujoco.mj_fwdPosition(model, data)
    got = reference_contacts(ref, data)
    assert got.count == 1
    np.testing.assert_allclose(got.dist[0], -0.01, atol=1e-8)
    np.testing.assert_allclose(got.frame[0, 0], [0, 0, -1], atol=1e-8)
    np.testing.assert_allclose(got.pos[0], [0.05, 0.02, 0.045], atol=1e-8)


def test_margins_pairs_and_condim_are_those_of_primitives():
    extra = """<contact><pair geom1="a" geom2="b" condim="6" margin=".02" gap=".01" friction="1 .5 .1 .02 .03"
               solref=".03 .8"/></contact>"""
    parts = [geom("mesh", 1, 0, points=CORNERS, extra='name="a"'), geom("ellipsoid", [0.1, 0.05, 0.08], 1, extra='name="b"')]
    model, data, ref = compiled(parts, extra)
    touching = 0
    for height in (0.2, 0.155, 0.135, 0.11):
        data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, 0, 0, height, 1, 0, 0, 0]
        data.qpos[:7] = [0, 0, 0, 1, 0, 0, 0]
        oracle.forward(model, data, ref)
        got = ref.contacts()
        assert got.count == data.ncon
        touching += got.count
        for i in range(got.count):
            want = data.contact[i]
            np.testing.assert_allclose(got.dist[i], want.dist, atol=1e-8)
        # as far as MuJoCo's own normal is exact
        assert ref.qacc == pytest.approx(data.qacc, rel=1e-6, abs=1e-3)
    assert touching == 3


def test_one_contact_without_multiccd():
    parts = [geom("mesh", 1, 0, points=CORNERS * [10, 10, 1]), geom("mesh", 1, 1, points=CORNERS)]
    pos = np.r_[np.zeros(3), 1, 0, 0, 0, 0.1, 0.05, 0.099, 1, 0, 0, 0]
    for flag, count in (("enable", 4), ("disable", 1)):
        _, data, ref = compiled(parts, f'<option><flag multiccd="{flag}"/></option>')
        data.qpos[:] = pos
        got = reference_contacts(ref, data)
        assert got.count == count and abs(got.dist[0] + 1e-3) < 1e-6
