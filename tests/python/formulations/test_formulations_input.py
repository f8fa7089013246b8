"""Wrong input: a ValueError that names the argument, what was given and what was wanted; nothing is guessed, nothing returned."""

import numpy as np
import pytest

from dualstep import formulations as fm
from dualstep.errors import InfeasibleError

M, TAU, J, DRIFT = np.eye(3), np.ones(3), np.ones((1, 3)), np.zeros(1)
CONTACT = np.eye(3)[[2, 0, 1]]
SINGULAR = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
SKEWED = np.array([[1.0, 0.2, 0], [0, 1, 0], [0, 0, 1]])

with_mass = {
    "equality_dynamics": lambda M: fm.equality_dynamics(M, TAU, J, DRIFT),
    "velocity_equality_dynamics": lambda M: fm.velocity_equality_dynamics(M, TAU, J, DRIFT),
    "gauss": lambda M: fm.gauss(M, TAU, J, DRIFT),
    "projected_dynamics": lambda M: fm.projected_dynamics(M, TAU, J, DRIFT),
    "plastic_impact": lambda M: fm.plastic_impact(M, J, TAU),
    "limit_dynamics": lambda M: fm.limit_dynamics(M, TAU, J, DRIFT, TAU, DRIFT),
    "impact": lambda M: fm.impact(M, CONTACT, -TAU, 0.5),
    "frictionless_step": lambda M: fm.frictionless_step(M, J, DRIFT, TAU, 0.01),
    "stewart_trinkle": lambda M: fm.stewart_trinkle(M, CONTACT, [0.0], 0.5, TAU, 0.01),
    "anitescu": lambda M: fm.anitescu(M, CONTACT, [0.0], 0.5, TAU, 0.01),
    "implicit_joint_step": lambda M: fm.implicit_joint_step(M, np.eye(3), np.eye(3), TAU, TAU, TAU, TAU, 0.01),
}


@pytest.mark.parametrize("name", with_mass)
def test_mass_matrices(name):
    call = with_mass[name]
    with pytest.raises(ValueError, match="M is singular"):
        call(SINGULAR)
    with pytest.raises(ValueError, match="M is singular or not positive"):
        call(np.diag([1.0, -1, 1]))
    with pytest.raises(ValueError, match="M must be symmetric"):
        call(SKEWED)
    with pytest.raises(ValueError, match="M must be finite, given nan"):
        call(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match=r"M has shape \(3,\), wanted \(\.\.\., nv, nv\)"):
        call(np.ones(3))
    with pytest.raises(ValueError, match=r"M has shape \(3, 2\)"):
        call(np.ones((3, 2)))
    with pytest.raises(ValueError, match="in problem \\(2,\\)"):
        call(np.stack([np.eye(3), np.eye(3), SINGULAR]))
    # light and heavy together are fine: pivots are judged by their own scale
    call(np.diag([1e-7, 1.0, 1e6]))


shapes = {
    r"tau has shape \(2,\), wanted \(\.\.\., nv\) with nv = 3": lambda: fm.gauss(M, [1, 2], J, DRIFT),
    r"J has shape \(1, 2\), wanted \(\.\.\., rows, nv\) with nv = 3": lambda: fm.gauss(M, TAU, [[1, 2]], DRIFT),
    r"Jdot_v has shape \(2,\), wanted \(\.\.\., rows\) with rows = 1": lambda: fm.gauss(M, TAU, J, [0, 0]),
    r"leading batch dimensions do not agree: M \(2,\), tau \(3,\)": lambda: fm.gauss(np.stack([M] * 2), np.ones((3, 3)), J, DRIFT),
    r"J has 2 rows, wanted 3 for every contact": lambda: fm.impact(M, np.ones((2, 3)), TAU, 0.5),
    r"phi has shape \(2,\), wanted a number or \(\.\.\., contacts\) with contacts = 1":
        lambda: fm.stewart_trinkle(M, CONTACT, [0, 0], 0.5, TAU, 0.01),
    r"mu has shape \(2,\)": lambda: fm.anitescu(M, CONTACT, [0], [0.5, 0.5], TAU, 0.01),
    r"restitution has shape \(4,\)": lambda: fm.impact(M, CONTACT, TAU, 0.5, restitution=[0.1] * 4),
    r"q has shape \(3,\), wanted \(\.\.\., k\) with k = 2": lambda: fm.lcp(np.eye(2), [1, 2, 3]),
    r"quat has shape \(3,\), wanted \(\.\.\., four\) with four = 4": lambda: fm.quaternion_rate([1, 0, 0], [0, 0, 0]),
    r"A has shape \(2, 3\)": lambda: fm.contact_dual(np.ones((2, 3)), [1, 2], 0.5),
    r"b: 4 rows less 0 equality, 0 limits, 0 friction_loss leave 4, wanted a multiple of 3":
        lambda: fm.contact_dual(np.eye(4), np.ones(4), 0.5),
    r"dims add up to 4 rows, but .* leave 3": lambda: fm.contact_dual(np.eye(3), np.ones(3), 0.5, dims=[4]),
    r"dims must hold 1, 3, 4 or 6 for every contact, given 2": lambda: fm.contact_dual(np.eye(2), np.ones(2), 0.5, dims=[2]),
    r"mu\[0\] has 2 coefficients, wanted 3": lambda: fm.contact_dual(np.eye(4), np.ones(4), [[0.5, 0.5]], dims=[4]),
    r"mu has shape .*wanted": lambda: fm.contact_dual(np.eye(4), np.ones(4), 0.5, dims=[4]),
    r"R has shape \(2,\)": lambda: fm.contact_dual(np.eye(3), np.ones(3), 0.5, [0.1, 0.1]),
    r"degree of freedom": lambda: fm.plastic_impact(np.zeros((0, 0)), np.zeros((1, 0)), np.zeros(0)),
}


