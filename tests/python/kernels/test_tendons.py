"""Tendons that wrap inside their geoms, against MuJoCo, and reference against kernels; lengths and moments as outputs.

tests/scenes/tendon_*.xml has every other feature. MuJoCo ends its search for the point inside a circle at about 1e-8 of
the radius, so what follows agrees to 1e-6.
"""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

INSIDE = """
<mujoco model="inside"><default><geom contype="0" conaffinity="0"/></default><worldbody>
  <site name="w" pos="-.1 .03 1.1"/>
  <body pos="0 0 .9"><joint axis="0 1 0" damping=".1"/><joint axis="0 0 1"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/><site name="u" pos=".15 0 .07"/>
    <body pos=".3 0 0"><joint axis="0 1 0"/>
      <geom name="drum" type="cylinder" size=".05 .1" zaxis="0 1 .1"/><geom type="capsule" size=".025" fromto="0 0 0 .25 0 0"/>
      <site name="within" pos=".01 .03 .012"/><site name="f" pos=".14 .03 -.05"/>
      <body pos=".25 0 0"><joint type="ball"/><geom name="ball" type="sphere" size=".04"/>
        <geom type="capsule" size=".02" fromto="0 0 0 .12 0 0"/><site name="core" pos=".01 0 .01"/>
        <site name="h" pos=".09 .01 .05"/></body></body></body></worldbody>
  <tendon>
    <spatial name="drum" stiffness="30" damping=".3" limited="true" range="0 .3">
      <site site="w"/><site site="u"/><geom geom="drum" sidesite="within"/><site site="f"/></spatial>
    <spatial name="ball" frictionloss=".1">
      <site site="f"/><geom geom="ball" sidesite="core"/><site site="h"/></spatial>
  </tendon>
  <actuator><motor tendon="drum" gear="3"/><position tendon="ball" kp="20" kv="1"/></actuator>
</mujoco>"""


def converged(source):
    mj = scenes.compile_mj(source, constraints=True)
    mj.opt.solver, mj.opt.iterations, mj.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 200, 1e-14
    return mj


def prepared(mj):
    model = ds.Model.from_mujoco(mj)
    model.opt.tolerance, model.opt.iterations = 1e-12, 60
    return model


def moments(mj, data):
    J = np.zeros((mj.ntendon, mj.nv))
    mujoco.mju_sparse2dense(J, data.ten_J, mj.ten_J_rownnz, mj.ten_J_rowadr, mj.ten_J_colind)
    return J


SOURCES = {"inside": INSIDE, **{name: path for name, path in scenes.SCENES.items() if name.startswith("tendon_")}}


@pytest.mark.parametrize("name", SOURCES)
def test_lengths_moments_and_accelerations_are_mujocos(name, rng):
    mj = converged(SOURCES[name])
    reference = ds.Reference(prepared(mj))
    for _ in range(100):
        data = scenes.draw_state(mj, rng)
        mujoco.mj_forward(mj, data)
        scenes.copy_state(data, reference)
        reference.forward()
        np.testing.assert_allclose(reference.ten_length, data.ten_length, rtol=0, atol=1e-9)
        np.testing.assert_allclose(reference.ten_J, moments(mj, data), rtol=0, atol=1e-6)
        np.testing.assert_allclose(
            reference.ten_velocity, data.ten_velocity, rtol=0, atol=1e-6 * (1 + np.abs(data.qvel).max())
        )
        assert scenes.error(reference.qacc, data.qacc) < 1e-6


@pytest.mark.parametrize("name", SOURCES)
def test_kernels_agree_with_the_reference(name, rng):
    mj = converged(SOURCES[name])
    model, count = prepared(mj), 40
    reference = ds.Reference(model)
    states = [scenes.draw_state(mj, rng) for _ in range(count)]
    fields = "ten_length ten_velocity ten_J qacc qfrc_passive qfrc_actuator sensordata"
    with ds.Batch(model, count, device="cpu", dtype="float64") as batch:
        for k, data in enumerate(states):
            for field in ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied"):
                getattr(batch, field)[k] = getattr(data, field)
        batch.forward()
        for k, data in enumerate(states):
            scenes.copy_state(data, reference)
            reference.forward()
            for field in fields.split():
                found = np.asarray(getattr(batch, field))[k]
                assert scenes.error(found, getattr(reference, field)) < 1e-9, field


