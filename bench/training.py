"""Curves of training that are kept, and the picture and the table that envs/README.md shows of them.

    dualstep train Hopper --seed 1 --num-threads 1 --episodes 50 --out out/train/Hopper-1 --json > found.json
    mv found.json out/train/Hopper-1/
    python bench/training.py keep out/train/Hopper-1    # into bench/results/training/: some 200 points, and the figures
    python bench/training.py draw                       # envs/pictures/training.png, and the table on stdout
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE / "results" / "training"
PICTURE = HERE.parent / "envs" / "pictures" / "training.png"
POINTS = 200
COLUMNS = ("steps", "seconds", "processor", "episode_return", "episode_length", "std")
# what a policy is wanted to reach; of Ant and Humanoid, the curve is
GOALS = {"InvertedDoublePendulum": 9100.0, "HalfCheetah": 2000.0, "Hopper": 1000.0}
ORDER = (*GOALS, "Ant", "Humanoid")


def read(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def keep(folder: Path) -> None:
    """A run, thinned: single points, not means of several, with the first and the last."""
    rows = read(folder / "curve.csv")
    count = min(POINTS, len(rows))
    chosen = [rows[round(i * (len(rows) - 1) / max(count - 1, 1))] for i in range(count)]
    with open(KEPT / f"{folder.name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([f"{float(row[name]):.6g}" for name in COLUMNS] for row in chosen)
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    told = {name: found[name] for name in found if name not in ("folder", "video", "no_video")}
    (KEPT / f"{folder.name}.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def runs() -> dict[str, list[Path]]:
    """The curves of each task, by seed."""
    found = sorted(KEPT.glob("*-*.csv"))
    return {task: [path for path in found if path.stem.rpartition("-")[0] == task] for task in ORDER}


def table() -> str:
    lines = [
        "| task, seed | steps | processor | simulation, learning, rest | return here | return on MuJoCo | kept |",
        "|---|---|---|---|---|---|---|",
    ]
    for task, paths in runs().items():
        for path in paths:
            found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            share = ", ".join(f"{100 * found['share'][name]:.0f}" for name in ("simulation", "learning", "glue"))
            here, there = found["return"], found["gymnasium"]
            lines.append(
                f"| {task}, {found['seed']} | {found['steps'] / 1e6:.2f} M | {found['processor_seconds']:.0f} s | "
                f"{share} % | {here['mean']:.0f} ± {here['std']:.0f} | "
                f"{there['mean']:.0f} ± {there['std']:.0f} | {there['mean'] / here['mean']:.0%} |"
            )
    return "\n".join(lines)


def draw() -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    known = {task: paths for task, paths in runs().items() if paths}
    height = -(-len(known) // 3)
    figure, axes = pyplot.subplots(height, 3, figsize=(10, 2.9 * height), squeeze=False, layout="constrained")
    for axis in axes.flat[len(known) :]:
        axis.set_visible(False)
    for axis, (task, paths) in zip(axes.flat, known.items(), strict=False):
        longest = 0.0
        for path, color in zip(paths, ("#1f6f8b", "#c8553d", "#e9a23b", "#3d8361"), strict=False):
            rows = read(path)
            seconds = [float(row["processor"]) / 60 for row in rows]
            longest = max(longest, seconds[-1])
            returns = [float(row["episode_return"]) for row in rows]
            axis.plot(seconds, returns, color=color, linewidth=1.2, label=f"seed {path.stem.rpartition('-')[2]}")
        # episodes of the pendulum are cut short while it learns: its returns there are of another scale
        if task in GOALS and task != "InvertedDoublePendulum":
            axis.axhline(GOALS[task], color="0.4", linewidth=0.8, linestyle="--")
        axis.set(title=task, xlabel="processor time [min]", xlim=(0, longest))
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7, loc="lower right")
    for row in axes:
        row[0].set_ylabel("return while learning")
    figure.savefig(PICTURE, dpi=100)
    pyplot.close(figure)


def main(words: list[str]) -> int:
    if words[:1] == ["keep"] and len(words) > 1:
        for word in words[1:]:
            keep(Path(word))
    elif words == ["draw"]:
        draw()
        print(table())
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
