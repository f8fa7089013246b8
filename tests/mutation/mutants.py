"""Mutants of the source: what a rule makes of an expression or a statement, and the text that can switch between both.

Places are found in the text alone: comments, strings, directives, template headers, constants of the compiler and
branches for GPUs are blanked first, and an operator's expression reaches to the brackets, commas and assignments around
it. A mutant that the compiler takes no switch for is dropped by mutate.py.
"""

from __future__ import annotations

import hashlib
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
# folders whose code is mutated
PARTS = ("kernels", "host/reference", "host/model", "host/tables", "host/batch")
MOST_TEXT = 400  # characters of an expression


class Mutant(NamedTuple):
    """One change: `text` of the file from `start` to `end`, and the one that can be switched instead."""

    path: str
    line: int  # from 1
    rule: str
    start: int
    end: int
    text: str
    after: str  # the text mutated; empty where a statement is dropped
    name: str  # path and a digest: the same where other lines are added or go

    @property
    def part(self) -> str:
        return next(part for part in PARTS if self.path.startswith(part + "/"))

    @property
    def folder(self) -> str:
        """Of the kernels or of the reference, or the part itself."""
        folder = str(pathlib.PurePosixPath(self.path).parent)
        return "/".join(folder.split("/")[:2])

    def switched(self, number: int) -> str:
        """The text with both, on as many lines."""
        if not self.after:
            return f"{{ if (!DS_MUTANT({number})) {{ {self.text} }} }}"
        after = " ".join(self.after.split())
        kind = f"decltype(ds_value({' '.join(self.text.split())}))"
        return f"(DS_MUTANT({number}) ? {kind}({after}) : ds_value({self.text}))"


# a name, what it finds, and what it makes of it, within an expression
REPLACED: tuple[tuple[str, str, str], ...] = (
    ("plus to minus", r"(?<=[\w\])]) \+ (?=[\w(*&-])", " - "),
    ("minus to plus", r"(?<=[\w\])]) - (?=[\w(*&])", " + "),
    ("sign", r"(?:(?<=[(,=?:] )|(?<=\()|(?<=return ))-(?=[a-zA-Z(])", ""),
    ("less to at most", r"(?<=[\w\])]) < (?=[\w(-])", " <= "),
    ("less to at least", r"(?<=[\w\])]) < (?=[\w(-])", " >= "),
    ("more to at least", r"(?<=[\w\])]) > (?=[\w(-])", " >= "),
    ("more to at most", r"(?<=[\w\])]) > (?=[\w(-])", " <= "),
    ("at least to more", r" >= ", " > "),
    ("at most to less", r" <= ", " < "),
    ("equal to other", r" == ", " != "),
    ("other to equal", r" != ", " == "),
    ("and to or", r" && ", " || "),
    ("or to and", r" \|\| ", " && "),
    ("from one", r"(?<=\bint \w = )0(?=;)", "1"),
    ("one less", r"(?<=; )(\w) < ([\w.]+)(?=;)", r"\1 < \2 - 1"),
    ("sign of a product", r"\bfma\((?=\w)", "fma(-"),
    ("least to most", r"\bmin\(", "max("),
    ("most to least", r"\bmax\(", "min("),
    ("threshold", r"\b1e-(\d+)\b", r"(1e3 * 1e-\1)"),
    ("half to one", r"\b0\.5\b", "1.0"),
    ("two to one", r"\b2 \* ", "1 * "),
    ("index by one", r"(?<=\[)(\w+)(?=\])", r"\1 + 1"),
    ("mask turned", r"\bmask_not\(", "("),
    ("and of masks", r"\bmask_and\(", "mask_or("),
    ("or of masks", r"\bmask_or\(", "mask_and("),
    ("true to false", r"\btrue\b", "false"),
    ("false to true", r"\bfalse\b", "true"),
    ("condition turned", r"(?<=\bif \()(?=[\w!])", "!"),
)
# whole statements, dropped
DROPPED: tuple[tuple[str, str], ...] = (
    ("no barrier", r"\b(?:env|e)?\.?(?:lanes\.)?(?:sync|done)\(\);"),
    ("no update", r"^[ ]+(?:[\w.>()\[\]*-]+) [-+*]?= [^;{}\n]+;$"),
    ("no call", r"^[ ]+(?:[a-z]\w*(?:\.|->))*[a-z]\w*\([^;{}\n]*\);$"),
)
# of those, the ones that tell apart nothing but a bound itself: between real numbers nobody sees it
BOUNDS = ("less to at most", "more to at least", "at least to more", "at most to less")
REAL = re.compile(r"Real\(|\bzero\b|\d\.\d|\be?-\d|[kK]Tiny|\babs\(|\bnorm|\bfma\(|\bmask_|\bkEps")
TERM_ENDS = re.compile(r" (?:[-+<>]|[<>=!]=|&&|\|\|) ")
RULES = (*(rule[0] for rule in REPLACED), "term dropped", *(rule[0] for rule in DROPPED))


