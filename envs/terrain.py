"""Ground that is not flat: square tiles side by side in one height field, harder from level to level.

    terrain = Terrain(kinds=("stairs", "rough"), levels=6, seed=0)
    terrain.add_to(spec)                      # a geom "floor" of a mujoco.MjSpec
    terrain.origins[level, column]            # (3,) the middle of a tile, on the ground
    terrain.height(s, x, y)                   # (rows, ...) of the ground, for the arrays of a task

Tiles of one level stand in a row along y, levels along x. Each kind has two columns: slopes and stairs go up from the
middle in one and down in the other, rough ground and stones are drawn anew. The middle of a tile is level, so that a
robot can be put down there, and at its rim the height is zero. What is drawn depends on the seed, the level and the
column alone.

The kinds, and how hard they get, are those of Rudin, Hoeller, Reist and Hutter 2022, "Learning to walk in minutes
using massively parallel deep reinforcement learning", section 3, with lengths for a robot of the size of a Go1;
`scale` multiplies heights.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dualstep.envs.task import View

Generator = Callable[[np.ndarray, np.ndarray, float, bool, np.random.Generator], np.ndarray]

# half the side of the level middle, and the width of the rim [m]
MIDDLE, RIM = 0.9, 0.2
STEP = 0.3
"""depth of a stair [m]"""
PIT = 0.4
"""depth of what is between stepping stones [m]"""


def _inwards(x: np.ndarray, y: np.ndarray, half: float) -> np.ndarray:
    """How far each place is from the rim, towards the middle, along the nearer axis; at most as far as the middle."""
    return np.clip(half - RIM - np.maximum(abs(x), abs(y)), 0, half - RIM - MIDDLE)


def _flat(x: np.ndarray, y: np.ndarray, hard: float, odd: bool, rng: np.random.Generator) -> np.ndarray:
    return 0 * x


def _slopes(x: np.ndarray, y: np.ndarray, hard: float, odd: bool, rng: np.random.Generator) -> np.ndarray:
    """A pyramid without its top, or a pit of the same shape; up to 22 degrees."""
    return (1 if odd else -1) * 0.4 * hard * _inwards(x, y, abs(x).max())


def _stairs(x: np.ndarray, y: np.ndarray, hard: float, odd: bool, rng: np.random.Generator) -> np.ndarray:
    """Stairs on all four sides, of 2 to 12 cm."""
    # of places that lie on an edge of a stair, rounding decides nothing
    steps = np.floor(_inwards(x, y, abs(x).max()) / STEP + 1e-6)
    return (1 if odd else -1) * (0.02 + 0.1 * hard) * steps


def _rough(x: np.ndarray, y: np.ndarray, hard: float, odd: bool, rng: np.random.Generator) -> np.ndarray:
    """Uniform noise on a grid of 20 cm, with straight lines between, of up to 1 to 8 cm to either side."""
    half, amplitude = abs(x).max(), 0.01 + 0.07 * hard
    knots = int(np.ceil(2 * half / 0.2)) + 1
    noise = rng.uniform(-amplitude, amplitude, (knots, knots))
    u, v = (np.clip((a + half) / (2 * half) * (knots - 1), 0, knots - 1 - 1e-9) for a in (x, y))
    i, j = u.astype(int), v.astype(int)
    u, v = u - i, v - j
    low = noise[i, j] * (1 - u) + noise[i + 1, j] * u
    high = noise[i, j + 1] * (1 - u) + noise[i + 1, j + 1] * u
    return np.where(_level(x, y), 0, low * (1 - v) + high * v)


def _stones(x: np.ndarray, y: np.ndarray, hard: float, odd: bool, rng: np.random.Generator) -> np.ndarray:
    """Square stones of 0.9 to 0.4 m over a pit, 5 to 25 cm apart, a little higher or lower than each other."""
    half, side, gap = abs(x).max(), 0.9 - 0.5 * hard, 0.05 + 0.2 * hard
    count = int(np.ceil(2 * half / (side + gap))) + 1
    tops = rng.uniform(-0.03, 0.03, (count, count)) * hard
    shift = rng.uniform(0, side + gap, 2)
    (i, u), (j, v) = (np.divmod(a + half + s, side + gap) for a, s in zip((x, y), shift))
    i, j = (np.minimum(a.astype(int), count - 1) for a in (i, j))
    return np.where(_level(x, y), 0, np.where((u < side) & (v < side), tops[i, j], -PIT))


def _level(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Places of the middle and of the rim."""
    away = np.maximum(abs(x), abs(y))
    return (away <= MIDDLE) | (away >= away.max() - RIM)


KINDS: dict[str, Generator] = {
    "flat": _flat, "slopes": _slopes, "stairs": _stairs, "rough": _rough, "stepping_stones": _stones,
}  # fmt: skip
MIXED = ("slopes", "stairs", "rough", "stepping_stones")


