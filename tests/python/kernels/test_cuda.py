"""What a GPU must do: the bits of the CPU, with any number of threads an environment, with the workspace in shared or in
device memory, through generic and specialised kernels.

Where there is no GPU the tests run on emulated lanes, so that they are known to work when there is one.
DUALSTEP_CUDA_SCRATCH and DUALSTEP_SPECIALIZE are then without effect. tests/ptx_interpreter/run.py runs them on a GPU in
software: what the CUDA compilers made of the kernels, and all of the backend around it."""

import functools

import numpy as np
import pytest
from answers import IDENTITIES, OUTPUTS, first_difference, host, in_software, present, rollout, snapshot
from cuda_runtime import OnDevice
from scenes import ALL, BENCH, SCENES

import dualstep as ds

CUDA = present("cuda")
DEVICE = "cuda" if CUDA else "emulated"
# the PTX interpreter and emulated lanes are slow: the same tests, with fewer steps and environments
FAST = CUDA and not in_software()
LANES = [1, 8, 32]
STEPS = 200 if FAST else 12
ROWS = range(IDENTITIES if FAST else 3)
MODELS = ["humanoid", "ant", "half_cheetah", "reacher", *BENCH] if CUDA else ["ant", "reacher"]
FEATURES = sorted(SCENES) if CUDA else sorted(SCENES)[::6]


def load(name):
    return ds.Model.from_mjcf(ALL[name])


