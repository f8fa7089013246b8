// What collides and has more than a size: convex hulls of meshes (the points of MuJoCo's hull, and its merged faces),
// and height fields.
//
// Points keep the order of the hull, since ties go to the first one; a mesh without a hull gives all its vertices. Points and
// normals stand coordinate by coordinate (kernels/data/hull_table.h).
// Geoms of one mesh share its hull. Corners of faces are renumbered from the mesh's vertices to the hull's points.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/interruption.h"
#include "host/model/element_rows.h"
#include "host/model/unsupported.h"
#include "host/tables/direction_cells.h"
#include "host/tables/tables.h"
#include "kernels/collide/hfield/code.h"
#include "kernels/data/hull_table.h"
#include "kernels/data/shapes.h"

namespace dualstep {
namespace {

// the mesh's vertices that are points of its hull
std::vector<int> hull_vertices(const Model& m, int mesh) {
  const int graph = m.mesh_graphadr[mesh];
  if (graph < 0) {
    std::vector<int> all(m.mesh_vertnum[mesh]);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const int count = m.mesh_graph[graph];
  const auto first = m.mesh_graph.begin() + graph + 2 + count;
  return {first, first + count};
}

void add_hull(const Model& m, int mesh, TableStore* t) {
  const int hull = static_cast<int>(t->hull_adr.size()) - 1;
  const std::vector<int> vertices = hull_vertices(m, mesh);
  std::vector<int> point_of(m.mesh_vertnum[mesh], -1);
  std::vector<const double*> points, normals;
  double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  for (size_t i = 0; i < vertices.size(); ++i) {
    point_of[vertices[i]] = static_cast<int>(i);
    const auto first = row::mesh_vert(m, m.mesh_vertadr[mesh] + vertices[i]);
    points.push_back(first.data());
    for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], first[k]), high[k] = std::max(high[k], first[k]);
  }
  for (int k = 0; k < 3; ++k) t->hull_box.push_back(0.5 * (low[k] + high[k]));
  for (int k = 0; k < 3; ++k) t->hull_box.push_back(0.5 * (high[k] - low[k]));
  for (int p = m.mesh_polyadr[mesh]; p < m.mesh_polyadr[mesh] + m.mesh_polynum[mesh]; ++p) {
    stop_if_told();
    std::vector<int> corners;
    for (int i = m.mesh_polyvertadr[p]; i < m.mesh_polyvertadr[p] + m.mesh_polyvertnum[p]; ++i) {
      const int point = point_of[m.mesh_polyvert[i]];
      if (point >= 0) corners.push_back(point);
    }
    if (corners.size() < 3) continue;
    t->hull_corner.insert(t->hull_corner.end(), corners.begin(), corners.end());
    t->hull_corneradr.push_back(static_cast<int>(t->hull_corner.size()));
    normals.push_back(row::mesh_polynormal(m, p).data());
  }
  t->hull_pointcell.push_back(add_direction_cells(points, t));
  t->hull_normalcell.push_back(add_direction_cells(normals, t));
  t->hull_point.resize(hull_begin(t->hull_adr.back(), hull));
  put_triples(points, kHullRun, &t->hull_point);
  t->hull_normal.resize(hull_begin(t->hull_faceadr.back(), hull));
  put_triples(normals, kHullRun, &t->hull_normal);
  t->hull_adr.push_back(t->hull_adr.back() + static_cast<int>(points.size()));
  t->hull_faceadr.push_back(t->hull_faceadr.back() + static_cast<int>(normals.size()));
}

// heights of a grid, and what is known about them once for all (kernels/collide/hfield/code.h)
struct Grid {
  const double* height;
  int nrow, ncol;
  double dx, dy, top;

  struct Vertex {
    int i, j;
  };
  double at(int i, int j) const { return height[1L * j * ncol + i]; }
  double at(const Vertex& v) const { return at(v.i, v.j); }
  bool has(const Vertex& v) const { return v.i >= 0 && v.j >= 0 && v.i < ncol && v.j < nrow; }

