"""The picture of a policy's audit: return, energy of contacts, penetration and slip, a bar for each law."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dualstep.envs.contact import LAWS


class Row(Protocol):
    """What a picture shows of one law (`contact_audit.Row`)."""

    name: str
    refused: str
    figures: dict[str, float | None]


PANELS = {
    "return": ("return", 1.0), "given": ("energy that contacts gave [W]", 1.0),
    "penetration": ("mean of the deepest overlap [mm]", 1e3), "slip": ("slip of loaded contacts [mm/s]", 1e3),
}  # fmt: skip
# of a law by its index among the contact models; later ones are OTHER, and so is what is no law
PALETTE = ("#1f6f8b", "#c8553d", "#e9a23b", "#7d5ba6", "#b56576", "#3d8361")
TRAINED, OTHER = "#2a363b", "#99b898"
COLORS = {"as trained": TRAINED, **dict(zip(LAWS, PALETTE, strict=False))}


def draw(title: str, shown: Sequence[Row], path: str | Path) -> None:
    """Writes a picture; laws that were refused are left out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in shown if not row.refused]
    places = range(len(rows))
    colors = [COLORS.get(row.name.partition(",")[0].partition(":")[0], OTHER) for row in rows]
    figure, panels = pyplot.subplots(1, 4, figsize=(12, 0.26 * len(rows) + 1.3), sharey=True, layout="constrained")
    for axes, (name, (what, scale)) in zip(panels, PANELS.items(), strict=True):
        values = [scale * (row.figures[name] or 0.0) for row in rows]
        errors = [row.figures["return_error"] or 0.0 for row in rows] if name == "return" else None
        axes.barh(places, values, xerr=errors, color=colors, height=0.7)
        axes.axvline(values[0], color=TRAINED, linewidth=0.8, linestyle=":")
        axes.set_title(what, fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(axis="x", alpha=0.25)
    panels[0].set_yticks(places, [row.name for row in rows])
    panels[0].invert_yaxis()
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
