"""A process ends, forks, runs out of memory and is told to stop while batches step."""

import copy
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from places import ROOT

import dualstep as ds

HUMANOID = ROOT / "bench" / "models" / "humanoid.xml"
HOME = str(pathlib.Path(ds.__file__).parents[1])


def run(script, **options):
    """A process of its own, whose end is looked at."""
    path = os.pathsep.join(filter(None, [HOME, os.environ.get("PYTHONPATH")]))
    begin = f"import dualstep as ds, numpy as np\nmodel = ds.Model.from_mjcf({str(HUMANOID)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", begin + script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        timeout=600, **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    "work",
    [
        "batch.step()", "batch.step(100)", "batch.reset(); batch.forward()", "batch.load(batch.save())",
        "reference.step(3)", "batch.ray(origins, directions)", "batch.rollout(controls, outputs=('qpos', 'xpos'))",
        "batch.set_parameter('opt_gravity', gravity)", "environment.step(actions)",
    ],
)  # fmt: skip
def test_a_daemon_thread_may_work_while_the_interpreter_ends(work):
    of_environments = """
import dualstep.envs
environment = dualstep.envs.make("dualstep/Hopper-v0", 64, num_threads=2)
environment.reset(seed=0)
actions = environment.action_space.sample()
"""
    if "environment" in work:
        pytest.importorskip("gymnasium")
    ended = run(f"""
import threading, time
{of_environments if "environment" in work else ""}
batch, reference, turns = ds.Batch(model, 64, num_threads=2), ds.Reference(model), []
origins, directions = np.zeros((64, 100, 3)), np.ones((64, 100, 3))
controls, gravity = np.zeros((10, 64, model.nu)), np.arange(3 * 64 * 1.0).reshape(64, 3) * 1e-3 - 9
def work():
    while True:
        {work}
        turns.append(True)
thread = threading.Thread(target=work, daemon=True)
thread.start()
began = time.monotonic()
while len(turns) < 2 or time.monotonic() - began < 0.2:
    assert thread.is_alive()
    time.sleep(0.003)
print("ends")
""")
    assert (ended.returncode, ended.stdout) == (0, "ends\n"), ended.stderr


def test_a_child_that_was_forked_amid_a_step_is_told_so():
    batch, stop = ds.Batch(ds.Model.from_mjcf(HUMANOID), 256, num_threads=2), []

    def work():
        while not stop:
            batch.step(4)

    thread = threading.Thread(target=work)
    thread.start()
    found = []
    # some, until one was made amid a step
    while len(found) < 12 or (not any(found) and len(found) < 200):
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            try:
                batch.save([0])
                os._exit(0)
            except RuntimeError as error:
                os._exit(1 if "forked while another thread" in str(error) else 2)
            except BaseException:
                os._exit(3)
        found.append(os.waitpid(child, 0)[1])
    stop.append(True)
    thread.join()
    # either between steps, or told at once; nobody waits for ever
    assert {os.waitstatus_to_exitcode(status) for status in found} <= {0, 1}
    assert any(found)


def test_a_child_saves_what_its_parent_has():
    batch = ds.Batch(ds.Model.from_mjcf(HUMANOID), 5, num_threads=2)
    batch.step(3)
    wanted, (reading, writing) = batch.save(), os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os.write(writing, b"same" if batch.save() == wanted else b"other")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 10) == b"same"


def test_memory_that_ends_amid_a_step_changes_nothing():
    ended = run("""
import resource
batch, twin = (ds.Batch(model, 3000, num_threads=1) for _ in range(2))
control = np.random.default_rng(0).uniform(-1, 1, batch.ctrl.shape)
batch.ctrl[:] = twin.ctrl[:] = control
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 20), resource.RLIM_INFINITY))
kept, failed = [], 0
try:
    while True:
        kept.append(np.ones(2**12))
except MemoryError:
    pass
try:
    batch.step()
except MemoryError:
    failed += 1
kept.clear()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
if failed:
    batch.step()
batch.step(2)
twin.step(3)
print(failed, batch.save() == twin.save())
""")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "1 True\n", ended.stdout


