"""Formulations without friction: explicit models, constraints, projections, limits, implicit joints."""

import warnings
from typing import NamedTuple

import numpy as np

from .. import _formulations
from .arguments import Problems

# part of the demand that no force can meet, above which rows are called inconsistent
_INCONSISTENT = 1e-7


class DoublePendulum(NamedTuple):
    M: np.ndarray
    Cv: np.ndarray
    tau_g: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray


class ConstrainedMotion(NamedTuple):
    qacc: np.ndarray
    force: np.ndarray


class GaussMotion(NamedTuple):
    qacc: np.ndarray
    force: np.ndarray
    primal: np.ndarray
    dual: np.ndarray


class ProjectedMotion(NamedTuple):
    qacc: np.ndarray
    force: np.ndarray
    contact_inertia: np.ndarray
    projector: np.ndarray


class PlasticImpact(NamedTuple):
    v_next: np.ndarray
    impulse: np.ndarray
    energy_loss: np.ndarray


class LimitMotion(NamedTuple):
    qacc: np.ndarray
    force: np.ndarray
    active: np.ndarray


class JointStep(NamedTuple):
    q_next: np.ndarray
    v_next: np.ndarray


def double_pendulum(m1, m2, l1, l2, q, v, g=9.81):
    """The double pendulum written out: M q'' + C v = tau_g + u, point masses on massless rods.

    q1 is measured from the downward vertical, q2 relative to the first rod.

    Parameters: masses ``m1, m2`` [kg], lengths ``l1, l2`` [m], ``q`` (..., 2) [rad], ``v`` (..., 2) [rad/s], ``g``
    [m/s^2].
    Returns ``M`` (..., 2, 2), ``Cv`` (..., 2), ``tau_g`` (..., 2), ``kinetic`` (...), ``potential`` (...) [J].
    Raises ValueError for a mass or length that is negative. ``m2 = 0`` or ``l2 = 0`` makes M singular.
    Source: Tedrake, Underactuated Robotics, multi-body appendix.
    """
    p = Problems(("q", q, "two"), ("v", v, "two"), ("m1", m1, ""), ("m2", m2, ""), ("l1", l1, ""), ("l2", l2, ""),
                 ("g", g, ""), sizes={"two": 2})
    p.require_not_negative("m1", "m2", "l1", "l2")
    out = p.solve(_formulations.double_pendulum, p.columns("m1", "m2", "l1", "l2", "g"), p["q"], p["v"])
    return DoublePendulum(*map(p.result, out))


def _tell_replaced(count):
    if count:
        warnings.warn(f"{count} zero quaternion(s) read as the identity", RuntimeWarning, stacklevel=3)


def quaternion_rate(quat, omega):
    """N(q) w, the rate of a quaternion (w, x, y, z), body to world, under the body angular velocity w.

    Parameters: ``quat`` (..., 4), ``omega`` (..., 3) [rad/s]. Returns (..., 4) [1/s].
    A zero quaternion is read as the identity, with a RuntimeWarning.
    Source: Tedrake, Underactuated Robotics, multi-body appendix (q' = N(q) v).
    """
    p = Problems(("quat", quat, "four"), ("omega", omega, "three"), sizes={"four": 4, "three": 3})
    rate, replaced = p.solve(_formulations.quaternion_rate, p["quat"], p["omega"])
    _tell_replaced(replaced)
    return p.result(rate)


def quaternion_integrate(quat, omega, h):
    """q exp(h w / 2), normalised: the exact step of a quaternion under a constant body angular velocity.

    Parameters: ``quat`` (..., 4), ``omega`` (..., 3) [rad/s], ``h`` [s]. Returns (..., 4), of unit length.
    A zero quaternion is read as the identity, with a RuntimeWarning.
    Source: Tedrake, Underactuated Robotics, multi-body appendix; Sola 2017.
    """
    p = Problems(("quat", quat, "four"), ("omega", omega, "three"), ("h", h, ""), sizes={"four": 4, "three": 3})
    quat_next, replaced = p.solve(_formulations.quaternion_integrate, p["quat"], p["omega"], p["h"])
    _tell_replaced(replaced)
    return p.result(quat_next)


def _tell_inconsistent(inconsistency):
    count = int(np.sum(np.asarray(inconsistency) > _INCONSISTENT))
    if count:
        warnings.warn(f"constraint rows contradict each other in {count} problem(s): met in the least squares sense",
                      RuntimeWarning, stacklevel=3)


