"""Mutation testing: small wrongs in the kernels, the reference and the host, and whether the tests notice each.

    python tests/mutation/mutate.py list                    # the sample: place, rule, change
    python tests/mutation/mutate.py build                   # the copy with its switches
    python tests/mutation/mutate.py run                     # builds, tests each mutant, writes the report
    python tests/mutation/mutate.py run --seconds 1800      # no mutant is begun after that; the next run goes on
    python tests/mutation/mutate.py run --of kernels/rows --again survived
    python tests/mutation/mutate.py report                  # of the results that are there

All mutants of the sample are compiled at once, into a copy of the source in build/mutation: each chosen place reads
`DS_MUTANT(17) ? mutated : original`, and the environment variable DUALSTEP_MUTANT says which is on (mutants.py finds
the places, switch.h reads the variable). A place that the compiler takes no switch for is dropped and another is drawn.
With no mutant on, all tests run once, and must pass, golden hashes included; every test notes which places it
reaches. A mutant is then tested by those that reach its place, the quickest and most telling first, until one fails. A
test that takes too long has noticed it too. build/mutation/results.json keeps what was killed by what; survivors are
killed by a new test, or stand in survivors.json with a reason.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any

sys.path[:0] = [str(pathlib.Path(__file__).parent)]
from mutants import PARTS, ROOT, RULES, Mutant, mutants, sample

HERE = pathlib.Path(__file__).parent
WORK = ROOT / "build" / "mutation"
COPY = WORK / "source"
CHOSEN, RESULTS, TOLD = WORK / "chosen.json", WORK / "results.json", WORK / "reached.jsonl"
SURVIVORS, REPORT = HERE / "survivors.json", HERE / "README.md"
TARGETS = ("_core", "_formulations", "host_test", "kernels_test", "emulator_lanes_test")
PROGRAMS = (
    "build/dev/tests/host/host_test",
    "build/dev/tests/kernels/kernels_test",
    "build/dev/tests/emulator/emulator_lanes_test",
)
# compiled later, for those that the rest leaves
SLOW_TARGETS = ("emulator_stages_test",)
SLOW_PROGRAMS = ("build/dev/tests/emulator/emulator_stages_test",)
TESTS = ("kernels/test_golden.py", "reference", "kernels", "batch", "formulations")
MOST = 4096  # mutants in a build, as in switch.h
# they need a GPU or its compiler, or measure time
LEFT_OUT = ("cuda", "specialize", "tune", "check_sass", "process_life", "formulation_docs")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "--durations=0",
          "--durations-min=1e9"]  # fmt: skip
TOO_LONG = -1000
# tests are asked in groups of so many seconds, as they took without a mutant; a mutant that all of them leave survives
GROUPS = (12.0, 60.0, 240.0)


def shell(
    command: list[str],
    log: pathlib.Path | None = None,
    seconds: float = 7200,
    processor: float | None = None,
    **environment: str,
) -> tuple[int, str]:
    """Status and output of a command in the copy; TOO_LONG where it took too long, by the clock or of a processor.

    All that it started ends with it. Other work on the machine counts by the clock alone.
    """
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(COPY / "bindings" / "python"), str(HERE)]),
        "XDG_CACHE_HOME": str(WORK / "cache"),
        "PYTHONHASHSEED": "0",
        **environment,
    }
    limit = ["prlimit", f"--cpu={int(processor)}"] if processor else []
    nice = ["nice", "-n", str(max(0, 15 - os.nice(0)))]
    ran = subprocess.Popen(
        [*nice, *limit, *command], cwd=COPY, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        told, _ = ran.communicate(timeout=seconds)
        status = ran.returncode
    except subprocess.TimeoutExpired:
        os.killpg(ran.pid, signal.SIGKILL)
        told, _ = ran.communicate()
        status = TOO_LONG
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        status = TOO_LONG
    if log:
        log.write_text(told)
    return status, told


def put(to: pathlib.Path, text: bytes) -> None:
    """Files that did not change keep their times, so that little is built."""
    to.parent.mkdir(parents=True, exist_ok=True)
    if not to.exists() or to.read_bytes() != text:
        to.write_bytes(text)


def write_copy(chosen: dict[int, Mutant], only: str = "") -> None:
    """The tracked files as they are now, with a switch at each chosen place."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()  # fmt: skip
    of_file: dict[str, list[tuple[Mutant, int]]] = {}
    for number, mutant in chosen.items():
        of_file.setdefault(mutant.path, []).append((mutant, number))
    for name in names:
        source, to = ROOT / name, COPY / name
        if not name.startswith(only) or not source.exists() or source.is_symlink():
            continue
        text = source.read_bytes()
        if name in of_file:
            whole = text.decode()
            for mutant, number in sorted(of_file[name], key=lambda pair: -pair[0].start):
                whole = whole[: mutant.start] + mutant.switched(number) + whole[mutant.end :]
            # errors are told by the lines of the source
            text = f'#include "tests/mutation/switch.h"\n#line 1\n{whole}'.encode()
        if to.name == "CMakeLists.txt":
            # a loop whose bound is switched is not unrolled, and the kernels are warned of that
            text = text.replace(b"-Wno-psabi -fno-math-errno", b"-Wno-psabi -fno-math-errno -w")
        put(to, text)


