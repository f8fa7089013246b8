"""The contact models in time stepping on models: acceptance figures, agreement with the functions on matrices."""

import numpy as np
import pytest
from formulation_models import SEED, box, hollow_ball, particle, reference

import dualstep as ds

fm = ds.formulations
TIME_STEPPING = ("todorov", "anitescu", "stewart_trinkle", "compliant", "soft_anchor", "impulsive")


def contact_frame(ref):
    """The first contact's force and point velocity along n, and along the world's x and y."""
    found = ref.contacts()
    force = found.frame[0].T @ found.force[0, :3]
    return force[[2, 0, 1]]


# todorov with a spring-damper's parameters
@pytest.mark.parametrize(
    "push, speed, wanted",
    [((0, 0, 0), 0, (19.62 / 1.01, 0, 0)), ((3, 0, 0), 0, (19.425742574, -2.970297030, 0)),
     ((0, 0, 0), 1, (47.223762376, -23.611881188, 0))],
)  # fmt: skip
def test_todorov_seed_figures(push, speed, wanted):
    ref = reference(particle(), **SEED)
    ref.qfrc_applied[:], ref.qvel[0] = push, speed
    ref.forward()
    np.testing.assert_allclose(contact_frame(ref), wanted, atol=1e-8)


def test_todorov_rests_at_epsilon_kappa2_g_and_feels_at_a_distance():
    ref = reference(particle(), **SEED)
    ref.step(2000)
    assert ref.qpos[2] == pytest.approx(-0.01 * 0.05**2 * 9.81, abs=1e-9)
    far = reference(particle(), contact_margin=0.02, **SEED)
    far.qpos[2], far.qvel[2] = 0.01, -1
    far.forward()
    assert contact_frame(far)[0] == pytest.approx(90.712871287, abs=1e-8)


@pytest.mark.parametrize(
    "options, wanted",
    [(dict(cone="pyramidal"), (42.159974695, -10.539993674, -10.539993674)),
     (dict(cone="pyramidal", friction_directions=8), (47.223762376, -16.696121305, -16.696121305)),
     (dict(cone="elliptic"), (47.223762376, -16.696121305, -16.696121305))],
)  # fmt: skip
def test_todorov_cones(options, wanted):
    ref = reference(particle(), **SEED, **options)
    ref.qvel[:2] = np.sqrt(0.5)
    ref.forward()
    np.testing.assert_allclose(contact_frame(ref), wanted, atol=1e-8)


def test_desaxce_is_coulomb():
    ref = reference(particle(), desaxce=True, **SEED)
    ref.qvel[0] = 1
    ref.forward()
    np.testing.assert_allclose(contact_frame(ref), (19.425742574, -9.712871287, 0), atol=1e-8)


def test_creep_on_a_slope():
    ref = reference(particle(slope=0.2), **SEED)
    ref.step(2000)
    # R_t m g sin / B, with R_t = eps / m
    assert ref.qvel[0] == pytest.approx(4.8724e-4, rel=1e-4)
    assert ref.qpos[2] == pytest.approx(-2.40361e-4, rel=1e-4)


# anitescu and stewart_trinkle: sections 25 and 26
def test_anitescu_lifts_a_sliding_landing():
    for directions in (0, 4):
        ref = reference(particle(h=0.01, mass=1), contact_model="anitescu", friction_directions=directions)
        ref.qvel[0] = 2
        ref.step()
        np.testing.assert_allclose(ref.qvel, (1.56076, 0, 0.78038), atol=1e-9)
        np.testing.assert_allclose(contact_frame(ref) * 0.01, (0.87848, -0.43924, 0), atol=1e-9)


@pytest.mark.parametrize(
    "speed, directions, wanted",
    [((1, 0), 4, (0.95095, 0)), ((1, 0.2), 4, (0.95095, 0.2)), ((1, 0.2), 8, (0.95095, 0.2)),
     ((1, 0.999), 4, (0.974975, 0.974975))],
)  # fmt: skip
def test_stewart_trinkle_figures(speed, directions, wanted):
    ref = reference(particle(h=0.01, mass=1), contact_model="stewart_trinkle", friction_directions=directions)
    ref.qvel[:2] = speed
    ref.step()
    np.testing.assert_allclose(ref.qvel, (*wanted, 0), atol=1e-9)
    assert contact_frame(ref)[0] == pytest.approx(9.81, abs=1e-9)