def equality_dynamics(M, tau, J, Jdot_v, *, c=None, c_dot=None, alpha=0.0):
    """Motion under position constraints c(q) = 0, stabilised: c'' = -2 alpha c' - alpha^2 c.

    force = -(J M^-1 J')^+ (J M^-1 tau + Jdot_v + 2 alpha c_dot + alpha^2 c), acting as J' force.

    Parameters: ``M`` (..., nv, nv), ``tau`` (..., nv), ``J`` (..., k, nv), ``Jdot_v`` (..., k); ``c`` and ``c_dot``
    (..., k), zero where left out; ``alpha`` [1/s], the inverse of the notes' epsilon.
    Returns ``qacc`` (..., nv), ``force`` (..., k). Redundant rows share the force with least norm; rows that contradict
    each other are met in the least squares sense, with a RuntimeWarning.
    Raises ValueError for a singular or non-symmetric M, a negative alpha, shapes that do not fit.
    Source: Tedrake's 2012 notes on constraints, section 1; Baumgarte 1972.
    """
    p = Problems(("M", M, "nv nv"), ("tau", tau, "nv"), ("J", J, "rows nv"), ("Jdot_v", Jdot_v, "rows"),
                 ("c", _zero_rows(c, J), "rows"), ("c_dot", _zero_rows(c_dot, J), "rows"), ("alpha", alpha, ""))
    p.require_symmetric("M")
    p.require_not_negative("alpha")
    qacc, force, inconsistency = p.solve(_formulations.equality_dynamics, p["M"], p["tau"], p["J"], p["Jdot_v"], p["c"],
                                         p["c_dot"], p["alpha"])
    _tell_inconsistent(inconsistency)
    return ConstrainedMotion(p.result(qacc), p.result(force))


def _zero_rows(value, J):
    """Zeros of J's row count where an optional vector is left out."""
    if value is not None:
        return value
    shape = np.shape(J)
    return np.zeros(shape[-2] if len(shape) > 1 else 0)


def velocity_equality_dynamics(M, tau, G, drift, *, psi=None, alpha=0.0):
    """Motion under velocity constraints psi(q, v, t) = 0, stabilised: psi' = -alpha psi.

    force = -(G M^-1 G')^+ (G M^-1 tau + drift + alpha psi), G = d psi/dv, drift = psi_q q' + psi_t.

    Parameters: ``M`` (..., nv, nv), ``tau`` (..., nv), ``G`` (..., k, nv), ``drift`` (..., k), ``psi`` (..., k) or None
    for zero, ``alpha`` [1/s]. Returns ``qacc`` (..., nv), ``force`` (..., k); errors and warnings as equality_dynamics.
    Source: Tedrake's 2012 notes on constraints, section 2, with the transpose and psi_t that are missing there.
    """
    p = Problems(("M", M, "nv nv"), ("tau", tau, "nv"), ("G", G, "rows nv"), ("drift", drift, "rows"),
                 ("psi", _zero_rows(psi, G), "rows"), ("alpha", alpha, ""))
    p.require_symmetric("M")
    p.require_not_negative("alpha")
    qacc, force, inconsistency = p.solve(_formulations.velocity_equality_dynamics, p["M"], p["tau"], p["G"], p["drift"],
                                         p["psi"], p["alpha"])
    _tell_inconsistent(inconsistency)
    return ConstrainedMotion(p.result(qacc), p.result(force))


def _constrained(M, tau, J, Jdot_v):
    p = Problems(("M", M, "nv nv"), ("tau", tau, "nv"), ("J", J, "rows nv"), ("Jdot_v", Jdot_v, "rows"))
    p.require_symmetric("M")
    return p


def gauss(M, tau, J, Jdot_v):
    """Gauss's principle of least constraint, solved from both sides.

    Primal: min 1/2 |a - M^-1 tau|_M^2 subject to J a + Jdot_v = 0; dual: min 1/2 f'A f + f'(J M^-1 tau + Jdot_v).

    Parameters: ``M`` (..., nv, nv), ``tau`` (..., nv), ``J`` (..., k, nv), ``Jdot_v`` (..., k).
    Returns ``qacc`` (..., nv) from the primal, ``force`` (..., k) from the dual, and both minima, ``primal == -dual``.
    Raises ValueError for a singular or non-symmetric M or shapes that do not fit; warns of contradicting rows.
    Source: Gauss 1829; Udwadia & Kalaba 1992.
    """
    p = _constrained(M, tau, J, Jdot_v)
    *out, inconsistency = p.solve(_formulations.gauss, p["M"], p["tau"], p["J"], p["Jdot_v"])
    _tell_inconsistent(inconsistency)
    return GaussMotion(*map(p.result, out))


