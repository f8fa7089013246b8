"""Models as text that something damaged, a short run of tests/fuzz/fuzz_mjcf.py."""

import sys

from places import ROOT

sys.path.append(str(ROOT / "tests" / "fuzz"))
import fuzz_mjcf


def test_damaged_text_is_refused_or_simulated():
    counts, found, longest = fuzz_mjcf.search(0, 600, quiet=True)
    assert found == [] and counts["models"] == 600
    # both happen
    assert 20 < counts["taken"] < 580 and longest < 2


def test_a_number_names_a_text():
    texts = fuzz_mjcf.corpus()
    known = fuzz_mjcf.known_values(texts)
    one, again, other = (fuzz_mjcf.text_of(n, texts, *known) for n in (5, 5, 6))
    assert one == again != other
