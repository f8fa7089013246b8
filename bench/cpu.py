"""Measures the CPU: every model beside mujoco.batch on one thread and on all, the solver's settings, and what a step
costs by contacts, degrees of freedom and batch size. Writes tables (Markdown), figures (JSON) and a plot.

    python bench/cpu.py --out bench/results          # a quarter of an hour on a quiet machine
    python bench/cpu.py --quick --out /tmp/cpu       # a rehearsal

Every speed stands beside the accuracy of the same steps (`dualstep bench`; README, "How figures are measured").
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import platform
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dualstep as ds
from dualstep.cli import bench, common
from dualstep.measure import receipt, throughput
from dualstep.measure.workload import Controls, States, host, play

HERE = pathlib.Path(__file__).parent
MODELS = HERE / "models"
ROBOTS = ("G1Joystick", "Go1Joystick")
ROUNDS = 15  # of a measurement whose sides take turns


def processor() -> str:
    """The name of the processor, as Linux has it."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def slug(name: str) -> str:
    """The name of a processor in the name of a file."""
    name = re.sub(r"\((R|TM|C)\)|\b(CPU|Processor)\b|@.*", " ", name, flags=re.IGNORECASE)
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def instructions(figures: dict[str, Any]) -> str:
    """The instruction set that was measured: processors of one name differ in it."""
    return figures["one_thread"][0]["runs_on"].split(", ")[1]


def subjects(robots: bool) -> dict[str, bench.Subject]:
    """All models; those of mjlab where it is installed."""
    names = [str(MODELS / "humanoid.xml"), str(MODELS / "three_humanoids.xml"), "gymnasium"]
    found = bench.subjects_of(names)
    for robot in ROBOTS if robots else ():
        try:
            found |= bench.subjects_of([robot])
        except common.CommandError as error:
            print(f"left out: {robot}: {error}")
    return found


def titles(robots: bool) -> dict[str, bench.Subject]:
    """All models by the names of the tables, where the benchmark's are told from Gymnasium's of the same name."""
    found = {}
    for name, subject in subjects(robots).items():
        ours = subject.path is not None and MODELS in subject.path.parents
        found[("bench/" if ours else "") + pathlib.Path(name).stem] = subject
    return found


def row(figures: dict[str, Any]) -> list[str]:
    """A line of the table of models."""
    peer, accuracy, status = figures["peer"], figures["accuracy"], figures["status"]
    ratio = peer["ratio"]
    flawed = ", ".join(
        f"{status[bit]} {bit.lower()}" for bit in ("DIVERGED", "CONTACT_OVERFLOW", "NOT_CONVERGED") if status[bit]
    )
    return [
        figures["title"], str(figures["model"]["nv"]), f"{figures['contacts']:.1f}",
        f"{figures['steps_per_second']['median']:,.0f}", f"{peer['steps_per_second']['median']:,.0f}",
        f"**{ratio['median']:.2f}** ({ratio['low']:.2f} to {ratio['high']:.2f})",
        f"{accuracy['median'] or 0:.0e}", f"{accuracy['p95'] or 0:.0e}", f"{accuracy['p99'] or 0:.0e}",
        "yes" if accuracy["met"] else "**no**", flawed or "none",
    ]  # fmt: skip


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]) + "\n"


def measure_models(seconds: float, robots: bool) -> dict[str, list[dict[str, Any]]]:
    """Every model with one thread and with all, one after the other, so that both find the machine alike."""
    found: dict[str, list[dict[str, Any]]] = {"one_thread": [], "all_threads": []}
    for title, subject in titles(robots).items():
        for threads, measured in zip((1, 0), found.values(), strict=True):
            settings = throughput.Settings(num_envs=1024, device="cpu", num_threads=threads, substeps=subject.substeps,
                                           seconds=seconds)  # fmt: skip
            progress = common.Progress(f"{title}, {threads or 'all'} threads")
            figures = throughput.measure(subject.load(), settings, title, progress.update).to_dict()
            figures["title"] = title
            measured.append(figures)
    return found


