"""Writes the type stubs of the Python package, and the arrays of tasks in C++, from the compiled modules and the tables
behind them.

    PYTHONPATH=bindings/python python bindings/stubs.py     # after a change of a binding, the field table, an option

`_core.pyi` and `_formulations.pyi` are pybind11-stubgen's, in the types that Python's callers write; `_fields.pyi` has
a property for each array of a batch, a reference and a model, with its shape, meaning and unit. `task_arrays.inl` has
what envs/cpp/task.h makes members of.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile

import dualstep as ds
from dualstep import _core

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / "bindings" / "python" / "dualstep"
WRITTEN = '"""Written by bindings/stubs.py."""\n'
TASK_ARRAYS = """// Written by bindings/stubs.py: the arrays of one environment that a task may name (task.h). Those
// whose names stand in its source are there, the others null. Real is the precision of the batch.
//
//   TASK_ARRAY(name, type, meaning)   with the shape in sizes of the model; row-major
"""
TASK_END = "#undef TASK_ARRAY\n"
CPP_TYPES = {"float64": "double", "int32": "int", "uint32": "unsigned"}

# an asymmetric model: every option has its default, and no array is missing
MODEL = """<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


def _shape(axes: str, first: str = "") -> str:
    """The axes "nbody 3" as a tuple."""
    names = [name for name in (first, *axes.split()) if name]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _property(name: str, doc: str, settable: bool, value: str = "ArrayLike") -> str:
    text = f'    @property\n    def {name}(self) -> np.ndarray:\n        """{doc}"""\n'
    return text + (f"    @{name}.setter\n    def {name}(self, value: {value}) -> None: ...\n" if settable else "")


def _class(name: str, doc: str, properties: list[str]) -> str:
    return f'class {name}:\n    """{doc}"""\n\n' + "".join(properties)


def batch_properties() -> list[str]:
    return [
        _property(name, f"{_shape(axes, 'N')} {meaning}", role == "state" or name == "time", "Any")
        for name, role, axes, meaning in _core.batch_fields()
    ]


def reference_properties() -> list[str]:
    reference = _core.Reference(ds.Model.from_mjcf(MODEL))
    known = {name: (axes, meaning) for name, _, axes, meaning in _core.batch_fields()}
    table = (ROOT / "host/reference/arrays.inl").read_text()
    rows = re.findall(r"^(?:INPUT|OUTPUT|OWN)\((\w+)(?:, \"([^\"]*)\", \"([^\"]*)\")?\)$", table, re.MULTILINE)
    if {name for name, *_ in rows} != set(reference.array_names()) - {"energy", "time"}:
        raise SystemExit("bindings/stubs.py does not read host/reference/arrays.inl as the library does")
    known |= {name: (axes, meaning) for name, axes, meaning in rows if meaning}
    return [
        _property(name, f"{_shape(known[name][0])} {known[name][1]}", reference.writable(name))
        for name in reference.array_names()
        if name != "time"
    ]


def model_properties() -> list[str]:
    table = (ROOT / "host/model/mjmodel_fields.inl").read_text()
    rows = re.findall(r"^FIELD\((\w), (\w+), (\w+), ([^,]+), ([^)]+)\)", table, re.MULTILINE)
    listed = set(_core.model_field_names("I")) | set(_core.model_field_names("R"))
    if {row[1] for row in rows} != listed:
        raise SystemExit("bindings/stubs.py does not read host/model/mjmodel_fields.inl as the library does")
    text = []
    for kind, name, size, columns, _ in rows:
        # the model's file decides how many columns a keyframe or a table of numbers has
        shape = f"({size}, ...)" if columns == "-1" else _shape(size + ("" if columns == "1" else f" {columns}"))
        text.append(_property(name, f"{shape} MuJoCo's, {'integers' if kind == 'I' else 'float64'}", False))
    return text


def fields() -> str:
    parts = [
        WRITTEN + "from typing import Any\n\nimport numpy as np\nfrom numpy.typing import ArrayLike\n",
        _class(
            "BatchFields",
            "Arrays of a batch of N environments: numpy's on the CPU, `_core.Array` on CUDA.",
            ["    def _view(self, name: str) -> Any: ...\n", *batch_properties()],
        ),
        _class("ReferenceFields", "Arrays of a reference, in float64.", reference_properties()),
        _class("ModelFields", "MuJoCo's arrays of a model, read-only.", model_properties()),
    ]
    return "\n".join(parts)


