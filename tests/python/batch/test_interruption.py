"""Ctrl-C is heard soon amid any long call, and leaves nothing half made.

How late it is heard counts in seconds of this process, which a loaded machine does not stretch.
"""

import os
import signal
import threading
import time

import mujoco
import numpy as np
import pytest
from answers import present

import dualstep as ds

LATEST = 0.2  # [s]
MEMORY = '<size memory="1G"/>'  # of MuJoCo's, for chains
MOMENTS = (0.04, 0.3, 0.55, 0.8, 0.95)  # shares of a call

main_thread_only = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread"
)
pytestmark = main_thread_only


def free_bodies(count, height, gap=3.0, options=""):
    """Spheres over a plane, in rows and columns."""
    side = int(np.ceil(count**0.5))
    bodies = "".join(
        f'<body pos="{gap * (i % side)} {gap * (i // side)} {height}"><freejoint/><geom size=".5"/></body>'
        for i in range(count)
    )
    return f'<mujoco>{options}<worldbody><geom type="plane" size="1 1 1"/>{bodies}</worldbody></mujoco>'


def chain(links, options="", **joint):
    """A model of capsules that hang on each other by hinges, and touch nothing; XML does not nest so deep."""
    spec = mujoco.MjSpec.from_string(f"<mujoco>{options}</mujoco>")
    body = spec.worldbody
    for i in range(links):
        body = body.add_body(pos=[0, 0, -0.1])
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[i % 2, (i + 1) % 2, 0], **joint)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            size=[0.02, 0, 0],
            fromto=[0, 0, 0, 0, 0, -0.1],
            contype=0,
            conaffinity=0,
        )
    return ds.Model.from_mujoco(spec.compile())


def lateness(call, seconds):
    """Seconds of this process that pass between the signal and what its handler raises; 0 where the call ends before."""
    before = signal.signal(signal.SIGPROF, signal.default_int_handler)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        call()
        signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt:
        return time.process_time() - began - seconds
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return 0.0


def heard_soon(call, sound=lambda: None, seconds=None):
    """The signal comes at several moments of a call; `sound` looks at what each left."""
    if seconds is None:
        began = time.process_time()
        call()
        seconds = time.process_time() - began
    for share in MOMENTS:
        at, late = max(0.004, share * seconds), []
        # memory that is new, or caches that others empty, take longer now and then: the best of three
        while len(late) < 3 and not (late and late[-1] < LATEST):
            late.append(lateness(call, at))
            sound()
        assert min(late) < LATEST, f"a signal at {at:.2f} s of {seconds:.2f} is heard {late} s later"


def test_the_measure_tells_a_call_that_does_not_hear():
    text = b"0" * (40 << 20)
    began = time.process_time()
    text.count(b"11")
    seconds = time.process_time() - began
    # Python hears it behind the call
    late = lateness(lambda: (text * 8).count(b"11"), 2 * seconds)
    assert late > seconds


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_batch_of_many_bodies(dtype):
    model = ds.Model.from_mjcf(free_bodies(2000, 2.0))
    heard_soon(lambda: ds.Batch(model, 1, "cpu", dtype, num_threads=1))
    batch = ds.Batch(model, 1, "cpu", dtype, num_threads=1)
    batch.step()
    assert np.isfinite(batch.qpos).all()


def test_dense_inertias_of_many_environments():
    batch = ds.Batch(ds.Model.named("humanoid"), 100_000, "cpu", num_threads=1)
    dense = batch.mass_matrix()
    assert np.array_equal(dense[::999], np.swapaxes(dense[::999], 1, 2)) and (dense[-1] == dense[0]).all()
    del dense
    heard_soon(batch.mass_matrix)


def test_a_batch_of_many_environments():
    model = ds.Model.named("humanoid")
    heard_soon(lambda: ds.Batch(model, 150_000, "cpu", num_threads=1))


def test_saving_and_loading_many_environments():
    count = 150_000
    batch = ds.Batch(ds.Model.named("humanoid"), count, "cpu", num_threads=1)
    rest, some = batch.save(), [3, 70_000, 149_999]
    batch.qpos[:, 2] += np.linspace(0, 1, count, dtype=np.float32)
    batch.qvel[:] = 0.5
    moved = batch.save()
    heard_soon(batch.save)
    heard_soon(lambda: batch.save(np.arange(count)[::-1]))
    assert batch.save() == moved

    def sound():
        assert batch.save(some) in (ends[0], ends[1])

    ends = []
    for state in (rest, moved):
        batch.load(state)
        ends.append(batch.save(some))
    heard_soon(lambda: (batch.load(rest), batch.load(moved)), sound)
    heard_soon(lambda: (batch.reset(), batch.load(moved)))
    batch.load(moved)
    assert batch.save() == moved