@pytest.mark.parametrize("model", ["anitescu", "stewart_trinkle"])
@pytest.mark.parametrize("directions", [0, 8])
def test_a_step_is_the_function_on_matrices(model, directions, rng):
    """A tilted, turning box among its corners, with joint damping in the inertia of the step."""
    ref = reference(box(h=0.004, spin="1 2 30", height=0.004), contact_model=model, friction_directions=directions,
                    contact_margin=0.05)  # fmt: skip
    ref.qvel[:] = rng.uniform(-1, 1, 6)
    ref.forward()
    found, h = ref.contacts(), 0.004
    rows = ref._core.rows()
    assert found.count == 4 and (found.dist > -2 * h).all()
    free = ref.qvel + h * np.linalg.solve(ref.mass_matrix(), ref.qfrc_smooth)
    mu = np.full(found.count, 0.5)
    if model == "anitescu":
        wanted = fm.anitescu(ref.mass_matrix(), rows["J"], found.dist, mu, free, h, directions=directions).v_next
    elif directions:
        wanted = fm.stewart_trinkle(ref.mass_matrix(), rows["J"], found.dist, mu, free, h, directions=8).v_next
    else:
        A = rows["J"] @ np.linalg.solve(ref.mass_matrix(), rows["J"].T)
        b = rows["J"] @ free + np.kron(found.dist / h, [1, 0, 0])
        wanted = free + np.linalg.solve(ref.mass_matrix(), rows["J"].T @ fm.contact_dual(A, b, 0.5, desaxce=True).force)
    ref.step()
    np.testing.assert_allclose(ref.qvel, wanted, atol=1e-8)


def test_joint_damping_is_in_the_inertia_of_the_step():
    ref = reference(particle(h=0.01, mass=1, damping=3.0, mu=0.2), contact_model="stewart_trinkle")
    ref.qvel[0] = 1
    ref.step()
    # (m + h b) (v' - v) = h (-b v - mu m g)
    assert ref.qvel[0] == pytest.approx(1 + 0.01 * (-3 - 0.2 * 9.81) / 1.03, abs=1e-12)


def test_deep_penetration_is_corrected_at_two_metres_per_second():
    ref = reference(particle(h=0.01, mass=1), contact_model="stewart_trinkle")
    ref.qpos[2] = -0.05
    ref.step()
    assert ref.qvel[2] == pytest.approx(2, abs=1e-9)


# compliant and soft_anchor: sections 16 to 18
def test_compliant_restitution():
    for law, damping, wanted in (("linear", 0.4 * np.sqrt(1e4), 0.571740), ("hunt_crossley", 0.3, 0.711950)):
        xml = particle(h=2e-6, mass=1).replace("gravity=", 'gravity="0 0 0" wind=')
        ref = reference(xml, contact_model="compliant", compliant_law=law, damping=damping, exponent=1.0,
                        stiffness=1e4 if law == "linear" else 1e5)  # fmt: skip
        ref.qvel[2] = -2
        ref.step(5)
        while ref.qpos[2] < 0:
            ref.step(20)
        assert ref.qvel[2] / 2 == pytest.approx(wanted, abs=2e-4), law


@pytest.mark.parametrize("law, ratio, v_s, wanted", [("piecewise", 1.0, 1e-3, 4.0542e-4), ("stribeck", 0.8, 1e-3, 4.49209e-4)])
def test_compliant_friction_creeps_on_a_slope(law, ratio, v_s, wanted):
    ref = reference(particle(h=1e-4, mass=1, slope=0.2), contact_model="compliant", friction_law=law,
                    dynamic_friction_ratio=ratio, stiction_speed=v_s)  # fmt: skip
    ref.step(10000)
    assert ref.qvel[0] == pytest.approx(wanted, rel=1e-4)
    assert ref.qpos[2] == pytest.approx(-9.81 * np.cos(0.2) / 1e4, rel=1e-6)


def test_compliant_stopping_distance():
    ref = reference(particle(h=1e-4, mass=1), contact_model="compliant", dynamic_friction_ratio=0.8, stiction_speed=0.01)
    ref.qpos[2], ref.qvel[0] = -9.81e-4, 1
    ref.step(4000)
    assert ref.qpos[0] == pytest.approx(0.12749, rel=1e-3)


def test_no_compliant_friction_reverses_a_velocity():
    """Four corners under friction far stiffer than the step bears, each bounded so that all together stop the box."""
    ref = reference(box(h=0.002), contact_model="compliant", stiction_speed=1e-9)
    ref.qpos[2] -= 3 * 9.81 / 4e4
    ref.qvel[0] = 0.02
    for _ in range(20):
        ref.step()
        assert -1e-3 <= ref.qvel[0] <= 0.02


