"""DC motors and PID servos: forces, rates and motions against MuJoCo's, for every input and every set of activations.

tests/scenes/actuator_dcmotor.xml and actuator_pid.xml have the features beside each other, for every other test of scenes.
"""

import itertools

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

SCENE = "actuator_dcmotor"
BOTH = pytest.mark.parametrize("scene", [SCENE, "actuator_pid"])
INPUTS = [" ".join(words) for n in (1, 2, 3, 4) for words in itertools.combinations(("pos", "vel", "ff", "voltage"), n)]
HINGE = """
<mujoco><option timestep="0.003"/><worldbody><body><joint name="j" axis="0 1 0" damping="0.2"/>
<geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body></worldbody><actuator>{}</actuator></mujoco>"""


def drawn(rng, inputs):
    """A motor with these inputs; each activation, limit and torque with even odds."""

    def maybe(*values):
        return values if rng.random() < 0.5 else tuple(0 for _ in values)

    def words(*values):
        return " ".join(f"{v:.17g}" for v in values)

    driven = inputs not in ("none", "voltage")
    inductance = maybe(0, rng.uniform(1e-3, 3e-2))
    kp, kd = maybe(rng.uniform(1, 5), rng.uniform(0.1, 1)) if driven else (0, 0)
    ki = maybe(rng.uniform(0.5, 4))[0] if "pos" in inputs else 0
    slew, bound, volts = (*maybe(rng.uniform(1, 50)), *maybe(rng.uniform(0.1, 1)), *maybe(rng.uniform(1, 9))) if driven else (0, 0, 0)
    heat = maybe(rng.uniform(1, 5), rng.uniform(1, 20), 0, rng.uniform(0.001, 0.05), 25, rng.uniform(10, 40))
    return (
        f'<dcmotor joint="j" gear="{rng.uniform(0.5, 3)}" resistance="{rng.uniform(0.5, 4)}" '
        f'motorconst="{words(*rng.uniform(0.2, 1, 2))}" inductance="{words(*inductance)}" input="{inputs}" '
        f'saturation="{words(maybe(rng.uniform(0.2, 2))[0], 0, maybe(rng.uniform(10, 300))[0] if inductance[1] else 0)}" '
        f'cogging="{words(*maybe(rng.uniform(0.1, 1), rng.integers(1, 9), rng.uniform(0, 6)))}" '
        f'lugre="{words(*maybe(rng.uniform(5, 50), rng.uniform(0, 1), rng.uniform(0.1, 0.4), rng.uniform(0.4, 1), rng.uniform(0.1, 2)))}" '
        f'thermal="{words(*heat)}" controller="{words(kp, ki, kd, slew, bound, volts)}"/>'
    )


def draw(mj, rng, speed):
    data = scenes.draw_state(mj, rng, speed=speed)
    if rng.random() < 0.1:
        data.qvel[:] = 0
    return data


def differences(found, data):
    return {name: scenes.error(getattr(found, name), getattr(data, name)) for name in ("qacc", "act_dot", "actuator_force")}


def compare_a_step(mj, data, reference, bound=1e-9):
    """Forces, rates and one step of a Reference from a state, against MuJoCo's; False where no step of that length is stable."""
    scenes.copy_state(data, reference)
    mujoco.mj_forward(mj, data)
    reference.forward()
    assert max(differences(reference, data).values()) < bound
    mujoco.mj_step(mj, data)
    reference.step()
    if np.abs(data.qvel).max() > 1e4:  # bristles too stiff for the stages of Runge and Kutta
        assert mj.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
        return False
    for field in ("qvel", "qpos", "act"):
        assert scenes.error(getattr(reference, field), getattr(data, field)) < bound, field
    return True


@pytest.mark.parametrize("inputs", [*INPUTS, "none"])
def test_forces_and_rates_are_mujocos(inputs, rng):
    for _ in range(12):
        mj = scenes.compile_mj(HINGE.format(drawn(rng, inputs)))
        mj.opt.integrator = rng.integers(4)
        reference = ds.Reference(ds.Model.from_mujoco(mj))
        for _ in range(12):
            data = draw(mj, rng, rng.choice([0.1, 1.0, 10.0]))
            if not compare_a_step(mj, data, reference):
                reference = ds.Reference(ds.Model.from_mujoco(mj))


