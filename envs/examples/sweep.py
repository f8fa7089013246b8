"""A sweep of a task's settings with Optuna: trials that fall behind the others end early.

    pip install 'dualstep[train,sweep]'
    python -m dualstep.envs.examples.sweep InvertedPendulum --trials 8 --steps 1e5

Each trial trains with PPO on one thread and tells its return as it goes; a trial below the median of the others at the
same step is pruned. With `--storage sqlite:///sweep.db` several of these processes share one study, and a later one
goes on with it. What is tried depends on the seed, the trial's number in its study, and the trials before it.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

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


def run(study: Any, value: Any, trials: int, seed: int) -> None:
    """Adds trials to the study, and a line on each; one that raises, or is interrupted, is marked as failed."""
    import optuna

    state = optuna.trial.TrialState
    for _ in range(trials):
        trial = study.ask()
        # numbers are of the study, whichever process asks: no two trials have the same random numbers
        words = np.random.SeedSequence([seed, trial.number]).generate_state(1)
        study.sampler = optuna.samplers.TPESampler(seed=int(words[0]))
        try:
            found = value(trial)
        except optuna.TrialPruned:
            study.tell(trial, state=state.PRUNED)
            print(f"trial {trial.number}: pruned, with {trial.params}", flush=True)
        except BaseException:
            study.tell(trial, state=state.FAIL)
            raise
        else:
            study.tell(trial, found)
            print(f"trial {trial.number}: return {found:.1f} with {trial.params}", flush=True)


def study_of(task: str, storage: str | None) -> Any:
    """The task's study, with the trials that the storage has; ValueError where that is none."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    # steps differ between trials by their batches: a median is taken where another trial was at that step or before
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3)
    try:
        return optuna.create_study(
            study_name=task, direction="maximize", storage=storage, load_if_exists=True, pruner=pruner
        )
    except (SQLAlchemyError, optuna.exceptions.OptunaError, ImportError, ValueError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"--storage {storage!r} is given, and a database such as sqlite:///sweep.db is wanted: {why}"
        ) from None


def interrupted(study: Any, storage: str | None) -> str:
    """What is kept, and how to go on."""
    done = len([trial for trial in study.trials if trial.state.name in ("COMPLETE", "PRUNED")])
    if storage is None:
        return f"interrupted after {done} trials: none is kept without --storage, and the sweep begins anew"
    return f"interrupted: {done} trials are kept in '{storage}', and the same command adds to them"


def main(argv: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task")
    parser.add_argument("--trials", type=positive, default=8)
    parser.add_argument("--steps", type=count, default=100_000)
    parser.add_argument("--seed", type=not_negative, default=0)
    parser.add_argument("--storage", help="a database that several processes share")
    args = parser.parse_args(argv)
    try:
        task, _ = registry.find(args.task)
        study = study_of(task, args.storage)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    try:
        run(study, objective(task, args.steps, args.seed), args.trials, args.seed)
    except KeyboardInterrupt:
        print(interrupted(study, args.storage), file=sys.stderr)
        raise SystemExit(130) from None
    if not any(trial.state.name == "COMPLETE" for trial in study.trials):
        raise SystemExit("no trial was completed, and there is no best one: more --trials are wanted")
    print(f"best return {study.best_value:.1f} with {study.best_params}")
    return study


if __name__ == "__main__":
    main()
