"""The mutants that the rules make of this source, the sample of them, and the survivors that have a reason."""

import json
import sys

from places import ROOT

sys.path.append(str(ROOT / "tests" / "mutation"))

import mutants as rules
import mutate

EVERYTHING = rules.mutants()


def test_mutants_of_every_part():
    assert len(EVERYTHING) > 20000 and len({mutant.name for mutant in EVERYTHING}) == len(EVERYTHING)
    assert {mutant.part for mutant in EVERYTHING} == set(rules.PARTS)
    assert {mutant.rule for mutant in EVERYTHING if mutant.path.startswith("kernels")} == set(rules.RULES)
    for mutant in EVERYTHING[::97]:
        whole = (ROOT / mutant.path).read_text()
        assert whole[mutant.start : mutant.end] == mutant.text != mutant.after
        assert whole[: mutant.start].count("\n") + 1 == mutant.line
        switched = mutant.switched(7)
        # errors of the compiler name the lines of the source, and each bracket closes
        assert switched.count("\n") == mutant.text.count("\n") and "DS_MUTANT(7)" in switched
        for bracket in ("()", "[]", "{}"):
            assert switched.count(bracket[0]) == switched.count(bracket[1]), switched


def test_what_rules_make_of_an_expression():
    source = """double f(const double* x, int n) {
  double sum = 0;  // a + b
  for (int i = 0; i < n; i++) sum += x[i] * g(a + b, "c + d");
  constexpr int kMost = 3 + 4;
  if (sum > 1e-9 && n == 2) return h(sum) - 2 * x[0] + q;
  env.sync();
  return -sum;
}
"""
    made = {(m.rule, m.text, m.after) for m in rules._in_file("kernels/f.h", source)}
    expression = "h(sum) - 2 * x[0] + q"
    wanted = {
        ("plus to minus", "a + b", "a - b"),
        ("one less", "i < n", "i < n - 1"),
        ("from one", "0", "1"),
        ("and to or", "sum > 1e-9 && n == 2", "sum > 1e-9 || n == 2"),
        ("threshold", "sum > 1e-9 && n == 2", "sum > (1e3 * 1e-9) && n == 2"),
        ("term dropped", expression, "h(sum) + q"),
        ("term dropped", expression, "h(sum) - 2 * x[0]"),
        ("no barrier", "env.sync();", ""),
        ("sign", "-sum", "sum"),
    }
    assert wanted <= made
    # neither comments, strings nor constants of the compiler
    assert not any('"' in text or "kMost" in text or text.startswith("3") for _, text, _ in made)


def test_sample_is_the_same_each_time_and_overlaps_nowhere():
    drawn = rules.sample(EVERYTHING, 200)
    assert drawn == rules.sample(list(EVERYTHING), 200) and 190 <= len(drawn) <= 210
    assert {mutant.folder for mutant in drawn} == {mutant.folder for mutant in EVERYTHING}
    for one, after in zip(drawn, drawn[1:], strict=False):
        assert one.path != after.path or one.end <= after.start
    without = {drawn[3].name, drawn[100].name}
    assert not without & {mutant.name for mutant in rules.sample(EVERYTHING, 200, without)}


def test_survivors_stand_in_this_source_and_have_a_reason():
    names = {mutant.name for mutant in EVERYTHING}
    for name, entry in json.loads(mutate.SURVIVORS.read_text()).items():
        assert name in names, f"{name} ({entry}) is no mutant of this source any more: remove it, or test it again"
        assert entry["kind"] in ("equivalent", "performance", "guard") and len(entry["reason"]) > 20, name
