// dualstep._core.Reference: the double-precision reference, its arrays as live numpy views.
#include "host/reference/reference.h"

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings/answers.h"
#include "bindings/bindings.h"
#include "bindings/gil.h"
#include "host/reference/constraint.h"
#include "host/reference/contact_model.h"
#include "host/reference/impedance.h"
#include "host/reference/stages.h"

namespace py = pybind11;

namespace dualstep {
namespace {

using reference::Array;
using reference::Contact;
using reference::Data;
using reference::Reference;
using reference::RowType;

// a view of one named array, kept alive by the reference; None where there is no such array
py::object array(const py::object& self, const std::string& name) {
  Reference& ref = py::cast<Reference&>(self);
  const auto found = ref.arrays().find(name);
  if (found == ref.arrays().end()) return py::none();
  const Array& a = found->second;
  py::array_t<double> view(std::vector<py::ssize_t>(a.shape.begin(), a.shape.end()), a.values.data(), self);
  if (!ref.writable(name)) view.attr("flags").attr("writeable") = false;
  return view;
}

// the contacts of the last forward() or of the last step's start, one column a key
py::dict contacts(const Reference& ref) {
  const std::vector<Contact>& list = ref.data().contacts;
  const auto n = static_cast<py::ssize_t>(list.size());
  py::array_t<double> dist(n), includemargin(n);
  py::array_t<double> pos({n, py::ssize_t(3)}), frame({n, py::ssize_t(3), py::ssize_t(3)});
  py::array_t<double> force({n, py::ssize_t(6)}), friction({n, py::ssize_t(5)});
  py::array_t<int> geom({n, py::ssize_t(2)}), dim(n), efc_address(n);
  for (py::ssize_t i = 0; i < n; ++i) {
    const Contact& c = list[i];
    dist.mutable_at(i) = c.dist;
    includemargin.mutable_at(i) = c.includemargin;
    dim.mutable_at(i) = c.dim;
    efc_address.mutable_at(i) = c.efc_address;
    geom.mutable_at(i, 0) = c.geom1;
    geom.mutable_at(i, 1) = c.geom2;
    for (int k = 0; k < 3; ++k) pos.mutable_at(i, k) = c.pos[k];
    for (int r = 0; r < 9; ++r) frame.mutable_at(i, r / 3, r % 3) = c.frame(r / 3, r % 3);
    for (int k = 0; k < 6; ++k) force.mutable_at(i, k) = c.force[k];
    for (int k = 0; k < 5; ++k) friction.mutable_at(i, k) = c.friction[k];
  }
  py::dict out;
  out["dist"] = dist;
  out["pos"] = pos;
  out["frame"] = frame;
  out["geom"] = geom;
  out["force"] = force;
  out["friction"] = friction;
  out["dim"] = dim;
  out["includemargin"] = includemargin;
  out["efc_address"] = efc_address;
  return out;
}

// the constraint rows of the last forward() or of the last step's start
py::dict rows(const Reference& ref) {
  const Data& d = ref.data();
  std::vector<int> type;
  for (RowType t : d.efc_type) type.push_back(static_cast<int>(t));
  py::dict out;
  out["type"] = copied(type);
  out["id"] = copied(d.efc_id);
  out["J"] = d.efc_J;
  out["pos"] = d.efc_pos;
  out["margin"] = d.efc_margin;
  out["vel"] = d.efc_vel;
  out["aref"] = d.efc_aref;
  out["R"] = d.efc_R;
  out["D"] = d.efc_D;
  out["frictionloss"] = d.efc_frictionloss;
  out["diagApprox"] = d.efc_diagApprox;
  out["force"] = d.efc_force;
  return out;
}

// the dual's natural residual at a force, for rows told as in rows(): one type and id a row, the coefficients
// of friction of contact `id` in friction[id]
double residual_of(const Eigen::MatrixXd& A, const Eigen::VectorXd& R, const Eigen::VectorXd& b,
                   const Eigen::VectorXd& force, const std::vector<int>& type, const std::vector<int>& id,
                   const Eigen::VectorXd& frictionloss, const reference::RowMatrixXd& friction) {
  const size_t n = type.size();
  const auto rows = static_cast<Eigen::Index>(n);
  const bool equal = A.rows() == rows && A.cols() == rows && R.size() == rows && b.size() == rows &&
                     force.size() == rows && id.size() == n && frictionloss.size() == rows;
  if (!equal) throw py::value_error("kkt_residual is given arrays of different numbers of rows");
  std::vector<reference::RowBlock> blocks;
  for (size_t row = 0; row < n; row += blocks.back().size) {
    reference::RowBlock block;
    block.type = static_cast<RowType>(type[row]);
    block.start = static_cast<int>(row);
    block.bound = frictionloss[block.start];
    if (block.type == RowType::kContactElliptic) {
      if (id[row] < 0 || id[row] >= friction.rows() || friction.cols() != 5) {
        throw py::value_error("kkt_residual wants five coefficients of friction for every contact");
      }
      block.mu = friction.row(id[row]);
      while (row + block.size < n && type[row + block.size] == type[row] && id[row + block.size] == id[row]) {
        block.size++;
      }
    }
    blocks.push_back(block);
  }
  return reference::kkt_residual(A, R, b, force, blocks);
}

// f(data, contact, i) of contact points at any state
template <class F>
void each_contact_at(const Reference& ref, const Eigen::VectorXd& qpos, const Eigen::VectorXd& qvel,
                     const std::vector<int>& geom, const reference::RowMatrixXd& pos,
                     const reference::RowMatrixXd& frame, F f) {
  Data d = ref.data();
  if (qpos.size() != d.qpos.size() || qvel.size() != d.qvel.size() || frame.cols() != 9 || pos.cols() != 3 ||
      frame.rows() != pos.rows() || static_cast<Eigen::Index>(geom.size()) != 2 * pos.rows()) {
    throw py::value_error("velocities of contacts are asked for with arrays of the wrong shape");
  }
  d.qpos = qpos;
  d.qvel = qvel;
  reference::state_stages(ref.model(), &d);
  for (Eigen::Index i = 0; i < pos.rows(); ++i) {
    Contact c;
    c.geom1 = geom[2 * i];
    c.geom2 = geom[2 * i + 1];
    c.pos = pos.row(i);
    for (int k = 0; k < 9; ++k) c.frame(k / 3, k % 3) = frame(i, k);
    f(d, c, i);
  }
}

// velocities of contact points in their frames: the second geom's body less the first's
Eigen::MatrixXd contact_velocities(const Reference& ref, const Eigen::VectorXd& qpos,
                                   const Eigen::VectorXd& qvel, const std::vector<int>& geom,
                                   const reference::RowMatrixXd& pos, const reference::RowMatrixXd& frame) {
  Eigen::MatrixXd out(pos.rows(), 3);
  each_contact_at(ref, qpos, qvel, geom, pos, frame, [&](const Data& d, const Contact& c, Eigen::Index i) {
    out.row(i) = reference::contact_jacobian(ref.model(), d, c).topRows<3>() * qvel;
  });
  return out;
}

// what surfaces that move add to them: along t1 and t2, and about n
Eigen::MatrixXd surface_velocities(const Reference& ref, const Eigen::VectorXd& qpos,
                                   const std::vector<int>& geom, const reference::RowMatrixXd& pos,
                                   const reference::RowMatrixXd& frame) {
  Eigen::MatrixXd out(pos.rows(), 3);
  const Eigen::VectorXd still = Eigen::VectorXd::Zero(ref.model().nv);
  each_contact_at(ref, qpos, still, geom, pos, frame, [&](const Data& d, const Contact& c, Eigen::Index i) {
    out.row(i) = reference::surface_velocity_at(ref.model(), d, c);
  });
  return out;
}

// what f gives
template <class F>
auto answer_of(F f) {
  decltype(f()) answer{};
  until_ctrl_c_with_lock([&] { answer = f(); });
  return answer;
}

// a method that Ctrl-C ends
template <class Answer, class... Given>
auto interruptible(Answer (Reference::*method)(Given...) const) {
  return [method](const Reference& self, std::decay_t<Given>... given) {
    return answer_of([&] { return (self.*method)(given...); });
  };
}

}  // namespace

void bind_reference(py::module_& module) {
  module.def("kkt_residual", &residual_of, py::arg("A"), py::arg("R"), py::arg("b"), py::arg("force"),
             py::arg("type"), py::arg("id"), py::arg("frictionloss"), py::arg("friction"));
  py::class_<Reference>(module, "Reference", "one environment of a model in double precision")
      .def(py::init([](const Model& model) {
             return answer_of([&] { return std::make_unique<Reference>(model); });
           }),
           py::arg("model"))
      .def(
          "step",
          [](Reference& self, int nsubsteps) { until_ctrl_c_with_lock([&] { self.step(nsubsteps); }); },
          py::arg("nsubsteps"))
      .def(
          "advance",
          [](Reference& self, double duration) {
            py::list out;
            for (const reference::Event& e : answer_of([&] { return self.advance(duration); })) {
              out.append(py::make_tuple(e.time, e.kind, e.geom1, e.geom2, e.joint, e.qvel_before,
                                        e.qvel_after, Eigen::VectorXd(e.impulse)));
            }
            return out;
          },
          py::arg("duration"))
      .def("forward", [](Reference& self) { until_ctrl_c_with_lock([&] { self.forward(); }); })
      .def(
          "reset", [](Reference& self, int key) { until_ctrl_c_with_lock([&] { self.reset(key); }); },
          py::arg("key"))
      .def("array", &array, py::arg("name"))
      .def("array_names",
           [](Reference& self) {
             std::vector<std::string> names;
             for (const auto& [name, a] : self.arrays()) names.push_back(name);
             return names;
           })
      .def("writable", &Reference::writable, py::arg("name"))
      .def("contact_velocities", &contact_velocities, py::arg("qpos"), py::arg("qvel"), py::arg("geom"),
           py::arg("pos"), py::arg("frame"))
      .def("surface_velocities", &surface_velocities, py::arg("qpos"), py::arg("geom"), py::arg("pos"),
           py::arg("frame"))
      .def("contacts", &contacts)
      .def("anchors",
           [](const Reference& self) {
             py::list out;
             for (const reference::Anchor& a : self.anchors())
               out.append(py::make_tuple(a.geom1, a.geom2, a.local, a.stretch));
             return out;
           })
      .def(
          "set_anchors",
          [](Reference& self, const py::list& given) {
            std::vector<reference::Anchor> anchors;
            for (const py::handle& item : given) {
              const auto a = item.cast<std::tuple<int, int, Eigen::Vector3d, Eigen::Vector3d>>();
              anchors.push_back({std::get<0>(a), std::get<1>(a), std::get<2>(a), std::get<3>(a)});
            }
            self.set_anchors(anchors);
          },
          py::arg("anchors"))
      .def("rows", &rows)
      .def("mass_matrix", interruptible(&Reference::mass_matrix))
      .def("bias", interruptible(&Reference::bias))
      .def("inverse_dynamics", interruptible(&Reference::inverse_dynamics), py::arg("qacc"))
      .def("forward_dynamics", interruptible(&Reference::forward_dynamics), py::arg("tau"))
      .def("coriolis_matrix", interruptible(&Reference::coriolis_matrix))
      .def("momentum", interruptible(&Reference::momentum))
      .def_property_readonly("kinetic_energy", interruptible(&Reference::kinetic_energy))
      .def_property_readonly("potential_energy", interruptible(&Reference::potential_energy))
      .def_readwrite("time", &Reference::time)
      .def_property_readonly("status", [](const Reference& self) { return self.data().status; })
      .def_property_readonly("residual", [](const Reference& self) { return self.data().residual; })
      .def_property_readonly("iterations", [](const Reference& self) { return self.data().iterations; });
}

}  // namespace dualstep
