// THE table: every array a kernel can read or write. One row feeds the views, the layout of scratch, allocation,
// save and load, the Python names and their docs.
//
//   TABLE_I(name, meaning)            model, integers, shared by all environments
//   TABLE_R(name, meaning)            model, real numbers, each shared or per environment
//   ROW_R(table, meaning)             likewise, in rows of several numbers, which
//   COLUMN(table, name, width, meaning)   name, one after the other, and
//   END_ROW(table)                    ends
//   SCRATCH(name, size, stage, meaning)   workspace of one environment during a step
//   ALIAS(name, array, stage, meaning)    what a SCRATCH array is from this stage on
//   SLOT(name, width, stage, meaning)     likewise, `width` numbers of every contact slot
//   STATE(name, width, role, meaning)     kept between steps, (num_envs, width), written by the user too
//   OUTPUT(name, width, shape, meaning)   derived, (num_envs, width), written when wanted by a function that
//   OUTPUT_STAGE(function)                names (kernels/output/outputs.h); or
//   COPIED(name, array, width, shape, meaning)   what stands in this array of the workspace
//
// Sizes are written in the fields of Sizes (views.h). The name of a scratch array is that of the quantity in
// MuJoCo's or Featherstone's vocabulary; the stage is the first that
// writes it; accesses.inl has all that do, and all that read it.

#ifndef TABLE_I
#define TABLE_I(name, meaning)
#endif
#ifndef TABLE_R
#define TABLE_R(name, meaning)
#endif
#ifndef ROW_R
#define ROW_R(table, meaning) TABLE_R(table, meaning)
#endif
#ifndef COLUMN
#define COLUMN(table, name, width, meaning)
#endif
#ifndef END_ROW
#define END_ROW(table)
#endif
// what a contact is between stages, in its slot: narrow phase, snapshots and whoever drops a contact go through
// these; width is that of one slot
#ifndef SLOT
#define SLOT(name, width, stage, meaning) SCRATCH(name, width * ncon, stage, meaning)
#endif
#ifndef ALIAS
#define ALIAS(name, array, stage, meaning)
#endif
#ifndef SCRATCH
#define SCRATCH(name, size, stage, meaning)
#endif
// What a step does with an array of the state is its role. All but GIVEN have workspace of the same name.
//   CARRIED   loaded at the start of a call, checked, advanced by the step, stored at its end
//   HINT      likewise, but where the next solve starts alone: not checked
//   DRIVE     loaded and checked; read by the step
//   GIVEN     read where it lies, by the stage that needs it (env_io.h)
// Whoever defines these instead of STATE has the rows of that role: load, check, store, snapshots are made so.
#ifndef CARRIED
#define CARRIED(name, width) SCRATCH(name, width, load, "")
#endif
#ifndef HINT
#define HINT(name, width) SCRATCH(name, width, load, "")
#endif
#ifndef DRIVE
#define DRIVE(name, width) SCRATCH(name, width, load, "")
#endif
#ifndef GIVEN
#define GIVEN(name, width)
#endif
#ifndef STATE
#define STATE(name, width, role, meaning) role(name, width)
#endif
#ifndef OUTPUT
#define OUTPUT(name, width, shape, meaning)
#endif
#ifndef COPIED
#define COPIED(name, array, width, shape, meaning) OUTPUT(name, width, shape, meaning)
#endif
#ifndef OUTPUT_STAGE
#define OUTPUT_STAGE(function)
#endif