def configure() -> None:
    # options as in a build without mutants, so that a compiler cache knows the files that have none
    status, told = shell(["cmake", "--preset", "dev", f"-DPython_EXECUTABLE={sys.executable}"])
    if status:
        sys.exit(told[-4000:])


def refused(told: str, chosen: dict[int, Mutant]) -> set[int]:
    """Numbers of the mutants that errors of the compiler are about."""
    lines: dict[tuple[str, int], list[int]] = {}
    for number, mutant in chosen.items():
        for line in range(mutant.line, mutant.line + mutant.text.count("\n") + 1):
            lines.setdefault((mutant.path, line), []).append(number)

    def at(text: str) -> set[int]:
        places = re.findall(r"([\w./-]+\.(?:h|cpp|inl)):(\d+)", text)
        return {
            number
            for path, line in places
            for number in lines.get((path.replace(f"{COPY}/", "").replace("../", ""), int(line)), ())
        }

    blamed: set[int] = set()
    context: list[str] = []
    for line in told.splitlines():
        context = context[-40:] + [line]
        if re.search(r"\berror: ", line):
            blamed |= at(line) or at("\n".join(context))
            context = []
        elif re.search(r"\bnote: ", line) and not blamed:
            blamed |= at(line)
    return blamed


def numbered(drawn: list[Mutant], before: dict[int, Mutant]) -> dict[int, Mutant]:
    """Numbers from 1; a mutant keeps the one that it has, so that its file stays as it is."""
    kept = {mutant.name: number for number, mutant in before.items()}
    free = iter(sorted(set(range(1, MOST)) - {kept[m.name] for m in drawn if m.name in kept}))
    return {kept[m.name] if m.name in kept else next(free): m for m in drawn}


