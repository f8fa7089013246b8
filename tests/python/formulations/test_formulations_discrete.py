"""Discrete mechanics and integrators made of the formulations: action, variational steps, impacts, orders, cross-checks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from dualstep import formulations as fm

G = 9.81
POINT = np.eye(3)[[2, 0, 1]]

# 1, stationary action


def action(path, lagrangian, T, n=20000):
    """Integral of L(q, q') by Gauss-Legendre on panels, exact enough for smooth paths."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    edges = np.linspace(0, T, n // 100 + 1)
    t = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * nodes).ravel()
    w = (0.5 * np.diff(edges)[:, None] * weights).ravel()
    q, v = path(t)
    return w @ lagrangian(q, v)


def test_action_of_a_projectile_is_stationary():
    m, T = 2.0, 1.5

    def lagrangian(q, v):
        # the double pendulum's energies do for any point: here a point in a field, T - U
        return 0.5 * m * (v**2).sum(axis=0) - m * G * q[1]

    def path(eps):
        def at(t):
            bump, rate = eps * np.sin(np.pi * t / T), eps * np.pi / T * np.cos(np.pi * t / T)
            return np.array([1.3 * t, 4 * t - 0.5 * G * t**2 + bump]), np.array([np.full_like(t, 1.3), 4 - G * t + rate])
        return at

    base = action(path(0), lagrangian, T)
    rise = {eps: action(path(eps), lagrangian, T) - base for eps in (0.1, -0.1, 0.05)}
    assert_allclose([rise[0.1], rise[-0.1]], 0.0328986813, atol=1e-9)
    assert_allclose(rise[0.1], m * 0.1**2 * np.pi**2 / (4 * T), atol=1e-10)
    assert_allclose(rise[0.05], rise[0.1] / 4, atol=1e-10)


def test_action_with_a_force_balances_its_virtual_work():
    m, c, T = 1.5, 0.8, 1.2
    eps = 1e-4

    def at(e):
        return lambda t: (c * t**3 / (6 * m) + e * np.sin(np.pi * t / T), c * t**2 / (2 * m) + e * np.pi / T * np.cos(np.pi * t / T))

    kinetic = lambda q, v: 0.5 * m * v**2
    variation = (action(at(eps), kinetic, T) - action(at(-eps), kinetic, T)) / 2
    # the force at each instant, c t, with t read off the speed of the true path
    work = action(at(0), lambda q, v: c * (2 * m * v / c) ** 0.5 * eps * np.sin(np.pi * (2 * m * v / c) ** 0.5 / T), T)
    assert abs(variation + work) < 1e-10


# 30, variational integrators


def variational_step(q0, q1, h, gradient, mass=1.0):
    """D2 L(q0, q1) + D1 L(q1, q2) = 0 of the midpoint rule, for q2; one coordinate."""
    half = lambda a, b: gradient(0.5 * (a + b))
    residual = lambda q2: mass * (q1 - q0) / h - 0.5 * h * half(q0, q1) - mass * (q2 - q1) / h - 0.5 * h * half(q1, q2)
    guess = 2 * q1 - q0
    for _ in range(20):
        d = 1e-6
        slope = (residual(guess + d) - residual(guess - d)) / (2 * d)
        step = residual(guess) / slope
        guess -= step
        if abs(step) < 1e-15:
            break
    return guess


def test_variational_harmonic_frequency():
    w, h = 3.0, 0.1
    wanted = 2 / h * np.arctan(h * w / 2)
    assert_allclose(wanted, 2.977798952, atol=1e-9)
    q = [1.0, np.cos(wanted * h)]
    for _ in range(200):
        q.append(variational_step(q[-2], q[-1], h, lambda x: w * w * x))
    assert_allclose(q, np.cos(wanted * h * np.arange(len(q))), atol=1e-9)


