"""Curves of training: a table that other programs read, and plots.

    python -m dualstep.envs.training.curves curves.png out/train/Hopper-0 out/train/Hopper-1

draws the runs of each task together, from their folders.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dualstep.envs.training.runs import find_checkpoint


def write_table(path: Path, curve: Sequence[Any]) -> None:
    """A line for each update."""
    beside = path.with_name(path.name + ".part")
    with open(beside, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if curve:
            writer.writerow(curve[0]._fields)
        writer.writerows(curve)
    beside.replace(path)


def draw(path: Path, title: str, curve: Sequence[Any]) -> None:
    """Return against steps and against seconds."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    shown = [point for point in curve if point.episode_return == point.episode_return]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, constrained_layout=True)
    returns = [point.episode_return for point in shown]
    axes[0].plot([point.steps / 1e6 for point in shown], returns, color="tab:blue")
    axes[0].set(xlabel="environment steps [million]", ylabel="return (mean of 100 episodes)")
    axes[1].plot([point.seconds / 60 for point in shown], returns, color="tab:blue")
    axes[1].set(xlabel="wall clock [min]")
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def read_table(path: Path) -> dict[str, list[float]]:
    """The columns of a table."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def draw_runs(path: Path, folders: Sequence[Path]) -> None:
    """Return against steps; a panel for each task, a line for each run of it (folders are TASK-SEED)."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    tasks = list(dict.fromkeys(folder.name.rpartition("-")[0] for folder in folders))
    figure, axes = plt.subplots(1, len(tasks), figsize=(4.2 * len(tasks), 3.2), squeeze=False, constrained_layout=True)
    for axis, task in zip(axes[0], tasks, strict=True):
        for folder in folders:
            name, _, seed = folder.name.rpartition("-")
            if name == task:
                # the folder of a run, or of several, of which the last one is meant
                table = read_table(find_checkpoint(folder).parent / "curve.csv")
                axis.plot([steps / 1e6 for steps in table["steps"]], table["episode_return"], label=f"seed {seed}")
        axis.set(title=task, xlabel="environment steps [million]", ylabel="return while learning")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw_runs(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
