"""The checks of compiled kernels can fail: for what may round otherwise (tests/cuda/check_sass.py), and for threads
that leave while others wait (tests/cuda/leaving.py)."""

import importlib.util
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "cuda"


def load(name):
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


@pytest.fixture(scope="module")
def check_sass():
    return load("check_sass")


@pytest.fixture(scope="module")
def leaving():
    return load("leaving")


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


# a loop whose head is at 0x10, which threads leave at 0x20, and a step at 0x80 with a barrier
KERNEL = {
    0x00: "S2R R0, SR_TID.X",
    0x10: "ISETP.GE.AND P0, PT, R16, R3, PT",
    0x20: "@P0 EXIT",
    0x30: "MOV R16, 0x50",
    0x40: "CALL.REL.NOINC 0x80",
    0x50: "BRA 0x10",
    0x80: "BSSY B0, 0xb0",
    0x90: "@P1 BRA 0xb0",
    0xA0: "BAR.SYNC 0x0",
    0xB0: "BSYNC B0",
    0xC0: "RET.REL.NODEC R16 0x0",
}


@pytest.mark.parametrize(
    "changes, said",
    [
        ({}, None),
        ({0xA0: "NOP"}, None),
        ({0x20: "EXIT"}, "an EXIT at 0x20 depends on no predicate"),
        ({0x80: "@P0 EXIT"}, "an EXIT at 0x80 is in a function that the kernel calls"),
        ({0x30: "BAR.SYNC.DEFER_BLOCKING 0x0"}, "a barrier at 0x30 is where threads leave"),
        ({0x30: "BRX R2 -0x30"}, "the jump at 0x30 goes to where nobody sees"),
        ({0x50: "BRA 0x30", 0x60: "EXIT"}, "does not come back to where threads leave"),
        ({0x00: "BSSY B1, 0x60", 0x20: "@P0 BRA 0x60", 0x60: "BSYNC B1", 0x70: "@P0 EXIT"}, "meet at B1 of 0x0"),
        ({0x00: "BSSY.RECONVERGENT B1, 0x10", 0x10: "BSYNC.RECONVERGENT B1"}, None),
    ],
)
def test_threads_that_leave_while_others_wait(leaving, changes, said):
    code = KERNEL | changes
    lines = [f"        /*{at:04x}*/                   {one} ;    /* 0x0 */" for at, one in sorted(code.items())]
    found = leaving.check_leaving("\n".join(["\t\tFunction : step", *lines]))
    assert not found if said is None else any(one.startswith("step: ") and said in one for one in found)
