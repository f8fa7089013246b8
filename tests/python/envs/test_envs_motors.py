"""Motor models of tasks: dcmotors against their formula, networks against what they stand for."""

import copy
import importlib.util
import pickle

import gymnasium
import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import main
from dualstep.envs import motors
from dualstep.envs.making import make_task

XML = """
<mujoco>
  <option timestep='0.004' integrator='{integrator}' gravity='0 0 -3'/>
  <worldbody>
    <body pos='0 0 1'>
      <joint name='hip' type='hinge' axis='0 1 0' armature='.05'/><geom type='capsule' size='.03' fromto='0 0 0 0 0 -.3'/>
      <body pos='0 0 -.3'>
        <joint name='knee' type='hinge' axis='0 1 0' armature='.05'/><geom type='capsule' size='.03' fromto='0 0 0 0 0 -.3'/>
        <body pos='0 0 -.3'><joint name='slide' type='slide' axis='1 0 0' armature='.3'/><geom size='.04'/></body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name='hip' joint='hip' kp='20' kv='1' forcerange='-9 9' ctrlrange='-1 1'/>
    <position name='knee' joint='knee' kp='5' kv='.2' gear='-2' forcerange='-3 3'/>
    <{third} name='slide' joint='slide' {more}/>
  </actuator>
</mujoco>"""
SERVO = {"third": "position", "more": "kp='30' kv='1' forcerange='-9 9'"}
MOTOR = {"third": "motor", "more": "gear='4' ctrlrange='-2 2'"}


class Rig(ds.envs.Task):
    third = SERVO

    def __init__(self, integrator: str = "Euler", frame_skip: int = 3) -> None:
        super().__init__(ds.Model.from_mjcf(XML.format(integrator=integrator, **self.third)), frame_skip)

    def reset(self, s, draw):
        return {"qpos": 0.3 * draw.normal(3), "qvel": draw.normal(3)}

    def observe(self, s):
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def reward(self, s):
        return -abs(s.qpos).sum(axis=1), {}


class MixedRig(Rig):
    third = MOTOR


class FilteredRig(Rig):
    third = {"third": "position", "more": "kp='30' timeconst='.1'"}


ds.envs.register_task("FilteredRig", FilteredRig)
ds.envs.register_task("Rig", Rig, max_episode_steps=30)
ds.envs.register_task("MixedRig", MixedRig, max_episode_steps=30)
# of the actuators of Rig, at the joints
KP, KD = np.array([20, 20, 30.0]), np.array([1, 0.8, 1.0])


def made(task="Rig", count=7, **options):
    return ds.envs.make(task, count, num_threads=1, **options)


def run(env, actions, seed=3):
    seen = [env.reset(seed=seed)[0]]
    for action in actions:
        seen.append(env.step(action)[0])
    return seen


def actions_of(count=7, steps=20, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (steps, count, 3)).astype(np.float32)


def npz(path, *layers, activation="tanh"):
    arrays = {}
    for i, (weight, bias) in enumerate(layers):
        arrays.update({f"weight_{i}": np.asarray(weight, np.float32), f"bias_{i}": np.asarray(bias, np.float32)})
    np.savez(path, activation=activation, **arrays)
    return str(path)


@pytest.fixture
def pd(tmp_path):
    """20 times the error, less the velocity."""
    return npz(tmp_path / "pd.npz", ([[20, 0, 0, -1, 0, 0]], [0]))


# a DC motor ------------------------------------------------------------------------------------------------


def curve(torque, velocity, stall, speed, most):
    """What a motor can do of a torque, after Isaac Lab."""
    end = speed * (1 + most / stall)
    velocity = np.clip(velocity, -end, end)
    low, high = np.maximum(stall * (-1 - velocity / speed), -most), np.minimum(stall * (1 - velocity / speed), most)
    return np.clip(torque, low, high)


