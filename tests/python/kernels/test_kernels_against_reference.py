"""The kernels against the reference: one step from energetic random states, on every scene and model.

Both solve the same problem by different code: `float64` agrees to 1e-9 (the dual solved to convergence), `float32` to
1e-4 at the 95th percentile. Outputs of the batch are poisoned first.
"""

import mujoco
import numpy as np
import pytest

import dualstep as ds
import scenes

STATES = 60
# quantities of one evaluation, and the state after it
FIELDS = (
    "qfrc_bias qfrc_passive qfrc_actuator qacc_smooth qacc qfrc_constraint xpos xipos xquat subtree_com cvel geom_xpos "
    "geom_xmat site_xpos energy"
).split()
STATE = ("qpos", "qvel", "act")


CYLINDER, BOX = 5, 6


# here contacts press with up to 2e4 N almost through the axes of the hinges that they act on. What such a force gives
# is the difference of two products of positions, a ten-thousandth of them: float32 keeps the products, not the rest
THROUGH_AXES = ("contact_excludes", "flag_filterparent")


def moments(model, reference):
    """The sum of what contact forces would give if they acted across their arms, not along them, N m."""
    contacts, total = reference.contacts(), 0.0
    bodies = model.geom_bodyid[contacts.geom]
    for k in range(contacts.count):
        joints = np.flatnonzero(np.isin(model.jnt_bodyid, bodies[k]))
        arms = np.linalg.norm(contacts.pos[k] - reference.xanchor[joints], axis=-1)
        total += np.linalg.norm(contacts.force[k][:3]) * np.min(arms, initial=np.inf if len(arms) else 0.0)
    return total


def many_manifolds(model, reference):
    """Whether a cylinder touches a cylinder or a box: there the kernels and the reference choose their points of one
    contact patch differently (test_kernels_cylinders.py compares what is unique)."""
    kinds = np.sort(model.geom_type[reference.contacts().geom], axis=-1)
    return bool(np.any((kinds[:, 0] == CYLINDER) & ((kinds[:, 1] == CYLINDER) | (kinds[:, 1] == BOX))))


def draw(name, rng, count):
    """States of a model with its constraints on: thrown about, and settled by a few steps of MuJoCo."""
    import mujoco

    mj = scenes.compile_mj(scenes.ALL[name], constraints=True)
    states = []
    for i in range(count):
        data = scenes.draw_state(mj, rng, speed=3.0)
        # contacts come from falling: half the states are taken after some steps
        if i % 2:
            mujoco.mj_resetData(mj, data)
            data.qvel[:] = rng.normal(scale=2.0, size=mj.nv)
            for _ in range(int(rng.integers(5, 60))):
                data.ctrl[:] = rng.uniform(-1, 1, mj.nu)
                mujoco.mj_step(mj, data)
        states.append(data)
    return mj, states


def evaluate(name, dtype, rng, count=STATES, integrator=None):
    """Relative errors of every quantity, per state: {name: (count,)}."""
    mj, states = draw(name, rng, count)
    model = ds.Model.from_mujoco(mj)
    if integrator is not None:
        model.opt.integrator = integrator
    model.opt.tolerance = 1e-12
    model.opt.iterations = 60
    # a body thrown into itself touches itself everywhere
    model.opt.contact_capacity = 200
    reference = ds.Reference(model)
    with ds.Batch(model, count, device="cpu", dtype=dtype) as batch:
        for k, data in enumerate(states):
            for field in ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"):
                getattr(batch, field)[k] = getattr(data, field)
        batch.ctrl_history[:] = rng.normal(size=np.shape(batch.ctrl_history))
        wanted = {field: getattr(batch, field) for field in FIELDS}
        for array in wanted.values():
            array[...] = np.nan
        # what the kernels are given: float32 rounds the state, and the reference starts from the same numbers
        given = [{f: getattr(batch, f)[k].astype(float) for f in ("qpos", "qvel", "act", "ctrl", "ctrl_history",
                  "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")} for k in range(count)]
        batch.step()
        errors, skipped = {field: np.zeros(count) for field in (*FIELDS, *STATE)}, 0
        for k in range(count):
            for field, value in given[k].items():
                getattr(reference, field)[...] = value
            reference.forward()
            if many_manifolds(model, reference):
                skipped += 1
                continue
            # forces that balance leave their rounding behind: accelerations are measured against what each force
            # alone would do
            forces = sum(np.abs(getattr(reference, f"qfrc_{part}")) for part in (
                "bias", "passive", "actuator", "constraint", "applied"))
            alone = np.abs(np.linalg.inv(reference.mass_matrix())) @ forces
            floor = {"qacc": np.max(alone, initial=1e-3), "qacc_smooth": np.max(alone, initial=1e-3)}
            if name in THROUGH_AXES and dtype == "float32":
                floor["qfrc_constraint"] = max(1e-3, moments(model, reference))
            for field in FIELDS:
                errors[field][k] = scenes.error(wanted[field][k], getattr(reference, field), floor.get(field, 1e-3))
            reference.step()
            for field in STATE:
                errors[field][k] = scenes.error(getattr(batch, field)[k], getattr(reference, field))
        assert not np.any(batch.status & ds.Status.DIVERGED), "a state diverged"
        assert skipped < count // 2, "too few states are compared"
    return errors


