"""The interface that users rely on: names, shapes and types, called as the documentation writes them."""

import copy
import pickle
import subprocess
import sys

import mujoco
import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import build_parser

N = 3
SCENE = """<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="5 5 1"/>
<body name="b" pos="0 0 .3"><freejoint/><geom size=".1"/><site name="s"/>
  <body pos="0 0 .2"><joint name="j" axis="0 1 0" range="-40 40"/><geom type="capsule" size=".04 .1"/></body></body>
<body mocap="true"><geom size=".01" contype="0" conaffinity="0"/></body></worldbody>
<actuator><general joint="j" dyntype="filter" dynprm="0.1" gainprm="5"/></actuator>
<sensor><gyro name="gyro" site="s"/><accelerometer site="s"/></sensor>
<keyframe><key name="up" qpos="0 0 1 1 0 0 0 0"/></keyframe></mujoco>"""
OPTIONS = """timestep gravity solver iterations tolerance cone impratio integrator contact_model contact_parameters
contact_time_constant contact_regularization contact_margin desaxce friction_directions restitution stiffness damping
exponent compliant_law friction_law stiction_speed dynamic_friction_ratio tangent_stiffness tangent_damping scheme
equality_alpha""".split()


@pytest.fixture
def model():
    return ds.Model.from_mjcf(SCENE)


def shapes(model):
    """Of one environment."""
    m = model
    state = dict(qpos=(m.nq,), qvel=(m.nv,), act=(m.na,), ctrl=(m.nu,), qfrc_applied=(m.nv,), xfrc_applied=(m.nbody, 6),
                 mocap_pos=(1, 3), mocap_quat=(1, 4))  # fmt: skip
    dofs = dict.fromkeys(("qacc", "qacc_smooth", "qfrc_bias", "qfrc_constraint", "qfrc_actuator"), (m.nv,))
    bodies = dict(xpos=3, xquat=4, xipos=3, subtree_com=3, cvel=6)
    derived = dofs | {name: (m.nbody, width) for name, width in bodies.items()}
    return state, derived | dict(geom_xpos=(m.ngeom, 3), geom_xmat=(m.ngeom, 9), site_xpos=(1, 3), sensordata=(6,), energy=(2,))


def test_models(model, tmp_path):
    (tmp_path / "model.xml").write_text(SCENE)
    compiled = mujoco.MjModel.from_xml_string(SCENE)
    others = [ds.Model.from_mjcf(tmp_path / "model.xml"), ds.Model.from_mjcf(str(tmp_path / "model.xml")),
              ds.Model.from_mujoco(compiled), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]  # fmt: skip
    for one in others:
        for name in ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsensor"):
            assert getattr(one, name) == getattr(model, name) == getattr(compiled, name)
        assert one.opt.timestep == 0.004
    assert "humanoid" in ds.Model.names() and ds.Model.named("humanoid").nv == 27
    for name in OPTIONS:
        setattr(model.opt, name, getattr(model.opt, name))
    with pytest.raises(ds.UnsupportedModelError, match="(?s)2 things.*flag diagexact.*bias user"):
        text = SCENE.replace("</actuator>", "<general joint='j' biastype='user'/></actuator>")
        ds.Model.from_mjcf(text.replace("<worldbody>", "<option><flag diagexact='enable'/></option><worldbody>", 1))


