"""Scenes of many trees, which kernels/solver/islands/ solves island by island: against the solver that takes an
environment as one problem, against MuJoCo, and for what islands promise: no row reaches what it does not touch."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

SHAPES = {
    "sphere": "size='.06'",
    "capsule": "size='.04 .05'",
    "box": "size='.06 .05 .04'",
    "cylinder": "size='.05 .05'",
}


def heap(count, shapes=("box", "sphere", "capsule", "cylinder"), *, cone="elliptic", condim=3, extra=""):
    """Free bodies above a plane between four walls, and what else is in the world."""
    rng = np.random.default_rng(count)
    bodies = []
    for i in range(count):
        layer, place = divmod(i, 4)
        x, y, z = 0.13 * (place % 2) - 0.065, 0.13 * (place // 2) - 0.065, 0.1 + 0.15 * layer
        quat = " ".join(f"{q:.3f}" for q in rng.normal(size=4))
        shape = shapes[i % len(shapes)]
        bodies.append(
            f"<body pos='{x} {y} {z}' quat='{quat}'><freejoint/>"
            f"<geom type='{shape}' {SHAPES[shape]} condim='{condim}' density='500'/></body>"
        )
    walls = "".join(
        f"<geom type='box' pos='{x} {y} .5' size='{sx} {sy} .5'/>"
        for x, y, sx, sy in ((0.2, 0, 0.05, 0.3), (-0.2, 0, 0.05, 0.3), (0, 0.2, 0.3, 0.05), (0, -0.2, 0.3, 0.05))
    )
    return (
        f"<mujoco><option cone='{cone}'/><worldbody><geom type='plane' size='5 5 .1'/>"
        f"{walls}{''.join(bodies)}{extra}</worldbody></mujoco>"
    )


# joints with limits, friction loss, damping and a ball limit, in trees of their own
ARMS = "".join(
    f"<body pos='{x} 1 .6'><joint type='hinge' axis='0 1 0' limited='true' range='-20 20' frictionloss='.1'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 0'/>"
    "<body pos='.3 0 0'><joint type='ball' limited='true' range='0 30'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .2 0 0'/></body></body>"
    for x in (0, 1, 2)
)


def states(sim, calls, steps):
    """Positions, velocities and accelerations along a rollout."""
    for _ in range(calls):
        sim.step(steps)
        yield np.array(sim.qpos), np.array(sim.qvel)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("condim", [1, 3, 6])
def test_as_one_problem(cone, condim):
    """Accelerations are those of the solver that knows no islands."""
    xml = heap(10, cone=cone, condim=condim, extra=ARMS)
    model, whole = ds.Model.from_mjcf(xml), ds.Model.from_mjcf(xml)
    model.opt.tolerance = whole.opt.tolerance = 1e-9
    model.opt.iterations = whole.opt.iterations = 60
    whole.opt.solver = "pgs_newton_primal"
    one, other = ds.Batch(model, 2, dtype="float64"), ds.Batch(whole, 2, dtype="float64")
    for qpos, qvel in states(ds.Batch(whole, 2, dtype="float64"), 6, 40):
        for sim in (one, other):
            sim.qpos[:], sim.qvel[:] = qpos, qvel
            sim.forward()
        a, b = np.array(one.qacc), np.array(other.qacc)
        assert np.abs(a - b).max() < 1e-6 * np.abs(b).max()
        assert not np.array(one.status).any()


def test_lanes_have_the_bits_of_packs():
    model = ds.Model.from_mjcf(heap(9, extra=ARMS))
    wanted = ds.Batch(model, 3)
    wanted.step(60)
    for lanes in (1, 8):
        sim = ds.Batch(model, 1, device="emulated", lanes=lanes)
        sim.step(60)
        assert np.array_equal(np.array(sim.qpos)[0], np.array(wanted.qpos)[0])


# trees that are too large for an eight, as robots are: islands of one tree, which packs of islands solve
LEGS = "".join(
    f"<body pos='{x} {y} 0' euler='0 20 0'><joint axis='0 1 0' limited='true' range='-60 20' frictionloss='.2'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2'/>"
    "<body pos='0 0 -.2'><joint axis='0 1 0' limited='true' range='-10 90' armature='.01'/>"
    "<geom type='capsule' size='.025' fromto='0 0 0 0 0 -.18'/></body></body>"
    for x, y in ((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1))
)
HERD = "".join(
    f"<body pos='{2 + 0.5 * (i % 3)} {0.5 * (i // 3)} {0.5 + 0.1 * i}'><freejoint/>"
    f"<geom type='box' size='.2 .08 .05' mass='5'/>{LEGS}</body>"
    for i in range(4)
)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("condim", [3, 6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_robots_have_the_bits_of_packs_and_lanes(cone, condim, dtype):
    """Islands of one tree share packs with those of other environments, beside islands of several."""
    model = ds.Model.from_mjcf(heap(5, cone=cone, condim=condim, extra=HERD))
    outputs = ("qpos", "qvel", "contact_force", "residual", "iterations", "status")
    many = ds.Batch(model, 17, dtype=dtype)
    many.qvel[:] = np.random.default_rng(0).normal(size=np.shape(many.qvel))
    qvel = np.array(many.qvel)
    others = [(16, ds.Batch(model, 1, dtype=dtype)), (5, ds.Batch(model, 2, dtype=dtype))]
    if dtype == "float32":
        others += [(env, ds.Batch(model, 1, device="emulated", lanes=lanes)) for env, lanes in ((0, 1), (7, 8))]
    for env, other in others:
        other.qvel[:] = qvel[env]
    for _ in range(4):
        many.step(40)
        for env, other in others:
            other.step(40)
            for name in outputs:
                assert np.array_equal(np.array(getattr(other, name))[0], np.array(getattr(many, name))[env]), name
    assert np.count_nonzero(np.array(many.contacts_needed)) == 17


def clump(count):
    """Robots with two geoms on every body, things that do not move between them in the order of bodies."""
    leg = "".join(
        f"<body pos='{x} 0 0'><joint axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2'/><geom size='.04'/>"
        "<body pos='0 0 -.2'><joint axis='1 0 0'/><geom type='capsule' size='.025' fromto='0 0 0 0 0 -.2'/>"
        "<geom size='.035' pos='0 0 -.2'/></body></body>"
        for x in (-0.2, 0, 0.2)
    )
    robot = f"<freejoint/><geom type='capsule' size='.06' fromto='-.2 0 0 .2 0 0'/><geom size='.09' pos='.2 0 0'/>{leg}"
    post = "<body pos='{} 0 .2'><geom type='capsule' size='.05 .2'/><geom size='.1' pos='0 0 .2'/></body>"
    bodies = "".join(f"<body pos='{0.3 * i} 0 .5'>{robot}</body>{post.format(0.3 * i)}" for i in range(count))
    return f"<mujoco><worldbody><geom type='plane' size='5 5 .1'/>{bodies}</worldbody></mujoco>"


@pytest.mark.parametrize("spread", [0.1, 0.5, 3.0])
def test_no_pair_in_touch_is_left_out(spread):
    """Packs ask whole trees and bodies first whether they are near; lanes look at every pair."""
    model = ds.Model.from_mjcf(clump(5))
    sim, lanes = ds.Batch(model, 12), ds.Batch(model, 1, device="emulated", lanes=8)
    rng = np.random.default_rng(3)
    qpos = np.array(sim.qpos)
    for root in range(0, qpos.shape[1], 13):  # 7 numbers of a free joint, 6 hinges
        qpos[:, root : root + 3] = spread * rng.normal(size=(12, 3)) + [0, 0, 0.4]
        qpos[:, root + 3 : root + 7] = rng.normal(size=(12, 4))
        qpos[:, root + 7 : root + 13] = rng.normal(size=(12, 6))
    sim.qpos[:] = qpos
    sim.forward()
    count = np.array(sim.contacts_needed)
    assert count.max() > 5
    for env in range(12):
        lanes.qpos[:] = qpos[env]
        lanes.forward()
        assert np.array(lanes.contacts_needed)[0] == count[env]
        for name in ("contact_geom", "contact_dist", "qacc"):
            assert np.array_equal(np.array(getattr(lanes, name))[0], np.array(getattr(sim, name))[env]), name


def comb(count, tips, teeth=47):
    """Trees of a slide and many hinges with limits, some of whose tips can touch the ground."""
    tooth = (
        "<body pos='{0} 0 0'><joint axis='0 1 0' limited='true' range='-10 10' armature='.01'/>"
        "<geom size='.02' pos='0 0 -.1' density='500' contype='{1}' conaffinity='0'/></body>"
    )
    row = "".join(tooth.format(0.05 * k, int(k < tips)) for k in range(teeth))
    bodies = "".join(
        f"<body pos='0 {0.3 * i} .5'><joint type='slide' axis='0 0 1'/><geom size='.02' contype='0' conaffinity='0'/>{row}</body>"
        for i in range(count)
    )
    return f"<mujoco><worldbody><geom type='plane' size='5 5 .1' contype='0'/>{bodies}</worldbody></mujoco>"


@pytest.mark.parametrize(("limits", "contacts"), [(32, 10), (28, 8), (15, 10)])
def test_a_pack_has_room_for_the_rows_of_all_its_islands(limits, contacts):
    """One has limits in use, another contacts: together more rows than either may have, and than a pack has dofs."""
    model = ds.Model.from_mjcf(comb(4, contacts))
    qpos = np.zeros((2, 4, 48))
    qpos[0, :, 1 : limits + 1] = 0.18
    qpos[1, :, 0] = -0.385
    both = ds.Batch(model, 2)
    both.qpos[:] = qpos.reshape(2, -1)
    both.forward()
    assert list(np.array(both.contacts_needed)) == [0, 4 * contacts] and not np.array(both.status).any()
    for env in range(2):
        alone = ds.Batch(model, 1)
        alone.qpos[:] = qpos[env].ravel()
        alone.forward()
        assert np.array_equal(np.array(alone.qacc)[0], np.array(both.qacc)[env])


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("condim", [1, 3, 6])
def test_robots_that_touch_each_other_are_solved_among_their_rows(cone, condim, rng):
    """Few rows reach several trees of twelve dofs: accelerations of the solver of one problem, and its own bits in lanes."""
    options = f"<option cone='{cone}'/><default><geom condim='{condim}'/></default>"
    xml = clump(5).replace("<worldbody>", f"{options}<worldbody>")
    mj, model, whole = mujoco.MjModel.from_xml_string(xml), ds.Model.from_mjcf(xml), ds.Model.from_mjcf(xml)
    whole.opt.solver = "pgs_newton_primal"
    model.opt.tolerance = whole.opt.tolerance = 1e-10
    model.opt.iterations = whole.opt.iterations = 60
    one, other = ds.Batch(model, 32, dtype="float64"), ds.Batch(whole, 32, dtype="float64")
    qpos = np.array(one.qpos)
    for root in range(0, qpos.shape[1], 13):
        qpos[:, root : root + 3] += 0.2 * rng.normal(size=(32, 3)) + [0, 0, 0.6]
        qpos[:, root + 3 : root + 7] = rng.normal(size=(32, 4))
    for sim in (one, other):
        sim.qpos[:] = qpos
        sim.forward()
    data, few = mujoco.MjData(mj), 0
    for env in range(32):
        data.qpos[:] = qpos[env]
        mujoco.mj_forward(mj, data)
        trees = {tuple(mj.body_treeid[mj.geom_bodyid[list(contact.geom)]]) for contact in data.contact[: data.ncon]}
        few += any(min(pair) >= 0 and pair[0] != pair[1] for pair in trees) and data.ncon * condim <= 16
        lanes = ds.Batch(model, 1, dtype="float64", device="emulated", lanes=8)
        lanes.qpos[:] = qpos[env]
        lanes.forward()
        assert np.array_equal(np.array(lanes.qacc)[0], np.array(one.qacc)[env])
    assert few > 1
    a, b = np.array(one.qacc), np.array(other.qacc)
    assert np.abs(a - b).max() < 1e-6 * np.abs(b).max()
    assert not np.array(one.status).any()


def test_neighbours_change_no_bit():
    """Environments whose islands differ share a pack."""
    model = ds.Model.from_mjcf(heap(12))
    many = ds.Batch(model, 17)
    rng = np.random.default_rng(0)
    many.qvel[:] = rng.normal(size=np.shape(many.qvel))
    qvel = np.array(many.qvel)
    many.step(80)
    for env in (0, 5, 16):
        alone = ds.Batch(model, 1)
        alone.qvel[:] = qvel[env]
        alone.step(80)
        assert np.array_equal(np.array(alone.qpos)[0], np.array(many.qpos)[env])


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_robots_whose_rows_are_cut_short_are_flagged_where_they_are_wrong(cone, rng):
    model = ds.Model.from_mjcf(heap(0, extra=HERD, cone=cone))
    with ds.Batch(model, 1, dtype="float64") as batch:
        batch.step(250)
        qpos = np.array(batch.qpos[0])
    answers, states = [], rng.normal(size=(32, model.nv))
    for model.opt.iterations, model.opt.tolerance in ((60, 1e-10), (1, 1e-10)):
        with ds.Batch(model, 32, dtype="float64") as batch:
            batch.qpos[:], batch.qvel[:] = qpos, states
            batch.forward()
            answers.append((np.array(batch.qacc), np.array(batch.status) & int(ds.Status.NOT_CONVERGED)))
    (right, unflagged), (found, flagged) = answers
    # what is right is so to a hundredth in the norm of the energy: light links may be some times as wrong
    wrong = np.abs(found - right).max(1) > 0.1 * np.abs(right).max(1)
    assert not unflagged.any() and wrong.sum() > 4
    assert flagged[wrong].all()


def test_what_nothing_touches_moves_as_if_alone():
    """A pendulum without constraints beside a heap: to the bit, in single precision too."""
    pendulum = (
        "<body pos='3 0 2'><joint type='hinge' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 .5 0 0'/>"
        "<body pos='.5 0 0'><joint type='hinge' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 .4 0 0'/>"
        "</body></body>"
    )
    beside = ds.Batch(ds.Model.from_mjcf(heap(9, extra=pendulum)), 1)
    alone = ds.Batch(ds.Model.from_mjcf(f"<mujoco><worldbody>{pendulum}</worldbody></mujoco>"), 1)
    for _ in range(10):
        beside.step(30)
        alone.step(30)
        assert np.array_equal(np.array(beside.qpos)[0, -2:], np.array(alone.qpos)[0])


def rows_of_robots(mj, data):
    """How many constraint rows reach each tree of more than eight dofs, and no other tree."""
    import mujoco

    jacobian = np.zeros((data.nefc, mj.nv))
    if data.nefc:
        mujoco.mju_sparse2dense(jacobian, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    reached = np.array([[np.any(row[mj.dof_treeid == tree]) for tree in range(mj.ntree)] for row in jacobian], bool)
    alone = reached.reshape(-1, mj.ntree)[:, np.bincount(mj.dof_treeid) > 8]
    return alone.sum(axis=0)


@pytest.mark.parametrize("extra", ["", HERD], ids=["free", "robots"])
def test_a_heap_against_mujoco(extra):
    """Spheres and capsules, whose contacts are the same points in MuJoCo. Robots fall, and so have few rows, then many."""
    import mujoco

    xml = heap(12, ("sphere", "capsule"), extra=extra)
    mj = mujoco.MjModel.from_xml_string(xml)
    mj.opt.tolerance, mj.opt.iterations, mj.opt.ls_iterations = 0, 200, 100
    mj.opt.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
    data = mujoco.MjData(mj)
    model = ds.Model.from_mjcf(xml)
    model.opt.tolerance, model.opt.iterations = 1e-9, 60
    sim = ds.Batch(model, 1, dtype="float64")
    errors, rows = [], []
    for _ in range(8):
        for _ in range(40):
            mujoco.mj_step(mj, data)
        mujoco.mj_forward(mj, data)
        sim.qpos[:], sim.qvel[:] = data.qpos, data.qvel
        sim.forward()
        errors.append(np.abs(np.array(sim.qacc)[0] - data.qacc).max() / np.abs(data.qacc).max())
        rows += list(rows_of_robots(mj, data))
    assert np.median(errors) < 1e-6
    if extra:
        # islands are solved among their rows where these are at most two for three dofs, of which there are 14
        assert min(rows) <= 9 < max(rows)


def test_rows_between_trees_of_one_dof():
    """Each dense row has an entry for every tree that it reaches, of which none has another row."""
    count = 10
    bodies = "".join(
        f"<body pos='{k} 0 1'><joint name='j{k}' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 .3 0 0'/></body>"
        for k in range(count)
    )
    rows = "".join(
        f"<joint joint1='j{k}' joint2='j{k + 1}' polycoef='.1 {0.3 * k + 0.5}'/>" for k in range(0, count, 2)
    )
    xml = f"<mujoco><worldbody>{bodies}</worldbody><equality>{rows}</equality></mujoco>"
    mj = mujoco.MjModel.from_xml_string(xml)
    mj.opt.tolerance, mj.opt.iterations = 0, 100
    data, rng = mujoco.MjData(mj), np.random.default_rng(1)
    sim = ds.Batch(ds.Model.from_mjcf(xml), 4, dtype="float64")
    wanted = []
    for env in range(4):
        mujoco.mj_resetData(mj, data)
        data.qpos[:], data.qvel[:] = rng.normal(size=count), rng.normal(size=count)
        sim.qpos[env], sim.qvel[env] = data.qpos, data.qvel
        mujoco.mj_forward(mj, data)
        wanted.append(data.qacc.copy())
    sim.forward()
    np.testing.assert_allclose(sim.qacc, wanted, rtol=1e-8, atol=1e-8)


def test_a_large_tree_among_small_ones_has_room_for_its_blocks():
    """The largest block of the factor is that of a body and a chain of forty hinges, which is the first tree."""
    links, held = "", ""
    for k in reversed(range(40)):
        axis = ("0 1 0", "0 0 1")[k % 2]
        links = (
            f"<body name='l{k}' pos='.1 0 0'><joint axis='{axis}' armature='.01'/>"
            f"<geom type='capsule' size='.02' fromto='0 0 0 .1 0 0' contype='0' conaffinity='0'/>{links}</body>"
        )
    for k in range(8):
        held += (
            f"<body name='b{k}' pos='{0.5 * k + 0.15} 0 -.1'><freejoint/>"
            "<geom type='box' size='.05 .04 .03' contype='0' conaffinity='0'/></body>"
        )
    rows = "".join(f"<connect body1='b{k}' body2='l{5 * k}' anchor='0 0 .1'/>" for k in range(8))
    xml = f"<mujoco><worldbody>{links}{held}</worldbody><equality>{rows}</equality></mujoco>"
    mj = mujoco.MjModel.from_xml_string(xml)
    mj.opt.tolerance, mj.opt.iterations = 0, 200
    data, rng = mujoco.MjData(mj), np.random.default_rng(2)
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance = 1e-10
    with ds.Batch(model, 3, dtype="float64") as sim:
        wanted = []
        for env in range(3):
            mujoco.mj_resetData(mj, data)
            data.qvel[:] = rng.normal(size=mj.nv)
            sim.qpos[env], sim.qvel[env] = data.qpos, data.qvel
            mujoco.mj_forward(mj, data)
            wanted.append(data.qacc.copy())
        sim.forward()
        assert not np.array(sim.status).any()
        np.testing.assert_allclose(sim.qacc, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())