// tree -----------------------------------------------------------------------------------------------------
TABLE_I(level_adr, "first entry of each tree level in level_body; nlevel + 1 entries")
TABLE_I(level_body, "bodies but the world, by level, then by id")
TABLE_I(child_adr, "first entry of each body in child_body; nbody + 1 entries")
TABLE_I(child_body, "children of each body, by id")
TABLE_I(body_parent, "parent body")
TABLE_I(body_tree, "kinematic tree of the body; -1 where it cannot move")
TABLE_I(body_jntadr, "first joint")
TABLE_I(body_jntnum, "number of joints")
TABLE_I(body_mocap, "mocap index or -1")
TABLE_I(tree_adr, "first entry of each tree in tree_body; ntree + 1 entries")
TABLE_I(tree_body, "bodies of each tree, by id; also those welded to the world below its root")
TABLE_I(body_dof, "last dof that moves each body; -1 where none does")
TABLE_I(tree_dof, "first dof of each tree; ntree + 1 entries")
TABLE_I(tree_pad, "the same with the dofs of each tree rounded up to eights")
TABLE_I(tree_H, "where the block of each tree on the diagonal of H begins; ntree + 1 entries")
TABLE_R(body_pos, "position in the parent's frame")
TABLE_R(body_quat, "orientation in the parent's frame")
TABLE_R(body_ipos, "centre of mass in the body's frame")
TABLE_R(body_iquat, "principal axes in the body's frame")
TABLE_R(body_mass, "mass")
TABLE_R(body_inertia, "principal moments of inertia")
TABLE_R(tree_invmass, "one over the mass of the tree")
TABLE_R(body_gravcomp, "gravity compensation")
ROW_R(body_fluid, "drag of the inertia box")
COLUMN(body_fluid, fluid_viscous_torque, 1, "torque by angular velocity")
COLUMN(body_fluid, fluid_viscous_force, 1, "force by velocity")
COLUMN(body_fluid, fluid_quadratic_force, 3, "force by the square of the velocity, along each axis")
COLUMN(body_fluid, fluid_quadratic_torque, 3, "torque by the square of the angular velocity, about each axis")
END_ROW(body_fluid)
TABLE_R(gravity, "gravity (3)")
// joints and dofs
TABLE_I(jnt_type, "JointType")
TABLE_I(jnt_body, "body of the joint")
TABLE_I(jnt_qposadr, "first position")
TABLE_I(jnt_dofadr, "first dof")
TABLE_I(jnt_actgravcomp, "gravity compensation acts through the joint's actuators")
TABLE_I(jnt_actfrclimited, "total actuator force is limited")
TABLE_R(jnt_pos, "anchor in the body's frame")
TABLE_R(jnt_axis, "axis in the body's frame")
TABLE_R(jnt_stiffness, "spring")
ROW_R(jnt_actfrcrange, "range of the total actuator force")
COLUMN(jnt_actfrcrange, jnt_actfrc_lower, 1, "least")
COLUMN(jnt_actfrcrange, jnt_actfrc_upper, 1, "most")
END_ROW(jnt_actfrcrange)
TABLE_I(free_jnt, "free joints whose body is alone in its tree")
TABLE_I(dof_body, "body of the dof")
TABLE_I(dof_jnt, "joint of the dof")
TABLE_I(depth_adr, "first entry of each depth in depth_dof; ndepth + 1 entries")
TABLE_I(depth_dof, "dofs by the number of their ancestors, then by id")
TABLE_I(M_rowadr, "first entry of row i of M: the dof itself, then its ancestors up to the root; nv + 1 entries")
TABLE_I(M_col, "dof of each entry of M")
TABLE_I(Mt_adr, "first entry of column i of M below the diagonal in Mt_entry; nv + 1 entries")
TABLE_I(Mt_entry, "entries of M by column, rows in order")
TABLE_I(Mt_row, "rows of those entries")
TABLE_R(dof_armature, "armature")
TABLE_R(dof_damping, "damping")
TABLE_R(qpos0, "reference configuration")
TABLE_R(qpos_spring, "where joint springs are relaxed")
// actuators
TABLE_I(act_trn, "TrnType: a joint, a joint in its parent, a tendon")
TABLE_I(act_id, "joint or tendon")
TABLE_I(act_dyn, "DynType")
TABLE_I(act_adr, "activation or -1")
TABLE_I(act_flags, "bits of ActuatorFlag")
TABLE_I(act_gain, "GainType")
TABLE_I(act_bias, "BiasType")
ROW_R(act_gainprm, "gain: of an affine one constant + length l + velocity l'")
COLUMN(act_gainprm, act_gain_constant, 1, "constant")
COLUMN(act_gainprm, act_gain_length, 1, "by length")
COLUMN(act_gainprm, act_gain_velocity, 1, "by velocity")
END_ROW(act_gainprm)
ROW_R(act_biasprm, "bias force, likewise")
COLUMN(act_biasprm, act_bias_constant, 1, "constant")
COLUMN(act_biasprm, act_bias_length, 1, "by length")
COLUMN(act_biasprm, act_bias_velocity, 1, "by velocity")
END_ROW(act_biasprm)
TABLE_R(act_dynprm, "time constant")
ROW_R(act_ctrlrange, "range of the control")
COLUMN(act_ctrlrange, act_ctrl_lower, 1, "least")
COLUMN(act_ctrlrange, act_ctrl_upper, 1, "most")
END_ROW(act_ctrlrange)
ROW_R(act_forcerange, "range of the force")
COLUMN(act_forcerange, act_force_lower, 1, "least")
COLUMN(act_forcerange, act_force_upper, 1, "most")
END_ROW(act_forcerange)
ROW_R(act_actrange, "range of the activation")
COLUMN(act_actrange, act_act_lower, 1, "least")
COLUMN(act_actrange, act_act_upper, 1, "most")
END_ROW(act_actrange)
ROW_R(act_gear, "what the length is multiplied by")
COLUMN(act_gear, act_gear, 6, "of a free joint one for each dof, of a ball the first three, else the first")
END_ROW(act_gear)
TABLE_I(dofact_adr, "first entry of each dof in dofact; nv + 1 entries")
TABLE_I(dofact, "pairs (actuator, component of its moment) that act on the dof")
// tendons
TABLE_I(ten_adr, "first entry of each tendon in ten_dof; ntendon + 1 entries")
TABLE_I(ten_dof, "dofs that move a tendon, rising: the entries of its moment")
TABLE_I(dof_ten_adr, "first entry of each dof in dof_ten; nv + 1 entries")
TABLE_I(dof_ten, "pairs (tendon, entry of its moment) that the dof moves")
TABLE_I(fixed_adr, "first joint of each fixed tendon; ntendon + 1 entries")
TABLE_I(fixed_joint, "pairs (entry of the moment, position) of a fixed tendon's joints")
TABLE_R(fixed_coef, "coefficient of each joint")
TABLE_I(path_adr, "first stretch of each spatial tendon; ntendon + 1 entries")
TABLE_I(path_obj, "four a stretch: the sites at its ends, the geom between them or -1, the side site or -1")
TABLE_R(path_scale, "one over the divisor of the pulley of each stretch; shared")
TABLE_I(path_move_adr, "first entry in path_move of the three pieces of each stretch: site to site, site to geom, geom to "
        "site; 3 nstretch + 1 entries")
