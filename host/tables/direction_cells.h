// Of the points or the normals of a hull those that are farthest along the directions of a cell (kernels/data/hull_table.h).
#pragma once

#include <vector>

#include "host/tables/tables.h"

namespace dualstep {

// adds the cells of one hull's triples to cell_row, cell_triple and cell_number; the first of them
int add_direction_cells(const std::vector<const double*>& triples, TableStore* t);

}  // namespace dualstep
