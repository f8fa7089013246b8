"""Equalities by position and velocity, and joint limits, on models."""

import numpy as np
import pytest
from formulation_models import SEED, belt, four_bar, reference, stopped_pendulum

import dualstep as ds

fm = ds.formulations
CIRCLE = """<mujoco><option timestep="{h}"/><worldbody>
  <body name="m" pos="0 0 -.5"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom size=".01" mass="2"/>
  <body name="rod" pos="0 0 0"><joint axis="0 1 0"/><inertial pos="0 0 .25" mass="1e-9" diaginertia="1e-9 1e-9 1e-9"/></body></body>
  </worldbody><equality><connect body1="rod" body2="world" anchor="0 0 .5"/>{extra}</equality></mujoco>"""


def gap(ref):
    ref.forward()
    return np.abs(ref._core.rows()["pos"][:3]).max()


@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_equalities_are_met_at_the_acceleration(alpha, rng):
    """J a + dJ/dt v + 2 alpha J v + alpha^2 c = 0, and the same force as the function on matrices gives."""
    ref = reference(four_bar(), equality_alpha=alpha)
    ref.qpos[:], ref.qvel[:] = rng.uniform(-0.05, 0.05, 3), rng.uniform(-1, 1, 3)
    ref.forward()
    rows = ref._core.rows()
    J, drift = rows["J"], -rows["aref"] - 2 * alpha * rows["vel"] - alpha**2 * rows["pos"]
    wanted = fm.equality_dynamics(ref.mass_matrix(), ref.qfrc_smooth, J, drift, c=rows["pos"], c_dot=rows["vel"],
                                  alpha=alpha)  # fmt: skip
    np.testing.assert_allclose(ref.qacc, wanted.qacc, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rows["force"], wanted.force, rtol=1e-8, atol=1e-9)
    # the row across the plane has no force
    assert rows["force"][1] == pytest.approx(0, abs=1e-9)
    # dJ/dt v by differences
    e = 1e-6
    moved = [reference(four_bar(), equality_alpha=alpha) for _ in "+-"]
    for sign, other in zip((1, -1), moved, strict=True):
        other.qpos[:] = ref.qpos + sign * e * ref.qvel
        other.forward()
    rate = (moved[0]._core.rows()["J"] - moved[1]._core.rows()["J"]) / (2 * e) @ ref.qvel
    np.testing.assert_allclose(drift, rate, atol=1e-7)


def test_tension_of_a_pendulum_and_redundant_rows():
    """9-C1 and 9-C2 on a model: the string's tension, and the same constraint twice shares it equally."""
    for extra in ("", '<connect body1="rod" body2="world" anchor="0 0 .5"/>'):
        ref = reference(CIRCLE.format(h=0.001, extra=extra), equality_alpha=0.0)
        ref.qvel[:] = (1.5, 0, 3)
        ref.forward()
        force = ref._core.rows()["force"].reshape(-1, 3)[:, 2]
        np.testing.assert_allclose(force, 28.62 / len(force), rtol=1e-6)
        assert ref.residual < 1e-9


def test_drift_of_a_linkage_falls_with_alpha():
    drift = {}
    for alpha in (0.0, 10.0, 50.0):
        ref = reference(four_bar(h=1e-3), equality_alpha=alpha)
        ref.step(1000)
        drift[alpha] = gap(ref)
    assert drift[50.0] < 0.2 * drift[10.0] < 0.2 * drift[0.0]


@pytest.mark.parametrize(
    "options",
    [dict(), dict(equality_alpha=20.0), dict(equality_alpha=20.0, integrator="rk4"),
     dict(equality_alpha=20.0, integrator="implicitfast"), dict(equality_alpha=20.0, **SEED),
     dict(integrator="variational"), dict(scheme="event_driven")],
)  # fmt: skip
def test_the_linkage_runs_everywhere(options):
    ref = reference(four_bar(h=5e-4), **options)
    energy = ref.hamiltonian()
    if "scheme" in options:
        ref.advance(0.4)
    else:
        ref.step(800)
    assert gap(ref) < 2e-3 and ref.status == 0
    assert ref.hamiltonian() == pytest.approx(energy, abs=0.1)


