"""Figures of bench/reliability.py that take a second each; the others are measured by hand."""

import json
import sys

import pytest
from places import ROOT

sys.path.append(str(ROOT / "bench"))
reliability = pytest.importorskip("reliability", reason="the figures want gymnasium and MuJoCo")


@pytest.mark.parametrize("name", ["translation", "rotation", "conservation", "momentum", "restore", "fail-safe", "checkpoints"])
def test_a_figure_holds(name):
    figure = reliability.FIGURES[name]
    value, told = figure.measure()
    assert value <= figure.limit, told


def test_what_is_worse():
    worse = reliability.got_worse
    assert worse(0, 0, None) == worse(1e-5, 1e-3, None) == worse(9e-4, 1e-3, 8e-4) == ""
    assert "limit of 0" in worse(1, 0, 0) and "limit" in worse(float("nan"), 1, None)
    assert "before" in worse(9e-4, 1e-3, 1e-5)
    # orders of magnitude below a limit nothing is said
    assert worse(3e-9, 1e-6, 1e-9) == ""


def test_the_page_has_what_was_measured():
    page, measured = reliability.PAGE.read_text(), json.loads(reliability.MEASURED.read_text())
    shown = {name for name, figure in reliability.FIGURES.items() if f"## {figure.title}\n\n`{name}`:" in page}
    assert shown == set(measured) == set(reliability.FIGURES)
    assert all(reliability.got_worse(value, reliability.FIGURES[name].limit, None) == "" for name, value in measured.items())
    assert "does not hold" not in page


def test_a_section_is_replaced_and_the_others_stay():
    page, figures = reliability.PAGE.read_text(), reliability.FIGURES
    titles = [figure.title for figure in figures.values()]
    assert reliability.replace_sections(page, [], titles) == page
    changed = reliability.replace_sections(page, [("soak", figures["soak"], 0, "as said here", 3.0)], titles)
    lines = set(changed.splitlines()) - set(page.splitlines())
    assert any("as said here" in line for line in lines) and len(lines) <= 2
    assert changed.count("\n## ") == page.count("\n## ")