# what takes longer than anybody waits, if nobody asks for signals: every call that can be long
LONG = {
    "step": "batch.step(10**8)",
    "first step": "ds.Batch(model, 512, num_threads=2).step(10**8)",
    "substeps of many": "many.step(10**8)",
    "forward of many": "[many.forward() for _ in range(10**8)]",
    "reset of many": "[many.reset() for _ in range(10**8)]",
    "outputs of many": "[getattr(many, name) for name, *_ in ds._core.batch_fields()]",
    "reference": "reference.step(10**8)",
    "rollout": "batch.rollout(np.zeros((10**5, 512, model.nu), np.float32), nsubsteps=20, outputs=())",
    "parameters": "batch.set_parameter('opt_gravity', np.arange(3 * 512 * 1.0).reshape(512, 3) * 1e-3 - 9)\n    " * 40,
    "load": "[batch.load(own) for _ in range(10**4)]",
    "ray": "batch.ray(np.zeros((512, 40000, 3), np.float32), np.ones((512, 40000, 3), np.float32))",
    "sensors": "any(batch.sensordata is None for _ in range(10**10))",
    "a law, many times": "F.contact_dual(np.tile(hard[0], (200, 1, 1)), np.tile(hard[1], (200, 1)), np.tile(hard[2], (200, 1)))",
    "a law, once": "F.contact_dual(*hard)",
}


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_ends_any_call_soon(what):
    late = []
    # the machine that tests run on is shared: the best of three
    while len(late) < 3 and not (late and late[-1] < 0.2):
        ended = run(f"""
import signal, time
import dualstep.formulations as F
batch, reference = ds.Batch(model, 512, num_threads=2), ds.Reference(model)
batch.step()
own = None
# an evaluation takes longer than anybody waits
many = ds.Batch(model, 40000, num_threads=2) if "of many" in {what!r} else None
if many:
    many.xpos
if {what!r} == "load":
    batch.set_parameter("opt_gravity", np.arange(3 * 512 * 1.0).reshape(512, 3) * 1e-3 - 9)
    own = batch.save()
    batch.reset()
if "law" in {what!r}:
    rng, n = np.random.default_rng(0), {40 if "many" in what else 200}
    J = rng.normal(size=(3 * n, n))
    hard = J @ J.T, J @ rng.normal(size=n), np.full(n, 0.5)
# as Ctrl-C does, and no thread of Python has to run for it
signal.signal(signal.SIGALRM, signal.default_int_handler)
told = time.monotonic() + 0.4
signal.setitimer(signal.ITIMER_REAL, 0.4)
try:
    {LONG[what]}
    print("ended by itself")
except KeyboardInterrupt:
    print("late by", time.monotonic() - told)
# sound: finite, equal to itself, and it goes on
before = batch.save()
other = ds.Batch(model, 512, num_threads=1)
other.load(before)
batch.step(2)
other.step(2)
assert batch.save() == other.save() and np.isfinite(batch.qpos).all() and np.isfinite(reference.qpos).all()
""")
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("late by"), ended.stdout
        late.append(float(ended.stdout.split()[-1]))
    assert min(late) < 0.2


