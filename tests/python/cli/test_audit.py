"""The audit: figures that follow from each formulation's equations, on small scenes, and how it refuses."""

import json
import math

import mujoco
import numpy as np
import pytest
from formulation_models import SEED, box, build, particle
from places import ROOT

import dualstep as ds
from dualstep import cli
from dualstep.measure.audit import FIGURES, FORMULATIONS, _displacement

SCENES = ROOT / "docs" / "formulations" / "scenes"
G = 9.81


def only(found):
    (row,) = found.rows
    assert not row.refused and not row.status, (row.refused, row.status)
    return row


def run(model, name, steps, **given):
    """One formulation for some steps."""
    duration = steps * model.opt.timestep
    return only(ds.audit(model, formulations=name, duration=duration, **{"convergence": False, **given}))


def flat_box(speed=(0.0, 0.0), gap=0.0, **options):
    """The box of 3 kg on its face, its state."""
    model = build(box(height=0.0), **options)
    return model, dict(qpos=[0, 0, 0.1 + gap, 1, 0, 0, 0], qvel=[*speed, 0, 0, 0, 0])


# sliding: hydroplaning, and laws without it
@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_anitescus_brick_hovers_at_h_mu_v(speed):
    h, mu, steps = 0.005, 0.5, 20
    model, state = flat_box((speed, 0), h * mu * speed, contact_margin=0.02)
    found = run(model, "anitescu", steps, **state)
    # phi + h n v' = h mu v' holds the gap to the speed, v_n' = mu (v' - v), and friction is mu times the load:
    # v' - v = -mu (v_n' - v_n + h g)
    v, v_n, gaps, loads = speed, 0.0, [], []
    for _ in range(steps):
        gaps.append(h * mu * v)
        change = (mu * v_n - mu * h * G) / (1 + mu * mu)
        loads.append(mu * change - v_n + h * G)
        v, v_n = v + change, mu * change
    assert found.figures["signorini"] == pytest.approx(np.dot(gaps, loads) / np.sum(loads), rel=1e-6)
    # hard rows keep a weight of 1e-8 in the kernels
    assert found.figures["penetration"] == 0 and found.figures["momentum"] < 1e-6
    # all the weight is carried through the air, and the loads end as the weight
    assert found.curves["force"][-1] == pytest.approx(3 * G, rel=1e-4)
    # friction, in the middle of the gap, turns more of the load to the front corners: a (f1 - f2) = (c + phi/2) mu f
    front = max(3 * load / h / 4 * (1 + mu * (0.1 + gap / 2) / 0.2) for load, gap in zip(loads, gaps, strict=True))
    assert found.figures["distance_force"] == pytest.approx(front, rel=1e-6)


def test_anitescus_gap_is_proportional_to_the_speed():
    gaps = []
    for speed in (1.0, 2.0):
        model, state = flat_box((speed, 0), 0.005 * 0.5 * speed, contact_margin=0.02)
        gaps.append(run(model, "anitescu", 1, **state).figures["signorini"])
    assert gaps[1] == pytest.approx(2 * gaps[0], rel=1e-9)


@pytest.mark.parametrize("name", ["stewart_trinkle", "variational"])
def test_coulombs_brick_stays_on_the_plane(name):
    model, state = flat_box((2.0, 0), contact_margin=0.02)
    found = run(model, name, 100, **state)
    for figure in ("distance_force", "signorini", "dissipation", "penetration", "cone", "energy"):
        assert found.figures[figure] == pytest.approx(0, abs=1e-8), figure
    # it is at rest after v / (mu g) = 0.41 s, all its energy gone; a momentum of the discrete mechanics stands
    # between half a step of gravity before it and the contact's impulse
    left = 0.5 * 3 * (0.005 * G / 2) ** 2 if name == "variational" else 0
    assert found.curves["energy"][-1] == pytest.approx(-0.5 * 3 * 4 + left, abs=1e-9)
    assert found.curves["force"][-1] == pytest.approx(3 * G, rel=1e-8)


