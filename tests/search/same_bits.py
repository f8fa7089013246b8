"""Searches for a case in which an environment's bits depend on anything but itself.

    # as many cases as fit; counterexamples/ gets what differs
    python tests/search/same_bits.py --seconds 60
    # ten million environment-steps
    python tests/search/same_bits.py --seconds 3600 --env-steps 1e7 --watched 64 --substeps 60 --no-emulator
    # a counterexample again
    python tests/search/same_bits.py --replay counterexamples/12345.json

A case follows from its number: law, cone, integrator, solver, model, precision, states, parameters, resets; then twice
how it runs: number of environments, threads, instruction set or emulated lanes, which environments are neighbours, and
what those do (some are given numbers that diverge). Some environments are in both runs, at other places. Every array
of theirs is compared after every call, bit by bit, those of NaN too. What an environment that has diverged puts out
(qacc, ...) is an answer to nothing, and does depend on neighbours: `--diverged-outputs` compares it too. Its state,
status and records are compared always.

A file of a counterexample has all that was drawn, so that it is the same case where there are other models or laws to
draw from. The tests replay those in tests/search/counterexamples, which are of the kinds that were found.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import dualstep as ds

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAWS = ("todorov", *(law for law, *_ in ds._core.contact_models()))
SPRINGS = tuple(law for law, traits, _ in ds._core.contact_models() if "springs" in traits)
SOLVERS = ("pgs_newton", "pgs_newton", "pgs_newton_primal", "pgs_newton_dual", "pgs", "pgs_anderson")
STATE = ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")
KEPT = (*STATE, "time", "status", "iterations", "residual", "reset_count", "qacc_warmstart", "anchors")
OUTPUTS = ("qacc", "xpos", "qfrc_constraint", "contact_count", "contacts_needed")
PARAMETERS = ("opt_gravity", "geom_friction", "body_mass", "dof_damping", "jnt_stiffness", "actuator_gainprm")
# what diverges at once, soon, or never
POISON = (np.nan, np.inf, 1e30, 1e12, 1e4)


def model_files() -> list[pathlib.Path]:
    found = [*sorted((ROOT / "tests" / "scenes").glob("*.xml")), *sorted((ROOT / "bench" / "models").rglob("*.xml"))]
    try:
        import gymnasium

        found += sorted((pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets").glob("*.xml"))
    except ImportError:
        pass
    # a step of these takes as long as a hundred of the others'
    return [path for path in found if path.stem not in ("three_humanoids", "stack")]


def possible(device: str, option: str, values: Sequence[Any]) -> list[Any]:
    """Those values of an option that a batch on this device takes here."""
    model, found = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"), []
    for value in values:
        try:
            ds.Batch(model, 1, device=device, **{option: value}).close()
            found.append(value)
        except ValueError:
            pass
    return found


def instruction_sets() -> list[str]:
    return possible("cpu", "isa", ("portable", "avx2", "avx512"))


def lane_counts() -> list[int]:
    return possible("emulated", "lanes", (1, 2, 4, 8, 16, 32))


def name_of(path: pathlib.Path) -> str:
    """Of a model: its place in the repository, or among Gymnasium's."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else f"gymnasium/{path.name}"


def model_of(path: pathlib.Path, options: dict[str, Any]) -> ds.Model:
    model = ds.Model.from_mjcf(path)
    if options["contact_model"] in SPRINGS:
        model.opt.timestep = min(model.opt.timestep, 5e-4)
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model


def draw_model(rng: np.random.Generator, files: list[pathlib.Path]) -> tuple[ds.Model, dict[str, Any]] | None:
    """A model under options that a batch simulates; None where those that were drawn do not go together."""
    path = files[rng.integers(len(files))]
    options: dict[str, Any] = {
        "contact_model": str(rng.choice(LAWS)),
        "cone": str(rng.choice(("pyramidal", "elliptic"))),
        "solver": str(rng.choice(SOLVERS)),
        "integrator": str(rng.choice(("euler", "euler", "implicitfast", "discrete", "rk4"))),
    }
    if options["contact_model"] == "todorov":
        options["contact_parameters"] = str(rng.choice(("mujoco", "mujoco", "spring_damper")))
    else:
        options["integrator"] = "euler"
    if rng.random() < 0.2:
        options["contact_capacity"] = int(rng.integers(1, 6))
    if rng.random() < 0.2:
        options["iterations"] = int(rng.integers(1, 8))
    try:
        model = model_of(path, options)
        ds.Batch(model, 1, device="cpu", num_threads=1).close()
    except ValueError:
        return None
    return model, {"model": name_of(path), "options": options}


