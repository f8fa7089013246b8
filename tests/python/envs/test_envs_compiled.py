"""Tasks in C++: the example beside the same task in Python, what a source may say, and what is refused."""

import copy
import importlib.util
import pathlib
import pickle
import re
import shutil

import numpy as np
import pytest
from batch_models import small
from users_task import Upright

import dualstep as ds
from dualstep import _core
from dualstep.envs import compiled

EXAMPLE = pathlib.Path(compiled.__file__).with_name("examples") / "balance.cpp"
MODEL = ("inverted_pendulum.xml", 2)
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_example_is_the_task_in_python(dtype):
    ds.envs.register_task("BalanceCpp", ds.envs.cpp_task(EXAMPLE, *MODEL), max_episode_steps=200)
    ds.envs.register_task("BalancePython", Upright, max_episode_steps=200)
    options = {"target": 0.25, "dtype": dtype, "num_threads": 1}
    ours, wanted = (ds.envs.make(name, 9, **options) for name in ("BalanceCpp", "BalancePython"))
    assert ours.task.options() == ["target"] and not ours.task.derived
    assert np.array_equal(ours.reset(seed=3)[0], wanted.reset(seed=3)[0])
    rng, ends = np.random.default_rng(0), 0
    for _ in range(250):
        action = rng.uniform(-3, 3, (9, 1))
        for a, b in zip(ours.step(action)[:4], wanted.step(action)[:4], strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)
        ends += int(np.sum(ours._elapsed == 0))
    assert ends > 9
    with pytest.raises(TypeError, match="near it are: target"):
        ds.envs.make("BalanceCpp", 1, targt=1)


def task_of(tmp_path, functions, options="", model=("ant.xml", 5), **sizes):
    sizes = {"observations": 1, "normals": 0, "uniforms": 0, **sizes}
    told = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    named = ", ".join(word.split(" = ")[0] for word in options.split("double ")[1:])
    (tmp_path / "probe.cpp").write_text(f"""#include "task.h"
        struct Probe : dualstep::Task {{ {options} static constexpr int {told};
        DUALSTEP_DEVICE void reset(const Env& s, const Start& start) const {{ {functions.get("reset", "")} }}
        DUALSTEP_DEVICE void observe(const Env& s, Real* out) const {{ {functions.get("observe", "out[0] = 0;")} }}
        DUALSTEP_DEVICE Real reward(const Env& s) const {{ return {functions.get("reward", "0")}; }}
        DUALSTEP_DEVICE bool terminated(const Env& s) const {{ return {functions.get("terminated", "false")}; }} }};
        DUALSTEP_TASK(Probe{", " * bool(named)}{named})""")
    return ds.envs.cpp_task(tmp_path / "probe.cpp", *model)


def test_outputs_contacts_actions_and_draws(tmp_path):
    functions = {
        "reset": "start.qpos[0] += Real(far * s.uniform[0]); start.qvel[1] = Real(s.uniform[1]);",
        "observe": "out[0] = s.xpos[3 * 1 + 2]; out[1] = Real(s.contact_count[0]); out[2] = s.qpos[0]; out[3] = s.qvel[1];",
        "reward": "s.action[7]",
        "terminated": "s.contact_count[0] > 3",
    }
    task = task_of(tmp_path, functions, "double far = 2;", observations=4, uniforms=2)
    assert task.options() == ["far"] and task.derived
    env = ds.envs.vector.BatchEnv(task(far=3), 8, num_threads=1, autoreset_mode="Disabled", dtype="float64")
    first, _ = env.reset(seed=0)
    assert np.ptp(first[:, 2]) > 0.5 and (first[:, 2] < 3).all() and (first[:, 3] >= 0).all() and (first[:, 3] < 1).all()
    assert np.array_equal(first[:, 0], env.sim.xpos[:, 1, 2])
    marks = np.array([False, True] * 4)
    again, _ = env.reset(options={"reset_mask": marks})
    assert ((again != first).any(axis=1) == marks).all()
    for _ in range(40):
        action = np.random.default_rng(1).uniform(-1, 1, (8, 8))
        observation, reward, terminated, _, _ = env.step(action)
        assert np.allclose(reward, action[:, 7]) and np.array_equal(observation[:, 0], env.sim.xpos[:, 1, 2])
        count = env.sim.contacts().count
        assert np.array_equal(observation[:, 1], count) and np.array_equal(terminated, count > 3)
        env.forget_ends()
    assert count.any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_array_of_a_batch_can_be_named(tmp_path, dtype):
    """All that a task in C++ reads of the arrays are the numbers that Python finds in them."""
    names = [name for name, *_ in _core.batch_fields()]
    sim = ds.Batch(small(), 1)
    sizes = {name: getattr(sim, name).size for name in names}
    copies = [f"for (int i = 0; i < {size}; ++i) *out++ = Real(s.{name}[i]);" for name, size in sizes.items()]
    # that it compiles says that those without numbers here can be named too
    task = task_of(tmp_path, {"observe": "".join(copies)}, model=(small(), 3), observations=sum(sizes.values()))
    assert set(task.arrays) == set(names)
    env = ds.envs.BatchEnv(task(), 4, num_threads=1, dtype=dtype, autoreset_mode="Disabled")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for given in (env.sim.mocap_pos, env.sim.xfrc_applied):
        given[:] = rng.normal(size=given.shape)
    for _ in range(30):
        seen = env.step(rng.uniform(-1, 1, (4, 2)))[0]
    found = np.split(seen, np.cumsum(list(sizes.values()))[:-1], axis=1)
    for name, numbers in zip(names, found, strict=True):
        wanted = np.asarray(getattr(env.sim, name)).reshape(4, -1).astype(dtype)
        assert np.array_equal(numbers, wanted), name
    assert env.sim.contact_count.any() and env.sim.time.all() and env.sim.iterations.any()