@pytest.mark.parametrize("h, wanted", [(0.02, 3.387e-4), (0.01, 8.472e-5)])
def test_variational_pendulum_keeps_its_energy(h, wanted):
    # a simple pendulum is the first link of a double one whose second mass is nothing
    sample = np.linspace(-1.1, 1.1, 12)
    torque = fm.double_pendulum(1, 0, 1, 1, np.stack([sample, 0 * sample], axis=1), np.zeros((12, 2))).tau_g[:, 0]
    assert_allclose(torque, -G * np.sin(sample), atol=1e-14)
    # released at rest: p0 = 0 gives the first step
    q0, gradient = 1.0, lambda x: G * np.sin(x)
    q1 = brentq(lambda b: (b - q0) / h + 0.5 * h * gradient(0.5 * (q0 + b)), q0 - 0.1, q0 + 0.1, xtol=1e-15)
    energies, a, b = [], q0, q1
    for _ in range(round(100 / h)):
        # slope of the residual is -1/h - h U''/4: one Newton loop, in place
        mid = 0.5 * (a + b)
        left = (b - a) / h - 0.5 * h * gradient(mid)
        c = 2 * b - a
        for _ in range(4):
            c -= (left - (c - b) / h - 0.5 * h * gradient(0.5 * (b + c))) / (-1 / h - 0.25 * h * G * np.cos(0.5 * (b + c)))
        p = (b - a) / h - 0.5 * h * gradient(mid)
        energies.append(0.5 * p * p - G * np.cos(b))
        a, b = b, c
    error = np.abs(np.array(energies) + G * np.cos(1.0))
    assert_allclose(error.max(), wanted, rtol=2e-3)
    half = len(error) // 2
    assert_allclose(error[:half].max(), error[half:].max(), rtol=1e-2)


def test_variational_constraint_and_momentum():
    # a planar pendulum as a particle on a circle, no gravity field but a central spring: angular momentum and constraint
    m, l, h, k = 1.0, 0.7, 0.02, 4.0
    gradient = lambda x: k * x
    q0 = np.array([l, 0.0])
    q1 = l * np.array([np.cos(0.03), np.sin(0.03)])
    a, b = q0, q1
    momenta = []
    for _ in range(50):
        left = m * (b - a) / h - 0.5 * h * gradient(0.5 * (a + b))
        momenta.append(np.cross(np.append(b, 0), np.append(left, 0))[2])

        def residual(x):
            c, lam = x[:2], x[2]
            return np.append(left - m * (c - b) / h - 0.5 * h * gradient(0.5 * (b + c)) + h * b * lam, (0.5 * (c @ c - l * l)) / h)

        x = np.append(2 * b - a, 0.0)
        for _ in range(30):
            J = np.block([[-(m / h + h * k / 4) * np.eye(2), h * b[:, None]], [x[None, :2] / h, np.zeros((1, 1))]])
            step = np.linalg.solve(J, residual(x))
            x = x - step
            if np.abs(step).max() < 1e-15:
                break
        assert abs(0.5 * (x[:2] @ x[:2] - l * l)) < 1e-11
        a, b = b, x[:2]
    assert_allclose(momenta, momenta[0], rtol=1e-12)


# 31, impacts in discrete mechanics


def discrete_fall(h, steps, m=1.0):
    """m (2 z1 - z0 - z2)/h - h m g + h n = 0 with 0 <= n complementary to z2 >= 0, by the complementarity problem itself."""
    z0, z1, forces, heights = 1.0, 1.0 - 0.5 * G * h * h, [], []
    for _ in range(steps):
        free = 2 * z1 - z0 - h * h * G
        n, gap = fm.lcp([[h * h / m]], [free])
        forces.append(n[0])
        heights.append(gap[0])
        assert abs(n[0] * gap[0]) <= 1e-9
        z0, z1 = z1, gap[0]
    return np.array(forces), np.array(heights)


def test_discrete_impact_is_plastic_over_two_steps():
    n, z = discrete_fall(0.02, 100)
    first = np.flatnonzero(n)[0]
    # n_k moves q_k to q_(k+1); the first entry here is n_0
    assert_allclose(n[first : first + 2], [94.745, 135.79], atol=1e-8)
    assert_allclose(n[first + 2 :], 9.81, atol=1e-8)
    assert_allclose(z[first:], 0, atol=1e-12)
    assert first == 21


