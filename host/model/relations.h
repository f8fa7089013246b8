// What the integer arrays of an mjModel must say about each other: trees, addresses, counts, ids. relations.inl is
// the table, a row an array; every reader of a Model may rely on it under any condition, so that no reader and no
// check can look at different fields.
#pragma once

#include <string>
#include <vector>

#include "host/model/model.h"

namespace dualstep {

// how much a row of the table says
enum class RelationKind {
  kExact,  // the other arrays leave one value
  kRange,  // an id, a count or a flag: any value of a range, or of a few
  kFree  // a code, a bit mask or a priority: any value, and what is not simulated is refused by name elsewhere
};
struct Relation {
  std::string field;
  RelationKind kind;
  std::string meaning;
};
// one for every integer array of mjmodel_fields.inl
std::vector<Relation> model_relations();

// every entry that contradicts another array, by element
void find_contradictions(const Model& model, std::vector<Problem>* problems);
// the same for meshes and height fields (mesh_relations.cpp); addresses of the table must hold
void find_surface_contradictions(const Model& model, std::vector<Problem>* problems);

}  // namespace dualstep
