// What the options of a model say about its contacts: one place that reads the lists of kernels/data/contact_laws.h, for
// the options' words, the tables that the kernels read, and what a Batch refuses.
#pragma once

#include <vector>

#include "host/model/model.h"
#include "kernels/data/contact_laws.h"

namespace dualstep {

// a contact model as whoever chooses between them knows it
struct ContactModelTraits {
  const char* word;              // of the option contact_model
  bool springs;                  // its forces are explicit functions of the state
  bool anchors;                  // along the plane they are springs that last from step to step
  bool impacts;                  // impacts, with the option restitution, go before the step
  bool directions;               // the option friction_directions says which cone it is
  std::vector<int> integrators;  // that a Batch runs it with, where not with all
};
// in the order of the option's values
std::vector<ContactModelTraits> contact_models();

// which of the kernels' laws the options ask for, and what that law, or the contact model, asks for
int contact_law(const Options& opt);
bool law_has(const Options& opt, LawTrait trait);
bool model_has(const Options& opt, ModelTrait trait);

// whether contacts are under Coulomb's law instead of the convex cone
bool has_coulomb(const Options& opt);
// whether contacts weigh rows of their frame (elliptic cones, and pyramids outside MuJoCo's own law) or edges;
// whether rows, on pyramids
bool weighs_rows(const Options& opt);
bool l1_rows(const Options& opt);

// what the contact model leaves to the reference, as problems of a Batch
void refuse_contact_law(const Model& model, std::vector<Problem>* problems);
// a step too long for an explicit contact spring: a problem of a Batch and of a Reference alike
void refuse_long_steps(const Model& model, std::vector<Problem>* problems);

}  // namespace dualstep
