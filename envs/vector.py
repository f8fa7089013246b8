"""A task over a batch, as a `gymnasium.vector.VectorEnv`.

One call of step(): actions to `ctrl`, `frame_skip` substeps, reward, termination, time limit, observation; then,
in SAME_STEP, the environments that are done begin anew and `info["final_obs"]` keeps what they saw last.

What the task reads of an evaluation (`xpos`, `cvel`, contacts) is of the last one inside the step, as MuJoCo leaves
it and Gymnasium uses it: the start of the last substep, or the last stage where the integrator is RK4. Where the
state was written from outside since then, it is evaluated anew first.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from gymnasium import error, spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dualstep import _core
from dualstep.batch import Batch, Status
from dualstep.envs import saved
from dualstep.envs.arguments import bounds_of, memory_of, mode_of, nonfinite_of, seeds_of
from dualstep.envs.arrays import Output, arrays_of
from dualstep.envs.draws import Draws
from dualstep.envs.given import Given, Look
from dualstep.envs.groups import Groups
from dualstep.envs.randomize import Randomizer, Vary
from dualstep.envs.registry import limit_of
from dualstep.envs.task import Task, View, whole_dtype

# what users may write of an environment, beside its state
CHANGEABLE = ("autoreset_mode", "max_episode_steps", "nonfinite", "render_mode")
# what a task may write
STATE = tuple(name for name, role, *_ in _core.batch_fields() if role == "state")


class BatchEnv(VectorEnv):
    """`num_envs` environments of one task, stepped together; `unwrapped.sim` is the Batch.

    `device`, `dtype`, `num_threads`, `lanes`: of the Batch. `output`: what observations, rewards, flags and infos are
    made of, "numpy", "torch", "jax" or "dlpack" (anything that has `__dlpack__`); fresh arrays at every step, on the
    device of the batch where the library can hold them there. `autoreset_mode`: SAME_STEP, NEXT_STEP or DISABLED.
    `max_episode_steps`: where episodes are truncated; None never. `nonfinite`: actions that are not finite are refused
    with ValueError ("refuse") or replaced, NaN by 0 and infinities by the bounds of the action, or by 0 where it has
    none ("clamp"), and marked in `info["action_nonfinite"]`. `randomize`: what `Vary` says of the model's parameters,
    instead of what the task says itself. `seed`: that of the first reset, unless that brings one.

    Environment i is seeded with seed + i, and what it draws depends on that and on the number of its episode alone.
    An environment whose simulation diverged ends its episode there (`terminated`), with `info["diverged"]`;
    `diverged_count` counts them. What a task's reset(), control(), events(), observe() and reward(), with its terms,
    give must be finite elsewhere: else ValueError names the function and the environments ("refuse"), or it counts as
    0, and `nonfinite_counts` counts it by function ("clamp").

    Environments can be pickled and copied, where their task can: the copy goes on with the same bits.
    """

    action_space: spaces.Box
    single_action_space: spaces.Box
    single_observation_space: spaces.Box | spaces.Dict

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        device: str = "auto",
        dtype: Any = "float32",
        num_threads: int = 0,
        lanes: int | Sequence[int] | str | None = None,
        seed: int | None = None,
        output: str = "numpy",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        nonfinite: str = "refuse",
        randomize: Sequence[Vary | dict[str, Any]] | None = None,
        render_mode: str | None = None,
        render_options: dict[str, Any] | None = None,
    ) -> None:
        self.autoreset_mode = mode_of(autoreset_mode)
        self.task = task
        self.sim = Batch(task.model, num_envs, device, dtype, num_threads, lanes=lanes, rk4_outputs="last")
        self.num_envs = num_envs
        self.max_episode_steps = limit_of(max_episode_steps)
        self._options = saved.options_of(
            task, max_episode_steps=self.max_episode_steps, autoreset_mode=self.autoreset_mode.name
        )
        self.diverged_count = 0
        # what it is made again from, elsewhere
        self._made = {
            "device": device, "dtype": self.sim.dtype.name, "num_threads": num_threads, "lanes": lanes, "seed": seed,
            "output": output, "autoreset_mode": self.autoreset_mode, "max_episode_steps": max_episode_steps,
            "randomize": randomize, "render_mode": render_mode, "render_options": render_options,
        }  # fmt: skip
        self._arrays: Any = arrays_of(self.sim.device)
        self._arrays.follow(self.sim)
        self._given = Given(task, self._arrays, nonfinite_of(nonfinite))
        self._output = Output(output, self._arrays.on_host)
        self._constants: dict[str, Any] = {}
        seeds_of(seed, self.num_envs)
        self._start_seed = seed
        self._seeds = np.zeros(num_envs, np.int64)
        self._episodes = np.full(num_envs, -1, np.int64)
        self._elapsed = self._arrays.zeros((num_envs,), np.int64)
        self._fresh = self._arrays.zeros((num_envs,), bool)
        self._pending = self._arrays.zeros((num_envs,), bool)
        self._seen: tuple[Any, Any] | None = None
        self._tracked: Any = None
        kept = memory_of(task).items()
        self._memory = {name: self._arrays.zeros((num_envs, *shape), self.sim.dtype) for name, shape in kept}
        chosen = task.randomization if randomize is None else randomize
        self._randomizer = Randomizer(chosen, self.sim, self._arrays, task.dt)

        self.metadata = {
            "autoreset_mode": self.autoreset_mode,
            "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"],
            "render_fps": int(np.round(1.0 / task.dt)),
        }
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            modes = ", ".join(f"'{mode}'" for mode in self.metadata["render_modes"])
            raise ValueError(f"render_mode {render_mode!r} is given, and it must be one of {modes}")
        self.render_mode = render_mode
        self._render_options = dict(render_options or {})
        self._renderer: Any = None

        self.single_action_space = spaces.Box(*bounds_of(task), dtype=np.float32)  # pyright: ignore[reportIncompatibleVariableOverride]
        self._width: int | None = None
        self._groups = Groups()
        self._width = width = self._observe(self._view(fresh=True), num_envs).shape[1]
        self._observed = self._arrays.zeros((num_envs, width), self.sim.dtype)
        self.single_observation_space = self._groups.space(width, self.sim.dtype.type)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.action_space = cast(spaces.Box, batch_space(self.single_action_space, num_envs))  # pyright: ignore[reportIncompatibleVariableOverride]
        self.observation_space = batch_space(self.single_observation_space, num_envs)

    @property
    def output(self) -> str:
        """What arrays are given as: "numpy", "torch", "jax" or "dlpack"."""
        return self._output.kind

    @property
    def nonfinite(self) -> str:
        """What is done with numbers that are not finite: "refuse" or "clamp"."""
        return self._given.nonfinite

    @nonfinite.setter
    def nonfinite(self, what: str) -> None:
        self._given.nonfinite = nonfinite_of(what)

    @property
    def nonfinite_counts(self) -> dict[str, int]:
        """Environments and steps in which the task gave numbers that are not finite, by function; "clamp" counts."""
        return self._given.counts

    @property
    def groups(self) -> dict[str, int]:
        """The groups of observations, and how many numbers each has; empty where observations are one array."""
        return self._groups.widths

    def _seen_as(self, observation: Any) -> Any:
        """What users get of it; the environment has its own, which a reset of others gives again."""
        self._observed = observation
        apart = self._groups.split(observation, self._arrays)
        return self._output.tree(apart) if isinstance(apart, dict) else self._output(apart)

    @property
    def on_host(self) -> bool:
        return self._arrays.on_host

    @property
    def elapsed(self) -> Any:
        """(num_envs,) steps since each episode began; written, it is what the time limit is held against."""
        return self._elapsed

    @property
    def randomization(self) -> list[dict[str, Any]]:
        """How parameters of the model differ between environments, in plain words: what `randomize` takes."""
        return self._randomizer.described

    def randomize(self, mask: Any = None) -> None:
        """Draws all parameters that differ anew, in all environments or those where mask is true: an event of yours.

        Draws depend on seed, episode, moment, and the number of the call in the episode. ResetNeeded: no episode yet.
        """
        mask = self._mask(~self._arrays.zeros((self.num_envs,), bool) if mask is None else mask, "mask")
        rows = self._arrays.to_host(self._arrays.rows(mask))
        self._want_reset("randomize()", rows)
        self._randomizer.now(rows, self._seeds, self._episodes, self._elapsed)

    @elapsed.setter
    def elapsed(self, steps: Any) -> None:
        self._elapsed[...] = self._arrays.native(steps)

    # seeds -------------------------------------------------------------------------------------------------

    def _take_seeds(self, seed: Any, rows: np.ndarray) -> None:
        """Seeds of these environments, which begin their first episode; None goes on where they had one."""
        if seed is None:
            rows = rows[self._episodes[rows] < 0]
            seed = secrets.randbits(31) if self._start_seed is None else self._start_seed
        if not len(rows):
            return
        values = seeds_of(seed, self.num_envs)
        if np.ndim(seed) == 0:
            VectorEnv.reset(self, seed=values[0])
        for row in rows:
            value = values[row]
            if value is None and self._episodes[row] < 0:
                value = secrets.randbits(31)
            if value is not None:
                # the bits of an unsigned 64-bit number
                self._seeds[row] = np.uint64(value % 2**64).astype(np.int64)
                self._episodes[row] = -1

    # views and episodes ------------------------------------------------------------------------------------

    def _view(self, rows: Any = None, *, fresh: Any = None) -> View:
        view = View(self.task, self.sim, self._arrays, self._constants, self._memory, rows)
        if fresh is True:
            count = self.num_envs if rows is None else len(rows)
            fresh = ~self._arrays.zeros((count,), bool)
        view.fresh = fresh
        return view

    def _forward(self, mask: Any) -> None:
        self.sim.forward(mask)

    def _begin(self, mask: Any, observation: Any) -> tuple[Any, View]:
        """Starts the next episode of the marked environments, and writes what they see: their indices, and a view."""
        rows = self._arrays.rows(mask)
        on_host = self._arrays.to_host(rows)
        self._episodes[on_host] += 1
        take = self._arrays.from_host
        seeds, episodes = take(self._seeds[on_host]), take(self._episodes[on_host])
        self._randomizer.begin(on_host, seeds, episodes)
        self.sim.reset(mask)
        first = rows[episodes == 0] if self.task.lasting else rows
        for name, kept in self._memory.items():
            kept[first if name in self.task.lasting else rows] = 0
        draw = Draws(self._arrays, seeds, episodes)
        view = self._view(rows, fresh=True)
        given = self._write("reset", self.task.reset(view, draw), rows, len(on_host), self._given.zeroed)
        if self.task.derived:
            self._forward(mask)
        self._elapsed[rows] = 0
        self._fresh[rows] = True
        self._pending[rows] = False
        view = self._view(rows, fresh=True)
        given["observe()"] = self._observe(view, len(on_host))
        observation[rows] = self._given.all_finite(given, rows=rows)["observe()"]
        return rows, view

    # what the task gives ------------------------------------------------------------------------------------

    def _observe(self, view: View, count: int) -> Any:
        name = f"{type(self.task).__name__}.observe()"
        given = self._groups.join(name, self.task.observe(view), count, self._arrays, self.sim.dtype)
        return self._real(self._given.array("observe()", given, (count, self._width or "n")))

    def _reward(self, view: View) -> tuple[Any, dict[str, Any]]:
        given = self.task.reward(view)
        if not isinstance(given, tuple) or len(given) != 2:
            who = f"{type(self.task).__name__}.reward()"
            raise TypeError(f"{who} is {type(given).__name__}, and a pair is wanted: rewards, and a dict of terms")
        reward = self._given.array("reward()[0]", given[0], (self.num_envs,))
        return self._real(reward), self._given.mapping("reward()[1]", given[1])

    def _terminated(self, view: View) -> Any:
        given = self.task.terminated(view)
        if given is None:
            return self._arrays.zeros((self.num_envs,), bool)
        return self._given.array("terminated()", given, (self.num_envs,), "b")

    def _write(self, function: str, given: Any, rows: Any, count: int, look: Look) -> dict[str, Any]:
        """Arrays of the state, by name, of `count` environments: what `look` makes of each. Returns what was given."""
        found: dict[str, Any] = {}
        for name, values in self._given.mapping(f"{function}()", given).items():
            what = f"{function}()[{name!r}]"
            if name not in STATE:
                who = f"{type(self.task).__name__}.{what}"
                raise ValueError(f"{who} is given, and these can be written: {', '.join(STATE)}")
            into = self._arrays.native(getattr(self.sim, name))
            given_here = self._given.array(what, values, (count, *into.shape[1:]))
            # a task may give the very array that is written
            found[what] = self._real(given_here)
            into[rows] = look(what, found[what])
        return found

    def _remember(self, rows: Any = None) -> None:
        """The state as this environment left it, in all rows or these, so that one written from outside is noticed."""
        if not self.task.derived:
            return
        rows = None if self._seen is None else rows
        copy, native = self._arrays.copy, self._arrays.native
        state, tracked = (native(self.sim.qpos), native(self.sim.qvel)), self.task.track(self._view(rows))
        if self._seen is None or rows is None:
            self._seen = (copy(state[0]), copy(state[1]))
            self._tracked = None if tracked is None else copy(tracked)
            return
        for kept, now in zip(self._seen, state, strict=True):
            kept[rows] = now[rows]
        if tracked is not None:
            self._tracked[rows] = tracked

    def _track(self) -> Any:
        """What the task tracks, before a step; environments whose state was written from outside are evaluated."""
        if self._seen is None:
            tracked = self.task.track(self._view())
            return None if tracked is None else self._arrays.copy(tracked)
        qpos, qvel = self._arrays.native(self.sim.qpos), self._arrays.native(self.sim.qvel)
        changed = (qpos != self._seen[0]).any(axis=1) | (qvel != self._seen[1]).any(axis=1)
        if bool(changed.any()):
            self._forward(changed)
            tracked = self.task.track(self._view())
            if tracked is not None:
                self._tracked[changed] = tracked[changed]
        return self._tracked

    # the state as a whole ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that the future depends on, as numpy arrays: `load_state` goes on from there."""
        return saved.state_of(self)

    def load_state(self, found: Mapping[str, Any]) -> None:
        """Goes on where `state()` was taken, bit for bit.

        Raises ValueError, and changes nothing, where the state is of another environment, or of other options than
        these, or damaged.
        """
        saved.check(self, found)
        self.sim.load(found["sim"].tobytes())
        saved.take(self, found)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.closed:
            raise TypeError("this environment is closed: it cannot be pickled or copied")
        state = self.state()
        # the task comes along as it is, with whatever was changed in it
        del state[saved.OPTIONS]
        changed = {name: getattr(self, name) for name in CHANGEABLE}
        return _restored, (type(self), self.task, self.num_envs, self._made, state, changed, self.nonfinite_counts)

    # Gymnasium's interface ---------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts episodes: of all environments, or of those where `options["reset_mask"]` is true.

        The others stay as they are: their observations are those given last, their entries of `info` zero. Where what
        the task gives is refused, the episodes have not begun: the same call again draws the same numbers.
        """
        self._arrays.follow(self.sim)
        mask = ~self._arrays.zeros((self.num_envs,), bool)
        if options is not None and "reset_mask" in options:
            mask = self._mask(options["reset_mask"], "options['reset_mask']")
        rows = self._arrays.to_host(self._arrays.rows(mask))
        self._take_seeds(seed, rows)
        # of the others nothing is asked: what their functions keep is of their own steps
        observation = self._arrays.copy(self._observed)
        try:
            begun, view = self._begin(mask, observation)
        except Exception:
            self._episodes[rows] -= 1
            raise
        told = self._told(view, {}, len(rows))
        info = {name: self._arrays.zeros((self.num_envs, *v.shape[1:]), whole_dtype(v)) for name, v in told.items()}
        for name, values in told.items():
            info[name][begun] = values
        self._remember(begun)
        return self._seen_as(observation), self._output.tree(self._masked(info, mask))

    def forget_ends(self) -> None:
        """Lets environments that are done be stepped on, where the user resets them himself."""
        if self.autoreset_mode == AutoresetMode.DISABLED:
            self._pending[...] = False

    def _mask(self, given: Any, name: str) -> Any:
        mask = self._arrays.native(given)
        if tuple(mask.shape) != (self.num_envs,):
            raise ValueError(f"{name} has shape {tuple(mask.shape)}, and ({self.num_envs},) is wanted")
        if "bool" not in str(mask.dtype):
            raise TypeError(f"{name} has dtype {mask.dtype}, and booleans are wanted")
        if not bool(mask.any()):
            raise ValueError(f"{name} marks no environment, and at least one is wanted")
        return mask

    def _want_reset(self, before: str, rows: Any = ...) -> None:
        """Refuses what wants an episode, of all environments or these, where some have had none."""
        never = np.flatnonzero(self._episodes[rows] < 0)
        if len(never):
            named = (never if rows is ... else rows[never])[:10].tolist()
            told = f"{len(never)} of {self.num_envs} environments were never reset: {named}"
            raise error.ResetNeeded(f"call reset() before {before}: {told}{', ...' if len(never) > 10 else ''}")

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self._want_reset("step()")
        if self.autoreset_mode == AutoresetMode.DISABLED and bool(self._pending.any()):
            rows = np.asarray(self._arrays.rows(self._pending).tolist())
            raise error.ResetNeeded(f"environments {rows[:10].tolist()} are done: reset them by options['reset_mask']")
        self._arrays.follow(self.sim)
        action, bad = self._actions(actions)
        before = self._track()
        controls = self._control(action)
        self._advance()
        if type(self.task).stepped is not Task.stepped:
            self.task.stepped(self._view())

        xp = self._arrays.xp
        self._fresh[...] = False
        view = self._view(fresh=self._fresh)
        view.action = action
        if before is not None:
            view.rate = (self.task.track(view) - before) / self.task.dt
        reward, terms = self._reward(view)
        terminated = self._terminated(view)
        view, events = self._happen(view)
        observation = self._observe(view, self.num_envs)
        info = self._told(view, terms, self.num_envs)
        diverged = self._diverged()
        any_diverged = bool(diverged.any())
        if any_diverged:
            # learners see no NaN: all else that is not finite there is 0 below
            reward, terminated = xp.where(diverged, xp.zeros_like(reward), reward), terminated | diverged
        first, last = {**controls, "reward()": reward}, {**events, "observe()": observation}
        observation, reward = self._settle(first, info, terms, last, diverged)
        limit = self.max_episode_steps
        truncated = self._arrays.zeros((self.num_envs,), bool) if limit is None else self._elapsed >= limit
        everyone = ~self._arrays.zeros((self.num_envs,), bool)
        marks = dict.fromkeys(info, everyone)

        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            idle = self._arrays.copy(self._pending)
            if bool(idle.any()):
                # these environments were done before: this step only starts their next episode
                rows, begun = self._begin(idle, observation)
                reward = xp.where(idle, xp.zeros_like(reward), reward)
                terminated, truncated, diverged = terminated & ~idle, truncated & ~idle, diverged & ~idle
                any_diverged = any_diverged and bool(diverged.any())
                self._restart_info(info, marks, begun, rows, idle)
            self._pending = terminated | truncated
        elif self.autoreset_mode == AutoresetMode.DISABLED:
            self._pending = terminated | truncated
        elif bool((done := terminated | truncated).any()):
            final = {"final_obs": self._groups.split(observation, self._arrays), "final_info": self._masked(info, done)}
            info = dict(info)
            rows, begun = self._begin(done, observation)
            self._restart_info(info, marks, begun, rows, done)
            info.update(final)
            marks.update({"final_obs": done, "final_info": done})
        if any_diverged:
            self.diverged_count += int(diverged.sum())
            info["diverged"], marks["diverged"] = diverged, everyone
        if bad is not None:
            info["action_nonfinite"], marks["action_nonfinite"] = bad, everyone
        self._remember()
        info.update({"_" + name: mark for name, mark in marks.items()})
        out = self._output
        return self._seen_as(observation), out(reward), out(terminated), out(truncated), out.tree(info)

    # pieces of a step --------------------------------------------------------------------------------------

    def _control(self, action: Any) -> dict[str, Any]:
        """What control() gave, as far as it is to be looked at."""
        given = self.task.control(self._view(), action)
        # actions were looked at before
        look = self._given.as_it_is if given is action else self._given.zeroed
        found = self._write("control", {"ctrl": given}, ..., self.num_envs, look)
        return {} if given is action else found

    def _diverged(self) -> Any:
        """(num_envs,) where the simulation diverged in the episode that goes on, or just ended."""
        return (self._arrays.words(self._arrays.native(self.sim.status)) & int(Status.DIVERGED)) != 0

    def _advance(self) -> None:
        motor, count = self.task.motor, self.task.frame_skip
        doubt = self._timesteps(count) if motor is None else motor.advance(self._view, self._timesteps, count)
        if doubt is not None:
            self._given.finite("motor_model", doubt)

    def _timesteps(self, count: int) -> None:
        self.sim.step(count)

    def _happen(self, view: View) -> tuple[View, dict[str, Any]]:
        """Time goes on: the task's events, and parameters that change during episodes. What is seen then, and what
        events() gave."""
        self._elapsed += 1
        written: dict[str, Any] = {}
        if type(self.task).events is not Task.events:
            take = self._arrays.from_host
            draw = Draws(self._arrays, take(self._seeds), take(self._episodes), self._elapsed)
            written = self.task.events(view, draw)
        given = self._write("events", written, ..., self.num_envs, self._given.zeroed)
        self._randomizer.go_on(self._seeds, self._episodes, self._elapsed)
        if not written:
            return view, given
        after = self._view(fresh=self._fresh)
        after.action, after.rate = view.action, view.rate
        return after, given

    def _actions(self, given: Any) -> tuple[Any, Any]:
        """(N, nu) in the batch's precision, all finite; and which rows were not, if any."""
        xp = self._arrays.xp
        action = self._arrays.real(self._arrays.native(given), self.sim.dtype)
        if tuple(action.shape) != self.action_space.shape:
            wanted = self.action_space.shape
            raise ValueError(f"actions of shape {tuple(action.shape)} are given, and {wanted} is wanted")
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            # those that only begin their next episode in this step do nothing with theirs
            action = xp.where(self._pending[:, None], xp.zeros_like(action), action)
        finite = xp.isfinite(action)
        if bool(finite.all()):
            return action, None
        bad = ~finite.all(axis=1)
        if self._given.nonfinite == "refuse":
            rows = self._arrays.rows(bad).tolist()
            raise ValueError(f"the actions of environments {rows[:10]} ({len(rows)} in all) are not finite")
        bounds = (self.single_action_space.low, self.single_action_space.high)
        low, high = (self._arrays.from_host(np.where(np.isfinite(bound), bound, 0)) for bound in bounds)
        replaced = xp.where(xp.isnan(action), 0 * low, xp.where(action > 0, high, low))
        replaced = self._arrays.real(replaced, self.sim.dtype)
        return xp.where(finite, action, replaced), bad

    def _real(self, array: Any) -> Any:
        """In the batch's precision, and memory of its own."""
        return self._arrays.own(self._arrays.real(array, self.sim.dtype))

    def _settle(self, first: Any, info: Any, terms: Any, last: Any, diverged: Any) -> Any:
        """What the task gave in a step, in the order in which it did: finite where nothing diverged. The observation
        and the reward; terms in `info` are changed there."""
        parts = {f"reward()[1][{name!r}]": name for name in terms}
        told = {what: info[name] for what, name in parts.items()}
        found = self._given.all_finite({**first, **told, **last}, excused=lambda: diverged)
        info.update({name: found[what] for what, name in parts.items()})
        return found["observe()"], found["reward()"]

    def _told(self, view: View, terms: dict[str, Any], count: int) -> dict[str, Any]:
        parts = {"info()": self._given.mapping("info()", self.task.info(view)), "reward()[1]": terms}
        return {
            name: self._arrays.own(self._given.array(f"{part}[{name!r}]", value, (count, "...")))
            for part, values in parts.items()
            for name, value in values.items()
        }

    def _masked(self, info: dict[str, Any], mask: Any) -> dict[str, Any]:
        """Gymnasium's form: each entry beside the mask of the environments that have it."""
        return {**info, **{"_" + name: mask for name in info}}

    def _restart_info(self, info: dict[str, Any], marks: dict[str, Any], begun: View, rows: Any, mask: Any) -> None:
        """Environments that began anew have what a reset tells, and nothing of the step."""
        told = self.task.info(begun)
        for name in list(info):
            if name in told:
                changed = self._arrays.copy(info[name])
                changed[rows] = told[name]
                info[name] = changed
            else:
                marks[name] = ~mask

    # pictures ----------------------------------------------------------------------------------------------

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each environment, by Gymnasium's renderer; `render_envs` of the options says how many."""
        if self.closed:
            raise RuntimeError("this environment is closed: it cannot be drawn")
        if self.render_mode is None:
            return None
        if self._renderer is None:
            from dualstep.envs.render import Renderer

            self._renderer = Renderer(self.task, self.render_mode, self._render_options)
        return self._renderer(self.sim)

    def close_extras(self, **_: Any) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
        self.sim.close()

    def trained(self, share: float) -> None:
        """Says to the task which share of a training's steps was taken (`Task.trained`)."""
        self.task.trained(share)

    def __repr__(self) -> str:
        where = "closed" if self.closed else self.sim.description
        return f"BatchEnv({type(self.task).__name__}, num_envs={self.num_envs}, {where})"


def _restored(
    cls: type[BatchEnv], task: Task, num_envs: int, options: dict[str, Any], state: Any, changed: Any, counts: Any
) -> BatchEnv:
    """Environments as they were pickled."""
    env = cls(task, num_envs, **options)
    env.load_state(state)
    for name, value in changed.items():
        setattr(env, name, value)
    env.nonfinite_counts.update(counts)
    return env
