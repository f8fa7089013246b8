"""Models by name, near names, copies and pickles of models, batches and environments, and memory before it is taken."""

import contextlib
import copy
import pickle
import subprocess
import sys

import gymnasium
import mujoco
import numpy as np
import pytest
import users_task

import dualstep as ds
from dualstep import _memory, _models


def test_models_by_name(monkeypatch):
    names = ds.Model.names()
    assert {"humanoid", "three_humanoids", "gymnasium/humanoid", "hopper", "stack"} <= set(names)
    for name in names:
        assert ds.Model.named(name).nq > 0
    # MuJoCo's, and Gymnasium's of the same name
    assert ds.Model.named("humanoid").nv == 27 and ds.Model.named("gymnasium/humanoid").nv == 23
    with pytest.raises(ValueError, match="there is no model 'humanod'; near it are: humanoid"):
        ds.Model.named("humanod")
    # what the package ships needs nothing else
    monkeypatch.setattr(_models, "gymnasium_models", dict)
    assert set(ds.Model.names()) == {"humanoid", "three_humanoids", "stack", "gripper"}
    with pytest.raises(ValueError, match="brings more"):
        ds.Model.named("hopper")


def test_near_names():
    model = ds.Model.named("hopper")
    sim, reference = ds.Batch(model, 1, num_threads=1), ds.Reference(model)
    for what, near in (
        (lambda: sim.qposs, "qpos"),
        (lambda: reference.qvell, "qvel"),
        (lambda: model.body_mas, "body_mass"),
        (lambda: model.opt.timestpe, "timestep"),
        (lambda: setattr(model.opt, "gravty", 1), "gravity"),
        (lambda: setattr(reference, "qpso", 1), "qpos"),
        (lambda: setattr(model, "body_mas", 1), "body_mass"),
    ):
        with pytest.raises(AttributeError, match=f"did you mean '{near}'"):
            what()
    # probes of other libraries are not answered with guesses
    assert not hasattr(sim, "__array__") and not hasattr(model.opt, "_ipython_display_")
    with pytest.raises(TypeError, match="is given MjModel: Model.from_mujoco takes it"):
        ds.Model.from_mjcf(model.mj_model)
    assert ds.envs.make("hopper", 1, num_threads=1).task.frame_skip == 4


def test_models_are_pickled():
    model = ds.Model.named("hopper")
    model.opt.timestep, model.opt.gravity[2], model.opt.contact_capacity = 0.003, -3.0, 7
    model.set_restitution(0, 1, 0.5)
    model.prescribe_velocity(3, 0.25, 1.0)
    # what was changed in MuJoCo's model afterwards is not this model's
    model.mj_model.body_mass[1] = 99
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert type(other) is ds.Model and repr(other.opt) == repr(model.opt)
        assert np.array_equal(other.body_mass, model.body_mass)
        assert other._restitutions() == [(0, 1, 0.5)] and other._prescribed() == [(3, 0.25, 1.0, 0.0, 0.0)]
        assert other.mj_model.nbody == model.nbody and other.geom_id("floor") == 0
        other.opt.timestep = 0.1
        assert model.opt.timestep == 0.003


def test_batches_are_pickled_and_go_on():
    sim = ds.Batch(ds.Model.named("hopper"), 3, dtype="float64", num_threads=1, diverged="reset")
    sim.set_parameter("body_mass", 2 * sim.model.body_mass, [1])
    sim.ctrl[:] = 0.3
    sim.step(20)
    for other in (pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)):
        assert other.dtype == sim.dtype and other.diverged == "reset"
        twin = ds.Batch(sim.model, 3, dtype="float64", num_threads=1)
        twin.load(sim.save())
        other.step(20), twin.step(20)
        assert np.array_equal(other.qpos, twin.qpos)
    sim.close()
    with pytest.raises(TypeError, match="closed"):
        pickle.dumps(sim)


