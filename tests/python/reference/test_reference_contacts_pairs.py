"""Every pair of shapes. Where MuJoCo has a closed form: every contact, its point and frame. Where it iterates (pairs of
capsule, cylinder, box with a cylinder): depth and normal, wherever MuJoCo's own normal bears out its depth; and for all
of them what must hold whatever the detector: contacts in both bodies, no depth above the true one, loads carried."""

import itertools

import contact_oracle as oracle
import mujoco
import numpy as np
import pytest
import scenes
import shape_oracle as shapes

import dualstep as ds

ITERATED = [("capsule", "cylinder"), ("cylinder", "cylinder"), ("cylinder", "box")]
CLOSED = [
    pair for pair in itertools.combinations_with_replacement(shapes.KINDS, 2)
    if pair not in ITERATED and pair != ("plane", "plane")
]  # fmt: skip
TOLERANCE = 1e-8
ITERATED_TOLERANCE = 1e-6
# MuJoCo loses the lowest point of a disk that is parallel to the plane but for less than this
FLAT = 1e-6


def pair_model(kinds, sizes, margin):
    def body(kind, size, name):
        text = " ".join(repr(float(x)) for x in size)
        geom = f'<geom type="{kind}" size="{text}" margin="{margin / 2}"/>'
        return geom if kind == "plane" else f'<body name="{name}"><freejoint/>{geom}</body>'

    xml = f"<mujoco><worldbody>{body(kinds[0], sizes[0], 'a')}{body(kinds[1], sizes[1], 'b')}</worldbody></mujoco>"
    model = scenes.compile_mj(xml, constraints=True)
    oracle.converge(model)
    return model, mujoco.MjData(model), ds.Reference(ds.Model.from_mujoco(model))


def near_poses(kinds, sizes, margin, rng, count):
    """(first, second, qpos) with a gap near zero, mostly penetrating a little, some deeply, some within the margin."""
    for _ in range(count):
        q1, q2 = shapes.random_quat(rng), shapes.random_quat(rng)
        a = shapes.Shape(kinds[0], sizes[0], mat=np.eye(3) if kinds[0] == "plane" else shapes.rotation(q1))
        b = shapes.Shape(kinds[1], sizes[1], mat=shapes.rotation(q2))
        u = rng.normal(size=3) if rng.integers(3) else np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
        u = np.array([0, 0, 1.0]) if kinds[0] == "plane" else u / np.linalg.norm(u)
        offset = rng.normal(size=3) * 0.1 * rng.integers(2)
        directions = rng.normal(size=(4000, 3))
        directions = np.vstack([directions, a.mat.T, -a.mat.T, b.mat.T, -b.mat.T, u])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        # along u, b leaves a where the first of the directions shows a gap
        b.pos = offset
        behind = -shapes.gap(a, b, directions)
        rate = np.ones(len(directions)) if kinds[0] == "plane" else directions @ u
        apart = np.clip(np.min(behind[rate > 0] / rate[rate > 0]), 0, 4)
        depth = rng.choice([1e-6, 1e-4, 1e-3, 1e-2, 0.1]) * rng.uniform()
        b.pos = offset + (apart - depth + rng.integers(2) * margin * rng.uniform()) * u
        yield a, b, np.r_[b.pos, q2] if kinds[0] == "plane" else np.r_[0, 0, 0, q1, b.pos, q2]


def contacts(model, data, ref, qpos):
    data.qpos[:] = qpos
    mujoco.mj_fwdPosition(model, data)
    ref.qpos = qpos
    ref.forward()
    return ref.contacts()


def cases(kinds, seed, models=40, poses=25, flags=0):
    rng = np.random.default_rng(seed)
    for _ in range(models):
        margin = float(rng.choice([0, 0, 0.04]))
        sizes = [shapes.random_size(kind, rng) for kind in kinds]
        model, data, ref = pair_model(kinds, sizes, margin)
        model.opt.disableflags |= flags
        for a, b, qpos in near_poses(kinds, sizes, margin, rng, poses):
            yield a, b, contacts(model, data, ref, qpos), data, rng


