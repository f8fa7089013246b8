// The relations between the integer arrays of an mjModel, one row an array, in the order of mjmodel_fields.inl.
//   RELATION(stage, kind, name, meaning, wanted)
// `wanted` is what entry i may hold, of the model m and of facts f that earlier stages made sure of. relations.cpp
// has both, and the words: exactly, below, from, one_of, or_none, anything, nothing. Stages: 0 counts and owners, 1
// trees and addresses that follow from them, 2 what refers to elements. A stage is looked at where those before it
// hold.

// bodies
RELATION(0, kRange, body_parentid, "a body before it; 0 for the first", i == 0 ? exactly(0) : below(i))
RELATION(1, kExact, body_rootid, "the child of the world that carries it", exactly(f.root[i]))
RELATION(1, kRange, body_weldid, "the nearest body with joints that it is fixed to, or the world; a mocap body itself, or its parent's",
         m.body_mocapid[i] >= 0 ? either(f.weld[i], f.weld[m.body_parentid[i]]) : exactly(f.weld[i]))
RELATION(0, kExact, body_mocapid, "the next number, for a child of the world without joints; else -1",
         i > 0 && m.body_parentid[i] == 0 && m.body_jntnum[i] == 0 ? or_none(exactly(f.mocaps_before[i]))
                                                                   : exactly(-1))
RELATION(0, kExact, body_jntnum, "the joints whose jnt_bodyid it is", exactly(f.joints[i]))
RELATION(0, kExact, body_jntadr, "behind the joints of the bodies before; -1 without any",
         m.body_jntnum[i] == 0 ? exactly(-1) : exactly(f.first_joint[i]))
RELATION(1, kExact, body_dofnum, "those of its joints", exactly(f.dofs[i]))
RELATION(1, kExact, body_dofadr, "behind the dofs of the bodies before; -1 without any",
         f.dofs[i] == 0 ? exactly(-1) : exactly(f.first_dof[i]))
RELATION(0, kExact, body_geomnum, "the geoms whose geom_bodyid it is", exactly(f.geoms[i]))
RELATION(0, kExact, body_geomadr, "behind the geoms of the bodies before; -1 without any",
         m.body_geomnum[i] == 0 ? exactly(-1) : exactly(f.first_geom[i]))
RELATION(0, kRange, body_simple, "0, 1 or 2", below(3))
// joints
RELATION(0, kRange, jnt_type, "a type of joint", below(4))
RELATION(1, kRange, jnt_type, "free as the one joint of a child of the world",
         m.body_parentid[m.jnt_bodyid[i]] == 0 && f.joints[m.jnt_bodyid[i]] == 1 ? below(4) : from(1, 4))
RELATION(1, kExact, jnt_qposadr, "behind the positions of the joints before", exactly(f.joint_qpos[i]))
RELATION(1, kExact, jnt_dofadr, "behind the dofs of the joints before", exactly(f.joint_dof[i]))
RELATION(0, kExact, jnt_bodyid, "the body among whose joints it is", exactly(f.owner_of_joint[i]))
RELATION(0, kRange, jnt_limited, "0 or 1", below(2))
RELATION(0, kRange, jnt_actfrclimited, "0 or 1", below(2))
RELATION(0, kRange, jnt_actgravcomp, "0 or 1", below(2))
// dofs
RELATION(1, kExact, dof_bodyid, "the body of its joint", exactly(m.jnt_bodyid[f.joint_of_dof[i]]))
RELATION(1, kExact, dof_jntid, "the joint among whose dofs it is", exactly(f.joint_of_dof[i]))
RELATION(1, kExact, dof_parentid, "the dof before it of its body, else the last of the nearest body below",
         exactly(f.parent_of_dof[i]))
// geoms and sites
RELATION(0, kRange, geom_type, "a type of geom", below(kShapeTypes))
RELATION(0, kFree, geom_contype, "bits", anything())
RELATION(0, kFree, geom_conaffinity, "bits", anything())
RELATION(2, kRange, geom_condim, "1, 3, 4 or 6", one_of({1, 3, 4, 6}))
RELATION(0, kExact, geom_bodyid, "the body among whose geoms it is", exactly(f.owner_of_geom[i]))
RELATION(2, kRange, geom_dataid, "its mesh or height field, where it is one",
         m.geom_type[i] == kMesh || m.geom_type[i] == kSdf ? below(m.nmesh)
         : m.geom_type[i] == kHfield                       ? below(m.nhfield)
                                                           : from(-1, std::max(m.nmesh, m.nhfield)))
