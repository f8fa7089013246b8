// What is not simulated, and what makes no sense: found by name, all at once, when a model is loaded and
// again when its options may have changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/model/model.h"

namespace dualstep {

// things in the model, under its present options, that change the physics and are not simulated
void find_unsupported(const Model& model, std::vector<Problem>* problems);
// MuJoCo's number of an integrator; none where it is not simulated
std::optional<Integrator> integrator_of(double number);
// the same for what only the raw model knows: integrator, solver passes, element kinds that Model leaves out
void find_unsupported_raw(const RawModel& raw, std::vector<Problem>* problems);
// what the kernels leave to the reference: throws UnsupportedModelError with every such thing
void check_kernels(const Model& model);
// what it takes to integrate by discrete, whoever does it
inline constexpr const char* kDiscreteTakes =
    "it is defined with MuJoCo's own rows: contact_model todorov, contact_parameters mujoco, without "
    "desaxce, "
    "equality_alpha and prescribed velocities; take euler";
// values that are not finite, out of range, or of the wrong sign
void find_invalid(const Model& model, std::vector<Problem>* problems);
// throws UnsupportedModelError or InvalidModelError where there are problems
void throw_problems(const std::vector<Problem>& unsupported, const std::vector<Problem>& invalid);

// "geom 'foot'", or "geom 3 of body 'leg'" where it has no name
std::string element_name(const Model& model, const std::string& kind, int id);
// the actuator that a control drives, -1 where there is none
int actuator_of_control(const Model& model, int control);
// where the kept samples of each control begin, all of one side by side; nu + 1 entries. Only those with a delay have any
std::vector<int> kept_controls(const Model& model);
// shapes that collide: geoms of other types must not touch
bool reference_collides(int geom_type);
std::string geom_word(int geom_type);
// "it can touch geom 'floor' and geom 'wall'", every geom named; "" where it can touch none
std::string touched_by(const Model& model, int geom);
// whether MuJoCo's filters and the shapes let two geoms touch under the present options; for many pairs, the parts of
// that question: what an explicit pair asks, and what others do beside
bool may_collide(const Model& model, int geom1, int geom2);
bool may_collide_as_pair(const Model& model, int geom1, int geom2);
bool masks_let_through(const Model& model, int geom1, int geom2);
bool bodies_may_collide(const Model& model, int body1, int body2);
// as in exclude_signature, where bodies that do not collide are listed
int exclusion(int body1, int body2);

// whether a sensor casts rays
bool casts_rays(const Model& model);
// the geoms of one thing between which a sensor of distances measures: a geom, or those of a body
struct MeasuredGeoms {
  int first = 0, end = 0;
};
// of both things; empty for other sensors
std::vector<MeasuredGeoms> measured_geoms(const Model& model, int sensor);

}  // namespace dualstep