@pytest.mark.parametrize("task", ["Hopper", "users"])
def test_environments_are_pickled_and_go_on(task):
    if task == "users":
        ds.envs.register_task("Upright", users_task.Upright)
    name, width = ("Hopper", 3) if task == "Hopper" else ("Upright", 1)
    options = {"num_threads": 1, "max_episode_steps": 10, "randomize": [ds.envs.Vary("body_mass", 0.9, 1.1)]}
    env = ds.envs.make(name, 4, **options)
    # one that has not begun, and one that is under way
    assert np.array_equal(pickle.loads(pickle.dumps(env)).reset(seed=3)[0], env.reset(seed=3)[0])
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (25, 4, width)).astype(np.float32)
    for action in actions[:5]:
        env.step(action)
    others = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    for action in actions[5:]:
        wanted = env.step(action)
        for other in others:
            found = other.step(action)
            assert all(np.array_equal(a, b) for a, b in zip(found[:4], wanted[:4], strict=True))
    env.close()
    with pytest.raises(TypeError, match="closed"):
        copy.deepcopy(env)


def test_a_single_environment_is_copied():
    env = gymnasium.make("dualstep/InvertedPendulum-v0")
    env.reset(seed=1)
    other = copy.deepcopy(env)
    assert other.unwrapped.sim is other.unwrapped._batch.sim
    action = np.array([0.7], np.float32)
    for _ in range(5):
        assert np.array_equal(env.step(action)[0], other.step(action)[0])


def test_gymnasium_imports_it_by_name():
    script = "import gymnasium; print(gymnasium.make_vec('dualstep:dualstep/Hopper-v0', num_envs=2).num_envs)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert run.stdout == "2\n", run.stderr


def test_memory_is_compared_before_it_is_taken(monkeypatch):
    model = ds.Model.named("hopper")
    found = _memory.environment_bytes(model)
    sim = ds.Batch(model, 8, num_threads=1)
    state = [name for name, role, *_ in ds._core.batch_fields() if role == "state"]
    assert found["state"] > 2 * sum(getattr(sim, name).nbytes for name in state) // 8
    assert found["outputs"] > found["state"] and found["largest"] < found["state"]
    with pytest.raises(MemoryError, match=r"2,000,000,000 environments of 4 bodies take .* TB \(.* each\), and .*is free: at most"):
        ds.Batch(model, 2_000_000_000, "cpu")
    monkeypatch.setattr(_memory, "available", lambda: 10_000_000)
    with pytest.raises(MemoryError, match="and 10 MB is free"):
        ds.Batch(model, 200_000, "cpu")
    # a batch that will live on a GPU takes nothing of the host's
    for there, refused in ((False, True), (True, False)):
        monkeypatch.setattr(ds._core, "cuda_device_present", lambda there=there: there)
        with pytest.raises(MemoryError) if refused else contextlib.nullcontext():
            _memory.check(model, 200_000, "auto", np.float32)
    # where nobody knows, and for what is small, nothing is asked
    monkeypatch.setattr(_memory, "available", lambda: None)
    ds.Batch(model, 8, "cpu")
    assert _memory.shown(1_884) == "1.88 kB" and _memory.shown(0) == "0 B"


BALLS = "<mujoco><worldbody>" + "<body><freejoint/><geom size='.1' contype='0' conaffinity='0'/></body>" * 300 + "</worldbody></mujoco>"


def test_a_reference_is_dense(monkeypatch):
    model = ds.Model.from_mjcf(BALLS)
    monkeypatch.setattr(_memory, "available", lambda: 150_000_000)
    with pytest.raises(MemoryError, match=r"a Reference of 1,800 degrees of freedom takes 156 MB .*, and 150 MB is free"):
        ds.Reference(model)
    monkeypatch.setattr(_memory, "available", lambda: 160_000_000)
    ds.Reference(model).step()


def test_memory_that_is_free():
    there = _memory.available()
    assert there is None or there > 1 << 20


def test_mujoco_is_what_a_model_keeps():
    model = ds.Model.named("stack")
    assert isinstance(pickle.loads(pickle.dumps(model)).mj_model, mujoco.MjModel)
