"""Meshes and ellipsoids in a Batch: contacts against MuJoCo's along a motion, one answer, rest."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

XML = """<mujoco><option timestep="0.002"/><asset>
<mesh name="cube" vertex="-.1 -.1 -.1 .1 -.1 -.1 -.1 .1 -.1 .1 .1 -.1 -.1 -.1 .1 .1 -.1 .1 -.1 .1 .1 .1 .1 .1"/>
<mesh name="wedge" vertex="-.1 -.1 -.05 .1 -.1 -.05 -.1 .1 -.05 .1 .1 -.05 0 0 .12 .05 .05 .1"/></asset>
<worldbody><geom type="plane" size="3 3 .1"/>
<body pos="0 0 .12"><freejoint/><geom type="mesh" mesh="cube"/></body>
<body pos=".05 .02 .3"><freejoint/><geom type="mesh" mesh="wedge"/></body>
<body pos=".5 0 .1"><freejoint/><geom type="ellipsoid" size=".1 .15 .08"/></body>
<body pos=".5 .05 .3"><freejoint/><geom type="capsule" size=".05 .1"/></body>
<body pos="1 0 .1"><freejoint/><geom type="box" size=".1 .15 .08"/></body>
<body pos="1 .05 .3"><freejoint/><geom type="mesh" mesh="cube"/></body>
<body pos="1.5 0 .1"><freejoint/><geom type="cylinder" size=".1 .08"/></body>
<body pos="1.5 .05 .3"><freejoint/><geom type="mesh" mesh="cube"/></body>
</worldbody></mujoco>"""


def deepest(geoms, dists):
    """The least distance of each pair of geoms, and how many contacts it has."""
    found = {}
    for pair, dist in zip(np.sort(geoms, axis=1).tolist(), dists, strict=True):
        least, count = found.get(tuple(pair), (np.inf, 0))
        found[tuple(pair)] = min(least, float(dist)), count + 1
    return found


# of shapes of 0.1 m: the bounds for the depth by the size of the smaller shape are 1e-6 and 1e-4
@pytest.mark.parametrize("dtype, close", [("float64", 1e-6), ("float32", 3e-5)])
def test_depths_are_mujocos_along_a_fall(dtype, close):
    m = mujoco.MjModel.from_xml_string(XML)
    m.opt.ccd_tolerance, m.opt.ccd_iterations = 1e-10, 300
    d, seen = mujoco.MjData(m), set()
    model = ds.Model.from_mjcf(XML)
    with ds.Batch(model, 3, dtype=dtype) as batch, ds.Batch(model, 1, dtype="float64") as exact:
        for _ in range(30):
            batch.step(20)
            batch.forward()
            assert not np.array(batch.status).any()
            assert np.array_equal(*np.array(batch.qpos)[[0, 2]])
            count = int(np.array(batch.contact_count)[0])
            mine = deepest(np.array(batch.contact_geom)[0, :count], np.array(batch.contact_dist)[0, :count])
            exact.qpos[:] = np.array(batch.qpos)[:1]
            exact.forward()
            count = int(np.array(exact.contact_count)[0])
            finer = deepest(np.array(exact.contact_geom)[0, :count], np.array(exact.contact_dist)[0, :count])
            d.qpos[:] = np.array(batch.qpos)[0]
            mujoco.mj_forward(m, d)
            theirs = deepest(d.contact.geom, d.contact.dist)
            for pair in mine.keys() | theirs.keys():
                a, b = mine.get(pair, (0.0, 0))[0], theirs.get(pair, (0.0, 0))[0]
                # both precisions find one depth, and MuJoCo too, but for a cylinder on a mesh, where it differs from
                # both by up to 6e-5 m
                assert abs(a - finer.get(pair, (0.0, 0))[0]) < close, (pair, a)
                slack = 6e-5 if pair == (7, 8) else 0
                assert abs(a - b) < close + slack, (pair, a, b)
            seen |= mine.keys()
        assert np.abs(np.array(batch.qvel)).max() < 0.5
    assert len(seen) >= 8
    # what lies flat has as many contacts as in MuJoCo
    for pair in ((0, 1), (0, 5), (1, 2), (5, 6), (7, 8)):
        assert mine[pair][1] == theirs[pair][1] == 4, pair


PRISM = """<mujoco><option timestep="0.002"/><asset>
<mesh name="prism" vertex="-.1 0 -.1 .1 0 -.1 -.1 .08 .05 .1 .08 .05 -.1 -.08 .05 .1 -.08 .05"/>
<mesh name="slab" vertex="-1 -1 -.1 1 -1 -.1 -1 1 -.1 1 1 -.1 -1 -1 .1 1 -1 .1 -1 1 .1 1 1 .1"/></asset>
<worldbody>{under}<body pos=".1 .05 {height}" euler="0 0 30"><freejoint/><geom type="mesh" mesh="prism"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("gap", [-1e-4, 1e-4])
@pytest.mark.parametrize("under", ['type="box" size="1 1 .1"', 'type="mesh" mesh="slab"'], ids=["box", "mesh"])
def test_a_prism_on_its_edge_touches_at_both_ends(under, gap, device):
    """MuJoCo's contacts and accelerations, and the reference's."""
    m = mujoco.MjModel.from_xml_string(PRISM.format(under=f'<geom {under} margin=".01"/>', height=0.2 + gap))
    m.opt.tolerance, m.opt.iterations = 0, 300
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    assert d.ncon == 2 and np.abs(d.contact.dist - gap).max() < 1e-6
    model = ds.Model.from_mujoco(m)
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    reference = ds.Reference(model)
    reference.qpos[...] = d.qpos
    reference.forward()
    with ds.Batch(model, 1, device=device, dtype="float64") as batch:
        batch.qpos[:] = d.qpos
        batch.forward()
        assert int(batch.contact_count[0]) == 2
        places = np.array(batch.contact_pos)[0, :2]
        order = np.argsort(places[:, 0])
        for other in (np.array(d.contact.pos), np.array(reference.contacts().pos)):
            assert np.abs(places[order] - other[np.argsort(other[:, 0])]).max() < 2e-6
        assert np.abs(np.array(batch.qacc)[0] - d.qacc).max() < 1e-6
        assert np.abs(np.array(batch.qacc)[0] - np.array(reference.qacc)).max() < 1e-9