def measure_scaling(seconds: float, robots: bool) -> list[dict[str, Any]]:
    """How many times as fast all threads are as one, by model and batch size: the same steps of the same states, interleaved.
    Beside it what the machine gives at best: batches of one thread each, which know nothing of each other, at once."""
    threads = len(os.sched_getaffinity(0))
    found = []
    for title, subject in titles(robots).items():
        model, rng = subject.load(), np.random.default_rng(0)
        controls = Controls(model, rng)
        with ds.Batch(model, 32, device="cpu", num_threads=1) as batch:
            pool = play(batch, controls, subject.substeps, 2.0, rng).states
        one = {"title": title, "threads": threads}
        for num_envs in (1024, 4096):
            share = num_envs // threads
            ways = {"one": [ds.Batch(model, num_envs, device="cpu", num_threads=1)],
                    "all": [ds.Batch(model, num_envs, device="cpu", num_threads=threads)],
                    "apart": [ds.Batch(model, share, device="cpu", num_threads=1) for _ in range(threads)]}  # fmt: skip
            spent: dict[str, list[float]] = {way: [] for way in ways}
            calls = 1
            for turn in range(-1, ROUNDS):
                states = pool.take(rng.integers(len(pool), size=num_envs))
                actions = controls.draw(calls + 1, num_envs)
                for way, batches in ways.items():
                    took = together(batches, states, actions, subject.substeps)
                    # the first turn says how many calls fill the time
                    if turn < 0 and way == "one":
                        calls = max(4, round(seconds / (60 * took)))
                    if turn >= 0:
                        spent[way].append(took)
            for way in ("all", "apart"):
                done = len(ways[way]) * ways[way][0].num_envs / num_envs
                one[f"{way}_{num_envs}"] = throughput.middle(done * np.array(spent["one"]) / np.array(spent[way]))
            for batch in itertools.chain(*ways.values()):
                batch.close()
        print(f"{title}: {threads} threads {one['all_1024']['median']:.2f} times as fast as one, "
              f"{one['all_4096']['median']:.2f} with 4,096 environments")  # fmt: skip
        found.append(one)
    return found


def together(batches: list[ds.Batch], states: States, actions: np.ndarray, substeps: int) -> float:
    """Seconds that batches take at once for rows of their own of these states and actions; the first action is not
    timed."""
    parts = []
    for k, batch in enumerate(batches):
        rows = np.arange(k * batch.num_envs, (k + 1) * batch.num_envs)
        states.take(rows).put(batch)
        parts.append(np.ascontiguousarray(actions[:, rows]))
        batch.ctrl = parts[-1][0]
        batch.step(substeps)
    ready = threading.Barrier(len(batches))

    def roll(batch: ds.Batch, given: np.ndarray) -> tuple[float, float]:
        ready.wait()
        began = time.perf_counter()
        for ctrl in given[1:]:
            batch.ctrl = ctrl
            batch.step(substeps)
        return began, time.perf_counter()

    with concurrent.futures.ThreadPoolExecutor(len(batches)) as pool:
        spans = list(pool.map(roll, batches, parts))
    return max(end for _, end in spans) - min(began for began, _ in spans)


SOLVERS = {
    "two sweeps, then Newton (default)": {},
    "Newton among the rows": {"solver": "pgs_newton_dual"},
    "Newton among the dofs": {"solver": "pgs_newton_primal"},
    "Newton until 1e-6": {"tolerance": 1e-6},
    "8 sweeps": {"solver": "pgs", "iterations": 8},
    "50 sweeps": {"solver": "pgs", "iterations": 50},
    "8 sweeps, Anderson": {"solver": "pgs_anderson", "iterations": 8},
    "20 sweeps, Anderson": {"solver": "pgs_anderson", "iterations": 20},
}


