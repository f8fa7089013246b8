// The triples of hulls, their points or normals, as they stand in tables (kernels/data/hull_table.h): all of a hull's, and those
// that are farthest along the directions of a cell.
#pragma once

#include <vector>

#include "host/tables/tables.h"

namespace dualstep {

// puts triples behind what a table has, coordinate by coordinate, each filled up to whole runs with the last one's
void put_triples(const std::vector<const double*>& triples, int run, std::vector<double>* table);

// adds the cells of one hull's triples to cell_adr, cell_num, cell_triple and cell_number; the first of them
int add_direction_cells(const std::vector<const double*>& triples, TableStore* t);

}  // namespace dualstep
