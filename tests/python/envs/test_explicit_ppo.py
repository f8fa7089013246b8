"""PPO whose gradients are explicit, against rsl_rl's own: rollouts, updates, what stands in checkpoints."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")

from dualstep.envs.training.learner import Learner
from dualstep.envs.training.network import ClippedMLP
from dualstep.envs.training.settings import Settings
from dualstep.envs.training.explicit_ppo import ExplicitPPO
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

ENVS, STEPS, ACTIONS = 6, 10, 3
WIDTHS = {"policy": 5, "critic": 4}


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def observations():
    return TensorDict({name: 2 * torch.randn(ENVS, n) + 1 for name, n in WIDTHS.items()}, batch_size=[ENVS])


def make(kind, state=None, *, activation="tanh", normalization=True, critic=("policy",), distribution=None, **options):
    """A PPO, with the networks of `state` where that is given."""
    seen = observations()
    groups = {"actor": ["policy"], "critic": list(critic)}
    shared = {"hidden_dims": [8, 7], "activation": activation, "obs_normalization": normalization, "clip": 1.5}
    spread = distribution or {"class_name": "GaussianDistribution", "init_std": 0.7, "std_type": "log"}
    actor = ClippedMLP(seen, groups, "actor", ACTIONS, **shared, distribution_cfg=dict(spread))
    networks = actor, ClippedMLP(seen, groups, "critic", 1, **shared)
    storage = RolloutStorage("rl", ENVS, STEPS, seen, [ACTIONS])
    options = {"num_learning_epochs": 3, "learning_rate": 3e-3, "entropy_coef": 0.01, "max_grad_norm": 0.3, **options}
    made = kind(*networks, storage, **options)
    made.train_mode()
    if state is not None:
        made.load(copy.deepcopy(state), None, True)
    return made


def rollout(algorithm, seed, actions=None):
    """Observations, rewards and ends are those of the seed. Actions: drawn, or those that are given."""
    random = torch.Generator().manual_seed(seed)
    taken = []

    def draw(*shape):
        return torch.randn(*shape, generator=random)

    with torch.inference_mode():
        for step in range(STEPS + 1):
            seen = TensorDict({name: 2 * draw(ENVS, n) + 1 for name, n in WIDTHS.items()}, batch_size=[ENVS])
            if step:
                done, cut = draw(ENVS) > 0.8, draw(ENVS) > 0
                extras = {"time_outs": done & cut} if seed % 2 else {}
                algorithm.process_env_step(seen, draw(ENVS), done.long(), extras)
            if step < STEPS:
                if actions is not None:
                    algorithm.actor.distribution.sample = lambda step=step: actions[step]
                taken.append(algorithm.act(seen))
        algorithm.compute_returns(seen)
    return taken


def stored(algorithm):
    st = algorithm.storage
    found = {name: getattr(st, name) for name in ("rewards", "dones", "actions", "values", "returns", "advantages")}
    found["log_prob"], found["mean"], found["std"] = st.actions_log_prob, *st.distribution_params
    found["policy"], found["critic"] = st.observations["policy"], st.observations["critic"]
    return found


def learned(algorithm):
    saved = algorithm.save()
    optimizer = saved["optimizer_state_dict"]
    moments = {f"{k}.{name}": value for k, own in optimizer["state"].items() for name, value in own.items()}
    return {**saved["actor_state_dict"], **{"critic." + k: v for k, v in saved["critic_state_dict"].items()}, **moments}


def same(found, wanted, tolerance):
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(
            found[name], value, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


def side_by_side(tolerance, rollouts=4, **options):
    own = make(PPO, **options)
    explicit = make(ExplicitPPO, own.save(), **options)
    assert explicit.explicit
    rates = set()
    for seed in range(rollouts):
        actions = rollout(explicit, seed)
        rollout(own, seed, actions)
        same(stored(explicit), stored(own), tolerance)
        losses = []
        for algorithm in (explicit, own):
            torch.manual_seed(seed)
            losses.append(algorithm.update())
        assert losses[0] == pytest.approx(losses[1], rel=tolerance, abs=tolerance)
        same(learned(explicit), learned(own), tolerance)
        assert explicit.learning_rate == own.learning_rate
        assert explicit.optimizer.param_groups[0]["lr"] == own.optimizer.param_groups[0]["lr"]
        rates.add(own.learning_rate)
        assert explicit.storage.step == 0
    return explicit, own, rates


@pytest.mark.parametrize("activation", ["tanh", "elu", "relu"])
@pytest.mark.parametrize("normalization", [True, False])
def test_updates_are_those_of_rsl_rl(double, activation, normalization):
    torch.manual_seed(1)
    *_, rates = side_by_side(1e-10, activation=activation, normalization=normalization)
    # the rate followed the divergence
    assert len(rates) > 1


@pytest.mark.parametrize(
    "options",
    [
        {"critic": ("policy", "critic")},
        {"use_clipped_value_loss": True, "clip_param": 0.05},
        {"normalize_advantage_per_mini_batch": True},
        {"schedule": "fixed"},
        {"desired_kl": None, "num_mini_batches": 7, "max_grad_norm": 1e9},
        {"distribution": {"class_name": "GaussianDistribution", "init_std": 0.7, "std_type": "scalar"}},
        # a bound above the deviations, which holds them
        {"distribution": {"class_name": "GaussianDistribution", "std_type": "log", "std_range": (0.5, 0.9)}},
        {"distribution": {"class_name": "GaussianDistribution", "std_type": "scalar", "std_range": (1.2, 2.0)}},
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_options_are_those_of_rsl_rl(double, options):
    torch.manual_seed(2)
    side_by_side(1e-10, **options)


@pytest.mark.parametrize("activation", ["tanh", "elu"])
def test_updates_in_single_precision(activation):
    torch.manual_seed(3)
    side_by_side(2e-4, rollouts=2, activation=activation)


def test_checkpoints_pass_between_the_two(double):
    torch.manual_seed(4)
    explicit, own, _ = side_by_side(1e-10, rollouts=2)
    # each goes on from what the other one saved
    crossed = make(ExplicitPPO, own.save()), make(PPO, explicit.save())
    actions = rollout(crossed[0], 7)
    rollout(crossed[1], 7, actions)
    for algorithm in crossed:
        torch.manual_seed(7)
        algorithm.update()
    same(learned(crossed[0]), learned(crossed[1]), 1e-10)
    # and what was saved stays what it was
    before = copy.deepcopy(explicit.save())
    kept = make(ExplicitPPO, explicit.save())
    rollout(kept, 8)
    kept.update()
    after = explicit.save()
    for name, value in before["actor_state_dict"].items():
        assert torch.equal(value, after["actor_state_dict"][name])


def test_actions_are_draws_of_the_policy():
    torch.manual_seed(5)
    explicit = make(ExplicitPPO)
    z = []
    for _ in range(200):
        explicit.storage.clear()
        rollout(explicit, 0)
        z.append((explicit.storage.actions - explicit.storage.distribution_params[0]) / 0.7)
    z = torch.cat(z)
    assert abs(float(z.mean())) < 0.02 and abs(float(z.std()) - 1) < 0.02
    # those of one step say nothing of the next
    assert abs(float((z[1:] * z[:-1]).mean())) < 0.02


class Shifted(MLPModel):
    def forward(self, *args, **options):
        return super().forward(*args, **options) + 1


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "gelu"},
        {"distribution": {"class_name": "BetaDistribution"}},
        {"distribution": {"class_name": "HeteroscedasticGaussianDistribution"}},
        {"distribution": {"class_name": "GaussianDistribution", "learn_std": False}},
        {"optimizer": "sgd"},
    ],
    ids=str,
)
def test_what_is_not_plain_is_left_to_rsl_rl(options):
    torch.manual_seed(6)
    own = make(PPO, **options)
    explicit = make(ExplicitPPO, own.save(), **options)
    assert not explicit.explicit
    for algorithm in (own, explicit):
        torch.manual_seed(6)
        rollout(algorithm, 1)
        algorithm.update()
    same(learned(explicit), learned(own), 0)


def test_a_network_of_another_kind_is_left_to_rsl_rl():
    seen = observations()
    groups = {"actor": ["policy"], "critic": ["policy"]}
    spread = {"class_name": "GaussianDistribution"}
    actor = MLPModel(seen, groups, "actor", ACTIONS, distribution_cfg=spread)
    storage = RolloutStorage("rl", ENVS, STEPS, seen, [ACTIONS])
    assert ExplicitPPO(actor, MLPModel(seen, groups, "critic", 1), storage).explicit
    assert not ExplicitPPO(actor, Shifted(seen, groups, "critic", 1), storage).explicit


def test_a_rollout_that_is_full_takes_no_more():
    explicit = make(ExplicitPPO)
    rollout(explicit, 0)
    with pytest.raises(OverflowError, match="a rollout has 10 steps"):
        explicit.act(observations())


def test_training_uses_it():
    learner = Learner("Hopper", Settings(num_envs=4, num_steps=8, hidden=(8,)), device="cpu", num_threads=1)
    assert learner.algorithm.explicit
    learner.learn(64)
    spread = learner.algorithm.get_policy().distribution.log_std_param
    assert learner.curve[-1].std == pytest.approx(float(spread.detach().exp().mean()))
    learner = Learner("Hopper", Settings(num_envs=4, num_steps=8, activation="gelu"), device="cpu", num_threads=1)
    assert not learner.algorithm.explicit
