// The options of a step: every number of the model's options that a stage reads, in the form it reads it in.
// One row feeds the struct, what host code derives it from, and the constants of a program made for one model.
//
//   OPTION_I(name, source, meaning)   an integer, or whether something is so
//   FEATURE(name, source, meaning)    likewise, whether any element has a property: on where one environment has it
//   OPTION_R(name, source, meaning)   a number of the step's precision
//   OPTION_R3(name, source, meaning)  three of them
//   OPTION_D(name, source, meaning)   a number in double precision
//
// source is an expression of host code (host/tables/layout.cpp): `opt` are the user's options, `m` is the model,
// `o` holds the rows above. Kernels do not read it.
#ifndef OPTION_I
#define OPTION_I(name, source, meaning)
#endif
#ifndef FEATURE
#define FEATURE(name, source, meaning) OPTION_I(name, source, meaning)
#endif
#ifndef OPTION_R
#define OPTION_R(name, source, meaning)
#endif
#ifndef OPTION_R3
#define OPTION_R3(name, source, meaning)
#endif
#ifndef OPTION_D
#define OPTION_D(name, source, meaning)
#endif

OPTION_D(timestep_exact, opt.timestep, "for the clock [s]")
OPTION_R(timestep, opt.timestep, "[s]")
OPTION_R3(wind, opt.wind, "velocity of the medium [m/s]")
OPTION_R3(magnetic, opt.magnetic, "magnetic flux of the world")
OPTION_R(density, opt.density, "of the medium [kg/m^3]")
OPTION_R(viscosity, opt.viscosity, "of the medium [Pa s]")
OPTION_R(impratio, opt.impratio, "R of the normal row over R of the tangent rows")
OPTION_I(weights, weighs_rows(opt), "ContactWeights: what the D of a contact weighs")
OPTION_I(l1_rows, l1_rows(opt), "rows, on pyramids")
OPTION_I(integrator, opt.integrator, "Integrator")
OPTION_I(disableflags, opt.disableflags, "bits of DisableBit")
// the solver
OPTION_I(pgs_only, !ends_with_newton(opt.solver), "sweeps alone, else a few of them and then Newton")
OPTION_I(accelerated, opt.solver == Solver::kPgsAnderson, "sweeps have a memory")
OPTION_I(sweeps, !o.pgs_only ? 2 : opt.iterations > 0 ? opt.iterations : 50, "at most")
OPTION_I(newton, o.pgs_only ? 0 : opt.iterations > 0 ? opt.iterations : 16, "steps at most")
OPTION_R(tolerance, opt.tolerance > 0 ? opt.tolerance : 1e-2, "of the relative residual")
// the law of contact (kernels/contact/)
OPTION_I(contact_law, contact_law(opt), "its code in contact_laws.h")
OPTION_I(coulomb, has_coulomb(opt), "normal rows are raised")
OPTION_I(spring_damper_rows, opt.contact_parameters == ContactParameters::kSpringDamper, "limits too")
OPTION_I(anchored, model_has(opt, kModelAnchors), "contacts have anchors")
OPTION_I(hunt_crossley, !o.anchored && opt.compliant_law == CompliantLaw::kHuntCrossley, "else linear")
OPTION_I(stribeck, opt.friction_law == FrictionLaw::kStribeck, "else piecewise linear")
OPTION_I(impulsive, model_has(opt, kModelImpacts), "impacts before the step")
OPTION_I(round_impacts, opt.friction_directions == 0, "on round cones, else on pyramids")
OPTION_R(kappa, std::max(opt.contact_time_constant, 2 * opt.timestep), "time constant of a spring-damper [s]")
OPTION_R(epsilon, opt.contact_regularization, "R of a spring-damper over A's diagonal")
OPTION_R(contact_margin, opt.contact_margin, "rows exist while the distance is less [m]")
OPTION_R(stiffness, opt.stiffness, "of explicit contacts [N/m^exponent]")
OPTION_R(contact_damping, opt.damping, "of explicit contacts")
OPTION_R(exponent, opt.exponent, "of Hunt and Crossley's law")
OPTION_R(stiction_speed, opt.stiction_speed, "where friction is largest [m/s]")
OPTION_R(dynamic_friction, opt.dynamic_friction_ratio, "friction at speed over the largest")
OPTION_R(tangent_stiffness, opt.tangent_stiffness, "of anchors [N/m]")
OPTION_R(tangent_damping, opt.tangent_damping, "of anchors [N s/m]")
OPTION_R(restitution, opt.restitution, "of limits")
OPTION_I(sensors, 0, "kinds of sensors that the step computes, as bits; set once sensordata is wanted")
// what no element has is passed over
FEATURE(has_fluid, opt.density > 0 || opt.viscosity > 0, "a medium")
FEATURE(has_gravcomp, any_nonzero(m.body_gravcomp), "gravity compensation")
FEATURE(has_actgravcomp, o.has_gravcomp && hands_gravity_on(m), "through actuators")
FEATURE(has_damping, any_nonzero(m.dof_damping), "damped joints")
FEATURE(has_spring, any_nonzero(m.jnt_stiffness), "springs")
FEATURE(has_ten_passive, any_nonzero(m.tendon_stiffness) || any_nonzero(m.tendon_damping), "springs and dampers of tendons")
FEATURE(has_ten_actfrc, actuates(m) && any_nonzero(m.tendon_actfrclimited), "tendons whose total actuator force is limited")
FEATURE(has_adhesion, any_acts_by_contacts(m), "actuators on bodies")
FEATURE(has_rigid, any_rigid_body(m), "bodies that move, without an inverse weight")
FEATURE(has_ten_armature, any_nonzero(m.tendon_armature), "tendons with armature")

#undef OPTION_I
#undef FEATURE
#undef OPTION_R
#undef OPTION_R3
#undef OPTION_D
