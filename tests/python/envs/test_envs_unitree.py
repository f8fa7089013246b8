"""Go1 and G1: the models out of mjlab, what the task measures against MuJoCo, commands, pushes, noise."""

import importlib.util

import mujoco
import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import main
from dualstep.envs.tasks import unitree

TASKS = ("Go1Joystick", "G1Joystick")
installed = pytest.mark.skipif(importlib.util.find_spec("mjlab") is None, reason="the models come with mjlab")


def robots(name, num_envs, **options):
    env = ds.envs.make(name, num_envs, num_threads=1, **options)
    env.reset(seed=3)
    return env


def quiet(name, num_envs, **options):
    return robots(name, num_envs, pushes=False, noise=False, randomize=(), **options)


def test_what_to_install_is_said(monkeypatch, capsys):
    known = importlib.util.find_spec

    def without(name, *rest):
        return None if name == "mjlab" else known(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(ImportError, match="pip install --no-deps 'mjlab"):
        ds.envs.make("Go1Joystick", 2)
    pytest.importorskip("rsl_rl")
    assert main(["train", "G1Joystick"]) == 2
    assert "g1.xml comes with mjlab, which is not installed" in capsys.readouterr().err


@installed
@pytest.mark.parametrize("name", TASKS)
def test_it_stands_and_is_paid_for_that(name):
    env = quiet(name, 3, standing_share=1.0)
    assert env.action_space.shape == (3, env.task.count) and env.single_observation_space.shape == (env.task.width,)
    zero = np.zeros(env.action_space.shape)
    for _ in range(25):
        observation, reward, terminated, _, info = env.step(zero)
        assert not terminated.any()
    assert (abs(env.sim.qpos[:, 2] - env.task.robot.height) < 0.06).all()
    assert (env.sim.contacts().count >= len(env.task.sites)).all()
    # at rest nothing is lost; what it leans by and turns from its stance costs a little
    assert (info["velocity_error"] < 0.3).all() and (reward > 0.5 * 6 * env.task.dt).all()
    terms = sum(info[key] for key in info if key.startswith("reward_"))
    assert np.allclose(terms, reward, atol=1e-5)


@installed
@pytest.mark.parametrize("name", TASKS)
def test_it_moves_as_in_mujoco(name):
    """The same controls for half a second, and what the task measures of the feet on the way."""
    env = quiet(name, 1, dtype="float64")
    model = env.task.model.mj_model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = env.sim.qpos[0], env.sim.qvel[0]
    rng = np.random.default_rng(0)
    for step in range(25):
        action = 0.3 * rng.normal(size=env.action_space.shape)
        env.step(action)
        data.ctrl[:] = env.task.stance + env.task.scale * action[0]
        mujoco.mj_step(model, data, env.task.frame_skip)
        if step == 9:
            assert np.allclose(env.sim.qpos[0], data.qpos, atol=1e-3)
    # outputs are those of the last timestep's start in both
    view = env._view()
    speeds, velocity = env.task.foot_speeds(view)[0], np.zeros(6)
    for foot, site in enumerate(env.task.sites):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site, velocity, 0)
        assert abs(speeds[foot] - np.linalg.norm(velocity[3:5])) < 0.05 * max(1, speeds[foot])
    forces = np.zeros(len(env.task.sites))
    found = np.zeros(6)
    for contact in range(data.ncon):
        mujoco.mj_contactForce(model, data, contact, found)
        foot = max(env.task.foot_of[geom] for geom in data.contact[contact].geom)
        if foot >= 0:
            forces[foot] += np.linalg.norm(found[:3])
    assert np.allclose(env.task.foot_forces(view)[0], forces, rtol=0.05, atol=3.0)


@installed
def test_ranges_that_make_no_sense():
    for name, given in (("forward_range", (1, -1)), ("push_seconds", (-1, 1)), ("command_seconds", (1, float("nan")))):
        with pytest.raises(ValueError, match=f"{name} .* is given, and .* is wanted"):
            ds.envs.make("Go1Joystick", 1, **{name: given})


@installed
def test_weights_of_the_reward():
    action = np.random.default_rng(0).normal(size=(4, 12))

    def terms(weights):
        env = quiet("Go1Joystick", 4, weights=weights)
        *_, info = [env.step(action) for _ in range(10)][-1]
        return {name.removeprefix("reward_"): value for name, value in info.items() if name.startswith("reward_")}

    usual, mjlab, other = terms(None), terms("mjlab"), terms({"slip": 0.3, "pose": 0})
    # what weighs nothing is not there
    assert set(mjlab) == {name for name, weight in unitree.MJLAB.items() if weight} and set(other) == set(usual) - {"pose"}
    assert np.allclose(other["slip"], 3 * usual["slip"]) and np.any(usual["slip"])
    assert np.allclose(mjlab["clearance"], 4 * usual["clearance"]) and np.any(usual["clearance"])
    for given, error, told in (
        ({"slipp": 1}, ValueError, "no such term; there are: slip"),
        ({"slip": "a lot"}, TypeError, "a finite number is wanted"),
        ("isaac", TypeError, "a dict of numbers by term or 'mjlab' is wanted"),
    ):
        with pytest.raises(error, match=told):
            ds.envs.make("Go1Joystick", 1, weights=given)