TABLE_I(path_move, "pairs (entry of the moment, 1 where the dof moves the far end of the piece alone, -1 the near end)")
ROW_R(ten_passive, "passive forces and inertia of a tendon")
COLUMN(ten_passive, ten_stiffness, 1, "spring")
COLUMN(ten_passive, ten_spring_lower, 1, "least length at which it is relaxed")
COLUMN(ten_passive, ten_spring_upper, 1, "largest")
COLUMN(ten_passive, ten_damping, 1, "damping")
COLUMN(ten_passive, ten_armature, 1, "armature")
COLUMN(ten_passive, ten_length0, 1, "length at qpos0")
END_ROW(ten_passive)
TABLE_I(ten_actfrclimited, "total actuator force is limited")
ROW_R(ten_actfrcrange, "range of the total actuator force")
COLUMN(ten_actfrcrange, ten_actfrc_lower, 1, "least")
COLUMN(ten_actfrcrange, ten_actfrc_upper, 1, "most")
END_ROW(ten_actfrcrange)
TABLE_I(tenlim_ten, "limited tendons")
ROW_R(tenlim_param, "how the limits of a tendon push")
COLUMN(tenlim_param, tenlim_lower, 1, "least length")
COLUMN(tenlim_param, tenlim_upper, 1, "largest length")
COLUMN(tenlim_param, tenlim_margin, 1, "as lim_margin")
COLUMN(tenlim_param, tenlim_K, 1, "stiffness")
COLUMN(tenlim_param, tenlim_B, 1, "damping")
COLUMN(tenlim_param, tenlim_approx_A, 1, "approximate A")
COLUMN(tenlim_param, tenlim_solimp, 7, "impedance, as pair_solimp")
END_ROW(tenlim_param)
TABLE_I(tenloss_ten, "tendons with friction loss")
ROW_R(tenloss_param, "how the friction loss of a tendon pushes")
COLUMN(tenloss_param, tenloss_friction, 1, "the largest force")
COLUMN(tenloss_param, tenloss_R, 1, "regularizer")
COLUMN(tenloss_param, tenloss_B, 1, "damping")
END_ROW(tenloss_param)
// geoms that can collide
TABLE_I(geom_body, "body of the collidable geom")
TABLE_R(geom_pos, "position in the body's frame")
TABLE_R(geom_quat, "orientation in the body's frame")
TABLE_R(geom_size, "size")
TABLE_R(geom_rbound, "bounding radius; 0 for planes")
TABLE_I(geom_hull, "hull of a mesh geom, number of a height field; -1 for others")
TABLE_I(hull_adr, "first point of each hull; nhull + 1 entries")
TABLE_I(hull_faceadr, "first face of each hull; nhull + 1 entries")
TABLE_I(hull_corneradr, "first corner of each face; nface + 1 entries")
TABLE_I(hull_corner, "corners of faces, counterclockwise seen from outside, as points of the hull")
TABLE_R(hull_point, "points in the geom's frame; shared")
TABLE_R(hull_normal, "outward normals of faces; shared")
TABLE_I(hfield_nrow, "heights along y of each height field that collides")
TABLE_I(hfield_ncol, "heights along x")
TABLE_I(hfield_adr, "first height of each height field")
TABLE_R(hfield_size, "half lengths along x and y, largest height, depth of the solid (4); shared")
TABLE_R(hfield_height, "heights, row by row along x, in the geom's frame; shared")
// every geom and site, for the outputs
TABLE_I(allgeom_body, "body of each geom")
TABLE_I(allgeom_type, "GeomType of each geom")
TABLE_I(allgeom_visible, "whether rays meet it")
TABLE_I(allgeom_triangle, "pairs: first triangle of a mesh that rangefinders see, and one past its last")
TABLE_R(ray_triangle, "corners of triangles in the frame of the geom (3, 3); shared")
TABLE_R(allgeom_size, "size of each geom")
TABLE_R(allgeom_pos, "position in the body's frame")
TABLE_R(allgeom_quat, "orientation in the body's frame")
TABLE_I(site_body, "body of each site")
TABLE_R(site_pos, "position in the body's frame")
TABLE_R(site_quat, "orientation in the body's frame")
TABLE_I(geom_id, "the model's geom that a collidable geom is")
// sensors
TABLE_I(sensor_type, "SensorType")
TABLE_I(sensor_obj, "what it is attached to: pairs (ObjectType, id)")
TABLE_I(sensor_ref, "what it is seen from, likewise; -1 where there is none")
TABLE_I(sensor_adr, "first number of each sensor in sensordata; nsensor + 1 entries")
TABLE_I(sensor_cut, "SensorCut")
TABLE_I(sensor_prm, "three each: of a contact sensor ContactData, ContactReduction, slots; of a joint limit its limit; of a "
        "rangefinder RayData")
