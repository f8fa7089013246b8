"""The contact dual as the kernels solve it: against Clarabel, an interior-point solver that shares nothing with it; the
residual that they report against one computed from A, R, b and l; which contacts stay where there are too many."""

import contact_oracle as oracle
import mujoco
import numpy as np
import pytest
import scenes
from places import ROOT
from test_reference_contacts_dual import CONES, heap, project_round, solve_with_clarabel

import dualstep as ds

INPUTS = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


def batch_at(model, states, **options):
    """One environment a state, evaluated there, in double precision."""
    for name, value in options.items():
        setattr(model.opt, name, value)
    batch = ds.Batch(model, len(states), device="cpu", dtype="float64")
    for k, data in enumerate(states):
        for name in INPUTS:
            getattr(batch, name)[k] = getattr(data, name)
    for name in ("qacc", "qacc_smooth", "qfrc_constraint"):
        getattr(batch, name)[...] = np.nan
    batch.forward()
    return batch


def problem(ref, data, mj):
    """Rows, cones, A and b of the reference at a state."""
    oracle.forward(mj, data, ref)
    row = oracle.rows(ref)
    return (row, oracle.cones_of(ref, row), *(oracle.dual(ref) if len(row["R"]) else (None, None)))


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_heaps_agree_with_clarabel(condim, cone):
    rng = np.random.default_rng(condim)
    counts = []
    for bodies in (4, 10, 14):
        mj, ref = oracle.load(heap(cone, condim, rng, bodies))
        states = list(oracle.run(mj, rng, 14, every=40, restart=14))
        model = ds.Model.from_mujoco(mj)
        with batch_at(model, states, tolerance=1e-13, iterations=100, contact_capacity=60) as batch:
            for k, data in enumerate(states):
                row, cones, A, b = problem(ref, data, mj)
                if not 0 < ref.contacts().count <= 30:
                    continue
                counts.append(ref.contacts().count)
                want = row["J"].T @ solve_with_clarabel(A + np.diag(row["R"]), b, row, cones)
                assert np.max(np.abs(batch.qfrc_constraint[k] - want)) < 1e-7 * max(np.max(np.abs(want)), 1e-3)
                assert batch.contacts().count[k] == ref.contacts().count
    assert len(counts) > 20 and max(counts) >= 18, counts


SPACES = ("pgs_newton", "pgs_newton_primal", "pgs_newton_dual")


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("name", ["everything", "equality_weld", "friction_loss", "limit_joints", "humanoid"])
def test_newton_among_rows_and_among_dofs_agree(name, cone):
    """The same step by Newton's two ways, and by whichever the environment's rows choose."""
    mj, _ = oracle.load(scenes.ALL[name], cone=CONES[cone])
    states = list(oracle.run(mj, np.random.default_rng(8), 24))
    found = {}
    for space in SPACES:
        with batch_at(ds.Model.from_mujoco(mj), states, solver=space, tolerance=1e-13, iterations=100) as batch:
            assert not (batch.status & int(ds.Status.NOT_CONVERGED)).any()
            found[space] = np.array(batch.qfrc_constraint)
            rows = batch.contacts().count.max()
    size = np.abs(found["pgs_newton_primal"]).max(axis=1, keepdims=True)
    assert size.max() > 0 and (name != "humanoid" or rows > 2)
    for space in SPACES:
        assert (np.abs(found[space] - found["pgs_newton_primal"]) <= 1e-9 * np.maximum(size, 1e-3)).all(), space
    # the two are told apart by rounding alone; where no contact can be there is one way
    assert (found["pgs_newton_primal"] != found["pgs_newton_dual"]).any() == (name != "limit_joints")


def test_more_rows_at_once_than_can_be_counted():
    model = ds.Model.from_mjcf(scenes.ALL["humanoid"])
    model.opt.solver, model.opt.contact_capacity = "pgs_newton_dual", 16000
    with pytest.raises(ValueError, match="unknowns at once.*23 dofs.*contact_capacity is 16000"):
        ds.Batch(model, 1, device="cpu")


def residual_of(row, cones, A, b, qacc):
    """|l - P_K(l - y / abar)| / |l| at the forces that an acceleration gives, where every cone is scaled round."""
    l = oracle.penalty_force(row, row["J"] @ qacc - row["aref"], cones)
    scale, blocks = np.ones(len(b)), dict(cones)
    for first, mu in cones:
        scale[first + 1 : first + 1 + len(mu)] = mu
    l, P, b = l / scale, (A + np.diag(row["R"])) * np.outer(scale, scale), b * scale
    abar = np.mean(np.diag(P))
    off = l - project_round(l - (P @ l + b) / abar, row["type"], row["frictionloss"], blocks)
    return np.linalg.norm(off) / (np.linalg.norm(l) or 1)


