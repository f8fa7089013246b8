"""Loading: the models that must load do, what is not simulated is refused by name, bad values are found."""

import copy
import pathlib
import re
import warnings

import gymnasium
import mujoco
import numpy as np
import pytest
from places import ROOT

import dualstep as ds
from dualstep import _core

GYM = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
BENCH = ROOT / "bench" / "models"
GYM_MODELS = (
    "ant half_cheetah hopper humanoid humanoidstandup inverted_pendulum inverted_double_pendulum pusher_v5 "
    "reacher swimmer walker2d_v5"
).split()
FILES = [GYM / f"{name}.xml" for name in GYM_MODELS] + [BENCH / "humanoid.xml", BENCH / "three_humanoids.xml"]

ARM = """
<mujoco>
  {head}
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" {floor}/>
    <body name="arm">
      <joint name="knee" type="hinge" axis="0 1 0" {joint}/>
      <geom name="link" type="capsule" size=".05" fromto="0 0 0 0 0 1" {geom}/>
      <site name="tip"/>
      {body}
      <body name="hand" pos="0 0 1">
        <joint name="wrist" type="{wrist}" {wristjoint}/>
        <geom name="palm" {palm}/>
      </body>
    </body>
  </worldbody>
  {tail}
</mujoco>
"""


def arm(**parts):
    slots = dict(head="", floor="", joint="", geom="", body="", wrist="hinge", wristjoint="", tail="")
    slots["palm"] = 'type="sphere" size=".1"'
    return ARM.format(**{**slots, **parts})


def problems(xml, error=ds.UnsupportedModelError):
    with pytest.raises(error) as caught:
        ds.Model.from_mjcf(xml)
    return caught.value.problems


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_models_load_with_every_field(path):
    model = ds.Model.from_mjcf(path)
    source = model.mj_model
    for size in ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsensor"):
        assert getattr(model, size) == getattr(source, size)
    for name in _core.model_field_names("I") + _core.model_field_names("R"):
        mine, theirs = getattr(model, name), np.asarray(getattr(source, name))
        assert np.array_equal(mine.reshape(-1), theirs.reshape(-1)), name
    assert model.opt.timestep == source.opt.timestep
    np.testing.assert_array_equal(model.opt.gravity, source.opt.gravity)


def test_every_field_exists_in_mujoco():
    source = mujoco.MjModel.from_xml_string(arm())
    missing = [n for k in "IR" for n in _core.model_field_names(k) if not hasattr(source, n)]
    assert not missing
    assert not [n for n in _core.model_size_names() if not hasattr(source, n)]
    assert not [n for n in _core.model_option_names() if not hasattr(source.opt, n)]


def test_an_older_mujoco_gets_fallbacks():
    class Older:
        def __init__(self, source, missing):
            self._source, self._missing = source, missing

        def __getattr__(self, name):
            if name in self._missing:
                raise AttributeError(name)
            return getattr(self._source, name)

    source = mujoco.MjModel.from_xml_string(arm())
    model = ds.Model.from_mujoco(Older(source, {"nactuator", "geom_adhesion", "geom_plugin", "dof_dampingpoly"}))
    assert model.geom_adhesion.tolist() == [0] * 3
    assert model.geom_plugin.tolist() == [-1] * 3


