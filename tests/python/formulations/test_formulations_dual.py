"""The convex contact dual: published figures, optimality conditions, every kind of row, degenerate problems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dualstep import formulations as fm

G = 9.81

# 27, a particle of 2 kg, h = .005, kappa = .05, epsilon = .01, mu = .5
MASS, H, KAPPA, EPS, MU = 2.0, 0.005, 0.05, 0.01, 0.5
B, K = 2 / KAPPA, 1 / KAPPA**2
A = np.eye(3) / MASS
R = np.full(3, EPS / MASS)


def linear_term(phi=0.0, u=(0, 0, 0), pull=(0, 0, 0)):
    """b = J M^-1 tau + B J v + K phi e_n with rows n, t1, t2."""
    tau = np.array([-MASS * G, 0, 0]) + pull
    return tau / MASS + B * np.asarray(u, float) + [K * phi, 0, 0]


def conditions(out, A, b, mu, R):
    """Largest violation of f in K, y in K*, f'y = 0 for round cones of three rows."""
    y = (A + np.diag(R)) @ out.force + b
    f, y = out.force.reshape(-1, 3), y.reshape(-1, 3)
    mu = np.broadcast_to(mu, len(f))
    scale = np.abs(b).max()
    return max(np.max(np.linalg.norm(f[:, 1:], axis=1) - mu * f[:, 0]) / max(1, np.abs(f).max()),
               np.max(mu * np.linalg.norm(y[:, 1:], axis=1) - y[:, 0]) / scale,
               np.max(np.abs((f * y).sum(axis=1))) / (scale * max(1, np.abs(f).max())))


def test_rest():
    phi = -EPS * KAPPA**2 * G
    assert_allclose(phi, -2.4525e-4)
    out = fm.contact_dual(A, linear_term(phi), MU, R)
    assert_allclose(out.force, [19.62, 0, 0], atol=1e-9)
    # and a particle let fall comes to rest there
    phi, v = 0.0, 0.0
    for _ in range(400):
        force = fm.contact_dual(A, linear_term(phi, (v, 0, 0)), MU, R).force
        v += H * (force[0] / MASS - G)
        phi += H * v
    assert_allclose(phi, -2.4525e-4, atol=1e-9)


def test_stick_slide_and_force_at_a_distance():
    assert_allclose(fm.contact_dual(A, linear_term(pull=(0, 3, 0)), MU, R).force, [19.425742574, -2.970297030, 0], atol=1e-9)
    assert_allclose(fm.contact_dual(A, linear_term(u=(0, 1, 0)), MU, R).force, [47.223762376, -23.611881188, 0], atol=1e-9)
    assert_allclose(fm.contact_dual(A, linear_term(0.01, (-1, 0, 0)), MU, R).force, [90.712871287, 0, 0], atol=1e-9)


def test_cones_at_45_degrees():
    b = linear_term(u=(0, np.sqrt(0.5), np.sqrt(0.5)))
    square = fm.contact_dual(A, b, MU, R, cone="pyramidal")
    assert_allclose(square.force, [42.159974695, -10.539993674, -10.539993674], atol=1e-9)
    round_ = fm.contact_dual(A, b, MU, R)
    octagon = fm.contact_dual(A, b, MU, R, cone="pyramidal", directions=8)
    for out in (round_, octagon):
        assert_allclose(out.force, [47.223762376, -16.696121305, -16.696121305], atol=1e-9)
    assert square.objective >= octagon.objective >= round_.objective - 1e-12


def test_zero_is_not_the_answer_when_the_tangent_pulls():
    b = np.array([2.19, 40, 0])
    out = fm.contact_dual(A, b, MU, R)
    assert_allclose(out.force, [28.213861386, -14.106930693, 0], atol=1e-9)
    assert out.residual < 1e-11
    # the residual at zero would tell: |P(-b/a)|
    assert np.linalg.norm(out.force) > 30