def test_soft_anchor_figures():
    flat = reference(particle(h=5e-4, mass=1), contact_model="soft_anchor")
    flat.step(2000)
    assert flat.qpos[2] == pytest.approx(-9.81e-4, abs=1e-8)
    x = flat.qpos[0]
    flat.qvel[0] = 1
    flat.step(1400)
    # it stops, and does not spring back
    assert flat.qpos[0] - x == pytest.approx(0.101221, abs=2e-6) and abs(flat.qvel[0]) < 2e-8
    slope = reference(particle(h=5e-4, mass=1, slope=0.2), contact_model="soft_anchor")
    slope.step(6000)
    assert slope.qpos[2] == pytest.approx(-9.61445e-4, abs=1e-8)
    force = contact_frame(slope)
    assert force[1] / -8e3 == pytest.approx(2.43618e-4, abs=1e-8)
    steep = reference(particle(h=5e-4, mass=1, slope=0.6), contact_model="soft_anchor")
    steep.step(2000)
    v = steep.qvel[0]
    steep.step(1000)
    assert (steep.qvel[0] - v) / 0.5 == pytest.approx(1.490871, abs=1e-6)


def test_rolling_does_not_load_the_anchor():
    ref = reference("""<mujoco><option timestep="5e-4"/><worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .0990"><freejoint/><geom type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>""",
                    contact_model="soft_anchor")  # fmt: skip
    ref.step(1000)
    ref.qvel[:] = (0.5, 0, 0, 0, 0.5 / (ref.qpos[2]), 0)
    ref.step(2000)
    assert ref.qvel[0] == pytest.approx(0.5, rel=2e-3)


# impulsive: sections 19 and 20
@pytest.mark.parametrize(
    "mu, wanted", [(1e7, (1.6, 2.4, 16)), (0.25, (1.6, 2.4, 16)), (0.05, (1.73, 2.4, 14.05)), (0, (2, 2.4, 10))]
)
def test_spinning_ball(mu, wanted):
    ref = reference(hollow_ball(mu=mu), contact_model="impulsive", restitution=0.8)
    ref.qvel[:] = (2, -3, 10)
    ref.step()
    np.testing.assert_allclose(ref.qvel, wanted, atol=1e-9)


def test_impulsive_bounces():
    ref = reference(particle(h=1e-4, mass=1, height=1), contact_model="impulsive", restitution=0.7, **SEED)
    heights = []
    for _ in range(11000):
        ref.step()
        heights.append(ref.qpos[2])
    # the first apex after the impact at 0.4515 s
    assert max(heights[5000:]) + 1 == pytest.approx(0.49, abs=2e-3)


def test_restitution_of_a_pair_and_at_a_stop():
    model = ds.Model.from_mjcf(particle(h=1e-4, mass=1))
    model.opt.contact_model = "impulsive"
    model.set_restitution("floor", "ball", 0.5)
    ref = ds.Reference(model)
    ref.qvel[2] = -1
    ref.step()
    assert ref.qvel[2] == pytest.approx(0.5, abs=2e-3)
    stop = reference("""<mujoco><option timestep="1e-4" gravity="0 0 0"/><worldbody><body><joint type="slide"
      limited="true" range="-1 0"/><geom size=".1"/></body></worldbody></mujoco>""", contact_model="impulsive",
                     restitution=0.6)  # fmt: skip
    stop.qvel[0] = 1
    stop.step()
    assert stop.qvel[0] == pytest.approx(-0.6, abs=1e-3)


def test_an_impact_never_gains_energy():
    """The rod that Newton's restitution with friction would speed up by 7.3%."""
    ref = reference("""<mujoco><option timestep="1e-7" gravity="0 0 0"/><worldbody><geom type="plane" size="5 5 .1"
      friction="1e7 0 0"/><body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".0833333333 .0833333333 .0833333333"/>
      <geom type="sphere" size="1e-6" pos="0 0 -.5" friction="1e7 0 0"/></body></worldbody></mujoco>""",
                    contact_model="impulsive", restitution=0.9, contact_margin=1e-3)  # fmt: skip
    ref.qpos[:] = (0, 0.5 * np.cos(0.6) + 1e-6, -0.6)
    ref.qvel[:] = (-0.62, -1, 0)
    ref.forward()
    before = ref.kinetic_energy
    ref.qpos[1] -= ref.contacts().dist[0] + 1e-12
    ref.step()
    assert ref.qvel[1] != -1 and ref.kinetic_energy <= before * (1 + 1e-9)