  // whether a and b lie over the line between f and g, of which there is none beyond the border
  bool convex(const Vertex& a, const Vertex& b, const Vertex& f, const Vertex& g) const {
    if (!has(f) || !has(g)) return true;
    return at(a) + at(b) - (at(f) + at(g)) > kFlatEdge * std::min(dx, dy);
  }
  int convex_code(int i, int j) const {
    const Vertex own{i, j}, east{i + 1, j}, north{i, j + 1}, far{i + 1, j + 1};
    const Vertex west{i - 1, j}, south{i, j - 1}, back{i - 1, j - 1};
    int code = 0;
    if (has(east) && convex(own, east, far, south)) code |= kConvexEast;
    if (has(north) && convex(own, north, far, west)) code |= kConvexNorth;
    if (has(far) && convex(own, far, east, north)) code |= kConvexFar;
    if (convex(own, own, east, west) || convex(own, own, north, south) || convex(own, own, far, back))
      code |= kConvexVertex;
    return code;
  }
  // whether the rim of a square of cells lies in the plane of three of its corners, where what is within has been seen
  bool is_planar(int i, int j, int side) const {
    if (side == 0) return true;
    const double error = std::min(kPlanarError * top, 1e-5 * std::min(dx, dy));
    const double x = (at(i + side, j) - at(i, j)) / side, y = (at(i, j + side) - at(i, j)) / side;
    const auto fits = [&](int k, int l) {
      return std::abs(at(i, j) + k * x + l * y - at(i + k, j + l)) <= error;
    };
    for (int k = 0; k <= side; ++k)
      if (!fits(k, 0) || !fits(k, side) || !fits(0, k) || !fits(side, k)) return false;
    return true;
  }
};

void add_grid_codes(const Grid& grid, TableStore* t) {
  std::vector<int> side(1L * grid.nrow * grid.ncol);
  for (int j = grid.nrow - 2; j >= 0; --j) {
    stop_if_told();
    for (int i = grid.ncol - 2; i >= 0; --i) {
      const auto at = side.begin() + 1L * j * grid.ncol + i;
      const int within = std::min({at[1], at[grid.ncol], at[grid.ncol + 1]});
      *at = std::min(within + 1, kPlanarSide);
      while (!grid.is_planar(i, j, *at)) --*at;
    }
  }
  for (int j = 0; j < grid.nrow; ++j) {
    stop_if_told();
    for (int i = 0; i < grid.ncol; ++i)
      t->hfield_code.push_back(grid.convex_code(i, j) + kPlanarStep * side[1L * j * grid.ncol + i]);
  }
}

void add_grid_blocks(const Grid& grid, TableStore* t) {
  t->hfield_blockadr.push_back(static_cast<int>(t->hfield_block.size()));
  // of the level below, the blocks from (2 I, 2 J) to (2 I + 2, 2 J + 2) at every second
  std::vector<double> below(grid.height, grid.height + 1L * grid.nrow * grid.ncol);
  int columns = grid.ncol, rows = grid.nrow;
  for (int level = 0; level < block_levels(grid.nrow, grid.ncol); ++level) {
    const int nx = blocks_along(grid.ncol, level), ny = blocks_along(grid.nrow, level),
              step = level == 0 ? 1 : 2;
    std::vector<double> blocks;
    for (int j = 0; j < ny; ++j) {
      stop_if_told();
      for (int i = 0; i < nx; ++i) {
        double most = 0;
        for (int l = step * j; l <= std::min(step * j + 2, rows - 1); ++l)
          for (int k = step * i; k <= std::min(step * i + 2, columns - 1); ++k)
            most = std::max(most, below[1L * l * columns + k]);
        blocks.push_back(most);
      }
    }
    t->hfield_block.insert(t->hfield_block.end(), blocks.begin(), blocks.end());
    below = std::move(blocks);
    columns = nx, rows = ny;
  }
}

void add_hfield(const Model& m, int id, TableStore* t) {
  const auto size = row::hfield_size(m, id);
  const int first = m.hfield_adr[id], count = m.hfield_nrow[id] * m.hfield_ncol[id];
  double top = 0;
  t->hfield_nrow.push_back(m.hfield_nrow[id]);
  t->hfield_ncol.push_back(m.hfield_ncol[id]);
  t->hfield_adr.push_back(static_cast<int>(t->hfield_height.size()));
  for (int i = first; i < first + count; ++i) {
    t->hfield_height.push_back(size[2] * m.hfield_data[i]);
    top = std::max(top, t->hfield_height.back());
  }
  t->hfield_size.insert(t->hfield_size.end(), {size[0], size[1], top, size[3]});
  const int nrow = m.hfield_nrow[id], ncol = m.hfield_ncol[id];
  const Grid grid{.height = &t->hfield_height[t->hfield_adr.back()],
                  .nrow = nrow,
                  .ncol = ncol,
                  .dx = 2 * size[0] / (ncol - 1),
                  .dy = 2 * size[1] / (nrow - 1),
                  .top = top};
  add_grid_codes(grid, t);
  add_grid_blocks(grid, t);
}

}  // namespace

void build_hulls(const Model& m, TableStore* t) {
  std::vector<int> hull_of_mesh(m.nmesh, -1), place_of_hfield(m.nhfield, -1);
  t->hull_adr = t->hull_faceadr = t->hull_corneradr = {0};
  int count = 0;
  const auto place_of = [&](int g) {
    int& place = place_of_hfield[m.geom_dataid[g]];
    if (place < 0) {
      place = static_cast<int>(t->hfield_nrow.size());
      add_hfield(m, m.geom_dataid[g], t);
    }
    return place;
  };
  const auto hull_of = [&](int g) {
    const int mesh = shape_is(m.geom_type[g], kShapeHull) ? m.geom_dataid[g] : -1;
    if (mesh >= 0 && hull_of_mesh[mesh] < 0) {
      hull_of_mesh[mesh] = count++;
      add_hull(m, mesh, t);
    }
    return mesh < 0 ? -1 : hull_of_mesh[mesh];
  };
  for (const int g : t->geom_id) {
    stop_if_told();
    if (shape_is(m.geom_type[g], kShapeGrid)) {
      t->geom_hull.push_back(place_of(g));
      continue;
    }
    t->geom_hull.push_back(hull_of(g));
  }
  const bool rays = casts_rays(m);
  for (int g = 0; g < m.ngeom; ++g)
    t->allgeom_hfield.push_back(rays && shape_is(m.geom_type[g], kShapeGrid) ? place_of(g) : -1);
  t->allgeom_hull.assign(m.ngeom, -1);
  for (int s = 0; s < m.nsensor; ++s)
    for (const MeasuredGeoms& of : measured_geoms(m, s))
      for (int g = of.first; g < of.end; ++g) t->allgeom_hull[g] = hull_of(g);
}

}  // namespace dualstep
