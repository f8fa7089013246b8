"""What the tests of contacts and constraints share: runs that collect states, MuJoCo driven to convergence, and
oracles in numpy that know neither MuJoCo's code nor dualstep's."""

import mujoco
import numpy as np
import scenes

import dualstep as ds

EQUALITY, FRICTION_LOSS, LIMIT, FRICTIONLESS, PYRAMIDAL, ELLIPTIC = range(6)
# MuJoCo's mjtConstraint for each
MJ_TYPE = {0: EQUALITY, 1: FRICTION_LOSS, 3: LIMIT, 5: FRICTIONLESS, 6: PYRAMIDAL, 7: ELLIPTIC}


TO_ROUNDING = {
    "solver": mujoco.mjtSolver.mjSOL_NEWTON, "tolerance": 0, "iterations": 300, "ls_tolerance": 1e-12, "ls_iterations": 200,
    "jacobian": mujoco.mjtJacobian.mjJAC_DENSE, "ccd_tolerance": 1e-12, "ccd_iterations": 1000,
}  # fmt: skip
ON_THE_WAY = {"tolerance": 1e-8, "iterations": 50}


def set_options(model, options):
    for name, value in options.items():
        setattr(model.opt, name, value)


def converge(model):
    """MuJoCo's solver and collision detection set so that only rounding stops them."""
    set_options(model, TO_ROUNDING)


def run(model, rng, count, *, every=8, speed=3.0, restart=25):
    """States along runs of MuJoCo: random velocities and controls, thrown anew every `restart` states. How well its
    solver converges between them matters to none."""
    data = mujoco.MjData(model)
    for i in range(count):
        if i % restart == 0:
            mujoco.mj_resetData(model, data)
            scale = rng.uniform(0, speed) if i else 0
            data.qvel[:] = rng.normal(scale=scale, size=model.nv)
            if model.nmocap:
                data.mocap_pos[:] += rng.normal(scale=0.02, size=(model.nmocap, 3))
                data.mocap_quat[:] += rng.normal(scale=0.1, size=(model.nmocap, 4))
        data.ctrl[:] = rng.uniform(-1.5, 1.5, model.nu)
        given = {name: getattr(model.opt, name) for name in ON_THE_WAY}
        set_options(model, ON_THE_WAY)
        for _ in range(int(rng.integers(1, 2 * every))):
            mujoco.mj_step(model, data)
        set_options(model, given)
        state = mujoco.MjData(model)
        for name in ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat"):
            getattr(state, name)[...] = getattr(data, name)
        state.time = data.time
        yield state


def forward(model, data, ref):
    """MuJoCo and the reference at the same state."""
    data.qacc_warmstart[:] = 0
    mujoco.mj_forward(model, data)
    scenes.copy_state(data, ref)
    ref.forward()


def rows(ref):
    return ref._core.rows()


def differences(model, data, ref):
    """Largest errors of contacts, rows and forces, relative to the largest entry; positions in metres."""
    con, row = ref.contacts(), rows(ref)
    counts = (con.count, len(row["R"])), (data.ncon, data.nefc)
    assert counts[0] == counts[1], f"contacts and rows: {counts[0]}, and MuJoCo has {counts[1]}"
    np.testing.assert_array_equal(con.geom, data.contact.geom.reshape(-1, 2))
    types = [MJ_TYPE[int(t)] for t in data.efc_type]
    np.testing.assert_array_equal(row["type"], types)
    np.testing.assert_array_equal(row["id"], data.efc_id)
    # what stands below one thousandth (m, m/s, m/s^2, N) counts as that: it is a difference of larger things
    out = {
        "dist": scenes.error(con.dist, data.contact.dist, 1),
        "pos": scenes.error(con.pos, data.contact.pos.reshape(-1, 3), 1),
        "frame": scenes.error(con.frame, data.contact.frame.reshape(-1, 3, 3), 1),
        "J": scenes.error(row["J"], data.efc_J.reshape(-1, model.nv)),
        "qacc_smooth": scenes.error(ref.qacc_smooth, data.qacc_smooth),
        "qacc": scenes.error(ref.qacc, data.qacc),
        "qfrc_constraint": scenes.error(ref.qfrc_constraint, data.qfrc_constraint),
        "efc_diagA": scenes.error(row["diagApprox"], data.efc_diagA, 1e-9),
        "efc_R": scenes.error(row["R"], data.efc_R, 1e-9),
        "efc_D": scenes.error(row["D"], data.efc_D, 1e-9),
    }
    for name in ("pos", "margin", "frictionloss", "vel", "aref", "force"):
        out["efc_" + name] = scenes.error(row[name], getattr(data, "efc_" + name))
    forces = np.zeros((data.ncon, 6))
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, forces[i])
    out["contact force"] = scenes.error(con.force, forces)
    return out


