"""The page of bench/reliability.py: a section a figure."""

from __future__ import annotations

import datetime
import pathlib
import subprocess
from collections.abc import Callable
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Figure(NamedTuple):
    title: str
    measure: Callable[[], tuple[float, str]]
    """the number that is compared with the limit, and the sentence of it"""
    limit: float
    peers: str


Row = tuple[str, Figure, float, str, float]
"""name, figure, value, its sentence, seconds"""


def now() -> str:
    """The day, and the commit that the figures are of."""
    told = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    commit = told.stdout.strip() or "an unknown commit"
    return f"{datetime.date.today().isoformat()}, {commit}"


def mutation_testing() -> list[str]:
    """What the last run of its own command found: it takes an hour."""
    page = (ROOT / "tests" / "mutation" / "README.md").read_text()
    told = page.replace("a reason below", "a reason in `tests/mutation/README.md`").split("\n\n")
    return ["## Mutants that the tests notice", "", *told[1].splitlines(), "", *told[2].splitlines(), ""]


def section(name: str, figure: Figure, value: float, told: str, seconds: float) -> list[str]:
    verdict = "holds" if value <= figure.limit else "**does not hold**"
    about = " ".join((figure.measure.__doc__ or "").split())
    about = about.split(": ", 1)[-1]
    return [f"## {figure.title}", "", f"`{name}`: {about}", "", f"- measured: {told} ({verdict}; limit {figure.limit:g})",
            f"- peers: {figure.peers}", f"- takes {seconds:.0f} s; of {now()}", ""]  # fmt: skip


HEAD = ["# Reliability", "",
        "Written by `python bench/reliability.py`, which measures each figure by code of its own and fails where one is",
        "worse than its limit. `python bench/reliability.py NAME` repeats one. Peers are MuJoCo 4.0.0 and MuJoCo Warp",
        "4.0.0, measured on two CPU cores in November 2026 unless a source is named.", ""]  # fmt: skip


def tail() -> list[str]:
    return ["## What has no figure here", "",
            "Fuzzing under sanitizers (`tests/fuzz`) and budgets of machine code (`tests/cuda`) have commands of their own.",
            "", *mutation_testing()]  # fmt: skip


def page(rows: list[Row]) -> str:
    return "\n".join([*HEAD, *(line for row in rows for line in section(*row)), *tail()])


def replace_sections(text: str, rows: list[Row], titles: list[str]) -> str:
    """The page, with the sections of some figures replaced, and what stands about them."""
    sections = {part.splitlines()[0]: part.rstrip("\n").splitlines() for part in text.split("\n## ")[1:]}
    found = {title: [f"## {title}", *lines[1:], ""] for title, lines in sections.items()}
    found.update({row[1].title: section(*row) for row in rows})
    # in the order of the figures
    return "\n".join([*HEAD, *(line for title in titles if title in found for line in found[title]), *tail()])


def got_worse(value: float, limit: float, before: float | None) -> str:
    """"", or in words: beyond the limit, or by half of the way from what the page has to there and to twice that."""
    if not value <= limit:
        return f"{value:.2g} is beyond the limit of {limit:g}"
    if before is not None and limit > 0 and value > 2 * before and value > before + 0.5 * (limit - before):
        return f"{value:.2g}, and {before:.2g} before"
    return ""