def through_cloudpickle(env):
    cloudpickle = pytest.importorskip("cloudpickle")
    task, cls, other = cloudpickle.loads(cloudpickle.dumps([env.task, type(env.task), env]))
    assert type(task).__name__ == cls.__name__ == "Balance"
    return other


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), through_cloudpickle])
@pytest.mark.parametrize("delays", [{}, {"observation_delay": 2, "action_delay": (0, 2)}])
def test_copies_go_on(how, delays):
    ds.envs.register_task("BalanceCpp", ds.envs.cpp_task(EXAMPLE, *MODEL), max_episode_steps=20)
    env = ds.envs.make("BalanceCpp", 4, target=0.5, num_threads=1, seed=1, **delays)
    actions = np.random.default_rng(0).uniform(-3, 3, (40, 4, 1))
    env.reset()
    for action in actions[:10]:
        env.step(action)
    other = how(env)
    assert other.task.values.tolist() == [0.5] and type(other.task).__name__ == "Balance"
    # past the ends of episodes
    for action in actions[10:]:
        for a, b in zip(env.step(action)[:4], other.step(action)[:4], strict=True):
            assert a.tobytes() == b.tobytes()


def test_a_pickled_task_is_what_its_source_is(tmp_path, monkeypatch):
    task = task_of(tmp_path, {}, "double far = 2;")
    kept = pickle.dumps([task, task(far=3)])
    cls, again = pickle.loads(kept)
    assert type(again) is cls and again.values.tolist() == [3.0] and copy.deepcopy(again).values.tolist() == [3.0]
    # a subclass in Python is found by its name
    mine = type("Mine", (task,), {"__module__": __name__})
    monkeypatch.setitem(globals(), "Mine", mine)
    assert type(pickle.loads(pickle.dumps(mine()))) is mine
    task_of(tmp_path, {}, "double near = 2;")
    with pytest.raises(ValueError, match="probe.cpp has the options near, and those of the task that was pickled are far"):
        pickle.loads(kept)
    (tmp_path / "probe.cpp").unlink()
    with pytest.raises(FileNotFoundError, match="^there is no file '.*probe.cpp'"):
        pickle.loads(kept)


def test_draws_are_of_resets_alone(tmp_path):
    task = task_of(tmp_path, {"observe": "out[0] = Real(s.normal[1]);"}, normals=2)
    env = ds.envs.BatchEnv(task(), 3, nonfinite="clamp")
    assert np.isnan(env.task.observe(env._view())).all()
    # which is told, instead of learned from
    assert (env.reset(seed=0)[0] == 0).all() and env.nonfinite_counts == {"observe()": 3}
    with pytest.raises(ValueError, match=r"Probe.observe\(\) is not finite in 3 of 3 environments"):
        ds.envs.BatchEnv(task(), 3).reset(seed=0)