def projected_dynamics(M, tau, J, Jdot_v):
    """Constrained motion through the contact inertia and the null-space projector.

    Lambda = (J M^-1 J')^+, N' = I - J' Lambda J M^-1, M a = N' tau - J' Lambda Jdot_v.

    Parameters: ``M`` (..., nv, nv), ``tau`` (..., nv), ``J`` (..., k, nv), ``Jdot_v`` (..., k).
    Returns ``qacc`` (..., nv), ``force`` (..., k), ``contact_inertia`` (..., k, k) [kg], ``projector`` (..., nv, nv),
    which is N'.
    Raises ValueError for a singular or non-symmetric M or shapes that do not fit.
    Source: Khatib 1987.
    """
    p = _constrained(M, tau, J, Jdot_v)
    out = p.solve(_formulations.projected_dynamics, p["M"], p["tau"], p["J"], p["Jdot_v"])
    return ProjectedMotion(*map(p.result, out))


def plastic_impact(M, J, v):
    """Contacts that close without bouncing: J v+ = 0. Bilateral, so an impulse may pull.

    Parameters: ``M`` (..., nv, nv), ``J`` (..., k, nv), ``v`` (..., nv).
    Returns ``v_next`` (..., nv), ``impulse`` (..., k) [N s], ``energy_loss`` (...) [J], never negative.
    Raises ValueError for a singular or non-symmetric M or shapes that do not fit.
    Source: Tedrake's 2012 notes on constraints, section 3.2; Featherstone 2008, ch. 11.
    """
    p = Problems(("M", M, "nv nv"), ("J", J, "rows nv"), ("v", v, "nv"))
    p.require_symmetric("M")
    return PlasticImpact(*map(p.result, p.solve(_formulations.plastic_impact, p["M"], p["J"], p["v"])))


def limit_dynamics(M, tau, J, Jdot_v, v, phi, *, epsilon=None):
    """Motion under unilateral constraints phi(q) >= 0, such as joint limits.

    A row is closed unless phi > 0 or phi' > -phi/epsilon; closed rows solve
    0 <= J a + Jdot_v + (2/epsilon) phi' + phi/epsilon^2 _|_ force >= 0.

    Parameters: ``M`` (..., nv, nv), ``tau`` (..., nv), ``J`` (..., k, nv), ``Jdot_v`` (..., k), ``v`` (..., nv),
    ``phi`` (..., k), ``epsilon`` [s]; None counts every row as closed and at rest.
    Returns ``qacc`` (..., nv), ``force`` (..., k), ``active`` (..., k) bool: the rows that passed the gate.
    Raises ValueError for a singular M or an epsilon that is not positive, InfeasibleError where no motion meets every
    closed row.
    Source: Tedrake's 2012 notes on constraints, section 3.1, with plus signs on the stabilising terms.
    """
    stabilised = epsilon is not None
    p = Problems(("M", M, "nv nv"), ("tau", tau, "nv"), ("J", J, "rows nv"), ("Jdot_v", Jdot_v, "rows"), ("v", v, "nv"),
                 ("phi", phi, "rows"), ("epsilon", epsilon if stabilised else 1.0, ""))
    p.require_symmetric("M")
    p.require_positive("epsilon")
    out = p.solve(_formulations.limit_dynamics, p["M"], p["tau"], p["J"], p["Jdot_v"], p["v"], p["phi"], p["epsilon"],
                  stabilised)
    return LimitMotion(*map(p.result, out))


def implicit_joint_step(M, D, K, rest, q, v, tau, h):
    """A step of joints with damping and springs, both implicit.

    (M + h D + h^2 K)(v' - v) = h (tau - D v - K (q + h v - rest)), q' = q + h v'.

    Parameters: ``M, D, K`` (..., nv, nv) [kg, N s/m, N/m or their angular kind], ``rest, q, v, tau`` (..., nv), ``h``
    [s].
    Returns ``q_next`` (..., nv), ``v_next`` (..., nv).
    Raises ValueError for a singular or non-symmetric M, or damping and stiffness that make the left side singular.
    Source: Tedrake, Underactuated Robotics, multi-body appendix; Baraff & Witkin 1998 (implicit springs).
    """
    p = Problems(("M", M, "nv nv"), ("D", D, "nv nv"), ("K", K, "nv nv"), ("rest", rest, "nv"), ("q", q, "nv"),
                 ("v", v, "nv"), ("tau", tau, "nv"), ("h", h, ""))
    p.require_symmetric("M")
    p.require_positive("h")
    out = p.solve(_formulations.implicit_joint_step, *(p[k] for k in ("M", "D", "K", "rest", "q", "v", "tau", "h")))
    return JointStep(*map(p.result, out))
