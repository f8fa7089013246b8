// What collides and has more than a size: convex hulls of meshes (the points of MuJoCo's hull, and its merged faces),
// and height fields.
//
// Points keep the order of the hull, since ties go to the first one; a mesh without a hull gives all its vertices.
// Geoms of one mesh share its hull. Corners of faces are renumbered from the mesh's vertices to the hull's points.
#include <algorithm>
#include <numeric>

#include "host/tables/tables.h"

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
  const std::vector<int> vertices = hull_vertices(m, mesh);
  std::vector<int> point_of(m.mesh_vertnum[mesh], -1);
  for (size_t i = 0; i < vertices.size(); ++i) {
    point_of[vertices[i]] = static_cast<int>(i);
    const auto first = m.mesh_vert.begin() + 3 * (m.mesh_vertadr[mesh] + vertices[i]);
    t->hull_point.insert(t->hull_point.end(), first, first + 3);
  }
  int faces = 0;
  for (int p = m.mesh_polyadr[mesh]; p < m.mesh_polyadr[mesh] + m.mesh_polynum[mesh]; ++p) {
    std::vector<int> corners;
    for (int i = m.mesh_polyvertadr[p]; i < m.mesh_polyvertadr[p] + m.mesh_polyvertnum[p]; ++i) {
      const int point = point_of[m.mesh_polyvert[i]];
      if (point >= 0) corners.push_back(point);
    }
    if (corners.size() < 3) continue;
    t->hull_corner.insert(t->hull_corner.end(), corners.begin(), corners.end());
    t->hull_corneradr.push_back(static_cast<int>(t->hull_corner.size()));
    t->hull_normal.insert(t->hull_normal.end(), &m.mesh_polynormal[3 * p], &m.mesh_polynormal[3 * p] + 3);
    ++faces;
  }
  t->hull_adr.push_back(static_cast<int>(t->hull_point.size() / 3));
  t->hull_faceadr.push_back(t->hull_faceadr.back() + faces);
}

void add_hfield(const Model& m, int id, TableStore* t) {
  const double* size = &m.hfield_size[4 * id];
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
}

}  // namespace

void build_hulls(const Model& m, TableStore* t) {
  std::vector<int> hull_of_mesh(m.nmesh, -1), place_of_hfield(m.nhfield, -1);
  t->hull_adr = t->hull_faceadr = t->hull_corneradr = {0};
  int count = 0;
  for (const int g : t->geom_id) {
    if (m.geom_type[g] == kHfield) {
      int& place = place_of_hfield[m.geom_dataid[g]];
      if (place < 0) {
        place = static_cast<int>(t->hfield_nrow.size());
        add_hfield(m, m.geom_dataid[g], t);
      }
      t->geom_hull.push_back(place);
      continue;
    }
    const int mesh = m.geom_type[g] == kMesh ? m.geom_dataid[g] : -1;
    if (mesh >= 0 && hull_of_mesh[mesh] < 0) {
      hull_of_mesh[mesh] = count++;
      add_hull(m, mesh, t);
    }
    t->geom_hull.push_back(mesh < 0 ? -1 : hull_of_mesh[mesh]);
  }
}

}  // namespace dualstep
