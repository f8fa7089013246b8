"""Contact between bodies: complementarity problems, time stepping, impacts, and the convex dual."""

import logging
from typing import NamedTuple

import numpy as np

from .. import _formulations
from .arguments import (Problems, as_array, check_choice, check_count, check_directions, contacts_of, per_contact)

_log = logging.getLogger("dualstep.formulations")


class LcpSolution(NamedTuple):
    z: np.ndarray
    w: np.ndarray


class ImpulseStep(NamedTuple):
    v_next: np.ndarray
    impulse: np.ndarray


class StewartTrinkleStep(NamedTuple):
    v_next: np.ndarray
    normal_impulse: np.ndarray
    tangent_impulse: np.ndarray
    residual: np.ndarray


class ContactDual(NamedTuple):
    force: np.ndarray
    objective: np.ndarray
    residual: np.ndarray
    iterations: np.ndarray


def lcp(M, q):
    """A linear complementarity problem: w = q + M z, 0 <= w _|_ z >= 0.

    Parameters: ``M`` (..., k, k), symmetric or not, ``q`` (..., k). Returns ``z`` and ``w`` (..., k); where several
    solutions exist, any of them.
    Raises InfeasibleError where there is no solution; in a batch it names which problems, and returns no numbers at
    all.
    Source: Lemke 1965; Cottle, Pang & Stone, The Linear Complementarity Problem.
    """
    p = Problems(("M", M, "k k"), ("q", q, "k"))
    return LcpSolution(*map(p.result, p.solve(_formulations.lcp, p["M"], p["q"])))


def frictionless_step(M, n, phi, v_free, h):
    """A frictionless time step: v' = v_free + M^-1 n'L, 0 <= phi/h + n v' _|_ L >= 0.

    Parameters: ``M`` (..., nv, nv), ``n`` (..., k, nv) normal rows, ``phi`` (..., k) gaps [m], ``v_free`` (..., nv),
    ``h`` [s].
    Returns ``v_next`` (..., nv), ``impulse`` (..., k) [N s]. phi/h is not capped.
    Raises ValueError for a singular or non-symmetric M, InfeasibleError where the gaps contradict each other.
    Source: Moreau 1988; Tedrake, Underactuated Robotics, multi-body appendix.
    """
    p = Problems(("M", M, "nv nv"), ("n", n, "rows nv"), ("phi", _rows_of(phi, n), "rows"), ("v_free", v_free, "nv"),
                 ("h", h, ""))
    p.require_symmetric("M")
    p.require_positive("h")
    out = p.solve(_formulations.frictionless_step, *(p[k] for k in ("M", "n", "phi", "v_free", "h")))
    return ImpulseStep(*map(p.result, out))


def _rows_of(phi, n):
    """A lone gap serves every row."""
    shape = np.shape(n)
    if np.ndim(phi) == 0 and len(shape) > 1:
        return np.full(shape[-2], as_array("phi", phi))
    return phi


def _contact_problems(M, J, v, per_contact_arguments, steps=()):
    """The arguments of a contact step, J with three rows a contact; `steps` has ("h", h) where there is one."""
    first = Problems(("M", M, "nv nv"), ("J", J, "rows nv"), (*v, "nv"))
    contacts = contacts_of("J", first.sizes["rows"])
    arguments = [("M", M, "nv nv"), ("J", J, "rows nv"), (*v, "nv")]
    for name, value in per_contact_arguments:
        arguments.append((name, per_contact(name, value, contacts, first.shape), "contacts"))
    arguments += [(name, value, "") for name, value in steps]
    p = Problems(*arguments, sizes={"contacts": contacts})
    p.require_symmetric("M")
    p.require_positive(*(name for name, _ in steps))
    return p


