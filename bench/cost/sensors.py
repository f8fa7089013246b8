"""What the sensors of a model cost: time of a step where sensordata was asked for, beside that of one where it was not.

    PYTHONPATH=bindings/python python bench/cost/sensors.py scene_mjx_feetonly_flat_terrain.xml

Both batches step the same states, one after the other, so that a machine's mood is shared; the share is the median over
rounds of (with - without) / without. Visual meshes are left out of the model. The Go1 of MuJoCo Playground (locomotion,
feet only, flat terrain) has 21 sensors: gyro, velocimeter, accelerometer, six of the IMU's frame, velocities and
positions of the feet, and a contact sensor a foot.
"""

from __future__ import annotations

import argparse
import time

import mujoco
import numpy as np

import dualstep as ds


def model_of(path: str) -> ds.Model:
    spec = mujoco.MjSpec.from_file(path)
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for asset in [*spec.meshes, *spec.textures]:
        spec.delete(asset)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    return ds.Model.from_mujoco(spec.compile())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=20, help="of a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--isa", default=None)
    given = parser.parse_args()

    model = model_of(given.model)
    rng = np.random.default_rng(0)
    key = "home" if "home" in [model.name_of("key", i) for i in range(model.nkey)] else None
    batches = [ds.Batch(model, given.num_envs, device=given.device, isa=given.isa, num_threads=1) for _ in range(2)]
    for batch in batches:
        batch.reset(keyframe=key)
    start = np.array(batches[0].ctrl)
    assert batches[1].sensordata.shape == (given.num_envs, model.nsensordata)
    shares, plain = [], []
    for k in range(given.rounds + 1):
        ctrl = start + rng.normal(scale=0.3, size=start.shape)
        took = [0.0, 0.0]
        for _ in range(given.steps):
            for i in (0, 1) if k % 2 else (1, 0):
                batches[i].ctrl[...] = ctrl
                begin = time.perf_counter()
                batches[i].step()
                batches[i].wait()
                took[i] += time.perf_counter() - begin
        if k == 0:
            continue
        shares.append(took[1] / took[0] - 1)
        plain.append(took[0] / given.steps / given.num_envs)
    assert np.array_equal(batches[0].qpos, batches[1].qpos)
    # the clock of stages has no noise of two batches
    batches[1]._core.time_stages(True)
    for _ in range(given.steps):
        batches[1].step()
    ticks = batches[1]._core.stage_ticks()
    contacts = float(np.mean(batches[0].contact_count))
    print(f"{batches[0].description}; {model.nsensor} sensors, {model.nsensordata} numbers; {contacts:.1f} contacts")
    print(f"step {np.median(plain) * 1e6:.3f} us an environment, sensors {100 * np.median(shares):.1f}% of it")
    if ticks:
        rest = sum(ticks.values()) - ticks["sense"]
        print(f"by the clock of stages {100 * ticks['sense'] / rest:.1f}%")


if __name__ == "__main__":
    main()
