"""Sweeps alone, with a memory and without one, against the converged solution of the same step."""

import functools

import numpy as np
import pytest
from places import ROOT
from scenes import BENCH

import dualstep as ds
from dualstep.measure.accuracy import relative_error

MODELS = {"humanoid": BENCH["bench_humanoid"],
          "stack": ROOT / "bench" / "models" / "solver" / "stack.xml"}  # fmt: skip
COUNT = 64


def load(name, cone, **options):
    model = ds.Model.from_mjcf(MODELS[name])
    for key, value in {"cone": cone, **options}.items():
        setattr(model.opt, key, value)
    return model


@functools.lru_cache
def states(name, cone):
    """Positions, velocities and controls from the middle of an episode, where bodies touch."""
    rng = np.random.default_rng(1)
    with ds.Batch(load(name, cone), COUNT, device="cpu") as batch:
        batch.qvel = rng.normal(size=batch.qvel.shape).astype(np.float32)
        for _ in range(30):
            batch.ctrl = rng.uniform(-1, 1, batch.ctrl.shape).astype(np.float32)
            batch.step(5)
        return tuple(np.array(array, float) for array in (batch.qpos, batch.qvel, batch.ctrl))


def solve(name, cone, dtype="float64", **options):
    """Accelerations, those without constraints, the mass matrices, and the residuals that are reported."""
    with ds.Batch(load(name, cone, **options), COUNT, device="cpu", dtype=dtype) as batch:
        batch.qpos, batch.qvel, batch.ctrl = (array.astype(dtype) for array in states(name, cone))
        batch.forward()
        return tuple(np.array(a, float) for a in (batch.qacc, batch.qacc_smooth, batch.mass_matrix(), batch.residual))


@functools.lru_cache
def converged(name, cone):
    qacc, smooth, mass, residual = solve(name, cone, tolerance=1e-12, iterations=100)
    assert residual.max() < 1e-9
    return qacc, smooth, mass


def errors(name, cone, dtype="float64", **options):
    exact, smooth, mass = converged(name, cone)
    found = relative_error(solve(name, cone, dtype, **options)[0], exact, smooth, mass)
    assert len(found) > COUNT // 2  # bodies touch
    return found


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_sweeps_with_a_memory_come_to_the_same_answer(cone):
    assert errors("humanoid", cone, solver="pgs_anderson", iterations=400).max() < 1e-7
    # the plane is searched by the dual, whose rounding hides residuals below its square root; round cones feel it
    residual = solve("humanoid", cone, solver="pgs_anderson", iterations=400)[3]
    assert residual.max() < (1e-5 if cone == "elliptic" else 1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", MODELS)
def test_a_memory_is_worth_more_than_it_costs(name, cone, dtype):
    """The same accuracy by fewer sweeps; how much, bench/README.md says."""
    plain = errors(name, cone, dtype, solver="pgs", iterations=20)
    with_memory = errors(name, cone, dtype, solver="pgs_anderson", iterations=16)
    rounding = 1e-5 if dtype == "float32" else 1e-12
    assert np.median(with_memory) < max(np.median(plain), rounding)
    assert np.quantile(with_memory, 0.95) < 0.5 * np.quantile(plain, 0.95)


def test_one_sweep_has_nothing_to_remember():
    for name in MODELS:
        plain, with_memory = (solve(name, "pyramidal", solver=s, iterations=1)[0] for s in ("pgs", "pgs_anderson"))
        assert (plain == with_memory).all()


def test_no_sweep_leaves_the_dual_larger():
    """It falls by half the square of the error in the energy norm, so the errors of accelerations fall too."""
    best = np.inf
    for sweeps in (2, 4, 8, 16, 32, 64):
        error = np.median(errors("humanoid", "elliptic", solver="pgs_anderson", iterations=sweeps))
        assert error < 1.5 * best
        best = min(best, error)


def test_other_laws_refuse_it_by_name():
    model = load("humanoid", "pyramidal", solver="pgs_anderson", contact_model="anitescu")
    with pytest.raises(ds.UnsupportedModelError, match="solver = pgs_anderson"):
        ds.Batch(model, 1, device="cpu")
