"""Event-driven simulation on models: the acceptance figures of guards, impacts and Zeno; degenerate starts."""

import numpy as np
import pytest
from formulation_models import belt, box, hollow_ball, particle, reference, stopped_pendulum

import dualstep as ds


def run(xml, duration, *, qpos=None, qvel=None, **options):
    ref = reference(xml, scheme="event_driven", **options)
    if qpos is not None:
        ref.qpos[:] = qpos
    if qvel is not None:
        ref.qvel[:] = qvel
    return ref, ref.advance(duration)


def test_nothing_that_moves_stays_as_it_is():
    ref, events = run('<mujoco><worldbody><geom type="plane" size="1 1 1"/></worldbody></mujoco>', 0.02)
    assert not events and ref.status == 0 and ref.qpos.size == 0


def test_bounces_and_zeno():
    ref, events = run(particle(h=0.01, mu=0, height=1), 3.0, restitution=0.7)
    impacts = [e for e in events if e.kind == "impact"]
    np.testing.assert_allclose([e.time for e in impacts[:4]], [0.451523641, 1.083656738, 1.526149907, 1.835895124],
                               atol=1e-8)  # fmt: skip
    for e in impacts[:4]:
        assert e.qvel_after[2] == pytest.approx(-0.7 * e.qvel_before[2], rel=1e-9)
        assert e.impulse[0] == pytest.approx(2 * 1.7 * -e.qvel_before[2], rel=1e-9)
    # the approach falls below 1e-4 m/s a little before the limit of Zeno's sequence, and contact stays
    assert events[-1].kind == "persistent" and events[-1].time == pytest.approx(2.558633966, abs=1e-4)
    assert ref.qpos[2] == pytest.approx(-1, abs=1e-12) and ref.qvel[2] == 0 and ref.status == 0
    ref.forward()
    assert ref.contacts().force[0, 0] == pytest.approx(19.62, abs=1e-9)


def test_stick_and_slip_on_a_belt():
    _, events = run(belt(), 2.0, qvel=(0.1, 0.1, 0), dynamic_friction_ratio=0.25 / 0.4)
    assert [e.kind for e in events] == ["slip", "stick"] * 2 + ["slip"]
    slip, stick, again = (e.time for e in events[:3])
    assert slip == pytest.approx(0.3924, abs=1e-6)
    assert stick - slip == pytest.approx(0.433536963, abs=1e-6)
    assert again - stick == pytest.approx(0.2943, abs=1e-6)


def test_leaving_a_sphere():
    xml = """<mujoco><option timestep=".01"/><worldbody><geom type="sphere" size="1" friction="0 0 0"/>
      <body pos="0 0 1.001"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom type="sphere" size=".001" mass="1" friction="0 0 0"/></body></worldbody></mujoco>"""
    R, start = 1.001, 1e-2
    ref = reference(xml, scheme="event_driven")
    ref.qpos[:] = R * np.sin(start), R * np.cos(start) - R
    (event,) = ref.advance(2.0)
    assert event.kind == "release"
    # energy from rest at the start's angle: leaves where cos = 2/3 of the start's
    assert np.linalg.norm(event.qvel_after) == pytest.approx(np.sqrt(2 / 3 * 9.81 * R * np.cos(start)), rel=1e-6)
    ahead = ref.qpos[0] - ref.qvel[0] * (ref.time - event.time)
    assert np.sqrt(1 - (ahead / R) ** 2) == pytest.approx(2 / 3 * np.cos(start), abs=1e-6)


def test_rocking_block():
    xml = """<mujoco><option timestep=".01"/><worldbody><geom type="plane" size="5 5 .1" friction="2 0 0"/>
      <body pos="0 0 .5"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
      <geom type="box" size=".15 .1 .5" mass="1" friction="2 0 0"/></body></worldbody></mujoco>"""
    tilt = 0.1
    corner = np.array([[np.cos(tilt), np.sin(tilt)], [-np.sin(tilt), np.cos(tilt)]]) @ (0.15, -0.5)
    _, events = run(xml, 1.0, qpos=(0.15 - corner[0], -corner[1] - 0.5, tilt))
    impacts = [e for e in events if e.kind == "impact"]
    assert len({e.time for e in impacts}) == 2 and "release" in {e.kind for e in events}
    for e in impacts:
        assert e.qvel_after[2] / e.qvel_before[2] == pytest.approx(0.876146789, abs=1e-8)


