"""The adapters, each with the library that it is for."""

import importlib
import sys

import numpy as np
import pytest

import dualstep as ds

torch = pytest.importorskip("torch")


def test_rsl_rl_interface():
    pytest.importorskip("rsl_rl")
    from dualstep.envs.adapters.rsl_rl import RslRlEnv

    env = RslRlEnv("HalfCheetah", 6, seed=1, max_episode_steps=20, num_threads=1)
    assert env.max_episode_length == 20 and env.num_actions == 6
    observations = env.get_observations()
    assert observations.batch_size == (6,) and observations["policy"].shape == (6, 17)
    # the runner spreads the ends of the episodes
    env.episode_length_buf = torch.tensor([0, 19, 10, 0, 0, 0])
    observations, reward, dones, extras = env.step(torch.zeros(6, 6))
    assert dones.tolist() == [0, 1, 0, 0, 0, 0] and extras["time_outs"].tolist() == [False, True] + 4 * [False]
    assert env.episode_length_buf.tolist() == [1, 0, 11, 1, 1, 1]
    assert reward.shape == (6,) and "/reward_forward" in extras["log"]
    # beyond -1 to 1 is clipped, and that spans the actuators' range
    env = RslRlEnv("Humanoid", 2, num_threads=1)
    env.step(torch.full((2, 17), 5.0))
    assert np.allclose(env.env.sim.ctrl, 0.4)
    with pytest.raises(ValueError, match="rsl_rl wants"):
        RslRlEnv(ds.envs.make("Ant", 2, output="numpy"))


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("adapters.rsl_rl", "gymnasium", "train"),
        ("adapters.rsl_rl", "rsl_rl", "train"),
        ("adapters.skrl", "gymnasium", "skrl"),
        ("adapters.stable_baselines3", "gymnasium", "sb3"),
        ("adapters.torchrl", "torchrl", "torchrl"),
        ("examples.ray_rollouts", "ray", "ray"),
        ("examples.ray_rollouts", "torch", "ray"),
    ],
)
def test_what_is_missing_is_told(module, missing, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, f"dualstep.envs.{module}", raising=False)
    with pytest.raises(ImportError, match=rf"{missing} is not installed: pip install 'dualstep\[{extra}\]' brings it"):
        importlib.import_module(f"dualstep.envs.{module}")


@pytest.mark.parametrize("missing", ["mujoco", "glfw"])
def test_pictures_without_what_draws_them(missing, monkeypatch):
    env = ds.envs.make("Hopper", 1, num_threads=1, render_mode="rgb_array")
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.mujoco")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r"drawing needs mujoco and its viewers .*pip install 'dualstep\[view\]'"):
        env.render()


def test_a_failure_is_no_time_out():
    pytest.importorskip("rsl_rl")
    from dualstep.envs.adapters.rsl_rl import RslRlEnv

    env = RslRlEnv("InvertedPendulum", 3, seed=0, num_threads=1)
    env.env.sim.qpos[1, 1] = 0.5
    _, _, dones, extras = env.step(torch.zeros(3, 1))
    assert dones.tolist() == [0, 1, 0] and not extras["time_outs"].any()


def test_rsl_rl_learns_and_saves(tmp_path):
    pytest.importorskip("rsl_rl")
    from dualstep.envs.adapters.rsl_rl import RslRlEnv
    from rsl_rl.runners import OnPolicyRunner

    env = RslRlEnv("InvertedPendulum", 16, seed=1, num_threads=1)
    config = {
        "num_steps_per_env": 8,
        "save_interval": 100,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {
            "class_name": "MLPModel",
            "hidden_dims": [16],
            "activation": "elu",
            "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0},
        },
        "critic": {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"},
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 1, "num_mini_batches": 2},
    }
    runner = OnPolicyRunner(env, config, log_dir=None, device="cpu")
    runner.learn(2, init_at_random_ep_len=True)
    policy = runner.get_inference_policy()
    assert policy(env.get_observations()).shape == (16, 1)


