"""Force laws and steps on numbers: compliance, regularized and anchored friction, scalar carts, dissipation,
pressure."""

from typing import NamedTuple

import numpy as np

from .. import _formulations
from .arguments import Problems, check_choice


class AnchoredForce(NamedTuple):
    f_z: np.ndarray
    f_x: np.ndarray
    anchor: np.ndarray


class ScalarStep(NamedTuple):
    force: np.ndarray
    v_next: np.ndarray


class DissipationStep(NamedTuple):
    impulse: np.ndarray
    v_next: np.ndarray
    speed: np.ndarray


class SpherePressure(NamedTuple):
    force: np.ndarray
    patch_radius: np.ndarray
    peak_pressure: np.ndarray


class BoxPressure(NamedTuple):
    force: np.ndarray
    moment: np.ndarray


def compliant_normal(depth, depth_rate, *, stiffness, damping, exponent=1.0, law="linear"):
    """Normal force of a compliant contact, from its depth x and the depth's rate.

    "linear": max(0, k x + c x'); "hunt_crossley": k x^p max(0, 1 + d x'); both zero for x <= 0.

    Parameters: ``depth`` [m], ``depth_rate`` [m/s], ``stiffness`` [N/m or N/m^p], ``damping`` [N s/m for linear, s/m
    for hunt_crossley], ``exponent`` p (ignored by linear). All broadcast. Returns the force [N].
    Raises ValueError for a negative stiffness or damping, an exponent that is not positive, an unknown law.
    Source: Hunt & Crossley 1975; Tedrake, Underactuated Robotics, multi-body appendix.
    """
    check_choice("law", law, ("linear", "hunt_crossley"))
    p = Problems(("depth", depth, ""), ("depth_rate", depth_rate, ""), ("stiffness", stiffness, ""),
                 ("damping", damping, ""), ("exponent", exponent, ""))
    p.require_not_negative("stiffness", "damping")
    p.require_positive("exponent")
    arguments = p.columns("depth", "depth_rate", "stiffness", "damping", "exponent")
    return p.result(p.solve(_formulations.compliant_normal, arguments, law == "hunt_crossley"))


def regularized_friction(speed_ratio, mu_s, mu_d, *, law="stribeck"):
    """Friction coefficient of the sliding speed over the stiction speed, s = |v_t| / v_s.

    "piecewise": mu_d min(1, s). "stribeck": a quintic up to mu_s at s = 1, another down to mu_d at s = 3.

    Parameters: ``speed_ratio`` >= 0, ``mu_s`` >= ``mu_d`` >= 0. All broadcast. Returns the coefficient.
    Raises ValueError for a negative argument, for mu_s < mu_d, for an unknown law.
    Source: Drake's user guide on compliant point contact (the smoothed Stribeck curve).
    """
    check_choice("law", law, ("stribeck", "piecewise"))
    p = Problems(("speed_ratio", speed_ratio, ""), ("mu_s", mu_s, ""), ("mu_d", mu_d, ""))
    p.require_not_negative("speed_ratio", "mu_s", "mu_d")
    if np.any(p["mu_s"] < p["mu_d"]):
        raise ValueError(f"mu_s must not be below mu_d, given mu_s {mu_s} and mu_d {mu_d}")
    return p.result(p.solve(_formulations.regularized_friction, p.columns("speed_ratio", "mu_s", "mu_d"),
                            law == "stribeck"))