def test_alpha_is_kept_within_what_the_step_bears():
    ref = reference(four_bar(h=0.01), equality_alpha=1e6)
    ref.step(50)
    assert np.abs(ref.qvel).max() < 100


def test_a_prescribed_velocity_is_followed():
    """11-C2 and C3: psi decays as exp(-alpha t), and does not settle where it would without psi_t."""
    xml = """<mujoco><option timestep="1e-4" integrator="RK4"/><worldbody><body><joint name="j" axis="0 1 0"/>
      <geom pos="0 0 -1" size=".1" mass="1"/></body></worldbody></mujoco>"""
    model = ds.Model.from_mjcf(xml)
    model.opt.equality_alpha = 4.0
    model.prescribe_velocity("j", 0.0, 1.0, 3.0)
    ref = ds.Reference(model)
    for _ in range(10):
        ref.step(1000)
        psi = ref.qvel[0] - np.cos(3 * ref.time)
        assert abs(psi) <= np.exp(-4 * ref.time) + 1e-9
    with pytest.raises(ds.UnsupportedModelError, match="prescribed"):
        ds.Batch(model, 1)
    with pytest.raises(ValueError, match="nobody"):
        model.prescribe_velocity("nobody", 1.0)
    # the function of C++ looks for itself
    for joint in (-1, model.njnt):
        with pytest.raises(ValueError, match="no such joint"):
            model._prescribe_velocity(joint, 1.0, 0.0, 0.0, 0.0)


def test_the_belt_runs_in_time_steps_and_stands_in_its_file():
    ref = reference(belt(h=1e-3), contact_model="stewart_trinkle", dynamic_friction_ratio=1.0)
    ref.qvel[:] = (0.1, 0.1, 0)
    ref.step(300)
    assert ref.qvel[0] == pytest.approx(0.1, abs=1e-9) and ref.qpos[0] == pytest.approx(0.03, abs=1e-9)
    # sticking until the spring overcomes friction
    assert ref.qvel[1] == pytest.approx(0.1, abs=1e-6)
    ref.step(400)
    # then it swings about where the spring balances friction, with the belt's speed
    assert ref.qpos[1] == pytest.approx(0.4 * 9.81 / 100, abs=0.0101) and abs(ref.qvel[1]) < 0.101
    for bad in ('data="1 2 3 4 5"', 'data="1"'):
        name = "dualstep_prescribe_belt" if "5" in bad else "dualstep_prescribe_nobody"
        with pytest.raises(ds.InvalidModelError, match="dualstep_prescribe"):
            ds.Model.from_mjcf(f'<mujoco><worldbody><body><joint name="belt"/><geom size="1"/></body></worldbody><custom>'
                               f'<numeric name="{name}" {bad}/></custom></mujoco>')  # fmt: skip


@pytest.mark.parametrize("options", [SEED, dict(), dict(contact_model="impulsive"), dict(scheme="event_driven")])
def test_joint_limits_with_and_without_stabilization(options):
    ref = reference(stopped_pendulum(h=1e-3).replace("-10 170", "10 170"), **options)
    ref.qpos[0] = 0.5
    deepest = 0.0
    for _ in range(2000):
        ref.step()
        deepest = max(deepest, np.radians(10) - ref.qpos[0])
    assert ref.qpos[0] == pytest.approx(np.radians(10), abs=0.02) and abs(ref.qvel[0]) < 1e-6
    if "scheme" in options:
        assert deepest < 1e-9
    if options is SEED:
        # rests at eps A kappa^2 times the torque on the stop
        torque, inertia = 9.81 * np.sin(np.radians(10)), 1 + 0.004
        assert np.radians(10) - ref.qpos[0] == pytest.approx(0.01 / inertia * 0.05**2 * torque, rel=1e-2)
