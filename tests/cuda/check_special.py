"""Specialised kernels (host/backends/cuda/specialize): that they compile, are kept, and stay within their budgets.

    python tests/cuda/check_special.py            compile for all architectures, and compare
    python tests/cuda/check_special.py --write    make what they use the budgets

Needs NVRTC and no GPU: the steps of models() are compiled for each of ARCHS, fused and in parts, and
1. nothing spills; registers, stack and shared memory are at most those of kernels/launch/cuda/budgets_specialized.json
   (registers in the eights that a thread is given: another name of a function moves their number by one), and the
   instructions of every stage (a device function that is not inlined) at most its count there, which has a twentieth
   of margin. Budgets hold for one version of NVRTC: with another one, only spills fail. Of COUNTED the instructions
   of each class (tests/cuda/mix.py) have budgets too. A device tries one number of warps after another (WARPS), until
   nothing spills. Where that would be more than two, the number that the budgets' registers allow is compiled at once;
   on COUNTED's architecture the one before too, which must spill. If either is not so, all are tried;
2. a second load comes from the cache, in less than 100 ms;
3. no thread that leaves a kernel holds others at a barrier (tests/cuda/leaving.py);
4. the PTX of the first model has only correctly rounded operations (tests/cuda/check_sass.py says which).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_budgets import NUMBERS, read_log
from check_sass import check_ptx, float_operations, zero_minima
from leaving import check_leaving
from mix import mix_of
from tools import ROOT, MissingTool, demangle, disassembled, short

BUDGETS = ROOT / "kernels" / "launch" / "cuda" / "budgets_specialized.json"
ARCHS = ("sm_80", "sm_90", "sm_120")
ENTRY = "dualstep_fused_step"
# whose instructions are counted by class too
COUNTED = ("sm_90", "humanoid")
# threads an environment of the parts of a step, where it is launched in parts
BY_PART = [1, 8, 8, 8, 1]
BYTES_OF_INSTRUCTION = 16
# warps that a kernel is tried with, in this order, and registers that a thread then has: of 65,536 of an SM, in eights, at
# most 255
[TRIED] = re.findall(r"kWarps\[\] = {(.*?)}", (ROOT / "host/backends/cuda/specialize/specialize.cpp").read_text())
WARPS = {warps: min(65536 // (32 * warps) // 8 * 8, 255) for warps in map(int, TRIED.split(","))}


def models() -> dict[str, tuple[Path, list[int]]]:
    """By name: a model, and how many threads share an environment."""
    import gymnasium

    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    humanoid = ROOT / "bench" / "models" / "humanoid.xml"
    return {"humanoid": (humanoid, [8]), "ant": (assets / "ant.xml", [8]), "humanoid in parts": (humanoid, BY_PART)}


def stage_name(function: str) -> str:
    """newton<3, false>, of a demangled device function: without what all of them have in common."""
    name = re.sub(r"(Field|Lanes|TileLanes)<[^<>]*>", r"\1", short(function))
    name = re.sub(r"Env<[^<>]*>", "Env", name)
    # what a caller hands over is no part of the name, nor what comes back
    name = re.sub(r"<[^<>]*\bsmooth_dynamics\b.*", "", name)
    name = re.sub(r"^\S*::(Mask|Real) ", "", name)
    name = re.sub(r"(, )?\bEnv\b(, (Field|float|double|f|bool))*", "", name)
    return re.sub(r"\s+>", ">", re.sub(r"<\s*>", "", name))


def symbols(code: bytes) -> list[tuple[str, int, int]]:
    """Name, place and size in bytes of every function of machine code, from the symbols of its ELF file."""
    section_offset, = struct.unpack_from("<Q", code, 0x28)
    entry_size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, section_offset + i * entry_size) for i in range(count)]
    found = []
    for _, kind, _, _, offset, size, link, _, _, item in sections:
        if kind != 2:  # the symbol table
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, item):
            name, info, _, _, place, length = struct.unpack_from("<IBBHQQ", code, at)
            if info & 15 == 2:  # a function
                begin = names + name
                found.append((code[begin : code.index(b"\0", begin)].decode(), place, length))
    return found


def functions(code: bytes) -> dict[str, int]:
    """Instructions of every function."""
    return {name: length // BYTES_OF_INSTRUCTION for name, _, length in symbols(code)}


def stages(code: bytes, entry: str = ENTRY) -> dict[str, int]:
    """Instructions of every stage of a kernel, by its name; those of the kernel apart from them under its own."""
    counts = functions(code)
    total = counts.pop(entry)
    prefix = f"${entry}$"
    mangled = {name: name.removeprefix(prefix) for name in counts if name.startswith(prefix)}
    readable = demangle(list(mangled.values()))
    by_name: dict[str, int] = {}
    for name, symbol in mangled.items():
        stage = stage_name(readable[symbol])
        by_name[stage] = by_name.get(stage, 0) + counts[name]
    by_name[entry] = total - sum(by_name.values())
    return dict(sorted(by_name.items()))


def step_name(model: str, entry: str) -> str:
    """What the budgets of a kernel are kept under."""
    return model if entry == ENTRY else f"{model}: {entry.rpartition('_')[2]}"


def compile_with(program: str, warps: dict[str, int], arch: str) -> dict:
    """The program with so many warps for each kernel, and which of them spill."""
    from dualstep import _core

    given = re.sub(r"DUALSTEP_WARPS_(\w+)", lambda macro: str(warps[macro[1]]), program)
    made = {"program": given, **_core.specialize(given, arch)}
    if not made["why"] and not made["cached"]:
        made["spills"] = {entry: used["spill_stores"] > 0 for entry, used in read_log(made["log"])[arch].items()}
    return made


def compile_as_budgeted(program: str, arch: str, name: str, budgets: dict) -> dict | None:
    """What a device would end with, where that would take it more than two compilations and the budgets tell it."""
    tried = list(WARPS)
    at = {}
    for entry in re.findall(r"DUALSTEP_WARPS_(\w+)", program):
        used = budgets.get(arch, {}).get(step_name(name, entry), {}).get("registers", 256)
        at[entry] = next((i for i, most in enumerate(WARPS.values()) if used <= most), None)
    if None in at.values() or max(at.values()) < 2:
        return None
    made = compile_with(program, {entry: tried[i] for entry, i in at.items()}, arch)
    proven = True
    if arch == COUNTED[0]:
        before = compile_with(program, {entry: tried[max(i - 1, 0)] for entry, i in at.items()}, arch)
        proven = all(before.get("spills", {}).get(entry) for entry, i in at.items() if i)
    return made if proven and "spills" in made and not any(made["spills"].values()) else None


def compile_all(budgets: dict) -> tuple[dict, list[str]]:
    """What every step uses, by architecture and model, and complaints."""
    import dualstep as ds
    from dualstep import _core

    programs = {name: _core.specialized_program(ds.Model.from_mjcf(path), lanes)
                for name, (path, lanes) in models().items()}  # fmt: skip
    usage: dict = {"mix": {}, **{arch: {} for arch in ARCHS}}
    complaints = []

    def one(job: tuple[str, str]) -> tuple[str, str, dict, dict]:
        arch, name = job
        first = compile_as_budgeted(programs[name], arch, name, budgets)
        if first is None:
            first = {"program": programs[name], **_core.specialize(programs[name], arch)}
        # of a few loads the fastest: a machine that does other things may take its time over one
        later = [_core.specialize(first["program"], arch) for _ in range(3)]
        return arch, name, first, min(later, key=lambda load: load["seconds"] + (not load["cached"]))

    jobs = [(arch, name) for arch in ARCHS for name in programs]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for arch, name, first, second in pool.map(one, jobs):
            where = f"{arch} {name}"
            if first["why"] or first["cached"]:
                complaints.append(f"{where}: not compiled: {first['why'] or 'came from the cache'}")
                continue
            if not second["cached"] or second["seconds"] > 0.1 or second["code"] != first["code"]:
                complaints.append(f"{where}: the second load took {second['seconds']:.3f} s, and was "
                                  + ("" if second["cached"] else "not ") + "from the cache")  # fmt: skip
            try:
                sass = disassembled(first["code"])
                complaints += [f"{where}: {complaint}" for complaint in check_leaving(sass)]
                if (arch, name) == COUNTED:
                    usage["mix"] = mix_of(sass)
            except MissingTool as error:
                print(f"{where}: machine code is not read: {error}")
            for entry, numbers in sorted(read_log(first["log"])[arch].items()):
                step = step_name(name, entry)
                by_stage = stages(first["code"], entry)
                usage[arch][step] = {**numbers, "instructions": sum(by_stage.values()), "stages": by_stage}
                print(f"{arch:7} {step:28} registers {numbers['registers']:3}  stack {numbers['stack']:4}  shared "
                      f"{numbers['shared']:4}  spills {numbers['spill_stores']}/{numbers['spill_loads']}  "
                      f"instructions {usage[arch][step]['instructions']:6}  compiled in {first['seconds']:5.1f} s, "
                      f"from the cache in {1000 * second['seconds']:.1f} ms")  # fmt: skip
    ptx = _core.specialize(programs["humanoid"], "compute_90")
    text = ptx["code"].decode(errors="replace")
    operations = float_operations(text)
    complaints += [f"PTX: {complaint}" for complaint in zero_minima(text)]
    if sum(n for o, n in operations.items() if o.startswith("fma")) == 0:
        complaints.append(f"PTX: no fma, so it is not what is to be checked {ptx['why']}")
    complaints += [f"PTX: {complaint}" for complaint in check_ptx(operations)]
    return usage, complaints


def with_margin(instructions: int) -> int:
    return (instructions * 21 // 20 // 16 + 1) * 16


def given(kind: str, count: int) -> int:
    """What a device gives where a kernel uses so many."""
    return -(-count // 8) * 8 if kind == "registers" else count


def compare(usage: dict, budgets: dict, version: str) -> list[str]:
    complaints = []
    exact = budgets["nvrtc"] == version
    for what, count in usage["mix"].items():
        most = budgets.get("mix", {}).get(what)
        if exact and (most is None or count > most):
            complaints.append(f"{' '.join(COUNTED)}: {count} {what}, above its budget of {most}")
    for arch in ARCHS:
        for name, used in usage[arch].items():
            where = f"{arch} {name}"
            complaints += [f"{where}: {used[kind]} bytes of {kind.replace('_', ' ')}"
                           for kind in ("spill_stores", "spill_loads") if used[kind]]  # fmt: skip
            budget = budgets["steps"].get(arch, {}).get(name)
            if budget is None:
                complaints.append(f"{where}: has no budget")
                continue
            if not exact:
                continue
            complaints += [f"{where}: {kind} {used[kind]}, above its budget of {budget[kind]}"
                           for kind in NUMBERS if given(kind, used[kind]) > given(kind, budget[kind])]  # fmt: skip
            for stage, count in used["stages"].items():
                most = budget["stages"].get(stage)
                if most is None:
                    complaints.append(f"{where}: stage {stage} has no budget")
                elif count > most:
                    complaints.append(f"{where}: stage {stage} has {count} instructions, above its budget of {most}")
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    from dualstep import _core

    said = _core.describe_specialization()
    if not (match := re.match(r"NVRTC ([\d.]+)", said)):
        print(f"no run-time compiler to check with: {said}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DUALSTEP_CACHE_DIR"] = folder
        budgets = json.loads(BUDGETS.read_text())
        known = budgets["steps"] if budgets["nvrtc"] == match[1] and not args.write else {}
        usage, complaints = compile_all(known)
    if args.write:
        steps = {
            arch: {
                name: {**{kind: used[kind] for kind in NUMBERS},
                       "stages": {stage: with_margin(count) for stage, count in used["stages"].items()}}
                for name, used in usage[arch].items()
            }
            for arch in ARCHS
        }  # fmt: skip
        # what there is none of stays away
        with_margins = {what: count * 21 // 20 for what, count in usage["mix"].items()}
        BUDGETS.write_text(json.dumps({"nvrtc": match[1], "mix": with_margins, "steps": steps}, indent=1, sort_keys=True) + "\n")
    budgets = json.loads(BUDGETS.read_text())
    if budgets["nvrtc"] != match[1]:
        print(f"budgets are of NVRTC {budgets['nvrtc']}, this is {match[1]}: only spills were checked")
    complaints += compare(usage, budgets, match[1])
    print("\n".join(complaints) if complaints else "specialised kernels: within budget")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
