"""Builds the documentation site into build/site; any warning is an error.

    pip install '.[docs]'
    python docs/build.py            # ... --serve shows it while it is written
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    # dualstep.envs has its own folder: a link shows it where the sources are read
    link = ROOT / "bindings" / "python" / "dualstep" / "envs"
    if not link.exists():
        link.symlink_to(ROOT / "envs", target_is_directory=True)
    began = time.monotonic()
    what = ["serve"] if "--serve" in sys.argv[1:] else ["build", "--strict", "--clean"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    status = subprocess.run([sys.executable, "-m", "mkdocs", *what], cwd=ROOT, env=environment).returncode
    if status == 0:
        pages = len(list((ROOT / "build" / "site").glob("**/*.html")))
        print(f"documentation: {pages} pages in {time.monotonic() - began:.0f} s, without warnings")
    return status


if __name__ == "__main__":
    sys.exit(main())
