"""What a training leaves behind while it runs: checkpoints, the table of its curve, TensorBoard, Weights & Biases."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dualstep._folders import explain
from dualstep.envs.training import curves
from dualstep.envs.training.finite import check
from dualstep.envs.training.runs import LATEST, Keeper


class Recorder:
    """Writes to the folder of a run. `leads`: of several processes, the one that writes; all of them call `save`.

    `say` is told, once, what could not be written while the training went on.
    """

    def __init__(self, folder: Path, learner: Any, *, leads: bool, kept: int, say: Callable[[str], None]) -> None:
        self.folder, self.learner, self.leads = folder, learner, leads
        self._say, self._complained = say, False
        self._keeper = Keeper(folder, kept if leads else 0, learner.settings.total_steps, learner.steps)
        self._writers: list[Callable[[int, dict[str, float]], None]] = []
        self._ends: list[Callable[[], None]] = []

    def tensorboard(self) -> None:
        """Curves for TensorBoard, in the folder."""
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(self.folder))

        def write(step: int, values: dict[str, float]) -> None:
            for name, value in values.items():
                writer.add_scalar(name, value, step)

        self._writers.append(write)
        self._ends.append(writer.close)

    def wandb(self, project: str) -> None:
        """Curves for Weights & Biases."""
        import wandb  # pyright: ignore[reportMissingImports]

        learner = self.learner
        config = {"task": learner.task, "seed": learner.seed, **learner.settings.as_dict()}
        run = wandb.init(project=project, name=f"{learner.task}-{learner.seed}", config=config, dir=str(self.folder))
        self._writers.append(lambda step, values: run.log(values, step=step))
        self._ends.append(run.finish)

    def point(self, point: Any) -> None:
        """After each update."""
        if not self._writers:
            return
        values = {
            "episode/return": point.episode_return,
            "episode/length": point.episode_length,
            "policy/std": point.std,
            "policy/learning_rate": point.learning_rate,
            "loss/value": point.value_loss,
            "time/seconds": point.seconds,
            "time/processor_seconds": point.processor,
            "nonfinite": float(sum(self.learner.nonfinite.values())),
        }
        values = {name: value for name, value in values.items() if value == value}
        for write in self._writers:
            with self._excused():
                write(point.steps, values)

    @contextlib.contextmanager
    def _excused(self) -> Any:
        """A disk that is full now may not be so in an hour: the training goes on."""
        try:
            yield
        except OSError as error:
            if not self._complained:
                self._say(f"nothing can be written to '{self.folder}', training goes on: {explain(error)}")
            self._complained = True

    def due(self, steps: int) -> bool:
        """Whether a checkpoint is to be kept now."""
        return self._keeper.due(steps)

    def save(self, *, last: bool = False) -> None:
        """Checkpoint and curve; with `last` an OSError is the caller's. Weights that are no numbers are not saved."""
        check(self.learner, self.learner.iteration)
        with contextlib.nullcontext() if last else self._excused():
            self.learner.save(self.folder / LATEST)
            if self.leads:
                curves.write_table(self.folder / "curve.csv", self.learner.curve)
                if self.due(self.learner.steps):
                    self._keeper.keep(self.folder / LATEST, self.learner.steps)

    def close(self) -> None:
        for end in self._ends:
            with self._excused():
                end()


def tensorboard_is_there() -> bool:
    return importlib.util.find_spec("tensorboard") is not None