def draw_way(rng: np.random.Generator, sets: list[str], emulated: list[int]) -> dict[str, Any]:
    """How a batch runs: by an instruction set, or by a number of emulated lanes."""
    if emulated and rng.random() < 0.1:
        lanes, seed = int(rng.choice(emulated)), int(rng.integers(99))
        return {"device": "emulated", "lanes": lanes, "order": "shuffled", "seed": seed}
    return {"device": "cpu", "num_threads": int(rng.integers(1, 4)), "isa": str(rng.choice(sets))}


def draw_case(
    number: int, files: list[pathlib.Path], sets: list[str], emulated: list[int], watched_most: int = 8, substeps: int = 3
) -> tuple[ds.Model, dict[str, Any]] | None:
    """A model and all that a case is, as it stands in a file."""
    rng = np.random.default_rng(number)
    drawn = draw_model(rng, files)
    if drawn is None:
        return None
    model, facts = drawn
    case = {"case": number, **facts, "dtype": str(rng.choice(("float32", "float64")))}
    calls, own = int(rng.integers(2, 7)), np.random.default_rng([number, 1])
    case["substeps"] = own.integers(1, substeps + 1, calls).tolist()
    case["parameters"] = [name for name in PARAMETERS if own.random() < 0.3]
    case["diverged"] = str(own.choice(("freeze", "reset")))
    case["watched"] = int(rng.integers(1, watched_most + 1))
    case["runs"] = []
    for _ in range(2):
        others = int(rng.choice((0, 1, 6, 30, 90)))
        actors = rng.permutation([*range(case["watched"]), *(1000 + rng.permutation(500)[:others])]).tolist()
        case["runs"].append({"way": draw_way(rng, sets, emulated), "actors": actors, "asks": bool(rng.random() < 0.5)})
    return model, case


def read_case(text: str) -> tuple[ds.Model, dict[str, Any]]:
    """What draw_case drew, from a file."""
    case = json.loads(text)
    paths = {name_of(path): path for path in model_files()}
    return model_of(paths[case["model"]], case["options"]), case


class Actors:
    """What environments are given, by a number of each: the same wherever that environment is."""

    def __init__(self, model: ds.Model, case: dict[str, Any]) -> None:
        self.model, self.seed, self.substeps = model, case["case"], case["substeps"]
        self.named = case["parameters"]

    def begin(self, batch: ds.Batch, actors: np.ndarray) -> None:
        arrays = {name: np.array(getattr(batch, name)) for name in STATE}
        for place, actor in enumerate(actors):
            rng = np.random.default_rng([self.seed, 2, int(actor)])
            speed = float(rng.choice((0.1, 1.0, 10.0)))
            arrays["qvel"][place] = rng.normal(0, speed, self.model.nv)
            arrays["qpos"][place] += rng.normal(0, 0.02, self.model.nq)
            if rng.random() < 0.2 and self.model.nv:
                arrays["qvel"][place, rng.integers(self.model.nv)] = rng.choice(POISON)
        for name, array in arrays.items():
            getattr(batch, name)[...] = array
        self.parameters(batch, actors)

    def parameters(self, batch: ds.Batch, actors: np.ndarray) -> None:
        for number, name in enumerate(self.named):
            own = [place for place, actor in enumerate(actors) if np.random.default_rng([self.seed, 3, number, int(actor)]).random() < 0.5]
            if not own:
                continue
            values = batch.get_parameter(name, own)
            if values.size == 0:
                continue
            for row, place in enumerate(own):
                rng = np.random.default_rng([self.seed, 4, number, int(actors[place])])
                values[row] *= rng.uniform(0.8, 1.25)
            try:
                batch.set_parameter(name, values, own)
            except ValueError:
                self.named = [other for other in self.named if other != name]

    def call(self, batch: ds.Batch, actors: np.ndarray, number: int) -> None:
        rng_of = [np.random.default_rng([self.seed, 5, number, int(actor)]) for actor in actors]
        if self.model.nu:
            batch.ctrl[...] = [rng.uniform(-1, 1, self.model.nu) for rng in rng_of]
        if number % 3 == 1:
            batch.reset(np.array([rng.random() < 0.2 for rng in rng_of]))
        if number % 4 == 2:
            batch.forward(np.array([rng.random() < 0.3 for rng in rng_of]))
        batch.step(self.substeps[number])


