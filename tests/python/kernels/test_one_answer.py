"""One answer: the same bits from packs on the CPU and from lanes that share an environment, for every instruction set,
number of threads, batch size and place, and for every number of lanes in any order between barriers.

`DUALSTEP_LONG=1` runs everything for 1,000 steps; without it the costly combinations stop after 100.
"""

import functools
import os

import numpy as np
import pytest
from answers import IDENTITIES, OUTPUTS, first_difference, rollout
from scenes import ALL, BENCH, GYM, SCENES

import dualstep as ds

LONG = 1000
SHORT = LONG if os.environ.get("DUALSTEP_LONG") == "1" else 100
MODELS = [*GYM, *BENCH]
ORDER = {1: "ordered", 2: "reversed", 4: "shuffled", 8: "shuffled", 16: "reversed", 32: "shuffled"}


def long(name):
    """The steps of the whole comparison; three humanoids take as long as all others together."""
    return min(LONG, 2 * SHORT) if name == "bench_three_humanoids" else LONG


@functools.lru_cache
def load(name):
    return ds.Model.from_mjcf(ALL[name])


def has(isa):
    try:
        ds.Batch(load("reacher"), 1, isa=isa)
    except ValueError:
        return False
    return True


# of one model, since its trail is large: the tests below come model by model
@functools.lru_cache(maxsize=1)
def reference(name):
    """All identities, on one thread, in portable code."""
    return rollout(load(name), range(IDENTITIES), long(name), device="cpu", isa="portable", num_threads=1)


@pytest.mark.parametrize("name", MODELS, scope="class")
class TestModels:
    def test_the_rollouts_are_worth_comparing(self, name):
        trail = reference(name)
        last = trail[long(name)]
        assert np.isfinite(last["qpos"]).all() and np.isfinite(last["qvel"]).all()
        diverged = (last["status"] & int(ds.Status.DIVERGED)) != 0
        assert np.mean(diverged) < 0.2
        # every environment has a way of its own
        assert len({row.tobytes() for row in last["qpos"]}) == IDENTITIES

    def test_instruction_sets_and_threads(self, name):
        for isa in filter(has, ("portable", "avx2", "avx512")):
            for threads in (1, 2):
                if (isa, threads) == ("portable", 1):
                    continue  # what all others are compared with
                trail = rollout(load(name), range(IDENTITIES), long(name), device="cpu", isa=isa, num_threads=threads)
                assert first_difference(trail, reference(name)) is None, (isa, threads)

    @pytest.mark.parametrize("size", [1, 7, 64, 4096])
    def test_batch_sizes_and_places(self, name, size):
        rows = (5 + 11 * np.arange(size)) % IDENTITIES
        steps = SHORT if size == 4096 else long(name)
        if name == "bench_three_humanoids" and size == 4096:
            steps = SHORT // 10
        trail = rollout(load(name), rows, steps, device="cpu")
        shown = {step: arrays for step, arrays in reference(name).items() if step in trail}
        assert shown
        assert first_difference(trail, shown, slice(None), rows) is None

    @pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
    def test_lanes(self, name, lanes):
        rows = [3, 17]
        steps = LONG if lanes == 8 and "three" not in name else SHORT
        trail = rollout(load(name), rows, steps, device="emulated", lanes=lanes, order=ORDER[lanes], seed=1)
        assert first_difference(trail, reference(name), slice(None), rows) is None

    def test_parts_with_lanes_of_their_own(self, name):
        rows, lanes = [3, 17], (1, 8, 4, 32, 2) if MODELS.index(name) % 2 else (16, 2, 8, 1, 8)
        trail = rollout(load(name), rows, SHORT, device="emulated", lanes=lanes, seed=1)
        shown = {step: arrays for step, arrays in reference(name).items() if step in trail}
        assert first_difference(trail, shown, slice(None), rows) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SCENES)
def test_every_output_of_every_feature(name, dtype):
    model, rows = load(name), [0, 9, 21]
    names = ["qpos", "qvel", "act", "residual", "status", *OUTPUTS]
    options = {"names": names, "every": 5, "dtype": dtype}
    expected = rollout(model, rows, 30, device="cpu", **options)
    in_parts = (2, 8, 1, 32, 4)
    for lanes, order in ((1, "ordered"), (4, "reversed"), (8, "shuffled"), (32, "shuffled"), (in_parts, "shuffled")):
        got = rollout(model, rows, 30, device="emulated", lanes=lanes, order=order, **options)
        assert first_difference(got, expected) is None, lanes


@pytest.mark.parametrize("lanes", [2, 8, 32])
def test_contacts_that_overflow(lanes):
    model = ds.Model.from_mjcf(BENCH["bench_humanoid"])
    model.opt.contact_capacity = 4
    expected = rollout(model, range(6), 150, device="cpu", every=10)
    assert (expected[150]["status"] & int(ds.Status.CONTACT_OVERFLOW)).any()
    got = rollout(model, range(6), 150, device="emulated", lanes=lanes, every=10)
    assert first_difference(got, expected) is None


@pytest.mark.parametrize("lanes", [1, 8])
def test_parameters_of_single_environments(lanes):
    model = load("ant")

    def run(**options):
        with ds.Batch(model, 5, **options) as sim:
            sim.set_parameter("geom_friction", np.linspace(0.2, 1, 5)[:, None, None] * model.geom_friction)
            sim.set_parameter("opt_gravity", np.linspace(-12, -2, 5)[:, None] * [0, 0, 1])
            for _ in range(60):
                sim.step()
            return {60: {"qpos": sim.qpos.copy(), "qvel": sim.qvel.copy()}}

    assert first_difference(run(device="emulated", lanes=lanes), run(device="cpu")) is None


def test_a_broken_environment_is_alone_on_lanes_too():
    model = load("humanoid")
    trails = []
    for bad in (None, np.nan, 1e12):
        with ds.Batch(model, 3, device="emulated", lanes=8) as sim:
            for k in range(20):
                if k == 5 and bad is not None:
                    sim.qvel[1, 4] = bad
                sim.step()
            assert (sim.status[1] & int(ds.Status.DIVERGED) != 0) == (bad is not None)
            trails.append({20: {"qpos": sim.qpos[[0, 2]].copy(), "status": sim.status[[0, 2]].copy()}})
    for trail in trails[1:]:
        assert first_difference(trail, trails[0]) is None


def test_wrong_lanes_and_orders():
    model = load("reacher")
    for options, wanted in (
        ({"device": "emulated", "lanes": 3}, "lanes 3"),
        ({"device": "emulated", "lanes": 64}, "lanes 64"),
        ({"device": "emulated", "lanes": (8, 8)}, "lanes has 2 numbers.*smooth, collide, rows, solve, integrate"),
        ({"device": "emulated", "lanes": (8, 8, 8, 8, 5)}, "lanes 5"),
        ({"device": "emulated", "lanes": "fast"}, "'fast'.*'tuned'"),
        ({"device": "cpu", "lanes": (8, 8, 8, 8, 8)}, "device 'cpu'"),
        ({"device": "emulated", "order": "sorted"}, "order 'sorted'"),
        ({"device": "cpu", "lanes": 8}, "device 'cpu'"),
        ({"device": "cpu", "order": "ordered"}, "device 'cpu'"),
    ):
        with pytest.raises(ValueError, match=wanted):
            ds.Batch(model, 1, **options)
    with ds.Batch(model, 1, device="emulated", lanes=16, order="reversed") as sim:
        assert sim.device == "emulated" and sim.description == "emulated, 16 lanes, reversed"
