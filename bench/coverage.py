"""Which models that people have load, and whether their accelerations are MuJoCo's, by package.

    python bench/coverage.py                                   # all packages that are installed
    python bench/coverage.py --path DIR                        # and the folders of DIR, each a source
    python bench/coverage.py --only mujoco_menagerie gymnasium # some of them
    python bench/coverage.py --out bench/results/coverage      # where the table goes, .md and .json
    python bench/coverage.py --resume --again refused differs  # takes up what is in .jsonl, and looks at some anew

A model is a file of MJCF that MuJoCo compiles and that has a joint. Files that another one includes or attaches are parts of
that model, and are looked at alone where it does not compile; files that compile to the same model count once a source. It
loads where `Model.from_mjcf` and `Batch` take it, and agrees where the accelerations of a batch (float64) and of the reference
are within 1e-6 of converged MuJoCo's, relative to the largest, at the median over 20 energetic states.

Where convex shapes touch with faces or edges, points of contact are not unique. A model that agrees only once contacts are off
is therefore held against the supports of its shapes: of every pair in touch in these states, the deepest contact must be as
deep as the shapes are along its normal, and not deeper than along MuJoCo's normal, to 1e-5 of the smaller shape; and no pair
may be in touch on one side alone. Those "agree to the depth of contacts". Height fields, of which MuJoCo collides the prisms
one by one, are not looked at, so a model that differs by them agrees but for contacts.

A run is 200 steps of one environment in float32 under random controls; it holds where no status bit is set, and counts where
MuJoCo's own run has no warning. Noslip iterations are off on both sides. Each model is looked at in a child, within a time
limit, and written to .jsonl at once. `--missing` lists files of meshes that are not there, with something else in their place:
models whose motion depends on one are left out, those that only show it are counted.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from coverage_contacts import SMALL, contacts_against_supports

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE, STATES, STEPS = 1e-6, 20, 200
TO_THE_DEPTH = "agrees to the depth of contacts"
# what is no user's model: engines' own tests and samples, and this package
LEFT_OUT = {"dualstep", "mujoco", "mujoco_warp", "mujoco_mjx", "brax", "newton", "warp"}


# --- what there is ---


def sources(folders: list[pathlib.Path]) -> dict[str, pathlib.Path]:
    """{name: folder}: packages on the path, and what lies in the folders that were given."""
    found: dict[str, pathlib.Path] = {}
    paths = [pathlib.Path(p) for p in sys.path if p and p.rstrip("/").endswith(("site-packages", "dist-packages"))]
    for folder in [*paths, *folders]:
        if not folder.is_dir():
            raise SystemExit(f"there is no folder '{folder}'")
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.name.startswith((".", "_")) and not entry.name.endswith("-info"):
                found.setdefault(entry.name, entry)
    for folder in folders:
        if any(folder.glob("*.xml")):
            found[folder.name] = folder
    return {name: folder for name, folder in found.items() if name not in LEFT_OUT}


def root_of(path: pathlib.Path) -> str | None:
    """The tag of the first element, without reading the rest."""
    try:
        for _, element in ElementTree.iterparse(path, events=("start",)):
            return element.tag
    except (ElementTree.ParseError, OSError, UnicodeDecodeError):
        return None
    return None


def named_by(path: pathlib.Path) -> set[pathlib.Path]:
    """The files of MJCF that a file includes or attaches: beside it, or beside whatever includes it."""
    try:
        tree = ElementTree.parse(path)
    except (ElementTree.ParseError, OSError):
        return set()
    names = [e.get("file") for e in tree.iter() if e.tag in ("include", "model") and e.get("file")]
    return {(path.parent / name).resolve() for name in names if name}


def models_of(folder: pathlib.Path) -> dict[pathlib.Path, list[pathlib.Path]]:
    """Files of MJCF that no other file of the source includes, and the files that each includes."""
    files = [p for p in sorted(folder.rglob("*.xml")) if root_of(p) == "mujoco"]
    there = {p.resolve(): p for p in files}
    names = {p: [there[n] for n in sorted(named_by(p)) if n in there and there[n] != p] for p in files}
    parts = {part for named in names.values() for part in named}
    return {p: below(p, names) for p in files if p not in parts}


def below(path: pathlib.Path, names: dict[pathlib.Path, list[pathlib.Path]]) -> list[pathlib.Path]:
    """What a file includes, and what that includes."""
    found, todo = [], list(names[path])
    while todo:
        part = todo.pop(0)
        if part not in found:
            found.append(part)
            todo += names[part]
    return found


def version_of(source: str, folder: pathlib.Path) -> str:
    """Of the distribution that installed the package; "" where none did."""
    for distribution in importlib.metadata.distributions(path=[str(folder.parent)]):
        names = {distribution.metadata["Name"].replace("-", "_").lower()}
        names.update(file.parts[0].lower() for file in (distribution.files or [])[:200])
        if source.lower() in names:
            return distribution.version
    return ""


# --- one model, in a child ---


def control_bounds(mj) -> tuple[Any, Any]:
    """Between which controls are drawn."""
    import numpy as np

    low, high = np.where(mj.actuator_ctrllimited[:, None], mj.actuator_ctrlrange, [-1.0, 1.0]).T
    return low, high


def draw(mj, data, rng, index: int) -> bool:
    """An energetic state near the model's first keyframe or start; every second one after some steps of MuJoCo."""
    import mujoco
    import numpy as np

    mujoco.mj_resetData(mj, data)
    if mj.nkey:
        mujoco.mj_resetDataKeyframe(mj, data, 0)
    moved = data.qpos.copy()
    mujoco.mj_integratePos(mj, moved, rng.normal(size=mj.nv), 0.1)
    data.qpos[:] = moved
    data.qvel[:] = rng.normal(size=mj.nv)
    low, high = control_bounds(mj)
    for _ in range(int(rng.integers(5, 40)) if index % 2 else 0):
        data.ctrl[:] = rng.uniform(low, high)
        mujoco.mj_step(mj, data)
    data.ctrl[:] = rng.uniform(low, high)
    data.act[:] = np.clip(data.act + rng.uniform(0, 0.5, mj.na), -1, 1)
    mujoco.mj_forward(mj, data)
    return bool(np.all(np.isfinite(data.qacc)) and np.abs(data.qacc).max(initial=0) < 1e8)


