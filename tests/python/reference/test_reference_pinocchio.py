"""The reference's inertia algorithms against Pinocchio: mass matrix, bias, inverse dynamics, to 1e-10.

The Pinocchio model is built joint by joint from MuJoCo's arrays, so the two share numbers but no code. Pinocchio's
free joint has its linear velocity in body axes, MuJoCo's in world axes: v_pin = T v with T = diag(R', 1).
"""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import scenes

import dualstep as ds

STATES = 200
TOLERANCE = 1e-10


def rotation(quat):
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)


def build(m):
    """A Pinocchio model of free joints and hinges; the joints of one body form a chain of massless links."""
    model = pin.Model()
    model.gravity.linear = m.opt.gravity
    link = {0: (0, pin.SE3.Identity())}  # body -> its joint, and the body's frame in the joint's
    for body in range(1, m.nbody):
        parent, frame = link[m.body_parentid[body]]
        frame = frame * pin.SE3(rotation(m.body_quat[body]), m.body_pos[body])
        for j in range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body]):
            if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
                joint, frame, anchor = pin.JointModelFreeFlyer(), pin.SE3.Identity(), np.zeros(3)
            else:
                assert m.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE and m.qpos0[m.jnt_qposadr[j]] == 0
                joint, anchor = pin.JointModelRevoluteUnaligned(m.jnt_axis[j]), m.jnt_pos[j]
            at_anchor = pin.SE3(np.eye(3), anchor)
            parent = model.addJoint(parent, joint, frame * at_anchor, f"joint{j}")
            frame = at_anchor.inverse()
        inertia = rotation(m.body_iquat[body]) @ np.diag(m.body_inertia[body]) @ rotation(m.body_iquat[body]).T
        spatial = pin.Inertia(m.body_mass[body], m.body_ipos[body], inertia)
        model.appendBodyToJoint(parent, spatial, frame)
        link[body] = parent, frame
    return model


class Bridge:
    """MuJoCo's coordinates of a model whose first joint is free, in Pinocchio's."""

    def __init__(self, m, data):
        self.m = m
        quat = data.qpos[3:7] / np.linalg.norm(data.qpos[3:7])
        self.q = np.concatenate([data.qpos[:3], quat[1:], quat[:1], data.qpos[7:]])
        self.T = np.eye(m.nv)
        self.T[:3, :3] = rotation(quat).T
        self.v = self.T @ data.qvel
        # dT/dt qvel: body axes turn
        self.drift = np.zeros(m.nv)
        self.drift[:3] = -np.cross(data.qvel[3:6], self.v[:3])

    def acceleration(self, qacc):
        return self.T @ qacc + self.drift


@pytest.mark.parametrize("name", ["humanoid", "ant", "bench_humanoid"])
def test_inertia_algorithms_agree_with_pinocchio(name):
    m = scenes.compile_mj(scenes.ALL[name])
    ref = ds.Reference(ds.Model.from_mujoco(m))
    model = build(m)
    assert (model.nq, model.nv) == (m.nq, m.nv)
    workspace = model.createData()
    rng = np.random.default_rng(5)
    worst = dict.fromkeys(("M", "bias", "inverse_dynamics", "forward_dynamics"), 0.0)
    for _ in range(STATES):
        data = scenes.draw_state(m, rng)
        scenes.copy_state(data, ref)
        bridge = Bridge(m, data)
        rotor = np.diag(m.dof_armature)
        qacc, tau = rng.normal(scale=10, size=m.nv), rng.normal(scale=10, size=m.nv)

        half = np.triu(pin.crba(model, workspace, bridge.q))
        M = bridge.T.T @ (half + np.triu(half, 1).T) @ bridge.T + rotor
        bias = bridge.T.T @ pin.rnea(model, workspace, bridge.q, bridge.v, bridge.drift)
        inverse = bridge.T.T @ pin.rnea(model, workspace, bridge.q, bridge.v, bridge.acceleration(qacc)) + rotor @ qacc

        answers = {
            "M": (ref.mass_matrix(), M),
            "bias": (ref.bias(), bias),
            "inverse_dynamics": (ref.inverse_dynamics(qacc), inverse),
            "forward_dynamics": (ref.forward_dynamics(tau), np.linalg.solve(M, tau - bias)),
        }
        for key, (got, want) in answers.items():
            worst[key] = max(worst[key], scenes.error(got, want))
    assert max(worst.values()) <= TOLERANCE, worst
