"""Convex shapes in the kernels by themselves: separations against coal and exact hulls, manifolds by what they promise."""

import ctypes
import os
import shutil
import subprocess

import numpy as np
import pytest
from convex_oracle import (
    Solid,
    c_shape,
    coal_separation,
    exact_separation,
    gap,
    random_solid,
    rotation,
    sharpened,
    touching_poses,
)
from scipy.spatial.transform import Rotation

from places import ROOT
SHAPES = [np.float64, np.float32]
NAMES = {np.float64: "double", np.float32: "float"}
PAIRS = [(kind, "mesh") for kind in ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")] + [
    (kind, "ellipsoid") for kind in ("sphere", "capsule", "ellipsoid", "cylinder", "box")]
TRIALS = int(os.environ.get("DUALSTEP_CONVEX_TRIALS", "3"))  # shapes a kind of pair; poses come in 16 a trial
# of the smaller shape's size: 99 of 100 pairs, all pairs
ERRORS = {np.float64: (1e-6, 1e-5), np.float32: (1e-4, 1e-3)}
# the search for the least depth of an ellipsoid against a shape with edges may end beside it: less exact than is wanted
ELLIPSOID_ERRORS = {np.float64: (1e-5, 1e-3), np.float32: (1e-4, 1e-3)}
EDGED = ("capsule", "cylinder", "box")


