"""One answer: the bits do not depend on batch size, place in the batch, threads, instruction set, or on what the
workspace held before."""

import os
import subprocess
import sys

import batch_models
import numpy as np
import pytest
from batch_models import OUTPUTS, STATE, assert_same, everything, gym, shake, small
from places import ROOT

import dualstep as ds

STEPS = 25


def has(isa):
    try:
        ds.Batch(small(), 1, isa=isa)
    except ValueError:
        return False
    return True


SETS = [isa for isa in ("portable", "avx2", "avx512") if has(isa)]
MODELS = ["small", "humanoid", "ant"]


def the_model(name):
    return small() if name == "small" else gym(name)


def start_of(model, n, seed=0):
    """A start for each of n environments, other in each, as arrays by name."""
    sim = ds.Batch(model, n, num_threads=1)
    shake(sim, np.random.default_rng(seed))
    for _ in range(3):
        sim.step(5)
    return {name: getattr(sim, name).copy() for name in STATE}


def rollout(model, start, rows, steps=STEPS, **options):
    """Those rows of the start, in that order, stepped under controls that belong to the row."""
    sim = ds.Batch(model, len(rows), **options)
    for name, array in start.items():
        getattr(sim, name)[...] = array[rows]
    rng = np.random.default_rng(7)
    for _ in range(steps):
        controls = rng.uniform(-0.3, 0.3, start["ctrl"].shape).astype(np.float32)
        sim.ctrl[...] = controls[rows]
        sim.step(2)
    return everything(sim)


@pytest.mark.parametrize("name", MODELS)
def test_batch_size_and_place(name):
    model, n = the_model(name), 64
    start = start_of(model, n)
    whole = rollout(model, start, np.arange(n))
    order = np.random.default_rng(1).permutation(n)
    assert_same(rollout(model, start, order), whole, slice(None), order)
    for rows in ([5], [63, 0, 5, 17, 22, 3, 40], np.arange(33)):
        assert_same(rollout(model, start, np.asarray(rows)), whole, slice(None), rows)


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize("name", MODELS)
def test_instruction_sets_and_threads(name, isa):
    model = the_model(name)
    start = start_of(model, 37)
    rows, first = np.arange(37), rollout(the_model(name), start, np.arange(37), isa="portable", num_threads=1)
    for threads in (1, 2, 5):
        assert_same(rollout(model, start, rows, isa=isa, num_threads=threads), first)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_a_poisoned_workspace_shows_nowhere(name, dtype, monkeypatch):
    model = the_model(name)
    start = start_of(model, 21)
    plain = rollout(model, start, np.arange(21), dtype=dtype)
    monkeypatch.setenv("DUALSTEP_POISON", "1")
    assert_same(rollout(model, start, np.arange(21), dtype=dtype), plain)


@pytest.mark.parametrize("isa", SETS)
def test_parameters_of_single_environments_know_no_place(isa):
    model = small()
    start = start_of(model, 40)
    gravity = np.linspace(-12, -2, 40)[:, None] * [0, 0, 1]
    friction = np.linspace(0.1, 1, 40)[:, None, None] * model.geom_friction

    def run(rows, **options):
        sim = ds.Batch(model, len(rows), **options)
        sim.set_parameter("opt_gravity", gravity[rows])
        sim.set_parameter("geom_friction", friction[rows])
        for name, array in start.items():
            getattr(sim, name)[...] = array[rows]
        for _ in range(STEPS):
            sim.step(2)
        return everything(sim)

    whole = run(np.arange(40), isa="portable", num_threads=1)
    assert_same(run(np.arange(40), isa=isa, num_threads=2), whole)
    assert_same(run(np.array([39, 3, 11]), isa=isa), whole, slice(None), [39, 3, 11])


def test_run_to_run():
    start = start_of(gym("humanoid"), 33)
    first = rollout(gym("humanoid"), start, np.arange(33), num_threads=2)
    for _ in range(3):
        assert_same(rollout(gym("humanoid"), start, np.arange(33), num_threads=2), first)


