"""rsl_rl's PPO with its gradients written out, for plain networks on the host.

    obs_b -> latent x_b -> mean m_b = actor(x_b), value v_b = critic(x_b);  actions a_b ~ N(m_b, diag(s^2))

A mini-batch of B samples, with advantages A, returns R, and old means, deviations and log-probabilities (_o):

    z_b = (a_b - m_b) / s,  log p_b = -|z_b|^2 / 2 - sum_j log s_j - k log(2 pi) / 2,  r_b = exp(log p_b - log p_ob)
    loss = mean_b max(-A_b r_b, -A_b clip(r_b, 1 - c, 1 + c)) + w_v mean_b (v_b - R_b)^2 - w_e H,
    H = sum_j log s_j + k (1 + log(2 pi)) / 2

Its gradients, with w_b = -A_b r_b / B where the first of the two is the larger or both are equal, else 0:

    dL/dm_b = w_b z_b / s,  dL/dlog s = sum_b w_b (z_b^2 - 1) - w_e,  dL/dv_b = 2 w_v (v_b - R_b) / B

and backpropagation through linear layers and tanh, elu or relu. Schulman et al., "Proximal policy optimization
algorithms", arXiv:1707.06347, eq. 7 and 9; Kingma and Ba, "Adam", arXiv:1412.6980, algorithm 1.

The mathematics, and what stands in the storage, in state_dict() and in the optimizer, are those of rsl_rl's PPO. Apart
from it are these, none of which changes a result but by rounding and by which random numbers are drawn:

- parameters, gradients and Adam's moments are views of one array each: Adam and the norms take a few operations;
- observations are normalized, and samples put in the order of the mini-batches, once for all epochs;
- the critic sees a rollout when it is complete, not step by step, and time-outs are bootstrapped then;
- an update draws no actions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.modules import MLP
from rsl_rl.modules.distribution import GaussianDistribution

_aten = torch.ops.aten
Tensor = torch.Tensor
# of an activation: itself, in place, and from its result y and the gradient g with respect to y that before it, in g
ACTIVATIONS: dict[type[torch.nn.Module], tuple[Callable[[Tensor], Any], Callable[[Tensor, Tensor], Any]]] = {
    torch.nn.Tanh: (torch.tanh_, lambda g, y: _aten.tanh_backward.grad_input(g, y, grad_input=g)),
    torch.nn.ReLU: (torch.relu_, lambda g, y: _aten.threshold_backward.grad_input(g, y, 0, grad_input=g)),
    torch.nn.ELU: (
        torch.nn.functional.elu_,
        lambda g, y: _aten.elu_backward.grad_input(g, 1.0, 1.0, 1.0, True, y, grad_input=g),
    ),
}
_LOG_2PI = math.log(2 * math.pi)


def _linear_tanh() -> Callable[[Tensor, Tensor, Tensor], Tensor] | None:
    """tanh(x W^T + b) as one operation of oneDNN, whose tanh takes a fifth of torch's time; None where this torch has
    none, or one that gives something else."""
    try:
        fused = torch.ops.mkldnn._linear_pointwise

        def call(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
            return fused(x, weight, bias, "tanh", [], "")

        x = torch.linspace(-9, 9, 19)[:, None] * torch.tensor([[1.0, 0.1]])
        weight, bias = torch.tensor([[1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([0.0, 1e-3, -0.5])
        wanted = torch.tanh(torch.nn.functional.linear(x, weight, bias))
        return call if torch.allclose(call(x, weight, bias), wanted, rtol=1e-6, atol=1e-7) else None
    except (AttributeError, RuntimeError, NotImplementedError, TypeError):
        return None


class Network:
    """The MLP of a model, over buffers for `rows` samples; `gradients`: of its parameters, by their id."""

    def __init__(self, model: MLPModel, rows: int, gradients: dict[int, Tensor]) -> None:
        layers: list[Any] = list(model.mlp)
        linear = layers[::2]
        self._weights = [layer.weight.data for layer in linear]
        self._biases = [layer.bias.data for layer in linear]
        self._transposed = [weight.t() for weight in self._weights]
        self._to = [(gradients[id(layer.weight)], gradients[id(layer.bias)]) for layer in linear]
        self._activate, self._derive = ACTIVATIONS[type(layers[1])]
        self._buffers = [weight.new_empty(rows, len(weight)) for weight in self._weights]
        self._slopes = [torch.empty_like(buffer) for buffer in self._buffers]
        self._after: list[Tensor] = []
        is_float = self._weights[0].dtype == torch.float32
        self._fused = _linear_tanh() if is_float and type(layers[1]) is torch.nn.Tanh else None

    def forward(self, latent: Tensor, out: Tensor | None = None) -> Tensor:
        """(n, k) outputs for (n, m) latents, n at most `rows`: in `out`, or a buffer that the next call writes to."""
        n, x = latent.shape[0], latent
        self._after = [latent]
        for i in range(len(self._weights) - 1):
            if self._fused:
                x = self._fused(x, self._weights[i], self._biases[i])
            else:
                x = torch.addmm(self._biases[i], x, self._transposed[i], out=self._buffers[i][:n])
                self._activate(x)
            self._after.append(x)
        out = self._buffers[-1][:n] if out is None else out
        return torch.addmm(self._biases[-1], x, self._transposed[-1], out=out)

    def backward(self, slope: Tensor) -> None:
        """Writes the gradients of parameters, from the loss's (n, k) with respect to what `forward` gave last."""
        n = slope.shape[0]
        for i in reversed(range(len(self._weights))):
            before, (to_weight, to_bias) = self._after[i], self._to[i]
            torch.mm(slope.t(), before, out=to_weight)
            torch.sum(slope, 0, out=to_bias)
            if i:
                slope = torch.mm(slope, self._weights[i], out=self._slopes[i - 1][:n])
                self._derive(slope, before)