def soft_anchor(z, z_rate, x, x_rate, anchor, *, kz, dz, kx, dx, mu, mode="slide"):
    """Soft ground whose tangential spring is anchored where contact began.

    f_z = max(0, -kz z - dz z') for z < 0; f_x = -kx (x - anchor) - dx x', cut at mu f_z. "slide" then moves the anchor
    so that the spring reproduces the cut force; "clamp" leaves it, and the spring snaps back once unloaded.

    Parameters: ``z`` the gap, negative in contact, and ``x`` [m], their rates [m/s], ``anchor`` [m] (NaN: none, set at
    x), stiffnesses ``kz, kx`` [N/m], dampings ``dz, dx`` [N s/m], ``mu``. All broadcast.
    Returns ``f_z``, ``f_x`` [N], ``anchor`` for the next step (NaN for z >= 0).
    Raises ValueError for a negative material constant or an unknown mode.
    Source: lecture notes on modelling contacts in excess coordinates (friction adjust and slide).
    """
    check_choice("mode", mode, ("slide", "clamp"))
    p = Problems(
        ("z", z, ""),
        ("z_rate", z_rate, ""),
        ("x", x, ""),
        ("x_rate", x_rate, ""),
        ("anchor", anchor, ""),
        ("kz", kz, ""),
        ("dz", dz, ""),
        ("kx", kx, ""),
        ("dx", dx, ""),
        ("mu", mu, ""),
        nan_allowed=("anchor",),
    )
    p.require_not_negative("kz", "dz", "kx", "dx", "mu")
    arguments = p.columns("z", "z_rate", "x", "x_rate", "anchor", "kz", "dz", "kx", "dx", "mu")
    return AnchoredForce(*map(p.result, p.solve(_formulations.soft_anchor, arguments, mode == "slide")))


def coulomb_1d(m, v, u, h, mu, g=9.81):
    """A block on a line with Coulomb friction, one implicit step: force = clip(-(m v/h + u), +-mu m g).

    Parameters: ``m`` [kg], ``v`` [m/s], ``u`` the applied force [N], ``h`` [s], ``mu``, ``g`` [m/s^2]. All broadcast.
    Returns ``force`` [N], ``v_next`` [m/s], exactly 0 where the block sticks.
    Raises ValueError for a mass or step that is not positive, or a negative mu or g.
    Source: Tedrake, Underactuated Robotics, multi-body appendix.
    """
    p = Problems(("m", m, ""), ("v", v, ""), ("u", u, ""), ("h", h, ""), ("mu", mu, ""), ("g", g, ""))
    p.require_positive("m", "h")
    p.require_not_negative("mu", "g")
    return ScalarStep(*map(p.result, p.solve(_formulations.coulomb_1d, p.columns("m", "v", "u", "h", "mu", "g"))))


def todorov_scalar(m, q, v, u, h, *, damping=0.0, epsilon=0.01, kappa=0.05):
    """A damped cart against a wall at q = 0 with relaxed contact, one step.

    force = argmin over f >= 0 of 1/2 f^2 (1 + epsilon)/(m + h b) + f (v_free - v*)/h, with
    v* = v - 2 h (1 + epsilon) v/kappa - h (1 + epsilon) q/kappa^2.

    Parameters: ``m`` [kg], ``q`` [m], ``v`` [m/s], ``u`` [N], ``h`` [s], ``damping`` b [N s/m], ``epsilon``, ``kappa``
    [s].
    All broadcast. Returns ``force`` [N], ``v_next`` [m/s].
    Raises ValueError for a mass, step or kappa that is not positive, or a negative damping or epsilon.
    Source: Todorov 2014; Tedrake, Underactuated Robotics, multi-body appendix, with its units mended (m + h b, and
    1/h).
    """
    p = Problems(("m", m, ""), ("q", q, ""), ("v", v, ""), ("u", u, ""), ("h", h, ""), ("damping", damping, ""),
                 ("epsilon", epsilon, ""), ("kappa", kappa, ""))
    p.require_positive("m", "h", "kappa")
    p.require_not_negative("damping", "epsilon")
    arguments = p.columns("m", "q", "v", "u", "h", "damping", "epsilon", "kappa")
    return ScalarStep(*map(p.result, p.solve(_formulations.todorov_scalar, arguments)))


