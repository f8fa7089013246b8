// Rows of the tables by the names of their columns, made of the field table.
#pragma once

#include <array>
#include <utility>
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

// lists of pairs of integers, one behind the other: adr has where each begins and where the last ends
using PairLists = std::vector<std::vector<std::pair<int, int>>>;
inline void put_lists(const PairLists& lists, std::vector<int>* adr, std::vector<int>* first,
                      std::vector<int>* second) {
  *adr = {0};
  for (const auto& list : lists) {
    for (const auto& [one, other] : list) {
      first->push_back(one);
      second->push_back(other);
    }
    adr->push_back(static_cast<int>(first->size()));
  }
}

}  // namespace dualstep
