"""Streams and graphs of a user's: what a captured graph points to stays as it was, and nothing waits that need not.

On the PTX interpreter, whose runtime can be called by name; run by tests/ptx_interpreter/run.py."""

import numpy as np
import pytest
from answers import first_difference, host, present, rollout
from cuda_runtime import OnDevice, Runtime
from scenes import ALL

import dualstep as ds

if not Runtime.here() or not present("cuda"):
    pytest.skip("the PTX interpreter is not here", allow_module_level=True)

NAMES = ("qpos", "qvel", "time", "status")


# more starts than a batch remembers, far from the model's own
KEYS = 70
KEYFRAMES = f"""<mujoco><worldbody>
<body pos="0 0 1"><freejoint/><geom size=".1" mass="1"/><body pos=".2 0 0"><joint axis="0 1 0" damping=".1"/>
<geom type="capsule" size=".05 .1" mass=".5"/></body></body>
<geom type="plane" size="5 5 .1"/></worldbody>
<keyframe>{"".join(f'<key qpos="{3 + k} 0 2 1 0 0 0 .5" qvel="1 0 0 0 0 0 0"/>' for k in range(KEYS))}</keyframe></mujoco>"""


@pytest.fixture(autouse=True)
def generic(monkeypatch):
    monkeypatch.setenv("DUALSTEP_SPECIALIZE", "0")


@pytest.fixture(scope="module")
def runtime():
    return Runtime()


@pytest.fixture(scope="module")
def model():
    return ds.Model.from_mjcf(KEYFRAMES)


def state(sim):
    return {1: {name: host(getattr(sim, name)) for name in NAMES}}


def replayed(sim, runtime, graph, stream):
    runtime.launch(graph, stream)
    return state(sim)


def spoil(sim, env):
    qvel = host(sim.qvel)
    qvel[env] = np.nan
    sim.qvel = qvel


@pytest.mark.parametrize("calls", ["nothing", "a keyframe", "many starts"])
def test_a_captured_step_restarts_where_it_did(model, runtime, calls):
    """Whatever is reset between capture and replay, a diverged environment starts again at the model's start."""
    with ds.Batch(model, 4, "cuda", lanes=8, diverged="reset") as sim:
        sim.stream = stream = runtime.stream()
        sim.step()
        runtime.wait(stream)
        with runtime.capture(stream) as graphs:
            sim.step()
        for k in range({"nothing": 0, "a keyframe": 1, "many starts": KEYS}[calls]):
            sim.reset(np.array([True, False, False, False]), keyframe=k)
        spoil(sim, 2)
        runtime.launch(graphs[0], stream)
        assert host(sim.reset_count).tolist() == [0, 0, 1, 0]
        assert np.array_equal(host(sim.qpos)[2], model.qpos0.astype(np.float32))
        assert not host(sim.qvel)[2].any()


def test_a_loop_of_steps_and_masked_resets_never_waits(model, runtime):
    with ds.Batch(model, 4, "cuda", lanes=8) as holder, ds.Batch(model, 4, "cuda", lanes=8, diverged="reset") as sim:
        mask = OnDevice(np.array([False, True, False, True]), holder)
        for _ in range(2):
            sim.step()
            sim.reset(mask)
            sim.reset(mask, keyframe=1)
        before = runtime.waits()
        for _ in range(5):
            sim.step()
            sim.reset(mask)
            sim.reset(mask, keyframe=1)
        assert runtime.waits() == before


@pytest.mark.parametrize("diverged", ["freeze", "reset"])
def test_first_calls_may_be_captured(model, runtime, diverged):
    """By a capture that forbids allocation to everybody, as torch's does."""
    mask = np.array([False, True, False, True])
    ends = []
    for captured in (False, True):
        with ds.Batch(model, 4, "cuda", lanes=8) as holder, ds.Batch(model, 4, "cuda", lanes=8, diverged=diverged) as sim:
            sim.qvel = np.random.default_rng(0).normal(size=(4, model.nv)).astype(np.float32)
            stream = runtime.stream()
            near = OnDevice(mask, holder, stream if captured else None)

            def calls(sim=sim, near=near):
                sim.step(2)
                sim.reset(near, keyframe=1)
                sim.step()
                sim.forward(near)

            if captured:
                sim.stream = stream
                with runtime.capture(stream) as graphs:
                    calls()
                for _ in range(2):
                    runtime.launch(graphs[0], stream)
            else:
                for _ in range(2):
                    calls()
            ends.append(state(sim))
    assert first_difference(ends[1], ends[0]) is None


