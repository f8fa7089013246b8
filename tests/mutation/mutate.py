"""Mutation testing: one small wrong at a time in a copy of the source, and whether the tests notice.

    python tests/mutation/mutate.py list                        # all mutants, by number
    python tests/mutation/mutate.py list --of host/model        # those of a folder
    python tests/mutation/mutate.py run --of host/model --sample 20 --seconds 300
    python tests/mutation/mutate.py run 17 204                  # single ones

A mutant follows from a line of code and a rule: signs, off by one, dropped terms, dropped barriers, thresholds, limits,
conditions. Its number is its place in the list of this source; its name (file, line, rule) says which it is when lines
move. `run` copies the source to build/mutation, builds it once by the dev preset, and then for each mutant changes a
line, builds what depends on it, and runs the tests of that part until one fails. The file results.json beside the copy
keeps what was killed by what; survivors are to be killed by a new test, or listed in survivors.json with a reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutation"
SURVIVORS = pathlib.Path(__file__).with_name("survivors.json")


class Part(NamedTuple):
    """Source that is mutated, what is built for it, and the tests that are to notice."""

    folder: str
    targets: tuple[str, ...]
    commands: tuple[str, ...]


PYTEST = "python -m pytest -q -x -p no:cacheprovider -p no:xdist"
PARTS = (
    Part("host/model", ("_core",),
         (f"{PYTEST} tests/python/reference/test_relations.py tests/python/reference/test_model.py "
          "tests/python/reference/test_contact_models.py",)),
    Part("host/reference", ("_core",), (f"{PYTEST} tests/python/reference",)),
    Part("host/tables", ("_core",),
         ("python tests/golden/golden.py check", f"{PYTEST} tests/python/kernels/test_kernels_against_reference.py")),
    Part("host/batch", ("_core", "host_test"), ("build/dev/tests/host/host_test", f"{PYTEST} tests/python/batch")),
    Part("kernels", ("_core", "emulator_stages_test", "emulator_lanes_test"),
         ("python tests/golden/golden.py check", "build/dev/tests/emulator/emulator_stages_test",
          "build/dev/tests/emulator/emulator_lanes_test", f"{PYTEST} tests/python/kernels")),
)  # fmt: skip

# a name, what it finds in a line of code, and what it makes of it
RULES: tuple[tuple[str, str, str], ...] = (
    ("plus to minus", r"(?<=[\w\])]) \+ (?=[\w(*&])", " - "),
    ("minus to plus", r"(?<=[\w\])]) - (?=[\w(*&])", " + "),
    ("sum of differences", r" \+= ", " -= "),
    ("less to at most", r"(?<=[\w\])]) < (?=[\w(-])", " <= "),
    ("more to at least", r"(?<=[\w\])]) > (?=[\w(-])", " >= "),
    ("at least to more", r" >= ", " > "),
    ("at most to less", r" <= ", " < "),
    ("equal to other", r" == ", " != "),
    ("and to or", r" && ", " || "),
    ("or to and", r" \|\| ", " && "),
    ("from one", r"\bint (\w) = 0;", r"int \1 = 1;"),
    ("one less", r"(?<=; )(\w) < ([\w.]+); ", r"\1 < \2 - 1; "),
    ("sign of a product", r"\bfma\((\w)", r"fma(-\1"),
    ("least to most", r"\bmin\(", "max("),
    ("most to least", r"\bmax\(", "min("),
    ("threshold", r"\b1e-(\d+)\b", r"1e-0\1 * 1e3"),
    ("half to one", r"\b0\.5\b", "1.0"),
    ("two to one", r"\b2 \* ", "1 * "),
    ("no barrier", r"\benv\.(sync|done)\(\);", ";"),
    ("mask turned", r"\bmask_not\(", "("),
    ("and of masks", r"\bmask_and\(", "mask_or("),
    ("true to false", r"\btrue\b", "false"),
)


class Mutant(NamedTuple):
    path: str
    line: int
    rule: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """The same where other lines are added or go."""
        digest = hashlib.sha256(f"{self.path}\0{self.before}\0{self.after}".encode()).hexdigest()[:10]
        return f"{self.path}:{digest}"


def code_lines(path: pathlib.Path) -> list[tuple[int, str]]:
    """Lines that do something: no comments, directives, declarations of text, or checks that only users' errors reach."""
    found, inside = [], False
    for number, line in enumerate(path.read_text().splitlines()):
        code = line.split("//")[0].rstrip()
        inside = inside or code.lstrip().startswith("/*")
        skipped = inside or not code.strip() or code.lstrip().startswith("#") or '"' in code or "template" in code
        if "*/" in code:
            inside = False
        if not skipped and "static_assert" not in code and "#define" not in line:
            found.append((number, code))
    return found


