"""The search for bits that depend on neighbours: a short run, that it would find one, and what it found."""

import json
import sys

import numpy as np
import pytest
from places import ROOT

sys.path.append(str(ROOT / "tests" / "search"))

import same_bits


def test_a_short_search_finds_nothing(tmp_path, capsys):
    assert same_bits.main(["--seconds", "4", "--first", "7000", "--out", str(tmp_path / "found")]) == 0
    told = capsys.readouterr().out
    assert int(told.split()[0]) > 5 and "0 counterexamples" in told and not (tmp_path / "found").exists()


def test_what_depends_on_a_neighbour_is_found_and_kept(tmp_path, monkeypatch):
    honest = same_bits.arrays_of

    def tainted(batch, outputs):
        arrays = honest(batch, outputs)
        # the last bit of one number, by how many there are
        arrays["qvel"].view(np.uint8).reshape(-1)[0::97] ^= batch.num_envs & 1
        return arrays

    monkeypatch.setattr(same_bits, "arrays_of", tainted)
    assert same_bits.main(["--seconds", "30", "--env-steps", "100", "--first", "7000", "--out", str(tmp_path)]) == 1
    kept = sorted(tmp_path.glob("*.json"))
    assert kept
    assert same_bits.main(["--replay", str(kept[0]), "--out", str(tmp_path / "again")]) == 1
    monkeypatch.setattr(same_bits, "arrays_of", honest)
    assert same_bits.main(["--replay", str(kept[0]), "--out", str(tmp_path / "again")]) == 0


FOUND = sorted((ROOT / "tests" / "search" / "counterexamples").glob("*.json"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_the_search_found_is_repaired(path, tmp_path, capsys):
    case = json.loads(path.read_text())
    assert same_bits.main(["--replay", str(path), "--out", str(tmp_path)]) == 0
    steps = sum(case["substeps"]) * case["watched"]
    assert f"1 cases, {steps} environment-steps compared, 0 counterexamples" in capsys.readouterr().out


def test_there_are_cases_to_replay():
    assert len(FOUND) >= 4 and any("tendon_rows" in path.stem for path in FOUND)