def test_parameters_of_many_environments():
    count = 20_000
    batch = ds.Batch(ds.Model.named("hopper"), count, "cpu", num_threads=1)
    batch.xpos
    gravity = np.linspace(-1, -9, 3 * count).reshape(count, 3)
    before = batch.get_parameter("opt_gravity")

    def sound():
        now = batch.get_parameter("opt_gravity")
        assert np.array_equal(now, before) or np.array_equal(now, gravity)
        batch.set_parameter("opt_gravity", before)

    heard_soon(lambda: batch.set_parameter("opt_gravity", gravity), sound)
    batch.set_parameter("opt_gravity", gravity)
    state = batch.save()
    heard_soon(batch.save)
    heard_soon(lambda: batch.load(state))
    heard_soon(lambda: batch.get_parameter("opt_gravity"))
    # each starts at a place of its own
    batch.set_parameter("body_pos", batch.get_parameter("body_pos") + np.linspace(0, 1, count)[:, None, None])
    heard_soon(batch.reset)


def test_a_reference_of_many_bodies():
    model = ds.Model.from_mjcf(free_bodies(2000, 2.0))
    heard_soon(lambda: ds.Reference(model))
    reference, twin = ds.Reference(model), ds.Reference(model)
    arrays = {name: array.copy() for name, array in reference._arrays.items()}

    def sound():
        # whole steps
        steps = round(reference.time / model.opt.timestep)
        assert abs(reference.time - steps * model.opt.timestep) < 1e-12
        if steps == 0:
            assert all(np.array_equal(array, arrays[name]) for name, array in reference._arrays.items())

    heard_soon(lambda: reference.step(5), sound)
    heard_soon(reference.forward, sound)
    heard_soon(lambda: reference.kinetic_energy)
    twin.step(round(reference.time / model.opt.timestep))
    assert np.array_equal(twin.qpos, reference.qpos) and np.array_equal(twin.qvel, reference.qvel)


def test_a_reference_of_many_contacts():
    model = ds.Model.from_mjcf(free_bodies(400, 0.4995, gap=0.9))
    # a step takes far longer than anybody waits
    heard_soon(lambda: ds.Reference(model), seconds=5.0)


def test_a_dual_of_many_contacts():
    model = ds.Model.from_mjcf(free_bodies(36, 0.4995, gap=0.9))
    model.opt.contact_model = "stewart_trinkle"
    heard_soon(lambda: ds.Reference(model))


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast"])
def test_a_reference_of_a_long_chain(integrator):
    option = f'<option integrator="{integrator}"/>'
    model = chain(900, option + MEMORY, damping=0.01)
    reference = ds.Reference(model)
    reference.qvel[:] = 0.1
    start = reference.qpos.copy()

    def sound():
        assert reference.time > 0 or np.array_equal(reference.qpos, start)

    heard_soon(reference.step, sound, seconds=None if integrator == "Euler" else 2.0)
    heard_soon(lambda: reference.coriolis_matrix(), seconds=2.0)


@pytest.mark.parametrize(
    "integrator, joint",
    [
        ("Euler", {"limited": True, "range": [-0.01, 0.01]}),
        ("Euler", {"damping": 0.5}),
        ("implicit", {"damping": 0.5}),
    ],
)
def test_large_blocks_are_solved_as_small_ones_are(integrator, joint):
    """Cholesky, pivoted and LU factors of a block of 400 rows, which ask between their columns."""
    option = f'<option integrator="{integrator}" timestep=".0002" tolerance="1e-14" iterations="400"/>' + MEMORY
    model = chain(400, option + '<compiler angle="radian"/>', **joint)
    reference, data = ds.Reference(model), mujoco.MjData(model.mj_model)
    rng = np.random.default_rng(0)
    reference.qpos[:] = data.qpos[:] = rng.uniform(-0.015, 0.015, model.nq)
    reference.qvel[:] = data.qvel[:] = rng.normal(size=model.nv) * 0.02
    reference.forward()
    M = reference.mass_matrix()
    assert np.allclose(
        M @ reference.qacc_smooth, reference.qfrc_smooth, atol=1e-8 * np.abs(reference.qfrc_smooth).max()
    )
    if "limited" in joint:
        # rounding, over the condition of so long a chain: 1e-11 for a hundred links
        assert len(reference._core.rows()["type"]) > 100 and reference.residual < 1e-6
    reference.step()
    mujoco.mj_step(model.mj_model, data)
    scale = np.abs(data.qvel).max()
    assert np.allclose(reference.qvel, data.qvel, atol=2e-6 * scale)


