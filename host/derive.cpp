#include "host/derive.h"

#include <algorithm>
#include <cmath>

namespace dualstep {
namespace {

// mass of each body and all that it carries; parents have lower ids than their children
void subtree_mass(Model* m) {
  m->body_subtreemass = m->body_mass;
  for (int b = m->nbody - 1; b > 0; --b) m->body_subtreemass[m->body_parentid[b]] += m->body_subtreemass[b];
}

// radius of the sphere about a geom's centre that holds it; 0 where there is none (planes)
void bounding_radius(Model* m) {
  for (int g = 0; g < m->ngeom; ++g) {
    const double* size = &m->geom_size[3 * g];
    double& radius = m->geom_rbound[g];
    switch (m->geom_type[g]) {
      case kSphere:
        radius = size[0];
        break;
      case kCapsule:
        radius = size[0] + size[1];
        break;
      case kCylinder:
        radius = std::hypot(size[0], size[1]);
        break;
      case kEllipsoid:
        radius = std::max({size[0], size[1], size[2]});
        break;
      case kBox:
        radius = std::hypot(size[0], size[1], size[2]);
        break;
      default:
        break;
    }
  }
}

}  // namespace

void derive_constants(Model* model, const std::set<std::string>& changed) {
  if (changed.count("body_mass")) subtree_mass(model);
  if (changed.count("geom_size")) bounding_radius(model);
}

}  // namespace dualstep