class Flat:
    """Parameters, gradients and the two moments of Adam, each one array; what optimizer and networks have are views."""

    def __init__(self, optimizer: torch.optim.Adam, split: int) -> None:
        """`split`: how many of the parameters are the actor's."""
        self._optimizer = optimizer
        self.parameters: list[torch.nn.Parameter] = optimizer.param_groups[0]["params"]
        sizes = [parameter.numel() for parameter in self.parameters]
        first = self.parameters[0].data
        self._flat, self._gradient, self._mean, self._square, self._scratch = (
            first.new_zeros(sum(sizes)) for _ in range(5)
        )
        self._counts = torch.zeros(len(sizes))
        self._views: list[dict[str, Tensor]] = []
        parts = (array.split(sizes) for array in (self._flat, self._gradient, self._mean, self._square))
        for k, (parameter, *arrays) in enumerate(zip(self.parameters, *parts, strict=True)):
            value, gradient, mean, square = (array.view(parameter.shape) for array in arrays)
            state = {"step": self._counts[k], "exp_avg": mean, "exp_avg_sq": square}
            self._views.append({"value": value, "gradient": gradient, **state})
        self.gradients = {id(p): view["gradient"] for p, view in zip(self.parameters, self._views, strict=True)}
        own = sum(sizes[:split])
        self._halves = (self._gradient[:own], self._gradient[own:])
        self.adopt()

    def adopt(self) -> None:
        """Takes over values that others put in place of the views: those of a checkpoint, for one."""
        for parameter, view in zip(self.parameters, self._views, strict=True):
            if parameter.data_ptr() != view["value"].data_ptr():
                view["value"].copy_(parameter.data)
                parameter.data = view["value"]
            state = self._optimizer.state[parameter]
            for name in ("step", "exp_avg", "exp_avg_sq"):
                found = state.get(name)
                if found is None:
                    view[name].zero_()
                elif found.data_ptr() != view[name].data_ptr():
                    view[name].copy_(found)
                state[name] = view[name]

    def average(self, processes: int) -> None:
        """Gradients become their mean over all processes."""
        torch.distributed.all_reduce(self._gradient)
        self._gradient /= processes

    def step(self, max_norm: float) -> None:
        """Gradients of the actor, and of the critic, are cut to a norm; then a step of Adam."""
        for half in self._halves:
            factor = max_norm / (float(torch.linalg.vector_norm(half)) + 1e-6)
            # a norm that is not finite must reach the parameters, where it is seen
            if not factor >= 1.0:
                half.mul_(factor)
        group = self._optimizer.param_groups[0]
        (first, second), lr, eps = group["betas"], group["lr"], group["eps"]
        count = float(self._counts.add_(1)[0])
        self._mean.lerp_(self._gradient, 1 - first)
        self._square.mul_(second).addcmul_(self._gradient, self._gradient, value=1 - second)
        torch.sqrt(self._square, out=self._scratch)
        self._scratch.div_((1 - second**count) ** 0.5).add_(eps)
        self._flat.addcdiv_(self._mean, self._scratch, value=-lr / (1 - first**count))


