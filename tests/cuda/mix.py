"""Instructions of machine code by class: where a step's accesses go, and what they cost in addresses.

    python tests/cuda/mix.py FILE.cubin
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from tools import disassembled

# by the first part of an opcode
CLASSES = {
    "LD": "generic loads",  # whichever memory the address is of: found out while it runs
    "ST": "generic stores",
    "LDG": "device loads",
    "STG": "device stores",
    "LDS": "shared loads",
    "STS": "shared stores",
    "LDL": "stack loads",
    "STL": "stack stores",
    "LDC": "constant loads",
    "ULDC": "constant loads",
    "LDCU": "constant loads",
    "R2UR": "R2UR",  # a descriptor made uniform, before an access
    "SHFL": "shuffles",
    "WARPSYNC": "barriers",
    "CALL": "calls",
}


def mix_of(sass: str) -> dict[str, int]:
    found: Counter[str] = Counter(dict.fromkeys(CLASSES.values(), 0))
    for match in re.finditer(r"(?m)^\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)", sass):
        found["instructions"] += 1
        if match[1] in CLASSES:
            found[CLASSES[match[1]]] += 1
    return dict(found)


if __name__ == "__main__":
    for what, count in mix_of(disassembled(Path(sys.argv[1]).read_bytes())).items():
        print(f"{count:8,} {what}")
