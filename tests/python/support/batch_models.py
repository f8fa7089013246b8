"""Models for the tests of batches: the benchmark's humanoid, Gymnasium's, and a small one with a bit of all."""

import functools
import pathlib

import gymnasium

import dualstep as ds

GYM = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"

# a free body and an arm over a floor: limits, damping, friction loss, an activation, mocap, sensors, keyframes
SMALL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="target" mocap="true" pos="1 2 3" quat="0 1 0 0"/>
    <body name="ball" pos="0 0 .2">
      <freejoint/>
      <geom name="ball" size=".1" condim="6" friction=".8 .02 .003"/>
    </body>
    <body name="upper" pos="1 0 .5">
      <joint name="shoulder" axis="0 1 0" damping=".2" frictionloss=".1" range="-60 60" limited="true"/>
      <geom name="upper" type="capsule" size=".04" fromto="0 0 0 .3 0 0"/>
      <body name="lower" pos=".3 0 0">
        <joint name="elbow" axis="0 1 0" damping=".1" stiffness="2"/>
        <geom name="lower" type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>
        <site name="tip" pos=".3 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder" gear="5"/>
    <general name="elbow" joint="elbow" dyntype="filter" dynprm=".05" gainprm="3"/>
  </actuator>
  <sensor>
    <jointpos joint="shoulder"/>
    <framepos objtype="site" objname="tip"/>
  </sensor>
  <keyframe>
    <key name="thrown" time="1.5" qpos="0 0 1 0 1 0 0 .1 -.2" qvel="1 2 3 4 5 6 7 8" act=".3" ctrl=".1 .2"
         mpos="4 5 6" mquat="0 0 1 0"/>
    <key name="low" qpos="0 0 .09 1 0 0 0 0 0"/>
  </keyframe>
</mujoco>
"""


@functools.lru_cache
def small():
    return ds.Model.from_mjcf(SMALL)


@functools.lru_cache
def gym(name):
    return ds.Model.from_mjcf(GYM / f"{name}.xml")


STATE = "qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat qacc_warmstart".split()
OUTPUTS = [name for name, role, _, _ in ds._core.batch_fields() if role == "output"]


def shake(sim, rng, scale=0.3):
    """A state off its rest, other in each environment."""
    sim.qvel[...] = rng.normal(0, scale, sim.qvel.shape)
    sim.ctrl[...] = rng.uniform(-scale, scale, sim.ctrl.shape)


def everything(sim):
    """Every array of the batch, copied."""
    names = [*STATE, "time", "status", "iterations", "residual", "reset_count", *OUTPUTS, "contact_count", "contacts_needed"]
    return {name: getattr(sim, name).copy() for name in names}


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def assert_same(a, b, rows_a=slice(None), rows_b=slice(None), skip=()):
    for name in a:
        if name not in skip:
            assert same_bits(a[name][rows_a], b[name][rows_b]), name