TABLE_I(sensor_pairadr, "of a sensor that looks at contacts, its row of sensor_pairs; else -1")
TABLE_I(sensor_pairs, "(., npair): 1 where contacts of the pair count seen from the first geom, 2 from the second")
TABLE_R(sensor_cutoff, "bound of the reading; 0 where there is none")
TABLE_I(body_lastdof, "last of the dofs that move the body; -1 where none does")
TABLE_I(body_end, "one past the last body that the body carries")
TABLE_I(site_type, "GeomType of each site's shape")
TABLE_R(site_size, "its size")
// candidate pairs, sorted by kind
TABLE_I(pair_adr, "first pair of each kind of collision; kPairKinds + 1 entries")
TABLE_I(pair_geom, "the two collidable geoms, in the order of the pair function")
TABLE_I(pair_dim, "1, 3, 4 or 6")
TABLE_I(pair_order, "place among all pairs as MuJoCo lists their contacts")
TABLE_I(pair_sign, "(npair, nv): +1 where the dof moves only the second geom's body, -1 only the first's, else 0")
TABLE_I(pair_support, "(npair, nword): the dofs that a contact's whitened rows reach, as sets")
TABLE_R(pair_margin, "contacts exist while dist < margin; a gap adds only contacts without force")
ROW_R(pair_friction, "coefficients of friction")
COLUMN(pair_friction, pair_friction, 5, "t1, t2, spin, roll1, roll2")
END_ROW(pair_friction)
TABLE_R(pair_restitution, "share of the approach speed that an impact gives back")
ROW_R(pair_solimp, "impedance")
COLUMN(pair_solimp, pair_solimp, 7, "d0, dmax, width > 0, mid, power, 1/mid^(p-1), 1/(1-mid)^(p-1); clamped")
END_ROW(pair_solimp)
ROW_R(pair_kbb, "the reference acceleration")
COLUMN(pair_kbb, pair_K, 1, "stiffness")
COLUMN(pair_kbb, pair_Bn, 1, "damping on the normal row")
COLUMN(pair_kbb, pair_Bt, 1, "damping on tangent rows")
END_ROW(pair_kbb)
ROW_R(pair_diag, "the regularizer")
COLUMN(pair_diag, pair_approx_A, 1, "approximate A of the first row")
COLUMN(pair_diag, pair_R_scale, 1, "factor from its R to the R of the rows")
END_ROW(pair_diag)
// joint limits and friction loss
TABLE_I(lim_jnt, "limited slide and hinge joints")
TABLE_R(lim_range, "lower, upper")
ROW_R(lim_param, "how a limit pushes")
COLUMN(lim_param, lim_margin, 1, "the row exists while the distance to the limit is less")
COLUMN(lim_param, lim_K, 1, "stiffness")
COLUMN(lim_param, lim_B, 1, "damping")
COLUMN(lim_param, lim_approx_A, 1, "approximate A")
COLUMN(lim_param, lim_solimp, 7, "impedance, as pair_solimp")
END_ROW(lim_param)
TABLE_I(loss_dof, "dofs with friction loss")
ROW_R(loss_param, "how friction loss pushes")
COLUMN(loss_param, loss_friction, 1, "the largest force")
COLUMN(loss_param, loss_R, 1, "regularizer")
COLUMN(loss_param, loss_B, 1, "damping")
END_ROW(loss_param)
TABLE_I(single_dof, "dofs whose single-dof row is needed: limits and friction loss")
TABLE_I(single_lim, "first limit of each single-dof row's dof in lim_jnt; nsingle + 1 entries")
TABLE_I(single_loss, "first friction loss of each single-dof row's dof in loss_dof; nsingle + 1 entries")
TABLE_I(single_support, "(nsingle, nword): the dofs that a single-dof row reaches once whitened, as sets")
TABLE_I(ball_jnt, "limited ball joints")
ROW_R(ball_param, "how the limit of a ball joint pushes")
COLUMN(ball_param, ball_range, 1, "the largest angle")
COLUMN(ball_param, ball_margin, 1, "as lim_margin")
COLUMN(ball_param, ball_K, 1, "stiffness")
COLUMN(ball_param, ball_B, 1, "damping")
COLUMN(ball_param, ball_approx_A, 1, "approximate A")
COLUMN(ball_param, ball_solimp, 7, "impedance, as pair_solimp")
END_ROW(ball_param)
// equality constraints; dense scalar rows are those of limited balls, then theirs, then those of tendons
TABLE_I(eq_type, "EqType: a connect, a weld, a coupling of joints or tendons")
TABLE_I(eq_obj, "the two bodies, joints or tendons; -1 where there is no second joint or tendon")
TABLE_I(eq_row, "first dense scalar row")
TABLE_I(eq_moves, "(neq, nv): 1 where the dof moves the first body, plus 2 where it moves the second")
TABLE_I(dense_support, "(ndense, nword): the dofs that a dense scalar row reaches once whitened, as sets")
TABLE_R(eq_point, "the points tied together, in the frames of their bodies (2, 3)")
TABLE_R(eq_quat, "the orientations tied together, likewise (2, 4)")
ROW_R(eq_poly, "numbers of one type of equality")
COLUMN(eq_poly, eq_poly, 5, "joint, tendon: coefficients of the polynomial; weld: torquescale first")
END_ROW(eq_poly)
ROW_R(eq_param, "how an equality pushes")
COLUMN(eq_param, eq_K, 1, "stiffness")
COLUMN(eq_param, eq_B, 1, "damping")
COLUMN(eq_param, eq_approx_A, 2, "approximate A of translations, of rotations")
COLUMN(eq_param, eq_solimp, 7, "impedance, as pair_solimp")
END_ROW(eq_param)