def some_states(mj) -> list[dict[str, Any]]:
    """What sets a state, MuJoCo's converged accelerations there, and where its geoms and contacts are."""
    import mujoco
    import numpy as np

    mj.opt.iterations, mj.opt.tolerance, mj.opt.ls_iterations = 500, 0, 200
    mj.opt.ls_tolerance, mj.opt.solver = 1e-8, mujoco.mjtSolver.mjSOL_NEWTON
    mj.opt.ccd_tolerance, mj.opt.ccd_iterations = 1e-10, 300
    rng, data, states = np.random.default_rng(0), mujoco.MjData(mj), []
    for index in range(4 * STATES):
        if len(states) < STATES and draw(mj, data, rng, index):
            names = ("qacc", *SET_BY, "geom_xpos", "geom_xmat")
            state: dict[str, Any] = {name: np.array(getattr(data, name)) for name in names}
            state["contacts"] = [(tuple(map(int, c.geom)), c.dist, np.array(c.frame[:3])) for c in data.contact]
            states.append(state)
    return states


SET_BY = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "time")


def agreement(states, model) -> tuple[dict[str, float], list[Any]]:
    """Medians of the errors of a batch and of the reference; the contacts that the batch found."""
    import numpy as np

    import dualstep as ds

    if not states:
        return {}, []
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    model.opt.contact_capacity = max(16, 2 * max(len(state["contacts"]) for state in states))
    reference = ds.Reference(model)
    errors = []
    for state in states:
        for name in SET_BY[:-1]:
            getattr(reference, name)[...] = state[name]
        reference.time = float(state["time"])
        reference.forward()
        errors.append(relative(reference.qacc, state["qacc"]))
    with ds.Batch(model, len(states), device="cpu", dtype="float64", num_threads=1) as batch:
        for k, state in enumerate(states):
            for name in SET_BY:
                getattr(batch, name)[k] = state[name]
        batch.forward()
        found = [contacts_of(batch, k) for k in range(len(states))]
        mine = [relative(batch.qacc[k], state["qacc"]) for k, state in enumerate(states)]
    return {"batch": float(np.median(mine)), "reference": float(np.median(errors))}, found


def contacts_of(batch, k: int) -> list[Any]:
    import numpy as np

    rows = range(int(batch.contact_count[k]))
    frames = np.array(batch.contact_frame[k]).reshape(-1, 3, 3)
    return [(tuple(map(int, batch.contact_geom[k, i])), float(batch.contact_dist[k, i]), frames[i, 0]) for i in rows]


