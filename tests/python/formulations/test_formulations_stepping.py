"""Time stepping: frictionless, Stewart-Trinkle, Anitescu."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from dualstep import formulations as fm
from formulations_oracle import quadratic_program

G = 9.81
POINT = np.eye(3)[[2, 0, 1]]  # a particle over the ground: n = z, t1 = x, t2 = y


def random_system(rng, n, contacts):
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.3 * np.eye(n), rng.normal(size=(3 * contacts, n)), rng.normal(size=n)


# 23, frictionless


@pytest.mark.parametrize("q, v, u, f, v_next", [(0.05, -1, 0, 5, -0.5), (0.05, -1, 3, 2, -0.5), (0.2, -1, 0, 0, -1),
                                                (0, -0.5, -2, 7, 0)])
def test_cart_and_wall(q, v, u, f, v_next):
    m, h = 1.0, 0.1
    out = fm.frictionless_step([[m]], [[1.0]], [q], [v + h * u / m], h)
    assert_allclose(out.impulse / h, [f], atol=1e-12)
    assert_allclose(out.v_next, [v_next], atol=1e-12)
    assert_allclose(out.impulse / h, [max(0, -(m / h**2) * (q + h * v + h**2 * u / m))], atol=1e-12)
    if f:
        assert abs(q + h * out.v_next[0]) < (1e-12 if q else 1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_frictionless_step_is_the_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    M, _, v = random_system(rng, n, 0)
    rows = rng.normal(size=(k, n))
    if k > 2:
        rows[-1] = rows[0]  # redundant
    phi, h = np.abs(rng.normal(size=k)) * 0.05 * rng.integers(0, 2, k), 0.02
    out = fm.frictionless_step(M, rows, phi, v, h)
    x, tolerance = quadratic_program(M, -M @ v, -rows, phi / h, [clarabel.NonnegativeConeT(k)])
    assert_allclose(out.v_next, x, atol=10 * np.sqrt(tolerance) * max(1, np.abs(x).max()))
    # and the conditions of that program, to 1e-10
    gap = phi / h + rows @ out.v_next
    assert (out.impulse >= 0).all() and (gap >= -1e-10).all() and np.abs(gap * out.impulse).max() < 1e-10
    assert_allclose(M @ (out.v_next - v), rows.T @ out.impulse, atol=1e-10)


def test_gaps_that_contradict_each_other():
    with pytest.raises(fm.InfeasibleError):
        fm.frictionless_step([[1.0]], [[1.0], [-1.0]], [-0.01, -0.01], [0.0], 0.01)
    with pytest.raises(fm.InfeasibleError):
        fm.stewart_trinkle(np.eye(3), np.vstack([POINT, -POINT]), [-0.01, -0.01], 0.5, [0, 0, 0], 0.01)
    for directions in (0, 4):
        with pytest.raises(fm.InfeasibleError):
            fm.anitescu(np.eye(3), np.vstack([POINT, -POINT]), [-0.01, -0.01], 0.5, [0, 0, 0], 0.01, directions=directions)


def test_steps_without_contacts_are_free():
    M, _, v = random_system(np.random.default_rng(0), 4, 0)
    assert_allclose(fm.frictionless_step(M, np.zeros((0, 4)), [], v, 0.01).v_next, v)
    out = fm.stewart_trinkle(M, np.zeros((0, 4)), [], 0.5, v, 0.01)
    assert_allclose(out.v_next, v)
    assert out.normal_impulse.shape == (0,) and out.tangent_impulse.shape == (0, 2) and out.residual == 0
    for directions in (0, 4):
        assert_allclose(fm.anitescu(M, np.zeros((0, 4)), [], [], v, 0.01, directions=directions).v_next, v)


# 25, Stewart and Trinkle


def particle_step(v, directions, h=0.01, mu=0.5, m=1.0, phi=0.0):
    free = np.asarray(v, float) - [0, 0, h * G]
    return fm.stewart_trinkle(m * np.eye(3), POINT, [phi], mu, free, h, directions=directions)


def test_stewart_trinkle_sliding_along_a_direction():
    out = particle_step([1, 0, 0], 4)
    assert_allclose(out.v_next, [0.95095, 0, 0], atol=1e-12)
    assert_allclose(out.normal_impulse, [0.01 * G], atol=1e-13)
    assert out.tangent_impulse.shape == (1, 2) and out.residual < 1e-12


@pytest.mark.parametrize("directions", [4, 8])
def test_polygon_steers(directions):
    out = particle_step([1, 0.2, 0], directions)
    assert_allclose(out.v_next, [0.95095, 0.2, 0], atol=1e-12)
    pull = out.tangent_impulse[0]
    angle = np.arccos(-pull @ [1, 0.2] / np.linalg.norm(pull) / np.hypot(1, 0.2))
    assert_allclose(np.rad2deg(angle), 11.31, atol=0.01)


def test_square_cone_loses_friction_on_the_diagonal():
    out = particle_step([1, 0.999, 0], 4)
    assert_allclose(out.v_next, [0.974975, 0.974975, 0], atol=1e-9)
    loss = np.linalg.norm(out.tangent_impulse) / (0.5 * G * 0.01)
    # .5 by .5 of the bound on each axis would be .7071; equal end speeds need slightly unequal parts
    assert_allclose(loss, 0.70725, atol=1e-4)


def test_sliding_on_a_slope():
    tilt, mu, h = 0.6, 0.5, 0.01
    v = np.zeros(3)
    for _ in range(100):
        out = fm.stewart_trinkle(np.eye(3), POINT, [0.0], mu, v + h * G * np.array([np.sin(tilt), 0, -np.cos(tilt)]), h)
        v = out.v_next
    assert_allclose(v, [G * (np.sin(tilt) - mu * np.cos(tilt)), 0, 0], atol=1e-10)


def test_stewart_trinkle_sticks_and_has_no_friction_at_zero():
    out = particle_step([0.02, -0.01, 0], 8)
    assert_allclose(out.v_next, 0, atol=1e-13)
    out = particle_step([1, 0.3, 0], 4, mu=0.0)
    assert_allclose(out.v_next, [1, 0.3, 0], atol=1e-13)
    assert_allclose(out.tangent_impulse, 0, atol=1e-15)


def test_closing_gap():
    out = particle_step([0, 0, -1], 4, phi=0.004)
    assert_allclose(out.v_next[2], -0.4, atol=1e-12)
    assert particle_step([0, 0, -1], 4, phi=0.02).normal_impulse[0] == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.sampled_from([4, 6, 8]), st.integers(0, 2**32 - 1), st.booleans())
def test_stewart_trinkle_conditions(contacts, directions, seed, duplicate):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    M, J, v = random_system(rng, n, contacts)
    if duplicate and contacts > 1:
        J[3:6] = J[:3]
    # a gap at most: Lemke's method then has an answer
    phi, mu, h = np.abs(rng.normal(size=contacts)) * 0.02 * rng.integers(0, 2, contacts), rng.random(contacts) * rng.integers(0, 2, contacts), 0.01
    out = fm.stewart_trinkle(M, J, phi, mu, v, h, directions=directions)
    assert out.residual < 1e-8
    rows = np.concatenate([out.normal_impulse[:, None], out.tangent_impulse], axis=1)
    assert_allclose(M @ (out.v_next - v), J.T @ rows.reshape(-1), atol=1e-8)
    u = (J @ out.v_next).reshape(-1, 3)
    gap = phi / h + u[:, 0]
    assert (gap > -1e-8).all() and np.abs(gap * out.normal_impulse).max() < 1e-8
    angles = 2 * np.pi * np.arange(directions) / directions
    D = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    inner = np.cos(np.pi / directions)
    for c in range(contacts):
        # inside the polygon, and the most dissipative point of it
        bound = mu[c] * out.normal_impulse[c]
        assert np.linalg.norm(rows[c, 1:]) <= bound + 1e-9
        edges = D @ rows[c, 1:]
        assert edges.max() <= bound + 1e-9 and inner <= 1
        assert_allclose(u[c, 1:] @ rows[c, 1:], -bound * (D @ u[c, 1:]).max(), atol=1e-8)


# 26, Anitescu


def anitescu_clarabel(M, J, phi, mu, v, h, directions):
    contacts = len(phi)
    rows, offsets, cones = [], [], []
    for c in range(contacts):
        n, t = J[3 * c], J[3 * c + 1 : 3 * c + 3]
        if directions == 0:
            # (gap, mu t v) in the second-order cone
            rows.append(-np.vstack([n, mu[c] * t]))
            offsets.append([phi[c] / h, 0, 0])
            cones.append(clarabel.SecondOrderConeT(3))
        else:
            angles = 2 * np.pi * np.arange(directions) / directions
            rows.append(-(n + mu[c] * (np.cos(angles)[:, None] * t[0] + np.sin(angles)[:, None] * t[1])))
            offsets.append(np.full(directions, phi[c] / h))
            cones.append(clarabel.NonnegativeConeT(directions))
    return quadratic_program(M, -M @ v, np.vstack(rows), np.concatenate(offsets), cones)


def test_anitescu_launches_a_sliding_particle():
    h, mu = 0.01, 0.5
    for directions in (4, 0):
        out = fm.anitescu(np.eye(3), POINT, [0.0], mu, [2, 0, -h * G], h, directions=directions)
        assert_allclose(out.v_next[[0, 2]], [1.56076, 0.78038], atol=1e-9)
        assert_allclose(out.impulse, [0.87848, -0.43924, 0], atol=1e-9)
    assert_allclose(out.v_next[2] ** 2 / (2 * G), 0.0310, atol=1e-4)


@pytest.mark.parametrize("directions", [0, 4, 8])
def test_anitescu_keeps_a_gap_while_sliding(directions):
    h, mu, v = 0.01, 0.5, 1.2
    phi, velocity = h * mu * v, np.array([v, 0, 0.0])
    for _ in range(50):
        free = velocity + h * np.array([mu * G, 0, -G])
        velocity = fm.anitescu(np.eye(3), POINT, [phi], mu, free, h, directions=directions).v_next
        phi += h * velocity[2]
        assert_allclose(phi, h * mu * v, atol=1e-7)
        assert_allclose(velocity[0], v, atol=1e-7)


@pytest.mark.parametrize("directions", [0, 4, 8])
@pytest.mark.parametrize("seed", range(12))
def test_anitescu_is_its_primal(directions, seed):
    rng = np.random.default_rng(seed)
    n, contacts = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    M, J, v = random_system(rng, n, contacts)
    if contacts > 2:
        J[-3:] = J[:3]
    phi = np.abs(rng.normal(size=contacts)) * 0.02 * rng.integers(0, 2, contacts)
    mu = rng.random(contacts) * rng.integers(0, 2, contacts)
    out = fm.anitescu(M, J, phi, mu, v, 0.01, directions=directions)
    x, tolerance = anitescu_clarabel(M, J, phi, mu, v, 0.01, directions)
    assert_allclose(out.v_next, x, atol=10 * np.sqrt(tolerance) * max(1, np.abs(x).max()))
    assert_allclose(M @ (out.v_next - v), J.T @ out.impulse, atol=1e-9)
    # primal = -dual, in objective: 1/2 |dv|_M^2 = -(1/2 L'AL + L'b)
    b = J @ v
    b[::3] += phi / 0.01
    dv = out.v_next - v
    dual = 0.5 * dv @ M @ dv + out.impulse @ b
    assert_allclose(0.5 * dv @ M @ dv, -dual, atol=1e-7 * max(1, abs(dual)))


def test_anitescu_is_the_dual_with_hard_parameters():
    rng = np.random.default_rng(4)
    M, J, v = random_system(rng, 7, 2)
    phi, mu, h = np.array([0.01, 0.0]), np.array([0.4, 0.8]), 0.01
    out = fm.anitescu(M, J, phi, mu, v, h, directions=0)
    # forces: b = (J v_free + phi/h) / h, with B = 1/h, K = 1/h^2, R = 0
    b = J @ v / h
    b[::3] += phi / h**2
    dual = fm.contact_dual(J @ np.linalg.solve(M, J.T), b, mu)
    assert_allclose(J.T @ dual.force * h, J.T @ out.impulse, atol=1e-9)


def test_four_legged_table():
    a, b = 0.4, 0.3
    M = np.diag([5.0, 5, 5, 0.3, 0.3, 0.5])
    corners = [(x, y, -0.5) for x in (-a, a) for y in (-b, b)]
    J = []
    for r in corners:
        cross = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
        P = np.hstack([np.eye(3), -cross])
        J.extend(P[[2, 0, 1]])
    J, h = np.array(J), 0.01
    free = np.array([0, 0, -h * G, 0, 0, 0])
    for step in (lambda: fm.anitescu(M, J, np.zeros(4), 0.6, free, h).impulse,
                 lambda: fm.anitescu(M, J, np.zeros(4), 0.6, free, h, directions=0).impulse,
                 lambda: np.concatenate([np.append(n, t) for n, t in zip(*fm.stewart_trinkle(M, J, np.zeros(4), 0.6, free, h)[1:3])])):
        impulse = step()
        assert_allclose(J.T @ impulse, -M @ free, atol=1e-10)
        assert_allclose(impulse[::3].sum(), 5 * G * h, atol=1e-10)
    # the same with side speed: every leg keeps to the floor
    sliding = free + [0.5, 0.2, 0, 0, 0, 0]
    out = fm.stewart_trinkle(M, J, np.zeros(4), 0.6, sliding, h)
    assert out.residual < 1e-8 and (J @ out.v_next)[::3].min() > -1e-8
