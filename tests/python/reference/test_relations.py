"""Contradictions between the arrays of an mjModel: every entry of the table, changed, is refused by element."""

import os

import mujoco
import numpy as np
import pytest
from places import ROOT

import dualstep as ds
from dualstep import _core

KINDS: dict[str, set[str]] = {}
for _name, _kind, _ in _core.model_relations():
    KINDS.setdefault(_name, set()).add(_kind)
EXTREMES = (-(2**31), -7, -2, 2**30, 2**31 - 1)

LINKS = """<mujoco><compiler autolimits="true"/><option timestep="0.002"/>
<asset><mesh name="m" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1 .1 .1 .1"/>
<hfield name="h" nrow="2" ncol="3" size="1 1 .5 .1" elevation="0 0 1 0 0 1"/></asset>
<worldbody><geom name="floor" type="plane" size="5 5 .1"/><site name="post" pos="0 0 1"/>
 <geom type="hfield" hfield="h" contype="0" conaffinity="0"/>
 <body name="target" mocap="true"><geom size=".05" contype="0" conaffinity="0"/></body>
 <body name="ball" pos="0 0 .09"><freejoint/><geom name="shell" size=".1"/><site name="spot" size=".2"/></body>
 <body name="arm" pos="1 0 1"><joint name="a" axis="0 1 0" range="-1 1"/><geom name="upper" size=".05" fromto="0 0 0 0 0 .3" type="capsule"/>
  <body name="plate" pos="0 0 .3"><geom type="mesh" mesh="m"/>
   <body name="hand" pos="0 0 .1"><joint name="b" type="ball"/><geom name="fist" size=".05"/><site name="tip"/>
    <body name="finger" pos="0 0 .1"><joint name="c" type="slide" axis="0 0 1"/><geom size=".02"/></body></body></body></body>
 <body name="other" pos="2 0 1"><joint name="d" axis="0 1 0"/><geom size=".05"/></body></worldbody>
<contact><pair geom1="shell" geom2="fist"/><exclude body1="ball" body2="arm"/></contact>
<equality><connect body1="finger" body2="other" anchor="0 0 0"/><weld site1="spot" site2="tip" solref=".5 1"/>
 <joint joint1="a" joint2="d"/><joint joint1="c"/></equality>
<tendon><fixed name="cord"><joint joint="a" coef="1"/><joint joint="d" coef="-1"/></fixed><fixed name="line"><joint joint="c" coef="1"/></fixed>
 <spatial name="rope"><site site="post"/><geom geom="shell" sidesite="tip"/><site site="spot"/><pulley divisor="2"/><site site="tip"/><site site="post"/></spatial></tendon>
<actuator><motor joint="a"/><position joint="b" gear="1 0 0"/><general joint="d" dyntype="filter" dynprm=".1"/><motor joint="c"/>
 <general joint="a" dyntype="integrator"/></actuator>
<sensor><accelerometer site="tip"/><jointpos joint="a"/><ballquat joint="b"/><framepos objtype="site" objname="tip" reftype="body" refname="arm"/>
 <framequat objtype="geom" objname="fist"/><actuatorfrc actuator="2"/><subtreecom body="arm"/><clock/><touch site="spot"/>
 <contact geom1="floor" body2="ball" data="found force" num="2"/></sensor>
<custom><numeric name="n" data="1 2 3"/><text name="t" data="hello"/></custom><keyframe><key name="k"/></keyframe></mujoco>""".replace(
    '<actuatorfrc actuator="2"/>', '<actuatorfrc actuator="m"/>'
).replace('<motor joint="c"/>', '<motor name="m" joint="c"/>')


def raw_of(source):
    def read(of, names):
        return {name: np.array(getattr(of, name)) for name in names if hasattr(of, name)}

    return {
        "sizes": {name: int(getattr(source, name)) for name in _core.model_size_names() if hasattr(source, name)},
        "ints": read(source, _core.model_field_names("I")),
        "reals": read(source, _core.model_field_names("R")),
        "option": read(source.opt, _core.model_option_names()),
        "names": source.names,
        "text": source.text_data,
    }


