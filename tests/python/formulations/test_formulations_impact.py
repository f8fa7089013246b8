"""Impacts: restitution, the spinning ball, friction laws, energy."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dualstep import formulations as fm

G = 9.81


def energy(M, v):
    return 0.5 * v @ M @ v


# 19, frictionless


def normal_only(n):
    """A row n with tangents that see nothing."""
    return np.vstack([n, np.zeros((2, len(n)))])


def test_bouncing_ball():
    z, e = 1.0, 0.7
    t, v, times, apexes = np.sqrt(2 * z / G), -np.sqrt(2 * G * z), [], []
    for _ in range(60):
        times.append(t)
        v = fm.impact([[1.3]], normal_only([1.0]), [v], 0.0, restitution=e).v_next[0]
        apexes.append(v * v / (2 * G))
        t += 2 * v / G
        v = -v
    assert_allclose(times[:4], [0.451523641, 1.083656738, 1.526149907, 1.835895124], atol=1e-8)
    assert_allclose(apexes[:5], z * e ** (2 * np.arange(1, 6)), rtol=1e-12)
    assert_allclose(t, np.sqrt(2 * z / G) * (1 + e) / (1 - e), atol=1e-8)
    assert_allclose(t, 2.558633966, atol=1e-8)


def test_energy_lost_in_an_impact():
    M, n, v = np.array([[1.25]]), np.array([1.0]), np.array([-2.0])
    for e, loss in [(0.5, 1.875), (1.0, 0.0), (0.0, 2.5)]:
        out = fm.impact(M, normal_only(n), v, 0.0, restitution=e)
        assert_allclose(energy(M, v) - energy(M, out.v_next), loss, atol=1e-12)
        assert_allclose(out.v_next, -e * v, atol=1e-15)


@pytest.mark.parametrize("mu, law", [(0.0, "lcp"), (0.5, "lcp"), (np.inf, "lcp"), (0.0, "convex")])
def test_separating_contacts_are_left_alone(mu, law):
    out = fm.impact(np.eye(3), np.eye(3)[[2, 0, 1]], [0.5, 0.3, 0.2], mu, restitution=0.4, law=law)
    assert_allclose(out.v_next, [0.5, 0.3, 0.2], atol=1e-15)
    assert_allclose(out.impulse, 0, atol=1e-15)
    # exactly at rest along the normal
    out = fm.impact(np.eye(3), np.eye(3)[[2, 0, 1]], [0, 0, 0], mu, restitution=0.4, law=law)
    assert_allclose(out.v_next, 0, atol=1e-15)


def test_contact_between_immovable_bodies():
    out = fm.impact([[1.0]], np.zeros((3, 1)), [-2.0], 0.0, restitution=0.5)
    assert_allclose(out.impulse, 0)
    assert_allclose(out.v_next, [-2])


def test_several_frictionless_impacts_at_once():
    rng = np.random.default_rng(2)
    for _ in range(40):
        n, k = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        root = rng.normal(size=(n, n))
        M = root @ root.T + 0.3 * np.eye(n)
        rows, v, e = rng.normal(size=(k, n)), rng.normal(size=n), rng.random(k)
        J = np.concatenate([normal_only(r) for r in rows])
        # approaching together with opposite normals has no answer with e alike; the origin is one for e = 0
        out = fm.impact(M, J, v, 0.0, restitution=0.0)
        L = out.impulse[::3]
        w = rows @ out.v_next
        assert (L >= 0).all() and (w >= -1e-9).all() and np.abs(L * w).max() < 1e-9
        if n >= k:
            out = fm.impact(M, J, v, 0.0, restitution=e)
            w = rows @ out.v_next + e * (rows @ v)
            assert (w >= -1e-9).all() and np.abs(out.impulse[::3] * w).max() < 1e-9


# 20, the spinning ball: coordinates x, z, angle about -y; contact speed along x is x' + r angle'

BALL = dict(m=0.6, r=0.1, kappa=2 / 3)
BALL_V = np.array([2.0, -3, -10])


def ball():
    m, r, kappa = BALL["m"], BALL["r"], BALL["kappa"]
    M = np.diag([m, m, kappa * m * r * r])
    return M, np.array([[0, 1, 0], [1, 0, r], [0, 0, 0]])


@pytest.mark.parametrize("mu", [np.inf, 0.25])
def test_ball_sticks(mu):
    M, J = ball()
    out = fm.impact(M, J, BALL_V, mu, restitution=0.8)
    assert_allclose(out.v_next, [1.6, 2.4, -16], atol=1e-12)
    assert_allclose(out.impulse, [3.24, -0.24, 0], atol=1e-12)
    x, spin = BALL_V[0], BALL_V[2]
    assert_allclose(out.v_next, [0.6 * x - 0.4 * 0.1 * spin, 2.4, -3 * x / 0.5 + 0.4 * spin], atol=1e-12)


def test_ball_slides():
    M, J = ball()
    out = fm.impact(M, J, BALL_V, 0.05, restitution=0.8)
    assert_allclose(out.v_next, [1.73, 2.4, -14.05], atol=1e-12)
    assert_allclose(out.impulse, [3.24, -0.162, 0], atol=1e-12)
    convex = fm.impact(M, J, BALL_V, 0.05, restitution=0.8, law="convex")
    assert_allclose(convex.impulse, [3.249689441, -0.162484472, 0], atol=1e-9)


def test_second_bounce_under_infinite_friction_has_no_tangent_impulse():
    M, J = ball()
    first = fm.impact(M, J, BALL_V, np.inf, restitution=0.8).v_next
    again = first * [1, -1, 1]
    out = fm.impact(M, J, again, np.inf, restitution=0.8)
    assert_allclose(out.impulse[1:], 0, atol=1e-13)


@pytest.mark.parametrize("mu", [np.inf, 0.25, 0.05, 0.0])
def test_spin_about_the_contact_point_is_conserved(mu):
    M, J = ball()
    out = fm.impact(M, J, BALL_V, mu, restitution=0.8)
    about = lambda v: BALL["kappa"] * BALL["m"] * BALL["r"] ** 2 * v[2] - BALL["m"] * BALL["r"] * v[0]
    assert_allclose(about(out.v_next), about(BALL_V), atol=1e-14)


def rod(angle=0.6):
    """A rod of unit mass and length, its tip in contact; coordinates x, z, angle."""
    r = 0.5 * np.array([np.sin(angle), -np.cos(angle)])
    M = np.diag([1, 1, 1 / 12])
    # velocity of the tip: v + angle' (-r_z, r_x)
    return M, np.array([[0, 1, r[0]], [1, 0, -r[1]], [0, 0, 0]])


def test_rod_tip_impact():
    M, J = rod()
    v, e = np.array([0.4, -2, 1]), 0.7
    out = fm.impact(M, J, v, np.inf, restitution=e)
    assert_allclose((J @ out.v_next)[:2], [1.202375, 0], atol=1e-6)
    # restitution on the other side of the inverse is wrong wherever normal and tangent couple
    A = (J @ np.linalg.solve(M, J.T))[:2, :2]
    u = (J @ v)[:2]
    swapped = u - A @ np.diag([1 + e, 1]) @ np.linalg.solve(A, u)
    assert_allclose(swapped, [2.178905, 1.557012], atol=1e-6)
    assert np.abs(swapped - (J @ out.v_next)[:2]).max() > 0.9


def test_restitution_with_friction_can_gain_energy_and_the_limit_stops_it(caplog):
    M, J = rod()
    v = np.array([-0.62, -1, 0])
    free = fm.impact(M, J, v, np.inf, restitution=0.9)
    assert_allclose(energy(M, free.v_next) / energy(M, v) - 1, 0.073, atol=5e-4)
    with caplog.at_level(logging.INFO, logger="dualstep.formulations"):
        kept = fm.impact(M, J, v, np.inf, restitution=0.9, limit_energy=True)
    assert "restitution scaled" in caplog.text
    assert energy(M, kept.v_next) <= energy(M, v) * (1 + 1e-12)
    # not more restitution taken away than needed
    assert_allclose(energy(M, kept.v_next), energy(M, v), rtol=1e-9)
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="dualstep.formulations"):
        same = fm.impact(M, J, v, np.inf, restitution=0.3, limit_energy=True)
    assert not caplog.text
    assert_allclose(same.v_next, fm.impact(M, J, v, np.inf, restitution=0.3).v_next)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(0.01, 1.5), st.floats(0, 1), st.sampled_from(["lcp", "convex"]))
def test_limited_impacts_never_gain_energy(contacts, seed, mu, e, law):
    rng = np.random.default_rng(seed)
    n = 6
    root = rng.normal(size=(n, n))
    M = root @ root.T + 0.5 * np.eye(n)
    J = rng.normal(size=(3 * contacts, n))
    v = rng.normal(size=n)
    if contacts == 3:
        J = J[:6]
    out = fm.impact(M, J, v, mu, restitution=e, law=law, limit_energy=True)
    assert energy(M, out.v_next) <= energy(M, v) * (1 + 1e-9)
    for L in out.impulse.reshape(-1, 3):
        assert L[0] >= -1e-12
        assert np.hypot(L[1], L[2]) <= mu * L[0] * (1 + 1e-9) + 1e-12


def test_infinite_friction_may_pull():
    # two contacts, the formula as it stands: one normal impulse is negative, and neither is dropped
    M = np.diag([1.0, 1, 0.5 * (0.25 + 4) / 6])
    J = np.array([[0, 1, 0.25], [1, 0, -1], [0, 0, 0], [0, 1, -0.25], [1, 0, -1], [0, 0, 0]])
    out = fm.impact(M, J, [1.0, -0.25, 1.0], np.inf)
    assert out.impulse[0] < 0
    assert_allclose(J @ out.v_next, 0, atol=1e-12)


@pytest.mark.parametrize("directions", [4, 8, 64])
def test_lcp_law_approaches_the_disc(directions):
    # a unit particle sliding at 20 degrees: friction against the motion, up to the polygon
    angle, mu, e = np.deg2rad(20), 0.3, 0.5
    v = np.array([3 * np.cos(angle), 3 * np.sin(angle), -1.0])
    J = np.eye(3)[[2, 0, 1]]
    out = fm.impact(np.eye(3), J, v, mu, restitution=e, directions=directions)
    assert_allclose(out.impulse[0], 1.5, atol=1e-12)
    wanted = -mu * 1.5 * np.array([np.cos(angle), np.sin(angle)])
    assert np.abs(out.impulse[1:] - wanted).max() <= mu * 1.5 * 2 * np.sin(np.pi / directions)
    if directions == 64:
        assert_allclose(out.impulse[1:], wanted, atol=0.05)


def test_per_contact_restitution_and_friction():
    # two particles in one problem, each with its own material
    J = np.zeros((6, 6))
    J[:3, :3] = J[3:, 3:] = np.eye(3)[[2, 0, 1]]
    v = np.array([1, 0, -2, 1, 0, -2.0])
    both = fm.impact(np.eye(6), J, v, [0.1, 0.9], restitution=[0.2, 0.6])
    for k, (mu, e) in enumerate([(0.1, 0.2), (0.9, 0.6)]):
        alone = fm.impact(np.eye(3), J[:3, :3], v[:3], mu, restitution=e)
        assert_allclose(both.v_next[3 * k : 3 * k + 3], alone.v_next, atol=1e-12)