@functools.lru_cache
def generic(lanes, dtype):
    """Whether the build has kernels for all models that serve these options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUALSTEP_SPECIALIZE", "0")
        try:
            ds.Batch(load("reacher"), 1, device=DEVICE, lanes=lanes, dtype=dtype).close()
        except ValueError:
            return False
    return True


def make(model, num_envs, **options):
    """A batch on the device; a build with fewer variants has no such lanes, and then there is nothing to test. The PTX
    interpreter compiles nothing for the lanes that a build leaves out: test_cuda_graphs.py has a few of them."""
    lanes = options.get("lanes")
    if CUDA and not FAST and not isinstance(lanes, tuple) and not generic(lanes, options.get("dtype", "float32")):
        pytest.skip("this build has no generic kernels for these options")
    try:
        return ds.Batch(model, num_envs, device=DEVICE, **options)
    except ValueError as error:
        if CUDA and "this build has" in str(error):
            pytest.skip(str(error))
        raise


@pytest.fixture
def environment(monkeypatch):
    return monkeypatch.setenv


def on_device(model, rows, steps, **options):
    make(model, 1, **{k: v for k, v in options.items() if k in ("lanes", "dtype")}).close()
    return rollout(model, rows, steps, device=DEVICE, **options)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("name", MODELS)
def test_the_bits_of_the_cpu(name, lanes):
    model = load(name)
    expected = rollout(model, ROWS, STEPS, device="cpu")
    assert first_difference(on_device(model, ROWS, STEPS, lanes=lanes), expected) is None


@pytest.mark.parametrize("lanes", [(1, 8, 8, 8, 1), (32, 1, 8, 32, 8)])
@pytest.mark.parametrize("name", MODELS[:2])
def test_a_step_in_parts(name, lanes, environment):
    """In parts only where kernels are specialised: the bits do not depend on it."""
    environment("DUALSTEP_SPECIALIZE", "1")
    model = load(name)
    names = ["qpos", "qvel", "act", "residual", "status", *OUTPUTS]
    expected = rollout(model, ROWS, STEPS, device="cpu", names=names)
    assert first_difference(on_device(model, ROWS, STEPS, lanes=lanes, names=names), expected) is None
    with make(model, 8, lanes=lanes) as sim:
        if CUDA and ds._core.describe_specialization().startswith("NVRTC"):
            assert "threads by part" in sim.description
            sim._core.time_stages(True)
            sim.step()
            ticks = sim._core.stage_ticks()
            assert all(ticks[part] > 0 for part in ("kinematics", "collide", "rows", "newton", "integrate"))
            sim._core.time_stages(False)
            sim.step()


@pytest.mark.parametrize("sort", ["0", "1"])
def test_sorting_by_workload_changes_no_bit(sort, environment):
    environment("DUALSTEP_CUDA_SORT", sort)
    model = load("ant")
    rows = (5 + 11 * np.arange(150 if FAST else 40 if CUDA else 7)) % IDENTITIES
    expected = rollout(model, rows, STEPS, device="cpu")
    assert first_difference(on_device(model, rows, STEPS, lanes=8), expected) is None


def test_a_few_of_many_are_placed_anew():
    """Those that a mask names, wherever they stand, and nobody else."""
    model = load("ant")
    trails = []
    for device in ("cpu", DEVICE):
        with ds.Batch(model, 37, device=device) as sim:
            sim.qvel = np.random.default_rng(3).normal(size=(37, model.nv)).astype(np.float32)
            sim.qacc  # an output, so that those placed anew are evaluated again
            for k in range(8):
                sim.step()
                mask = np.zeros(37, bool)
                mask[[3 * k % 37, (3 * k + 20) % 37]] = k % 4 != 3
                sim.reset(mask)
            trails.append({8: {name: host(getattr(sim, name)) for name in ("qpos", "qvel", "time", "qacc", "status")}})
    assert first_difference(trails[1], trails[0]) is None


@pytest.mark.skipif(not CUDA, reason="no GPU: masks of other devices are refused")
@pytest.mark.parametrize("law", ["todorov", "impulsive"])
def test_masks_on_the_device(law):
    """Reset and forward by a mask that the host never sees are those by one of the host; diverged environments too."""
    model = load("contact_stack")
    model.opt.contact_model = law
    names = ("qpos", "qvel", "time", "status", "qacc", "qfrc_constraint", "xpos")
    trails = []
    for near in (False, True):
        trail = {}
        with make(model, 9) as holder, ds.Batch(model, 9, device=DEVICE if near else "cpu") as sim:
            for k in range(6):
                snapshot(sim, names)  # every output is wanted
                qvel = np.random.default_rng(k).normal(size=(9, model.nv)).astype(np.float32)
                qvel[k] = np.nan if k > 1 else 1
                sim.qvel = qvel
                if k > 1:
                    sim.step(2)
                mask = np.zeros(9, bool)
                mask[[k, 8 - k]] = True
                [sim.forward, sim.reset][k % 2](OnDevice(mask, holder) if near else mask)
                trail[k + 1] = snapshot(sim, names)
                for array in trail[k + 1].values():
                    array[np.isnan(array)] = 0  # which NaN it is differs between devices
            trails.append(trail)
    assert any((at["status"] & int(ds.Status.DIVERGED)).any() for at in trails[0].values())
    assert first_difference(trails[1], trails[0]) is None
    with make(model, 9) as sim, make(model, 8) as holder:
        for call in (sim.reset, sim.forward):
            with pytest.raises(ValueError, match=r"shape \(8,\) and dtype bool is given.*\(9,\)"):
                call(OnDevice(np.ones(8, bool), holder))


def test_numbers_about_the_whole_batch():
    model = load("ant")
    model.opt.contact_capacity = 2
    answers = []
    for device in ("cpu", DEVICE):
        with ds.Batch(model, 21, device=device) as sim:
            sim.qvel = np.random.default_rng(3).normal(size=(21, model.nv)).astype(np.float32) * 3
            sim.step(40)
            bad = host(sim.qpos)
            bad[4, 2] = np.nan
            sim.qpos = bad
            sim.step()
            status, iterations, residual = (host(getattr(sim, n)) for n in ("status", "iterations", "residual"))
            answers.append(sim.summary())
        bits = [
            int(np.count_nonzero(status & bit))
            for bit in (ds.Status.DIVERGED, ds.Status.CONTACT_OVERFLOW, ds.Status.NOT_CONVERGED)
        ]
        worst = int(np.nanargmax(residual))
        assert answers[-1] == (*bits, iterations.sum(), iterations.max(), residual[worst], worst)
        assert answers[-1].diverged == 1 and answers[-1].contact_overflow > 0
    assert answers[0] == answers[1]


@pytest.mark.parametrize("place", ["shared", "global"])
@pytest.mark.parametrize("specialize", ["0", "1"])
@pytest.mark.parametrize("name", ["humanoid", "ant"] if CUDA else ["ant"])
def test_no_choice_changes_a_bit(name, specialize, place, environment):
    environment("DUALSTEP_CUDA_SCRATCH", place)
    environment("DUALSTEP_SPECIALIZE", specialize)
    model = load(name)
    expected = rollout(model, ROWS, STEPS, device="cpu")
    try:
        got = on_device(model, ROWS, STEPS)
    except RuntimeError as error:
        if place == "shared" and "does not fit into shared memory" in str(error):
            pytest.skip(str(error))
        raise
    assert first_difference(got, expected) is None
    if CUDA and specialize == "0":
        with make(model, 1) as sim:
            assert "DUALSTEP_SPECIALIZE=0" in sim.description


@pytest.mark.skipif(not CUDA, reason="no GPU: specialised kernels run on none of the other devices")
def test_accesses_that_know_their_memory(environment):
    environment("DUALSTEP_SPECIALIZE", "1")
    environment("DUALSTEP_CUDA_ADDRESSES", "1")
    model = load("bench_humanoid")
    expected = rollout(model, ROWS, STEPS, device="cpu")
    assert first_difference(on_device(model, ROWS, STEPS, lanes=8), expected) is None


@pytest.mark.skipif(not CUDA, reason="no GPU: specialised kernels run on none of the other devices")
def test_a_step_made_for_the_model_is_used_where_it_can_be(environment):
    environment("DUALSTEP_SPECIALIZE", "1")
    if not ds._core.describe_specialization().startswith("NVRTC"):
        pytest.skip("no NVRTC here")
    with make(load("ant"), 8) as sim:
        assert "kernels specialised for this model" in sim.description


# what generic kernels leave out runs in specialised ones everywhere
NOT_GENERIC = ("islands", "sensor_distance", "fluid_ellipsoid", "contact_surfaces")
# on the PTX interpreter the run-time compiler is what takes the time: there a feature in four runs in a
# specialised kernel too; the others run the generic kernels, which are the same source
SPECIALIZED = [name for i, name in enumerate(FEATURES) if FAST or i % 4 == 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FEATURES)
def test_every_output_of_every_feature(name, dtype, environment):
    if name in NOT_GENERIC:
        environment("DUALSTEP_SPECIALIZE", "1")
    elif name not in SPECIALIZED:
        environment("DUALSTEP_SPECIALIZE", "0")
    names = ["qpos", "qvel", "act", "residual", "status", *OUTPUTS]
    options = {"names": names, "every": 5, "dtype": dtype}
    expected = rollout(load(name), [0, 9, 21], 10, device="cpu", **options)
    assert first_difference(on_device(load(name), [0, 9, 21], 10, **options), expected) is None


@pytest.mark.skipif(not CUDA, reason="no GPU: the kernels of the other devices leave nothing out")
def test_sensors_that_generic_kernels_leave_out_are_refused_when_they_are_asked_for(environment):
    environment("DUALSTEP_SPECIALIZE", "0")
    with make(load("sensor_distance"), 1) as sim:
        sim.step()
        with pytest.raises(RuntimeError, match="sensors measure distances"):
            _ = sim.sensordata
        sim.step()
        assert np.isfinite(host(sim.qpos)).all()


@pytest.mark.parametrize("name", ["humanoid", "ant"] if CUDA else ["ant"])
def test_against_the_reference(name):
    """The kernels in double precision against an implementation that shares no code with them."""
    model = load(name)
    model.opt.tolerance = 1e-10
    reference = ds.Reference(model)
    with make(model, 4, dtype="float64") as sim:
        sim.qvel = np.random.default_rng(0).normal(size=(4, model.nv))
        sim.step(10)
        state = {part: host(getattr(sim, part)) for part in ("qpos", "qvel")}
        sim.forward()
        for i in range(4):
            for part, array in state.items():
                getattr(reference, part)[...] = array[i]
            reference.forward()
            scale = np.abs(reference.qacc).max() + 1
            assert np.abs(host(sim.qacc)[i] - reference.qacc).max() < 1e-6 * scale


def test_a_broken_environment_stays_where_it_was_and_alone():
    model = load("ant")
    trails = []
    for bad in (None, np.nan, 1e12):
        with make(model, 5) as sim:
            for k in range(STEPS // 2):
                if k == 4 and bad is not None:
                    qvel = host(sim.qvel)
                    qvel[2, 3] = bad
                    sim.qvel = qvel
                sim.step()
            broken = host(sim.status)[2] & int(ds.Status.DIVERGED)
            assert (broken != 0) == (bad is not None)
            assert np.isfinite(host(sim.qpos)).all()
            trails.append({1: {name: np.delete(host(getattr(sim, name)), 2, 0) for name in ("qpos", "qvel", "status")}})
    for trail in trails[1:]:
        assert first_difference(trail, trails[0]) is None


def test_a_diverged_environment_is_reset_where_that_is_wanted():
    model = load("ant")
    ends = []
    for device in (DEVICE, "cpu"):
        with ds.Batch(model, 5, device=device, diverged="reset") as sim:
            sim.step(3)
            qvel = host(sim.qvel)
            qvel[1] = np.inf
            sim.qvel = qvel
            for _ in range(4):
                sim.step()
            assert host(sim.reset_count).tolist() == [0, 1, 0, 0, 0]
            ends.append({1: {name: host(getattr(sim, name)) for name in ("qpos", "qvel", "status", "reset_count")}})
    assert first_difference(*ends) is None


@pytest.mark.parametrize("lanes", LANES)
def test_contacts_that_overflow(lanes):
    model = ds.Model.from_mjcf(BENCH["bench_humanoid"])
    model.opt.contact_capacity = 4
    steps = 150 if FAST else 60
    expected = rollout(model, range(6), steps, device="cpu", every=10)
    assert (expected[steps]["status"] & int(ds.Status.CONTACT_OVERFLOW)).any()
    assert first_difference(on_device(model, range(6), steps, lanes=lanes, every=10), expected) is None


def test_what_was_saved_goes_on_with_the_same_bits():
    model = load("ant")
    with make(model, 4) as sim, ds.Batch(model, 4, device="cpu") as cpu, make(model, 2) as other:
        sim.ctrl = np.full((4, model.nu), 0.3, np.float32)
        sim.step(7)
        state = sim.save()
        sim.step(5)
        ends = []
        # a state moves between devices, and between places of a batch
        cpu.load(state)
        cpu.step(5)
        ends = [host(batch.qpos) for batch in (sim, cpu)]
        assert ends[0].tobytes() == ends[1].tobytes()
        sim.load(state)
        other.load(sim.save([3, 1]))
        other.step(5)
        assert host(other.qpos).tobytes() == ends[0][[3, 1]].tobytes()


def test_parameters_of_single_environments():
    model = load("ant")
    trails = []
    for device in (DEVICE, "cpu"):
        with ds.Batch(model, 5, device=device) as sim:
            sim.step(2)
            sim.set_parameter("geom_friction", np.linspace(0.2, 1, 5)[:, None, None] * model.geom_friction)
            sim.set_parameter("opt_gravity", np.linspace(-12, -2, 5)[:, None] * [0, 0, 1])
            sim.step(STEPS // 2)
            trails.append({1: {name: host(getattr(sim, name)) for name in ("qpos", "qvel")}})
    assert first_difference(*trails) is None


# where blocks have several warps: of 4099 and 10001 environments, some warps of the last block have none, and the last
# that has any has threads without one, which leave while the others meet at the barriers of their block
@pytest.mark.parametrize("size", [1, 7, 33, 4096, 4099, 10001] if FAST else [1, 7, 33] if CUDA else [1, 7])
def test_batch_sizes_and_places(size):
    model = load("ant")
    rows = (5 + 11 * np.arange(size)) % IDENTITIES
    expected = rollout(model, range(IDENTITIES), STEPS, device="cpu")
    assert first_difference(on_device(model, rows, STEPS), expected, slice(None), rows) is None
