"""Resets: all, masked, to keyframes; diverged environments; status."""

import copy
import numpy as np
import pytest
from batch_models import assert_same, everything, gym, shake, small

import dualstep as ds

N = 37


@pytest.mark.parametrize("warm", [False, True], ids=["no-output", "all-outputs"])
@pytest.mark.parametrize("keyframe", [None, 0, "low"])
def test_a_masked_reset_is_a_fresh_environment_and_touches_no_other(warm, keyframe):
    rng = np.random.default_rng(3)
    sim, fresh = ds.Batch(small(), N), ds.Batch(small(), N)
    if warm:
        everything(sim)
    shake(sim, rng)
    for _ in range(20):
        sim.step(2)
    before_state = {name: array for name, array in everything(sim).items()} if warm else None
    saved = sim.save()
    mask = rng.random(N) < 0.4
    sim.reset(mask, keyframe)
    fresh.reset(keyframe=keyframe)
    after = everything(sim)
    if not warm:
        other = ds.Batch(small(), N)
        other.load(saved)
        before_state = everything(other)
    assert_same(after, everything(fresh), mask, mask)
    assert_same(after, before_state, ~mask, ~mask)
    # and so they go on
    sim.step(3)
    fresh.step(3)
    assert_same(everything(sim), everything(fresh), mask, mask)


def test_keyframes():
    sim = ds.Batch(small(), 3)
    sim.reset(keyframe="thrown")
    key = sim.model.mj_model.key("thrown")
    for name in ("qpos", "qvel", "act", "ctrl"):
        np.testing.assert_array_equal(getattr(sim, name)[1], getattr(key, name).astype(np.float32))
    np.testing.assert_array_equal(sim.mocap_pos[1, 0], [4, 5, 6])
    np.testing.assert_array_equal(sim.mocap_quat[1, 0], [0, 0, 1, 0])
    assert (sim.time == 1.5).all()
    sim.reset(np.array([True, False, False]), 1)
    np.testing.assert_allclose(sim.qpos[:, 2], [0.09, 1, 1])
    assert sim.time.tolist() == [0, 1.5, 1.5]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(mask=np.ones(N - 1, bool)), [f"({N - 1},)", f"({N},)"]),
        (dict(mask=np.ones((N, 1), bool)), [f"({N}, 1)", f"({N},)"]),
        (dict(mask=np.ones(N, np.int64)), ["int64", "bool"]),
        (dict(mask=np.ones(N, np.float32)), ["float32", "bool"]),
        (dict(mask=[1] * N), ["int64", "bool"]),
        (dict(keyframe="lost"), ["'lost'", "'thrown'", "'low'"]),
        (dict(keyframe=2), ["keyframe 2", "0 to 1"]),
        (dict(keyframe=-1), ["keyframe -1"]),
        (dict(keyframe=0.5), ["0.5"]),
    ],
)
def test_what_a_reset_refuses(arguments, words):
    sim = ds.Batch(small(), N)
    sim.step()
    before = everything(sim)
    with pytest.raises(ValueError) as error:
        sim.reset(**arguments)
    assert all(word in str(error.value) for word in words), error.value
    assert_same(everything(sim), before)


def test_a_list_of_booleans_is_a_mask():
    sim = ds.Batch(small(), 3)
    sim.step()
    sim.reset([True, False, True])
    assert sim.time.tolist() == [0, 0.004, 0]


def test_a_model_without_keyframes_says_so():
    assert gym("hopper").nkey == 0
    with pytest.raises(ValueError, match="no keyframes"):
        ds.Batch(gym("hopper"), 2).reset(keyframe=0)


POISON = [np.nan, np.inf, -np.inf, 1e12, 1e30]


@pytest.mark.parametrize("value", POISON)
@pytest.mark.parametrize("where", ["qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied"])
@pytest.mark.parametrize("name, solver", [("small", "pgs_newton"), ("humanoid", "pgs_newton"), ("humanoid", "pgs_anderson")])
def test_one_diverged_environment_touches_no_other(name, solver, where, value):
    model = small() if name == "small" else copy.deepcopy(gym(name))
    model.opt.solver = solver
    sim, twin = ds.Batch(model, N), ds.Batch(model, N)
    rng = np.random.default_rng(5)
    for s in (sim, twin):
        everything(s)
    shake(sim, rng)
    twin.qvel[...], twin.ctrl[...] = sim.qvel, sim.ctrl
    for s in (sim, twin):
        s.step(5)
    getattr(sim, where)[11].reshape(-1)[2 if where != "ctrl" else 0] = value
    for s in (sim, twin):
        s.step(5)
    others = np.arange(N) != 11
    assert_same(everything(sim), everything(twin), others, others)
    assert ds.Status.DIVERGED in ds.Status(int(sim.status[11]))
    assert not (sim.status[others] & ds.Status.DIVERGED).any()
    # frozen: time stands still until the reset, which makes it a fresh one
    stands = sim.time[11]
    sim.step(3)
    assert sim.time[11] == stands
    sim.reset(~others)
    assert sim.status[11] == 0 and not sim.time[11]
    fresh = ds.Batch(model, N)
    everything(fresh)
    sim.step(2)
    fresh.step(2)
    assert_same(everything(sim), everything(fresh), ~others, ~others)


@pytest.mark.parametrize("value", POISON)
@pytest.mark.parametrize("where", ["mocap_pos", "mocap_quat"])
def test_a_mocap_body_that_is_nowhere_is_flagged_though_nothing_touches_it(where, value):
    model = ds.Model.from_mjcf(
        """<mujoco><worldbody><body mocap="true" pos="0 0 5"><geom size=".1"/></body>
        <body><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    )
    with ds.Batch(model, 3) as sim:
        getattr(sim, where)[1, 0, 2] = value
        sim.step()
        assert ((sim.status & ds.Status.DIVERGED) != 0).tolist() == [False, True, False]
        assert sim.time[0] > 0 and sim.time[1] == 0


def test_diverged_environments_are_reset_where_asked():
    sim, fresh = (ds.Batch(small(), N, diverged="reset") for _ in range(2))
    everything(sim)
    sim.step(4)
    sim.qvel[[3, 20]] = np.nan
    sim.step(2)
    hit = np.zeros(N, bool)
    hit[[3, 20]] = True
    assert ((sim.status & ds.Status.DIVERGED) != 0).tolist() == hit.tolist()
    assert sim.reset_count.tolist() == hit.astype(int).tolist()
    assert_same(everything(sim), everything(fresh), hit, hit, skip=("status", "reset_count"))
    sim.step()
    fresh.step()
    assert not (sim.status & ds.Status.DIVERGED).any() and sim.reset_count.sum() == 2
    assert_same(everything(sim), everything(fresh), hit, hit, skip=("reset_count",))
    sim.qvel[3] = 1e15
    sim.step()
    assert sim.reset_count[3] == 2


def test_status_stays_until_it_is_cleared():
    sim = ds.Batch(small(), N)
    sim.qpos[[2, 5], 0] = np.inf
    sim.step()
    sim.qpos[[2, 5], 0] = 0
    sim.step()
    assert sim.status[[2, 5]].tolist() == [1, 1] and sim.time[2] == 0
    mask = np.zeros(N, bool)
    mask[2] = True
    sim.clear_status(mask)
    sim.step()
    assert sim.status[[2, 5]].tolist() == [0, 1] and sim.time[2] == 0.004
    sim.clear_status()
    assert not sim.status.any()
    with pytest.raises(ValueError, match="mask"):
        sim.clear_status(np.ones(3, bool))
