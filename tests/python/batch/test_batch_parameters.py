"""Per-environment model parameters: an environment with its own behaves as one of a model made with them."""

import mujoco
import numpy as np
import pytest
from batch_models import GYM, OUTPUTS, SMALL, STATE, assert_same, everything, same_bits, shake, small

import dualstep as ds

N = 19


def changed_model(name, value):
    """A model compiled with this value of the parameter from the start."""
    source = mujoco.MjModel.from_xml_string(SMALL)
    if name == "opt_gravity":
        source.opt.gravity[:] = value
    else:
        getattr(source, name)[...] = np.asarray(value).reshape(getattr(source, name).shape)
    mujoco.mj_setConst(source, mujoco.MjData(source))
    return ds.Model.from_mujoco(source)


VALUES = {
    "opt_gravity": lambda v: np.array([0.5, 0, -4]),
    "body_mass": lambda v: v * 1.5,
    "body_inertia": lambda v: v * 1.7,
    "body_ipos": lambda v: v + 0.01 * (np.arange(len(v)) > 2)[:, None],
    "body_gravcomp": lambda v: v,
    "jnt_stiffness": lambda v: v * 3,
    "jnt_range": lambda v: v + 1.2 * (np.arange(len(v)) > 0)[:, None],
    "dof_damping": lambda v: v * 4,
    "dof_armature": lambda v: v + 0.05,
    "dof_frictionloss": lambda v: v * 5,
    "geom_friction": lambda v: v * 0.2,
    "geom_size": lambda v: v * np.array([[1, 1, 1], [1.2, 1, 1], [1, 1, 1], [1, 1, 1]]),
    "geom_solref": lambda v: v * 2,
    "geom_solimp": lambda v: v * np.array([0.9, 1, 1, 1, 1]),
    "geom_margin": lambda v: v + 0.02,
    "actuator_gainprm": lambda v: v * 0.5,
    "actuator_gear": lambda v: v * 0.5,
    "actuator_dynprm": lambda v: v * 2,
    "qpos_spring": lambda v: v + np.where(np.arange(v.size) > 6, 0.3, 0),
    "site_pos": lambda v: v * 0.5,
}


def value_of(name):
    base = small().opt.gravity if name == "opt_gravity" else getattr(small(), name)
    return VALUES[name](np.array(base))


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-9), ("float32", 2e-4)])
def test_it_is_as_if_the_model_had_been_made_so(name, dtype, tolerance):
    value = value_of(name)
    sim, plain = ds.Batch(small(), N, dtype=dtype), ds.Batch(small(), N, dtype=dtype)
    other = ds.Batch(changed_model(name, value), N, dtype=dtype)
    rng = np.random.default_rng(1)
    shake(sim, rng)
    sim.qpos[:, 2] = 0.099
    sim.act[...] = 0.4
    for twin in (plain, other):
        for field in STATE:
            getattr(twin, field)[...] = getattr(sim, field)
    chosen = np.array([0, 5, 18])
    sim.set_parameter(name, value, chosen)
    for s in (sim, plain, other):
        s.forward()
        for array in OUTPUTS:
            getattr(s, array)
        s.step(2)
    a, b, c = everything(sim), everything(other), everything(plain)
    rest = ~np.isin(np.arange(N), chosen)
    assert_same(a, c, rest, rest)
    for field in [*STATE, *OUTPUTS]:
        mine, theirs = a[field][chosen], b[field][chosen]
        scale = max(1.0, np.abs(theirs).max(initial=0))
        np.testing.assert_allclose(mine, theirs, atol=tolerance * scale, err_msg=field)
    if name != "body_gravcomp":
        seen = [f for f in [*STATE, *OUTPUTS] if not same_bits(a[f][chosen], c[f][chosen])]
        assert seen, "the parameter changed nothing"


