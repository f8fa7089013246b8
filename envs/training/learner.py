"""PPO on a task: rollouts, updates, what they cost, and the returns of the episodes that ended.

The loop is that of rsl_rl's runner with its own book-keeping: seconds are told apart (simulation, learning, the
rest), rewards are scaled for the learner and not for the reader, and a run can be stopped and gone on with.
With WORLD_SIZE processes (torchrun) gradients are averaged by rsl_rl, over gloo on CPUs and NCCL on GPUs; each
process has environments of its own, with seeds of their own.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dualstep.envs import assets, motors, registry
from dualstep.envs.adapters.rsl_rl import RslRlEnv
from dualstep.envs.groups import each_group
from dualstep.envs.saved import missing
from dualstep.envs.training.acting import Acting
from dualstep.envs.training.files import brought, write_checkpoint
from dualstep.envs.training.finite import check, explained, finite
from dualstep.envs.training.settings import Settings
from dualstep.envs.training.threads import torch_threads, wanted_threads

import torch
from rsl_rl.runners import OnPolicyRunner

FORMAT = 2


class CheckpointError(ValueError):
    """A file that is no checkpoint, or one of something else."""


class Point(NamedTuple):
    """One update of the policy."""

    iteration: int
    steps: int
    seconds: float
    episode_return: float
    episode_length: float
    episodes: int
    std: float
    learning_rate: float
    value_loss: float
    processor: float = 0.0
    """seconds of all threads of this process, as `seconds` are of the wall clock"""


def _leave_processes() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


class _Runner(OnPolicyRunner):
    """rsl_rl's, for any device and number of processes, and silent while it is made."""

    def _configure_multi_gpu(self) -> None:
        self.gpu_world_size = int(os.environ.get("WORLD_SIZE", "1"))
        self.is_distributed = self.gpu_world_size > 1
        self.gpu_global_rank = int(os.environ.get("RANK", "0"))
        self.gpu_local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.cfg["multi_gpu"] = None
        if not self.is_distributed:
            return
        self.cfg["multi_gpu"] = {
            "global_rank": self.gpu_global_rank,
            "local_rank": self.gpu_local_rank,
            "world_size": self.gpu_world_size,
        }
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if self.device.startswith("cuda") else "gloo")
            # gloo's threads must not outlive the interpreter: the process would end in std::terminate
            atexit.register(_leave_processes)


