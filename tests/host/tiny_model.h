// A model without MuJoCo's compiler, for the C++ tests: a ball that falls on a floor, and a driven pendulum.
#pragma once

#include "host/model/model.h"

namespace dualstep {

inline Model tiny_model() {
  RawModel raw;
  for (const std::string& name : model_size_names()) raw.sizes[name] = 0;
  const std::map<std::string, long> sizes = {{"nq", 8},   {"nv", 7},    {"nu", 1},        {"nbody", 3},
                                             {"njnt", 2}, {"ngeom", 3}, {"nactuator", 1}, {"nkey", 1}};
  for (const auto& [name, size] : sizes) raw.sizes[name] = size;
  raw.ints = {
      {"body_parentid", {0, 0, 0}},
      {"body_rootid", {0, 1, 2}},
      {"body_weldid", {0, 1, 2}},
      {"body_jntnum", {0, 1, 1}},
      {"body_jntadr", {-1, 0, 1}},
      {"body_dofnum", {0, 6, 1}},
      {"body_dofadr", {-1, 0, 6}},
      {"body_geomnum", {1, 1, 1}},
      {"body_geomadr", {0, 1, 2}},
      {"jnt_type", {kFree, kHinge}},
      {"jnt_qposadr", {0, 7}},
      {"jnt_dofadr", {0, 6}},
      {"jnt_bodyid", {1, 2}},
      {"dof_bodyid", {1, 1, 1, 1, 1, 1, 2}},
      {"dof_jntid", {0, 0, 0, 0, 0, 0, 1}},
      {"dof_parentid", {-1, 0, 1, 2, 3, 4, -1}},
      {"geom_type", {kPlane, kSphere, kSphere}},
      {"geom_contype", {1, 1, 0}},
      {"geom_conaffinity", {1, 1, 0}},
      {"geom_bodyid", {0, 1, 2}},
      {"actuator_trnid", {1, -1}},
  };
  raw.reals = {
      {"body_pos", {0, 0, 0, 0, 0, 0.2, 1, 0, 1}},
      {"body_quat", {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}},
      {"body_ipos", {0, 0, 0, 0, 0, 0, 0, 0, -0.3}},
      {"body_iquat", {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}},
      {"body_mass", {0, 1, 0.5}},
      {"body_subtreemass", {1.5, 1, 0.5}},
      {"body_inertia", {0, 0, 0, 0.004, 0.004, 0.004, 0.01, 0.01, 0.01}},
      {"body_invweight0", {0, 0, 1, 250, 1, 20}},
      {"dof_invweight0", {1, 1, 1, 250, 250, 250, 18}},
      {"jnt_axis", {0, 0, 1, 0, 1, 0}},
      {"geom_quat", {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}},
      {"geom_pos", {0, 0, 0, 0, 0, 0, 0, 0, -0.3}},
      {"geom_size", {5, 5, 1, 0.1, 0, 0, 0.05, 0, 0}},
      {"geom_rbound", {0, 0.1, 0.05}},
      {"geom_friction", {1, 0.005, 0.0001, 1, 0.005, 0.0001, 1, 0.005, 0.0001}},
      {"geom_solref", {0.02, 1, 0.02, 1, 0.02, 1}},
      {"geom_solimp", {0.9, 0.95, 0.001, 0.5, 2, 0.9, 0.95, 0.001, 0.5, 2, 0.9, 0.95, 0.001, 0.5, 2}},
      {"jnt_solref", {0.02, 1, 0.02, 1}},
      {"jnt_solimp", {0.9, 0.95, 0.001, 0.5, 2, 0.9, 0.95, 0.001, 0.5, 2}},
      {"actuator_gainprm", {1, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"actuator_gear", {1, 0, 0, 0, 0, 0}},
      {"qpos0", {0, 0, 0.2, 1, 0, 0, 0, 0}},
      {"qpos_spring", {0, 0, 0.2, 1, 0, 0, 0, 0}},
      {"key_qpos", {0, 0, 0.099, 1, 0, 0, 0, 0.5}},
  };
  raw.option = {{"timestep", {0.002}}};
  return load_model(raw);
}

}  // namespace dualstep
