// see contact_law.h
#include "host/model/contact_law.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "host/model/element_rows.h"
#include "host/model/row_elements.h"
#include "host/model/unsupported.h"

namespace dualstep {
namespace {

constexpr unsigned kLawTraits[] = {
#define DS_TRAITS(code, type, traits) traits,
    DS_CONTACT_LAWS(DS_TRAITS)
#undef DS_TRAITS
};

struct ContactModelRow {
  const char* word;
  int law;
  unsigned traits;
};
constexpr ContactModelRow kContactModels[] = {
#define DS_ROW(name, word, law, traits) {word, law, traits},
    DS_CONTACT_MODELS(DS_ROW)
#undef DS_ROW
};

const ContactModelRow& row_of(const Options& opt) {
  return kContactModels[static_cast<int>(opt.contact_model)];
}

constexpr const char* kReason = "a Batch does not simulate it; a Reference does";

// contacts beside which a Batch does not have every kind of scalar rows
enum Beside : unsigned { kBesideSpringDamper = 1 << 0, kBesideImpacts = 1 << 1 };
// THE list of the kinds that it does not have there: what has the rows, and which elements do
struct RefusedRows {
  unsigned beside;
  const char *what, *element;
  std::vector<int> (*elements)(const Model&);
};
constexpr RefusedRows kRefusedRows[] = {
    {kBesideSpringDamper, "joint friction", "dof", dofs_with_friction},
    {kBesideSpringDamper, "limit of a tendon", "tendon", limited_tendons},
    {kBesideSpringDamper, "friction of a tendon", "tendon", tendons_with_friction},
    {kBesideSpringDamper | kBesideImpacts, "limit of a ball joint", "jnt", limited_balls},
};

void refuse_rows(const Model& m, Beside contacts, const std::string& with, std::vector<Problem>* problems) {
  for (const RefusedRows& rows : kRefusedRows) {
    if (!(rows.beside & contacts)) continue;
    const bool dofs = rows.element == std::string("dof");
    for (const int i : rows.elements(m))
      problems->push_back({rows.what + (" with " + with),
                           dofs ? element_name(m, "jnt", m.dof_jntid[i]) : element_name(m, rows.element, i),
                           kReason});
  }
}

void refuse_spring_damper(const Model& m, std::vector<Problem>* problems) {
  const std::string with = "contact_parameters = spring_damper";
  refuse_rows(m, kBesideSpringDamper, with, problems);
  for (int g = 0; g < m.ngeom; ++g)
    if (m.geom_condim[g] > 3)
      problems->push_back({"condim above 3 with " + with, element_name(m, "geom", g), kReason});
  // both tangents weigh the same there, which leaves no closed form where their friction differs
  for (int i = 0; i < m.npair; ++i) {
    const auto mu = row::pair_friction(m, i);
    if (m.pair_dim[i] > 3)
      problems->push_back({"condim above 3 with " + with, element_name(m, "pair", i), kReason});
    else if (m.pair_dim[i] == 3 && mu[0] != mu[1])
      problems->push_back(
          {"friction that differs between directions with " + with, element_name(m, "pair", i), kReason});
  }
}

void refuse_impacts(const Model& m, std::vector<Problem>* problems) {
  const std::string with = "contact_model = impulsive";
  refuse_rows(m, kBesideImpacts, with, problems);
  // friction that holds without bound is another problem: free rows
  constexpr double kBound = 1e6;
  for (int g = 0; g < m.ngeom; ++g)
    if (row::geom_friction(m, g)[0] > kBound && !touched_by(m, g).empty())
      problems->push_back({"friction above 1e6 with " + with, element_name(m, "geom", g), kReason});
  for (int i = 0; i < m.npair; ++i)
    if (row::pair_friction(m, i)[0] > kBound)
      problems->push_back({"friction above 1e6 with " + with, element_name(m, "pair", i), kReason});
}

}  // namespace

std::vector<ContactModelTraits> contact_models() {
  std::vector<ContactModelTraits> models;
  for (const ContactModelRow& row : kContactModels) {
    const unsigned law = kLawTraits[row.law];
    ContactModelTraits& model =
        models.emplace_back(ContactModelTraits{.word = row.word,
                                               .springs = (law & kLawVelocities) != 0,
                                               .anchors = (row.traits & kModelAnchors) != 0,
                                               .impacts = (row.traits & kModelImpacts) != 0,
                                               .directions = (law & kLawDirections) != 0,
                                               .integrators = {}});
    // as refuse_contact_law has it
    if (law & kLawStepInertia) {
      model.integrators = {kEuler};
      if (!(row.traits & kModelWholeStep)) model.integrators.push_back(kRk4);
    }
  }
  return models;
}

int contact_law(const Options& opt) {
  const int law = row_of(opt).law;
  const bool spring_damper = opt.contact_parameters == ContactParameters::kSpringDamper;
  return spring_damper && (kLawTraits[law] & kLawSoftRows) ? kLawSpringDamper : law;
}
bool law_has(const Options& opt, LawTrait trait) { return (kLawTraits[contact_law(opt)] & trait) != 0; }
bool model_has(const Options& opt, ModelTrait trait) { return (row_of(opt).traits & trait) != 0; }

bool has_coulomb(const Options& opt) { return opt.desaxce || model_has(opt, kModelCoulomb); }

bool l1_rows(const Options& opt) {
  // Coulomb's law raises a normal row, which edges do not have
  const bool raised = opt.desaxce && law_has(opt, kLawMujocoMargins);
  return (raised || law_has(opt, kLawFrameRows)) && opt.cone == Cone::kPyramidal;
}

bool weighs_rows(const Options& opt) {
  if (law_has(opt, kLawDirections)) return opt.friction_directions == 0;
  return opt.cone == Cone::kElliptic || l1_rows(opt);
}

void refuse_long_steps(const Model& m, std::vector<Problem>* problems) {
  const Options& o = m.opt;
  // an explicit spring much stiffer than the step allows gains energy. Steps times its frequency are stable below 2; what is
  // longer than this is refused
  constexpr double kLongestStep = 1.8;
  // the square of a frequency is no less: without stiffness any step is short enough
  constexpr double kLeastSquare = 1e-300;
  const bool anchored = model_has(o, kModelAnchors);
  const bool springs =
      law_has(o, kLawVelocities) && (anchored || o.compliant_law == CompliantLaw::kLinear || o.exponent == 1);
  if (!springs || o.scheme != Scheme::kTimeStepping || o.integrator == Integrator::kVariational) return;
  double lightest = 0;
  int which = -1;
  for (int g = 0; g < m.ngeom; ++g) {
    if (m.geom_contype[g] == 0 && m.geom_conaffinity[g] == 0) continue;
    const double weight = translation_weight(m, m.geom_bodyid[g]);
    if (weight > lightest) lightest = weight, which = g;
  }
  const double limit = kLongestStep / std::sqrt(std::max(kLeastSquare, o.stiffness * lightest));
  if (which < 0 || o.timestep <= limit) return;
  problems->push_back({"timestep", "option",
                       "with stiffness " + std::to_string(o.stiffness) + " N/m, " +
                           element_name(m, "geom", which) + " of effective mass " +
                           std::to_string(1 / lightest) + " kg needs steps below " + std::to_string(limit) +
                           " s: an explicit contact spring gains energy above"});
}

void refuse_contact_law(const Model& m, std::vector<Problem>* problems) {
  const Options& o = m.opt;
  const auto refuse = [&](const std::string& what, const std::string& why) {
    problems->push_back({what, "option", why});
  };
  const bool impacts = model_has(o, kModelImpacts);
  if (law_has(o, kLawStepInertia) &&
      (o.integrator == Integrator::kImplicitFast || o.integrator == Integrator::kImplicit))
    refuse(o.integrator == Integrator::kImplicit ? "integrator = implicit" : "integrator = implicitfast",
           "with these contacts a Batch takes euler; a Reference takes both");
  if (model_has(o, kModelWholeStep) && o.integrator == Integrator::kRk4)
    refuse("integrator = rk4", "this contact model is a law of a whole time step; take euler");
  if ((law_has(o, kLawDirections) || impacts || l1_rows(o)) && o.friction_directions != 0 &&
      o.friction_directions != 4)
    refuse("friction_directions", "a Batch takes 0 (round) or 4; a Reference takes any");
  if (!o.disabled(kDisableConstraint)) {
    if (o.contact_parameters == ContactParameters::kSpringDamper) refuse_spring_damper(m, problems);
    if (impacts) refuse_impacts(m, problems);
  }
  if ((model_has(o, kModelNewton) || o.desaxce) && !ends_with_newton(o.solver))
    refuse(o.solver == Solver::kPgs ? "solver = pgs" : "solver = pgs_anderson",
           "this contact model is solved by pgs_newton");
}

}  // namespace dualstep
