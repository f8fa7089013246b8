"""A policy from the same starts under every contact law that a batch runs, and a few settings of each.

Figures, of `episodes` environments, each until its first episode ends:

    return        mean, and kept: its ratio to that under the law that the policy was trained under
    difference    mean difference of returns of the same starts, and its standard error
    falls         share of episodes that ended before their time limit (diverged ones counted apart)
    given         energy that contacts gave, a second: sum of their positive works, step by step                   [W]
    net           all their work, a second; contacts with a resting world cannot have more than 0                  [W]
    motors        positive work of the actuators, a second: what the two above are held against                    [W]
    penetration   mean over time of the deepest overlap; and the deepest of all                                    [m]
    slip          sum f_n |v_t| / sum f_n: sliding speed of loaded contacts                                        [m/s]

The work of a contact in a substep is h f . (v + v')/2 with the relative velocities of its point at this evaluation and
the next. Under RK4 an evaluation is the last stage of a step.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dualstep import _arrays
from dualstep.batch import Batch
from dualstep.envs import contact as laws
from dualstep.envs.contact import Contact, describe
from dualstep.envs.groups import each_group
from dualstep.envs.making import make_task
from dualstep.envs.task import Task
from dualstep.envs.training.acting import follow, seen
from dualstep.envs.training.evaluate import Policy, time_limit
from dualstep.envs.vector import BatchEnv
from dualstep.errors import UnsupportedModelError

TRAINED = "as trained"
COLUMNS = {
    "return": "", "kept": "", "difference": "", "falls": "", "given": "W", "net": "W", "motors": "W",
    "penetration": "mm", "deepest": "mm", "slip": "mm/s",
}  # fmt: skip


@dataclass
class Row:
    """One law with its settings; `refused` says why it does not run."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    timestep: float = 0.0
    integrator: str = ""
    refused: str = ""
    returns: list[float] = field(default_factory=list)
    figures: dict[str, float | None] = field(default_factory=dict)


@dataclass
class PolicyAudit:
    """What `audit_policy` found; the first row is the law that the policy was trained under."""

    task: str
    episodes: int
    seed: int
    rows: list[Row]

    def table(self) -> str:
        head = ["contact model", *COLUMNS]
        lines = [head, ["", *COLUMNS.values()]]
        for row in self.rows:
            if row.refused:
                lines.append([row.name, "refused: " + row.refused])
            else:
                lines.append([row.name, *(self._cell(row, column) for column in COLUMNS)])
        whole = [line for line in lines if len(line) == len(head)]
        widths = [max(len(line[i]) for line in whole) for i in range(len(head))]
        widths[0] = max(len(line[0]) for line in lines)
        return "\n".join("  ".join(t.ljust(w) for t, w in zip(line, widths, strict=False)).rstrip() for line in lines)

    @staticmethod
    def _cell(row: Row, column: str) -> str:
        value = row.figures[column]
        if value is None:
            return "-"
        if column in ("kept", "falls"):
            return f"{value:.0%}"
        if column in ("return", "difference"):
            error = row.figures[column + "_error"]
            return f"{value:.0f} +- {error:.0f}"
        return f"{1e3 * value:.3g}" if COLUMNS[column].startswith("mm") else f"{value:.3g}"

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, allow_nan=False)

    def draw(self, path: str | Path) -> None:
        """Writes a picture: return, energy, penetration and slip by law."""
        from dualstep.envs.training import contact_audit_plot

        title = f"{self.task}: one policy, {self.episodes} episodes from the same starts"
        contact_audit_plot.draw(title, self.rows, path)


def variants(
    trained: Contact | None, integrator: str, chosen: Sequence[str] | None = None
) -> dict[str, Contact | None]:
    """The laws and settings that are tried, by name; the first one is as the policy was trained."""
    parameters = {"contact_model": "todorov", "contact_parameters": "spring_damper"}
    found: dict[str, Contact | None] = {"todorov": "todorov"}
    if integrator != "euler":
        found["todorov, Euler"] = {"contact_model": "todorov", "integrator": "euler"}
    found["todorov, h/2"] = {"contact_model": "todorov", "substeps": 2}
    for time_constant, regularization in ((0.02, 1e-2), (0.05, 1e-2), (0.02, 1e-3), (0.02, 1e-1)):
        name = f"todorov, {1e3 * time_constant:.0f} ms, R {regularization:g}"
        settings = {"contact_time_constant": time_constant, "contact_regularization": regularization}
        found[name] = {**parameters, **settings}
    found["todorov, Coulomb"] = {"contact_model": "todorov", "desaxce": True}
    for law in laws.DIRECTIONS:
        found[law] = law
        found[f"{law}, round"] = {"contact_model": law, "friction_directions": 0}
        found[f"{law}, h/2"] = {"contact_model": law, "substeps": 2}
    for law in laws.SPRINGS:
        found[law] = law
        found[f"{law}, k/4"] = {"contact_model": law, "softer": 4.0}
    for law in laws.IMPACTS:
        found[law] = law
        found[f"{law}, e 0.3"] = {"contact_model": law, "restitution": 0.3}
        found[f"{law}, h/2"] = {"contact_model": law, "substeps": 2}
    # that law is the first row
    if trained is None or isinstance(trained, str):
        del found[trained or "todorov"]
    kept = {name: law for name, law in found.items() if not chosen or name.partition(",")[0] in chosen}
    return {TRAINED: trained, **kept}


