"""The pages of docs/: their examples run, their commands parse. Pages on formulations have tests of their own."""

import importlib.util
import re
import shlex

import pytest
from places import ROOT

from dualstep.cli import COMMANDS, build_parser

PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "envs" / "README.md", ROOT / "bench" / "README.md"]
PRELUDE = "import gymnasium\nimport numpy as np\n\nimport dualstep as ds\n"
# what a page needs beyond the package and Gymnasium
NEEDS = {"tutorial": ("torch", "rsl_rl")}


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_examples_run(page, monkeypatch, capsys):
    for module in NEEDS.get(page.stem, ()):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module} here")
    monkeypatch.chdir(ROOT)
    names = {}
    exec(PRELUDE, names)
    for i, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, example {i}", "exec"), names)


def commands(page):
    """The command lines of indented blocks, without what is said of them."""
    for line in re.findall(r"^    (dualstep [a-z]+.*)$", page.read_text(), re.MULTILINE):
        yield line, shlex.split(line, comments=True)[1:]


def test_commands_parse():
    seen = 0
    for page in TEXTS:
        for line, words in commands(page):
            assert words[0] in COMMANDS, f"{page.name}: {line}"
            try:
                build_parser(words[0]).parse_args(words)
            except SystemExit:
                pytest.fail(f"{page.name}: '{line}' is refused")
            seen += 1
    assert seen > 20