class Terrain:
    """`kinds`: names out of `KINDS`, two columns each; `levels`: rows of tiles, from the easiest to the hardest;
    `size`: the side of a tile [m]; `cell`: of the grid [m]; `border`: of flat ground around all tiles [m]; `scale`:
    of all heights.

    `heights` is (nrow, ncol) over the world's origin, row along y and column along x; `origins` (levels, columns, 3).
    """

    def __init__(
        self,
        kinds: Sequence[str] | str = MIXED,
        levels: int = 6,
        size: float = 6.0,
        cell: float = 0.05,
        border: float = 4.0,
        scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.kinds = kinds_of(kinds)
        for name, given, least in (("levels", levels, 1), ("seed", seed, 0)):
            if isinstance(given, bool) or int(given) != given or given < least:
                raise ValueError(f"{name} {given!r} is given, and a whole number of {least} or more is wanted")
        bounds = {
            "size": (size, 2 * (MIDDLE + RIM), 100), "cell": (cell, 0.01, 0.5), "border": (border, 0, 100),
            "scale": (scale, 0, 10),
        }  # fmt: skip
        for name, (given, least, most) in bounds.items():
            if not least <= given <= most:
                raise ValueError(f"{name} {given!r} is given, and {least:g} to {most:g} is wanted")
        self.levels, self.columns, self.seed = int(levels), 2 * len(self.kinds), int(seed)
        cells, edge = max(2, round(size / cell)), round(border / cell)
        shape = (self.columns * cells + 2 * edge + 1, self.levels * cells + 2 * edge + 1)
        if shape[0] * shape[1] > 1 << 24:
            raise ValueError(f"a grid of {shape[0]} x {shape[1]} heights is given, and at most {1 << 24} are wanted")
        self.cell, self.size = float(cell), cells * float(cell)
        self.heights = np.zeros(shape)
        self.half = (shape[1] - 1) * self.cell / 2, (shape[0] - 1) * self.cell / 2
        self.origins = np.zeros((self.levels, self.columns, 3))
        x, y = np.meshgrid(*[np.linspace(-self.size / 2, self.size / 2, cells + 1)] * 2)
        for level in range(self.levels):
            hard = level / max(self.levels - 1, 1)
            for column in range(self.columns):
                rng = np.random.default_rng([self.seed, level, column])
                tile = scale * KINDS[self.kinds[column // 2]](x, y, hard, column % 2 == 1, rng)
                row, first = edge + column * cells, edge + level * cells
                self.heights[row : row + cells + 1, first : first + cells + 1] = tile
                middle = (first + cells / 2) * self.cell - self.half[0], (row + cells / 2) * self.cell - self.half[1]
                self.origins[level, column] = *middle, tile[cells // 2, cells // 2]
        self.low = float(self.heights.min())

    def add_to(self, spec: Any, name: str = "floor") -> Any:
        """Adds the height field to a `mujoco.MjSpec`, as a geom of the world; MuJoCo keeps heights as fractions."""
        import mujoco

        top = float(self.heights.max()) - self.low
        field = spec.add_hfield(name=name, nrow=self.heights.shape[0], ncol=self.heights.shape[1])
        # a field without any height would not compile
        field.size = [*self.half, max(top, 1e-3), 0.1]
        field.userdata = ((self.heights - self.low) / max(top, 1e-3)).astype(np.float32).ravel()
        geom = spec.worldbody.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=name)
        geom.pos = [0, 0, self.low]
        return geom

    def height(self, s: View, x: Any, y: Any) -> Any:
        """Of the ground under places of the world, arrays of one shape; beyond the border that of the border."""
        xp, heights = s.xp, s.table(self.heights)
        (row, v), (column, u) = (
            self._cell(s, place, half, count)
            for place, half, count in ((y, self.half[1], heights.shape[0]), (x, self.half[0], heights.shape[1]))
        )
        near, far = heights[row, column], heights[row + 1, column + 1]
        # a cell is two triangles, on either side of the diagonal from its first corner
        along_x = near + u * (heights[row, column + 1] - near) + v * (far - heights[row, column + 1])
        along_y = near + v * (heights[row + 1, column] - near) + u * (far - heights[row + 1, column])
        return xp.where(u >= v, along_x, along_y)

    def _cell(self, s: View, place: Any, half: float, count: int) -> tuple[Any, Any]:
        """The index of the cell of places along an axis, and where in it they are."""
        at = s.xp.clip((place + half) / self.cell, 0, count - 1)
        # a place that is no number is somewhere
        at = s.xp.where(s.xp.isfinite(at), at, s.xp.zeros_like(at))
        index = s.arrays.real(s.xp.clip(s.xp.floor(at), 0, count - 2), np.int64)
        return index, at - index


def kinds_of(given: Any) -> tuple[str, ...]:
    """Kinds of ground by name: one, several, or "mixed"; ValueError where one is unknown."""
    names = MIXED if given == "mixed" else (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in KINDS:
            near = difflib.get_close_matches(str(name), KINDS, n=1)
            hint = f"near it is: {near[0]}" if near else f"there are: {', '.join(KINDS)}, mixed"
            raise ValueError(f"there is no kind of ground {name!r}; {hint}")
    if not names:
        raise ValueError(f"no kind of ground is given; there are: {', '.join(KINDS)}, mixed")
    return names


def terrain_of(given: Any, **defaults: Any) -> Terrain | None:
    """What a task's option says: None or "flat" is a plane, a name or several are kinds, a dict is all of `Terrain`."""
    if given is None or given == "flat" or isinstance(given, Terrain):
        return given if isinstance(given, Terrain) else None
    if isinstance(given, dict):
        return Terrain(**{**defaults, **given})
    if isinstance(given, (str, list, tuple)):
        return Terrain(given, **defaults)
    raise TypeError(f"terrain {given!r} is given, and a kind of ground, several, or a dict of Terrain's is wanted")
