// What the options of a model say about its contacts: one place that reads the lists of kernels/contact/laws.h, for
// the options' words, the tables that the kernels read, and what a Batch refuses.
#pragma once

#include <vector>

#include "host/model/model.h"
#include "kernels/contact/laws.h"

namespace dualstep {

// the words of the option contact_model, in the order of their values
std::vector<const char*> contact_model_words();

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