@installed
@pytest.mark.parametrize("task", TASKS)
def test_slots_that_nobody_uses_change_no_bit_of_the_forces_of_feet(task):
    """An environment's forces are those that it has alone, however many contacts others have."""
    env = quiet(task, 6)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        env.step(rng.normal(size=env.action_space.shape))
        view = env._view()
        contacts, given = env.sim.contacts(), env.task.foot_forces(view)
        used = np.arange(contacts.force.shape[1]) < contacts.count[:, None]
        size = np.sqrt(np.einsum("rsi,rsi->rs", contacts.force[..., :3], contacts.force[..., :3]))
        feet = np.where(used[..., None], env.task.foot_of[contacts.geom], -1)
        for foot in range(given.shape[1]):
            mine = np.where((feet == foot).any(axis=2) & used, size, 0)
            assert np.array_equal(given[:, foot], mine.sum(axis=1))
        seen.add(int(contacts.count.max() + 7) // 8)
    assert len(seen) > 1 or task == "Go1Joystick"


@installed
def test_weights_that_grow_with_the_training():
    env = quiet("Go1Joystick", 2, weights={"velocity_distance": (0.5, 4.0), "pose": [1.0, 0.5]})
    weights = []
    for share in (None, 0.0, 0.5, 0.65, 0.8, 1.0):
        if share is not None:
            env.trained(share)
        weights.append((env.task.weights["velocity_distance"], env.task.weights["pose"]))
    # one that no training steps has what it ends with
    assert np.allclose(weights, [(4, 0.5), (0.5, 1), (0.5, 1), (2.25, 0.75), (4, 0.5), (4, 0.5)])
    paid = []
    for share in (0, 1):
        env.reset(seed=0)
        env.trained(share)
        paid.append(env.step(np.ones((2, 12)))[4]["reward_velocity_distance"])
    assert np.allclose(8 * paid[0], paid[1]) and np.all(paid[0] < 0)
    with pytest.raises(TypeError, match=r"weights\['pose'\] .* is given, and a finite number is wanted"):
        quiet("Go1Joystick", 2, weights={"pose": (1.0, 0.5, 0.2)})


@installed
def test_commands_pushes_and_noise():
    env = robots("Go1Joystick", 64, command_seconds=(0.2, 0.4), push_seconds=(0.1, 0.2), randomize=())
    zero = np.zeros(env.action_space.shape)
    task, n = env.task, env.task.count
    commands, jumps = [], 0
    for _ in range(20):
        observation, *_ = env.step(zero)
        commands.append(env._memory["command"].copy())
        assert np.allclose(observation[:, -3:], commands[-1])
        # within the bounds of its noise of what is true
        true = env.sim.qvel[:, 6:]
        seen = observation[:, 9 + n : 9 + 2 * n]
        assert (abs(seen - true) <= 1.5).all() and abs(seen - true).max() > 1.0
    commands = np.array(commands)
    assert (commands >= task.low - 1e-6).all() and (commands <= task.high + 1e-6).all()
    changes = (np.diff(commands, axis=0) != 0).any(axis=2).sum(axis=0)
    assert (changes >= 1).mean() > 0.8 and changes.max() <= 2
    share = (commands == 0).all(axis=2).mean()
    assert 0.02 < share < 0.25
    # pushes: without them the same seeds go another way
    calm = robots("Go1Joystick", 64, command_seconds=(0.2, 0.4), pushes=False, randomize=())
    for _ in range(20):
        calm.step(zero)
    jumps = abs(env.sim.qvel[:, :2] - calm.sim.qvel[:, :2]).max(axis=1)
    assert (jumps > 0.05).mean() > 0.5


@installed
def test_randomization_is_that_of_the_task():
    env = robots("G1Joystick", 6)
    friction = env.sim.get_parameter("geom_friction")
    foot = env.task.foot_of >= 0
    values = friction[:, foot, 0]
    assert (values == values[:, :1]).all() and len(set(values[:, 0])) == 6
    assert values.min() >= 0.3 and values.max() < 1.2
    assert (friction[:, ~foot] == env.sim.model.geom_friction[~foot]).all()
    assert {vary["when"] for vary in env.randomization} == {"start"}


@installed
def test_a_state_goes_on_with_its_memory():
    env, other = robots("Go1Joystick", 4, push_seconds=(0.1, 0.2)), robots("Go1Joystick", 4, push_seconds=(0.1, 0.2))
    actions = np.random.default_rng(1).normal(size=(20, *env.action_space.shape))
    for action in actions[:10]:
        env.step(action)
    other.load_state(env.state())
    for action in actions[10:]:
        for a, b in zip(env.step(action)[:4], other.step(action)[:4], strict=True):
            assert np.array_equal(a, b)


@installed
def test_it_falls_and_begins_anew():
    env = quiet("Go1Joystick", 2)
    env.sim.qpos[1, 3:7] = [np.cos(0.7), np.sin(0.7), 0, 0]
    _, _, terminated, _, info = env.step(np.zeros(env.action_space.shape))
    assert terminated.tolist() == [False, True] and "final_obs" in info
    assert abs(env.sim.qpos[1, 2] - env.task.robot.height - 0.03) < 0.03
