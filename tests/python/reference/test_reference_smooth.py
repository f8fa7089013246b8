"""The reference's smooth half against MuJoCo: one forward from energetic random states, without constraints."""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

STATES = 200
TOLERANCE = 1e-8

PLAIN = (
    "qfrc_bias qfrc_passive qfrc_spring qfrc_damper qfrc_gravcomp qfrc_fluid qfrc_actuator qfrc_smooth qacc_smooth "
    "actuator_length actuator_velocity actuator_force act_dot xpos xquat xmat xipos ximat geom_xpos geom_xmat "
    "site_xpos site_xmat xanchor xaxis subtree_com cvel energy sensordata"
).split()


def differences(model, data, ref):
    """The error of every quantity after a forward of both."""
    mujoco.mj_forward(model, data)
    scenes.copy_state(data, ref)
    ref.forward()
    mujoco.mj_subtreeVel(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    errors = {name: scenes.error(getattr(ref, name), getattr(data, name)) for name in PLAIN}
    for name in ("subtree_linvel", "subtree_angmom", "cacc", "cfrc_int", "cfrc_ext"):
        errors[name] = scenes.error(getattr(ref, name), getattr(data, name))
    errors["M"] = scenes.error(ref.mass_matrix(), scenes.dense_mass_matrix(model, data))
    return errors


def worst_errors(path, states, seed=0):
    model = scenes.compile_mj(path)
    ref = ds.Reference(ds.Model.from_mujoco(model))
    rng = np.random.default_rng(seed)
    worst = {}
    for _ in range(states):
        for name, value in differences(model, scenes.draw_state(model, rng), ref).items():
            worst[name] = max(worst.get(name, 0.0), value)
    return worst


@pytest.mark.parametrize("name", scenes.ALL)
def test_forward_agrees_with_mujoco(name):
    worst = worst_errors(scenes.ALL[name], STATES)
    wrong = {key: value for key, value in worst.items() if not value <= TOLERANCE}
    assert not wrong, wrong