@pytest.mark.parametrize("steps", [1, 2, 60])
@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("name", ["everything", "equality_weld", "friction_loss", "limit_joints", "contact_priority"])
def test_residual_is_that_of_its_definition(name, cone, steps):
    mj, ref = oracle.load(scenes.SCENES[name], cone=CONES[cone])
    states = list(oracle.run(mj, np.random.default_rng(5), 40))
    model, checked = ds.Model.from_mujoco(mj), 0
    with batch_at(model, states, tolerance=1e-13, iterations=steps, contact_capacity=60) as batch:
        for k, data in enumerate(states):
            row, cones, A, b = problem(ref, data, mj)
            if not len(row["R"]):
                assert batch.residual[k] == 0
                continue
            want = residual_of(row, cones, A, b, batch.qacc[k])
            assert batch.residual[k] == pytest.approx(want, rel=1e-5, abs=1e-8)
            checked += 1
    assert checked > 10


def square_force(x, R):
    """The l of least 1/2 l'Rl + x'l with |l_1|, |l_2| together at most l_0: by bisection on the multiplier."""
    def at(theta):
        return np.r_[theta - x[0], np.sign(-x[1:]) * np.maximum(np.abs(x[1:]) - theta, 0)] / R

    low, high = 0.0, np.abs(x).max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        l = at(middle)
        low, high = (middle, high) if np.abs(l[1:]).sum() > l[0] else (low, middle)
    return np.maximum(at(high if high > 1e-15 else 0.0), [0, -np.inf, -np.inf])


@pytest.mark.parametrize("steps", [1, 2, 60])
def test_residual_on_pyramids_that_weigh_rows(steps):
    """Under a spring-damper's parameters: rows n, t1, t2 with weights of their own, and a section that is a square."""
    mj, ref = oracle.load(heap("pyramidal", 3, np.random.default_rng(2), 6))
    mj.opt.timestep = 0.004
    model, checked, pushing = ds.Model.from_mujoco(mj), 0, 0
    model.opt.contact_parameters, model.opt.contact_time_constant, model.opt.impratio = "spring_damper", 0.03, 2.0
    ref = ds.Reference(model)
    states = list(oracle.run(mj, np.random.default_rng(5), 40))
    with batch_at(model, states, tolerance=1e-13, iterations=steps, contact_capacity=60) as batch:
        for k, data in enumerate(states):
            scenes.copy_state(data, ref)
            ref.forward()
            row = oracle.rows(ref)
            if not len(row["R"]):
                assert batch.residual[k] == 0
                continue
            assert set(row["type"]) == {oracle.ELLIPTIC}
            A, b = oracle.dual(ref)
            scale = np.ones(len(b))
            for first, mu in oracle.cones_of(ref, row):
                scale[first + 1 : first + 3] = mu
            P = (A + np.diag(row["R"])) * np.outer(scale, scale)
            x = (row["J"] @ batch.qacc[k] - row["aref"]) * scale
            blocks = [slice(i, i + 3) for i in range(0, len(b), 3)]
            l = np.concatenate([square_force(x[i], (row["R"] * scale**2)[i]) for i in blocks])
            abar = np.mean(np.diag(P))
            z = l - (P @ l + b * scale) / abar
            off = l - np.concatenate([square_force(-z[i], np.ones(3)) for i in blocks])
            want = np.linalg.norm(off) / (np.linalg.norm(l) or 1)
            assert batch.residual[k] == pytest.approx(want, rel=1e-5, abs=1e-8)
            checked, pushing = checked + 1, pushing + int(np.any(l > 0))
    assert checked > 10 and pushing > 10


MARBLES = """<mujoco><worldbody><geom type="plane" size="3 3 .1"/>{bodies}</worldbody></mujoco>"""


@pytest.mark.parametrize("capacity", [1, 3, 7])
def test_too_many_contacts_keep_the_deepest(capacity, rng):
    bodies = "".join(
        f'<body pos="{0.5 * i} 0 .1"><freejoint/><geom size=".1" contype="1" conaffinity="0"/></body>' for i in range(9)
    )
    bodies = MARBLES.format(bodies=bodies).replace('size="3 3 .1"', 'size="9 9 .1" contype="0" conaffinity="1"')
    model = ds.Model.from_mjcf(bodies)
    count = 40
    depth = rng.uniform(-0.02, 0.02, (count, 9))

    def evaluated(most):
        model.opt.contact_capacity = most
        batch = ds.Batch(model, count, device="cpu")
        batch.qpos.reshape(count, 9, 7)[:, :, 2] = 0.1 - depth
        batch.forward()
        return batch

    with evaluated(9) as whole, evaluated(capacity) as cut:
        touching = (depth > 0).sum(axis=1)
        assert touching.min() <= capacity or capacity < 3
        flags = (cut.status & int(ds.Status.CONTACT_OVERFLOW)) != 0
        np.testing.assert_array_equal(flags, touching > capacity)
        assert not (whole.status & int(ds.Status.CONTACT_OVERFLOW)).any()
        for e in range(count):
            full = np.array(whole.contacts().dist[e, : touching[e]])
            kept = np.array(cut.contacts().dist[e, : min(touching[e], capacity)])
            np.testing.assert_array_equal(cut.contacts().count[e], min(touching[e], capacity))
            # the deepest, in the order of their pairs
            deepest = np.sort(np.argsort(full, kind="stable")[:capacity])
            np.testing.assert_array_equal(kept, full[deepest])
            if not flags[e]:
                np.testing.assert_array_equal(cut.qacc[e], whole.qacc[e])


