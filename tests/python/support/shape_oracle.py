"""Geometry without a collision detector: supports, separations by search, distances of points, manifolds that carry."""

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

KINDS = ("plane", "sphere", "capsule", "cylinder", "box")


class Shape:
    def __init__(self, kind, size, pos=(0, 0, 0), mat=None):
        self.kind, self.size = kind, np.asarray(size, float)
        self.pos, self.mat = np.asarray(pos, float), np.eye(3) if mat is None else np.asarray(mat, float)

    def reach(self, n):
        """max over the shape, centred, of n.x for each row of n."""
        local = np.asarray(n) @ self.mat
        length, s = np.linalg.norm(local, axis=-1), self.size
        if self.kind == "sphere":
            return s[0] * length
        if self.kind == "capsule":
            return s[0] * length + s[1] * np.abs(local[..., 2])
        if self.kind == "cylinder":
            return s[0] * np.hypot(local[..., 0], local[..., 1]) + s[1] * np.abs(local[..., 2])
        return np.abs(local) @ s[:3]

    def distance(self, x):
        """Distance of a point; negative inside."""
        p, s = self.mat.T @ (np.asarray(x) - self.pos), self.size
        if self.kind == "plane":
            return p[2]
        if self.kind == "sphere":
            return np.linalg.norm(p) - s[0]
        if self.kind == "capsule":
            return np.linalg.norm(p - [0, 0, np.clip(p[2], -s[1], s[1])]) - s[0]
        q = np.abs(p) - s[:3] if self.kind == "box" else np.array([np.hypot(p[0], p[1]), abs(p[2])]) - s[:2]
        return np.linalg.norm(np.maximum(q, 0)) + min(np.max(q), 0)


def gap(a, b, n):
    """How far b is beyond a along directions n (rows): a bound from below for their distance."""
    n = np.asarray(n)
    if a.kind == "plane":
        n = np.broadcast_to(a.mat[:, 2], n.shape)
        return n @ (b.pos - a.pos) - b.reach(-n)
    return n @ (b.pos - a.pos) - a.reach(n) - b.reach(-n)


ANGLES = np.arange(16) * np.pi / 8
CIRCLE = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)


def cross(a, b):
    """np.cross of rows, without its checks."""
    return a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]


def refine(a, b, n, step=1e-2, least=1e-11):
    """The best directions near the rows of n by a pattern search, with wider steps after eight that paid: nothing is
    assumed of the gap but that it can be evaluated. Returns gaps and directions."""
    n = np.array(n, float)
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    best, steps, paid = gap(a, b, n), np.full(len(n), step), np.zeros(len(n), int)
    live = np.arange(len(n))
    while len(live):
        here = n[live]
        t = cross(here, np.eye(3)[np.argmin(np.abs(here), axis=1)])
        t /= np.linalg.norm(t, axis=1, keepdims=True)
        plane = np.stack([t, cross(here, t)], axis=1)
        ring = here[:, None, :] + steps[live, None, None] * (CIRCLE @ plane)
        ring /= np.linalg.norm(ring, axis=2, keepdims=True)
        values = gap(a, b, ring)
        k = np.argmax(values, axis=1)
        rows = np.arange(len(live))
        # a gain of less than this is rounding, or a walk along a ridge that smaller steps make shorter
        better = values[rows, k] > best[live] + np.maximum(1e-14, 0.01 * steps[live] ** 2)
        up = live[better]
        best[up], n[up] = values[rows, k][better], ring[rows, k][better]
        paid[live] = np.where(better, paid[live] + 1, 0)
        steps[live] *= np.where(better, np.where(paid[live] % 8 == 0, 2, 1), 0.5)
        live = live[steps[live] > least]
    return best, n


def separation(a, b, rng, starts=(), count=2000):
    """Distance, or minus penetration depth, by search from the best of many directions; and its direction."""
    faces = [m for s in (a, b) for m in np.vstack([s.mat.T, -s.mat.T])]
    n = np.vstack([rng.normal(size=(count, 3)), *[np.atleast_2d(s) for s in starts], faces])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    order = np.argsort(-gap(a, b, n))
    best, n = refine(a, b, n[[*order[:6], *range(count, count + len(starts))]])
    k = np.argmax(best)
    return best[k], n[k]


def carries(points, normal, load, slack):
    """Can forces along `normal` at these points hold a weight at `load`, up to a lever of `slack`?"""
    t = np.linalg.svd(np.atleast_2d(normal))[2][1:]
    x = (np.asarray(points) - load) @ t.T
    # weights that sum to one with the least remaining lever
    n = len(x)
    cost = np.r_[np.zeros(n), 1]
    bound = np.vstack([np.c_[x.T, -np.ones(2)], np.c_[-x.T, -np.ones(2)]])
    result = linprog(cost, A_ub=bound, b_ub=np.zeros(4), A_eq=[np.r_[np.ones(n), 0]], b_eq=[1])
    return result.status == 0 and result.fun <= slack


def random_size(kind, rng, low=0.05, high=0.5):
    s = np.exp(rng.uniform(np.log(low), np.log(high), 3))
    return {"plane": [5, 5, 0.1], "sphere": s[:1], "capsule": s[:2], "cylinder": s[:2], "box": s}[kind]


def random_quat(rng):
    """Any rotation, right angles, and both with a small or tiny tilt."""
    q = rng.normal(size=4)
    kind = rng.integers(4)
    if kind > 0:
        q = np.eye(4)[0] if kind == 1 else np.zeros(4)
        if kind > 1:
            q[rng.choice(4, 2, replace=False)] = 1
        if rng.integers(2):
            q = q + rng.normal(size=4) * 10.0 ** rng.uniform(-7, -1)
    return q / np.linalg.norm(q)


def rotation(quat):
    return Rotation.from_quat(np.roll(quat, -1)).as_matrix()