@pytest.mark.parametrize("name", scenes.ALL)
def test_float64_to_1e_9(name, rng):
    errors = evaluate(name, "float64", rng)
    worst = {field: float(e.max()) for field, e in errors.items() if e.max() > 1e-9}
    assert not worst, worst


@pytest.mark.parametrize("name", scenes.ALL)
def test_float32_to_1e_4_at_the_95th_percentile(name, rng):
    errors = evaluate(name, "float32", rng)
    worst = {field: float(np.quantile(e, 0.95)) for field, e in errors.items() if np.quantile(e, 0.95) > 1e-4}
    assert not worst, worst


SPUN = """<mujoco><option timestep="0.005" integrator="RK4"/><worldbody><body><joint type="ball"/>
<geom type="box" size=".1 .2 .3" pos=".05 0 0"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("speed", [10.0, 600.0, 700.0, 1000.0, 1300.0, 2000.0])
def test_runge_kutta_stages_may_turn_by_more_than_half_a_revolution(speed, rng):
    """Steps of up to 10 radians: a stage's displacement is then the shorter turn to the same place, as in MuJoCo."""
    import mujoco

    mj = scenes.compile_mj(SPUN)
    model, data = ds.Model.from_mujoco(mj), mujoco.MjData(mj)
    reference = ds.Reference(model)
    data.qvel[:] = rng.normal(size=3)
    data.qvel[:] *= speed / np.linalg.norm(data.qvel)
    with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
        batch.qvel[0] = reference.qvel[:] = data.qvel
        mujoco.mj_step(mj, data)
        batch.step()
        reference.step()
        for name in ("qpos", "qvel"):
            assert scenes.error(getattr(reference, name), getattr(data, name)) < 1e-11
            assert scenes.error(getattr(batch, name)[0], getattr(data, name)) < 1e-11


# servos and springs between dofs of different branches, which a Batch refuses under discrete, and ellipsoids in a medium, which
# both sides do
NOT_DISCRETE = ("actuator_site", "tendon_fixed", "tendon_path", "fluid_ellipsoid")


# the scenes' own integrators are compared above
@pytest.mark.parametrize("integrator", ["euler", "implicit", "implicitfast", "discrete", "rk4"])
@pytest.mark.parametrize("name", scenes.SCENES)
def test_every_integrator_to_1e_9(name, integrator, rng):
    if (name, integrator) == ("damper_stiff", "rk4"):
        pytest.skip("no explicit step of this length is stable here")
    if (name, integrator) == ("actuator_delay", "rk4"):
        pytest.skip("a Batch refuses it: test_delays.py")
    if name in NOT_DISCRETE and integrator == "discrete":
        pytest.skip("refused: test_discrete.py, test_model.py")
    errors = evaluate(name, "float64", rng, 12, integrator)
    worst = {field: float(errors[field].max()) for field in STATE if errors[field].max() > 1e-9}
    assert not worst, worst


