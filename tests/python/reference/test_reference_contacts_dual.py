"""The reference's solution of the contact dual against Clarabel, an interior-point solver that shares nothing with it;
its residual against one computed from A, R, b and l alone."""

import clarabel
import contact_oracle as oracle
import mujoco
import numpy as np
import pytest
import scenes
from scipy import sparse

from dualstep import _core

TOLERANCE = 1e-7
# tried in turn. Forces move by the root of the gap that is left, so what is reached is sharpened afterwards
TRIES = (1e-14, 1e-12, 1e-10, 1e-8)
CONES = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}
ELLIPTIC, EQUALITY, FRICTION_LOSS = oracle.ELLIPTIC, oracle.EQUALITY, oracle.FRICTION_LOSS

HEAP = """<mujoco><option cone="{cone}"/><default><geom condim="{condim}" friction="0.8 0.02 0.01"/></default>
<worldbody><geom type="plane" size="3 3 0.1"/>
<geom type="box" size="0.3 0.02 0.2" pos="0 0.3 0.2"/><geom type="box" size="0.3 0.02 0.2" pos="0 -0.3 0.2"/>
{bodies}</worldbody></mujoco>"""


def heap(cone, condim, rng, count):
    kinds = ['type="box" size="0.08 0.06 0.05"', 'type="capsule" size="0.05 0.07"', 'type="sphere" size="0.07"']
    bodies = ""
    for i in range(count):
        x, y, z = rng.uniform(-0.15, 0.15), rng.uniform(-0.15, 0.15), 0.1 + 0.13 * i
        euler = " ".join(str(v) for v in rng.uniform(0, 360, 3))
        bodies += f'<body pos="{x} {y} {z}" euler="{euler}"><freejoint/><geom {kinds[i % 3]}/></body>'
    return HEAP.format(cone=cone, condim=condim, bodies=bodies)


def solve_with_clarabel(P, q, row, cones):
    """The l of min 1/2 l'Pl + q'l over the rows' sets. Scaled so that P has about a unit diagonal and cones are round."""
    n = len(q)
    blocks, scale = dict(cones), np.ones(n)
    lines, rhs, kinds, i = [], [], [], 0
    while i < n:
        if i in blocks:
            mu = blocks[i]
            s = 1 / np.sqrt(np.mean(np.diag(P)[i : i + len(mu) + 1]))
            scale[i : i + len(mu) + 1] = s * np.r_[1, mu]
            for k in range(len(mu) + 1):
                # variables are l_n / s and l_i / (s mu_i): a round cone
                lines.append((i + k, -1.0))
                rhs.append(0.0)
            kinds.append(clarabel.SecondOrderConeT(len(mu) + 1))
            i += len(mu) + 1
            continue
        scale[i] = 1 / np.sqrt(P[i, i])
        if row["type"][i] == FRICTION_LOSS:
            lines += [(i, 1.0), (i, -1.0)]
            rhs += [row["frictionloss"][i] / scale[i]] * 2
            kinds.append(clarabel.NonnegativeConeT(2))
        elif row["type"][i] != EQUALITY:
            lines.append((i, -1.0))
            rhs.append(0.0)
            kinds.append(clarabel.NonnegativeConeT(1))
        i += 1
    G = sparse.csc_matrix(([v for _, v in lines], (range(len(lines)), [c for c, _ in lines])), (len(lines), n))
    S = np.diag(scale)
    size = np.max(np.abs(scale * q))
    P_given, q_given = P, q
    P, q = S @ P @ S / size, scale * q / size
    for tolerance in TRIES:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        upper = sparse.csc_matrix(np.triu(P))
        solution = clarabel.DefaultSolver(upper, q, G, np.array(rhs), kinds, settings).solve()
        if solution.status == clarabel.SolverStatus.Solved:
            break
    assert solution.status == clarabel.SolverStatus.Solved, solution.status
    if "D" in row:
        return sharpened(P_given, q_given, row, cones, scale * np.array(solution.x))
    return scale * sharpened_by_differences(size * P, size * q, np.array(solution.x), row["type"], blocks)


