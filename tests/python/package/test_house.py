"""Rooms of one thought each: no function of more than 80 lines, no file of more than 600."""

import ast
import pathlib
import re

ROOT = next(p for p in pathlib.Path(__file__).resolve().parents if (p / "pyproject.toml").is_file())
FOLDERS = ("kernels", "host", "bindings", "envs", "bench", "tests/ptx_interpreter")
CPP = {".h", ".cpp", ".inl", ".cu", ".cuh"}
MOST_LINES_OF_FUNCTION = 80
MOST_LINES_OF_FILE = 600

# functions that are longer, by file and name
LONG_FUNCTIONS: set[tuple[str, str]] = set()


def without_comments_and_text(source):
    """The same characters at the same lines, but for comments, literals and preprocessor lines."""
    pattern = r"""//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*"""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.MULTILINE | re.DOTALL)


def functions_of_cpp(source):
    """(name, lines) of each function that is defined outside of other functions; lambdas are a part of theirs."""
    text = without_comments_and_text(source)
    marks = [(m.start(), m[0]) for m in re.finditer(r"[{};]", text)]
    found = []
    start = k = 0
    while k < len(marks):
        at, mark = marks[k]
        if mark == "{":
            head = text[start:at]
            name = name_of_function(head)
            if name and text[at - 1].isspace():
                k = matching_brace(marks, k)
                first = start + len(head) - len(head.lstrip())
                found.append((name, text.count("\n", first, marks[k][0]) + 1))
                start = marks[k][0] + 1
            elif is_scope(without_template(head)):
                start = at + 1
            else:
                k = matching_brace(marks, k)  # an initializer
        else:
            start = at + 1
        k += 1
    return found


def is_scope(head):
    return re.search(r"\b(namespace|struct|class|union|enum|extern)\b", head) is not None


def without_template(head):
    """The text behind the parameters of a template."""
    while found := re.search(r"\btemplate\s*<", head):
        angles, parentheses = 1, 0
        at = found.end()
        while angles and at < len(head):
            parentheses += {"(": 1, ")": -1}.get(head[at], 0)
            angles += 0 if parentheses else {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return head


def name_of_function(head):
    """The name, where the text before a brace ends a function's head; None elsewhere."""
    head = without_template(head)
    called = re.search(r"([\w:~]+|operator\s*[^\s\w(]+|operator\s*\(\s*\))\s*\(", head)
    if called is None or re.match(r"\s*(?:inline\s+)?namespace\b", head):
        return None
    if "=" in re.sub(r"operator\s*[^\s\w(]+|[=!<>]=|=\s*(?:default|delete)", "", head[: called.start()]):
        return None
    return called[1]


def matching_brace(marks, k):
    depth = 0
    while True:
        depth += {"{": 1, "}": -1}.get(marks[k][1], 0)
        if depth == 0:
            return k
        k += 1


def functions_of_python(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


def files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in CPP | {".py"} and path.is_file() and not path.is_symlink():
                yield path


def functions_of(path):
    source = path.read_text()
    return functions_of_cpp(source) if path.suffix in CPP else functions_of_python(source)


def test_the_counter_sees_functions():
    source = """
    // a comment with { a brace
    namespace a { struct S : T { int f() const { return 1; } int x = 3, y{4}; };
    template <class F, class = std::enable_if_t<(sizeof(F) > 1)>>
    S::S(int a) : x(a), y{2} {
      const auto g = [&](int b) { return b; };
    }
    const int table[] = {1, 2};
    bool operator==(const S& a, const S& b) {
      if (a.x) { return true; }

      return "{";
    }
    }
    """
    assert functions_of_cpp(source) == [("f", 1), ("S::S", 4), ("operator==", 5)]


def test_functions_fit_a_page():
    long = {}
    for path in files():
        name = str(path.relative_to(ROOT))
        for function, lines in functions_of(path):
            if lines > MOST_LINES_OF_FUNCTION:
                long[name, function] = lines
    assert {at: n for at, n in long.items() if at not in LONG_FUNCTIONS} == {}
    # a function that has become short leaves the list
    assert LONG_FUNCTIONS - set(long) == set()


def test_files_are_short():
    lines = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in files()}
    assert {name: n for name, n in lines.items() if n > MOST_LINES_OF_FILE} == {}
