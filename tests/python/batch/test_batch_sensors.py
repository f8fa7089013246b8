"""Sensor readings of a batch are MuJoCo's, for the state of the last evaluation."""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

WITH_SENSORS = [
    name for name, path in scenes.SCENES.items() if name.startswith("sensor_") and "loop" not in name
]


@pytest.mark.parametrize("name", WITH_SENSORS)
def test_readings_are_mujocos(name, rng):
    mj = scenes.compile_mj(scenes.ALL[name], constraints=True)
    mj.opt.tolerance, mj.opt.iterations = 0, 200
    with ds.Batch(ds.Model.from_mujoco(mj), 5, dtype="float64") as batch:
        states = [scenes.draw_state(mj, rng) for _ in range(5)]
        for env, data in enumerate(states):
            for field in ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"):
                getattr(batch, field)[env] = getattr(data, field)
            batch.time[env] = data.time
        batch.forward()
        got = batch.sensordata
        for env, data in enumerate(states):
            mujoco.mj_forward(mj, data)
            assert scenes.error(got[env], data.sensordata) < 1e-6


def test_without_sensors_there_is_nothing_to_read(gym_path):
    with ds.Batch(ds.Model.from_mjcf(gym_path), 3) as batch:
        assert batch.sensordata.shape == (3, 0)
    assert np.size(batch.model.nsensordata) == 1