// kept between steps -------------------------------------------------------------------------------------------
STATE(qpos, nq, CARRIED, "joint positions, MuJoCo's layout [m, rad, unit quaternions w x y z]")
STATE(qvel, nv, CARRIED, "joint velocities [m/s, rad/s]")
STATE(act, na, CARRIED, "actuator activations")
STATE(ctrl, nu, DRIVE, "controls")
STATE(qfrc_applied, nv, DRIVE, "generalized forces applied by the user [N, N m]")
STATE(xfrc_applied, 6 * nbody, GIVEN, "force and torque on each body at its centre of mass, world axes [N, N m]")
STATE(mocap_pos, 3 * nmocap, GIVEN, "positions of mocap bodies [m]")
STATE(mocap_quat, 4 * nmocap, GIVEN, "orientations of mocap bodies")
STATE(qacc_warmstart, nv, HINT, "accelerations of the last solve: where the next one starts")
STATE(anchors, 7 * nanchor, CARRIED,
      "soft_anchor, each contact of the last step: pair + 1 in touch, -1 apart, 0 none; place on the second body, "
      "stretch in the world [m]")
// fields of somebody else's: a file of rows like these
#if defined(DUALSTEP_EXTRA_FIELDS)
#include DUALSTEP_EXTRA_FIELDS
#endif