def test_a_moment_is_the_slope_of_its_length(rng):
    mj = converged(INSIDE)
    reference = ds.Reference(prepared(mj))
    for _ in range(10):
        data = scenes.draw_state(mj, rng)
        scenes.copy_state(data, reference)
        reference.forward()
        along, step, length = rng.normal(size=mj.nv), 1e-6, []
        for side in (1, -1):
            moved = data.qpos.copy()
            mujoco.mj_integratePos(mj, moved, along, side * step)
            reference.qpos[:] = moved
            reference.forward()
            length.append(reference.ten_length.copy())
        scenes.copy_state(data, reference)
        reference.forward()
        slope = (length[0] - length[1]) / (2 * step)
        np.testing.assert_allclose(slope, reference.ten_J @ along, rtol=0, atol=1e-6)


def test_a_string_towards_the_centre_turns_back_inside():
    """Where a string from a ray to the same ray leaves no point of contact open, it is the middle one, as MuJoCo has it."""
    mj = converged("""<mujoco><worldbody><geom name="ball" size=".1" contype="0" conaffinity="0"/><site name="core"/>
      <site name="near" pos=".3 0 0"/><body pos=".5 0 0"><joint type="slide"/><geom size=".01" contype="0"/><site name="far"/></body>
      </worldbody><tendon><spatial name="string" stiffness="10"><site site="near"/><geom geom="ball" sidesite="core"/>
      <site site="far"/></spatial></tendon></mujoco>""")
    data, model = mujoco.MjData(mj), ds.Model.from_mujoco(mj)
    mujoco.mj_forward(mj, data)
    reference = ds.Reference(model)
    reference.forward()
    assert data.ten_length[0] == pytest.approx(0.6)
    np.testing.assert_allclose(reference.ten_length, data.ten_length, atol=1e-12)
    with ds.Batch(model, 1, dtype="float64") as batch:
        length = batch.ten_length
        batch.forward()
        np.testing.assert_allclose(length[0], data.ten_length, atol=1e-12)
        np.testing.assert_allclose(batch.qacc[0], data.qacc, atol=1e-9)


@pytest.mark.parametrize("beyond", [-1e-3, -1e-6, 0, 1e-6, 1e-3], ids=str)
def test_a_string_that_all_but_grazes_the_wall_is_the_shortest(beyond):
    """The way from p over a point of the circle to q, however near the straight one passes it: no jump on the way there."""
    ball, p = 0.08, np.array([0.15, 0.0, 0.1])
    mj = converged(f"""<mujoco><worldbody><site name="p" pos=".15 0 .1"/><geom name="ball" size="{ball}" contype="0" conaffinity="0"/>
      <site name="core" pos=".01 0 .02"/><body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/><geom size=".01" contype="0"/><site name="q"/></body></worldbody>
      <tendon><spatial stiffness="10"><site site="p"/><geom geom="ball" sidesite="core"/><site site="q"/></spatial></tendon></mujoco>""")
    q = np.array([-0.25741, -0.25698, -0.26675]) + beyond * np.array([0, 0, 1.0])
    u, plane = p / np.linalg.norm(p), np.cross(np.cross(p, q), p)
    v, angle = plane / np.linalg.norm(plane), np.linspace(0, np.pi, 400_001)
    points = ball * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v)
    shortest = (np.linalg.norm(points - p, axis=1) + np.linalg.norm(points - q, axis=1)).min()
    model = ds.Model.from_mujoco(mj)
    reference = ds.Reference(model)
    reference.qpos[:] = q
    reference.forward()
    assert reference.ten_length[0] == pytest.approx(shortest, abs=1e-9)
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-6)):
        with ds.Batch(model, 1, dtype=dtype) as batch:
            length = batch.ten_length
            batch.qpos[:] = q
            batch.forward()
            assert length[0, 0] == pytest.approx(shortest, abs=tolerance)


