"""Models loaded without what is not simulated: what is left out, what is said, what stays refused."""

import pickle

import mujoco
import numpy as np
import pytest

import dualstep as ds
from dualstep import _drop
from dualstep.measure import peer

WORLD = """
<mujoco><option noslip_iterations="{noslip}"><flag sleep="{sleep}"/></option>
  <worldbody><geom name="floor" type="plane" size="5 5 1"/>
    <body name="b" pos="0 0 1" {policy}><joint name="j" stiffness="{stiffness}"/><geom name="g" size=".1"/><site name="s"/>
      <body pos="0 0 .3"><joint name="k" axis="0 1 0"/><geom name="sticky" size=".1" adhesion="{adhesion}"/></body></body></worldbody>
  <actuator><motor name="m" joint="j"/>{actuators}</actuator>
  <sensor><jointpos joint="j"/>{sensors}</sensor>
  <keyframe>{key}</keyframe></mujoco>"""
PLAIN = dict(noslip=0, sleep="disable", policy="", stiffness="1", adhesion=0, actuators="", sensors="", key="")
USERS = '<general name="glue" joint="j" biastype="user"/>'


def world(**parts):
    return WORLD.format(**{**PLAIN, **parts})


CASES = {
    "the feature of its refusal": (
        dict(actuators=USERS),
        "bias user",
        "bias user (1 actuator)",
    ),
    "sleep": (dict(sleep="enable", policy='sleep="init"'), "sleep", "sleep (option)"),
    "sensor": (
        dict(sensors='<user dim="1" objtype="site" objname="s"/>' * 3),
        "sensor",
        "sensor user (3 sensors)",
    ),
    "sensor by feature": (
        dict(sensors='<user dim="1" objtype="site" objname="s"/>'),
        "sensor user",
        "sensor user (1 sensor)",
    ),
    "actuator and what reads it": (
        dict(actuators=USERS, sensors='<actuatorfrc actuator="glue"/>', key='<key name="k" ctrl="1 0"/>'),
        "actuator",
        "bias user (1 actuator)",
    ),
    "damping of an actuator": (
        dict(actuators='<motor name="n" joint="j" damping="2 1"/>'),
        "polynomial",
        "polynomial damping (1 actuator)",
    ),
    "adhesion": (dict(adhesion=2), "adhesion", "adhesion (1 geom)"),
    "polynomial": (dict(stiffness="1 2 3"), "polynomial", "polynomial stiffness (1 joint)"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_feature_is_left_out_and_said(case):
    parts, word, told = CASES[case]
    text = world(**parts)
    with pytest.raises(ds.UnsupportedModelError):
        ds.Model.from_mjcf(text)
    with pytest.warns(UserWarning) as caught:
        model = ds.Model.from_mjcf(text, drop=(word,))
    assert str(caught[0].message) == f"the model is loaded without: {told}"
    assert caught[0].filename == __file__
    # what is left is the model without it
    plain = ds.Model.from_mjcf(world())
    assert (model.nv, model.ngeom, model.nbody, model.nsensor) == (plain.nv, plain.ngeom, plain.nbody, plain.nsensor)
    with ds.Batch(model, 1, device="cpu") as batch, ds.Batch(plain, 1, device="cpu") as other:
        for sim in (batch, other):
            sim.ctrl[:, 0] = 0.5
            sim.step(20)
        if case != "sleep" and model.nu == plain.nu:
            assert np.array_equal(batch.qpos, other.qpos)


@pytest.mark.parametrize("word", ["noslip", "noslip_iterations"])
def test_noslip_is_not_run_and_that_is_said(word, recwarn):
    """The warning has the figures of a box on a slope, in MuJoCo and here."""
    plain = ds.Model.from_mjcf(world())
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"asks for 3 noslip iterations.*0\.0005 mm/s.*drop='noslip'") as caught:
        model = ds.Model.from_mjcf(world(noslip=3))
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="asks for 3 noslip iterations") as caught:
        ds.Model.from_mujoco(model.mj_model)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning) as caught:
        dropped = ds.Model.from_mjcf(world(noslip=3), drop=word)
    assert [str(c.message) for c in caught] == ["the model is loaded without: noslip (option)"]
    with (
        ds.Batch(model, 1, device="cpu") as asked,
        ds.Batch(dropped, 1, device="cpu") as left_out,
        ds.Batch(plain, 1, device="cpu") as other,
    ):
        for sim in (asked, left_out, other):
            sim.ctrl[:, 0] = 0.5
            sim.step(20)
        assert np.array_equal(asked.qpos, other.qpos) and np.array_equal(left_out.qpos, other.qpos)


SLOPE = """<mujoco><option gravity="3.3552 0 -9.2184" cone="{cone}" impratio="{impratio}" noslip_iterations="{noslip}"/><worldbody>
<geom type="plane" size="5 5 1"/><body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>"""