@pytest.mark.parametrize("message", shapes)
def test_shapes(message):
    with pytest.raises(ValueError, match=message):
        shapes[message]()


values = {
    "mu must be zero or positive, given -0.5": [
        lambda: fm.stewart_trinkle(M, CONTACT, [0.0], -0.5, TAU, 0.01),
        lambda: fm.anitescu(M, CONTACT, [0.0], -0.5, TAU, 0.01),
        lambda: fm.impact(M, CONTACT, TAU, -0.5),
        lambda: fm.contact_dual(np.eye(3), np.ones(3), -0.5),
        lambda: fm.contact_dual(np.eye(3), np.ones(3), [[0.5, -0.5]]),
        lambda: fm.coulomb_1d(1, 1, 1, 0.1, -0.5),
        lambda: fm.soft_anchor(0, 0, 0, 0, 0, kz=1, dz=1, kx=1, dx=1, mu=-0.5),
    ],
    "h must be positive, given 0": [
        lambda: fm.stewart_trinkle(M, CONTACT, [0.0], 0.5, TAU, 0.0),
        lambda: fm.frictionless_step(M, J, DRIFT, TAU, 0),
        lambda: fm.coulomb_1d(1, 1, 1, 0, 0.5),
        lambda: fm.todorov_scalar(1, 1, 1, 1, 0),
        lambda: fm.implicit_joint_step(M, M, M, TAU, TAU, TAU, TAU, 0),
    ],
    "alpha must be zero or positive": [lambda: fm.equality_dynamics(M, TAU, J, DRIFT, alpha=-1)],
    "epsilon must be positive, given 0": [lambda: fm.limit_dynamics(M, TAU, J, DRIFT, TAU, DRIFT, epsilon=0)],
    "restitution must be between 0 and 1, given 1.5": [lambda: fm.impact(M, CONTACT, TAU, 0.5, restitution=1.5)],
    "infinite for all contacts of a problem or for none": [
        lambda: fm.impact(M, np.vstack([CONTACT] * 2), TAU, [0.5, np.inf])],
    "mu must be finite, given inf": [lambda: fm.anitescu(M, CONTACT, [0.0], np.inf, TAU, 0.01),
                                     lambda: fm.contact_dual(np.eye(3), np.ones(3), np.inf)],
    "mu must be finite, given nan": [lambda: fm.impact(M, CONTACT, TAU, np.nan)],
    "v must be finite, given inf at index \\(1,\\)": [lambda: fm.plastic_impact(M, J, [0, np.inf, 0])],
    "R must be zero or positive": [lambda: fm.contact_dual(np.eye(3), np.ones(3), 0.5, -0.1)],
    "friction_loss must be zero or positive": [lambda: fm.contact_dual(np.eye(1), np.ones(1), [], friction_loss=[-1])],
    "A must be symmetric": [lambda: fm.contact_dual(SKEWED, np.ones(3), 0.5),
                            lambda: fm.maximum_dissipation_step([[1, 0.5], [0, 1]], [1, 1], 1)],
    "A is not positive semidefinite": [lambda: fm.contact_dual(-np.eye(3), np.ones(3), 0.5),
                                       lambda: fm.maximum_dissipation_step(-np.eye(2), [1, 1], 1)],
    "directions must be even": [lambda: fm.stewart_trinkle(M, CONTACT, [0.0], 0.5, TAU, 0.01, directions=5),
                                lambda: fm.stewart_trinkle(M, CONTACT, [0.0], 0.5, TAU, 0.01, directions=0),
                                lambda: fm.impact(M, CONTACT, TAU, 0.5, directions=-4)],
    "directions must be an integer": [lambda: fm.anitescu(M, CONTACT, [0.0], 0.5, TAU, 0.01, directions=4.0)],
    "law must be one of 'linear', 'hunt_crossley', given 'hertz'": [
        lambda: fm.compliant_normal(1, 1, stiffness=1, damping=1, law="hertz")],
    "law must be one of 'lcp', 'convex'": [lambda: fm.impact(M, CONTACT, TAU, 0.5, law="newton")],
    "cone must be one of 'elliptic', 'pyramidal'": [lambda: fm.contact_dual(np.eye(3), np.ones(3), 0.5, cone="box")],
    "mode must be one of": [lambda: fm.soft_anchor(0, 0, 0, 0, 0, kz=1, dz=1, kx=1, dx=1, mu=1, mode="stick")],
    "stiffness must be zero or positive": [lambda: fm.compliant_normal(1, 1, stiffness=-1, damping=1)],
    "mu_s must not be below mu_d": [lambda: fm.regularized_friction(1, 0.4, 0.5)],
    "speed_ratio must be zero or positive": [lambda: fm.regularized_friction(-1, 0.5, 0.5)],
    "mu_n must be zero or positive": [lambda: fm.maximum_dissipation([1, 0], -1)],
    "mu_impulse must be zero or positive": [lambda: fm.maximum_dissipation_step(np.eye(2), [1, 0], -1)],
    "m must be positive": [lambda: fm.coulomb_1d(0, 1, 1, 0.1, 0.5), lambda: fm.todorov_scalar(-1, 1, 1, 1, 0.1)],
    "m1 must be zero or positive": [lambda: fm.double_pendulum(-1, 1, 1, 1, [0, 0], [0, 0])],
    "kappa must be positive": [lambda: fm.todorov_scalar(1, 1, 1, 1, 0.1, kappa=0)],
    "depth must not exceed the radius": [lambda: fm.pressure_field_sphere(1e5, 0.1, 0.2)],
    "tilt must be less than 90 degrees": [lambda: fm.pressure_field_box(1e5, 0.1, 0.1, 0.1, 0.1, 2.0)],
    "thickness must be positive": [lambda: fm.pressure_field_box(1e5, 0, 0.1, 0.1, 0.1, 0.0)],
    "equality must be a number of rows": [lambda: fm.contact_dual(np.eye(3), np.ones(3), 0.5, equality=-1)],
    "M \\+ h D \\+ h\\^2 K is singular": [lambda: fm.implicit_joint_step([[1.0]], [[-1.0]], [[0.0]], [0], [0], [0], [0], 1.0)],
    "tau must be an array of real numbers, given str": [lambda: fm.gauss(M, "force", J, DRIFT)],
    "q must be an array of real numbers, given list": [lambda: fm.lcp(np.eye(2), [1j, 0]), lambda: fm.lcp(np.eye(2), [[1], [1, 2]])],
    "mu must be an array of real numbers": [lambda: fm.impact(M, CONTACT, TAU, "rough")],
}


@pytest.mark.parametrize("message", values)
def test_values(message):
    for call in values[message]:
        with pytest.raises(ValueError, match=message):
            call()


def test_infeasible_is_a_value_error_of_its_own():
    assert fm.InfeasibleError is InfeasibleError and issubclass(InfeasibleError, ValueError)
    with pytest.raises(InfeasibleError) as caught:
        fm.lcp([[0.0]], [-1.0])
    assert caught.value.problems == ((),)


def test_bad_material_of_one_problem_stops_the_batch():
    with pytest.raises(ValueError, match="mu must be zero or positive, given -0.1 at index \\(1, 0\\)"):
        fm.stewart_trinkle(np.stack([M] * 3), CONTACT, [0.0], [[0.1], [-0.1], [0.2]], TAU, 0.01)


@pytest.mark.parametrize("step", [fm.stewart_trinkle, fm.anitescu])
def test_a_timestep_that_is_none_is_refused_by_name(step):
    with pytest.raises(ValueError, match="h must be finite"):
        step(M, CONTACT, [0.0], 0.5, TAU, None)
