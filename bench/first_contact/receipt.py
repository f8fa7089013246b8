"""What the calls of a first contact found, as a receipt: `bench/results/<device>.json`, and a page of it.

    receipt.py "NVIDIA H200" FOLDER...      # the $OUT folders of its calls

Reads `figures.jsonl`, `parts.txt` and what pytest wrote (`*.xml`) of each call; nothing is measured here.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ET
from typing import Any

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"


def read(folder: pathlib.Path) -> dict[str, Any]:
    """Figures, parts and tests of one call."""
    figures = (folder / "figures.jsonl").read_text().splitlines() if (folder / "figures.jsonl").exists() else []
    parts = re.findall(r"(?m)^(\S+?):? +(?:rc (\d+)|no time left)", (folder / "parts.txt").read_text())
    tests = {}
    for file in sorted(folder.glob("*.xml")):
        suite = ET.parse(file).getroot().find("testsuite")
        if suite is None:
            raise ValueError(f"{file} is no report of pytest's")
        failed = [f"{c.get('name')}" for c in suite if c.find("failure") is not None or c.find("error") is not None]
        tests[file.stem] = {
            "tests": int(suite.get("tests", 0)),
            "skipped": int(suite.get("skipped", 0)),
            "failed": failed,
        }
    return {
        "figures": [json.loads(line) for line in figures],
        "parts": {k: int(v) if v else None for k, v in parts},
        "tests": tests,
    }


def page(name: str, calls: list[dict[str, Any]]) -> str:
    figures = [figure for call in calls for figure in call["figures"]]
    on_device = [f for f in figures if "model" in f]
    lines = [f"# {name}", "", "Made by `bench/first_contact/receipt.py`; steps a second of states under random actions, medians of seven",
             "blocks of twenty steps. Bits are those of the CPU where nothing else is said.", "",
             "| model | threads an environment | what differs | environments | steps a second | commit |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for f in on_device:
        choices = ", ".join(f"`{k}={v}`" for k, v in f["choices"].items() if (k, v) != ("DUALSTEP_CUDA_SORT", "1"))
        bits = "" if f["same_bits"] else " (other bits)"
        lanes = ", ".join(map(str, f["lanes"])) if isinstance(f["lanes"], list) else f["lanes"]
        lines.append(f"| {f['model']} | {lanes} | {choices} | {f['n']:,} | {f['median']:,}{bits} | {f['commit']} |")
    cores = [f for f in figures if "cores" in f]
    if cores:
        lines += [
            "",
            "The host's own cores:",
            "",
            "| model | threads | environments | steps a second |",
            "|---|---|---|---|",
        ]
        lines += [f"| {f['cores']} | {f['threads']} | {f['n']:,} | {f['median']:,} |" for f in cores]
    lines += ["", "| part of a call | exit status |", "|---|---|"]
    lines += [
        f"| {part} | {'no time left' if status is None else status} |"
        for call in calls
        for part, status in call["parts"].items()
    ]
    for call in calls:
        for suite, found in call["tests"].items():
            failed = ", ".join(f"`{test}`" for test in found["failed"]) or "none"
            lines += ["", f"{suite}: {found['tests']} tests, {found['skipped']} skipped, failed: {failed}"]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the device, for people: NVIDIA H200")
    parser.add_argument("folders", type=pathlib.Path, nargs="+", metavar="FOLDER", help="$OUT of a call")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, metavar="DIR", help="(default: bench/results)")
    args = parser.parse_args()
    if missing := [folder for folder in args.folders if not (folder / "parts.txt").is_file()]:
        parser.error(f"{', '.join(map(str, missing))}: no parts.txt is there, which every call writes")
    calls = [read(folder) for folder in args.folders]
    stem = re.sub(r"[^a-z0-9]+", "-", args.name.lower()).strip("-")
    (args.out / f"{stem}.json").write_text(json.dumps({"device": args.name, "calls": calls}, indent=1) + "\n")
    (args.out / f"{stem}.md").write_text(page(args.name, calls))
    print(args.out / f"{stem}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