HULL = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 1"/>
<hfield name="h" nrow="2" ncol="3" size="1 1 .5 .1" elevation="0 0 1 0 0 1"/></asset>
<worldbody><geom type="hfield" hfield="h" contype="0" conaffinity="0"/>
<geom type="mesh" mesh="m" contype="0" conaffinity="0"/></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "name, entry, value",
    [("geom_dataid", 1, 1), ("geom_dataid", 0, -1), ("mesh_vertadr", 0, 1), ("mesh_graphadr", 0, 1000), ("mesh_graph", 0, 50),
     ("mesh_graph", 3, 900), ("mesh_graph", 8, 5), ("mesh_graph", -1, -1), ("mesh_polynum", 0, 99), ("mesh_polyvertnum", 2, 99),
     ("mesh_polyvert", 1, 5), ("mesh_polymapadr", 4, 99), ("mesh_polymap", 0, 7), ("hfield_nrow", 0, 1), ("hfield_ncol", 0, 4),
     ("hfield_adr", 0, 1)],
)  # fmt: skip
def test_addresses_of_meshes_and_height_fields_are_checked(name, entry, value):
    class Changed:
        def __getattr__(self, field):
            return array if field == name else getattr(source, field)

    source = mujoco.MjModel.from_xml_string(HULL)
    array = getattr(source, name).copy()
    ds.Model.from_mujoco(Changed())
    array[entry] = value
    # a span is named by its address
    with pytest.raises(ds.InvalidModelError, match=re.sub("num$|ncol$", "adr", name)):
        ds.Model.from_mujoco(Changed())


def test_names_and_sources():
    model = ds.Model.from_mjcf(arm())
    assert model.id_of("geom", "palm") == 2
    assert model.id_of("geom", "nothing") == -1
    assert model.name_of("joint", 1) == "wrist"
    with pytest.raises(ValueError, match="kind of element 'leg'"):
        model.id_of("leg", "x")
    again = ds.Model.from_mujoco(model.mj_model)
    np.testing.assert_array_equal(again.body_mass, model.body_mass)
    with pytest.raises(TypeError, match="int"):
        ds.Model.from_mujoco(3)


def test_arrays_are_read_only_and_outlive_the_model():
    mass = ds.Model.from_mjcf(arm()).body_mass
    with pytest.raises(ValueError):
        mass[1] = 3
    assert mass[1] > 0
    with pytest.raises(AttributeError, match="body_mas"):
        ds.Model.from_mjcf(arm()).body_mas