def maximum_dissipation(v_t, mu_n):
    """Friction that dissipates most: argmin of v_t'b over |b| <= mu_n, which is -mu_n v_t/|v_t|; zero for v_t = 0.

    Parameters: ``v_t`` (..., d) [m/s], ``mu_n`` (...) [N or N s], zero or positive. Returns (..., d).
    Source: lecture notes on the maximum dissipation principle; Stewart 2000.
    """
    p = Problems(("v_t", v_t, "d"), ("mu_n", mu_n, ""))
    p.require_not_negative("mu_n")
    return p.result(p.solve(_formulations.maximum_dissipation, p["v_t"], p["mu_n"]))


def maximum_dissipation_step(A, u, mu_impulse):
    """Friction over a step: v' = u + A b opposes b, stick inside the disc |b| <= mu_impulse, slide on its rim.

    The same as min 1/2 b'A b + b'u on the disc.

    Parameters: ``A`` (..., d, d) symmetric positive semidefinite [1/kg], ``u`` (..., d) [m/s], ``mu_impulse`` (...) [N
    s].
    Returns ``impulse`` (..., d), ``v_next`` (..., d), ``speed`` (...): |v'| of a slide, 0 of a stick.
    Raises ValueError for an A that is not symmetric positive semidefinite or a negative mu_impulse.
    Source: lecture notes on the maximum dissipation principle; Nocedal & Wright, section 4.3.
    """
    p = Problems(("A", A, "d d"), ("u", u, "d"), ("mu_impulse", mu_impulse, ""))
    p.require_symmetric("A")
    p.require_not_negative("mu_impulse")
    out = p.solve(_formulations.maximum_dissipation_step, p["A"], p["u"], p["mu_impulse"])
    return DissipationStep(*map(p.result, out))


def pressure_field_sphere(modulus, radius, depth):
    """A sphere with pressure E (1 - s/R) at distance s from its centre, pressed into a rigid plane.

    Parameters: ``modulus`` E [Pa], ``radius`` R [m], ``depth`` [m], at most the radius. All broadcast.
    Returns ``force`` [N], ``patch_radius`` [m], ``peak_pressure`` [Pa]; zeros for depth <= 0.
    Raises ValueError for a modulus or radius that is not positive, or a depth beyond the radius.
    Source: Elandt et al. 2019 (pressure field model).
    """
    p = Problems(("modulus", modulus, ""), ("radius", radius, ""), ("depth", depth, ""))
    p.require_positive("modulus", "radius")
    if np.any(p["depth"] > p["radius"]):
        raise ValueError(f"depth must not exceed the radius, given depth {depth} and radius {radius}")
    out = p.solve(_formulations.pressure_field_sphere, p.columns("modulus", "radius", "depth"))
    return SpherePressure(*map(p.result, out))


def pressure_field_box(modulus, thickness, half_x, half_y, depth, tilt):
    """A box face under an elastic layer against a rigid plane: p = E max(0, depth + x tan(tilt)) / thickness.

    Parameters: ``modulus`` E [Pa], ``thickness``, ``half_x``, ``half_y``, ``depth`` at x = 0 [m], ``tilt`` [rad]. All
    broadcast.
    Returns ``force`` [N] and ``moment`` [N m], the integrals of p dA and p x dA over the face.
    Raises ValueError for a modulus, thickness or half side that is not positive, or a tilt of 90 degrees and more.
    Source: Masterjohn et al. 2022 (hydroelastic contact), in its simplest case.
    """
    names = ("modulus", "thickness", "half_x", "half_y", "depth", "tilt")
    p = Problems(*zip(names, (modulus, thickness, half_x, half_y, depth, tilt), ("",) * 6))
    p.require_positive("modulus", "thickness", "half_x", "half_y")
    p.require("tilt", lambda a: np.abs(a) < np.pi / 2, "less than 90 degrees")
    return BoxPressure(*map(p.result, p.solve(_formulations.pressure_field_box, p.columns(*names))))
