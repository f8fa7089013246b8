"""The contact dual against Clarabel on random problems, degenerate ones among them, and its optimality conditions by property."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dualstep import formulations as fm
from formulations_oracle import quadratic_program


def random_dual(rng, *, equality, limits, losses, dims, rank, regularized, duplicate=False):
    r = equality + limits + losses + sum(dims)
    J = rng.normal(size=(r, rank))
    if duplicate and len(dims) > 1 and dims[0] == dims[1]:
        start = equality + limits + losses
        J[start + dims[0] : start + 2 * dims[0]] = J[start : start + dims[0]]
    A = J @ J.T / max(rank, 1)
    # b from a velocity: the dual of a motion problem that some motion meets
    b = J @ rng.normal(size=rank) * 3
    R = rng.uniform(0.002, 0.05) * np.diag(A) if regularized else np.zeros(r)
    mu = [list(rng.uniform(0.02, 1.0, d - 1) * (1 if rng.random() > 0.1 else 0)) for d in dims]
    return A, b, R, mu, list(rng.uniform(0.1, 2, losses))


def edges(mu, directions):
    if len(mu) == 0:
        return np.ones((1, 1))
    if len(mu) == 2:
        t = 2 * np.pi * np.arange(directions) / directions
        return np.stack([np.ones(directions), mu[0] * np.cos(t), mu[1] * np.sin(t)])
    spread = np.zeros((len(mu), 2 * len(mu)))
    for i, m in enumerate(mu):
        spread[i, 2 * i : 2 * i + 2] = m, -m
    return np.vstack([np.ones(2 * len(mu)), spread])


def clarabel_force(A, b, R, mu, loss, cone, directions, equality, limits, dims):
    r = len(b)
    G = A + np.diag(R)
    rows, offsets, cones = [], [], []

    def add(block, offset, kind):
        rows.append(block)
        offsets.append(offset)
        cones.append(kind)

    at = equality
    if cone == "elliptic":
        E = np.eye(r)
    else:
        blocks, row = [np.eye(r)[:, : equality + limits + len(loss)]], equality + limits + len(loss)
        for d, m in zip(dims, mu):
            e = edges(m, directions)
            block = np.zeros((r, e.shape[1]))
            block[row : row + d] = e
            blocks.append(block)
            row += d
        E = np.hstack(blocks)
    n = E.shape[1]
    unit = np.eye(n)
    for _ in range(limits):
        add(-unit[at : at + 1], [0.0], clarabel.NonnegativeConeT(1))
        at += 1
    for bound in loss:
        add(np.vstack([unit[at], -unit[at]]), [bound, bound], clarabel.NonnegativeConeT(2))
        at += 1
    if cone == "pyramidal":
        if n > at:
            add(-unit[at:], np.zeros(n - at), clarabel.NonnegativeConeT(n - at))
    else:
        for d, m in zip(dims, mu):
            add(-unit[at : at + 1], [0.0], clarabel.NonnegativeConeT(1))
            if d > 1:
                positive = [i for i, c in enumerate(m) if c > 0]
                zero = [i for i, c in enumerate(m) if c == 0]
                if zero:
                    add(unit[[at + 1 + i for i in zero]], np.zeros(len(zero)), clarabel.ZeroConeT(len(zero)))
                if positive:
                    scaled = np.vstack([unit[at]] + [unit[at + 1 + i] / m[i] for i in positive])
                    add(-scaled, np.zeros(len(scaled)), clarabel.SecondOrderConeT(len(scaled)))
            at += d
    x, tolerance = quadratic_program(E.T @ G @ E, E.T @ b, np.vstack(rows), np.concatenate(offsets), cones)
    return E @ x, tolerance


CASES = [
    dict(equality=0, limits=0, losses=0, dims=[3, 3], rank=8, regularized=True),
    dict(equality=2, limits=2, losses=2, dims=[3, 1, 4], rank=10, regularized=True),
    dict(equality=1, limits=1, losses=1, dims=[6, 4, 3], rank=20, regularized=True),
    dict(equality=0, limits=0, losses=0, dims=[3, 3, 3, 3], rank=6, regularized=False),
    dict(equality=0, limits=3, losses=0, dims=[3, 3], rank=4, regularized=False, duplicate=True),
    dict(equality=3, limits=0, losses=2, dims=[], rank=4, regularized=True),
    dict(equality=0, limits=0, losses=0, dims=[3, 3, 3, 3, 3, 3], rank=12, regularized=True, duplicate=True),
]


@pytest.mark.parametrize("cone, directions", [("elliptic", 4), ("pyramidal", 4), ("pyramidal", 8)])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_contact_dual_against_clarabel(case, cone, directions):
    for seed in range(4):
        shape = CASES[case]
        rng = np.random.default_rng(100 * case + seed)
        A, b, R, mu, loss = random_dual(rng, **shape)
        dims = shape["dims"]
        rows = dict(equality=shape["equality"], limits=shape["limits"])
        out = fm.contact_dual(A, b, mu, R, cone=cone, directions=directions, dims=dims, friction_loss=loss, **rows)
        force, tolerance = clarabel_force(A, b, R, mu, loss, cone, directions, dims=dims, **rows)
        G = A + np.diag(R)
        objective = 0.5 * force @ G @ force + force @ b
        size = max(1, abs(objective))
        assert_allclose(out.objective, objective, atol=100 * tolerance * size)
        # never above the oracle: ours is the minimum, and stays in the cone
        assert out.objective <= objective + 100 * tolerance * size
        scale = max(1, np.abs(force).max())
        assert_allclose(G @ out.force, G @ force, atol=100 * np.sqrt(tolerance) * scale)
        if shape["regularized"]:
            assert_allclose(out.force, force, atol=1000 * np.sqrt(tolerance) * scale)
        assert out.residual < 1e-9 * scale


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([1, 3, 4, 6]), min_size=0, max_size=5), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3),
       st.integers(1, 20), st.booleans(), st.booleans(), st.sampled_from(["elliptic", "pyramidal"]), st.integers(0, 2**32 - 1))
def test_contact_dual_conditions(dims, equality, limits, losses, rank, regularized, duplicate, cone, seed):
    rng = np.random.default_rng(seed)
    A, b, R, mu, loss = random_dual(rng, equality=equality, limits=limits, losses=losses, dims=dims, rank=rank,
                                    regularized=regularized, duplicate=duplicate)
    out = fm.contact_dual(A, b, mu, R, cone=cone, dims=dims, equality=equality, limits=limits, friction_loss=loss)
    f, y = out.force, (A + np.diag(R)) @ out.force + b
    scale, big = max(1e-3, np.abs(b).max(initial=0)), max(1.0, np.abs(f).max(initial=0))
    tight, tighter = 1e-8 * scale * big, 1e-9 * big
    assert np.abs(y[:equality]).max(initial=0) < tight
    at = equality + limits
    assert f[equality:at].min(initial=0) >= 0 and y[equality:at].min(initial=0) > -tight
    assert np.abs(f[equality:at] * y[equality:at]).max(initial=0) < tight * big
    for i, bound in enumerate(loss):
        fi, yi = f[at + i], y[at + i]
        assert abs(fi) <= bound and (abs(yi) < tight or abs(fi + np.sign(yi) * bound) < tighter)
    at += losses
    for d, m in zip(dims, mu):
        fc, yc, m = f[at : at + d], y[at : at + d], np.array(m)
        at += d
        if cone == "elliptic":
            reach = np.linalg.norm(np.divide(fc[1:], m, out=np.zeros(d - 1), where=m > 0))
            pull = np.linalg.norm(m * yc[1:])
        else:
            reach = np.abs(np.divide(fc[1:], m, out=np.zeros(d - 1), where=m > 0)).sum()
            pull = np.abs(m * yc[1:]).max(initial=0)
        assert reach <= fc[0] + 1e-9 * big
        assert yc[0] >= pull - tight
        assert abs(fc @ yc) < tight * big


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from(["elliptic", "pyramidal"]))
def test_residual_is_the_distance_to_a_fixed_point(contacts, seed, cone):
    # one projected gradient step with the mean diagonal, done here with another projection: Clarabel's
    rng = np.random.default_rng(seed)
    A, b, R, mu, _ = random_dual(rng, equality=0, limits=0, losses=0, dims=[3] * contacts, rank=3 * contacts + 2, regularized=True)
    out = fm.contact_dual(A, b, mu, R, cone=cone)
    G = A + np.diag(R)
    moved = out.force - (G @ out.force + b) / np.diag(G).mean()
    back, tolerance = clarabel_force(np.eye(len(b)), -moved, np.zeros(len(b)), mu, [], cone, 4, 0, 0, [3] * contacts)
    assert np.linalg.norm(out.force - back) < 100 * np.sqrt(tolerance) * max(1, np.abs(moved).max())
    assert out.residual < 1e-9 * max(1, np.abs(out.force).max())