def project_round(z, kinds, bound, blocks):
    """The nearest point of the rows' sets where cones are round."""
    out, i = z.copy(), 0
    while i < len(z):
        if i in blocks:
            part = slice(i, i + len(blocks[i]) + 1)
            normal, tangent = z[i], z[part][1:]
            t = np.linalg.norm(tangent)
            if t <= -normal:
                out[part] = 0
            elif t > normal:
                out[part] = (normal + t) / 2 * np.r_[1, tangent / t]
            i = part.stop
            continue
        if kinds[i] == FRICTION_LOSS:
            out[i] = np.clip(z[i], -bound[i], bound[i])
        elif kinds[i] != EQUALITY:
            out[i] = max(z[i], 0)
        i += 1
    return out


def sharpened_by_differences(P, q, z, kinds, blocks):
    """Newton on z = P_K(z - (P z + q)), for small problems."""

    def off(z):
        return z - project_round(z - (P @ z + q), kinds, np.zeros(len(z)), blocks)

    for _ in range(30):
        now = off(z)
        steps = 1e-8 * (1 + np.abs(z))
        slope = np.array([(off(z + h * e) - off(z - h * e)) / (2 * h) for h, e in zip(steps, np.eye(len(z)))]).T
        step = np.linalg.lstsq(slope, now, rcond=1e-12)[0]
        best = min((z - f * step for f in (1, 0.5, 0.25, 0.1, 0.01)), key=lambda t: np.linalg.norm(off(t)))
        if np.linalg.norm(off(best)) >= np.linalg.norm(now):
            break
        z = best
    assert np.linalg.norm(off(z)) < 1e-12 * (1 + np.linalg.norm(z))
    return z


def sharpened(P, q, row, cones, l):
    """Newton on x = A f(x) + b, where f(x) is the force at the acceleration x of the rows: I - A f' is never singular,
    because f falls as x grows."""
    A, scale = P - np.diag(row["R"]), np.max(np.abs(q))
    starts = {first: len(mu) + 1 for first, mu in cones}

    def off(x):
        return x - A @ oracle.penalty_force(row, x, cones) - q

    def slope(x):
        D, i = np.zeros((len(x), len(x))), 0
        while i < len(x):
            part = slice(i, i + starts.get(i, 1))
            block = {name: row[name][part] for name in ("type", "D", "frictionloss")}
            force = [(0, dict(cones)[i])] if i in starts else []
            for k in range(i, part.stop):
                h = np.zeros(part.stop - i)
                h[k - i] = 1e-7 * (scale + np.max(np.abs(x[part])))
                ahead, behind = (oracle.penalty_force(block, x[part] + s * h, force) for s in (1, -1))
                D[part, k] = (ahead - behind) / (2 * h[k - i])
            i = part.stop
        return D

    x = A @ l + q
    for _ in range(60):
        now = off(x)
        step = np.linalg.solve(np.eye(len(x)) - A @ slope(x), now)
        best = min((x - f * step for f in 0.5 ** np.arange(12)), key=lambda t: np.linalg.norm(off(t)))
        if np.linalg.norm(off(best)) >= np.linalg.norm(now):
            break
        x = best
    assert np.linalg.norm(off(x)) < 1e-11 * np.sqrt(len(x)) * (scale + np.max(np.abs(A @ oracle.penalty_force(row, x, cones))))
    return oracle.penalty_force(row, x, cones)


def objective(P, q, l):
    return 0.5 * l @ P @ l + q @ l


def project(row, cones, l):
    """The nearest point of K, the cones through Clarabel."""
    out, blocks, i = l.copy(), dict(cones), 0
    while i < len(l):
        kind = row["type"][i]
        if i in blocks:
            n = len(blocks[i]) + 1
            part = {"type": np.full(n, ELLIPTIC), "frictionloss": np.zeros(n)}
            scale = max(np.max(np.abs(l[i : i + n])), 1e-300)
            out[i : i + n] = solve_with_clarabel(np.eye(n), -l[i : i + n] / scale, part, [(0, blocks[i])]) * scale
            i += n
            continue
        if kind == FRICTION_LOSS:
            out[i] = np.clip(l[i], -row["frictionloss"][i], row["frictionloss"][i])
        elif kind != EQUALITY:
            out[i] = max(l[i], 0)
        i += 1
    return out


