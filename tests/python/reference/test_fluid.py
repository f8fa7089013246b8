"""Media that see ellipsoids about geoms: MuJoCo's forces, of every shape, at any size and speed, each term by itself."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

SHAPES = {
    "sphere": 'type="sphere" size="{0}"',
    "capsule": 'type="capsule" size="{0} {1}"',
    "ellipsoid": 'type="ellipsoid" size="{0} {1} {2}"',
    "cylinder": 'type="cylinder" size="{0} {1}"',
    "box": 'type="box" size="{0} {1} {2}"',
    "mesh": 'type="mesh" mesh="m"',
}
# blunt, slender, angular drag, Kutta and Magnus lift
TERMS = {"default": "0.5 0.25 1.5 1 1", **{name: " ".join("1" if k == i else "0" for k in range(5)) for i, name in
         enumerate(("blunt", "slender", "angular", "kutta", "magnus"))}}  # fmt: skip


def scene(shape, term, scale):
    size = [f"{x * scale:.9f}" for x in (1, 2, 0.2)]
    corners = " ".join(f"{x * scale:.9f}" for x in np.random.default_rng(5).normal(size=30))
    return f"""<mujoco><option density="1000" viscosity=".01" wind=".1 .2 0" gravity="0 0 0"/>
    <asset><mesh name="m" vertex="{corners}"/></asset><worldbody><body><freejoint/>
    <geom {SHAPES[shape].format(*size)} pos="{scale} 0 0" euler="10 50 20" fluidshape="ellipsoid" fluidcoef="{TERMS[term]}"/>
    </body></worldbody></mujoco>"""


@pytest.mark.parametrize("shape, term", [*((shape, "default") for shape in SHAPES), *(("ellipsoid", term) for term in TERMS)])
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 0.1])
def test_forces_are_mujocos(shape, term, scale, rng):
    model = ds.Model.from_mjcf(scene(shape, term, scale))
    speeds = rng.normal(size=(24, 6)) * np.geomspace(1e-3, 3, 24)[:, None]
    speeds[:, 3:] *= rng.choice([0.0, 1.0, 1 / scale], size=(24, 1))
    m, reference = model.mj_model, ds.Reference(model)
    want = np.empty((24, 6))
    for k, row in enumerate(speeds):
        data = mujoco.MjData(m)
        data.qvel[:] = reference.qvel[:] = row
        mujoco.mj_forward(m, data)
        reference.forward()
        want[k] = data.qfrc_fluid
        assert np.abs(reference.qfrc_fluid - want[k]).max() <= 1e-12 * np.abs(want[k]).max()
    assert np.all(np.abs(want).max(axis=1) > 0)
    for dtype, error in (("float64", 1e-12), ("float32", 2e-5)):
        with ds.Batch(model, 24, dtype=dtype, num_threads=1) as sim:
            sim.qvel[:] = speeds
            sim.forward()
            assert np.all(np.abs(sim.qfrc_passive - want).max(axis=1) <= error * np.abs(want).max(axis=1))


def test_a_body_at_rest_in_a_medium_at_rest_feels_nothing():
    model = ds.Model.from_mjcf(scene("ellipsoid", "default", 0.1).replace('wind=".1 .2 0"', ""))
    for integrator in ("euler", "implicit", "implicitfast"):
        model.opt.integrator = integrator
        with ds.Batch(model, 1) as sim:
            sim.step(3)
            assert not np.any(sim.qvel) and not np.any(sim.qfrc_passive) and not np.any(sim.status)