def test_gap_at_the_start_of_the_step_cannot_be_stepped_forward():
    # phi(q_k) = .1 > 0 allows no force, and the particle ends far below ground; phi(q_(k+1)) needs 39.81 N
    h, z0, z1 = 0.1, 0.5, 0.1
    free = 2 * z1 - z0 - h * h * G
    assert_allclose(free, -0.3981)
    assert_allclose(fm.lcp([[h * h]], [free]).z, [39.81], atol=1e-10)


def test_discrete_sliding_decelerates_at_mu_g():
    h, m, mu = 0.02, 1.0, 0.4
    x0, x1 = 0.0, 0.02
    for _ in range(40):
        v = (x1 - x0) / h
        # n_k = m g on the ground; friction moves q_k to q_(k+1)
        step = fm.maximum_dissipation_step([[h / m]], [v], mu * m * G)
        x0, x1 = x1, x1 + h * step.v_next[0]
        assert_allclose((x1 - x0) / h, max(0.0, v - h * mu * G), atol=1e-9)
    assert abs(x1 - x0) < 1e-12


# 33, orders of integration, on the double pendulum


def rate(y):
    t = fm.double_pendulum(1, 1, 1, 1, y[:2], y[2:])
    return np.concatenate([y[2:], np.linalg.solve(t.M, t.tau_g - t.Cv)])


def euler(y, h):
    return y + h * rate(y)


def midpoint(y, h):
    z = y + h * rate(y)
    for _ in range(20):
        z, last = y + h * rate(0.5 * (y + z)), z
        if np.abs(z - last).max() < 1e-14:
            break
    return z


def rk4(y, h):
    k1 = rate(y)
    k2 = rate(y + 0.5 * h * k1)
    k3 = rate(y + 0.5 * h * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))


@pytest.mark.parametrize("step, order, coarse", [(euler, 1, 128), (midpoint, 2, 16), (rk4, 4, 16)])
def test_order(step, order, coarse):
    start = np.array([0.5, -0.3, 0.2, -0.4])
    exact = start
    for _ in range(256):
        exact = rk4(exact, 0.5 / 256)
    errors = []
    for n in (coarse, 2 * coarse, 4 * coarse):
        y = start
        for _ in range(n):
            y = step(y, 0.5 / n)
        errors.append(np.abs(y - exact).max())
    slope = -np.polyfit(np.log([1, 2, 4]), np.log(errors), 1)[0]
    assert_allclose(slope, order, atol=0.1)


def test_semi_implicit_euler_in_uniform_gravity_is_off_by_half_a_step():
    h, n, z, v = 0.01, 150, 0.0, 3.0
    for _ in range(n):
        v = fm.frictionless_step([[1.0]], np.zeros((0, 1)), [], [v - h * G], h).v_next[0]
        z += h * v
    t = n * h
    assert_allclose(z - (3 * t - 0.5 * G * t * t), -G * h * t / 2, atol=1e-12)


def test_explicit_limit_of_a_spring():
    m, k = 0.5, 1e4
    limit = 2 * np.sqrt(m / k)
    assert_allclose(limit, 0.01414, atol=5e-6)
    for factor, stable in ((0.99, True), (1.01, False)):
        h, q, v = factor * limit, 0.01, 0.0
        for _ in range(2000):
            v += h * (-k * q) / m
            q += h * v
            if abs(q) > 1:
                break
        assert (abs(q) < 1) == stable


# 34, the formulations against each other


