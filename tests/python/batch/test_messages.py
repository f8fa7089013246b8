"""What a call says that is given something else than it wants: in one line, with what was given and what is wanted."""

import copy
import pickle

import numpy as np
import pytest

import dualstep as ds


@pytest.fixture(scope="module")
def model():
    return ds.Model.named("hopper")


@pytest.fixture(scope="module")
def sim(model):
    with ds.Batch(model, 2, num_threads=1) as batch:
        yield batch


CALLS = {
    "a sensor by number": (lambda sim: sim.sensor(0), TypeError, "sensor 0 .* string"),
    "a parameter without a name": (lambda sim: sim.get_parameter(None), TypeError, "parameter None .* string"),
    "a parameter by number": (lambda sim: sim.set_parameter(3, 1), TypeError, "parameter 3 .* string"),
    "a model without a name": (lambda _: ds.Model.named(None), TypeError, "model None .* string"),
    "features by number": (lambda _: ds.Model.from_mjcf("<mujoco/>", drop=3), TypeError, "drop .* 3"),
    "an output that is a method": (
        lambda sim: sim.rollout(np.zeros((1, 2, sim.model.nu)), outputs=["mass_matrix"]),
        ValueError,
        "'mass_matrix', and a batch has no such array(?!.*did you mean 'mass_matrix')",
    ),
    "a computed array": (lambda sim: setattr(sim, "xpos", sim.xpos), AttributeError, "'xpos' is computed"),
    "rays of words": (lambda sim: sim.ray("a", "b"), ValueError, "origin: dtype <U1"),
    "complex rays": (lambda sim: sim.ray(np.zeros(3), np.ones(3) * 1j), ValueError, "direction: dtype complex128"),
    "groups by number": (lambda sim: sim.ray([0, 0, 3], [0, 0, -1], groups=0), TypeError, r"groups 0 .* \[0\]"),
    "a body that is not there": (lambda sim: sim.ray([0, 0, 3], [0, 0, -1], exclude_body=99), ValueError, "exclude_body 99"),
    "no body": (lambda sim: sim.ray([0, 0, 3], [0, 0, -1], exclude_body=-5), ValueError, "exclude_body -5"),
    "a keyframe that is true": (lambda sim: sim.reset(keyframe=True), ValueError, "True .* integer"),
    "half a geom": (lambda sim: sim.model.geom_id(1.7), ValueError, "geom 1.7 .* integer"),
    "no joint": (lambda sim: sim.model.copy().prescribe_velocity(None, 1), ValueError, "joint None .* integer"),
    "a model by name": (lambda _: ds.rollout("hopper", [[0]], [[0]], [[[0]]]), TypeError, "model: a str .* dualstep.Model"),
    "parameters in a list": (
        lambda sim: ds.rollout(sim.model, sim.qpos, sim.qvel, np.zeros((1, 2, sim.model.nu)), parameters=[("a", 1)]),
        TypeError,
        "parameters: a list .* dict",
    ),
    "a pickled reference": (lambda sim: pickle.dumps(ds.Reference(sim.model)), TypeError, "make one of its model"),
    "a copied reference": (lambda sim: copy.deepcopy(ds.Reference(sim.model)), TypeError, "make one of its model"),
}


@pytest.mark.parametrize("name", CALLS)
def test_says_what_is_wanted(name, sim):
    call, kind, message = CALLS[name]
    with pytest.raises(kind, match=message) as caught:
        call(sim)
    assert "\n" not in str(caught.value)