@pytest.mark.parametrize("capacity, kept", [(4, (2, 2)), (5, (3, 2)), (7, (4, 3)), (2, (1, 1)), (1, (1, 0))])
@pytest.mark.parametrize("tilt", [0, 0.001])
def test_too_many_contacts_keep_as_many_of_each_pair(capacity, kept, tilt):
    box = '<body pos="{} 0 .099"><freejoint/><geom type="box" size=".1 .1 .1" contype="1" conaffinity="0"/></body>'
    boxes = MARBLES.format(bodies=box.format(0) + box.format(1)).replace('size="3 3 .1"', 'size="9 9 .1"')
    model = ds.Model.from_mjcf(boxes)
    quat = np.array([1, 0.3 * tilt, tilt, 0])

    def evaluated(most):
        model.opt.contact_capacity = most
        batch = ds.Batch(model, 1, device="cpu")
        batch.qpos.reshape(2, 7)[:, 3:] = quat / np.linalg.norm(quat)
        batch.forward()
        return batch

    with evaluated(8) as whole, evaluated(capacity) as cut:
        full, found = whole.contacts(), cut.contacts()
        assert full.count[0] == 8 and found.count[0] == capacity and cut.contacts_needed[0] == 8
        pairs = [int(max(pair)) for pair in found.geom[0, :capacity]]
        counts = [pairs.count(geom) for geom in (1, 2)]
        assert sorted(counts, reverse=True) == list(kept) and pairs == sorted(pairs)
        for k, geom in enumerate((1, 2)):
            own, left = np.array(full.dist[0, 4 * k : 4 * k + 4]), np.array(pairs) == geom
            depths, places = np.array(found.dist[0, :capacity])[left], np.array(found.pos[0, :capacity])[left]
            # the deepest stays, and the corner across from it: a box that stood on four stands on two
            assert own.min() in depths or not left.any()
            if counts[k] > 1:
                apart = np.linalg.norm(places - places[np.argmin(depths)], axis=1).max()
                np.testing.assert_allclose(apart, 0.2 * 2**0.5, rtol=1e-3)


def test_a_tower_stands_on_half_of_its_contacts():
    model = ds.Model.from_mjcf(str(ROOT / "bench" / "models" / "solver" / "stack.xml"))
    with ds.Batch(model, 1, device="cpu") as batch:
        batch.step(4000)
        state = {name: np.array(getattr(batch, name)) for name in ("qpos", "qvel", "qacc_warmstart")}
        assert batch.contacts_needed[0] == 40
    model.opt.contact_capacity = 20
    with ds.Batch(model, 1, device="cpu") as batch:
        for name, array in state.items():
            getattr(batch, name)[...] = array
        for _ in range(500):
            batch.step()
            assert np.abs(batch.qacc).max() < 20 * 9.81
        moved = (batch.qpos - state["qpos"]).reshape(10, 7)[:, :3]
        assert np.abs(moved).max() < 0.02 and batch.status[0] & ds.Status.CONTACT_OVERFLOW


@pytest.mark.parametrize("width", [1e-13, 1e-3])
def test_a_width_of_impedance_is_one_however_small(width):
    # beyond it the impedance is dmax; only at 1e-15 and below there is none, and the impedance is the middle of d0 and dmax
    mj = mujoco.MjModel.from_xml_string(f"""<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
    <body><joint axis="0 1 0" limited="true" range="-1 .1" solimplimit=".2 .9 {width} .5 2"/><geom size=".1" pos=".3 0 0"/>
    </body></worldbody></mujoco>""")
    data = mujoco.MjData(mj)
    data.qpos[:] = 0.1 + 1e-4
    mujoco.mj_forward(mj, data)
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    reference.qpos[:] = data.qpos
    reference.forward()
    with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype="float64") as sim:
        sim.qpos[0] = data.qpos
        sim.forward()
        np.testing.assert_allclose([sim.qacc[0], reference.qacc], [data.qacc, data.qacc], rtol=1e-6)
