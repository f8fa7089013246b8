"""Batch.inspect: arrays of the workspace, on the emulator."""

import numpy as np
import pytest
from batch_models import shake, small

import dualstep as ds
from dualstep import _core


@pytest.fixture
def sim():
    batch = ds.Batch(small(), 3, device="emulated", lanes=4)
    shake(batch, np.random.default_rng(0))
    for _ in range(3):
        batch.step()
    return batch


def test_workspace_is_what_outputs_say(sim):
    for env in (2, 0, 1):
        for name in ("xpos", "xquat", "cvel", "qacc", "qfrc_bias", "qfrc_constraint"):
            found = sim.inspect(name, env=env)
            assert found.dtype == sim.dtype and np.array_equal(
                found, getattr(sim, name)[env]
            ), name
        # the state that the evaluation started from, not the present one
        assert np.array_equal(sim.inspect("qpos", env), sim._core.last("qpos")[env])
        assert not np.array_equal(sim.inspect("qpos", env), sim.qpos[env])


def test_factor_is_that_of_the_mass_matrix(sim):
    core, nv = sim._core, sim.model.nv
    lower, d = np.eye(nv), np.zeros((nv, nv))
    adr, column, packed = (
        core.integers("M_rowadr"),
        core.integers("M_col"),
        sim.inspect("LD", 1),
    )
    for i in range(nv):
        d[i, i] = packed[adr[i]]
        lower[i, column[adr[i] + 1 : adr[i + 1]]] = packed[adr[i] + 1 : adr[i + 1]]
    mass = sim.mass_matrix()[1]
    assert abs(lower.T @ d @ lower - mass).max() < 1e-5 * abs(mass).max()


def test_every_array_has_its_shape_and_nothing_changes(sim):
    before = sim.save()
    for name, _, _, _ in _core.scratch_fields():
        sim.inspect(name, 2)
    assert sim.inspect("cdof").shape == (sim.model.nv, 6)
    assert sim.inspect("con_pos").shape == (*sim.inspect("con_dist").shape, 3)
    assert sim.inspect("M").ndim == 1
    assert sim.save() == before


def test_before_any_step_it_is_the_start():
    sim = ds.Batch(small(), 2, device="emulated")
    assert np.array_equal(sim.inspect("qpos"), sim.qpos[0])


def test_errors_name_what_is_near(sim):
    with pytest.raises(ValueError, match="near are .*qfrc_bias"):
        sim.inspect("qfrc_bia")
    with pytest.raises(ValueError, match="env 3 is given, and the batch has 3"):
        sim.inspect("xpos", 3)
    with pytest.raises(ValueError, match="'cpu' keeps no workspace.*'emulated'"):
        ds.Batch(small(), 1, device="cpu").inspect("xpos")


def test_islands_are_those_of_the_contacts():
    """Two balls that touch, one on the floor, others in the air: who is with whom, and the forces that were found."""
    ball = '<body pos="{0} 0 {1}"><freejoint/><geom size=".1"/></body>'
    balls = "".join(ball.format(x, z) for x, z in [(0, 1), (0.19, 1), (1, 0.09), *((k, 1) for k in range(2, 8))])
    text = f'<mujoco><worldbody><geom type="plane" size="3 3 1"/>{balls}</worldbody></mujoco>'
    sim = ds.Batch(ds.Model.from_mjcf(text), 2, device="emulated", lanes=4)
    sim.step()
    before = sim.save()
    for name, _, _ in _core.island_fields():
        assert sim.inspect("islands." + name, 1).ndim == 1
    assert sim.save() == before
    islands, contacts = sim.inspect("islands.head", 1)[:2]
    tree_island = sim.inspect("islands.tree_island", 1)
    assert (islands, contacts) == (2, 2) and tree_island.dtype == np.int32
    first, second, floor, *air = tree_island
    assert first == second != floor and set(air) == {-1} and {first, floor} == {0, 1}
    force = sim.inspect("islands.con_f", 1)
    assert force.dtype == sim.dtype and force[:1] > 0
    with pytest.raises(ValueError, match="near are islands.tree_island"):
        sim.inspect("islands.tree_islands")
    with pytest.raises(ValueError, match="solved as a whole"):
        ds.Batch(small(), 1, device="emulated").inspect("islands.head")