def relative(got, want) -> float:
    import numpy as np

    return float(np.max(np.abs(np.asarray(got) - want), initial=0) / max(1e-3, np.max(np.abs(want), initial=0)))


def run_float32(mj, model) -> str:
    """What became of some steps under random controls: "holds", status bits, or what MuJoCo warned of."""
    import mujoco
    import numpy as np

    import dualstep as ds

    rng, data = np.random.default_rng(0), mujoco.MjData(mj)
    if mj.nkey:
        mujoco.mj_resetDataKeyframe(mj, data, 0)
    low, high = control_bounds(mj)
    controls, contacts = rng.uniform(low, high, (STEPS, mj.nu)), 0
    start = {f: np.array(getattr(data, f)) for f in ("qpos", "qvel", "act", "mocap_pos", "mocap_quat")}
    for ctrl in controls:
        data.ctrl[:] = ctrl
        mujoco.mj_step(mj, data)
        contacts = max(contacts, data.ncon)
    if warned := [
        w.name
        for w in mujoco.mjtWarning.__members__.values()
        if int(w) < len(data.warning) and data.warning[int(w)].number
    ]:
        return "MuJoCo warns: " + ", ".join(warned)
    model.opt.contact_capacity = max(16, 2 * contacts)
    with ds.Batch(model, 1, device="cpu", dtype="float32", num_threads=1) as batch:
        for name, value in start.items():
            getattr(batch, name)[0] = value
        for ctrl in controls:
            batch.ctrl[0] = ctrl
            batch.step()
        bits, finite = int(batch.status[0]), bool(np.all(np.isfinite(batch.qpos)) and np.all(np.isfinite(batch.qvel)))
    named = [bit.name or "" for bit in ds.Status if bits & int(bit)]
    return "holds" if finite and not named else ", ".join(named or ["not finite"])


def needs_missing(mj, spec, missing: set[str]) -> tuple[list[str], bool]:
    """Files in whose place something else lies, and whether the model's motion depends on one."""
    import mujoco
    import numpy as np

    meshes = pathlib.Path(spec.modelfiledir, spec.compiler.meshdir)
    named = {m.name or pathlib.Path(m.file).stem: m.file for m in spec.meshes if m.file}
    there = {name: file for name, file in named.items() if str((meshes / file).resolve()) in missing}
    needed = False
    for geom in range(mj.ngeom):
        if mj.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
            continue
        name = mj.mesh(int(mj.geom_dataid[geom])).name
        if name not in there:
            continue
        paired = geom in (*mj.pair_geom1, *mj.pair_geom2)
        given = next((b.explicitinertial for b in spec.bodies if b.id == mj.geom_bodyid[geom]), 0)
        first, last = spec.compiler.inertiagrouprange
        weighs = not given and first <= mj.geom_group[geom] <= last
        needed |= bool(mj.geom_contype[geom] or mj.geom_conaffinity[geom] or paired or weighs)
        needed |= spec.compiler.inertiafromgeom == 1 or bool(np.any(mj.geom_fluid[geom]))
    return sorted(there.values()), needed


