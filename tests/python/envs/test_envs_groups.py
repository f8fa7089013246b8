"""Groups of observations: from a task through every mode of the environments, training, exports and adapters."""

import copy
import json
import pickle

import numpy as np
import pytest
from gymnasium import spaces

import dualstep as ds


class Grouped(ds.envs.Task):
    """A pole whose critic is told more than its policy sees."""

    derived = False

    def __init__(self, wrong: str = "") -> None:
        super().__init__("inverted_pendulum.xml", frame_skip=2)
        self.wrong = wrong
        self.calls = 0

    def reset(self, s, draw):
        return {"qpos": 0.1 * draw.normal(2)}

    def observe(self, s):
        self.calls += 1
        groups = {"policy": s.qpos, "critic": s.xp.concatenate([s.qvel, s.qpos], axis=1), "clock": s.time[:, None]}
        if self.wrong == "names":
            del groups["policy"]
        if self.wrong == "shape":
            groups["critic"] = s.qpos[:, 0]
        if self.wrong == "later" and self.calls > 1:
            groups["more"] = s.qpos
        if self.wrong == "array" and self.calls > 1:
            return s.qpos
        if self.wrong == "wider" and self.calls > 1:
            groups["critic"] = s.qpos
        if self.wrong == "rows":
            groups["clock"] = s.time[:1, None]
        return groups

    def reward(self, s):
        return 1 - abs(s.qpos[:, 0]), {}

    def terminated(self, s):
        return abs(s.qpos[:, 1]) > 1


@pytest.fixture(autouse=True)
def registered():
    entries = ds.envs.registry._entries
    before = entries.get("Grouped")
    ds.envs.register_task("Grouped", Grouped, max_episode_steps=20)
    yield
    entries.pop("Grouped")
    # another file's
    if before is not None:
        entries["Grouped"] = before


WIDTHS = {"policy": 2, "critic": 4, "clock": 1}


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_groups_are_what_the_task_gave(mode):
    env = ds.envs.make("Grouped", 5, num_threads=1, autoreset_mode=mode)
    assert env.groups == WIDTHS and isinstance(env.single_observation_space, spaces.Dict)
    observation, _ = env.reset(seed=2)
    for _ in range(25):
        assert {name: array.shape for name, array in observation.items()} == {n: (5, w) for n, w in WIDTHS.items()}
        assert env.observation_space.contains(observation)
        qpos = np.array(env.sim.qpos)
        assert np.array_equal(observation["policy"], qpos) and np.array_equal(observation["critic"][:, 2:], qpos)
        # memory of their own: what is seen stays what it was
        kept = copy.deepcopy(observation)
        before, (observation, _, terminated, truncated, info) = observation, env.step(np.ones((5, 1), np.float32))
        assert all(np.array_equal(before[name], kept[name]) for name in WIDTHS)
        done = terminated | truncated
        if mode == "SameStep" and done.any():
            assert (
                info["final_obs"]["critic"].shape == (5, 4) and (abs(info["final_obs"]["policy"][done, 1]) > 0.15).all()
            )
            assert (observation["clock"][done] == 0).all()
        if mode == "Disabled" and done.any():
            observation, _ = env.reset(options={"reset_mask": done})
    other = pickle.loads(pickle.dumps(env))
    assert other.groups == WIDTHS


def test_tensors_and_single_environments():
    torch = pytest.importorskip("torch")
    observation, _ = ds.envs.make("Grouped", 3, num_threads=1, output="torch").reset(seed=0)
    assert isinstance(observation["critic"], torch.Tensor) and observation["critic"].is_contiguous()
    import gymnasium

    env = gymnasium.make("dualstep/Grouped-v0")
    single, _ = env.reset(seed=0)
    assert env.observation_space.contains(single) and np.allclose(single["policy"], observation["policy"][0])
    assert env.step(np.zeros(1, np.float32))[0]["clock"].shape == (1,)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("names", ValueError, "gives groups 'critic', 'clock', and one must be 'policy'"),
        ("shape", TypeError, r"observe\(\)\['critic'\] is ndarray, and an array of shape \(rows, n\) is wanted"),
        ("later", ValueError, "gave groups policy, critic, clock before, and gives groups policy, critic, clock, more"),
        ("array", ValueError, "gave groups policy, critic, clock before, and gives an array"),
        ("rows", ValueError, r"Grouped.observe\(\)\['clock'\] has 1 rows, and 2 are wanted"),
        ("wider", ValueError, r"observe\(\)\['critic'\] has shape \(2, 2\), and \(rows, 4\) is wanted"),
    ],
)
def test_groups_that_are_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        ds.envs.make("Grouped", 2, num_threads=1, wrong=wrong).reset()