@pytest.mark.parametrize("device", ["cpu", "auto", "emulated"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches(model, device, dtype):
    sim = ds.Batch(model, num_envs=N, device=device, dtype=dtype, num_threads=0, seed=0)
    state, derived = shapes(model)
    for name, shape in state.items():
        getattr(sim, name)[...] = 0.1
        setattr(sim, name, np.full((N, *shape), 0.2, dtype))
        assert getattr(sim, name).shape == (N, *shape) and (getattr(sim, name) == np.array(0.2, dtype)).all()
        with pytest.raises(ValueError, match=rf"{name}: an array of shape \(7,\) .* is given, and .* is wanted"):
            setattr(sim, name, np.zeros(7, dtype))
    sim.reset()
    sim.step(nsubsteps=2)
    sim.step()
    sim.forward()
    for name, shape in derived.items():
        assert getattr(sim, name).shape == (N, *shape) and getattr(sim, name).dtype == dtype, name
    assert sim.mass_matrix().shape == (N, model.nv, model.nv)
    assert sim.time.shape == (N,) and sim.time == pytest.approx(0.012)
    assert sim.status.shape == (N,) and sim.status.dtype == np.uint32
    assert {"DIVERGED", "CONTACT_OVERFLOW", "NOT_CONVERGED"} == set(ds.Status.__members__)
    for name in ("residual", "iterations", "contacts_needed"):
        assert getattr(sim, name).shape == (N,)
    sim.reset(mask=np.array([True, False, True]), keyframe="up")
    assert sim.qpos[:, 2] == pytest.approx([1, 0.3, 1], abs=0.01)


def test_what_a_batch_answers(model):
    sim = ds.Batch(model, N)
    gyro = sim.sensor("gyro")
    assert gyro.shape == (N, 3) and np.shares_memory(gyro, sim.sensordata)
    sim.qvel[:, 3] = [0, 1, 2]
    sim.forward()
    assert gyro[:, 0] == pytest.approx([0, 1, 2])
    down = np.broadcast_to([0, 0, -1], (N, 2, 3))
    distance, geom = sim.ray(np.array([[0, 0, 3], [9, 0, 1]]), down, groups=None, exclude_body=-1)
    assert distance.shape == geom.shape == (N, 2) and (geom[:, 1] == -1).all() and (distance[:, 1] == -1).all()
    contacts = sim.contacts()
    count, dist, pos, frame, geom, force = contacts
    capacity = dist.shape[1]
    assert count.shape == (N,) and pos.shape == (N, capacity, 3) and force.shape == (N, capacity, 6)
    assert frame.shape == (N, capacity, 3, 3) and geom.shape == (N, capacity, 2)
    kept = sim.save()
    before = sim.qpos.copy()
    found = sim.rollout(np.zeros((4, N, model.nu)), nsubsteps=2, outputs=("qpos", "qvel", "sensordata"))
    assert {name: x.shape for name, x in found.items()} == {"qpos": (4, N, 8), "qvel": (4, N, 7), "sensordata": (4, N, 6)}
    sim.load(kept)
    assert isinstance(kept, bytes) and np.array_equal(sim.qpos, before)
    with pytest.raises(ValueError, match="another model"):
        ds.Batch(ds.Model.named("hopper"), N).load(kept)
    friction = sim.get_parameter("geom_friction")
    sim.set_parameter("geom_friction", 2 * friction, envs=None)
    sim.set_parameter("geom_friction", friction[:1], envs=[2])
    assert sim.get_parameter("geom_friction")[:, 0, 0] == pytest.approx([2, 2, 1])
    with ds.Batch(model, 2, "emulated") as emulated:
        assert emulated.inspect("LD", env=1).ndim == 1
    start = np.tile(model.qpos0, (N, 1)), np.zeros((N, model.nv))
    found = ds.rollout(model, *start, np.zeros((4, N, 1)), parameters={"geom_friction": friction}, device="auto")
    assert found["qpos"].shape == (4, N, model.nq)


def test_references(model):
    ref = ds.Reference(model)
    state, derived = shapes(model)
    for name, shape in (state | derived).items():
        assert getattr(ref, name).shape == shape and getattr(ref, name).dtype == np.float64, name
    ref.qvel[3] = 2
    ref.step(nsubsteps=1)
    ref.forward()
    assert ref.sensor("gyro").shape == (3,) and np.shares_memory(ref.sensor("gyro"), ref.sensordata)
    assert ref.sensor("gyro") == pytest.approx(ref.qvel[3:6])
    assert ref.mass_matrix().shape == (model.nv, model.nv) and ref.contacts().count == ref.contacts_needed
    assert ref.hamiltonian() == pytest.approx(ref.kinetic_energy + ref.potential_energy) == pytest.approx(sum(ref.energy))
    assert ref.status == 0 and ref.residual >= 0 and ref.iterations >= 0
    ref.reset()
    assert ref.time == 0 and ref.qvel[3] == 0


def test_a_build_without_the_reference():
    """`./run` makes one first: the package is imported and simulates, and says what it lacks when that is asked for."""
    without = """
import importlib.util, sys
sys.modules["dualstep._formulations"] = None
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "dualstep._formulations" else found(name, *rest)
import dualstep as ds
del ds.batch._core.Reference
model = ds.Model.named("humanoid")
ds.Batch(model, 2).step()
assert "formulations" in dir(ds)
for ask in (lambda: ds.formulations, lambda: ds.Reference(model)):
    try:
        ask()
    except ImportError as error:
        print(error)
"""
    told = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.partition(" is asked for")[0] for line in told] == ["dualstep.formulations", "dualstep.Reference"]
    assert all("DUALSTEP_REFERENCE=OFF" in line and "pip install" in line for line in told)
    with pytest.raises(AttributeError, match="formulation"):
        ds.formulation


def test_environments():
    gymnasium = pytest.importorskip("gymnasium")
    for env in (gymnasium.make_vec("dualstep/Hopper-v0", num_envs=N, device="auto"), ds.envs.make("Hopper", N, device="cpu")):
        assert isinstance(env, gymnasium.vector.VectorEnv) and isinstance(env.unwrapped.sim, ds.Batch)
        env.reset(seed=0)
        assert len(env.step(env.action_space.sample())) == 5


@pytest.mark.parametrize(
    "command",
    ["bench humanoid", "train Ant", "play x.pt", "view humanoid", "audit humanoid", "info", "tasks", "export x.pt", "demo"],
)
def test_commands_have_the_same_options(command):
    words = [*command.split(), "--device", "cpu", "--num-envs", "4", "--seed", "1"]
    if words[0] not in ("view", "demo"):  # they print no figures
        words.append("--json")
    args = build_parser(words[0]).parse_args(words)
    assert args.seed == 1
