"""The plot of a measurement: speed block by block, the errors against their target, the residuals."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dualstep.measure.accuracy import TARGET
from dualstep.measure.throughput import Measurement

OURS, PEER, LIMIT = "#1f6f8b", "#c8553d", "#777777"


def draw(found: Measurement, path: Path) -> None:
    """Writes a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (speed, error, residual) = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    _speed(speed, found)
    _distribution(error, found.errors, OURS, f"dualstep, {found.settings['dtype']}")
    if found.peer_errors is not None and found.peer_errors.size:
        _distribution(error, found.peer_errors, PEER, "mujoco.batch")
    for share, bound, name in zip((0.5, 0.95), TARGET, ("median", "95th percentile"), strict=True):
        error.plot([bound], [share], marker="v", color=LIMIT, linestyle="none", label=f"target: {name} {bound:g}")
    error.set(title="Error of a step's acceleration", xlabel="|qacc - qacc*|  /  |qacc* - qacc_smooth|   (M norm)",
              ylabel="share of steps below", ylim=(0, 1.02))  # fmt: skip
    error.legend(fontsize=8, loc="center")
    _distribution(residual, found.residuals, OURS, "reported by the kernels", floor=1e-12)
    residual.set(title="Residual of the solve", xlabel="relative KKT residual", ylabel="share of environments below",
                 ylim=(0, 1.02))  # fmt: skip
    for axes in (speed, error, residual):
        axes.grid(alpha=0.25)
    figure.suptitle(f"{found.model['name']}, {found.settings['num_envs']:,} environments, {found.runs_on}")
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def _speed(axes, found: Measurement) -> None:
    blocks = np.arange(1, len(found.blocks.wall) + 1)
    axes.plot(blocks, found.blocks.wall, "o-", color=OURS, label="dualstep")
    title = "Environment-steps per second"
    if found.peer_blocks is not None:
        axes.plot(blocks, found.peer_blocks.wall, "s-", color=PEER, label=f"mujoco.batch {found.peer_version}")
        ratio = np.median(np.array(found.blocks.wall) / np.array(found.peer_blocks.wall))
        title += f", ratio {ratio:.2f}"
    axes.set(title=title, xlabel="block", ylim=(0, None))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(fontsize=8)


def _distribution(axes, values: np.ndarray, color: str, label: str, floor: float = 1e-17) -> None:
    """The share of values below each; exact zeros stand at the floor."""
    if not values.size:
        return
    ordered = np.sort(np.maximum(values, floor))
    axes.plot(ordered, np.arange(1, ordered.size + 1) / ordered.size, color=color, label=label)
    axes.set_xscale("log")