@pytest.fixture(scope="session")
def probe(tmp_path_factory):
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    library = tmp_path_factory.mktemp("convex") / "probe.so"
    flags = ["-std=c++20", "-O1", "-march=native", "-ffp-contract=off", "-fno-tree-slp-vectorize", "-Wno-psabi", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-I", ROOT, "-o", library, ROOT / "tests/kernels/convex/probe.cpp"], check=True)
    return ctypes.CDLL(str(library))


def call(probe, job, dtype, a, b, poses_a, poses_b, margin):
    """What the probe gives: scalars, packs with one hull and packs with a hull for each element must agree in every bit."""
    (struct_a, keep_a), (struct_b, keep_b) = c_shape(a, dtype), c_shape(b, dtype)
    poses = [np.ascontiguousarray(np.atleast_2d(p), dtype) for p in (poses_a, poses_b)]
    number = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    results = []
    for width in ("", "wide_", "each_"):
        out = np.zeros((len(poses[0]), 11 if job == "separations" else 20), dtype)
        getattr(probe, f"{job}_{width}{NAMES[dtype]}")(
            ctypes.byref(struct_a), ctypes.byref(struct_b), len(out), *(ctypes.c_void_p(p.ctypes.data) for p in poses),
            number(margin), ctypes.c_void_p(out.ctypes.data))
        results.append(out)
    assert np.array_equal(results[0], results[1]), "a pack gives other bits than scalars"
    assert np.array_equal(results[0], results[2]), "hulls of their own give other bits than one for all"
    del keep_a, keep_b
    return results[0].astype(float)


def rounding(dtype, a, b, pose):
    """What two roundings of poses and points move: of a millimetre beside a metre it is more than the search."""
    return 2 * np.finfo(dtype).eps * (a.bound + b.bound + np.linalg.norm(pose[:3]))


def contacts_of(row):
    return row[1:4], row[4:].reshape(4, 4)[: int(row[0])]


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_separation_is_that_of_coal_sharpened(probe, rng, kinds):
    """No contact missed or invented; the error of the depth over the smaller shape's size."""
    errors = {dtype: [] for dtype in SHAPES}
    for _ in range(TRIALS):
        a, b = (random_solid(kind, rng) for kind in kinds)
        small = min(a.bound, b.bound)
        margin, (poses_a, poses_b) = 0.1 * small, touching_poses(a, b, rng, 16)
        found = {dtype: call(probe, "separations", dtype, a, b, poses_a, poses_b, margin) for dtype in SHAPES}
        for i, (pa, pb) in enumerate(zip(poses_a, poses_b, strict=True)):
            normals = [coal_separation(a, b, pa, pb)[1], *(found[dtype][i, 2:5] for dtype in SHAPES)]
            normals = np.array([n for n in normals if np.isfinite(n).all() and n.any()])
            best = sharpened(a, b, pa, pb, normals[np.argmax(gap(a, b, pa, pb, normals))])[0]
            exact = exact_separation(a, b, pa, pb)
            best = best if exact is None else max(best, exact)
            for dtype in SHAPES:
                dist, close = found[dtype][i, 0], ERRORS[dtype][0] * small
                if abs(best - margin) > close:
                    assert (dist < margin) == (best < margin), "a contact is missed or invented"
                if best < margin:
                    errors[dtype].append((abs(dist - best) / small, rounding(dtype, a, b, pa) / small))
    bounds = ELLIPSOID_ERRORS if kinds[0] in EDGED and kinds[1] == "ellipsoid" else ERRORS
    for dtype, (most, worst) in bounds.items():
        e, rounded = np.array(errors[dtype]).T
        print(f"{NAMES[dtype]}: {len(e)} pairs, median {np.median(e):.1e}, 99% {np.quantile(e, 0.99):.1e}, max {e.max():.1e}")
        search = np.maximum(e - rounded, 0)
        assert np.quantile(search, 0.99) <= most and search.max() <= worst


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_normals_and_points_are_exact_to_rounding(probe, rng, kinds):
    """A distance is flat around its best direction: a search for the distance leaves sqrt(eps), 3e-4, of a float32 normal."""
    turned, moved = [], []
    for _ in range(2 * TRIALS):
        a, b = (random_solid(kind, rng) for kind in kinds)
        small = min(a.bound, b.bound)
        poses_a, poses_b = touching_poses(a, b, rng, 16)
        poses_a, poses_b = (p.astype(np.float32) for p in (poses_a, poses_b))
        single, double = (call(probe, "separations", dtype, a, b, poses_a, poses_b, 0.1 * small) for dtype in SHAPES[::-1])
        near = double[:, 0] < 0.1 * small
        turned.extend(np.linalg.norm(single[near, 2:5] - double[near, 2:5], axis=1))
        moved.extend(np.linalg.norm(single[near, 5:] - double[near, 5:], axis=1) / small)
    print(f"{len(turned)} pairs", *(f"{q:.0%} {np.quantile(turned, q):.1e} {np.quantile(moved, q):.1e}" for q in (0.5, 0.8, 0.9, 1)))
    # some pairs have two directions, or faces, that are equally good
    assert np.quantile(turned, 0.8) < 2e-6 and np.quantile(moved, 0.8) < 5e-5


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_the_order_of_the_shapes_does_not_matter(probe, rng, kinds):
    for _ in range(2):
        a, b = (random_solid(kind, rng) for kind in kinds)
        poses_a, poses_b = touching_poses(a, b, rng, 16)
        small = min(a.bound, b.bound)
        one = call(probe, "separations", np.float64, a, b, poses_a, poses_b, small)
        other = call(probe, "separations", np.float64, b, a, poses_b, poses_a, small)
        near = (one[:, 0] < small) & (other[:, 0] < small)
        assert np.abs(one[near, 0] - other[near, 0]).max() < 1e-6 * small


@pytest.mark.parametrize("dtype", SHAPES, ids=NAMES.get)
def test_closed_forms(probe, rng, dtype):
    tolerance = ERRORS[dtype][0] / 10
    ball, cube = Solid("ellipsoid", [0.1, 0.1, 0.1]), box_hull(0.1, 0.1, 0.1)
    for distance in (0.35, 0.3, 0.25, 0.05):  # two balls
        d = rng.normal(size=3)
        pose = np.r_[d / np.linalg.norm(d) * distance, 1, 0, 0, 0]
        out = call(probe, "separations", dtype, Solid("sphere", [0.2]), ball, [0, 0, 0, 1, 0, 0, 0], pose, 1)[0]
        assert abs(out[0] - (distance - 0.3)) < tolerance
        assert np.allclose(out[2:5], pose[:3] / distance, atol=1e-3)
    for x, expected in ((0.3, 0.15), (0.1, -0.05), (0.02, -0.13)):  # a ball at the side of a cube
        out = call(probe, "separations", dtype, Solid("sphere", [0.05]), cube, [x, 0.01, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0], 1)
        assert abs(out[0, 0] - expected) < tolerance
    size = np.array([0.1, 0.2, 0.3])  # an ellipsoid over a tilted plane
    poses = [np.r_[rng.normal(size=3), Rotation.random(random_state=k).as_quat()[[3, 0, 1, 2]]] for k in range(2)]
    n = rotation(poses[0])[:, 2]
    out = call(probe, "manifolds", dtype, Solid("plane"), Solid("ellipsoid", size), *poses, 10)[0]
    expected = n @ (poses[1][:3] - poses[0][:3]) - np.linalg.norm(size * (rotation(poses[1]).T @ n))
    assert abs(contacts_of(out)[1][0, 0] - expected) < tolerance


def box_hull(x, y, z):
    return Solid("mesh", points=[[i, j, k] for i in (-x, x) for j in (-y, y) for k in (-z, z)])


# a roof upside down: it stands on an edge along x
PRISM = Solid("mesh", points=[[x, y, z] for x in (-0.1, 0.1) for y, z in ((0, -0.075), (0.08, 0.075), (-0.08, 0.075))])
ROOF = Solid("mesh", points=[[x, y, -z] for x in (-0.1, 0.1) for y, z in ((0, -0.075), (0.08, 0.075), (-0.08, 0.075))])

EDGES = {  # what stands on an edge, or has one under it, the height of the second's centre where they touch, and turns
    "edge-on-box": (Solid("box", [1, 1, 0.1]), PRISM, 0.175, (0, 1, 2)),
    "edge-on-hull": (box_hull(1, 1, 0.1), PRISM, 0.175, (0, 1, 2)),
    "hull-on-edge": (ROOF, box_hull(0.5, 0.5, 0.05), 0.125, (0, 1, 2)),
    "box-of-hull-on-edge": (ROOF, Solid("box", [0.5, 0.5, 0.05]), 0.125, (0, 1, 2)),
    "edge-along-edge": (ROOF, PRISM, 0.15, (0,)),
    "edge-along-capsule": (Solid("capsule", [0.05, 0.2]), PRISM, 0.125, (0,)),
    "edge-along-cylinder": (Solid("cylinder", [0.05, 0.2]), PRISM, 0.125, (0,)),
}


@pytest.mark.parametrize("dtype", SHAPES, ids=NAMES.get)
@pytest.mark.parametrize("case", EDGES)
def test_what_stands_on_an_edge_rests_on_its_ends(probe, rng, case, dtype):
    """On either side of contact and tilted by little: two contacts, as far apart as the edges are one above the other."""
    a, b, height, turns = EDGES[case]
    if "box-of-hull" in case:  # the probe takes the box first
        a, b = b, a
    lying = Rotation.from_rotvec([0, np.pi / 2, 0]) if a.kind in ("capsule", "cylinder") else Rotation.identity()
    for turn in turns:
        for gap_ in (-1e-4, 1e-4):
            if gap_ < 0 and "along" in case:
                continue  # the least depth of two edges is across one of them
            axis = rng.normal(size=2)
            tilt = Rotation.from_rotvec(np.r_[axis / np.linalg.norm(axis) * rng.choice([0, 1e-5]), 0])
            upper = np.r_[0.01, 0, height + gap_, (tilt * Rotation.from_rotvec([0, 0, turn])).as_quat()[[3, 0, 1, 2]]]
            lower = np.r_[0, 0, 0, lying.as_quat()[[3, 0, 1, 2]]]
            first, second = (upper, lower) if "box-of-hull" in case else (lower, upper)
            normal, contacts = contacts_of(call(probe, "manifolds", dtype, a, b, first, second, 0.01)[0])
            assert np.allclose(abs(normal), [0, 0, 1], atol=1e-2)
            assert len(contacts) == 2
            assert np.allclose(contacts[:, 0], gap_, atol=1e-5)
            length = np.linalg.norm(contacts[0, 1:] - contacts[1, 1:])
            assert length == pytest.approx(0.19 if case == "edge-along-edge" else 0.2, abs=2e-3)


RESTING = {  # first shape, second, height of the second's centre where they touch, contacts
    "hull-on-box": (Solid("box", [1, 1, 0.1]), box_hull(0.1, 0.2, 0.05), 0.15, 4),
    "hull-on-plane": (Solid("plane"), box_hull(0.1, 0.2, 0.05), 0.05, 4),
    "hull-on-hull": (box_hull(1, 1, 0.1), box_hull(0.1, 0.2, 0.05), 0.15, 4),
    "hull-on-cylinder": (Solid("cylinder", [0.08, 0.1]), box_hull(0.1, 0.2, 0.05), 0.15, 4),
    "hull-on-lying-capsule": (Solid("capsule", [0.05, 0.1]), box_hull(0.1, 0.2, 0.05), 0.1, 2),
}


@pytest.mark.parametrize("dtype", SHAPES, ids=NAMES.get)
@pytest.mark.parametrize("case", RESTING)
def test_what_lies_flat_rests_on_several_points(probe, rng, case, dtype):
    """Turned about the vertical and tilted by little: as many contacts, spread, around the centre of the upper shape."""
    a, b, height, count = RESTING[case]
    lying = [np.sqrt(0.5), np.sqrt(0.5), 0, 0] if "lying" in case else [1, 0, 0, 0]
    for tilt in (0, 1e-5, 1e-4):
        axis = rng.normal(size=2)
        turn = Rotation.from_rotvec(np.r_[axis / np.linalg.norm(axis) * tilt, 0]) * Rotation.from_rotvec([0, 0, rng.uniform(0, 6)])
        pose = np.r_[0.01, 0.02, height - 1e-4, turn.as_quat()[[3, 0, 1, 2]]]
        normal, contacts = contacts_of(call(probe, "manifolds", dtype, a, b, [0, 0, 0, *lying], pose, 0.01)[0])
        assert len(contacts) == count and np.allclose(normal, [0, 0, 1], atol=2 * tilt + 1e-5)
        assert np.allclose(contacts[:, 0], -1e-4, atol=0.3 * tilt + 1e-6)
        if count == 4:  # the centre is inside the quadrangle, in whichever order its corners come
            d = contacts[:, 1:3] - pose[:2]
            angles = np.sort(np.arctan2(d[:, 1], d[:, 0]))
            assert np.diff(np.r_[angles, angles[0] + 2 * np.pi]).max() < np.pi


@pytest.mark.parametrize("kinds", [("box", "mesh"), ("mesh", "mesh"), ("cylinder", "mesh"), ("capsule", "mesh")], ids="-".join)
def test_contacts_lie_on_both_shapes(probe, rng, kinds):
    """At random poses and with faces laid on each other: each contact within its depth of both shapes, the first as
    deep as the shapes, none deeper, no two in one place."""
    several = 0
    for _ in range(6):
        a, b = (random_solid(kind, rng, 0.1) for kind in kinds)
        poses_a, poses_b = touching_poses(a, b, rng, 16)
        for i in range(8, 16):  # a face of b on a face of a
            lay(a, b, poses_a[i], poses_b[i], rng)
        margin = 0.01
        found = call(probe, "manifolds", np.float64, a, b, poses_a, poses_b, margin)
        for row, pa, pb in zip(found, poses_a, poses_b, strict=True):
            normal, contacts = contacts_of(row)
            if len(contacts) == 0:
                continue
            several += len(contacts) > 1
            depth = gap(a, b, pa, pb, normal[None])[0]
            assert abs(contacts[0, 0] - depth) < 1e-6 and contacts[:, 0].min() > depth - 1e-6
            for dist, *pos in contacts:
                assert beyond(a, pa, pos - normal * dist / 2) < 1e-6
                assert beyond(b, pb, pos + normal * dist / 2) < 1e-6
            apart = np.linalg.norm(contacts[:, None, 1:] - contacts[None, :, 1:], axis=-1) + np.eye(len(contacts))
            assert apart.min() > 0.9e-2 * min(a.bound, b.bound) / 2
    assert several > 10


def lay(a, b, pose_a, pose_b, rng):
    """Turns and moves b so that one of its faces lies on one of a's, 1e-4 deep."""
    up = {"box": [0, 0, 1], "cylinder": [0, 0, 1], "capsule": [1, 0, 0]}.get(a.kind)
    n = rotation(pose_a) @ (a.normals[rng.integers(len(a.normals))] if up is None else up)
    down = b.normals[rng.integers(len(b.normals))]
    turn = Rotation.align_vectors([-n], [down])[0]
    turn = Rotation.from_rotvec(n * rng.uniform(0, 6)) * turn
    pose_b[3:] = turn.as_quat()[[3, 0, 1, 2]]
    pose_b[:3] = pose_a[:3]
    pose_b[:3] -= n * (gap(a, b, pose_a, pose_b, n[None])[0] + 1e-4)


def beyond(solid, pose, x):
    """By how much a point is outside a solid, along the worst of many directions."""
    local = rotation(pose).T @ (np.asarray(x) - pose[:3])
    if solid.kind == "mesh":
        return (solid.hull.equations @ np.r_[local, 1]).max()
    rng = np.random.default_rng(0)
    n = np.vstack([rng.normal(size=(500, 3)), np.eye(3), -np.eye(3)])
    n /= np.linalg.norm(n, axis=1)[:, None]
    return (n @ local - solid.reach(n)).max()