RELATION(0, kFree, geom_group, "a number", anything())
RELATION(0, kFree, geom_priority, "a number", anything())
RELATION(2, kRange, site_type, "a type of geom", below(kShapeTypes))
RELATION(2, kRange, site_bodyid, "a body", below(m.nbody))
// pairs and excluded bodies
RELATION(2, kRange, pair_dim, "1, 3, 4 or 6", one_of({1, 3, 4, 6}))
RELATION(2, kRange, pair_geom1, "a geom", below(m.ngeom))
RELATION(2, kRange, pair_geom2, "a geom", below(m.ngeom))
RELATION(2, kRange, exclude_signature, "two bodies, the first times 65536",
         (m.exclude_signature[i] & 0xffff) < m.nbody ? below(static_cast<long>(m.nbody) << 16) : nothing())
// equalities
RELATION(2, kFree, eq_type, "a code", anything())
RELATION(2, kRange, eq_obj1id, "of its type: a joint that is a hinge or slide, a body, a site, a tendon",
         equality_object(m, i, m.eq_obj1id[i], false))
RELATION(2, kRange, eq_obj2id, "likewise; -1 where joints and tendons have no second",
         equality_object(m, i, m.eq_obj2id[i], true))
RELATION(2, kRange, eq_objtype, "body or site, of connect and weld",
         m.eq_type[i] == kEqConnect || m.eq_type[i] == kEqWeld ? one_of({kObjBody, kObjSite}) : anything())
RELATION(2, kRange, eq_active0, "0 or 1", below(2))
// tendons
RELATION(0, kExact, tendon_adr, "behind the path of the tendon before", exactly(f.first_wrap[i]))
RELATION(0, kRange, tendon_num, "at least 1", from(1, m.nwrap + 1L))
RELATION(2, kRange, tendon_limited, "0 or 1", below(2))
RELATION(2, kRange, tendon_actfrclimited, "0 or 1", below(2))
RELATION(1, kRange, wrap_type, "joints alone, or sites, pulleys, and between two sites a sphere or cylinder",
         path_type(m, f.begin_of_path[i], i))
RELATION(2, kRange, wrap_objid, "of its type: a joint that is a hinge or slide, a site, a geom (with a side site that there is)",
         path_object(m, i))
// actuators
RELATION(2, kFree, actuator_trntype, "a code", anything())
RELATION(2, kFree, actuator_dyntype, "a code", anything())
RELATION(2, kFree, actuator_gaintype, "a code", anything())
RELATION(2, kFree, actuator_biastype, "a code", anything())
RELATION(2, kRange, actuator_trnid, "of its transmission: a joint, a tendon, a site, a body",
         transmission_object(m, i))
RELATION(0, kExact, actuator_actadr, "behind the activations of the actuators before; -1 without any",
         m.actuator_actnum[i] == 0 ? exactly(-1) : exactly(f.first_activation[i]))
RELATION(0, kRange, actuator_actnum,
         "0 without dynamics; else 1, or more where they are the user's or a plugin's",
         m.actuator_plugin[i] >= 0               ? below(m.na + 1L)
         : is_motor(m, i)                        ? exactly(count_motor_activations(m, i))
         : !dynamics_of(m, i).simulated          ? below(m.na + 1L)
         : dynamics_of(m, i).activations == 0    ? exactly(0)
                                                 : from(dynamics_of(m, i).activations, m.na + 1L))
RELATION(2, kFree, actuator_group, "a number", anything())
RELATION(2, kRange, actuator_ctrllimited, "0 or 1", below(2))
RELATION(2, kRange, actuator_forcelimited, "0 or 1", below(2))
RELATION(2, kRange, actuator_actlimited, "0 or 1", below(2))
RELATION(2, kRange, actuator_actearly, "0 or 1", below(2))
// sensors
RELATION(2, kFree, sensor_type, "a code", anything())
RELATION(2, kRange, sensor_objtype, "a type of object; of a contact sensor body, geom, site or none", sensor_object_type(m.sensor_type[i]))
RELATION(2, kRange, sensor_objid, "of its type", sensor_object(m, i))
RELATION(2, kRange, sensor_reftype, "likewise", sensor_object_type(m.sensor_type[i]))
RELATION(2, kRange, sensor_refid, "of its type, or -1; -1 for sensors that refer to nothing",
         sensor_reference(m, i))
RELATION(2, kRange, sensor_intprm, "what contact sensors and rangefinders report: as wide as sensor_dim",
         sensor_parameters_fit(m, i) ? anything() : nothing())
