"""Nothing is unpickled by the package, which would run what a file says: pickle, NumPy with pickles, torch without weights_only."""

import ast
import os
import pathlib
import re

import pytest

import dualstep as ds

MODULES = ("pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve")
READERS = ("load", "loads", "Unpickler", "open")
# code that is kept as text
TEXT = re.compile(rf"\b(?:{'|'.join(MODULES)})\.(?:{'|'.join(READERS)})\b|allow_pickle\s*=\s*True|torch\.load\b")


def of_file(source: str) -> list[str]:
    """What reads pickles in a file: calls, imports of readers, and lines of code in strings."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found += [f"from {node.module} import {name.name}" for name in node.names if name.name in (*READERS, "*")]
        elif isinstance(node, ast.Import):
            # by another name, calls would not be known
            found += [f"import {name.name} as {name.asname}" for name in node.names if name.name in (*MODULES, "torch") and name.asname]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in MODULES:
            found += [ast.unparse(node)] if node.attr in READERS else []
        elif isinstance(node, ast.Call):
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            safe = given.get("weights_only") == "True" if ast.unparse(node.func) == "torch.load" else True
            found += [ast.unparse(node)] if not safe or given.get("allow_pickle", "False") != "False" else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [line.strip() for line in node.value.splitlines() if TEXT.search(line)]
    return found


def test_nothing_is_unpickled():
    home = pathlib.Path(ds.__file__).parent
    # environments are behind a link where the package was built by hand
    folders = (pathlib.Path(folder) for folder, _, _ in os.walk(home, followlinks=True))
    files = [path for folder in folders for path in folder.glob("*.py")]
    names = {str(path.relative_to(home)) for path in files}
    assert {"_loading.py", "envs/training/learner.py", "cli/play.py"} <= names and len(names) > 80
    found = {str(path.relative_to(home)): unsafe for path in files if (unsafe := of_file(path.read_text()))}
    # what a process writes for its own child
    assert found == {"_loading.py": ['assets = pickle.load(open(to + ".assets", "rb"))']}


@pytest.mark.parametrize("source, count", [
    ("import pickle\npickle.load(open('x', 'rb'))", 1),
    ("import pickle\nread = pickle.loads", 1),
    ("import pickle\npickle.dumps(3)", 0),
    ("from pickle import loads", 1),
    ("import pickle as p", 1),
    ("import torch\ntorch.load('x',\n  map_location='cpu')", 1),
    ("import torch\ntorch.load('x',\n  map_location='cpu',\n  weights_only=True)", 0),
    ("import torch\ntorch.load('x', weights_only=False)", 1),
    ("import numpy as np\nnp.load('x', allow_pickle=True)", 1),
    ("import numpy as np\nnp.load('x', allow_pickle=given)", 1),
    ("import numpy as np\nnp.load('x', allow_pickle=False)", 0),
    ("CODE = 'import pickle\\npickle.load(f)'", 1),
])  # fmt: skip
def test_what_unpickles_is_found(source, count):
    assert len(of_file(source)) == count