def drawn_pid(rng, inputs):
    """A servo with these inputs on a hinge or a ball joint; each activation, bound and range with even odds."""
    def maybe(*words):
        return " ".join(words) if rng.random() < 0.5 else ""

    words = [f'kp="{rng.uniform(1, 8):.17g}"', maybe(f'kv="{rng.uniform(0.1, 2):.17g}"')]
    if "pos" in inputs:
        words += [
            maybe(f'ki="{rng.uniform(0.5, 4):.17g}"', maybe(f'imax="{rng.uniform(0.1, 1):.17g}"')),
            maybe(f'slewmax="{rng.uniform(1, 50):.17g}"'),
            maybe(f'ctrlrange="-{rng.uniform(0.1, 1):.17g} {rng.uniform(0.1, 1):.17g}"'),
        ]
    words += [maybe(f'forcerange="-{rng.uniform(0.1, 4):.17g} {rng.uniform(0.1, 4):.17g}"')]
    gear = " ".join(f"{x:.17g}" for x in rng.normal(size=3))
    return f'<pid joint="j" gear="{gear}" input="{inputs}" {" ".join(words)}/>'


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("inputs", [words for words in INPUTS if "voltage" not in words])
def test_forces_and_rates_of_servos_are_mujocos(inputs, joint, rng):
    frame = HINGE.replace('<joint name="j" axis="0 1 0"', f'<joint name="j" type="{joint}"')
    for _ in range(12):
        mj = scenes.compile_mj(frame.format(drawn_pid(rng, inputs)))
        mj.opt.integrator = rng.integers(4)
        if mj.na:
            mj.actuator_actearly[:] = rng.random() < 0.5
            mj.actuator_actlimited[:] = rng.random() < 0.5
            mj.actuator_actrange[:] = -0.4, 0.5
        reference = ds.Reference(ds.Model.from_mujoco(mj))
        for _ in range(12):
            data = draw(mj, rng, rng.choice([0.1, 1.0, 10.0]))
            # set points further than half a turn away, and where the rate of one stops
            data.ctrl[:] *= rng.choice([1, 10])
            if data.act.size and rng.random() < 0.5:
                data.act[0] = data.ctrl[0] + rng.normal() * 1e-3
            compare_a_step(mj, data, reference)


@BOTH
@pytest.mark.parametrize("integrator", scenes.MJ_INTEGRATOR)
def test_motions_are_mujocos(integrator, scene, rng):
    mj = scenes.compile_mj(scenes.SCENES[scene])
    mj.opt.integrator = scenes.MJ_INTEGRATOR[integrator]
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    for _ in range(60):
        data = draw(mj, rng, rng.choice([0.3, 1.0, 5.0]))
        assert compare_a_step(mj, data, reference, scenes.exactness(integrator))


@BOTH
@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("integrator", scenes.MJ_INTEGRATOR)
def test_a_batch_moves_as_mujoco(integrator, device, scene, rng):
    mj = scenes.compile_mj(scenes.SCENES[scene])
    mj.opt.integrator = scenes.MJ_INTEGRATOR[integrator]
    states = [draw(mj, rng, rng.choice([0.3, 1.0, 5.0])) for _ in range(24)]
    with ds.Batch(ds.Model.from_mujoco(mj), len(states), device=device, dtype="float64") as batch:
        for field in ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied"):
            getattr(batch, field)[:] = np.reshape([getattr(data, field) for data in states], getattr(batch, field).shape)
        batch.qacc, batch.actuator_force
        batch.forward()
        for e, data in enumerate(states):
            mujoco.mj_forward(mj, data)
            assert scenes.error(batch.qacc[e], data.qacc) < scenes.exactness(integrator)
            assert scenes.error(batch.actuator_force[e], data.actuator_force) < 1e-9
        before = np.array([data.act for data in states])
        batch.step()
        for e, data in enumerate(states):
            rate = data.act_dot.copy()
            mujoco.mj_step(mj, data)
            for field in ("qvel", "qpos"):
                assert scenes.error(getattr(batch, field)[e], getattr(data, field)) < scenes.exactness(integrator), field
            # an activation is as exact as the way that it went
            gone = np.abs(data.act - before[e]) + np.abs(mj.opt.timestep * rate)
            assert np.all(np.abs(batch.act[e] - data.act) <= 1e-9 * gone + 1e-14 * np.abs(data.act) + 1e-15)


def slow_scene(scene=SCENE):
    """Joints that are damped, so that rounding does not grow."""
    spec = mujoco.MjSpec.from_file(str(scenes.SCENES[scene]))
    for joint in spec.joints:
        joint.damping[0] = 0.5
    mj = spec.compile()
    mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return mj