def test_every_parameter_reaches_the_kernels_or_the_start():
    # on a model with one of everything, each name changes a table or where environments begin
    start = {"key_time", "key_qpos", "key_qvel", "key_act", "key_ctrl", "key_mpos", "key_mquat"}
    reached = set()
    for name in ds._core.parameter_names():
        sim = ds.Batch(small(), 2, dtype="float64")
        values = sim.get_parameter(name)
        if values.size == 0 or name in start:
            continue
        if name.endswith("quat"):
            values[1] = values[1] * -1
        else:
            values[1] = values[1] * 1.01 if values[1].any() else values[1] + 1e-3
        try:
            sim.set_parameter(name, values[1], [1])
        except ValueError:
            continue
        if sim._core.own_tables():
            reached.add(name)
    for name in [*VALUES, "body_pos", "body_quat", "geom_pos", "jnt_pos", "qpos0", "jnt_solref", "dof_solref"]:
        if name not in ("body_gravcomp",):
            assert name in reached, name


def test_single_values_and_reading():
    sim = ds.Batch(small(), N)
    base = sim.model.geom_friction
    np.testing.assert_array_equal(sim.get_parameter("geom_friction"), np.tile(base, (N, 1, 1)))
    sim.set_parameter("geom_friction", base * 0.5, envs=3)
    each = np.linspace(1, 2, 2)[:, None, None] * base
    sim.set_parameter("geom_friction", each, [7, 5])
    got = sim.get_parameter("geom_friction", [3, 7, 5, 0])
    np.testing.assert_array_equal(got, [base * 0.5, each[0], each[1], base])
    assert sim.get_parameter("opt_gravity").shape == (N, 3) and got.dtype == np.float64
    mask = np.arange(N) == 3
    sim.set_parameter("dof_damping", np.float32(sim.model.dof_damping) * 2, mask)
    np.testing.assert_allclose(sim.get_parameter("dof_damping", mask), [sim.model.dof_damping * 2], rtol=1e-6)
    np.testing.assert_array_equal(sim.get_parameter("geom_friction", 3), [base * 0.5])


def test_giving_back_the_models_values_undoes_it():
    sim, plain = ds.Batch(small(), N), ds.Batch(small(), N)
    sim.set_parameter("body_mass", sim.model.body_mass * 2)
    sim.step()
    sim.reset()
    sim.set_parameter("body_mass", sim.model.body_mass)
    for s in (sim, plain):
        s.step(4)
    assert_same(everything(sim), everything(plain))


def test_outputs_follow_at_once():
    sim = ds.Batch(small(), N)
    before = sim.site_xpos.copy()
    moved = sim.model.site_pos + [[0, 0, 0.1]]
    sim.set_parameter("site_pos", moved, 4)
    assert not np.array_equal(sim.site_xpos[4], before[4])
    assert np.array_equal(np.delete(sim.site_xpos, 4, 0), np.delete(before, 4, 0))


def test_environments_start_where_their_own_model_does():
    sim = ds.Batch(small(), N)
    qpos0 = sim.model.qpos0 + np.where(np.arange(9) > 6, 0.25, 0)
    sim.set_parameter("qpos0", qpos0, 2)
    key = sim.get_parameter("key_qpos", 2)[0]
    key[0, 2] = 7
    sim.set_parameter("key_qpos", key, 2)
    sim.reset()
    np.testing.assert_array_equal(sim.qpos[2], np.float32(qpos0))
    np.testing.assert_array_equal(sim.qpos[3], np.float32(sim.model.qpos0))
    sim.reset(keyframe=0)
    assert sim.qpos[2, 2] == 7 and sim.qpos[3, 2] == 1


DERIVED = "body_subtreemass geom_rbound body_invweight0 dof_invweight0 tendon_length0 tendon_invweight0".split()

SLIDERS = """
<mujoco>
  <worldbody>
    <body pos="0 0 1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><geom size=".1"/></body>
    <body pos="1 0 1"><joint name="a" type="slide" axis="1 1 0"/><geom size=".1"/></body>
    <body pos="2 0 1"><joint type="ball" pos="0 0 .2"/><geom type="box" size=".1 .2 .3"/>
      <body pos="0 .3 0"><joint name="b" axis="1 0 0" armature=".1"/><geom type="cylinder" size=".1 .2"/>
        <body pos="0 .3 0"><geom type="capsule" size=".1 .2"/></body></body></body>
    <body pos="3 0 1"><geom size=".1"/></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="b" coef="-.5"/></fixed></tendon>
  <actuator><motor joint="b"/></actuator>
</mujoco>
"""


