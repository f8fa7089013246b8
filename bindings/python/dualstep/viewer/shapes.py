"""Geoms as triangles: for each body its visible geoms, joined by colour, in the frame of the body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
ROUND = 24
Triangles = tuple[np.ndarray, np.ndarray]


class Part(NamedTuple):
    """What is drawn of a body in one colour."""

    body: int
    vertices: np.ndarray
    faces: np.ndarray
    rgb: tuple[int, int, int]
    opacity: float


def _lathe(radius: np.ndarray, height: np.ndarray) -> Triangles:
    """A profile (radius by height, from the top) turned about z."""
    turn = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    rings = np.stack(
        [np.outer(radius, np.cos(turn)), np.outer(radius, np.sin(turn)), np.outer(height, 0 * turn + 1)], -1
    )
    here = np.arange(len(radius) * ROUND).reshape(len(radius), ROUND)
    right = np.roll(here, -1, axis=1)
    a, b, c, d = here[:-1], right[:-1], here[1:], right[1:]
    faces = np.concatenate([np.stack([a, c, b], -1).reshape(-1, 3), np.stack([b, c, d], -1).reshape(-1, 3)])
    return rings.reshape(-1, 3), faces


def _ellipsoid(size: np.ndarray) -> Triangles:
    arc = np.linspace(0, np.pi, ROUND // 2 + 1)
    vertices, faces = _lathe(np.sin(arc), np.cos(arc))
    return vertices * size, faces


def _capsule(size: np.ndarray) -> Triangles:
    arc = np.linspace(0, np.pi, ROUND // 2 + 1)
    upper = arc <= np.pi / 2 + 1e-9
    top, low = arc[upper], arc[arc >= np.pi / 2 - 1e-9]
    radius = size[0] * np.concatenate([np.sin(top), np.sin(low)])
    height = np.concatenate([size[1] + size[0] * np.cos(top), -size[1] + size[0] * np.cos(low)])
    return _lathe(radius, height)


def _cylinder(size: np.ndarray) -> Triangles:
    # edges twice, so that they look sharp
    return _lathe(size[0] * np.array([0, 1, 1, 1, 1, 0]), size[1] * np.array([1, 1, 1, -1, -1, -1]))


def _box(size: np.ndarray) -> Triangles:
    vertices, faces = [], []
    for axis in range(3):
        for sign in (-1, 1):
            square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)[::sign]
            corner = np.insert(square, axis, sign, axis=1)
            # the second axis of a y face is turned against the others
            corner = corner[::-1] if axis == 1 else corner
            first = 4 * len(vertices)
            vertices.append(corner * size)
            faces += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    return np.concatenate(vertices), np.array(faces)


def _mesh(m: Any, mesh: int) -> Triangles:
    first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    start, number = int(m.mesh_faceadr[mesh]), int(m.mesh_facenum[mesh])
    return np.array(m.mesh_vert[first : first + count]), np.array(m.mesh_face[start : start + number])


def _height_field(m: Any, field: int) -> Triangles:
    rows, columns = int(m.hfield_nrow[field]), int(m.hfield_ncol[field])
    x_half, y_half, top, _ = m.hfield_size[field]
    start = int(m.hfield_adr[field])
    z = top * np.asarray(m.hfield_data[start : start + rows * columns])
    y, x = np.meshgrid(np.linspace(-y_half, y_half, rows), np.linspace(-x_half, x_half, columns), indexing="ij")
    here = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = here[:-1, :-1], here[:-1, 1:], here[1:, :-1], here[1:, 1:]
    faces = np.concatenate([np.stack([a, b, d], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)])
    return np.stack([x.ravel(), y.ravel(), z], -1), faces


# shapes that are their sizes, and those that are data of the model. What is in neither is not drawn
SIZED: dict[int, Callable[[np.ndarray], Triangles]] = {
    SPHERE: lambda size: _ellipsoid(np.full(3, size[0])),
    CAPSULE: _capsule,
    ELLIPSOID: _ellipsoid,
    CYLINDER: _cylinder,
    BOX: _box,
}
STORED: dict[int, Callable[[Any, int], Triangles]] = {HFIELD: _height_field, MESH: _mesh}


def _shape(m: Any, geom: int) -> Triangles | None:
    kind = int(m.geom_type[geom])
    if kind in SIZED:
        return SIZED[kind](np.asarray(m.geom_size[geom]))
    return STORED[kind](m, int(m.geom_dataid[geom])) if kind in STORED else None


def turned(quat: np.ndarray) -> np.ndarray:
    """The rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quat
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _colour(m: Any, geom: int) -> np.ndarray:
    material = int(m.geom_matid[geom])
    rgba = np.asarray(m.geom_rgba[geom])
    # a geom's own colour counts where it is not MuJoCo's grey
    if material >= 0 and np.allclose(rgba, (0.5, 0.5, 0.5, 1)):
        rgba = np.asarray(m.mat_rgba[material])
    return rgba


def parts_of(m: Any) -> list[Part]:
    """The parts of a `mujoco.MjModel`: groups 0 to 2, as MuJoCo shows them, or all where there are no such geoms."""
    shown = [g for g in range(m.ngeom) if m.geom_group[g] <= 2 and _colour(m, g)[3] > 0 and m.geom_type[g] != PLANE]
    shown = shown or [g for g in range(m.ngeom) if m.geom_type[g] != PLANE]
    joined: dict[tuple[int, tuple[float, ...]], list[tuple[np.ndarray, np.ndarray]]] = {}
    for geom in shown:
        found = _shape(m, geom)
        if found is None:
            continue
        vertices = found[0] @ turned(m.geom_quat[geom]).T + m.geom_pos[geom]
        key = (int(m.geom_bodyid[geom]), tuple(np.round(_colour(m, geom), 3).tolist()))
        joined.setdefault(key, []).append((vertices, found[1]))
    parts = []
    for (body, rgba), pieces in joined.items():
        starts = np.cumsum([0] + [len(vertices) for vertices, _ in pieces])
        faces = np.concatenate([face + start for (_, face), start in zip(pieces, starts[:-1], strict=True)])
        red, green, blue = (int(255 * min(max(c, 0), 1)) for c in rgba[:3])
        parts.append(Part(body, np.concatenate([v for v, _ in pieces]), faces, (red, green, blue), rgba[3]))
    return parts


def floor_of(m: Any) -> float | None:
    """The height of the first horizontal plane of the world, if there is one."""
    for geom in range(m.ngeom):
        if m.geom_type[geom] == PLANE and m.geom_bodyid[geom] == 0 and turned(m.geom_quat[geom])[2, 2] > 0.99:
            return float(m.geom_pos[geom][2])
    return None
