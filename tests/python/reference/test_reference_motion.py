"""Motion over time: orders of convergence, conserved quantities of free flight, power balance."""

import numpy as np
import pytest
import scenes

import dualstep as ds

# a free tree with every joint type but no armature, springs or damping: nothing that would not be conserved
FREE_TREE = """
<mujoco>
  <option timestep="{h}" gravity="{gravity}" integrator="RK4"/>
  <worldbody>
    <body pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.2 0.15 0.1" contype="0" conaffinity="0"/>
      <body pos="0 0.2 0">
        <joint axis="1 0.2 0"/>
        <geom type="capsule" fromto="0 0 0 0 0.3 -0.1" size="0.04" contype="0" conaffinity="0"/>
        <body pos="0 0.3 -0.1">
          <joint type="ball"/>
          <geom type="box" size="0.05 0.1 0.15" pos="0 0.1 0" contype="0" conaffinity="0"/>
        </body>
      </body>
      <body pos="0 -0.2 0">
        <joint type="slide" axis="0 1 1" stiffness="{stiffness}"/>
        <geom type="sphere" size="0.08" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def free_tree(h=1e-3, gravity="0 0 0", stiffness=0):
    ref = ds.Reference(ds.Model.from_mjcf(FREE_TREE.format(h=h, gravity=gravity, stiffness=stiffness)))
    rng = np.random.default_rng(0)
    ref.qvel = rng.normal(scale=3, size=ref.model.nv)
    ref.qvel[-1] *= 0.1
    ref.forward()
    return ref


def at_end(m, data, integrator, steps, duration):
    model = ds.Model.from_mujoco(m)
    model.opt.timestep, model.opt.integrator = duration / steps, integrator
    ref = ds.Reference(model)
    scenes.copy_state(data, ref)
    ref.step(steps)
    assert ref.status == 0
    return np.concatenate([ref.qpos, ref.qvel, ref.act])


# steps over 0.1 s at which RK4 is in its asymptotic range and above rounding: stiff models want more
RK4_STEPS = {
    "joint_hinge": 10,
    "joint_ball": 20,
    "joint_free": 4,
    "tree_branches": 40,
    "spring_ball": 40,
    "spring_free": 40,
    "damper": 320,
    "fluid_viscous": 80,
    "actuator_ball": 160,
    "walker2d_v5": 160,
    "humanoid": 320,
}


@pytest.mark.parametrize("integrator, order", [("euler", 1), ("implicit", 1), ("implicitfast", 1), ("discrete", 1), ("rk4", 4)])
@pytest.mark.parametrize("name", RK4_STEPS)
def test_order_of_convergence(name, integrator, order):
    m = scenes.compile_mj(scenes.ALL[name])
    data = scenes.draw_state(m, np.random.default_rng(11), speed=1.0, applied=False)
    # small controls: no clipping, a smooth motion
    data.ctrl[:] *= 0.1
    duration = 0.1
    exact = at_end(m, data, "rk4", 3200, duration)
    steps = RK4_STEPS[name] if integrator == "rk4" else 400
    coarse, fine = (np.abs(at_end(m, data, integrator, n, duration) - exact).max() for n in (steps, 2 * steps))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.15)


def test_energy_and_momentum_of_free_flight():
    ref = free_tree(stiffness=40)
    energy = ref.hamiltonian()
    p, L = ref.subtree_linvel[1] * ref.model.body_mass.sum(), ref.subtree_angmom[1].copy()
    for _ in range(20):
        ref.step(50)
        ref.forward()
        momentum = ref.subtree_linvel[1] * ref.model.body_mass.sum()
        np.testing.assert_allclose(momentum, p, rtol=0, atol=1e-9 * np.linalg.norm(p))
        np.testing.assert_allclose(ref.subtree_angmom[1], L, rtol=0, atol=1e-7 * np.linalg.norm(L))
        assert abs(ref.hamiltonian() - energy) < 1e-7 * energy


def test_energy_error_of_free_flight_falls_with_the_fourth_power():
    drift = {}
    for h in (4e-3, 2e-3):
        ref = free_tree(h=h, stiffness=40)
        energy = ref.hamiltonian()
        ref.step(round(0.4 / h))
        drift[h] = abs(ref.hamiltonian() - energy)
    assert 3.4 < np.log2(drift[4e-3] / drift[2e-3]) < 5.6, drift


def test_center_of_mass_of_a_free_tree_flies_a_parabola():
    ref = free_tree(gravity="0.3 -0.2 -9.81")
    g = ref.model.opt.gravity.copy()
    x0, v0 = ref.subtree_com[1].copy(), ref.subtree_linvel[1].copy()
    for _ in range(10):
        ref.step(50)
        ref.forward()
        np.testing.assert_allclose(ref.subtree_com[1], x0 + v0 * ref.time + g * ref.time**2 / 2, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ref.subtree_linvel[1], v0 + g * ref.time, rtol=0, atol=1e-9)


def test_fall_under_semi_implicit_euler():
    body = '<body pos="0 0 5"><freejoint/><geom size=".1"/></body>'
    xml = f'<mujoco><option timestep="0.01"/><worldbody>{body}</worldbody></mujoco>'
    ref = ds.Reference(ds.Model.from_mjcf(xml))
    ref.step(70)
    t, h, g = ref.time, 0.01, 9.81
    # v first, then q with the new v: too low by g h t / 2
    assert ref.qpos[2] == pytest.approx(5 - g * t**2 / 2 - g * h * t / 2, abs=1e-12)


def test_power_balance_of_a_driven_arm():
    # the energy gained is the work of the actuators: int v'u dt, by Simpson's rule on the RK4 steps
    m = scenes.compile_mj(scenes.ALL["actuator_motor"])
    model = ds.Model.from_mujoco(m)
    model.opt.integrator, model.opt.timestep = "rk4", 1e-4
    ref = ds.Reference(model)
    ref.qvel = [1, -2, 0.5]
    start = ref.hamiltonian()
    power = []
    for i in range(4001):
        ref.ctrl = [0.3, 0.2, 0.05, 0.1]
        ref.forward()
        power.append(ref.qfrc_actuator @ ref.qvel)
        if i < 4000:
            ref.step()
    weights = np.ones(4001)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    work = np.dot(weights, power) * 1e-4 / 3
    gained = ref.hamiltonian() - start
    assert abs(work) > 0.1
    assert abs(gained - work) < 1e-8 * abs(work)


def test_implicit_damping_survives_where_explicit_does_not():
    m = scenes.compile_mj(scenes.ALL["damper_stiff"])
    speeds = {}
    for integrator in ("euler", "implicitfast", "rk4"):
        model = ds.Model.from_mujoco(m)
        model.opt.integrator = integrator
        ref = ds.Reference(model)
        ref.qvel = [3, -2]
        ref.step(100)
        speeds[integrator] = np.abs(ref.qvel).max() if ref.status == 0 else np.inf
    assert speeds["euler"] < 0.1 and speeds["implicitfast"] < 0.1 and speeds["rk4"] == np.inf
