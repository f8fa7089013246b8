"""dm_control's suite: its models, rewards, beginnings of episodes, and one step of each task from the same states.

Of dm_control, what it observes and pays in a state and after a step is compared with what the task does in double
precision: to 1e-4, relative beyond 1, and to 1e-12 in the median. A dog's ellipsoid and boxes meet capsules where an
iterative search says, which ends elsewhere here and there: one state in ten may differ by more.
"""

import importlib.util

import numpy as np
import pytest
from scipy import stats
from suite_states import NEAR, TASKS, flat, places, random_states, their_env, their_steps

import dualstep as ds
from dualstep.cli import main
from dualstep.envs import registry
from dualstep.envs.tasks.suite.common import tolerance

STATES = 60
# a beginning of episodes each
BEGINNINGS = (
    "AcrobotSwingup", "BallInCupCatch", "CartpoleBalance", "CartpoleThreePoles", "CheetahRun", "DogWalk", "FingerSpin",
    "FingerTurnEasy", "FishSwim", "HopperStand", "HumanoidStand", "HumanoidCMUStand", "Lqr62", "ManipulatorBringBall",
    "ManipulatorInsertPeg", "PendulumSwingup", "PointMassHard", "QuadrupedWalk", "QuadrupedFetch", "ReacherEasy",
    "StackerStack2", "Swimmer6", "WalkerStand",
)  # fmt: skip


def their(name):
    env = their_env(name)
    if name.startswith("Dog"):
        # no noslip iterations are run here
        env.physics.model.opt.noslip_iterations = 0
    return env


def errors(got, wanted):
    """(states,) the largest of each, beyond 1 relative."""
    return (abs(got - wanted) / np.maximum(1, abs(wanted))).reshape(len(wanted), -1).max(axis=1)


def our_steps(name, theirs, states, **options):
    """Of each state, what is observed and paid before the step and after it, and whether that ends the episode."""
    env = ds.envs.make(name, len(states), num_threads=1, autoreset_mode="Disabled", **options)
    env.reset(seed=0)
    sim, task = env.sim, env.task
    for field in ("qpos", "qvel", "act"):
        if getattr(sim, field).size:
            getattr(sim, field)[...] = [state[field] for state in states]
    if task.model.nmocap:
        sim.mocap_pos[...], sim.mocap_quat[...] = places(task.model.mj_model, theirs.physics.model.ptr, states)
    view = env._view()
    if name.startswith("Lqr"):
        sim.set_parameter("jnt_stiffness", [state["jnt_stiffness"] for state in states])
    if name == "PointMassHard":
        view.keep("directions", np.array([state["wrap_prm"] for state in states]))
    sim.ctrl[...] = task.control(view, np.array([state["ctrl"] for state in states]))
    sim.forward()
    view = env._view()
    if "felt" in task.memory:
        view.keep("felt", sim.sensordata[:, task._felt])
    before = np.array(task.observe(view)), np.array(task.reward(view)[0])
    after = env.step(np.array([state["action"] for state in states]))
    env.close()
    return [*before, *after[:3]]


