"""Quaternions as numpy and torch both have them: (rows, 4), the real part first."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.tasks.common import length


def product(xp: Any, a: Any, b: Any) -> Any:
    """First b, then a."""
    aw, ax, ay, az = (a[:, i] for i in range(4))
    bw, bx, by, bz = (b[:, i] for i in range(4))
    return xp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def inverse(xp: Any, q: Any) -> Any:
    """Of a unit quaternion."""
    return xp.concatenate([q[:, :1], -q[:, 1:]], axis=1)


def angle(xp: Any, q: Any) -> Any:
    """(rows,) by how much it turns, from 0 to pi; q and -q are one rotation."""
    return 2 * xp.arctan2(length(xp, q[:, 1:]), abs(q[:, 0]))


def columns(xp: Any, q: Any) -> Any:
    """(rows, 6) the first two columns of the matrix: a rotation without the jumps of angles and of signs."""
    w, x, y, z = (q[:, i] for i in range(4))
    first = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    second = [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)]
    return xp.stack(first + second, axis=-1)


def anyhow(xp: Any, draw: Draws) -> Any:
    """(rows, 4) a rotation of which each is as likely: a direction in four dimensions."""
    q = draw.normal(4)
    return q / length(xp, q)[:, None]


def about_vertical(xp: Any, turn: Any) -> Any:
    """(rows, 4) by (rows, 1) radians."""
    return xp.concatenate([xp.cos(turn / 2), 0 * turn, 0 * turn, xp.sin(turn / 2)], axis=1)
