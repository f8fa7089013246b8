"""What the tasks of Gymnasium share: how episodes begin, and two conditions of health."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View


def around_start(s: View, draw: Draws, scale: float, *, normal_velocity: bool = False) -> dict[str, Any]:
    """The model's configuration plus uniform noise in every coordinate, and velocities of uniform or normal noise."""
    m = s.model
    qpos = s.constant("qpos0") + draw.uniform(-scale, scale, m.nq)
    qvel = scale * draw.normal(m.nv) if normal_velocity else draw.uniform(-scale, scale, m.nv)
    return {"qpos": qpos, "qvel": qvel}


def strictly_within(x: Any, bounds: tuple[float, float]) -> Any:
    return (bounds[0] < x) & (x < bounds[1])


def squares(xp: Any, x: Any) -> Any:
    """(rows,) sums of squares."""
    flat = x.reshape(x.shape[0], -1)
    return xp.einsum("ri,ri->r", flat, flat)


def length(xp: Any, x: Any) -> Any:
    """(rows,) of vectors."""
    return xp.sqrt(squares(xp, x))
