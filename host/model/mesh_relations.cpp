// What meshes say of their own vertices, edges and faces: the rows of relations.inl that hold for parts of an array.
#include "host/interruption.h"
#include "host/model/relations.h"

namespace dualstep {
namespace {

struct Entries {
  std::vector<Problem>* problems;
  void range(const char* name, size_t i, int value, int low, int end) {
    if (value >= low && value < end) return;
    problems->push_back({name, "entry " + std::to_string(i),
                         "is " + std::to_string(value) + ", must be from " + std::to_string(low) + " to " +
                             std::to_string(end - 1)});
  }
};

// the hull graph of a mesh: lengths, and vertices that exist
void check_graph(const Model& m, int mesh, Entries* a) {
  const int start = m.mesh_graphadr[mesh];
  if (start < 0) return;
  if (start > m.nmeshgraph - 2) return a->range("mesh_graphadr", mesh, start, -1, m.nmeshgraph - 1);
  const long vertices = m.mesh_graph[start], faces = m.mesh_graph[start + 1];
  const long left = m.nmeshgraph - start - 2;
  const bool fits =
      vertices >= 0 && faces >= 0 && vertices <= left && faces <= left && 3 * vertices + 6 * faces <= left;
  if (!fits) {
    a->problems->push_back({"mesh_graph", "mesh " + std::to_string(mesh),
                            "has " + std::to_string(vertices) + " vertices and " + std::to_string(faces) +
                                " faces in " + std::to_string(left) + " entries"});
    return;
  }
  const int edges = start + 2 + 2 * static_cast<int>(vertices);
  const int corners = edges + static_cast<int>(vertices + 3 * faces);
  for (int i = 0; i < vertices; ++i) {
    a->range("mesh_graph", start + 2 + i, m.mesh_graph[start + 2 + i], 0,
             static_cast<int>(vertices + 3 * faces));
    a->range("mesh_graph", edges - vertices + i, m.mesh_graph[edges - vertices + i], 0, m.mesh_vertnum[mesh]);
  }
  // a list of neighbours ends with -1
  for (int i = edges; i < corners; ++i)
    a->range("mesh_graph", i, m.mesh_graph[i], -1, static_cast<int>(vertices));
  if (corners > edges && m.mesh_graph[corners - 1] != -1)
    a->range("mesh_graph", corners - 1, m.mesh_graph[corners - 1], -1, 0);
  for (int i = corners; i < corners + 3 * faces; ++i)
    a->range("mesh_graph", i, m.mesh_graph[i], 0, m.mesh_vertnum[mesh]);
}

}  // namespace

void find_surface_contradictions(const Model& m, std::vector<Problem>* problems) {
  Entries entries{problems};
  for (int mesh = 0; mesh < m.nmesh; ++mesh) {
    stop_if_told();
    check_graph(m, mesh, &entries);
    for (int i = 3 * m.mesh_faceadr[mesh]; i < 3 * (m.mesh_faceadr[mesh] + m.mesh_facenum[mesh]); ++i)
      entries.range("mesh_face", i, m.mesh_face[i], 0, m.mesh_vertnum[mesh]);
    for (int p = m.mesh_polyadr[mesh]; p < m.mesh_polyadr[mesh] + m.mesh_polynum[mesh]; ++p)
      for (int i = m.mesh_polyvertadr[p]; i < m.mesh_polyvertadr[p] + m.mesh_polyvertnum[p]; ++i)
        entries.range("mesh_polyvert", i, m.mesh_polyvert[i], 0, m.mesh_vertnum[mesh]);
    for (int v = m.mesh_vertadr[mesh]; v < m.mesh_vertadr[mesh] + m.mesh_vertnum[mesh]; ++v)
      for (int i = m.mesh_polymapadr[v]; i < m.mesh_polymapadr[v] + m.mesh_polymapnum[v]; ++i)
        entries.range("mesh_polymap", i, m.mesh_polymap[i], 0, m.mesh_polynum[mesh]);
  }
}

}  // namespace dualstep