def test_rsl_rl_has_the_groups_of_the_task():
    pytest.importorskip("rsl_rl")
    from dualstep.envs.adapters.rsl_rl import RslRlEnv

    env = RslRlEnv("Grouped", 2, group="clock", num_threads=1)
    assert env.obs_groups == {"actor": ["clock"], "critic": ["critic"]}
    assert RslRlEnv("InvertedPendulum", 2, group="obs", num_threads=1).get_observations()["obs"].shape == (2, 4)
    with pytest.raises(ValueError, match="group 'obs' is given, and Grouped has: policy, critic, clock"):
        RslRlEnv("Grouped", 2, group="obs", num_threads=1)


def test_a_critic_that_is_told_more_is_trained(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    pytest.importorskip("matplotlib")
    from dualstep.cli import main
    from dualstep.envs.training.learner import Learner
    from dualstep.envs.training.settings import Settings

    settings = Settings(num_envs=4, num_steps=8, hidden=(8,))
    learner = Learner("Grouped", settings, device="cpu", num_threads=1)
    shapes = [next(net.parameters()).shape[1] for net in (learner.algorithm.actor.mlp, learner.algorithm.critic.mlp)]
    assert shapes == [2, 4]
    learner.learn(64)
    learner.save(tmp_path / "latest.pt")
    learner.learn(128)
    # another one goes on exactly there
    twin = Learner("Grouped", settings, device="cpu", num_threads=1)
    assert twin.load(tmp_path / "latest.pt")
    twin.learn(128)
    assert [point.value_loss for point in learner.curve] == [point.value_loss for point in twin.curve]
    assert learner.policy()(torch.zeros(3, 2)).shape == (3, 1)
    assert main(["export", str(tmp_path), "--out", str(tmp_path / "p.pt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["observations"] == 2
    assert main(["play", str(tmp_path), "--episodes", "1", "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["return"]["mean"] > 0


def test_an_actor_may_see_other_groups(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    from dualstep.cli import main
    from dualstep.envs.training.contact_audit import audit_policy
    from dualstep.envs.training.learner import Learner
    from dualstep.envs.training.settings import Settings

    options = {"obs_groups": {"actor": ["clock", "policy"], "critic": ["critic"]}}
    settings = Settings(num_envs=4, num_steps=8, mini_batches=2, hidden=(8,), rsl_rl_options=options)
    learner = Learner("Grouped", settings, device="cpu", num_threads=1)
    learner.learn(64)
    learner.save(tmp_path / "latest.pt")
    assert main(["play", str(tmp_path), "--episodes", "2", "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["return"]["mean"] == pytest.approx(found["mujoco"]["mean"], rel=1e-3)
    policy = learner.policy()
    assert len(audit_policy("Grouped", policy, chosen=["todorov"], episodes=2).rows) > 1
    assert main(["export", str(tmp_path), "--out", str(tmp_path / "p.pt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["observations"] == 3
    # of several groups, one after the other, in the actor's order
    clock, seen = torch.rand(5, 1), torch.rand(5, 2)
    with torch.no_grad():
        written = torch.jit.load(tmp_path / "p.pt")(torch.cat([clock, seen], dim=1))
    assert written.numpy() == pytest.approx(policy({"policy": seen, "clock": clock}).numpy(), abs=1e-6)


def test_groups_in_stable_baselines3():
    sb3 = pytest.importorskip("stable_baselines3")
    from dualstep.envs.adapters.stable_baselines3 import SB3Env

    env = SB3Env("Grouped", 3, num_threads=1)
    assert env.reset()["critic"].shape == (3, 4)
    ends = [info for _ in range(25) for info in env.step(np.ones((3, 1), np.float32))[3] if info]
    assert ends[0]["terminal_observation"]["policy"].shape == (2,)
    sb3.PPO("MultiInputPolicy", env, n_steps=8, batch_size=24, n_epochs=1).learn(48)


def test_groups_in_skrl():
    pytest.importorskip("skrl")
    torch = pytest.importorskip("torch")
    from dualstep.envs.adapters.skrl import skrl_env

    env = skrl_env("Grouped", 3, num_threads=1)
    assert env.observation_space.shape == (2,) and env.state_space.shape == (4,)
    assert env.reset()[0].shape == (3, 2) and env.state().shape == (3, 4)
    assert env.step(torch.zeros(3, 1))[0].shape == (3, 2) and env.state().shape == (3, 4)


def test_groups_in_torchrl():
    pytest.importorskip("torchrl")
    from dualstep.envs.adapters.torchrl import torchrl_env

    data = torchrl_env("Grouped", 3, num_threads=1).rollout(25, break_when_any_done=False)
    assert data["critic"].shape == (3, 25, 4) and data["next", "policy"].shape == (3, 25, 2)
