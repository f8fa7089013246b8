"""Which evaluation outputs are of: the last stage of RK4 where asked, and of some environments alone."""

import mujoco
import numpy as np
import pytest
from batch_models import GYM, everything, shake, small

import dualstep as ds

# not qacc: MuJoCo leaves there the mean of the stages
DERIVED = ("xpos", "cvel", "qacc_smooth", "qfrc_bias", "qfrc_actuator", "qfrc_constraint", "subtree_com")


@pytest.mark.parametrize("substeps", [1, 3])
def test_last_stage_of_rk4_is_what_mujoco_leaves(substeps):
    m = mujoco.MjModel.from_xml_path(str(GYM / "ant.xml"))
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    rng = np.random.default_rng(0)
    sim = ds.Batch(ds.Model.from_mujoco(m), 8, dtype="float64", rk4_outputs="last")
    first = ds.Batch(ds.Model.from_mujoco(m), 8, dtype="float64")
    for batch in (sim, first):
        batch.qpos[:] += np.random.default_rng(1).uniform(-0.1, 0.1, batch.qpos.shape)
        batch.qpos[:, 3:7] /= np.linalg.norm(batch.qpos[:, 3:7], axis=1)[:, None]
        batch.qvel[:] = np.random.default_rng(2).normal(size=batch.qvel.shape)
    sim.ctrl[:] = first.ctrl[:] = rng.uniform(-1, 1, sim.ctrl.shape)
    start = sim.qpos.copy(), sim.qvel.copy()
    sim.step(substeps)
    first.step(substeps)
    d = mujoco.MjData(m)
    for e in range(8):
        mujoco.mj_resetData(m, d)
        d.qpos[:], d.qvel[:], d.ctrl[:] = start[0][e], start[1][e], sim.ctrl[e]
        mujoco.mj_step(m, d, substeps)
        assert abs(sim.qpos[e] - d.qpos).max() < 1e-10
        for name in DERIVED:
            wanted = getattr(d, name).reshape(getattr(sim, name)[e].shape)
            assert abs(getattr(sim, name)[e] - wanted).max() < 1e-7 * max(1, abs(wanted).max()), name
        # those of the start are others, and the motion is the same
        assert abs(first.xpos[e] - d.xpos).max() > 1e-4
    assert np.array_equal(sim.qpos, first.qpos) and np.array_equal(sim.qvel, first.qvel)


def test_an_output_asked_for_late_is_the_same():
    m = ds.Model.from_mjcf(GYM / "humanoid.xml")
    early, late = (ds.Batch(m, 5, rk4_outputs="last") for _ in range(2))
    early.cinert, early.contacts()
    for sim in (early, late):
        sim.qvel[:] = np.random.default_rng(0).normal(size=sim.qvel.shape)
        sim.step(7)
    assert np.array_equal(early.cinert, late.cinert)
    assert np.array_equal(early.contacts().dist, late.contacts().dist, equal_nan=True)
    assert np.array_equal(early.qacc, late.qacc)


@pytest.mark.parametrize("n", [1, 37])
def test_forward_of_some(n):
    rng = np.random.default_rng(5)
    sim, whole = ds.Batch(small(), n), ds.Batch(small(), n)
    everything(sim)
    shake(sim, rng)
    sim.step(3)
    before = {name: array.copy() for name, array in everything(sim).items()}
    mask = rng.random(n) < 0.5
    mask[0] = True
    sim.qpos[:, -1] += 0.1
    sim.qvel[:] *= 0.5
    whole.load(sim.save())
    sim.forward(mask)
    whole.forward()
    after, wanted = everything(sim), everything(whole)
    for name in DERIVED:
        assert np.array_equal(after[name][mask], wanted[name][mask]), name
        assert np.array_equal(after[name][~mask], before[name][~mask]), name
    # nothing moved, and the others go on as if nothing had been asked
    untouched = ds.Batch(small(), n)
    untouched.load(whole.save())
    assert np.array_equal(sim.qpos, untouched.qpos)
    sim.step(2)
    untouched.step(2)
    assert np.array_equal(sim.qpos, untouched.qpos)


def test_words_that_are_refused():
    with pytest.raises(ValueError, match="rk4_outputs 'middle'"):
        ds.Batch(small(), 1, rk4_outputs="middle")
    with pytest.raises(ValueError, match="mask"):
        ds.Batch(small(), 2).forward(np.ones(3, bool))
