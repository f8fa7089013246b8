"""Written by bindings/stubs.py."""
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

class BatchFields:
    """Arrays of a batch of N environments: numpy's on the CPU, `_core.Array` on CUDA."""

    def _view(self, name: str) -> Any: ...
    @property
    def qpos(self) -> np.ndarray:
        """(N, nq) joint positions, MuJoCo's layout [m, rad, unit quaternions w x y z]"""
    @qpos.setter
    def qpos(self, value: Any) -> None: ...
    @property
    def qvel(self) -> np.ndarray:
        """(N, nv) joint velocities [m/s, rad/s]"""
    @qvel.setter
    def qvel(self, value: Any) -> None: ...
    @property
    def act(self) -> np.ndarray:
        """(N, na) actuator activations"""
    @act.setter
    def act(self, value: Any) -> None: ...
    @property
    def ctrl(self) -> np.ndarray:
        """(N, nu) controls"""
    @ctrl.setter
    def ctrl(self, value: Any) -> None: ...
    @property
    def ctrl_history(self) -> np.ndarray:
        """(N, nctrlhist) last controls of actuators with a delay, oldest first, control by control"""
    @ctrl_history.setter
    def ctrl_history(self, value: Any) -> None: ...
    @property
    def qfrc_applied(self) -> np.ndarray:
        """(N, nv) generalized forces applied by the user [N, N m]"""
    @qfrc_applied.setter
    def qfrc_applied(self, value: Any) -> None: ...
    @property
    def xfrc_applied(self) -> np.ndarray:
        """(N, nbody, 6) force and torque on each body at its centre of mass, world axes [N, N m]"""
    @xfrc_applied.setter
    def xfrc_applied(self, value: Any) -> None: ...
    @property
    def mocap_pos(self) -> np.ndarray:
        """(N, nmocap, 3) positions of mocap bodies [m]"""
    @mocap_pos.setter
    def mocap_pos(self, value: Any) -> None: ...
    @property
    def mocap_quat(self) -> np.ndarray:
        """(N, nmocap, 4) orientations of mocap bodies"""
    @mocap_quat.setter
    def mocap_quat(self, value: Any) -> None: ...
    @property
    def qacc_warmstart(self) -> np.ndarray:
        """(N, nv) accelerations of the last solve: where the next one starts"""
    @qacc_warmstart.setter
    def qacc_warmstart(self, value: Any) -> None: ...
    @property
    def anchors(self) -> np.ndarray:
        """(N, nanchor, 7) soft_anchor, each contact of the last step: pair + 1 in touch, -1 apart, 0 none; position on the second body, stretch in the world [m]"""
    @anchors.setter
    def anchors(self, value: Any) -> None: ...
    @property
    def time(self) -> np.ndarray:
        """(N,) time of each environment [s]"""
    @time.setter
    def time(self, value: Any) -> None: ...
    @property
    def status(self) -> np.ndarray:
        """(N,) bits of Status; each stays until the environment is reset or it is cleared"""
    @property
    def iterations(self) -> np.ndarray:
        """(N,) iterations of the last solve of the contact dual"""
    @property
    def residual(self) -> np.ndarray:
        """(N,) relative KKT residual of the last solve"""
    @property
    def contact_count(self) -> np.ndarray:
        """(N,) contacts of the last evaluation"""
    @property
    def contacts_needed(self) -> np.ndarray:
        """(N,) contacts of the last evaluation before any was dropped"""
    @property
    def contact_geom(self) -> np.ndarray:
        """(N, ncon, 2) the two geoms of each contact"""
    @property
    def reset_count(self) -> np.ndarray:
        """(N,) times that each environment was reset because it had diverged"""
    @property
    def qacc(self) -> np.ndarray:
        """(N, nv) joint accelerations [m/s^2, rad/s^2]"""
    @property
    def qacc_smooth(self) -> np.ndarray:
        """(N, nv) joint accelerations without constraint forces"""
    @property
    def qfrc_bias(self) -> np.ndarray:
        """(N, nv) Coriolis, centrifugal and gravity forces (on the left) [N, N m]"""
    @property
    def qfrc_passive(self) -> np.ndarray:
        """(N, nv) springs, dampers, fluid, gravity compensation [N, N m]"""
    @property
    def qfrc_actuator(self) -> np.ndarray:
        """(N, nv) actuator forces on the joints [N, N m]"""
    @property
    def qfrc_smooth(self) -> np.ndarray:
        """(N, nv) all forces but those of constraints [N, N m]"""
    @property
    def qfrc_constraint(self) -> np.ndarray:
        """(N, nv) constraint forces on the joints [N, N m]"""
    @property
    def actuator_force(self) -> np.ndarray:
        """(N, nactuator) scalar force of each actuator [N, N m]"""
    @property
    def xpos(self) -> np.ndarray:
        """(N, nbody, 3) positions of body frames [m]"""
    @property
    def xquat(self) -> np.ndarray:
        """(N, nbody, 4) orientations of body frames"""
    @property
    def xipos(self) -> np.ndarray:
        """(N, nbody, 3) centres of mass of bodies [m]"""
    @property
    def cvel(self) -> np.ndarray:
        """(N, nbody, 6) body velocities (angular, linear) about the tree's centre of mass"""
    @property
    def cinert(self) -> np.ndarray:
        """(N, nbody, 10) body inertias about the tree's centre of mass: xx yy zz xy xz yz, m c, m"""
    @property
    def cfrc_ext(self) -> np.ndarray:
        """(N, nbody, 6) moment and force on each body from outside, about its tree's centre of mass [N m, N]"""
    @property
    def subtree_com(self) -> np.ndarray:
        """(N, nbody, 3) centres of mass of subtrees [m]"""
    @property
    def geom_xpos(self) -> np.ndarray:
        """(N, ngeom, 3) positions of geoms [m]"""
    @property
    def geom_xmat(self) -> np.ndarray:
        """(N, ngeom, 9) orientations of geoms, row-major"""
    @property
    def site_xpos(self) -> np.ndarray:
        """(N, nsite, 3) positions of sites [m]"""
    @property
    def site_xmat(self) -> np.ndarray:
        """(N, nsite, 9) orientations of sites, row-major"""
    @property
    def energy(self) -> np.ndarray:
        """(N, 2) potential and kinetic energy [J]"""
    @property
    def qM(self) -> np.ndarray:
        """(N, nM) mass matrix on the tree's sparsity: each dof, then its ancestors"""
    @property
    def contact_dist(self) -> np.ndarray:
        """(N, ncon) signed distance of each contact [m]"""
    @property
    def contact_pos(self) -> np.ndarray:
        """(N, ncon, 3) position of each contact [m]"""
    @property
    def contact_frame(self) -> np.ndarray:
        """(N, ncon, 3, 3) rows n, t1, t2 of each contact"""
    @property
    def contact_force(self) -> np.ndarray:
        """(N, ncon, 6) force and moment in the contact frame [N, N m]"""
    @property
    def ten_length(self) -> np.ndarray:
        """(N, ntendon) lengths of tendons [m, rad]"""
    @property
    def ten_velocity(self) -> np.ndarray:
        """(N, ntendon) rates of the lengths of tendons [m/s, rad/s]"""
    @property
    def ten_J(self) -> np.ndarray:
        """(N, ntendon, nv) moments of tendons: d length / d q"""
    @property
    def sensordata(self) -> np.ndarray:
        """(N, nsensordata) readings of the sensors, in MuJoCo's units and order"""