def look_at(path: str, missing: set[str]) -> dict[str, Any]:
    """What one model is: not a model, refused, or loaded and how far from MuJoCo."""
    import mujoco
    import numpy as np

    import dualstep as ds
    from dualstep import _drop

    try:
        mj = mujoco.MjModel.from_xml_path(path)
        spec = mujoco.MjSpec.from_file(path) if missing else None
        if spec is not None:
            spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        return {"outcome": "not compiled", "why": str(error).splitlines()[0][:200]}
    if mj.nv == 0:
        return {"outcome": "nothing moves"}
    fact: dict[str, Any] = {}
    if spec is not None:
        there, needed = needs_missing(mj, spec, missing)
        if needed:
            return {"outcome": "meshes missing", "why": ", ".join(there)}
        fact["shows"] = there
    buffer = np.empty(mujoco.mj_sizeModel(mj), np.uint8)
    mujoco.mj_saveModel(mj, None, buffer)
    fact["digest"] = hashlib.sha256(buffer.tobytes()).hexdigest()[:16]
    if noslip := mj.opt.noslip_iterations:
        # not run here, which a warning says: what is left is compared
        fact["noslip"], mj.opt.noslip_iterations = noslip, 0
    mj = _drop.awake(mj)
    try:
        model = ds.Model.from_mujoco(mj)
        ds.Batch(model, 1, device="cpu").close()
    except (ds.UnsupportedModelError, ds.InvalidModelError) as error:
        kind = "refused" if isinstance(error, ds.UnsupportedModelError) else "invalid"
        features = sorted({p[0] for p in error.problems}) or [str(error).splitlines()[0][:100]]
        return {**fact, "outcome": kind, "features": features}
    fact["run"] = run_float32(mj, model)
    states = some_states(mj)
    fact["errors"], found = agreement(states, ds.Model.from_mujoco(mj))
    if within_tolerance(fact["errors"]):
        return {**fact, "outcome": "agrees"}
    fact["contacts"] = contacts = contacts_against_supports(mj, states, found)
    sound = max(contacts["depth"], contacts["excess"]) <= SMALL and not contacts["alone"]
    mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    fact["errors_without_contacts"], _ = agreement(some_states(mj), ds.Model.from_mujoco(mj))
    if not within_tolerance(fact["errors_without_contacts"]):
        return {**fact, "outcome": "differs"}
    return {
        **fact,
        "outcome": TO_THE_DEPTH if sound and not contacts["surfaces"] else "agrees but for contacts",
    }


def within_tolerance(errors: dict[str, float]) -> bool:
    return max(errors.values(), default=float("inf")) <= TOLERANCE