@pytest.mark.parametrize("task", ["Rig", "MixedRig"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_dcmotor_is_its_formula(task, dtype):
    stall, speed, most = np.array([12.0, 9.0, 15.0]), np.array([5.0, 3.0, 4.0]), np.array([9.0, 4.0, 7.0])
    names = ("hip", "knee", "slide")
    motor = {
        "model": "dcmotor", "saturation_effort": dict(zip(names, stall.tolist(), strict=True)),
        "velocity_limit": {"hip": 5.0, "knee": 3.0, ".*": 4.0}, "effort_limit": {"knee": 4.0, "slide": 7.0},
    }  # fmt: skip
    env = made(task, 400, motor_model=motor, dtype=dtype)
    sim, rng = env.sim, np.random.default_rng(1)
    env.reset(seed=0)
    q, v, u = rng.normal(0, 1, (400, 3)), rng.normal(0, 6, (400, 3)), rng.normal(0, 1, (400, 3))
    sim.qpos[:], sim.qvel[:], sim.ctrl[:] = q, v, u
    sim.forward()
    target = u / np.array([1, -2, 1.0])
    # the hip's controls have a range
    target[:, 0] = np.clip(target[:, 0], -1, 1)
    wanted = KP * (target - q) - KD * v
    if task == "MixedRig":
        wanted[:, 2] = 4 * np.clip(u[:, 2], -2, 2)
    expected = curve(wanted, v, stall, speed, most)
    gear = np.array([1, -2, 4.0 if task == "MixedRig" else 1.0])
    found = np.asarray(sim.actuator_force) * gear
    assert abs(found - expected).max() < (1e-4 if dtype == "float32" else 1e-11)
    # all parts of the curve were there
    fast = abs(v) > speed
    assert (abs(wanted - expected) > 0.1).any(axis=0).all() and (abs(wanted - expected) < 1e-9).any(axis=0).all()
    assert (abs(expected) == most).any(axis=0).all() and (fast & (abs(expected) < most)).any(axis=0).all()


def test_a_dcmotor_is_the_same_on_mujoco():
    import mujoco

    env = made("MixedRig", 20, dtype="float64", motor_model={"model": "dcmotor", "velocity_limit": 3.0})
    env.reset(seed=5)
    model = env.task.model.mj_model
    data = [mujoco.MjData(model) for _ in range(20)]
    for i, d in enumerate(data):
        d.qpos[:], d.qvel[:] = env.sim.qpos[i], env.sim.qvel[i]
    for action in actions_of(20, 5):
        env.step(action)
        for i, d in enumerate(data):
            d.ctrl[:] = action[i]
            mujoco.mj_step(model, d, env.task.frame_skip)
    assert max(abs(d.qpos - q).max() for d, q in zip(data, env.sim.qpos, strict=True)) < 1e-9


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_far_from_its_limits_it_is_the_ideal_actuator(integrator):
    strong = {"model": "dcmotor", "saturation_effort": 1e4, "velocity_limit": 1e4}
    plain = run(made(integrator=integrator), actions_of())
    found = run(made(integrator=integrator, motor_model=strong), actions_of())
    assert max(abs(a - b).max() for a, b in zip(plain, found, strict=True)) < 1e-2
    double = dict(integrator=integrator, dtype="float64")
    plain, found = run(made(**double), actions_of()), run(made(**double, motor_model=strong), actions_of())
    assert max(abs(a - b).max() for a, b in zip(plain, found, strict=True)) < 1e-9


def test_gains_are_the_users():
    env = made(motor_model={"model": "dcmotor", "velocity_limit": 1e3, "saturation_effort": 1e3,
                            "effort_limit": 1e3, "stiffness": 7.0, "damping": {"knee": 0.0}})  # fmt: skip
    env.reset(seed=0)
    sim = env.sim
    sim.qpos[:], sim.qvel[:], sim.ctrl[:] = 0.5, 2.0, 0.0
    sim.forward()
    assert np.allclose(sim.actuator_force * np.array([1, -2, 1]), [-3.5 - 2, -3.5, -3.5 - 2], atol=1e-4)


def test_what_a_model_has_beside_its_arrays_stays():
    task = make_task("Rig", {})
    task.model.opt.contact_model, task.model.opt.tolerance = "anitescu", 3e-5
    motors.apply(task, {"model": "dcmotor", "velocity_limit": 3.0})
    opt = task.model.opt
    assert (opt.contact_model, opt.tolerance, opt.timestep) == ("anitescu", 3e-5, 0.004)
    # the model that it was is not changed
    assert task.motor.given.mj_model.actuator_gaintype.max() == 0 and task.model.mj_model.actuator_gaintype.min() == 3


def test_what_robots_know_of_their_motors():
    if importlib.util.find_spec("mjlab") is None:
        pytest.skip("no mjlab here")
    task = make_task("Go1Joystick", {"motor_model": "dcmotor"})
    constants = task.model.mj_model.actuator_gainprm[:, 1]
    # K^2 R is the slope of the curve
    assert np.allclose(constants[:3] ** 2, [23.7 / 30.1, 23.7 / 30.1, 35.55 / 20.06])
    plain = make_task("Go1Joystick", {})
    assert np.array_equal(task.action_bounds(), plain.action_bounds())


# networks --------------------------------------------------------------------------------------------------


def script(path, weight):
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(len(weight), 1)
    with torch.no_grad():
        layer.weight[:] = torch.tensor([weight])
        layer.bias[:] = 0
    torch.jit.script(layer).save(str(path))
    return str(path)


@pytest.mark.parametrize("kind", ["npz", "script", "layers"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_network_that_is_pd_walks_as_pd_does(tmp_path, kind, dtype):
    gains = {"model": "dcmotor", "stiffness": 20.0, "damping": 1.0, "saturation_effort": 1e6, "velocity_limit": 1e4}
    task = make_task("Rig", {"motor_model": {**gains, "effort_limit": {".*": 9.0}}})
    # plain position actuators of the same gains
    plain = make_task("Rig", {})
    mj_model = copy.copy(plain.model.mj_model)
    gear = mj_model.actuator_gear[:, 0]
    mj_model.actuator_gainprm[:, 0] = 20 / gear**2
    mj_model.actuator_biasprm[:, 1], mj_model.actuator_biasprm[:, 2] = -20 / gear**2, -1 / gear**2
    mj_model.actuator_forcerange[:] = np.stack([-9 / abs(gear), 9 / abs(gear)], axis=1)
    plain.model = plain.model.with_arrays_of(mj_model)
    if kind == "script":
        path = script(tmp_path / "net.pt", [20.0, 0, 0, -1, 0, 0])
    elif kind == "npz":
        path = npz(tmp_path / "net.npz", ([[20, 0, 0, -1, 0, 0]], [0]))
    else:
        # of a positive and a negative part each
        path = npz(tmp_path / "net.npz", ([[20, 0, 0, -1, 0, 0], [-20, 0, 0, 1, 0, 0]], [0, 0]), ([[1, -1]], [0]), activation="relu")
    learned = make_task("Rig", {"motor_model": {"model": path, "effort_limit": 9.0}})
    found = [run(ds.envs.BatchEnv(t, 7, num_threads=1, dtype=dtype), actions_of()) for t in (plain, learned, task)]
    # torques are of single precision
    assert max(abs(a - b).max() for a, b in zip(found[0], found[1], strict=True)) < 1e-4
    assert max(abs(a - b).max() for a, b in zip(found[0], found[2], strict=True)) < (5e-2 if dtype == "float32" else 1e-9)
    assert not np.allclose(found[0][-1], run(made(dtype=dtype), actions_of())[-1], atol=1e-3)


def test_the_network_is_asked_in_every_timestep(tmp_path):
    """Its inputs, as it gets them: lags, order and scales."""
    path = npz(tmp_path / "net.npz", (np.zeros((1, 4)), [0]))
    options = {"model": path, "lags": (0, 2), "order": "velocity_position", "position_scale": 10.0, "velocity_scale": 0.5}
    env = made(count=2, motor_model=options, dtype="float64")
    inputs, states = [], []
    motor = env.task.motor

    def apply(s, x):
        inputs.append(x.reshape(2, 3, 4).copy())
        states.append((s.qpos.copy(), s.qvel.copy()))
        return motor._apply_on_host(x)

    motor._apply = apply
    env.reset(seed=1)
    actions = actions_of(2, 2)
    for action in actions:
        env.step(action)
    assert len(inputs) == 6
    for k, given in enumerate(inputs):
        assert given.dtype == np.float32
        target = actions[k // 3] / np.array([1, -2, 1.0])
        target[:, 0] = np.clip(target[:, 0], -1, 1)
        before = actions[max(k - 2, 0) // 3] / np.array([1, -2, 1.0])
        before[:, 0] = np.clip(before[:, 0], -1, 1)
        assert np.allclose(given[:, :, 0], 0.5 * states[k][1])
        assert np.allclose(given[:, :, 2], 10 * (target - states[k][0]), atol=1e-5)
        old = k >= 2
        assert np.allclose(given[:, :, 1], 0.5 * states[k - 2][1] * old)
        assert np.allclose(given[:, :, 3], 10 * (before - states[k - 2][0]) * old, atol=1e-5)


def test_nothing_of_an_episode_reaches_the_next(tmp_path):
    path = npz(tmp_path / "net.npz", ([[0, 0, 9, 0, 0, -1]], [0]))
    env = made(motor_model=path, max_episode_steps=4)
    run(env, actions_of()[:4])
    assert not env._memory["motor_past"].any() and (env.elapsed == 0).all()
    mask = np.arange(7) < 3
    for action in actions_of()[:2]:
        env.step(action)
    assert env._memory["motor_past"].any(axis=(1, 2, 3)).all()
    env.reset(options={"reset_mask": mask})
    assert np.array_equal(env._memory["motor_past"].any(axis=(1, 2, 3)), ~mask)


@pytest.mark.parametrize("kind", ["npz", "script"])
@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on(tmp_path, kind, how):
    weight = [9.0, 0, 3, -1, 0, -0.2]
    path = npz(tmp_path / "a.npz", ([weight], [0])) if kind == "npz" else script(tmp_path / "a.pt", weight)
    env = made(motor_model=path, action_delay=(0, 2))
    actions = actions_of()
    run(env, actions[:5])
    other = how(env)
    again = made(motor_model=path, action_delay=(0, 2))
    again.load_state(env.state())
    for action in actions[5:]:
        seen = env.step(action)[0]
        assert np.array_equal(seen, other.step(action)[0]) and np.array_equal(seen, again.step(action)[0])


@pytest.mark.parametrize("motor", ["dcmotor", "network"])
def test_adapters_agree(pd, motor):
    torch = pytest.importorskip("torch")
    given = pd if motor == "network" else {"model": "dcmotor", "velocity_limit": 3.0}
    actions = actions_of(7, 6)
    plain = run(made(motor_model=given), actions)
    other = run(made(motor_model=given, output="torch"), [torch.from_numpy(action) for action in actions])
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(plain, other, strict=True))
    vector = gymnasium.make_vec("dualstep/Rig-v0", num_envs=7, num_threads=1, motor_model=given)
    assert all(np.array_equal(a, b) for a, b in zip(plain, run(vector, actions), strict=True))
    # the first environment has the seed of the batch
    single = gymnasium.make("dualstep/Rig-v0", motor_model=given)
    assert all(np.array_equal(a[0], b) for a, b in zip(plain, run(single, actions[:, 0]), strict=True))


@pytest.mark.parametrize("kind", ["npz", "script"])
def test_it_computes_in_tensors_as_in_arrays(tmp_path, monkeypatch, kind):
    """What a GPU's batch computes in, here in the memory of the host's."""
    pytest.importorskip("torch")
    from dualstep.envs import arrays, vector

    weight = [9.0, 0, 3, -1, 0, -0.2]
    path = npz(tmp_path / "a.npz", ([weight], [0])) if kind == "npz" else script(tmp_path / "a.pt", weight)
    given = {"model": path, "lags": (0, 1, 3)}
    plain = run(made(motor_model=given), actions_of())
    monkeypatch.setattr(vector, "arrays_of", lambda device: arrays.TorchArrays("cpu"))
    env = made(motor_model=given, output="torch")
    assert not env.on_host
    assert all(np.allclose(a, b, atol=1e-4) for a, b in zip(plain, run(env, actions_of()), strict=True))


def test_a_law_with_shorter_timesteps_shares_torques(pd):
    env = made(motor_model=pd, contact={"contact_model": "todorov", "substeps": 4})
    asked = []
    motor, torques = env.task.motor, env.task.motor._torques
    motor._torques = lambda s, target: asked.append(float(s.time[0])) or torques(s, target)
    env.reset(seed=1)
    env.step(actions_of()[0])
    assert env.task.frame_skip == 12 and np.allclose(asked, [0, 0.004, 0.008])


def test_a_network_ends_where_a_dcmotor_does(tmp_path):
    path = npz(tmp_path / "net.npz", ([[0] * 6], [100]))
    env = made(motor_model={"model": path, "velocity_limit": 4.0, "saturation_effort": 8.0, "effort_limit": 6.0})
    env.reset(seed=0)
    env.sim.qvel[:] = np.linspace(-5, 5, 7)[:, None]
    velocity = env.sim.qvel.copy()
    env._timesteps = lambda count: env.sim.forward()
    env.step(actions_of()[0])
    found = env.sim.actuator_force * np.array([1, -2, 1])
    assert np.allclose(found, curve(100.0, velocity, 8.0, 4.0, 6.0), atol=1e-4)


def test_the_same_task_on_mujoco(pd):
    pytest.importorskip("rsl_rl")
    from dualstep.envs.training.evaluate import MujocoStepped

    here = ds.envs.BatchEnv(make_task("Rig", {"motor_model": pd}), 3, dtype="float64", num_threads=1)
    there = MujocoStepped(make_task("Rig", {"motor_model": pd}), 3, dtype="float64", num_threads=1)
    both = [run(env, actions_of(3)) for env in (here, there)]
    assert max(abs(a - b).max() for a, b in zip(*both, strict=True)) < 1e-6


# what goes wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given, words", [
    ("dcmoto", "motor_model 'dcmoto' is given, and 'dcmotor' or the path of a network (.npz, .pt, .pth, .jit) is wanted"),
    (3, "motor_model 3 is given, and 'dcmotor' or"),
    ({"velocity_limit": 3}, "or a dict with it as 'model', is wanted"),
    ({"model": "dcmotor", "velocty_limit": 3}, "has no option 'velocty_limit'; did you mean 'velocity_limit'?"),
    ("dcmotor", "velocity_limit is wanted, of hip, knee, slide, of which the task does not know it"),
    ({"model": "dcmotor", "velocity_limit": {"hip": 3}}, "velocity_limit is wanted, of knee, slide"),
    ({"model": "dcmotor", "velocity_limit": {"hi": 3}}, "velocity_limit has 'hi', and there are the joints hip, knee"),
    ({"model": "dcmotor", "velocity_limit": {"(hi": 3}}, "motor_model 'dcmotor': '(hi' is given, and a pattern (re) of joints' names is wanted"),
    ({"model": "dcmotor", "velocity_limit": 0}, "velocity_limit 0 is given, and more than 0 is wanted"),
    ({"model": "dcmotor", "velocity_limit": "fast"}, "velocity_limit 'fast' is given, and a finite number"),
    ({"model": "dcmotor", "velocity_limit": 3, "joints": "ankle"}, "none is on a joint that 'ankle' matches, of Rig"),
    ("nowhere.npz", "motor_model 'nowhere.npz' is given, and there is no such file in /"),
])  # fmt: skip
def test_what_is_refused(given, words):
    with pytest.raises((TypeError, ValueError, FileNotFoundError)) as error:
        made(motor_model=given)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("task, motor, words", [
    ("FilteredRig", "dcmotor", "position or torque actuators on hinges or slides are wanted, and of FilteredRig these are others: slide"),
    ("MixedRig", "pd", "position actuators on hinges or slides are wanted, and of MixedRig these are others: slide"),
    ("MixedRig", {"model": "dcmotor", "stiffness": 3}, "those of slide are torque motors"),
])  # fmt: skip
def test_tasks_that_it_does_not_fit(task, motor, words, pd):
    with pytest.raises(ValueError) as error:
        made(task, motor_model=pd if motor == "pd" else motor)
    assert words in str(error.value) and "\n" not in str(error.value)
    if motor == "pd":
        assert made(task, motor_model={"model": pd, "joints": "hip|knee"}).action_space.shape == (7, 3)


def test_networks_that_are_none(tmp_path):
    torch = pytest.importorskip("torch")
    row, wanted = np.zeros((1, 6)), "a network from 6 numbers (errors and velocities at the lags (0, 1, 2)) to 1 is wanted"
    for name in ("text.npz", "text.pt"):
        (tmp_path / name).write_text("nothing")
    torch.jit.script(torch.nn.Linear(6, 2)).save(str(tmp_path / "two.pt"))
    fine = npz(tmp_path / "fine.npz", (row, [0]))
    made(motor_model=fine)
    for given, words in (
        (npz(tmp_path / "0.npz", (np.zeros((1, 4)), [0])), wanted),
        (npz(tmp_path / "1.npz", (np.zeros((2, 6)), [0, 0])), wanted),
        (npz(tmp_path / "2.npz", (row, [0, 0])), wanted),
        (npz(tmp_path / "3.npz", (row, [np.nan])), "bias_0 is not finite"),
        (npz(tmp_path / "4.npz", (row, [0]), activation="gelu"), "activation 'gelu' is given, and one of tanh, elu"),
        (npz(tmp_path / "5.npz"), "has no weight_0"),
        (str(tmp_path / "text.npz"), "is no .npz of numbers"),
        (str(tmp_path / "text.pt"), "is no TorchScript"),
        (str(tmp_path / "two.pt"), "makes (2, 2) of (2, 6)"),
        (script(tmp_path / "four.pt", [0.0] * 4), wanted),
        ({"model": fine, "lags": (0, -1)}, "lags (0, -1) is given, and timesteps from 0"),
        ({"model": fine, "order": "pos_vel"}, "order 'pos_vel' is given, and 'position_velocity' or"),
        ({"model": fine, "torque_scale": "x"}, "torque_scale 'x' is given"),
        ({"model": fine, "saturation_effort": 3.0}, "velocity_limit is wanted beside it"),
    ):
        with pytest.raises((TypeError, ValueError)) as error:
            made(motor_model=given)
        assert words in str(error.value) and "\n" not in str(error.value), str(error.value)


def test_torques_that_are_not_finite(tmp_path):
    # overflows where a joint is far from its target
    path = npz(tmp_path / "net.npz", ([[1e38, 0, 0, 0, 0, 0]], [0]))
    env = made(motor_model=path)
    env.reset(seed=0)
    env.sim.qpos[:] = 0
    far = np.zeros((7, 3), np.float32)
    far[[2, 5], 2] = 100
    with pytest.raises(ValueError, match=r"Rig.motor_model is not finite in 2 of 7 environments: \[2, 5\]"):
        env.step(far)
    env = made(motor_model=path, nonfinite="clamp")
    env.reset(seed=0)
    env.sim.qpos[:] = 0
    env.step(far)
    assert env.nonfinite_counts["motor_model"] == 2
    # of a diverged environment nothing is asked
    env = made(motor_model=npz(tmp_path / "fine.npz", ([[20, 0, 0, -1, 0, 0]], [0])))
    env.reset(seed=0)
    env.sim.qvel[3] = np.nan
    env.step(np.zeros((7, 3), np.float32))
    assert env.diverged_count == 1


# training --------------------------------------------------------------------------------------------------


def test_training_with_motors(tmp_path, pd, capsys):
    pytest.importorskip("rsl_rl")
    from dualstep.envs.training.learner import CheckpointError, Learner, read_checkpoint
    from dualstep.envs.training.player import load_policy, make_env
    from dualstep.envs.training.settings import Settings

    small = ["--num-envs", "4", "--num-threads", "1", "--set", "hidden=(8,)", "--set", "num_steps=8", "--video-seconds", "0"]
    motor = {"model": "dcmotor", "saturation_effort": 90.0, "velocity_limit": 5.0}
    words = ["train", "InvertedPendulum", "--steps", "64", "--out", str(tmp_path / "run"), "--episodes", "2", "--json", *small]
    assert main([*words, "--set", f"task.motor_model={motor}"]) == 0
    # Gymnasium has no such motors
    assert '"mujoco"' in capsys.readouterr().out
    name, settings, _ = load_policy(tmp_path / "run")
    assert settings.task_options["motor_model"] == motor
    assert make_env(name, settings, 2).task.model.mj_model.actuator_gainprm[0, 1] ** 2 == pytest.approx(90 / 5 / 100**2)
    assert main([*words, "--set", "task.motor_model=dcmoto"]) == 2
    assert "motor_model 'dcmoto' is given" in capsys.readouterr().err

    # the network goes along
    learner = Learner("Rig", Settings(num_envs=4, num_steps=8, hidden=(8,), task_options={"motor_model": pd}), num_threads=1)
    learner.learn(64)
    learner.save(tmp_path / "net.pt")
    (tmp_path / "pd.npz").unlink()
    assert read_checkpoint(tmp_path / "net.pt")["motor"][0] == pd
    name, settings, _ = load_policy(tmp_path / "net.pt")
    assert make_env(name, settings, 2).task.motor.model == pd

    # but no program
    path = script(tmp_path / "pd.pt", [20.0, 0, 0, -1, 0, 0])
    learner = Learner("Rig", Settings(num_envs=4, num_steps=8, hidden=(8,), task_options={"motor_model": path}), num_threads=1)
    learner.save(tmp_path / "script.pt")
    with pytest.raises(CheckpointError, match="--trust loads it"):
        load_policy(tmp_path / "script.pt")
    assert load_policy(tmp_path / "script.pt", trust=True)[0] == "Rig"


def test_a_task_knows_the_speed_of_some_joints(monkeypatch):
    def table(name, **motor):
        model = make_task("Rig", {"motor_model": {"model": "dcmotor", **motor}}).model.mj_model
        return np.array(getattr(model, "actuator_" + name))

    for joints, limit in (("knee", 8.0), ("hip", 5.0)):
        said = [table(name, joints=joints, velocity_limit=limit) for name in ("gainprm", "biasprm", "dynprm")]
        with monkeypatch.context() as patch:
            patch.setattr(Rig, "no_load_velocity", {"hip|slide": 5.0, "knee": 8.0})
            known = [table(name, joints=joints) for name in ("gainprm", "biasprm", "dynprm")]
        assert all(map(np.array_equal, known, said))
    monkeypatch.setattr(Rig, "no_load_velocity", {"knee": 8.0})
    with pytest.raises(ValueError, match="velocity_limit is wanted, of hip, of which the task does not know it"):
        table("gainprm", joints="hip")