def build(count: int, rounds: int = 8) -> dict[int, Mutant]:
    """Chooses, writes and builds; places that do not compile are replaced, in the last rounds dropped."""
    everything = mutants()
    kept = json.loads(CHOSEN.read_text()) if CHOSEN.exists() else {"dropped": [], "mutants": {}}
    dropped = set(kept["dropped"])
    by_name = {mutant.name: mutant for mutant in everything}
    chosen = {int(k): by_name[name] for k, name in kept["mutants"].items() if name in by_name}
    if not chosen:
        chosen = numbered(sample(everything, count, dropped), {})
    checked = ""
    for turn in range(rounds):
        write_copy(chosen)
        if turn == 0:
            configure()
        CHOSEN.write_text(
            json.dumps({"dropped": sorted(dropped), "mutants": {k: m.name for k, m in chosen.items()}}, indent=1)
        )
        status, told = 0, ""
        of_kernels = str(sorted(k for k, m in chosen.items() if m.part == "kernels"))
        if of_kernels != checked and not (COPY / PROGRAMS[0]).exists():
            status, told = syntax()
            checked = of_kernels if status == 0 else ""
        if status == 0:
            status, told = shell(["ninja", "-C", "build/dev", "-j2", "-k0", *TARGETS], WORK / "build.log")
            if status == 0:
                return chosen
        blamed = refused(told, chosen)
        if not blamed:
            errors = "\n".join(line for line in told.splitlines() if "error" in line)[:4000]
            sys.exit("the copy does not compile, and no mutant is to blame:\n" + errors)
        dropped |= {chosen[number].name for number in blamed}
        print(f"{len(blamed)} places take no switch", flush=True)
        if turn < 3:
            chosen = numbered(sample(everything, count, dropped), chosen)
        else:
            chosen = {number: mutant for number, mutant in chosen.items() if number not in blamed}
    sys.exit("the copy does not compile after so many rounds; build/mutation/build.log says why")


def syntax() -> tuple[int, str]:
    """Errors of the kernels, by the compiler without its back end: most of their time is machine code."""
    entries = json.loads((COPY / "build/dev/compile_commands.json").read_text())
    entry = next(
        e
        for e in entries
        if e["file"].endswith("kernels/launch/cpu/cpu_portable.cpp") and "SCALAR=float" in e["command"]
    )
    command = re.sub(r" -o \S+", " -fsyntax-only", re.sub(r"^\S*ccache ", "", entry["command"]))
    return shell(["sh", "-c", command])


def test_files() -> list[str]:
    files: list[str] = []
    for name in TESTS:
        path = COPY / "tests" / "python" / name
        for file in [path] if path.suffix else sorted(path.glob("test_*.py")):
            relative = str(file.relative_to(COPY))
            if relative not in files and not any(word in file.name for word in LEFT_OUT):
                files.append(relative)
    return files


def sync_tests() -> None:
    write_copy({}, "tests/")
    write_copy({}, "pyproject.toml")
    for link, to in (("envs", "envs"), ("models", "bench/models")):
        at = COPY / "bindings" / "python" / "dualstep" / link
        if not at.is_symlink():
            at.symlink_to(COPY / to)


def state_of(what: str) -> str:
    """A hash of a file of tests, or of a program, and of the sample: what was noted in another state says nothing."""
    return hashlib.sha256((COPY / what).read_bytes() + CHOSEN.read_bytes()).hexdigest()[:16]


def still_noted() -> set[str]:
    """Files of tests and programs that are as they were when they were noted; the others are forgotten."""
    noted = tests_noted()
    state = {entry.get("file", entry.get("test")): entry["state"] for entry in noted if "state" in entry}
    kept = {what for what, then in state.items() if (COPY / what).exists() and state_of(what) == then}
    lines = [json.dumps(e) + "\n" for e in noted if e.get("file", e.get("test", "")).split("::")[0] in kept]
    if len(lines) < len(noted):
        TOLD.write_text("".join(lines))
    return kept


