"""Streams, captures and arrays of others: what a batch on a GPU waits for, what it leaves alone, and what it refuses.

On the PTX interpreter, whose runtime can be called by name; run by tests/ptx_interpreter/run.py."""

import weakref

import numpy as np
import pytest
from answers import first_difference, host, present
from cuda_runtime import BLOCKING, OnDevice, Runtime
from scenes import ALL, SCENES

import dualstep as ds
from dualstep import lane_choice

if not Runtime.here() or not present("cuda"):
    pytest.skip("the PTX interpreter is not here", allow_module_level=True)

NAMES = ("qpos", "qvel", "time", "status")
LEFT_OUT_BY_GENERIC = "contact_surfaces"


@pytest.fixture(autouse=True)
def generic(monkeypatch):
    monkeypatch.setenv("DUALSTEP_SPECIALIZE", "0")


@pytest.fixture
def special(monkeypatch):
    monkeypatch.setenv("DUALSTEP_SPECIALIZE", "1")
    if not ds._core.describe_specialization().startswith("NVRTC"):
        pytest.skip("no NVRTC here")


@pytest.fixture(scope="module")
def runtime():
    return Runtime()


@pytest.fixture(scope="module")
def model():
    return ds.Model.from_mjcf(ALL["reacher"])


def batch(model, num_envs=3, **options):
    sim = ds.Batch(model, num_envs, options.pop("device", "cuda"), **options)
    sim.qvel = np.random.default_rng(0).normal(size=(num_envs, model.nv)).astype(np.float32)
    return sim


def state(sim):
    return {1: {name: host(getattr(sim, name)) for name in NAMES}}


# tables that are set anew ----------------------------------------------------------------------------------


def masses(model, num_envs=3):
    return np.linspace(1, 2, num_envs)[:, None] * model.body_mass


def test_tables_that_are_refused_leave_those_before_in_use(special, monkeypatch):
    """Kernels for all models lack physics of this one: no step may run them, whatever failed."""
    model = ds.Model.from_mjcf(SCENES[LEFT_OUT_BY_GENERIC])
    with batch(model) as sim, batch(model, device="cpu") as cpu:
        for one in (sim, cpu):
            one.step(2)
        monkeypatch.setenv("DUALSTEP_SPECIALIZE", "0")
        with pytest.raises(RuntimeError, match="surfaces move here"):
            sim.set_parameter("body_mass", masses(model))
        assert "specialised for this model" in sim.description
        assert np.array_equal(sim.get_parameter("body_mass"), cpu.get_parameter("body_mass"))
        for one in (sim, cpu):
            one.step(2)
        assert first_difference(state(sim), state(cpu)) is None
        monkeypatch.setenv("DUALSTEP_SPECIALIZE", "1")
        for one in (sim, cpu):
            one.set_parameter("body_mass", masses(model))
            one.step(2)
        assert first_difference(state(sim), state(cpu)) is None


@pytest.mark.parametrize("owned", [False, True])
def test_parameters_that_a_capture_refuses_stay_as_they_were(model, runtime, owned):
    with batch(model) as sim, batch(model, device="cpu") as cpu:
        sim.stream = stream = runtime.stream()
        for one in (sim, cpu):
            if owned:
                one.set_parameter("body_mass", masses(model))
            one.step()
        with runtime.capture(stream), pytest.raises(RuntimeError, match="captured into a graph"):
            sim.set_parameter("body_mass", 3 * masses(model))
        assert np.array_equal(sim.get_parameter("body_mass"), cpu.get_parameter("body_mass"))
        for one in (sim, cpu):
            one.step()
        assert first_difference(state(sim), state(cpu)) is None
        # the others keep theirs
        for one in (sim, cpu):
            one.set_parameter("body_mass", 2 * masses(model)[:1], [0])
            one.step()
        assert first_difference(state(sim), state(cpu)) is None


# captures of others ----------------------------------------------------------------------------------------


def test_kernels_come_and_go_while_others_capture(model, runtime, special):
    other = runtime.stream()
    with batch(model) as sim, batch(model, device="cpu") as cpu:
        sim.step()
        with runtime.capture(other):
            batch(model).close()
            sim.set_parameter("body_mass", masses(model))
            sim.step()
        cpu.step()
        cpu.set_parameter("body_mass", masses(model))
        cpu.step()
        assert first_difference(state(sim), state(cpu)) is None
        with runtime.capture(other):
            sim.close()


