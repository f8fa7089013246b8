"""soft_anchor in the kernels: anchors that are kept, matched, saved and forgotten as the reference does it."""

import numpy as np
import pytest
from batch_models import same_bits

import dualstep as ds

SCENE = """<mujoco><option timestep="0.001" cone="elliptic"/><worldbody><geom type="plane" size="5 5 .1" friction="0.6"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".2 .15 .1" friction=".5" density="400"/></body>
<body pos="0.05 0.02 .31"><freejoint/><geom type="box" size=".1 .1 .1" friction=".7" density="300" condim="4"/></body>
<body pos="1 0 .11"><freejoint/><geom type="sphere" size=".1" condim="6" friction=".8 .02 .01"/></body>
<body pos="1 1 .3" euler="0 80 0"><freejoint/><geom type="capsule" size=".05 .2" condim="1"/></body>
<body pos="0 1 .3"><joint name="hinge" axis="0 1 0" range="-40 40" limited="true" damping=".2"/>
<geom type="capsule" fromto="0 0 0 .4 0 -.1" size=".04" friction=".4"/></body></worldbody>
<actuator><motor joint="hinge" gear="2" ctrlrange="-1 1"/></actuator></mujoco>"""
# a ball that slides and is held on a slope
SLOPE = """<mujoco><option timestep="5e-4"/><worldbody><geom type="plane" size="5 5 .1" friction=".5" euler="0 {angle} 0"/>
<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
<geom name="ball" size=".05" mass="1" friction=".5"/><site name="centre"/></body></worldbody>
<sensor><accelerometer site="centre"/><touch site="centre"/></sensor></mujoco>"""


def scene(**options):
    model = ds.Model.from_mjcf(SCENE)
    model.opt.contact_model, model.opt.stiffness, model.opt.damping = "soft_anchor", 2e4, 100.0
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model


def slope(angle):
    model = ds.Model.from_mjcf(SLOPE.format(angle=np.degrees(angle)))
    model.opt.contact_model = "soft_anchor"
    return model


def anchors_of(batch, env):
    """As the reference lists them, in the order of geoms and places."""
    core = batch._core
    pairs = np.stack([np.ravel(core.integers(name)) for name in ("pair_geom1", "pair_geom2")], 1)
    geoms = np.ravel(core.integers("geom_id"))[pairs]
    return [(*map(int, geoms[int(a[0]) - 1]), a[1:4], a[4:]) for a in batch.anchors[env] if a[0] > 0]


def in_order(anchors):
    return sorted(((a, b, tuple(np.round(place, 6)), np.r_[place, stretch]) for a, b, place, stretch in anchors),
                  key=lambda row: row[:3])  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"tangent_stiffness": 0.0}, {"contact_parameters": "spring_damper", "contact_margin": 0.01}])