@pytest.mark.parametrize("name", MODELS)
def test_substeps_are_steps(name):
    start = start_of(the_model(name), 33)
    one, many = ds.Batch(the_model(name), 33), ds.Batch(the_model(name), 33)
    for sim in (one, many):
        for field, array in start.items():
            getattr(sim, field)[...] = array
    one.step(12)
    for _ in range(12):
        many.step()
    assert one.residual.any()
    assert_same(everything(one), everything(many))


def test_forward_moves_nothing():
    sim, twin = ds.Batch(small(), 9), ds.Batch(small(), 9)
    shake(sim, np.random.default_rng(0))
    twin.qvel[...], twin.ctrl[...] = sim.qvel, sim.ctrl
    for _ in range(10):
        sim.forward()
        sim.step(2)
        twin.step(2)
    skip = ()
    assert_same(everything(sim), everything(twin), skip=skip)
    before = {name: getattr(sim, name).copy() for name in (*STATE, "time")}
    sim.forward()
    for name, array in before.items():
        assert getattr(sim, name).tobytes() == array.tobytes(), name
    # the outputs of forward() are those that the next step begins with
    now = {name: getattr(sim, name).copy() for name in OUTPUTS}
    sim.step()
    for name, array in now.items():
        assert getattr(sim, name).tobytes() == array.tobytes(), name


def python(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )


HEAD = f"""
import sys
sys.path.insert(0, {os.path.dirname(batch_models.__file__)!r})
import dualstep as ds
from batch_models import small
"""


def test_the_environment_chooses_the_instruction_set():
    program = HEAD + "print(ds.Batch(small(), 2).description)"
    for isa in SETS:
        assert isa in python(program, DUALSTEP_ISA=isa).stdout
    wrong = python(program, DUALSTEP_ISA="mmx")
    assert "DUALSTEP_ISA 'mmx'" in wrong.stderr and "'portable'" in wrong.stderr


def test_a_fork_says_what_is_wrong_and_a_single_thread_survives_it():
    program = (
        HEAD
        + """
import os
sim, single = ds.Batch(small(), 40, num_threads=2, isa="portable"), ds.Batch(small(), 40, num_threads=1)
sim.step()
pid = os.fork()
if pid == 0:
    single.step()
    try:
        sim.step()
        os._exit(3)
    except RuntimeError as error:
        if "forked" not in str(error):
            os._exit(4)
    child = ds.Batch(small(), 40, num_threads=2)
    child.step()
    sim.close()
    child.close()
    os._exit(0)
sim.step()
assert sim.time[0] == 0.008
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    done = python(program)
    assert done.returncode == 0, done.stderr


def test_threads_of_python_take_turns():
    import threading

    sim = ds.Batch(small(), 64, num_threads=2)
    twin = ds.Batch(small(), 64, num_threads=2)
    workers = [threading.Thread(target=lambda: [sim.step() for _ in range(50)]) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    twin.step(200)
    assert_same(everything(sim), everything(twin))


def test_stepping_lets_other_threads_of_python_run():
    import threading
    import time

    sim = ds.Batch(gym("humanoid"), 256, num_threads=1, isa="portable")
    count, stop = [0], threading.Event()

    def counting():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0.0005)

    worker = threading.Thread(target=counting)
    worker.start()
    before = count[0]
    sim.step(10)
    during = count[0] - before
    stop.set()
    worker.join()
    assert during > 5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_impacts_leave_rows_of_tendons_to_the_step(dtype):
    """They take no part in an impact, so that what another evaluation has left of them does not matter."""
    model = ds.Model.from_mjcf(ROOT / "tests" / "scenes" / "tendon_rows.xml")
    model.opt.contact_model, model.opt.cone, model.opt.integrator = "impulsive", "elliptic", "euler"
    rng, count = np.random.default_rng(1), 128
    speeds = rng.normal(0, 1, (count, model.nv)) * rng.choice([0.1, 1, 10], (count, 1))
    found = []
    for order in (np.arange(count), rng.permutation(count)):
        with ds.Batch(model, count, device="cpu", dtype=dtype, num_threads=1) as sim:
            sim.qvel = speeds[order].astype(dtype)
            for _ in range(100):
                sim.step()
            found.append(np.concatenate([sim.qpos, sim.qvel], axis=1)[np.argsort(order)])
    assert found[0].tobytes() == found[1].tobytes()
