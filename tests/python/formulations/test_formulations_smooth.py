"""Explicit models, quaternions, bilateral constraints, projections, plastic impacts: the published figures and closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dualstep import formulations as fm

G = 9.81
# the system of the constraint figures: three coordinates, two rows
M3 = np.array([[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1.5]])
J23 = np.array([[1.0, -1, 0], [0, 1, 2]])
TAU3 = np.array([1.0, -2, 0.5])
DRIFT = np.array([0.3, -0.1])


def rk4(rate, y, h, steps):
    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(y + 0.5 * h * k1)
        k3 = rate(y + 0.5 * h * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def pendulum_rate(y, u=(0.0, 0.0)):
    t = fm.double_pendulum(1, 1, 1, 1, y[:2], y[2:])
    return np.concatenate([y[2:], np.linalg.solve(t.M, t.tau_g + np.asarray(u) - t.Cv)])


def pendulum_energy(y):
    t = fm.double_pendulum(1, 1, 1, 1, y[:2], y[2:])
    return t.kinetic + t.potential


# 2, the double pendulum


def test_double_pendulum_terms():
    q, v, u = np.array([0.5, -0.3]), np.array([0.2, -0.4]), np.array([0.1, -0.2])
    t = fm.double_pendulum(1, 1, 1, 1, q, v)
    assert_allclose(t.M, [[4.910672978, 1.955336489], [1.955336489, 1]], atol=1e-9)
    assert_allclose(t.Cv, [0, -0.011820808], atol=1e-9)
    assert_allclose(t.tau_g, [-11.355275203, -1.948946135], atol=1e-9)
    assert_allclose(np.linalg.solve(t.M, t.tau_g + u - t.Cv), [-6.508108670, 10.588417030], rtol=0, atol=1e-9)
    assert_allclose(t.kinetic + t.potential, -26.810836452, atol=1e-9)


def test_double_pendulum_small_angle_frequencies():
    # stiffness from the gravity torque itself, by central differences
    d = 1e-5
    at_rest = fm.double_pendulum(1, 1, 1, 1, [0, 0], [0, 0])
    K = np.stack([-(fm.double_pendulum(1, 1, 1, 1, d * e, [0, 0]).tau_g - fm.double_pendulum(1, 1, 1, 1, -d * e, [0, 0]).tau_g)
                  / (2 * d) for e in np.eye(2)], axis=1)
    frequencies = np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(at_rest.M, K)).real))
    assert_allclose(frequencies, [2.397199, 5.787351], rtol=1e-6)


def test_double_pendulum_rk4_energy_and_state():
    y = np.array([2, 0.5, 0, 0.0])
    start = pendulum_energy(y)
    worst = 0.0
    for k in range(500):
        y = rk4(pendulum_rate, y, 1e-3, 20)
        worst = max(worst, abs(pendulum_energy(y) - start))
        if k == 99:
            assert_allclose(y, [-2.92203224, 3.03941741, 0.91077955, 3.51617232], rtol=0, atol=1e-7)
    assert worst <= 1.5e-7


@pytest.mark.parametrize("h, wanted", [(1e-3, 1.63e-3), (5e-4, 8.2e-4)])
def test_double_pendulum_semi_implicit_euler_stays_bounded(h, wanted):
    y = np.array([0.3, -0.2, 0, 0.0])
    start = pendulum_energy(y)
    worst = 0.0
    for _ in range(round(10 / h)):
        t = fm.double_pendulum(1, 1, 1, 1, y[:2], y[2:])
        worst = max(worst, abs(t.kinetic + t.potential - start))
        m = t.M
        r = t.tau_g - t.Cv
        det = m[0, 0] * m[1, 1] - m[0, 1] ** 2
        y[2:] += h * np.array([m[1, 1] * r[0] - m[0, 1] * r[1], m[0, 0] * r[1] - m[0, 1] * r[0]]) / det
        y[:2] += h * y[2:]
    assert_allclose(worst, wanted, rtol=0.01)


def test_double_pendulum_massless_tip_is_singular():
    t = fm.double_pendulum(1, 0, 1, 1, [0.5, -0.3], [0, 0])
    assert abs(np.linalg.det(t.M)) == 0
    with pytest.raises(ValueError, match="M is singular"):
        fm.plastic_impact(t.M, [[1.0, 0]], [1.0, 0])


# 3, the Coriolis matrix, of the double pendulum


def mass_derivatives(q, d=1e-6):
    return np.stack([(fm.double_pendulum(1, 1, 1, 1, q + d * e, [0, 0]).M - fm.double_pendulum(1, 1, 1, 1, q - d * e, [0, 0]).M)
                     / (2 * d) for e in np.eye(2)], axis=-1)


def test_christoffel_is_skew_and_the_printed_matrix_is_not():
    q, v = np.array([0.5, -0.3]), np.array([0.2, -0.4])
    D = mass_derivatives(q)
    M_dot = D @ v
    christoffel = 0.5 * (np.einsum("ijk,k->ij", D, v) + np.einsum("ikj,k->ij", D, v) - np.einsum("jki,k->ij", D, v))
    assert_allclose(christoffel @ v, fm.double_pendulum(1, 1, 1, 1, q, v).Cv, atol=1e-9)
    X = M_dot - 2 * christoffel
    assert_allclose(X + X.T, 0, atol=1e-12)
    assert abs(v @ X @ v) < 1e-12
    s2 = np.sin(q[1])
    printed = np.array([[0, -(2 * v[0] + v[1]) * s2], [v[0] * s2, 0]])
    assert_allclose(printed @ v, fm.double_pendulum(1, 1, 1, 1, q, v).Cv, atol=1e-12)
    X = M_dot - 2 * printed
    assert_allclose(X + X.T, [[-0.472832331, -0.118208083], [-0.118208083, 0]], atol=1e-8)


def test_power_balance_of_a_driven_arm():
    torque = lambda t: np.array([3 * np.sin(2 * t), -2 * np.cos(3 * t)])

    def rate(y):
        u = torque(y[5])
        return np.concatenate([pendulum_rate(y[:4], u), [y[2:4] @ u, 1.0]])

    y = rk4(rate, np.array([0.4, -0.7, 0.5, 0.2, 0, 0]), 1e-3, 1000)
    gained = pendulum_energy(y[:4]) - pendulum_energy(np.array([0.4, -0.7, 0.5, 0.2]))
    assert abs(gained - y[4]) < 1e-8 * abs(pendulum_energy(y[:4]))


# 7, momentum form


def test_momentum_form_of_the_double_pendulum():
    q, v = np.array([0.5, -0.3]), np.array([0.2, -0.4])
    t = fm.double_pendulum(1, 1, 1, 1, q, v)
    D = mass_derivatives(q)
    c_H = 0.5 * np.einsum("i,ijk,j->k", v, D, v)
    assert_allclose(t.M @ v, [0.2, -0.008932702], atol=1e-9)
    assert_allclose(c_H, [0, -0.011820808], atol=1e-8)
    assert_allclose(c_H + t.tau_g, [-11.355275203, -1.960766943], atol=1e-8)
    # the cheap evaluation, and p' = M v' + M' v
    assert_allclose(c_H, D @ v @ v - t.Cv, atol=1e-8)
    qacc = np.linalg.solve(t.M, t.tau_g - t.Cv)
    assert_allclose(c_H + t.tau_g, t.M @ qacc + D @ v @ v, atol=1e-8)


def momentum_rate(y):
    q, p = y[:2], y[2:]
    t = fm.double_pendulum(1, 1, 1, 1, q, [0, 0])
    v = np.linalg.solve(t.M, p)
    s2 = np.sin(q[1])
    # dM/dq of the closed form: only q2 enters
    c_H = np.array([0, 0.5 * (-2 * s2 * v[0] ** 2 - 2 * s2 * v[0] * v[1])])
    return np.concatenate([v, c_H + t.tau_g])


def hamiltonian(y):
    t = fm.double_pendulum(1, 1, 1, 1, y[:2], [0, 0])
    return 0.5 * y[2:] @ np.linalg.solve(t.M, y[2:]) + t.potential


def test_momentum_integration_equals_velocity_integration():
    y0 = np.array([0.5, -0.3, 0.2, -0.4])
    p0 = fm.double_pendulum(1, 1, 1, 1, y0[:2], [0, 0]).M @ y0[2:]
    by_velocity = rk4(pendulum_rate, y0, 1e-3, 1000)
    by_momentum = rk4(momentum_rate, np.concatenate([y0[:2], p0]), 1e-3, 1000)
    assert_allclose(by_momentum[:2], by_velocity[:2], rtol=0, atol=1e-9)
    M = fm.double_pendulum(1, 1, 1, 1, by_momentum[:2], [0, 0]).M
    assert_allclose(np.linalg.solve(M, by_momentum[2:]), by_velocity[2:], rtol=0, atol=1e-9)


def test_momentum_form_keeps_the_hamiltonian():
    y = np.array([2, 0.5, 0, 0.0])
    start, worst = hamiltonian(y), 0.0
    for _ in range(100):
        y = rk4(momentum_rate, y, 1e-3, 100)
        worst = max(worst, abs(hamiltonian(y) - start))
    assert worst <= 1.5e-7


# 4, quaternions


def rotation(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


@pytest.mark.parametrize("h", [2.0, 0.5, 0.1, 1e-2])
def test_constant_rotation_is_exact_for_any_step(h):
    q = np.array([1.0, 0, 0, 0])
    for _ in range(round(2 / h)):
        q = fm.quaternion_integrate(q, [0.3, -0.2, 0.5], h)
    assert_allclose(q, [0.815940971, 0.281357751, -0.187571834, 0.468929585], atol=1e-9)
    half = 0.5 * 2 * np.linalg.norm([0.3, -0.2, 0.5])
    axis = np.array([0.3, -0.2, 0.5]) / np.linalg.norm([0.3, -0.2, 0.5])
    assert_allclose(q, np.concatenate([[np.cos(half)], np.sin(half) * axis]), atol=1e-12)


def test_torque_free_spin():
    I, w = np.array([1.0, 1, 2]), np.array([0.1, 0, 3.0])
    w = rk4(lambda w: -np.cross(w, I * w) / I, w, 1e-3, 1000)
    assert_allclose(w, [0.1 * np.cos(3), 0.1 * np.sin(3), 3], atol=1e-6)


def test_plain_euler_of_a_quaternion_grows_and_the_exponential_does_not():
    plain = np.array([1.0, 0, 0, 0])
    for _ in range(1000):
        plain = plain + 1e-3 * fm.quaternion_rate(plain, [0, 0, 10.0])
    assert_allclose(np.linalg.norm(plain), 1.01257833, atol=1e-8)
    q = np.array([1.0, 0, 0, 0])
    w, h = np.array([4.0, -6, 7]), np.array(1e-3)
    for _ in range(100000):
        q = fm.quaternion_integrate(q, w, h)
    assert abs(np.linalg.norm(q) - 1) < 1e-12
    axis = w / np.linalg.norm(w)
    half = 50 * np.linalg.norm(w)
    assert_allclose(q, np.concatenate([[np.cos(half)], np.sin(half) * axis]), atol=1e-9)


def test_quaternion_map_identities():
    q = np.array([0.5, -0.1, 0.7, 0.3])
    q /= np.linalg.norm(q)
    N = np.stack([fm.quaternion_rate(q, e) for e in np.eye(3)], axis=1)
    assert_allclose(N.T @ N, np.eye(3) / 4, atol=1e-15)
    assert_allclose(np.linalg.pinv(N), 4 * N.T, atol=1e-14)
    # the rate of the rotation matrix is R [w]
    w = np.array([0.3, -0.2, 0.5])
    W = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    step = rotation(fm.quaternion_integrate(q, w, 1e-5)) - rotation(fm.quaternion_integrate(q, w, -1e-5))
    assert_allclose(step / 2e-5, rotation(q) @ W, atol=1e-9)


def test_quaternion_degenerate():
    assert_allclose(fm.quaternion_integrate([2.0, 0, 0, 0], [0, 0, 0], 0.1), [1, 0, 0, 0])
    with pytest.warns(RuntimeWarning, match="zero quaternion"):
        assert_allclose(fm.quaternion_integrate([0.0, 0, 0, 0], [0, 0, 0], 0.1), [1, 0, 0, 0])
    assert_allclose(fm.quaternion_integrate([1.0, 0, 0, 0], [1e-9, 0, 0], 0.5), [1, 2.5e-10, 0, 0], atol=1e-18)
    tiny, huge = np.array([1e-200, 0, 0, 1e-200]), np.array([1e200, 0, 0, 1e200])
    assert_allclose(fm.quaternion_integrate(tiny, [0.1, 0, 0], 1), fm.quaternion_integrate(huge, [0.1, 0, 0], 1))
    # q and -q are one pose, and stay one
    q = np.array([0.5, -0.5, 0.5, 0.5])
    assert_allclose(rotation(fm.quaternion_integrate(q, [1, 2, 3], 0.1)),
                    rotation(fm.quaternion_integrate(-q, [1, 2, 3], 0.1)), atol=1e-15)


# 5 and 8, position constraints


def test_double_pendulum_as_two_particles():
    q, v = np.array([0.5, -0.3]), np.array([0.2, -0.4])
    a1, a2 = q[0], q.sum()
    d1, d2 = np.array([np.sin(a1), -np.cos(a1)]), np.array([np.sin(a2), -np.cos(a2)])
    t1, t2 = np.array([np.cos(a1), np.sin(a1)]), np.array([np.cos(a2), np.sin(a2)])
    v1 = t1 * v[0]
    v2 = v1 + t2 * v.sum()
    J = np.array([[*d1, 0, 0], [*(-d2), *d2]])
    Jdot_v = np.array([v1 @ v1, (v2 - v1) @ (v2 - v1)])
    out = fm.equality_dynamics(np.eye(4), [0, -G, 0, -G], J, Jdot_v)
    assert_allclose(out.force, [-15.943962151, -7.635924412], rtol=0, atol=1e-9)
    assert_allclose(out.qacc, [-6.126918649, -3.301571156, -1.517023993, -2.326285693], rtol=0, atol=1e-9)
    # the same accelerations from the minimal coordinates
    t = fm.double_pendulum(1, 1, 1, 1, q, v)
    a = np.linalg.solve(t.M, t.tau_g - t.Cv)
    p1 = t1 * a[0] - d1 * v[0] ** 2
    p2 = p1 + t2 * a.sum() - d2 * v.sum() ** 2
    assert_allclose(out.qacc, np.concatenate([p1, p2]), atol=1e-9)


def circle(copies=1, zero=False):
    m, l, speed = 2.0, 0.5, 1.5
    p, v = np.array([0, -l]), np.array([speed, 0])
    rows = [p] * copies + ([np.zeros(2)] if zero else [])
    drift = [v @ v] * copies + ([0.0] if zero else [])
    return fm.equality_dynamics(m * np.eye(2), [0, -m * G], rows, drift), m, l, speed


def test_particle_on_a_circle():
    out, m, l, speed = circle()
    assert_allclose(out.force, [-57.24], atol=1e-10)
    assert_allclose(-out.force[0] * l, 28.62, atol=1e-10)
    assert_allclose(-out.force[0] * l, m * (G + speed**2 / l), atol=1e-10)
    assert_allclose(out.qacc, [0, speed**2 / l], atol=1e-10)


def test_redundant_and_zero_rows():
    single = circle()[0]
    twice = circle(copies=2)[0]
    assert_allclose(twice.force, [-28.62, -28.62], atol=1e-10)
    assert_allclose(twice.qacc, single.qacc, atol=1e-12)
    zero = circle(zero=True)[0]
    assert zero.force[1] == 0
    assert_allclose(zero.force[0], -57.24, atol=1e-10)
    assert_allclose(zero.qacc, single.qacc, atol=1e-12)


def test_contradicting_rows_warn_and_meet_halfway():
    with pytest.warns(RuntimeWarning, match="contradict"):
        out = fm.equality_dynamics(np.eye(2), [0, 0], [[1.0, 0], [1.0, 0]], [1.0, -3.0])
    assert_allclose(out.qacc, [1, 0], atol=1e-12)


def test_no_rows_is_free_motion():
    out = fm.equality_dynamics(M3, TAU3, np.zeros((0, 3)), np.zeros(0))
    assert out.force.shape == (0,)
    assert_allclose(out.qacc, np.linalg.solve(M3, TAU3), atol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_random_redundant_constraints_against_the_pseudo_inverse(seed):
    rng = np.random.default_rng(seed)
    n, k, rank = 7, 5, 3
    root = rng.normal(size=(n, n))
    M = root @ root.T + 0.1 * np.eye(n)
    J = rng.normal(size=(k, rank)) @ rng.normal(size=(rank, n))
    tau, c, c_dot, alpha = rng.normal(size=n), None, None, 3.0
    # demands that the rows can meet: drift, c and c' from the row space
    drift, c, c_dot = (J @ rng.normal(size=n) for _ in range(3))
    out = fm.equality_dynamics(M, tau, J, drift, c=c, c_dot=c_dot, alpha=alpha)
    Minv = np.linalg.inv(M)
    force = -np.linalg.pinv(J @ Minv @ J.T, rcond=1e-10) @ (J @ Minv @ tau + drift + 2 * alpha * c_dot + alpha**2 * c)
    assert_allclose(out.force, force, atol=1e-8 * np.abs(force).max())
    assert_allclose(J @ out.qacc + drift, -2 * alpha * c_dot - alpha**2 * c, atol=1e-8 * np.abs(drift).max() * alpha**2)


# 9, stabilisation


def decay(h, alpha, steps, c0=0.01):
    """Free error of one constrained unit mass, semi-implicit Euler."""
    c, rate = c0, 0.0
    for _ in range(steps):
        rate += h * fm.equality_dynamics([[1.0]], [0.0], [[1.0]], [0.0], c=[c], c_dot=[rate], alpha=alpha).qacc[0]
        c += h * rate
    return c


def test_stabilised_decay():
    y = rk4(lambda y: np.array([y[1], fm.equality_dynamics([[1.0]], [0.0], [[1.0]], [0.0], c=[y[0]], c_dot=[y[1]], alpha=10.0)
                                .qacc[0]]), np.array([0.01, 0]), 1e-3, 200)
    assert_allclose(y[0], 0.0040600585, atol=1e-9)
    assert_allclose(decay(0.01, 10.0, 20), 0.0038408906, atol=1e-9)
    assert_allclose(decay(0.001, 10.0, 200), 0.0040375618, atol=1e-9)


def test_stability_limit_of_the_stabilisation():
    assert_allclose(abs(decay(0.01, 82.0, 1000)), 4.6e-16, rtol=0.05)
    assert_allclose(abs(decay(0.01, 84.0, 1000)), 1.7e14, rtol=0.05)


@pytest.mark.parametrize("alpha, wanted", [(0.0, 8.51e-3), (10.0, 1.83e-4), (50.0, 4.44e-5)])
def test_drift_of_a_constrained_pendulum(alpha, wanted):
    l, h = 0.5, 1e-3
    p, v, worst = np.array([0, -l]), np.array([1.5, 0.0]), 0.0
    for _ in range(5000):
        c = 0.5 * (p @ p - l * l)
        out = fm.equality_dynamics(2 * np.eye(2), [0, -2 * G], [p], [v @ v], c=[c], c_dot=[p @ v], alpha=alpha)
        v = v + h * out.qacc
        p = p + h * v
        worst = max(worst, abs(0.5 * (p @ p - l * l)))
    assert_allclose(worst, wanted, rtol=0.05)


# 10, Gauss


def test_gauss_figures():
    Minv = np.linalg.inv(M3)
    assert_allclose(J23 @ Minv @ J23.T, [[2.341846758, -1.080550098], [-1.080550098, 3.300589391]], atol=1e-9)
    out = fm.gauss(M3, TAU3, J23, DRIFT)
    assert_allclose(out.force, [-1.882934132, -0.181377246], atol=1e-9)
    assert_allclose(out.qacc, [-0.413173653, -0.113173653, 0.106586826], atol=1e-9)
    assert_allclose(out.primal, 3.836699611, atol=1e-9)
    assert_allclose(out.dual, -out.primal, rtol=1e-14)
    c = J23 @ Minv @ TAU3 + DRIFT
    assert_allclose(c, [4.213555992, -1.435952849], atol=1e-9)
    A = J23 @ Minv @ J23.T
    assert_allclose(A @ out.force + c, 0, atol=1e-12)
    assert np.abs(A @ out.force - c).max() > 1


def test_gauss_against_the_kkt_system():
    K = np.block([[M3, -J23.T], [J23, np.zeros((2, 2))]])
    x = np.linalg.solve(K, np.concatenate([TAU3, -DRIFT]))
    out = fm.gauss(M3, TAU3, J23, DRIFT)
    assert_allclose(np.concatenate([out.qacc, out.force]), x, atol=1e-12)


# 11, velocity constraints


def test_rolling_disc_on_a_slope():
    m, r, angle = 1.2, 0.3, np.pi / 6
    M = np.diag([m, 0.5 * m * r * r])
    out = fm.velocity_equality_dynamics(M, [m * G * np.sin(angle), 0], [[1, -r]], [0.0])
    assert_allclose(out.force, [-1.962], atol=1e-12)
    assert_allclose(out.qacc[0], 3.27, atol=1e-12)


@pytest.mark.parametrize("with_time", [True, False])
def test_driven_joint_follows_its_prescribed_motion(with_time):
    A, w, alpha, h = 1.0, 3.0, 4.0, 1e-3

    def rate(y):
        t, v = y[2], y[1]
        psi = v - A * np.cos(w * t)
        psi_t = A * w * np.sin(w * t) if with_time else 0.0
        a = fm.velocity_equality_dynamics([[0.7]], [0.3], [[1.0]], [psi_t], psi=[psi], alpha=alpha).qacc[0]
        return np.array([v, a, 1.0])

    y, late = np.array([0.0, 0, 0]), 0.0
    for k in range(600):
        y = rk4(rate, y, h, 10)
        psi = y[1] - A * np.cos(w * y[2])
        if with_time:
            assert abs(psi) <= np.exp(-alpha * y[2]) + 1e-9
        elif y[2] > 3:
            late = max(late, abs(psi))
    if not with_time:
        assert_allclose(late, 0.6, rtol=1e-3)


# 12 and 13, projection and plastic impact


def test_projected_dynamics():
    out = fm.projected_dynamics(M3, TAU3, J23, DRIFT)
    assert_allclose(out.contact_inertia, [[0.502994012, 0.164670659], [0.164670659, 0.356886228]], atol=1e-9)
    assert_allclose(out.projector[0], [0.598802395, 0.598802395, -0.299401198], atol=1e-9)
    gauss = fm.gauss(M3, TAU3, J23, DRIFT)
    assert_allclose(out.qacc, gauss.qacc, atol=1e-12)
    assert_allclose(out.force, gauss.force, atol=1e-12)
    assert_allclose(out.projector @ out.projector, out.projector, atol=1e-12)
    assert_allclose(J23 @ np.linalg.solve(M3, out.projector), 0, atol=1e-12)
    assert np.linalg.matrix_rank(out.projector) == 1


def test_projected_dynamics_with_redundant_rows():
    J = np.vstack([J23, J23[0]])
    out = fm.projected_dynamics(M3, TAU3, J, np.append(DRIFT, DRIFT[0]))
    assert_allclose(out.qacc, fm.gauss(M3, TAU3, J23, DRIFT).qacc, atol=1e-10)
    assert_allclose(out.contact_inertia, np.linalg.pinv(J @ np.linalg.inv(M3) @ J.T, rcond=1e-10), atol=1e-10)


def test_plastic_impact():
    v = np.array([1, -1, 0.5])
    out = fm.plastic_impact(M3, J23, v)
    assert_allclose(out.impulse, [-1.005988024, -0.329341317], atol=1e-9)
    assert_allclose(out.v_next, [0.197604790, 0.197604790, -0.098802395], atol=1e-9)
    assert_allclose(out.energy_loss, 1.005988024, atol=1e-9)
    assert_allclose(J23 @ out.v_next, 0, atol=1e-12)
    lost = 0.5 * v @ M3 @ v - 0.5 * out.v_next @ M3 @ out.v_next
    assert_allclose(out.energy_loss, lost, atol=1e-12)


def test_constraint_forms_agree_on_random_problems():
    rng = np.random.default_rng(3)
    for n, k in [(1, 1), (4, 2), (9, 6), (12, 3)]:
        root = rng.normal(size=(n, n))
        M = root @ root.T + 0.2 * np.eye(n)
        tau, J, drift = rng.normal(size=n), rng.normal(size=(k, n)), rng.normal(size=k)
        reference = fm.equality_dynamics(M, tau, J, drift)
        for other in (fm.gauss(M, tau, J, drift), fm.projected_dynamics(M, tau, J, drift),
                      fm.velocity_equality_dynamics(M, tau, J, drift)):
            assert_allclose(other.qacc, reference.qacc, atol=1e-9 * np.abs(reference.qacc).max())
            assert_allclose(other.force, reference.force, atol=1e-9 * np.abs(reference.force).max())
