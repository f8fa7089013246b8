"""Draws every figure of these pages, and measures the tables of audit.md.

    pip install '.[bench]'                       # dualstep and matplotlib
    python docs/formulations/draw.py             # all figures, beside this file: 15 seconds
    python docs/formulations/draw.py anitescu    # one of them
    python docs/formulations/draw.py tables      # the four audits, on stdout: ten minutes
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import dualstep as ds
from dualstep.measure.audit import FORMULATIONS

mpl.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).resolve().parent
COLORS = ("#1f6f8b", "#c8553d", "#e9a23b", "#3d8361", "#7d5ba6", "#2a363b")
G = 9.81
SOFT = {"contact_parameters": "spring_damper", "contact_time_constant": 0.05, "contact_regularization": 0.01}


def panels(count: int = 2):
    figure, axes = pyplot.subplots(1, count, figsize=(7.2, 2.7), layout="constrained", squeeze=False)
    for one in axes[0]:
        one.grid(alpha=0.25)
        one.set_prop_cycle(color=COLORS)
    return figure, axes[0]


def particle(
    *, h: float = 0.005, mu: float = 0.5, mass: float = 1.0, slope: float = 0.0, **options: object
) -> ds.Reference:
    """A ball on three slides that touches a plane; qpos is its displacement."""
    model = ds.Model.from_mjcf(f"""<mujoco>
      <option timestep="{h}" cone="elliptic" gravity="{G * np.sin(slope)} 0 {-G * np.cos(slope)}"/><worldbody>
      <geom name="floor" type="plane" size="50 50 .1" friction="{mu} 0 0"/>
      <body pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/><geom name="ball" size=".1" mass="{mass}" friction="{mu} 0 0"/></body>
      </worldbody></mujoco>""")
    for name, value in options.items():
        setattr(model.opt, name, value)
    return ds.Reference(model)


def roll(ref: ds.Reference, steps: int, read):
    """Times, and what `read` says after every step."""
    out = []
    for _ in range(steps):
        ref.step()
        out.append(read(ref))
    return ref.model.opt.timestep * np.arange(1, steps + 1), np.array(out)


def todorov():
    figure, (left, right) = panels()
    gaps = np.linspace(0, 0.03, 200)
    for speed in (0.5, 1.0, 1.5):
        ref, force = particle(contact_margin=0.05, **SOFT), []
        for gap in gaps:
            ref.qpos, ref.qvel = (0, 0, gap), (0, 0, -speed)
            ref.forward()
            force.append(ref.contacts().force[0, 0])
        left.plot(1e3 * gaps, np.array(force) / G, label=f"closing at {speed} m/s")
    left.set(xlabel="gap [mm]", ylabel="normal force / weight", title="force at a distance")
    left.legend(fontsize=7)
    for epsilon in (0.01, 0.05, 0.2):
        ref = particle(
            slope=0.2, contact_time_constant=0.05, contact_parameters="spring_damper", contact_regularization=epsilon
        )
        t, x = roll(ref, 400, lambda r: r.qpos[0])
        right.plot(t, 1e3 * x, label=f"$\\epsilon$ = {epsilon}")
    right.set(xlabel="time [s]", ylabel="slip down the slope [mm]", title="creep: slope 0.2 rad, friction 0.5")
    right.legend(fontsize=7)
    return figure


def desaxce():
    figure, (left, right) = panels()
    for name, desaxce in (("todorov", False), ("desaxce", True)):
        ref = particle(contact_margin=0.02, desaxce=desaxce, **SOFT)
        ref.qvel[0] = 2
        t, state = roll(ref, 140, lambda r: (r.qpos[2], r.qvel[0]))
        left.plot(t, 1e3 * state[:, 0], label=name)
        right.plot(t, state[:, 1], label=name)
    right.plot(t, np.maximum(2 - 0.5 * G * t, 0), color="black", linewidth=0.8, linestyle=":", label=r"$v_0 - \mu g t$")
    left.set(xlabel="time [s]", ylabel="height [mm]", title="a ball slides at 2 m/s")
    right.set(xlabel="time [s]", ylabel="speed [m/s]", title="and stops")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    return figure


def anitescu():
    figure, (left, right) = panels()
    for h in (0.01, 0.005, 0.0025):
        for axes, start in ((left, h * 0.5 * 2), (right, 0.0)):
            ref = particle(h=h, contact_model="anitescu", contact_margin=0.02)
            ref.qpos, ref.qvel = (0, 0, start), (2, 0, 0)
            t, z = roll(ref, round(0.5 / h), lambda r: r.qpos[2])
            axes.plot(t, 1e3 * z, label=f"h = {1e3 * h:g} ms")
    left.set(xlabel="time [s]", ylabel="gap [mm]", title=r"started at the gap $h\mu v$: hydroplaning")
    right.set(xlabel="time [s]", ylabel="gap [mm]", title="started on the plane: launched")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    return figure


def stewart_trinkle():
    figure, (left, right) = panels()
    for edges in (4, 8, 0):
        ref = particle(contact_model="stewart_trinkle", friction_directions=edges)
        ref.qvel[:2] = 2 * np.cos(np.pi / 6), 2 * np.sin(np.pi / 6)
        t, state = roll(ref, 160, lambda r: (*r.qpos[:2], np.hypot(*r.qvel[:2])))
        label = f"{edges} directions" if edges else "0: circle"
        left.plot(state[:, 0], state[:, 1], label=label)
        right.plot(t, state[:, 2], label=label)
    left.plot([0, 0.41 * np.cos(np.pi / 6)], [0, 0.41 * np.sin(np.pi / 6)], color="black", linewidth=0.8, linestyle=":")
    left.set(xlabel="x [m]", ylabel="y [m]", title="path of a ball that slides at 30 degrees")
    right.set(xlabel="time [s]", ylabel="speed [m/s]", title="2 m/s, friction 0.5")
    left.legend(fontsize=7)
    return figure


def compliant():
    figure, (left, right) = panels()
    for law, damping in (("linear", 40.0), ("hunt_crossley", 0.3)):
        ref = particle(h=1e-5, contact_model="compliant", compliant_law=law, damping=damping)
        ref.model.opt.gravity = (0, 0, 0)
        ref = ds.Reference(ref.model)
        ref.qvel[2] = -1
        loop = []
        while ref.qpos[2] <= 1e-5:
            depth = -ref.qpos[2]
            ref.step(10)
            found = ref.contacts()
            loop.append((depth, found.force[0, 0] if found.count else 0.0))
        loop = np.array(loop)
        left.plot(1e3 * loop[:, 0], loop[:, 1], label=f"{law}: leaves at {ref.qvel[2]:.2f} m/s")
    left.set(xlabel="depth [mm]", ylabel="force [N]", title="a ball of 1 kg arrives at 1 m/s")
    left.legend(fontsize=7)
    speeds = np.linspace(0, 5e-3, 120)
    for law, ratio in (("stribeck", 0.8), ("piecewise", 0.8)):
        ref = particle(h=1e-5, contact_model="compliant", friction_law=law, dynamic_friction_ratio=ratio)
        found = []
        for speed in speeds:
            ref.qpos, ref.qvel = (0, 0, -1e-3), (speed, 0, 0)
            ref.forward()
            force = ref.contacts().force[0]
            found.append(np.hypot(force[1], force[2]) / force[0])
        right.plot(1e3 * speeds, found, label=f"{law}, dynamic_friction_ratio = {ratio}")
    right.set(xlabel="sliding speed [mm/s]", ylabel="friction / normal force", title="stiction_speed = 1 mm/s")
    right.legend(fontsize=7)
    return figure


def soft_anchor():
    figure, (left, right) = panels()
    h, mass = 5e-4, 1.0
    ref = particle(h=h, contact_model="soft_anchor")
    ref.qpos[2], ref.qvel[0] = -mass * G / 1e4, 1
    t, x = roll(ref, 1000, lambda r: r.qpos[0])
    left.plot(t, 1e3 * x, label="slide (the model)")
    # the same without moving the anchor, by the function on numbers
    place, speed, anchor, path = 0.0, 1.0, np.nan, []
    for _ in range(1000):
        _, force, anchor = ds.formulations.soft_anchor(-mass * G / 1e4, 0.0, place, speed, anchor, kz=1e4, dz=80, kx=8e3,
                                                       dx=60, mu=0.5, mode="clamp")  # fmt: skip
        speed += h * float(force) / mass
        place += h * speed
        path.append(place)
    left.plot(t, 1e3 * np.array(path), label="adjust only", linestyle="--")
    left.set(xlabel="time [s]", ylabel="x [mm]", title="1 m/s, friction 0.5", ylim=(-110, 130))
    left.legend(fontsize=7)
    ref = particle(h=h, contact_model="soft_anchor", slope=0.2)
    ref.qpos[2] = -9.61445e-4
    t, x = roll(ref, 300, lambda r: r.qpos[0])
    right.plot(t, 1e6 * x, label="soft_anchor")
    ref = particle(h=1e-4, contact_model="compliant", slope=0.2)
    ref.qpos[2] = -9.61445e-4
    t, x = roll(ref, 1500, lambda r: r.qpos[0])
    right.plot(t, 1e6 * x, label="compliant", linestyle="--")
    right.set(xlabel="time [s]", ylabel=r"x [$\mu$m]", title="on a slope of 0.2 rad: it holds", ylim=(0, 500))
    right.legend(fontsize=7)
    return figure


def impulsive():
    figure, (left, right) = panels()
    for e in (0.8, 0.5, 0.0):
        ref = particle(h=1e-3, contact_model="impulsive", restitution=e, **SOFT)
        ref.qpos[2] = 0.5
        t, z = roll(ref, 2000, lambda r: r.qpos[2])
        left.plot(t, z, label=f"e = {e}")
    left.set(xlabel="time [s]", ylabel="height [m]", title="a drop from 0.5 m")
    left.legend(fontsize=7)
    model = ds.Model.from_mjcf(HERE / "scenes" / "spinning_ball.xml")
    model.opt.contact_model = "impulsive"
    ref = ds.Reference(model)
    ref.reset(0)
    t, state = roll(ref, 900, lambda r: (r.qvel[0], 0.1 * r.qvel[4], r.qpos[2] - 0.1))
    for k, name in enumerate(("speed x' [m/s]", "spin r w [m/s]", "height [m]")):
        right.plot(t, state[:, k], label=name)
    right.set(xlabel="time [s]", title="hollow ball with back spin")
    right.legend(fontsize=7)
    return figure


def variational():
    figure, (left, right) = panels()
    for integrator, style in (("euler", "-"), ("rk4", "--"), ("variational", "-")):
        model = ds.Model.from_mjcf("""<mujoco><option timestep="0.1"/><worldbody><body><joint axis="0 1 0"/>
          <geom size=".01" pos="0 0 -1" mass="1"/></body></worldbody></mujoco>""")
        model.opt.integrator = integrator
        ref = ds.Reference(model)
        ref.qpos[0] = 1
        start = ref.hamiltonian()
        t, energy = roll(ref, 3000, lambda r: r.hamiltonian())
        # the largest error of every five seconds
        worst = np.abs(energy - start).reshape(-1, 50).max(axis=1)
        left.loglog(t[49::50], worst, linestyle=style, label=integrator)
    left.set(xlabel="time [s]", ylabel="energy error [J]", title="pendulum from 1 rad, h = 0.1 s")
    left.legend(fontsize=7)
    for h in (0.02, 0.01, 0.005):
        ref = particle(h=h, integrator="variational", contact_margin=0.1)
        ref.qpos[2], ref.qvel[0] = 0.05, 1
        t, state = roll(ref, round(0.4 / h), lambda r: r.qpos[2])
        right.plot(t, 1e3 * state, label=f"h = {1e3 * h:g} ms", marker=".", markersize=3, linewidth=0.9)
    right.set(xlabel="time [s]", ylabel="height [mm]", title="an impact takes two steps", xlim=(0.07, 0.14),
              ylim=(-1, 15))  # fmt: skip
    right.legend(fontsize=7)
    return figure


def event_driven():
    figure, (left, right) = panels()
    ref = particle(h=0.01, scheme="event_driven", restitution=0.7)
    ref.qpos[2] = 0.5
    path, events = [], []
    for _ in range(250):
        events += ref.advance(0.01)
        path.append((ref.time, ref.qpos[2]))
    path = np.array(path)
    left.plot(path[:, 0], path[:, 1], label="height")
    for kind, color in (("impact", COLORS[1]), ("persistent", COLORS[3])):
        times = [event.time for event in events if event.kind == kind]
        left.plot(times, np.zeros(len(times)), ".", color=color, label=f"{len(times)} x {kind}")
    left.set(xlabel="time [s]", ylabel="height [m]", title="e = 0.7: a Zeno sequence, and its end")
    left.legend(fontsize=7)
    model = ds.Model.from_mjcf(BELT)
    model.opt.scheme, model.opt.dynamic_friction_ratio = "event_driven", 0.625
    ref = ds.Reference(model)
    ref.qvel[:2] = 0.1
    path, events = [], []
    for _ in range(300):
        events += ref.advance(0.01)
        path.append((ref.time, ref.qpos[1]))
    path = np.array(path)
    right.plot(path[:, 0], 1e3 * path[:, 1], label="block")
    for kind, color in (("slip", COLORS[1]), ("stick", COLORS[3])):
        times = [event.time for event in events if event.kind == kind]
        right.plot(times, 1e3 * np.interp(times, *path.T), ".", color=color, label=kind)
    right.set(xlabel="time [s]", ylabel="stretch of the spring [mm]", title="stick-slip on a belt")
    right.legend(fontsize=7)
    return figure


# a block of 1 kg on a spring, on a belt that moves at 0.1 m/s
BELT = """<mujoco><option timestep="0.01"/><worldbody>
  <body><joint name="belt" type="slide" axis="1 0 0"/>
    <geom type="box" size="50 1 .1" pos="0 0 -.1" mass="1" friction=".4 0 0"/></body>
  <body pos="0 0 .1"><joint type="slide" axis="1 0 0" stiffness="100"/><joint type="slide" axis="0 0 1"/>
    <geom size=".1" mass="1" friction=".4 0 0"/></body></worldbody>
  <custom><numeric name="dualstep_prescribe_belt" data=".1"/></custom></mujoco>"""
LINK = 'type="capsule" size=".02" contype="0" conaffinity="0"'
FOUR_BAR = f"""<mujoco><option timestep="0.005"/><worldbody>
  <body name="crank"><joint axis="0 1 0"/><geom {LINK} fromto="0 0 0 .3 0 .3"/>
    <body name="coupler" pos=".3 0 .3"><joint axis="0 1 0"/><geom {LINK} fromto="0 0 0 .8 0 .1"/></body></body>
  <body name="rocker" pos="1 0 0"><joint axis="0 1 0"/><geom {LINK} fromto="0 0 0 .1 0 .4"/></body></worldbody>
  <equality><connect body1="coupler" body2="rocker" anchor=".8 0 .1"/></equality></mujoco>"""
STOP = """<mujoco><option timestep="0.005"/><worldbody><body>
  <joint axis="0 1 0" limited="true" range="-10 170"/><geom pos="0 0 -1" size=".1" mass="1"/></body></worldbody></mujoco>"""


def constraints():
    figure, (left, right) = panels()
    for label, options in (("equality_alpha = None (soft)", {}), ("equality_alpha = 0", {"equality_alpha": 0.0}),
                           ("equality_alpha = 20", {"equality_alpha": 20.0}), ("variational", {"integrator": "variational"})):  # fmt: skip
        model = ds.Model.from_mjcf(FOUR_BAR)
        for name, value in options.items():
            setattr(model.opt, name, value)
        ref = ds.Reference(model)
        rows = []
        for _ in range(800):
            ref.step()
            found = ref._core.rows()
            rows.append(np.linalg.norm(found["pos"]))
        left.semilogy(0.005 * np.arange(1, 801), np.maximum(rows, 1e-16), label=label, linewidth=0.9)
    left.set(xlabel="time [s]", ylabel="how far the loop is open [m]", title="four-bar linkage, h = 5 ms")
    left.legend(fontsize=6)
    for label, options in (("MuJoCo's solref", {}), ("spring_damper, 50 ms", SOFT), ("impulsive, e = 0.6", {"contact_model": "impulsive",
                           "restitution": 0.6}), ("event_driven, e = 0.6", {"scheme": "event_driven", "restitution": 0.6})):  # fmt: skip
        model = ds.Model.from_mjcf(STOP)
        for name, value in options.items():
            setattr(model.opt, name, value)
        ref = ds.Reference(model)
        ref.qpos[0] = 1
        t, angle = roll(ref, 500, lambda r: np.degrees(r.qpos[0]))
        right.plot(t, angle, label=label, linewidth=1)
    right.axhline(-10, color="black", linewidth=0.8, linestyle=":")
    right.set(xlabel="time [s]", ylabel="angle [degrees]", title="a pendulum meets a stop at -10")
    right.legend(fontsize=6)
    return figure


def scene(name: str) -> tuple[ds.Model, dict[str, np.ndarray]]:
    """A scene of audit.md, and its start."""
    if name == "humanoid":
        from dualstep.cli.common import find_model

        model = ds.Model.from_mjcf(find_model("humanoid"))
        model.opt.integrator = "euler"
        # its knees start two degrees beyond their stops, which every law mends in its own way: begin inside
        qpos = model.qpos0.copy()
        for joint in np.flatnonzero(model.jnt_limited):
            low, high = model.jnt_range[joint]
            at = model.jnt_qposadr[joint]
            qpos[at] = np.clip(qpos[at], low + 0.02, high - 0.02)
        return model, {"qpos": qpos}
    model = ds.Model.from_mjcf(HERE / "scenes" / f"{name}.xml")
    return model, {"qpos": model.key_qpos[0], "qvel": model.key_qvel[0]}


def audit():
    figure, (left, right) = panels()
    model, start = scene("sliding_brick")
    names = ["todorov", "desaxce", "anitescu", "stewart_trinkle", "compliant", "variational"]
    found = ds.audit(model, formulations=names, duration=0.6, convergence=False, **start)
    for row in found.rows:
        left.plot(row.time, np.array(row.curves["force"]) / (3 * G), label=row.name, linewidth=1)
        right.plot(row.time, row.curves["energy"], label=row.name, linewidth=1)
    left.set(xlabel="time [s]", ylabel="normal force / weight", title="sliding brick", ylim=(0, 4))
    right.set(xlabel="time [s]", ylabel="energy [J]", title="6 J are to be dissipated")
    right.legend(fontsize=6)
    return figure


def quaternion_norm(axes) -> None:
    omega, h = np.array([0, 0, 10.0]), 1e-3
    plain = exact = np.array([1.0, 0, 0, 0])
    drift = []
    for _ in range(1000):
        plain = plain + h * ds.formulations.quaternion_rate(plain, omega)
        exact = ds.formulations.quaternion_integrate(exact, omega, h)
        drift.append((np.linalg.norm(plain) - 1, np.linalg.norm(exact) - 1))
    t = h * np.arange(1, 1001)
    axes.plot(t, 100 * np.array(drift)[:, 0], label="Euler's step")
    axes.plot(t, 100 * np.array(drift)[:, 1], label="exact step")
    axes.set(xlabel="time [s]", ylabel="|q| - 1 [%]", title="quaternion, 10 rad/s")


def pushed_block(axes) -> None:
    for push in (0.0, 3.0, 4.9, 6.0):
        v, speeds = 1.0, [1.0]
        for _ in range(60):
            v = float(ds.formulations.coulomb_1d(1.0, v, push, 0.01, 0.5)[1])
            speeds.append(v)
        axes.plot(0.01 * np.arange(61), speeds, label=f"{push:g} N")
    axes.set(xlabel="time [s]", ylabel="speed [m/s]", title="coulomb_1d, friction 4.9 N")


def end_of_a_fall(axes) -> None:
    h = 0.01
    for start in (0.006, 0.002):
        z, v, heights = start, -0.5, [start]
        for _ in range(5):
            v = float(ds.formulations.frictionless_step([[1.0]], [[1.0]], [z], [v - G * h], h).v_next[0])
            z += h * v
            heights.append(z)
        axes.plot(
            1e3 * h * np.arange(6), 1e3 * np.array(heights), marker="o", markersize=3, label=f"from {1e3 * start:g} mm"
        )
    axes.set(xlabel="time [ms]", ylabel="gap [mm]", title="frictionless_step")


def cart_at_a_wall(axes) -> None:
    for kappa in (0.02, 0.05, 0.1):
        q, v, places = 0.1, -0.5, [0.1]
        for _ in range(150):
            v = float(ds.formulations.todorov_scalar(1.0, q, v, -1.0, 0.005, kappa=kappa)[1])
            q += 0.005 * v
            places.append(q)
        axes.plot(0.005 * np.arange(151), 1e3 * np.array(places), label=f"$\\kappa$ = {1e3 * kappa:g} ms")
    axes.set(xlabel="time [s]", ylabel="distance [mm]", title="todorov_scalar, pushed by 1 N")


def friction_on_an_ellipse(axes) -> None:
    u, A = np.array([1.0, 1.0]), np.diag([1.0, 4.0])
    bounds = np.linspace(0.01, 1.3, 100)
    found = [ds.formulations.maximum_dissipation_step(A, u, bound) for bound in bounds]
    for name, vector in (("impulse", [-f.impulse for f in found]), ("velocity after", [f.v_next for f in found])):
        angle = [np.degrees(np.arctan2(b[1], b[0])) if np.linalg.norm(b) > 1e-9 else np.nan for b in np.array(vector)]
        axes.plot(bounds, angle, label=name)
    axes.axhline(45, color="black", linewidth=0.8, linestyle=":", label="velocity before")
    axes.set(xlabel=r"$\mu\Lambda_n$ [N s]", ylabel="direction [degrees]", title="maximum_dissipation_step")


def two_pressure_fields(axes) -> None:
    tilt = np.linspace(-0.1, 0.1, 200)
    for depth in (0.0005, 0.001, 0.002):
        moment = [ds.formulations.pressure_field_box(1e6, 0.02, 0.05, 0.03, depth, a)[1] for a in tilt]
        axes.plot(1e3 * tilt, moment, label=f"{1e3 * depth:g} mm deep")
    axes.set(xlabel="tilt [mrad]", ylabel="moment [N m]", title="pressure_field_box")


def matrices():
    figure, axes = pyplot.subplots(2, 3, figsize=(6.6, 3.9), layout="constrained")
    draws = (quaternion_norm, pushed_block, end_of_a_fall, cart_at_a_wall, friction_on_an_ellipse, two_pressure_fields)
    for one, draw in zip(axes.flat, draws, strict=True):
        one.grid(alpha=0.25)
        one.set_prop_cycle(color=COLORS)
        draw(one)
        one.title.set_size(8)
        one.xaxis.label.set_size(7)
        one.yaxis.label.set_size(7)
        one.tick_params(labelsize=6)
        one.locator_params(nbins=4)
        one.legend(fontsize=6)
    return figure


FIGURES = (todorov, desaxce, anitescu, stewart_trinkle, compliant, soft_anchor, impulsive, variational, event_driven,
           constraints, matrices, audit)  # fmt: skip
# scene: seconds, and the formulation whose smaller steps would take an hour
TABLES = {"falling_box": (1.0, None), "sliding_brick": (0.6, None), "spinning_ball": (1.0, None),
          "humanoid": (1.0, "event_driven")}  # fmt: skip


def tables() -> None:
    for name, (duration, slow) in TABLES.items():
        model, start = scene(name)
        print(f"{name}, {duration} s, h = {1e3 * model.opt.timestep:g} ms", flush=True)
        found = ds.audit(model, duration=duration, formulations=[f for f in FORMULATIONS if f != slow], **start)
        if slow:
            found.rows += ds.audit(model, duration=duration, formulations=slow, convergence=False, **start).rows
        print(found.table(), end="\n\n", flush=True)


def main(wanted: list[str]) -> None:
    known = {draw.__name__: draw for draw in FIGURES}
    for name in wanted or known:
        if name == "tables":
            tables()
            continue
        if name not in known:
            raise SystemExit(f"there is no figure '{name}': {', '.join(known)}, tables")
        figure = known[name]()
        # no date or version in the file: the same figure is the same bytes
        figure.savefig(HERE / f"{name}.png", dpi=100, metadata={"Software": None})
        pyplot.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
