"""Convex shapes for tests: random hulls and primitives, supports, separations by coal sharpened over directions."""

import ctypes

import coal
import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

TYPES = {"plane": 0, "sphere": 2, "capsule": 3, "ellipsoid": 4, "cylinder": 5, "box": 6, "mesh": 7}


class Solid:
    """A centred convex shape. size: MuJoCo's numbers; points: of a mesh."""

    def __init__(self, kind, size=(0, 0, 0), points=None):
        self.kind = kind
        self.size = np.resize(np.append(np.asarray(size, float), [0, 0, 0]), 3)
        self.normals, self.faces, self.points = np.zeros((0, 3)), [], np.zeros((0, 3))
        if kind == "mesh":
            points = np.asarray(points, float)
            hull = ConvexHull(points)
            self.points = points[hull.vertices]
            self.points -= 0.5 * (self.points.max(0) + self.points.min(0))
            self.hull = ConvexHull(self.points)
            self.merge_faces()
            self.bound = np.linalg.norm(self.points, axis=1).max()
        else:
            s = self.size
            self.bound = {"plane": 0, "sphere": s[0], "capsule": s[0] + s[1], "ellipsoid": s.max(), "cylinder": np.hypot(s[0], s[1]),
                          "box": np.linalg.norm(s)}[kind]
        self.collision = None if kind == "plane" else self.for_coal()

    def merge_faces(self):
        """Polygons of coplanar triangles, corners counterclockwise seen from outside."""
        plane, groups = self.hull.equations, []
        for k, eq in enumerate(plane):
            for group in groups:
                if np.abs(plane[group[0]] - eq).max() < 1e-9:
                    group.append(k)
                    break
            else:
                groups.append([k])
        normals = []
        for group in groups:
            n = plane[group[0]][:3]
            corners = np.unique(self.hull.simplices[group])
            middle = self.points[corners].mean(0)
            u = self.points[corners[0]] - middle
            u /= np.linalg.norm(u)
            v = np.cross(n, u)
            d = self.points[corners] - middle
            self.faces.append(corners[np.argsort(np.arctan2(d @ v, d @ u))])
            normals.append(n)
        self.normals = np.array(normals)

    def for_coal(self):
        s = self.size
        if self.kind == "mesh":
            points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
            for p in self.points:
                points.append(p)
            for t, eq in zip(self.hull.simplices, self.hull.equations):
                a, b, c = self.points[t]
                if np.dot(np.cross(b - a, c - a), eq[:3]) < 0:
                    t = t[[0, 2, 1]]
                triangles.append(coal.Triangle(*(int(i) for i in t)))
            return coal.Convex(points, triangles)
        return {"sphere": lambda: coal.Sphere(s[0]), "capsule": lambda: coal.Capsule(s[0], 2 * s[1]),
                "ellipsoid": lambda: coal.Ellipsoid(*s), "cylinder": lambda: coal.Cylinder(s[0], 2 * s[1]),
                "box": lambda: coal.Box(2 * s)}[self.kind]()

    def reach(self, n):
        """max over the shape of n.x for each row of n."""
        n, s = np.asarray(n), self.size
        length = np.linalg.norm(n, axis=-1)
        if self.kind == "mesh":
            return (n @ self.points.T).max(-1)
        if self.kind == "sphere":
            return s[0] * length
        if self.kind == "capsule":
            return s[0] * length + s[1] * np.abs(n[..., 2])
        if self.kind == "ellipsoid":
            return np.linalg.norm(n * s, axis=-1)
        if self.kind == "cylinder":
            return s[0] * np.hypot(n[..., 0], n[..., 1]) + s[1] * np.abs(n[..., 2])
        return np.abs(n) @ s

    def core(self):
        """Points whose hull is the core, and the radius around it; None for curved cores."""
        s = self.size
        if self.kind == "mesh":
            return self.points, 0.0
        if self.kind == "box":
            return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * s, 0.0
        if self.kind == "sphere":
            return np.zeros((1, 3)), s[0]
        if self.kind == "capsule":
            return np.array([[0, 0, s[1]], [0, 0, -s[1]]]), s[0]
        return None


