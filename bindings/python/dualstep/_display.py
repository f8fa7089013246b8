"""Whether windows can be opened here."""

from __future__ import annotations

import os
import sys


def is_headless() -> bool:
    """Whether this is Linux without a display server."""
    return sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def need_display() -> None:
    """Raises RuntimeError where no window can be opened; GLFW would end the whole process."""
    if is_headless():
        raise RuntimeError("there is no display here: neither DISPLAY nor WAYLAND_DISPLAY is set")