@pytest.mark.parametrize("name", TASKS)
def test_one_step_agrees_with_dm_control(name):
    theirs = their(name)
    states = random_states(theirs, STATES, 1, NEAR.get(name))
    wanted, got = their_steps(theirs, states), our_steps(name, theirs, states, dtype="float64")
    assert got[0].shape == wanted[0].shape
    for ours, of_theirs in zip(got[:4], wanted[:4], strict=True):
        error = np.sort(errors(ours, of_theirs))
        assert error[STATES // 2] < 1e-12
        assert error[-1 - (STATES // 10 if name.startswith("Dog") else 0)] < (1e-3 if name.startswith("Dog") else 1e-4)
    assert np.array_equal(got[4], wanted[4])


@pytest.mark.parametrize("name", TASKS)
def test_models_and_times_are_theirs(name):
    theirs = their(name)
    env = ds.envs.make(name, 1, num_threads=1)
    ours, model = env.task.model.mj_model, theirs.physics.model
    drawn = {"Manipulator": ("body_pos", "body_quat"), "Stacker": ("body_pos",), "Lqr": ("jnt_stiffness",)}
    drawn = next((arrays for begin, arrays in drawn.items() if name.startswith(begin)), ())
    for array in (
        "qpos0", "body_pos", "body_quat", "body_mass", "body_inertia", "body_ipos", "jnt_type", "jnt_range", "jnt_limited",
        "jnt_stiffness", "jnt_solref", "jnt_solimp", "dof_armature", "dof_frictionloss", "actuator_gear",
        "actuator_gainprm", "actuator_biasprm", "actuator_dynprm", "actuator_ctrlrange", "tendon_range", "eq_solref",
    ):  # fmt: skip
        if array not in drawn:
            wanted = np.asarray(getattr(model, array))
            # bodies of targets come after theirs
            assert np.array_equal(np.asarray(getattr(ours, array))[: len(wanted)], wanted), array
    theirs.reset()
    assert np.array_equal(np.asarray(ours.dof_damping), model.dof_damping)
    for option in ("timestep", "integrator", "cone", "solver", "density", "viscosity", "disableflags"):
        assert getattr(ours.opt, option) == getattr(model.opt, option), option
    assert env.task.frame_skip == theirs._n_sub_steps and env.task.dt == pytest.approx(theirs.control_timestep())
    limit = float("inf") if env.max_episode_steps is None else env.max_episode_steps
    assert limit == theirs._step_limit
    spec = theirs.action_spec()
    assert env.single_action_space.shape == spec.shape
    low = np.where(spec.minimum < -1e9, -np.inf, spec.minimum)
    assert np.allclose(env.single_action_space.low, low)
    env.close()


@pytest.mark.parametrize("name", BEGINNINGS)
def test_episodes_begin_as_theirs(name):
    """Each number of the first observation and of the state has one distribution (Kolmogorov and Smirnov)."""
    theirs, count = their(name), 150
    rows = []
    for _ in range(count):
        seen = flat(theirs.reset().observation)
        data = theirs.physics.data
        rows.append(np.concatenate([seen, data.qpos, data.qvel, data.act]))
    env = ds.envs.make(name, count, num_threads=1, dtype="float64", randomize=())
    ours, _ = env.reset(seed=4)
    sim = env.sim
    ours = np.concatenate([ours, sim.qpos, sim.qvel, sim.act], axis=1)
    for i, (got, wanted) in enumerate(zip(ours.T, np.array(rows).T, strict=True)):
        assert stats.ks_2samp(np.round(got, 5), np.round(wanted, 5)).pvalue > 1e-5, i
    env.close()


def test_what_an_episode_draws_depends_on_its_seed_alone():
    """Also where states are drawn again until nothing touches, and where they settle in a batch of their own."""
    for name in ("HumanoidStand", "QuadrupedWalk", "CheetahRun", "ManipulatorBringBall"):
        alone = ds.envs.make(name, 1, num_threads=1, dtype="float64")
        alone.reset(seed=5)
        many = ds.envs.make(name, 9, num_threads=1, dtype="float64")
        many.reset(seed=0)
        before = np.array(many.sim.qpos)
        assert np.array_equal(before[5], alone.sim.qpos[0]), name
        # others are left alone by those that begin anew
        mask = np.arange(9) == 5
        many.reset(options={"reset_mask": mask})
        assert np.array_equal(many.sim.qpos[~mask], before[~mask]) and (many.sim.qpos[5] != before[5]).any()
        alone.close(), many.close()


def test_springs_of_the_linear_system_differ():
    env = ds.envs.make("Lqr62", 50, num_threads=1)
    env.reset(seed=0)
    springs = env.sim.get_parameter("jnt_stiffness")
    assert springs.min() > 15 and springs.max() < 25 and np.unique(springs).size == 300
    env.reset()
    assert np.array_equal(env.sim.get_parameter("jnt_stiffness"), springs)
    env.sim.qpos[7], env.sim.qvel[7] = 1e-8, 0
    terminated = env.step(np.zeros((50, 2), np.float32))[2]
    assert terminated[7] and terminated.sum() == 1
    env.close()


@pytest.mark.parametrize("shape", ["gaussian", "linear", "quadratic", "long_tail", "reciprocal"])
def test_the_shape_of_rewards(shape):
    rewards = pytest.importorskip("dm_control.utils.rewards")
    x = np.linspace(-3, 4, 701)
    for low, high, margin, value in ((0, 0, 1, 0.1), (-0.5, 1.25, 0.7, 0.3), (1, np.inf, 2, 0.5), (0, 1, 0, 0.1)):
        wanted = rewards.tolerance(x, (low, high), margin, shape, value)
        assert np.allclose(tolerance(np, x, low, high, margin, value, shape), wanted, rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="shape 'square' is given, and there are gaussian, linear"):
        tolerance(np, x, margin=1, shape="square")


def test_what_to_install_is_said(monkeypatch, capsys):
    known = importlib.util.find_spec

    def without(name, *rest):
        return None if name == "dm_control" else known(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(ImportError, match="the suite's models come with dm_control, which is not installed: pip install"):
        ds.envs.make("CartpoleSwingup", 2)
    pytest.importorskip("rsl_rl")
    assert main(["train", "WalkerWalk"]) == 2
    assert "the suite's models come with dm_control, which is not installed" in capsys.readouterr().err


def test_they_are_listed_together(capsys):
    assert main(["tasks"]) == 0
    told = capsys.readouterr().out
    first, rest = told.split("\ndm_control's suite:\n")
    assert "HalfCheetah " in first and "G1Joystick " in first
    suite = rest.split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in suite] == list(TASKS)
    assert all("dm_control {}-{}: ".format(*registry.find(name)[1].suite) in line for name, line in zip(TASKS, suite))