def test_a_batch_is_closed_while_its_stream_is_captured(model, runtime, special):
    sim = batch(model)
    sim.stream = stream = runtime.stream()
    sim.step()
    qpos = sim.qpos
    with runtime.capture(stream):
        sim.close()
    runtime.wait(stream)
    with batch(model, device="cpu") as cpu:
        cpu.step()
        assert np.array_equal(host(qpos), cpu.qpos)


def test_a_recording_that_another_thread_ends_is_no_error(model, runtime):
    """As a wait for the whole device does, whatever the capture's mode: the step is launched as it is."""
    with batch(model, diverged="reset") as sim, batch(model, device="cpu") as cpu:
        runtime.break_captures(2)
        for _ in range(5):
            sim.step()
            cpu.step()
        assert runtime.last_error() == 0
        assert first_difference(state(sim), state(cpu)) is None


def test_a_capture_beside_the_legacy_stream_goes_on(model, runtime):
    with batch(model) as sim:
        sim.step()
        with runtime.capture(runtime.stream(BLOCKING)):
            with pytest.raises(RuntimeError, match="the legacy one, or a stream that waits for it, is being captured"):
                host(sim.qpos)
            sim.close()


def test_what_only_one_side_captures_is_refused(model, runtime):
    """The batch would read now what the graph is to compute, or the graph what was computed once."""
    mask = np.array([True, False, True])
    with batch(model) as holder, batch(model) as sim:
        mine, theirs = runtime.stream(), runtime.stream()
        sim.stream, holder.stream = mine, theirs
        marks = OnDevice(mask, holder, theirs)
        before = state(sim)
        for captured in (mine, theirs):
            calls = (
                lambda: setattr(sim, "qvel", holder.qvel),
                lambda: sim.reset(marks),
                lambda: sim.qvel.__dlpack__(stream=theirs),
            )
            for call in calls:
                with runtime.capture(captured), pytest.raises(RuntimeError, match="Set Batch.stream to"):
                    call()
        assert first_difference(state(sim), before) is None
        # a stream is taken all the same: who replays the graph orders it
        with runtime.capture(theirs) as graphs:
            sim.stream = theirs
            sim.step()
            sim.stream = mine
        runtime.launch(graphs[0], theirs)
        runtime.wait(theirs)
        assert (host(sim.time) == model.opt.timestep).all()


def test_streams_of_one_capture_wait_for_each_other(model, runtime):
    with batch(model) as holder, batch(model) as sim, batch(model, device="cpu") as cpu:
        origin, side = runtime.stream(), runtime.stream()
        holder.stream = origin
        runtime.wait(origin)
        with runtime.capture(origin) as graphs:
            holder.step()
            runtime.join(side, origin)
            sim.stream = side
            sim.qvel = holder.qvel
            holder.step()  # after the copy
            sim.step()
            runtime.join(origin, side)
        runtime.launch(graphs[0], origin)
        runtime.wait(origin)
        cpu.step()
        qvel = cpu.qvel.copy()
        cpu.reset()
        cpu.qvel = qvel
        cpu.step()
        assert np.array_equal(host(sim.qvel), cpu.qvel)


# arrays of others ------------------------------------------------------------------------------------------


class Lent:
    """What a library lends until this goes: it writes something else there then."""

    def __init__(self, spoil):
        self.spoil = spoil

    def __del__(self):
        self.spoil()


class Late:
    """An array that says of no stream that it still computes it there, as those of JAX."""

    def __init__(self, array, version=2):
        face = array.__cuda_array_interface__
        self.__cuda_array_interface__ = {k: v for k, v in face.items() if k != "stream"} | {"version": version}

    def __dlpack_device__(self):
        return 2, 0


class LateByDlpack(Late):
    def __init__(self, array, spoil):
        super().__init__(array)
        self.array, self.spoil = array, spoil

    def __dlpack__(self, *, stream):
        self.array.__dlpack__(stream=stream)
        return Lent(self.spoil)


class LateByWaiting(Late):
    def __init__(self, array, wait):
        super().__init__(array)
        self.block_until_ready = wait


