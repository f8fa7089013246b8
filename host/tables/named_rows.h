// Rows of the tables by the names of their columns, made of the field table.
#pragma once

#include <array>
#include <vector>

namespace dualstep {

template <int width>
struct ColumnNumbers {
  using Type = std::array<double, width>;
};
template <>
struct ColumnNumbers<1> {
  using Type = double;
};

// struct NAME_row of every ROW_R(NAME, ...): a member for each column, in their order
#define ROW_R(table, meaning) struct table##_row {
#define COLUMN(table, name, width, meaning) ColumnNumbers<width>::Type name{};
#define END_ROW(table) \
  }                    \
  ;
#include "kernels/data/fields.inl"

// puts a row behind the others of its table
template <class Row>
void append(const Row& row, std::vector<double>* table) {
  static_assert(sizeof(Row) % sizeof(double) == 0);
  const auto* numbers = reinterpret_cast<const double*>(&row);
  table->insert(table->end(), numbers, numbers + sizeof(Row) / sizeof(double));
}

}  // namespace dualstep
