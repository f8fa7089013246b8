"""What the collision of two convex hulls costs, by their vertices and by how many pairs there are, beside MuJoCo.

    python bench/hulls.py --out bench/results/hulls.md --plot bench/results/hulls.png

Hulls of random points on an ellipsoid of 12 by 10 by 8 cm stand in pairs, far from each other, and overlap by one or by
ten millimetres, in other poses in every environment. Here the share of a step that is collision, by its ticks; there processor
time of `mj_collision`, which filters pairs as well. Both on one core, calls interleaved, medians. `multiccd` is on, so that
faces have several points of contact, and off.
"""

from __future__ import annotations

import argparse
import pathlib
import time

import mujoco
import numpy as np

import dualstep as ds

VERTICES = (8, 16, 32, 64, 128, 200, 500, 1000)
PAIRS = (1, 2, 4, 8, 16, 32)
SEMIAXES, DEPTHS = (0.06, 0.05, 0.04), (0.001, 0.01)


def scene(vertices: int, pairs: int, multiccd: bool) -> str:
    """Pairs of hulls of so many vertices, a metre from each other."""
    rng = np.random.default_rng(vertices)
    meshes, bodies = [], []
    for k in range(2):
        points = rng.normal(size=(vertices, 3))
        points *= np.array(SEMIAXES) / np.linalg.norm(points, axis=1, keepdims=True)
        meshes.append(f"<mesh name='hull{k}' vertex='{' '.join(f'{x:.5f}' for x in points.ravel())}'/>")
    for i in range(pairs):
        for k in range(2):
            bodies.append(f"<body pos='{i} 0 {0.09 * k}'><freejoint/><geom type='mesh' mesh='hull{k}'/></body>")
    flag = "<flag multiccd='enable'/>" if multiccd else "<flag multiccd='disable'/>"
    return (
        f"<mujoco><option gravity='0 0 0'>{flag}</option><asset>{''.join(meshes)}</asset>"
        f"<worldbody>{''.join(bodies)}</worldbody></mujoco>"
    )


def poses(model: mujoco.MjModel, envs: int, depth: float) -> np.ndarray:
    """Positions in which the hulls of a pair overlap so deep: each turned at random, the second moved along the normal."""
    rng, data = np.random.default_rng(0), mujoco.MjData(model)
    qpos = np.repeat(model.qpos0[None], envs, axis=0).reshape(envs, -1, 7)
    qpos[:, :, 3:] = rng.normal(size=qpos[:, :, 3:].shape)
    qpos[:, :, 3:] /= np.linalg.norm(qpos[:, :, 3:], axis=2, keepdims=True)
    qpos[:, 1::2, :2] += rng.uniform(-0.02, 0.02, size=qpos[:, 1::2, :2].shape)
    qpos[:, 1::2, 2] += 0.05  # apart, so that the nearest points are unique
    ends = np.zeros(6)
    for row in qpos:
        data.qpos[:] = row.ravel()
        mujoco.mj_kinematics(model, data)
        for k in range(0, len(row), 2):
            apart = mujoco.mj_geomDistance(model, data, k, k + 1, 1.0, ends)
            row[k + 1, :3] -= (ends[3:] - ends[:3]) / apart * (apart + depth)
    return qpos.reshape(envs, -1)


def measure(
    vertices: int, pairs: int, multiccd: bool, depth: float, envs: int, rounds: int
) -> tuple[float, float, float, float]:
    """Microseconds a pair, here and of MuJoCo, and contacts a pair of either."""
    xml = scene(vertices, pairs, multiccd)
    model = mujoco.MjModel.from_xml_string(xml)
    qpos, data = poses(model, envs, depth), mujoco.MjData(model)
    sim = ds.Batch(ds.Model.from_mjcf(xml), envs, num_threads=1)
    ours, theirs, contacts = [], [], 0
    some = qpos[: max(1, 256 // pairs)]  # a call of mj_collision is one environment's
    for _ in range(rounds):
        sim.reset()
        sim.qpos[:] = qpos
        sim._core.time_stages(True)
        start = time.process_time()
        sim.forward()
        seconds = time.process_time() - start
        ticks = sim._core.stage_ticks()
        sim._core.time_stages(False)
        ours.append(seconds * ticks["collide"] / sum(ticks.values()))
        spent, contacts = 0.0, 0
        for row in some:
            data.qpos[:] = row
            mujoco.mj_kinematics(model, data)
            start = time.perf_counter()
            mujoco.mj_collision(model, data)
            spent += time.perf_counter() - start
            contacts += data.ncon
        theirs.append(spent / len(some))
    scale = 1e6 / pairs
    return (
        float(np.median(ours)) * scale / envs,
        float(np.median(theirs)) * scale,
        float(np.mean(sim.contact_count)) / pairs,
        contacts / len(some) / pairs,
    )


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=pathlib.Path, help="writes the table there")
    parser.add_argument("--plot", type=pathlib.Path, help="draws cost over vertices and over pairs there")
    args = parser.parse_args()
    description = ds.Batch(ds.Model.from_mjcf(scene(8, 1, False)), 1, num_threads=1).description
    table = [
        f"{description} and MuJoCo {mujoco.__version__}, {args.envs} environments, medians of {args.rounds} calls.",
        "",
        "| vertices | pairs | depth, mm | multiccd | us a pair | us, mj_collision | ratio | contacts a pair | of MuJoCo |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print(*table, sep="\n", flush=True)
    cases = [(v, 8, False, DEPTHS[0]) for v in VERTICES] + [(v, 8, False, DEPTHS[1]) for v in VERTICES]
    cases += [(v, 8, True, DEPTHS[0]) for v in VERTICES] + [(64, p, False, DEPTHS[0]) for p in PAIRS]
    points: dict[tuple[int, int, bool, float], tuple[float, float]] = {}
    for case in cases:
        vertices, pairs, flag, depth = case
        one, other, here, there = measure(*case, args.envs, args.rounds)
        points[case] = (one, other)
        table.append(
            f"| {vertices} | {pairs} | {1e3 * depth:.0f} | {'on' if flag else 'off'} | {one:.2f} | {other:.2f} | "
            f"{other / one:.1f} | {here:.1f} | {there:.1f} |"
        )
        print(table[-1], flush=True)
    if args.out:
        args.out.write_text("\n".join(table) + "\n")
    if args.plot:
        draw(points, args.plot)


def draw(points: dict[tuple[int, int, bool, float], tuple[float, float]], path: pathlib.Path) -> None:
    """Cost over vertices, and over pairs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6))
    kinds = {
        "": (False, DEPTHS[0], "-"),
        ", 10 mm deep": (False, DEPTHS[1], ":"),
        ", multiccd": (True, DEPTHS[0], "--"),
    }
    for name, (flag, depth, style) in kinds.items():
        for side, label, colour in ((0, "dualstep", "C0"), (1, "mj_collision", "C1")):
            values = [points[v, 8, flag, depth][side] for v in VERTICES]
            left.loglog(VERTICES, values, f"o{style}", color=colour, label=label + name)
    for side, label in ((0, "dualstep"), (1, "mj_collision")):
        right.loglog(PAIRS, [p * points[64, p, False, DEPTHS[0]][side] for p in PAIRS], "o-", label=label)
    left.set(xlabel="vertices of a hull", ylabel="us a pair")
    right.set(xlabel="pairs of hulls of 64 vertices", ylabel="us an environment")
    left.set_ylim(0.1, 8)  # room for the legend below
    left.legend(fontsize="x-small", loc="lower right", ncols=2)
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
