"""Actions that come late, and observations that are old: what a robot's buses and computers do to a policy.

A delay is a number of the task's steps, or (least, most) of which each episode draws one. Until there is something
older, the first action or observation of the episode stands for it. Of a task whose observe() gives groups, "policy"
comes late: a critic is told what is so now.
"""

from __future__ import annotations

import functools
import numbers
from typing import TYPE_CHECKING, Any

from dualstep.envs.groups import POLICY, policy_group
from dualstep.envs.task import Task, View

if TYPE_CHECKING:
    from dualstep.envs.draws import Draws

DELAYS = ("action_delay", "observation_delay")
_MOST = 1000


def steps_of(name: str, given: Any) -> tuple[int, int]:
    """(least, most) of a delay."""
    def whole(k: Any) -> bool:
        return isinstance(k, numbers.Integral) and not isinstance(k, bool)

    pair = (given, given) if whole(given) else given
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(map(whole, pair)):
        raise TypeError(f"{name} {given!r} is given, and a number of steps, or (least, most), is wanted")
    least, most = map(int, pair)
    if not 0 <= least <= most <= _MOST:
        raise ValueError(f"{name} {given!r} is given, and 0 <= least <= most <= {_MOST} is wanted")
    return least, most


class _Delayed(Task):
    """Stands before a task in the order in which methods are looked for."""

    _steps: dict[str, tuple[int, int]]

    def delay(self, **given: tuple[int, int]) -> None:
        from dualstep.envs.arguments import bounds_of, memory_of
        from dualstep.envs.vector import BatchEnv

        self._steps = {}
        with_width = {"action_delay": bounds_of(self)[0].size}
        if "observation_delay" in given:
            env = BatchEnv(self, 1, device="cpu", num_threads=1)
            with_width["observation_delay"] = policy_group(env.reset()[0]).shape[1]
            env.close()
        self._steps = given
        self.memory = dict(memory_of(self))
        for name, (_, most) in given.items():
            self.memory.update({name: 1, f"{name}_begun": 1, f"{name}_past": (most + 1, with_width[name])})

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        found = super().reset(s, draw)
        for name, (least, most) in self._steps.items():
            s.keep(name, s.xp.floor(draw.uniform(least, most + 1, 1)))
        return found

    def control(self, s: View, action: Any) -> Any:
        return super().control(s, self._late(s, "action_delay", action))

    def observe(self, s: View) -> Any:
        given = super().observe(s)
        late = self._late(s, "observation_delay", policy_group(given))
        return {**given, POLICY: late} if isinstance(given, dict) else late

    def _late(self, s: View, name: str, now: Any) -> Any:
        """What `now` was, some steps ago."""
        if name not in self._steps:
            return now
        past = s.recall(f"{name}_past")
        now = s.arrays.real(now, s.sim.dtype)[:, None]
        past = s.xp.concatenate([now, past[:, :-1]], axis=1)
        past = s.xp.where(s.recall(f"{name}_begun")[:, :, None] > 0, past, now + s.xp.zeros_like(past))
        s.keep(f"{name}_past", past)
        s.keep(f"{name}_begun", s.xp.ones_like(now[:, 0, :1]))
        # of all that are kept, the one
        age = s.arrays.arange(past.shape[1])[None, :] == s.recall(name)
        return s.xp.where(age[:, :, None], past, s.xp.zeros_like(past)).sum(axis=1)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self).__mro__[2], self.__dict__)


@functools.cache
def _delayed(cls: type[Task]) -> type[_Delayed]:
    return type(cls.__name__, (_Delayed, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def _remade(cls: type[Task], state: dict[str, Any]) -> Task:
    task = _delayed(cls).__new__(_delayed(cls))
    task.__dict__.update(state)
    return task


def make_delayed(cls: type[Task], options: dict[str, Any], **delays: Any) -> Task:
    """A task of this class; `delays` are of DELAYS, and those that are None or 0 delay nothing."""
    steps = {name: steps_of(name, given) for name, given in delays.items() if given is not None}
    steps = {name: pair for name, pair in steps.items() if pair != (0, 0)}
    if not steps:
        return cls(**options)
    task = _delayed(cls)(**options)
    task.delay(**steps)
    return task
