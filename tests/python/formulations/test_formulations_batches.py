"""Batches: every function gives, problem by problem, the bits it gives alone; scalars and shapes broadcast."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dualstep import formulations as fm

BATCH = (2, 3)
NV, CONTACTS = 5, 2


def spd(rng, n, shape=BATCH):
    root = rng.normal(size=shape + (n, n))
    return root @ np.swapaxes(root, -1, -2) + 0.5 * np.eye(n)


def cases():
    rng = np.random.default_rng(42)
    normal = lambda *core: rng.normal(size=BATCH + core)
    M, tau, v = spd(rng, NV), normal(NV), normal(NV)
    J, drift = normal(3, NV), normal(3)
    contacts, phi, mu = normal(3 * CONTACTS, NV), np.abs(normal(CONTACTS)) * 0.01, np.abs(normal(CONTACTS))
    A, b = spd(rng, 6), normal(6)
    positive = lambda *core: np.abs(normal(*core)) + 0.1
    return {
        "double_pendulum": (fm.double_pendulum, (positive(), positive(), positive(), positive(), normal(2), normal(2), positive()), {}),
        "quaternion_rate": (fm.quaternion_rate, (normal(4), normal(3)), {}),
        "quaternion_integrate": (fm.quaternion_integrate, (normal(4), normal(3), positive()), {}),
        "equality_dynamics": (fm.equality_dynamics, (M, tau, J, drift), dict(c=normal(3), c_dot=normal(3), alpha=positive())),
        "gauss": (fm.gauss, (M, tau, J, drift), {}),
        "velocity_equality_dynamics": (fm.velocity_equality_dynamics, (M, tau, J, drift), dict(psi=normal(3), alpha=positive())),
        "projected_dynamics": (fm.projected_dynamics, (M, tau, J, drift), {}),
        "plastic_impact": (fm.plastic_impact, (M, J, v), {}),
        "limit_dynamics": (fm.limit_dynamics, (M, tau, J, drift, v, normal(3)), dict(epsilon=positive())),
        "compliant_normal": (fm.compliant_normal, (normal(), normal()), dict(stiffness=positive(), damping=positive())),
        "hunt_crossley": (fm.compliant_normal, (normal(), normal()),
                          dict(stiffness=positive(), damping=positive(), exponent=positive(), law="hunt_crossley")),
        "regularized_friction": (fm.regularized_friction, (positive() * 3, positive() + 3, positive()), {}),
        "soft_anchor": (fm.soft_anchor, (normal(), normal(), normal(), normal(), normal()),
                        dict(kz=positive(), dz=positive(), kx=positive(), dx=positive(), mu=positive())),
        "impact": (fm.impact, (M, contacts, v, mu), dict(restitution=np.full(BATCH + (CONTACTS,), 0.4))),
        "impact_convex": (fm.impact, (M, contacts, v, mu), dict(law="convex", limit_energy=True)),
        "lcp": (fm.lcp, (A, b), {}),
        "frictionless_step": (fm.frictionless_step, (M, J, np.abs(drift), v, positive()), {}),
        "coulomb_1d": (fm.coulomb_1d, (positive(), normal(), normal(), positive(), positive(), positive()), {}),
        "stewart_trinkle": (fm.stewart_trinkle, (M, contacts, phi, mu, v, positive()), {}),
        "anitescu": (fm.anitescu, (M, contacts, phi, mu, v, positive()), {}),
        "anitescu_circle": (fm.anitescu, (M, contacts, phi, mu, v, positive()), dict(directions=0)),
        "contact_dual": (fm.contact_dual, (A, b, mu, np.full(BATCH + (6,), 0.01)), {}),
        "contact_dual_desaxce": (fm.contact_dual, (A, b, mu, np.full(BATCH + (6,), 0.01)), dict(desaxce=True)),
        "contact_dual_rows": (fm.contact_dual, (A, b, np.abs(normal(1)), np.full(BATCH + (6,), 0.01)),
                              dict(equality=1, limits=1, friction_loss=positive(1), cone="pyramidal")),
        "todorov_scalar": (fm.todorov_scalar, (positive(), normal(), normal(), normal(), positive()),
                           dict(damping=positive(), epsilon=positive(), kappa=positive())),
        "implicit_joint_step": (fm.implicit_joint_step, (M, spd(rng, NV), spd(rng, NV), normal(NV), normal(NV), v, tau, positive()), {}),
        "maximum_dissipation": (fm.maximum_dissipation, (normal(2), positive()), {}),
        "maximum_dissipation_step": (fm.maximum_dissipation_step, (spd(rng, 2), normal(2), positive()), {}),
        "pressure_field_sphere": (fm.pressure_field_sphere, (positive(), positive() + 5, normal()), {}),
        "pressure_field_box": (fm.pressure_field_box, (positive(), positive(), positive(), positive(), normal(), normal() * 0.1), {}),
    }


CASES = cases()


def parts(result):
    return result if isinstance(result, tuple) else (result,)


def pick(value, index):
    return value[index] if isinstance(value, np.ndarray) and value.shape[: len(BATCH)] == BATCH else value


@pytest.mark.parametrize("name", CASES)
def test_batch_is_the_loop_over_its_problems(name):
    function, args, options = CASES[name]
    batched = parts(function(*args, **options))
    for index in np.ndindex(*BATCH):
        alone = parts(function(*(pick(a, index) for a in args), **{k: pick(o, index) for k, o in options.items()}))
        for whole, one in zip(batched, alone):
            assert whole.shape[: len(BATCH)] == BATCH
            assert_array_equal(whole[index], one)


@pytest.mark.parametrize("name", CASES)
def test_a_single_argument_serves_the_whole_batch(name):
    function, args, options = CASES[name]
    shared = [args[0][0, 0]] + list(args[1:])
    whole = np.broadcast_to(args[0][0, 0], args[0].shape)
    for a, b in zip(parts(function(*shared, **options)), parts(function(whole, *args[1:], **options))):
        assert_array_equal(a, b)


@pytest.mark.parametrize("name", CASES)
def test_arguments_are_left_alone_and_results_are_float64(name):
    function, args, options = CASES[name]
    copies = [np.array(a) for a in args]
    for out in parts(function(*args, **options)):
        assert out.dtype in (np.float64, np.bool_, np.int64)
    for a, copy in zip(args, copies):
        assert_array_equal(a, copy)


@pytest.mark.parametrize("name", CASES)
def test_empty_batches(name):
    function, args, options = CASES[name]
    empty = lambda a: a[:0] if isinstance(a, np.ndarray) and a.shape[: len(BATCH)] == BATCH else a
    for out in parts(function(*map(empty, args), **{k: empty(o) for k, o in options.items()})):
        assert out.shape[:2] == (0, 3)


def test_lists_integers_and_strided_arrays_are_taken():
    M, q = [[2, 1], [1, 3]], [-1, -2]
    reference = fm.lcp(np.array(M, float), np.array(q, float)).z
    assert_array_equal(fm.lcp(M, q).z, reference)
    assert_array_equal(fm.lcp(np.asfortranarray(M), np.array([-1, 9, -2, 9])[::2]).z, reference)
    assert_array_equal(fm.lcp(np.array(M, np.float32), q).z, reference)


def test_numbers_per_problem_and_per_contact():
    rng = np.random.default_rng(0)
    M, J, v = spd(rng, 4, (3,)), rng.normal(size=(3, 6, 4)), rng.normal(size=(3, 4))
    per_problem = fm.stewart_trinkle(M, J, 0.0, np.array([0.1, 0.5, 0.9]), v, 0.01)
    spelled = fm.stewart_trinkle(M, J, np.zeros((3, 2)), np.array([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]]), v, [0.01] * 3)
    for a, b in zip(per_problem, spelled):
        assert_array_equal(a, b)
    per_contact = fm.stewart_trinkle(M, J, [0.0, 0.01], [0.1, 0.9], v, 0.01)
    assert_allclose(per_contact.v_next[2], fm.stewart_trinkle(M[2], J[2], [0.0, 0.01], [0.1, 0.9], v[2], 0.01).v_next)


def test_coefficients_of_the_dual_in_every_spelling():
    rng = np.random.default_rng(1)
    A, b = spd(rng, 6, ()), rng.normal(size=6) * 3
    reference = fm.contact_dual(A, b, 0.4, 0.01).force
    for mu in ([0.4, 0.4], np.full(2, 0.4), [[0.4, 0.4], [0.4, 0.4]], np.full((2, 2), 0.4), [0.4, [0.4, 0.4]], [[0.4], 0.4],
               (np.array([0.4, 0.4]), 0.4)):
        assert_array_equal(fm.contact_dual(A, b, mu, np.full(6, 0.01)).force, reference)
    both = fm.contact_dual(np.stack([A, A]), b, np.array([[0.4, 0.4], [0.2, 0.2]]), 0.01).force
    assert_array_equal(both[0], reference)
    assert_array_equal(both[1], fm.contact_dual(A, b, 0.2, 0.01).force)
    A4, b4 = spd(rng, 4, ()), rng.normal(size=4)
    assert_array_equal(fm.contact_dual(A4, b4, [0.5, 0.5, 0.02], dims=[4]).force,
                       fm.contact_dual(A4, b4, [[0.5, 0.5, 0.02]], dims=[4]).force)
    assert_array_equal(fm.contact_dual(A4, b4, [[], 0.3], dims=[1, 3]).force,
                       fm.contact_dual(A4, b4, [0.0, [0.3, 0.3]], dims=[1, 3]).force)
    assert_array_equal(fm.contact_dual(A4, b4, 0.3, dims=[1, 3]).force, fm.contact_dual(A4, b4, [0.3, 0.3], dims=[1, 3]).force)


def test_result_types():
    assert isinstance(fm.quaternion_rate([1.0, 0, 0, 0], [1, 0, 0]), np.ndarray)
    assert fm.double_pendulum(1, 1, 1, 1, [0, 0], [0, 0])._fields == ("M", "Cv", "tau_g", "kinetic", "potential")
    fields = {
        "equality_dynamics": ("qacc", "force"),
        "gauss": ("qacc", "force", "primal", "dual"),
        "velocity_equality_dynamics": ("qacc", "force"),
        "projected_dynamics": ("qacc", "force", "contact_inertia", "projector"),
        "plastic_impact": ("v_next", "impulse", "energy_loss"),
        "limit_dynamics": ("qacc", "force", "active"),
        "soft_anchor": ("f_z", "f_x", "anchor"),
        "impact": ("v_next", "impulse"),
        "lcp": ("z", "w"),
        "frictionless_step": ("v_next", "impulse"),
        "coulomb_1d": ("force", "v_next"),
        "stewart_trinkle": ("v_next", "normal_impulse", "tangent_impulse", "residual"),
        "anitescu": ("v_next", "impulse"),
        "contact_dual": ("force", "objective", "residual", "iterations"),
        "todorov_scalar": ("force", "v_next"),
        "implicit_joint_step": ("q_next", "v_next"),
        "maximum_dissipation_step": ("impulse", "v_next", "speed"),
        "pressure_field_sphere": ("force", "patch_radius", "peak_pressure"),
        "pressure_field_box": ("force", "moment"),
    }
    for name, wanted in fields.items():
        function, args, options = CASES[name]
        assert function(*args, **options)._fields == wanted
