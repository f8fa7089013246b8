"""Modules of the package import each other downwards only: there is no circle, whether at the top of a module or within
a function. Imports for types alone do not count: nothing runs them."""

import ast

import pytest
from places import ROOT

# the module that the package's own imports begin at, and where its files are
FOLDERS = {"dualstep": ROOT / "bindings" / "python" / "dualstep", "dualstep.envs": ROOT / "envs"}
COMPILED = {"dualstep._core", "dualstep._formulations"}


def modules():
    """{name: file} of every module of the package."""
    found = {}
    for package, folder in FOLDERS.items():
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder).with_suffix("").parts
            # a build by hand shows dualstep.envs here, which has a folder of its own
            if package == "dualstep" and parts[0] == "envs":
                continue
            found[".".join([package, *(part for part in parts if part != "__init__")])] = file
    return found


class Imports(ast.NodeVisitor):
    """Names of what a module imports, but for its types."""

    def __init__(self, module, is_package):
        self.package = module if is_package else module.rpartition(".")[0]
        self.names = []

    def visit_If(self, node):
        if "TYPE_CHECKING" in ast.dump(node.test) and not isinstance(node.test, ast.UnaryOp):
            node = ast.Module(node.orelse, [])
        self.generic_visit(node)

    def visit_Import(self, node):
        self.names += [alias.name for alias in node.names]

    def visit_ImportFrom(self, node):
        base = node.module or ""
        if node.level:
            above = self.package.split(".")
            above = above[: len(above) - node.level + 1]
            base = ".".join([*above, *filter(None, [node.module])])
        # a name may be a module of its own, or what one defines
        self.names += [f"{base}.{alias.name}" for alias in node.names]


def imports_of(source, module, is_package, known):
    """The modules of `known` that a module imports."""
    visitor = Imports(module, is_package)
    visitor.visit(ast.parse(source))
    found = {name if name in known else name.rpartition(".")[0] for name in visitor.names}
    return (found & set(known)) - {module}


def circle(graph):
    """The modules of one circle, in order; an empty list where there is none."""
    done, path = set(), []

    def walk(module):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        path.append(module)
        for other in sorted(graph[module]):
            found = walk(other)
            if found:
                return found
        done.add(path.pop())
        return []

    for module in sorted(graph):
        found = walk(module)
        if found:
            return found
    return []


def test_there_is_no_circle():
    files = modules()
    known = {*files, *COMPILED}
    graph = {name: imports_of(file.read_text(), name, file.stem == "__init__", known) for name, file in files.items()}
    graph |= {name: set() for name in COMPILED}
    assert len(graph) > 50 and "dualstep._core" in graph["dualstep.batch"]
    assert circle(graph) == []


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("from p import a", ["p.a", "p.b", "p.a"]),
        ("def f():\n    from .a import thing", ["p.a", "p.b", "p.a"]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a", []),
        ("from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import p.a", ["p.a", "p.b", "p.a"]),
        ("import numpy", []),
    ],
)
def test_circles_are_seen(second, expected):
    known = {"p", "p.a", "p.b"}
    graph = {"p": set(), "p.a": imports_of("import p.b", "p.a", False, known)}
    graph["p.b"] = imports_of(second, "p.b", False, known)
    assert circle(graph) == expected
