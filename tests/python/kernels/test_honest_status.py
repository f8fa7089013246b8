"""Status says what is so: single precision stands where rows are singular, nothing wrong or not finite goes unflagged, and
nothing right is flagged."""

import hard_scenes
import honesty
import mujoco
import numpy as np
import pytest

import dualstep as ds

NOT_CONVERGED = int(ds.Status.NOT_CONVERGED)
BALL = '<body pos="0 0 .5"><freejoint/><geom size=".1"/></body>'
SINGULAR = {
    "post on its own hinge": '<body pos="-.8 0 .29"><joint axis="0 1 0"/><geom type="cylinder" size=".05 .3"/></body>',
    "base that turns in the floor": """<body pos="1 0 .049"><joint axis="0 0 1"/><geom type="cylinder" size=".1 .05"/>
<body pos="0 0 .1"><joint axis="0 1 0" damping="1"/><geom type="capsule" size=".04" fromto="0 0 0 .4 0 .3"/></body></body>""",
    "base that slides in the floor": """<body pos="1 0 .049"><joint type="slide" axis="1 0 0" damping="1"/>
<geom type="box" size=".1 .1 .05"/></body>""",
    "box on a hinge": '<body pos="-.8 0 .29"><joint axis="0 1 0"/><geom type="box" size=".05 .05 .3"/></body>',
}


@pytest.mark.parametrize("name", SINGULAR)
def test_single_precision_stands_on_contacts_that_nothing_can_relieve(name):
    model = ds.Model.from_mjcf(
        '<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="0 0 1"/>' + SINGULAR[name] + BALL
        + "</worldbody></mujoco>"
    )  # fmt: skip
    with ds.Batch(model, 4, num_threads=1) as single, ds.Batch(model, 1, dtype="float64", num_threads=1) as double:
        single.step(400)
        double.step(400)
        assert not np.any(single.status) and not np.any(double.status)
        np.testing.assert_allclose(single.qpos[0], double.qpos[0], atol=2e-4)


ROLLER = """<mujoco><worldbody><geom type="box" size=".1 .1 .5"/>
<body pos=".19 .19 0"><joint name="roller" axis="0 0 1"/><geom type="{}" size=".15 .2"/></body>
<body pos="3 0 0"><joint axis="0 1 0"/><geom size=".1" pos=".5 0 0"/></body></worldbody>
<actuator><motor joint="roller"/></actuator></mujoco>"""


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder"])
def test_a_row_of_rounding_touches_nothing_else(kind):
    peer = mujoco.MjModel.from_xml_string(ROLLER.format(kind))
    data = mujoco.MjData(peer)
    with ds.Batch(ds.Model.from_mujoco(peer), 2, num_threads=1) as batch:
        for k in range(200):
            batch.ctrl[:] = data.ctrl[:] = 0.3 * np.sin(0.05 * k)
            batch.step()
            mujoco.mj_step(peer, data)
        assert not np.any(batch.status)
        assert batch.qpos[0, 1] == pytest.approx(data.qpos[1], abs=1e-3)
        assert abs(batch.qvel[0, 0]) < 0.01


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("solver", ["pgs_newton", "pgs_newton_primal", "pgs_newton_dual"])
def test_a_ball_at_the_edge_of_a_box_leaves_a_pendulum_alone(solver, dtype):
    model = ds.Model.from_mjcf("""<mujoco><worldbody><geom type="box" size="1 1 1"/>
<body pos="1.2 1.2 0"><joint/><geom size="1"/></body><body pos="-.9 -.9 0"><joint/><geom size=".1"/></body>
<body pos="9 0 0"><joint axis="0 1 0"/><geom size=".1" pos=".5 0 0"/></body></worldbody></mujoco>""")
    model.opt.solver = solver
    for speed in (0, 0.3):
        with ds.Batch(model, 1, dtype=dtype, num_threads=1) as batch:
            batch.qvel[:] = speed
            batch.forward()
            assert batch.status[0] == 0
            # the error is small beside the ball's acceleration, which weighs a thousand times as much
            assert batch.qacc[0, 2] == pytest.approx(19.31102362, rel=1e-2 if dtype == "float32" else 1e-6)
            assert batch.qacc[0, 0] == pytest.approx(-speed * 105.2632, abs=2e-3)