def sources():
    yield "links", mujoco.MjModel.from_xml_string(LINKS)
    yield "everything", mujoco.MjModel.from_xml_path(str(ROOT / "tests" / "scenes" / "everything.xml"))


def numbers(*kinds):
    return {int(kind) for kind in kinds}


def changed(raw, name, entry, value):
    array = np.array(raw["ints"][name], dtype=np.int64)
    array.reshape(-1)[entry] = value
    return {**raw, "ints": {**raw["ints"], name: np.clip(array, -(2**31), 2**31 - 1).astype(np.int32)}}


def refusal(raw):
    """The elements and arrays that a model is refused for; None where it is taken."""
    try:
        _core.Model(raw)
    except (ds.InvalidModelError, ds.UnsupportedModelError) as error:
        return [(feature, element) for feature, element, _ in error.problems], str(error)
    return None


def mutations(raw, most=10):
    """Every array that the table names, some of its entries, each with a neighbour, another entry and extremes."""
    for name in KINDS:
        # an array's own numbers: a row more in the table changes no other's
        rng = np.random.default_rng([3, *name.encode()])
        array = np.asarray(raw["ints"].get(name, ())).astype(np.int64).reshape(-1)
        entries = range(array.size) if array.size <= most else rng.choice(array.size, most, replace=False)
        for entry in map(int, entries):
            now = int(array[entry])
            values = {now - 1, now + 1, int(rng.choice(array)), *EXTREMES} - {now}
            yield from ((name, entry, value) for value in sorted(values))


def test_every_integer_array_has_a_row():
    assert set(KINDS) == set(_core.model_field_names("I"))
    assert all(kinds <= {"exact", "range", "free"} for kinds in KINDS.values())