def mutants(root: pathlib.Path = ROOT) -> list[Mutant]:
    """Every mutant of this source, at most two a rule and a file, so that no file is most of them."""
    found: list[Mutant] = []
    for part in PARTS:
        for path in sorted((root / part.folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".inl") or "formulations" in path.parts or "cuda" in path.parts:
                continue
            lines = code_lines(path)
            for rule, pattern, replacement in RULES:
                hits = [(number, code, hit) for number, code in lines if (hit := re.search(pattern, code))]
                # by their text: the same ones when others come
                hits.sort(key=lambda h: hashlib.sha256(h[1].encode()).digest())
                for number, code, hit in hits[:2]:
                    after = code[: hit.start()] + hit.expand(replacement) + code[hit.end() :]
                    if after != code:
                        found.append(Mutant(str(path.relative_to(root)), number, rule, code, after))
    return found


def part_of(mutant: Mutant) -> Part:
    return next(part for part in PARTS if mutant.path.startswith(part.folder + "/"))


def shell(command: str, wrap: str, seconds: float) -> tuple[int, str]:
    """Status and the last lines; -1 where it took too long, which is noticed too."""
    environment = {**os.environ, "PYTHONPATH": str(COPY / "bindings" / "python")}
    try:
        ran = subprocess.run(f"{wrap} {command}", shell=True, cwd=COPY, env=environment, capture_output=True, text=True,
                             timeout=seconds)  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, "took too long"
    return ran.returncode, "\n".join((ran.stdout + ran.stderr).splitlines()[-12:])


def copy_source() -> None:
    """The tracked files as they are now; those that did not change keep their times, so that little is built."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()  # fmt: skip
    for name in names:
        source, to = ROOT / name, COPY / name
        if not source.exists() and not source.is_symlink():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            if not to.is_symlink():
                to.symlink_to(os.readlink(source))
        elif not to.exists() or to.read_bytes() != source.read_bytes():
            shutil.copyfile(source, to)


def try_mutant(mutant: Mutant, wrap: str) -> dict[str, object]:
    """Builds and tests it; the copy is as it was afterwards."""
    part, path = part_of(mutant), COPY / mutant.path
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    line = lines[mutant.line]
    lines[mutant.line] = line.replace(mutant.before, mutant.after, 1)
    began, result = time.monotonic(), {"name": mutant.name, "rule": mutant.rule, "line": mutant.line + 1, "after": mutant.after.strip()}
    try:
        path.write_text("".join(lines))
        status, told = shell("cmake --build --preset dev --target " + " ".join(part.targets), wrap, 900)
        if status:
            return {**result, "outcome": "does not compile", "by": told[-300:]}
        for command in part.commands:
            status, told = shell(command, "", 600)
            if status:
                failed = re.findall(r"^FAILED (\S+)|\[  FAILED  \] (\S+)", told, re.MULTILINE)
                by = next((a or b for a, b in failed), command.split()[-1] if status != -1 else "time")
                return {**result, "outcome": "killed", "by": by}
        return {**result, "outcome": "survived"}
    finally:
        path.write_text(whole)
        result["seconds"] = round(time.monotonic() - began, 1)


def run(chosen: list[Mutant], wrap: str, seconds: float) -> int:
    copy_source()
    began = time.monotonic()
    targets = sorted({target for mutant in chosen for target in part_of(mutant).targets})
    for command in ("cmake --preset dev", "cmake --build --preset dev --target " + " ".join(targets)):
        status, told = shell(command, wrap, 3600)
        if status:
            print(told, file=sys.stderr)
            return 2
    kept = COPY / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    excused = json.loads(SURVIVORS.read_text()) if SURVIVORS.exists() else {}
    counts: dict[str, int] = {}
    for mutant in chosen:
        if time.monotonic() - began > seconds:
            break
        result = try_mutant(mutant, wrap)
        outcome = str(result["outcome"])
        if outcome == "survived" and mutant.name in excused:
            outcome = result["outcome"] = "excused"
        results[mutant.name] = result
        counts[outcome] = counts.get(outcome, 0) + 1
        print(f"{outcome:<17} {mutant.path}:{mutant.line + 1} {mutant.rule}: {mutant.after.strip()[:70]}  {result.get('by', '')}", flush=True)
        kept.write_text(json.dumps(results, indent=1))
    tried = counts.get("killed", 0) + counts.get("survived", 0)
    share = 100 * counts.get("killed", 0) / tried if tried else 0
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) + f"; {share:.0f}% of {tried} killed")
    return 1 if counts.get("survived") else 0


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("command", choices=("list", "run"))
    parser.add_argument("numbers", type=int, nargs="*")
    parser.add_argument("--of", default="", help="of files whose path begins so")
    parser.add_argument("--sample", type=int, help="so many of them, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no mutant is begun after that")
    parser.add_argument("--wrap", default="", help="a command that builds run under")
    args = parser.parse_args(words)
    everything = mutants()
    numbers = args.numbers or [i for i, mutant in enumerate(everything) if mutant.path.startswith(args.of)]
    if args.sample is not None and args.sample < len(numbers):
        numbers = sorted(random.Random(args.seed).sample(numbers, args.sample))
    if args.command == "list":
        for i in numbers:
            mutant = everything[i]
            print(f"{i:4d} {mutant.path}:{mutant.line + 1} {mutant.rule}: {mutant.before.strip()}  ->  {mutant.after.strip()}")
        print(f"{len(numbers)} mutants")
        return 0
    return run([everything[i] for i in numbers], args.wrap, args.seconds)


if __name__ == "__main__":
    sys.exit(main())
