"""Proof from machine code that threads which leave a kernel hold nobody who waits at a barrier of the block.

Threads of a warp that have no environment leave at the head of the loop over environments, while the others run a step
whose barriers every thread of the block must come to, or have left before (kernels/launch/cuda/fused.cuh). For each
kernel that has such barriers:

1. every EXIT is in the code of the kernel itself, which is what is reached from its first instruction without a call,
   and every barrier of the block is in a function that it calls: no thread leaves between barriers of a step;
2. every EXIT depends on a predicate, and the loop comes back to it or to before it: threads leave where an environment
   would begin, one by one, and no others of their warp with them;
3. no call and no EXIT of that code lies between BSSY and BSYNC, where threads that came early wait for others of their
   warp: whoever goes on in the loop waits for nobody who left, and the other way round;
4. it jumps to no address that is computed, so that all of it was seen.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Instruction(NamedTuple):
    guarded: bool  # by a predicate
    opcode: str  # without modifiers
    operands: str

    def target(self) -> int | None:
        """Where a branch goes, or where threads of BSSY meet."""
        found = re.findall(r"0x[0-9a-f]+", self.operands)
        return int(found[-1], 16) if found else None

    def always(self) -> bool:
        """Whether a branch is taken by all who come to it."""
        return not self.guarded and re.fullmatch(r"\s*0x[0-9a-f]+\s*", self.operands) is not None


LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)[A-Za-z0-9_.]*([^;]*);")


def functions(sass: str) -> dict[str, dict[int, Instruction]]:
    """Instructions by their address, by kernel."""
    found: dict[str, dict[int, Instruction]] = {}
    current: dict[int, Instruction] = {}
    for line in sass.splitlines():
        if name := re.search(r"Function : (\S+)", line):
            current = found.setdefault(name[1], {})
        elif match := LINE.match(line):
            current[int(match[1], 16)] = Instruction(match[2] is not None, match[3], match[4])
    return found


def reached(code: dict[int, Instruction], start: int, until: str = "") -> set[int]:
    """Addresses that are reached without a call, and without BSYNC of the barrier `until`."""
    addresses = sorted(code)
    after = dict(zip(addresses, addresses[1:], strict=False))
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        at = waiting.pop()
        if at in seen or at not in code:
            continue
        one = code[at]
        if until and one.opcode == "BSYNC" and one.operands.strip() == until:
            continue
        seen.add(at)
        target = one.target()
        if one.opcode == "BRA" and target is not None:
            waiting.append(target)
        ends = one.always() if one.opcode == "BRA" else one.opcode in ("EXIT", "RET") and not one.guarded
        if not ends and at in after:
            waiting.append(after[at])
    return seen


def check_kernel(code: dict[int, Instruction]) -> list[str]:
    def having(*opcodes: str) -> set[int]:
        return {at for at, one in code.items() if one.opcode in opcodes}

    if not having("BAR"):
        return []
    own = reached(code, min(code))
    exits = having("EXIT")
    said = [f"an EXIT at {at:#x} is in a function that the kernel calls" for at in sorted(exits - own)]
    said += [f"an EXIT at {at:#x} depends on no predicate" for at in sorted(exits & own) if not code[at].guarded]
    said += [f"a barrier at {at:#x} is where threads leave, in the kernel itself" for at in sorted(having("BAR") & own)]
    computed = having("BRX", "JMX", "JMP", "RET") & own
    said += [f"the jump at {at:#x} goes to where nobody sees" for at in sorted(computed)]
    ends = [(at, code[at].target() or 0) for at in sorted(having("BRA") & own)]
    loops = [target for at, target in ends if target < at and having("CALL") & reached(code, target)]
    if not loops or any(head < max(loops) for head in exits & own):
        said.append("the loop over environments does not come back to where threads leave")
    for at in sorted(having("BSSY") & own):
        barrier = code[at].operands.partition(",")[0].strip()
        if held := (reached(code, at, barrier) - {at}) & (exits | having("CALL")):
            said.append(f"threads that meet at {barrier} of {at:#x} have an EXIT or a call before, at {min(held):#x}")
    return said


def having_barriers(sass: str) -> list[str]:
    """Kernels whose blocks meet at barriers."""
    return [name for name, code in functions(sass).items() if any(one.opcode == "BAR" for one in code.values())]


def check_leaving(sass: str) -> list[str]:
    """What may hold threads at a barrier of their block, in words."""
    return [f"{name}: {said}" for name, code in functions(sass).items() for said in check_kernel(code)]
