"""The tasks on torch's tensors, as on a GPU, here in the memory of the CPU: the same episodes as on numpy's arrays."""

import importlib.util
import re

import numpy as np
import pytest
from gymnasium_states import TASKS
from places import ROOT

import dualstep as ds
from dualstep.envs import Vary, registry

torch = pytest.importorskip("torch")

from dualstep.envs import vector
from dualstep.envs.arrays import TorchArrays, require

ROBOTS = ("Go1Joystick", "G1Joystick") if importlib.util.find_spec("mjlab") else ()
SUITE = [name for name in ds.envs.names() if registry.find(name)[1].suite] if importlib.util.find_spec("dm_control") else ()


@pytest.mark.parametrize(
    ("name", "mode"), [(name, "SameStep") for name in (*TASKS, *ROBOTS, *SUITE)] + [("Ant", "NextStep"), ("Hopper", "NextStep")]
)
def test_the_same_episodes_on_tensors(name, mode, monkeypatch):
    vary = [Vary("body_mass", 0.9, 1.1), Vary("opt_gravity", -0.5, 0.5, "add", when=(0.05, 0.1))]
    options = {"num_threads": 1, "max_episode_steps": 12, "autoreset_mode": mode, "randomize": vary}
    wanted = ds.envs.make(name, 5, **options)
    monkeypatch.setattr(vector, "arrays_of", lambda device: TorchArrays("cpu"))
    env = ds.envs.make(name, 5, output="torch", **options)
    first, _ = wanted.reset(seed=2)
    got, _ = env.reset(seed=2)
    # sines, roots and sums are taken in another order
    assert isinstance(got, torch.Tensor) and np.allclose(got.numpy(), first, atol=1e-6)
    assert np.array_equal(env.sim.get_parameter("body_mass"), wanted.sim.get_parameter("body_mass"))
    rng = np.random.default_rng(0)
    for step in range(20):
        action = (0.4 * rng.uniform(-1, 1, wanted.action_space.shape)).astype(np.float32)
        one, two = wanted.step(action), env.step(torch.from_numpy(action))
        for a, b in zip(one[:4], two[:4], strict=True):
            assert np.allclose(a, b.numpy(), rtol=2e-3, atol=2e-3), step
        assert set(one[4]) == set(two[4])
    # bit for bit where it matters: the state is the simulation's own, and is only read
    state = env.state()
    after = env.step(torch.from_numpy(action))
    env.load_state(state)
    assert torch.equal(env.step(torch.from_numpy(action))[0], after[0])


def test_arrays_are_taken_without_a_copy():
    env = ds.envs.make("Ant", 3, num_threads=1)
    env.reset(seed=0)
    places = {name: getattr(env.sim, name).ctypes.data for name in ("qpos", "qvel", "ctrl", "xpos")}
    tensor = torch.from_dlpack(env.sim.qpos)
    for _ in range(3):
        env.step(env.action_space.sample())
    assert all(getattr(env.sim, name).ctypes.data == place for name, place in places.items())
    assert tensor.data_ptr() == places["qpos"] and np.array_equal(tensor.numpy(), env.sim.qpos)
    for version in (None, (1, 0)):
        assert "dltensor" in repr(env.sim.qpos.__dlpack__(max_version=version))


def test_jax_takes_arrays():
    jax = pytest.importorskip("jax")
    env = ds.envs.make("Hopper", 4, num_threads=1)
    env.reset(seed=0)
    assert np.array_equal(np.asarray(jax.dlpack.from_dlpack(env.sim.qpos)), env.sim.qpos)


def test_extras_that_are_named_are_there():
    known = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    sources = [*(ROOT / "envs").rglob("*.py"), *(ROOT / "bindings" / "python").rglob("*.py")]
    text = "".join(path.read_text() for path in sources if "dualstep/envs/" not in str(path))
    named = set(re.findall(r'\b(?:need|require)\((?:"[\w.]+"|\w+), "(\w+)"\)', text))
    named |= set(re.findall(r"'dualstep\[(\w+)\]'", text))
    assert {"train", "view", "envs", "bench", "sb3"} <= named <= known
    # where the library is named by what is wanted of it
    assert {"torch", "jax"} <= known


def test_what_is_missing_is_said():
    with pytest.raises(ImportError, match=r"pip install 'dualstep\[train\]' brings it"):
        require("a_module_that_nobody_has", "train")