def test_two_limits_against_each_other_are_right_and_not_flagged():
    peer = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><body>
<joint axis="1 0 0" range="0 0.1" limited="true" margin="0.2"/><geom size="1"/></body></worldbody></mujoco>""")
    peer.opt.tolerance = 0
    data = mujoco.MjData(peer)
    with ds.Batch(ds.Model.from_mujoco(peer), 1, num_threads=1) as batch:
        for _ in range(200):
            data.qpos[:], data.qvel[:] = batch.qpos[0], batch.qvel[0]
            batch.step()
            mujoco.mj_forward(peer, data)
            assert batch.qacc[0, 0] == pytest.approx(data.qacc[0], abs=1e-3)
        assert batch.status[0] == 0


def test_boxes_inside_a_box_that_turns_give_finite_numbers():
    model = ds.Model.from_mjcf("""<mujoco><default><geom type="box" size=".1 .2 .3"/></default><worldbody>
<geom pos=".5 0 0" euler="0 0 50"/><geom quat="0 -1 0 0"/><body pos="0 .5 0"><geom quat="0 1 0 0"/></body><geom euler="0 0 50"/>
<body><geom pos="0 2 0"/></body><body><geom/><joint axis="0 -1 0"/></body></worldbody></mujoco>""")
    for solver in ("pgs_newton", "pgs_newton_primal", "pgs_newton_dual"):
        model.opt.solver = solver
        with ds.Batch(model, 2, num_threads=1) as batch:
            batch.forward()
            assert np.all(np.isfinite(batch.qacc)) and not np.any(batch.status), solver
            batch.step(100)
            assert np.all(np.isfinite(batch.qvel)) and not np.any(batch.status), solver


def apart(xml, states, **options):
    """By state, (a turn from qpos0, qvel): how far the accelerations of a Batch are from MuJoCo's, of what constraints do in
    the norm of the inertia; and the status. `options` are the Batch's."""
    peer = mujoco.MjModel.from_xml_string(xml)
    peer.opt.tolerance, peer.opt.iterations, peer.opt.ls_iterations = 0, 300, 200
    data, errors, M = mujoco.MjData(peer), [], np.zeros((peer.nv, peer.nv))
    with ds.Batch(ds.Model.from_mujoco(peer), len(states), num_threads=2, **options) as batch:
        for k, (turn, qvel) in enumerate(states):
            mujoco.mj_resetData(peer, data)
            mujoco.mj_integratePos(peer, data.qpos, turn, 1.0)
            batch.qpos[k], batch.qvel[k] = data.qpos, qvel
        batch.forward()
        for k in range(len(states)):
            data.qpos[:], data.qvel[:] = batch.qpos[k], batch.qvel[k]
            mujoco.mj_forward(peer, data)
            mujoco.mj_fullM(peer, data, M)
            error, by_rows = batch.qacc[k] - data.qacc, data.qacc - data.qacc_smooth
            # of nothing where nothing touches
            errors.append(np.sqrt(error @ M @ error) / max(np.sqrt(by_rows @ M @ by_rows), 0.1))
        return np.array(errors), np.array(batch.status)


@pytest.mark.parametrize("islands", [False, True])
def test_an_acceleration_that_is_rounding_of_great_forces_is_flagged(rng, islands):
    # the connect asks the body near its joint to leave it; its three rows have nearly rank two. Single precision loses
    # an acceleration that it makes out of forces a million times as great
    balls = "".join(f'<body pos="{3 * k} 0 .1"><freejoint/><geom size=".1"/></body>' for k in range(1, 6))
    xml = f"""<mujoco><worldbody><body name="B" pos="0 0 1"><joint type="ball" pos="{{}} 0 0"/>
<geom type="ellipsoid" size=".1 .05 .02"/></body>{balls if islands else ""}</worldbody>
<equality><connect body1="B" body2="world" anchor=".1 .2 .3"/></equality></mujoco>"""
    free = np.zeros(30 if islands else 0)
    states = [(np.concatenate([rng.normal(0, 0.4, 3), free]), 0) for _ in range(50)]
    errors, status = apart(xml.format(0.001), states)
    assert np.median(errors) > 1e-2
    wrong = errors > 2e-2
    assert np.all(status[wrong] == NOT_CONVERGED)
    # a double has digits enough, and so has a single where the joint is elsewhere
    errors, status = apart(xml.format(0.001), states, dtype="float64")
    assert errors.max() < 1e-6 and not np.any(status)
    errors, status = apart(xml.format(0.3), states)
    assert errors.max() < 1e-2 and not np.any(status)


