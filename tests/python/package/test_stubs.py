"""The type stubs, and the arrays of tasks in C++, are what bindings/stubs.py writes, and say what the package has."""

import ast
import importlib.util

import pytest
from places import ROOT

import dualstep as ds
from dualstep import _core

PACKAGE = ROOT / "bindings" / "python" / "dualstep"


@pytest.fixture(scope="module")
def written():
    pytest.importorskip("pybind11_stubgen")
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "bindings" / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.stubs()


@pytest.mark.parametrize("name", ["_core.pyi", "_formulations.pyi", "_fields.pyi", "task_arrays.inl"])
def test_they_are_up_to_date(written, name):
    (path,) = [path for path in written if path.name == name]
    assert path.read_text() == written[path], "run bindings/stubs.py"


def properties(name):
    """{property: doc} of a class of _fields.pyi."""
    tree = ast.parse((PACKAGE / "_fields.pyi").read_text())
    (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    functions = [node for node in found.body if isinstance(node, ast.FunctionDef)]
    # getters have a text
    return {node.name: ast.get_docstring(node) for node in functions if ast.get_docstring(node)}


def test_every_array_of_a_batch_has_its_shape_and_meaning():
    typed = properties("BatchFields")
    assert list(typed) == [name for name, *_ in _core.batch_fields()]
    assert typed["xpos"] == "(N, nbody, 3) positions of body frames [m]"
    for name, doc in typed.items():
        # what help() shows is what an editor shows
        assert getattr(ds.Batch, name).__doc__ == doc


def test_every_array_of_a_reference_and_a_model_is_typed():
    model = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    assert set(properties("ReferenceFields")) == set(_core.Reference(model).array_names()) - {"time"}
    names = [*_core.model_field_names("I"), *_core.model_field_names("R")]
    assert set(properties("ModelFields")) == set(names)


def test_the_shapes_of_a_reference_are_those_that_it_has():
    xml = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/><site/><body><joint type="ball"/><geom size=".1"/>
      </body></body></worldbody><actuator><motor joint="j"/></actuator><sensor><jointpos joint="j"/></sensor></mujoco>"""
    model = ds.Model.from_mjcf(xml)
    reference = ds.Reference(model)
    for name, doc in properties("ReferenceFields").items():
        axes = doc[1 : doc.index(")")].replace(",", " ").split()
        shape = tuple(int(axis) if axis.isdigit() else getattr(model, axis) for axis in axes)
        assert getattr(reference, name).shape == shape, name