@BOTH
@pytest.mark.parametrize("device, dtype, bound", [("reference", None, 1e-9), ("cpu", "float64", 1e-9), ("cpu", "float32", 1e-3)])
def test_trajectories_are_mujocos(device, dtype, bound, scene, rng):
    mj = slow_scene(scene)
    model = ds.Model.from_mujoco(mj)
    data = mujoco.MjData(mj)
    sim = ds.Reference(model) if device == "reference" else ds.Batch(model, 2, device=device, dtype=dtype)
    row = (lambda x: x) if device == "reference" else (lambda x: x[1])
    for step in range(200):
        if step % 20 == 0:
            data.ctrl[:] = rng.normal(size=mj.nu)
            row(sim.ctrl)[:] = data.ctrl
        mujoco.mj_step(mj, data)
        sim.step()
        for field in ("qpos", "qvel", "act"):
            assert scenes.error(row(getattr(sim, field)), getattr(data, field), floor=1) < bound, (field, step)
    assert np.abs(data.qvel).max() > 0.1 and np.abs(data.act).max() > 0.1


@BOTH
@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_a_state_is_taken_back(device, scene, rng):
    """What is reset, written back or loaded goes on as it went, to the bit."""
    mj = slow_scene(scene)
    model = ds.Model.from_mujoco(mj)
    with ds.Batch(model, 3, device=device) as batch:
        batch.ctrl[:] = rng.normal(size=(3, mj.nu))
        batch.step(20)
        half = batch.save()
        kept = {field: np.array(getattr(batch, field)) for field in ("qpos", "qvel", "act", "ctrl", "qacc_warmstart")}
        batch.step(20)
        end = np.array(batch.act)
        assert np.any(end != kept["act"])
        for field, values in kept.items():
            getattr(batch, field)[:] = values
        batch.step(20)
        np.testing.assert_array_equal(batch.act, end)
        batch.reset()
        assert not np.any(batch.act)
        batch.load(half)
        batch.step(20)
        np.testing.assert_array_equal(batch.act, end)


# an actuator and the number of its dynprm that gives it an activation
@pytest.mark.parametrize("scene, actuator, number", [(SCENE, 2, 7), ("actuator_pid", 1, 1)])
def test_each_environment_has_its_motors(scene, actuator, number, rng):
    mj = slow_scene(scene)
    model = ds.Model.from_mujoco(mj)
    other = slow_scene(scene)
    for field in ("actuator_gainprm", "actuator_dynprm", "actuator_biasprm"):
        getattr(other, field)[:] *= rng.uniform(0.7, 1.4, getattr(other, field).shape)
    if scene == SCENE:  # poles of cogging are counted
        other.actuator_biasprm[:, 1] = mj.actuator_biasprm[:, 1]
    with ds.Batch(model, 3, dtype="float64") as batch:
        for field in ("actuator_gainprm", "actuator_dynprm", "actuator_biasprm"):
            batch.set_parameter(field, getattr(other, field)[None], envs=[1])
        for _ in range(10):
            data = draw(other, rng, 1.0)
            for field in ("qpos", "qvel", "act", "ctrl", "qfrc_applied"):
                getattr(batch, field)[:] = getattr(data, field)
            batch.xfrc_applied[:] = data.xfrc_applied
            batch.forward()
            mujoco.mj_forward(other, data)
            assert scenes.error(batch.actuator_force[1], data.actuator_force) < 1e-9
            assert scenes.error(batch.qacc[1], data.qacc) < 1e-9
            mujoco.mj_forward(mj, data)
            assert scenes.error(batch.actuator_force[2], data.actuator_force) < 1e-9
        # no environment has activations of its own
        dynamics = mj.actuator_dynprm.copy()
        dynamics[actuator, number] = 0
        with pytest.raises(ValueError):
            batch.set_parameter("actuator_dynprm", dynamics[None], envs=[0])
        if scene != SCENE:
            return
        gains = mj.actuator_gainprm.copy()
        gains[0, 0] = 0
        with pytest.raises(ds.InvalidModelError, match="resistance"):
            batch.set_parameter("actuator_gainprm", gains[None], envs=[0])