@pytest.mark.parametrize("name", ["small", "sliders", "humanoid", "ant", "hopper", "inverted_double_pendulum"])
def test_derived_constants_are_mujocos(name):
    rng = np.random.default_rng(3)
    xml = {"small": SMALL, "sliders": SLIDERS}.get(name)
    source = mujoco.MjModel.from_xml_string(xml) if xml else mujoco.MjModel.from_xml_path(str(GYM / f"{name}.xml"))
    model = ds.Model.from_mujoco(source)
    sim = ds.Batch(model, 2)
    before = {field: getattr(model, field).copy() for field in DERIVED}
    for field, scale in dict(body_mass=0.5, body_inertia=0.1, dof_armature=0.5, geom_size=0.3).items():
        value = getattr(model, field) * (1 + scale * rng.random(getattr(model, field).shape))
        if field == "geom_size":
            value = np.where(model.geom_type[:, None] == mujoco.mjtGeom.mjGEOM_PLANE, model.geom_size, value)
        sim.set_parameter(field, value, 1)
        getattr(source, field)[...] = value.reshape(getattr(source, field).shape)
    turned = model.qpos0.copy()
    for joint in np.flatnonzero(model.jnt_type >= 2):
        turned[model.jnt_qposadr[joint]] += rng.uniform(-0.3, 0.3)
    sim.set_parameter("qpos0", turned, 1)
    source.qpos0[:] = turned
    mujoco.mj_setConst(source, mujoco.MjData(source))
    own, other = sim._core.environment_model(1), sim._core.environment_model(0)
    for field in DERIVED:
        np.testing.assert_array_equal(other.field(field), before[field], err_msg=field)
        wanted = np.asarray(getattr(source, field)).reshape(before[field].shape)
        if field == "geom_rbound":  # MuJoCo's compiler alone derives these
            wanted = bounding_radii(model.geom_type, source.geom_size)
        np.testing.assert_allclose(own.field(field), wanted, rtol=1e-9, atol=1e-12, err_msg=field)
    np.testing.assert_allclose(bounding_radii(model.geom_type, model.geom_size), before["geom_rbound"], rtol=1e-12)


def bounding_radii(types, sizes):
    kinds = mujoco.mjtGeom
    rules = {
        kinds.mjGEOM_PLANE: lambda s: 0,
        kinds.mjGEOM_SPHERE: lambda s: s[0],
        kinds.mjGEOM_CAPSULE: lambda s: s[0] + s[1],
        kinds.mjGEOM_CYLINDER: lambda s: np.hypot(s[0], s[1]),
        kinds.mjGEOM_BOX: np.linalg.norm,
    }
    return np.array([rules[kinds(int(kind))](size) for kind, size in zip(types, sizes, strict=True)])