# all together: section 34
@pytest.mark.parametrize("model", TIME_STEPPING)
def test_a_box_at_rest_is_carried(model):
    options = SEED if model == "todorov" else {}
    ref = reference(box(h=0.002), contact_model=model, **options)
    ref.step(1500)
    assert ref.contacts().force[:, 0].sum() == pytest.approx(3 * 9.81, rel=1e-6)
    np.testing.assert_allclose(ref.qvel, 0, atol=1e-6)


@pytest.mark.parametrize("model", ["stewart_trinkle", "compliant", "soft_anchor", "desaxce"])
def test_a_sliding_particle_decelerates_by_mu_g(model):
    options = dict(desaxce=True, **SEED) if model == "desaxce" else dict(contact_model=model)
    ref = reference(particle(h=5e-4, mass=1), **options)
    ref.step(3000)
    ref.qvel[0] = 2
    ref.step(100)
    v = ref.qvel[0]
    ref.step(400)
    assert (v - ref.qvel[0]) / 0.2 == pytest.approx(0.5 * 9.81, rel=1e-3)


def test_facing_contacts_in_penetration_are_reported():
    """Anitescu's convex program has no solution for a ball squeezed by two walls: softened, and said so."""
    xml = """<mujoco><option timestep=".01"/><worldbody><geom type="box" size=".1 1 1" pos="-.19 0 0"/>
      <geom type="box" size=".1 1 1" pos=".19 0 0"/><body><joint type="slide" axis="1 0 0"/><geom size=".1"/></body>
      </worldbody></mujoco>"""
    ref = reference(xml, contact_model="anitescu")
    ref.step()
    assert ref.status & ds.Status.NOT_CONVERGED and np.isfinite(ref.qvel).all()


@pytest.mark.parametrize("mu, height, tilt, pin", [(1.25, 0.17, 178, "-.1 0 .095"), (1.25, 0.17, 178, ".1 0 0"), (0.6, 0.17, 160, ".2 0 .1")])
def test_a_ball_that_jams_between_planes_is_reported(mu, height, tilt, pin):
    """Where the wedge is narrower than friction no speed of the hinge leaves both planes."""
    model = ds.Model.from_mjcf(f"""<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1" friction="{mu}"/>
      <geom type="plane" size="5 5 1" pos="0 0 {height}" euler="{tilt} 0 0" friction="{mu}"/><body pos="0 0 .095">
      <joint axis="0 1 0" pos="{pin}"/><geom size=".1" mass="1"/></body></worldbody></mujoco>""")
    model.opt.contact_model, model.opt.friction_directions = "anitescu", 0
    ref = ds.Reference(model)
    ref.forward()
    assert ref.contacts().count == 2 and ref.status == int(ds.Status.NOT_CONVERGED)
    assert np.abs(ref.contacts().force).max() < 1e11


@pytest.mark.parametrize("model", ["anitescu", "stewart_trinkle", "impulsive", "soft_anchor"])
def test_laws_of_a_whole_step_refuse_runge_kutta(model):
    with pytest.raises(ds.UnsupportedModelError, match="rk4"):
        reference(particle(), contact_model=model, integrator="rk4")


def test_a_spring_too_stiff_for_the_step_is_refused():
    with pytest.raises(ds.UnsupportedModelError, match="timestep"):
        reference(particle(h=0.01, mass=0.01), contact_model="compliant", stiffness=1e5)


def test_choices_stand_in_the_model_file():
    custom = """<custom><text name="dualstep_contact_model" data="impulsive"/>
      <numeric name="dualstep_restitution" data=".3"/>
      <text name="dualstep_restitution_pairs" data="floor ball .5"/></custom></mujoco>"""
    ref = reference(particle(h=1e-4, mass=1).replace("</mujoco>", custom))
    ref.qvel[2] = -1
    ref.step()
    assert ref.qvel[2] == pytest.approx(0.5, abs=2e-3)
    with pytest.raises(ds.InvalidModelError, match="dualstep_restitution_pairs"):
        ds.Model.from_mjcf(particle().replace("</mujoco>", custom.replace("floor ball .5", "floor nobody .5")))
    with ds.Batch(ds.Model.from_mjcf(particle(h=1e-4, mass=1).replace("</mujoco>", custom)), 2, dtype="float64") as batch:
        batch.qvel[:, 2] = -1
        batch.step()
        np.testing.assert_allclose(batch.qvel[:, 2], ref.qvel[2], rtol=0, atol=1e-9)
