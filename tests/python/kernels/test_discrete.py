"""MuJoCo's integrator discrete: constraints on the inertia of the step, references of rows at its end.

Every scene is compared with the reference in test_kernels_against_reference.py, and that with MuJoCo in
tests/python/reference (steps, rows and forces).
"""

import answers
import contact_oracle as oracle
import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

SERVO = """<mujoco><option timestep="{h}" integrator="discrete" gravity="0 0 0"/><worldbody><body>
<joint name="x" type="slide" stiffness="{k}" damping="{d}"/><geom size=".1" mass="2" contype="0" conaffinity="0"/></body></worldbody>
<actuator><position joint="x" kp="{kp}" kv="{kv}" forcelimited="{limited}" forcerange="-5 5"/></actuator></mujoco>"""


def one_step(xml, dtype="float64", **given):
    model = ds.Model.from_mjcf(xml)
    with ds.Batch(model, 1, device="cpu", dtype=dtype) as batch:
        for name, value in given.items():
            getattr(batch, name)[0] = value
        qacc = batch.qacc
        batch.step()
        return batch.qpos[0].copy(), batch.qvel[0].copy(), qacc[0].copy()


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("h, k, d, kp, kv", [(0.01, 50, 3, 80, 4), (0.1, 1e6, 0, 3e5, 10), (0.02, 0, 2, 0, 100)])
def test_springs_and_servos_hold_at_the_end_of_the_step(h, k, d, kp, kv, limited):
    """The closed form of one dof: (m + h D + h^2 K) a = f - h K v; a servo at its limit pulls, and holds nothing."""
    q, v, u, mass = 0.3, 0.7, 0.5, 2.0
    pull = kp * (u - q) - kv * v
    bounded = limited and abs(pull) >= 5
    D, K = d + (0 if bounded else kv), k + (0 if bounded else kp)
    force = -k * q - d * v + (np.clip(pull, -5, 5) if limited else pull)
    wanted = (force - h * K * v) / (mass + h * D + h * h * K)
    xml = SERVO.format(h=h, k=k, d=d, kp=kp, kv=kv, limited=str(limited).lower())
    qpos, qvel, qacc = one_step(xml, qpos=q, qvel=v, ctrl=u)
    assert qacc[0] == pytest.approx(wanted, rel=1e-12)
    assert qvel[0] == pytest.approx(v + h * wanted, rel=1e-12)
    assert qpos[0] == pytest.approx(q + h * (v + h * wanted), rel=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_servo_too_stiff_for_an_explicit_step_is_stable(dtype):
    xml = SERVO.format(h=0.02, k=0, d=0, kp=1e5, kv=1, limited="false")
    speeds = {}
    for integrator in ("discrete", "implicitfast"):
        model = ds.Model.from_mjcf(xml)
        model.opt.integrator = integrator
        with ds.Batch(model, 1, device="cpu", dtype=dtype) as batch:
            batch.qpos[0], batch.ctrl[0] = 0.3, 0.5
            batch.step(200)
            diverged = bool(batch.status[0] & ds.Status.DIVERGED)
            speeds[integrator] = np.inf if diverged else abs(float(batch.qvel[0, 0]))
            if integrator == "discrete":
                assert batch.qpos[0, 0] == pytest.approx(0.5, abs=1e-3)
    assert speeds["discrete"] < 0.1 and speeds["implicitfast"] > 1e6


@pytest.mark.parametrize("solref", ["0.002 1", "0.002 0.3", "0.02 1", "-1e6 -10", "-5 0.1"])
def test_contacts_of_any_stiffness_are_mujocos(solref, rng):
    """Those that a step does not resolve are softened, direct ones are not (flag refsafe)."""
    xml = f"""<mujoco><option timestep="0.01" integrator="discrete" cone="elliptic" tolerance="0" iterations="200"/>
    <default><geom solref="{solref}"/></default><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .1"><freejoint/>
    <geom type="box" size=".1 .2 .05"/><body pos=".3 0 0"><joint axis="0 1 0" range="-5 5" limited="true" solreflimit="{solref}"/>
    <geom type="capsule" size=".04 .1"/></body></body></worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml)
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    data, touched = mujoco.MjData(mj), 0
    with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
        batch.qacc
        for _ in range(100):
            batch.qpos[0], batch.qvel[0] = data.qpos, data.qvel
            batch.forward()
            mujoco.mj_forward(mj, data)
            touched += data.ncon > 0
            assert scenes.error(batch.qacc[0], data.qacc) < 1e-6
            mujoco.mj_step(mj, data)
    assert touched > 20


def test_limits_and_friction_of_tendons_are_mujocos(rng):
    mj = scenes.compile_mj(scenes.SCENES["tendon_rows"], constraints=True)
    oracle.converge(mj)
    mj.opt.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    reference = ds.Reference(ds.Model.from_mujoco(mj))
    rows = 0
    for _ in range(40):
        data = scenes.draw_state(mj, rng, speed=3.0)
        scenes.copy_state(data, reference)
        mujoco.mj_forward(mj, data)
        reference.forward()
        kinds = set(data.efc_type)
        rows += int(mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON) in kinds
        assert scenes.error(reference.qfrc_constraint, data.qfrc_constraint) < 1e-6
        assert scenes.error(reference.qacc, data.qacc) < 1e-6
    assert rows > 10


FLYING = """<body pos="{x} 0 {z}"><freejoint/><geom type="box" size=".1 .2 .3"/>
<geom size=".1" pos=".2 .3 .1" contype="0" conaffinity="0"/></body>"""


def test_free_bodies_that_nothing_holds_turn_as_mujocos(rng):
    """Their gyroscopic torque is taken at the end of the step, but not that of those in touch."""
    bodies = FLYING.format(x=0, z=2) + FLYING.format(x=3, z=0.25)
    xml = f"""<mujoco><option timestep="0.01" integrator="discrete"/><worldbody><geom type="plane" size="9 9 .1"/>{bodies}
    </worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml)
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    reference = ds.Reference(model)
    states = rng.normal(scale=4, size=(6, mj.nv))
    with ds.Batch(model, len(states), device="cpu", dtype="float64") as batch:
        batch.qvel[:] = states
        batch.qacc
        batch.forward()
        for e, qvel in enumerate(states):
            data = mujoco.MjData(mj)
            data.qvel[:] = reference.qvel[:] = qvel
            mujoco.mj_forward(mj, data)
            reference.forward()
            assert data.nefc > 0
            plain = np.linalg.solve(scenes.dense_mass_matrix(mj, data), data.qfrc_smooth + data.qfrc_constraint)
            assert np.abs(data.qacc - plain)[:6].max() > 1e-2 and np.abs(data.qacc - plain)[6:].max() < 1e-9
            assert scenes.error(reference.qacc, data.qacc) < 1e-7
            assert scenes.error(batch.qacc[e], data.qacc) < 1e-7


