"""What a step costs as a scene grows: heaps, walls and tables of free bodies, humanoids at rest and driven, beside mujoco.batch.

    python bench/bodies.py                                  # all scenes, ten minutes on one core
    python bench/bodies.py --scenes heap --sizes 5 20 80    # some of them
    python bench/bodies.py --out bench/results/bodies.md --plot bench/results/bodies.png

Both start from the same states in the middle of MuJoCo's motion, warm started, on one thread; calls take turns, and
figures are medians of processor time. The error is that of an acceleration against the converged solution in double
precision, relative in the norm of the mass matrix, of each side against its own contacts.
"""

from __future__ import annotations

import argparse
import copy
import pathlib
import time
from collections.abc import Callable

import mujoco
import mujoco.batch
import numpy as np

import dualstep as ds
from dualstep.measure.accuracy import relative_error

HERE = pathlib.Path(__file__).parent
SIZES = {
    "heap": (5, 10, 20, 40, 80, 200),
    "wall": (8, 16, 32, 64, 128),
    "table": (3, 5, 10, 20, 40),
    "humanoids": (1, 3, 10, 20, 32),
    "driven": (1, 3, 10, 20),
}
SHAPES = {
    "box": "size='.06 .05 .04'",
    "sphere": "size='.06'",
    "capsule": "size='.04 .05'",
    "cylinder": "size='.05 .05'",
}
FIELDS = ("qpos", "qvel", "qacc_warmstart", "ctrl")


def heap(count: int) -> str:
    """Mixed bodies that fall into a bin."""
    rng = np.random.default_rng(count)
    half = 0.12 * max(1.0, (count / 3) ** (1 / 3))
    across = max(1, int(half / 0.11))
    walls = [(half + 0.05, 0, 0.05, half + 0.1), (-half - 0.05, 0, 0.05, half + 0.1)]
    walls += [(y, x, sy, sx) for x, y, sx, sy in walls]
    parts = [f"<geom type='box' pos='{x} {y} .5' size='{sx} {sy} .5'/>" for x, y, sx, sy in walls]
    for i in range(count):
        layer, place = divmod(i, across**2)
        x, y = ((k - (across - 1) / 2) * 1.9 * half / across for k in divmod(place, across))
        quat = " ".join(f"{q:.3f}" for q in rng.normal(size=4))
        shape = list(SHAPES)[i % len(SHAPES)]
        parts.append(
            f"<body pos='{x:.4f} {y:.4f} {0.1 + 0.16 * layer:.3f}' quat='{quat}'><freejoint/>"
            f"<geom type='{shape}' {SHAPES[shape]} density='500'/></body>"
        )
    return world(parts)


def wall(count: int) -> str:
    """Bricks in courses, each over the gap of those below."""
    courses = max(2, int(count**0.5))
    brick = "<freejoint/><geom type='box' size='.1 .05 .05' density='500'/>"
    return world(
        f"<body pos='{(i % courses + 0.5 * (i // courses % 2)) * 0.205} 0 {0.05 + 0.1 * (i // courses)}'>{brick}</body>"
        for i in range(count)
    )


def table(count: int) -> str:
    """Loose bodies on a table, and an arm of seven joints whose hand lies among them."""
    rng = np.random.default_rng(count)
    across = max(2, int(np.ceil(count**0.5)))
    parts = ["<geom type='box' pos='.5 0 .2' size='.5 .6 .2'/>"]
    for i in range(count):
        x, y = (0.17 * (k - (across - 1) / 2) for k in divmod(i, across))
        quat = " ".join(f"{q:.3f}" for q in rng.normal(size=4))
        shape = list(SHAPES)[i % len(SHAPES)]
        parts.append(
            f"<body pos='{0.5 + x:.3f} {y:.3f} .52' quat='{quat}'><freejoint/>"
            f"<geom type='{shape}' {SHAPES[shape]} density='500'/></body>"
        )
    links = ""
    for k in reversed(range(7)):
        axis = ("0 0 1", "0 1 0")[k % 2]
        links = (
            f"<body pos='{'0 0 0' if k == 0 else '.16 0 0'}'><joint axis='{axis}' damping='2' armature='.1'/>"
            f"<geom type='capsule' fromto='0 0 0 .16 0 0' size='.035' mass='1'/>{links}</body>"
        )
    return world([*parts, f"<body pos='-.1 0 .8'>{links}</body>"])