@BOTH
def test_a_group_that_is_off_pulls_nothing(scene, rng):
    mj = scenes.compile_mj(scenes.SCENES[scene])
    mj.opt.disableactuator = 1
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype="float64") as batch:
        for _ in range(10):
            data = draw(mj, rng, 3.0)
            scenes.copy_state(data, reference)
            for field in ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied"):
                getattr(batch, field)[:] = getattr(data, field)
            mujoco.mj_step(mj, data)
            reference.step()
            batch.step()
            for field in ("qvel", "act"):
                assert scenes.error(getattr(reference, field), getattr(data, field)) < 1e-9, field
                assert scenes.error(getattr(batch, field)[0], getattr(data, field)) < 1e-9, field


@pytest.mark.parametrize(
    "element, reason",
    [
        ('<general joint="j" dyntype="dcmotor" actearly="true"/>', "activation dynamics dcmotor"),
        ('<general joint="j" biastype="dcmotor"/>', "bias dcmotor"),
    ],
)
def test_parts_of_a_motor_are_refused(element, reason):
    with pytest.raises(ds.UnsupportedModelError, match=reason):
        ds.Model.from_mjcf(HINGE.format(element))


def test_arrays_of_a_servo_that_contradict_each_other_are_refused():
    servo = HINGE.format('<pid name="p" joint="j" kp="2" ki="1" input="pos"/>')
    changes = {
        "pid in part": lambda mj: mj.actuator_biastype.fill(mujoco.mjtBias.mjBIAS_NONE),
        "pid input 8": lambda mj: mj.actuator_ctrlspec.fill(8),
        "pid input 16": lambda mj: mj.actuator_ctrlspec.fill(16),
        "pid without input pos": lambda mj: mj.actuator_ctrlspec.fill(2),
    }
    for reason, change in changes.items():
        mj = scenes.compile_mj(servo)
        change(mj)
        with pytest.raises((ds.UnsupportedModelError, ds.InvalidModelError), match=f"(?s){reason}.*actuator 'p'|actuator 'p'.*{reason}|actuator_ctrlnum"):
            ds.Model.from_mujoco(mj)


LOADED = """
<mujoco><option timestep="0.004" integrator="{}"/><worldbody>
 <body><joint name="a" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/>
  <body pos=".3 0 0"><joint name="b" type="ball"/><geom type="capsule" size=".04" fromto="0 0 0 .2 0 0"/>
   <body pos=".2 0 0"><joint name="c" type="slide" axis="1 0 0" damping="0.3" armature="0.02"/><geom size=".06"/></body></body></body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef="0.5"/><joint joint="c" coef="1"/></fixed></tendon>
<actuator><dcmotor joint="a" resistance="2" motorconst="0.5" damping="0.4" armature="0.01" gear="3"/>
 <motor joint="a" damping="0.2" armature="0.02"/><velocity jointinparent="b" kv="0.1" gear="2 0 0" damping="0.3" armature="0.05"/>
 <position joint="c" kp="2" gear="0.5" damping="2"/><dcmotor tendon="t" resistance="1" motorconst="0.3" gear="2" damping="0.1" armature="0.03"/>
</actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast"])
def test_damping_and_armature_of_actuators(integrator, rng):
    mj, other = (scenes.compile_mj(LOADED.format(integrator)) for _ in range(2))
    other.actuator_gear[:, 0] *= rng.uniform(0.5, 2, other.nactuator)
    other.actuator_armature[:] *= rng.uniform(0.5, 2, other.nactuator)
    other.actuator_damping[:] *= rng.uniform(0.5, 2, other.nactuator)
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    with ds.Batch(ds.Model.from_mujoco(mj), 2, dtype="float64") as batch:
        for field in ("actuator_gear", "actuator_armature", "actuator_damping"):
            batch.set_parameter(field, getattr(other, field)[None], envs=[1])
        for _ in range(10):
            states = [draw(model, rng, 3.0) for model in (mj, other)]
            scenes.copy_state(states[0], reference)
            for e, data in enumerate(states):
                for field in ("qpos", "qvel", "ctrl", "qfrc_applied"):
                    getattr(batch, field)[e] = getattr(data, field)
                batch.xfrc_applied[e] = data.xfrc_applied.reshape(batch.xfrc_applied[e].shape)
            reference.step()
            batch.step()
            for e, (data, model) in enumerate(zip(states, (mj, other))):
                mujoco.mj_step(model, data)
                for field in ("qvel", "qpos"):
                    assert scenes.error(getattr(batch, field)[e], getattr(data, field)) < 1e-9, (field, e)
            for field in ("qvel", "qpos"):
                assert scenes.error(getattr(reference, field), getattr(states[0], field)) < 1e-9, field
