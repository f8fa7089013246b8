"""Random numbers of single environments, the same whatever else is in the batch.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): a block of four
32-bit words is a function of a counter and a key. Here the key is the environment's seed and the counter says
(block, episode, draw, attempt), so that no environment's numbers depend on another's, and nothing is kept. The
moment inside the episode is in the upper bits of the draw, what the numbers are for in those of the attempt.

Words are held in int64, on which numpy and torch agree: a product of two words wraps, and its halves are masked. On
the host the same numbers come from C++ (`host/random/philox.h`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep._core import draw_fractions

if TYPE_CHECKING:
    from dualstep.envs.arrays import HostArrays, TorchArrays

_WORD = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIER = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_PER_MOMENT = 2**10
_PER_PURPOSE = 2**16


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Four words of each counter, all arrays of int64 that broadcast."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _MULTIPLIER[0], c2 * _MULTIPLIER[1]
        c0, c1, c2, c3 = ((p1 >> 32) & _WORD) ^ c1 ^ k0, p1 & _WORD, ((p0 >> 32) & _WORD) ^ c3 ^ k1, p0 & _WORD
        k0, k1 = (k0 + _WEYL[0]) & _WORD, (k1 + _WEYL[1]) & _WORD
    return c0, c1, c2, c3


class Draws:
    """The draws of one moment: rows are environments, each with a seed and the number of its episode.

    Results are float64 of shape (rows, size). Draws come in an order: ask in the same one for the same numbers.
    `moments`: (rows,) steps since the episodes began, None at a reset. `purpose`: other numbers for another one.
    `passed`: (rows,) draws of each moment that are passed over.
    """

    def __init__(
        self,
        arrays: HostArrays | TorchArrays,
        seeds: Any,
        episodes: Any,
        moments: Any = None,
        purpose: int = 0,
        passed: Any = None,
    ) -> None:
        self._arrays = arrays
        self._xp = arrays.xp
        self._seeds = seeds
        self._key = ((seeds & _WORD)[:, None], ((seeds >> 32) & _WORD)[:, None])
        self._episodes = (episodes & _WORD)[:, None]
        self._first = 0 if moments is None else moments[:, None] * _PER_MOMENT
        self._first = self._first if passed is None else self._first + passed[:, None]
        self._purpose = purpose
        self._calls = 0

    def _fraction(self, size: int, call: int, attempt: int) -> Any:
        """53 random bits a number, in [0, 1)."""
        xp = self._xp
        attempt += self._purpose * _PER_PURPOSE
        draw = (self._first + call + 0 * self._episodes) & _WORD
        if isinstance(self._seeds, np.ndarray):
            return draw_fractions(self._seeds, self._episodes, draw, attempt, size)
        block = xp.zeros_like(self._episodes) + self._arrays.arange((size + 1) // 2)[None, :]
        zero = xp.zeros_like(block)
        w0, w1, w2, w3 = philox((block, zero + self._episodes, zero + draw, zero + attempt), self._key)
        pairs = xp.stack([(w0 >> 5) * 2**26 + (w1 >> 6), (w2 >> 5) * 2**26 + (w3 >> 6)], axis=-1)
        return self._arrays.real(pairs.reshape(pairs.shape[0], -1)[:, :size], np.float64) * 2.0**-53

    def _next(self) -> int:
        self._calls += 1
        if self._calls > _PER_MOMENT:
            raise RuntimeError(f"a task drew more than {_PER_MOMENT} times at one moment")
        return self._calls - 1

    def uniform(self, low: Any, high: Any, size: int) -> Any:
        """Numbers in [low, high); bounds are numbers or arrays of `size` of them."""
        return low + (high - low) * self._fraction(size, self._next(), 0)

    def normal(self, size: int) -> Any:
        """Numbers of mean 0 and variance 1, by the transform of Box and Muller (1958)."""
        u = self._fraction(2 * size, self._next(), 0)
        radius = self._xp.sqrt(-2.0 * self._xp.log(1.0 - u[:, :size]))
        return radius * self._xp.cos(2.0 * math.pi * u[:, size:])

    def uniform_where(self, accept: Callable[[Any], Any], low: Any, high: Any, size: int) -> Any:
        """The first uniform draw of each row that `accept` (rows of numbers to booleans) takes."""
        call, attempt = self._next(), 0
        chosen = low + (high - low) * self._fraction(size, call, attempt)
        wrong = ~accept(chosen)
        while bool(wrong.any()):
            attempt += 1
            again = low + (high - low) * self._fraction(size, call, attempt)
            chosen = self._xp.where(wrong[:, None], again, chosen)
            wrong = wrong & ~accept(again)
        return chosen
