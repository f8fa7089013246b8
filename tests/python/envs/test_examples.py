"""The examples of envs/examples: predictive sampling balances a pole and walks, a sweep finds its best trial."""

import importlib

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from dualstep.envs.examples import mpc


def test_predictive_sampling_holds_a_pole_up():
    model, cost = mpc.pendulum()
    planner = mpc.Planner(model, cost, samples=128, horizon=0.6, seed=0, num_threads=1)
    import dualstep as ds

    plants = {name: ds.Batch(model, 1, num_threads=1, dtype="float64") for name in ("planned", "left alone")}
    for plant in plants.values():
        plant.qpos[:, 1] = 0.15
    for _ in range(60):
        plant = plants["planned"]
        plant.ctrl[:] = planner.plan(plant.qpos[0], plant.qvel[0])
        for plant in plants.values():
            plant.step(planner.nsubsteps)
    assert abs(plants["left alone"].qpos[0, 1]) > 1
    assert abs(plants["planned"].qpos[0, 1]) < 0.1 and abs(plants["planned"].qpos[0, 0]) < 0.5


def test_predictive_sampling_walks():
    found = mpc.run("walker", samples=96, horizon=0.6, seconds=1.6, seed=0, num_threads=1)
    assert found["distance, m"] > 0.6 and found["least height, m"] > 1.0
    assert found["steps_per_second"] == pytest.approx(found["plans_per_second"] * 96 * 120)


def test_a_plan_moves_on_in_time():
    model, cost = mpc.pendulum()
    planner = mpc.Planner(model, cost, samples=2, noise=0.0, horizon=0.2, knots=3)
    planner._plan[:] = np.array([[0.0], [1.0], [2.0]])
    # ten steps on two intervals: a step is two ninths of one
    assert planner.plan(np.zeros(2), np.zeros(2)) == pytest.approx(2 / 9)


def test_a_sweep_tells_its_best(capsys):
    optuna = pytest.importorskip("optuna")
    pytest.importorskip("rsl_rl")
    from dualstep.envs.examples import sweep

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = sweep.main(["InvertedPendulum", "--trials", "2", "--steps", "6000"])
    assert len(study.trials) == 2 and study.best_value > 0
    assert "best return" in capsys.readouterr().out


@pytest.fixture
def sweep(monkeypatch):
    """The sweep, of trials that take no time."""
    optuna = pytest.importorskip("optuna")
    pytest.importorskip("rsl_rl")
    from dualstep.envs.examples import sweep

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    base = sweep.settings_of("InvertedPendulum")
    monkeypatch.setattr(sweep, "objective", lambda *_: lambda trial: sweep.suggested(trial, base).gamma)
    return sweep


def tried(study):
    return [trial.params for trial in study.trials]


def test_a_sweep_goes_on_where_it_was(sweep, tmp_path):
    words = ["InvertedPendulum", "--seed", "3", "--trials"]
    whole = tried(sweep.main([*words, "14"]))
    assert len({str(params) for params in whole}) == 14
    assert tried(sweep.main([*words, "14"])) == whole and tried(sweep.main(["InvertedPendulum"])) != whole[:8]
    kept = ["--storage", f"sqlite:///{tmp_path}/sweep.db"]
    assert tried(sweep.main([*words, "5", *kept])) == whole[:5]
    # another process of the same study is as far as the study is
    assert tried(sweep.main([*words, "9", *kept])) == whole


def test_a_sweep_that_is_interrupted_tells_what_is_kept(sweep, tmp_path, monkeypatch, capsys):
    quick = sweep.objective()

    def stopped(trial):
        if trial.number == 2:
            raise KeyboardInterrupt
        return quick(trial)

    monkeypatch.setattr(sweep, "objective", lambda *_: stopped)
    storage = f"sqlite:///{tmp_path}/sweep.db"
    for more, told in (
        (["--storage", storage], f"interrupted: 2 trials are kept in '{storage}', and the same command adds to them\n"),
        ([], "interrupted after 2 trials: none is kept without --storage, and the sweep begins anew\n"),
    ):
        with pytest.raises(SystemExit) as stop:
            sweep.main(["InvertedPendulum", *more])
        assert stop.value.code == 130 and capsys.readouterr().err == told
    states = [trial.state.name for trial in sweep.main(["InvertedPendulum", "--storage", storage, "--trials", "1"]).trials]
    assert states == ["COMPLETE", "COMPLETE", "FAIL", "COMPLETE"]


@pytest.mark.parametrize(
    ("example", "words", "told"),
    [
        ("mpc", ["--samples", "-8"], "argument --samples: '-8' is given, and it must be a positive integer"),
        ("mpc", ["--horizon", "0"], "argument --horizon: '0' is given, and it must be a positive number"),
        ("mpc", ["climber"], "argument robot: invalid choice: 'climber' (choose from"),
        ("sweep", ["Nope"], "there is no task 'Nope'"),
        ("sweep", ["InvertedPendulum", "--trials", "0"], "argument --trials: '0' is given"),
        ("sweep", ["InvertedPendulum", "--storage", "foo"], "--storage 'foo' is given, and a database such as sqlite:///"),
        ("sweep", ["InvertedPendulum", "--storage", "sqlite:////no/dir/x.db"], "unable to open database file"),
        ("sharded", ["Nope"], "there is no task 'Nope'"),
        ("ray_rollouts", ["Nope"], "there is no task 'Nope'"),
        ("ray_rollouts", ["Hopper", "--workers", "0"], "argument --workers: '0' is given"),
    ],
)
def test_an_example_refuses_in_a_line(example, words, told, capsys):
    for module in {"sweep": ("optuna", "rsl_rl"), "ray_rollouts": ("ray", "torch")}.get(example, ()):
        pytest.importorskip(module)
    main = importlib.import_module(f"dualstep.envs.examples.{example}").main
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2 and told in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "variables", "told"),
    [
        (["--num-envs", "5"], {"RANK": "3", "WORLD_SIZE": "9"}, "5 environments are given, and there are 9 processes"),
        (["--out", "file"], {}, "'file' is a file, and a folder is wanted"),
        (["--out", "file/in"], {}, "'file/in' is in a file, and a folder is wanted"),
        (["--out", ""], {}, "argument --out: '' is given, and it must be a path"),
        (["--device", "gpu7"], {}, "device 'gpu7' is given, and a device is 'cpu'"),
    ],
)
def test_shards_that_cannot_be_are_refused_in_a_line(words, variables, told, capsys, monkeypatch, tmp_path):
    from dualstep.envs.examples import sharded

    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stop:
        sharded.main(["Hopper", *words])
    assert stop.value.code == 2 and told in capsys.readouterr().err.splitlines()[-1]


def test_a_planner_without_samples_is_refused():
    with pytest.raises(ValueError, match="samples 0 is given, and it must be positive"):
        mpc.Planner(*mpc.pendulum(), samples=0)
