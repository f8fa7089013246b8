"""Specialised kernels: their programs, and the cache of their machine code. No GPU runs here; that they compile
for devices and keep within budgets is tests/cuda/check_special.py's, that they give the same bits tests/host's."""

import os
import re
import subprocess
import sys

import pytest
from places import ROOT
from scenes import ALL, BENCH, GYM

import dualstep as ds
from dualstep import _core

TINY = 'extern "C" __global__ void dualstep_fused_step(float* x) { x[0] = SCALE; }\n'
compiler = pytest.mark.skipif(
    not _core.describe_specialization().startswith("NVRTC"), reason="no NVRTC here: pip install nvidia-cuda-nvrtc"
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def tiny(scale):
    return TINY.replace("SCALE", f"{scale}.0f")


def test_the_sources_are_those_of_the_repository():
    sources = _core.kernel_sources()
    for name, text in sources.items():
        if name != "stdint.h":
            assert text == (ROOT / name).read_text(), name
    wanted = {str(path.relative_to(ROOT)) for path in (ROOT / "kernels").rglob("*.h")}
    assert wanted - set(sources) == {"kernels/base/pack.h", "kernels/launch/cpu/cpu_kernels.h", "kernels/launch/cpu/regroup.h"}


def test_a_program_is_that_of_its_model():
    programs = {name: _core.specialized_program(ds.Model.from_mjcf(ALL[name])) for name in [*GYM, *BENCH]}
    # models that differ in their tables alone share one
    assert programs["humanoid"] == programs.pop("humanoidstandup")
    assert len(set(programs.values())) == len(programs)
    model = ds.Model.from_mjcf(BENCH["bench_humanoid"])
    one = _core.specialized_program(model)
    assert one == programs["bench_humanoid"]
    assert f"Sizes n = {{{model.nq}, {model.nv}, {model.nu}, " in one
    assert one != _core.specialized_program(model, lanes=[32])
    parts = _core.specialized_program(model, lanes=[1, 8, 8, 32, 1])
    assert parts.count("__global__") == 5 and "staged_body<float, 32, 3, static_cast<Part>(3)>" in parts
    assert one != _core.specialized_program(model, float64=True)
    model.opt.tolerance = 1e-3
    assert one != _core.specialized_program(model)


def test_numbers_keep_all_their_bits():
    model = ds.Model.from_mjcf(BENCH["bench_humanoid"])
    options = _core.specialized_program(model, float64=True).split("StepOptions<Scalar> o = {")[1]
    assert float.fromhex(options.split(",")[0]) == model.opt.timestep
    assert float.fromhex(options.split(",")[1]) == model.opt.timestep


@compiler
def test_the_second_load_comes_from_the_cache(cache):
    first, second = _core.specialize(tiny(1), "sm_90"), _core.specialize(tiny(1), "sm_90")
    assert not first["why"] and not first["cached"] and first["code"].startswith(b"\x7fELF")
    assert second["cached"] and second["code"] == first["code"]
    # whatever the machine code follows from is in the key
    assert not _core.specialize(tiny(2), "sm_90")["cached"]
    assert not _core.specialize(tiny(1), "sm_80")["cached"]
    assert len(list(cache.glob("*.cubin"))) == 3


@compiler
@pytest.mark.parametrize("damage", ["empty", "half", "one byte", "another's", "not a file"])
def test_a_damaged_file_is_compiled_again(cache, damage):
    code = _core.specialize(tiny(1), "sm_90")["code"]
    (path,) = cache.glob("*.cubin")
    whole = path.read_bytes()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "half":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "one byte":
        path.write_bytes(whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:])
    elif damage == "another's":
        _core.specialize(tiny(2), "sm_90")
        (other,) = set(cache.glob("*.cubin")) - {path}
        path.write_bytes(other.read_bytes())
    else:
        path.unlink()
        path.mkdir()
    again = _core.specialize(tiny(1), "sm_90")
    assert not again["cached"] and again["code"] == code
    if damage != "not a file":
        assert _core.specialize(tiny(1), "sm_90")["cached"]
        assert not [part for part in cache.iterdir() if part.suffix == ".part"]


