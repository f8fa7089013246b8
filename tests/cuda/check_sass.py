"""Proof from the compiled code that the CUDA kernels round as every other backend does, and that no thread which leaves
holds others at a barrier (leaving.py says how).

    python tests/cuda/check_sass.py BUILD

What is to be shown of rounding: no multiplication and addition are contracted, nothing is approximate, nothing flushes
to zero.

1. In the kernels' PTX every add, sub, mul, div, sqrt and rcp of floats carries the modifier .rn. The PTX manual
   lets the assembler fuse an addition with a multiplication only where they carry no rounding modifier, and it
   defines the others as correctly rounded. No instruction is .approx, .full or .ftz, and there are no
   transcendental functions (sin, cos, ex2, lg2, tanh).
2. The same source compiled with -DDS_NO_FMA, where kernels/base/real.h writes fma(a, b, c) as a * b + c, has no fma in
   its PTX at all: each one in the real kernels is an fma() of the source.
3. In the machine code, the special-function unit is used for reciprocals and reciprocal square roots only
   (MUFU.RCP, MUFU.RSQ, MUFU.RCP64H, MUFU.RSQ64H), the seeds of the correctly rounded division and square root of 1.
   No floating-point instruction flushes (.FTZ) but in those sequences' range checks, which compare exponents.
4. No min of the PTX has a zero for an operand, but where +0 is added to what comes of it: PTX's min(-0, +0) is -0, and
   the source's comparison says +0. max(x, 0) is the same either way, and the assembler makes no min of a comparison
   that says otherwise.
5. With -DDS_NO_FMA and division and square root made approximate, so that no correctly rounded sequence is left, the
   machine code has no fused multiply-add of floats: the assembler adds none on its own. (--deep: it compiles a
   kernel, for a minute or more.)
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from leaving import check_leaving, having_barriers
from tools import ROOT, objects, output, tool

FLAGS = ["-std=c++20", "-O3", "-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false"]
# rounded or not, these say what they do exactly
EXACT = ("ld", "st", "mov", "neg", "abs", "setp", "set", "selp", "min", "max", "cvt", "cvta", "shfl", "copysign", "testp")
ROUNDED = ("add", "sub", "mul", "div", "sqrt", "rcp", "fma")
SEEDS = {"MUFU.RCP", "MUFU.RSQ", "MUFU.RCP64H", "MUFU.RSQ64H"}


def float_operations(ptx: str) -> Counter[str]:
    """Opcodes of a PTX text that work on floats, without operands."""
    found: Counter[str] = Counter()
    for line in ptx.splitlines():
        match = re.match(r"\s*(?:@!?%\w+\s+)?([a-z]\w*(?:\.[a-z_]\w*)+)\b", line)
        if match and re.search(r"\.f(16|32|64)\b", match[1]):
            found[match[1]] += 1
    return found


def check_ptx(operations: Counter[str]) -> list[str]:
    """Operations that may round otherwise than IEEE arithmetic, in words."""
    complaints = []
    for operation, count in sorted(operations.items()):
        parts = operation.split(".")
        bad = {"approx", "full", "ftz", "rz", "rm", "rp", "sat"} & set(parts[1:])
        if parts[0] == "cvt":
            # to an integer a float is cut off, as C says; between floats it is rounded
            between = len(re.findall(r"\.f\d+", operation)) == 2
            bad -= {"rz"} if not between else set()
        if bad:
            complaints.append(f"{count} of {operation}")
        elif parts[0] in ROUNDED and "rn" not in parts:
            complaints.append(f"{count} of {operation}: without .rn")
        elif parts[0] not in ROUNDED + EXACT:
            complaints.append(f"{count} of {operation}: not an operation of this project's arithmetic")
    return complaints


def zero_minima(ptx: str) -> list[str]:
    """Minima of a number and zero whose sign nobody takes away, as lines of the PTX."""
    complaints = []
    zero = r"0[fF][08]0{7}|0[dD][08]0{15}"
    for body in re.split(r"(?m)^\}", ptx):
        lines = body.splitlines()
        for line in lines:
            match = re.match(r"\s*(?:@!?%\w+\s+)?(min|max)\.f(?:32|64)\s+(%\w+), (%?\w+), (%?\w+);", line)
            if not match or not any(re.fullmatch(zero, operand) for operand in match.groups()[2:]):
                continue
            kind, result = match[1], match[2]
            if kind == "max" and not re.search(r"0[fFdD]8", line):
                continue
            uses = [use for use in lines if use is not line and re.search(rf"{result}\b", use)]
            mends = re.compile(rf"\s*add\.rn\.f\d\d\s+%\w+, {result}, 0[fFdD]0+;")
            if not uses or not all(mends.match(use) for use in uses):
                complaints.append(line.strip())
    return complaints


def machine_operations(sass: str) -> dict[str, Counter[str]]:
    """Opcodes with their modifiers, by function."""
    functions: dict[str, Counter[str]] = {}
    current: Counter[str] = Counter()
    for line in sass.splitlines():
        if match := re.search(r"Function : (\S+)", line):
            current = functions.setdefault(match[1], Counter())
        elif match := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", line):
            current[match[1]] += 1
    return functions


def check_machine(operations: Counter[str]) -> list[str]:
    return [
        f"{count} of {operation}"
        for operation, count in sorted(operations.items())
        if operation.startswith("MUFU") and operation not in SEEDS
    ]


def fused(operations: Counter[str]) -> int:
    """Fused multiply-adds of float and double numbers."""
    return sum(n for operation, n in operations.items() if re.match(r"(FFMA|DFMA)", operation))


def compile_probe(arch: str, kind: str, *flags: str) -> str:
    """PTX ("ptx") or machine code ("cubin", disassembled) of the float kernels of 8 threads, without fma()."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"probe.{kind}"
        command = [tool("nvcc"), *FLAGS, *flags, f"-arch={arch}", "--diag-suppress=128", f"-I{ROOT}", f"--{kind}"]
        defines = ["-DDS_NO_FMA", "-DDUALSTEP_SCALAR=float", "-DDUALSTEP_LANES=8"]
        output(*command, *defines, ROOT / "kernels" / "launch" / "cuda" / "launch.cu", "-o", out)
        return out.read_text() if kind == "ptx" else output(tool("cuobjdump"), "-sass", out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--deep", action="store_true")
    args = parser.parse_args()
    complaints: list[str] = []
    cuobjdump = tool("cuobjdump")
    for path in objects(args.build):
        ptx, sass = output(cuobjdump, "-ptx", path), output(cuobjdump, "-sass", path)
        operations = float_operations(ptx)
        if sum(n for o, n in operations.items() if o.startswith("fma")) == 0:
            complaints.append(f"{path.name}: no fma in its PTX, so it is not what is to be checked")
        complaints += [f"{path.name}, PTX: {c}" for c in check_ptx(operations)]
        complaints += [f"{path.name}, PTX: {c}" for c in zero_minima(ptx)]
        rounded = sum(n for o, n in operations.items() if o.split(".")[0] in ROUNDED)
        print(f"{path.name}: {rounded} rounded float operations in its PTX")
        meeting = having_barriers(sass)
        if not meeting:
            complaints.append(f"{path.name}: no kernel has a barrier, so they are not what is to be checked")
        complaints += [f"{path.name}, {c}" for c in check_leaving(sass)]
        print(f"{path.name}: threads leave {len(meeting)} kernels with barriers between environments")
        for function, machine in machine_operations(sass).items():
            complaints += [f"{path.name}, {function}: {c}" for c in check_machine(machine)]
            if "fused_step" in function:
                seeds = {o: n for o, n in sorted(machine.items()) if o in SEEDS}
                print(f"  {function}: {sum(machine.values())} instructions, {fused(machine)} fused, {seeds}")
    left = {o: n for o, n in float_operations(compile_probe("compute_75", "ptx")).items() if o.startswith("fma")}
    print(f"without the source's fma(): {sum(left.values())} fma in the PTX")
    complaints += [f"without the source's fma(): {n} of {o}" for o, n in left.items()]
    if args.deep:
        sass = compile_probe("sm_80", "cubin", "-prec-div=false", "-prec-sqrt=false")
        count = sum(fused(m) for f, m in machine_operations(sass).items())
        print(f"without fma(), division and square root: {count} fused multiply-adds in the machine code")
        if count:
            complaints.append(f"the assembler fused {count} multiplications and additions")
    print("\n".join(complaints) if complaints else "rounds as the source says")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
