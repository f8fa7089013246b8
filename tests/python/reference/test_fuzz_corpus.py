"""The models that the fuzzers change are those of tests/fuzz/write_corpus.py, as scenes are now."""

import sys

import mujoco
import pytest
from places import ROOT

sys.path.append(str(ROOT / "tests" / "fuzz"))
import write_corpus


def shape(path):
    """Sizes and integers of a file; of real numbers, which round otherwise elsewhere, how many there are."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return [line if line[0] in ("size", "int") else (*line[:2], len(line)) for line in lines]


@pytest.mark.skipif(mujoco.mj_version() < 4_000_000, reason="the models are of MuJoCo 4")
def test_corpus_is_written_anew_where_scenes_change(tmp_path):
    write_corpus.main(tmp_path)
    committed = ROOT / "tests" / "fuzz" / "corpus"
    assert sorted(file.name for file in committed.iterdir()) == sorted(file.name for file in tmp_path.iterdir())
    for file in tmp_path.iterdir():
        assert shape(committed / file.name) == shape(file), f"{file.name}: run tests/fuzz/write_corpus.py"