def test_what_a_graph_cannot_hold_is_refused_and_the_capture_goes_on(model, runtime):
    with ds.Batch(model, 4, "cuda", lanes=8) as sim:
        sim.stream = stream = runtime.stream()
        with runtime.capture(stream) as graphs:
            sim.step()
            for call in (lambda: setattr(sim, "qvel", np.zeros((4, model.nv), np.float32)), lambda: host(sim.qpos)):
                with pytest.raises(RuntimeError, match="is being captured into a graph"):
                    call()
        runtime.launch(graphs[0], stream)
        runtime.wait(stream)
        assert (host(sim.time) == model.opt.timestep).all()


def test_what_a_graph_launches_stays_when_parameters_change(model, runtime, monkeypatch):
    """Kernels and tables from before a change of parameters are still there for a graph that was captured then."""
    monkeypatch.setenv("DUALSTEP_SPECIALIZE", "1")
    with ds.Batch(model, 4, "cuda", lanes=8) as sim:
        if "specialised for this model" not in sim.description:
            pytest.skip("no NVRTC here")
        sim.stream = stream = runtime.stream()
        with runtime.capture(stream) as graphs:
            sim.step()
        begun = sim.save()
        expected = replayed(sim, runtime, graphs[0], stream)
        sim.load(begun)
        sim.set_parameter("body_mass", np.linspace(1, 2, 4)[:, None] * model.body_mass)
        assert first_difference(replayed(sim, runtime, graphs[0], stream), expected) is None


@pytest.mark.parametrize("lanes", [16])
def test_lanes_need_no_generic_kernels(model, lanes, monkeypatch):
    with pytest.raises(ValueError, match=rf"lanes {lanes} is given, and this build has .*DUALSTEP_SPECIALIZE=0"):
        ds.Batch(model, 4, "cuda", lanes=lanes)
    monkeypatch.setenv("DUALSTEP_SPECIALIZE", "1")
    if not ds._core.describe_specialization().startswith("NVRTC"):
        pytest.skip("no NVRTC here")
    expected = rollout(model, range(3), 8, device="cpu")
    assert first_difference(rollout(model, range(3), 8, device="cuda", lanes=lanes), expected) is None


@pytest.mark.parametrize("place, carve_out, percent", [("global", "", 0), ("global", "shared", 100), ("shared", "", 100)])
def test_the_cache_is_as_large_as_the_workspace_leaves_it(model, runtime, monkeypatch, place, carve_out, percent):
    monkeypatch.setenv("DUALSTEP_CUDA_SCRATCH", place)
    monkeypatch.setenv("DUALSTEP_CUDA_CARVEOUT", carve_out)
    with ds.Batch(model, 4, "cuda", lanes=8):
        assert runtime.carve_out("fused_step") == percent
    monkeypatch.setenv("DUALSTEP_CUDA_CARVEOUT", "some")
    with pytest.raises(ValueError, match="DUALSTEP_CUDA_CARVEOUT=some is given, and it must be default or shared"):
        ds.Batch(model, 4, "cuda", lanes=8)


def test_two_devices_give_the_same_bits():
    model = ds.Model.from_mjcf(ALL["reacher"])
    expected = rollout(model, range(3), 6, device="cuda:0")
    assert first_difference(rollout(model, range(3), 6, device="cuda:1"), expected) is None
    with ds.Batch(model, 2, "cuda:1") as sim:
        assert sim.device == "cuda:1"
    with pytest.raises(ValueError, match="this machine has 2 CUDA devices"):
        ds.Batch(model, 2, "cuda:2")


@pytest.mark.parametrize("warps", ["1", "2", ""])
def test_warps_of_a_block_change_no_bit(model, monkeypatch, warps):
    """21 environments are six warps, in the last of which three quarters of the threads have none and leave before the others
    meet at the barriers of their block."""
    monkeypatch.setenv("DUALSTEP_CUDA_WARPS", warps)
    expected = rollout(model, range(21), 3, device="cpu")
    assert first_difference(rollout(model, range(21), 3, device="cuda", lanes=8), expected) is None


@pytest.mark.parametrize("warps", ["0", "many", "-1", "100"])
def test_no_number_of_warps(model, monkeypatch, warps):
    monkeypatch.setenv("DUALSTEP_CUDA_WARPS", warps)
    with pytest.raises(ValueError, match=f"DUALSTEP_CUDA_WARPS={warps} is given, and it must be a number of warps, from 1"):
        ds.Batch(model, 4, "cuda", lanes=8)