def test_a_tendon_that_no_dof_moves_has_no_row():
    model = ds.Model.from_mjcf("""<mujoco><worldbody><site name="a"/><body><joint/><geom size=".1"/></body><body><site name="b" pos="1 0 0"/>
      </body></worldbody><tendon><spatial limited="true" range="0 .3"><site site="a"/><site site="b"/></spatial></tendon>
      <sensor><force site="b"/></sensor></mujoco>""")
    reference = ds.Reference(model)
    reference.forward()
    assert reference.status == 0 and (reference.sensordata == 0).all()


@pytest.mark.parametrize(
    "option", [{"scheme": "event_driven"}, {"integrator": "variational"}], ids=lambda o: next(iter(o))
)
def test_limits_of_tendons_are_refused_where_no_row_stands_for_them(option):
    model = ds.Model.from_mjcf(INSIDE)
    for name, value in option.items():
        setattr(model.opt, name, value)
    with pytest.raises(ds.UnsupportedModelError, match="tendon 'drum': limits and friction of tendons"):
        ds.Reference(model)


def test_the_spring_damper_has_no_rows_of_tendons():
    model = ds.Model.from_mjcf(INSIDE)
    model.opt.contact_parameters = "spring_damper"
    with pytest.raises(
        ds.UnsupportedModelError, match="limit of a tendon with contact_parameters = spring_damper"
    ) as e:
        ds.Batch(model, 1)
    # of the string that has a limit, and of the other, that has friction
    found = [(feature.split(" of")[0], name) for feature, name, *_ in e.value.problems]
    assert found == [("limit", "tendon 'drum'"), ("friction", "tendon 'ball'")]


def test_each_tendon_has_the_limits_of_its_own():
    joints = "".join(
        f"<body pos='{k} 0 1'><joint name='j{k}' axis='0 1 0'/><geom size='.05' pos='.3 0 0'/></body>" for k in range(3)
    )
    tendons = "".join(
        f"<fixed limited='true' range='{low} {high}'><joint joint='j{k}' coef='{1 + k}'/></fixed>"
        for k, (low, high) in enumerate([(-1, 2), (-0.2, 0.1), (0.3, 0.5)])
    )
    mj = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{joints}</worldbody><tendon>{tendons}</tendon></mujoco>")
    data = mujoco.MjData(mj)
    with ds.Batch(ds.Model.from_mujoco(mj), 5, dtype="float64") as sim:
        wanted = []
        for env, q in enumerate([-1.5, -0.3, 0.05, 0.4, 2.5]):
            data.qpos[:] = q
            sim.qpos[env] = data.qpos
            mujoco.mj_forward(mj, data)
            wanted.append(data.qacc.copy())
        sim.forward()
        np.testing.assert_allclose(sim.qacc, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-6), ("float64", 1e-12)])
@pytest.mark.parametrize("short", [2e-4, -2e-4], ids=["within", "beyond"])
def test_at_its_limit_of_force_a_tendon_gains_nothing_by_speed(short, dtype, tolerance):
    # a velocity servo whose force is short of the limit or beyond it by a part in 5,000: its slope counts in the first
    mj = mujoco.MjModel.from_xml_string("""<mujoco><option gravity="0 0 0" integrator="implicitfast" timestep=".01"/>
    <worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" mass="1" pos=".3 0 0"/></body></worldbody>
    <tendon><fixed name="t" actuatorfrcrange="-4 4"><joint joint="j" coef="1"/></fixed></tendon>
    <actuator><velocity tendon="t" kv="8"/></actuator></mujoco>""")
    data = mujoco.MjData(mj)
    data.qvel[:] = 4 * (1 - short) / 8
    with ds.Batch(ds.Model.from_mujoco(mj), 1, dtype=dtype) as sim:
        sim.qvel[:] = data.qvel
        sim.step()
        mujoco.mj_step(mj, data)
        np.testing.assert_allclose(sim.qvel[0], data.qvel, rtol=tolerance)