class LateAndRefused(LateByWaiting):
    def __dlpack__(self, *, stream):
        raise TypeError("booleans are not lent")


@pytest.mark.parametrize("kind", [LateByDlpack, LateByWaiting, LateAndRefused])
def test_an_array_that_is_still_computed(model, runtime, kind):
    with batch(model) as holder, batch(model) as sim, batch(model, device="cpu") as cpu:
        holder.stream = stream = runtime.stream()
        sim.stream = runtime.stream()
        holder.step(3)
        cpu.step(3)

        def spoil():
            holder.qvel = np.zeros((3, model.nv), np.float32)

        sim.qvel = kind(holder.qvel, spoil if kind is LateByDlpack else lambda: runtime.wait(stream))
        if kind is LateByDlpack:
            assert not host(holder.qvel).any()
        assert np.array_equal(host(sim.qvel), cpu.qvel)
        with runtime.capture(sim.stream), pytest.raises(RuntimeError, match="does not say in which stream"):
            sim.qvel = kind(holder.qvel, lambda: None)


def test_a_mask_that_is_still_computed(model, runtime):
    mask = np.array([True, False, True])
    with batch(model) as holder, batch(model) as sim:
        holder.stream = stream = runtime.stream()
        late = LateAndRefused(holder.qvel, lambda: runtime.wait(stream))
        near = OnDevice(mask, holder)
        late.__cuda_array_interface__ |= {k: near.__cuda_array_interface__[k] for k in ("shape", "typestr")}
        sim.step()
        before = runtime.waits()
        sim.reset(late)
        assert runtime.waits() > before
        assert ((host(sim.time) == 0) == mask).all()


def test_an_array_outlives_its_batch_and_the_stream(model, runtime):
    stream = runtime.stream()
    sim = batch(model)
    sim.stream = stream
    sim.step(3)
    qpos = sim.qpos
    sim.close()
    del sim
    assert qpos.__cuda_array_interface__["stream"] == 1
    with batch(model, device="cpu") as cpu:
        cpu.step(3)
        seen = host(qpos)
        runtime.destroy(stream)
        assert np.array_equal(seen, cpu.qpos) and np.array_equal(host(qpos), cpu.qpos)


# what batches share ----------------------------------------------------------------------------------------


def test_batches_that_share_a_kernel_share_no_carve_out(model, runtime, monkeypatch):
    monkeypatch.setenv("DUALSTEP_CUDA_SCRATCH", "global")
    with batch(model) as one:
        monkeypatch.setenv("DUALSTEP_CUDA_CARVEOUT", "shared")
        with batch(model) as other:
            for sim, percent in ((one, 0), (other, 100), (one, 0)):
                sim.step()
                assert runtime.carve_out("fused_step") == percent


def test_a_remembered_choice_of_lanes_makes_no_two_batches_at_once(model, monkeypatch):
    made, real = [], ds._core.Batch

    def one_at_a_time(*given):
        assert all(ref() is None for ref in made)
        one = real(*given)
        made.append(weakref.ref(one))
        return one

    monkeypatch.setattr(ds._core, "Batch", one_at_a_time)
    monkeypatch.setattr(lane_choice, "remembered_lanes", lambda *_: 8)
    with ds.Batch(model, 3, "cuda") as sim:
        sim.step()
    assert len(made) == 2


def test_more_starts_than_are_remembered_wait_for_nothing(runtime):
    keys = "".join(f'<key qpos="{0.01 * k}"/>' for k in range(70))
    model = ds.Model.from_mjcf(
        f'<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody><keyframe>{keys}</keyframe></mujoco>'
    )
    with ds.Batch(model, 3, "cuda", lanes=8) as sim:
        marks = np.array([True, False, True])
        with ds.Batch(ds.Model.from_mjcf(ALL["reacher"]), 3, "cuda", lanes=8) as holder:
            near = OnDevice(marks, holder)
            for k in range(70):
                sim.reset(near, keyframe=k)
            before = runtime.waits()
            for k in range(70):
                sim.reset(near, keyframe=k)
                sim.step()
            assert runtime.waits() == before
            sim.reset(near, keyframe=3)
            assert np.array_equal(host(sim.qpos)[marks, 0], np.full(2, 0.03, np.float32))
