"""dm_control's own environments, to compare the suite's tasks with, and states that they visit under random actions."""

from __future__ import annotations

import os

import mujoco
import numpy as np
import pytest

from dualstep.envs import registry

os.environ.setdefault("MUJOCO_GL", "disable")
suite = pytest.importorskip("dm_control.suite", reason="the suite's models come with dm_control")

from dm_control.mujoco.wrapper.mjbindings import sizes

_model = mujoco.MjModel.from_xml_string("<mujoco/>")
for _name, _struct in (("mjmodel", _model), ("mjdata", mujoco.MjData(_model))):
    # dm_control 1.0.50 asks for arrays of flexes that MuJoCo 4 has no more
    for _gone in [field for field in sizes.array_sizes[_name] if not hasattr(_struct, field)]:
        del sizes.array_sizes[_name][_gone]

TASKS = tuple(name for name in registry.names() if registry.find(name)[1].suite)


def their_env(name: str, seed: int = 0):
    return suite.load(*registry.find(name)[1].suite, task_kwargs={"random": seed})


def flat(observation) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in observation.values()])


def random_states(env, count: int, seed: int, near=None) -> list[dict[str, np.ndarray]]:
    """Each of another moment of a random episode, its velocities moved a little, and every other one near what is paid
    for; with an action, and with what the episode drew of the model."""
    rng = np.random.default_rng(seed)
    spec, physics = env.action_spec(), env.physics
    low, high = np.maximum(spec.minimum, -1), np.minimum(spec.maximum, 1)
    found = []
    for i in range(count):
        if i % 10 == 0:
            env.reset()
        for _ in range(rng.integers(0, 8)):
            if env.step(rng.uniform(low, high)).last():
                env.reset()
        model, data = physics.model, physics.data
        if i % 2 and near is not None:
            near(model, data, rng)
        found.append({
            "qpos": data.qpos.copy(),
            "qvel": data.qvel + 0.05 * rng.normal(size=model.nv),
            "act": data.act.copy(),
            "ctrl": rng.uniform(low, high),
            "action": rng.uniform(low, high),
            **{name: np.array(getattr(model, name)) for name in DRAWN},
        })
    return found


def _zero(model, data, rng):
    data.qpos[:] *= 0.2 * rng.random() ** 2
    data.qvel[:] *= rng.random()


def _at_target(model, data, rng):
    target = model.name2id("target", "site")
    away = model.site_pos[target] - [0.2, 0, 0.4]
    data.qpos[2] = np.arctan2(-away[0], away[2]) + 0.3 * rng.normal()


def _spinning(model, data, rng):
    data.qvel[2] = -15 + 2 * rng.normal()


# what is paid for in few states
NEAR = {
    "AcrobotSwingupSparse": _zero, "AcrobotSwingup": _zero, "CartpoleSwingup": _zero, "CartpoleSwingupSparse": _zero,
    "CartpoleTwoPoles": _zero, "CartpoleThreePoles": _zero, "FingerSpin": _spinning, "FingerTurnEasy": _at_target,
    "FingerTurnHard": _at_target, "PendulumSwingup": _zero, "PointMassEasy": _zero, "PointMassHard": _zero,
}  # fmt: skip

# of a model, what episodes draw
DRAWN = ("geom_pos", "site_pos", "body_pos", "body_quat", "wrap_prm", "jnt_stiffness")


def put(env, state) -> None:
    """The state, its control held since before, and all that follows from them; of sensors of forces too."""
    physics = env.physics
    for name in DRAWN:
        getattr(physics.model, name)[:] = state[name]
    physics.data.qpos[:], physics.data.qvel[:] = state["qpos"], state["qvel"]
    if physics.model.na:
        physics.data.act[:] = state["act"]
    physics.data.ctrl[:] = state["ctrl"]
    physics.data.qacc_warmstart[:] = 0
    physics.data.time = 0
    mujoco.mj_forward(physics.model.ptr, physics.data.ptr)


def their_steps(env, states):
    """Of each state: what is observed and paid before the step and after it, and whether that ends the episode."""
    found = []
    for state in states:
        env.reset()
        put(env, state)
        before = flat(env.task.get_observation(env.physics)), env.task.get_reward(env.physics)
        after = env.step(state["action"])
        found.append((*before, flat(after.observation), after.reward, after.last() and after.discount == 0))
    return [np.array(part) for part in zip(*found, strict=True)]


def places(model, theirs, states) -> tuple[np.ndarray, np.ndarray]:
    """(states, nmocap, 3), (states, nmocap, 4) of our mocap bodies, out of what they wrote into their model."""
    where, turned = np.zeros((len(states), model.nmocap, 3)), np.zeros((len(states), model.nmocap, 4))
    turned[..., 0] = 1
    for body in range(model.nbody):
        at = model.body_mocapid[body]
        if at < 0:
            continue
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body)
        for kind in ("body", "geom", "site"):
            # a body of their world, or a geom or site of it
            found = mujoco.mj_name2id(theirs, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), name)
            if found >= 0:
                where[:, at] = [state[f"{kind}_pos"][found] for state in states]
                if kind == "body":
                    turned[:, at] = [state["body_quat"][found] for state in states]
                break
    return where, turned