class ReferenceFields:
    """Arrays of a reference, in float64."""

    @property
    def act(self) -> np.ndarray:
        """(na,) actuator activations"""
    @act.setter
    def act(self, value: ArrayLike) -> None: ...
    @property
    def act_dot(self) -> np.ndarray:
        """(na,) rates of the activations [1/s]"""
    @property
    def actuator_force(self) -> np.ndarray:
        """(nactuator,) scalar force of each actuator [N, N m]"""
    @property
    def actuator_length(self) -> np.ndarray:
        """(nactuator,) lengths of the actuators [m, rad]"""
    @property
    def actuator_moment(self) -> np.ndarray:
        """(nactuator, nv) moments of the actuators: d length / d q"""
    @property
    def actuator_velocity(self) -> np.ndarray:
        """(nactuator,) velocities of the actuators [m/s, rad/s]"""
    @property
    def cacc(self) -> np.ndarray:
        """(nbody, 6) body accelerations (angular, linear) about the tree's centre of mass [rad/s^2, m/s^2]"""
    @property
    def cfrc_ext(self) -> np.ndarray:
        """(nbody, 6) moment and force on each body from outside, about the tree's centre of mass [N m, N]"""
    @property
    def cfrc_int(self) -> np.ndarray:
        """(nbody, 6) moment and force on each body from its parent, about the tree's centre of mass [N m, N]"""
    @property
    def ctrl(self) -> np.ndarray:
        """(nu,) controls"""
    @ctrl.setter
    def ctrl(self, value: ArrayLike) -> None: ...
    @property
    def ctrl_history(self) -> np.ndarray:
        """(nctrlhist,) last controls of actuators with a delay, oldest first, control by control"""
    @ctrl_history.setter
    def ctrl_history(self, value: ArrayLike) -> None: ...
    @property
    def cvel(self) -> np.ndarray:
        """(nbody, 6) body velocities (angular, linear) about the tree's centre of mass"""
    @property
    def energy(self) -> np.ndarray:
        """(2,) potential and kinetic energy [J]"""
    @property
    def geom_xmat(self) -> np.ndarray:
        """(ngeom, 9) orientations of geoms, row-major"""
    @property
    def geom_xpos(self) -> np.ndarray:
        """(ngeom, 3) positions of geoms [m]"""
    @property
    def mocap_pos(self) -> np.ndarray:
        """(nmocap, 3) positions of mocap bodies [m]"""
    @mocap_pos.setter
    def mocap_pos(self, value: ArrayLike) -> None: ...
    @property
    def mocap_quat(self) -> np.ndarray:
        """(nmocap, 4) orientations of mocap bodies"""
    @mocap_quat.setter
    def mocap_quat(self, value: ArrayLike) -> None: ...
    @property
    def qacc(self) -> np.ndarray:
        """(nv,) joint accelerations [m/s^2, rad/s^2]"""
    @property
    def qacc_smooth(self) -> np.ndarray:
        """(nv,) joint accelerations without constraint forces"""
    @property
    def qfrc_actuator(self) -> np.ndarray:
        """(nv,) actuator forces on the joints [N, N m]"""
    @property
    def qfrc_applied(self) -> np.ndarray:
        """(nv,) generalized forces applied by the user [N, N m]"""
    @qfrc_applied.setter
    def qfrc_applied(self, value: ArrayLike) -> None: ...
    @property
    def qfrc_bias(self) -> np.ndarray:
        """(nv,) Coriolis, centrifugal and gravity forces (on the left) [N, N m]"""
    @property
    def qfrc_constraint(self) -> np.ndarray:
        """(nv,) constraint forces on the joints [N, N m]"""
    @property
    def qfrc_damper(self) -> np.ndarray:
        """(nv,) dampers of joints and tendons [N, N m]"""
    @property
    def qfrc_fluid(self) -> np.ndarray:
        """(nv,) forces of a medium: drag, lift, added mass [N, N m]"""
    @property
    def qfrc_gravcomp(self) -> np.ndarray:
        """(nv,) gravity compensation [N, N m]"""
    @property
    def qfrc_passive(self) -> np.ndarray:
        """(nv,) springs, dampers, fluid, gravity compensation [N, N m]"""
    @property
    def qfrc_smooth(self) -> np.ndarray:
        """(nv,) all forces but those of constraints [N, N m]"""
    @property
    def qfrc_spring(self) -> np.ndarray:
        """(nv,) springs of joints and tendons [N, N m]"""
    @property
    def qpos(self) -> np.ndarray:
        """(nq,) joint positions, MuJoCo's layout [m, rad, unit quaternions w x y z]"""
    @qpos.setter
    def qpos(self, value: ArrayLike) -> None: ...
    @property
    def qvel(self) -> np.ndarray:
        """(nv,) joint velocities [m/s, rad/s]"""
    @qvel.setter
    def qvel(self, value: ArrayLike) -> None: ...
    @property
    def sensordata(self) -> np.ndarray:
        """(nsensordata,) readings of the sensors, in MuJoCo's units and order"""
    @property
    def site_xmat(self) -> np.ndarray:
        """(nsite, 9) orientations of sites, row-major"""
    @property
    def site_xpos(self) -> np.ndarray:
        """(nsite, 3) positions of sites [m]"""
    @property
    def subtree_angmom(self) -> np.ndarray:
        """(nbody, 3) angular momenta of subtrees about their centres of mass [kg m^2/s]"""
    @property
    def subtree_com(self) -> np.ndarray:
        """(nbody, 3) centres of mass of subtrees [m]"""
    @property
    def subtree_linvel(self) -> np.ndarray:
        """(nbody, 3) velocities of the centres of mass of subtrees [m/s]"""
    @property
    def ten_J(self) -> np.ndarray:
        """(ntendon, nv) moments of tendons: d length / d q"""
    @property
    def ten_length(self) -> np.ndarray:
        """(ntendon,) lengths of tendons [m, rad]"""
    @property
    def ten_velocity(self) -> np.ndarray:
        """(ntendon,) rates of the lengths of tendons [m/s, rad/s]"""
    @property
    def xanchor(self) -> np.ndarray:
        """(njnt, 3) joint anchors [m]"""
    @property
    def xaxis(self) -> np.ndarray:
        """(njnt, 3) joint axes"""
    @property
    def xfrc_applied(self) -> np.ndarray:
        """(nbody, 6) force and torque on each body at its centre of mass, world axes [N, N m]"""
    @xfrc_applied.setter
    def xfrc_applied(self, value: ArrayLike) -> None: ...
    @property
    def ximat(self) -> np.ndarray:
        """(nbody, 9) orientations of the principal axes of inertia, row-major"""
    @property
    def xipos(self) -> np.ndarray:
        """(nbody, 3) centres of mass of bodies [m]"""
    @property
    def xmat(self) -> np.ndarray:
        """(nbody, 9) orientations of body frames, row-major"""
    @property
    def xpos(self) -> np.ndarray:
        """(nbody, 3) positions of body frames [m]"""
    @property
    def xquat(self) -> np.ndarray:
        """(nbody, 4) orientations of body frames"""