def test_todorov_lifts_what_slides_and_desaxce_does_not():
    """y_n = mu |y_t| adds mu B v to what pushes; B = 2/kappa, K = 1/kappa^2."""
    model = build(particle(), contact_margin=0.03, **SEED)
    state = dict(qpos=[0, 0, 0.02], qvel=[1, 0, 0])
    lifted = run(model, "todorov", 1, **state).figures
    assert lifted["distance_force"] == pytest.approx(2 * (G + 0.5 * 40 * 1 - 400 * 0.02) / 1.01 / 1.25, rel=1e-9)
    coulomb = run(model, "desaxce", 1, **state).figures
    assert coulomb["distance_force"] == pytest.approx(2 * (G - 400 * 0.02) / 1.01, rel=1e-6)
    model, state = flat_box((2.0, 0), contact_margin=0.02, **SEED)
    assert run(model, "desaxce", 40, **state).figures["dissipation"] == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("name", ["anitescu", "stewart_trinkle"])
@pytest.mark.parametrize("edges, axis", [(4, 0.0), (8, math.pi / 4), (0, None)])
def test_a_polygon_of_friction_loses_dissipation(name, edges, axis):
    """Friction points along the polygon's nearest corner, off the sliding direction by an angle a: 1 - cos a."""
    h, speed, angle = 0.005, 2.0, math.pi / 6
    start = speed * np.array([math.cos(angle), math.sin(angle)])
    along = max((math.cos(angle - 2 * math.pi * k / edges) for k in range(edges)), default=1.0)
    gap = h * 0.5 * speed * along if name == "anitescu" else 0.0
    model, state = flat_box(start, gap, contact_margin=0.02, friction_directions=edges)
    wanted = 0.0
    found = run(model, name, 1, **state)
    if edges:
        ref = ds.Reference(build(box(), contact_model=name, friction_directions=edges, contact_margin=0.02))
        ref.qpos, ref.qvel = state["qpos"], state["qvel"]
        ref.step()
        # where the step has led is taken over; which way friction pointed is not
        wanted = 1 - math.cos(math.atan2(ref.qvel[1], ref.qvel[0]) - axis)
        assert 0.02 < wanted < 0.2
    assert found.figures["dissipation"] == pytest.approx(wanted, abs=1e-8)


# falling, resting
def test_todorov_pushes_at_a_distance():
    model = build(particle(), contact_margin=0.02, **SEED)
    found = run(model, "todorov", 1, qpos=[0, 0, 0.01], qvel=[0, 0, -1])
    # lambda = -(b) / (A (1 + eps)), b = -g + B v + K phi, B = 2/kappa, K = 1/kappa^2
    force = (G + 40 * 1 - 400 * 0.01) * 2 / 1.01
    assert found.figures["distance_force"] == pytest.approx(force, rel=1e-9)
    assert found.figures["signorini"] == pytest.approx(0.01, rel=1e-9)
    hard = run(model, "stewart_trinkle", 1, qpos=[0, 0, 0.01], qvel=[0, 0, -1])
    assert hard.figures["distance_force"] == 0 and hard.figures["signorini"] is None


def test_rest_is_as_deep_as_each_law_says():
    model = build(particle(h=0.001), **SEED)
    depths = {"todorov": 0.01 * 0.05**2 * G, "compliant": 2 * G / 1e4, "soft_anchor": 2 * G / 1e4, "stewart_trinkle": 0,
              "anitescu": 0, "event_driven": 0}  # fmt: skip
    for name, depth in depths.items():
        found = run(model, name, 20, qpos=[0, 0, -depth])
        assert found.figures["penetration"] == pytest.approx(depth, abs=1e-9), name
        assert found.figures["signorini"] == pytest.approx(depth, abs=1e-9), name
        assert found.curves["force"][-1] == pytest.approx(2 * G, rel=1e-6), name


@pytest.mark.parametrize("name", ["todorov", "anitescu", "stewart_trinkle", "impulsive"])
def test_forces_explain_the_motion_at_the_default_tolerance(name):
    """An edge of a box strikes: hard rows turn a small error of the motion into a large one of the forces."""
    model = ds.Model.from_mjcf(SCENES / "falling_box.xml")
    model.opt.tolerance = 0  # the default
    found = run(model, name, 300, qpos=model.key_qpos[0], qvel=model.key_qvel[0])
    assert found.runs_on == "batch, cpu"
    assert found.figures["penetration"] > 1e-3
    assert found.figures["momentum"] < 1e-2


