"""One model under every contact model, from the same states and actions: what each gets wrong, and what it costs.

Figures, over all environments and steps (smaller is better, zero is right):

    penetration    deepest overlap                                                        [m]
    distance_force largest normal force on a contact that is apart                        [N]
    signorini      sum f_n |phi| / sum f_n: how far from closed the forces act            [m]
    dissipation    sum (mu f_n |v_t| + f_t . v_t) / sum mu f_n |v_t|                      [-]
    cone           largest (|f_t| - mu f_n) / max f_n                                     [-]
    energy         largest E(t) - E(0) - work of the actuators and of surfaces that move  [J]
    momentum       largest |change of linear momentum - h sum of forces| / (m g h), of trees on free joints   [-]
    order          slope of |q(h) - q(h/2)| of the final positions over h, h/2, h/4       [-]
    cost           wall time of a step of one environment                                 [s]

Contact forces stand at a step's start, where phi is measured, too; v_t is the step's end, where a time-stepping law
holds, and counts where it is above 1 mm/s. The law of variational holds for the step's displacement over h.
event_driven has forces of an instant: v_t is the start's, and there is no mean force of a step to hold against the
change of momentum. Energy is kinetic, of gravity and of joint springs; what a compliant contact stores counts as lost.
The work of the actuators takes their force of the step's start and the mean of its velocities, which is exact to the
first order in h. Where surfaces move (MuJoCo's surfacevel), v_t is relative to them. A figure is None where there is
nothing to measure, and all are where the run diverged.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep import _core
from dualstep.batch import Batch, Contacts, Status
from dualstep.errors import InfeasibleError, UnsupportedModelError
from dualstep.measure import audit_plot
from dualstep.model import Model
from dualstep.reference import Reference

if TYPE_CHECKING:
    from pathlib import Path

# the options that a formulation is made of, as every one but those named below has them
_PLAIN = {"contact_model": "todorov", "desaxce": False, "scheme": "time_stepping"}
# name: the options that make it. "desaxce" is todorov with Coulomb's law
FORMULATIONS: dict[str, dict[str, Any]] = {
    "todorov": {},
    "desaxce": {"desaxce": True},
    **{law: {"contact_model": law} for law, *_ in _core.contact_models() if law != _PLAIN["contact_model"]},
    "variational": {"integrator": "variational"},
    "event_driven": {"scheme": "event_driven"},
}
FIGURES = ("penetration", "distance_force", "signorini", "dissipation", "cone", "energy", "momentum")
HOLD = 0.05  # seconds that an action is held
SLIDING = 1e-3  # m/s
DECIDED = 1e-9  # m: differences below are those of tolerances, and tell no order
HOLDS = 1e6  # a coefficient of friction above this holds without bound


@dataclass
class Row:
    """One formulation's figures; `refused` or `status` says why there are none."""

    name: str
    runs_on: str = ""
    refused: str = ""
    """why it does not run this model"""
    figures: dict[str, float | None] = field(default_factory=dict)
    order: float | None = None
    cost: float | None = None
    status: str = ""
    steps: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    """of the final positions with `steps`, against h/8"""
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
        widths[0] = max(len(line[0]) for line in lines)
        return "\n".join(
            "  ".join(text.ljust(w) for text, w in zip(line, widths, strict=False)).rstrip() for line in lines
        )

    def to_json(self) -> str:
        """Everything, curves included."""
        return json.dumps(asdict(self), indent=2, allow_nan=False)

    def draw(self, path: str | Path) -> None:
        """Writes the curves as a picture (PNG, SVG, ... by the name's ending)."""
        audit_plot.draw(self.rows, path)


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _formulation(model: Model, name: str) -> Model:
    """The same model under one formulation, whatever it was under."""
    other = model.copy()
    if other.opt.integrator == "variational":
        other.opt.integrator = "euler"
    for option, value in {**_PLAIN, **FORMULATIONS[name]}.items():
        setattr(other.opt, option, value)
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
            ref.qpos, ref.qvel = q, v

    def step(self, ctrl: np.ndarray) -> None:
        for ref, u in zip(self._refs, ctrl, strict=True):
            ref.ctrl = u
            ref.step()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([r.qpos for r in self._refs]), np.array([r.qvel for r in self._refs])

    def contacts(self, env: int) -> Contacts:
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
        self._sim.qpos, self._sim.qvel = qpos, qvel
        self._found: Contacts | None = None

    def step(self, ctrl: np.ndarray) -> None:
        self._sim.ctrl = ctrl
        self._found = None
        self._sim.step()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self._host(self._sim.qpos), self._host(self._sim.qvel)

    def contacts(self, env: int) -> Contacts:
        if self._found is None:
            self._found = Contacts(*(self._host(values) for values in self._sim.contacts()))
        n = int(self._found.count[env])
        return Contacts(n, *(values[env, :n] for values in self._found[1:]))

    def qfrc_actuator(self) -> np.ndarray:
        return self._host(self._sim.qfrc_actuator)

    def status(self) -> Status:
        return Status(int(np.bitwise_or.reduce(self._host(self._sim.status))))

    @staticmethod
    def _host(array: Any) -> np.ndarray:
        return np.array(array if isinstance(array, np.ndarray) else array.numpy())