class Meter:
    """Works and depths of the contacts of a batch, substep by substep; only environments that are alive count."""

    def __init__(self, env: BatchEnv) -> None:
        n = env.num_envs
        model = env.task.model
        self.alive = np.ones(n, bool)
        self._h = float(model.opt.timestep)
        self._root = np.asarray(model.body_rootid).ravel()
        self._body = np.asarray(model.geom_bodyid).ravel()
        self._before: tuple[np.ndarray, ...] | None = None
        self.seconds = self.given = self.net = self.motors = self.depth = 0.0
        self.deepest = self._slid = self._load = 0.0

    def take(self, sim: Batch, qvel_before: np.ndarray) -> None:
        """After a substep, whose evaluation the outputs are of."""
        host = _arrays.host
        cvel, about = host(sim.cvel), host(sim.subtree_com)
        self._close(cvel, about, len(self.alive))
        torque = host(sim.qfrc_actuator)
        power = (torque * (qvel_before + host(sim.qvel)) / 2).sum(axis=1)
        self.motors += self._h * float(np.maximum(power, 0)[self.alive].sum())
        self.seconds += self._h * int(self.alive.sum())
        found = sim.contacts()
        count, dist = host(found.count), host(found.dist)
        env, slot = np.nonzero((np.arange(dist.shape[1]) < count[:, None]) & self.alive[:, None])
        depth = np.zeros(len(self.alive))
        np.maximum.at(depth, env, -dist[env, slot])
        self.depth += self._h * float(depth.sum())
        self.deepest = max(self.deepest, float(depth.max(initial=0.0)))
        frame, force = host(found.frame)[env, slot], host(found.force)[env, slot]
        bodies = self._body[host(found.geom)[env, slot]]
        place = host(found.pos)[env, slot]
        pull = np.einsum("ij,ijk->ik", force[:, :3], frame)
        turn = np.einsum("ij,ijk->ik", force[:, 3:], frame)
        self._before = (env, place, bodies, frame[:, 0], pull, turn, force[:, 0],
                        *self._relative(cvel, about, env, place, bodies))  # fmt: skip

    def _relative(self, cvel: np.ndarray, about: np.ndarray, env: np.ndarray, place: np.ndarray, bodies: np.ndarray):
        """Velocity of the point, and angular velocity, of the second body less the first's."""
        parts = []
        for side in (0, 1):
            spatial = cvel[env, bodies[:, side]]
            arm = place - about[env, self._root[bodies[:, side]]]
            parts.append((spatial[:, 3:] + np.cross(spatial[:, :3], arm), spatial[:, :3]))
        return parts[1][0] - parts[0][0], parts[1][1] - parts[0][1]

    def _close(self, cvel: np.ndarray, about: np.ndarray, n: int) -> None:
        """The last evaluation's contacts, now that it is known how fast their points became."""
        if self._before is None:
            return
        env, place, bodies, normal, pull, turn, load, speed, spin = self._before
        keep = self.alive[env]
        after, spin_after = self._relative(cvel, about, env, place, bodies)
        work = (pull * (speed + after)).sum(axis=1) + (turn * (spin + spin_after)).sum(axis=1)
        total = np.bincount(env[keep], 0.5 * self._h * work[keep], minlength=n)
        self.given += float(np.maximum(total, 0).sum())
        self.net += float(total.sum())
        along = (after * normal).sum(axis=1)[:, None] * normal
        sliding = np.linalg.norm(after - along, axis=1)
        self._slid += float((load * sliding)[keep].sum())
        self._load += float(load[keep].sum())

    def figures(self) -> dict[str, float | None]:
        t = self.seconds or 1.0
        return {"given": self.given / t, "net": self.net / t, "motors": self.motors / t, "penetration": self.depth / t,
                "deepest": self.deepest, "slip": self._slid / self._load if self._load > 0 else None}  # fmt: skip


class _Watched(BatchEnv):
    """Steps by single substeps, and has a meter look at each."""

    meter: Meter | None = None

    def _timesteps(self, count: int) -> None:
        if self.meter is None:
            super()._timesteps(count)
            return
        for _ in range(count):
            before = np.array(_arrays.host(self.sim.qvel))
            self.sim.step()
            self.meter.take(self.sim, before)


