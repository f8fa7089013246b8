"""Environments whose batch lives on a GPU are those on the CPU.

On the PTX interpreter (tests/ptx_interpreter) torch's tensors are the CPU's, on device memory that is open to it: which tensor
operations a GPU has is not tested then, but what environments ask of the batch is."""

import ctypes
import os

import numpy as np
import pytest
from answers import host, in_software, present

import dualstep as ds

torch = pytest.importorskip("torch")
if not present("cuda"):
    pytest.skip("no GPU", allow_module_level=True)
SOFTWARE = in_software()
if SOFTWARE and "PTX_INTERPRETER_OPEN" not in os.environ:
    pytest.skip("device memory is closed: PTX_INTERPRETER_OPEN=1 opens it", allow_module_level=True)
if not SOFTWARE and not torch.cuda.is_available():
    pytest.skip("torch has no GPU", allow_module_level=True)

from dualstep.envs import arrays, vector


class Near(arrays.TorchArrays):
    """Tensors of the CPU on device memory, in which all that was queued has happened."""

    sim = None

    def follow(self, sim):
        type(self).sim = sim

    def native(self, array):
        if not isinstance(array, ds._core.Array):
            return super().native(array)
        self.sim.wait()
        memory = (ctypes.c_char * array.nbytes).from_address(array.__cuda_array_interface__["data"][0])
        return torch.from_numpy(np.frombuffer(memory, array.dtype).reshape(array.shape))


@pytest.fixture(autouse=True)
def near(monkeypatch):
    if SOFTWARE:
        monkeypatch.setattr(vector, "arrays_of", lambda device: Near("cpu") if device != "cpu" else arrays.HostArrays())


@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP"])
@pytest.mark.parametrize("task", ["Ant", "Hopper", "Humanoid", "InvertedDoublePendulum", "Reacher"])
def test_a_gpu_changes_nothing(task, mode, monkeypatch):
    # there the run-time compiler is what takes the time, and kernels are not what is tested: one task stands for those whose
    # steps are made for their models
    if SOFTWARE and task != "Hopper":
        monkeypatch.setenv("DUALSTEP_SPECIALIZE", "0")
    seen = []
    for device in ("cpu", "cuda"):
        env = ds.envs.make(task, 6, device=device, seed=3, autoreset_mode=mode, max_episode_steps=7)
        steps = [env.reset(seed=3)[0]]
        actions = np.random.default_rng(0).uniform(-1, 1, (12, *env.action_space.shape)).astype(np.float32)
        for action in actions * env.single_action_space.high:
            observation, reward, terminated, truncated, _ = env.step(action)
            steps.append((observation, reward, terminated, truncated))
        flat = [np.concatenate([np.asarray(host(part), float).reshape(6, -1) for part in step], 1) for step in steps[1:]]
        seen.append((np.asarray(host(steps[0])), np.stack(flat)))
        assert host(env.sim.status).max() == 0
        env.close()
    for one, other in zip(*seen):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
