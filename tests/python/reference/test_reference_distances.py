"""Sensors distance, normal and fromto are MuJoCo's, in the reference and in a batch."""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

SHAPES = {
    "plane": 'type="plane" size="0 0 1"',
    "sphere": 'size=".1"',
    "capsule": 'type="capsule" size=".05 .15"',
    "ellipsoid": 'type="ellipsoid" size=".15 .1 .06"',
    "cylinder": 'type="cylinder" size=".1 .12"',
    "box": 'type="box" size=".1 .15 .07"',
    "mesh": 'type="mesh" mesh="wedge"',
}
ASSET = '<asset><mesh name="wedge" vertex=".2 0 0  -.1 .1 0  -.1 -.1 .02  0 0 .15  .05 .1 -.1"/></asset>'
PAIRS = [(a, b) for i, a in enumerate(SHAPES) for b in list(SHAPES)[i:] if (a, b) != ("plane", "plane")]
# how far apart a search may end, and how far its direction is off: curved shapes are searched for the longest
CURVED = (1e-5, 3e-3)


def scene(first, second, cutoff=1.0):
    """Two geoms that do not collide, and every sensor, both ways round."""
    sensors = "".join(
        f'<{kind} geom1="{a}" geom2="{b}" cutoff="{cutoff}"/>'
        for a, b in (("a", "b"), ("b", "a")) for kind in ("distance", "normal", "fromto")
    )  # fmt: skip
    geom = f'<geom name="a" {SHAPES[first]} contype="0" conaffinity="0" mass="1"/>'
    free, fixed = f"<body><freejoint/>{geom}</body>", f"<body>{geom}</body><body><freejoint/><geom size='.01'/></body>"
    return mujoco.MjModel.from_xml_string(f"""<mujoco>{ASSET}<worldbody>
{fixed if first == "plane" else free}
<body pos="0 0 .5"><freejoint/><geom name="b" {SHAPES[second]} contype="0" conaffinity="0" mass="1"/></body>
</worldbody><sensor>{sensors}</sensor></mujoco>""")


def drawn(mj, rng, count, far=0.5):
    states = []
    for _ in range(count):
        data = mujoco.MjData(mj)
        data.qpos[:] = rng.normal(size=mj.nq)
        data.qpos[:3] *= 0.05
        data.qpos[7:10] *= rng.uniform(0.1, far)
        for k in (3, 10):
            data.qpos[k : k + 4] /= np.linalg.norm(data.qpos[k : k + 4])
        mujoco.mj_forward(mj, data)
        states.append(data)
    return states


def read(model, states, dtype):
    if dtype is None:
        reference = ds.Reference(model)
        out = []
        for data in states:
            scenes.copy_state(data, reference)
            reference.forward()
            out.append(np.array(reference.sensordata))
        return np.array(out)
    with ds.Batch(model, len(states), dtype=dtype) as batch:
        assert batch._core.sensors_in_step
        batch.qpos[:] = [data.qpos for data in states]
        batch.forward()
        return np.array(batch.sensordata)


@pytest.mark.parametrize("dtype", [None, "float64", "float32"])
@pytest.mark.parametrize("first, second", PAIRS)
def test_distances_are_mujocos(first, second, dtype, rng):
    mj = scene(first, second)
    states = drawn(mj, rng, 40)
    got = read(ds.Model.from_mujoco(mj), states, dtype)
    close, off = CURVED if {first, second} & {"ellipsoid", "cylinder"} else (1e-6, 1e-4)
    if dtype == "float32":
        close, off = 1e-4, 2e-2
    compared = 0
    for row, data in zip(got, states, strict=True):
        want = data.sensordata
        # the same thing seen from both sides
        assert np.allclose(row[:1], row[10:11], atol=close) and np.allclose(row[1:4], -row[11:14], atol=off)
        # a search of MuJoCo's that ends early has less than the depth
        assert abs(row[0] - want[0]) < close or (want[0] < 0 and 0 < want[0] - row[0] < 1e-3)
        # directions are ill defined where the shapes barely touch
        if 0.005 < abs(want[0]) < 1 and abs(row[0] - want[0]) < close:
            same = np.allclose(row[1:4], want[1:4], atol=off)
            compared += same
            # several directions are equally deep
            assert same or want[0] < 0
        # the cutoff bounds a distance below, too
        if want[0] > -1:
            length = np.linalg.norm(row[7:10] - row[4:7])
            assert abs(length - (abs(row[0]) if want[0] < 1 else 0)) < 10 * close
        if 0.005 < want[0] < 1 and {first, second} <= {"sphere", "capsule", "ellipsoid", "plane"}:
            assert np.allclose(row[4:10], want[4:10], atol=20 * off)
    assert compared > 10


