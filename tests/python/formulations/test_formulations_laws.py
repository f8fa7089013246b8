"""Compliance, regularized and anchored friction, scalar carts, implicit joints, dissipation, pressure fields."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize

from dualstep import formulations as fm

G = 9.81

# 16, compliant normal force


def bounce(law, v0, **material):
    """Speed after a compliant impact of a unit mass over the speed before, without gravity, force clamped at zero."""

    def rate(t, y):
        return [y[1], -fm.compliant_normal(y[0], y[1], law=law, **material)]

    def apart(t, y):
        return y[0]

    apart.terminal, apart.direction = True, -1
    out = solve_ivp(rate, (0, 10), [0.0, v0], events=apart, rtol=1e-9, atol=1e-13, max_step=np.inf)
    return -out.y[1, -1] / v0


def test_restitution_of_the_linear_law():
    k, zeta = 1e4, 0.2
    e = bounce("linear", 1.0, stiffness=k, damping=2 * zeta * np.sqrt(k))
    assert_allclose(e, 0.571740, atol=1e-4)
    root = np.sqrt(1 - zeta**2)
    assert_allclose(e, np.exp(-zeta / root * (np.pi - np.arctan2(2 * zeta * root, 1 - 2 * zeta**2))), atol=1e-6)
    # what adhesion would give, were the force not clamped
    assert abs(np.exp(-zeta * np.pi / root) - 0.526621) < 1e-6 < abs(e - 0.526621)


@pytest.mark.parametrize("stiffness, exponent", [(1e4, 1.5), (1e5, 1.0)])
def test_restitution_of_hunt_and_crossley(stiffness, exponent):
    d, v0 = 0.3, 2.0
    e = bounce("hunt_crossley", v0, stiffness=stiffness, damping=d, exponent=exponent)
    assert_allclose(e, 0.711950, atol=1e-4)
    assert_allclose(e, brentq(lambda e: d * v0 * (1 + e) - np.log((1 + d * v0) / (1 - e * d * v0)), 0.1, 0.99), atol=1e-5)


@pytest.mark.parametrize("law, damping", [("linear", 300.0), ("hunt_crossley", 0.5)])
def test_compliant_resting_depth(law, damping):
    m, k, h = 3.0, 2e4, 1e-3
    x, v = 0.0, 0.0
    for _ in range(10000):
        v += h * (G - fm.compliant_normal(x, v, stiffness=k, damping=damping, law=law) / m)
        x += h * v
    assert_allclose(x, m * G / k, rtol=1e-6)


def test_compliant_edges():
    assert fm.compliant_normal(0.0, 5.0, stiffness=1e4, damping=100) == 0
    assert fm.compliant_normal(-0.1, 5.0, stiffness=1e4, damping=100, law="hunt_crossley") == 0
    assert fm.compliant_normal(0.001, -5.0, stiffness=1e4, damping=100) == 0
    assert_allclose(fm.compliant_normal([0.01, 0.02], 0.0, stiffness=1e4, damping=[[0], [1]]), [[100, 200]] * 2)
    assert_allclose(fm.compliant_normal(0.04, 0.5, stiffness=1e4, damping=2, exponent=1.5, law="hunt_crossley"), 160)
    # 180 kg sinking 1 mm
    assert_allclose(fm.compliant_normal(1e-3, 0, stiffness=1.7658e6, damping=0), 180 * G, rtol=1e-9)


# 17, regularized friction


def test_stribeck_curve():
    assert_allclose(fm.regularized_friction([0.5, 1, 2, 3], 1, 0.8), [0.5, 1, 0.9, 0.8], rtol=1e-15)
    assert fm.regularized_friction(0.0, 1, 0.8) == 0
    assert fm.regularized_friction(1e9, 1, 0.8) == 0.8
    # no corner at s = 1 and 3
    for s in (1.0, 3.0):
        slope = np.diff(fm.regularized_friction(s + np.array([-1e-4, 0, 1e-4]), 1, 0.8)) / 1e-4
        assert_allclose(slope, 0, atol=1e-6)


def test_creep_on_a_slope():
    tilt, v_s = 0.2, 1e-3
    need = np.tan(tilt)
    s = brentq(lambda s: fm.regularized_friction(s, 0.5, 0.5, law="piecewise") - need, 0, 1)
    assert_allclose(s * v_s, 4.0542e-4, rtol=1e-5)
    s = brentq(lambda s: fm.regularized_friction(s, 0.5, 0.4) - need, 0, 1)
    assert_allclose(s, 0.449209, atol=1e-6)


def test_stribeck_stopping_distance():
    v_s, h = 0.01, 1e-5
    x, v = 0.0, 1.0
    speeds = np.linspace(0, 4, 40001)
    table = fm.regularized_friction(speeds, 0.5, 0.4)
    for _ in range(40000):
        v -= h * G * np.interp(v / v_s, speeds, table)
        x += h * v
    assert_allclose(x, 0.12749, rtol=1e-3)
    assert x > 1 / (2 * 0.4 * G)


# 18, soft ground with an anchor

GROUND = dict(kz=1e4, dz=80.0, kx=8e3, dx=60.0, mu=0.5)


def slide_down(tilt, seconds, h=1e-4, speed=0.0, mode="slide", start=0.0):
    """A unit mass on soft ground; gravity leans by `tilt`."""
    z, vz, x, vx, anchor = start, 0.0, 0.0, speed, np.nan
    for _ in range(round(seconds / h)):
        f_z, f_x, anchor = fm.soft_anchor(z, vz, x, vx, anchor, mode=mode, **GROUND)
        vz += h * (f_z - G * np.cos(tilt))
        vx += h * (f_x + G * np.sin(tilt))
        z += h * vz
        x += h * vx
    return z, vz, x, vx, anchor, f_x


def test_anchored_rest():
    z, vz, *_ = slide_down(0.0, 0.6)
    assert_allclose(z, -9.81e-4, atol=1e-8)
    z, vz, x, vx, anchor, f_x = slide_down(0.2, 0.8)
    assert_allclose(z, -9.61445e-4, atol=1e-8)
    assert_allclose(x - anchor, 2.43618e-4, atol=1e-8)
    assert abs(vx) < 1e-9


def test_anchored_sliding_acceleration():
    tilt, h = 0.6, 1e-4
    z = -G * np.cos(tilt) / GROUND["kz"]
    _, _, _, early, _, _ = slide_down(tilt, 0.3, h, start=z)
    _, _, _, late, _, _ = slide_down(tilt, 0.4, h, start=z)
    assert_allclose((late - early) / 0.1, 1.490871, atol=1e-6)
    assert_allclose((late - early) / 0.1, G * (np.sin(tilt) - 0.5 * np.cos(tilt)), atol=1e-6)


def test_anchor_slides_without_springing_back():
    z = -G / GROUND["kz"]
    _, _, x, v, anchor, _ = slide_down(0.0, 0.7, h=5e-4, speed=1.0, start=z)
    assert_allclose(x, 0.101221, atol=1e-6)
    assert abs(v) < 2e-8
    # a clamp alone leaves the spring stretched, and the block comes back
    _, _, clamped, v, _, _ = slide_down(0.0, 0.7, h=5e-4, speed=1.0, mode="clamp", start=z)
    assert abs(v) > 0.05 or clamped < 0.9 * x


def test_anchor_edges():
    free = fm.soft_anchor(0.0, -1.0, 0.3, 1.0, 0.2, **GROUND)
    assert free.f_z == 0 and free.f_x == 0 and np.isnan(free.anchor)
    first = fm.soft_anchor(-1e-3, 0.0, 0.3, 0.0, np.nan, **GROUND)
    assert first.anchor == 0.3 and first.f_x == 0
    slippery = fm.soft_anchor(-1e-3, 0.0, 0.3, 1.0, 0.2, **{**GROUND, "mu": 0.0})
    assert slippery.f_x == 0 and slippery.f_z > 0
    viscous = fm.soft_anchor(-1e-3, 0.0, 0.3, 0.01, 0.2, **{**GROUND, "kx": 0.0})
    assert_allclose(viscous.f_x, -0.6)
    assert viscous.anchor == 0.2
    # pulling away faster than the spring pushes: no adhesion
    assert fm.soft_anchor(-1e-3, 10.0, 0, 0, 0, **GROUND).f_z == 0
    # the moved anchor reproduces the cut force exactly
    cut = fm.soft_anchor(-1e-3, 0.0, 0.3, 0.5, 0.0, **GROUND)
    assert_allclose(-GROUND["kx"] * (0.3 - cut.anchor) - GROUND["dx"] * 0.5, cut.f_x)
    assert_allclose(abs(cut.f_x), 0.5 * cut.f_z)


# 24, one-dimensional Coulomb friction


@pytest.mark.parametrize("v, u, force, v_next", [(1, 0, -7.848, 0.8038), (0.1, 0, -4, 0), (0.1, 5, -7.848, 0.0288),
                                                 (-0.3, -4, 7.848, -0.2038), (0, 7, -7, 0), (0, 9, -7.848, 0.0288)])
def test_coulomb_1d(v, u, force, v_next):
    m, h, mu = 2.0, 0.05, 0.4
    out = fm.coulomb_1d(m, v, u, h, mu)
    assert_allclose(out, [force, v_next], atol=1e-12)
    # the complementarity problem in (f+, f-, |v'|)
    free = v + h / m * u
    M = np.array([[h / m, -h / m, 1], [-h / m, h / m, 1], [-1, -1, 0]])
    z, w = fm.lcp(M, [free, -free, mu * m * G])
    assert_allclose(z[0] - z[1], force, atol=1e-12)
    assert max(0, -z.min(), -w.min(), np.abs(z * w).max()) < 1e-9


def test_coulomb_1d_without_friction():
    assert_allclose(fm.coulomb_1d(2, 1, 3, 0.1, 0.0), [0, 1.15])


# 28, implicit damping


def test_relaxed_cart():
    cart = dict(m=1.0, h=0.01, damping=0.5, epsilon=0.02, kappa=0.05)
    assert_allclose(fm.todorov_scalar(q=0.05, v=-1, u=0, **cart), [19.609803922, -0.799902449], atol=1e-9)
    assert_allclose(fm.todorov_scalar(q=-0.01, v=0, u=-3, **cart), [6.961176471, 0.039414691], atol=1e-9)
    # the minimum of its own objective
    m_hat, eps = 1.005, 0.02
    v_f, v_star = -1 + 0.01 * 0.5 / m_hat, -1 + 2 * 0.01 * 1.02 / 0.05 - 0.01 * 1.02 * 0.05 / 0.05**2
    best = minimize(lambda f: 0.5 * f[0] ** 2 * (1 + eps) / m_hat + f[0] * (v_f - v_star) / 0.01, [1.0], bounds=[(0, None)],
                    options={"ftol": 1e-15, "gtol": 1e-12}).x
    assert_allclose(best, fm.todorov_scalar(q=0.05, v=-1, u=0, **cart).force, atol=1e-5)


def test_relaxed_cart_at_rest():
    q, v = -1e-4, 0.0
    for _ in range(3000):
        force, v = fm.todorov_scalar(1.0, q, v, -3.0, 0.01, damping=0.5, epsilon=0.02, kappa=0.05)
        q += 0.01 * v
    assert_allclose(q, -1.46327e-4, atol=1e-9)
    assert_allclose(q, -0.02 * 0.05**2 * 3 / (1.02 * 1.005), atol=1e-9)
    assert_allclose(force, 3, atol=1e-9)


def test_implicit_spring_damper_as_a_row_of_the_dual():
    m, k, c, h, phi, rate = 2.0, 2e4, 50.0, 0.005, -0.001, -0.2
    B, K, R = 1 / h, k / (h * (c + k * h)), 1 / (h * (c + k * h))
    assert_allclose([R, K], [1.3333333333, 26666.6666667], rtol=1e-9)
    out = fm.contact_dual([[1 / m]], [-G + B * rate + K * phi], 0.0, [R], dims=[1])
    assert_allclose(out.force, [41.714545455], atol=1e-9)
    # which is max(0, -k phi' - c phi'') at the end of the step
    v = rate + h * (out.force[0] / m - G)
    assert_allclose(out.force[0], -k * (phi + h * v) - c * v, rtol=1e-12)


def test_stiff_joint_spring():
    q, v = np.array([0.01]), np.array([0.0])
    first = None
    for _ in range(50):
        q, v = fm.implicit_joint_step([[1.0]], [[0.0]], [[1e6]], [0.0], q, v, [0.0], 0.02)
        first = abs(q[0]) if first is None else first
        assert abs(q[0]) <= 2.5e-5 + 1e-9
    assert abs(q[0]) < 0.1 * first


def test_implicit_joint_step_against_its_equation():
    rng = np.random.default_rng(1)
    n, h = 5, 0.03
    root = rng.normal(size=(n, n))
    M, D, K = root @ root.T + np.eye(n), np.diag(rng.random(n)), np.diag(rng.random(n) * 100)
    rest, q, v, tau = rng.normal(size=(4, n))
    out = fm.implicit_joint_step(M, D, K, rest, q, v, tau, h)
    assert_allclose(M @ (out.v_next - v), h * (tau - D @ out.v_next - K @ (out.q_next - rest)), atol=1e-10)
    assert_allclose(out.q_next, q + h * out.v_next, atol=1e-15)


# 29, maximum dissipation


def test_maximum_dissipation():
    assert_allclose(fm.maximum_dissipation([0.3, -0.4], 6), [-3.6, 4.8], atol=1e-15)
    assert_allclose(fm.maximum_dissipation([0.0, 0], 6), [0, 0])
    assert_allclose(fm.maximum_dissipation([0.3, -0.4], 0), [0, 0])
    assert_allclose(fm.maximum_dissipation([1e-200, 0], 6), [-6, 0])


def test_maximum_dissipation_step_figures():
    A, u = np.array([[2, 0.3], [0.3, 1]]), np.array([0.3, -0.4])
    slide = fm.maximum_dissipation_step(A, u, 0.05)
    assert_allclose(slide.impulse, [-0.028524824, 0.041065003], atol=1e-9)
    assert_allclose(slide.speed, 0.447452115, atol=1e-9)
    assert_allclose(np.linalg.norm(slide.v_next), slide.speed, rtol=1e-12)
    assert_allclose(slide.v_next + slide.speed * slide.impulse / 0.05, 0, atol=1e-12)
    stick = fm.maximum_dissipation_step(A, u, 1)
    assert_allclose(stick.impulse, [-0.219895288, 0.465968586], atol=1e-9)
    assert_allclose(stick.v_next, 0, atol=1e-12)
    assert stick.speed == 0


def test_maximum_dissipation_step_where_masses_differ_beyond_rounding():
    A, u = np.array([4e5, 0, 1.6e-9]), np.array([-2e-10, 0, -4e-11])
    slip = fm.maximum_dissipation_step(np.diag(A), u, 1e4)
    assert_allclose(slip.impulse, [5e-16, 0, 0.025], rtol=1e-12)
    assert slip.speed == 0 and np.abs(slip.v_next).max() < 1e-24
    # nothing stops the pull along what has no inertia but the bound
    slide = fm.maximum_dissipation_step(np.diag(A), [-2e-10, 3e-10, -4e-11], 1e4)
    assert_allclose(slide.impulse[1], -1e4, rtol=1e-11)
    assert_allclose(slide.speed, 3e-10, rtol=1e-11)


def test_differentiating_through_the_end_velocity_would_halve_sticking():
    A, u = np.eye(2), np.array([0.3, -0.2])
    wrong = np.linalg.solve(2 * A, -u)
    assert_allclose(u + A @ wrong, [0.15, -0.1])
    assert_allclose(fm.maximum_dissipation_step(A, u, 10).v_next, 0, atol=1e-15)


@settings(max_examples=150, deadline=None)
# a radius below the smallest normal number leaves no digits for the impulse's direction
@given(
    st.integers(1, 5), st.integers(0, 5), st.integers(0, 2**32 - 1), st.one_of(st.just(0.0), st.floats(1e-150, 10))
)
def test_maximum_dissipation_step_conditions(d, rank, seed, radius):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(min(rank, d), d))
    A, u = W.T @ W, rng.normal(size=d) * 10 ** rng.uniform(-3, 3)
    out = fm.maximum_dissipation_step(A, u, radius)
    size = math.hypot(*out.impulse)  # squares of the smallest radii vanish
    scale = np.linalg.norm(u) + 1e-300
    assert size <= radius * (1 + 1e-12)
    assert_allclose(out.v_next, u + A @ out.impulse, atol=1e-12 * scale)
    if out.speed == 0:
        assert np.linalg.norm(out.v_next) <= 1e-9 * scale
    elif radius > 0:
        assert_allclose(size, radius, rtol=1e-12)
        assert_allclose(out.v_next + out.speed * out.impulse / size, 0, atol=1e-8 * scale)


# 32, pressure fields


def test_pressure_of_a_sphere():
    out = fm.pressure_field_sphere(1e6, 0.1, 0.005)
    assert_allclose(out.force, 75.921822, atol=1e-6)
    assert_allclose(out.patch_radius, np.sqrt(0.1**2 - 0.095**2))
    assert_allclose(out.peak_pressure, 1e6 * 0.05)
    # the integral over the patch itself
    r = np.linspace(0, out.patch_radius, 200001)
    p = 1e6 * (1 - np.sqrt(0.095**2 + r**2) / 0.1)
    assert_allclose(np.trapezoid(p * 2 * np.pi * r, r), out.force, rtol=1e-8)
    assert fm.pressure_field_sphere(1e6, 0.1, -0.01) == (0, 0, 0)


@pytest.mark.parametrize("depth, tilt", [(0.002, 0.0), (0.002, 0.05), (0.002, -0.05), (0.0, 0.1), (-0.003, 0.2), (-0.003, -0.2), (0.01, 0.01)])
def test_pressure_of_a_box(depth, tilt):
    E, H, hx, hy = 2e5, 0.01, 0.1, 0.05
    out = fm.pressure_field_box(E, H, hx, hy, depth, tilt)
    x = (np.arange(400000) + 0.5) / 400000 * 2 * hx - hx
    p = E * np.maximum(0, depth + x * np.tan(tilt)) / H
    cell = 2 * hx / 400000 * 2 * hy
    assert_allclose(out.force, p.sum() * cell, rtol=1e-8, atol=1e-9)
    assert_allclose(out.moment, (p * x).sum() * cell, rtol=1e-7, atol=1e-9)


def test_pressure_of_a_box_off_the_ground():
    assert fm.pressure_field_box(1e5, 0.01, 0.1, 0.1, -0.05, 0.1) == (0, 0)
    assert fm.pressure_field_box(1e5, 0.01, 0.1, 0.1, -0.05, 0.0) == (0, 0)
