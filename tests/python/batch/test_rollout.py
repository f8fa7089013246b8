"""Rollouts, sensors by name, and long steps that Ctrl-C ends: the same bits as steps one by one."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dualstep as ds

SENSING = """<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 1'><freejoint/><geom size='.1'/>
<site name='s'/></body></worldbody><sensor><gyro name='gyro' site='s'/><accelerometer name='acc' site='s'/><clock name='clock'/></sensor>
</mujoco>"""


def hopper(n=5, **options):
    return ds.Batch(ds.Model.named("hopper"), n, num_threads=1, **options)


def test_a_rollout_is_its_steps(rng):
    ctrl = rng.uniform(-1, 1, (7, 5, 3)).astype(np.float32)
    sim, twin = hopper(), hopper()
    names = ("qpos", "qvel", "xpos", "time", "contact_count")
    found = sim.rollout(ctrl, nsubsteps=3, outputs=names)
    assert tuple(found) == names and found["xpos"].shape == (7, 5, 5, 3) and found["time"].dtype == np.float64
    for t in range(7):
        twin.ctrl[:] = ctrl[t]
        twin.step(3)
        for name in names:
            assert np.array_equal(found[name][t], getattr(twin, name)), name
    assert sim.save() == twin.save()
    # the default, and no steps at all
    assert list(sim.rollout(ctrl[:0])) == ["qpos", "qvel"] and sim.rollout(ctrl[:0])["qpos"].shape == (0, 5, 6)


def test_rollouts_with_parameters_of_their_own(rng):
    model = ds.Model.named("hopper")
    qpos = np.tile(model.qpos0, (3, 1)) + rng.uniform(-0.01, 0.01, (3, 6))
    ctrl = rng.uniform(-1, 1, (6, 3, 3))
    mass = model.body_mass * np.array([[0.5], [1.0], [2.0]])
    found = ds.rollout(model, qpos, np.zeros((3, 6)), ctrl, {"body_mass": mass}, "cpu", outputs=("qpos",))["qpos"]
    plain = ds.rollout(model, qpos, np.zeros((3, 6)), ctrl, device="cpu")["qpos"]
    assert np.array_equal(found[:, 1], plain[:, 1]) and not np.allclose(found[:, 0], plain[:, 0])
    sim = ds.Batch(model, 3, "cpu", num_threads=1)
    sim.set_parameter("body_mass", mass)
    sim.qpos, sim.qvel = qpos.astype(np.float32), np.zeros((3, 6), np.float32)
    assert np.array_equal(sim.rollout(ctrl)["qpos"], found)


STARTED = '''<mujoco><worldbody><body name="hand" mocap="true" pos="0 0 1"/><body name="load" pos=".1 0 1"><freejoint/>
<geom size=".1"/></body><body pos="1 0 0"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
<equality><weld body1="hand" body2="load"/></equality><actuator><general joint="j" dyntype="filter" dynprm=".1"/></actuator></mujoco>'''


def test_rollouts_start_with_activations_and_mocap_bodies(rng):
    model = ds.Model.from_mjcf(STARTED)
    qpos, ctrl = np.tile(model.qpos0, (3, 1)), rng.uniform(-1, 1, (4, 3, 1))
    start = {"act": rng.normal(size=(3, 1)), "mocap_pos": [[0.2, 0, 1.1]]}
    found = ds.rollout(model, qpos, np.zeros((3, model.nv)), ctrl, start=start, outputs=("qpos", "act"))
    with ds.Batch(model, 3) as sim:
        sim.act[:], sim.mocap_pos[:] = start["act"], start["mocap_pos"]
        for t, row in enumerate(ctrl):
            sim.ctrl[:] = row
            sim.step()
            assert np.array_equal(sim.qpos, found["qpos"][t]) and np.array_equal(sim.act, found["act"][t])
    for given, message in (
        ({"akt": 0}, "start names 'akt', and arrays of the state are wanted: act, .*did you mean 'act'"),
        ({"ctrl": ctrl[0]}, "start names 'ctrl'"),
        ({"act": np.zeros((2, 1))}, r"start: act is an array of shape \(2, 1\).* of shape \(3, 1\) or \(1,\) are wanted"),
    ):
        with pytest.raises(ValueError, match=message):
            ds.rollout(model, qpos, np.zeros((3, model.nv)), ctrl, start=given)


def test_what_a_rollout_refuses():
    sim, ctrl = hopper(), np.zeros((2, 5, 3))
    before = sim.save()
    for given, message in (
        ((np.zeros((2, 5, 4)),), r"shape \(2, 5, 4\).*\(T, 5, 3\) are wanted"),
        ((np.zeros((5, 3)),), "are wanted"),
        ((ctrl, 0), "nsubsteps 0 is given"),
        ((ctrl, 1, ("qposs",)), "outputs name 'qposs'.*did you mean 'qpos'"),
        ((ctrl, 1, ("model",)), "no array over environments"),
    ):
        with pytest.raises(ValueError, match=message):
            sim.rollout(*given)
    with pytest.raises(TypeError, match="a sequence of names"):
        sim.rollout(ctrl, outputs="qpos")
    with pytest.raises(ValueError, match=r"qpos: an array of shape \(2, 5\)"):
        ds.rollout(sim.model, np.zeros((2, 5)), np.zeros((2, 6)), ctrl)
    with pytest.raises(ValueError, match="qpos is of 2 environments, and qvel of 3"):
        ds.rollout(sim.model, np.zeros((2, 6)), np.zeros((3, 6)), ctrl)
    assert sim.save() == before


def test_sensors_by_name():
    sim = ds.Batch(ds.Model.from_mjcf(SENSING), 2, num_threads=1)
    sim.qvel[:, 3:] = [[1, 2, 3], [4, 5, 6]]
    sim.forward()
    assert np.allclose(sim.sensor("gyro"), [[1, 2, 3], [4, 5, 6]]) and sim.sensor("clock").shape == (2, 1)
    assert np.array_equal(sim.sensor("acc"), sim.sensordata[:, 3:6])
    with pytest.raises(ValueError, match="no sensor 'gyr'; near it are: gyro"):
        sim.sensor("gyr")
    found = sim.rollout(np.zeros((3, 2, 0)), outputs=("sensordata",))["sensordata"]
    assert found.shape == (3, 2, 7) and np.allclose(found[-1], sim.sensordata)


@pytest.mark.parametrize(("device", "count"), [("cpu", 60), ("emulated", 12)])
@pytest.mark.parametrize("diverged", ["freeze", "reset"])
def test_parts_of_a_long_step_change_no_bit(diverged, device, count):
    """However a call is cut: one that is known to be short, one that begins with parts of eight, single substeps."""
    model = ds.Model.named("humanoid")
    whole, single = (ds.Batch(model, 3, device, num_threads=1, diverged=diverged) for _ in range(2))
    for sim in (whole, single):
        sim.qvel[:, :3] = [[0, 0, -1], [1, 0, 0], [0, 1, 0]]
    whole.step(count)
    for _ in range(count):
        single.step()
    assert whole.save() == single.save() and np.array_equal(whole.xpos, single.xpos)
    # one that diverges in the middle stands still until the call ends, whatever parts that has
    for sim in (whole, single):
        sim.qvel[1, 0] = 1e30
        sim.step(count)
    if diverged == "reset":
        assert whole.reset_count.tolist() == [0, 1, 0] and whole.time[1] == 0
        assert np.allclose(whole.qpos[1], model.qpos0)
    assert whole.status[1] & ds.Status.DIVERGED and whole.save() == single.save()


def interrupted_after(work, seconds=0.5):
    """How long Ctrl-C takes to be heard."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    # a shell that starts a process in the background has it ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    return time.monotonic() - sent[0]


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread")
def test_a_long_step_hears_ctrl_c():
    sim, twin = hopper(64), hopper(64)
    # a loaded machine: half a second where nobody else runs would be a fifth
    assert interrupted_after(lambda: sim.step(2**30)) < 1.0
    done = round(float(sim.time[0]) / sim.model.opt.timestep)
    assert done > 8
    # it stands between two substeps, and goes on
    twin.step(done)
    sim.step(2), twin.step(2)
    assert sim.save() == twin.save()
    assert interrupted_after(lambda: sim.rollout(np.zeros((200_000, 64, 3)))) < 1.0


def test_another_thread_may_ask_during_a_long_step():
    """What waits for the batch lets go of the GIL, which the step asks for between its parts."""
    script = """
import threading, dualstep as ds
sim = ds.Batch(ds.Model.named("hopper"), 64, num_threads=1)
worker = threading.Thread(target=lambda: sim.step(300))
worker.start()
for _ in range(5):
    sim.get_parameter("body_mass"), sim.summary(), sim.save()
worker.join()
print("both ended", float(sim.time[0]) > 0.5)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert run.stdout == "both ended True\n", run.stderr