// workspace --------------------------------------------------------------------------------------------------
SCRATCH(xpos, 3 * nbody, kinematics, "body frames: position")
SCRATCH(xquat, 4 * nbody, kinematics, "body frames: orientation")
SCRATCH(xipos, 3 * nbody, kinematics, "centres of mass")
SCRATCH(tree_com, 3 * ntree, kinematics, "centre of mass of each tree")
SCRATCH(xanchor, 3 * njnt, kinematics, "joint anchors")
SCRATCH(xaxis, 3 * njnt, kinematics, "joint axes")
SCRATCH(cdof, 6 * nv, kinematics, "joint motions S, world axes, about the tree's centre of mass")
SCRATCH(ten_length, ntendon, kinematics, "lengths of tendons")
SCRATCH(ten_velocity, ntendon, kinematics, "their rates")
SCRATCH(ten_J, nten_J, kinematics, "their moments, d length / d q, entry by entry")
SCRATCH(ten_force, ntendon, bias, "force of each tendon")
SCRATCH(cinert, 10 * nbody, bias, "body inertia about the tree's centre of mass")
ALIAS(crb, cinert, inertia, "composite inertia: of the body's subtree; outputs find cinert once more")
SCRATCH(cvel, 6 * nbody, bias, "body velocities about the tree's centre of mass")
SCRATCH(cacc, 6 * nbody, bias, "body accelerations at zero joint acceleration, gravity included")
SCRATCH(cfrc, 6 * nbody, bias, "body forces, summed over subtrees")
SCRATCH(M, nM, inertia, "mass matrix on the tree's sparsity")
SCRATCH(LD, nM, factorize, "its factor L^T D L: rows of the unit triangular L; D in the first entry of each row")
SCRATCH(Dinv, nv, factorize, "1 / D")
SCRATCH(Dscale, nv, factorize, "D^-1/2 of M")
SCRATCH(qfrc_bias, nv, bias, "Coriolis, centrifugal and gravity forces (on the left)")
SCRATCH(qfrc_gravcomp, nv, forces, "gravity compensation that acts through actuators")
SCRATCH(qfrc_passive, nv, forces, "springs, dampers, fluid, gravity compensation")
SCRATCH(qfrc_actuator, nv, forces, "actuators")
SCRATCH(qfrc_smooth, nv, forces, "all forces but those of constraints")
SCRATCH(qacc_smooth, nv, forces, "M^-1 qfrc_smooth")
SCRATCH(actuator_force, nu, forces, "scalar force of each actuator")
SCRATCH(act_dot, na, forces, "rate of the activations")
SCRATCH(actuator_vel_gain, nu, forces, "d force / d velocity of each actuator")
SCRATCH(geom_xpos, 3 * ngeom, collide, "collidable geoms: position")
SCRATCH(geom_xmat, 9 * ngeom, collide, "collidable geoms: orientation")
SCRATCH(geom_record, 16 * ngeom * (nisland > 0), collide, "of islands: pose and size of each collidable geom side by side (collide/collide.h)")
SLOT(con_dist, 1, collide, "signed distance of each contact slot")
SLOT(con_pos, 3, collide, "position")
SLOT(con_frame, 6, collide, "n, then t1 (first a hint for its direction)")
SLOT(con_mu, 5, collide, "friction coefficients; 0 beyond the contact's dimension")
SLOT(con_dim, 1, collide, "1, 3, 4 or 6; 0 where the slot is empty")
SLOT(con_D, 1, collide, "1 / R of the normal row or of a pyramid edge; 0 where the slot is empty")
SLOT(con_kterm, 1, collide, "K imp (dist - margin)")
SLOT(con_Bn, 1, collide, "B on the normal row")
SLOT(con_Bt, 1, collide, "B on tangent rows")
ALIAS(coulomb_y0, con_kterm, newton, "Coulomb's law: y0 of the normal row without a raise")
ALIAS(coulomb_change, con_Bn, newton, "how much the row still wanted to rise in the round before")
ALIAS(coulomb_raise, con_Bt, newton, "of the rows of impacts: the raise")
SLOT(con_pair, 1, collide, "pair that the contact comes from, and its place in the manifold: 8 pair + k")
SCRATCH(Linv, nM, rows, "single-dof rows in use, whitened: D^-1/2 L^-T e_i on the ancestors of i")
SCRATCH(lim_y0, 2 * nlim, rows, "lower and upper limits: J qacc_smooth - aref")
SCRATCH(lim_D, 2 * nlim, rows, "1 / R; 0 where inactive")
SCRATCH(lim_y, 2 * nlim, solve, "J qacc - aref, of single-dof rows in use")
SCRATCH(loss_y0, nloss, rows, "friction loss: J qacc_smooth - aref")
SCRATCH(loss_y, nloss, solve, "J qacc - aref")
SCRATCH(dense_y0, ndense, rows, "dense scalar rows (ball limits, equalities, tendons): J qacc_smooth - aref")
SCRATCH(dense_D, ndense, rows, "1 / R; 0 where inactive")
SCRATCH(dense_y, ndense, solve, "J qacc - aref")
SCRATCH(Z, (nrow + nlocal) * nv, rows, "dense rows, whitened: D^-1/2 L^-T J^T; dense scalar rows, kdim a contact, copied single-dof rows")
SCRATCH(con_y0, kdim * nslot, rows, "contact rows: J qacc_smooth - aref")
SCRATCH(w_explicit, nexplicit, solve, "explicit contact forces as a whitened acceleration")
SCRATCH(next_anchors, 7 * nanchor, solve, "anchors of this step's contacts")
SCRATCH(impact_e, nimpact, impact, "restitution of closed contacts, -1 of others")
SCRATCH(impact_kept, 7 * nimpact, impact, "of each contact what an impact overwrites: hint for t1, softness, con_D")
SCRATCH(impact_u, kdim * nimpact, impact, "J v of closed contacts, in the unit of impacts")
SCRATCH(impact_s, kdim * nimpact, impact, "R times the impulses: what their weight moves")
SCRATCH(impact_f, kdim * nimpact, impact, "impulses")
SCRATCH(jump, njump, impact, "change of the velocity by impacts")
SCRATCH(impact_found, 1 * (njump > 0), impact, "0 no impact, 1 some, 2 not solved")
SCRATCH(impact_open, 1 * (njump > 0), impact, "1 where it is sought at the present scale of restitution")
SCRATCH(impact_scale, 1 * (njump > 0), impact, "scale of restitution")
SCRATCH(impact_scale_low, 1 * (njump > 0), impact, "its lower bound")
SCRATCH(impact_scale_high, 1 * (njump > 0), impact, "its upper bound")
SCRATCH(qvel_before, njump, impact, "velocities before the impacts")
SCRATCH(con_y, kdim * nslot, solve, "J qacc - aref")
SCRATCH(con_dy, kdim * nslot, solve, "change of con_y along the search direction")
SCRATCH(con_f, kdim * ncon, solve, "contact forces in the contact frame")
SCRATCH(con_lambda, nedge * nslot, solve, "forces on pyramid edges or cone rows, during the sweeps")
SCRATCH(con_A, kdim * (kdim + 1) / 2 * nslot, solve, "lower triangle of the diagonal block of A")
SCRATCH(lim_lambda, 2 * nlim, solve, "limit forces")
SCRATCH(loss_lambda, nloss, solve, "friction loss forces")
SCRATCH(dense_lambda, ndense, solve, "forces of dense scalar rows")
SCRATCH(dy, nrow1, solve, "change of the scalar rows along the search direction")
SCRATCH(anderson_history, 3 * nhistory, solve, "forces and w that the last sweep left, and the last two changes of them")
SCRATCH(w, nv, solve, "whitened acceleration D^1/2 L (qacc - qacc_smooth)")
SCRATCH(dw, nv, solve, "search direction")
SCRATCH(grad, nv, solve, "gradient of the primal")
SCRATCH(Hinv, npivot, solve, "one over the pivots of H")
SCRATCH(coefficient, 4 * (nrow + nv), solve, "what the sources of a row of H, or of four, are weighted with")
SCRATCH(con_h, kdim * (kdim + 1) / 2 * nslot, solve, "curvature of the cost of each contact")
SCRATCH(single_f, nsingle, solve, "force of each single-dof row in use")
SCRATCH(single_h, nsingle, solve, "curvature of each single-dof row in use")
SCRATCH(dense_h, ndense, solve, "curvature of each dense scalar row")
SCRATCH(H, nH, solve, "Hessian of the primal, lower triangle by rows")
SCRATCH(body_record, (6 * ntreepad + 32) * nbody * (nisland > 0), solve, "of islands: whitened motion of each body, its rates (solver/islands/island_bodies.h)")
SCRATCH(body_whitening, 8 * ntreepad * nisland, solve, "of islands: where a body's motion is whitened, dof by dof")
SCRATCH(con_record, 32 * (ncon - nslot), solve, "of islands: each slot's numbers side by side (solver/islands/island_contacts.h)")
SCRATCH(single_place, nsingle, solve, "where each single-dof row is copied to; -1 where it is not in use")
SCRATCH(dual_A, nA, solve, "Z'Z of the rows that can push, lower triangle")
SCRATCH(dual_root, ndense + kdim * (kdim + 1) / 2 * ncone + nlocal, solve, "roots of the curvatures, by blocks")
SCRATCH(dual_b, ndual, solve, "right side and solution in the space of the rows")
SCRATCH(qacc, nv, solve, "accelerations")
SCRATCH(qfrc_constraint, nv, solve, "J^T lambda")
SCRATCH(rk, nrk, integrate, "Runge-Kutta: start state and weighted sums")
SCRATCH(sensordata, nsensordata, sense, "readings of the sensors")

