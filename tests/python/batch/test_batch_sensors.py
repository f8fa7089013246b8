"""Sensor readings of a batch are MuJoCo's, for the state of the last evaluation; the step computes them."""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds
from dualstep import _reference_sensors

WITH_SENSORS = [name for name, path in scenes.SCENES.items() if name.startswith("sensor_") and "loop" not in name]
# forces of constraints, near rest: contacts, limits and loops act
WITH_FORCES = ["sensor_touch", "sensor_contact_forces", "sensor_loop_forces"]
STATE = ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")

OBJECTS = ['geom1="g"', 'body1="b"', 'body1="b" body2="c"', 'subtree1="b"', 'site="s"', 'geom1="f" geom2="h"',
           'body1="c" subtree2="world"']  # fmt: skip
READINGS = [(3, "none", "found force torque dist pos normal tangent"), (2, "mindist", "found dist pos"),
            (2, "maxforce", "found force normal"), (1, "netforce", "found force torque dist pos normal tangent")]  # fmt: skip
# contacts of several kinds of pairs, which kernels find in another order than MuJoCo
CONTACTS = """<mujoco><option cone="elliptic" tolerance="0" iterations="200"/><worldbody>
<geom name="f" type="plane" size="1 1 1"/><site name="s" type="box" size=".15 .15 .02"/>
<body name="b" pos="0 0 .09"><freejoint/><geom name="g" type="box" size=".1 .1 .1" condim="6"/>
  <body pos=".05 0 .2"><joint axis="0 1 0"/><geom name="h" type="capsule" size=".05 .2" condim="4"/></body></body>
<body name="c" pos=".1 .05 .3"><freejoint/><geom name="k" size=".12" margin=".02" {gap}/></body>
</worldbody><sensor>{sensors}</sensor></mujoco>"""


def contact_scene(gap=""):
    sensors = [f'<contact {o} num="{n}" reduce="{r}" data="{data}"/>' for o in OBJECTS for n, r, data in READINGS]
    return mujoco.MjModel.from_xml_string(CONTACTS.format(gap=gap, sensors="".join(sensors)))


def compiled(name):
    if name == "inertial":
        # the torque on the world is the reference's to read
        spec = mujoco.MjSpec.from_file(str(scenes.SCENES["sensor_inertial"]))
        for sensor in list(spec.sensors):
            if sensor.type == mujoco.mjtSensor.mjSENS_TORQUE and spec.site(sensor.objname).parent.name == "world":
                spec.delete(sensor)
        mj = spec.compile()
    else:
        mj = scenes.compile_mj(scenes.ALL[name], constraints=True)
    mj.opt.tolerance, mj.opt.iterations = 0, 200
    return mj


def put(batch, states):
    for env, data in enumerate(states):
        for field in STATE:
            getattr(batch, field)[env] = getattr(data, field)
        batch.time[env] = data.time


def near_rest(mj, rng):
    data = mujoco.MjData(mj)
    mujoco.mj_integratePos(mj, data.qpos, rng.normal(scale=0.03, size=mj.nv), 1)
    data.qvel[:] = rng.normal(scale=0.3, size=mj.nv)
    data.xfrc_applied[1:] = rng.normal(scale=0.5, size=(mj.nbody - 1, 6))
    return data


def stacked(mj, rng):
    data = mujoco.MjData(mj)
    data.qpos[:3] += rng.normal(size=3) * 0.02
    data.qpos[8:11] += rng.normal(size=3) * 0.05
    data.qpos[3:7] += rng.normal(size=4) * 0.05
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    data.qvel[:] = rng.normal(size=mj.nv)
    return data


@pytest.mark.parametrize("name", [*WITH_SENSORS, "inertial"])
def test_readings_are_mujocos(name, rng):
    mj = compiled(name)
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance = 1e-10
    with ds.Batch(model, 5, dtype="float64") as batch:
        assert batch._core.sensors_in_step == (name != "sensor_inertial")
        states = [scenes.draw_state(mj, rng) for _ in range(5)]
        put(batch, states)
        batch.forward()
        got = batch.sensordata
        for env, data in enumerate(states):
            mujoco.mj_forward(mj, data)
            assert scenes.error(got[env], data.sensordata) < 1e-6


@pytest.mark.parametrize("dtype, bound", [("float64", 1e-6), ("float32", 5e-4)])
@pytest.mark.parametrize("name", [*WITH_FORCES, "inertial"])
def test_readings_of_constraint_forces_are_mujocos(name, dtype, bound, rng):
    mj = compiled(name)
    mj.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    states = [near_rest(mj, rng) for _ in range(40)]
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance = 1e-10 if dtype == "float64" else 1e-2
    with ds.Batch(model, len(states), dtype=dtype) as batch:
        put(batch, states)
        batch.forward()
        got = batch.sensordata
        seen = np.zeros(mj.nsensordata, int)
        for env, data in enumerate(states):
            mujoco.mj_forward(mj, data)
            assert scenes.error(got[env], data.sensordata) < bound
            seen += data.sensordata != 0
        assert np.count_nonzero(seen) > 0.4 * mj.nsensordata


