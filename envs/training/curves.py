"""Curves of training: a table that other programs read, and a plot."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_table(path: Path, curve: Sequence[Any]) -> None:
    """A line for each update."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if curve:
            writer.writerow(curve[0]._fields)
        writer.writerows(curve)


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