def test_sliding_block_everywhere():
    """A unit block at 2 m/s, mu = .4: every Coulomb law takes mu g from it each second; the convex relaxations on average only."""
    mu, h, steps = 0.4, 0.005, 40
    start, wanted = 2.0, 2.0 - 0.4 * G * 0.2
    ends = {}

    v = np.array([start, 0, 0])
    for _ in range(steps):
        v = fm.stewart_trinkle(np.eye(3), POINT, [0.0], mu, v - [0, 0, h * G], h).v_next
    ends["stewart_trinkle"] = v[0]

    v = np.array([0, start, 0.0])
    for _ in range(steps):
        free = v - [h * G, 0, 0]
        v = free + fm.contact_dual(np.eye(3), free, mu, desaxce=True).force
    ends["desaxce"] = v[1]

    v = start
    for _ in range(steps):
        v = fm.coulomb_1d(1.0, v, 0.0, h, mu).v_next
    ends["coulomb_1d"] = v

    v = np.array([start])
    for _ in range(steps):
        v = fm.maximum_dissipation_step(np.eye(1), v, mu * G * h).v_next
    ends["maximum_dissipation"] = v[0]

    v = start
    for _ in range(steps):
        v -= h * G * fm.regularized_friction(v / 1e-3, mu, mu)
    ends["regularized"] = v

    x, v, anchor = 0.0, start, np.nan
    for _ in range(steps):
        f_z, f_x, anchor = fm.soft_anchor(-G / 1e4, 0.0, x, v, anchor, kz=1e4, dz=80, kx=8e3, dx=60, mu=mu)
        v += h * f_x
        x += h * v
    ends["soft_anchor"] = v
    for name, v in ends.items():
        assert_allclose(v, wanted, atol=1e-9, err_msg=name)


def test_convex_relaxations_decelerate_on_average():
    mu, h = 0.4, 0.001
    v, phi = np.array([2.0, 0, 0]), h * 0.4 * 2
    for _ in range(400):
        v = fm.anitescu(np.eye(3), POINT, [phi], mu, v - [0, 0, h * G], h, directions=0).v_next
        phi += h * v[2]
    assert_allclose(v[0], 2 - mu * G * 0.4, rtol=0.01)


def test_resting_block_everywhere():
    m, h = 2.0, 0.01
    M, free = m * np.eye(3), np.array([0, 0, -h * G])
    weights = {
        "frictionless": fm.frictionless_step(M, POINT[:1], [0.0], free, h).impulse[0] / h,
        "stewart_trinkle": fm.stewart_trinkle(M, POINT, [0.0], 0.5, free, h).normal_impulse[0] / h,
        "anitescu": fm.anitescu(M, POINT, [0.0], 0.5, free, h).impulse[0] / h,
        "dual": fm.contact_dual(np.eye(3) / m, [-G, 0, 0], 0.5).force[0],
        "equality": fm.equality_dynamics(M, [0, 0, -m * G], POINT[:1], [0.0]).force[0],
        "limit": fm.limit_dynamics(M, [0, 0, -m * G], POINT[:1], [0.0], [0, 0, 0], [0.0]).force[0],
        "compliant": fm.compliant_normal(m * G / 1e4, 0.0, stiffness=1e4, damping=50),
        "soft_anchor": fm.soft_anchor(-m * G / 1e4, 0, 0, 0, np.nan, kz=1e4, dz=80, kx=8e3, dx=60, mu=0.5).f_z,
    }
    for name, weight in weights.items():
        assert_allclose(weight, m * G, rtol=1e-10, err_msg=name)


def test_plastic_drop_everywhere():
    M, J, v = np.diag([2.0, 1.5, 0.3]), np.array([[0, 1, 0.2], [0, 0, 0], [0, 0, 0]]), np.array([0.3, -2, 0.5])
    plastic = fm.plastic_impact(M, J[:1], v).v_next
    for other in (fm.impact(M, J, v, 0.0).v_next, fm.frictionless_step(M, J[:1], [0.0], v, 0.01).v_next,
                  fm.stewart_trinkle(M, J, [0.0], 0.3, v, 0.01).v_next):
        assert_allclose(other, plastic, atol=1e-12)


def test_stiff_compliance_tends_to_the_impact_law():
    zeta, m, v0 = 0.2, 1.3, 1.7
    wanted = np.exp(-zeta / np.sqrt(1 - zeta**2) * (np.pi - np.arctan2(2 * zeta * np.sqrt(1 - zeta**2), 1 - 2 * zeta**2)))
    law = fm.impact([[m]], [[1.0], [0.0], [0.0]], [-v0], 0.0, restitution=wanted).v_next[0]
    errors = []
    for k in (1e5, 1e7):
        h, x, v = 2e-3 * np.sqrt(m / k), 0.0, v0
        c = 2 * zeta * np.sqrt(k * m)
        while True:
            v += h * (G - fm.compliant_normal(x, v, stiffness=k, damping=c) / m)
            x += h * v
            if x <= 0:
                break
        errors.append(abs(-v + law) if v > 0 else abs(-v - law))
    assert errors[1] < 5e-3 and errors[1] < 0.2 * errors[0]


