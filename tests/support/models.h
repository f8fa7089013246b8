// Small models for tests in C++ that between them run every stage, every kind of row and every branch on an
// option.
#pragma once

#include <ostream>

#include "host/model/element_rows.h"
#include "tests/support/model_builder.h"

namespace dualstep {

struct Scene {
  std::string name;
  Model model;
  bool outputs = true;  // every output is wanted, or none
};
// what GoogleTest shows of one
inline void PrintTo(const Scene& scene, std::ostream* out) { *out << scene.name; }

namespace scenes {

inline GeomSpec floor_plane() { return {.type = kPlane, .size = {5, 5, 1}}; }

// a free box and a free ball, thrown on a floor
inline ModelBuilder box() {
  ModelBuilder b;
  b.geom(0, floor_plane());
  const int box = b.body(0, {0, 0, 0.12}, 1.5);
  b.joint(box, {.type = kFree});
  b.geom(box, {.type = kBox, .size = {0.1, 0.15, 0.08}});
  const int ball = b.body(0, {0.05, 0.02, 0.35}, 0.4);
  b.joint(ball, {.type = kFree});
  b.geom(ball, {.type = kSphere, .size = {0.09, 0, 0}, .condim = 1});
  return b;
}

// an arm of slide, hinges and ball joints: limits, friction loss, springs, servos, activations, a carried
// load
inline ModelBuilder chain(bool motor = false) {
  ModelBuilder b;
  const int cart = b.body(0, {0, 0, 1}, 0.8);
  b.joint(cart,
          {.type = kSlide, .axis = {1, 0, 0}, .range = {-0.05, 0.05}, .damping = 0.4, .friction_loss = 0.2});
  int parent = cart;
  for (int k = 0; k < 6; k++) {
    parent = b.body(parent, {0.02, 0, -0.2}, 0.3, 0.08, k == 5 ? 0.7 : 0);
    JointSpec joint{.type = kHinge, .axis = {0, 1, 0}, .damping = 0.05, .armature = 0.01};
    if (k % 2 == 0) joint.range = {-0.1, 0.15};
    if (k == 1) joint.friction_loss = 0.05;
    if (k == 2) joint.stiffness = 0.5;
    if (k == 5) joint = {.type = kBall, .range = {0, 0.1}, .carried = true};
    b.joint(parent, joint);
    b.geom(parent, {.type = kCapsule, .size = {0.03, 0.08, 0}});
  }
  b.actuator({.joint = 0, .gear = 3});
  b.actuator({.joint = 1, .dyn = kDynFilter});
  b.actuator({.joint = 2, .kp = 4, .kv = 0.3});
  b.actuator({.joint = 4, .dyn = kDynIntegrator});
  if (motor) b.actuator({.joint = 3, .gear = 2, .inputs = kInputPos | kInputVoltage});
  b.every_sensor();
  return b;
}

// a free trunk with two arms that touch each other, the floor and a ball that the user moves
inline void trunk_with_arms(ModelBuilder* b, int condim, double damping) {
  const int trunk = b->body(0, {0, 0, 0.3}, 2);
  b->joint(trunk, {.type = kFree});
  b->geom(trunk, {.type = kCapsule, .size = {0.1, 0.1, 0}, .condim = condim});
  for (int side : {-1, 1}) {
    const int upper = b->body(trunk, {side * 0.06, 0.15, -0.1}, 0.4, 0.06);
    const JointSpec turn{.axis = {0, 0, 1}, .range = {-0.4, 0.4}, .damping = damping};
    const int first = b->joint(upper, turn);
    b->joint(upper, {.axis = {1, 0, 0}, .range = {-0.4, 0.4}, .damping = damping, .stiffness = 1});
    b->geom(upper, {.type = kCapsule, .size = {0.05, 0.1, 0}, .condim = condim});
    const int lower = b->body(upper, {0, 0.02, -0.16}, 0.3, 0.06);
    b->joint(lower, {.axis = {0, 1, 0}, .range = {-0.5, 0.5}, .friction_loss = 0.01});
    b->geom(lower, {.size = {0.07, 0, 0}, .condim = condim, .friction = {0.7, 0.02, 0.01}});
    b->actuator({.joint = first, .gear = 2});
  }
}
// the same, and pendulums that stand on the world: many trees, with and without a free base
inline ModelBuilder garden(int condim, double damping = 0.02) {
  ModelBuilder b;
  b.geom(0, floor_plane());
  const int ball = b.mocap_body({0, 0, 0.45});
  b.geom(ball, {.type = kSphere, .size = {0.06, 0, 0}});
  trunk_with_arms(&b, condim, damping);
  const int stone = b.body(0, {0.1, 0.1, 0.6}, 0.4);
  b.joint(stone, {.type = kFree});
  b.geom(stone, {.size = {0.08, 0, 0}});
  for (int k = 0; k < 3; k++) {
    const int post = b.body(0, {0.2 * k - 0.2, 0.25, 0.3}, 0);
    const int bob = b.body(post, {0, 0, -0.05}, 0.5, 0.07, 0.5 * k);
    JointSpec joint{.type = k == 1 ? kHinge : kSlide, .axis = {0, 0.6, 0.8}, .stiffness = 2.0 * k};
    if (k == 0) joint = {.type = kBall, .range = {0, 0.1}};
    if (k == 1) joint.force = {-0.05, 0.05};
    const int id = b.joint(bob, joint);
    if (k == 1) b.actuator({.joint = id, .kp = 3, .kv = 0.2});
    b.geom(bob, {.type = kCapsule, .size = {0.06, 0.12, 0}, .condim = condim == 6 ? 4 : 1});
  }
  b.every_sensor();
  return b;
}

// the garden with more stones: trees enough to be solved island by island. One holds the trunk and stones, one two
// stones, one a stone alone
inline ModelBuilder quarry(int condim) {
  ModelBuilder b = garden(condim);
  const Three places[] = {{0.12, 0.1, 0.75}, {0.8, 0, 0.08}, {0.86, 0, 0.22}, {-0.9, 0, 0.1}};
  for (const auto& place : places) {
    const int stone = b.body(0, place, 0.4);
    b.joint(stone, {.type = kFree});
    b.geom(stone, {.size = {0.08, 0, 0}, .condim = condim});
  }
  return b;
}

// arms and a stone that strike the floor, each other and the stops of their joints
inline ModelBuilder strikers() {
  ModelBuilder b;
  b.geom(0, floor_plane());
  trunk_with_arms(&b, 4, 0.02);
  const int stone = b.body(0, {0.1, 0.1, 0.6}, 0.4);
  b.joint(stone, {.type = kFree});
  b.geom(stone, {.size = {0.08, 0, 0}});
  return b;
}

// balls in a heap: more dofs than a word has bits
inline ModelBuilder heap() {
  ModelBuilder b;
  b.geom(0, floor_plane());
  for (int k = 0; k < 6; k++) {
    const int ball = b.body(0, {0.13 * (k % 2), 0.13 * (k / 2 % 2), 0.1 + 0.05 * k}, 0.5);
    b.joint(ball, {.type = kFree});
    b.geom(ball, {.size = {0.09, 0, 0}, .condim = k < 3 ? 3 : 1});
  }
  return b;
}

// two arms and a ball, which lies on another, on strings: through joints, through sites, around a ball and
// inside and beside a drum; motors and controls with a delay
inline ModelBuilder strings() {
  ModelBuilder b;
  b.geom(0, {.size = {0.05, 0, 0}, .pos = {0.42, 0.31, 1.1}});
  const int upper = b.body(0, {0, 0, 1}, 0.8);
  const int shoulder = b.joint(upper, {.type = kBall, .damping = 0.1});
  b.geom(upper, {.type = kCapsule, .size = {0.03, 0.1, 0}});
  const int lower = b.body(upper, {0.3, 0, 0}, 0.5);
  const int elbow =
      b.joint(lower, {.type = kHinge, .axis = {0, 1, 0}, .damping = 0.1, .friction_loss = 0.05});
  const int drum = b.geom(lower, {.type = kCylinder, .size = {0.05, 0.2, 0}});
  const int other = b.body(0, {-0.4, 0.1, 1}, 0.7);
  const int slide = b.joint(other, {.type = kSlide, .axis = {0, 0, 1}});
  const int ball = b.geom(other, {.size = {0.08, 0, 0}});
  const int loose = b.body(0, {0.4, 0.3, 1.2}, 0.4);
  b.joint(loose, {.type = kFree});
  b.geom(loose, {.size = {0.06, 0, 0}});
  const int above = b.site(0, {0, 0.02, 1.3}), on_upper = b.site(upper, {0.2, -0.1, 0.02}),
            on_lower = b.site(lower, {0.15, 0.12, 0.02}), beside = b.site(lower, {0, 0.12, 0}),
            within = b.site(lower, {0.01, 0.02, 0}), on_loose = b.site(loose, {0.05, 0, 0});
  (void)shoulder;
  b.tendon({{kWrapJoint, elbow}, {kWrapJoint, slide}}, {1, -2},
           {.range = {-0.05, 0.05}, .force = {-1, 1}, .stiffness = 3, .damping = 0.2, .armature = 0.02});
  b.tendon({{kWrapSite, above},
            {kWrapSite, on_upper},
            {kWrapPulley, -1},
            {kWrapSite, on_lower},
            {kWrapSite, on_loose}},
           {0, 0, 2, 0, 0}, {.range = {0, 0.35}, .stiffness = 20, .damping = 1, .armature = 0.05});
  b.tendon({{kWrapSite, on_upper}, {kWrapCylinder, drum}, {kWrapSite, on_lower}},
           {0, static_cast<double>(beside), 0}, {.stiffness = 30, .friction_loss = 0.2});
  b.tendon({{kWrapSite, on_upper}, {kWrapCylinder, drum}, {kWrapSite, on_lower}},
           {0, static_cast<double>(within), 0}, {.damping = 0.4});
  b.tendon({{kWrapSite, above}, {kWrapSphere, ball}, {kWrapSite, on_loose}}, {0, -1, 0}, {.stiffness = 10});
  b.couple_tendons(0, 4);
  b.actuator({.joint = 0, .gear = 2, .trn = kTrnTendon});
  b.actuator({.joint = 0, .kp = 2, .kv = 0.1, .trn = kTrnTendon});
  b.actuator({.joint = 2, .dyn = kDynFilter, .kp = 20, .kv = 0.5, .trn = kTrnTendon});
  b.actuator({.joint = 2, .gear = 3, .dyn = kDynMuscle, .trn = kTrnTendon, .muscle = true});
  b.actuator({.joint = elbow, .gear = 0.2, .dyn = kDynMuscle, .muscle = true});
  b.actuator({.joint = on_loose, .gear = 0.5, .trn = kTrnSite});
  b.actuator({.joint = on_lower, .kp = 3, .kv = 0.2, .trn = kTrnSite, .other = on_upper});
  b.actuator({.joint = on_lower, .gear = 0.4, .trn = kTrnSliderCrank, .other = above});
  b.actuator({.joint = elbow, .delay = 0.009, .inputs = kInputPos | kInputVel | kInputForce | kInputVoltage});
  b.actuator({.joint = 0, .trn = kTrnTendon, .inputs = kInputVoltage});
  b.actuator({.joint = elbow, .inputs = kInputNone});
  b.actuator({.joint = elbow, .delay = 0.004});
  b.every_sensor();
  return b;
}

// a free body that a tendon and a servo on it hold, and that lies on the floor
inline ModelBuilder tethered() {
  ModelBuilder b;
  b.geom(0, {.type = kPlane, .pos = {0, 0, 1.145}});
  const int loose = b.body(0, {0.4, 0.3, 1.2}, 0.4);
  b.joint(loose, {.type = kFree});
  b.geom(loose, {.size = {0.06, 0, 0}});
  const int above = b.site(0, {0, 0.02, 1.3}), on_loose = b.site(loose, {0.05, 0, 0});
  b.tendon({{kWrapSite, above}, {kWrapSite, on_loose}}, {0, 0}, {.stiffness = 20, .damping = 1});
  b.actuator({.joint = 0, .kp = 2, .kv = 0.1, .trn = kTrnTendon});
  return b;
}

// a ball that turns about its centre, pressed against a fixed one: its normal row is rounding; and a box that turns about its
// centre in the ground: the rows of its corners contradict each other
inline ModelBuilder roller() {
  ModelBuilder b;
  b.geom(0, {.size = {0.13, 0, 0}, .pos = {0.01, 0.02, 0}});
  b.geom(0, {.type = kBox, .size = {0.3, 0.4, 0.1}, .pos = {3, 0, -0.1}});
  const int ball = b.body(0, {0.19, 0.19, 0.003}, 0.5);
  b.joint(ball, {.axis = {0, 0, 1}, .damping = 0.01});
  b.geom(ball, {.size = {0.15, 0, 0}});
  b.without_weight(ball);
  const int post = b.body(0, {3, 0, 0.075}, 0.5);
  b.joint(post, {.axis = {0, 1, 0}, .damping = 0.01});
  b.geom(post, {.type = kBox, .size = {0.1, 0.15, 0.08}});
  b.without_weight(post);
  const int bob = b.body(0, {1, 0, 0.3}, 0.5);
  b.joint(bob, {.axis = {0, 1, 0}, .range = {0.5, 1}});
  b.geom(bob, {.size = {0.05, 0, 0}, .pos = {0.2, 0, 0}});
  return b;
}

// a box on a floor and a ball on the box, pulled to what they touch, and an arm at the limit of its motor
inline ModelBuilder sticky(int condim = 3) {
  ModelBuilder b;
  b.geom(0, floor_plane());
  const int box = b.body(0, {0, 0, 0.079}, 1.5);
  b.joint(box, {.type = kFree});
  b.geom(box, {.type = kBox, .size = {0.1, 0.15, 0.08}, .condim = condim});
  const int arm = b.body(box, {0.3, 0, 0}, 0.2);
  const int turn = b.joint(arm, {.axis = {0, 1, 0}, .force = {-0.1, 0.1}});
  const int ball = b.body(0, {0.01, 0.02, 0.247}, 0.4);
  b.joint(ball, {.type = kFree});
  b.geom(ball, {.type = kSphere, .size = {0.09, 0, 0}});
  b.actuator({.joint = box, .gear = 2, .trn = kTrnBody});
  b.actuator({.joint = ball, .dyn = kDynFilter, .trn = kTrnBody});
  b.actuator({.joint = turn, .kp = 3, .kv = 0.2});
  return b;
}

inline Model with_options(ModelBuilder b, std::map<std::string, std::vector<double>> option,
                          void (*change)(Options&) = nullptr) {
  for (auto& [name, value] : option) b.option[name] = value;
  Model model = b.build();
  if (change) change(model.opt);
  return model;
}

// a medium sees ellipsoids about all geoms but the last, with numbers as a file has them
inline Model among_ellipsoids(Model model) {
  constexpr double kNumbers[] = {1, 0.5, 0.25, 1.5, 1, 0.8, 2e-3, 3e-3, 4e-3, 1e-5, 2e-5, 3e-5};
  for (int g = 0; g + 1 < model.ngeom; g++)
    std::copy(std::begin(kNumbers), std::end(kNumbers), row::geom_fluid(model, g).begin());
  return model;
}

// the surfaces of all geoms move
inline Model on_belts(Model model) {
  constexpr double kNumbers[] = {0.7, -0.3, 0.2, 0.5, 1, -2};
  for (int g = 0; g < model.ngeom; g++)
    std::copy(std::begin(kNumbers), std::end(kNumbers), row::geom_surfacevel(model, g).begin());
  return model;
}

}  // namespace scenes

inline std::vector<Scene> all_scenes() {
  using namespace scenes;
  std::vector<Scene> all;
  const auto add = [&](const char* name, const Model& model, bool outputs = true) {
    all.push_back({name, model, outputs});
  };
  add("garden", with_options(garden(3), {{"density", {1.2}}, {"viscosity", {0.1}}}));
  add("garden_elliptic", with_options(garden(6), {{"cone", {1}}, {"integrator", {3}}, {"density", {3}}}));
  add("garden_bare", with_options(garden(3, 0), {{"integrator", {0}}}), false);
  add("garden_overflow", with_options(garden(3), {}, [](Options& o) { o.contact_capacity = 3; }));
  add("garden_pgs", with_options(garden(4), {}, [](Options& o) {
        o.solver = Solver::kPgs;
        o.iterations = 8;
      }));
  add("garden_anderson", with_options(garden(6), {{"cone", {1}}}, [](Options& o) {
        o.solver = Solver::kPgsAnderson;
        o.iterations = 4;
      }));
  // Newton among the dofs, and among the rows, however many there are
  add("garden_primal", with_options(garden(3), {}, [](Options& o) { o.solver = Solver::kPgsNewtonPrimal; }));
  add("garden_dual",
      with_options(garden(6), {{"cone", {1}}}, [](Options& o) { o.solver = Solver::kPgsNewtonDual; }));
  add("quarry", with_options(quarry(3), {{"density", {1.2}}}));
  add("quarry_elliptic", with_options(quarry(6), {{"cone", {1}}, {"integrator", {3}}}));
  add("chain_rk4", with_options(chain(true), {{"integrator", {1}}, {"density", {1.2}}}));
  add("chain_implicit", with_options(chain(), {{"integrator", {2}}, {"density", {1.2}}}));
  add("chain_in_medium", among_ellipsoids(with_options(
                             chain(), {{"integrator", {2}}, {"density", {1.2}}, {"viscosity", {0.1}}})));
  add("box_in_medium", among_ellipsoids(with_options(box(), {{"integrator", {3}}, {"density", {1.2}}})));
  add("chain_discrete", with_options(chain(true), {{"integrator", {4}}, {"density", {1.2}}}));
  add("garden_discrete", with_options(garden(3), {{"integrator", {4}}}));
  add("sticky", with_options(sticky(), {{"cone", {1}}}));
  add("strings", with_options(strings(), {{"integrator", {3}}}));
  add("tethered_discrete", with_options(tethered(), {{"integrator", {4}}}));
  add("box", with_options(box(), {{"cone", {1}}}));
  add("heap", with_options(heap(), {{"integrator", {3}}}));
  add("sticky_on_belts", on_belts(with_options(sticky(4), {{"cone", {1}}, {"integrator", {3}}})));
  add("roller", with_options(roller(), {}));
  add("roller_elliptic", with_options(roller(), {{"cone", {1}}}));
  add("box_spring_damper", with_options(box(), {{"cone", {1}}}, [](Options& o) {
        o.contact_parameters = ContactParameters::kSpringDamper;
      }));
  add("box_coulomb", with_options(box(), {}, [](Options& o) {
        o.contact_model = ContactModel::kStewartTrinkle;
        o.friction_directions = 0;
        o.contact_margin = 0.01;
      }));
  // more contacts than there are stripes (lanes.h), so that lanes hand them to each other
  add("heap_coulomb", with_options(heap(), {}, [](Options& o) {
        o.contact_model = ContactModel::kStewartTrinkle;
        o.friction_directions = 0;
      }));
  add("garden_compliant", with_options(garden(3), {{"cone", {1}}},
                                       [](Options& o) { o.contact_model = ContactModel::kCompliant; }));
  add("garden_anchors", with_options(garden(3), {{"cone", {1}}},
                                     [](Options& o) { o.contact_model = ContactModel::kSoftAnchor; }));
  add("strikers", with_options(strikers(), {{"cone", {1}}}, [](Options& o) {
        o.contact_model = ContactModel::kImpulsive;
        o.restitution = 0.6;
      }));
  add("box_impulsive", with_options(box(), {{"cone", {1}}}, [](Options& o) {
        o.contact_model = ContactModel::kImpulsive;
        o.restitution = 0.5;
        o.friction_directions = 0;
      }));
  return all;
}

}  // namespace dualstep