def arrays_of(batch: ds.Batch, outputs: bool) -> dict[str, np.ndarray]:
    names = KEPT + OUTPUTS if outputs else KEPT
    return {name: np.array(getattr(batch, name)) for name in names}


def as_bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)


def batch_of(model: ds.Model, case: dict[str, Any], run: dict[str, Any], sets: list[str]) -> ds.Batch:
    way = dict(run["way"])
    # of another machine
    if way.get("isa") not in (None, *sets):
        way["isa"] = sets[-1]
    return ds.Batch(model, len(run["actors"]), dtype=case["dtype"], diverged=case["diverged"], **way)


def run_case(
    model: ds.Model, case: dict[str, Any], sets: list[str], diverged_outputs: bool = False
) -> tuple[int, Any]:
    """Environment-steps that were compared, and what differed (None: nothing)."""
    cast = Actors(model, case)
    batches = [batch_of(model, case, run, sets) for run in case["runs"]]
    all_actors = [np.array(run["actors"]) for run in case["runs"]]
    for batch, actors in zip(batches, all_actors, strict=True):
        cast.begin(batch, actors)
    # a parameter that one of them refused is given to neither
    places = [np.argsort(actors)[: case["watched"]] for actors in all_actors]
    steps = 0
    for call, substeps in enumerate(case["substeps"]):
        for batch, actors in zip(batches, all_actors, strict=True):
            cast.call(batch, actors, call)
        outputs = all(run["asks"] for run in case["runs"]) or call == len(case["substeps"]) - 1
        found = [arrays_of(batch, outputs) for batch in batches]
        steps += substeps * case["watched"]
        status = found[0]["status"][places[0]]
        for name in found[0]:
            one, other = (arrays[name][at] for arrays, at in zip(found, places, strict=True))
            wrong = (as_bits(one) != as_bits(other)).any(axis=1)
            if name in OUTPUTS and not diverged_outputs:
                wrong &= status & 1 == 0
            if wrong.any():
                rows = np.flatnonzero(wrong)
                return steps, {
                    "call": call, "array": name, "actors": rows.tolist(), "status": status[rows].tolist(),
                    "values": [array[rows[0]].ravel()[:8].tolist() for array in (one, other)],
                }  # fmt: skip
    for batch in batches:
        batch.close()
    return steps, None


def as_text(case: dict[str, Any]) -> str:
    """A file of a case: a line for each thing."""
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in case.items()) + "\n}\n"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of search (default: %(default)s)")
    parser.add_argument("--env-steps", type=float, default=float("inf"), help="to compare, at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("counterexamples"))
    parser.add_argument("--replay", type=pathlib.Path, help="a counterexample to run again")
    parser.add_argument("--no-emulator", action="store_true", help="vector units alone")
    parser.add_argument("--diverged-outputs", action="store_true", help="outputs of diverged environments too")
    parser.add_argument("--watched", type=int, default=8, help="environments that are compared, at most (default: %(default)s)")
    parser.add_argument("--substeps", type=int, default=3, help="steps of a call, at most (default: %(default)s)")
    args = parser.parse_args(words)
    files, sets, emulated = model_files(), instruction_sets(), [] if args.no_emulator else lane_counts()
    number = args.first
    began, steps, cases, found = time.monotonic(), 0, 0, 0
    while args.replay is None or cases == 0:
        if time.monotonic() - began > args.seconds or steps >= args.env_steps:
            break
        if args.replay:
            drawn = read_case(args.replay.read_text())
        else:
            drawn = draw_case(number, files, sets, emulated, args.watched, args.substeps)
        compared, difference = run_case(*drawn, sets, args.diverged_outputs) if drawn else (0, None)
        steps, cases = steps + compared, cases + 1
        if drawn and difference:
            _, case = drawn
            found += 1
            args.out.mkdir(parents=True, exist_ok=True)
            path = args.out / f"{case['case']}.json"
            path.write_text(as_text({**case, "found": difference}))
            law = case["options"]["contact_model"]
            print(f"{path}: {difference['array']} of {case['model']} under {law}", file=sys.stderr)
        number += 1
    print(f"{cases} cases, {steps} environment-steps compared, {found} counterexamples")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