def test_free_tree_keeps_its_momentum():
    # two particles joined by a bar, thrown: the centre of mass flies a parabola
    m1, m2 = 1.0, 3.0
    M = np.diag([m1, m1, m2, m2])

    def rate(y):
        p, v = y[:4], y[4:]
        d, w = p[2:] - p[:2], v[2:] - v[:2]
        a = fm.equality_dynamics(M, [0, -m1 * G, 0, -m2 * G], [np.concatenate([-d, d])], [w @ w]).qacc
        return np.concatenate([v, a])

    y, h = np.array([0, 0, 0.4, 0.3, 1, 2, -0.5, 3.0]), 1e-3
    d = y[2:4] - y[:2]
    w = y[6:] - y[4:6]
    y[6:] -= d * (w @ d) / (d @ d)
    centre = lambda s: (m1 * s[:2] + m2 * s[2:]) / (m1 + m2)
    c0, v0 = centre(y[:4]), centre(y[4:])
    for _ in range(500):
        k1 = rate(y)
        k2 = rate(y + 0.5 * h * k1)
        k3 = rate(y + 0.5 * h * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))
    t = 0.5
    assert_allclose(centre(y[:4]), c0 + v0 * t - [0, 0.5 * G * t * t], atol=1e-9)
    assert_allclose(np.linalg.norm(y[2:4] - y[:2]), np.linalg.norm(d), atol=1e-9)


# 5, minimal and excess coordinates


def test_contact_modes_of_legs():
    # k feet: 2^k modes, 2^k (2^k - 1) ordered transitions at most; each mode is a choice of rows on one floating base
    rng = np.random.default_rng(0)
    for feet, modes, transitions in ((2, 4, 12), (4, 16, 240)):
        assert (2**feet, 2**feet * (2**feet - 1)) == (modes, transitions)
        J, M, tau = rng.normal(size=(feet, 9)), np.eye(9) * 2, rng.normal(size=9)
        seen = set()
        for mode in range(modes):
            rows = [k for k in range(feet) if mode >> k & 1]
            out = fm.equality_dynamics(M, tau, J[rows], np.zeros(len(rows)))
            assert_allclose(J[rows] @ out.qacc, 0, atol=1e-12)
            seen.add(tuple(np.round(out.qacc, 9)))
        assert len(seen) == modes


def test_welded_floating_base_is_a_fixed_base():
    # a planar arm of two links on a base with three coordinates, welded by three rows: the double pendulum again
    q, v = np.array([0.5, -0.3]), np.array([0.2, -0.4])
    t = fm.double_pendulum(1, 1, 1, 1, q, v)
    a1, a2 = q[0], q.sum()
    # points at p + R(theta): base x, z, angle, then the joints
    def jacobian():
        d1, d2 = np.array([np.cos(a1), np.sin(a1)]), np.array([np.cos(a2), np.sin(a2)])
        J1 = np.column_stack([[1, 0], [0, 1], d1, d1, [0, 0]])
        J2 = np.column_stack([[1, 0], [0, 1], d1 + d2, d1 + d2, d2])
        return J1, J2
    J1, J2 = jacobian()
    M = J1.T @ J1 + J2.T @ J2 + np.diag([5, 5, 0.7, 0, 0])
    r1 = np.array([np.sin(a1), -np.cos(a1)]) * -v[0] ** 2
    r2 = r1 + np.array([np.sin(a2), -np.cos(a2)]) * -v.sum() ** 2
    tau = J1.T @ (np.array([0, -G]) - r1) + J2.T @ (np.array([0, -G]) - r2) + np.array([0, -5 * G, 0, 0, 0])
    out = fm.equality_dynamics(M, tau, np.eye(3, 5), np.zeros(3))
    assert_allclose(out.qacc[3:], np.linalg.solve(t.M, t.tau_g - t.Cv), atol=1e-9)
    assert_allclose(out.qacc[:3], 0, atol=1e-12)