def flying(balls):
    return "".join(f'<body pos="{3 * k} 0 9"><freejoint/><geom size=".1"/></body>' for k in range(1, balls + 1))


@pytest.mark.parametrize("balls", [0, 8])
def test_rows_that_are_too_stiff_for_the_precision_and_contradict_each_other_are_flagged(rng, balls):
    # a link is tied to two points that are too far apart: which row bears how much is decided by weights of which single
    # precision takes no more than a millionth (conditioning.h)
    xml = f"""<mujoco><worldbody><body name="m" mocap="true"/><site name="w" pos=".1 .2 .3"/>
<body><joint type="ball"/><joint type="slide" axis="1 2 0"/><geom type="box" size=".2 .1 .1"/>
<body name="b" pos="{{0}} .3 .3"><joint axis="1 0 0" pos=".1 0 .1"/><joint axis="0 1 .2"/>
<geom type="capsule" size=".03 .1" density="{{1}}"/><site name="s" pos="-.1 .2 .1"/></body></body>{flying(balls)}</worldbody><equality>
<connect site1="s" site2="w" solimp="0 .9999 .001 .2 2" solref=".05 .75"/>
<connect body1="b" body2="m" anchor=".5 .1 .3" solimp=".5 1 .1 1 1" solref="-10 -24"/></equality></mujoco>"""
    free, wrong, right = np.zeros(6 * balls), 0, 0
    states = [(np.concatenate([rng.normal(0, 0.3, 6), free]), 0) for _ in range(50)]
    for place, density in ((0.3, 1000), (0.3, 20), (0.1, 5)):
        errors, status = apart(xml.format(place, density), states)
        assert np.all(status[errors > 1e-2] == NOT_CONVERGED), errors[status == 0].max()
        wrong += np.count_nonzero(errors > 1e-2)
        right += np.count_nonzero(status == 0)
        errors, status = apart(xml.format(place, density), states, dtype="float64")
        assert errors.max() < 1e-5 and not np.any(status)
    assert wrong > 10 and right > 10


