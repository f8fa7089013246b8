// The options of a model, one row each: a member of Options, its name in Python and in <custom>, and what it takes.
//
//   USER_OPTION(type, name, fallback, takes)     an option of dualstep's own
//   MUJOCO_OPTION(type, name, fallback, takes)   a number, array or word of mjOption, read where a model is loaded
//   MUJOCO_BITS(type, name, fallback, takes)     likewise, flags
//   MUJOCO_SIGN(type, name, fallback, takes)     one of dualstep's own with a namesake that is not read: settings
//                                                of MuJoCo's solver have no meaning for another one, but a wrong sign
//                                                is a mistake in the file
//
// takes is an expression of options_table.cpp: number(low, high), above(low), integer(low, high), directions(high), flag(),
// words({...}), array(low), number_or_none(low). The order is that of names, and of a checkpoint's hash.
#ifndef USER_OPTION
#define USER_OPTION(type, name, fallback, ...)
#endif
#ifndef MUJOCO_OPTION
#define MUJOCO_OPTION(type, name, fallback, ...) USER_OPTION(type, name, fallback, __VA_ARGS__)
#endif
#ifndef MUJOCO_BITS
#define MUJOCO_BITS(type, name, fallback, ...) USER_OPTION(type, name, fallback, __VA_ARGS__)
#endif
#ifndef MUJOCO_SIGN
#define MUJOCO_SIGN(type, name, fallback, ...) USER_OPTION(type, name, fallback, __VA_ARGS__)
#endif

MUJOCO_OPTION(double, timestep, 0.002, number(1e-9, 1e3))
MUJOCO_OPTION(Numbers<3>, gravity, numbers(0, 0, -9.81), array())
MUJOCO_OPTION(Numbers<3>, wind, numbers(0, 0, 0), array())
MUJOCO_OPTION(Numbers<3>, magnetic, numbers(0, -0.5, 0), array())
MUJOCO_OPTION(double, density, 0, number(0))
MUJOCO_OPTION(double, viscosity, 0, number(0))
MUJOCO_OPTION(double, impratio, 1, above(0))
MUJOCO_OPTION(Cone, cone, Cone::kPyramidal, words({{"pyramidal", Cone::kPyramidal}, {"elliptic", Cone::kElliptic}}))
MUJOCO_OPTION(Integrator, integrator, Integrator::kEuler,
              words({{"euler", Integrator::kEuler},
                     {"rk4", Integrator::kRk4},
                     {"implicit", Integrator::kImplicit},
                     {"implicitfast", Integrator::kImplicitFast},
                     {"discrete", Integrator::kDiscrete},
                     {"variational", Integrator::kVariational}}))
MUJOCO_BITS(int, disableflags, 0, integer(0, 2147483647))
MUJOCO_BITS(int, enableflags, 0, integer(0, 2147483647))
MUJOCO_BITS(int, disableactuator, 0, integer(0, 2147483647))
MUJOCO_OPTION(double, o_margin, 0, number())
MUJOCO_OPTION(Numbers<2>, o_solref, numbers(0.02, 1), array())
MUJOCO_OPTION(Numbers<5>, o_solimp, numbers(0.9, 0.95, 0.001, 0.5, 2), array())
MUJOCO_OPTION(Numbers<5>, o_friction, numbers(1, 1, 0.005, 0.0001, 0.0001), array(0))

// how the contact dual is solved: sweeps at most (pgs) or Newton steps at most (pgs_newton: among the rows
// where they are few, otherwise among the dofs; _dual, _primal: always the one or the other, but among the
// dofs where no contact can be), and the relative KKT residual to stop at; 0 means the default of the
// precision in use
USER_OPTION(Solver, solver, Solver::kPgsNewton,
            words({{"pgs_newton", Solver::kPgsNewton},
                   {"pgs", Solver::kPgs},
                   {"pgs_anderson", Solver::kPgsAnderson},
                   {"pgs_newton_primal", Solver::kPgsNewtonPrimal},
                   {"pgs_newton_dual", Solver::kPgsNewtonDual}}))
MUJOCO_SIGN(int, iterations, 0, integer(0, 1000000))
MUJOCO_SIGN(double, tolerance, 0, number(0))
// contacts kept per environment; 0: chosen from the model
USER_OPTION(int, contact_capacity, 0, integer(0, 65535))

// the formulation of contact
USER_OPTION(ContactModel, contact_model, ContactModel::kTodorov, words(contact_model_words()))
USER_OPTION(ContactParameters, contact_parameters, ContactParameters::kMujoco,
            words({{"mujoco", ContactParameters::kMujoco},
                   {"spring_damper", ContactParameters::kSpringDamper, "seed"}}))
USER_OPTION(double, contact_time_constant, 0.05, above(0))    // kappa [s]
USER_OPTION(double, contact_regularization, 0.01, number(0))  // epsilon [-]
USER_OPTION(double, contact_margin, 0, number(0))             // rows exist while phi <= margin [m]
USER_OPTION(bool, desaxce, false, flag())
USER_OPTION(int, friction_directions, 4, directions(64))
USER_OPTION(double, restitution, 0, number(0, 1))
USER_OPTION(double, stiffness, 1e4, number(0))
USER_OPTION(double, damping, 80, number(0))
USER_OPTION(double, exponent, 1, above(0))
USER_OPTION(CompliantLaw, compliant_law, CompliantLaw::kLinear,
            words({{"linear", CompliantLaw::kLinear}, {"hunt_crossley", CompliantLaw::kHuntCrossley}}))
USER_OPTION(FrictionLaw, friction_law, FrictionLaw::kStribeck,
            words({{"stribeck", FrictionLaw::kStribeck}, {"piecewise", FrictionLaw::kPiecewise}}))
USER_OPTION(double, stiction_speed, 1e-3, above(0))
USER_OPTION(double, dynamic_friction_ratio, 1, number(0))
USER_OPTION(double, tangent_stiffness, 8e3, number(0))
USER_OPTION(double, tangent_damping, 60, number(0))
USER_OPTION(Scheme, scheme, Scheme::kTimeStepping,
            words({{"time_stepping", Scheme::kTimeStepping}, {"event_driven", Scheme::kEventDriven}}))
USER_OPTION(double, equality_alpha, -1, number_or_none(0))  // negative: None, MuJoCo's soft equality

#undef USER_OPTION
#undef MUJOCO_OPTION
#undef MUJOCO_BITS
#undef MUJOCO_SIGN
