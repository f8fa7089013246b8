// The options of a model: everything a user may change between loading it and making a Batch or a Reference.
#pragma once

#include <array>
#include <string>

#include "kernels/base/mujoco_enums.h"
#include "kernels/data/contact_laws.h"

namespace dualstep {

enum class Cone { kPyramidal = 0, kElliptic = 1 };
enum class Solver { kPgsNewton = 0, kPgs = 1, kPgsAnderson = 2, kPgsNewtonPrimal = 3, kPgsNewtonDual = 4 };
inline bool ends_with_newton(Solver s) { return s != Solver::kPgs && s != Solver::kPgsAnderson; }
enum class ContactModel {
#define DS_NAME(name, word, law, traits) name,
  DS_CONTACT_MODELS(DS_NAME)
#undef DS_NAME
};
enum class ContactParameters { kMujoco = 0, kSpringDamper = 1 };
enum class Scheme { kTimeStepping = 0, kEventDriven = 1 };
enum class CompliantLaw { kLinear = 0, kHuntCrossley = 1 };
enum class FrictionLaw { kStribeck = 0, kPiecewise = 1 };

struct Options {
  double timestep = 0.002;
  std::array<double, 3> gravity{0, 0, -9.81};
  std::array<double, 3> wind{0, 0, 0};
  std::array<double, 3> magnetic{0, -0.5, 0};
  double density = 0, viscosity = 0;
  double impratio = 1;
  Cone cone = Cone::kPyramidal;
  Integrator integrator = Integrator::kEuler;
  int disableflags = 0, enableflags = 0, disableactuator = 0;
  double o_margin = 0;
  std::array<double, 2> o_solref{0.02, 1};
  std::array<double, 5> o_solimp{0.9, 0.95, 0.001, 0.5, 2};
  std::array<double, 5> o_friction{1, 1, 0.005, 0.0001, 0.0001};

  // how the contact dual is solved: sweeps at most (pgs) or Newton steps at most (pgs_newton: among the rows
  // where they are few, otherwise among the dofs; _dual, _primal: always the one or the other, but among the
  // dofs where no contact can be), and the relative KKT residual to stop at; 0 means the default of the
  // precision in use
  Solver solver = Solver::kPgsNewton;
  int iterations = 0;
  double tolerance = 0;
  int contact_capacity = 0;  // contacts kept per environment; 0: chosen from the model

  // the formulation of contact
  ContactModel contact_model = ContactModel::kTodorov;
  ContactParameters contact_parameters = ContactParameters::kMujoco;
  double contact_time_constant = 0.05;   // kappa [s]
  double contact_regularization = 0.01;  // epsilon [-]
  double contact_margin = 0;             // rows exist while phi <= margin [m]
  bool desaxce = false;
  int friction_directions = 4;
  double restitution = 0;
  double stiffness = 1e4, damping = 80, exponent = 1;
  CompliantLaw compliant_law = CompliantLaw::kLinear;
  FrictionLaw friction_law = FrictionLaw::kStribeck;
  double stiction_speed = 1e-3, dynamic_friction_ratio = 1;
  double tangent_stiffness = 8e3, tangent_damping = 60;
  Scheme scheme = Scheme::kTimeStepping;
  double equality_alpha = -1;  // negative: None, MuJoCo's soft equality

  bool disabled(int bit) const { return (disableflags & bit) != 0; }
  bool enabled(int bit) const { return (enableflags & bit) != 0; }
};

}  // namespace dualstep