@pytest.mark.parametrize(
    "name, value, envs, words",
    [
        ("geom_frictio", 1.0, None, ["geom_frictio", "geom_friction"]),
        ("nonsense", 1.0, None, ["nonsense"]),
        ("geom_type", 1, None, ["geom_type", "shared by all"]),
        ("body_subtreemass", 1.0, None, ["derived"]),
        ("geom_rgba", 1.0, None, ["no part in the physics"]),
        ("opt_timestep", 0.1, None, ["opt_timestep", "opt_gravity"]),
        ("body_mass", np.ones((3, 5)), None, ["(3, 5)", f"({N}, 5)"]),
        ("body_mass", np.ones(4), [1, 2], ["(4,)", "(2, 5)"]),
        ("body_mass", np.ones(5), [1, N], [f"{N}"]),
        ("body_mass", np.ones(5), [2, 2], ["twice"]),
        ("body_mass", np.ones(5), -1, ["-1"]),
        ("body_mass", np.full(5, -1.0), [4], ["environment 4", "body_mass", "negative"]),
        ("body_mass", np.full(5, np.nan), [4], ["environment 4", "finite"]),
        ("body_quat", np.ones((5, 4)), [4], ["environment 4", "norm"]),
        ("body_mass", ["a"] * 5, None, ["body_mass", "real numbers"]),
        ("body_mass", np.ones(5, complex), None, ["complex"]),
        ("dof_frictionloss", np.ones(8), [6], ["environment 6", "share"]),
        ("geom_size", np.zeros((4, 3)), [1], ["environment 1", "geom_size"]),
    ],
)
def test_what_is_refused(name, value, envs, words):
    sim = ds.Batch(small(), N)
    sim.set_parameter("body_mass", sim.model.body_mass * 2, 4)
    sim.step()
    before = sim.save(), everything(sim)
    with pytest.raises(ValueError) as error:
        sim.set_parameter(name, value, envs)
    assert all(word in str(error.value) for word in words), error.value
    assert sim.save() == before[0]
    assert_same(everything(sim), before[1])
    if name not in small().mj_model.__dir__() or "type" in name:
        with pytest.raises(ValueError):
            sim.get_parameter(name)


@pytest.mark.parametrize("shape", ["none", "ellipsoid"])
def test_a_medium_that_sees_ellipsoids_is_set_for_all_or_none(shape):
    model = ds.Model.from_mjcf(
        "<mujoco><option density='1'/><worldbody><body><joint axis='0 1 0'/>"
        f"<geom type='box' size='.1 .2 .3' pos='.2 0 0' fluidshape='{shape}'/></body></worldbody></mujoco>"
    )
    with ds.Batch(model, 2, device="cpu", dtype="float64") as sim:
        before = sim.get_parameter("geom_fluid")
        switched = np.full_like(before[:1], 0.5 if shape == "none" else 0)
        with pytest.raises(ValueError, match="environment 1: .* cannot be switched on"):
            sim.set_parameter("geom_fluid", switched, 1)
        assert same_bits(sim.get_parameter("geom_fluid"), before)
        if shape == "none":
            return
        m = model.mj_model
        given = before[1] * np.repeat([1, 3, 2], [1, 5, 6])
        sim.set_parameter("geom_fluid", given, 1)
        sim.qvel[:] = 5
        sim.forward()
        for env, numbers in enumerate((before[0], given)):
            m.geom_fluid[:] = numbers
            data = mujoco.MjData(m)
            data.qvel[:] = 5
            mujoco.mj_forward(m, data)
            np.testing.assert_allclose(sim.qfrc_passive[env], data.qfrc_passive, rtol=1e-12)


def test_bodies_that_are_moved_stay_connected_where_they_stand():
    """As mj_setConst has it: the point of the second body is the one that the anchor lies on in qpos0."""
    source = mujoco.MjModel.from_xml_string("""<mujoco><option><flag contact="disable"/></option><worldbody>
      <body name="a" pos="0 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
      <body name="b" pos=".5 0 1"><joint axis="0 1 0"/><geom size=".1" pos="-.2 0 .1"/></body></worldbody>
      <equality><connect body1="a" body2="b" anchor=".2 0 0"/></equality></mujoco>""")
    sim = ds.Batch(ds.Model.from_mujoco(source), 2, dtype="float64")
    moved = source.body_pos + [[0, 0, 0], [0, 0, 0], [0.03, 0, 0.02]]
    sim.set_parameter("body_pos", moved, envs=[1])
    sim.qvel[:] = [0.3, -0.5]
    sim.forward()
    source.body_pos[:] = moved
    data = mujoco.MjData(source)
    mujoco.mj_setConst(source, data)
    data.qvel[:] = [0.3, -0.5]
    mujoco.mj_forward(source, data)
    np.testing.assert_allclose(sim.qacc[1], data.qacc, rtol=1e-6)
    assert np.abs(sim.qacc[0] - sim.qacc[1]).max() > 1