def penalty_force(row, x, cones):
    """The force at x = J a - aref, block by block: the point of K nearest to -D x in the metric of R."""
    D, force = row["D"], np.zeros(len(x))
    cones = dict(cones)
    i = 0
    while i < len(x):
        kind = row["type"][i]
        if kind == ELLIPTIC:
            mu = cones[i]
            n = len(mu) + 1
            force[i : i + n] = cone_force(x[i : i + n], D[i : i + n], mu)
            i += n
            continue
        f = -D[i] * x[i]
        if kind == FRICTION_LOSS:
            f = np.clip(f, -row["frictionloss"][i], row["frictionloss"][i])
        elif kind != EQUALITY:
            f = max(f, 0)
        force[i] = f
        i += 1
    return force


def cone_force(x, D, mu):
    """The same for a cone, which is round once forces are divided by mu."""
    z = -D * x
    # scaled force: g_n = l_n, g_i = l_i / mu_i; R_i mu_i^2 is one number for all i, so the metric is (R_n, R_t mu^2)
    g = np.r_[z[0], z[1:] / mu]
    a, b = 1 / D[0], mu[0] ** 2 / D[1]
    t = np.linalg.norm(g[1:])
    if t <= g[0]:
        out = g
    elif a * g[0] + b * t <= 0:
        out = np.zeros_like(g)
    else:
        s = (a * g[0] + b * t) / (a + b)
        out = np.r_[s, g[1:] * (s / t)]
    return np.r_[out[0], out[1:] * mu]


def cones_of(ref, row):
    """(first row, coefficients) of every elliptic contact."""
    con, friction = ref.contacts(), ref._core.contacts()["friction"]
    out, seen = [], set()
    for i, (kind, contact) in enumerate(zip(row["type"], row["id"])):
        if kind == ELLIPTIC and contact not in seen:
            seen.add(contact)
            dim = int(np.sum((row["type"] == ELLIPTIC) & (row["id"] == contact)))
            out.append((i, friction[contact, : dim - 1]))
    assert con.count >= len(out)
    return out


def primal_gradient(ref, qacc):
    """|M (a - a0) - J' f(a)|, zero at the solution and nowhere else, relative to the forces it is made of."""
    row = rows(ref)
    force = penalty_force(row, row["J"] @ qacc - row["aref"], cones_of(ref, row))
    M = ref.mass_matrix()
    inertial, constraint = M @ (qacc - ref.qacc_smooth), row["J"].T @ force
    # forces far below the others are lost in the rounding of these
    least = 1e-4 * np.linalg.norm(M @ ref.qacc_smooth)
    scale = max(np.linalg.norm(inertial), np.linalg.norm(constraint), least, 1e-12)
    return np.linalg.norm(inertial - constraint) / scale


def dual(ref):
    """A, b of the contact dual, from the reference's rows."""
    row = rows(ref)
    A = row["J"] @ np.linalg.solve(ref.mass_matrix(), row["J"].T)
    return (A + A.T) / 2, row["J"] @ ref.qacc_smooth - row["aref"]


def load(source, **options):
    model = scenes.compile_mj(source, constraints=True)
    converge(model)
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model, ds.Reference(ds.Model.from_mujoco(model))