def in_child(path: pathlib.Path, seconds: float, missing: pathlib.Path | None) -> dict[str, Any]:
    command = [sys.executable, str(pathlib.Path(__file__).resolve()), "--one", str(path)]
    command += ["--missing", str(missing.resolve())] if missing else []
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
    try:
        # MuJoCo leaves its log in the current folder
        with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
            ran = subprocess.run(command, env=given, capture_output=True, text=True, timeout=seconds, cwd=folder)
    except subprocess.TimeoutExpired:
        return {"outcome": "out of time", "why": f"more than {seconds:g} s"}
    for line in reversed(ran.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    how = f"signal {-ran.returncode}" if ran.returncode < 0 else f"status {ran.returncode}"
    return {"outcome": "failed", "why": f"{how}: {(ran.stderr.strip().splitlines() or [''])[-1][:200]}"}


# --- all of them, and the table ---

LOADED = ("agrees", TO_THE_DEPTH, "agrees but for contacts", "differs", "out of time")
NO_MODEL = ("not compiled", "nothing moves", "same as another", "meshes missing")


Work = list[tuple[str, pathlib.Path]]
Facts = list[dict[str, Any]]


@dataclass
class Look:
    """How models are looked at, and what is known of them: facts go to a file as they come."""

    seconds: float
    jobs: int
    quiet: bool
    missing: pathlib.Path | None
    kept: pathlib.Path
    known: dict[tuple[str, str], dict[str, Any]]

    def at(self, work: Work, title: str) -> Facts:
        from dualstep.cli.common import Progress

        progress, facts = Progress(title, quiet=self.quiet), []
        todo = [path for source, path in work if (source, str(path)) not in self.known]
        with ThreadPoolExecutor(self.jobs) as pool, self.kept.open("a") as kept:
            futures = {path: pool.submit(in_child, path, self.seconds, self.missing) for path in todo}
            for source, path in work:
                fact = self.known.get((source, str(path)))
                if fact is None:
                    fact = {"source": source, "file": str(path), **futures[path].result()}
                    kept.write(json.dumps(fact) + "\n")
                    kept.flush()
                facts.append(dict(fact))
                progress.update(len(facts) / len(work), f"{source}/{path.name}"[:60])
        return facts


def known_facts(path: pathlib.Path, again: set[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Facts of an earlier run but for some outcomes; later lines of a file count."""
    facts = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    latest = {(fact["source"], fact["file"]): fact for fact in facts}
    return {key: fact for key, fact in latest.items() if fact["outcome"] not in again}


def survey(found: dict[str, dict[pathlib.Path, list[pathlib.Path]]], look: Look) -> Facts:
    """Facts about all models; of what does not compile about its parts, those alone that do."""
    work = [(source, path) for source, paths in found.items() for path in paths]
    facts = look.at(work, "models")
    broken = [(f["source"], pathlib.Path(f["file"])) for f in facts if f["outcome"] == "not compiled"]
    used = {part for source, path in work if (source, path) not in broken for part in found[source][path]}
    parts = dict.fromkeys((s, part) for s, path in broken for part in found[s][path] if part not in used)
    facts += look.at(list(parts), "parts of what does not compile") if parts else []
    seen: set[tuple[str, str]] = set()
    for fact in facts:
        key = (fact["source"], fact.get("digest", ""))
        if key[1] and key in seen:
            fact["outcome"] = "same as another"
        seen.add(key)
    return facts


COLUMNS = (
    "models", "load", "agree", "to the depth of contacts", "but for contacts", "sound in MuJoCo", "run in float32",
    "noslip left out",
)  # fmt: skip


def counted(facts: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """By source: models, those that load, agree, differ, are out of time, and files that are no models."""
    table: dict[str, dict[str, int]] = {}
    for fact in facts:
        row = table.setdefault(fact["source"], dict.fromkeys((*COLUMNS, "no model"), 0))
        if fact["outcome"] in NO_MODEL:
            row["no model"] += 1
            continue
        row["models"] += 1
        row["load"] += fact["outcome"] in LOADED
        row["agree"] += fact["outcome"] == "agrees"
        row["to the depth of contacts"] += fact["outcome"] == TO_THE_DEPTH
        row["but for contacts"] += fact["outcome"] == "agrees but for contacts"
        row["noslip left out"] += "noslip" in fact and fact["outcome"] in LOADED
        row["sound in MuJoCo"] += fact.get("run", "MuJoCo warns").startswith("MuJoCo warns") is False
        row["run in float32"] += fact.get("run") == "holds"
    return {source: row for source, row in table.items() if row["models"]}


def reasons(facts: list[dict[str, Any]]) -> dict[str, int]:
    """How many models each refused feature stops."""
    counts = collections.Counter(
        f for fact in facts if fact["outcome"] in ("refused", "invalid") for f in fact["features"]
    )
    return dict(counts.most_common())


def markdown(facts: Facts, versions: dict[str, str], commit: str, note: str = "") -> str:
    import mujoco

    table = counted(facts)
    columns = COLUMNS
    total = {key: sum(row[key] for row in table.values()) for key in columns}
    lines = [
        "# Models that people have: what loads, and what agrees with MuJoCo", "",
        f"Made by `python bench/coverage.py` on commit {commit}, MuJoCo {mujoco.__version__}. A model agrees where the "
        f"accelerations of a batch (float64) and of the reference are within {TOLERANCE:g} of converged MuJoCo's, relative to "
        f"the largest, at the median over {STATES} energetic states. Where they are not, but are so without contacts, points of "
        "contact are not unique (faces and edges of convex shapes): the columns after that count models of which every pair in "
        f"touch is as deep as its shapes are, to {SMALL:g} of the smaller one and no deeper than along MuJoCo's normal, with no "
        "pair missed or invented, and those where that is not so or not looked at (height fields). Sound in MuJoCo: "
        f"{STEPS} steps under random controls end without a warning of MuJoCo's; run in float32: they set no status bit here. "
        "Noslip left out: models that ask for noslip iterations, which are off on both sides.",
        "", f"| package | version | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns),
    ]  # fmt: skip
    for source, row in sorted(table.items()):
        counts = " | ".join(str(row[key]) for key in columns)
        lines.append(f"| {source} | {versions.get(source, '')} | {counts} |")
    lines.append("| **all** | | " + " | ".join(f"**{total[key]}**" for key in columns) + " |")
    if stopped := reasons(facts):
        lines += ["", "What models are refused for, by how many:", "", "| feature | models |", "|---|---|"]
        lines += [f"| {feature} | {count} |" for feature, count in stopped.items()]
    for outcome, title in (
        (
            "agrees but for contacts",
            "But for contacts (errors of batch and reference; worst error of a depth, excess over MuJoCo's depth, pairs alone)",
        ),
        (
            TO_THE_DEPTH,
            "To the depth of contacts (errors of batch and reference; the worst error of a depth, as a share of the shape)",
        ),
        ("differs", "Not within the tolerance (errors of batch and reference)"),
        ("out of time", "Not done within the time limit"),
        ("failed", "Failed"),
    ):
        rows = [fact for fact in facts if fact["outcome"] == outcome]
        if rows:
            lines += ["", f"{title}:", ""]
            for fact in rows:
                errors = fact.get("errors") or {}
                what = ", ".join(f"{error:.1e}" for error in errors.values()) or fact.get("why", "no sound state")
                if contacts := fact.get("contacts"):
                    what += f"; {contacts['depth']:.0e}"
                    if outcome != TO_THE_DEPTH:
                        what += f", {contacts['excess']:.0e}, {contacts['alone']} of {contacts['pairs']}"
                        what += f", {contacts['surfaces']} on height fields" if contacts["surfaces"] else ""
                lines.append(f"- {fact['source']}: {short(fact['file'], fact['source'])}: {what}")
    rows = [fact for fact in facts if fact["outcome"] in LOADED and fact.get("run", "holds") != "holds"]
    if rows:
        lines += ["", f"Runs of {STEPS} steps that did not hold:", ""]
        lines += [f"- {f['source']}: {short(f['file'], f['source'])}: {f['run']}" for f in rows]
    rows = [fact for fact in facts if fact["outcome"] == "meshes missing"]
    if rows:
        lines += ["", "Left out, since meshes that they touch or weigh with were not to be had:", ""]
        lines += [f"- {f['source']}: {short(f['file'], f['source'])}: {f['why']}" for f in rows]
    shown = collections.Counter(f["source"] for f in facts if f.get("shows") and f["outcome"] in LOADED)
    if shown:
        counts = ", ".join(f"{count} of {source}" for source, count in sorted(shown.items()))
        lines += ["", f"Counted, though meshes that are only drawn were not to be had: {counts}."]
    if note:
        lines += ["", note.strip()]
    left_out = collections.Counter(fact["outcome"] for fact in facts if fact["outcome"] in NO_MODEL)
    if left_out:
        lines += ["", "Left out: " + ", ".join(f"{count} files {outcome}" for outcome, count in left_out.items()) + "."]
    return "\n".join(lines) + "\n"


def short(path: str, source: str) -> str:
    """The path below the package."""
    if not pathlib.Path(path).is_absolute():
        return path
    parts = pathlib.Path(path).parts
    return "/".join(parts[parts.index(source) + 1 :]) if source in parts else pathlib.Path(path).name


def commit_here() -> str:
    ran = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return ran.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=pathlib.Path, action="append", default=[], metavar="DIR",
                        help="a folder whose folders are sources too, or that holds models; may be repeated")  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="SOURCE", help="these packages and folders alone")
    parser.add_argument("--seconds", type=float, default=120, help="the most that one model may take")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results" / "coverage", help="files without suffix")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run wrote to .jsonl")
    parser.add_argument("--again", nargs="+", default=[], metavar="OUTCOME", help="with --resume: but for these")
    parser.add_argument(
        "--missing", type=pathlib.Path, metavar="FILE", help="paths of meshes that are not there, as seen from FILE"
    )
    parser.add_argument("--note", default="", help="a sentence for the end of the table: what is absent, and why")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--one", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        names = args.missing.read_text().splitlines() if args.missing else []
        print(json.dumps(look_at(args.one, {str((args.missing.parent / name).resolve()) for name in names if name})))
        return
    began = time.monotonic()
    there = sources([p.resolve() for p in args.path])
    for name in args.only or ():
        if name not in there:
            raise SystemExit(f"there is no package or folder '{name}'")
    found = {name: models_of(folder) for name, folder in there.items() if not args.only or name in args.only}
    found = {name: paths for name, paths in found.items() if paths}
    if not found:
        raise SystemExit("no models of MJCF are found: install packages that hold some, or give --path DIR")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    kept = args.out.with_suffix(".jsonl")
    if not args.resume:
        kept.unlink(missing_ok=True)
    known = known_facts(kept, set(args.again))
    facts = survey(found, Look(args.seconds, args.jobs, args.quiet, args.missing, kept, known))
    for fact in facts:
        fact["file"] = short(fact["file"], fact["source"])
    versions = {name: version_of(name, there[name]) for name in found}
    text = markdown(facts, versions, commit_here(), args.note)
    args.out.with_suffix(".md").write_text(text)
    record = {
        "commit": commit_here(),
        "versions": versions,
        "table": counted(facts),
        "reasons": reasons(facts),
        "models": facts,
    }
    args.out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    print(text)
    print(
        f"{len(facts)} files in {time.monotonic() - began:.0f} s; written to {args.out}.md and .json", file=sys.stderr
    )


if __name__ == "__main__":
    main()
