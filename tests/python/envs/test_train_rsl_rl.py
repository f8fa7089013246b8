"""What is handed through to rsl_rl: recurrent networks, symmetry; and that no checkpoint runs code by it."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")

import dualstep as ds
from dualstep.cli import main
from dualstep.envs.training import player
from dualstep.envs.training.acting import follow
from dualstep.envs.training.learner import CheckpointError, Learner
from dualstep.envs.training.settings import Settings

RECURRENT = {"class_name": "RNNModel", "rnn_type": "gru", "rnn_hidden_dim": 8}
SMALL = Settings(num_envs=4, num_steps=8, mini_batches=2, hidden=(8,))


def learner_of(task="InvertedPendulum", **options):
    return Learner(task, SMALL.replace(rsl_rl_options=options), seed=3, device="cpu", num_threads=1)


def mirrored(env, obs, actions):
    """Both sides of a pole on a cart."""
    both = None if obs is None else torch.cat([obs, obs.apply(lambda x: -x)])
    return both, None if actions is None else torch.cat([actions, -actions])


def test_a_recurrent_network_learns_and_acts(tmp_path, capsys):
    learner = learner_of(actor=RECURRENT, critic=RECURRENT)
    learner.learn(96)
    assert learner.algorithm.get_policy().is_recurrent and np.isfinite([p.value_loss for p in learner.curve]).all()
    learner.save(tmp_path / "latest.pt")
    other = learner_of(actor=RECURRENT, critic=RECURRENT)
    other.load(tmp_path / "latest.pt")
    observation = torch.tensor([[0.1, 0.2, -0.3, 0.4]])
    one, two = learner.policy(), other.policy()
    one.restart(), two.restart()
    acts = [one(observation) for _ in range(3)]
    # it remembers, and what it does follows from the checkpoint and the episode alone
    assert all(torch.equal(act, two(observation)) for act in acts) and not torch.equal(acts[0], acts[1])
    one.restart(torch.tensor([True]))
    assert torch.equal(one(observation), acts[0])
    assert main(["play", str(tmp_path / "latest.pt"), "--episodes", "3", "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["return"]["episodes"] == 3
    assert main(["export", str(tmp_path / "latest.pt"), "--out", str(tmp_path / "policy.onnx")]) != 0
    assert "recurrent network" in capsys.readouterr().err


def test_a_policy_forgets_when_episodes_end():
    class Remembers:
        seen = 0

        def restart(self, over=None):
            self.seen = 0 if over is None else torch.where(over, 0, self.seen)

        def __call__(self, observation):
            self.seen = self.seen + torch.ones(2)
            return torch.zeros(2, 1)

    env = ds.envs.make("InvertedPendulum", 2, num_threads=1, output="torch", max_episode_steps=3)
    policy = Remembers()
    follow(env, policy)
    observation, _ = env.reset(seed=0)
    seen = []
    for _ in range(4):
        observation = env.step(policy(observation))[0]
        seen.append(policy.seen.tolist())
    assert seen == [[1, 1], [2, 2], [0, 0], [1, 1]]


def test_symmetry_comes_with_code_that_a_checkpoint_does_not_run(tmp_path, capsys):
    symmetry = {"data_augmentation_func": f"{__name__}:mirrored", "use_data_augmentation": True}
    learner = learner_of(algorithm={"symmetry_cfg": symmetry})
    assert learner.algorithm.symmetry is not None and not learner.algorithm.explicit
    learner.learn(96)
    learner.save(tmp_path / "latest.pt")
    with pytest.raises(CheckpointError, match=f"'{__name__}:mirrored'.*--trust"):
        player.load_policy(tmp_path / "latest.pt")
    assert player.load_policy(tmp_path / "latest.pt", trust=True)[1].code() == [f"{__name__}:mirrored"]
    words = ["train", "InvertedPendulum", "--checkpoint", str(tmp_path / "latest.pt"), "--steps", "128", "--device", "cpu"]
    words += ["--out", str(tmp_path / "run"), "--episodes", "0", "--video-seconds", "0"]
    assert main(words) == 2
    told = "no code is run that a checkpoint names; --set rsl_rl_options=... says it once more"
    assert told in " ".join(capsys.readouterr().err.split())
    assert main([*words, "--set", f"rsl_rl_options={{'algorithm': {{'symmetry_cfg': {symmetry}}}}}"]) == 0


@pytest.mark.parametrize("options", [{"runner": {}}, {"actor": 3}])
def test_options_of_no_section_are_refused(options):
    with pytest.raises(ValueError, match="rsl_rl_options .* must be a dict of dicts, of actor, critic, algorithm, obs_groups"):
        SMALL.replace(rsl_rl_options=options)


CURIOSITY = {"weight": 0.1, "num_outputs": 2, "predictor_hidden_dims": [4], "target_hidden_dims": [4], "activation": "elu",
             "reward_normalization": True, "weight_schedule": {"mode": "linear", "initial_step": 2, "final_step": 30,
                                                               "final_value": 0.01}}  # fmt: skip


def test_curiosity_learns_and_goes_on(tmp_path):
    options = {"algorithm": {"rnd_cfg": CURIOSITY}, "obs_groups": {"rnd_state": ["policy"]}}
    learner = learner_of(**options)
    assert learner.algorithm.rnd.initial_weight == pytest.approx(0.1 * learner.env.env.task.dt)
    learner.learn(64)
    learner.save(tmp_path / "latest.pt")
    learner.learn(128)
    other = learner_of(**options)
    assert other.load(tmp_path / "latest.pt") and other.settings.rsl_rl_options == options
    other.learn(128)
    assert all(map(torch.equal, *(x.algorithm.get_policy().state_dict().values() for x in (learner, other))))


@pytest.mark.parametrize("kind", ["log", "scalar"])
def test_exploration_falls_by_whatever_a_deviation_is_of(kind):
    spread = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": kind}
    settings = SMALL.replace(final_std=0.1, total_steps=64, rsl_rl_options={"actor": {"distribution_cfg": spread}})
    learner = Learner("InvertedPendulum", settings, device="cpu", num_threads=1)
    learner.learn(64)
    _, parameter = learner._spread
    assert (parameter.exp() if kind == "log" else parameter).item() == pytest.approx(0.55)  # after half of the steps


@pytest.mark.parametrize(
    ("section", "entry", "told"),
    [
        ("algorithm", {"class_name": "Distillation"}, "'Distillation' is given, .*DistillationRunner, which takes a RslRlEnv"),
        ("algorithm", {"nope": 3}, r"rsl_rl_options \{'algorithm': \{'nope': 3\}\} are refused by rsl_rl: .*'nope'"),
        ("critic", {**RECURRENT, "rnn_type": "gur"}, r"\['critic'\]\['rnn_type'\] 'gur' is given, and it must be lstm or gru"),
        ("actor", {"class_name": "Nope"}, "rsl_rl_options .* are refused by rsl_rl: Could not resolve 'Nope'"),
        ("algorithm", {"symmetry_cfg": {"data_augmentation_func": f"{__name__}:nope"}}, "refused by rsl_rl: AttributeError: .*nope"),
        ("actor", {"distribution_cfg": {"class_name": "HeteroscedasticGaussianDistribution"}}, "final_std 0.1 is given, .*=None"),
    ],
)  # fmt: skip
def test_what_rsl_rl_cannot_make_is_told_in_a_line(section, entry, told):
    with pytest.raises(ValueError, match=told):
        Learner("InvertedPendulum", SMALL.replace(final_std=0.1, rsl_rl_options={section: entry}), device="cpu")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"actor": RECURRENT}, "8 mini_batches are given, and recurrent networks learn from whole environments, of .* are 4"),
        ({"algorithm": {"num_mini_batches": 33}}, "33 mini_batches are given, and there are 32 samples"),
        ({"actor": {"distribution_cfg": None}}, "rsl_rl_options .* are given, and an actor must have a distribution"),
    ],
)
def test_mini_batches_hold_something(options, told):
    with pytest.raises(ValueError, match=told):
        Learner("InvertedPendulum", SMALL.replace(mini_batches=8, rsl_rl_options=options), device="cpu")


def test_rsl_rls_own_networks_are_exported(tmp_path):
    learner = learner_of(actor={"class_name": "MLPModel"})
    learner.save(tmp_path / "latest.pt")
    assert main(["export", str(tmp_path / "latest.pt"), "--out", str(tmp_path / "policy.pt")]) == 0


def test_what_names_code():
    assert SMALL.code() == [] and SMALL.replace(rsl_rl_options={"actor": RECURRENT, "algorithm": {"lam": 0.9, "x": None}}).code() == []
    for named in ("os:system", "os.system", "a b"):
        assert SMALL.replace(rsl_rl_options={"algorithm": {"rnd_cfg": {"list": [named]}}}).code() == [named]