def test_creep_on_a_slope():
    tilt, phi, v = 0.2, 0.0, np.zeros(2)
    for _ in range(600):
        b = np.array([-G * np.cos(tilt) + B * v[0] + K * phi, G * np.sin(tilt) + B * v[1], 0])
        force = fm.contact_dual(A, b, MU, R).force
        v = v + H * (force[:2] / MASS + [-G * np.cos(tilt), G * np.sin(tilt)])
        phi += H * v[0]
    assert_allclose(v[1], 4.8724e-4, rtol=1e-4)
    assert_allclose(v[1], R[1] * MASS * G * np.sin(tilt) / B, rtol=1e-8)
    assert_allclose(phi, -2.40361e-4, rtol=1e-5)


def test_desaxce():
    b = linear_term(u=(0, 1, 0))
    out = fm.contact_dual(A, b, MU, R, desaxce=True)
    assert_allclose(out.force, [19.425742574, -9.712871287, 0], atol=1e-9)
    assert out.residual < 1e-10
    # Coulomb and Signorini: y_n = 0 under the contact that is pressed
    y = (A + np.diag(R)) @ out.force + b
    assert_allclose(y[0], 0, atol=1e-10)
    shifted = b + [MU * abs(y[1]), 0, 0]
    assert_allclose(out.objective, 0.5 * out.force @ (A + np.diag(R)) @ out.force + out.force @ shifted, rtol=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_random_round_cones(seed):
    rng = np.random.default_rng(seed)
    contacts = int(rng.integers(1, 7))
    r, n = 3 * contacts, int(rng.integers(1, 14))
    J = rng.normal(size=(r, n))
    if contacts > 1 and seed % 2:
        J[3:6] = J[:3]
    A = J @ np.diag(rng.random(n) + 0.1) @ J.T
    b, mu = J @ rng.normal(size=n) * 5, rng.random(contacts) * 1.2
    if seed % 5 == 0:
        mu[0] = 0
    for R in (0.01 * np.diag(A) + 1e-12, np.zeros(r)):
        out = fm.contact_dual(A, b, mu, R)
        assert conditions(out, A, b, mu, R) < 1e-9
        assert out.residual < 1e-9 * max(1, np.abs(out.force).max())
        assert out.iterations > 0


@pytest.mark.parametrize("grip, n", [(1, 12), (10, 7), (10, 4)])  # strong friction is what fixed points do not settle
@pytest.mark.parametrize("seed", range(20))
def test_random_desaxce_is_coulomb(seed, grip, n):
    rng = np.random.default_rng(seed)
    contacts = int(rng.integers(1, 6))
    J = rng.normal(size=(3 * contacts, n))
    A = J @ J.T / 3
    b, mu, R = J @ rng.normal(size=n) * 5, grip * rng.random(contacts), 0.01 * np.diag(A)
    out = fm.contact_dual(A, b, mu, R, desaxce=True)
    y = ((A + np.diag(R)) @ out.force + b).reshape(-1, 3)
    f = out.force.reshape(-1, 3)
    scale = np.abs(b).max()
    # Signorini on the normals without any lift, friction opposite to the sliding and on the cone's rim
    assert (f[:, 0] >= 0).all() and (y[:, 0] >= -1e-8 * scale).all()
    assert np.abs(f[:, 0] * y[:, 0]).max() < 1e-8 * scale * max(1, f.max())
    slip = np.linalg.norm(y[:, 1:], axis=1)
    assert_allclose((f[:, 1:] * y[:, 1:]).sum(axis=1), -mu * f[:, 0] * slip, atol=1e-8 * scale * max(1, f.max()))
    assert out.residual < 1e-8 * max(1, np.abs(out.force).max())


def test_desaxce_on_a_pyramid_is_stewart_trinkle():
    # the same polygon, the same law: forces of a contact with inertia enough to be unique
    rng = np.random.default_rng(8)
    for _ in range(10):
        J, h = rng.normal(size=(3, 5)), 0.01
        M, v, mu = np.diag(rng.random(5) + 0.5), rng.normal(size=5), 0.4
        step = fm.stewart_trinkle(M, J, [0.0], mu, v, h)
        dual = fm.contact_dual(J @ np.linalg.solve(M, J.T), J @ v, mu, cone="pyramidal", desaxce=True)
        assert_allclose(v + np.linalg.solve(M, J.T @ dual.force), step.v_next, atol=1e-8)


def test_sliding_block_keeps_to_the_ground_with_desaxce_only():
    h, mu, lifted = 0.01, 0.5, {}
    for desaxce in (True, False):
        v = np.array([0.0, 2, 0])
        for _ in range(10):
            b = v + [-h * G, 0, 0]
            v = b + fm.contact_dual(np.eye(3), b, mu, desaxce=desaxce).force
        lifted[desaxce] = v
    assert_allclose(lifted[True], [0, 2 - mu * G * 0.1, 0], atol=1e-10)
    assert lifted[False][0] > 0.3


# rows of the other kinds


def test_equality_limit_and_friction_loss_rows():
    A = np.diag([2.0, 1, 1, 4, 4, 0.5])
    b = np.array([3.0, -2, 5, 8, -1, 6])
    out = fm.contact_dual(A, b, [], equality=1, limits=2, friction_loss=[0.5, 0.5, 20])
    assert_allclose(out.force, [-1.5, 2, 0, -0.5, 0.25, -12], atol=1e-13)
    assert_allclose(out.objective, 0.5 * out.force @ A @ out.force + out.force @ b)
    assert out.residual < 1e-12


def test_one_problem_of_every_row():
    rng = np.random.default_rng(12)
    dims = [1, 3, 4, 6]
    r = 2 + 2 + 1 + sum(dims)
    W = rng.normal(size=(20, r))
    A, b = W.T @ W / 20, rng.normal(size=r) * 3
    R = 0.01 * np.diag(A)
    mu = [[], [0.5, 0.7], [0.5, 0.5, 0.02], [0.8, 0.6, 0.03, 0.01, 0.02]]
    for cone in ("elliptic", "pyramidal"):
        out = fm.contact_dual(A, b, mu, R, cone=cone, dims=dims, equality=2, limits=2, friction_loss=[0.3])
        f, y = out.force, (A + np.diag(R)) @ out.force + b
        assert_allclose(y[:2], 0, atol=1e-11)
        assert (f[2:4] >= 0).all() and (y[2:4] >= -1e-11).all() and abs(f[2:4] @ y[2:4]) < 1e-11
        assert abs(f[4]) <= 0.3 and (abs(y[4]) < 1e-11 or f[4] * y[4] < 0)
        row = 5
        for d, m in zip(dims, mu):
            fc, yc, m = f[row : row + d], y[row : row + d], np.array(m)
            norm, dual = (np.linalg.norm, np.linalg.norm) if cone == "elliptic" or d == 3 else (
                lambda x: np.abs(x).sum(), lambda x: np.abs(x).max(initial=0))
            if cone == "pyramidal" and d == 3:
                norm, dual = (lambda x: np.abs(x).sum()), (lambda x: np.abs(x).max())
            assert norm(fc[1:] / m) <= fc[0] + 1e-11
            assert yc[0] >= dual(m * yc[1:]) - 1e-11
            assert abs(fc @ yc) < 1e-10
            row += d
        assert out.residual < 1e-11


def test_torsional_cone():
    # identity inertia, so the force is the projection of -b onto the cone
    out = fm.contact_dual(np.eye(4), [-1.0, 0, 0, 2], [[0.5, 0.5, 0.02]], 0.0, dims=[4])
    assert_allclose(out.force, [1.039584166, 0, 0, -0.020791683], atol=1e-9)
    assert out.residual < 1e-12


def test_anisotropic_cone_slides_towards_its_slippery_axis():
    out = fm.contact_dual(np.eye(3), [-10.0, 3, 3], [[0.1, 0.8]])
    f = out.force
    assert_allclose((f[1] / 0.1) ** 2 + (f[2] / 0.8) ** 2, f[0] ** 2, rtol=1e-10)
    y = f + [-10.0, 3, 3]
    assert_allclose(y[0], np.hypot(0.1 * y[1], 0.8 * y[2]), rtol=1e-9)
    # pushed alike, held three times as hard across the slippery axis
    assert abs(f[2]) > 2 * abs(f[1])


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_zero_friction_is_a_scalar_row(cone):
    out = fm.contact_dual(A, linear_term(u=(0, 3, 1)), 0.0, R, cone=cone)
    assert_allclose(out.force, [G / (A[0, 0] + R[0]), 0, 0], atol=1e-11)
    # one slippery direction of two
    out = fm.contact_dual(A, linear_term(u=(0, 3, 1)), [[0.0, 0.5]], R, cone=cone)
    assert out.force[1] == 0 and out.force[2] < 0


def test_pyramid_orders_the_objective():
    rng = np.random.default_rng(6)
    for _ in range(20):
        W = rng.normal(size=(9, 9))
        A, b = W @ W.T, rng.normal(size=9) * 4
        values = [fm.contact_dual(A, b, 0.7, 0.01, cone=c, directions=nd).objective
                  for c, nd in (("pyramidal", 4), ("pyramidal", 8), ("pyramidal", 16), ("elliptic", 4))]
        assert values == sorted(values, reverse=True) or np.all(np.diff(values) < 1e-9)


# degenerate problems


def test_no_rows():
    out = fm.contact_dual(np.zeros((0, 0)), np.zeros(0), [])
    assert out.force.shape == (0,) and out.objective == 0 and out.residual == 0


def test_duplicate_contacts_share_the_load():
    one = fm.contact_dual(A, linear_term(u=(0, 1, 0)), MU, 2 * R)
    J = np.vstack([np.eye(3)] * 2)
    two = fm.contact_dual(J @ A @ J.T, np.tile(linear_term(u=(0, 1, 0)), 2), MU, np.tile(R, 2))
    assert_allclose(two.force[:3], two.force[3:], atol=1e-11)
    # without R only the sum is determined
    free = fm.contact_dual(J @ A @ J.T, np.tile(linear_term(u=(0, 1, 0)), 2), MU)
    hard = fm.contact_dual(A, linear_term(u=(0, 1, 0)), MU)
    assert_allclose(free.force[:3] + free.force[3:], hard.force, atol=1e-9)
    assert_allclose(free.objective, hard.objective, rtol=1e-12)
    assert one.force[0] > 0


def test_rows_without_inertia_get_no_force():
    A2 = np.zeros((6, 6))
    A2[:3, :3] = A
    out = fm.contact_dual(A2, np.concatenate([linear_term(), [-5, 1, 0]]), MU)
    assert_allclose(out.force, [19.62, 0, 0, 0, 0, 0], atol=1e-11)
    assert out.residual < 1e-11
    out = fm.contact_dual(np.zeros((2, 2)), [-1.0, 2], [], equality=1, limits=1)
    assert_allclose(out.force, 0)


def test_facing_contacts_need_regularization():
    J = np.vstack([np.eye(3)[[2, 0, 1]], -np.eye(3)[[2, 0, 1]]])
    A, b = J @ J.T, np.array([-1.0, 0, 0, -1, 0, 0])
    with pytest.raises(fm.InfeasibleError, match="lower bound"):
        fm.contact_dual(A, b, 0.5)
    out = fm.contact_dual(A, b, 0.5, 0.01)
    assert_allclose(out.force[[0, 3]], [100, 100], rtol=1e-9)


def speeds_of_a_contact(gap, along, across, mu):
    """The speeds v of one dof at which gap + along v >= mu |across v|; gap < 0."""
    out, into = along - mu * across, along + mu * across
    if out > 0:
        return -gap / out, np.inf
    return (-np.inf, -gap / into) if into < 0 else (np.inf, -np.inf)


def test_contacts_that_jam_are_told(rng):
    """Two contacts on one dof: the speeds that both admit are an interval, and often there are none."""
    jammed = 0
    for _ in range(200):
        J, mu, phi = rng.normal(size=(6, 1)), rng.uniform(0.1, 1.5, 2), -(10 ** rng.uniform(-4, -1.5, 2))
        M = np.array([[10 ** rng.uniform(-2, 1)]])
        ends = [speeds_of_a_contact(phi[c] / 0.005, J[3 * c, 0], np.hypot(*J[3 * c + 1 : 3 * c + 3, 0]), mu[c]) for c in (0, 1)]
        low, high = max(end[0] for end in ends), min(end[1] for end in ends)
        if low <= high:
            v = fm.anitescu(M, J, phi, mu, [0.0], 0.005, directions=0).v_next
            assert_allclose(v, np.clip(0, low, high), rtol=1e-9)
            continue
        jammed += 1
        with pytest.raises(fm.InfeasibleError, match="lower bound"):
            fm.anitescu(M, J, phi, mu, [0.0], 0.005, directions=0)
    assert 20 < jammed < 190


def test_box_on_a_plane():
    # 32: .4 x .3 x .2 m, 3 kg, on its four lower corners
    m, a, b_, c = 3.0, 0.2, 0.15, 0.1
    I = m / 3 * np.array([b_**2 + c**2, a**2 + c**2, a**2 + b_**2])
    M = np.diag([m, m, m, *I])
    rows = []
    for x in (-a, a):
        for y in (-b_, b_):
            r = np.array([x, y, -c])
            P = np.hstack([np.eye(3), -np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])])
            rows.append(P[[2, 0, 1]])
    J = np.vstack(rows)
    A = J @ np.linalg.solve(M, J.T)
    An = A[::3, ::3]
    assert_allclose(An[0, 0], 1.825641026, atol=1e-9)
    assert np.linalg.matrix_rank(An) == 3
    R = 0.01 * np.diag(An)
    depth = -R[0] * m * G / 4 * KAPPA**2
    assert_allclose(depth, -3.358038e-4, atol=1e-10)
    out = fm.contact_dual(An, -G + K * depth * np.ones(4), np.zeros(4), R, dims=[1] * 4)
    assert_allclose(out.force, 7.3575, atol=1e-10)

    # spinning about the vertical with mu = .5, Coulomb stepping: yaw decelerates at 3 mu g / sqrt(a^2 + b^2)
    h, v = 1e-3, np.array([0, 0, 0, 0, 0, 3.0])
    for _ in range(20):
        free = v + h * np.array([0, 0, -G, 0, 0, 0])
        force = fm.contact_dual(A, J @ free / h, 0.5, 1e-6 * np.diag(A), desaxce=True).force
        v = free + h * np.linalg.solve(M, J.T @ force)
    assert_allclose((3 - v[5]) / (20 * h), 58.86, rtol=0.02)
    assert_allclose(3 * 0.5 * G / np.hypot(a, b_), 58.86)