class Learner:
    """A policy for one task. `device`, `num_threads`: of the simulation; networks are where the arrays are."""

    def __init__(
        self,
        task: str,
        settings: Settings,
        *,
        seed: int = 0,
        device: str = "auto",
        num_threads: int = 0,
    ) -> None:
        self.task = task
        self.settings = settings
        self.seed = seed
        self.rank = int(os.environ.get("RANK", "0"))
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        if self.world > 1 and device == "cuda":
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        if device.startswith("cuda:"):
            # what NCCL gathers, and whatever names no device, is then there and not on the first GPU
            torch.cuda.set_device(device)
        torch.manual_seed(seed + 1000 * self.rank)
        self._first_seed = seed * 1_000_003 + self.rank * settings.num_envs
        self._diverged_before = 0
        self.diverged_everywhere = 0
        self.env = RslRlEnv(
            task,
            settings.num_envs,
            seed=self._first_seed,
            device=device,
            num_threads=num_threads,
            log=False,
            lanes="tuned",  # a training is long: its first seconds may go into finding out what is fastest
            **settings.learning_options(),
        )
        # what rsl_rl prints about its networks is no part of our progress
        with contextlib.redirect_stdout(io.StringIO()), _refused(settings):
            given = settings.rsl_rl_options.get("obs_groups", {})
            config = {**settings.rsl_rl(), "obs_groups": {**self.env.obs_groups, **given}}
            self._runner = _Runner(self.env, config, log_dir=None, device=str(self.env.device))
        self.algorithm = self._runner.alg
        self._spread = _spread(self.algorithm.get_policy().distribution, settings)
        _check_batches(self.algorithm, settings)
        groups = self.env.get_observations()
        observations = max(groups.get(name).shape[1] for name in groups.keys())  # a TensorDict: no plain dict
        self.torch_threads = wanted_threads(settings, observations, self.env.num_actions)
        self.curve: list[Point] = []
        self.iteration = 0
        self.steps = 0
        self.seconds = {"simulation": 0.0, "learning": 0.0, "glue": 0.0}
        self.finished: deque[tuple[float, float]] = deque(maxlen=100)
        self.episodes = 0
        self._return = torch.zeros(settings.num_envs, device=self.env.device)

    @property
    def batch_size(self) -> int:
        return self.settings.num_envs * self.settings.num_steps * self.world

    def learn(
        self, total_steps: int, *, seconds: float | None = None, report: Callable[[Point], bool | None] | None = None
    ) -> None:
        """Goes on until `total_steps` (of the whole training) or `seconds` (of this call); `report` may stop it."""
        self.algorithm.train_mode()
        if self.world > 1:
            self.algorithm.broadcast_parameters()
        if not self.curve:
            # episodes that do not all end together
            limit = int(self.env.max_episode_length)
            if limit < 2**31 - 1:
                self.env.episode_length_buf = torch.randint(limit, (self.env.num_envs,), device=self.env.device)
        with torch_threads(self.torch_threads), explained(self):
            self._learn(total_steps, seconds, report)

    def _learn(self, total_steps: int, seconds: float | None, report: Callable[[Point], bool | None] | None) -> None:
        begun = time.perf_counter()
        while self.steps < total_steps:
            point = self._iterate()
            self.curve.append(point)
            check(self, self.iteration)
            stop = report is not None and bool(report(point))
            stop = stop or (seconds is not None and time.perf_counter() - begun >= seconds)
            if self.agree(stop):
                break

    def agree(self, flag: bool) -> bool:
        """True on every process where it is on one: they stop together."""
        if self.world == 1:
            return flag
        votes = torch.tensor(float(flag), device=self.env.device)
        torch.distributed.all_reduce(votes)
        return bool(votes > 0)

    def _iterate(self) -> Point:
        start, processor = time.perf_counter(), time.process_time()
        simulation, learning = 0.0, 0.0
        settings, algorithm = self.settings, self.algorithm
        self.env.env.trained(self.done)
        observation = self.env.get_observations()
        with torch.inference_mode():
            for _ in range(settings.num_steps):
                before = time.perf_counter()
                action = algorithm.act(observation)
                middle = time.perf_counter()
                observation, reward, done, extras = self.env.step(action)
                after = time.perf_counter()
                lengths = extras["lengths"]
                self._count(reward, done, lengths)
                algorithm.process_env_step(observation, settings.reward_scale * reward, done, extras)
                simulation += after - middle
                learning += middle - before
            before = time.perf_counter()
            algorithm.compute_returns(observation)
        self._anneal()
        losses = algorithm.update()
        self._limit_exploration()
        learning += time.perf_counter() - before
        self.iteration += 1
        self.steps += self.batch_size
        whole = time.perf_counter() - start
        self.seconds["simulation"] += simulation
        self.seconds["learning"] += learning
        self.seconds["glue"] += whole - simulation - learning
        recent = list(self.finished)
        mean = [sum(column) / len(recent) for column in zip(*recent, strict=True)] if recent else [float("nan")] * 2
        return Point(
            self.iteration,
            self.steps,
            sum(self.seconds.values()),
            mean[0],
            mean[1],
            self.episodes,
            float(algorithm.get_policy().output_std.detach().mean()),
            float(algorithm.learning_rate),
            float(losses["value"]),
            (self.curve[-1].processor if self.curve else 0.0) + time.process_time() - processor,
        )

    @property
    def done(self) -> float:
        """The share of the training's steps that were taken."""
        return min(self.steps / self.settings.total_steps, 1.0)

    def _anneal(self) -> None:
        """Smaller updates towards the end, so that they average over more of what was seen."""
        settings, algorithm = self.settings, self.algorithm
        pace = 1.0 - self.done * (1.0 - settings.final_pace)
        if settings.desired_kl > 0:
            algorithm.desired_kl = pace * settings.desired_kl
            return
        algorithm.learning_rate = pace * settings.learning_rate
        for group in algorithm.optimizer.param_groups:
            group["lr"] = algorithm.learning_rate

    def _limit_exploration(self) -> None:
        settings = self.settings
        if settings.final_std is not None:
            most = settings.init_std + self.done * (settings.final_std - settings.init_std)
            name, parameter = self._spread
            with torch.no_grad():
                parameter.clamp_(max=math.log(most) if name == "log_std_param" else most)

    def _count(self, reward: torch.Tensor, done: torch.Tensor, lengths: torch.Tensor) -> None:
        self._return += reward
        ended = done.nonzero().flatten()
        if len(ended):
            self.finished.extend(zip(self._return[ended].tolist(), lengths[ended].tolist(), strict=True))
            self.episodes += len(ended)
            self._return[ended] = 0

    def weights(self) -> dict[str, Any]:
        """What the algorithm saves."""
        return self.algorithm.save()

    # checkpoints -------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Everything needed to go on, in one file; a run that is cut off while it writes leaves the old one.

        With several processes all of them call it, and the first one writes.
        """
        places = self._gathered(self._place())
        if self.rank:
            return
        env = self.env.env
        whole = {
            "dualstep": FORMAT,
            "task": self.task,
            # where a task of the user's own is found again
            "source": registry.find(self.task)[1].source,
            # and what else are files of the user's own
            **brought(env.task),
            "settings": self.settings.as_dict(),
            "seed": self.seed,
            "iteration": self.iteration,
            "steps": self.steps,
            "seconds": dict(self.seconds),
            "episodes": self.episodes,
            "finished": list(self.finished),
            "curve": [tuple(point) for point in self.curve],
            "algorithm": self.algorithm.save(),
            "randomization": env.randomization,
            "dtype": env.sim.dtype.name,
            "places": places,
            "policies_agree": all(place["policy"] == places[0]["policy"] for place in places),
        }
        write_checkpoint(path, whole)

    def _place(self) -> dict[str, Any]:
        """Where this process is: its random numbers, its environments, the episodes in them, what networks remember."""
        state = {name: torch.from_numpy(array.copy()) for name, array in self.env.env.state().items()}
        place = {
            "random": torch.get_rng_state(),
            "environments": state,
            "observation": each_group(self.env.observation, lambda array: array.cpu().clone()),
            "returns": self._return.cpu().clone(),
            "diverged": self.diverged,
            "hidden": [_copied(network.get_hidden_state(), "cpu") for network in self._networks],
            "policy": _fingerprint(self.algorithm.get_policy()),
            "curiosity": _curiosity(self.algorithm),
        }
        if self.env.device.type == "cuda":
            place["random_device"] = torch.cuda.get_rng_state(self.env.device)
        return place

    @property
    def _networks(self) -> tuple[Any, Any]:
        """Actor and critic, each of which may be recurrent."""
        return self.algorithm.actor, self.algorithm.critic

    def _remembers(self, place: dict[str, Any]) -> bool:
        """Whether a place of a checkpoint has what these networks remember: a hidden state of each that is recurrent,
        or None where it has seen nothing yet."""
        given = place.get("hidden")
        if given is None:
            return not any(network.is_recurrent for network in self._networks)
        return all(hidden is None or _fits(hidden, self.env.num_envs) for hidden in given)

    def _gathered(self, mine: Any) -> list[Any]:
        if self.world == 1:
            return [mine]
        everyone: list[Any] = [None] * self.world
        torch.distributed.all_gather_object(everyone, mine)
        return everyone

    def count_everywhere(self) -> None:
        """Adds up what the processes counted; all of them call it."""
        self.diverged_everywhere = sum(self._gathered(self.diverged))

    def load(self, path: Path) -> bool:
        """Goes on from a checkpoint of the same task and networks: exactly where it was (true), or, where there are
        other numbers of processes or environments, no hidden states of recurrent networks, or states of environments
        without arrays that these have, with episodes that begin anew (false)."""
        whole = read_checkpoint(path, self.task)
        try:
            self.algorithm.load(whole["algorithm"], None, True)
        except (RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path} holds another network than these settings make: {_line(error)}") from None
        self.iteration, self.steps = whole["iteration"], whole["steps"]
        self.seconds, self.episodes = dict(whole["seconds"]), whole["episodes"]
        self.curve = [Point(*values) for values in whole["curve"]]
        self.finished = deque([tuple(pair) for pair in whole["finished"]], maxlen=100)
        places, env = whole["places"], self.env.env
        self._diverged_before = places[self.rank]["diverged"] if self.rank < len(places) else 0
        same = len(places) == self.world and len(places[0]["returns"]) == env.num_envs
        same = same and whole["dtype"] == env.sim.dtype.name and whole["randomization"] == _plain(env.randomization)
        same = same and whole["settings"]["task_options"] == _plain(self.settings.task_options)
        same = same and self._remembers(places[self.rank])
        same = same and not missing(env, places[self.rank]["environments"])
        if self.agree(not same):
            self._begin_anew()
            return False
        place = places[self.rank]
        env.load_state({name: tensor.numpy() for name, tensor in place["environments"].items()})
        # what it counted before is in `diverged` already
        env.diverged_count = 0
        self.env.observation = each_group(place["observation"], lambda array: array.to(self.env.device))
        self._return = place["returns"].to(self.env.device)
        for network, hidden in zip(self._networks, place.get("hidden", (None, None)), strict=True):
            if network.is_recurrent:
                network.reset(hidden_state=_copied(hidden, self.env.device))
        if place.get("curiosity"):
            _go_on_curiously(self.algorithm, place["curiosity"], self.env.device)
        torch.set_rng_state(place["random"])
        if "random_device" in place and self.env.device.type == "cuda":
            torch.cuda.set_rng_state(place["random_device"], self.env.device)
        return True

    def _begin_anew(self) -> None:
        """Environments go on with episodes that were not seen before, and networks remember nothing."""
        for network in self._networks:
            network.reset()
        self.env.restart(seed=self._first_seed + 7919 * (self.iteration + 1))

    @property
    def nonfinite(self) -> dict[str, int]:
        """By function of the task: environments and steps of this process in which it gave what is not finite."""
        return dict(self.env.env.nonfinite_counts)

    @property
    def diverged(self) -> int:
        """Environments of this process that diverged and began anew, since the training began."""
        return self._diverged_before + self.env.env.diverged_count

    def policy(self) -> Acting:
        """Without exploration."""
        self.algorithm.eval_mode()
        return Acting(self.algorithm.get_policy(), self.env)

    def close(self) -> None:
        self.env.close()


# networks beyond are no policies, and take all memory there is
_DEEPEST, _WIDEST = 32, 16_384
# what a checkpoint holds, by type
_CONTENTS: dict[str, type | tuple[type, ...]] = {
    "task": str, "source": (str, type(None)), "model": (tuple, list, type(None)), "settings": dict, "iteration": int,
    "steps": int, "seconds": dict, "episodes": int, "finished": list, "curve": list, "algorithm": dict, "dtype": str,
    "places": list,
}  # fmt: skip


def read_checkpoint(path: Path, task: str | None = None, *, trust: bool = False) -> dict[str, Any]:
    """The contents of a checkpoint; refused where it is none, or of another task.

    Nothing in it is run. A task of the user's own is known by `registry.find` before, or with `trust` is imported from
    the file or module that the checkpoint names.
    """
    try:
        whole = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint '{path}'") from None
    except Exception as error:
        raise CheckpointError(f"'{path}' is no checkpoint of dualstep ({type(error).__name__})") from None
    if not isinstance(whole, dict) or whole.get("dualstep") != FORMAT:
        raise CheckpointError(f"'{path}' is no checkpoint of this version of dualstep")
    wrong = [name for name, kind in _CONTENTS.items() if name not in whole or not isinstance(whole[name], kind)]
    if wrong:
        raise CheckpointError(f"'{path}' is a damaged checkpoint: it has no {', no '.join(wrong)} of the right type")
    if task is not None and whole["task"] != task:
        raise CheckpointError(f"'{path}' is a checkpoint of {whole['task']}, and {task} is wanted")
    if not finite((whole["algorithm"], whole.get("actor"))):
        raise CheckpointError(f"'{path}' holds a policy whose weights are no numbers")
    if whole["task"] not in registry.names():
        source = whole["source"]
        if source is None or not trust:
            of = f", which is to be imported from '{source}'" if source else ""
            raise CheckpointError(
                f"'{path}' is a checkpoint of the task {whole['task']}{of}: no code is run that a checkpoint names; "
                "--task FILE.py:CLASS says where yours is, and --trust imports what the checkpoint names"
            )
        if registry.find(source)[0] != whole["task"]:
            raise CheckpointError(f"'{path}' is a checkpoint of the task {whole['task']}, and '{source}' is another")
    model = whole["model"]
    if model and not (len(model) == 2 and isinstance(model[0], str) and isinstance(model[1], bytes)):
        raise CheckpointError(f"'{path}' is a damaged checkpoint: its model is no name and bytes")
    if model:
        # the policy knows this model: from now on the task has it, wherever its file is
        name, stored = model
        assets.keep(registry.task_class(registry.find(whole["task"])[1]), name, stored)
    motor = whole.get("motor")
    if motor:
        fits = isinstance(motor, (tuple, list)) and [type(part) for part in motor] == [str, bytes]
        if not fits or motors.runs_code(motor[0]):
            raise CheckpointError(f"'{path}' is a damaged checkpoint: its motor model is no name and bytes of an .npz")
        motors.keep(*motor)
    return whole


def check_code(settings: Settings, path: Path, trust: bool, said: Sequence[str] | None = None) -> None:
    """CheckpointError where the settings of a checkpoint name classes, functions or TorchScript of somebody's own;
    `said` are those that the user of `train`, which trusts none, gives himself."""
    if trust:
        return

    def how(name: str, does: str) -> str:
        return f"--trust {does} it" if said is None else f"--set {name}=... says it once more"

    if (code := settings.code()) and "rsl_rl_options" not in (said or ()):
        raise CheckpointError(
            f"'{path}' was trained with '{code[0]}', as its rsl_rl_options say: no code is run that a checkpoint "
            f"names; {how('rsl_rl_options', 'imports')}"
        )
    motor = settings.task_options.get(motors.OPTION)
    option = f"task.{motors.OPTION}"
    if motors.runs_code(motor) and option not in (said or ()):
        raise CheckpointError(
            f"'{path}' was trained with the TorchScript of its motor_model {motor!r}: no code is run that a checkpoint "
            f"names; {how(option, 'loads')}"
        )


@contextlib.contextmanager
def _refused(settings: Settings) -> Iterator[None]:
    """What rsl_rl cannot make of `rsl_rl_options` is a ValueError that names them."""
    try:
        yield
    except Exception as error:
        if not settings.rsl_rl_options:
            raise
        kind = "" if isinstance(error, (TypeError, ValueError)) else f"{type(error).__name__}: "
        told = f"{kind}{_line(error)}"
        raise ValueError(f"rsl_rl_options {settings.rsl_rl_options!r} are refused by rsl_rl: {told}") from error


def _spread(distribution: Any, settings: Settings) -> tuple[str, torch.Tensor]:
    """The parameter that is a policy's deviation in all states, or its logarithm, and its name; ValueError where
    `final_std` wants one and there is none."""
    if distribution is None:
        raise ValueError(f"rsl_rl_options {settings.rsl_rl_options!r} are given, and an actor must have a distribution")
    for name in ("log_std_param", "std_param"):
        if hasattr(distribution, name):
            return name, getattr(distribution, name)
    if settings.final_std is not None:
        raise ValueError(
            f"final_std {settings.final_std} is given, and a {type(distribution).__name__} has no deviation that is "
            "the same in all states: --set final_std=None leaves exploration alone"
        )
    return "", torch.empty(0)


def _check_batches(algorithm: Any, settings: Settings) -> None:
    """ValueError where a mini-batch would hold nothing, which recurrent networks learn nothing from without a word."""
    recurrent, batches = algorithm.actor.is_recurrent or algorithm.critic.is_recurrent, algorithm.num_mini_batches
    if batches > settings.num_envs * (1 if recurrent else settings.num_steps):
        of = f"recurrent networks learn from whole environments, of which there are {settings.num_envs}"
        whole = of if recurrent else f"there are {settings.num_envs * settings.num_steps} samples"
        raise ValueError(f"{batches} mini_batches are given, and {whole}")


def _line(error: Exception) -> str:
    """What an error says, in a line."""
    return " ".join(str(error).split())[:300]


def _copied(hidden: Any, device: Any) -> Any:
    """The hidden state of a network, on a device and in memory of its own: a tensor (GRU), two (LSTM), or None."""
    if isinstance(hidden, tuple):
        return tuple(_copied(part, device) for part in hidden)
    return None if hidden is None else hidden.detach().to(device, copy=True)


def _curiosity(algorithm: Any) -> tuple[int, Any] | None:
    """What intrinsic rewards (rsl_rl's `rnd_cfg`) have beside weights: steps that were paid, their running average."""
    if not algorithm.rnd:
        return None
    average = getattr(algorithm.rnd.reward_normalizer, "disc_avg", None)
    return algorithm.rnd.update_counter, None if average is None else _copied(average.avg, "cpu")


def _go_on_curiously(algorithm: Any, found: tuple[int, Any], device: Any) -> None:
    """Goes on from what `_curiosity` gave."""
    algorithm.rnd.update_counter, average = found
    if average is not None:
        algorithm.rnd.reward_normalizer.disc_avg.avg = _copied(average, device)


def _fits(hidden: Any, num_envs: int) -> bool:
    """Whether this is a hidden state of so many environments: (layers, num_envs, width), or two of them."""
    parts = hidden if isinstance(hidden, tuple) else (hidden,)
    return all(isinstance(part, torch.Tensor) and part.dim() == 3 and part.shape[1] == num_envs for part in parts)


def _fingerprint(network: torch.nn.Module) -> str:
    """Of all weights, which the processes of one training share."""
    weights = [parameter.detach().cpu().numpy().tobytes() for parameter in network.parameters()]
    return hashlib.sha256(b"".join(weights)).hexdigest()


def _plain(value: Any) -> Any:
    """As it comes out of a file."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return type(value)(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def settings_from(whole: dict[str, Any]) -> Settings:
    values = dict(whole["settings"])
    try:
        hidden = values["hidden"] = tuple(values["hidden"])
        if len(hidden) > _DEEPEST or any(isinstance(width, int) and width > _WIDEST for width in hidden):
            raise ValueError(f"hidden is {hidden}, of at most {_DEEPEST} layers of {_WIDEST}")
        return Settings(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"the settings in the checkpoint are none of the learner's: {error}") from None
