"""Environments that change packs within a call (kernels/launch/cpu/regroup.h) end with the bits that they have in packs that
stay: those of batches too small to be sorted."""

import functools

import numpy as np
import pytest
from batch_models import OUTPUTS, STATE, assert_same, everything, gym, shake, small
from scenes import BENCH, SCENES
from test_batch_invariance import SETS

import dualstep as ds

# 17 packs of 16, the last one with three environments: two threads have eight each
COUNT = 275
FEW = 7  # packs of any size this side of being sorted


# a state so small that copying it is no gain: such steps are not regrouped
SLIDER = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .3"><joint type="slide" axis="0 0 1"/>
  <geom size=".1"/></body></worldbody></mujoco>"""


@functools.lru_cache
def model_of(name):
    if name == "small":
        return small()
    if name == "slider":
        return ds.Model.from_mjcf(SLIDER)
    if name == "everything":
        return ds.Model.from_mjcf(SCENES[name])
    if name.startswith("bench_"):
        model = ds.Model.from_mjcf(BENCH["bench_humanoid"])
        if name in ("bench_fast", "bench_wet"):
            model.opt.integrator = "implicitfast"
        if name == "bench_wet":
            model.opt.density = 1000
        if name.removeprefix("bench_") in LAWS:
            model.opt.contact_model = name.removeprefix("bench_")
            model.opt.restitution = 0.3
        if name == "bench_tight":
            model.opt.contact_capacity = 3
        if name == "bench_elliptic":
            model.opt.cone = "elliptic"
        return model
    return gym(name)


# RK4: humanoid, ant, small has condim 6, an activation, friction loss, a mocap body
MODELS = ["small", "humanoid", "ant", "half_cheetah", "bench_humanoid", "bench_fast", "bench_elliptic", "bench_tight",
          "slider"]
LAWS = ["anitescu", "stewart_trinkle", "compliant", "soft_anchor", "impulsive"]


@functools.lru_cache
def start_of(name):
    """Energetic states, some pushed by the user, one broken, after they fell for a while."""
    rng = np.random.default_rng(3)
    with ds.Batch(model_of(name), COUNT, num_threads=1) as sim:
        shake(sim, rng, 2.0)
        for _ in range(12):
            sim.step(5)
        sim.xfrc_applied[40:44] = rng.normal(0, 20, sim.xfrc_applied[40:44].shape)
        sim.qfrc_applied[50:80] = rng.normal(0, 1, sim.qfrc_applied[50:80].shape)
        sim.qvel[77] = np.nan
        sim.qvel[78] = 1e9
        return {field: getattr(sim, field).copy() for field in STATE}


def numbers(sim):
    """Everything, but which NaN an operation on NaN gives."""
    answer = everything(sim)
    for array in answer.values():
        if array.dtype.kind == "f":
            array[np.isnan(array)] = np.nan
    return answer


def rollout(name, rows, watched, **options):
    """Three calls, and the ticks that changing packs took."""
    start, model = start_of(name), model_of(name)
    rng = np.random.default_rng(7)
    with ds.Batch(model, len(rows), **options) as sim:
        for field, array in start.items():
            getattr(sim, field)[...] = array[rows]
        for field in watched:
            getattr(sim, field)
        sim._core.time_stages(True)
        for substeps in (5, 1, 2):
            sim.ctrl[...] = rng.uniform(-1, 1, start["ctrl"].shape)[rows]
            sim.step(substeps)
        return numbers(sim), sim._core.stage_ticks()["regroup"]


@functools.lru_cache
def in_small_batches(name, dtype, watched, **options):
    parts, pack = [], 16 // np.dtype(dtype).itemsize  # of portable code
    for rows in np.array_split(np.arange(COUNT), -(-COUNT // (FEW * pack))):
        answer, ticks = rollout(name, rows, watched, num_threads=1, dtype=dtype, isa="portable", **options)
        assert ticks == 0
        parts.append(answer)
    return {field: np.concatenate([part[field] for part in parts]) for field in parts[0]}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize("name", MODELS)
def test_no_bit_depends_on_it(name, isa, threads, monkeypatch):
    # what a record lacks would be poison
    monkeypatch.setenv("DUALSTEP_POISON", "1")
    for watched in ((), tuple(OUTPUTS)):
        answer, ticks = rollout(name, np.arange(COUNT), watched, isa=isa, num_threads=threads)
        assert ticks > 0 or name == "slider"
        assert_same(answer, in_small_batches(name, "float32", watched))
        status = answer["status"]
        broken = np.flatnonzero(status & ds.Status.DIVERGED)
        assert 77 in broken and (78 in broken or name == "slider") and broken.min() >= 40
        if name == "bench_tight":
            assert np.count_nonzero(status & ds.Status.CONTACT_OVERFLOW) > 5


@pytest.mark.parametrize("watched", [(), tuple(OUTPUTS)])
def test_outputs_of_the_last_stage(watched, monkeypatch):
    """Of a stage in which packs are not left."""
    monkeypatch.setenv("DUALSTEP_POISON", "1")
    answer, ticks = rollout("ant", np.arange(COUNT), watched, rk4_outputs="last")
    assert ticks > 0
    assert_same(answer, in_small_batches("ant", "float32", watched, rk4_outputs="last"))


@pytest.mark.parametrize("name", ["small", "ant", "bench_humanoid"])
def test_in_double_precision(name, monkeypatch):
    monkeypatch.setenv("DUALSTEP_POISON", "1")
    answer, ticks = rollout(name, np.arange(COUNT), (), dtype="float64")
    assert ticks > 0
    assert_same(answer, in_small_batches(name, "float64", ()))


@pytest.mark.parametrize("name", ["everything", "bench_wet", *(f"bench_{law}" for law in LAWS)])
def test_ties_fluids_and_other_laws(name, monkeypatch):
    monkeypatch.setenv("DUALSTEP_POISON", "1")
    answer, ticks = rollout(name, np.arange(COUNT), tuple(OUTPUTS), num_threads=2)
    assert ticks > 0
    assert_same(answer, in_small_batches(name, "float32", tuple(OUTPUTS)))
    assert np.count_nonzero(answer["contact_count"]) > COUNT / 8  # of those that bounce few touch at any time


def test_calls_that_stay_in_their_packs():
    """Parameters of single environments; nothing to collide."""

    def ticks(model, substeps=3, prepare=lambda sim: None):
        with ds.Batch(model, COUNT, num_threads=1) as sim:
            prepare(sim)
            sim._core.time_stages(True)
            sim.step(substeps)
            return sim._core.stage_ticks()["regroup"]

    assert ticks(small()) > 0 and ticks(small(), 1) > 0
    assert ticks(small(), 1, lambda sim: sim.qacc) > 0
    masses = np.linspace(1, 2, COUNT)[:, None] * small().body_mass
    assert ticks(small(), 3, lambda sim: sim.set_parameter("body_mass", masses)) == 0
    assert ticks(gym("inverted_double_pendulum")) == 0


def test_alternating_calls_keep_every_row_in_its_place():
    """Regrouped, in substeps, by masks: an environment keeps its numbers from one call to the next."""
    name = "bench_humanoid"
    start, model = start_of(name), model_of(name)

    def run(rows, **options):
        with ds.Batch(model, len(rows), **options) as sim:
            for field, array in start.items():
                getattr(sim, field)[...] = array[rows]
            mask = np.arange(COUNT)[rows] % 3 == 0
            for k in range(4):
                sim.step(3)
                sim.qacc
                sim.step(1)
                if k == 2:
                    sim.reset(mask)
            return numbers(sim)

    whole = run(np.arange(COUNT), num_threads=2)
    for rows in np.array_split(np.arange(COUNT), 10):
        assert_same(run(rows, num_threads=1, isa="portable"), whole, slice(None), rows)