def test_rollouts_follow_the_reference(rng, options):
    """Both start every step from the reference's positions and velocities; anchors are each one's own."""
    model = scene(**options)
    if "contact_parameters" in options:
        model = ds.Model.from_mjcf(SCENE.replace('condim="6"', "").replace('condim="4"', ""))
        for name, value in dict(contact_model="soft_anchor", stiffness=2e4, damping=100.0, **options).items():
            setattr(model.opt, name, value)
    envs, steps = 4, 300
    references, lost, carried, slid, broken = [ds.Reference(model) for _ in range(envs)], 0, 0, 0, 0
    for reference in references:
        reference.qvel[:] = rng.normal(scale=0.7, size=model.nv)
    with ds.Batch(model, envs, device="cpu", dtype="float64") as batch:
        before = [[]] * envs
        for _ in range(steps):
            for env, reference in enumerate(references):
                reference.ctrl[:] = rng.uniform(-1, 1)
                batch.qpos[env], batch.qvel[env], batch.ctrl[env] = reference.qpos, reference.qvel, reference.ctrl
            batch.step()
            for env, reference in enumerate(references):
                reference.step()
                scale = 1 + np.max(np.abs(reference.qacc))
                np.testing.assert_allclose(batch.qvel[env], reference.qvel, rtol=0, atol=1e-9 * model.opt.timestep * scale)
                want, got = in_order(reference._core.anchors()), in_order(anchors_of(batch, env))
                assert [row[:2] for row in got] == [row[:2] for row in want]
                for a, b in zip(got, want, strict=True):
                    np.testing.assert_allclose(a[3], b[3], rtol=0, atol=1e-11)
                stretches = np.array([np.linalg.norm(row[3][3:]) for row in want])
                carried += int(np.sum(stretches > 1e-7))
                broken += len(want) < len(before[env])
                lost += len(want) > len(before[env])
                before[env] = want
                if len(found := reference.contacts().force):
                    slid += int(np.sum(np.linalg.norm(found[:, 1:3], axis=1) > 0.3))
        assert not batch.status.any()
    assert carried > 500 and slid > 500 and broken > 10 and lost > 10, (carried, slid, broken, lost)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_holds_and_slides_as_the_law_says(dtype):
    """Slope 0.2: held 9.61445e-4 m deep by a stretch of 2.43618e-4 m; slope 0.6: slides at g (sin - mu cos)."""
    near = 1e-8 if dtype == "float64" else 2e-6
    model = slope(0.2)
    normal = np.array([np.sin(0.2), 0, np.cos(0.2)])
    with ds.Batch(model, 2, device="cpu", dtype=dtype) as batch:
        batch.qpos[:] = 0.05 * normal
        batch.step(6000)
        np.testing.assert_allclose(batch.qpos @ normal - 0.05, -9.61445e-4, atol=near)
        np.testing.assert_allclose(np.linalg.norm(batch.anchors[:, 0, 4:], axis=1), 2.43618e-4, atol=near)
        # the sensors know the anchors: without them the ball would seem to fall
        reading = batch.sensordata[:, :3]
        np.testing.assert_allclose(reading, [[0, 0, 9.81]] * 2, atol=1e-3 if dtype == "float32" else 1e-6)
    steep = slope(0.6)
    down = np.array([np.cos(0.6), 0, -np.sin(0.6)])
    with ds.Batch(steep, 1, device="cpu", dtype=dtype) as batch:
        batch.qpos[:] = 0.05 * np.array([np.sin(0.6), 0, np.cos(0.6)])
        batch.step(2000)
        speed = batch.qvel[0] @ down
        batch.step(1000)
        assert (batch.qvel[0] @ down - speed) / 0.5 == pytest.approx(1.490871, abs=1e-6 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_anchors_are_state(dtype):
    """Saved and loaded to the bit, wherever the environment stands; forgotten by a reset; a forward moves none."""
    model, n = scene(), 5
    rng = np.random.default_rng(4)
    names = ("qpos", "qvel", "anchors", "status")
    with ds.Batch(model, n, device="cpu", dtype=dtype) as batch, ds.Batch(model, 7, device="cpu", dtype=dtype) as other:
        batch.qvel[...] = rng.normal(scale=0.5, size=(n, model.nv))
        batch.step(60)
        assert (batch.anchors[:, :, 0] > 0).sum() > 10 and np.abs(batch.anchors[:, :, 4:]).max() > 1e-6
        held = batch.anchors.copy()
        batch.forward()
        assert same_bits(held, batch.anchors)
        state = batch.save([3, 1])
        other.load(state, [0, 6])
        assert other.save([0, 6]) == state
        assert same_bits(other.anchors[[0, 6]], held[[3, 1]])
        force = batch.contacts().force.copy()
        assert same_bits(other.contacts().force[[0, 6]], force[[3, 1]])
        for _ in range(40):
            batch.step()
            other.step()
        for name in names:
            assert same_bits(getattr(other, name)[[0, 6]], getattr(batch, name)[[3, 1]]), name
        # what the anchors hold shows: without them the same state goes elsewhere
        other.load(state, [0, 6])
        other.anchors[0] = 0
        other.step(40)
        assert not same_bits(other.qvel[[0]], batch.qvel[[3]])
        batch.reset([True, False, False, False, False])
        assert not batch.anchors[0].any() and batch.anchors[1].any()


def test_a_diverged_environment_keeps_its_anchors():
    model = scene()
    with ds.Batch(model, 2, device="cpu", dtype="float64") as batch:
        batch.step(40)
        held = batch.anchors.copy()
        assert held.any()
        batch.qvel[0, 0] = np.nan
        batch.step()
        assert batch.status[0] == ds.Status.DIVERGED and same_bits(batch.anchors[0], held[0])
        assert not batch.status[1]
        batch.anchors[1, 0, 4] = np.inf
        batch.step()
        assert batch.status[1] == ds.Status.DIVERGED


def test_other_models_have_none():
    model = scene(contact_model="compliant")
    with ds.Batch(model, 2, device="cpu") as batch:
        assert batch.anchors.shape == (2, 0, 7)
