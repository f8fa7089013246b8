"""Registers, stack, shared memory and spills of every CUDA kernel against the committed budget.

    python tests/cuda/check_budgets.py BUILD            compare the kernels in a build folder
    python tests/cuda/check_budgets.py BUILD --write    make what they use the budget

Reads what ptxas said when the build compiled them (BUILD/cuda/launch_*.o.log) and kernels/launch/cuda/budgets.json, an entry
an architecture and kernel. Fails on a spill anywhere, on a kernel without a budget, and where a number grew. Budgets
hold for one version of the compiler: with another one, only spills and missing kernels fail.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from tools import ROOT, demangle, nvcc_version, objects, output, short, tool

BUDGETS = ROOT / "kernels" / "launch" / "cuda" / "budgets.json"
NUMBERS = ("registers", "stack", "shared", "spill_stores", "spill_loads")

Usage = dict[str, dict[str, dict[str, int]]]  # by architecture, then kernel


def read_log(text: str) -> Usage:
    """What ptxas -v says of each kernel; spills are those of the kernel and of all functions it calls."""
    usage: Usage = {}
    kernel = None
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)' for '(sm_\w+)'", line):
            kernel = usage.setdefault(match[2], {}).setdefault(match[1], dict.fromkeys(NUMBERS, 0))
        elif kernel is None:
            continue
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            kernel["spill_stores"] += int(match[1])
            kernel["spill_loads"] += int(match[2])
        elif match := re.search(r"Used (\d+) registers", line):
            kernel["registers"] = int(match[1])
            for name, pattern in (("stack", r"(\d+) bytes cumulative stack"), ("shared", r"(\d+) bytes smem")):
                if found := re.search(pattern, line):
                    kernel[name] = int(found[1])
    return usage


def read_build(build: Path) -> Usage:
    usage: Usage = {}
    for path in objects(build):
        for arch, kernels in read_log(Path(f"{path}.log").read_text()).items():
            names = demangle(list(kernels))
            usage.setdefault(arch, {}).update({short(names[k]): numbers for k, numbers in kernels.items()})
    if not usage:
        raise ValueError(f"the logs in {build}/cuda name no kernel")
    return usage


def compare(usage: Usage, budgets: dict, version: str) -> list[str]:
    """Complaints; none where everything is within its budget."""
    complaints = []
    exact = budgets["nvcc"] == version
    for arch, kernels in sorted(usage.items()):
        for kernel, numbers in sorted(kernels.items()):
            where = f"{arch} {kernel}"
            for name in ("spill_stores", "spill_loads"):
                if numbers[name] > 0:
                    complaints.append(f"{where}: {numbers[name]} bytes of {name.replace('_', ' ')}")
            if arch not in budgets["kernels"]:
                continue
            budget = budgets["kernels"][arch].get(kernel)
            if budget is None:
                complaints.append(f"{where}: has no budget")
            elif exact:
                complaints += [
                    f"{where}: {name} {numbers[name]}, above its budget of {budget[name]}"
                    for name in NUMBERS
                    if numbers[name] > budget[name]
                ]
    return complaints


def shared_names(build: Path) -> list[str]:
    """What an object of kernels defines for all the program beside its own variant: a second object would too, and the
    two could not be linked. This build may have one alone."""
    complaints = []
    for path in sorted(build.glob("cuda/launch_*.o")):
        for line in output(tool("nm"), "--extern-only", "--defined-only", "--demangle", path).splitlines():
            kind, name = line.split(maxsplit=2)[1:]
            if kind in "TDBR" and "generic_kernels<" not in name:
                complaints.append(f"{path.name}: {name} is defined for all the program; make it static")
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    usage, version = read_build(args.build), nvcc_version()
    budgets = json.loads(BUDGETS.read_text()) if BUDGETS.exists() else {"nvcc": version, "kernels": {}}
    if args.write:
        kept = budgets["kernels"] if budgets["nvcc"] == version else {}
        # this build may have some of the kernels alone
        merged = {arch: {**kept.get(arch, {}), **usage.get(arch, {})} for arch in {*kept, *usage}}
        budgets = {"nvcc": version, "kernels": merged}
        BUDGETS.write_text(json.dumps(budgets, indent=1, sort_keys=True) + "\n")
    for arch, kernels in sorted(usage.items()):
        for kernel, n in sorted(kernels.items()):
            print(f"{arch:7} {kernel:32} registers {n['registers']:3}  stack {n['stack']:4}  spills "
                  f"{n['spill_stores']}/{n['spill_loads']}")
    unknown = sorted(set(usage) - set(budgets["kernels"]))
    if unknown:
        print(f"no budget for {', '.join(unknown)}: only spills were checked")
    complaints = compare(usage, budgets, version) + shared_names(args.build)
    print("\n".join(complaints) if complaints else "within budget")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
