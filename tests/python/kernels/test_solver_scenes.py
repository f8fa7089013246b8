"""What users would see of a bad solver: heaps that creep, and answers that depend on how a model was written down."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scenes
from places import ROOT

import dualstep as ds

MODELS = ROOT / "bench" / "models" / "solver"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_ten_boxes_stand_still_for_a_minute(cone, dtype):
    model = ds.Model.from_mjcf(MODELS / "stack.xml")
    model.opt.cone = cone
    second = round(1 / model.opt.timestep)
    with ds.Batch(model, 1, device="cpu", dtype=dtype, num_threads=1) as batch:
        batch.step(second)
        settled = batch.qpos.copy()
        batch.step(59 * second)
        assert np.abs(batch.qpos - settled).max() < 1e-5
        assert np.abs(batch.qvel).max() < 1e-4
        assert batch.contacts().count[0] == 40 and not batch.status.any()


def test_a_squeezed_box_is_held():
    """By friction alone, against gravity; soft friction lets it creep by less than a millimetre in ten seconds."""
    model = ds.Model.from_mjcf(MODELS / "gripper.xml")
    with ds.Batch(model, 1, device="cpu", num_threads=1) as batch:
        batch.ctrl[:] = [0.2, 30.0, 30.0]
        batch.step(round(3 / model.opt.timestep))
        lifted = batch.qpos[0, 5]
        assert lifted > 0.35
        batch.step(round(10 / model.opt.timestep))
        assert abs(batch.qpos[0, 5] - lifted) < 1e-3 and not batch.status.any()


def heap(reversed_order):
    """Boxes and capsules of different masses; the bodies written down in one order or the other."""
    root = ET.fromstring("<mujoco><worldbody><geom type='plane' size='5 5 .1'/></worldbody></mujoco>")
    rng = np.random.default_rng(3)
    bodies = []
    for k in range(8):
        body = ET.Element("body", name=f"b{k}", pos=f"{rng.normal() * 0.1} {rng.normal() * 0.1} {0.12 + 0.13 * k}")
        ET.SubElement(body, "freejoint")
        kind = {"type": "box", "size": "0.1 0.08 0.06"} if k % 2 else {"type": "capsule", "size": "0.06 0.1"}
        ET.SubElement(body, "geom", mass=str(0.3 + 0.4 * rng.random()), **kind)
        bodies.append(body)
    root.find("worldbody").extend(bodies[::-1] if reversed_order else bodies)
    return ds.Model.from_mjcf(ET.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_the_order_of_rows_does_not_show(cone):
    """The same heap with its bodies, and so its rows, in the other order: the accelerations agree to the accuracy that
    the solver promises, at its default settings."""
    one, other = heap(False), heap(True)
    one.opt.cone = other.opt.cone = cone
    errors = []
    with ds.Batch(one, 1, device="cpu") as a, ds.Batch(other, 1, device="cpu") as b:
        for _ in range(200):
            a.step(5)
            b.qpos[0] = a.qpos[0].reshape(8, 7)[::-1].ravel()
            for name in ("qvel", "qacc_warmstart"):
                getattr(b, name)[0] = getattr(a, name)[0].reshape(8, 6)[::-1].ravel()
            a.forward()
            b.forward()
            errors.append(scenes.error(b.qacc[0].reshape(8, 6)[::-1].ravel(), a.qacc[0], 1.0))
        assert a.contacts().count[0] >= 8
    assert np.median(errors) < 1e-3 and np.quantile(errors, 0.95) < 1e-2, (np.median(errors), max(errors))
