"""The contact models beside MuJoCo's in the kernels, against the reference, which solves them by other means; and the
same bits from packs and lanes."""

import contact_oracle  # noqa: F401  (the folder of the oracles)
import numpy as np
import pytest
from answers import assert_one_answer

import dualstep as ds

SCENE = """<mujoco><option timestep="0.004" cone="elliptic"/><worldbody><geom type="plane" size="5 5 .1" friction="0.6"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".2 .15 .1" friction=".5" density="400"/></body>
<body pos="0.05 0.02 .34"><freejoint/><geom type="box" size=".1 .1 .1" friction=".7" density="300"/></body>
<body pos="1 0 .095"><freejoint/><geom type="sphere" size=".1" condim="{condim}" friction=".8 .02 .01"/></body>
<body pos="0 1 .3"><joint name="hinge" axis="0 1 0" range="-40 40" limited="true" damping=".2"/>
<geom type="capsule" fromto="0 0 0 .4 0 -.1" size=".04" friction=".4"/></body></worldbody>
<actuator><motor joint="hinge" gear="2" ctrlrange="-1 1"/></actuator></mujoco>"""

# options, and how closely float64 follows the reference: hard rows have a weight of 1e-8 in the kernels
LAWS = {
    "anitescu": ({"contact_model": "anitescu", "friction_directions": 0, "contact_margin": 0.01}, 3, 1e-5),
    "anitescu, pyramids": ({"contact_model": "anitescu", "friction_directions": 4, "contact_margin": 0.01}, 3, 1e-5),
    "stewart_trinkle": ({"contact_model": "stewart_trinkle", "friction_directions": 0, "contact_margin": 0.01}, 3, 1e-5),
    "compliant": ({"contact_model": "compliant", "stiffness": 2e4, "damping": 100.0}, 6, 1e-9),
    "compliant, Hunt-Crossley": (
        {"contact_model": "compliant", "compliant_law": "hunt_crossley", "stiffness": 1e5, "damping": 1.0, "exponent": 1.5,
         "friction_law": "piecewise", "dynamic_friction_ratio": 0.8}, 4, 1e-9),
    "soft_anchor": ({"contact_model": "soft_anchor", "stiffness": 2e4, "damping": 100.0}, 6, 1e-9),
    "soft_anchor, seed limits": (
        {"contact_model": "soft_anchor", "stiffness": 2e4, "damping": 100.0, "contact_parameters": "spring_damper"}, 3, 1e-9),
    "compliant, seed limits": (
        {"contact_model": "compliant", "stiffness": 2e4, "damping": 100.0, "contact_parameters": "spring_damper"}, 3, 1e-9),
    "impulsive": ({"contact_model": "impulsive", "restitution": 0.5}, 3, 1e-7),
    "spring_damper": ({"contact_parameters": "spring_damper", "contact_time_constant": 0.02}, 3, 1e-9),
    "spring_damper, Coulomb": ({"contact_parameters": "spring_damper", "contact_time_constant": 0.02, "desaxce": True}, 3, 1e-7),
    "todorov, Coulomb": ({"desaxce": True}, 3, 1e-7),
    "impulsive, pyramids": ({"contact_model": "impulsive", "restitution": 0.5, "cone": "pyramidal"}, 3, 1e-7),
    "impulsive, round impacts on pyramids": (
        {"contact_model": "impulsive", "restitution": 0.5, "cone": "pyramidal", "friction_directions": 0}, 3, 1e-7),
    "spring_damper, pyramids": ({"contact_parameters": "spring_damper", "contact_time_constant": 0.02, "cone": "pyramidal"}, 3, 1e-9),
    "spring_damper, pyramids, impratio": (
        {"contact_parameters": "spring_damper", "contact_time_constant": 0.02, "cone": "pyramidal", "impratio": 4.0}, 3, 1e-9),
    "spring_damper, Coulomb, pyramids": (
        {"contact_parameters": "spring_damper", "contact_time_constant": 0.02, "desaxce": True, "cone": "pyramidal"}, 3, 1e-7),
    "todorov, Coulomb, pyramids": ({"desaxce": True, "cone": "pyramidal"}, 4, 1e-7),
    "todorov, Coulomb, pyramids, condim 6": ({"desaxce": True, "cone": "pyramidal", "impratio": 3.0}, 6, 1e-7),
}  # fmt: skip