def test_stable_baselines3():
    sb3 = pytest.importorskip("stable_baselines3")
    from dualstep.envs.adapters.stable_baselines3 import SB3Env
    from stable_baselines3.common.vec_env import VecNormalize

    env = SB3Env("Hopper", 4, max_episode_steps=10, num_threads=1)
    env.seed(3)
    first = env.reset()
    assert first.shape == (4, 11)
    ended = []
    for _ in range(25):
        observation, reward, done, infos = env.step(np.zeros((4, 3), np.float32))
        ended += [info for info, end in zip(infos, done, strict=True) if end]
        assert all(not info for info, end in zip(infos, done, strict=True) if not end)
    assert ended[0]["TimeLimit.truncated"] and ended[0]["terminal_observation"].shape == (11,)
    assert ended[0]["episode"]["l"] == 10
    env.seed(3)
    assert np.array_equal(env.reset(), first)
    with pytest.raises(ValueError, match="wants 'numpy'"):
        SB3Env(ds.envs.make("Hopper", 2, output="torch"))
    model = sb3.PPO("MlpPolicy", VecNormalize(SB3Env("InvertedPendulum", 4)), n_steps=16, batch_size=32, n_epochs=1)
    model.learn(128)
    assert model.num_timesteps >= 128


def test_stable_baselines3_tells_of_each_environment():
    pytest.importorskip("stable_baselines3")
    from dualstep.envs.adapters.stable_baselines3 import SB3Env

    env, plain = (ds.envs.make("Hopper", 4, max_episode_steps=10, num_threads=1, seed=0) for _ in range(2))
    adapter = SB3Env(env)
    assert adapter.get_attr("action_space") == [env.single_action_space] * 4
    assert adapter.get_attr("observation_space", [1]) == [env.single_observation_space]
    adapter.reset()
    plain.reset()
    for step in range(10):
        if step == 6:
            env.sim.qvel[2] = plain.sim.qvel[2] = 1e30
        _, _, done, infos = adapter.step(np.zeros((4, 3)))
        told = plain.step(np.zeros((4, 3)))[4]
        assert done.tolist() == [step == 9, step == 9, step == 6, step == 9]
        for i in np.flatnonzero(done):
            for name in ("x_position", "reward_forward", "reward_survive"):
                assert infos[i][name].shape == () and infos[i][name] == told["final_info"][name][i]
            assert infos[i]["x_position"] != told["x_position"][i] or i == 2
            assert infos[i].get("diverged", False) == (i == 2) and not any(name.startswith("_") for name in infos[i])


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_torchrl(mode):
    pytest.importorskip("torchrl")
    from dualstep.envs.adapters.torchrl import torchrl_env

    env = torchrl_env("Hopper", 4, autoreset_mode=mode, max_episode_steps=10, num_threads=1)
    env.set_seed(0)
    # of the actions: with some, a hopper falls before the time limit
    torch.manual_seed(0)
    data = env.rollout(25, break_when_any_done=False)
    assert data.batch_size == (4, 25) and data["observation"].shape == (4, 25, 11)
    done = data["next", "done"].squeeze(-1)
    assert done[:, 9].all() and data["next", "truncated"][:, 9].all()
    # what was seen at the end is not what the next episode begins with
    end, begin = data["next", "observation"][:, 9], data["observation"][:, 10]
    assert not torch.allclose(end, begin, atol=1e-3)
    assert (abs(begin[:, 0] - 1.25) < 0.01).all()