def blanked(text: str) -> str:
    """The same length and lines, with nothing left but code that a switch can stand in."""

    def spaces(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    text = re.sub(r"//[^\n]*|/\*.*?\*/", spaces, text, flags=re.DOTALL)
    text = re.sub(
        r'"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'', lambda s: '"' + " " * (len(s.group()) - 2) + '"', text
    )
    out, skipped, deep, continued = [], 0, 0, False
    for line in text.splitlines(keepends=True):
        directive = line.lstrip().startswith("#") or continued
        continued = directive and line.rstrip().endswith("\\")
        words = line.split()
        if directive and words and words[0].startswith("#if"):
            deep += 1
            if (
                not skipped
                and re.search(r"(?<!!defined\()(?<!!)\b(__CUDA\w*|DS_DEVICE|DS_FOR_GPU|__AVX\w*|__FMA__)", line)
                and "ndef" not in line
            ):
                skipped = deep
        elif directive and words and words[0] in ("#else", "#elif", "#endif") and skipped == deep:
            skipped = 0
        if directive and words and words[0] == "#endif":
            deep -= 1
        out.append(re.sub(r"[^\n]", " ", line) if directive or skipped else line)
    text = "".join(out)
    text = re.sub(r"\btemplate <[^\n]*", spaces, text)
    return re.sub(
        r"\b(?:static_assert|constexpr|static const|case|enum|using|operator|requires|sizeof|concept)\b[^;{:]*",
        spaces,
        text,
    )


PAIRS = {")": "(", "]": "[", "}": "{"}
WORDS = ("return", "else", "do", "throw", "case", "goto", "new", "delete")


def expression(code: str, at: int) -> tuple[int, int] | None:
    """Where the expression around a place begins and ends; None where that is not sure."""
    deep, i = 0, at - 1
    while i >= 0:
        c = code[i]
        if c in ")]}":
            if c == "}" and not deep:
                break
            deep += 1
        elif c in "([{":
            if not deep:
                break
            deep -= 1
        elif not deep:
            if c in ";,?" or (c == "=" and code[i - 1] not in "=<>!" and code[i + 1] != "="):
                break
            if c == ":" and code[i - 1] != ":" and code[i + 1] != ":":
                break
            word = (
                re.search(r"\b(\w+)$", code[max(0, i - 9) : i + 1])
                if c.isalnum() and not code[i + 1].isalnum()
                else None
            )
            if word and word.group(1) in WORDS:
                break
        i -= 1
    start = i + 1
    if i < 0 or code[i] == "}":
        return None
    if code[i] in ";{":
        # only within a `for` is that not a statement
        around = re.search(r"\bfor \([^(){}]*$", code[max(0, i - 200) : i + 1]) if code[i] == ";" else None
        if not around:
            return None
    deep, j = 0, at
    while j < len(code):
        c = code[j]
        if c in "([":
            deep += 1
        elif c == "{":
            if not deep:
                break
            deep += 1
        elif c in ")]}":
            if not deep:
                break
            deep -= 1
        elif not deep and (c in ";,?" or (c == ":" and code[j - 1] != ":" and code[j + 1] != ":")):
            break
        elif not deep and c == "=" and code[j - 1] not in "=<>!" and code[j + 1] != "=":
            return None
        j += 1
    while start < j and code[start].isspace():
        start += 1
    while j > start and code[j - 1].isspace():
        j -= 1
    return (start, j) if at < j and j - start <= MOST_TEXT else None


def _in_file(path: str, whole: str) -> list[Mutant]:
    code, found, seen = blanked(whole), [], {}

    def add(rule: str, start: int, end: int, after: str) -> None:
        text = whole[start:end]
        # a declaration of a function, after the end of a list of template arguments
        if re.match(r"[\w:]+>+ ", text) or ("[" not in text and re.search(r"\bconst\b", text)):
            return
        # comments or strings within, or what cannot be said twice
        if re.search(r"//|/\*|\"|\bstatic\b", text) or "\\\n" in text or text == after:
            return
        line = whole.count("\n", 0, start) + 1
        key = f"{rule}\0{text}\0{after}"
        seen[key] = seen.get(key, 0) + 1
        digest = hashlib.sha256(f"{path}\0{key}\0{seen[key]}".encode()).hexdigest()[:10]
        found.append(Mutant(path, line, rule, start, end, text, after, f"{path}:{digest}"))

    for rule, pattern, replacement in REPLACED:
        for hit in re.finditer(pattern, code, re.MULTILINE):
            around = expression(code, hit.start())
            if around is None or hit.end() > around[1]:
                continue
            if rule == "condition turned":
                # a declaration, or one with a statement before
                if re.match(r"[\w:&*<>]+ [\w&*]+ = ", code[around[0] :]):
                    continue
                add(rule, *around, f"!({whole[around[0] : around[1]]})")
                continue
            start, end = around
            if rule in BOUNDS and REAL.search(code[start:end]):
                continue
            add(rule, start, end, whole[start : hit.start()] + hit.expand(replacement) + whole[hit.end() : end])
            if rule in ("plus to minus", "minus to plus"):
                deep, stop = 0, end
                for i in range(hit.end(), end):
                    deep += (code[i] in "([{") - (code[i] in ")]}")
                    if not deep and TERM_ENDS.match(code, i):
                        stop = i
                        break
                add("term dropped", start, end, whole[start : hit.start()] + whole[stop:end])
    for rule, pattern in DROPPED:
        for hit in re.finditer(pattern, code, re.MULTILINE):
            start = hit.start() + len(hit.group()) - len(hit.group().lstrip())
            text = code[start : hit.end()]
            if text.count("(") != text.count(")") or re.match(r"(return|delete|throw|fail|error)\b", text):
                continue
            before = code[:start].rstrip()
            # a line of a longer statement
            if before and before[-1] not in ";{}" and not re.search(r"(\)|\belse|\bdo)$", before):
                continue
            add(rule, start, hit.end(), "")
    return found


def mutants(root: pathlib.Path = ROOT) -> list[Mutant]:
    """All that the rules make of the source, by file and place."""
    found: list[Mutant] = []
    for part in PARTS:
        for path in sorted((root / part).rglob("*")):
            if path.suffix in (".h", ".cpp") and not {"cuda", "launch"} & set(path.parts[len(root.parts) :]):
                found += _in_file(str(path.relative_to(root)), path.read_text())
    return found


def sample(everything: list[Mutant], count: int, without: frozenset[str] | set[str] = frozenset()) -> list[Mutant]:
    """So many, none over another: each folder by the root of its mutants' number, within it the rules by turns."""
    folders: dict[str, dict[str, list[Mutant]]] = {}
    for mutant in everything:
        folders.setdefault(mutant.folder, {}).setdefault(mutant.rule, []).append(mutant)
    sizes = {folder: sum(map(len, rules.values())) ** 0.5 for folder, rules in folders.items()}
    chosen: list[Mutant] = []
    for folder, rules in folders.items():
        wanted = round(count * sizes[folder] / sum(sizes.values()))
        order = [sorted(of_rule, key=lambda m: m.name.rpartition(":")[2]) for _, of_rule in sorted(rules.items())]
        # which rules come first where there are fewer mutants than rules
        order.sort(key=lambda of_rule: hashlib.sha256((folder + of_rule[0].rule).encode()).digest())
        taken: list[Mutant] = []
        while len(taken) < wanted and any(order):
            for of_rule in order:
                while of_rule and len(taken) < wanted:
                    mutant = of_rule.pop(0)
                    apart = all(m.path != mutant.path or m.end <= mutant.start or mutant.end <= m.start for m in taken)
                    if apart and mutant.name not in without:
                        taken.append(mutant)
                        break
        chosen += taken
    return sorted(chosen, key=lambda m: (m.path, m.start))