@compiler
@pytest.mark.parametrize("what", ["file", "folder", "folder above"])
def test_machine_code_that_others_could_have_written_is_not_loaded(cache, what):
    _core.specialize(tiny(1), "sm_90")
    (path,) = cache.glob("*.cubin")
    {"file": path, "folder": cache, "folder above": cache.parent}[what].chmod(0o777)
    assert not _core.specialize(tiny(1), "sm_90")["cached"]


@compiler
@pytest.mark.parametrize("numbers, registers", [(2, range(1, 81)), (100, range(97, 169)), (400, range(255, 256))])
def test_a_kernel_has_as_many_warps_as_its_registers_allow(cache, numbers, registers):
    # every one of them is needed until the last one is there
    given = "\n".join(f"  const float v{i} = x[{i}];" for i in range(numbers))
    taken = "\n".join(f"  x[{i}] = v{i} * sum;" for i in range(numbers))
    program = f"""extern "C" __global__ void __launch_bounds__(32 * DUALSTEP_WARPS_greedy, 1) greedy(volatile float* x) {{
{given}
  const float sum = {" + ".join(f"v{i}" for i in range(numbers))};
{taken}
}}
"""
    log = _core.specialize(program, "sm_90")["log"]
    spilled = [int(n) for n in re.findall(r"(\d+) bytes spill stores", log)]
    assert int(re.search(r"Used (\d+) registers", log)[1]) in registers
    assert any(spilled) == (numbers > 255)  # which no number of warps could mend


@compiler
def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert _core.specialize(tiny(1), "sm_90")["code"]


@compiler
def test_a_program_that_does_not_compile_says_why(cache):
    result = _core.specialize("no program", "sm_90")
    assert result["code"] == b"" and "error" in result["why"]
    assert "sm_1" in _core.specialize(tiny(1), "sm_1")["why"] or "arch" in _core.specialize(tiny(1), "sm_1")["why"]


def test_where_the_cache_lies(monkeypatch):
    for name in ("DUALSTEP_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert _core.specialization_cache() == ""
    monkeypatch.setenv("HOME", "/h")
    assert _core.specialization_cache() == "/h/.cache/dualstep"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert _core.specialization_cache() == "/x/dualstep"
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", "/d")
    assert _core.specialization_cache() == "/d"


def told(**variables):
    """What a new process says of specialised kernels, and of a load."""
    code = "from dualstep import _core; print(_core.describe_specialization()); print(_core.specialize('', 'sm_90')['why'])"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True)
    return done.stdout.splitlines(), done.stderr


def test_without_the_compiler(cache):
    (said, why), _ = told(DUALSTEP_NVRTC="none")
    assert said.startswith("only what is kept in ") and "DUALSTEP_NVRTC=none" in said and "DUALSTEP_NVRTC=none" in why


@compiler
def test_without_the_compiler_the_cache_is_read(cache, monkeypatch):
    """Machine code that was made elsewhere serves a machine that has no compiler."""
    code = _core.specialize(tiny(1), "sm_90")["code"]
    monkeypatch.setenv("DUALSTEP_NVRTC", "none")
    kept, absent = _core.specialize(tiny(1), "sm_90"), _core.specialize(tiny(2), "sm_90")
    assert kept["code"] == code and kept["cached"] and not kept["why"]
    assert absent["code"] == b"" and "DUALSTEP_NVRTC=none" in absent["why"]
    (path,) = cache.glob("*.cubin")
    path.write_bytes(path.read_bytes()[:-1])
    assert _core.specialize(tiny(1), "sm_90")["code"] == b""


def test_the_switch(cache):
    (said, _), _ = told(DUALSTEP_SPECIALIZE="0")
    assert said == "off (DUALSTEP_SPECIALIZE=0)"
    assert "it must be 0 or 1" in told(DUALSTEP_SPECIALIZE="yes")[1]