class Pole(ds.envs.Task):
    """Observations in groups, with the time in each."""

    def __init__(self):
        super().__init__("inverted_pendulum.xml", frame_skip=2)

    def reset(self, s, draw):
        return {"qpos": 0.01 * draw.normal(2)}

    def observe(self, s):
        return {"critic": s.xp.concatenate([s.time[:, None], s.qpos], axis=1), "policy": s.time[:, None]}

    def reward(self, s):
        return s.time, {"away": s.qpos[:, 0]}

    def terminated(self, s):
        return None


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_torchrl_has_what_groups_saw_last(mode):
    """After an episode's last step too, where zeros, or what the next one begins with, would be learned from."""
    pytest.importorskip("torchrl")
    from dualstep.envs.adapters.torchrl import torchrl_env

    task = Pole()
    options = {"max_episode_steps": 3, "num_threads": 1, "autoreset_mode": mode}
    data = torchrl_env(ds.envs.BatchEnv(task, 2, output="torch", **options)).rollout(7, break_when_any_done=False)
    after = (torch.tensor([1.0, 2, 3, 1, 2, 3, 1]) * task.dt).expand(2, 7)
    for name in ("policy", "critic"):
        assert torch.allclose(data["next", name][..., 0], after)
        assert torch.allclose(data[name][..., 0], after - task.dt)
    assert (data["next", "critic"][..., 1:] != 0).all()
    assert torch.allclose(data["next", "reward"][..., 0], after)
    assert data["next", "done"][0, :, 0].tolist() == [False, False, True, False, False, True, False]


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_torchrl_puts_several_together(mode):
    pytest.importorskip("torchrl")
    from dualstep.envs.adapters.torchrl import torchrl_env
    from torchrl.envs import SerialEnv

    def made(limit):
        return lambda: torchrl_env("Hopper", 3, autoreset_mode=mode, max_episode_steps=limit, num_threads=1)

    torch.manual_seed(0)  # of the actions
    env = SerialEnv(2, [made(3), made(4)])
    env.set_seed(0)
    data = env.rollout(6, break_when_any_done=False)
    assert data["next", "reward"].shape == (2, 3, 6, 1) and len(data["next", "reward"].unique()) > 30
    assert data["next", "truncated"][0, :, 2].all() and data["next", "truncated"][1, :, 3].all()
    assert data["next", "truncated"].sum() == 3 * (2 + 1)


def test_torchrls_own_wrapper():
    """It tries `frameskip` first, and knows by the message that there is none."""
    pytest.importorskip("torchrl")
    from torchrl.envs import GymEnv

    env = GymEnv("dualstep/Hopper-v0")
    assert env.rollout(3).batch_size == (3,)


def test_skrl():
    pytest.importorskip("skrl")
    from dualstep.envs.adapters.skrl import skrl_env

    env = skrl_env("Ant", 3, max_episode_steps=4, num_threads=1)
    observation, _ = env.reset()
    assert isinstance(observation, torch.Tensor) and observation.shape == (3, 105)
    assert env.num_envs == 3 and env.action_space.shape == (8,)
    for step in range(5):
        observation, reward, terminated, truncated, _ = env.step(torch.zeros(3, 8))
        assert reward.shape == terminated.shape == truncated.shape == (3, 1)
        assert truncated.all() == (step == 3)


def test_skrl_takes_environments():
    pytest.importorskip("skrl")
    from dualstep.envs.adapters.skrl import skrl_env

    env = skrl_env(ds.envs.make("Hopper", 3, output="torch", num_threads=1))
    assert env.num_envs == 3 and env.reset()[0].shape == (3, 11)
    with pytest.raises(ValueError, match="skrl wants 'torch' and SAME_STEP"):
        skrl_env(ds.envs.make("Hopper", 2, num_threads=1))
    with pytest.raises(TypeError, match="options frame_skip are of an environment that is already made"):
        skrl_env(ds.envs.make("Hopper", 2, output="torch", num_threads=1), frame_skip=2)


def test_torchrl_takes_environments():
    pytest.importorskip("torchrl")
    from dualstep.envs.adapters.torchrl import torchrl_env

    assert torchrl_env(ds.envs.make("Hopper", 3, output="torch", num_threads=1)).batch_size == (3,)
    with pytest.raises(ValueError, match="torchrl_env wants 'torch'"):
        torchrl_env(ds.envs.make("Hopper", 2, num_threads=1))
    with pytest.raises(TypeError, match="autoreset_mode are of an environment that is already made"):
        torchrl_env(ds.envs.make("Hopper", 2, output="torch", num_threads=1), autoreset_mode="Disabled")


def test_skrls_own_wrapper():
    pytest.importorskip("skrl")
    import gymnasium
    from skrl.envs.wrappers.torch import wrap_env

    env = wrap_env(gymnasium.make_vec("dualstep/Hopper-v0", num_envs=3), verbose=False)
    observation, _ = env.reset()
    observation, reward, *_ = env.step(torch.zeros(3, 3))
    assert observation.shape == (3, 11) and reward.shape == (3, 1)