def _type_of_option(options: _core.Options, name: str) -> str:
    value = getattr(options, name)
    found = "np.ndarray" if hasattr(value, "shape") else "float" if value is None else type(value).__name__
    if value is not None:
        try:
            setattr(options, name, None)
            setattr(options, name, value)
        except ValueError:
            return found
    return f"{found} | None"


def _typed_options(text: str) -> str:
    """The options' types, which their values have."""
    options = ds.Model.from_mjcf(MODEL).opt

    def line(found: re.Match[str]) -> str:
        name, of = found[1], _type_of_option(options, found[1])
        if of != "np.ndarray":
            return f"    {name}: {of}\n"
        setter = f"    @{name}.setter\n    def {name}(self, value: ArrayLike) -> None: ...\n"
        return f"    @property\n    def {name}(self) -> np.ndarray: ...\n{setter}"

    start = text.index("class Options")
    end = text.index("class ", start + 1)
    return text[:start] + re.sub(r"^    (\w+): typing\.Any\n", line, text[start:end], flags=re.MULTILINE) + text[end:]


def compiled(module: str) -> str:
    """The stub of a compiled module."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pybind11_stubgen", f"dualstep.{module}", "-o", folder, "--exit-code"]
        subprocess.run(command, check=True, capture_output=True)
        text = (pathlib.Path(folder) / "dualstep" / f"{module}.pyi").read_text()
    for pattern, instead in (
        # what a caller gives is a number of Python's
        (r"typing\.SupportsInt \| typing\.SupportsIndex", "int"),
        (r"typing\.SupportsFloat \| typing\.SupportsIndex", "float"),
        (r"typing\.Annotated\[numpy\.typing\.(ArrayLike|NDArray\[[\w.]+\])(?:, [\w.]+)?(?:, \"[^\"]*\")?\]", r"\1"),
        (r"numpy\.typing\.(ArrayLike|NDArray)", r"\1"),
        (r"(?<=def )array\(self, name: str\) -> typing.Any", "array(self, name: str) -> np.ndarray"),
        (r"(?<![\w.])numpy\.(?=[a-z])", "np."),
        (r'"""\n *([^\n]*)\n *"""', r'"""\1"""'),
        (r":\n +\.\.\.\n", ": ...\n"),
        # values are those of one machine or build
        (r"^(\w+): (\w+) = .*$", r"\1: \2"),
        (r"^(?:from __future__ .*|import .*|__all__.*)\n", ""),
        (r"^(class |def )", r"\n\1"),
    ):
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    text = text.replace("STATUS_BITS: dict\n", "\nSTATUS_BITS: dict[str, int]\n")
    # what Python gives the class of options for its messages is not part of it
    text = re.sub(r"    @staticmethod\n    def __[gs]etattr__\(options.*\n", "", text)
    if "class Options" in text:
        text = _typed_options(text)
    imports = [
        line
        for line in (
            "import collections.abc",
            "import typing",
            "",
            "import numpy as np",
            f"from numpy.typing import {', '.join(n for n in ('ArrayLike', 'NDArray') if n in text)}",
        )
        if not line.startswith("import ") or f"{line.split()[-1]}." in text
    ]
    doc, _, rest = text.partition("\n")
    return "\n".join([doc[:-3] + '. Written by bindings/stubs.py."""', *imports, rest])


def task_arrays() -> str:
    """The arrays that a task in C++ may name: all of a batch, and the action."""
    model = ds.Model.from_mjcf(MODEL)
    single, double = (ds.Batch(model, 1, dtype=dtype, num_threads=1) for dtype in ("float32", "float64"))
    rows = [("action", "Real", "(nu,) what the policy asked for, zero where an episode begins")]
    for name, _, axes, meaning in _core.batch_fields():
        dtype = getattr(single, name).dtype.name
        of = CPP_TYPES[dtype] if dtype == getattr(double, name).dtype.name else "Real"
        rows.append((name, of, f"{_shape(axes) if axes else '(1,)'} {meaning}"))
    return TASK_ARRAYS + "".join(f'TASK_ARRAY({name}, {of}, "{meaning}")\n' for name, of, meaning in rows) + TASK_END


def stubs() -> dict[pathlib.Path, str]:
    """{file: text} of all that is written."""
    return {
        PACKAGE / "_core.pyi": compiled("_core"),
        PACKAGE / "_formulations.pyi": compiled("_formulations"),
        PACKAGE / "_fields.pyi": fields(),
        ROOT / "envs" / "cpp" / "task_arrays.inl": task_arrays(),
    }


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