def test_urdf():
    model = ds.Model.from_mjcf(
        """<robot name="r"><link name="base"/><link name="rod"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    assert model.nv == 1 and model.id_of("joint", "j") == 0


def test_malformed_files(tmp_path):
    with pytest.raises(ds.InvalidModelError, match="(?s)sise.*line 3"):
        ds.Model.from_mjcf('<mujoco>\n<worldbody>\n<geom sise="1"/>\n</worldbody></mujoco>')
    with pytest.raises(FileNotFoundError, match="nowhere.xml"):
        ds.Model.from_mjcf(tmp_path / "nowhere.xml")
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco>\n<worldbody>\n</mujoco>")
    with pytest.raises(ds.InvalidModelError, match="(?s)broken.xml.*[Ll]ine"):
        ds.Model.from_mjcf(broken)


MESH = '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
HFIELD = '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
JOINTS = '<fixed name="cord"><joint joint="knee" coef="1"/></fixed>'


def tendon(attributes="", after=""):
    fixed = JOINTS.replace('name="cord"', f'name="cord" {attributes}')
    return {"tail": f"<tendon>{fixed}</tendon>{after}"}


def actuator(text):
    return {"tail": f"<actuator>{text}</actuator>"}


ASLEEP = '<worldbody><body pos="9 9 9" sleep="init"><freejoint/><geom size=".1"/></body></worldbody>'

REFUSED = {
    "flag diagexact": (dict(head='<option><flag diagexact="enable"/></option>'), "flag diagexact", "option"),
    "sleep": (dict(head='<option><flag sleep="enable"/></option>', tail=ASLEEP), "flag sleep", "option"),
    "adhesion geom": (dict(geom='adhesion="1"'), "adhesion", "geom 'link'"),
    "fluid ellipsoid": (
        dict(head='<option density="1" integrator="discrete"/>', geom='fluidshape="ellipsoid"'),
        "ellipsoid fluid model under discrete",
        "geom 'link'",
    ),
    "tendon stiffness": (tendon('stiffness="3 1"'), "polynomial stiffness", "tendon 'cord'"),
    "tendon damping": (tendon('damping="3 1"'), "polynomial damping", "tendon 'cord'"),
    "tendon that yields": (tendon('stiffness="3" springyield="1"'), "spring yield", "tendon 'cord'"),
    "adhesion by velocity": (
        actuator('<general name="a" body="hand" biastype="affine" biasprm="0 0 -1"/>'),
        "adhesion by velocity",
        "actuator 'a'",
    ),
    "users' biases": (actuator('<general name="a" joint="knee" biastype="user"/>'), "bias user", "actuator 'a'"),
    "actuator damping": (actuator('<motor name="a" joint="knee" damping="1 2"/>'), "polynomial damping", "actuator 'a'"),
    "sensor delay": (
        dict(tail='<sensor><rangefinder name="s" site="tip" delay=".1" nsample="2"/></sensor>'),
        "sensor delay",
        "sensor 's'",
    ),
    "polynomial damping": (dict(joint='damping="1 2 3"'), "polynomial damping", "joint 'knee'"),
    "polynomial stiffness": (dict(joint='stiffness="1 2 3"'), "polynomial stiffness", "joint 'knee'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case):
    parts, feature, element = REFUSED[case]
    found = problems(arm(**parts))
    assert (feature, element) in [p[:2] for p in found], found
    assert all(p[2] for p in found)


def test_actuators_of_plugins_are_refused_as_such():
    """Theirs may have activations without dynamics, which is no contradiction."""
    xml = """<mujoco><extension><plugin plugin="mujoco.pid"><instance name="p"><config key="ki" value="1"/>
      <config key="slewmax" value="1"/></instance></plugin></extension>
      <worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
      <actuator><plugin name="a" joint="j" plugin="mujoco.pid" instance="p" actdim="2"/></actuator></mujoco>"""
    try:
        m = mujoco.MjModel.from_xml_string(xml)
    except ValueError:
        pytest.skip("this MuJoCo has no plugin mujoco.pid")
    assert m.actuator_actnum[0] == 2
    assert ("plugin", "actuator 'a'") in [p[:2] for p in problems(xml)]


def test_all_refusals_at_once():
    xml = arm(
        head='<option><flag sleep="enable" diagexact="enable"/></option>',
        tail=ASLEEP + '<worldbody><geom size="1" adhesion="1"/></worldbody><actuator><general name="a" joint="knee" biastype="user"/><motor name="b" joint="knee" damping="1 2"/></actuator>',
    )
    found = problems(xml)
    assert [p[0] for p in found] == [
        "flag sleep", "flag diagexact", "adhesion", "bias user", "polynomial damping",
    ]  # fmt: skip
    with pytest.raises(ds.UnsupportedModelError, match="(?s)5 things.*geom 'palm'.*actuator 'b'"):
        ds.Model.from_mjcf(xml)


def test_many_refusals_are_told_on_a_page():
    """Grouped by what they have in common, three examples each; the error holds all of them."""
    hills = "".join(f'<geom name="hill{i}" size="1" adhesion="1"/>' for i in range(50))
    motors = "".join(f'<general name="m{i}" joint="knee" biastype="user"/>' for i in range(30))
    sensors = '<rangefinder site="tip" delay=".1" nsample="2"/>' * 4
    xml = arm(tail=f"<worldbody>{hills}</worldbody><actuator>{motors}</actuator><sensor>{sensors}</sensor>")
    found = problems(xml)
    assert len(found) == 84
    with pytest.raises(ds.UnsupportedModelError) as caught:
        ds.Model.from_mjcf(xml)
    text = str(caught.value)
    assert len(text.splitlines()) < 40
    assert "84 things" in text and "adhesion, 50 times: contacts only push here" in text and "and 27 more" in text
    assert (
        text.count("hill") == 3
        and "bias user, 30 times" in text
        and "sensor delay, 4 times" in text
    )
    # all partners of a collision
    assert "it can touch geom 'link' and geom 'palm'" in text
    assert all("geom 'link' and geom 'palm'" in p[2] for p in found if p[0] == "adhesion")


ACCEPTED = {
    "height field": dict(head=HFIELD, tail='<worldbody><geom type="hfield" hfield="h"/></worldbody>'),
    "mesh": dict(head=MESH, palm='type="mesh" mesh="m"'),
    "ellipsoid": dict(palm='type="ellipsoid" size=".1 .2 .3"'),
    "visual mesh": dict(head=MESH, palm='type="mesh" mesh="m" contype="0" conaffinity="0"'),
    "excluded mesh": dict(
        head=MESH,
        palm='type="mesh" mesh="m" contype="2" conaffinity="1"',
        floor='contype="2" conaffinity="2"',
        tail='<contact><exclude body1="hand" body2="world"/></contact>',
    ),
    "contacts off": dict(head='<option><flag contact="disable"/></option>' + MESH, palm='type="mesh" mesh="m"'),
    "inert tendon": tendon(),
    "tendon": tendon(
        'limited="true" range="0 1" stiffness="3" damping="2" frictionloss="3" armature="1"',
        """<actuator><motor tendon="cord"/></actuator><sensor><tendonpos tendon="cord"/></sensor>
        <equality><tendon tendon1="cord"/></equality>""",
    ),
    "fluid ellipsoid": dict(head='<option density="1"/>', geom='fluidshape="ellipsoid"'),
    "ellipsoid fluid without a medium": dict(head='<option integrator="discrete"/>', geom='fluidshape="ellipsoid"'),
    "equalities": dict(
        tail="""<equality><joint joint1="knee" joint2="wrist"/><weld body1="hand"/>
                <connect body1="hand" anchor="0 0 0"/></equality>"""
    ),
    "inactive equality": tendon(after='<equality><tendon tendon1="cord" active="false"/></equality>'),
    "actuators": actuator(
        """<motor joint="knee"/><position joint="knee" kp="3"/><velocity joint="knee"/><damper joint="knee"
        ctrlrange="0 1"/><intvelocity joint="knee" actrange="-1 1"/><cylinder joint="knee"/>
        <general jointinparent="knee" dyntype="filterexact" dynprm=".1"/><position joint="knee" timeconst=".1"/>
        <muscle joint="knee" lengthrange="0 1"/><general site="tip"/><motor site="tip" refsite="tip"/>
        <general cranksite="tip" slidersite="tip" cranklength="1"/>"""
    ),
    "other solvers": dict(head='<option solver="PGS" iterations="50" tolerance="1e-4"/>'),
    "ball": dict(wrist="ball"),
    "sensors": dict(
        tail='<sensor><gyro site="tip"/><jointpos joint="knee"/><framepos objtype="body" objname="hand"/></sensor>'
    ),
    "keyframes, mocap": dict(
        body="", tail='<keyframe><key qpos="0 1"/></keyframe><worldbody><body mocap="true"/></worldbody>'
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted(case):
    ds.Model.from_mjcf(arm(**ACCEPTED[case]))


INVALID = {
    "timestep zero": (dict(head='<option timestep="0"/>'), "timestep", "option"),
    "timestep negative": (dict(head='<option timestep="-1"/>'), "timestep", "option"),
    "timestep nan": (dict(head='<option timestep="nan"/>'), "timestep", "option"),
    "gravity nan": (dict(head='<option gravity="0 0 nan"/>'), "gravity", "option"),
    "iterations": (dict(head='<option iterations="-1"/>'), "iterations", "option"),
    "friction": (dict(geom='friction="-1 0 0"'), "geom_friction", "geom 'link'"),
    "friction nan": (dict(geom='friction="nan 0 0"'), "geom_friction", "geom 'link'"),
    "solref nan": (dict(geom='solref="nan 1"'), "geom_solref", "geom 'link'"),
    "far away": (dict(body='<site name="far" pos="1e300 0 0"/>'), "site_pos", "site 'far'"),
    "heavy": (dict(geom='mass="1e300"'), "body_mass", "body 'arm'"),
    "damping": (dict(joint='damping="-1"'), "dof_damping", "joint 'knee'"),
    "friction loss": (dict(joint='frictionloss="-1"'), "dof_frictionloss", "joint 'knee'"),
    "unknown option": (
        dict(head='<custom><numeric name="dualstep_contact_modle" data="1"/></custom>'),
        "custom field",
        "dualstep_contact_modle",
    ),
    "bad option": (
        dict(head='<custom><text name="dualstep_contact_model" data="soft"/></custom>'),
        "custom field",
        "dualstep_contact_model",
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_values_by_name(case):
    parts, field, element = INVALID[case]
    found = problems(arm(**parts), ds.InvalidModelError)
    assert (field, element) in [p[:2] for p in found], found


@pytest.mark.parametrize(
    "field, row, value, element",
    [
        ("body_mass", 1, -1.0, "body 'arm'"),
        ("body_inertia", 2, np.nan, "body 'hand'"),
        ("geom_size", 2, 0.0, "geom 'palm'"),
        ("geom_condim", 2, 2, "geom 'palm'"),
        ("jnt_axis", 0, 0.0, "joint 'knee'"),
        ("jnt_axis", 1, 2.0, "joint 'wrist'"),
        ("body_quat", 1, 0.0, "body 'arm'"),
        ("jnt_bodyid", 0, 77, "joint 'knee'"),
        ("body_parentid", 1, 2, "body 'arm'"),
        ("qpos0", 1, np.inf, "joint 'wrist'"),
    ],
)
def test_invalid_arrays_by_name(field, row, value, element):
    source = mujoco.MjModel.from_xml_string(arm())
    getattr(source, field)[row] = value
    with pytest.raises(ds.InvalidModelError, match=element) as caught:
        ds.Model.from_mujoco(source)
    assert element in [p[1] for p in caught.value.problems]


def test_all_invalid_values_at_once():
    found = problems(
        arm(head='<option timestep="0"/>', geom='friction="-1"', joint='damping="-2"'), ds.InvalidModelError
    )
    assert sorted(p[0] for p in found) == ["dof_damping", "geom_friction", "timestep"]


def test_unnamed_elements_are_found():
    xml = '<mujoco><worldbody><body name="b"><freejoint/><geom size="1" friction="-1"/></body></worldbody></mujoco>'
    assert problems(xml, ds.InvalidModelError)[0][1] == "geom 0 of body 'b'"


def test_options():
    opt = ds.Model.from_mjcf(arm(head='<option cone="elliptic" integrator="RK4" timestep="0.01"/>')).opt
    assert (opt.cone, opt.integrator, opt.timestep) == ("elliptic", "rk4", 0.01)
    assert (opt.solver, opt.contact_model, opt.contact_parameters) == ("pgs_newton", "todorov", "mujoco")
    assert opt.equality_alpha is None and opt.desaxce is False
    opt.contact_model = "stewart_trinkle"
    opt.equality_alpha = 0
    opt.integrator = "variational"
    opt.iterations = np.int64(7)
    opt.timestep = np.float32(0.5)
    assert (opt.contact_model, opt.equality_alpha, opt.integrator, opt.iterations) == (
        "stewart_trinkle", 0, "variational", 7,
    )  # fmt: skip
    opt.gravity[2] = -1
    assert opt.gravity.tolist() == [0, 0, -1]
    opt.gravity = [1, 2, 3]
    assert opt.gravity.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("timestep", 0, "'timestep' is given 0; it takes a finite number from 1e-09 to 1000"),
        ("timestep", float("nan"), "finite"),
        ("timestep", "fast", "'fast'"),
        ("contact_model", "soft", "'soft'; it takes one of 'todorov', 'anitescu'"),
        ("gravity", [0, 1], r"\[0, 1\]; it takes 3 finite numbers"),
        ("friction_directions", 3, "even"),
        ("iterations", 1.5, "an integer"),
        ("desaxce", 3, "True or False"),
        ("restitution", 1.5, "from 0 to 1"),
        ("equality_alpha", -1, "or None"),
    ],
)
def test_bad_options_say_what_is_allowed(name, value, message):
    opt = ds.Model.from_mjcf(arm()).opt
    before = repr(opt)
    with pytest.raises(ValueError, match=message):
        setattr(opt, name, value)
    assert repr(opt) == before


def test_numbers_that_may_be_zero_and_numbers_that_may_not():
    opt = ds.Model.from_mjcf(arm()).opt
    for name in ("restitution", "stiffness", "damping", "dynamic_friction_ratio", "tangent_stiffness", "tangent_damping"):
        setattr(opt, name, 0.0)
        assert getattr(opt, name) == 0
    for name in ("exponent", "stiction_speed"):
        with pytest.raises(ValueError, match=name):
            setattr(opt, name, 0.0)


def test_unknown_options_are_no_attributes():
    opt = ds.Model.from_mjcf(arm()).opt
    with pytest.raises(AttributeError):
        opt.timstep = 1


def test_options_from_the_file():
    opt = ds.Model.from_mjcf(
        arm(
            head="""<custom><text name="dualstep_contact_model" data="anitescu"/>
            <numeric name="dualstep_restitution" data="0.25"/><numeric name="dualstep_desaxce" data="1"/>
            <numeric name="dualstep_integrator" data="100"/><text name="dualstep_equality_alpha" data="none"/>
            <numeric name="dualstep_gravity" data="0 0 1"/><numeric name="other" data="nan"/></custom>"""
        )
    ).opt
    assert (opt.contact_model, opt.restitution, opt.desaxce) == ("anitescu", 0.25, True)
    assert (opt.integrator, opt.equality_alpha, opt.gravity.tolist()) == ("variational", None, [0, 0, 1])


def test_the_old_word_of_an_option_warns_and_works():
    opt = ds.Model.from_mjcf(arm()).opt
    with pytest.warns(DeprecationWarning, match="contact_parameters = 'seed' is deprecated: use 'spring_damper'"):
        opt.contact_parameters = "seed"
    assert opt.contact_parameters == "spring_damper"
    custom = '<custom><text name="dualstep_contact_parameters" data="{}"/></custom>'
    with pytest.warns(DeprecationWarning, match="dualstep_contact_parameters = 'seed' is deprecated: use 'spring_damper'"):
        assert ds.Model.from_mjcf(arm(head=custom.format("seed"))).opt.contact_parameters == "spring_damper"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.Model.from_mjcf(arm(head=custom.format("spring_damper")))


def test_every_option_can_stand_in_the_file():
    plain = ds.Model.from_mjcf(arm()).opt
    names = [name for name in dir(plain) if not name.startswith("_") and not callable(getattr(plain, name))]
    assert {"contact_model", "scheme", "stiffness", "contact_margin", "equality_alpha"} <= set(names)
    fields, words = [], dict(contact_model="compliant", scheme="event_driven", integrator="implicitfast", cone="elliptic",
                             solver="pgs", contact_parameters="spring_damper", compliant_law="hunt_crossley",
                             friction_law="piecewise", desaxce="true")  # fmt: skip
    wanted = {name: True if word == "true" else word for name, word in words.items()}
    for name in names:
        if name in words:
            fields.append(f'<text name="dualstep_{name}" data="{words[name]}"/>')
            continue
        now = getattr(plain, name)
        value = np.asarray(4.0 if now is None else now, dtype=float)
        # a value that is allowed, and not the default
        wanted[name] = value + 2 if name == "friction_directions" else value / 2 if name in ("timestep",) else value
        wanted[name] = np.asarray(0.5) if name == "restitution" else wanted[name]
        text = " ".join(map(repr, np.ravel(wanted[name]).tolist()))
        fields.append(f'<numeric name="dualstep_{name}" data="{text}"/>')
    opt = ds.Model.from_mjcf(arm(head="<custom>" + "".join(fields) + "</custom>")).opt
    for name, value in wanted.items():
        found = getattr(opt, name)
        assert found == value if isinstance(value, (str, bool)) else np.allclose(found, value), name


@pytest.mark.parametrize(
    "element, told",
    [('numeric name="dualstep_stifness" data="1"', "did you mean 'dualstep_stiffness'"),
     ('text name="dualstep_restitution_pair" data="a b 1"', "did you mean 'dualstep_restitution_pairs'"),
     ('numeric name="dualstep_prescrib_knee" data="1"', "did you mean 'dualstep_prescribe_<joint>'"),
     ('numeric name="dualstep_quite_another_thing" data="1"', "is no field of dualstep$"),
     ('numeric name="dualstep_stiffness" data="-1"', "is given -1; it takes a finite number, at least 0"),
     ('numeric name="dualstep_stiffness" data="1 2"', "is given"),
     ('numeric name="dualstep_prescribe_knee" data="1 2 3 4 5"', "offset, amplitude, frequency and phase"),
     ('text name="dualstep_stiffness" data="1e4"', "numbers stand in <numeric>"),
     ('text name="dualstep_desaxce" data="maybe"', "True or False"),
     ('text name="dualstep_stiffness" data="none"', "is given None"),
     ('numeric name="dualstep_friction_directions" data="5"', "even")],
)  # fmt: skip
def test_bad_custom_fields_are_refused_by_name(element, told):
    ((field, name, reason),) = problems(arm(head=f"<custom><{element}/></custom>"), ds.InvalidModelError)
    assert field == "custom field" and name == element.split('"')[1] and re.search(told, reason), reason


def test_check_sees_changed_options():
    model = ds.Model.from_mjcf(
        arm(head='<option><flag contact="disable"/></option>',
            tail='<worldbody><geom size="1" adhesion="1"/></worldbody>')
    )  # fmt: skip
    model.check()
    model.opt.disableflags = 0
    with pytest.raises(ds.UnsupportedModelError, match="adhesion"):
        model.check()
    model.opt.disableflags = 1 << 4
    model.opt.gravity[0] = np.nan
    with pytest.raises(ds.InvalidModelError, match="gravity"):
        model.check()


def test_restitution():
    model = ds.Model.from_mjcf(arm())
    model.set_restitution("palm", "floor", 0.5)
    with pytest.raises(ValueError, match="'nose'"):
        model.set_restitution("nose", "floor", 0.5)
    with pytest.raises(ValueError, match="geoms 0 to 2"):
        model.set_restitution(0, 9, 0.5)
    with pytest.raises(ValueError, match="from 0 to 1"):
        model.set_restitution(0, 1, 2)


def test_a_batch_refuses_what_only_the_reference_simulates():
    for field, value in dict(scheme="event_driven", integrator="variational").items():
        other = ds.Model.from_mjcf("<mujoco/>")
        setattr(other.opt, field, value)
        with pytest.raises(ds.UnsupportedModelError, match=field):
            ds.Batch(other, 1)


def test_names_that_cannot_be_set():
    model = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>")
    with pytest.raises(AttributeError, match="'geom_friction' is read-only: Batch.set_parameter"):
        model.geom_friction = model.geom_friction * 2
    with pytest.raises(AttributeError, match="a model has no 'geom_fricton' to set"):
        model.geom_fricton = 1
    with ds.Batch(model, 1) as sim:
        with pytest.raises(AttributeError, match="a Batch has no 'crtl' to set; 'ctrl' is near"):
            sim.crtl = 0
    other = copy.deepcopy(model)
    other.opt.timestep = 0.5
    assert model.opt.timestep != 0.5 and copy.copy(other).opt.timestep == 0.5


def test_sensors_of_nothing_are_refused():
    text = (
        "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='1'/></body></worldbody>"
        "<sensor><jointpos joint='j'/><framepos objtype='body' objname='b'/></sensor></mujoco>"
    )
    for field, sensor, value in [("sensor_objid", 0, 10**7), ("sensor_objid", 1, -5), ("sensor_objtype", 1, 77)]:
        source = mujoco.MjModel.from_xml_string(text)
        getattr(source, field)[sensor] = value
        with pytest.raises(
            ds.InvalidModelError if field == "sensor_objid" else ds.UnsupportedModelError, match="sensor"
        ):
            ds.Model.from_mujoco(source)
