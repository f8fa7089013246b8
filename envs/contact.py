"""The contact model of a task: one of the laws that run in a batch, or options of the model, or several side by side.

    make("Hopper", 64, contact="anitescu")
    make("Hopper", 64, contact={"contact_model": "stewart_trinkle", "friction_directions": 0})
    make("Hopper", 64, contact=["todorov", "anitescu"])            # half of the environments under each (mixed.py)

A law by its name has what it needs: the Euler integrator, where it is a law of a whole step; springs that carry the
model at a depth of `DEPTH`, and timesteps that are short enough for them. In a dict, "substeps" is by how much
timesteps are shorter than the task's, with as many more of them between actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep import _core
from dualstep._names import hint

if TYPE_CHECKING:
    from dualstep.envs.task import Task
    from dualstep.model import Model

_MODELS = _core.contact_models()
LAWS = tuple(law for law, *_ in _MODELS)


def _having(trait: str) -> tuple[str, ...]:
    return tuple(law for law, traits, _ in _MODELS if trait in traits)


# laws of springs and dampers, whose forces are explicit
SPRINGS = _having("springs")
# of which the forces along the plane are springs too
ANCHORS = _having("anchors")
# laws with impacts before the step, which have the option restitution
IMPACTS = _having("impacts")
# whose cone the option friction_directions says
DIRECTIONS = _having("directions")
# integrators that a law runs with, where it does not run with all
INTEGRATORS = {law: integrators for law, _, integrators in _MODELS if integrators}
DEPTH = 5e-3
"""m: how deep a spring's contact carries the whole weight"""
STEP_OF_SPRING = 0.6
"""timestep times the frequency of the lightest body on a spring; an explicit step is stable below 2"""
DAMPING = 0.5
"""of a spring with that body, relative to critical"""
MOST_SUBSTEPS = 8

Contact = str | Mapping[str, Any]


def describe(contact: Contact | None) -> str:
    """In a word or two: "anitescu", "compliant, stiffness=2e+04"."""
    if contact is None:
        return "as the task has it"
    if isinstance(contact, str):
        return contact
    values = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in contact.items()}
    law = values.pop("contact_model", "todorov")
    return ", ".join([law, *(f"{name}={value}" for name, value in values.items())])


def options_of(task: Task, contact: Contact) -> dict[str, Any]:
    """All options that a law by its name, or a dict of some, stands for on this task's model."""
    if not isinstance(contact, (str, Mapping)):
        raise TypeError(f"contact {contact!r} is given, and the name of a law or a dict of options is wanted")
    given = {"contact_model": contact} if isinstance(contact, str) else dict(contact)
    law = given.get("contact_model", task.model.opt.contact_model)
    if law not in LAWS:
        raise ValueError(
            f"contact model {law!r} is given, and it must be one of {', '.join(LAWS)}{hint(str(law), LAWS)}"
        )
    out: dict[str, Any] = {"contact_model": law}
    allowed = INTEGRATORS.get(law)
    if allowed and task.model.opt.integrator not in allowed:
        out["integrator"] = "euler"
    if law in SPRINGS:
        out.update(springs(task.model, law, float(given.get("stiffness", 0.0)), int(given.get("substeps", 0))))
    return {**out, **given}


def springs(model: Model, law: str, stiffness: float = 0.0, substeps: int = 0) -> dict[str, Any]:
    """Springs that carry the model at DEPTH, dampers beside them, and the substeps that an explicit step of them takes.

    Where more than MOST_SUBSTEPS were needed the springs are softer.
    """
    moving = np.flatnonzero(np.asarray(model.geom_bodyid).ravel() > 0)
    touches = [g for g in moving if model.geom_contype[g] or model.geom_conaffinity[g]]
    bodies = np.asarray(model.geom_bodyid).ravel()[touches] if touches else np.arange(1, model.nbody)
    weight = float(np.asarray(model.body_invweight0).reshape(-1, 2)[bodies, 0].max()) or 1.0
    wanted = stiffness or float(np.sum(model.body_mass)) * 9.81 / DEPTH
    if not substeps:
        substeps = 1
        while substeps < MOST_SUBSTEPS and _most(model, weight, substeps) < wanted:
            substeps *= 2
    k = stiffness or min(wanted, _most(model, weight, substeps))
    damper = 2 * DAMPING * float(np.sqrt(k / weight))
    out: dict[str, Any] = {"stiffness": k, "damping": damper}
    if law in ANCHORS:
        out.update(tangent_stiffness=k, tangent_damping=damper)
    return {**out, "substeps": substeps}


def _most(model: Model, weight: float, substeps: int) -> float:
    """The stiffness at which an explicit step is as long as it may be."""
    return (STEP_OF_SPRING * substeps / model.opt.timestep) ** 2 / weight


def apply(task: Task, contact: Contact) -> None:
    """Sets the options of the task's model, and its timestep; the time between actions stays."""
    options = options_of(task, contact)
    substeps = options.pop("substeps", 1)
    if not isinstance(substeps, int) or isinstance(substeps, bool) or substeps < 1:
        raise ValueError(f"substeps {substeps!r} of contact is given, and it must be a positive integer")
    # the task's own: others may share the model
    task.model = task.model.copy()
    opt = task.model.opt
    for name, value in options.items():
        try:
            setattr(opt, name, value)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"contact: {error}") from None
    if substeps > 1:
        opt.timestep = opt.timestep / substeps
        task.frame_skip *= substeps


def several(contact: Any) -> list[Contact] | None:
    """The laws, where several are given; None where it is one."""
    if isinstance(contact, Sequence) and not isinstance(contact, str):
        if not contact:
            raise ValueError("contact [] is given, and at least one contact model is wanted")
        return list(contact)
    return None


def for_few(options: Mapping[str, Any], num_envs: int) -> dict[str, Any]:
    """Options of a task, of several contact models at most `num_envs`: for a look at what was trained under many."""
    laws = several(options.get("contact"))
    return dict(options) if laws is None else {**options, "contact": laws[:num_envs]}