def measure_solvers(seconds: float, robots: bool) -> list[list[str]]:
    rows = []

    def scene(path: pathlib.Path) -> Callable[[], ds.Model]:
        return lambda: ds.Model.from_mjcf(path)

    humanoid, elliptic = scene(MODELS / "humanoid.xml"), {"cone": "elliptic"}
    g1 = [subject.load for name, subject in subjects(robots).items() if name == "G1Joystick"]
    cases = [
        ("humanoid, random", humanoid, {}, 1.0),
        ("humanoid, random, elliptic", humanoid, elliptic, 1.0),
        ("humanoid, quiet", humanoid, {}, 0.0),
        ("humanoid, quiet, elliptic", humanoid, elliptic, 0.0),
        ("three humanoids", scene(MODELS / "three_humanoids.xml"), {}, 1.0),
        *(("G1", load, {}, 1.0) for load in g1),
        ("ant", scene(common.find_model("ant")), {}, 1.0),
        ("ten boxes", scene(MODELS / "solver" / "stack.xml"), {}, 1.0),
        ("gripper", scene(MODELS / "solver" / "gripper.xml"), {}, 1.0),
    ]
    for title, load, options, effort in cases:
        for solver, more in SOLVERS.items():
            model = load()
            for key, value in {**options, **more}.items():
                setattr(model.opt, key, value)
            settings = throughput.Settings(num_envs=256, device="cpu", num_threads=1, seconds=seconds, peer=False,
                                           effort=effort)  # fmt: skip
            figures = throughput.measure(model, settings, title).to_dict()
            accuracy = figures["accuracy"]
            rows.append([title, solver, f"{1e6 / figures['steps_per_core_second']['median']:.1f}",
                         f"{figures['iterations']:.1f}", f"{figures['contacts']:.1f}",
                         *(f"{accuracy[q] or 0:.0e}" for q in ("median", "p95", "p99")),
                         "yes" if accuracy["met"] else "no"])  # fmt: skip
            print(" ".join(rows[-1]), flush=True)
    return rows


def by_batch_size(sizes: list[int]) -> dict[int, float]:
    """Microseconds of a step of one humanoid, by the size of the batch."""
    model = ds.Model.from_mjcf(MODELS / "humanoid.xml")
    found = {}
    for size in sizes:
        settings = throughput.Settings(num_envs=size, device="cpu", num_threads=1, seconds=2.0, peer=False)
        found[size] = 1e6 / throughput.measure(model, settings).to_dict()["steps_per_core_second"]["median"]
    return found


def by_contacts(most: int) -> dict[int, float]:
    """Microseconds of a step of one humanoid, in batches whose environments all have so many contacts."""
    model = ds.Model.from_mjcf(MODELS / "humanoid.xml")
    rng = np.random.default_rng(0)
    with ds.Batch(model, 256, device="cpu", num_threads=1) as batch:
        controls = Controls(model, rng)
        pool = play(batch, controls, 5, 3.0, rng).states
        counts = []
        for start in range(0, len(pool), 256):
            pool.take(np.arange(start, min(start + 256, len(pool))) % len(pool)).put(batch)
            batch.forward()
            counts.append(host(batch._view("contact_count")))
        counts = np.concatenate(counts)[: len(pool)]
        found = {}
        for wanted in range(most + 1):
            rows = np.flatnonzero(counts == wanted)
            if len(rows) < 32:
                continue
            spent = []
            for _ in range(60):
                pool.take(rng.choice(rows, 256)).put(batch)
                batch.ctrl = controls.draw(256, dtype=batch.dtype)
                began = time.process_time()
                batch.step(1)
                spent.append((time.process_time() - began) / 256)
            found[wanted] = 1e6 * float(np.median(spent))
    return found


def name_points(axes: Any, points: list[tuple[str, float, float]]) -> None:
    """Writes the names of points (name, x, y) beside them, where neither the frame nor a point nor another name is."""
    from matplotlib.transforms import Bbox

    axes.figure.draw_without_rendering()
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in axes.transData.transform([point[1:] for point in points])]
    frame = axes.get_window_extent()
    for name, *at in points:
        best: tuple[float, Any, Any] | None = None
        for lift, (side, align) in itertools.product((0, 7, -7, 14, -14, 21, -21), ((6, "left"), (-6, "right"))):
            text = axes.annotate(
                name, at, fontsize=7, xytext=(side, lift), textcoords="offset points", ha=align, va="center"
            )
            box = text.get_window_extent()
            within = Bbox.intersection(box, frame)
            missing = box.width * box.height - (within.width * within.height if within else 0)
            overlaps = [Bbox.intersection(box, other) for other in taken]
            spoilt = missing + sum(one.width * one.height for one in overlaps if one)
            text.remove()
            if best is None or spoilt < best[0]:
                best = spoilt, (side, lift, align), box
        assert best is not None
        side, lift, align = best[1]
        axes.annotate(name, at, fontsize=7, xytext=(side, lift), textcoords="offset points", ha=align, va="center")
        taken.append(best[2])