@pytest.mark.parametrize("balls", [0, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_without_an_inverse_weight_share_as_in_mujoco(rng, dtype, balls):
    # a wheel about its centre of mass, tied at two places that ask for two speeds
    xml = f"""<mujoco><worldbody><site name="p" pos=".3 .02 0"/><site name="q" pos="0 .1 0"/>
<body><joint axis="0 0 1"/><geom type="cylinder" size=".4 .05"/><site name="a" pos=".3 0 0"/><site name="b" pos="-.02 .1 0"/>
</body>{flying(balls)}</worldbody><equality><connect site1="a" site2="p"/><connect site1="b" site2="q"/></equality></mujoco>"""
    free = np.zeros(6 * balls)
    states = [(np.append(rng.normal(0, 0.01), free), np.append(rng.normal(0, 0.3), free)) for _ in range(20)]
    errors, status = apart(xml, states, dtype=dtype)
    assert errors.max() < (1e-2 if dtype == "float32" else 1e-6) and not np.any(status)


@pytest.mark.parametrize("balls", [0, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_base_that_turns_in_the_floor_moves_as_in_mujoco_or_is_flagged(rng, dtype, balls):
    flags, off = 0, []
    # some rows only just move the base: they are soft by it, and of the first two flagged where that counts
    for k in (106, 113, *range(12)):
        xml = hard_scenes.sunk_bases(np.random.default_rng([7, k])).replace("</worldbody>", flying(balls) + "</worldbody>")
        nv = 8 + 6 * balls
        states = [(np.append(rng.normal(0, 0.003, 8), np.zeros(nv - 8)), rng.normal(0, 0.1, nv)) for _ in range(12)]
        errors, status = apart(xml, states, dtype=dtype)
        assert np.all(errors[status == 0] < 1e-2), (k, errors[status == 0].max())
        assert k > 100 or not np.any(status), k
        flags += np.count_nonzero(status)
        off.extend(errors)
    assert np.median(off) < (1e-4 if dtype == "float32" else 1e-8)
    assert flags > 0 or dtype == "float64"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_step_after_which_rows_turn_is_not_believed(rng, dtype):
    # friction a thousand times as stiff as the normal: where a short step changes the set of edges that push, what
    # follows is not short
    cube = '<body pos="0 0 {}"><freejoint/><geom type="box" size=".1 .1 .1" mass="1" condim="6" friction="1 .05 .001"/></body>'
    xml = f"""<mujoco><option impratio="1000" cone="pyramidal"/><worldbody><geom type="plane" size="5 5 .1"/>
{cube.format(0.1)}{cube.format(0.3)}</worldbody></mujoco>"""
    errors, status = apart(xml, [(rng.normal(0, 0.008, 12), rng.normal(0, 0.1, 12)) for _ in range(400)], dtype=dtype)
    assert np.all(errors[status == 0] < 1e-2) and np.count_nonzero(status) <= 4


@pytest.mark.parametrize("family", hard_scenes.FAMILIES, ids=lambda f: f.__name__)
def test_what_is_not_flagged_is_right(family):
    total = honesty.Counts()
    for k in range(3):
        xml = family(np.random.default_rng([7, k]))
        total += honesty.count(ds.Model.from_mjcf(xml), 8, 30, seed=k, peer=honesty.Peer(xml))
    assert total.silent_wrong == 0 and total.not_finite == 0, total
    assert total.compared > 20 and total.unlike_mujoco == 0, total
    # a scene that diverges gives few steps to judge
    assert total.steps > 100 and total.false_flags <= max(3, 0.1 * total.flagged), total


STORM = """<mujoco><option timestep=".002" integrator="RK4"/><worldbody><body name="m" mocap="true" pos="0 0 1.5"/>
<body name="a" pos="0 0 1.2"><freejoint/><geom type="capsule" size=".04" fromto="0 0 0 0 0 -.3"/>
<body name="b" pos="0 0 -.3"><joint type="ball"/><geom type="capsule" size=".04" fromto="0 0 0 0 0 -.3"/></body></body>
<body name="g" pos="-.8 0 .3"><joint name="g" axis="0 1 0" frictionloss=".3"/><geom type="cylinder" size=".05 .3"/></body>
<body name="e" pos=".8 0 .3"><joint name="e" axis="0 1 0"/><geom type="box" size=".2 .1 .05"/></body>
<geom type="plane" size="3 3 1"/></worldbody>
<equality><connect body1="m" body2="a" anchor="0 0 0"/><joint joint1="e" joint2="g" polycoef="0 .5 .1 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("policy", ["reset", "freeze"])
def test_a_residual_that_is_no_number_is_flagged(policy, rng):
    with ds.Batch(ds.Model.from_mjcf(STORM), 32, num_threads=1, diverged=policy) as batch:
        batch.qvel[:] = rng.normal(0, 30, batch.qvel.shape) * 10.0 ** rng.uniform(0, 8, (32, 1))
        for _ in range(20):
            batch.step()
            flagged = np.asarray(batch.status) != 0
            for name in ("residual", "qacc", "qfrc_constraint", "qpos"):
                finite = np.isfinite(np.reshape(getattr(batch, name), (32, -1))).all(axis=1)
                assert np.all(finite | flagged), name


def test_a_time_that_is_no_number_is_flagged():
    with ds.Batch(ds.Model.from_mjcf(STORM), 3, num_threads=1) as batch:
        batch.time[1] = np.nan
        batch.step()
        assert [int(s) & int(ds.Status.DIVERGED) for s in batch.status] == [0, 1, 0]


def test_nan_has_the_same_bits_everywhere(rng):
    model = ds.Model.from_mjcf(STORM)
    with ds.Batch(model, 32, num_threads=1) as among, ds.Batch(model, 1, num_threads=1) as alone:
        among.qvel[:] = rng.normal(0, 30, among.qvel.shape) * 10.0 ** rng.uniform(0, 9, (32, 1))
        rows = [among.save([e]) for e in range(32)]
        among.step(3)
        diverged = np.array(among.status) & 1
        for e, row in enumerate(rows):
            alone.load(row)
            alone.step(3)
            for name in ("residual", "qacc", "qfrc_constraint", "qacc_smooth"):
                one, other = np.asarray(getattr(alone, name)[0]), np.asarray(getattr(among, name)[e])
                assert one.tobytes() == other.tobytes(), (name, e)
        assert 0 < diverged.sum() < 32


# a contact whose depth rounds to nothing beside one that pushes
HOPPER = dict(
    qpos=[[-0.66727644, 0.25171894, -3.1071146, -1.3069613, -1.6117558, -0.19421647],
          [0.9621821, 0.19785383, -0.92349887, -2.4361706, -0.6280621, 0.6143159]],
    qvel=[[-0.09056993, -0.2841215, -1.1403807, -0.71761245, 0.34180516, -0.45272684],
          [0.14723423, 0.086165406, 1.8419516, 1.1084522, 1.3010405, 1.2988106]],
    ctrl=[[0.5969508, -0.37398615, 0.54219186], [0.3890585, -0.92726463, 0.48846516]],
    qacc_warmstart=[[-38.643692, 10.343553, 61.052723, 14.8107395, 97.52508, -87.97413],
                    [-2.7988086, -29.21524, 4.9208183, -112.78684, 150.3945, -154.1207]],
    qfrc_applied=[[0.16486315, 0.05050513, 0.3150681, -0.081846245, -0.046325292, -0.11245749], [0, 0, 0, 0, 0, 0]],
)  # fmt: skip
PUSHED = [
    [-0.0048814383, 0.71176493, -0.15047035, -0.14588955, -0.41454285, 0.51973855], [-0.8628422, -0.34389424, 0.5924868, 0.8983894,
    -0.089785784, 0.6203902], [-1.1489938, 0.49429885, 0.214367, -0.69557273, -1.0300562, -0.2661109], [0.1920982, 0.2571321,
    0.10219731, 0.49801764, 0.45551684, -0.79509264], [-0.19540422, -0.27280912, 0.64954, -0.26208484, 0.63647777, 0.08812827],
]  # fmt: skip


def test_the_impulsive_law_takes_no_bits_from_neighbours():
    import scenes

    model = ds.Model.from_mjcf(scenes.GYM["hopper"])
    model.opt.contact_model, model.opt.integrator = "impulsive", "euler"
    found = []
    for count in (1, 2):
        with ds.Batch(model, count, num_threads=1) as batch:
            for name, rows in HOPPER.items():
                getattr(batch, name)[:] = rows[:count]
            batch.xfrc_applied[0] = np.reshape(PUSHED, batch.xfrc_applied[0].shape)
            batch.step()
            found.append(batch.qvel[0].tobytes())
    assert found[0] == found[1]


COUPLED = """<mujoco><option timestep="0.001"/><worldbody>
<body><joint name="a" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/></body>
<body pos="0 1 0"><joint name="b" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body></worldbody>
<tendon><fixed name="one"><joint joint="a" coef="1"/></fixed><fixed name="two"><joint joint="b" coef="2"/></fixed></tendon>
<equality><tendon tendon1="one" {} solref="{} {}" solimp="1 1 .001"/></equality></mujoco>"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("second", ["", 'tendon2="two"'], ids=["held", "coupled"])
@pytest.mark.parametrize("stiffness", [1e4, 1e8, 1e12])
def test_stiff_tendons_are_mujocos(second, stiffness, dtype):
    """Rows of coupled tendons are differences of lengths, not of motions of bodies."""
    peer = mujoco.MjModel.from_xml_string(COUPLED.format(second, -stiffness, -2 * stiffness**0.5))
    data, rng = mujoco.MjData(peer), np.random.default_rng(2)
    with ds.Batch(ds.Model.from_mujoco(peer), 3, dtype=dtype, num_threads=1) as batch:
        batch.qpos[:], batch.qvel[:] = 0.01 * rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
        batch.forward()
        assert not np.any(batch.status)
        for env in range(3):
            data.qpos[:], data.qvel[:] = batch.qpos[env], batch.qvel[env]
            mujoco.mj_forward(peer, data)
            difference = np.abs(batch.qacc[env] - data.qacc).max()
            assert difference < (1e-4 if dtype == "float32" else 1e-9) * np.abs(data.qacc).max()


SLIPPERY = """<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="5 5 1" condim="1" friction="0 0 0"/>
<body pos="0 0 .099"><freejoint/><geom size=".1" mass="1" condim="{}" friction="{}"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("condim", [4, 6])
@pytest.mark.parametrize("friction", ["0 .005 .0001", "0 1 0", "1e-4 2 0", "1e-4 .005 .0001", ".1 2 .1"])
def test_what_slides_with_ease_and_does_not_turn_is_carried(friction, condim, dtype):
    """Weights of torsion and rolling are far above the normal's then, whose own is not theirs."""
    peer = mujoco.MjModel.from_xml_string(SLIPPERY.format(condim, friction))
    peer.opt.tolerance, peer.opt.iterations, peer.opt.ls_iterations = 0, 200, 200
    data = mujoco.MjData(peer)
    data.qvel[:] = [0.3, 0.1, 0, 0, 0, 2]
    mujoco.mj_forward(peer, data)
    with ds.Batch(ds.Model.from_mujoco(peer), 1, dtype=dtype, num_threads=1) as batch:
        batch.qvel[0] = data.qvel
        batch.forward()
        assert batch.status[0] == 0
        np.testing.assert_allclose(batch.qacc[0], data.qacc, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_accelerations_that_are_no_numbers_are_flagged_by_forward_too(rng, dtype):
    """Two hinges on one axis: the mass matrix is singular."""
    model = ds.Model.from_mjcf("""<mujoco><worldbody><body><joint axis="0 1 0"/><joint axis="0 1 0"/>
<geom size=".05" pos=".3 0 .1" mass="1"/></body></worldbody></mujoco>""")
    with ds.Batch(model, 64, dtype=dtype, num_threads=1) as batch:
        batch.qpos[:], batch.qvel[:] = rng.normal(size=(2, 64, 2))
        batch.forward()
        wrong = ~np.isfinite(batch.qacc).all(axis=1)
        assert wrong.any()
        assert (batch.status[wrong] == NOT_CONVERGED).all()


# a wheel that has turned often: a pendulum on a hinge whose angle is large
PENDULUM = "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='.1' pos='.2 0 0'/></body></worldbody></mujoco>"


@pytest.mark.parametrize(("dtype", "size"), [("float32", 3.9e6), ("float64", 9.9e9)])
def test_large_angles_are_right(dtype, size):
    model = ds.Model.from_mjcf(PENDULUM)
    m, rng = model.mj_model, np.random.default_rng(0)
    with ds.Batch(model, 64, dtype=dtype) as sim:
        sim.qpos[:] = rng.uniform(-size, size, (64, 1))
        sim.forward()
        data = mujoco.MjData(m)
        for angle, found in zip(np.array(sim.qpos, float), np.array(sim.qacc), strict=True):
            data.qpos[:] = angle
            mujoco.mj_forward(m, data)
            assert abs(found - data.qacc) < (1e-4 if dtype == "float32" else 1e-9) * 50
        assert not np.any(sim.status)


def test_angles_that_a_float_has_not_are_flagged():
    model = ds.Model.from_mjcf(PENDULUM)
    angles = [[4.1e6], [-1e8], [1.0]]
    for dtype, status in (("float32", [True, True, False]), ("float64", [False] * 3)):
        with ds.Batch(model, 3, dtype=dtype) as sim:
            sim.qpos[:] = angles
            sim.forward()
            assert [bool(s & ds.Status.DIVERGED) for s in sim.status] == status
