"""What is said where a GPU cannot be used, each in a process of its own on the PTX interpreter, which has the fault."""

import os
import subprocess
import sys

import pytest
from cuda_runtime import Runtime
from places import ROOT

if not Runtime.here():
    pytest.skip("the PTX interpreter is not here", allow_module_level=True)

TINY = """
import os, sys
import numpy as np
import dualstep as ds
model = ds.Model.from_mjcf('<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>')
def said(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__ + ": " + str(error))
    else:
        print("nothing")
"""


def lines(code, **variables):
    environment = {**os.environ, "DUALSTEP_SPECIALIZE": "0", **variables}
    done = subprocess.run([sys.executable, "-c", TINY + code], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "fault, wanted",
    [
        ("no driver", "no CUDA device was found (there is no NVIDIA driver); use 'cpu' or 'auto'"),
        ("old driver", "no CUDA device was found (the NVIDIA driver serves CUDA 11.4, and this build is of CUDA 1"),
        ("old device", "it has compute capability 6.1, where 7.5 (Turing) is the least that there are kernels for; use 'cpu'"),
    ],
)
def test_no_device_that_serves(fault, wanted):
    code = 'said(lambda: ds.Batch(model, 2, "cuda")); print(ds.Batch(model, 2).device)'
    first, auto = lines(code, PTX_INTERPRETER_FAULT=fault)
    assert first.startswith("ValueError: device 'cuda' is given, and ") and wanted in first
    assert auto == "cpu"


def test_no_memory_leaves_the_rest_usable():
    code = """
said(lambda: ds.Batch(model, 1 << 20, "cuda"))
with ds.Batch(model, 4, "cuda") as sim:
    sim.step()
    print(np.isfinite(sim.qpos.numpy()).all())
"""
    first, fine = lines(code, PTX_INTERPRETER_MEMORY="16")
    assert first.startswith("MemoryError: ") and "CUDA, allocating " in first and "MiB are free" in first
    assert "fewer environments take less, and device 'cpu'" in first
    assert fine == "True"


def test_a_device_that_nobody_asked_for_stays_untouched():
    code = """
from cuda_runtime import Runtime
runtime = Runtime()
with ds.Batch(model, 4, "cuda:1", diverged="reset") as sim:
    sim.step(); sim.step()
    sim.reset(np.arange(4) == 1)
    qpos = sim.qpos
    sim.set_parameter("body_mass", np.ones((4, model.nbody)))
    sim.ctrl = sim.ctrl
    print(np.isfinite(sim.qpos.numpy()).all())
print(np.isfinite(qpos.numpy()).all())
del sim, qpos
print(runtime.initialized(0), runtime.initialized(1), runtime.present_device())
"""
    code = f"sys.path.insert(0, {str(ROOT / 'tests/python/support')!r})\n" + code
    assert lines(code) == ["True", "True", "False True 0"]


def test_a_device_that_falls_off():
    code = """
sim, other = ds.Batch(model, 4, "cuda"), ds.Batch(model, 4, "cuda")
def run():
    for _ in range(9):
        sim.step()
        sim.wait()
said(run)
said(other.step)
sim.close(); other.close()
with ds.Batch(model, 4, "cpu") as cpu:
    cpu.step()
    print(np.isfinite(cpu.qpos).all())
"""
    first, second, fine = lines(code, PTX_INTERPRETER_FAULT="lost 7")
    for line in (first, second):
        assert line.startswith("RuntimeError: CUDA, ") and "cudaErrorECCUncorrectable" in line
        assert "the device is lost to this process, and every batch on it" in line and "device 'cpu'" in line
    assert fine == "True"


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"), reason="a driver is here")
def test_no_driver_call_before_a_device_is_chosen():
    """So that a process forks as it likes until it asks for "cuda"."""
    code = """
import ctypes
from dualstep import _core
calls = ctypes.CDLL(_core.__file__).ptx_interpreter_calls
registered = calls()
for device in ("auto", "cpu"):
    with ds.Batch(model, 2, device) as sim:
        sim.step()
        print(sim.device)
_core.describe_specialization()
print(calls() - registered)
"""
    assert lines(code) == ["cpu", "cpu", "0"]


def test_a_fork_of_a_process_that_uses_cuda():
    code = """
sim = ds.Batch(model, 2, "cuda")
sys.stdout.flush()
child = os.fork()
if child == 0:
    said(lambda: ds.Batch(model, 2, "cuda"))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
sim.step()
print(np.isfinite(sim.qpos.numpy()).all())
"""
    first, parent = lines(code)
    assert "forked from one that uses CUDA already" in first and '"spawn"' in first and parent == "True"
