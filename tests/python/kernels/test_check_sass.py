"""The check of compiled kernels for what may round otherwise can fail (tests/cuda/check_sass.py)."""

import importlib.util
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "cuda"


@pytest.fixture(scope="module")
def check_sass():
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("check_sass", FOLDER / "check_sass.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


@pytest.mark.parametrize(
    "line, bad",
    [
        ("add.rn.f32 %f1, %f2, %f3;", False),
        ("add.f32 %f1, %f2, %f3;", True),
        ("div.full.f32 %f1, %f2, %f3;", True),
        ("fma.rn.ftz.f32 %f1, %f2, %f3, %f4;", True),
        ("sin.approx.f32 %f1, %f2;", True),
        ("cvt.rzi.s32.f32 %r1, %f2;", False),
    ],
)
def test_ptx_that_may_round_otherwise(check_sass, line, bad):
    assert bool(check_sass.check_ptx(check_sass.float_operations(f"\t{line}\n"))) == bad


@pytest.mark.parametrize(
    "lines, bad",
    [
        ("min.f32 %f1, %f2, %f3;\nst.f32 [%rd1], %f1;", False),
        ("min.f32 %f1, %f2, 0f00000000;\nst.f32 [%rd1], %f1;", True),
        ("min.f32 %f1, %f2, 0f80000000;\nst.f32 [%rd1], %f1;", True),
        ("min.f32 %f1, %f2, 0f00000000;\nadd.rn.f32 %f4, %f1, 0f00000000;", False),
        ("min.f32 %f1, %f2, 0f00000000;\nadd.rn.f32 %f4, %f1, 0f80000000;", True),
        ("min.f32 %f1, %f2, 0f00000000;\nadd.rn.f32 %f4, %f1, 0f00000000;\nmul.rn.f32 %f5, %f1, %f4;", True),
        ("min.f32 %f1, %f2, 0f3F800000;\nst.f32 [%rd1], %f1;", False),
        ("max.f32 %f1, %f2, 0f00000000;\nst.f32 [%rd1], %f1;", False),
        ("max.f32 %f1, %f2, 0f80000000;\nst.f32 [%rd1], %f1;", True),
        ("min.f64 %fd1, %fd2, 0d0000000000000000;\nst.f64 [%rd1], %fd1;", True),
    ],
)
def test_minima_of_zeros(check_sass, lines, bad):
    assert bool(check_sass.zero_minima("{\n" + "\n".join(f"\t{line}" for line in lines.split("\n")) + "\n}\n")) == bad