// derived: written by an evaluation when wanted ---------------------------------------------------------------
COPIED(qacc, qacc, nv, "nv", "joint accelerations [m/s^2, rad/s^2]")
COPIED(qacc_smooth, qacc_smooth, nv, "nv", "joint accelerations without constraint forces")
COPIED(qfrc_bias, qfrc_bias, nv, "nv", "Coriolis, centrifugal and gravity forces (on the left) [N, N m]")
COPIED(qfrc_passive, qfrc_passive, nv, "nv", "springs, dampers, fluid, gravity compensation [N, N m]")
COPIED(qfrc_actuator, qfrc_actuator, nv, "nv", "actuator forces on the joints [N, N m]")
COPIED(qfrc_smooth, qfrc_smooth, nv, "nv", "all forces but those of constraints [N, N m]")
COPIED(qfrc_constraint, qfrc_constraint, nv, "nv", "constraint forces on the joints [N, N m]")
COPIED(actuator_force, actuator_force, nu, "nu", "scalar force of each actuator [N, N m]")
COPIED(xpos, xpos, 3 * nbody, "nbody 3", "positions of body frames [m]")
COPIED(xquat, xquat, 4 * nbody, "nbody 4", "orientations of body frames")
COPIED(xipos, xipos, 3 * nbody, "nbody 3", "centres of mass of bodies [m]")
COPIED(cvel, cvel, 6 * nbody, "nbody 6", "body velocities (angular, linear) about the tree's centre of mass")
OUTPUT(cinert, 10 * nbody, "nbody 10", "body inertias about the tree's centre of mass: xx yy zz xy xz yz, m c, m")
OUTPUT(subtree_com, 3 * nbody, "nbody 3", "centres of mass of subtrees [m]")
OUTPUT(geom_xpos, 3 * nallgeom, "ngeom 3", "positions of geoms [m]")
OUTPUT(geom_xmat, 9 * nallgeom, "ngeom 9", "orientations of geoms, row-major")
OUTPUT(site_xpos, 3 * nsite, "nsite 3", "positions of sites [m]")
OUTPUT(site_xmat, 9 * nsite, "nsite 9", "orientations of sites, row-major")
OUTPUT(energy, 2, "2", "potential and kinetic energy [J]")
COPIED(qM, M, nM, "nM", "mass matrix on the tree's sparsity: each dof, then its ancestors")
OUTPUT(contact_dist, ncon, "ncon", "signed distance of each contact [m]")
OUTPUT(contact_pos, 3 * ncon, "ncon 3", "position of each contact [m]")
OUTPUT(contact_frame, 9 * ncon, "ncon 3 3", "rows n, t1, t2 of each contact")
OUTPUT(contact_force, 6 * ncon, "ncon 6", "force and moment in the contact frame [N, N m]")
COPIED(ten_length, ten_length, ntendon, "ntendon", "lengths of tendons [m, rad]")
COPIED(ten_velocity, ten_velocity, ntendon, "ntendon", "rates of the lengths of tendons [m/s, rad/s]")
OUTPUT(ten_J, ntendon * nv, "ntendon nv", "moments of tendons: d length / d q")
OUTPUT(sensordata, nsensordata, "nsensordata", "readings of the sensors, in MuJoCo's units and order")
// in this order, once the copies are made
OUTPUT_STAGE(sense_geoms)
OUTPUT_STAGE(sense_sites)
OUTPUT_STAGE(sense_contacts)
OUTPUT_STAGE(sense_subtree_com)
OUTPUT_STAGE(sense_energy)
OUTPUT_STAGE(sense_inertias)
OUTPUT_STAGE(sense_tendons)
OUTPUT_STAGE(sense_sensors)

#undef TABLE_I
#undef TABLE_R
#undef ROW_R
#undef COLUMN
#undef END_ROW
#undef SCRATCH
#undef SLOT
#undef ALIAS
#undef STATE
#undef CARRIED
#undef HINT
#undef DRIVE
#undef GIVEN
#undef OUTPUT
#undef COPIED
#undef OUTPUT_STAGE
