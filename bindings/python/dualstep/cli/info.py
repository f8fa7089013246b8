"""`dualstep info [MODEL]`: what this installation can run on, and what a model holds."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import warnings
from typing import Any

from dualstep.cli.common import CommandError, add_common, find_model, load_model, print_json

# the smallest thing that can be stepped, to try devices with
PROBE = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsensor", "nkey")
OPTIONS = ("timestep", "integrator", "cone", "impratio", "solver", "contact_model")
OPTIONAL = (
    "gymnasium", "matplotlib", "viser", "torch", "rsl_rl", "stable_baselines3", "skrl", "torchrl", "tensorboard",
    "onnx", "jax", "cupy", "ray", "mjlab",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a file of MJCF or URDF, the name of one of "
                        "Gymnasium's models, or a task; left out, only the installation is described")  # fmt: skip
    add_common(parser, num_envs=64)


def main(args: argparse.Namespace) -> int:
    facts: dict[str, Any] = {"installation": installation()}
    if args.model is not None:
        facts["model"] = model_facts(args)
    if args.json:
        print_json(facts)
    else:
        for title, rows in facts.items():
            print(title if title == "installation" else f"{title} {args.model}")
            for name, value in rows.items():
                print(f"  {name:<22} {_shown(value)}")
    return 0


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(entry)}" for name, entry in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _try(**where: Any) -> str:
    """How a batch would run there, or why it would not."""
    import dualstep as ds

    try:
        with ds.Batch(ds.Model.from_mjcf(PROBE), 1, **where) as batch:
            batch.step()
            return batch.description
    except (ValueError, RuntimeError) as error:
        return f"no: {error}"


def installation() -> dict[str, Any]:
    import mujoco
    import numpy as np

    import dualstep as ds
    from dualstep import _core

    facts: dict[str, Any] = {
        "dualstep": ds.__version__,
        "Python": platform.python_version(),
        "MuJoCo": mujoco.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }
    for device in ("auto", "cpu", "emulated", "cuda"):
        facts[f"device {device}"] = _try(device=device)
    for isa in ("portable", "avx2", "avx512"):
        facts[f"instructions {isa}"] = _try(device="cpu", isa=isa)
    facts["specialised kernels"] = _core.describe_specialization()
    present = [name for name in OPTIONAL if importlib.util.find_spec(name)]
    facts["optional packages"] = ", ".join(present) or "none"
    return facts


def model_facts(args: argparse.Namespace) -> dict[str, Any]:
    import dualstep as ds
    from dualstep import _core
    from dualstep._memory import available, environment_bytes, shown

    model = model_of(args.model)
    try:
        batch = ds.Batch(model, args.num_envs, args.device, seed=args.seed)
    except ValueError as error:
        raise CommandError(str(error)) from None
    wanted = environment_bytes(model)
    facts: dict[str, Any] = {}
    if model.nactuator == 0:
        facts["actuators"] = "none: ctrl is empty, and nothing drives the joints"
        if args.model.endswith(".urdf"):
            facts["actuators"] += " (URDF has none: they are added in MJCF, or through mujoco.MjSpec)"
    bytes_of: dict[str, int] = dict.fromkeys(("state", "record", "output"), 0)
    for name, role, *_ in _core.batch_fields():
        bytes_of[role] += getattr(batch, name).nbytes // args.num_envs
    return {
        "sizes": {name: int(getattr(model, name)) for name in SIZES},
        **facts,
        "options": {name: getattr(model.opt, name) for name in OPTIONS},
        "contact capacity": int(batch.contacts().dist.shape[1]),
        "runs on": batch.description,
        "bytes of an environment": {
            "state and records": bytes_of["state"] + bytes_of["record"],
            "outputs, where all are asked for": bytes_of["output"],
        },
        "memory": {
            f"of {args.num_envs:,} environments": shown(wanted["state"] * args.num_envs),
            "with all outputs": shown((wanted["state"] + wanted["outputs"]) * args.num_envs),
            "free here": shown(available() or 0),
        },
    }


def model_of(name: str) -> Any:
    """A model, or that of a task ("Ant", file.py:Class)."""
    from dualstep.envs import registry

    if importlib.util.find_spec("gymnasium") and (":" in name or name in registry.names()):
        try:
            return registry.task_class(registry.find(name)[1])().model
        except (ImportError, OSError, TypeError, ValueError) as error:
            raise CommandError(str(error)) from None
    path = find_model(name)
    try:
        return load_model(path)
    except CommandError as error:
        raise CommandError(f"{error}{what_to_drop(str(path))}") from None


def what_to_drop(path: str) -> str:
    """What would have to be removed for a model to load, and how; "" where it loads, or is no model at all."""
    import dualstep as ds
    from dualstep import _drop

    words: set[str] = set()
    rest: list[tuple[str, str, str]] = []
    said = ""
    try:
        # some refusals show once others are gone
        while not said and not rest:
            try:
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    ds.Model.from_mjcf(path, drop=tuple(words))
                said = next((str(w.message) for w in told if _drop.SAID in str(w.message)), _drop.SAID)
            except ds.UnsupportedModelError as error:
                more, rest = _drop.words_for(error.problems)
                rest = rest or (list(error.problems) if more <= words else [])
                words |= more
    except ValueError:
        return ""
    if rest:
        features = ", ".join(dict.fromkeys(feature for feature, *_ in rest))
        return f"\nNothing that can be dropped makes it load: {features} would stay refused"
    if not words:
        return ""
    given = ", ".join(repr(word) for word in sorted(words))
    left_out = said.split(_drop.SAID)[1]
    return f"\nIt loads without {left_out}:\n  Model.from_mjcf({path!r}, drop=({given},))"