def test_the_ball_bounces_by_newtons_and_coulombs_laws():
    """Hollow, r = 0.1: a touching ball that sticks loses 1/2 m k/(1+k) u^2 along the plane, 1/2 m (1-e^2) w^2 off it."""
    model = ds.Model.from_mjcf(SCENES / "spinning_ball.xml")
    model.opt.gravity, model.opt.timestep = (0, 0, 0), 1e-4
    m, e, mu, ratio = 0.6, 0.8, 0.3, 2 / 3
    for spin in (-5.0, -30.0):
        # the contact point moves at x' - r w_y
        state = dict(qpos=[0, 0, 0.1, 1, 0, 0, 0], qvel=[2, 0, -3, 0, spin, 0])
        slip = 2 - 0.1 * spin
        stick = m * ratio / (1 + ratio) * slip
        push = min(stick, mu * m * (1 + e) * 3)
        lost = 0.5 * m * (1 - e * e) * 9 + push * slip - 0.5 * push**2 * (1 + ratio) / (m * ratio)
        for name in ("impulsive", "event_driven"):
            found = run(model, name, 1, **state)
            assert found.curves["energy"][0] == pytest.approx(-lost, rel=1e-9), (name, spin)
        assert run(model, "impulsive", 1, **state).figures["momentum"] < 1e-9
        # without restitution the normal's part is lost whole
        plastic = run(model, "stewart_trinkle", 1, **state).curves["energy"][0]
        push = min(stick, mu * m * 3)
        assert plastic == pytest.approx(-(0.5 * m * 9 + push * slip - 0.5 * push**2 * (1 + ratio) / (m * ratio)), rel=1e-6)


def test_variational_keeps_momentum_that_euler_loses_at_first_order():
    """A free pair of links in the air: p changes by h m g and nothing else."""
    xml = """<mujoco><option timestep="{h}"/><worldbody><body><freejoint/><geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
      <body pos=".4 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/></body></body>
      </worldbody></mujoco>"""
    state = dict(qpos=[0, 0, 1, 1, 0, 0, 0, 0.7], qvel=[0.3, -0.2, 0.5, 1, 2, -1, 4])
    euler = []
    for h in (0.002, 0.001):
        model = build(xml.format(h=h))
        euler.append(run(model, "todorov", round(0.02 / h), **state).figures["momentum"])
        assert run(model, "variational", round(0.02 / h), **state).figures["momentum"] < 1e-9
    # an error of h^2 a step, against h m g
    assert euler[0] > 1e-3 and euler[0] / euler[1] == pytest.approx(2, rel=0.1)


def test_order_of_a_falling_particle():
    """Semi-implicit Euler falls -g h t/2 too far: errors against h/8 are (1, 1/2, 1/4) - 1/8 of that."""
    found = run(build(particle(height=5)), "todorov", 10, convergence=True)
    errors = 0.5 * G * 0.05 * 0.005 * (np.array([1, 1 / 2, 1 / 4]) - 1 / 8)
    np.testing.assert_allclose(found.errors, errors, rtol=1e-6)
    assert found.order == pytest.approx(1, abs=1e-6)
    # the midpoint rule falls along the parabola
    assert run(build(particle(height=5)), "variational", 10, convergence=True).order is None


def test_displacements_are_velocities_of_a_unit_of_time(rng):
    model = build("""<mujoco><worldbody><body><freejoint/><geom size=".1"/><body><joint type="ball"/><geom size=".1"/>
      <body><joint/><geom size=".1"/></body></body></body></worldbody></mujoco>""")
    for turn in (1e-9, 0.1, 1.5):
        start, end = rng.standard_normal(model.nq), np.empty(model.nq)
        for q in (3, 7):
            start[q : q + 4] /= np.linalg.norm(start[q : q + 4])
        end[:], velocity = start, turn * rng.uniform(-1, 1, model.nv)
        mujoco.mj_integratePos(model.mj_model, end, velocity, 1.0)
        for sign in (1, -1):
            end[3:7] *= sign
            np.testing.assert_allclose(_displacement(model, start, end), velocity, atol=1e-14)


