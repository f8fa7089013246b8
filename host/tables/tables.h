// From a checked model to what the kernels read: integer and real tables, sizes, options, and the layout of
// the workspace. One store made from kernels/data/fields.inl holds every table by name, so that two builds can be
// compared and a table can be given storage per environment.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "host/model/model.h"
#include "kernels/data/tables.h"

namespace dualstep {

// every table, in double precision, as its row of fields.inl says
struct TableStore {
  Sizes n{};
#define TABLE_I(name, meaning) std::vector<int> name;
#define TABLE_R(name, meaning) std::vector<double> name;
#include "kernels/data/fields.inl"
};

// the parts, each filling its own tables and sizes; build_tables calls them in this order
void build_tree(const Model& model, TableStore* store);
void build_fluid(const Model& model, TableStore* store);  // after the tree
void build_tendons(const Model& model, TableStore* store);
void build_actuation(const Model& model, TableStore* store);        // after tendons
void refuse_discrete(const Model& model, const TableStore& store);  // after actuation
void build_limits(const Model& model, TableStore* store);
void build_dense_rows(const Model& model, TableStore* store);
void build_pairs(const Model& model, TableStore* store);
void build_hulls(const Model& model,
                 TableStore* store);  // of the meshes and height fields among the geoms of pairs
void build_sensors(const Model& model, TableStore* store);  // after pairs, limits and dense rows
void build_sizes(const Model& model, TableStore* store);
// whether contacts are solved island by island (kernels/solver/islands/), once the trees are there
bool solves_islands(const Model& model, const TableStore& store);

// corners of a triangle, and the triangles of a mesh in the frame of its geoms
using Triangle = std::array<double, 9>;
std::vector<Triangle> mesh_triangles(const Model& model, int mesh);

// the kinds of sensors that the model has, as the option `sensors` has them once sensordata is wanted
int sensor_kinds(const Model& model);
// whether the step computes all of them. Left out are contact sensors where contacts have a gap, within which the
// kernels find none, and torques on the world
bool sensors_in_step(const Model& model);

// all of them; the model must have passed check_model
TableStore build_tables(const Model& model);
// offsets of the workspace arrays, in units of Real, one after the other. Throws std::length_error where an
// environment would need more than an int can count.
Layout make_layout(const Sizes& sizes);
Widths make_widths(const Sizes& sizes);
template <class Scalar>
StepOptions<Scalar> make_step_options(const Model& model);

template <class Scalar>
class TableSet {
 public:
  explicit TableSet(const Model& model);

  // what a kernel takes; the pointers live as long as this object, and as the storage given for environments
  Tables<Scalar> view() const;

  // tables by name, to compare two builds
  const std::map<std::string, std::vector<double>>& reals() const { return reals_; }
  const std::map<std::string, std::vector<int>>& ints() const { return ints_; }
  const Sizes& sizes() const { return sizes_; }
  StepOptions<Scalar>& options() { return options_; }

  // where no surface moves, and some do in the other tables: they move here too, at speed 0
  void keep_surfaces(const TableSet& other);

  // from now on the table is read per environment: block b reads its entries from storage + b env_stride
  void set_per_environment(const std::string& name, const Scalar* storage, int env_stride);
  // the table is shared again
  void set_shared(const std::string& name);

 private:
  void fill(const Model& model);

  Sizes sizes_;
  StepOptions<Scalar> options_;
  Layout layout_;
  std::map<std::string, std::vector<int>> ints_;
  std::map<std::string, std::vector<double>> reals_;
  std::map<std::string, std::vector<Scalar>> shared_;
  std::map<std::string, Param<Scalar>> own_;  // those given per environment
};

extern template class TableSet<float>;
extern template class TableSet<double>;
extern template StepOptions<float> make_step_options<float>(const Model& model);
extern template StepOptions<double> make_step_options<double>(const Model& model);

}  // namespace dualstep