# free bodies, some of which something damps or holds by a part of it
PULLED = """<mujoco><option timestep="0.01" integrator="discrete" tolerance="0"/><worldbody><site name="world" pos="1 1 1"/>
<body><freejoint name="free"/><geom type="box" size=".1 .2 .3"/><geom size=".1" pos=".2 .3 .1"/><site name="site" pos=".2 0 0"/>
</body></worldbody><tendon><spatial name="tendon" {}><site site="site"/><site site="world"/></spatial></tendon>
<actuator>{}</actuator></mujoco>"""
GENERAL = '<general {} gear="1 0 0 0 0 .5" biastype="affine" biasprm="{}" {}/>'
PULLS = {
    "nothing": ("", "", True),
    "damped tendon": ('damping="2"', "", False),
    "tendon": ('stiffness="20" springlength="0"', "", False),
    "slack tendon": ('stiffness="20" springlength="0 9"', "", True),
    "motor": ("", '<motor joint="free" gear="1 0 0 0 0 0"/>', True),
    "brake": ("", GENERAL.format('joint="free"', "0 0 -1", ""), False),
    "servo": ("", GENERAL.format('joint="free"', "0 -1 0", ""), False),
    "servo at its limit": (
        "",
        GENERAL.format('joint="free"', "5 0 -1", 'forcelimited="true" forcerange="-.01 .01"'),
        True,
    ),
    "drive": ("", GENERAL.format('joint="free"', "0 1 1", ""), True),
    "brake on a site": ("", GENERAL.format('site="site"', "0 0 -1", ""), False),
    "brake on a tendon": ("", '<general tendon="tendon" biastype="affine" biasprm="0 0 -1"/>', False),
}


@pytest.mark.parametrize("name", PULLS)
def test_free_bodies_that_tendons_and_actuators_hold_turn_as_mujocos(name, rng):
    """Without their gyroscopic torque at the end of the step; forces that the step takes at its start hold nobody."""
    tendon, actuator, turns = PULLS[name]
    mj = mujoco.MjModel.from_xml_string(PULLED.format(tendon, actuator))
    model = ds.Model.from_mujoco(mj)
    reference, data = ds.Reference(model), mujoco.MjData(mj)
    states = rng.normal(scale=4, size=(6, mj.nv))
    with ds.Batch(model, len(states), device="cpu", dtype="float64") as batch:
        batch.qvel[:] = states
        batch.forward()
        for e, qvel in enumerate(states):
            data.qvel[:] = reference.qvel[:] = qvel
            mujoco.mj_forward(mj, data)
            reference.forward()
            assert (np.abs(data.qacc - data.qacc_smooth).max() > 1e-3) == turns
            assert scenes.error(reference.qacc, data.qacc) < 1e-11
            assert scenes.error(batch.qacc[e], data.qacc) < 1e-11