def test_pendulum_with_a_stop():
    ref, events = run(stopped_pendulum(), 6.0, qpos=[1.0], restitution=0.6)
    stops = [e for e in events if e.kind == "limit"]
    assert stops[0].joint == 0 and stops[0].geom1 == stops[0].geom2 == -1
    for e in stops:
        assert e.qvel_after[0] == pytest.approx(-0.6 * e.qvel_before[0], rel=1e-9)
    inertia, weight = 1 + 0.4 * 0.01, 9.81
    speed = np.sqrt(2 * weight * (np.cos(np.radians(10)) - np.cos(1.0)) / inertia)
    assert stops[0].qvel_before[0] == pytest.approx(-speed, rel=1e-9)
    # without restitution it comes to rest on the stop, if the stop is where gravity pushes it
    resting, events = run(stopped_pendulum().replace("-10 170", "10 170"), 3.0, qpos=[0.5])
    assert [e.kind for e in events] == ["limit"]
    assert resting.qpos[0] == pytest.approx(np.radians(10), abs=1e-12) and resting.qvel[0] == 0


def test_spinning_ball_bounces_twice():
    """The second bounce of a ball under infinite friction has no tangential impulse."""
    xml = hollow_ball(mu=1e7, h=0.01).replace('gravity="0 0 0"', 'gravity="0 0 -9.81"')
    _, events = run(xml, 0.6, qvel=(2, -3, 10), restitution=0.8)
    first, second = (e for e in events if e.kind == "impact")
    np.testing.assert_allclose(first.qvel_after, (1.6, 2.4, 16), atol=1e-9)
    assert abs(first.impulse[1:]).max() == pytest.approx(0.24, abs=1e-9)
    np.testing.assert_allclose(second.impulse[1:], 0, atol=1e-9)


def test_sliding_box_stops_where_coulomb_says():
    ref, events = run(box(mu=0.5), 0.5, qvel=(1, 0, 0, 0, 0, 0))
    assert {e.kind for e in events} == {"stick"}
    assert events[0].time == pytest.approx(1 / (0.5 * 9.81), abs=1e-9)
    assert ref.qpos[0] == pytest.approx(1 / (2 * 0.5 * 9.81), abs=1e-9)
    np.testing.assert_allclose(ref.qvel, 0, atol=1e-9)


def test_falling_box_loses_energy_and_stays_above_ground():
    ref = reference(box(mu=0.3, height=0.4, spin="20 10 5"), scheme="event_driven", restitution=0.3)
    energy = ref.hamiltonian()
    for _ in range(60):
        ref.advance(0.01)
        now = ref.hamiltonian()
        assert now <= energy + 1e-8
        energy = now
        ref.forward()
        assert not ref.contacts().count or ref.contacts().dist.min() > -1e-8
    assert ref.status == 0


def test_a_start_in_penetration_is_projected_out():
    ref, events = run(particle(h=0.01, mu=0), 0.1, qpos=(0, 0, -0.01))
    assert ref.qpos[2] == pytest.approx(0, abs=1e-9) and not events


def test_a_plain_free_fall_has_the_parabola():
    ref, events = run(particle(h=0.01, height=5), 0.5, qvel=(1, 2, 3))
    assert not events
    np.testing.assert_allclose(ref.qpos, (0.5, 1, 1.5 - 0.125 * 9.81), atol=1e-12)


def test_steps_and_advance_agree_and_forward_keeps_the_state():
    one, other = (reference(particle(h=0.01, mu=0.2, height=0.2), scheme="event_driven", restitution=0.5) for _ in "12")
    one.qvel[0] = other.qvel[0] = 1
    one.step(40)
    other.advance(0.4)
    np.testing.assert_allclose(one.qpos, other.qpos, atol=1e-10)
    state = one.qpos.copy(), one.qvel.copy()
    one.forward()
    np.testing.assert_array_equal(state, (one.qpos, one.qvel))


def test_refusals():
    with pytest.raises(ds.UnsupportedModelError, match="frictionloss"):
        reference('<mujoco><worldbody><body><joint frictionloss="1"/><geom size=".1"/></body></worldbody></mujoco>',
                  scheme="event_driven")  # fmt: skip
    with pytest.raises(ds.UnsupportedModelError, match="variational"):
        reference(particle(), scheme="event_driven", integrator="variational")
    with pytest.raises(ValueError, match="event_driven"):
        reference(particle()).advance(1.0)
    with pytest.raises(ValueError, match="-1"):
        reference(particle(), scheme="event_driven").advance(-1)
