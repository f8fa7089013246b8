"""Folders that results go into: made, or refused before there is anything to write."""

from __future__ import annotations

import os
from pathlib import Path


class FolderError(ValueError):
    """A folder that results cannot be written to."""


def explain(error: OSError) -> str:
    """What an error of the file system says, in a line."""
    where = f": '{error.filename}'" if error.filename else ""
    return f"{(error.strerror or str(error) or type(error).__name__).lower()}{where}"


def make_folder(folder: Path, what: str) -> None:
    """Makes the folder, and tries to write there; FolderError says why `what` ("no run", "nothing") can be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(b"x" * 4096)
        finally:
            probe.unlink(missing_ok=True)
    except FileExistsError:
        raise FolderError(f"'{folder}' is a file, and a folder is wanted") from None
    except NotADirectoryError:
        raise FolderError(f"'{folder}' is in a file, and a folder is wanted") from None
    except OSError as error:
        raise FolderError(f"{what} can be written to '{folder}': {explain(error)}") from None