@pytest.mark.parametrize("kinds", CLOSED, ids="-".join)
def test_closed_forms_agree_with_mujoco(kinds):
    touching = 0
    for a, b, got, data, _ in cases(kinds, 0):
        if kinds == ("plane", "cylinder") and 0 < np.linalg.norm(b.mat[2, :2]) < FLAT:
            continue
        assert got.count == data.ncon
        touching += got.count > 0
        if got.count == 0:
            continue
        want = data.contact
        order = np.arange(got.count)
        if kinds == ("box", "box") and np.ptp(want.dist) < 1e-12:
            # parallel faces: either may be the reference, which starts the polygon elsewhere
            order = [int(np.argmin(np.linalg.norm(got.pos - p, axis=1))) for p in want.pos]
            assert len(set(order)) == got.count
        np.testing.assert_allclose(got.dist[order], want.dist, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(got.pos[order], want.pos, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(got.frame[order].reshape(-1, 9), want.frame, rtol=0, atol=TOLERANCE)
    assert touching > 500


@pytest.mark.parametrize("kinds", ITERATED, ids="-".join)
def test_iterated_pairs_agree_with_mujoco(kinds):
    agree, touching = 0, 0
    # where MuJoCo makes several contacts of one it computes their depths anew, and not along their normal
    one_contact = int(mujoco.mjtDisableBit.mjDSBL_MULTICCD)
    for a, b, got, data, _ in cases(kinds, 1, models=30, poses=20, flags=one_contact):
        n = got.frame[0, 0] if got.count else None
        if data.ncon == 0 or got.count == 0:
            # one of them sees a gap: it is no larger than what both may miss
            best = max([0, *-got.dist, *-data.contact.dist]) if data.ncon != got.count else 0
            assert best < ITERATED_TOLERANCE or got.count
            continue
        touching += 1
        assert abs(shapes.gap(a, b, n) - got.dist[0]) < 1e-10, "the normal does not bear out the depth"
        deepest = int(np.argmin(data.contact.dist))
        depth, normal = data.contact.dist[deepest], data.contact.frame[deepest, :3]
        claimed = shapes.gap(a, b, normal)
        assert claimed <= got.dist[0] + 1e-9, "MuJoCo found a direction of less overlap"
        if abs(claimed - depth) > ITERATED_TOLERANCE:
            # MuJoCo's depth is not that along its normal
            continue
        (best,), (sharp,) = shapes.refine(a, b, [normal], 1e-3)
        if best < got.dist[0] - ITERATED_TOLERANCE:
            # MuJoCo ended in a direction of more overlap than the least
            continue
        agree += 1
        assert abs(depth - got.dist[0]) < ITERATED_TOLERANCE
        if np.linalg.norm(sharp - n) > ITERATED_TOLERANCE:
            # two directions that are equally good
            assert abs(shapes.gap(a, b, n) - best) < 1e-9
    assert touching > 300 and agree > 0.8 * touching, (agree, touching)


@pytest.mark.parametrize("kinds", ITERATED, ids="-".join)
def test_depth_and_normal_agree_with_a_search(kinds):
    """Against a search over directions that knows nothing of the shapes but their supports."""
    unique = 0
    for a, b, got, _, rng in cases(kinds, 2, models=8, poses=7):
        best, sharp = shapes.separation(a, b, rng, starts=[f[0] for f in got.frame[:1]])
        for _ in range(5):  # what is found is a lower bound: a search that ended on a ridge is begun again
            if best > (-1e-9 if got.count == 0 else got.dist[0] - 1e-9):
                break
            best, sharp = max(
                ((best, sharp), shapes.separation(a, b, rng, count=8000)), key=lambda found: found[0]
            )
        if got.count == 0:
            assert best > -1e-9
            continue
        assert abs(best - got.dist[0]) < 1e-9
        n = got.frame[0, 0]
        # unique where every direction somewhat off is somewhat worse
        off = n + 1e-3 * rng.normal(size=(200, 3))
        off /= np.linalg.norm(off, axis=1, keepdims=True)
        loss = best - shapes.gap(a, b, off)
        if np.min(loss / np.sum((off - n) ** 2, axis=1)) > 1e-3 and np.linalg.norm(sharp - n) < 0.1:
            unique += 1
            assert np.linalg.norm(sharp - n) < ITERATED_TOLERANCE
    assert unique > 15


@pytest.mark.parametrize("kinds", [*CLOSED, *ITERATED], ids="-".join)
def test_contacts_lie_in_both_bodies_and_are_no_deeper_than_the_shapes(kinds):
    penetrating = 0
    for a, b, got, _, rng in cases(kinds, 3, models=9, poses=9):
        for i in range(got.count):
            half, n = abs(got.dist[i]) / 2 + 1e-9, got.frame[i, 0]
            assert a.distance(got.pos[i]) <= half and b.distance(got.pos[i]) <= half
            np.testing.assert_allclose(got.frame[i] @ got.frame[i].T, np.eye(3), atol=1e-12)
            assert np.linalg.det(got.frame[i]) > 0
            # moved apart along the normal by its depth, the bodies have parted there
            assert np.linalg.norm(n) == pytest.approx(1)
        if got.count and got.dist.min() < 0:
            penetrating += 1
            best, _ = shapes.separation(a, b, rng, starts=got.frame[:, 0], count=800)
            # a face of a box is taken for an edge that is up to five percent shallower, as in MuJoCo
            excess = 0.05 * abs(best) if kinds == ("box", "box") else 0
            assert got.dist.min() >= best - excess - 1e-9
    assert penetrating > 30


def place(kinds, sizes, below, above, depth=1e-4):
    """Contacts of two shapes at given (position, quaternion), the second lowered onto the first."""
    model, data, ref = pair_model(kinds, sizes, 0.0)
    a = shapes.Shape(kinds[0], sizes[0], below[0], shapes.rotation(below[1]))
    b = shapes.Shape(kinds[1], sizes[1], above[0], shapes.rotation(above[1]))
    b.pos[2] = a.pos[2] + a.reach(np.array([0, 0, 1.0])) + b.reach(np.array([0, 0, -1.0])) - depth
    return a, b, contacts(model, data, ref, np.r_[a.pos, below[1], b.pos, above[1]])


UP, ALONG_X = np.array([1.0, 0, 0, 0]), np.array([np.sqrt(0.5), 0, np.sqrt(0.5), 0])


def yaw(angle, quat):
    z = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
    out = np.zeros(4)
    mujoco.mju_mulQuat(out, z, quat)
    return out


# lower and upper shape in MuJoCo's order of types or swapped, how they lie, and the region that they share
FLAT_PAIRS = {
    "box on box": (("box", "box"), UP, UP),
    "cylinder on box": (("cylinder", "box"), UP, UP),
    "cylinder on cylinder": (("cylinder", "cylinder"), UP, UP),
}


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize("name", FLAT_PAIRS)
def test_flat_contacts_carry_a_load_over_what_they_share(name, tilt):
    """Wherever the upper shape's centre is above the middle of the shared region, the contacts hold it."""
    kinds, lower, upper = FLAT_PAIRS[name]
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        sizes = [shapes.random_size(kind, rng, 0.15, 0.4) for kind in kinds]
        small = min(min(s[:2]) for s in sizes)
        lean = np.r_[1, tilt * rng.normal(size=2), 0]
        q = np.zeros(4)
        mujoco.mju_mulQuat(q, lean / np.linalg.norm(lean), yaw(rng.uniform(0, 7), upper))
        shift = np.r_[rng.uniform(-0.4, 0.4, 2) * small, 0]
        # an edge that is more than five percent shallower than the faces is taken instead, as in MuJoCo: two boxes are
        # placed so deep that the tilt's drop across them stays below that
        depth = (2e-2 if name == "box on box" else 2e-3) * small
        a, b, got = place(kinds, sizes, (np.zeros(3), yaw(rng.uniform(0, 7), lower)), (shift, q), depth=depth)
        # a point of the shared region that is well inside of both
        load = shift * (sizes[0][0] > sizes[1][0])
        inside = all(shapes_contain(s, load, 0.3 * small) for s in (a, b))
        if not inside:
            continue
        held += 1
        assert got.count >= 3, (name, got.count)
        assert shapes.carries(got.pos, got.frame[0, 0], load, 1e-3 * small), name
    assert held > 20


def shapes_contain(shape, x, room):
    local = shape.mat.T @ (x - shape.pos)
    if shape.kind == "box":
        return bool(np.all(np.abs(local[:2]) <= shape.size[:2] - room))
    return bool(np.hypot(*local[:2]) <= shape.size[0] - room)


LINES = {
    "cylinder along box": ("cylinder", "box"),
    "capsule along box": ("capsule", "box"),
    "capsule along cylinder": ("capsule", "cylinder"),
    "cylinder along cylinder": ("cylinder", "cylinder"),
}


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-6, 1e-5])
@pytest.mark.parametrize("name", LINES)
def test_lines_touch_in_two_points(name, tilt):
    """Shapes that lie along each other, and a little askew, touch at both ends of what they share."""
    kinds = LINES[name]
    rng = np.random.default_rng(6)
    for _ in range(40):
        sizes = [shapes.random_size(kind, rng, 0.1, 0.3) for kind in kinds]
        lower = UP if kinds[1] == "box" else ALONG_X
        # the round shape comes first in the order of types: it is the one below, turned over nothing
        lean = np.r_[1, tilt * rng.normal(size=3)]
        q = np.zeros(4)
        mujoco.mju_mulQuat(q, lean / np.linalg.norm(lean), ALONG_X)
        half = [sizes[0][1], sizes[1][0] if kinds[1] == "box" else sizes[1][1]]
        shift = np.r_[rng.uniform(-0.4, 0.4) * min(half), 0, 0]
        _, _, got = place(kinds, sizes, (shift, q), (np.zeros(3), lower))
        low, high = max(-half[1], shift[0] - half[0]), min(half[1], shift[0] + half[0])
        assert got.count >= 2
        assert abs(got.pos[:, 0].min() - low) < 1e-3 and abs(got.pos[:, 0].max() - high) < 1e-3


@pytest.mark.parametrize("kinds", [*CLOSED, *ITERATED], ids="-".join)
def test_no_contacts_apart_and_finite_anywhere(kinds):
    """Centres that coincide, shapes inside one another, far away: always finite, and nothing where they are apart."""
    rng = np.random.default_rng(7)
    sizes = [shapes.random_size(kind, rng) for kind in kinds]
    model, data, ref = pair_model(kinds, sizes, 0.0)
    for scale in (0, 1e-12, 1e-3, 0.05, 3, 1e6):
        for _ in range(6):
            q1, q2 = shapes.random_quat(rng), shapes.random_quat(rng)
            pos = rng.normal(size=3)
            pos *= scale / np.linalg.norm(pos)
            if kinds[0] == "plane":
                pos[2] = abs(pos[2])
            qpos = np.r_[pos, q2] if kinds[0] == "plane" else np.r_[0, 0, 0, q1, pos, q2]
            got = contacts(model, data, ref, qpos)
            assert np.isfinite(got.dist).all() and np.isfinite(got.pos).all() and np.isfinite(got.frame).all()
            if scale > 2 and kinds[0] != "plane":
                assert got.count == 0