def test_tilted_box_loads():
    # mg cos/4 +- mg sin c/(4a) a corner, by statics: friction holds, R shares
    m, a, b_, c, tilt = 3.0, 0.2, 0.15, 0.1, 0.15
    I = m / 3 * np.array([b_**2 + c**2, a**2 + c**2, a**2 + b_**2])
    M, rows = np.diag([m, m, m, *I]), []
    for x in (-a, a):
        for y in (-b_, b_):
            r = np.array([x, y, -c])
            rows.append(np.hstack([np.eye(3), -np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])])[[2, 0, 1]])
    J = np.vstack(rows)
    A = J @ np.linalg.solve(M, J.T)
    tau = m * G * np.array([np.sin(tilt), 0, -np.cos(tilt), 0, 0, 0])
    f = fm.contact_dual(A, J @ np.linalg.solve(M, tau), 0.8, 1e-9 * np.diag(A), desaxce=True).force[::3]
    share, lean = m * G * np.cos(tilt) / 4, m * G * np.sin(tilt) * c / (4 * a)
    assert_allclose(f, [share - lean, share - lean, share + lean, share + lean], rtol=1e-6)


def test_spinning_sphere_is_stopped_by_torsion_only():
    m, r, mu_tau, h = 1.0, 0.1, 0.01, 1e-3
    I = 0.4 * m * r * r
    M = np.diag([m, m, m, I, I, I])
    J = np.zeros((4, 6))
    J[0, 2] = J[1, 0] = J[2, 1] = J[3, 5] = 1
    J[1, 4], J[2, 3] = -r, r
    A = J @ np.linalg.solve(M, J.T)
    for dims, wanted in ((4, 24.525), (3, 0.0)):
        v = np.array([0, 0, 0, 0, 0, 2.0])
        mu = [[0.5, 0.5, mu_tau][: dims - 1]]
        for _ in range(20):
            free = v + h * np.array([0, 0, -G, 0, 0, 0])
            force = fm.contact_dual(A[:dims, :dims], J[:dims] @ free / h, mu, dims=[dims], desaxce=True).force
            v = free + h * np.linalg.solve(M, J[:dims].T @ force)
        assert_allclose((2 - v[5]) / (20 * h), wanted, atol=1e-8)
