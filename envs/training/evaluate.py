"""What a policy is worth: episodes without exploration, here, on MuJoCo, and in Gymnasium's own environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from dualstep import _drop
from dualstep.envs.groups import policy_group
from dualstep.envs.making import make_task
from dualstep.envs import make, registry
from dualstep.envs.vector import STATE, BatchEnv
from dualstep.envs.training.acting import follow, seen

Policy = Callable[[Any], torch.Tensor]
UNLIMITED = 1_000
"""steps of an episode of a task that sets no limit, so that those which nothing ends have an end"""


def time_limit(task: str, options: Mapping[str, Any]) -> int:
    """Steps of an episode: as the options of the task say, or the task itself, or UNLIMITED where both say None."""
    return options.get("max_episode_steps") or registry.find(task)[1].max_episode_steps or UNLIMITED


class Episodes(NamedTuple):
    """Of as many environments, each for one episode."""

    returns: np.ndarray
    """(episodes,)"""
    ended_early: np.ndarray
    """(episodes,) whether the task ended it, and not its limit of time"""
    told: dict[str, np.ndarray]
    """(episodes,) means over the episode of what `info` has one number of: errors of tracking, parts of the reward"""


class MujocoStepped(BatchEnv):
    """A task whose steps MuJoCo takes, environment by environment; the batch evaluates what the task reads of the state
    that they leave. Outputs are therefore those of the step's end, where MuJoCo's are those of its last timestep's
    start. The model is the one that all environments share: nothing of it is drawn (`randomize`). What MuJoCo has no
    state of (`anchors` of soft_anchor) stays as it is."""

    def _timesteps(self, count: int) -> None:
        import mujoco

        sim = self.sim
        if not hasattr(self, "_data"):
            self._stepped = _drop.awake(self.task.model.mj_model)
            self._data = [mujoco.MjData(self._stepped) for _ in range(self.num_envs)]
        model = self._stepped
        shared = [name for name in (*STATE, "time") if hasattr(mujoco.MjData, name) and getattr(sim, name).size]
        for env, data in enumerate(self._data):
            for name in shared:
                setattr(data, name, getattr(sim, name)[env])
            _exchange_controls(model, data, sim.ctrl_history[env], count)
            for _ in range(count):
                mujoco.mj_step(model, data)
            for name in shared:
                getattr(sim, name)[env] = getattr(data, name)
        sim.forward()


def _exchange_controls(model: Any, data: Any, kept: np.ndarray, count: int) -> None:
    """Gives MuJoCo the kept samples of delayed controls, `ctrl_history` of one environment, and moves them on by
    `count` timesteps of the control that acts now."""
    import mujoco

    end = 0
    for actuator in np.flatnonzero(model.actuator_delay):
        samples, width = model.actuator_history[actuator, 0], model.actuator_ctrlnum[actuator]
        if not samples:
            continue
        first, end = end, end + samples * width
        values = kept[first:end].reshape(width, samples)
        times = data.time - model.opt.timestep * np.arange(samples, 0, -1)
        mujoco.mj_initCtrlHistory(model, data, actuator, times, values.T.copy())
        at = model.actuator_ctrladr[actuator]
        now = np.repeat(data.ctrl[at : at + width, None], count, axis=1)
        kept[first:end] = np.concatenate([values, now], axis=1)[:, -samples:].ravel()


def episodes_of(env: BatchEnv, policy: Policy, seed: int) -> Episodes:
    """Runs each environment for one episode, and closes them."""
    follow(env, policy)
    observation, _ = env.reset(seed=seed)
    total = torch.zeros(env.num_envs, device=policy_group(observation).device)
    alive, steps, early = torch.ones_like(total), torch.zeros_like(total), torch.zeros_like(total)
    told: dict[str, torch.Tensor] = {}
    while bool(alive.any()):
        observation, reward, terminated, truncated, info = env.step(policy(seen(policy, observation)))
        final = info.get("final_info", info)
        for name, value in info.items():
            if not name.startswith("_") and getattr(value, "shape", ()) == total.shape and value.is_floating_point():
                # of those that end now, what the step told and not the reset
                value = torch.where(terminated | truncated, final.get(name, value), value)
                told[name] = told.get(name, 0 * total) + alive * value
        total += alive * reward
        steps += alive
        early += alive * terminated
        alive *= ~(terminated | truncated)
    env.close()
    means = {name: (value / steps).cpu().numpy() for name, value in told.items()}
    return Episodes(total.cpu().numpy(), early.cpu().numpy() > 0, means)


def episodes_here(
    task: str, policy: Policy, episodes: int, *, seed: int, device: str = "auto", num_threads: int = 0, **options: Any
) -> Episodes:
    """Of as many environments, each for one episode."""
    options["max_episode_steps"] = time_limit(task, options)
    env = make(task, episodes, device=device, num_threads=num_threads, output="torch", nonfinite="clamp", **options)
    return episodes_of(env, policy, seed)


def episodes_on_mujoco(task: str, policy: Policy, episodes: int, *, seed: int, **options: Any) -> Episodes:
    """The same task, stepped by MuJoCo. The policy is asked on the host."""
    limit = time_limit(task, options)
    options.pop("max_episode_steps", None)
    how: dict[str, Any] = {"device": "cpu", "dtype": "float64", "output": "torch", "nonfinite": "clamp"}
    env = MujocoStepped(make_task(task, options), episodes, max_episode_steps=limit, randomize=(), **how)
    return episodes_of(env, policy, seed)


def returns_in_gymnasium(task: str, policy: Policy, episodes: int, *, seed: int, **options: Any) -> np.ndarray:
    """(episodes,) returns of Gymnasium's v5 environment of the same name."""
    import gymnasium

    env: Any = gymnasium.make(f"{task}-v5", **options)
    restart = getattr(policy, "restart", lambda: None)
    returns = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed + episode)
        restart()
        total, over = 0.0, False
        while not over:
            action = policy(torch.as_tensor(observation, dtype=torch.float32)[None])[0].cpu().numpy()
            observation, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            over = terminated or truncated
        returns.append(total)
    env.close()
    return np.array(returns)
