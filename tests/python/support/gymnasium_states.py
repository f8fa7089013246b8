"""States to compare a task in: visited by Gymnasium's own environments under random actions, then scattered."""

from __future__ import annotations

import gymnasium
import mujoco
import numpy as np

TASKS = (
    "Ant",
    "HalfCheetah",
    "Hopper",
    "Humanoid",
    "HumanoidStandup",
    "InvertedDoublePendulum",
    "InvertedPendulum",
    "Pusher",
    "Reacher",
    "Swimmer",
    "Walker2d",
)


def gymnasium_env(name: str, **options):
    return gymnasium.make(f"{name}-v5", **options).unwrapped


def random_states(env, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(count, nq), (count, nv), (count, nu): every state is of another moment of a random episode, moved a little."""
    rng = np.random.default_rng(seed)
    env.action_space.seed(seed)
    env.reset(seed=seed)
    qpos, qvel, actions = [], [], []
    low, high = env.action_space.low, env.action_space.high
    while len(qpos) < count:
        for _ in range(rng.integers(1, 6)):
            _, _, terminated, _, _ = env.step(env.action_space.sample())
            if terminated and rng.random() < 0.7:
                env.reset()
        free = env.model.jnt_type[0] == 0
        q = env.data.qpos + rng.normal(scale=0.01, size=env.model.nq)
        if free:
            q[3:7] /= np.linalg.norm(q[3:7])
        qpos.append(q)
        qvel.append(env.data.qvel + rng.normal(scale=0.1, size=env.model.nv))
        actions.append(rng.uniform(low, high))
        if len(qpos) % 50 == 0:
            env.reset()
    return np.array(qpos), np.array(qvel), np.array(actions)


def gymnasium_steps(env, qpos, qvel, actions):
    """One step of Gymnasium's own code from each state: observations, rewards, terminations, and the most rows of
    constraints that any timestep inside it had."""
    observations, rewards, terminations, rows = [], [], [], []
    seen = 0

    def watched(control, frames):
        # as Gymnasium does it, a timestep at a time
        nonlocal seen
        env.data.ctrl[:] = control
        seen = env.data.nefc
        for _ in range(frames):
            mujoco.mj_step(env.model, env.data)
            seen = max(seen, env.data.nefc)
        mujoco.mj_rnePostConstraint(env.model, env.data)

    env._step_mujoco_simulation = watched
    for q, v, a in zip(qpos, qvel, actions, strict=True):
        env.reset(seed=0)
        env.set_state(q, v)
        observation, reward, terminated, _, _ = env.step(a)
        observations.append(observation)
        rewards.append(reward)
        terminations.append(terminated)
        rows.append(seen)
    return np.array(observations), np.array(rewards), np.array(terminations), np.array(rows)