def test_loading_a_model_of_many_bodies():
    compiled = mujoco.MjModel.from_xml_string(free_bodies(4000, 2.0))
    heard_soon(lambda: [ds.Model.from_mujoco(compiled) for _ in range(4)])
    model = ds.Model.from_mujoco(compiled)
    heard_soon(lambda: [model.check() for _ in range(40)])


@pytest.mark.parametrize("drop", [(), ("sensor",)])
def test_compiling_a_model_of_many_bodies(drop):
    text = free_bodies(1500, 2.0)
    heard_soon(lambda: ds.Model.from_mjcf(text, drop=drop))
    # compilers that nobody waits for end, and the next one is as ever
    for thread in threading.enumerate():
        if thread.name == "dualstep compiler":
            thread.join()
    assert ds.Model.from_mjcf(text, drop=drop).nbody == 1501
    with pytest.raises(ds.InvalidModelError, match="mass and inertia of moving bodies"):
        ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>", drop=drop)


def test_a_child_that_compiles_is_ended_at_once(monkeypatch):
    monkeypatch.setenv("DUALSTEP_LOAD_SECONDS", "60")
    text = free_bodies(6000, 2.0)
    sent = []

    def tell():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    late = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        while len(late) < 3 and not (late and late[-1] < LATEST):
            timer = threading.Timer(1.0, tell)
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                for _ in range(100):
                    ds.Model.from_mjcf(text)
            late.append(time.monotonic() - sent[-1])
    finally:
        signal.signal(signal.SIGINT, before)
    assert min(late) < LATEST
    # nobody is left behind
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("outputs", [(), ("qpos", "xpos")])
def test_rollout(outputs):
    batch = ds.Batch(ds.Model.named("hopper"), 2000, "cpu", num_threads=1)
    heard_soon(lambda: batch.rollout(np.zeros((400, 2000, 3)), outputs=outputs), seconds=1.0)
    assert np.isfinite(batch.qpos).all()


def test_rays_and_sensors():
    batch = ds.Batch(ds.Model.named("humanoid"), 4000, "cpu", num_threads=1)
    origin = np.zeros((4000, 200, 3), np.float32)
    heard_soon(lambda: batch.ray(origin, origin + 1), seconds=1.0)
    # one of the reference's, environment after environment
    text = '<mujoco><worldbody><body name="b"><freejoint/><geom name="g" size=".1" gap=".1" margin=".2"/><site name="s"/></body>'
    text += '<geom type="plane" size="1 1 1" name="p"/></worldbody><sensor><torque site="s"/><contact geom1="g" geom2="p"/></sensor></mujoco>'
    many = ds.Batch(ds.Model.from_mjcf(text), 20_000, "cpu", num_threads=1)
    heard_soon(lambda: many.sensordata, seconds=1.0)


def test_emulated_lanes():
    if not present("emulated"):
        pytest.skip("no emulated device in this build")
    batch, twin = (ds.Batch(ds.Model.named("humanoid"), 400, "emulated", lanes=4) for _ in range(2))
    batch.step()

    def sound():
        steps = np.unique(np.round(batch.time / batch.model.opt.timestep))
        assert len(steps) == 1

    heard_soon(batch.step, sound)
    heard_soon(batch.forward, sound)
    heard_soon(lambda: batch.step(3), sound)
    # accelerations are of the last evaluation, which may have been stopped
    batch.step()
    twin.step(round(float(batch.time[0]) / batch.model.opt.timestep))
    same = batch.save() == twin.save()
    assert same  # and no page of bytes


def test_who_waits_for_a_batch_hears_it():
    batch = ds.Batch(ds.Model.named("hopper"), 64, "cpu", num_threads=1)
    ready = threading.Event()

    def work():
        ready.set()
        batch.step(30_000)

    thread = threading.Thread(target=work)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        thread.start()
        ready.wait()
        time.sleep(0.05)
        late = []
        while len(late) < 3 and not (late and late[-1] < LATEST):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                batch.summary()
            late.append(time.monotonic() - began - 0.1)
        assert thread.is_alive() and min(late) < LATEST
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        thread.join()
    assert round(float(batch.time[0]) / batch.model.opt.timestep) == 30_000
