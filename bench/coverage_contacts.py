"""Contacts of convex shapes against the supports of the shapes, for bench/coverage.py: how deep, and which."""

from __future__ import annotations

from typing import Any

SMALL = 1e-5  # of the smaller shape: by how much a depth may be off


def reach(mj, state, geom: int, direction) -> float:
    """How far a geom extends along a direction in the world."""
    import mujoco
    import numpy as np

    kind, size = mj.geom_type[geom], mj.geom_size[geom]
    d = state["geom_xmat"][geom].reshape(3, 3).T @ direction
    shapes = mujoco.mjtGeom
    if kind == shapes.mjGEOM_SPHERE:
        far = size[0]
    elif kind == shapes.mjGEOM_CAPSULE:
        far = size[0] + size[1] * abs(d[2])
    elif kind == shapes.mjGEOM_CYLINDER:
        far = size[0] * np.hypot(d[0], d[1]) + size[1] * abs(d[2])
    elif kind == shapes.mjGEOM_ELLIPSOID:
        far = np.linalg.norm(size * d)
    elif kind == shapes.mjGEOM_BOX:
        far = np.abs(d) @ size
    else:
        mesh = mj.mesh(int(mj.geom_dataid[geom]))
        first = int(mesh.vertadr[0])
        far = np.max(mj.mesh_vert[first : first + int(mesh.vertnum[0])] @ d)
    return float(far + state["geom_xpos"][geom] @ direction)


def apart_along(mj, state, pair: tuple[int, int], normal) -> float:
    """The distance of two geoms along a normal from the first to the second; negative where they overlap."""
    import mujoco

    first, second = pair
    if mj.geom_type[first] == mujoco.mjtGeom.mjGEOM_PLANE:
        up = state["geom_xmat"][first].reshape(3, 3)[:, 2]
        return -reach(mj, state, second, -up) - float(state["geom_xpos"][first] @ up)
    return -reach(mj, state, second, -normal) - reach(mj, state, first, normal)


def contacts_against_supports(mj, states, found) -> dict[str, Any]:
    """Of all pairs in touch: by how much the deepest contact misses the depth that its normal has, or MuJoCo's, and by how
    much the depth along its normal is more than along MuJoCo's, as shares of the smaller shape; pairs that one of both
    has alone, and are not about to touch. Nothing is said of height fields, whose prisms MuJoCo collides one by one.
    """
    import mujoco

    def deepest(contacts) -> dict[tuple[int, int], tuple[float, Any]]:
        least: dict[tuple[int, int], tuple[float, Any]] = {}
        for pair, dist, normal in contacts:
            if pair not in least or dist < least[pair][0]:
                least[pair] = dist, normal
        return least

    unknown = {int(mujoco.mjtGeom.mjGEOM_HFIELD), int(mujoco.mjtGeom.mjGEOM_SDF)}
    depth, excess, alone, left_out = [0.0], [0.0], 0, 0
    for state, contacts in zip(states, found, strict=True):
        mine, theirs = deepest(contacts), deepest(state["contacts"])
        for pair in mine.keys() | theirs.keys():
            if unknown & {int(mj.geom_type[g]) for g in pair}:
                left_out += 1
                continue
            size = min(float(r) for r in mj.geom_rbound[list(pair)] if r > 0)
            along = [apart_along(mj, state, pair, side[pair][1]) for side in (mine, theirs) if pair in side]
            if pair in mine:
                # or as deep as MuJoCo's closed form says: a capsule through a box counts by its end
                known = [along[0], *([theirs[pair][0]] if pair in theirs else [])]
                depth.append(min(abs(mine[pair][0] - dist) for dist in known) / size)
            if pair in mine and pair in theirs:
                excess.append((along[1] - along[0]) / size)
            # the margin is what a contact of one side may have been found by
            elif abs(along[0] - mj.geom_margin[list(pair)].max()) > SMALL * size:
                alone += 1
    return {"pairs": len(depth) - 1, "depth": max(depth), "excess": max(excess), "alone": alone, "surfaces": left_out}