def stewart_trinkle(M, J, phi, mu, v_free, h, *, directions=4):
    """A time step with Coulomb friction on a polygon, as one linear complementarity problem.

    0 <= phi/h + n v' _|_ c >= 0, 0 <= s e + D v' _|_ beta >= 0, 0 <= mu c - e'beta _|_ s >= 0, v' = v_free + M^-1 (n'c
    + D'beta).

    Parameters: ``M`` (..., nv, nv), ``J`` (..., 3 contacts, nv) with rows n, t1, t2 for each contact, ``phi`` (...,
    contacts) [m], ``mu`` a number or (..., contacts), ``v_free`` (..., nv), ``h`` [s], ``directions`` even, spaced 2
    pi/directions from t1.
    Returns ``v_next`` (..., nv), ``normal_impulse`` (..., contacts), ``tangent_impulse`` (..., contacts, 2) along t1,
    t2 [N s], and the LCP's ``residual`` max(-z, -w, |z w|). phi/h is not capped.
    Raises ValueError for a singular M or a negative mu, InfeasibleError where there is no solution.
    Source: Stewart & Trinkle 1996; Anitescu & Potra 1997.
    """
    directions = check_directions(directions)
    p = _contact_problems(M, J, ("v_free", v_free), (("phi", phi), ("mu", mu)), [("h", h)])
    p.require_not_negative("mu")
    out = p.solve(_formulations.stewart_trinkle, *(p[k] for k in ("M", "J", "phi", "mu", "v_free", "h")), directions)
    return StewartTrinkleStep(*map(p.result, out))


def anitescu(M, J, phi, mu, v_free, h, *, directions=4):
    """Anitescu's convex step: min 1/2 |v' - v_free|_M^2 subject to phi/h + (n + mu d) v' >= 0 for every direction d.

    Sliding contacts part: phi/h + n v' = mu |v_t'|.

    Parameters: as stewart_trinkle; ``directions`` 0 is the circular cone.
    Returns ``v_next`` (..., nv), ``impulse`` (..., 3 contacts) in the order n, t1, t2 [N s].
    Raises ValueError for a singular M or a negative mu, InfeasibleError where contacts contradict each other.
    Source: Anitescu 2006; Anitescu & Hart 2004.
    """
    directions = check_directions(directions, circle=True)
    p = _contact_problems(M, J, ("v_free", v_free), (("phi", phi), ("mu", mu)), [("h", h)])
    p.require_not_negative("mu")
    out = p.solve(_formulations.anitescu, *(p[k] for k in ("M", "J", "phi", "mu", "v_free", "h")), directions)
    return ImpulseStep(*map(p.result, out))


def impact(M, J, v, mu, *, restitution=0.0, law="lcp", directions=4, limit_energy=False):
    """Impacts with Newton's restitution and friction, all contacts together.

    mu all 0: 0 <= n v+ + e n v _|_ L >= 0. mu all inf: L = -A^+ diag(1+e, 1, 1) J v, nothing when no contact
    approaches.
    Otherwise "lcp": the complementarity problem of stewart_trinkle with (1+e) n v in place of the gap; "convex": min
    1/2 L'A L + L'diag(1+e, 1, 1) J v over the circular friction cones.

    Parameters: ``M`` (..., nv, nv), ``J`` (..., 3 contacts, nv) with rows n, t1, t2, ``v`` (..., nv), ``mu`` and
    ``restitution`` numbers or (..., contacts), ``directions`` of the polygon of "lcp". ``limit_energy`` scales the
    restitution down until no energy is gained, and logs it (restitution with friction can gain energy).
    Returns ``v_next`` (..., nv), ``impulse`` (..., 3 contacts) [N s].
    Raises ValueError for a singular M, a negative mu, infinite and finite mu mixed, a restitution outside [0, 1];
    InfeasibleError.
    Source: Moreau 1988; Mirtich 1996; Tedrake, Underactuated Robotics, multi-body appendix.
    """
    check_choice("law", law, ("lcp", "convex"))
    directions = check_directions(directions)
    first = Problems(("M", M, "nv nv"), ("J", J, "rows nv"), ("v", v, "nv"))
    contacts = contacts_of("J", first.sizes["rows"])
    friction = per_contact("mu", mu, contacts, first.shape, infinite=True)
    if np.any(friction < 0):
        raise ValueError(f"mu must be zero or positive, given {friction.min()}")
    endless = np.isinf(friction)
    if np.any(endless.any(axis=-1) & ~endless.all(axis=-1)):
        raise ValueError("mu must be infinite for all contacts of a problem or for none, given both")
    p = _contact_problems(M, J, ("v", v), (("mu", np.where(endless, -1.0, friction)), ("restitution", restitution)))
    p.require("restitution", lambda a: (a >= 0) & (a <= 1), "between 0 and 1")
    coefficients = np.where(p["mu"] < 0, np.inf, p["mu"])
    v_next, impulse, scale = p.solve(_formulations.impact, p["M"], p["J"], p["v"], coefficients, p["restitution"],
                                     law == "convex", directions, bool(limit_energy))
    for i in np.flatnonzero(scale < 1):
        where = f" in problem {np.unravel_index(i, p.shape)}" if p.shape else ""
        _log.info("restitution scaled by %.6g%s: as given, the impact would gain energy", scale[i], where)
    return ImpulseStep(p.result(v_next), p.result(impulse))


