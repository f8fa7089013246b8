"""One model under every contact model, from the same states and actions: what each gets wrong, and what it costs.

Figures, over all environments and steps (smaller is better, zero is right):

    penetration    deepest overlap                                                        [m]
    distance_force largest normal force on a contact that is apart                        [N]
    signorini      sum f_n |phi| / sum f_n: how far from closed the forces act            [m]
    dissipation    sum (mu f_n |v_t| + f_t . v_t) / sum mu f_n |v_t|, v_t at the step's end   [-]
    cone           largest (|f_t| - mu f_n) / max f_n                                     [-]
    energy         largest E(t) - E(0) - work of the actuators                            [J]
    momentum       largest |change of linear momentum - h sum of forces| / (m g h), of trees on free joints   [-]
    order          slope of the final state's error over h, h/2, h/4 against h/8          [-]
    cost           wall time of a step of one environment                                 [s]

v_t and forces are those of contacts with |v_t| above 1 mm/s. Contact forces stand at a step's start, where the
gap phi is measured, too.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep.batch import Batch, Status
from dualstep.errors import UnsupportedModelError
from dualstep.model import Model
from dualstep.reference import Reference

if TYPE_CHECKING:
    from pathlib import Path

# name: the options that make it. "desaxce" is todorov with Coulomb's law
FORMULATIONS: dict[str, dict[str, Any]] = {
    "todorov": {},
    "desaxce": {"desaxce": True},
    "anitescu": {"contact_model": "anitescu"},
    "stewart_trinkle": {"contact_model": "stewart_trinkle"},
    "compliant": {"contact_model": "compliant"},
    "soft_anchor": {"contact_model": "soft_anchor"},
    "impulsive": {"contact_model": "impulsive"},
    "variational": {"integrator": "variational"},
    "event_driven": {"scheme": "event_driven"},
}
FIGURES = ("penetration", "distance_force", "signorini", "dissipation", "cone", "energy", "momentum")
HOLD = 0.05  # seconds that an action is held
SLIDING = 1e-3  # m/s


@dataclass
class Row:
    """One formulation's figures; `refused` says why there are none."""

    name: str
    runs_on: str = ""
    refused: str = ""
    figures: dict[str, float | None] = field(default_factory=dict)
    order: float | None = None
    cost: float | None = None
    status: str = ""
    steps: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    curves: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class Audit:
    """What `audit` found."""

    timestep: float
    duration: float
    num_envs: int
    rows: list[Row]

    def table(self) -> str:
        """A line a formulation."""
        head = ["model", "runs on", *FIGURES, "order", "us/step", "status"]
        units = ["", "", "m", "N", "m", "-", "-", "J", "-", "-", "", ""]
        lines = [head, units]
        for row in self.rows:
            if row.refused:
                lines.append([row.name, "refused: " + row.refused])
                continue
            figures = [_show(row.figures[name]) for name in FIGURES]
            cost = None if row.cost is None else row.cost * 1e6
            lines.append([row.name, row.runs_on, *figures, _show(row.order), _show(cost), row.status or "ok"])
        whole = [line for line in lines if len(line) == len(head)]
        widths = [max(len(line[i]) for line in whole) for i in range(len(head))]
        return "\n".join("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=False)).rstrip() for line in lines)

    def to_json(self) -> str:
        """Everything, curves included."""
        return json.dumps(asdict(self), indent=2, allow_nan=False)

    def draw(self, path: str | Path) -> None:
        """Writes the curves as a picture (PNG, SVG, ... by the name's ending)."""
        from dualstep.measure.audit_plot import draw

        draw(self, path)


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _with_options(model: Model, options: dict[str, Any]) -> Model:
    """The same model with some options changed."""
    other = model.copy()
    for name, value in options.items():
        setattr(other.opt, name, value)
    return other


class _Actions:
    """Controls of every environment as a function of time, so that every timestep sees the same."""

    def __init__(self, model: Model, num_envs: int, duration: float, scale: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        count = int(np.ceil(duration / HOLD)) + 1
        low, high = np.full(model.nu, -1.0), np.full(model.nu, 1.0)
        if model.nu:
            limited = model.actuator_ctrllimited.astype(bool).ravel()
            low[limited], high[limited] = model.actuator_ctrlrange[limited].T
        self._values = scale * rng.uniform(low, high, (count, num_envs, model.nu))

    def at(self, now: float) -> np.ndarray:
        return self._values[min(int(now / HOLD + 1e-9), len(self._values) - 1)]


class _References:
    """Several environments, each a Reference."""

    runs_on = "reference"

    def __init__(self, model: Model, qpos: np.ndarray, qvel: np.ndarray) -> None:
        self._refs = [Reference(model) for _ in qpos]
        for ref, q, v in zip(self._refs, qpos, qvel, strict=True):
            ref.qpos[:], ref.qvel[:] = q, v

    def step(self, ctrl: np.ndarray) -> None:
        for ref, u in zip(self._refs, ctrl, strict=True):
            ref.ctrl[:] = u
            ref.step()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([r.qpos for r in self._refs]), np.array([r.qvel for r in self._refs])

    def contacts(self, env: int):  # noqa: ANN201
        return self._refs[env].contacts()

    def qfrc_actuator(self) -> np.ndarray:
        return np.array([r.qfrc_actuator for r in self._refs])

    def status(self) -> Status:
        return Status(int(np.bitwise_or.reduce([int(r.status) for r in self._refs])))


class _Batched:
    """The same by the kernels."""

    def __init__(self, model: Model, qpos: np.ndarray, qvel: np.ndarray, device: str) -> None:
        self._sim = Batch(model, num_envs=len(qpos), device=device, dtype="float64")
        self.runs_on = f"batch, {self._sim.device}"
        self._sim.qpos[:], self._sim.qvel[:] = qpos, qvel

    def step(self, ctrl: np.ndarray) -> None:
        self._sim.ctrl[:] = ctrl
        self._sim.step()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self._sim.qpos), np.array(self._sim.qvel)

    def contacts(self, env: int):  # noqa: ANN201
        found = self._sim.contacts()
        n = int(found.count[env])
        return type(found)(n, *(np.asarray(values)[env, :n] for values in found[1:]))

    def qfrc_actuator(self) -> np.ndarray:
        return np.array(self._sim.qfrc_actuator)

    def status(self) -> Status:
        return Status(int(np.bitwise_or.reduce(np.asarray(self._sim.status))))


def _simulator(model: Model, qpos: np.ndarray, qvel: np.ndarray, device: str):  # noqa: ANN202
    """The kernels where they have the formulation and the device shares its arrays with numpy, else the reference."""
    try:
        return _Batched(model, qpos, qvel, "cpu" if device == "auto" else device)
    except UnsupportedModelError:
        return _References(model, qpos, qvel)


def _friction(model: Model, geom: np.ndarray) -> np.ndarray:
    """The sliding coefficient of each pair; explicit pairs have their own."""
    mu = np.maximum(model.geom_friction[geom[:, 0], 0], model.geom_friction[geom[:, 1], 0])
    for k in range(model.npair):
        pair = {int(model.pair_geom1[k]), int(model.pair_geom2[k])}
        mu[[set(map(int, g)) == pair for g in geom]] = model.pair_friction[k, 0]
    return mu


def _free_trees(model: Model) -> list[tuple[int, set[int]]]:
    """(first dof, bodies) of every tree that hangs on a free joint."""
    out = []
    for joint in range(model.njnt):
        if model.jnt_type[joint] == 0:
            root = int(model.jnt_bodyid[joint])
            out.append((int(model.jnt_dofadr[joint]), {b for b in range(model.nbody) if model.body_rootid[b] == root}))
    return out


class _Meter:
    """Accumulates the figures of one run."""

    def __init__(self, model: Model, qpos: np.ndarray, qvel: np.ndarray) -> None:
        self._model, self._probe, self._h = model, Reference(_with_options(model, _PLAIN)), model.opt.timestep
        self._trees = _free_trees(model) if model.neq == 0 else []
        self._work = np.zeros(len(qpos))
        self._start = self._energy(qpos, qvel)
        self.worst = {name: 0.0 for name in FIGURES}
        self._sums = dict.fromkeys(("force", "gap", "power", "lost"), 0.0)
        self.curves: dict[str, list[float]] = {"penetration": [], "energy": [], "force": []}

    def _energy(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        out = []
        for q, v in zip(qpos, qvel, strict=True):
            self._probe.qpos[:], self._probe.qvel[:] = q, v
            out.append(self._probe.hamiltonian())
        return np.array(out)

    def _momentum(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        self._probe.qpos[:], self._probe.qvel[:] = qpos, qvel
        return self._probe.momentum()

    def _raise(self, name: str, value: float) -> None:
        self.worst[name] = max(self.worst[name], float(value))

    def take(self, sim: Any, before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray]) -> None:
        depth = force = 0.0
        actuation = sim.qfrc_actuator()
        for env in range(len(before[0])):
            (q, v), (q1, v1) = (x[env] for x in before), (x[env] for x in after)
            self._work[env] += self._h * actuation[env] @ (0.5 * (v + v1))
            found = sim.contacts(env)
            world = np.zeros((found.count, 3))
            if found.count:
                depth = max(depth, -found.dist.min())
                normal, tangent = found.force[:, 0], found.force[:, 1:3]
                force += normal.sum()
                world = np.einsum("nk,nkj->nj", found.force[:, :3], found.frame)
                self._contacts(found, normal, tangent, q, v1)
            self._balance(found, world, (q, v), (q1, v1))
        gain = self._energy(*after) - self._start - self._work
        self._raise("penetration", depth)
        self._raise("energy", gain.max())
        self.curves["penetration"].append(max(depth, 0.0))
        self.curves["energy"].append(float(gain.max()))
        self.curves["force"].append(float(force) / len(before[0]))

    def _contacts(self, found: Any, normal: np.ndarray, tangent: np.ndarray, q: np.ndarray, v1: np.ndarray) -> None:
        apart = found.dist > 1e-9
        if apart.any():
            self._raise("distance_force", normal[apart].max())
        self._sums["force"] += normal.sum()
        self._sums["gap"] += (normal * np.abs(found.dist)).sum()
        mu = _friction(self._model, found.geom)
        size = np.linalg.norm(tangent, axis=1)
        if normal.max() > 0:
            self._raise("cone", np.maximum(size - mu * normal, 0).max() / normal.max())
        speed = self._probe._core.contact_velocities(q, v1, found.geom.ravel().tolist(), found.pos,
                                                     found.frame.reshape(-1, 9))[:, 1:]  # fmt: skip
        sliding = np.linalg.norm(speed, axis=1)
        fast = sliding > SLIDING
        power = (mu * normal * sliding)[fast]
        self._sums["power"] += power.sum()
        self._sums["lost"] += (power + (tangent * speed).sum(axis=1)[fast]).sum()

    def _balance(self, found: Any, world: np.ndarray, before: tuple, after: tuple) -> None:
        if not self._trees:
            return
        change = self._momentum(*after) - self._momentum(*before)
        gravity = np.asarray(self._model.opt.gravity)
        for dof, bodies in self._trees:
            mass = float(self._model.body_mass[sorted(bodies)].sum())
            total = mass * gravity
            for i in range(found.count):
                bodies_of = [int(self._model.geom_bodyid[g]) in bodies for g in found.geom[i]]
                total = total + world[i] * (bodies_of[1] - bodies_of[0])
            scale = mass * np.linalg.norm(gravity) * self._h or 1.0
            self._raise("momentum", np.linalg.norm(change[dof : dof + 3] - self._h * total) / scale)

    def figures(self) -> dict[str, float | None]:
        out: dict[str, float | None] = dict(self.worst)
        sums = self._sums
        out["signorini"] = sums["gap"] / sums["force"] if sums["force"] > 0 else None
        out["dissipation"] = sums["lost"] / sums["power"] if sums["power"] > 0 else None
        if not self._trees:
            out["momentum"] = None
        return out


# what the meter itself stands on: any formulation's state is a state
_PLAIN = {"contact_model": "todorov", "contact_parameters": "mujoco", "desaxce": False, "integrator": "euler",
          "scheme": "time_stepping"}  # fmt: skip


def _final(model: Model, h: float, duration: float, actions: _Actions, qpos: np.ndarray, qvel: np.ndarray,
           device: str) -> np.ndarray:  # fmt: skip
    model = _with_options(model, {"timestep": h})
    sim = _simulator(model, qpos, qvel, device)
    for k in range(round(duration / h)):
        sim.step(actions.at(k * h))
    return sim.state()[0]


def _run(row: Row, model: Model, duration: float, actions: _Actions, qpos: np.ndarray, qvel: np.ndarray,
         convergence: bool, device: str) -> None:  # fmt: skip
    sim = _simulator(model, qpos, qvel, device)
    row.runs_on = sim.runs_on
    h = model.opt.timestep
    meter, spent = _Meter(model, qpos, qvel), 0.0
    steps = round(duration / h)
    after = sim.state()
    for k in range(steps):
        before = after
        began = time.perf_counter()
        sim.step(actions.at(k * h))
        spent += time.perf_counter() - began
        after = sim.state()
        meter.take(sim, before, after)
    row.figures, row.curves = meter.figures(), meter.curves
    row.time = [h * (k + 1) for k in range(steps)]
    row.cost = spent / steps / len(qpos)
    status = sim.status()
    row.status = status.name.lower().replace("_", " ") if status and status.name else ""
    if not convergence:
        return
    row.steps = [h, h / 2, h / 4]
    ends = [_final(model, s, duration, actions, qpos, qvel, device) for s in (*row.steps, h / 8)]
    row.errors = [float(np.abs(end - ends[-1]).max()) for end in ends[:-1]]
    if min(row.errors) > 1e-13:
        row.order = float(np.polyfit(np.log(row.steps), np.log(row.errors), 1)[0])


def audit(model: Model | str | Path, *, formulations: list[str] | None = None, duration: float = 1.0, num_envs: int = 1,
          seed: int = 0, actions: float = 0.0, qpos: np.ndarray | None = None, qvel: np.ndarray | None = None,
          noise: float = 0.0, convergence: bool = True, device: str = "auto") -> Audit:  # fmt: skip
    """Runs a model through formulations from the same states and actions; see the module for the figures.

    `formulations` are keys of `FORMULATIONS`, all by default. States are `qpos` and `qvel`, (num_envs, ...) or one
    for all, by default the model's initial state at rest; `noise` adds a normal velocity of that size. Controls are
    drawn anew every 0.05 s, in their range times `actions`. Other options are the model's own: set
    `contact_parameters`, `restitution`, `stiffness`, ... in `model.opt` before. The kernels run what they have,
    the reference the rest: `runs_on` says which.
    """
    if not isinstance(model, Model):
        model = Model.from_mjcf(model)
    names = list(FORMULATIONS) if formulations is None else list(formulations)
    for name in names:
        if name not in FORMULATIONS:
            raise ValueError(f"formulation {name!r} is given, and there are {', '.join(FORMULATIONS)}")
    if not duration > 0 or num_envs < 1:
        raise ValueError(f"duration {duration} and num_envs {num_envs} are given, and both must be positive")
    rng = np.random.default_rng(seed)
    start_q = np.broadcast_to(model.qpos0 if qpos is None else np.asarray(qpos, float), (num_envs, model.nq)).copy()
    start_v = np.broadcast_to(np.zeros(model.nv) if qvel is None else np.asarray(qvel, float), (num_envs, model.nv)).copy()
    start_v += noise * rng.standard_normal(start_v.shape)
    controls = _Actions(model, num_envs, duration, actions, seed)
    rows = []
    for name in names:
        row = Row(name)
        rows.append(row)
        try:
            _run(row, _with_options(model, FORMULATIONS[name]), duration, controls, start_q, start_v, convergence, device)
        except UnsupportedModelError as error:
            row.refused = " ".join(str(error).split("\n  - ")[1:])
    return Audit(model.opt.timestep, duration, num_envs, rows)