def cover(workers: int, seconds: float) -> None:
    """Runs every test once without a mutant, and notes what each reaches; those that are noted already are not run again."""
    kept = still_noted()
    todo = [file for file in test_files() if file not in kept]
    programs = [p for p in (*PROGRAMS, *SLOW_PROGRAMS) if (COPY / p).exists() and p not in kept]

    def one(what: str) -> None:
        hits = WORK / f"hits.{threading.get_ident()}"
        hits.write_bytes(bytes(4096))
        began = time.monotonic()
        state = state_of(what)
        environment = {
            "DUALSTEP_MUTANT_HITS": str(hits),
            "DUALSTEP_MUTANT_TOLD": str(TOLD),
            "DUALSTEP_MUTANT_STATE": state,
        }
        if what.endswith(".py"):
            command = [word for word in PYTEST if word != "-x"] + ["-p", "reached", what]
            status, told = shell(command, seconds=seconds, **environment)
        else:
            status, told = shell([str(COPY / what)], seconds=seconds, **environment)
            found = [i for i, byte in enumerate(hits.read_bytes()) if byte]
            with TOLD.open("a") as out:
                took = round(time.monotonic() - began, 3)
                out.write(
                    json.dumps(
                        {
                            "test": what,
                            "seconds": took,
                            "reached": found,
                            "failed": status != 0,
                            "skipped": False,
                            "state": state,
                        }
                    )
                    + "\n"
                )
        ended = {0: "", 5: "nothing to run", TOO_LONG: "cut off"}.get(status, "FAILED")
        print(f"{time.monotonic() - began:5.0f} s  {what} {ended}", flush=True)
        if ended == "FAILED":
            print("\n".join(told.splitlines()[-15:]), flush=True)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, todo + programs))


def tests_noted() -> list[dict[str, Any]]:
    return [json.loads(line) for line in TOLD.read_text().splitlines()] if TOLD.exists() else []