def contact_dual(A, b, mu, R=None, *, cone="elliptic", directions=4, dims=None, equality=0, limits=0, friction_loss=(),
                 desaxce=False):
    """The convex contact dual: min 1/2 f'(A + R) f + f'b over a product of cones.

    Rows in order: ``equality`` free ones, ``limits`` with f >= 0, one per ``friction_loss`` with |f| <= it, then
    contacts with ``dims[c]`` rows each, n, t1, t2, spin, roll1, roll2. "elliptic": sum (f_i/mu_i)^2 <= f_n^2.
    "pyramidal": f = E beta, beta >= 0, with columns (1, mu cos, mu sin) every 2 pi/directions for three rows, (1,
    +-mu_i e_i) for four and six.

    Parameters: ``A`` (..., r, r) symmetric positive semidefinite [1/kg], ``b`` (..., r), ``R`` a number or (..., r),
    zero or positive, None for zero; ``mu`` a number or (..., contacts) where every contact has one or three rows, or a
    list of the dims[c] - 1 coefficients of each contact; ``dims`` a list of 1, 3, 4 or 6, all 3 where left out;
    ``friction_loss`` (..., rows). ``desaxce`` adds the sliding speed to each normal row until it no longer changes:
    exact Coulomb friction, no lift.
    Returns ``force`` (..., r); ``objective`` (...) with R inside; ``residual`` (...), |f - P(f - y/a)| with y = (A + R)
    f + b and a the mean diagonal of A + R, both with the final b where ``desaxce``; ``iterations`` (...), sweeps and
    Newton steps together.
    Rows without inertia (A + R zero on the diagonal) get no force.
    Raises ValueError for an A that is not symmetric positive semidefinite, a negative mu, R or friction_loss, rows that
    do not add up; InfeasibleError where the objective has no lower bound, which R > 0 excludes.
    Source: Todorov 2014; de Saxce & Feng 1998; Acary et al. 2011.
    """
    check_choice("cone", cone, ("elliptic", "pyramidal"))
    directions = check_directions(directions)
    equality, limits = check_count("equality", equality), check_count("limits", limits)
    first = Problems(("A", A, "r r"), ("b", b, "r"))
    rows = first.sizes["r"]
    loss = as_array("friction_loss", friction_loss)
    loss = loss.reshape(1) if loss.ndim == 0 else loss
    dims = _dims(dims, rows, equality, limits, loss.shape[-1])
    regularizer = as_array("R", 0.0 if R is None else R)
    if regularizer.ndim == 0:
        regularizer = np.full(rows, regularizer)
    elif regularizer.shape[-1] != rows and regularizer.shape == first.shape:
        regularizer = np.repeat(regularizer[..., None], rows, axis=-1)
    p = Problems(
        ("A", A, "r r"),
        ("b", b, "r"),
        ("R", regularizer, "r"),
        ("mu", _coefficients(mu, dims, first.shape), "mu"),
        ("friction_loss", loss, "loss"),
    )
    p.require_symmetric("A")
    p.require_not_negative("R", "mu", "friction_loss")
    force, objective, residual, iterations = p.solve(
        _formulations.contact_dual, p["A"], p["b"], p["R"], p["mu"], p["friction_loss"], dims, equality, limits,
        cone == "pyramidal", directions, bool(desaxce))
    return ContactDual(p.result(force), p.result(objective), p.result(residual), p.result(iterations, np.int64))