class ModelFields:
    """MuJoCo's arrays of a model, read-only."""

    @property
    def body_parentid(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_rootid(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_weldid(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_mocapid(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_jntnum(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_jntadr(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_dofnum(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_dofadr(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_geomnum(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_geomadr(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_simple(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def body_pos(self) -> np.ndarray:
        """(nbody, 3) MuJoCo's, float64"""
    @property
    def body_quat(self) -> np.ndarray:
        """(nbody, 4) MuJoCo's, float64"""
    @property
    def body_ipos(self) -> np.ndarray:
        """(nbody, 3) MuJoCo's, float64"""
    @property
    def body_iquat(self) -> np.ndarray:
        """(nbody, 4) MuJoCo's, float64"""
    @property
    def body_mass(self) -> np.ndarray:
        """(nbody,) MuJoCo's, float64"""
    @property
    def body_subtreemass(self) -> np.ndarray:
        """(nbody,) MuJoCo's, float64"""
    @property
    def body_inertia(self) -> np.ndarray:
        """(nbody, 3) MuJoCo's, float64"""
    @property
    def body_invweight0(self) -> np.ndarray:
        """(nbody, 2) MuJoCo's, float64"""
    @property
    def body_gravcomp(self) -> np.ndarray:
        """(nbody,) MuJoCo's, float64"""
    @property
    def jnt_type(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def jnt_qposadr(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def jnt_dofadr(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def jnt_bodyid(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def jnt_limited(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def jnt_actfrclimited(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def jnt_actgravcomp(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def jnt_solref(self) -> np.ndarray:
        """(njnt, 2) MuJoCo's, float64"""
    @property
    def jnt_solimp(self) -> np.ndarray:
        """(njnt, 5) MuJoCo's, float64"""
    @property
    def jnt_pos(self) -> np.ndarray:
        """(njnt, 3) MuJoCo's, float64"""
    @property
    def jnt_axis(self) -> np.ndarray:
        """(njnt, 3) MuJoCo's, float64"""
    @property
    def jnt_stiffness(self) -> np.ndarray:
        """(njnt,) MuJoCo's, float64"""
    @property
    def jnt_range(self) -> np.ndarray:
        """(njnt, 2) MuJoCo's, float64"""
    @property
    def jnt_actfrcrange(self) -> np.ndarray:
        """(njnt, 2) MuJoCo's, float64"""
    @property
    def jnt_margin(self) -> np.ndarray:
        """(njnt,) MuJoCo's, float64"""
    @property
    def dof_bodyid(self) -> np.ndarray:
        """(nv,) MuJoCo's, integers"""
    @property
    def dof_jntid(self) -> np.ndarray:
        """(nv,) MuJoCo's, integers"""
    @property
    def dof_parentid(self) -> np.ndarray:
        """(nv,) MuJoCo's, integers"""
    @property
    def dof_solref(self) -> np.ndarray:
        """(nv, 2) MuJoCo's, float64"""
    @property
    def dof_solimp(self) -> np.ndarray:
        """(nv, 5) MuJoCo's, float64"""
    @property
    def dof_frictionloss(self) -> np.ndarray:
        """(nv,) MuJoCo's, float64"""
    @property
    def dof_armature(self) -> np.ndarray:
        """(nv,) MuJoCo's, float64"""
    @property
    def dof_damping(self) -> np.ndarray:
        """(nv,) MuJoCo's, float64"""
    @property
    def dof_invweight0(self) -> np.ndarray:
        """(nv,) MuJoCo's, float64"""
    @property
    def geom_type(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_contype(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_conaffinity(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_condim(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_bodyid(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_dataid(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_group(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_priority(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def geom_solmix(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, float64"""
    @property
    def geom_solref(self) -> np.ndarray:
        """(ngeom, 2) MuJoCo's, float64"""
    @property
    def geom_solimp(self) -> np.ndarray:
        """(ngeom, 5) MuJoCo's, float64"""
    @property
    def geom_size(self) -> np.ndarray:
        """(ngeom, 3) MuJoCo's, float64"""
    @property
    def geom_aabb(self) -> np.ndarray:
        """(ngeom, 6) MuJoCo's, float64"""
    @property
    def geom_rbound(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, float64"""
    @property
    def geom_pos(self) -> np.ndarray:
        """(ngeom, 3) MuJoCo's, float64"""
    @property
    def geom_quat(self) -> np.ndarray:
        """(ngeom, 4) MuJoCo's, float64"""
    @property
    def geom_friction(self) -> np.ndarray:
        """(ngeom, 3) MuJoCo's, float64"""
    @property
    def geom_margin(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, float64"""
    @property
    def geom_gap(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, float64"""
    @property
    def geom_fluid(self) -> np.ndarray:
        """(ngeom, 12) MuJoCo's, float64"""
    @property
    def geom_rgba(self) -> np.ndarray:
        """(ngeom, 4) MuJoCo's, float64"""
    @property
    def site_type(self) -> np.ndarray:
        """(nsite,) MuJoCo's, integers"""
    @property
    def site_bodyid(self) -> np.ndarray:
        """(nsite,) MuJoCo's, integers"""
    @property
    def site_size(self) -> np.ndarray:
        """(nsite, 3) MuJoCo's, float64"""
    @property
    def site_pos(self) -> np.ndarray:
        """(nsite, 3) MuJoCo's, float64"""
    @property
    def site_quat(self) -> np.ndarray:
        """(nsite, 4) MuJoCo's, float64"""
    @property
    def pair_dim(self) -> np.ndarray:
        """(npair,) MuJoCo's, integers"""
    @property
    def pair_geom1(self) -> np.ndarray:
        """(npair,) MuJoCo's, integers"""
    @property
    def pair_geom2(self) -> np.ndarray:
        """(npair,) MuJoCo's, integers"""
    @property
    def pair_solref(self) -> np.ndarray:
        """(npair, 2) MuJoCo's, float64"""
    @property
    def pair_solreffriction(self) -> np.ndarray:
        """(npair, 2) MuJoCo's, float64"""
    @property
    def pair_solimp(self) -> np.ndarray:
        """(npair, 5) MuJoCo's, float64"""
    @property
    def pair_margin(self) -> np.ndarray:
        """(npair,) MuJoCo's, float64"""
    @property
    def pair_gap(self) -> np.ndarray:
        """(npair,) MuJoCo's, float64"""
    @property
    def pair_friction(self) -> np.ndarray:
        """(npair, 5) MuJoCo's, float64"""
    @property
    def exclude_signature(self) -> np.ndarray:
        """(nexclude,) MuJoCo's, integers"""
    @property
    def eq_type(self) -> np.ndarray:
        """(neq,) MuJoCo's, integers"""
    @property
    def eq_obj1id(self) -> np.ndarray:
        """(neq,) MuJoCo's, integers"""
    @property
    def eq_obj2id(self) -> np.ndarray:
        """(neq,) MuJoCo's, integers"""
    @property
    def eq_objtype(self) -> np.ndarray:
        """(neq,) MuJoCo's, integers"""
    @property
    def eq_active0(self) -> np.ndarray:
        """(neq,) MuJoCo's, integers"""
    @property
    def eq_solref(self) -> np.ndarray:
        """(neq, 2) MuJoCo's, float64"""
    @property
    def eq_solimp(self) -> np.ndarray:
        """(neq, 5) MuJoCo's, float64"""
    @property
    def eq_data(self) -> np.ndarray:
        """(neq, ...) MuJoCo's, float64"""
    @property
    def tendon_adr(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, integers"""
    @property
    def tendon_num(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, integers"""
    @property
    def tendon_limited(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, integers"""
    @property
    def tendon_actfrclimited(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, integers"""
    @property
    def tendon_solref_lim(self) -> np.ndarray:
        """(ntendon, 2) MuJoCo's, float64"""
    @property
    def tendon_solimp_lim(self) -> np.ndarray:
        """(ntendon, 5) MuJoCo's, float64"""
    @property
    def tendon_solref_fri(self) -> np.ndarray:
        """(ntendon, 2) MuJoCo's, float64"""
    @property
    def tendon_solimp_fri(self) -> np.ndarray:
        """(ntendon, 5) MuJoCo's, float64"""
    @property
    def tendon_range(self) -> np.ndarray:
        """(ntendon, 2) MuJoCo's, float64"""
    @property
    def tendon_actfrcrange(self) -> np.ndarray:
        """(ntendon, 2) MuJoCo's, float64"""
    @property
    def tendon_margin(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def tendon_stiffness(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def tendon_damping(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def tendon_armature(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def tendon_frictionloss(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def tendon_lengthspring(self) -> np.ndarray:
        """(ntendon, 2) MuJoCo's, float64"""
    @property
    def tendon_length0(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def tendon_invweight0(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def wrap_type(self) -> np.ndarray:
        """(nwrap,) MuJoCo's, integers"""
    @property
    def wrap_objid(self) -> np.ndarray:
        """(nwrap,) MuJoCo's, integers"""
    @property
    def wrap_prm(self) -> np.ndarray:
        """(nwrap,) MuJoCo's, float64"""
    @property
    def actuator_trntype(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_dyntype(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_gaintype(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_biastype(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_trnid(self) -> np.ndarray:
        """(nactuator, 2) MuJoCo's, integers"""
    @property
    def actuator_actadr(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_actnum(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_group(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_ctrllimited(self) -> np.ndarray:
        """(nu,) MuJoCo's, integers"""
    @property
    def actuator_forcelimited(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_actlimited(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_actearly(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_dynprm(self) -> np.ndarray:
        """(nactuator, 10) MuJoCo's, float64"""
    @property
    def actuator_gainprm(self) -> np.ndarray:
        """(nactuator, 10) MuJoCo's, float64"""
    @property
    def actuator_biasprm(self) -> np.ndarray:
        """(nactuator, 10) MuJoCo's, float64"""
    @property
    def actuator_ctrlrange(self) -> np.ndarray:
        """(nu, 2) MuJoCo's, float64"""
    @property
    def actuator_forcerange(self) -> np.ndarray:
        """(nactuator, 2) MuJoCo's, float64"""
    @property
    def actuator_actrange(self) -> np.ndarray:
        """(nactuator, 2) MuJoCo's, float64"""
    @property
    def actuator_gear(self) -> np.ndarray:
        """(nactuator, 6) MuJoCo's, float64"""
    @property
    def actuator_length0(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, float64"""
    @property
    def actuator_acc0(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, float64"""
    @property
    def actuator_lengthrange(self) -> np.ndarray:
        """(nactuator, 2) MuJoCo's, float64"""
    @property
    def actuator_cranklength(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, float64"""
    @property
    def sensor_type(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def sensor_objtype(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def sensor_objid(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def sensor_reftype(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def sensor_refid(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def sensor_intprm(self) -> np.ndarray:
        """(nsensor, ...) MuJoCo's, integers"""
    @property
    def sensor_dim(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def sensor_adr(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def sensor_cutoff(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, float64"""
    @property
    def key_time(self) -> np.ndarray:
        """(nkey,) MuJoCo's, float64"""
    @property
    def key_qpos(self) -> np.ndarray:
        """(nkey, nq) MuJoCo's, float64"""
    @property
    def key_qvel(self) -> np.ndarray:
        """(nkey, nv) MuJoCo's, float64"""
    @property
    def key_act(self) -> np.ndarray:
        """(nkey, na) MuJoCo's, float64"""
    @property
    def key_ctrl(self) -> np.ndarray:
        """(nkey, nu) MuJoCo's, float64"""
    @property
    def key_mpos(self) -> np.ndarray:
        """(nkey, ...) MuJoCo's, float64"""
    @property
    def key_mquat(self) -> np.ndarray:
        """(nkey, ...) MuJoCo's, float64"""
    @property
    def qpos0(self) -> np.ndarray:
        """(nq,) MuJoCo's, float64"""
    @property
    def qpos_spring(self) -> np.ndarray:
        """(nq,) MuJoCo's, float64"""
    @property
    def mesh_vertadr(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def mesh_vertnum(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def mesh_graphadr(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def mesh_vert(self) -> np.ndarray:
        """(nmeshvert, 3) MuJoCo's, float64"""
    @property
    def mesh_graph(self) -> np.ndarray:
        """(nmeshgraph,) MuJoCo's, integers"""
    @property
    def mesh_faceadr(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def mesh_facenum(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def mesh_face(self) -> np.ndarray:
        """(nmeshface, 3) MuJoCo's, integers"""
    @property
    def mesh_polyadr(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def mesh_polynum(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def mesh_polynormal(self) -> np.ndarray:
        """(nmeshpoly, 3) MuJoCo's, float64"""
    @property
    def mesh_polyvertadr(self) -> np.ndarray:
        """(nmeshpoly,) MuJoCo's, integers"""
    @property
    def mesh_polyvertnum(self) -> np.ndarray:
        """(nmeshpoly,) MuJoCo's, integers"""
    @property
    def mesh_polyvert(self) -> np.ndarray:
        """(nmeshpolyvert,) MuJoCo's, integers"""
    @property
    def mesh_polymapadr(self) -> np.ndarray:
        """(nmeshvert,) MuJoCo's, integers"""
    @property
    def mesh_polymapnum(self) -> np.ndarray:
        """(nmeshvert,) MuJoCo's, integers"""
    @property
    def mesh_polymap(self) -> np.ndarray:
        """(nmeshpolymap,) MuJoCo's, integers"""
    @property
    def hfield_size(self) -> np.ndarray:
        """(nhfield, 4) MuJoCo's, float64"""
    @property
    def hfield_nrow(self) -> np.ndarray:
        """(nhfield,) MuJoCo's, integers"""
    @property
    def hfield_ncol(self) -> np.ndarray:
        """(nhfield,) MuJoCo's, integers"""
    @property
    def hfield_adr(self) -> np.ndarray:
        """(nhfield,) MuJoCo's, integers"""
    @property
    def hfield_data(self) -> np.ndarray:
        """(nhfielddata,) MuJoCo's, float64"""
    @property
    def numeric_adr(self) -> np.ndarray:
        """(nnumeric,) MuJoCo's, integers"""
    @property
    def numeric_size(self) -> np.ndarray:
        """(nnumeric,) MuJoCo's, integers"""
    @property
    def numeric_data(self) -> np.ndarray:
        """(nnumericdata,) MuJoCo's, float64"""
    @property
    def text_adr(self) -> np.ndarray:
        """(ntext,) MuJoCo's, integers"""
    @property
    def text_size(self) -> np.ndarray:
        """(ntext,) MuJoCo's, integers"""
    @property
    def name_bodyadr(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def name_jntadr(self) -> np.ndarray:
        """(njnt,) MuJoCo's, integers"""
    @property
    def name_geomadr(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def name_siteadr(self) -> np.ndarray:
        """(nsite,) MuJoCo's, integers"""
    @property
    def name_meshadr(self) -> np.ndarray:
        """(nmesh,) MuJoCo's, integers"""
    @property
    def name_hfieldadr(self) -> np.ndarray:
        """(nhfield,) MuJoCo's, integers"""
    @property
    def name_pairadr(self) -> np.ndarray:
        """(npair,) MuJoCo's, integers"""
    @property
    def name_eqadr(self) -> np.ndarray:
        """(neq,) MuJoCo's, integers"""
    @property
    def name_tendonadr(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, integers"""
    @property
    def name_actuatoradr(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def name_sensoradr(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def name_keyadr(self) -> np.ndarray:
        """(nkey,) MuJoCo's, integers"""
    @property
    def name_numericadr(self) -> np.ndarray:
        """(nnumeric,) MuJoCo's, integers"""
    @property
    def name_textadr(self) -> np.ndarray:
        """(ntext,) MuJoCo's, integers"""
    @property
    def dof_dampingpoly(self) -> np.ndarray:
        """(nv, ...) MuJoCo's, float64"""
    @property
    def jnt_stiffnesspoly(self) -> np.ndarray:
        """(njnt, ...) MuJoCo's, float64"""
    @property
    def jnt_springyield(self) -> np.ndarray:
        """(njnt,) MuJoCo's, float64"""
    @property
    def tendon_dampingpoly(self) -> np.ndarray:
        """(ntendon, ...) MuJoCo's, float64"""
    @property
    def tendon_stiffnesspoly(self) -> np.ndarray:
        """(ntendon, ...) MuJoCo's, float64"""
    @property
    def tendon_springyield(self) -> np.ndarray:
        """(ntendon,) MuJoCo's, float64"""
    @property
    def geom_adhesion(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, float64"""
    @property
    def geom_surfacevel(self) -> np.ndarray:
        """(ngeom, 6) MuJoCo's, float64"""
    @property
    def pair_adhesion(self) -> np.ndarray:
        """(npair,) MuJoCo's, float64"""
    @property
    def geom_plugin(self) -> np.ndarray:
        """(ngeom,) MuJoCo's, integers"""
    @property
    def body_plugin(self) -> np.ndarray:
        """(nbody,) MuJoCo's, integers"""
    @property
    def actuator_plugin(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def sensor_plugin(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, integers"""
    @property
    def actuator_ctrlnum(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_ctrladr(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_outnum(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_ctrlspec(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, integers"""
    @property
    def actuator_delay(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, float64"""
    @property
    def actuator_history(self) -> np.ndarray:
        """(nactuator, 2) MuJoCo's, integers"""
    @property
    def actuator_damping(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, float64"""
    @property
    def actuator_dampingpoly(self) -> np.ndarray:
        """(nactuator, ...) MuJoCo's, float64"""
    @property
    def actuator_armature(self) -> np.ndarray:
        """(nactuator,) MuJoCo's, float64"""
    @property
    def sensor_delay(self) -> np.ndarray:
        """(nsensor,) MuJoCo's, float64"""
    @property
    def sensor_interval(self) -> np.ndarray:
        """(nsensor, 2) MuJoCo's, float64"""