@pytest.mark.filterwarnings("ignore:the model asks for")
@pytest.mark.parametrize("cone, speed", [("pyramidal", 1.85), ("elliptic", 0.874)])
@pytest.mark.parametrize("impratio", [1, 10, 100])
def test_what_the_warning_says_of_noslip_is_so(cone, speed, impratio):
    """mm/s at which a box creeps down a slope of 20 degrees, here and in MuJoCo."""

    def creep(step, position):
        step(500)
        start = position()
        step(500)
        return 1e3 * (position() - start)

    text = SLOPE.format(cone=cone, impratio=impratio, noslip=3)
    with ds.Batch(ds.Model.from_mjcf(text), 1, device="cpu") as batch:
        mine = creep(batch.step, lambda: float(batch.qpos[0, 0]))
    assert mine == pytest.approx(speed / impratio, rel=0.03)
    for noslip, wanted in ((0, pytest.approx(mine, rel=0.01)), (3, pytest.approx(0, abs=2e-3))):
        m = mujoco.MjModel.from_xml_string(SLOPE.format(cone=cone, impratio=impratio, noslip=noslip))
        d = mujoco.MjData(m)
        assert creep(lambda n, m=m, d=d: mujoco.mj_step(m, d, n), lambda d=d: float(d.qpos[0])) == wanted


def test_trees_at_rest_do_not_sleep_and_that_is_said():
    with pytest.warns(UserWarning, match="asks for trees at rest to sleep.*drop='sleep'") as caught:
        model = ds.Model.from_mjcf(world(sleep="enable"))
    assert caught[0].filename == __file__
    plain, again = ds.Model.from_mjcf(world()), pickle.loads(pickle.dumps(model))
    ends = []
    for one in (plain, model, again):
        with ds.Batch(one, 1, device="cpu") as sim:
            sim.step(200)
            ends.append(sim.qpos.tobytes())
    assert len(set(ends)) == 1


def test_mujocos_side_of_a_comparison_is_awake_too():
    """Its batches refuse trees that sleep, and what sleeps takes no time."""
    text = world(sleep="enable")
    with pytest.warns(UserWarning, match="asks for trees at rest to sleep"):
        model = ds.Model.from_mjcf(text)
    sleeps = int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    assert not _drop.awake(model.mj_model).opt.enableflags & sleeps and model.mj_model.opt.enableflags & sleeps
    if peer.available() is None:
        peer.Peer(model, 2, 1).step(np.zeros((1, 2, model.nu)), 3)


def test_several_at_once():
    text = world(noslip=3, adhesion=1, sensors='<user dim="1" objtype="site" objname="s"/>', actuators=USERS)
    with pytest.warns(
        UserWarning, match=r"noslip \(option\).*adhesion \(1 geom\).*user \(1 actuator\).*user \(1 sensor\)"
    ):
        model = ds.Model.from_mjcf(text, drop=("noslip", "adhesion", "actuator", "sensor"))
    assert model.nu == 1 and model.mj_model.opt.noslip_iterations == 0


def test_what_is_not_named_stays_refused():
    text = world(sleep="enable", policy='sleep="init"', adhesion=1)
    with pytest.raises(ds.UnsupportedModelError) as caught:
        ds.Model.from_mjcf(text, drop="sleep")
    assert [p[0] for p in caught.value.problems] == ["adhesion"]


def test_nothing_to_drop_says_nothing(recwarn):
    model = ds.Model.from_mjcf(world(), drop=("noslip", "sensor", "collision"))
    assert not recwarn.list and model.nv == 2


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="'nosslip'.*'noslip'"):
        ds.Model.from_mjcf(world(), drop=("nosslip",))
    with pytest.raises(TypeError, match="names features"):
        ds.Model.from_mjcf(world(), drop=(3,))


def test_files_and_assets(tmp_path):
    (tmp_path / "part.xml").write_text(world(noslip=2))
    (tmp_path / "whole.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    with pytest.warns(UserWarning, match="whole.xml is loaded without: noslip"):
        ds.Model.from_mjcf(tmp_path / "whole.xml", drop="noslip")
    with pytest.warns(UserWarning, match="the model is loaded without: noslip"):
        ds.Model.from_mjcf(
            '<mujoco><include file="part.xml"/></mujoco>', {"part.xml": world(noslip=2).encode()}, drop="noslip"
        )


def test_colliding_surfaces_are_switched_off():
    """The geom stays where it was and is seen, and touches nothing."""
    mesh = """<asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset><worldbody>
      <geom name="floor" type="plane" size="5 5 1"/>
      <body pos="0 0 1"><freejoint/><geom name="shape" type="sdf" mesh="m"><plugin plugin="mujoco.sdf.torus"/></geom></body></worldbody>"""
    try:
        mujoco.MjModel.from_xml_string(
            f"<mujoco><extension><plugin plugin='mujoco.sdf.torus'/></extension>{mesh}</mujoco>"
        )
    except ValueError:
        pytest.skip("this MuJoCo has no plugins of signed distance fields")