RELATION(0, kRange, sensor_dim, "the width of its type", sensor_width(m, i))
RELATION(0, kExact, sensor_adr, "behind the sensor before", exactly(f.first_reading[i]))
// meshes: what a mesh's vertices and faces refer to is looked at in mesh_relations.cpp
RELATION(2, kRange, mesh_vertadr, "its vertices lie within mesh_vert", span(m.mesh_vertnum[i], m.nmeshvert))
RELATION(2, kRange, mesh_vertnum, "a count", below(m.nmeshvert + 1L))
RELATION(2, kRange, mesh_graphadr, "its hull lies within mesh_graph; -1 without one", from(-1, m.nmeshgraph))
RELATION(2, kRange, mesh_graph, "of vertices, edges and faces of its mesh", anything())
RELATION(2, kRange, mesh_faceadr, "its triangles lie within mesh_face", span(m.mesh_facenum[i], m.nmeshface))
RELATION(2, kRange, mesh_facenum, "a count", below(m.nmeshface + 1L))
RELATION(2, kRange, mesh_face, "a vertex of its mesh", anything())
RELATION(2, kRange, mesh_polyadr, "its faces lie within mesh_polynormal",
         span(m.mesh_polynum[i], m.nmeshpoly))
RELATION(2, kRange, mesh_polynum, "a count", below(m.nmeshpoly + 1L))
RELATION(2, kRange, mesh_polyvertadr, "its corners lie within mesh_polyvert",
         span(m.mesh_polyvertnum[i], m.nmeshpolyvert))
RELATION(2, kRange, mesh_polyvertnum, "a count", below(m.nmeshpolyvert + 1L))
RELATION(2, kRange, mesh_polyvert, "a vertex of its mesh", anything())
RELATION(2, kRange, mesh_polymapadr, "its faces lie within mesh_polymap",
         span(m.mesh_polymapnum[i], m.nmeshpolymap))
RELATION(2, kRange, mesh_polymapnum, "a count", below(m.nmeshpolymap + 1L))
RELATION(2, kRange, mesh_polymap, "a face of its mesh", anything())
RELATION(2, kRange, hfield_nrow, "at least 2", from(2, m.nhfielddata + 1L))
RELATION(2, kRange, hfield_ncol, "at least 2", from(2, m.nhfielddata + 1L))
RELATION(2, kRange, hfield_adr, "its heights lie within hfield_data",
         span(1L * m.hfield_nrow[i] * m.hfield_ncol[i], m.nhfielddata))
// custom fields and names
RELATION(2, kRange, numeric_adr, "its numbers lie within numeric_data",
         span(m.numeric_size[i], m.nnumericdata))
RELATION(2, kRange, numeric_size, "a count", below(m.nnumericdata + 1L))
RELATION(2, kRange, text_adr, "it lies within text_data",
         span(m.text_size[i], static_cast<long>(m.text.size())))
RELATION(2, kRange, text_size, "a count", below(static_cast<long>(m.text.size()) + 1))
RELATION(2, kRange, name_bodyadr, "within names", below(f.names))
RELATION(2, kRange, name_jntadr, "within names", below(f.names))
RELATION(2, kRange, name_geomadr, "within names", below(f.names))
RELATION(2, kRange, name_siteadr, "within names", below(f.names))
RELATION(2, kRange, name_meshadr, "within names", below(f.names))
RELATION(2, kRange, name_hfieldadr, "within names", below(f.names))
RELATION(2, kRange, name_pairadr, "within names", below(f.names))
RELATION(2, kRange, name_eqadr, "within names", below(f.names))
RELATION(2, kRange, name_tendonadr, "within names", below(f.names))
RELATION(2, kRange, name_actuatoradr, "within names", below(f.names))
RELATION(2, kRange, name_sensoradr, "within names", below(f.names))
RELATION(2, kRange, name_keyadr, "within names", below(f.names))
RELATION(2, kRange, name_numericadr, "within names", below(f.names))
RELATION(2, kRange, name_textadr, "within names", below(f.names))
// refusal only
RELATION(2, kFree, geom_plugin, "a plugin, refused", anything())
RELATION(2, kFree, body_plugin, "a plugin, refused", anything())
RELATION(2, kFree, actuator_plugin, "a plugin, refused", anything())
RELATION(2, kFree, sensor_plugin, "a plugin, refused", anything())
RELATION(0, kRange, actuator_ctrlnum, "1; of a DC motor those that actuator_ctrlspec says",
         is_motor(m, i)            ? exactly(count_motor_inputs(m, i))
         : gain_of(m, i).simulated ? exactly(1)
                                   : below(m.nu + 1L))
RELATION(0, kExact, actuator_ctrladr, "behind the controls of the actuators before", exactly(f.first_control[i]))
RELATION(2, kFree, actuator_outnum, "other than 1 refused", anything())
RELATION(2, kFree, actuator_ctrlspec, "a bit mask", anything())
RELATION(2, kRange, actuator_history, "samples that are kept, and an order of 0 to 2 between them",
         i % 2 == 0 ? below(1L << 16) : below(3))