def _softer(task: Any, law: Contact | None) -> Contact | None:
    """A dict with "softer" is the law's own springs, divided by it."""
    if not isinstance(law, Mapping) or "softer" not in law:
        return law
    own = laws.options_of(task, law["contact_model"])
    return {"contact_model": law["contact_model"], "stiffness": own["stiffness"] / law["softer"]}


def run(
    task: Task, policy: Policy, law: Contact | None, episodes: int, seed: int, **options: Any
) -> tuple[_Watched, np.ndarray, dict[str, float | None]]:
    """Episodes of a task, which is changed for it, under one law: its closed environments, returns, figures."""
    law = _softer(task, law)
    if law is not None:
        laws.apply(task, law)
    env = _Watched(task, episodes, output="torch", nonfinite="clamp", **options)
    follow(env, policy)
    meter = env.meter = Meter(env)
    observation, _ = env.reset(seed=seed)
    total, fell, diverged = np.zeros(episodes), np.zeros(episodes, bool), np.zeros(episodes, bool)
    while meter.alive.any():
        given = each_group(seen(policy, observation), lambda array: array.cpu())
        observation, reward, terminated, truncated, info = env.step(policy(given))
        total += np.where(meter.alive, reward.cpu().numpy(), 0)
        if "diverged" in info:
            diverged |= meter.alive & info["diverged"].cpu().numpy()
        fell |= meter.alive & terminated.cpu().numpy()
        meter.alive &= ~(terminated | truncated).cpu().numpy()
    env.close()
    figures = {**meter.figures(), "falls": float((fell & ~diverged).mean()), "diverged": float(diverged.mean())}
    return env, total, figures


def audit_policy(
    task: str, policy: Policy, options: Mapping[str, Any] | None = None, *, chosen: Sequence[str] | None = None,
    episodes: int = 32, seed: int = 0, device: str = "cpu", num_threads: int = 0,
    seconds: float | None = None, report: Callable[[float, str], None] | None = None,
) -> PolicyAudit:  # fmt: skip
    """Runs a policy (observations to actions) through `variants`; `chosen` names some of the laws.

    `options`: of the task, as it was trained; its `contact` is the law that the others are held against. `seconds`:
    of an episode at most. Environment i starts as under every other law: it is seeded with seed + i.
    """
    given = dict(options or {})
    trained = given.pop("contact", None)
    if laws.several(trained) is not None:
        trained = trained[0]
    for name in chosen or ():
        if name not in laws.LAWS:
            raise ValueError(f"contact model {name!r} is given, and a batch runs {', '.join(laws.LAWS)}")
    randomize = given.pop("randomize", None)
    steps = time_limit(task, given)
    given.pop("max_episode_steps", None)
    made = make_task(task, given)
    if seconds is not None:
        limit = max(1, round(seconds / made.dt))
        steps = min(limit, steps)
    of_env = {"device": device, "num_threads": num_threads, "max_episode_steps": steps,
              "randomize": randomize}  # fmt: skip
    tried = variants(trained, made.model.opt.integrator, chosen)
    rows: list[Row] = []
    for k, (name, law) in enumerate(tried.items()):
        if report is not None:
            report(k / len(tried), name)
        row = Row(name if k else f"{TRAINED}: {describe(law)}" if law is not None else TRAINED)
        rows.append(row)
        try:
            env, returns, figures = run(copy.deepcopy(made), policy, law, episodes, seed, **of_env)
        except (UnsupportedModelError, ValueError) as error:
            if k == 0:
                raise
            row.refused = "; ".join(str(error).split("\n  - ")[1:]) or str(error)
            continue
        opt = env.task.model.opt
        row.timestep, row.integrator = float(opt.timestep), opt.integrator
        row.options = {} if law is None else {"contact_model": law} if isinstance(law, str) else dict(law)
        row.returns = [float(value) for value in returns]
        row.figures = {**figures, **_compared(returns, np.array(rows[0].returns))}
    if report is not None:
        report(1.0, "")
    return PolicyAudit(task, episodes, seed, rows)


def _compared(returns: np.ndarray, trained: np.ndarray) -> dict[str, float | None]:
    """Returns, and their differences from those of the same starts under the law of training."""
    root = np.sqrt(max(len(returns), 1))
    apart = returns - trained
    mean = float(trained.mean())
    return {"return": float(returns.mean()), "return_error": float(returns.std() / root),
            "kept": float(returns.mean() / mean) if mean > 0 else None,
            "difference": float(apart.mean()), "difference_error": float(apart.std() / root)}  # fmt: skip
