// Rays into the environments of a batch, at the poses of the last evaluation.
#pragma once

#include <vector>

#include "host/tables/tables.h"
#include "kernels/collide/hfield/grid.h"

namespace dualstep {

// which geoms rays meet, as MuJoCo's mj_ray has it; those whose colour has no opacity never
struct RayFilter {
  int groups = 0x3f;      // bit g: geoms of group g, or beyond 5 of the last
  int exclude_body = -1;  // not its geoms
  bool fixed = true;      // those of bodies that are fixed to the world too
};

// where geoms of one environment stand: (ngeom, 3) and (ngeom, 9), row-major
template <class Scalar>
struct GeomPoses {
  const Scalar *xpos, *xmat;
};

// The geoms of a model that rays may meet.
template <class Scalar>
class RayTargets {
 public:
  // throws std::invalid_argument where one of them is a signed distance field
  RayTargets(const Model& model, const RayFilter& filter);

  // for each of `count` rays p + t v, (count, 3) each: the least t >= 0 on a geom, and the geom; -1 where there is
  // none
  void cast(const GeomPoses<Scalar>& poses, const Scalar* origin, const Scalar* direction, int count,
            Scalar* distance, int* geom) const;

 private:
  struct Target {
    int id, type;
    Scalar size[3], radius;  // of the sphere around it
    std::vector<Triangle> triangles;
    std::vector<Scalar> heights;
    HeightGrid<Scalar> grid;  // of these heights
  };
  std::vector<Target> targets_;
};

extern template class RayTargets<float>;
extern template class RayTargets<double>;

}  // namespace dualstep
