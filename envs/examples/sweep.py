"""A sweep of a task's settings with Optuna: trials that fall behind the others end early.

    pip install 'dualstep[train,sweep]'
    python -m dualstep.envs.examples.sweep InvertedPendulum --trials 8 --steps 1e5

Each trial trains with PPO on one thread and tells its return as it goes; a trial below the median of the others at the
same step is pruned. With `--storage sqlite:///sweep.db` several of these processes share one study.
"""

from __future__ import annotations

import argparse
from typing import Any

from dualstep.cli.common import count, not_negative, positive
from dualstep.envs import registry
from dualstep.envs.training.learner import Learner, Point
from dualstep.envs.training.settings import Settings, settings_of


def suggested(trial: Any, base: Settings) -> Settings:
    """What is varied: the learner's pace, how far it looks ahead, and how much it explores."""
    return base.replace(
        desired_kl=trial.suggest_float("desired_kl", 0.003, 0.05, log=True),
        gamma=1 - trial.suggest_float("one_minus_gamma", 0.001, 0.05, log=True),
        entropy=trial.suggest_float("entropy", 1e-4, 1e-2, log=True),
        num_steps=trial.suggest_categorical("num_steps", [8, 16, 32]),
    )


def objective(task: str, steps: int, seed: int) -> Any:
    import optuna

    def value(trial: Any) -> float:
        settings = suggested(trial, settings_of(task)).replace(total_steps=steps)
        learner = Learner(task, settings, seed=seed, device="cpu", num_threads=1)
        last = float("-inf")
        pruned = False

        def report(point: Point) -> bool:
            nonlocal last, pruned
            if point.episode_return == point.episode_return:
                last = point.episode_return
                trial.report(last, point.steps)
                pruned = trial.should_prune()
            return pruned

        try:
            learner.learn(steps, report=report)
        finally:
            learner.close()
        if pruned:
            raise optuna.TrialPruned()
        return last

    return value


def main(argv: list[str] | None = None) -> Any:
    import optuna

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task")
    parser.add_argument("--trials", type=positive, default=8)
    parser.add_argument("--steps", type=count, default=100_000)
    parser.add_argument("--seed", type=not_negative, default=0)
    parser.add_argument("--storage", help="a database that several processes share")
    args = parser.parse_args(argv)
    try:
        task, _ = registry.find(args.task)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    # steps differ between trials by their batches: a median is taken where another trial was at that step or before
    study = optuna.create_study(
        study_name=task, direction="maximize", storage=args.storage, load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=args.seed), pruner=optuna.pruners.MedianPruner(n_startup_trials=3),
    )  # fmt: skip
    study.optimize(objective(task, args.steps, args.seed), n_trials=args.trials)
    if not any(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials):
        raise SystemExit("no trial was completed, and there is no best one: more --trials are wanted")
    print(f"best return {study.best_value:.1f} with {study.best_params}")
    return study


if __name__ == "__main__":
    main()