def _dims(dims, rows, equality, limits, losses):
    """Rows of each contact, checked against the rows there are."""
    left = rows - equality - limits - losses
    named = f"{rows} rows less {equality} equality, {limits} limits, {losses} friction_loss"
    if dims is None:
        if left < 0 or left % 3:
            raise ValueError(f"b: {named} leave {left}, wanted a multiple of 3 (or give dims)")
        return [3] * (left // 3)
    dims = list(np.atleast_1d(np.asarray(dims, dtype=object)))
    for d in dims:
        if d not in (1, 3, 4, 6):
            raise ValueError(f"dims must hold 1, 3, 4 or 6 for every contact, given {d!r}")
    if sum(dims) != left:
        raise ValueError(f"dims add up to {sum(dims)} rows, but {named} leave {left}")
    return [int(d) for d in dims]


def _coefficients(mu, dims, batch):
    """The dims - 1 coefficients of every contact, one contact after another: (..., sum(dims) - contacts)."""
    contacts, counts = len(dims), [d - 1 for d in dims]
    wanted = f"(..., contacts) with contacts = {contacts}, or a list of the dims[c] - 1 coefficients of each"
    listed = isinstance(mu, (list, tuple)) and len(mu) == contacts and any(np.ndim(m) > 0 for m in mu)
    if listed and all(np.ndim(m) <= 1 for m in mu):
        flat = []
        for contact, (entry, count) in enumerate(zip(mu, counts)):
            flat.append(_spread(as_array(f"mu[{contact}]", entry), count, contact))
        return np.concatenate(flat) if flat else np.zeros(0)

    array = as_array("mu", mu)
    if array.ndim == 0:
        array = np.full(contacts, array)
    uniform = contacts > 0 and len(set(counts)) == 1 and counts[0] > 0
    by_contact = array.shape[-1] == contacts and all(d in (1, 3) for d in dims)
    by_coefficient = uniform and array.ndim > 1 and array.shape[-2:] == (contacts, counts[0])
    # the two readings meet only where contacts and batch are both two: an array is then one number a contact
    if by_coefficient and not (by_contact and array.shape == tuple(batch) + (contacts,)):
        return array.reshape(array.shape[:-2] + (contacts * counts[0],))
    if by_contact:
        return np.repeat(array, counts, axis=-1)
    if contacts == 1 and array.shape[-1] == counts[0]:
        return array
    if array.shape == tuple(batch) and all(d in (1, 3) for d in dims):
        return np.repeat(array[..., None], sum(counts), axis=-1)
    raise ValueError(f"mu has shape {array.shape}, wanted {wanted} (dims {dims})")


def _spread(entry, count, contact):
    """One contact's coefficients; a single number serves both tangents of a contact of three rows."""
    entry = entry.reshape(-1)
    if entry.size == count:
        return entry
    if entry.size == 1 and count in (0, 2):
        if entry[0] < 0:
            raise ValueError(f"mu[{contact}] must be zero or positive, given {entry[0]}")
        return np.repeat(entry, count)
    raise ValueError(f"mu[{contact}] has {entry.size} coefficients, wanted {count}")
