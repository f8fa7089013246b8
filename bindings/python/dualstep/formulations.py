"""Every formulation of multibody dynamics with contact that this project knows, as functions on matrices.

float64 numpy in and out, any leading batch dimensions, broadcast as numpy does; results are named tuples, or the array
itself where there is one. M is the mass matrix, tau every force but those of constraints, ``v_free = v + h M^-1 tau``.
Contact rows stand in the order n, t1, t2, spin, roll1, roll2; n points from the first body to the second and J v is the
second's velocity less the first's. Forces are in N, impulses in N s.

Wrong input raises ValueError that names the argument; a problem without solution raises InfeasibleError, a ValueError
too.
"""

from ._algebra.contacts import (ContactDual, ImpulseStep, LcpSolution, StewartTrinkleStep, anitescu, contact_dual,
                                frictionless_step, impact, lcp, stewart_trinkle)
from ._algebra.laws import (AnchoredForce, BoxPressure, DissipationStep, ScalarStep, SpherePressure, compliant_normal,
                            coulomb_1d, maximum_dissipation, maximum_dissipation_step, pressure_field_box,
                            pressure_field_sphere, regularized_friction, soft_anchor, todorov_scalar)
from ._algebra.smooth import (ConstrainedMotion, DoublePendulum, GaussMotion, JointStep, LimitMotion, PlasticImpact,
                              ProjectedMotion, double_pendulum, equality_dynamics, gauss, implicit_joint_step,
                              limit_dynamics, plastic_impact, projected_dynamics, quaternion_integrate,
                              quaternion_rate, velocity_equality_dynamics)
from .errors import InfeasibleError

__all__ = [
    "AnchoredForce", "BoxPressure", "ConstrainedMotion", "ContactDual", "DissipationStep", "DoublePendulum",
    "GaussMotion", "ImpulseStep", "InfeasibleError", "JointStep", "LcpSolution", "LimitMotion", "PlasticImpact",
    "ProjectedMotion", "ScalarStep", "SpherePressure", "StewartTrinkleStep", "anitescu", "compliant_normal",
    "contact_dual", "coulomb_1d", "double_pendulum", "equality_dynamics", "frictionless_step", "gauss", "impact",
    "implicit_joint_step", "lcp", "limit_dynamics", "maximum_dissipation", "maximum_dissipation_step",
    "plastic_impact", "pressure_field_box", "pressure_field_sphere", "projected_dynamics", "quaternion_integrate",
    "quaternion_rate", "regularized_friction", "soft_anchor", "stewart_trinkle", "todorov_scalar",
    "velocity_equality_dynamics",
]