class Tests:
    """What reaches what, and how telling each test was so far."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.of_mutant: dict[int, list[str]] = {}
        self.files: dict[int, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.kills: dict[str, int] = {}
        self.failing: list[str] = []
        for entry in tests_noted():
            if "file" in entry:
                for number in entry["reached"]:
                    self.files.setdefault(number, set()).add(entry["file"])
            elif entry["failed"]:
                self.failing.append(entry["test"])
            elif not entry["skipped"]:
                self.seconds[entry["test"]] = entry["seconds"]
                for number in entry["reached"]:
                    self.of_mutant.setdefault(number, []).append(entry["test"])

    def groups(self, number: int) -> list[list[str]]:
        """Its tests, most telling a second first, in groups that end at GROUPS seconds; programs have groups of their own.

        Where a file's tests share what one of them made, only that one is seen to reach the place: the file's others
        follow."""
        own = dict.fromkeys(self.of_mutant.get(number, ()))
        files = {test.split("::")[0] for test in own} | self.files.get(number, set())
        with self.lock:
            kills = dict(self.kills)
        worth = {test: (kills.get(test, 0) + 2 * kills.get(test.split("[")[0], 0) + 0.3 + ("golden" in test)) / (self.seconds[test] + 0.2)
                 for test in self.seconds if test in own or test.split("::")[0] in files}  # fmt: skip
        order = sorted(worth, key=lambda test: (test not in own, -worth[test]))
        found: list[list[str]] = [[] for _ in GROUPS]
        programs, took = [], 0.0
        for test in order:
            if "::" not in test:
                programs.append([test])
                continue
            took += self.seconds[test]
            for group, most in zip(found, GROUPS):
                if took <= most:
                    group.append(test)
                    break
        return [group for group in [*found[:-1], *programs, found[-1]] if group]

    def killed_by(self, test: str) -> None:
        with self.lock:
            for name in {test, test.split("[")[0]}:
                self.kills[name] = self.kills.get(name, 0) + 1


def try_mutant(number: int, mutant: Mutant, tests: Tests) -> dict[str, Any]:
    began = time.monotonic()
    result: dict[str, Any] = {
        "name": mutant.name,
        "line": mutant.line,
        "rule": mutant.rule,
        "text": mutant.text,
        "after": mutant.after,
    }
    groups = tests.groups(number)
    result |= {"outcome": "survived" if groups else "not reached", "tests": sum(map(len, groups))}
    for group in groups:
        nominal = sum(tests.seconds[test] for test in group)
        environment = {"DUALSTEP_MUTANT": str(number)}
        command = [*PYTEST, *group] if "::" in group[0] else [str(COPY / group[0]), "--gtest_fail_fast"]
        status, told = shell(command, seconds=900 + 20 * nominal, processor=40 + 5 * nominal, **environment)
        if status not in (0, 5):
            failed = re.findall(r"^(?:FAILED|ERROR) (\S+)|\[  FAILED  \] (\S+)", told, re.MULTILINE)
            by = next((a or b for a, b in failed), "time" if status == TOO_LONG else "crash")
            if "::" in by:
                tests.killed_by(by)
            result |= {"outcome": "killed", "by": by}
            if by == "crash":
                result["told"] = told[-600:]
            break
    return result | {"seconds": round(time.monotonic() - began, 1)}


def results() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def excused() -> dict[str, Any]:
    return json.loads(SURVIVORS.read_text()) if SURVIVORS.exists() else {}


def share(found: dict[str, Any]) -> str:
    """How many are killed of those that no reason excuses, and of all."""
    reasons = excused()
    killed = sum(r["outcome"] == "killed" for r in found.values())
    left = sum(r["outcome"] != "killed" and r["name"] not in reasons for r in found.values())
    return f"{killed} of {len(found)} killed ({100 * killed / max(1, len(found)):.1f}%), {left} without a reason"


def run(args: argparse.Namespace) -> int:
    began = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = build(args.count)
    sync_tests()
    cover(args.workers, args.most)
    tests, kept = Tests(), results()
    if tests.failing:
        print("These tests fail where no mutant is on:", *tests.failing, sep="\n  ")
        if not args.anyway:
            return 2
    lock, again = threading.Lock(), tuple(filter(None, args.again.split(",")))
    todo = [(k, m) for k, m in chosen.items() if m.path.startswith(args.of) and (not args.numbers or k in args.numbers)
            and (args.numbers or m.name not in kept or kept[m.name]["outcome"] in again)]  # fmt: skip
    # a little of everything first
    todo.sort(key=lambda pair: pair[1].name.rpartition(":")[2])
    for result in kept.values():
        if "::" in result.get("by", ""):
            tests.killed_by(result["by"])

    def one(pair: tuple[int, Mutant]) -> None:
        number, mutant = pair
        if time.monotonic() - began > args.seconds:
            return
        result = try_mutant(number, mutant, tests)
        with lock:
            kept[mutant.name] = result
            RESULTS.write_text(json.dumps(kept, indent=1))
            what = f"{mutant.path}:{mutant.line} {mutant.rule}: {' '.join(mutant.text.split())[:60]}"
            print(
                f"{number:3d} {result['outcome']:<11} {result['seconds']:4.0f} s  {what}  {result.get('by', '')}  | {share(kept)}",
                flush=True,
            )

    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        list(pool.map(one, todo))
    return report(chosen)


def group_of(by: str) -> str:
    """The test group that a killer belongs to."""
    found = re.match(r"tests/python/(\w+)/(\w+)\.py", by)
    return f"{found.group(1)}/{found.group(2)}" if found else "C++ programs" if "." in by else by


def table(title: str, rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    reasons = excused()
    lines = [f"| {title} | mutants | killed | survived, with a reason | survived, without |", "|---|---|---|---|---|"]
    for name, own in rows.items():
        killed = sum(r["outcome"] == "killed" for r in own)
        known = sum(r["outcome"] != "killed" and r["name"] in reasons for r in own)
        lines.append(f"| {name} | {len(own)} | {killed} | {known} | {len(own) - killed - known} |")
    return [*lines, ""]


def report(chosen: dict[int, Mutant]) -> int:
    """Writes README.md; 1 where less than 95% are killed, or a survivor has no reason."""
    kept, reasons = results(), excused()
    names = {mutant.name: mutant for mutant in chosen.values()}
    found = {name: result for name, result in kept.items() if name in names}
    killed = [r for r in found.values() if r["outcome"] == "killed"]
    left = sorted((r for r in found.values() if r["outcome"] != "killed"), key=lambda r: r["name"])
    by: dict[str, int] = {}
    for result in killed:
        by[group_of(result["by"])] = by.get(group_of(result["by"]), 0) + 1
    folders = sorted({mutant.folder for mutant in names.values()})
    percent = 100 * len(killed) / max(1, len(found))
    equivalent = sum(reasons.get(r["name"], {}).get("kind") == "equivalent" for r in left)
    percent_of_others = 100 * len(killed) / max(1, len(found) - equivalent)
    summary = (
        f"**{len(killed)} are killed ({percent:.1f}%);** without the {equivalent} that change no answer, {percent_of_others:.1f}%. "
        f"{len(left)} survive, of which {sum(r['name'] in reasons for r in left)} have a reason below."
    )
    if not found:
        summary, folders = "No mutant was tested yet.", []
    lines = [
        "# Mutation testing", "",
        "Small wrongs in the source, and whether the tests notice: `python tests/mutation/mutate.py run` writes this page.",
        f"`mutate.py` says how it works. Of {len(mutants()):,} mutants that the rules make of {', '.join(f'`{p}`' for p in PARTS)},",
        f"a sample of {len(chosen)} is drawn by folder and by rule; {len(found)} of them were tested so far.", "",
        summary, "",
    ]  # fmt: skip
    of = lambda key: lambda name: [r for n, r in found.items() if key(names[n]) == name]
    lines += table("folder", {f"`{folder}`": of(lambda m: m.folder)(folder) for folder in folders})
    lines += table("rule", {rule: own for rule in RULES if (own := of(lambda m: m.rule)(rule))})
    lines += ["| killed by | mutants |", "|---|---|"]
    lines += [f"| {name} | {count} |" for name, count in sorted(by.items(), key=lambda pair: (-pair[1], pair[0]))]
    lines += ["", "## Survivors", ""]
    for result in left:
        mutant, reason = names[result["name"]], reasons.get(result["name"])
        after = " ".join(mutant.after.split()) or "nothing"
        why = f"{reason['kind']}: {reason['reason']}" if reason else "no reason is known"
        lines.append(
            f"- `{mutant.path}:{mutant.line}`, {mutant.rule}: `{' '.join(mutant.text.split())}` becomes `{after}`. {why}"
        )
    REPORT.write_text("\n".join(lines) + "\n")
    print(share(found))
    return 0 if percent_of_others >= 95 and all(r["name"] in reasons for r in left) else 1


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("command", choices=("list", "build", "run", "report", "clean"))
    parser.add_argument("numbers", type=int, nargs="*", help="of the sample; they are tested again")
    parser.add_argument("--of", default="", help="of files whose path begins so")
    parser.add_argument("--count", type=int, default=260, help="mutants in the sample, chosen once for a build")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no mutant is begun after that")
    parser.add_argument(
        "--most", type=float, default=1200, help="seconds that a file of tests may take without a mutant"
    )
    parser.add_argument("--again", default="", help="outcomes that are tested again: survived,not reached")
    parser.add_argument("--anyway", action="store_true", help="leave tests out that fail where no mutant is on")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(words)
    if args.command == "clean":
        shutil.rmtree(WORK, ignore_errors=True)
        return 0
    if args.command == "build":
        WORK.mkdir(parents=True, exist_ok=True)
        build(args.count)
        return 0
    if args.command == "run":
        return run(args)
    names = json.loads(CHOSEN.read_text())["mutants"] if CHOSEN.exists() else {}
    by_name = {mutant.name: mutant for mutant in mutants()}
    chosen = {int(k): by_name[name] for k, name in names.items() if name in by_name}
    if args.command == "report":
        return report(chosen)
    for number, mutant in (chosen or dict(enumerate(sample(list(by_name.values()), args.count), 1))).items():
        if mutant.path.startswith(args.of):
            text, after = " ".join(mutant.text.split()), " ".join(mutant.after.split()) or "nothing"
            print(f"{number:4d} {mutant.path}:{mutant.line} {mutant.rule}: {text}  ->  {after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
