"""Folders of runs: each training has its own, `latest` is a link to the last one, and checkpoints are kept.

out/train/Hopper-0/20261124-210512/latest.pt         the whole training, to go on with
                                  /checkpoints/      what it was, at equal distances
                                  /curve.csv, curve.png, video.mp4
out/train/Hopper-0/latest                            a link to the run that was begun last
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path

from dualstep._folders import FolderError, explain, make_folder

LATEST = "latest.pt"
LINK = "latest"
KEPT = "checkpoints"


def new_run(parent: Path, now: float | None = None) -> Path:
    """A folder for a run that begins now, and the link to it."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    make_folder(parent, "no run")
    folder, number = parent / stamp, 1
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            number += 1
            folder = parent / f"{stamp}-{number}"
        except OSError as error:
            raise FolderError(f"no run can be written to '{parent}': {explain(error)}") from None
    link, beside = parent / LINK, parent / f".{LINK}-{os.getpid()}"
    # where there are no links, the newest folder is found by its name
    with contextlib.suppress(OSError):
        beside.symlink_to(folder.name, target_is_directory=True)
        beside.replace(link)
    return folder


def own_folder(folder: Path) -> Path:
    """A folder that the user named for one run: refused where there is a run in it."""
    make_folder(folder, "no run")
    for name in (LATEST, "curve.csv"):
        if (folder / name).exists():
            raise FolderError(
                f"'{folder}' holds a run: --resume goes on with it, and another --out begins one beside it"
            )
    return folder


def hold(folder: Path) -> int | None:
    """Keeps others from training into a folder until the file that is returned is closed, or the process ends;
    FolderError where another one holds it. None where the file system has no locks."""
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if isinstance(error, BlockingIOError):
            told = f"another training writes to '{folder}': it must end before, or --out names another"
            raise FolderError(told) from None
        return None
    return file


def find_checkpoint(path: Path) -> Path:
    """A checkpoint: the file, that of a run's folder, or that of the last run in a folder of runs."""
    if not path.is_dir():
        return path
    # a folder of runs may hold one that was written before each had its own
    if (path / LINK / LATEST).is_file():
        return (path / LINK).resolve() / LATEST
    if (path / LATEST).is_file():
        return path / LATEST
    runs = sorted(path.glob(f"*/{LATEST}"), key=lambda found: found.stat().st_mtime)
    return runs[-1] if runs else path / LATEST


class Keeper:
    """Keeps `count` checkpoints of a run, at equal distances of steps; the last one is `latest.pt` alone."""

    def __init__(self, folder: Path, count: int, total_steps: int, steps: int = 0) -> None:
        self._folder, self._every = folder / KEPT, total_steps / count if count else float("inf")
        self._due = (steps // self._every + 1) * self._every if count else float("inf")

    def due(self, steps: int) -> bool:
        return steps >= self._due

    def keep(self, latest: Path, steps: int) -> Path:
        """The file that was just written, by another name: a link to the same bytes where there are such."""
        self._due = (steps // self._every + 1) * self._every
        self._folder.mkdir(exist_ok=True)
        kept = self._folder / f"{steps:012d}.pt"
        kept.unlink(missing_ok=True)
        try:
            os.link(latest, kept)
        except OSError:
            shutil.copyfile(latest, kept)
        return kept