def duality_gap(ref, row, cones, P, b):
    """Primal objective at qacc less the dual's at the forces, relative: bounds 1/2 |l - l*|^2 in the metric of P."""
    change, x = ref.qacc - ref.qacc_smooth, row["J"] @ ref.qacc - row["aref"]
    f = oracle.penalty_force(row, x, cones)
    primal = 0.5 * change @ ref.mass_matrix() @ change - f @ x - 0.5 * f @ (row["R"] * f)
    dual = objective(P, b, row["force"])
    return (primal + dual) / max(abs(primal), 1e-12)


def compare(ref):
    """Asserts that the reference's forces solve the dual."""
    row = oracle.rows(ref)
    cones = oracle.cones_of(ref, row)
    A, b = oracle.dual(ref)
    P = A + np.diag(row["R"])
    assert abs(duality_gap(ref, row, cones, P, b)) < 1e-12
    assert ref.residual < 1e-9
    want = solve_with_clarabel(P, b, row, cones)
    assert np.max(np.abs(row["force"] - want)) < TOLERANCE * max(np.max(np.abs(want)), 1e-3)
    qfrc = row["J"].T @ want
    assert np.max(np.abs(ref.qfrc_constraint - qfrc)) < TOLERANCE * max(np.max(np.abs(qfrc)), 1e-3)


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_heaps_agree_with_clarabel(condim, cone):
    rng = np.random.default_rng(condim)
    counts = []
    for bodies in (4, 10, 14):
        model, ref = oracle.load(heap(cone, condim, rng, bodies))
        for data in oracle.run(model, rng, 14, every=40, restart=14):
            oracle.forward(model, data, ref)
            if not 0 < ref.contacts().count <= 30:
                continue
            counts.append(ref.contacts().count)
            compare(ref)
    assert len(counts) > 20 and max(counts) >= 18, counts


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("name", ["everything", "equality_weld", "friction_loss", "limit_joints", "contact_priority"])
def test_all_kinds_of_rows_agree_with_clarabel(name, cone):
    model, ref = oracle.load(scenes.SCENES[name], cone=CONES[cone])
    count = 0
    for data in oracle.run(model, np.random.default_rng(3), 40):
        oracle.forward(model, data, ref)
        if len(oracle.rows(ref)["R"]):
            count += 1
            compare(ref)
    assert count > 10


def arguments(ref, force):
    row = oracle.rows(ref)
    A, b = oracle.dual(ref)
    friction = ref._core.contacts()["friction"]
    return A, row["R"], b, force, row["type"].tolist(), row["id"].tolist(), row["frictionloss"], friction


@pytest.mark.parametrize("cone", CONES)
def test_residual_is_that_of_its_definition(cone):
    """|l - P_K(l - y / abar)| / |l|, at the solution and away from it, with the projection done by Clarabel."""
    model, ref = oracle.load(scenes.SCENES["everything"], cone=CONES[cone])
    rng = np.random.default_rng(4)
    for data in oracle.run(model, rng, 30):
        oracle.forward(model, data, ref)
        row = oracle.rows(ref)
        if not len(row["R"]):
            assert ref.residual == 0
            continue
        cones, (A, b) = oracle.cones_of(ref, row), oracle.dual(ref)
        abar = np.mean(np.diag(A) + row["R"])
        at_solution = _core.kkt_residual(*arguments(ref, row["force"]))
        assert at_solution == pytest.approx(ref.residual, abs=1e-12) and at_solution < 1e-10
        for size in (1e-3, 1.0, 30.0):
            l = row["force"] + size * rng.normal(size=len(b)) * (1 + np.abs(row["force"]))
            y = A @ l + row["R"] * l + b
            want = np.linalg.norm(l - project(row, cones, l - y / abar)) / np.linalg.norm(l)
            assert _core.kkt_residual(*arguments(ref, l)) == pytest.approx(want, rel=1e-8, abs=1e-11)


def test_residual_refuses_arrays_of_different_lengths():
    model, ref = oracle.load(scenes.SCENES["everything"])
    ref.qpos[2] -= 0.35
    ref.forward()
    good = list(arguments(ref, oracle.rows(ref)["force"]))
    assert len(good[1]) > 0
    _core.kkt_residual(*good)
    for k in (0, 1, 2, 3, 4, 5, 6):
        bad = list(good)
        bad[k] = bad[k][1:]
        with pytest.raises(ValueError):
            _core.kkt_residual(*bad)