# two connects that cannot both hold; a limit and a floor
RIGID = """<mujoco><option timestep="{h}" integrator="discrete" cone="{cone}" tolerance="0" iterations="200"/>
<default><geom solimp="{imp}" solref="{ref}" friction=".6"/><joint solimplimit="{imp}" solreflimit="{ref}" limited="true"/>
<equality solimp="{imp}" solref=".03 .5"/></default><worldbody><geom type="plane" size="5 5 .1"/>
<site name="one" pos=".1 0 .9"/><site name="other" pos="-.25 .1 1"/>
<body pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .05"/><site name="a" pos=".1 0 0"/><site name="b" pos="-.1 .1 0"/>
<body pos=".3 0 0"><joint axis="0 1 0" range="-3 3"/><geom type="capsule" size=".04 .1"/></body></body>
<body pos="2 0 .09"><freejoint/><geom size=".1" condim="{condim}"/></body></worldbody>
<equality><connect site1="a" site2="one"/><connect site1="b" site2="other"/></equality></mujoco>"""


@pytest.mark.parametrize("h", [0.001, 0.02])
@pytest.mark.parametrize("imp", ["0.9999 0.9999", "0.5 0.9995 1 0.5 1", "0.9 0.95"])
@pytest.mark.parametrize("ref", [".1 .5", ".03 .5", ".01 2"], ids=["resolved", "softened", "braked"])
@pytest.mark.parametrize("cone, condim", [("pyramidal", 3), ("pyramidal", 6), ("elliptic", 4), ("elliptic", 1)])
def test_no_row_is_stiffer_than_the_largest_impedance_makes_it(cone, condim, ref, imp, h, rng):
    """Nor, where the step softens a limit or a contact, braked by more than leaves it so soft."""
    mj = mujoco.MjModel.from_xml_string(RIGID.format(h=h, imp=imp, ref=ref, cone=cone, condim=condim))
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    reference, data, kinds = ds.Reference(model), mujoco.MjData(mj), set()
    with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
        for _ in range(10):
            data.qpos[:] = mj.qpos0
            mujoco.mj_integratePos(mj, data.qpos, rng.normal(scale=0.1, size=mj.nv) * (np.arange(mj.nv) < 7), 1.0)
            data.qvel[:] = rng.normal(size=mj.nv)
            mujoco.mj_forward(mj, data)
            kinds |= set(data.efc_type.tolist())
            scenes.copy_state(data, reference)
            batch.qpos[0], batch.qvel[0] = data.qpos, data.qvel
            reference.forward()
            batch.forward()
            assert scenes.error(reference.qacc, data.qacc) < 1e-8
            assert scenes.error(batch.qacc[0], data.qacc) < 1e-7
    assert len(kinds) == 3


@pytest.mark.parametrize("name", ["everything", "tendon_rows", "actuator_muscle"])
def test_one_answer(name):
    model = ds.Model.from_mjcf(scenes.SCENES[name])
    model.opt.integrator = "discrete"
    answers.assert_one_answer(model, 20, [*answers.KEPT, "qacc", "qfrc_constraint"])


@pytest.mark.parametrize(
    "options",
    [
        {"contact_model": "anitescu"},
        {"contact_model": "compliant"},
        {"contact_parameters": "spring_damper"},
        {"desaxce": True},
    ],
)
@pytest.mark.parametrize("simulator", [lambda model: ds.Batch(model, 1, device="cpu"), ds.Reference])
def test_rows_that_are_not_mujocos_are_refused(options, simulator):
    model = ds.Model.from_mjcf(scenes.SCENES["contact_condim3"])
    model.opt.integrator = "discrete"
    for name, value in options.items():
        setattr(model.opt, name, value)
    with pytest.raises(ds.UnsupportedModelError, match="integrator = discrete.*MuJoCo's own rows"):
        simulator(model)


@pytest.mark.parametrize("name, what", [("tendon_fixed", "tendon 'branches'"), ("actuator_site", "actuator 2")])
def test_springs_and_servos_across_branches_are_refused_by_name(name, what):
    model = ds.Model.from_mjcf(scenes.SCENES[name])
    model.opt.integrator = "discrete"
    with pytest.raises(ds.UnsupportedModelError, match=f"across branches: {what}.*a\\s+Reference takes any"):
        ds.Batch(model, 1, device="cpu")
    ds.Reference(model).step()