def test_variational_friction_opposes_the_displacement():
    """A tumbling box lands: friction is most dissipative for q' - q, on the dot, and not for the velocity at the end."""
    model = ds.Model.from_mjcf(SCENES / "falling_box.xml")
    model.opt.timestep = 0.005
    found = run(model, "variational", 80, qpos=model.key_qpos[0], qvel=[3, 2, -1, 2, 1, 3])
    assert sum(found.curves["force"]) > 0 and abs(found.figures["dissipation"]) < 1e-6


def test_work_of_actuators_is_no_gain():
    """A cart and a motor: h f (v + v')/2 is the change of 1/2 m v^2 to the last digit."""
    cart = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
      <geom size=".1" mass="2"/></body></worldbody><actuator><motor joint="x" ctrllimited="true" ctrlrange="-3 5"/></actuator>
      </mujoco>"""
    found = run(build(cart), "todorov", 40, num_envs=3, actions=1.0, noise=1.0, seed=2)
    assert found.figures["energy"] == pytest.approx(0, abs=1e-12) and found.figures["momentum"] is None


# scenes of the docs
@pytest.mark.parametrize("scene", ["falling_box", "sliding_brick", "spinning_ball"])
def test_every_formulation_runs_the_scenes(scene):
    model = ds.Model.from_mjcf(SCENES / f"{scene}.xml")
    found = ds.audit(model, duration=10 * model.opt.timestep, qpos=model.key_qpos[0], qvel=model.key_qvel[0], convergence=False)
    assert [row.name for row in found.rows] == list(FORMULATIONS)
    batched = [row.name for row in found.rows if row.runs_on == "batch, cpu"]
    assert batched == [name for name in FORMULATIONS if name not in ("variational", "event_driven")]
    for row in found.rows:
        assert not row.refused and row.cost > 0 and row.runs_on
        assert set(row.figures) == set(FIGURES)
    told = json.loads(found.to_json())
    assert told["rows"][0]["figures"].keys() == set(FIGURES)


def test_the_humanoid_in_several_environments(humanoid_path):
    model = ds.Model.from_mjcf(humanoid_path)
    # as its file has it, Runge-Kutta: laws of a whole step say why they do not
    found = ds.audit(model, duration=0.006, num_envs=2, actions=0.4, noise=0.1, convergence=False)
    refused = {row.name: row.refused for row in found.rows if row.refused}
    assert set(refused) == {"anitescu", "stewart_trinkle", "soft_anchor", "impulsive"}
    assert all("rk4" in why and "euler" in why for why in refused.values())
    assert all(why in found.table() for why in refused.values())
    model.opt.integrator = "euler"
    # its knees start two degrees beyond their stops
    qpos = model.qpos0.copy()
    inside = np.radians(1)
    for joint in np.flatnonzero(model.jnt_limited):
        low, high = model.jnt_range[joint]
        at = model.jnt_qposadr[joint]
        qpos[at] = np.clip(qpos[at], low + inside, high - inside)
    found = ds.audit(model, duration=0.006, num_envs=2, actions=0.4, noise=0.1, qpos=qpos, convergence=False)
    assert not any(row.refused or row.status for row in found.rows)


def test_a_formulation_is_itself_whatever_the_file_chose():
    model, state = flat_box((2.0, 0), contact_model="anitescu", integrator="variational", desaxce=True)
    plain, _ = flat_box((2.0, 0))
    chosen = run(model, "todorov", 5, **state)
    assert chosen.figures == run(plain, "todorov", 5, **state).figures
    assert (model.opt.contact_model, model.opt.integrator) == ("anitescu", "variational")


def test_a_diverged_run_says_so_and_has_no_figures():
    model = build(particle(height=1.0))
    found = ds.audit(model, formulations=["todorov", "stewart_trinkle"], duration=0.05, qvel=[1e12, 0, 0])
    for row in found.rows:
        assert "diverged at 0.005 s" in row.status
        assert all(row.figures[name] is None for name in FIGURES) and row.cost is None and row.order is None
    assert "diverged" in found.table() and "NaN" not in json.dumps(json.loads(found.to_json()))


@pytest.mark.parametrize(
    "given, told",
    [(dict(formulations=["todorv"]), "did you mean 'todorov'"), (dict(formulations="soft"), "stewart_trinkle, compliant"),
     (dict(formulations=[]), "no formulation"), (dict(duration=0), "duration 0"), (dict(duration=-1.0), "duration -1"),
     (dict(duration=math.inf), "duration inf"), (dict(duration=math.nan), "duration nan"), (dict(num_envs=0), "num_envs 0"),
     (dict(noise=-1), "noise -1"), (dict(actions=math.nan), "actions nan"), (dict(qpos=[0, 0]), r"qpos .*\(2,\).*\(3,\)"),
     (dict(qvel=[0, 0, math.nan]), "qvel .*finite")],
)  # fmt: skip
def test_bad_arguments_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        ds.audit(build(particle()), **given)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.xml"):
        ds.audit(tmp_path / "nothing.xml")


def test_progress_is_told():
    told = []
    ds.audit(build(particle()), formulations=["todorov", "compliant"], duration=0.02, report=lambda *what: told.append(what))
    parts = [part for part, _ in told]
    assert parts == sorted(parts) and parts[-1] == 1 and {note for _, note in told} >= {"todorov", "compliant, h/8"}


# the command
def test_the_command_prints_json_and_draws(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    scene, picture = str(SCENES / "sliding_brick.xml"), tmp_path / "curves.png"
    arguments = ["audit", scene, "--keyframe", "0", "--duration", "0.02", "--formulations", "anitescu", "stewart_trinkle"]
    assert cli.main([*arguments, "--json", "--plot", str(picture)]) == 0
    out = capsys.readouterr()
    told = json.loads(out.out)
    assert [row["name"] for row in told["rows"]] == ["anitescu", "stewart_trinkle"] and "100%" in out.err
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert cli.main([*arguments, "--no-convergence"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["model", "runs"] and lines[2].startswith("anitescu") and len(lines) == 4


@pytest.mark.parametrize(
    "arguments, told",
    [(["nothing.xml"], "no model file 'nothing.xml'"), (["@", "--duration", "0"], "--duration is 0"),
     (["@", "--duration", "-1"], "at least 0"), (["@", "--formulations", "todorv"], "choose from 'todorov'"),
     (["@", "--keyframe", "3"], "keyframe 3"), (["@", "--option", "stifness=1"], "stiffness"),
     (["@", "--option", "stiffness"], "NAME=VALUE"), (["@", "--option", "contact_model=soft"], "soft_anchor"),
     (["@", "--plot", "curves.txt"], ".png")],
)  # fmt: skip
def test_the_command_refuses(arguments, told, capsys):
    arguments = [str(SCENES / "sliding_brick.xml") if word == "@" else word for word in arguments]
    try:
        status = cli.main(["audit", *arguments])
    except SystemExit as stop:
        status = stop.code
    assert status == 2 and told in capsys.readouterr().err


@pytest.mark.parametrize("name", ["todorov", "desaxce", "anitescu", "stewart_trinkle"])
def test_a_box_on_a_belt_is_one_that_slides(name):
    """Friction opposes the motion relative to the belt. What belts and turntables give is their work, and no gain."""
    text = """<mujoco><option timestep=".001" cone="elliptic"/><worldbody>
      <geom type="plane" size="5 5 .1" condim="4" friction="1 .02" surfacevel="{}"/>
      <body pos="0 0 .05"><freejoint/><geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>"""
    slides, belt, turns = (
        run(ds.Model.from_mjcf(text.format(speeds)), name, 120, qvel=[speed, 0, 0, 0, 0, 0]).figures
        for speeds, speed in (("0 0 0 0 0 0", -1.5), ("1.5 0 0 0 0 0", 0), ("0 0 0 0 0 6", 0))
    )
    assert belt["dissipation"] == pytest.approx(slides["dissipation"], abs=1e-6)
    assert abs(belt["dissipation"]) < 0.01
    assert max(belt["energy"], turns["energy"]) < 1e-6
