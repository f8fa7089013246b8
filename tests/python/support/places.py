"""Where the repository is, from whatever folder a test lies in."""

import pathlib

ROOT = next(folder for folder in pathlib.Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
