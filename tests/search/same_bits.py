"""Searches for a case in which an environment's bits depend on anything but itself.

    python tests/search/same_bits.py --seconds 60              # as many cases as fit; counterexamples/ gets what differs
    python tests/search/same_bits.py --seconds 3600 --env-steps 1e7 --watched 64 --substeps 60 --no-emulator  # ten million
    python tests/search/same_bits.py --replay counterexamples/12345.json

A case follows from its number: law, cone, integrator, solver, model, precision, states, parameters, resets; then twice
how it runs: number of environments, threads, instruction set or emulated lanes, which environments are neighbours, and
what those do (some are given numbers that diverge). Some environments are in both runs, at other places. Every array
of theirs is compared after every call. NaN is NaN, whatever its sign: `--nan-bits` compares that too. What an
environment that has diverged puts out (qacc, ...) is an answer to nothing, and does depend on neighbours:
`--diverged-outputs` compares it too. Its state, status and records are compared always.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from typing import Any

import numpy as np

import dualstep as ds

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAWS = ("todorov", *(law for law, *_ in ds._core.contact_models()))
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


def instruction_sets() -> list[str]:
    model, found = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"), []
    for isa in ("portable", "avx2", "avx512"):
        try:
            ds.Batch(model, 1, device="cpu", isa=isa).close()
            found.append(isa)
        except ValueError:
            pass
    return found


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
        model = ds.Model.from_mjcf(path)
        for name, value in options.items():
            setattr(model.opt, name, value)
        if options["contact_model"] in ("compliant", "soft_anchor"):
            model.opt.timestep = min(model.opt.timestep, 5e-4)
        ds.Batch(model, 1, device="cpu", num_threads=1).close()
    except ValueError:
        return None
    return model, {"model": path.name, **options}


def draw_way(rng: np.random.Generator, sets: list[str], emulated: bool) -> dict[str, Any]:
    """How a batch runs."""
    if emulated and rng.random() < 0.1:
        return {"device": "emulated", "lanes": int(rng.choice((1, 2, 8))), "order": "shuffled", "seed": int(rng.integers(99))}
    return {"device": "cpu", "num_threads": int(rng.integers(1, 4)), "isa": str(rng.choice(sets))}


class Actors:
    """What environments are given, by a number of each: the same wherever that environment is."""

    def __init__(self, model: ds.Model, seed: int, calls: int, substeps: int) -> None:
        self.model, self.seed, self.calls = model, seed, calls
        rng = np.random.default_rng([seed, 1])
        self.substeps = rng.integers(1, substeps + 1, calls)
        self.named = [name for name in PARAMETERS if rng.random() < 0.3]
        self.policy = str(rng.choice(("freeze", "reset")))

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
        batch.step(int(self.substeps[number]))


def arrays_of(batch: ds.Batch, outputs: bool) -> dict[str, np.ndarray]:
    names = KEPT + OUTPUTS if outputs else KEPT
    return {name: np.array(getattr(batch, name)) for name in names}


def as_bits(array: np.ndarray, nan_bits: bool) -> np.ndarray:
    if array.dtype.kind == "f" and not nan_bits:
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)


def run_case(
    number: int, files: list[pathlib.Path], sets: list[str], emulated: bool, nan_bits: bool, diverged_outputs: bool = False,
    watched_most: int = 8, substeps: int = 3,
) -> tuple[int, Any]:
    """Environment-steps that were compared, and what differed (None: nothing)."""
    rng = np.random.default_rng(number)
    drawn = draw_model(rng, files)
    if drawn is None:
        return 0, None
    model, facts = drawn
    dtype = str(rng.choice(("float32", "float64")))
    calls = int(rng.integers(2, 7))
    cast = Actors(model, number, calls, substeps)
    watched = np.arange(int(rng.integers(1, watched_most + 1)))
    runs = []
    for _ in range(2):
        others = int(rng.choice((0, 1, 6, 30, 90)))
        actors = rng.permutation(np.concatenate([watched, 1000 + rng.permutation(500)[:others]]))
        runs.append((draw_way(rng, sets, emulated), actors, bool(rng.random() < 0.5)))
    batches = []
    for way, actors, _ in runs:
        batches.append(ds.Batch(model, len(actors), dtype=dtype, diverged=cast.policy, **way))
    for batch, (_, actors, _) in zip(batches, runs, strict=True):
        cast.begin(batch, actors)
    # a parameter that one of them refused is given to neither
    places = [np.argsort(actors)[: len(watched)] for _, actors, _ in runs]
    steps = 0
    for call in range(calls):
        for batch, (_, actors, _) in zip(batches, runs, strict=True):
            cast.call(batch, actors, call)
        outputs = all(asks for *_, asks in runs) or call == calls - 1
        found = [arrays_of(batch, outputs) for batch in batches]
        steps += int(cast.substeps[call]) * len(watched)
        stands = found[0]["status"][places[0]] & 1 > 0
        for name in found[0]:
            one, other = (as_bits(arrays[name][at], nan_bits) for arrays, at in zip(found, places, strict=True))
            wrong = (one != other).any(axis=1)
            if name in OUTPUTS and not diverged_outputs:
                wrong &= ~stands
            if wrong.any():
                rows = np.flatnonzero(wrong)
                return steps, {
                    "case": number, "watched": watched_most, "substeps": substeps, **facts, "dtype": dtype, "call": call, "array": name, "actors": rows.tolist(), "status": found[0]["status"][places[0]][rows].tolist(),
                    "ways": [way for way, *_ in runs], "sizes": [len(actors) for _, actors, _ in runs],
                    "values": [arrays[name][at][rows[0]].ravel()[:8].tolist() for arrays, at in zip(found, places, strict=True)],
                }  # fmt: skip
    for batch in batches:
        batch.close()
    return steps, None


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of search (default: %(default)s)")
    parser.add_argument("--env-steps", type=float, default=float("inf"), help="to compare, at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("counterexamples"))
    parser.add_argument("--replay", type=pathlib.Path, help="a counterexample to run again")
    parser.add_argument("--no-emulator", action="store_true", help="vector units alone")
    parser.add_argument("--diverged-outputs", action="store_true", help="outputs of diverged environments too")
    parser.add_argument("--nan-bits", action="store_true", help="a NaN is compared with its sign and its payload")
    parser.add_argument("--watched", type=int, default=8, help="environments that are compared, at most (default: %(default)s)")
    parser.add_argument("--substeps", type=int, default=3, help="steps of a call, at most (default: %(default)s)")
    args = parser.parse_args(words)
    if args.replay:
        replayed = json.loads(args.replay.read_text())
        args.first = replayed["case"]
        args.watched, args.substeps = replayed.get("watched", args.watched), replayed.get("substeps", args.substeps)
    files, sets = model_files(), instruction_sets()
    number = args.first
    began, steps, cases, found = time.monotonic(), 0, 0, 0
    while args.replay is None or cases == 0:
        if time.monotonic() - began > args.seconds or steps >= args.env_steps:
            break
        compared, difference = run_case(
            number, files, sets, not args.no_emulator, args.nan_bits, args.diverged_outputs, args.watched, args.substeps
        )
        steps, cases = steps + compared, cases + 1
        if difference is not None:
            found += 1
            args.out.mkdir(parents=True, exist_ok=True)
            path = args.out / f"{number}.json"
            path.write_text(json.dumps(difference, indent=1, default=str))
            print(f"{path}: {difference['array']} of {difference['model']} under {difference['contact_model']}", file=sys.stderr)
        number += 1
    print(f"{cases} cases, {steps} environment-steps compared, {found} counterexamples")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