def test_ctrl_c_amid_advance_keeps_a_sound_state():
    model = ds.Model.from_mjcf(
        "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 1'>"
        "<freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    model.opt.scheme, model.opt.contact_model, model.opt.restitution = "event_driven", "impulsive", 0.5
    reference = ds.Reference(model)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            reference.advance(1e7)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 3 and np.isfinite(reference.qpos).all() and reference.time > 0
    reference.advance(0.01)


@pytest.mark.parametrize("asked", ["save", "step", "reset", "xpos", "reference.step", "reference.reset"])
def test_a_handler_that_asks_what_it_interrupts_is_told_so(asked):
    """It would wait for the call, and the call for it; in a process of its own, which a deadlock ends."""
    ended = run(f"""
import faulthandler, signal, time
faulthandler.dump_traceback_later(60, exit=True)
batch, reference, told = ds.Batch(model, 64, num_threads=1), ds.Reference(model), []
twin, other = ds.Batch(model, 64, num_threads=1), ds.Reference(model)
def handler(*_):
    try:
        {"" if "reference" in asked else "batch."}{asked}{"" if asked == "xpos" else "()"}
    except RuntimeError as error:
        told.append(str(error))
def both(count, seconds):
    # the signals come amid the first call
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    {"reference" if "reference" in asked else "batch"}.step(count)
    signal.setitimer(signal.ITIMER_REAL, 0)
    {"other" if "reference" in asked else "twin"}.step(count)
signal.signal(signal.SIGALRM, handler)
count, took = 10, 0
while took < 0.6:
    count, began = 2 * count, time.perf_counter()
    both(count, 0)
    took = time.perf_counter() - began
for _ in range(20):
    if not told:
        both(count, 0.05)
assert told and all("amid a call" in text for text in told), told
# what a handler changes between calls, before the timer stops, is changed
same = batch.save() == twin.save() if {asked!r} in ("save", "xpos") else np.isfinite(batch.qpos).all()
print(same, "step" in {asked!r} or "reset" in {asked!r} or (reference.qpos == other.qpos).all())
batch.step()
reference.step()
""")
    assert (ended.returncode, ended.stdout) == (0, "True True\n"), ended.stderr


# use after close, and views that outlive what they are of ------------------------------------------------------

TOUCHING = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
<body pos="0 0 .095"><freejoint/><geom size=".1" mass="2"/><site name="s" size=".2"/></body>
<body pos="1 0 1"><joint name="h" axis="0 1 0"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="h"/></actuator>
<sensor><touch name="felt" site="s"/></sensor><keyframe><key/></keyframe></mujoco>"""


def test_a_closed_batch_refuses_every_call():
    batch = ds.Batch(ds.Model.from_mjcf(TOUCHING), 3, num_threads=2)
    qpos, state, mask = batch.qpos, batch.save(), np.array([True, False, True])
    batch.close()
    calls = [
        batch.step, batch.forward, batch.reset, batch.summary, batch.clear_status, batch.contacts, batch.save,
        batch.mass_matrix, batch.wait, lambda: batch.load(state), lambda: batch.qvel, lambda: batch.sensordata,
        lambda: batch.inspect("LD"), lambda: batch.set_parameter("opt_gravity", [0, 0, -1]),
        lambda: batch.get_parameter("opt_gravity"), lambda: batch.clear_status(mask), lambda: batch.reset(mask),
        lambda: batch.forward(mask), lambda: batch.reset(keyframe=0), lambda: batch.sensor("felt"),
        lambda: batch.ray(np.zeros((3, 1, 3)), np.ones((3, 1, 3))), lambda: batch.rollout(np.zeros((2, 3, 1))),
        lambda: batch.rollout(np.zeros((2, 3, 1)), outputs=()), lambda: batch._core.want(["xpos"]), lambda: len(batch),
        lambda: batch.description, lambda: setattr(batch, "qpos", 0),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match="this batch is closed"):
            call()
    with pytest.raises(TypeError, match="closed"):
        copy.deepcopy(batch)
    batch.close()
    assert "closed" in repr(batch)
    qpos[:] = 1
    assert (qpos == 1).all()


@pytest.mark.parametrize("kind", ["batch", "mixed", "single"])
def test_a_closed_environment_refuses_every_call(kind):
    gymnasium = pytest.importorskip("gymnasium")
    import dualstep.envs

    name, mask = "dualstep/Hopper-v0", {"reset_mask": np.array([True, False])}
    environment = {
        "batch": lambda: dualstep.envs.make(name, 2, num_threads=1),
        "mixed": lambda: dualstep.envs.make(name, 2, num_threads=1, contact=["todorov", "anitescu"]),
        "single": lambda: gymnasium.make(name),
    }[kind]()
    environment.reset(seed=0)
    actions = environment.action_space.sample()
    calls = [lambda: environment.step(actions), environment.reset, lambda: environment.reset(seed=1)]
    if kind != "single":
        state = environment.state()
        calls += [environment.state, lambda: environment.load_state(state)]
    if kind == "batch":
        calls.append(lambda: environment.reset(options=mask))
    for call in calls:
        call()
    environment.close()
    for call in calls:
        with pytest.raises(RuntimeError, match="this batch is closed"):
            call()
    environment.close()


def test_views_outlive_their_batch_and_their_model():
    model = ds.Model.from_mjcf(TOUCHING)
    model.opt.contact_model, model.opt.timestep = "soft_anchor", 5e-4
    batch = ds.Batch(model, 64, num_threads=2)
    batch.step()
    fields = [name for name, *_ in ds._core.batch_fields()]
    views = {name: getattr(batch, name) for name in fields}
    views |= {f"last {name}": batch._core.last(name) for name in fields if batch._core.last(name) is not None}
    views |= {f"contacts().{name}": array for name, array in batch.contacts()._asdict().items()}
    views["sensor()"] = batch.sensor("felt")
    # there is something in what is looked at
    assert all(views[name].any() for name in ("anchors", "qacc_warmstart", "contacts().force", "sensor()", "last qpos"))
    kept = {name: view.copy() for name, view in views.items()}
    mass = batch.model.body_mass
    del batch, model
    others = [ds.Batch(ds.Model.from_mjcf(TOUCHING), 64, num_threads=2) for _ in range(4)]
    for other in others:
        other.qpos[:] = -1
        other.step()
    for name, view in views.items():
        np.testing.assert_array_equal(view, kept[name], err_msg=name)
    for view in views.values():
        view[...] = 0
    assert mass.sum() > 1


def test_copies_share_nothing():
    model = ds.Model.from_mjcf(HUMANOID)
    batch = ds.Batch(model, 8, num_threads=2, diverged="reset")
    batch.set_parameter("opt_gravity", [0, 0, -5], envs=[2])
    batch.step(5)
    for other in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), copy.copy(batch)):
        assert other.save() == batch.save() and other.diverged == "reset"
        other.step(3)
        before = batch.save()
        other.qpos[:] = 0
        assert batch.save() == before
