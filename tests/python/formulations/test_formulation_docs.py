"""The pages on formulations agree with the code: their snippets run, their options and figures exist."""

import re

import pytest
from formulation_models import build
from places import ROOT

import dualstep as ds
from dualstep.measure.audit import FORMULATIONS

PAGES = ROOT / "docs" / "formulations"
SCENE = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
  <body pos="0 0 .3"><freejoint/><geom name="ball" size=".1"/></body>
  <body pos="2 0 .3"><joint name="belt" type="slide" axis="1 0 0"/><geom name="box" type="box" size=".1 .1 .1"/></body>
  </worldbody>{custom}</mujoco>"""


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_snippets_run(page, monkeypatch):
    monkeypatch.chdir(PAGES.parents[1])
    names = {"ds": ds, "model": build(SCENE.format(custom="")), "print": lambda *_: None}
    for snippet in blocks(page, "python"):
        exec(compile(snippet, page.name, "exec"), names)
    names["model"].opt.timestep = min(names["model"].opt.timestep, 0.001)
    ds.Reference(names["model"]).step(3)


def test_the_custom_fields_of_the_page_are_read():
    (custom,) = blocks(PAGES / "README.md", "xml")
    opt = build(SCENE.format(custom=custom)).opt
    assert (opt.contact_model, opt.friction_directions, opt.contact_margin) == ("anitescu", 0, 0.02)
    assert (opt.desaxce, opt.equality_alpha) == (False, None)


def test_the_table_of_options_holds_the_defaults():
    opt = build(SCENE.format(custom="")).opt
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", (PAGES / "README.md").read_text(), re.MULTILINE)
    told = {}
    for names, values in rows:
        words = re.findall(r"`(\w+)`", names)
        told.update(zip(words, [value.strip("` ") for value in values.split(",")], strict=True))
    assert {"contact_model", "scheme", "stiffness", "tangent_damping", "equality_alpha"} <= set(told)
    for name, value in told.items():
        default = getattr(opt, name)
        assert str(default) == value or float(value) == default, name


def test_every_formulation_has_a_page_and_every_page_its_figure():
    index = (PAGES / "README.md").read_text()
    for name in (*FORMULATIONS, "constraints", "matrices", "audit"):
        page = (PAGES / f"{name}.md").read_text()
        assert f"({name}.md)" in index and f"({name}.png)" in page
        assert 0 < (PAGES / f"{name}.png").stat().st_size < 80_000
    for page in PAGES.glob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (PAGES / link).is_file(), (page.name, link)