# strings over a joint, around a ball and within the body that is measured
STRINGS = """<mujoco><worldbody><site name="w" pos=".3 .1 1"/><site name="v" pos="-.2 -.1 .7"/>
<body pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4"/><site name="up" pos=".05 0 -.2"/>
<geom name="ball" size=".05" pos="0 0 -.4"/>
<body pos="0 0 -.4"><joint axis="1 0 0"/><geom type="capsule" size=".02" fromto="0 0 0 .2 0 -.2"/><site name="j"/>
<site name="t" pos=".2 0 -.2"/>
<body pos=".2 0 -.2"><joint axis="0 0 1"/><geom type="capsule" size=".02" fromto="0 0 0 .1 .1 0"/><site name="e" pos=".1 .1 0"/>
<site name="k" pos=".01 0 0"/></body></body></body></worldbody>
<tendon><spatial name="a" stiffness="40" springlength=".1" damping="1" frictionloss=".5"><site site="w"/><site site="t"/></spatial>
<spatial name="b" stiffness="20" limited="true" range="0 .5"><site site="v"/><geom geom="ball"/><site site="e"/></spatial>
<spatial name="c" armature=".1" stiffness="30"><site site="up"/><site site="t"/><pulley divisor="2"/><site site="t"/><site site="e"/>
</spatial></tendon><actuator><motor tendon="a" gear="3"/></actuator>
<sensor><force site="j"/><torque site="j"/><force site="k"/><torque site="k"/><force site="up"/></sensor></mujoco>"""


def test_strings_pull_at_what_force_sensors_measure(rng):
    mj = mujoco.MjModel.from_xml_string(STRINGS)
    mj.opt.tolerance, mj.opt.iterations = 0, 200
    model, data = ds.Model.from_mujoco(mj), mujoco.MjData(mj)
    model.opt.tolerance = 1e-10
    with ds.Batch(model, 1, dtype="float64") as batch:
        for _ in range(20):
            data.qpos[:], data.qvel[:], data.ctrl[:] = rng.normal(size=3), rng.normal(size=3), rng.normal()
            put(batch, [data])
            batch.forward()
            mujoco.mj_forward(mj, data)
            assert scenes.error(batch.sensordata[0], data.sensordata) < 1e-6


@pytest.mark.parametrize("gap", ["", 'gap=".01"'])
def test_contact_sensors_are_mujocos(gap, rng):
    mj = contact_scene(gap)
    states = [stacked(mj, rng) for _ in range(40)]
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance = 1e-10
    with ds.Batch(model, len(states), dtype="float64") as batch:
        # within a gap kernels find no contacts
        assert batch._core.sensors_in_step == (not gap)
        put(batch, states)
        batch.forward()
        got, read = batch.sensordata, 0
        for env, data in enumerate(states):
            mujoco.mj_forward(mj, data)
            np.testing.assert_allclose(got[env], data.sensordata, rtol=1e-6, atol=1e-6)
            read += np.count_nonzero(data.sensordata)
        assert read > 5000


def sensed(model, states, asked_before, **options):
    """Readings after steps, asked for before the first one or after the last."""
    with ds.Batch(model, len(states), **options) as batch:
        put(batch, states)
        if asked_before:
            assert np.asarray(batch.sensordata).shape == (len(states), model.nsensordata)
        batch.step(3)
        batch.step()
        return np.array(batch.sensordata)


@pytest.mark.parametrize("name", ["sensor_contact_forces", "inertial", "contacts"])
def test_one_answer_whoever_computes_it_and_whenever_it_is_asked_for(name, rng):
    mj = contact_scene() if name == "contacts" else compiled(name)
    states = [stacked(mj, rng) if name == "contacts" else near_rest(mj, rng) for _ in range(9)]
    model = ds.Model.from_mujoco(mj)
    want = sensed(model, states, True, device="cpu", isa="portable")
    assert np.isfinite(want).all() and np.count_nonzero(want) > want.size / 4
    for options in ({"device": "cpu"}, {"device": "emulated", "lanes": 8}, {"device": "emulated", "lanes": 1}):
        for asked_before in (True, False):
            assert np.array_equal(sensed(model, states, asked_before, **options), want), (options, asked_before)


