"""The demo: the policy that the package ships acts as the one it is made from, and runs; the page is served."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import dualstep as ds
from dualstep.cli import main
from dualstep.envs import stored


def test_the_policy_that_is_shipped_runs():
    assert stored.names() == ["HalfCheetah"]
    policy = stored.named("HalfCheetah")
    env = ds.envs.make(policy.task, 8, num_threads=1)
    observation, _ = env.reset(seed=0)
    speeds = []
    for _ in range(200):
        observation, _, _, _, info = env.step(policy(observation))
        speeds.append(np.median(info["x_velocity"]))
    # metres a second; half a second to get going
    assert np.mean(speeds[50:]) > 4
    with pytest.raises(ValueError, match="there are: HalfCheetah"):
        stored.named("Ant")


def test_a_stored_policy_acts_as_its_checkpoint(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    from dualstep.envs.training.learner import Learner
    from dualstep.envs.training.settings import Settings

    settings = Settings(num_envs=4, num_steps=4, mini_batches=1, hidden=(8, 6), activation="elu", clip_observation=2.0)
    learner = Learner("Hopper", settings, device="cpu", num_threads=1)
    learner.learn(64)
    learner.save(tmp_path / "latest.pt")
    stored.store(tmp_path / "latest.pt", tmp_path / "hopper.npz")
    policy = stored.StoredPolicy(tmp_path / "hopper.npz")
    observation = 3 * np.random.default_rng(0).standard_normal((50, 11)).astype(np.float32)
    assert policy(observation) == pytest.approx(learner.policy()(torch.from_numpy(observation)).numpy(), abs=2e-6)


def test_the_page_is_served_for_a_while(capfd):
    pytest.importorskip("viser")
    assert main(["demo", "--port", "8196", "--for", "0.5", "--num-envs", "4", "--no-browser"]) == 0
    assert "4 half-cheetahs: http://127.0.0.1:8196" in capfd.readouterr().err