def draw(figures: dict[str, Any], path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (dofs, contacts, sizes) = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    points = []
    for one in figures["one_thread"]:
        spent = 1e6 / one["steps_per_second"]["median"]
        # RK4 evaluates the model four times a step
        spent /= 4 if one["model"]["integrator"] == "rk4" else 1
        dofs.plot(one["model"]["nv"], spent, "o", color="#1f6f8b")
        points.append((one["title"], one["model"]["nv"], spent))
    dofs.set(xscale="log", yscale="log", xlabel="degrees of freedom", ylabel="us of one core an evaluation",
             title="cost by model")  # fmt: skip
    dofs.set_xticks([2, 5, 10, 20, 50, 100], labels=["2", "5", "10", "20", "50", "100"])
    dofs.minorticks_off()
    dofs.set_xlim(1.5, 250)
    contacts.plot(*zip(*sorted(figures["by_contacts"].items()), strict=True), "o-", color="#1f6f8b")
    contacts.set(
        xlabel="contacts of the humanoid", ylabel="us of one core a step", ylim=(0, None), title="cost by contacts"
    )
    sizes.plot(*zip(*sorted(figures["by_batch_size"].items()), strict=True), "o-", color="#1f6f8b")
    sizes.set(xscale="log", xlabel="humanoids in the batch", ylabel="us of one core a step", ylim=(0, None),
              title="cost by batch size")  # fmt: skip
    for axes in (dofs, contacts, sizes):
        axes.grid(alpha=0.25)
    name_points(dofs, points)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=pathlib.Path, required=True, help="folder for cpu-PROCESSOR-INSTRUCTIONS.md, .json and .png"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the time: figures are rough")
    parser.add_argument("--no-robots", action="store_true", help="leave out Unitree's robots")
    args = parser.parse_args()
    seconds = 1.0 if args.quick else 10.0
    args.out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {
        "processor": processor(),
        "commit": receipt.commit(HERE),
        **measure_models(seconds, not args.no_robots),
    }
    figures["scaling"] = measure_scaling(seconds, not args.no_robots)
    figures["by_batch_size"] = by_batch_size([1, 4, 16, 64, 256, 1024] + ([] if args.quick else [4096, 16384]))
    figures["by_contacts"] = by_contacts(12)
    figures["solvers"] = measure_solvers(seconds / 4, not args.no_robots)
    path = args.out / f"cpu-{slug(processor())}-{instructions(figures)}"
    path.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")
    write_tables(figures, path.with_suffix(".md"))
    draw(figures, path.with_suffix(".png"))
    print(f"written: {path}.md, .json, .png")


def stages(measured: list[dict[str, Any]]) -> str:
    """Share of the ticks of a step that each stage takes; stages by their part in the first model, the largest
    first."""
    names = list(dict.fromkeys(name for one in measured for name in one["stages"]))
    rows = [[name, *(f"{100 * one['stages'].get(name, 0):.0f}%" for one in measured)] for name in names]
    return table(["stage", *(one["title"] for one in measured)], rows)


def write_tables(figures: dict[str, Any], path: pathlib.Path) -> None:
    head = ["model", "dofs", "contacts", "steps/s", "mujoco.batch", "ratio (quartiles)", "error: median", "p95", "p99",
            "in target", "flagged"]  # fmt: skip
    def models(key: str) -> str:
        return table(head, [row(one) for one in figures[key]])

    def times(one: dict[str, Any], key: str) -> str:
        return f"{one[key]['median']:.2f} ({one[key]['low']:.2f} to {one[key]['high']:.2f})"

    scaling = [[one["title"], *(times(one, f"{way}_{num_envs}") for num_envs in (1024, 4096) for way in ("all", "apart"))]
               for one in figures["scaling"]]  # fmt: skip
    path.write_text(
        f"# Measured on {figures['processor']} ({instructions(figures)}), commit {figures['commit']}\n\n## One thread\n\n{models('one_thread')}\n## All threads\n\n{models('all_threads')}\n"
        f"## Speed of all threads over one\n\nThe same steps, interleaved: times as fast (quartiles). Apart: as many batches "
        f"of one thread each at once, the machine's own limit.\n\n"
        f"{table(['model', '1,024 environments', 'apart', '4,096', 'apart'], scaling)}\n"
        f"## Where the time goes, one thread\n\n{stages(figures['one_thread'])}\n"
        "## Solvers\n\n"
        + table(
            ["case", "solver", "us a step", "iterations", "contacts", "error: median", "p95", "p99", "in target"],
            figures["solvers"],
        )
    )


if __name__ == "__main__":
    main()