# each has a velocity derivative that the implicit integrators alone know, and large
DERIVATIVES = {
    "gyroscopic": """<worldbody><body pos="0 0 1"><freejoint/><geom type="box" size=".3 .2 .05" pos=".1 0 .05"/></body></worldbody>""",
    "fluid": """<option density="1000" viscosity=".5" wind="1 2 0"/><worldbody><body pos="0 0 1"><joint axis="0 1 0"/>
<geom type="box" size=".3 .2 .05"/><body pos=".4 0 0"><joint axis="1 0 1"/><geom type="box" size=".2 .1 .02"/></body></body></worldbody>""",
    "ellipsoids": """<option density="1000" viscosity=".5" wind="1 2 0"/><default><geom fluidshape="ellipsoid"/></default><worldbody>
<body pos="0 0 1"><joint axis="0 1 0"/><geom type="ellipsoid" size=".3 .2 .05"/><body pos=".4 0 0"><joint type="ball"/>
<geom type="capsule" size=".1 .1" pos=".1 0 0" fluidcoef=".1 .3 1 2 3"/></body></body><body pos="2 0 1"><freejoint/>
<geom type="box" size=".2 .1 .3" pos=".1 0 0"/><geom type="ellipsoid" size=".03 .1 .2" pos="-.1 .1 0"/></body></worldbody>""",
    "small ellipsoids": """<option density="1000"/><default><geom fluidshape="ellipsoid" type="ellipsoid"/></default><worldbody>
<body pos="0 0 1"><joint axis="0 1 0"/><geom size=".003 .002 .0005" pos=".002 0 0"/><body pos=".01 0 0"><joint axis="1 0 0"/>
<geom size=".001 .004 .0004" pos="0 .003 0"/></body></body></worldbody>""",
    "force limits": """<worldbody><body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><body pos=".4 0 0">
<joint name="b" axis="0 1 0" actuatorfrclimited="true" actuatorfrcrange="-3 3"/><geom size=".05" pos=".2 0 0"/></body></body></worldbody>
<actuator><velocity joint="a" kv="20" forcelimited="true" forcerange="-15 15"/><velocity joint="b" kv="5"/></actuator>""",
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("kind", ["implicit", "implicitfast"])
def test_velocity_derivatives(name, kind, rng):
    model = ds.Model.from_mjcf(f'<mujoco><option timestep=".01" integrator="{kind}"/>{DERIVATIVES[name]}</mujoco>')
    reached = {kind: [], "euler": []}
    speeds = rng.normal(0, 4, (24, model.nv)) * np.geomspace(0.1, 3, 24)[:, None]
    ctrl = rng.uniform(-3, 3, (24, model.nu))
    for integrator, rows in reached.items():
        model.opt.integrator = integrator
        with ds.Batch(model, 24, dtype="float64", num_threads=1) as batch:
            batch.qvel[:], batch.ctrl[:] = speeds, ctrl
            batch.step()
            rows.append(np.array(batch.qvel))
    model.opt.integrator = kind
    reference = ds.Reference(model)
    for k in range(24):
        reference.qpos[:], reference.qvel[:], reference.ctrl[:] = model.qpos0, speeds[k], ctrl[k]
        reference.step()
        assert scenes.error(reached[kind][0][k], reference.qvel) < 1e-9
    # the derivative matters
    assert np.max(np.abs(reached[kind][0] - reached["euler"][0])) > 1e-3


@pytest.mark.parametrize("integrator", ["implicitfast", "discrete"])
def test_what_is_fixed_to_a_free_body_turns_with_it(integrator):
    """The bias of a free body's rotors, welded to it, belongs to the derivative of its own."""
    rotors = "".join(f'<body pos="{x} {y} .02"><geom type="cylinder" size=".05 .01" mass=".05"/></body>'
                     for x in (-0.2, 0.2) for y in (-0.2, 0.3))
    mj = mujoco.MjModel.from_xml_string(f"""<mujoco><option integrator="{integrator}"/><worldbody><body pos="0 0 1"><freejoint/>
      <geom type="box" size=".1 .1 .03" mass="1"/>{rotors}</body><body pos="1 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    data, model = mujoco.MjData(mj), ds.Model.from_mujoco(mj)
    data.qvel[3:6] = [4, -3, 6]
    reference, batch = ds.Reference(model), ds.Batch(model, 1, dtype="float64")
    reference.qvel[:] = batch.qvel[:] = data.qvel
    for _ in range(100):
        mujoco.mj_step(mj, data)
        reference.step()
        batch.step()
    np.testing.assert_allclose(reference.qvel, data.qvel, atol=1e-11)
    np.testing.assert_allclose(batch.qvel[0], data.qvel, atol=1e-11)


@pytest.mark.parametrize("constant", [0, 1e-12, 1e-3])
def test_an_exact_filter_of_no_time_follows_its_control(constant):
    mj = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
      </worldbody><actuator><general joint="j" dyntype="filterexact" dynprm="{constant}"/></actuator></mujoco>""")
    data, model = mujoco.MjData(mj), ds.Model.from_mujoco(mj)
    data.act[:], data.ctrl[:] = 0.2, 0.5
    mujoco.mj_step(mj, data)
    for dtype in ("float32", "float64"):
        with ds.Batch(model, 1, dtype=dtype) as batch:
            batch.act[:], batch.ctrl[:] = 0.2, 0.5
            batch.step()
            assert batch.status[0] == 0
            np.testing.assert_allclose(batch.act[0], data.act, rtol=1e-6)
            np.testing.assert_allclose(batch.qvel[0], data.qvel, rtol=1e-5)