def test_what_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"(?s)probe.cpp does not compile:.*nonsense"):
        task_of(tmp_path, {"reward": "nonsense"})
    with pytest.raises(ValueError, match="the options of a task are doubles"):
        task_of(tmp_path, {}, "double far = 2; float near = 1;")
    assert task_of(tmp_path, {}).options() == []
    for name in ("normal", "uniform"):
        with pytest.raises(ValueError, match=f"probe.cpp reads s.{name}, and {name}s = 0"):
            task_of(tmp_path, {"reset": f"start.qpos[0] = Real(s.{name}[0]);"})
    assert task_of(tmp_path, {"reset": "// s.normal is not read\n"}).sizes == (1, 0, 0)
    task = task_of(tmp_path, {"observe": "for (int i = 0; i < 4; ++i) out[i] = 0;"}, "double far = 2;", observations=2)
    with pytest.raises(ValueError, match=r"observe\(\) writes 4 numbers, and observations = 2"):
        ds.envs.BatchEnv(task(), 3)
    with pytest.raises(ValueError, match="far nan is given, and a finite number is wanted"):
        task(far=float("nan"))
    with pytest.raises(TypeError, match="far 'x' is given, and a finite number is wanted"):
        task(far="x")
    with pytest.raises(TypeError, match="probe.cpp got an unexpected keyword argument 'fa'; there are: far"):
        task(fa=1)
    (tmp_path / "bare.cpp").write_text('#include "task.h"\nstruct Bare : dualstep::Task {};')
    with pytest.raises(ValueError, match=r"bare.cpp has no DUALSTEP_TASK\(Name, options...\)"):
        ds.envs.cpp_task(tmp_path / "bare.cpp", *MODEL)
    monkeypatch.setenv("CXX", "no_such_compiler -O3")
    with pytest.raises(ImportError, match="'no_such_compiler -O3' is not there: CXX names another"):
        task_of(tmp_path, {"reward": "1"})


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")
def test_it_compiles_for_a_gpu():
    library = compiled._library(compiled.compile_task(EXAMPLE, "float32", "sm_80"))
    assert library.dualstep_task_options() == b"target" and library.dualstep_task_size(compiled.NORMALS) == 2


def test_the_page_shows_the_example():
    page = (EXAMPLE.parent.parent / "README.md").read_text()
    assert EXAMPLE.read_text() in page


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
def test_on_tensors(monkeypatch):
    """As on a GPU, in the memory of the CPU."""
    from dualstep.envs import vector
    from dualstep.envs.arrays import TorchArrays

    class Near(TorchArrays):
        on_host = True

    ds.envs.register_task("BalanceCpp", ds.envs.cpp_task(EXAMPLE, *MODEL), max_episode_steps=200)
    wanted = ds.envs.make("BalanceCpp", 5, num_threads=1)
    monkeypatch.setattr(vector, "arrays_of", lambda device: Near("cpu"))
    env = ds.envs.make("BalanceCpp", 5, num_threads=1, output="dlpack")
    assert np.array_equal(env.reset(seed=1)[0].numpy(), wanted.reset(seed=1)[0])
    for _ in range(80):
        action = np.ones((5, 1), np.float32)
        for a, b in zip(env.step(action)[:4], wanted.step(action)[:4], strict=True):
            assert np.array_equal(a.numpy(), b)


def test_the_pages_examples_run(monkeypatch, tmp_path):
    """All of envs/README.md's Python, in order, as one program."""
    pytest.importorskip("torch")
    page = (EXAMPLE.parent.parent / "README.md").read_text()
    # they name the example's file, and write one
    shutil.copy(EXAMPLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        if "Go1" in block and importlib.util.find_spec("mjlab") is None:
            continue
        exec(block, names)
    envs = names["envs"]
    envs.reset(seed=0)
    assert np.isfinite(envs.step(envs.action_space.sample())[1]).all()


def test_a_source_that_is_not_there_is_refused_in_a_line(tmp_path):
    for place in (tmp_path / "none.cpp", tmp_path):
        with pytest.raises(FileNotFoundError, match=f"^there is no file '{place}', out of which a task of C") as error:
            ds.envs.cpp_task(place, *MODEL)
        assert "\n" not in str(error.value)
