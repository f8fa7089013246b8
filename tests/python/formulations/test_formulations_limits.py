"""Unilateral constraints and linear complementarity problems: published figures, enumeration, SciPy, property tests."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize, nnls

from dualstep import formulations as fm

G = 9.81


def residual(M, q, z, w):
    assert_allclose(w, q + M @ z, atol=1e-12 * max(1, np.abs(q).max(initial=0), np.abs(M).max(initial=0) * np.abs(z).max(initial=0)))
    return max([0.0, *(-z), *(-w), *np.abs(z * w)])


def all_solutions(M, q, tolerance=1e-10):
    """Every basic solution, by solving all 2^k complementary bases."""
    k, found = len(q), []
    for support in itertools.product([False, True], repeat=k):
        B = np.where(support, -M, np.eye(k))
        if abs(np.linalg.det(B)) < 1e-10:
            continue
        x = np.linalg.solve(B, q)
        if (x >= -tolerance).all():
            found.append(np.where(support, x, 0.0))
    return found


# 22, the published problems


def test_lcp_figures():
    M = np.array([[2.0, 1], [1, 3]])
    assert_allclose(fm.lcp(M, [-1.0, -2]).z, [0.2, 0.6], atol=1e-14)
    out = fm.lcp(M, [-1.0, 1])
    assert_allclose(out.z, [0.5, 0], atol=1e-14)
    assert_allclose(out.w, [0, 1.5], atol=1e-14)


def test_lcp_without_solution_says_so():
    with pytest.raises(fm.InfeasibleError, match="no solution"):
        fm.lcp([[1.0, -1], [-1, 1]], [-1.0, -1])
    assert issubclass(fm.InfeasibleError, ValueError)


def test_lcp_in_a_batch_names_the_problems_without_solution():
    M = np.array([[[2.0, 1], [1, 3]], [[1, -1], [-1, 1]], [[1, 2], [2, 1]], [[1, -1], [-1, 1]]])
    with pytest.raises(fm.InfeasibleError, match="problem 1, 3") as caught:
        fm.lcp(M, [-1.0, -1])
    assert caught.value.problems == ((1,), (3,))
    with pytest.raises(fm.InfeasibleError, match=r"\(0, 1\), \(1, 1\)"):
        fm.lcp(M.reshape(2, 2, 2, 2), [-1.0, -1])


def test_lcp_with_three_solutions_gives_one():
    M, q = np.array([[1.0, 2], [2, 1]]), np.array([-1.0, -1])
    out = fm.lcp(M, q)
    assert residual(M, q, *out) <= 1e-9
    assert len(all_solutions(M, q)) == 3
    assert min(np.abs(out.z - z).max() for z in all_solutions(M, q)) < 1e-12


def test_lcp_without_rows():
    out = fm.lcp(np.zeros((0, 0)), np.zeros(0))
    assert out.z.shape == out.w.shape == (0,)
    out = fm.lcp(np.zeros((5, 0, 0)), np.zeros((5, 0)))
    assert out.z.shape == (5, 0)


def test_lcp_that_singular_bases_alone_solve():
    # z1 + z2 = 1 on a whole edge; the path of a covering vector must not call this a ray
    M, q = np.array([[1.0, 1], [1, 1]]), np.array([-1.0, -1])
    assert residual(M, q, *fm.lcp(M, q)) < 1e-12
    M, q = np.zeros((3, 3)), np.array([0.0, 1, 0])
    assert residual(M, q, *fm.lcp(M, q)) == 0


def test_lcp_where_plain_lemke_ends_in_a_ray():
    # a general matrix: a ray proves nothing, the bases decide
    rng = np.random.default_rng(11)
    solved = 0
    for _ in range(300):
        k = int(rng.integers(1, 5))
        M, q = rng.normal(size=(k, k)), rng.normal(size=k)
        known = all_solutions(M, q)
        if known:
            solved += 1
            assert residual(M, q, *fm.lcp(M, q)) < 1e-9
        else:
            with pytest.raises(fm.InfeasibleError):
                fm.lcp(M, q)
    assert 100 < solved < 300


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_lcp_of_positive_semidefinite_matrices(k, seed, rank):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(rank, k))
    M = W.T @ W
    # a vector that some z >= 0 and w >= 0 make: feasible, often degenerate
    q = rng.integers(0, 2, k) * rng.random(k) - M @ (rng.integers(0, 2, k) * rng.random(k))
    out = fm.lcp(M, q)
    assert residual(M, q, *out) < 1e-9
    # M z is unique even where z is not: the minimum of the quadratic program
    if np.linalg.matrix_rank(M) == k:
        # 1/2 z'Mz + q'z = 1/2 |L'z + L^-1 q|^2 - const
        L = np.linalg.cholesky(M)
        best, _ = nnls(L.T, -np.linalg.solve(L, q))
        if np.linalg.cond(M) < 1e6:
            assert_allclose(out.z, best, atol=1e-6 * max(1, np.abs(best).max()))


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_lcp_of_semidefinite_matrices_is_infeasible_exactly_when_no_point_is_feasible(k, seed):
    rng = np.random.default_rng(seed)
    W = rng.integers(-1, 2, size=(max(1, k // 2), k)).astype(float)
    M, q = W.T @ W, rng.integers(-2, 3, size=k).astype(float)
    feasible = linprog(np.zeros(k), A_ub=-M, b_ub=q, bounds=[(0, None)] * k).status == 0
    if feasible:
        assert residual(M, q, *fm.lcp(M, q)) < 1e-9
    else:
        with pytest.raises(fm.InfeasibleError):
            fm.lcp(M, q)


def test_lcp_scales():
    M, q = np.array([[2.0, 1], [1, 3]]), np.array([-1.0, -2])
    for force in (1e-8, 1.0, 1e8):
        for mass in (1e-6, 1.0, 1e6):
            out = fm.lcp(M / mass, q * force)
            assert_allclose(out.z, np.array([0.2, 0.6]) * force * mass, rtol=1e-12)


def test_lcp_large_and_degenerate():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(12, 60))
    M = W.T @ W
    q = W.T @ rng.normal(size=12)
    q -= np.minimum(0, q + M @ np.full(60, 0.1)) - 1e-3
    out = fm.lcp(M, q)
    assert residual(M, q, *out) < 1e-9


# 14, limits


@pytest.mark.parametrize("phi, rate, wanted", [(0.0, 0.0, 14.715), (-0.002, 0.0, 15.915), (-0.002, 0.05, None), (0.001, -1.0, None)])
def test_stabilised_limit(phi, rate, wanted):
    m = 1.5
    out = fm.limit_dynamics([[m]], [-m * G], [[1.0]], [0.0], [rate], [phi], epsilon=0.05)
    assert out.active.dtype == bool
    assert_allclose(out.force, [wanted or 0.0], atol=1e-12)
    assert list(out.active) == [wanted is not None]
    assert_allclose(out.qacc, [-G + (wanted or 0.0) / m], atol=1e-12)


def test_minus_signs_would_drive_the_limit_deeper():
    m, eps, phi = 1.5, 0.05, -0.002
    literal = fm.lcp([[1 / m]], [-G - phi / eps**2]).z
    assert_allclose(literal, [13.515], atol=1e-12)
    assert_allclose(literal / m - G, [-0.8], atol=1e-12)
    out = fm.limit_dynamics([[m]], [-m * G], [[1.0]], [0.0], [0.0], [phi], epsilon=eps)
    assert out.qacc[0] > 0.7 and abs(out.force[0] - literal[0]) > 2


def rod(load=0.0, x=0.0):
    m, inertia = 2.0, 0.5
    J = np.array([[1, -0.4], [1, 0.6]])
    return fm.limit_dynamics(np.diag([m, inertia]), [-m * G - load, -load * x], J, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]), J


def test_rod_on_two_supports():
    out, _ = rod()
    assert_allclose(out.force, [11.772, 7.848], atol=1e-12)
    assert_allclose(out.qacc, 0, atol=1e-12)
    out, J = rod(30.0, 1.2)
    assert_allclose(out.force, [0, 55.745901639], atol=1e-9)
    assert_allclose(J @ out.qacc, [5.104918, 0], atol=1e-6)
    assert list(out.active) == [True, True]


def test_epsilon_none_ignores_gap_and_speed():
    out = fm.limit_dynamics([[1.5]], [-1.5 * G], [[1.0]], [0.0], [7.0], [0.3])
    assert_allclose(out.force, [14.715], atol=1e-12)
    assert list(out.active) == [True]


def test_limit_rows_that_no_motion_meets():
    with pytest.raises(fm.InfeasibleError):
        fm.limit_dynamics([[1.0]], [0.0], [[1.0], [-1.0]], [-1.0, -1.0], [0.0], [0.0, 0.0])


def test_limits_are_the_projection_of_the_free_acceleration():
    rng = np.random.default_rng(5)
    for _ in range(30):
        n, k = int(rng.integers(1, 6)), int(rng.integers(0, 6))
        root = rng.normal(size=(n, n))
        M = root @ root.T + 0.3 * np.eye(n)
        J, tau = rng.normal(size=(k, n)), rng.normal(size=n)
        # the origin is feasible, so the rows cannot contradict each other
        drift = rng.random(k)
        out = fm.limit_dynamics(M, tau, J, drift, np.zeros(n), np.zeros(k))
        free = np.linalg.solve(M, tau)
        best = minimize(lambda a: 0.5 * (a - free) @ M @ (a - free), np.zeros(n), jac=lambda a: M @ (a - free), method="SLSQP",
                        constraints=[{"type": "ineq", "fun": lambda a: J @ a + drift, "jac": lambda a: J}] if k else [],
                        options={"ftol": 1e-14, "maxiter": 500})
        assert_allclose(out.qacc, best.x, atol=1e-5 * max(1, np.abs(best.x).max()))
        assert (J @ out.qacc + drift >= -1e-9).all() and (out.force >= 0).all()
        assert abs(out.force @ (J @ out.qacc + drift)) < 1e-9


def test_landing_block_is_not_pulled():
    # turning about its left corner as the right one lands: coordinates x, z, angle; corners at (-+.25, -1) from the centre
    m, half, height = 1.0, 0.25, 1.0
    M = np.diag([m, m, m * (0.5**2 + 2.0**2) / 12])
    # angle about -y, so that a positive angle lowers the right corner: v_z(corner) = z' - angle' * r_x
    rows = np.array([[0, 1, half], [0, 1, -half]])
    spin = 1.0
    # the left corner is at rest before: z' = -spin * half there, x' = spin * height
    v = np.array([spin * height, -spin * half, spin])
    assert_allclose(rows @ v, [0, -0.5], atol=1e-15)
    bilateral = fm.plastic_impact(M, rows, v)
    assert_allclose(bilateral.impulse, [-0.58333, 0.83333], atol=1e-5)
    v_next, impulse = fm.impact(M, np.vstack([np.vstack([r, np.zeros((2, 3))]) for r in rows]), v, 0.0)
    assert_allclose(impulse[[0, 3]], [0, 0.425], atol=1e-12)
    assert_allclose(rows @ v_next, [0.35, 0], atol=1e-12)
