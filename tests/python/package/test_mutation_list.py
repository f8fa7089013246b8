"""The list of mutants is made of this source, and each is a change to one line of code."""

import sys

from places import ROOT

sys.path.append(str(ROOT / "tests" / "mutation"))

import mutate


def test_mutants_of_every_part():
    found = mutate.mutants()
    assert len(found) > 1000 and len({mutant.name for mutant in found}) > 0.97 * len(found)
    for part in mutate.PARTS:
        own = [mutant for mutant in found if mutate.part_of(mutant) is part]
        assert len(own) > 40, part.folder
    for mutant in found[::17]:
        line = (ROOT / mutant.path).read_text().splitlines()[mutant.line]
        assert mutant.before in line and mutant.before != mutant.after and '"' not in mutant.before
    assert {"no barrier", "sign of a product", "threshold", "one less", "mask turned"} <= {m.rule for m in found if m.path.startswith("kernels")}
