"""Checkpoints as files: written whole or not at all, with the files of a task's own: its model, its motors' network."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import torch

from dualstep.envs import assets, motors


def own_model(task: Any) -> tuple[str, bytes] | None:
    """The model of a task by its name, where that is a file of the user's own."""
    model = task.model if task.motor is None else task.motor.given
    return None if task.model_name is None else (task.model_name, assets.encode(model.mj_model))


def brought(task: Any) -> dict[str, Any]:
    """What a checkpoint brings along, so that it needs no other file: the task's own model, its motors' network."""
    return {"model": own_model(task), "motor": motors.stored(task.motor)}


def write_checkpoint(path: Path, whole: dict[str, Any]) -> None:
    """As `write_whole`."""
    buffer = io.BytesIO()
    torch.save(whole, buffer)
    write_whole(path, buffer.getbuffer())


def write_whole(path: Path, contents: bytes | memoryview) -> None:
    """All of it or nothing: what was there stays where the writing is cut off."""
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
            file.write(contents)
        beside.replace(path)
    except BaseException:
        # what was cut off is of no use to anyone
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