def world(parts) -> str:
    """A plane and what stands on it, under elliptic cones."""
    return (
        "<mujoco><option cone='elliptic' timestep='.002'/><worldbody><geom type='plane' size='5 5 .1'/>"
        f"{''.join(parts)}</worldbody></mujoco>"
    )


def humanoids(count: int) -> str:
    """The benchmark's humanoid, again and again."""
    parent = mujoco.MjSpec.from_file(str(HERE / "models" / "humanoid.xml"))
    for i in range(1, count):
        child = mujoco.MjSpec.from_file(str(HERE / "models" / "humanoid.xml"))
        for geom in list(child.worldbody.geoms):
            child.delete(geom)
        frame = parent.worldbody.add_frame(pos=[1.2 * (i % 4), 1.2 * (i // 4), 0])
        parent.attach(child, prefix=f"{i}_", frame=frame)
    parent.compile()
    return parent.to_xml()


def driven(count: int) -> str:
    """Humanoids under random actions, which fall on each other."""
    return humanoids(count)


def middle(model: mujoco.MjModel, count: int, amplitude: float = 0.0) -> dict[str, np.ndarray]:
    """States along one motion of MuJoCo, and of driven models along one of random actions for each."""
    data, rows, rng = mujoco.MjData(model), [], np.random.default_rng(0)
    if amplitude == 0.0:
        mujoco.mj_step(model, data, 250)
    for row in range(count):
        if amplitude == 0.0:
            mujoco.mj_step(model, data, 12)
        else:
            mujoco.mj_resetData(model, data)
            for _ in range(30 + 2 * row):
                data.ctrl[:] = rng.uniform(-amplitude, amplitude, model.nu)
                mujoco.mj_step(model, data, 5)
        rows.append([getattr(data, name).copy() for name in FIELDS])
    return {name: np.array([row[k] for row in rows]) for k, name in enumerate(FIELDS)}


def put(batch, states: dict[str, np.ndarray]) -> None:
    """Gives a batch, of either side, the states."""
    for name, values in states.items():
        getattr(batch, name)[...] = values


def seconds_of(step, steps: int) -> float:
    """Processor time of a call."""
    start = time.process_time()
    step(steps)
    return time.process_time() - start


def errors(sim: ds.Batch, model: ds.Model, states: dict[str, np.ndarray], peer: mujoco.MjModel) -> tuple[float, float]:
    """The median error of the accelerations at the states: of the batch, and of MuJoCo with the options of `peer`.

    `model` is another one of the batch's, which gets the options of a solution to the end.
    """
    model.opt.tolerance, model.opt.iterations = 1e-10, 100
    converged = copy.copy(peer)
    converged.opt.tolerance, converged.opt.iterations, converged.opt.ls_iterations = 0, 200, 200
    best = ds.Batch(model, len(states["qpos"]), dtype="float64")
    data, masses, theirs = mujoco.MjData(peer), [], []
    for row in range(len(states["qpos"])):
        found = []
        for options in (peer, converged):
            for name, values in states.items():
                getattr(data, name)[:] = values[row]
            mujoco.mj_forward(options, data)
            found.append(data.qacc.copy())
        masses.append(np.zeros((peer.nv, peer.nv)))
        mujoco.mj_fullM(peer, data, masses[-1])
        theirs.append((*found, data.qacc_smooth.copy()))
    for batch in (sim, best):
        put(batch, states)
        batch.forward()
    ours = [np.array(x, float) for x in (sim.qacc, best.qacc, best.qacc_smooth)]
    both = (ours, [np.array(x) for x in zip(*theirs, strict=True)])
    one, other = (float(np.median(relative_error(a, b, c, np.array(masses)))) for a, b, c in both)
    return one, other


def compare(
    name: str,
    load: Callable[[], ds.Model],
    model: mujoco.MjModel,
    states: dict[str, np.ndarray],
    steps: int,
    rounds: int,
) -> str:
    """A line of the table: `load` makes the model that a batch takes."""
    envs = len(states["qpos"])
    sim, peer = ds.Batch(load(), envs, num_threads=1), mujoco.batch.Batch(model, envs, nthread=1)
    ours, theirs = [], []
    for _ in range(rounds):
        put(sim, states)
        ours.append(seconds_of(sim.step, steps))
        put(peer, states)
        theirs.append(seconds_of(lambda n: peer.step(nstep=n), steps))
    scale = 1e6 / envs / steps
    us, us_peer = float(np.median(ours)) * scale, float(np.median(theirs)) * scale
    flagged = int(np.count_nonzero(np.array(sim.status)))
    error, error_peer = errors(sim, load(), states, model)
    return (
        f"| {name} | {model.nv} | {us:.1f} | {us_peer:.1f} | {us_peer / us:.2f} | "
        f"{error:.1e} | {error_peer:.1e} | {flagged} of {envs} |"
    )


def heading(kind: str, envs: int, rounds: int, steps: int) -> list[str]:
    """What was measured, and the head of the table."""
    here = ds.Batch(ds.Model.from_mjcf(heap(1)), 1, num_threads=1).description
    return [
        f"{here} and MuJoCo {mujoco.__version__}, {envs} environments, medians of {rounds} calls of {steps} steps.",
        "",
        f"| {kind} | dofs | us | us, mujoco.batch | ratio | median error | of MuJoCo | flagged |",
        "|---|---|---|---|---|---|---|---|",
    ]


def measure(kind: str, size: int, envs: int, steps: int, rounds: int) -> str:
    """A scene of so many bodies."""
    xml = globals()[kind](size)
    model = mujoco.MjModel.from_xml_string(xml)
    states = middle(model, envs, amplitude=1.0 if kind == "driven" else 0.0)
    return compare(f"{kind} of {size}", lambda: ds.Model.from_mjcf(xml), model, states, steps, rounds)


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--scenes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--sizes", nargs="+", type=int, help="of every scene")
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--steps", type=int, default=5, help="of a call")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=pathlib.Path, help="writes the table there")
    parser.add_argument("--plot", type=pathlib.Path, help="draws cost over size there")
    args = parser.parse_args()
    table = heading("scene", args.envs, args.rounds, args.steps)
    points: dict[str, list[tuple[int, float, float]]] = {}
    print(*table, sep="\n", flush=True)
    for kind in args.scenes:
        for size in args.sizes or SIZES[kind]:
            table.append(measure(kind, size, args.envs, args.steps, args.rounds))
            cells = table[-1].split("|")
            points.setdefault(kind, []).append((size, float(cells[3]), float(cells[4])))
            print(table[-1], flush=True)
    if args.out:
        args.out.write_text("\n".join(table) + "\n")
    if args.plot:
        draw(points, args.plot)


def draw(points: dict[str, list[tuple[int, float, float]]], path: pathlib.Path) -> None:
    """Cost over size, both sides."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(points), figsize=(4 * len(points), 3.2), squeeze=False)
    for axes, (kind, rows) in zip(panels[0], points.items(), strict=True):
        sizes, ours, theirs = zip(*rows, strict=True)
        axes.loglog(sizes, ours, "o-", label="dualstep")
        axes.loglog(sizes, theirs, "s-", label="mujoco.batch")
        axes.set(title=kind, xlabel="bodies", ylabel="us a step")
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
