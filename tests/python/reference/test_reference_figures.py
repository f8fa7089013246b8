"""Figures known in closed form, or computed beforehand by independent scripts, that a model must reproduce."""

import hashlib

import numpy as np
import pytest
import scenes

import dualstep as ds

# point masses on massless rods; angles from the downward vertical, the second relative to the first
DOUBLE_PENDULUM = """
<mujoco>
  <option timestep="1e-3" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <body>
      <joint axis="0 -1 0"/>
      <inertial pos="0 0 -1" mass="1" diaginertia="1e-14 1e-14 1e-14"/>
      <body pos="0 0 -1">
        <joint axis="0 -1 0"/>
        <inertial pos="0 0 -1" mass="1" diaginertia="1e-14 1e-14 1e-14"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""

FREE_BODY = """
<mujoco>
  <option timestep="{h}" gravity="0 0 0" integrator="{integrator}"/>
  <worldbody><body><freejoint/><inertial pos="0 0 0" mass="2" diaginertia="{inertia}"/></body></worldbody>
</mujoco>"""


def reference(xml, **options):
    model = ds.Model.from_mjcf(xml)
    for name, value in options.items():
        setattr(model.opt, name, value)
    return ds.Reference(model)


def pendulum(q, v, **options):
    ref = reference(DOUBLE_PENDULUM, **options)
    ref.qpos, ref.qvel = q, v
    return ref


def test_double_pendulum_terms():
    ref = pendulum([0.5, -0.3], [0.2, -0.4])
    M = ref.mass_matrix()
    np.testing.assert_allclose(M, [[4.910672978, 1.955336489], [1.955336489, 1]], rtol=0, atol=1e-9)
    coriolis = ref.coriolis_matrix() @ ref.qvel
    np.testing.assert_allclose(coriolis, [0, -0.011820808], rtol=0, atol=1e-9)
    np.testing.assert_allclose(coriolis - ref.bias(), [-11.355275203, -1.948946135], rtol=0, atol=1e-9)
    qacc = ref.forward_dynamics(np.array([0.1, -0.2]))
    np.testing.assert_allclose(qacc, [-6.508108670, 10.588417030], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ref.hamiltonian(), -26.810836452, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ref.kinetic_energy + ref.potential_energy, ref.hamiltonian(), rtol=1e-15)


def test_double_pendulum_momentum_form():
    ref = pendulum([0.5, -0.3], [0.2, -0.4])
    np.testing.assert_allclose(ref.momentum(), [0.2, -0.008932702], rtol=0, atol=1e-9)
    C = ref.coriolis_matrix()
    held_velocity = C.T @ ref.qvel  # half the gradient of v'Mv at fixed v
    np.testing.assert_allclose(held_velocity, [0, -0.011820808], rtol=0, atol=1e-9)
    gravity = C @ ref.qvel - ref.bias()
    np.testing.assert_allclose(gravity + held_velocity, [-11.355275203, -1.960766943], rtol=0, atol=1e-9)
    # the same as M qacc + dM/dt v, with dM/dt = C + C'
    qacc = ref.forward_dynamics(np.zeros(2))
    rate = ref.mass_matrix() @ qacc + (C + C.T) @ ref.qvel
    np.testing.assert_allclose(rate, gravity + held_velocity, rtol=0, atol=1e-9)


def test_double_pendulum_runge_kutta():
    ref = pendulum([2, 0.5], [0, 0])
    start, drift = ref.hamiltonian(), 0.0
    for i in range(10_000):
        ref.step()
        drift = max(drift, abs(ref.hamiltonian() - start))
        if i == 1999:
            state = [*ref.qpos, *ref.qvel]
            np.testing.assert_allclose(state, [-2.92203224, 3.03941741, 0.91077955, 3.51617232], rtol=0, atol=1e-7)
    assert drift <= 1.5e-7


@pytest.mark.parametrize("h, bound", [(1e-3, 1.63e-3), (5e-4, 8.2e-4)])
def test_double_pendulum_semi_implicit_euler(h, bound):
    ref = pendulum([0.3, -0.2], [0, 0], timestep=h, integrator="euler")
    start, drift = ref.hamiltonian(), 0.0
    for _ in range(round(10 / h)):
        ref.step()
        drift = max(drift, abs(ref.hamiltonian() - start))
    assert drift == pytest.approx(bound, rel=0.01)


def test_double_pendulum_frequencies():
    # in a small swing along a mode, the velocity returns after half a period
    for ratio, frequency in ((np.sqrt(2), 2.397199), (-np.sqrt(2), 5.787351)):
        amplitude = 1e-4
        ref = pendulum([amplitude, amplitude * (ratio - 1)], [0, 0], timestep=1e-3)
        crossings, before = [], ref.qpos[0]
        while len(crossings) < 2:
            ref.step()
            if before > 0 >= ref.qpos[0]:
                crossings.append(ref.time - 1e-3 * ref.qpos[0] / (ref.qpos[0] - before))
            before = float(ref.qpos[0])
        assert 2 * np.pi / (crossings[1] - crossings[0]) == pytest.approx(frequency, rel=1e-3)


@pytest.mark.parametrize("h", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_constant_spin_is_exact_at_any_step(h, integrator):
    ref = reference(FREE_BODY.format(h=h, integrator=integrator, inertia="1 1 1"))
    ref.qvel[3:] = [0.3, -0.2, 0.5]
    ref.step(round(2 / h))
    want = [0.815940971, 0.281357751, -0.187571834, 0.468929585]
    np.testing.assert_allclose(ref.qpos[3:], want, rtol=0, atol=1e-9)
    spin = np.array([0.3, -0.2, 0.5])
    angle = 2 * np.linalg.norm(spin)
    exact = [np.cos(angle / 2), *(np.sin(angle / 2) * spin / np.linalg.norm(spin))]
    np.testing.assert_allclose(ref.qpos[3:], exact, rtol=0, atol=1e-12)


def test_symmetric_top():
    ref = reference(FREE_BODY.format(h=1e-3, integrator="RK4", inertia="1 1 2"))
    ref.qvel[3:] = [0.1, 0, 3]
    ref.step(1000)
    np.testing.assert_allclose(ref.qvel[3:], [0.1 * np.cos(3), 0.1 * np.sin(3), 3], rtol=0, atol=1e-9)


def test_quaternion_stays_unit_and_odd_ones_are_read():
    ref = reference(FREE_BODY.format(h=1e-3, integrator="Euler", inertia="1 1 2"))
    ref.qvel[3:] = [7, -5, 4]
    ref.step(100_000)
    assert abs(np.linalg.norm(ref.qpos[3:]) - 1) < 1e-12
    # no rotation where there is no quaternion
    ref.reset()
    ref.qpos[3:] = 0
    ref.forward()
    np.testing.assert_array_equal(ref.xquat[1], [1, 0, 0, 0])


# the files that the figures were computed from
FIGURES = {
    "ant": (0.910880083, 11.376388828, -5.663989480, 8.935733611),
    "humanoid": (42.116030492, 188.271932856, -19.569674731, 413.158259128),
}
FILES = {
    "ant": "cd5f83ef0ea35b0969e65d360c5bacd5b74ccaef6b27e4433b5168c605e3e2be",
    "humanoid": "85816f372c826d2094b4a598918233bd9c5843b2439119eece2733bdc2e0d073",
}


@pytest.mark.parametrize("name", FIGURES)
def test_mass_matrix_figures(name):
    assert hashlib.sha256(scenes.GYM[name].read_bytes()).hexdigest() == FILES[name], "another file than the figures'"
    mass, trace, logdet, weight = FIGURES[name]
    model = ds.Model.from_mujoco(scenes.compile_mj(scenes.GYM[name]))
    ref = ds.Reference(model)
    M = ref.mass_matrix()
    sign, log = np.linalg.slogdet(M)
    assert sign == 1
    got = [model.body_mass.sum(), np.trace(M), log, ref.inverse_dynamics(np.zeros(model.nv))[2]]
    np.testing.assert_allclose(got, [mass, trace, logdet, weight], rtol=1e-9)


@pytest.mark.parametrize("name", scenes.ALL)
def test_inverse_and_forward_dynamics_identities(name):
    m = scenes.compile_mj(scenes.ALL[name])
    ref = ds.Reference(ds.Model.from_mujoco(m))
    rng = np.random.default_rng(2)
    for _ in range(20):
        scenes.copy_state(scenes.draw_state(m, rng), ref)
        M, bias = ref.mass_matrix(), ref.bias()
        qacc, tau = rng.normal(scale=10, size=(2, m.nv))
        assert scenes.error(M @ qacc + bias, ref.inverse_dynamics(qacc)) < 1e-12
        assert scenes.error(M @ ref.forward_dynamics(tau) + bias, tau, np.abs(bias).max()) < 1e-10


def mass_matrix_rate(ref, step=2e-3):
    """dM/dt along qvel by central differences of order 8."""
    import mujoco

    qpos, total = ref.qpos.copy(), 0
    for k, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
        for side in (1, -1):
            moved = qpos.copy()
            mujoco.mj_integratePos(ref.model.mj_model, moved, ref.qvel.copy(), side * k * step)
            ref.qpos = moved
            total = total + side * weight * ref.mass_matrix()
    ref.qpos = qpos
    return total / step


@pytest.mark.parametrize("name", ["joint_hinge", "joint_several", "tree_branches", "armature", "walker2d_v5", "ant"])
def test_coriolis_matrix(name):
    m = scenes.compile_mj(scenes.ALL[name])
    ref = ds.Reference(ds.Model.from_mujoco(m))
    rng = np.random.default_rng(3)
    for _ in range(5):
        scenes.copy_state(scenes.draw_state(m, rng, speed=1.0), ref)
        C, v = ref.coriolis_matrix(), ref.qvel.copy()
        moving = ref.bias()
        ref.qvel[:] = 0
        at_rest = ref.bias()
        ref.qvel = v
        scale = np.abs(ref.mass_matrix()).max() * np.linalg.norm(v)
        assert np.abs(C @ v - (moving - at_rest)).max() < 1e-11 * max(scale, np.abs(moving).max())
        X = mass_matrix_rate(ref) - 2 * C
        assert np.abs(X + X.T).max() < 1e-9 * scale
        assert abs(v @ X @ v) < 1e-9 * scale * (v @ v)


@pytest.mark.parametrize("name", ["joint_hinge", "joint_reference", "actuator_motor", "pusher_v5", "walker2d_v5"])
def test_coriolis_matrix_has_christoffel_symbols(name):
    # C_ij = sum over k of (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k / 2
    m = scenes.compile_mj(scenes.ALL[name])
    ref = ds.Reference(ds.Model.from_mujoco(m))
    scenes.copy_state(scenes.draw_state(m, np.random.default_rng(4)), ref)
    C, v = ref.coriolis_matrix(), ref.qvel.copy()
    slopes = []
    for k in range(m.nv):
        ref.qvel[:] = np.eye(m.nv)[k]
        slopes.append(mass_matrix_rate(ref))
    dM = np.stack(slopes, axis=2)
    symbols = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0))
    scale = np.abs(ref.mass_matrix()).max() * np.linalg.norm(v)
    np.testing.assert_allclose(C, symbols @ v, rtol=0, atol=1e-9 * scale)