def test_of_bodies_the_nearest_geoms_count_and_a_cutoff_ends_the_search(rng):
    mj = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom name="f" type="plane" size="1 1 1"/><geom name="p" type="plane" size="1 1 1" pos="0 0 -2"/><body name="none"/>
<body name="b" pos="0 0 1"><freejoint/><geom size=".05" pos=".2 0 0"/><geom type="box" size=".1 .05 .05"/></body>
<body name="c" pos="0 .5 1"><freejoint/><geom type="capsule" size=".05 .1"/><geom size=".1" pos="0 0 .3"/></body></worldbody><sensor>
<distance body1="b" body2="c" cutoff=".6"/><normal body1="c" body2="b" cutoff=".6"/><fromto body1="b" body2="c" cutoff=".6"/>
<distance geom1="f" body2="b" cutoff=".9"/><distance body1="c" geom2="f" cutoff="3"/><distance geom1="f" geom2="p" cutoff=".3"/>
<distance body1="b" body2="none" cutoff=".2"/><distance body1="b" body2="c"/><distance body1="b" body2="c" cutoff=".01"/></sensor></mujoco>""")
    model = ds.Model.from_mujoco(mj)
    states = []
    for _ in range(60):
        data = mujoco.MjData(mj)
        mujoco.mj_integratePos(mj, data.qpos, rng.normal(scale=0.3, size=mj.nv), 1)
        mujoco.mj_forward(mj, data)
        states.append(data)
    want = np.array([data.sensordata for data in states])
    separate = want[:, 0] > 0.002
    assert 20 < np.sum(separate & (want[:, 0] < 0.6)) and np.sum(want[:, 0] == 0.6) > 2
    for dtype in (None, "float64"):
        assert np.abs(read(model, states, dtype) - want)[separate].max() < 1e-6


def test_one_answer(rng):
    mj = scene("box", "mesh")
    states = drawn(mj, rng, 9)
    model = ds.Model.from_mujoco(mj)
    answers = []
    batches = [ds.Batch(model, 9, device="cpu", isa="portable"), ds.Batch(model, 9, device="cpu")]
    batches += [ds.Batch(model, 9, device="emulated", lanes=lanes) for lanes in (1, 8)]
    for batch in batches:
        with batch:
            batch.qpos[:] = [data.qpos for data in states]
            batch.forward()
            answers.append(np.array(batch.sensordata))
    assert all(np.array_equal(answers[0], other) for other in answers) and np.count_nonzero(answers[0]) > 60


def test_height_fields_are_refused_by_name():
    text = """<mujoco><asset><hfield name="h" nrow="4" ncol="4" size="1 1 1 1"/></asset><worldbody>
<geom name="g" type="hfield" hfield="h"/><body name="b"><freejoint/><geom name="s" size=".1"/></body></worldbody><sensor>
<distance name="d" body1="world" body2="b"/></sensor></mujoco>"""
    with pytest.raises(ds.UnsupportedModelError, match="distance to a height field.*sensor 'd'"):
        ds.Model.from_mjcf(text)
    assert ds.Model.from_mjcf(text, drop="sensor").nsensor == 0
