"""The examples of README.md: they run, and pyright finds nothing in them."""

import importlib.util
import json
import re
import subprocess
import sys

import pytest
from places import ROOT

BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
# what an example may take from the one before it
PRELUDE = "import gymnasium\nimport numpy as np\n\nimport dualstep as ds\n"


def test_there_are_examples():
    assert BLOCKS and any("ds.Batch(" in block for block in BLOCKS)


def test_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    exec(PRELUDE, names)
    for block in BLOCKS:
        exec(re.sub(r"num_envs=[\d_]+", "num_envs=16", block), names)


@pytest.fixture(scope="module")
def pyright():
    """Runs pyright on files; gives its findings."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("no pyright here: pip install 'pyright[nodejs]'")

    def run(folder):
        config = json.dumps({"include": [str(folder)], "extraPaths": [str(ROOT / "bindings" / "python")],
                             "stubPath": str(ROOT / "bindings" / "typings")})  # fmt: skip
        (folder / "pyrightconfig.json").write_text(config)
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        found = json.loads(done.stdout)
        return found["summary"], [one for one in found["generalDiagnostics"] if one["severity"] == "error"]

    return run


def test_examples_have_right_types(pyright, tmp_path):
    for i, block in enumerate(BLOCKS):
        (tmp_path / f"example{i}.py").write_text(PRELUDE + block)
    wrong = "import dualstep as ds\nsim = ds.Batch(ds.Model.from_mjcf('a.xml'), num_envs='many')\nsim.qpso\n"
    (tmp_path / "wrong.py").write_text(wrong)
    summary, errors = pyright(tmp_path)
    assert summary["filesAnalyzed"] >= len(BLOCKS) + 1
    # the last file is there to see that something would be found
    expected = [error for error in errors if error["file"].endswith("wrong.py")]
    assert len(expected) == 2
    assert [error for error in errors if error not in expected] == []
