"""The reference against MuJoCo on models drawn at random: one forward and one step of each, from energetic states."""

import mujoco
import numpy as np
import pytest
import random_models
import scenes
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_reference_smooth import differences

import dualstep as ds

# relative to the largest entry; inertias of drawn trees span decades, so M amplifies rounding, by its condition
TOLERANCE = 1e-8
ROUNDING = 4e-16


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(xml=random_models.models(), seed=st.integers(0, 2**32 - 1))
def test_random_models_agree_with_mujoco(xml, seed):
    model = scenes.compile_mj(xml)
    ref = ds.Reference(ds.Model.from_mujoco(model))
    rng = np.random.default_rng(seed)
    for _ in range(3):
        data = scenes.draw_state(model, rng)
        mujoco.mj_forward(model, data)
        # joints that share a direction, without armature: no acceleration is right
        condition = np.linalg.cond(scenes.dense_mass_matrix(model, data))
        assume(condition < 1e10)
        tolerance = max(TOLERANCE, ROUNDING * condition)
        wrong = {key: value for key, value in differences(model, data, ref).items() if not value <= tolerance}
        assert not wrong, wrong

        mujoco.mj_step(model, data)
        ref.step()
        if data.warning[mujoco.mjtWarning.mjWARN_INERTIA].number:
            # a drive that speeds itself up can leave M - h dF/dv without a positive pivot (M itself has one, see above):
            # MuJoCo then says so, divides by its smallest number instead and jumps
            ref.reset()
            continue
        if ref.status:
            # too stiff for this integrator: MuJoCo has reset itself
            assert data.time < ref.model.opt.timestep + 1e-9
            ref.reset()
            continue
        for name in ("qpos", "qvel", "act"):
            assert scenes.error(getattr(ref, name), getattr(data, name)) <= tolerance, name


@pytest.mark.parametrize("contacts", [False, True])
def test_what_is_drawn_is_supported(contacts):
    @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(xml=random_models.models(contacts=contacts))
    def loads(xml):
        ds.Model.from_mjcf(xml)

    loads()