def test_a_reference_is_given_what_it_takes_of_the_state():
    model = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    reference = ds.Reference(model)
    state = {"qpos": np.arange(7.0), "qacc_warmstart": np.ones(6), "anchors": np.zeros((0, 7)), "toy_age": np.ones(6)}
    _reference_sensors.put(reference, state, np.zeros((0, 2), int))
    np.testing.assert_array_equal(reference.qpos, np.arange(7.0))


def test_a_step_leaves_the_readings_of_its_start(rng):
    mj = compiled("inertial")
    data = near_rest(mj, rng)
    with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype="float64") as batch:
        put(batch, [data])
        mujoco.mj_step(mj, data, 2)
        assert batch.sensordata.shape == (1, mj.nsensordata)
        live = batch.sensordata
        batch.step(2)
        assert batch.sensordata is live
        assert scenes.error(live[0], data.sensordata) < 1e-6


def test_environments_have_sites_and_cutoffs_of_their_own(rng):
    mj = compiled("inertial")
    states = [near_rest(mj, rng) for _ in range(2)]
    with ds.Batch(ds.Model.from_mujoco(mj), 2, dtype="float64") as batch:
        put(batch, states)
        moved = np.array(mj.site_pos) + 0.1
        cutoff = np.full(mj.nsensor, 0.01)
        batch.forward()
        assert batch.sensordata.shape == (2, mj.nsensordata)
        batch.set_parameter("site_pos", moved, [1])
        batch.set_parameter("sensor_cutoff", cutoff, [1])
        mujoco.mj_forward(mj, states[0])
        mj.site_pos[:], mj.sensor_cutoff[:] = moved, cutoff
        mujoco.mj_forward(mj, states[1])
        for env in range(2):
            assert scenes.error(batch.sensordata[env], states[env].sensordata) < 1e-6


def test_a_clock_shows_the_time_of_the_state():
    xml = """<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody>
    <sensor><clock/><e_kinetic/><e_potential/></sensor></mujoco>"""
    with ds.Batch(ds.Model.from_mjcf(xml), 2, dtype="float64") as batch:
        assert (batch.sensordata[:, 0] == 0).all()
        batch.step(5)
        assert (batch.sensordata[:, 0] == batch.time).all()
        assert np.array_equal(batch.sensordata[:, :0:-1], batch.energy)


FAR = """<mujoco><option><flag actuation="disable"/></option><worldbody><body><freejoint/><geom name="a" type="box" size=".05 .08 .04"/></body>
<body pos="0 0 1"><joint name="j" type="slide"/><joint type="ball"/><geom name="b" type="{}" size=".05 .08 .04"/></body></worldbody>
<actuator><motor name="m" joint="j" gear="2"/></actuator>
<sensor><distance geom1="a" geom2="b" cutoff="100"/><actuatorvel actuator="m"/><actuatorpos actuator="m"/></sensor></mujoco>"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", ["box", "ellipsoid", "cylinder"])
@pytest.mark.parametrize("apart", [0.3, 1.0, 10.0])
def test_distances_are_mujocos_however_far_and_disabled_actuators_stand(apart, shape, dtype, rng):
    peer = mujoco.MjModel.from_xml_string(FAR.format(shape))
    peer.opt.ccd_tolerance, peer.opt.ccd_iterations = 1e-10, 200
    data = mujoco.MjData(peer)
    with ds.Batch(ds.Model.from_mujoco(peer), 32, dtype=dtype, num_threads=1) as batch:
        towards = rng.normal(size=(32, 3))
        batch.qpos[:] = rng.normal(size=(32, 12))
        batch.qpos[:, 3:7] /= np.linalg.norm(batch.qpos[:, 3:7], axis=1)[:, None]
        batch.qpos[:, 8:12] /= np.linalg.norm(batch.qpos[:, 8:12], axis=1)[:, None]
        batch.qpos[:, :3] = apart * towards / np.linalg.norm(towards, axis=1)[:, None] + [0, 0, 1]
        batch.qpos[:, 7] = 0
        batch.qvel[:] = 1
        batch.forward()
        for row in range(32):
            data.qpos[:], data.qvel[:] = batch.qpos[row], 1
            mujoco.mj_forward(peer, data)
            assert batch.sensordata[row] == pytest.approx(data.sensordata, abs=1e-5 * max(apart, 1))


def test_sensors_that_are_switched_off_read_zero():
    with ds.Batch(ds.Model.from_mjcf(scenes.SCENES["flag_sensor"]), 2) as batch:
        batch.step(3)
        assert batch.sensordata.shape == (2, 1) and (batch.sensordata == 0).all()


def test_without_sensors_there_is_nothing_to_read(gym_path):
    with ds.Batch(ds.Model.from_mjcf(gym_path), 3) as batch:
        assert batch.sensordata.shape == (3, 0)
    assert np.size(batch.model.nsensordata) == 1