def c_shape(solid, dtype):
    """The struct of tests/kernels/convex/probe.cpp, and the arrays that it points to."""
    number = ctypes.c_float if dtype == np.float32 else ctypes.c_double

    class Struct(ctypes.Structure):
        _fields_ = [("type", ctypes.c_int), ("npoint", ctypes.c_int), ("nface", ctypes.c_int), ("bound", number),
                    *((name, ctypes.c_void_p) for name in ("size", "point", "normal", "corner_adr", "corner",
                                                           "cell_adr", "cell_num", "cell_triple", "cell_number"))]

    def by_coordinate(triples, run=16):  # kernels/data/hull_table.h
        missing = -len(triples) % run
        return np.concatenate([triples, np.repeat(triples[-1:], missing, 0)]).T if len(triples) else triples

    def cells():  # all of them in each
        tables, first = (solid.points, solid.normals), 0
        adr, num, numbers = [], [], []
        for table in tables:
            adr += 6 * [first]
            num += 6 * [len(table)]
            numbers.append(np.minimum(np.arange(-(-len(table) // 8) * 8), max(len(table) - 1, 0)))
            first += len(numbers[-1])
        triples = np.concatenate([by_coordinate(table, 8).ravel() for table in tables])
        return np.array(adr, np.int32), np.array(num, np.int32), triples.astype(dtype), np.concatenate(numbers).astype(np.int32)

    real = [np.ascontiguousarray(a, dtype) for a in (solid.size, by_coordinate(solid.points), by_coordinate(solid.normals))]
    adr = np.cumsum([0] + [len(f) for f in solid.faces]).astype(np.int32)
    corner = np.concatenate([*solid.faces, [0]]).astype(np.int32)
    held = [*real, adr, corner, *cells()]
    return Struct(TYPES[solid.kind], len(solid.points), len(solid.faces), solid.bound,
                  *(a.ctypes.data for a in held)), held


def random_solid(kind, rng, size=None):
    size = np.exp(rng.uniform(np.log(3e-3), np.log(1.0))) if size is None else size
    if kind == "mesh":
        count = int(rng.choice([8, 12, 24, 64, 200]))
        p = rng.normal(size=(count, 3))
        form = rng.integers(4)
        if form < 2:
            p /= np.linalg.norm(p, axis=1)[:, None]
        if form == 1:
            p *= [1, rng.uniform(0.3, 1), rng.uniform(0.02, 0.1)]  # flat
        if form == 2:
            p = rng.uniform(-1, 1, (count, 3)) * [1, 0.05, 0.05]  # a needle
        if form == 3:  # a prism: large merged faces
            angle = 2 * np.pi * np.arange(max(4, count // 2)) / max(4, count // 2)
            ring = np.stack([np.cos(angle), np.sin(angle)], 1)
            p = np.concatenate([np.c_[ring, np.full(len(ring), z)] for z in (-0.4, 0.4)])
        return Solid(kind, points=p * size / np.abs(p).max())
    return Solid(kind, size * rng.uniform(0.2, 1, 3))


def touching_poses(a, b, rng, count):
    """Random poses of two solids: near each other, touching, overlapping by 1e-6 to 1e-2 of the smaller, or deeply."""
    small, poses = min(a.bound, b.bound), []
    for i in range(count):
        pose_a, pose_b = (np.concatenate([np.zeros(3), (q := rng.normal(size=4)) / np.linalg.norm(q)]) for _ in range(2))
        pose_a[:3] = pose_b[:3] = rng.uniform(-1, 1, 3)
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        reach = -gap(a, b, pose_a, pose_b, d[None])[0]
        move = [rng.uniform(-0.02, 0.02) * small, 0, -(10 ** rng.uniform(-6, -2)) * small,
                -rng.uniform(0, 1) * min(reach, 2 * small)][i % 4]
        pose_b[:3] += d * (reach + move)
        for _ in range(3 if i % 4 < 3 else 0):  # along the direction in which they are closest
            dist, n = coal_separation(a, b, pose_a, pose_b)
            farthest = np.linalg.norm(pose_b[:3] - pose_a[:3]) + a.bound + b.bound
            if np.isfinite(n).all() and np.linalg.norm(n) > 0.5 and abs(dist) <= farthest:  # coal can be far off
                pose_b[:3] += n / np.linalg.norm(n) * (move - dist)
        poses.append((pose_a, pose_b))
    return np.array([p[0] for p in poses]), np.array([p[1] for p in poses])


def gap(a, b, pose_a, pose_b, n):
    """How far b is beyond a along rows of n."""
    ra, rb = rotation(pose_a), rotation(pose_b)
    return n @ (pose_b[:3] - pose_a[:3]) - a.reach(n @ ra) - b.reach(-n @ rb)


def rotation(pose):
    return Rotation.from_quat(pose[[4, 5, 6, 3]]).as_matrix()


def coal_separation(a, b, pose_a, pose_b):
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = 1e-10
    request.epa_tolerance = 1e-10
    request.gjk_max_iterations = request.epa_max_iterations = 500
    dist = coal.distance(a.collision, coal.Transform3s(rotation(pose_a), pose_a[:3]), b.collision,
                         coal.Transform3s(rotation(pose_b), pose_b[:3]), request, result)
    return dist, np.array(result.normal)


def sharpened(a, b, pose_a, pose_b, n):
    """The best direction near n; nothing is assumed of the gap but that it can be evaluated."""
    n = n / np.linalg.norm(n)
    best = gap(a, b, pose_a, pose_b, n[None])[0]
    step, angles = 1e-2, np.arange(16) * np.pi / 8
    while step > 1e-9:
        u = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        u /= np.linalg.norm(u)
        v = np.cross(n, u)
        trial = n + step * (np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v)
        trial /= np.linalg.norm(trial, axis=1)[:, None]
        values = gap(a, b, pose_a, pose_b, trial)
        k = int(np.argmax(values))
        if values[k] > best:
            best, n = values[k], trial[k]
            step *= 1.5
        else:
            step *= 0.5
    return best, n


def exact_separation(a, b, pose_a, pose_b):
    """By the facets of the difference of two polytopes that overlap; None where there is no such thing."""
    ca, cb = a.core(), b.core()
    if ca is None or cb is None or len(ca[0]) * len(cb[0]) > 5000:
        return None
    pa, pb = ca[0] @ rotation(pose_a).T + pose_a[:3], cb[0] @ rotation(pose_b).T + pose_b[:3]
    points = (pb[None] - pa[:, None]).reshape(-1, 3)
    if np.linalg.matrix_rank(points - points[0], tol=1e-9) < 3:
        return None
    facets = ConvexHull(points).equations
    return facets[:, 3].max() - ca[1] - cb[1] if (facets[:, 3] < 0).all() else None