def _simulator(model: Model, qpos: np.ndarray, qvel: np.ndarray, device: str) -> _References | _Batched:
    """The kernels where they have the formulation, else the reference."""
    try:
        return _Batched(model, qpos, qvel, device)
    except UnsupportedModelError:
        return _References(model, qpos, qvel)


def _friction(model: Model, geom: np.ndarray) -> np.ndarray:
    """The sliding coefficient of each pair of geoms, 0 where it has no friction; explicit pairs have their own."""
    explicit = {}
    for k in range(model.npair):
        pair = frozenset((int(model.pair_geom1[k]), int(model.pair_geom2[k])))
        explicit[pair] = model.pair_friction[k, 0] if model.pair_dim[k] > 1 else 0.0
    out = np.empty(len(geom))
    for i, pair in enumerate(geom):
        if (found := explicit.get(frozenset(map(int, pair)))) is not None:
            out[i] = found
            continue
        # the geom of higher priority decides alone
        rank = model.geom_priority[pair]
        decides = pair[rank == rank.max()]
        out[i] = model.geom_friction[decides, 0].max() if model.geom_condim[decides].max() > 1 else 0.0
    return out


def _displacement(model: Model, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The velocity that leads from one configuration to the other in a unit of time."""
    out = np.zeros(model.nv)
    for kind, q, v in zip(model.jnt_type, model.jnt_qposadr, model.jnt_dofadr, strict=True):
        if kind > 1:
            out[v] = end[q] - start[q]
            continue
        if kind == 0:
            out[v : v + 3] = end[q : q + 3] - start[q : q + 3]
            q, v = q + 3, v + 3
        # conj(start) end, in the body's axes
        (a, *b), (c, *d) = start[q : q + 4], end[q : q + 4]
        axis = a * np.array(d) - c * np.array(b) - np.cross(b, d)
        half, size = a * c + np.dot(b, d), np.linalg.norm(axis)
        if size > 0:
            out[v : v + 3] = axis / size * 2 * np.arctan2(np.copysign(size, half), abs(half))
    return out


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
        self._model, self._h = model, model.opt.timestep
        self._at_instants = model.opt.scheme == "event_driven"
        self._over_steps = not self._at_instants and model.opt.integrator == "variational"
        # energies and velocities at any state, whatever the formulation that led there
        self._probe = Reference(_formulation(model, "todorov"))
        self._trees = [] if self._at_instants or model.neq else _free_trees(model)
        self._surfaces = bool(model.geom_surfacevel.any())
        self._work = np.zeros(len(qpos))
        self._start = self._energy(qpos, qvel)
        self.worst: dict[str, float] = dict.fromkeys(FIGURES, 0.0)
        self._sums = dict.fromkeys(("force", "gap", "power", "lost"), 0.0)
        self.curves: dict[str, list[float]] = {"penetration": [], "energy": [], "force": []}

    def _energy(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        out = []
        for q, v in zip(qpos, qvel, strict=True):
            self._probe.qpos, self._probe.qvel = q, v
            out.append(self._probe.hamiltonian())
        return np.array(out)

    def _momentum(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        self._probe.qpos, self._probe.qvel = qpos, qvel
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
                law_at = v if self._at_instants else v1
                if self._over_steps:
                    law_at = _displacement(self._model, q, q1) / self._h
                surfaces = self._surface_velocities(found, q)
                self._work[env] -= self._h * (found.force[:, 1:4] * surfaces).sum()
                self._contacts(found, normal, tangent, q, law_at, surfaces)
            self._balance(found, world, (q, v), (q1, v1))
        gain = self._energy(*after) - self._start - self._work
        self._raise("penetration", depth)
        self._raise("energy", gain.max())
        self.curves["penetration"].append(max(depth, 0.0))
        self.curves["energy"].append(float(gain.max()))
        self.curves["force"].append(float(force) / len(before[0]))

    def _surface_velocities(self, found: Contacts, q: np.ndarray) -> np.ndarray:
        """What surfaces that move add to the velocities of contacts: along t1 and t2, and about n."""
        if not self._surfaces:
            return np.zeros((found.count, 3))
        frame = found.frame.reshape(-1, 9)
        return self._probe._core.surface_velocities(q, found.geom.ravel().tolist(), found.pos, frame)

    def _contacts(self, found: Contacts, normal: np.ndarray, tangent: np.ndarray, q: np.ndarray, v: np.ndarray,
                  surfaces: np.ndarray) -> None:  # fmt: skip
        apart = found.dist > 1e-9
        if apart.any():
            self._raise("distance_force", normal[apart].max())
        self._sums["force"] += normal.sum()
        self._sums["gap"] += (normal * np.abs(found.dist)).sum()
        mu = _friction(self._model, found.geom)
        rubs = mu <= HOLDS
        mu = np.where(rubs, mu, 0.0)
        excess = np.maximum(np.linalg.norm(tangent, axis=1) - mu * normal, 0)[rubs]
        if excess.size and normal.max() > 0:
            self._raise("cone", excess.max() / normal.max())
        speed = self._probe._core.contact_velocities(q, v, found.geom.ravel().tolist(), found.pos,
                                                     found.frame.reshape(-1, 9))[:, 1:]  # fmt: skip
        speed = speed + surfaces[:, :2]
        sliding = np.linalg.norm(speed, axis=1)
        counted = rubs & (sliding > SLIDING)
        power = (mu * normal * sliding)[counted]
        self._sums["power"] += power.sum()
        self._sums["lost"] += (power + (tangent * speed).sum(axis=1)[counted]).sum()

    def _balance(self, found: Contacts, world: np.ndarray, before: tuple, after: tuple) -> None:
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
            self._raise("momentum", float(np.linalg.norm(change[dof : dof + 3] - self._h * total) / scale))

    def figures(self) -> dict[str, float | None]:
        out: dict[str, float | None] = dict(self.worst)
        sums = self._sums
        out["signorini"] = float(sums["gap"] / sums["force"]) if sums["force"] > 0 else None
        out["dissipation"] = float(sums["lost"] / sums["power"]) if sums["power"] > 0 else None
        if not self._trees:
            out["momentum"] = None
        return out


class _DivergedError(Exception):
    """A run that stopped; says when."""


class _Plan:
    """What every formulation is given, and how far all of it is."""

    def __init__(self, model: Model, duration: float, actions: _Actions, qpos: np.ndarray, qvel: np.ndarray,
                 device: str, report: Callable[[float, str], None] | None, total: int) -> None:  # fmt: skip
        self.h, self.actions = model.opt.timestep, actions
        self.steps = max(1, round(duration / self.h))
        self.qpos, self.qvel, self.device = qpos, qvel, device
        self._report, self._done, self._total = report, 0.0, max(total, 1)

    def tell(self, done: float, note: str) -> None:
        self._done = done
        if self._report is not None:
            self._report(min(done / self._total, 1.0), note)

    def run(self, model: Model, note: str, divide: int = 1, each: Callable[..., None] | None = None):
        """Steps of h/divide to the end; returns the simulator, and the time a step took. `each` sees every step."""
        model, h = model.copy(), self.h / divide
        model.opt.timestep = h
        sim = _simulator(model, self.qpos, self.qvel, self.device)
        before, began, count, spent = sim.state(), self._done, self.steps * divide, 0.0
        for k in range(count):
            ctrl = self.actions.at(k * h)
            start = time.perf_counter()
            sim.step(ctrl)
            spent += time.perf_counter() - start
            if sim.status() & Status.DIVERGED:
                raise _DivergedError(f"diverged at {(k + 1) * h:.4g} s")
            if each is not None:
                after = sim.state()
                each(sim, before, after)
                before = after
            self.tell(began + (k + 1) / count, note)
        return sim, spent / count / len(self.qpos)


def _run(row: Row, model: Model, plan: _Plan, convergence: bool) -> None:
    meter = _Meter(model, plan.qpos, plan.qvel)
    row.time = [plan.h * (k + 1) for k in range(plan.steps)]
    try:
        sim, row.cost = plan.run(model, row.name, each=meter.take)
        row.runs_on, row.figures = sim.runs_on, meter.figures()
        status = sim.status()
        row.status = ", ".join(str(bit.name).lower().replace("_", " ") for bit in Status if bit & status)
    except (_DivergedError, InfeasibleError, RuntimeError) as error:
        row.status = str(error)
        row.figures = dict.fromkeys(FIGURES)
        sim = None
    row.curves = meter.curves
    row.time = row.time[: len(row.curves["energy"])]
    if not convergence or sim is None:
        return
    ends = [sim.state()[0]]
    try:
        ends += [plan.run(model, f"{row.name}, h/{n}", n)[0].state()[0] for n in (2, 4, 8)]
    except (_DivergedError, InfeasibleError, RuntimeError) as error:
        row.status = f"{row.status}, at smaller steps {error}".removeprefix(", ")
        return
    row.steps = [plan.h, plan.h / 2, plan.h / 4]
    row.errors = [float(np.abs(end - ends[-1]).max()) for end in ends[:-1]]
    halved = [float(np.abs(a - b).max()) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    if min(halved) > DECIDED:
        row.order = float(np.polyfit(np.log(row.steps), np.log(halved), 1)[0])


def _names(formulations: str | Sequence[str] | None) -> list[str]:
    if formulations is None:
        return list(FORMULATIONS)
    names = [formulations] if isinstance(formulations, str) else list(formulations)
    for name in names:
        if name not in FORMULATIONS:
            near = difflib.get_close_matches(str(name), FORMULATIONS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"formulation {name!r} is given, and there are {', '.join(FORMULATIONS)}{hint}")
    if not names:
        raise ValueError(f"no formulation is given, and there are {', '.join(FORMULATIONS)}")
    return names


def _states(name: str, given: Any, default: np.ndarray, num_envs: int) -> np.ndarray:
    """(num_envs, size) of one state for all, or of one each."""
    value = np.asarray(default if given is None else given, dtype=float)
    if value.shape not in ((default.size,), (num_envs, default.size)):
        raise ValueError(
            f"{name} is given with shape {value.shape}, and wants {(default.size,)} or {(num_envs, default.size)}"
        )
    if not np.isfinite(value).all():
        raise ValueError(f"{name} is given with values that are not finite")
    return np.broadcast_to(value, (num_envs, default.size)).copy()


def audit(model: Model | str | Path, *, formulations: str | Sequence[str] | None = None, duration: float = 1.0,
          num_envs: int = 1, seed: int = 0, actions: float = 0.0, qpos: Any = None, qvel: Any = None,
          noise: float = 0.0, convergence: bool = True, device: str = "cpu",
          report: Callable[[float, str], None] | None = None) -> Audit:  # fmt: skip
    """Runs a model through formulations from the same states and actions; see the module for the figures.

    `formulations` are keys of `FORMULATIONS`, all by default. States are `qpos` and `qvel`, (num_envs, ...) or one
    for all, by default the model's initial state at rest; `noise` adds a normal velocity of that size. Controls are
    drawn anew every 0.05 s, in their range times `actions`. Other options are the model's own: set
    `contact_parameters`, `restitution`, `stiffness`, ... in `model.opt` before. The kernels run what they have on
    `device`, the reference the rest: `runs_on` says which. `report` is called with the part done and what is done.

    Raises ValueError for arguments that make no sense, and what `Model.from_mjcf` raises for a path. What cannot be
    simulated, or diverges, is told in its row.
    """
    names = _names(formulations)
    for name, value in (("duration", duration), ("num_envs", num_envs)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} {value} is given, and it must be positive")
    for name, value in (("actions", actions), ("noise", noise)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} {value} is given, and it must not be negative")
    if not isinstance(model, Model):
        model = Model.from_mjcf(model)
    rng = np.random.default_rng(seed)
    start_q = _states("qpos", qpos, model.qpos0, num_envs)
    start_v = _states("qvel", qvel, np.zeros(model.nv), num_envs)
    start_v += noise * rng.standard_normal(start_v.shape)
    controls = _Actions(model, num_envs, duration, actions, seed)
    runs = 4 if convergence else 1
    plan = _Plan(model, duration, controls, start_q, start_v, device, report, runs * len(names))
    rows = []
    for k, name in enumerate(names):
        row = Row(name)
        rows.append(row)
        try:
            _run(row, _formulation(model, name), plan, convergence)
        except UnsupportedModelError as error:
            row.refused = "; ".join(str(error).split("\n  - ")[1:])
        plan.tell(runs * (k + 1), name)
    return Audit(model.opt.timestep, duration, num_envs, rows)
