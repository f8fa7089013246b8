"""Several batches of one task as one vector environment, each under a contact model of its own.

`make(task, num_envs, contact=[...])` gives it: rows 0 to n/k - 1 are under the first, and so on. Environment i is
seeded as in a single batch. It has what the learners' adapters use of a BatchEnv; `parts` are the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium import error
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dualstep._arrays import integer
from dualstep.envs import saved
from dualstep.envs.arguments import seed_of
from dualstep.envs.contact import Contact, describe

if TYPE_CHECKING:
    from dualstep.envs.vector import BatchEnv

# what is the same for all parts, or is asked of any: the first one's
SHARED = (
    "nonfinite", "max_episode_steps", "autoreset_mode", "output", "on_host", "groups", "randomization", "task", "sim",
)  # fmt: skip


class MixedEnv(VectorEnv):
    """`make_part(contact, count, seed)` makes the batch of one contact model, with its share of `seed`, which is as
    BatchEnv takes it. numpy's arrays and torch's are joined."""

    def __init__(
        self,
        make_part: Callable[[Contact, int, Any], BatchEnv],
        contacts: Sequence[Contact],
        num_envs: int,
        seed: int | Sequence[int | None] | None = None,
    ) -> None:
        num_envs = integer("num_envs", num_envs)
        if num_envs < len(contacts):
            laws = "; ".join(map(describe, contacts))
            raise ValueError(
                f"num_envs {num_envs} is given, and contact has {len(contacts)} models ({laws}): at least one "
                "environment for each is wanted"
            )
        bounds = [num_envs * k // len(contacts) for k in range(len(contacts) + 1)]
        self._sizes = [after - before for before, after in zip(bounds[:-1], bounds[1:], strict=True)]
        self._starts = bounds[:-1]
        self.contacts, self.num_envs = list(contacts), num_envs
        seeds = self._seeds(seed)
        self.parts = [make_part(*given) for given in zip(contacts, self._sizes, seeds, strict=True)]
        first = self.parts[0]
        if first.output not in ("numpy", "torch"):
            raise ValueError(f"output {first.output!r} is given, and several contact models want 'numpy' or 'torch'")
        self.metadata, self.render_mode = first.metadata, first.render_mode
        self.single_action_space = first.single_action_space
        self.action_space = batch_space(first.single_action_space, num_envs)
        self.single_observation_space = first.single_observation_space
        self.observation_space = batch_space(first.single_observation_space, num_envs)
        self._share_elapsed()

    def __getattr__(self, name: str) -> Any:
        if name in SHARED:
            return getattr(self.__dict__["parts"][0], name)
        raise AttributeError(f"a MixedEnv has no '{name}'; each of its `parts` may have it")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share_elapsed()

    # counts and clocks of all

    def _share_elapsed(self) -> None:
        """Has the parts count steps in one array, so that writing to its elements is writing to theirs."""
        self._elapsed = _join([part.elapsed for part in self.parts], self._sizes)
        for part, rows in zip(self.parts, self._rows(self._elapsed), strict=True):
            part._elapsed = rows

    @property
    def elapsed(self) -> Any:
        """As BatchEnv.elapsed, of all parts."""
        return self._elapsed

    @elapsed.setter
    def elapsed(self, steps: Any) -> None:
        self._elapsed[...] = self.parts[0]._arrays.native(steps)

    @property
    def diverged_count(self) -> int:
        return sum(part.diverged_count for part in self.parts)

    @diverged_count.setter
    def diverged_count(self, count: int) -> None:
        for i, part in enumerate(self.parts):
            part.diverged_count = count if i == 0 else 0

    @property
    def nonfinite_counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in self.parts:
            for name, count in part.nonfinite_counts.items():
                found[name] = found.get(name, 0) + count
        return found

    # Gymnasium's interface

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if options:
            raise ValueError("options are given to reset, and several contact models take none: reset their `parts`")
        given = [part.reset(seed=one) for part, one in zip(self.parts, self._seeds(seed), strict=True)]
        return tuple(_join([one[i] for one in given], self._sizes) for i in range(2))  # pyright: ignore[reportReturnType]

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        shape = tuple(np.shape(actions))
        if shape != self.action_space.shape:
            raise ValueError(f"actions of shape {shape} are given, and {self.action_space.shape} is wanted")
        self._refuse(self._rows(actions))
        given = [part.step(rows) for part, rows in zip(self.parts, self._rows(actions), strict=True)]
        known = {name: value for *_, info in given for name, value in info.items()}
        given = [(*one, _told_as_elsewhere(one, info, known)) for *one, info in given]
        return tuple(_join([one[i] for one in given], self._sizes) for i in range(5))  # pyright: ignore[reportReturnType]

    def _refuse(self, actions: list[Any]) -> None:
        """Refuses what a part would before any of them is stepped, by the numbers of all environments."""

        def rows(flags: Callable[[BatchEnv, Any], Any]) -> list[int]:
            found: list[int] = []
            for part, start, given in zip(self.parts, self._starts, actions, strict=True):
                found += [start + row for row in part._arrays.rows(flags(part, given)).tolist()]
            return found

        def bad(part: BatchEnv, given: Any) -> Any:
            action = part._arrays.real(part._arrays.native(given), part.sim.dtype)
            found = ~part._arrays.xp.isfinite(action).all(axis=1)
            return found & ~part._pending if mode == AutoresetMode.NEXT_STEP else found

        mode = self.parts[0].autoreset_mode
        never = np.flatnonzero(np.concatenate([part._episodes for part in self.parts]) < 0).tolist()
        if never:
            told = f"{len(never)} of {self.num_envs} environments were never reset: {never[:10]}"
            raise error.ResetNeeded(f"call reset() before step(): {told}{', ...' if len(never) > 10 else ''}")
        if mode == AutoresetMode.DISABLED and (done := rows(lambda part, _: part._pending)):
            raise error.ResetNeeded(f"environments {done[:10]} are done: reset them in their `parts`")
        if self.parts[0].nonfinite == "refuse" and (wrong := rows(bad)):
            raise ValueError(f"the actions of environments {wrong[:10]} ({len(wrong)} in all) are not finite")

    def render(self) -> tuple[Any, ...] | None:
        """As BatchEnv.render, of the first part."""
        return self.parts[0].render()

    def close_extras(self, **_: Any) -> None:
        for part in self.parts:
            part.close()

    # the state as a whole

    def state(self) -> dict[str, Any]:
        """As BatchEnv.state, of all parts."""
        return {f"{i}/{name}": array for i, part in enumerate(self.parts) for name, array in part.state().items()}

    def load_state(self, found: Mapping[str, Any]) -> None:
        """As BatchEnv.load_state: where a part refuses its state, all are as they were."""
        if not isinstance(found, Mapping):
            raise ValueError(f"state: {type(found).__name__} is given, and the dict that state() gave is wanted")
        given = [
            {name.partition("/")[2]: array for name, array in found.items() if str(name).partition("/")[0] == str(i)}
            for i in range(len(self.parts))
        ]
        for part, one in zip(self.parts, given, strict=True):
            saved.check(part, one)
        before = [part.sim.save() for part in self.parts]
        try:
            # what the batches hold is known to be whole where they take it
            for part, one in zip(self.parts, given, strict=True):
                part.sim.load(one["sim"].tobytes())
        except ValueError:
            for part, state in zip(self.parts, before, strict=True):
                part.sim.load(state)
            raise
        for part, one in zip(self.parts, given, strict=True):
            saved.take(part, one)

    def _seeds(self, seed: Any) -> list[Any]:
        """Of each part, so that environment i has seed + i, or the i-th of several; None where none is given."""
        if seed is None:
            return [None] * len(self._sizes)
        if np.ndim(seed) == 0:
            first = cast(int, seed_of(seed))
            return [first + start for start in self._starts]
        if len(seed) != self.num_envs:
            raise ValueError(f"{len(seed)} seeds are given, and there are {self.num_envs} environments")
        return self._rows(seed.tolist() if hasattr(seed, "tolist") else list(seed))

    def _rows(self, given: Any) -> list[Any]:
        """Arrays over all environments, apart."""
        return [given[start : start + size] for start, size in zip(self._starts, self._sizes, strict=True)]

    def trained(self, share: float) -> None:
        """What `BatchEnv.trained` does, for each of them."""
        for part in self.parts:
            part.trained(share)

    def __repr__(self) -> str:
        laws = ", ".join(f"{size} {describe(law)}" for size, law in zip(self._sizes, self.contacts, strict=True))
        where = "closed" if self.closed else self.parts[0].sim.description
        return f"MixedEnv({type(self.parts[0].task).__name__}: {laws}; {where})"


def _told_as_elsewhere(step: Sequence[Any], info: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What a part tells of a step, with what only other parts tell (`known` is of any of them).

    Where none of its episodes ended, `final_obs` and `final_info` are what it sees and tells, and mark nothing. Flags,
    such as `diverged`, are false: `_join` fills them, and their marks are true, as of all environments.
    """
    found, everyone = dict(info), step[2] | ~step[2]
    for name in known:
        if name in info or name.startswith("_"):
            continue
        if name == "final_obs":
            found[name] = step[0]
        elif name == "final_info":
            found[name] = {one: info[one] for one in known[name] if not one.startswith("_")}
        else:
            found["_" + name] = everyone
    return found


def _join(given: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Arrays, or dicts of them, one below the other; rows of a part that has none are zero, and so not marked."""
    some = next(one for one in given if one is not None)
    if isinstance(some, dict):
        names = dict.fromkeys(name for one in given if one is not None for name in one)
        return {name: _join([None if one is None else one.get(name) for one in given], sizes) for name in names}
    on_host = isinstance(some, np.ndarray)
    rows = []
    for array, size in zip(given, sizes, strict=True):
        shape = (size, *some.shape[1:])
        nothing = np.zeros(shape, some.dtype) if on_host else some.new_zeros(shape)
        rows.append(nothing if array is None else array)
    if on_host:
        return np.concatenate(rows)
    import torch

    return torch.cat(rows)