EQ, SENSOR, TRN, WRAP = mujoco.mjtEq, mujoco.mjtSensor, mujoco.mjtTrn, mujoco.mjtWrap
ALONE = numbers(TRN.mjTRN_JOINT, TRN.mjTRN_JOINTINPARENT, TRN.mjTRN_TENDON, TRN.mjTRN_BODY)
# what an entry means depends on what it belongs to, and these mean nothing: why, and which entries of an mjModel
UNREAD = {
    "actuator_trnid": (
        "a joint, a tendon and a body have nothing beside them",
        lambda m, i: i % 2 == 1 and m["actuator_trntype"][i // 2] in ALONE,
    ),
    "eq_objtype": (
        "the type of a joint or tendon is that of the equality",
        lambda m, i: m["eq_type"][i] in numbers(EQ.mjEQ_JOINT, EQ.mjEQ_TENDON),
    ),
    "wrap_objid": ("a pulley is no object", lambda m, i: m["wrap_type"][i] in numbers(WRAP.mjWRAP_PULLEY)),
    "sensor_objid": ("a clock is of no object", lambda m, i: m["sensor_type"][i] in numbers(SENSOR.mjSENS_CLOCK)),
    "sensor_intprm": (
        "contact sensors and rangefinders alone have such parameters",
        lambda m, i: m["sensor_type"][i // m["sensor_intprm"].shape[1]]
        not in numbers(SENSOR.mjSENS_CONTACT, SENSOR.mjSENS_RANGEFINDER),
    ),
}
# where a refusal does not name the array that was changed, the array, size or feature that it names
PARTNERS = {
    "body_parentid": ("body_rootid", "dof_parentid"),
    "body_mocapid": ("nmocap",),
    "jnt_type": ("nq",),
    "geom_type": ("geom_dataid", "geom_size", "sdf collision"),
    "eq_type": ("equality number", "eq_obj1id", "eq_obj2id", "eq_objtype"),
    "eq_objtype": ("eq_obj1id",),
    "tendon_num": ("nwrap",),
    "wrap_type": ("wrap_objid",),
    "actuator_trntype": ("transmission number",),
    "actuator_dyntype": ("activation dynamics number", "actuator_actnum"),
    "actuator_gaintype": ("gain number",),
    "actuator_biastype": ("bias number",),
    "actuator_actnum": ("na",),
    "actuator_outnum": ("several outputs",),
    "sensor_type": ("sensor", "sensor_dim", "sensor_objid", "sensor_intprm"),
    "sensor_objtype": ("sensor of", "sensor_objid"),
    "sensor_reftype": ("sensor of",),
    "sensor_refid": ("sensor of",),
    "sensor_dim": ("nsensordata",),
    "mesh_vertnum": ("mesh_face",),
    "mesh_graphadr": ("mesh_graph",),
    "mesh_polynum": ("mesh_polymap",),
    "mesh_polyvertnum": ("mesh_polyvertadr",),
    "mesh_polymapnum": ("mesh_polymapadr",),
    "hfield_nrow": ("hfield_adr",),
    "hfield_ncol": ("hfield_adr",),
    "geom_plugin": ("plugin",),
    "body_plugin": ("plugin",),
    "actuator_plugin": ("plugin",),
}


def partners_named(field, fields):
    """The partners of an array that are, or begin, what a refusal names."""
    return {name for name in PARTNERS.get(field, ()) if any(f"{said} ".startswith(f"{name} ") for said in fields)}


@pytest.mark.parametrize("name, source", list(sources()))
def test_a_changed_entry_is_refused_by_element_or_simulated(name, source):
    raw = raw_of(source)
    assert refusal(raw) is None
    taken, looked, unread, partners = [], set(), set(), set()
    for field, entry, value in mutations(raw):
        looked.add(field)
        found = refusal(changed(raw, field, entry, value))
        if found is None:
            taken.append((field, entry, value))
            # where the other arrays leave one value, no other is taken
            assert "exact" not in KINDS[field], (field, entry, value)
            # nor any that no index is, but where an entry means nothing
            if KINDS[field] == {"range"} and value in EXTREMES:
                _, means_nothing = UNREAD[field]
                assert means_nothing(raw["ints"], entry), (field, entry, value)
                unread.add(field)
            continue
        problems, message = found
        fields = {feature for feature, _ in problems}
        assert len(message) < 12_000 and message.count("\n") < 60
        assert all(element for _, element in problems)
        if field not in fields:
            named = partners_named(field, fields)
            assert named, (field, entry, value, problems[:3])
            partners |= {(field, partner) for partner in named}
    # every array that has entries, and one model has entries of all
    assert looked == {field for field in KINDS if np.size(raw["ints"].get(field, ()))}
    if name == "links":
        assert looked == set(KINDS)
        # what nothing needs leaves the tables
        assert unread == set(UNREAD)
        assert partners == {(field, partner) for field, all_of in PARTNERS.items() for partner in all_of}
    none_crashes(raw, taken)


def test_the_links_are_in_touch():
    model = ds.Model.from_mjcf(LINKS)
    reference, batch = ds.Reference(model), ds.Batch(model, 3, num_threads=1)
    contact = slice(-8, None)  # two slots of found and force
    for _ in range(2):
        reference.step(1)
        batch.step(1)
        for readings in (reference.sensordata[None], batch.sensordata):
            assert (readings[:, contact][:, :2] > [0.5, 1]).all() and (readings[:, -9] > 1).all()


@pytest.mark.parametrize("name", ["cone", "integrator", "disableflags", "enableflags", "disableactuator"])
@pytest.mark.parametrize("value", [-1e300, 1e300, np.nan, 0.5, 2.0**31])
def test_an_option_that_is_no_whole_number_is_refused(name, value):
    raw = raw_of(mujoco.MjModel.from_xml_string("<mujoco/>"))
    problems, message = refusal({**raw, "option": {**raw["option"], name: np.array([value])}})
    assert any(name in feature for feature, _ in problems) and "whole number" in message


def test_a_cone_is_one_of_two():
    raw = raw_of(mujoco.MjModel.from_xml_string("<mujoco/>"))
    assert refusal(raw) is None
    problems, message = refusal({**raw, "option": {**raw["option"], "cone": np.array([7])}})
    assert problems == [("cone", "option")] and "is 7" in message and "from 0 to 1" in message


def none_crashes(raw, taken):
    """Models that are taken run, in a child: a crash there fails the test and says by which of them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for number, (field, entry, value) in enumerate(taken):
                os.write(writing, number.to_bytes(4, "little"))
                model = _core.Model(changed(raw, field, entry, value))
                try:
                    model.check()
                    reference = _core.Reference(model)
                    reference.step(2)
                    options = _core.BatchOptions()
                    options.num_envs, options.num_threads, options.device = 3, 1, "cpu"
                    _core.Batch(model, options).step(2)
                except (ds.UnsupportedModelError, ds.InvalidModelError, ValueError):
                    pass
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    said = b""
    while part := os.read(reading, 1 << 16):
        said += part
    os.close(reading)
    _, status = os.waitpid(child, 0)
    last = taken[int.from_bytes(said[-4:], "little")] if said else None
    assert status == 0, f"status {status} at {last}"


HUMANOID = ROOT / "bench" / "models" / "humanoid.xml"


@pytest.mark.parametrize(
    "field, entry, value, element",
    [
        ("actuator_actadr", 1, 5, "actuator 'm0'"),
        ("eq_objtype", 0, 50, "equality 0 of body 'finger'"),
        ("sensor_refid", 0, 2**31 - 1, "sensor 0"),
        ("body_weldid", 3, 1, "body 'arm'"),
        ("dof_parentid", 8, 1, "dof 8 of joint 'b'"),
        ("wrap_objid", 0, 77, "wrap 0"),
        ("sensor_dim", 0, 1, "sensor 0"),
    ],
)
def test_contradictions_have_the_element_and_what_is_wanted(field, entry, value, element):
    source = mujoco.MjModel.from_xml_string(LINKS.replace('<position joint="b"', '<position name="m0" joint="b"'))
    getattr(source, field).reshape(-1)[entry] = value
    with pytest.raises(ds.InvalidModelError, match=rf"{field}.*must be") as caught:
        ds.Model.from_mujoco(source)
    assert (field, element) in {(feature, of) for feature, of, _ in caught.value.problems}


def test_sizes_that_no_array_bears_out():
    raw = raw_of(mujoco.MjModel.from_xml_string(LINKS))
    grown = {**raw, "sizes": {**raw["sizes"], "nq": raw["sizes"]["nq"] + 1}, "reals": dict(raw["reals"])}
    for name in ("qpos0", "qpos_spring"):
        grown["reals"][name] = np.append(raw["reals"][name], 0.0)
    grown["reals"]["key_qpos"] = np.append(raw["reals"]["key_qpos"], 0.0)
    problems, message = refusal(grown)
    assert ("nq", "size") in problems and "must be 14" in message


def test_arrays_that_are_missing_or_narrow():
    raw = raw_of(mujoco.MjModel.from_xml_string(LINKS))
    without = {**raw, "reals": {name: array for name, array in raw["reals"].items() if name != "eq_data"}}
    assert ("eq_data", "array") in refusal(without)[0]
    narrow = {**raw, "reals": {**raw["reals"], "eq_data": raw["reals"]["eq_data"][:, :3]}}
    assert ("eq_data", "array") in refusal(narrow)[0]


def test_a_batch_and_a_reference_refuse_the_same_steps():
    model = ds.Model.from_mjcf(LINKS)
    model.opt.contact_model, model.opt.stiffness = "compliant", 1e9
    said = []
    for make in (lambda: ds.Batch(model, 2, num_threads=1), lambda: ds.Reference(model)):
        with pytest.raises(ds.UnsupportedModelError, match="needs steps below") as caught:
            make()
        said.append(str(caught.value))
    assert said[0] == said[1]
    with pytest.raises(ValueError, match="timestep"):
        model.opt.timestep = 1e-300


def test_a_time_that_is_no_number_is_flagged():
    model = ds.Model.from_mjcf(HUMANOID)
    for value in (np.nan, np.inf):
        batch = ds.Batch(model, 9, num_threads=1)
        batch.time[4] = value
        batch.step(3)
        assert [int(s) & 1 for s in batch.status] == [0, 0, 0, 0, 1, 0, 0, 0, 0]
        batch.reset(np.arange(9) == 4)
        assert batch.status[4] == 0 and batch.time[4] == 0
