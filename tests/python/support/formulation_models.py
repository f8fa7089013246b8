"""The small models that the contact models are compared on: a particle, a box, linkages, a belt."""

import math

import dualstep as ds

# the spring-damper's softness: time constant, regularization
SEED = dict(contact_parameters="spring_damper", contact_time_constant=0.05, contact_regularization=0.01)


def build(xml, **options):
    model = ds.Model.from_mjcf(xml)
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model


def reference(xml, **options):
    return ds.Reference(build(xml, **options))


def particle(*, h=0.005, mu=0.5, mass=2.0, height=0.0, condim=3, slope=0.0, damping=0.0):
    """A sphere on three slides above a plane, whose qpos is its displacement; gravity may lean along x."""
    gravity = f"{9.81 * math.sin(slope)} 0 {-9.81 * math.cos(slope)}"
    return f"""<mujoco><option timestep="{h}" cone="elliptic" gravity="{gravity}"/><worldbody>
      <geom name="floor" type="plane" size="50 50 .1" friction="{mu} 0 0" condim="{condim}"/>
      <body name="ball" pos="0 0 {0.1 + height}"><joint type="slide" axis="1 0 0" damping="{damping}"/>
      <joint type="slide" axis="0 1 0" damping="{damping}"/><joint type="slide" axis="0 0 1" damping="{damping}"/>
      <geom name="ball" type="sphere" size=".1" mass="{mass}" friction="{mu} 0 0" condim="{condim}"/></body>
      </worldbody></mujoco>"""


def box(*, h=0.005, mu=0.5, height=0.0, spin="0 0 0"):
    """A free box of 0.4 x 0.3 x 0.2 m and 3 kg over a plane."""
    return f"""<mujoco><option timestep="{h}" cone="elliptic"/><worldbody>
      <geom name="floor" type="plane" size="50 50 .1" friction="{mu} 0 0"/>
      <body name="box" pos="0 0 {0.1 + height}" euler="{spin}"><freejoint/>
      <geom name="box" type="box" size=".2 .15 .1" mass="3" friction="{mu} 0 0"/></body></worldbody></mujoco>"""


def hollow_ball(*, mu, h=1e-6):
    """The spinning ball: x, z and a turn about y; m = 0.6, r = 0.1, inertia 2/3 m r^2; no gravity."""
    return f"""<mujoco><option timestep="{h}" gravity="0 0 0"/><worldbody>
      <geom type="plane" size="5 5 .1" friction="{mu} 0 0"/><body pos="0 0 .1"><joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/><inertial pos="0 0 0" mass=".6" diaginertia=".004 .004 .004"/>
      <geom type="sphere" size=".1" friction="{mu} 0 0"/></body></worldbody></mujoco>"""


def four_bar(h=0.002):
    """A crank, a coupler and a rocker that close a loop by a connect constraint; no contacts."""
    link = 'type="capsule" size=".02" contype="0" conaffinity="0"'
    return f"""<mujoco><option timestep="{h}"/><worldbody>
      <body name="crank"><joint axis="0 1 0"/><geom {link} fromto="0 0 0 .3 0 .3"/>
        <body name="coupler" pos=".3 0 .3"><joint axis="0 1 0"/><geom {link} fromto="0 0 0 .8 0 .1"/></body></body>
      <body name="rocker" pos="1 0 0"><joint axis="0 1 0"/><geom {link} fromto="0 0 0 .1 0 .4"/></body></worldbody>
      <equality><connect body1="coupler" body2="rocker" anchor=".8 0 .1"/></equality></mujoco>"""


def belt(h=0.01):
    """A block on a spring of 100 N/m, on a belt that moves at 0.1 m/s: a hard velocity constraint."""
    return f"""<mujoco><option timestep="{h}"/><worldbody>
      <body><joint name="belt" type="slide" axis="1 0 0"/>
      <geom name="belt" type="box" size="50 1 .1" pos="0 0 -.1" mass="1" friction=".4 0 0"/></body>
      <body pos="0 0 .1"><joint type="slide" axis="1 0 0" stiffness="100"/><joint type="slide" axis="0 0 1"/>
      <geom name="block" type="sphere" size=".1" mass="1" friction=".4 0 0"/></body></worldbody>
      <custom><numeric name="dualstep_prescribe_belt" data=".1"/></custom></mujoco>"""


def stopped_pendulum(h=0.01):
    """A pendulum with a stop at -10 degrees."""
    return f"""<mujoco><option timestep="{h}"/><worldbody><body>
      <joint name="hinge" axis="0 1 0" limited="true" range="-10 170"/><geom pos="0 0 -1" size=".1" mass="1"/>
      </body></worldbody></mujoco>"""
