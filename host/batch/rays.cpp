#include "host/batch/rays.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "host/batch/batch.h"
#include "host/model/element_rows.h"
#include "host/model/unsupported.h"
#include "kernels/collide/shapes/shapes.h"
#include "kernels/data/shapes.h"

namespace dualstep {
namespace {

// rays side by side
constexpr int kRays = 8;
// a bounding radius is wider by what rounding to float could hide
constexpr double kWiderRadius = 1 + 1e-5;

bool seen(const Model& m, const RayFilter& filter, int geom) {
  const int body = m.geom_bodyid[geom], group = std::clamp(m.geom_group[geom], 0, 5);
  return is_visible(m, geom) && body != filter.exclude_body && (filter.groups >> group & 1) != 0 &&
         (filter.fixed || m.body_weldid[body] != 0);
}

template <class Real, class Number>
Vec3<Real> same_for_all(const Number* x) {
  using Scalar = ScalarOf<Real>;
  return {Real(Scalar(x[0])), Real(Scalar(x[1])), Real(Scalar(x[2]))};
}

// rows from `first` on, the last of them again where there are no more
template <class Real, class Scalar = ScalarOf<Real>>
Vec3<Real> load(const Scalar* rows, int first, int count) {
  Vec3<Real> v;
  for (int l = 0; l < kRays; ++l) {
    const Scalar* row = rows + 3L * std::min(first + l, count - 1);
    set_lane(v.x, l, row[0]);
    set_lane(v.y, l, row[1]);
    set_lane(v.z, l, row[2]);
  }
  return v;
}

// a geom's distance along rays of the world
template <class Real, class Target, class Scalar = ScalarOf<Real>>
Real distance_to(const Target& target, const GeomPoses<Scalar>& poses, const Vec3<Real>& origin,
                 const Vec3<Real>& direction) {
  Mat3<Real> rot;
  for (int k = 0; k < 9; ++k) rot.m[k] = Real(poses.xmat[9 * target.id + k]);
  const Vec3<Real> away = origin - same_for_all<Real>(poses.xpos + 3 * target.id);
  const Vec3<Real> p = rotate_transposed(rot, away), v = rotate_transposed(rot, direction);
  if (!shape_is(target.type, kShapeUnbounded)) {
    const Real b = dot(v, p), c = dot(p, p) - Real(target.radius * target.radius);
    if (!any(b * b >= dot(v, v) * c)) return Real(-1);
  }
  if (shape_is(target.type, kShapeGrid)) return ray_grid(target.grid, p, v);
  if (!shape_is(target.type, kShapeHull))
    return ray_shape(target.type, same_for_all<Real>(target.size), p, v);
  NearestHit<Real> hit;
  for (const Triangle& t : target.triangles)
    offer_triangle(same_for_all<Real>(&t[0]), same_for_all<Real>(&t[3]), same_for_all<Real>(&t[6]), p, v,
                   &hit);
  return hit.t;
}

template <class Scalar>
void add_grid(const Model& m, int id, std::vector<Scalar>* heights, HeightGrid<Scalar>* grid) {
  const auto size = row::hfield_size(m, id);
  grid->nrow = m.hfield_nrow[id], grid->ncol = m.hfield_ncol[id];
  for (int k = 0; k < grid->nrow * grid->ncol; ++k)
    heights->push_back(static_cast<Scalar>(size[2] * m.hfield_data[m.hfield_adr[id] + k]));
  grid->height = heights->data();
  grid->half_x = static_cast<Scalar>(size[0]), grid->half_y = static_cast<Scalar>(size[1]);
  grid->base = static_cast<Scalar>(size[3]);
  grid->top = *std::max_element(heights->begin(), heights->end());
}

}  // namespace

template <class Scalar>
RayTargets<Scalar>::RayTargets(const Model& m, const RayFilter& filter) {
  for (int g = 0; g < m.ngeom; ++g) {
    if (!seen(m, filter, g)) continue;
    const int type = m.geom_type[g];
    if (shape_is(type, kShapeUnseen))
      throw std::invalid_argument("rays do not meet shapes of the type " + geom_word(type) + ", and " +
                                  element_name(m, "geom", g) + " is one: leave its group out");
    Target target;
    target.id = g, target.type = type;
    target.radius = static_cast<Scalar>(m.geom_rbound[g] * kWiderRadius);
    for (int k = 0; k < 3; ++k) target.size[k] = static_cast<Scalar>(row::geom_size(m, g)[k]);
    if (shape_is(type, kShapeHull)) target.triangles = mesh_triangles(m, m.geom_dataid[g]);
    if (shape_is(type, kShapeGrid)) add_grid(m, m.geom_dataid[g], &target.heights, &target.grid);
    targets_.push_back(std::move(target));
  }
}

template <class Scalar>
void RayTargets<Scalar>::cast(const GeomPoses<Scalar>& poses, const Scalar* origin, const Scalar* direction,
                              int count, Scalar* distance, int* geom) const {
  using Real = Pack<Scalar, kRays>;
  for (int first = 0; first < count; first += kRays) {
    const Vec3<Real> p = load<Real>(origin, first, count), v = load<Real>(direction, first, count);
    Real nearest(-1);
    int met[kRays];
    std::fill_n(met, kRays, -1);
    for (const Target& target : targets_) {
      const Real hit = distance_to(target, poses, p, v);
      const auto nearer = mask_and(hit >= Real(0), mask_or(nearest < Real(0), hit < nearest));
      if (!any(nearer)) continue;
      nearest = select(nearer, hit, nearest);
      for (int l = 0; l < kRays; ++l)
        if (mask_bit(nearer, l)) met[l] = target.id;
    }
    for (int l = 0; l < kRays && first + l < count; ++l) {
      distance[first + l] = lane_of(nearest, l);
      geom[first + l] = met[l];
    }
  }
}

template <class Scalar>
void Batch::cast_in_all(const RayFilter& filter, const Scalar* origin, const Scalar* direction, int count,
                        Scalar* distance, int* geom) {
  request({"geom_xpos", "geom_xmat"});
  const auto fetch = [this](const char* name) {
    const BatchArray& array = record(name);
    std::vector<Scalar> values;
    const size_t size = array.row_bytes / sizeof(Scalar) * static_cast<size_t>(options_.num_envs);
    values.reserve(size);
    in_turns(size * sizeof(Scalar), [&](size_t begin, size_t count) {
      values.resize((begin + count) / sizeof(Scalar));
      engine_->device().read(values.data() + begin / sizeof(Scalar),
                             static_cast<char*>(array.data.get()) + begin, count);
    });
    return values;
  };
  const std::vector<Scalar> xpos = fetch("geom_xpos"), xmat = fetch("geom_xmat");
  const std::vector<std::string> own = engine_->own_tables();
  const bool sizes_differ = std::find(own.begin(), own.end(), "allgeom_size") != own.end();
  const RayTargets<Scalar> shared(model_, filter);
  // the calling thread is the one that may be told
  std::atomic<bool> stopped = false;
  const auto goes_on = [&] {
    if (Interruptible::told()) stopped = true;
    return !stopped;
  };
  constexpr int kRaysAtOnce = 1 << 9;  // between two questions
  const auto cast_in = [&](int begin, int end) {
    for (int e = begin; e < end && goes_on(); ++e) {
      const long first = 1L * e * count, geoms = 1L * e * model_.ngeom;
      const GeomPoses<Scalar> poses{xpos.data() + 3 * geoms, xmat.data() + 9 * geoms};
      const auto cast = [&](const RayTargets<Scalar>& targets) {
        for (int done = 0; done < count && goes_on(); done += kRaysAtOnce) {
          const long at = first + done;
          targets.cast(poses, origin + 3 * at, direction + 3 * at, std::min(kRaysAtOnce, count - done),
                       distance + at, geom + at);
        }
      };
      if (!sizes_differ) {
        cast(shared);
        continue;
      }
      Model own_model;
      parameters_.apply(e, &own_model);
      cast(RayTargets<Scalar>(own_model, filter));
    }
  };
  // few rays are not worth a thread
  constexpr long kRaysOfThread = 4096;
  const int most = options_.device.num_threads > 0
                       ? options_.device.num_threads
                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int n = options_.num_envs;
  const int parts = static_cast<int>(std::clamp(1L * n * count / kRaysOfThread, 1L, 1L * std::min(most, n)));
  std::vector<std::future<void>> others;
  const auto bound = [&](int part) { return static_cast<int>(1L * n * part / parts); };
  for (int part = 1; part < parts; ++part)
    others.push_back(std::async(std::launch::async, cast_in, bound(part), bound(part + 1)));
  try {
    cast_in(0, bound(1));
  } catch (...) {
    stopped = true;
    throw;
  }
  for (std::future<void>& other : others) {
    while (other.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) (void)goes_on();
    other.get();
  }
  if (stopped) throw Interrupted();
}

void Batch::ray(const RayFilter& filter, const void* origin, const void* direction, int count, void* distance,
                int* geom) {
  const std::lock_guard lock(mutex_);
  if (options_.float64)
    cast_in_all(filter, static_cast<const double*>(origin), static_cast<const double*>(direction), count,
                static_cast<double*>(distance), geom);
  else
    cast_in_all(filter, static_cast<const float*>(origin), static_cast<const float*>(direction), count,
                static_cast<float*>(distance), geom);
}

template class RayTargets<float>;
template class RayTargets<double>;

}  // namespace dualstep