class ExplicitPPO(PPO):
    """rsl_rl's PPO; `explicit` says whether its updates are those of this file, or its own.

    They are this file's on the host, where actor and critic are plain MLPs of tanh, elu or relu without shared
    parameters, actions Gaussian with a deviation that the state does not change, and the optimizer is Adam: without
    recurrence, symmetry, intrinsic rewards, mixed precision and compiled networks. Several processes average their
    gradients, as rsl_rl's do.
    """

    def __init__(self, actor: Any, critic: Any, storage: Any, *args: Any, **options: Any) -> None:
        super().__init__(actor, critic, storage, *args, **options)
        self.explicit = self._fits()
        if not self.explicit:
            return
        steps, envs = storage.num_transitions_per_env, storage.num_envs
        self._size = steps * envs // self.num_mini_batches
        flat = self._flat = Flat(self.optimizer, len(list(self.actor.parameters())))  # pyright: ignore[reportArgumentType]
        rows = max(self._size, envs)
        self._actor = Network(self.actor, rows, flat.gradients)
        self._critic = Network(self.critic, rows, flat.gradients)
        spread: Any = self.actor.distribution
        self._is_log = spread.std_type == "log"
        self._spread = spread.log_std_param if self._is_log else spread.std_param
        self._range = spread.log_std_range if self._is_log else spread.std_range
        new = self._spread.data.new_zeros
        self._noise = new(storage.actions.shape)
        self._mean, self._std = new(storage.actions.shape), new(storage.actions.shape)
        self._time_outs = new(steps, envs, 1)
        self._observations = {name: storage.observations.get(name) for name in storage.observations.keys()}
        self._deviation = self._log_deviation = new(0)

    def _fits(self) -> bool:
        def plain(model: Any) -> bool:
            kind = type(model)
            if not isinstance(model, MLPModel) or kind.forward is not MLPModel.forward or model.is_recurrent:
                return False
            layers = list(model.mlp) if type(model.mlp) is MLP else []
            activations = layers[1::2]
            return (
                len(layers) % 2 == 1
                and len(activations) > 0
                and all(type(layer) is torch.nn.Linear for layer in layers[::2])
                and type(activations[0]) in ACTIVATIONS
                and all(type(layer) is type(activations[0]) for layer in activations)
                and getattr(activations[0], "alpha", 1.0) == 1.0
            )

        parameters = [*self.actor.parameters(), *self.critic.parameters()]
        groups, first = self.optimizer.param_groups, parameters[0]
        unusual = ("weight_decay", "amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay")
        return (
            torch.device(self.device).type == "cpu"
            and not any(getattr(self, name, None) for name in ("rnd", "symmetry", "use_mixed_precision"))
            and plain(self.actor)
            and plain(self.critic)
            and type(self.actor.distribution) is GaussianDistribution
            and self.critic.distribution is None
            and type(self.optimizer) is torch.optim.Adam
            and not any(groups[0].get(name) for name in unusual)
            and len(groups) == 1
            and len(set(map(id, parameters))) == len(parameters)
            and [id(p) for p in groups[0]["params"]] == [id(p) for p in parameters]
            and all(p.requires_grad and p.dtype == first.dtype and p.device == first.device for p in parameters)
            and self.storage.actions.dtype == first.dtype
        )

    def compile(self, mode: str | None = None) -> None:
        super().compile(mode)
        self.explicit = self.explicit and mode is None

    # a rollout ---------------------------------------------------------------------------------------------

    def _spread_now(self) -> None:
        """(k,) deviations of actions, and their logarithms, of the present parameters."""
        spread = self._spread.data.clamp(*self._range)
        self._deviation = spread.exp() if self._is_log else spread
        self._log_deviation = spread if self._is_log else spread.log()

    def act(self, obs: Any) -> Tensor:
        """(N, k) actions that are drawn for observations."""
        if not self.explicit:
            return super().act(obs)
        storage = self.storage
        step = storage.step
        if step >= storage.num_transitions_per_env:
            raise OverflowError(f"a rollout has {step} steps, and they were not learned from yet")
        with torch.no_grad():
            if step == 0:
                self._flat.adopt()
                self._spread_now()
                self._noise.normal_()
            seen = {name: kept[step].copy_(obs.get(name)) for name, kept in self._observations.items()}
            mean = self._actor.forward(_latent(self.actor, seen), self._mean[step])
            return torch.addcmul(mean, self._deviation, self._noise[step], out=storage.actions[step]).clone()

    def process_env_step(self, obs: Any, rewards: Tensor, dones: Tensor, extras: dict[str, Any]) -> None:
        """Keeps (N,) rewards and ends of episodes; `extras["time_outs"]`: (N,), which of these were cut off."""
        if not self.explicit:
            super().process_env_step(obs, rewards, dones, extras)
            return
        storage = self.storage
        step = storage.step
        storage.rewards[step, :, 0] = rewards
        storage.dones[step, :, 0] = dones
        self._time_outs[step, :, 0] = extras["time_outs"] if "time_outs" in extras else 0
        storage.step = step + 1

    def compute_returns(self, obs: Any) -> None:
        """Values, log-probabilities, returns and advantages of the rollout, which ended at these observations."""
        if not self.explicit:
            super().compute_returns(obs)
            return
        st, rows = self.storage, self._size
        with torch.no_grad():
            flat = {name: kept.flatten(0, 1) for name, kept in self._observations.items()}
            values = st.values.view(-1, 1)
            for begin in range(0, len(values), rows):
                part = slice(begin, begin + rows)
                latent = _latent(self.critic, {name: kept[part] for name, kept in flat.items()})
                self._critic.forward(latent, values[part])
            last = self._critic.forward(_latent(self.critic, {name: obs.get(name) for name in flat}))
            st.rewards.addcmul_(st.values, self._time_outs, value=self.gamma)
            self._std.copy_(self._deviation)
            st.distribution_params = (self._mean, self._std)
            constant = float(self._log_deviation.sum()) + 0.5 * len(self._deviation) * _LOG_2PI
            torch.sum(self._noise.square_(), 2, keepdim=True, out=st.actions_log_prob)
            st.actions_log_prob.mul_(-0.5).sub_(constant)
            # A_t = delta_t + gamma lam A_t+1, backwards, where the episode goes on
            # the factors in single precision, as rsl_rl has them
            goes_on = (1 - st.dones.float()) * self.gamma
            fades = (goes_on * self.lam).to(st.values.dtype)
            delta = torch.cat([st.values[1:], last[None]]).mul_(goes_on).add_(st.rewards).sub_(st.values)
            for step in reversed(range(len(delta) - 1)):
                delta[step].addcmul_(fades[step], delta[step + 1])
            torch.add(delta, st.values, out=st.returns)
            st.advantages = st.returns - st.values
            if not self.normalize_advantage_per_mini_batch:
                st.advantages = _normalized(st.advantages)

    # an update ---------------------------------------------------------------------------------------------

    def update(self) -> dict[str, float]:
        """Epochs over the rollout in mini-batches; the means of value loss, surrogate loss and entropy."""
        if not self.explicit:
            return super().update()
        with torch.no_grad():
            return self._update()

    def _update(self) -> dict[str, float]:
        self._flat.adopt()
        st, losses = self.storage, []
        order = torch.randperm(self.num_mini_batches * self._size)
        batches = list(self._batches(order))
        for _ in range(self.num_learning_epochs):
            for batch in batches:
                losses.append(self._mini_batch(*batch, moved=bool(losses)))
                if self.is_multi_gpu:
                    self._flat.average(self.gpu_world_size)
                self._flat.step(self.max_grad_norm)
        observations = st.observations.flatten(0, 1)
        self.actor.update_normalization(observations)  # pyright: ignore[reportArgumentType]
        self.critic.update_normalization(observations)  # pyright: ignore[reportArgumentType]
        # what `output_std` tells of: the policy as it is now
        self._spread_now()
        self.actor.distribution.update(self._mean[-1])  # pyright: ignore[reportOptionalMemberAccess]
        st.clear()
        value, surrogate, entropy = (sum(column) / len(losses) for column in zip(*losses, strict=True))
        return {"value": value, "surrogate": surrogate, "entropy": entropy}

    def _batches(self, order: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Of each mini-batch the arrays that `_mini_batch` takes."""
        st = self.storage
        observations = {name: kept.flatten(0, 1)[order] for name, kept in self._observations.items()}
        assert st.distribution_params is not None
        mean, std = st.distribution_params
        arrays = (
            _latent(self.actor, observations),
            _latent(self.critic, observations),
            *(array.flatten(0, 1)[order] for array in (st.actions, mean, std)),
            *(a.flatten()[order] for a in (st.actions_log_prob, st.advantages, st.returns, st.values)),
        )
        for batch in zip(*(array.split(self._size) for array in arrays), strict=True):
            if self.normalize_advantage_per_mini_batch:
                batch = (*batch[:6], _normalized(batch[6]), *batch[7:])
            yield batch

    def _mini_batch(
        self, actor_latent: Tensor, critic_latent: Tensor, actions: Tensor, old_mean: Tensor, old_std: Tensor,
        old_log_prob: Tensor, advantages: Tensor, returns: Tensor, old_values: Tensor, *, moved: bool,
    ) -> tuple[float, float, float]:  # fmt: skip
        """Writes the gradients and sets the learning rate; losses of values and of the surrogate, and the entropy.

        `moved`: whether the policy is another than that of the rollout.
        """
        (count, width), clip = actions.shape, self.clip_param
        self._spread_now()
        deviation = self._deviation
        # the actor
        mean = self._actor.forward(actor_latent)
        # a divergence of 0 changes no rate: before the first step it is that, or what rounding makes of it
        if moved and self.desired_kl is not None and self.schedule == "adaptive":
            self._adapt(old_mean, old_std, mean)
        z = torch.sub(actions, mean, out=mean).div_(deviation)
        squares = z.square()
        log_volume = float(self._log_deviation.sum())
        ratio = torch.mv(squares, torch.full_like(deviation, -0.5))
        ratio.sub_(old_log_prob).sub_(log_volume + 0.5 * width * _LOG_2PI).exp_()
        free = torch.mul(advantages, ratio).neg_()
        held = ratio.clamp_(1 - clip, 1 + clip).mul_(advantages).neg_()
        surrogate = float(torch.maximum(free, held).mean())
        weight = free.mul_(free >= held).div_(count)
        to_log = torch.mv(squares.t(), weight).sub_(weight.sum()).sub_(self.entropy_coef)
        # where the deviation is held at a bound, its parameter changes nothing
        to_log.mul_((self._spread.data >= self._range[0]) & (self._spread.data <= self._range[1]))
        if not self._is_log:
            to_log.div_(deviation)
        self._flat.gradients[id(self._spread)].copy_(to_log)
        self._actor.backward(z.mul_(weight[:, None]).div_(deviation))
        # the critic
        values = self._critic.forward(critic_latent)[:, 0]
        slope = values - returns
        value_loss = slope.square()
        if self.use_clipped_value_loss:
            moved_by = values - old_values
            clipped = (old_values + moved_by.clamp(-clip, clip)).sub_(returns).square_()
            slope.mul_((value_loss >= clipped) | (moved_by.abs_() <= clip))
            value_loss = torch.maximum(value_loss, clipped)
        self._critic.backward(slope.mul_(2 * self.value_loss_coef / count)[:, None])
        entropy = log_volume + 0.5 * width * (1 + _LOG_2PI)
        return float(value_loss.mean()), surrogate, entropy

    def _adapt(self, old_mean: Tensor, old_std: Tensor, mean: Tensor) -> None:
        """The learning rate follows KL(old || new) = sum_j (q_j - 1 - log q_j + ((m_o - m)_j / s_j)^2) / 2 with
        q_j = (s_o / s)_j^2, its mean over the batch."""
        # the deviations are the same in all samples of a rollout
        q = (old_std[0] / self._deviation).square_()
        moved = torch.sub(old_mean, mean).square_().sum(0).div_(self._deviation.square()).div_(mean.shape[0])
        kl = 0.5 * (q - 1 - q.log() + moved).sum()
        if self.is_multi_gpu:
            torch.distributed.all_reduce(kl)
            kl /= self.gpu_world_size
        # the same number on every process, and so the same rate
        found, wanted = float(kl), float(self.desired_kl)
        if found > 2 * wanted:
            self.learning_rate = max(1e-5, self.learning_rate / 1.5)
        elif 0 < found < 0.5 * wanted:
            self.learning_rate = min(1e-2, self.learning_rate * 1.5)
        self.optimizer.param_groups[0]["lr"] = self.learning_rate


def _latent(model: Any, observations: dict[str, Tensor]) -> Tensor:
    """(n, m) what the MLP of a model sees: its groups of observations side by side, normalized and cut off.

    A dict serves, where rsl_rl says that it wants a TensorDict.
    """
    return model.get_latent(observations)


def _normalized(advantages: Tensor) -> Tensor:
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)