def load(name):
    options, condim, bound = LAWS[name]
    model = ds.Model.from_mjcf(SCENE.format(condim=condim))
    for option, value in options.items():
        setattr(model.opt, option, value)
    return model, bound


def states_of(model, count, rng):
    """States along ways of the reference: thrown, sliding, at rest."""
    reference, out = ds.Reference(model), []
    for _ in range(count // 10):
        reference.reset()
        reference.qvel[:] = rng.normal(scale=0.7, size=model.nv)
        for k in range(60):
            reference.ctrl[:] = rng.uniform(-1, 1)
            if k % 6 == 3:
                out.append((reference.qpos.copy(), reference.qvel.copy(), reference.ctrl.copy()))
            reference.step()
    return out


def test_stewart_trinkle_obeys_the_law(rng):
    """Signorini's condition, Coulomb's cone and maximum dissipation at the end of the step: the law may have several
    solutions (a jam), so that being one of them is what is asked for."""
    model, _ = load("stewart_trinkle")
    states = states_of(model, 60, rng)
    model.opt.tolerance, model.opt.iterations = 1e-9, 100
    h, reference, sliding = model.opt.timestep, ds.Reference(model), 0
    with ds.Batch(model, len(states), device="cpu", dtype="float64") as batch:
        for k, (qpos, qvel, ctrl) in enumerate(states):
            batch.qpos[k], batch.qvel[k], batch.ctrl[k] = qpos, qvel, ctrl
        batch.step()
        found = batch.contacts()
        solved = (batch.status & int(ds.Status.NOT_CONVERGED)) == 0
        assert solved.mean() > 0.9, solved.mean()
        for k in np.flatnonzero(solved):
            n = int(found.count[k])
            geom, frame, force = found.geom[k, :n], found.frame[k, :n], found.force[k, :n]
            u = reference._core.contact_velocities(
                states[k][0], batch.qvel[k], geom.ravel().tolist(), found.pos[k, :n], frame.reshape(-1, 9)
            )
            mu = model.geom_friction[geom, 0].max(axis=1)
            closing = np.maximum(found.dist[k, :n] / h, -2) + u[:, 0]
            push, size = force[:, 0], 1 + force[:, 0].max(initial=0)
            rub, slip = np.linalg.norm(force[:, 1:3], axis=1), np.linalg.norm(u[:, 1:], axis=1)
            assert closing.min(initial=0) > -1e-5 and push.min(initial=0) > -1e-9
            assert np.max(np.abs(push * closing), initial=0) < 1e-5 * size
            assert np.max(rub - mu * push, initial=0) < 1e-5 * size
            lost = (force[:, 1:3] * u[:, 1:]).sum(axis=1) + mu * push * slip
            assert np.max(np.abs(lost), initial=0) < 1e-5 * size
            sliding += int(np.sum((slip > 1e-2) & (push > 0.1)))
    assert sliding > 20


SLIDER = """<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .09">
<joint type="slide" axis="1 0 0"/>{}<joint type="slide" axis="0 0 1"/><geom size=".1" condim="{}" friction="1 .1 .1"/></body>
<body pos="0 3 .095"><joint axis="0 0 1"/><geom size=".1" condim="{}" friction="1 .1 .1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("contact_model", ["compliant", "soft_anchor"])
@pytest.mark.parametrize("condim", [3, 4, 6])
@pytest.mark.parametrize("second", ["", '<joint type="slide" axis="0 1 0"/>'], ids=["one way", "both ways"])
def test_friction_that_can_move_nothing_has_no_share_of_the_bound(second, condim, contact_model):
    """A ball that slides and does not turn, one that turns and does not slide: n counts what moves."""
    model = ds.Model.from_mjcf(SLIDER.format(second, condim, condim))
    model.opt.contact_model = contact_model
    reference = ds.Reference(model)
    reference.qvel[:] = 0.05
    reference.forward()
    with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
        batch.qvel[0] = reference.qvel
        batch.forward()
        assert reference.contacts().count == 2 and np.abs(reference.qacc[0]) > 0.1
        np.testing.assert_allclose(batch.qacc[0], reference.qacc, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "stewart_trinkle"])
def test_float64_follows_the_reference(name, rng):
    model, bound = load(name)
    states = states_of(model, 90, rng)
    model.opt.tolerance, model.opt.iterations = (1e-9 if bound == 1e-5 else 1e-13), 100
    reference, errors, touching, compared = ds.Reference(model), [], 0, 0
    with ds.Batch(model, len(states), device="cpu", dtype="float64") as batch:
        for k, (qpos, qvel, ctrl) in enumerate(states):
            batch.qpos[k], batch.qvel[k], batch.ctrl[k] = qpos, qvel, ctrl
        qacc, smooth, push = batch.qacc, batch.qacc_smooth, batch.qfrc_constraint
        for array in (qacc, smooth, push):
            array[...] = np.nan
        batch.step()
        found = batch.contacts()
        for k, (qpos, qvel, ctrl) in enumerate(states):
            reference.reset()  # no anchors, as in the batch
            reference.qpos[:], reference.qvel[:], reference.ctrl[:] = qpos, qvel, ctrl
            reference.forward()
            want = reference.contacts()
            touching += want.count > 2
            assert found.count[k] == want.count
            if reference.residual > 1e-9 or batch.status[k] & ds.Status.NOT_CONVERGED:
                continue  # Coulomb's law with several solutions, or none
            compared += 1
            scale = 1 + np.max(np.abs(reference.qacc)) + np.max(np.abs(reference.qacc_smooth))
            np.testing.assert_allclose(smooth[k], reference.qacc_smooth, rtol=0, atol=1e-10 * scale)
            errors.append(np.max(np.abs(qacc[k] - reference.qacc)) / scale)
            np.testing.assert_allclose(push[k], reference.qfrc_constraint, rtol=0,
                                       atol=10 * bound * (1 + np.max(np.abs(reference.qfrc_constraint))))  # fmt: skip
            reference.step()
            np.testing.assert_allclose(batch.qvel[k], reference.qvel, rtol=0, atol=0.1 * bound * scale)
    assert touching > 25 and compared > 50, (touching, compared)
    assert max(errors) < bound, np.sort(errors)[-5:]


@pytest.mark.parametrize("name", LAWS)
def test_packs_and_lanes_have_one_answer(name):
    model, _ = load(name)
    assert_one_answer(model, 30, ["qpos", "qvel", "anchors", "status", "residual", "contact_force"])


@pytest.mark.parametrize("name", LAWS)
def test_contacts_without_friction_carry(name):
    """A coefficient of 0 is frictionless, not weightless."""
    options, _, bound = LAWS[name]
    model = ds.Model.from_mjcf("""<mujoco><option timestep="0.002" cone="elliptic"/><worldbody>
<geom type="plane" size="9 9 .1" friction="0 0 0"/><body pos="0 0 .0999"><freejoint/>
<geom type="box" size=".1 .1 .1" friction="0 0 0"/></body></worldbody></mujoco>""")
    for option, value in options.items():
        setattr(model.opt, option, value)
    reference = ds.Reference(model)
    reference.qvel[:2] = 0.5, 0.3  # not along a diagonal, where a pyramid leaves the direction of friction open
    reference.forward()
    assert reference.qacc[2] > -9.8 and np.abs(reference.qacc[:2]).max() < 1e-3
    with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
        batch.qvel[0] = reference.qvel
        batch.forward()
        np.testing.assert_allclose(
            batch.qacc[0], reference.qacc, rtol=0, atol=10 * bound * (1 + np.abs(reference.qacc).max())
        )


@pytest.mark.parametrize("condim", [3, 4, 6])
def test_a_slow_slip_is_stopped_by_the_share_of_what_rubs(condim):
    """Explicit friction takes 1 / n of a slip that it could reverse, n the frictional terms of the state. Contacts
    without friction, and those that are near and apart, rub nowhere: a ball alone ends its slip, n = 1."""
    model = ds.Model.from_mjcf(f"""<mujoco><option timestep="0.004" cone="elliptic"/><default><geom margin="0.02"/></default>
<worldbody><geom type="plane" size="9 9 .1" condim="1" margin="0"/>
<body pos="0 0 .095"><freejoint/><geom size=".1" condim="{condim}" friction=".8 .02 .01"/></body>
<body pos="1 0 .095"><freejoint/><geom size=".1" condim="1" friction=".8 .02 .01"/></body>
<body pos="2 0 .11"><freejoint/><geom size=".1" condim="{condim}" friction=".8 .02 .01"/></body></worldbody></mujoco>""")
    for option, value in {"contact_model": "compliant", "stiffness": 2e4, "damping": 100.0}.items():
        setattr(model.opt, option, value)
    n = {3: 1, 4: 2, 6: 3}[condim]
    reference = ds.Reference(model)
    with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
        reference.qvel[0] = batch.qvel[0, 0] = 1e-4
        reference.step()
        batch.step()
        for qvel in (np.array(batch.qvel[0]), reference.qvel):
            # at the foot of the ball, halfway into the plane
            assert qvel[0] - qvel[4] * 0.0975 == pytest.approx(1e-4 * (1 - 1 / n), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("name", ["impulsive", "impulsive, pyramids"])
def test_impacts_that_are_cut_short_are_flagged_where_they_are_wrong(name, rng):
    model, _ = load(name)
    states, answers = states_of(model, 90, rng), []
    model.opt.tolerance = 1e-12
    for model.opt.iterations in (100, 1):
        with ds.Batch(model, len(states), device="cpu", dtype="float64") as batch:
            for k, (qpos, qvel, ctrl) in enumerate(states):
                batch.qpos[k], batch.qvel[k], batch.ctrl[k] = qpos, 3 * qvel, ctrl
            batch.step()
            answers.append((np.array(batch.qvel), np.array(batch.status) & int(ds.Status.NOT_CONVERGED)))
    (right, unflagged), (found, flagged) = answers
    wrong = np.abs(found - right).max(axis=1) > 5e-3
    assert not unflagged.any() and wrong.any() and flagged[wrong].all()


def test_a_brick_under_anitescu_hovers_at_h_mu_v():
    """Sliding on a convex cone lifts to a gap of h mu v in one step (the relaxation's artefact); Coulomb's law does not."""
    heights = {}
    for name in ("anitescu", "stewart_trinkle"):
        model = ds.Model.from_mjcf("""<mujoco><option timestep="0.01" gravity="0 0 -9.81"/><worldbody>
<geom type="plane" size="9 9 .1" friction=".3"/><body pos="0 0 .1"><freejoint/><geom type="sphere" size=".1" friction=".3"/>
</body></worldbody></mujoco>""")
        model.opt.contact_model, model.opt.friction_directions, model.opt.contact_margin = name, 0, 0.05
        with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
            batch.qvel[0, 0] = 2.0
            batch.step(1)
            speed = batch.qvel[0, 0] - 0.1 * batch.qvel[0, 4]  # of the point of contact
            heights[name] = (batch.qpos[0, 2] - 0.1, 0.01 * 0.3 * speed)
    assert heights["anitescu"][0] == pytest.approx(heights["anitescu"][1], rel=1e-3)
    assert abs(heights["stewart_trinkle"][0]) < 1e-5


WALL = "".join(
    f"<body pos='{0.205 * (i % 2 + 0.5 * (i // 2 % 2)):.4f} 0 {0.05 + 0.1 * (i // 2)}'><freejoint/>"
    "<geom type='box' size='.1 .05 .05' density='500'/></body>"
    for i in range(8)
)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("directions", [0, 4])
def test_status_is_that_of_the_last_solution(directions, dtype):
    """A wall that comes down: the solution that Coulomb's law begins with need not converge, of most steps in float32."""
    model = ds.Model.from_mjcf(
        f"<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='5 5 .1'/>{WALL}</worldbody></mujoco>"
    )
    model.opt.contact_model, model.opt.friction_directions = "stewart_trinkle", directions
    flagged = 0
    with ds.Batch(model, 1, dtype=dtype, num_threads=1) as sim:
        for _ in range(30):
            sim.step(1)
            flagged += int(sim.status[0] != 0)
    assert flagged <= (10 if dtype == "float32" else 0)


SQUEEZED = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1"/>
<geom type="plane" size="5 5 1" pos="0 0 {gap}" quat="0 1 0 0"/>
<body pos="0 0 {middle}"><freejoint/><geom size=".1" mass="1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("directions", [0, 4])
@pytest.mark.parametrize("law", ["anitescu", "stewart_trinkle"])
def test_rows_that_no_motion_meets_are_flagged(law, directions, dtype):
    """A ball between two planes that are nearer to each other than it is wide; one with room to spare is solved."""
    for gap, wanted in ((0.19, ds.Status.NOT_CONVERGED), (0.2001, 0), (0.25, 0)):
        model = ds.Model.from_mjcf(SQUEEZED.format(gap=gap, middle=gap / 2))
        model.opt.contact_model, model.opt.friction_directions = law, directions
        sim = ds.Batch(model, 1, dtype=dtype)
        for _ in range(20):
            sim.step(1)
            assert sim.status[0] == wanted, gap


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("directions", [0, 4])
@pytest.mark.parametrize("law", ["anitescu", "stewart_trinkle"])
def test_rows_that_no_motion_meets_are_flagged_beside_others_that_ask_for_more(law, directions, dtype):
    """Eight balls that strike the floor beside one that is squeezed; those alone are solved, and at rest too."""
    balls = "".join(f'<body pos="{1 + 0.5 * k} 0 .0999"><freejoint/><geom size=".1"/></body>' for k in range(8))
    alone = SQUEEZED.replace('0 1 0 0"', '0 1 0 0" contype="2" conaffinity="2"').replace('mass="1"', 'mass="1" contype="3" conaffinity="3"')
    for gap, wanted in ((0.19, int(ds.Status.NOT_CONVERGED)), (0.25, 0)):
        model = ds.Model.from_mjcf(alone.format(gap=gap, middle=gap / 2).replace("</worldbody>", balls + "</worldbody>"))
        model.opt.contact_model, model.opt.friction_directions = law, directions
        for speed in (20, 5, 0):
            with ds.Batch(model, 1, dtype=dtype) as sim:
                sim.qvel[0, 8::6] = -speed
                sim.step()
                assert sim.status[0] == wanted, (gap, speed)


def test_what_a_batch_does_not_have_is_refused_by_name():
    def refused(match, **options):
        model = ds.Model.from_mjcf(SCENE.format(condim=3))
        for option, value in options.items():
            setattr(model.opt, option, value)
        with pytest.raises(ds.UnsupportedModelError, match=match):
            ds.Batch(model, 1)

    refused("rk4", contact_model="soft_anchor", integrator="rk4")
    refused("implicitfast", contact_model="soft_anchor", integrator="implicitfast")
    refused("implicit", contact_model="anitescu", integrator="implicit")
    refused("implicitfast", contact_model="anitescu", integrator="implicitfast")
    refused("rk4", contact_model="anitescu", integrator="rk4")
    refused("friction_directions", contact_model="stewart_trinkle", friction_directions=8)
    refused("friction_directions", contact_parameters="spring_damper", cone="pyramidal", friction_directions=8)
    refused("variational", integrator="variational")
    refused("event_driven", scheme="event_driven")
    refused("pgs", contact_model="anitescu", solver="pgs")

    def pair_refused(match, **attributes):
        written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
        model = ds.Model.from_mjcf(f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body><freejoint/>
<geom name="ball" size=".1"/></body></worldbody><contact><pair name="both" geom1="floor" geom2="ball" {written}/></contact>
</mujoco>""")
        model.opt.contact_parameters = "spring_damper"
        with pytest.raises(ds.UnsupportedModelError, match=match):
            ds.Batch(model, 1)

    pair_refused("condim above 3 with contact_parameters = spring_damper.*both", condim=4)
    pair_refused("friction that differs between directions.*both", friction="1 .5 0 0 0", condim=3)


ROWS = """<mujoco><option>{flag}</option><worldbody><body><joint name="ball" type="ball" limited="true" range="0 50"/>
<geom size=".1"/><body pos="0 0 1"><geom size=".1"/>
<joint name="hinge" frictionloss="1" limited="true" range="-1 1"/></body></body></worldbody><tendon>
<fixed name="cord" limited="true" range="0 1" frictionloss="1"><joint joint="hinge" coef="1"/></fixed></tendon>
<equality><tendon tendon1="cord"/></equality></mujoco>"""
ROWS_REFUSED = {
    "joint friction": "joint 'hinge'",
    "limit of a tendon": "tendon 'cord'",
    "friction of a tendon": "tendon 'cord'",
    "limit of a ball joint": "joint 'ball'",
}


@pytest.mark.parametrize(
    "option, word, refused",
    [
        ("contact_parameters", "spring_damper", set(ROWS_REFUSED)),
        ("contact_model", "impulsive", {"limit of a ball joint"}),
    ],
)
def test_kinds_of_rows_are_refused_beside_contacts_that_have_none_of_them(option, word, refused):
    def problems(flag=""):
        model = ds.Model.from_mjcf(ROWS.format(flag=flag and f'<flag {flag}="disable"/>'))
        setattr(model.opt, option, word)
        try:
            ds.Batch(model, 1)
        except ds.UnsupportedModelError as error:
            return [(feature, element) for feature, element, *_ in error.problems]
        return []

    def named(kinds):
        found = kinds & refused
        return [(f"{kind} with {option} = {word}", who) for kind, who in ROWS_REFUSED.items() if kind in found]

    limits = {kind for kind in ROWS_REFUSED if "limit" in kind}
    assert problems() == named(refused)
    assert problems("limit") == named(refused - limits)
    assert problems("frictionloss") == named(limits)
    assert problems("constraint") == []


TURNING = """<mujoco><option timestep="0.001" cone="{cone}"/><worldbody>
<geom type="plane" size="5 5 .1" condim="{condim}" friction="{slide} .05 .001"/><body pos="0 0 .0999"><freejoint/>
<geom type="sphere" size=".1" condim="{condim}" friction="{slide} .05 .001"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("slide", [0, 1e-6, 1e-3])
@pytest.mark.parametrize("condim", [4, 6])
@pytest.mark.parametrize("directions", [0, 4])
@pytest.mark.parametrize("law", ["anitescu", "stewart_trinkle", "impulsive"])
def test_contacts_that_do_not_rub_along_their_plane_resist_turning(law, directions, condim, slide):
    """Without friction along t1 the cone is still one of torsion and rolling: spin is slowed as the reference has it."""
    for cone in ("elliptic", "pyramidal"):
        model = ds.Model.from_mjcf(TURNING.format(condim=condim, slide=slide, cone=cone))
        model.opt.contact_model, model.opt.friction_directions = law, directions
        reference = ds.Reference(model)
        reference.qvel[:] = 0.3, 0.1, -0.2, 1, 2, 20
        batches = [ds.Batch(model, 1, dtype=dtype, num_threads=1) for dtype in ("float64", "float32")]
        for batch in batches:
            batch.qvel[0] = reference.qvel
            batch.step()
        reference.step()
        for batch in batches:
            assert batch.status[0] == 0
            np.testing.assert_allclose(batch.qvel[0], reference.qvel, rtol=0, atol=0.01)
        assert 9 < reference.qvel[5] < 17  # slowed, not stopped
