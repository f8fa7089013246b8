"""Constraint rows and forces of the reference against MuJoCo run to convergence: scenes for each feature, all models
of gymnasium, both cones, impratio, flags; and against an optimality check that knows no solver."""

import contact_oracle as oracle
import mujoco
import numpy as np
import pytest
import scenes

STATES = 200
TOLERANCE = 1e-8
# where MuJoCo's own gradient is above this, relative, its solver has not converged and only rows are compared
CONVERGED = 1e-9
SOLUTION = {"qacc", "qfrc_constraint", "efc_force", "contact force"}

FEATURES = [
    name
    for name in scenes.SCENES
    if name.startswith(("contact_", "limit_", "friction_", "equality_", "everything", "flag_filterparent"))
]
CONES = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}


def check(model, ref, states, seed=0):
    """Compares every state; returns how many had rows, contacts, and a MuJoCo that did not converge."""
    rng = np.random.default_rng(seed)
    count = {"rows": 0, "contacts": 0, "unconverged": 0}
    for data in oracle.run(model, rng, states):
        oracle.forward(model, data, ref)
        wrong = {k: v for k, v in oracle.differences(model, data, ref).items() if not v <= TOLERANCE}
        assert oracle.primal_gradient(ref, ref.qacc) < 1e-10
        if SOLUTION & set(wrong) and oracle.primal_gradient(ref, data.qacc) > CONVERGED:
            count["unconverged"] += 1
            wrong = {k: v for k, v in wrong.items() if k not in SOLUTION}
        assert not wrong, wrong
        count["rows"] += data.nefc > 0
        count["contacts"] += data.ncon > 0
    return count


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("name", FEATURES)
def test_scenes_agree_with_mujoco(name, cone):
    model, ref = oracle.load(scenes.SCENES[name], cone=CONES[cone])
    count = check(model, ref, STATES)
    assert count["rows"] > STATES / 4 and count["unconverged"] <= STATES / 50, count


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("name", scenes.GYM)
def test_gymnasium_models_agree_with_mujoco(name, cone):
    model, ref = oracle.load(scenes.GYM[name], cone=CONES[cone])
    count = check(model, ref, STATES)
    assert count["unconverged"] <= STATES / 50, count
    if model.ngeom > 1 and name not in ("swimmer", "reacher", "inverted_pendulum", "inverted_double_pendulum"):
        assert count["contacts"] > 10, count


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("name", FEATURES)
def test_rows_at_the_end_of_a_step(name, cone):
    """The integrator discrete: weights, references and forces of every kind of row, MuJoCo's."""
    model, ref = oracle.load(scenes.SCENES[name], cone=CONES[cone], integrator=mujoco.mjtIntegrator.mjINT_DISCRETE)
    rows = 0
    for data in oracle.run(model, np.random.default_rng(2), 40):
        oracle.forward(model, data, ref)
        wrong = {k: v for k, v in oracle.differences(model, data, ref).items() if not v <= TOLERANCE}
        assert not wrong, wrong
        rows += data.nefc > 0
    assert rows > 10


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("impratio", [0.2, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("name", ["contact_condim3", "contact_condim6"])
def test_impratio(name, impratio, cone):
    model, ref = oracle.load(scenes.SCENES[name], cone=CONES[cone], impratio=impratio)
    count = check(model, ref, 60)
    assert count["contacts"] > 20 and count["unconverged"] <= 2, count


FLAGS = ("constraint", "equality", "frictionloss", "limit", "contact", "refsafe", "filterparent")


@pytest.mark.parametrize("flag", FLAGS)
def test_disable_flags(flag):
    bit = getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}")
    model, ref = oracle.load(scenes.SCENES["everything"], disableflags=int(bit))
    count = check(model, ref, 60)
    assert (count["rows"] == 0) == (flag == "constraint"), count
    assert (count["contacts"] == 0) == (flag in ("constraint", "contact")), count


def test_override_replaces_what_pairs_say_of_themselves():
    """Above all the stiffness along the surface, which no pair of geoms has but one that is given."""
    model, ref = oracle.load(
        scenes.SCENES["contact_pairs"], cone=CONES["elliptic"], enableflags=int(mujoco.mjtEnableBit.mjENBL_OVERRIDE),
        o_margin=0.02, o_solref=[0.03, 0.9], o_solimp=[0.6, 0.9, 0.01, 0.4, 3], o_friction=[0.5, 0.4, 0.01, 0.002, 0.003],
    )  # fmt: skip
    count = check(model, ref, 60)
    assert count["contacts"] > 20 and count["unconverged"] <= 2, count


def test_there_are_states_of_every_kind():
    """The states that are compared hold every kind of row, and contacts that stick, slide and are open."""
    model, ref = oracle.load(scenes.SCENES["everything"], cone=CONES["elliptic"])
    kinds, states = set(), set()
    for data in oracle.run(model, np.random.default_rng(0), STATES):
        oracle.forward(model, data, ref)
        kinds |= set(oracle.rows(ref)["type"].tolist())
        states |= set(int(s) for s in data.efc_state)
    assert kinds == {0, 1, 2, 3, 5}
    wanted = ("SATISFIED", "QUADRATIC", "LINEARNEG", "LINEARPOS", "CONE")
    assert states == {int(getattr(mujoco.mjtConstraintState, f"mjCNSTRSTATE_{s}")) for s in wanted}


def test_no_rows_leave_the_smooth_acceleration():
    model, ref = oracle.load('<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>')
    ref.qvel[:] = 1
    ref.forward()
    np.testing.assert_array_equal(ref.qacc, ref.qacc_smooth)
    assert ref.iterations == 0 and ref.residual == 0 and not ref.qfrc_constraint.any()
