"""The curves of an audit: penetration, energy and contact force over time, the error over the timestep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

COLORS = ("#1f6f8b", "#99b898", "#c8553d", "#2a363b", "#e9a23b", "#7d5ba6", "#6c8ead", "#b56576", "#3d8361")


class Row(Protocol):
    """What a picture shows of one formulation (`audit.Row`)."""

    name: str
    refused: str
    time: list[float]
    curves: dict[str, list[float]]
    steps: list[float]
    errors: list[float]


def draw(shown: Sequence[Row], path: str | Path) -> None:
    """Writes a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(10, 6.4), layout="constrained")
    rows = [(row, COLORS[i % len(COLORS)]) for i, row in enumerate(shown) if not row.refused]
    titles = {
        "penetration": "penetration [m]",
        "energy": "energy beyond the work done [J]",
        "force": "normal force [N]",
    }
    for axes, (name, title) in zip(panels.flat, titles.items(), strict=False):
        for row, color in rows:
            values = np.array(row.curves[name])
            axes.plot(row.time, values, color=color, linewidth=1.1, label=row.name)
        axes.set(title=title, xlabel="time [s]")
    last = panels.flat[3]
    for row, color in rows:
        if row.errors:
            last.loglog(row.steps, np.maximum(row.errors, 1e-16), marker="o", color=color, label=row.name)
    last.set(title="error of the final position against h/8", xlabel="timestep h [s]")
    for axes in panels.flat:
        axes.grid(alpha=0.25)
    panels.flat[0].legend(fontsize=7)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
