"""Golden hashes: where every model must stand after 1,000 steps, to the bit, on every device.

    python tests/golden/golden.py check     # each model on the CPU, emulated lanes and CUDA where it is
    python tests/golden/golden.py write     # after a change of the numerics that was meant

hashes.json holds, for every model, a hash of what MuJoCo's compiler made of it (rounded to float32) and one of qpos
and qvel for each of the first environments of answers.py (tests/python). A change in the first alone means another
version of MuJoCo or of the model's file, not of the simulation.
"""

import argparse
import hashlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
# in pytest they are on the path already
sys.path[:0] = [str(HERE.parent / "python"), str(HERE.parent / "python" / "support")]

import numpy as np
from answers import final_hashes, in_software, present, rollout
from scenes import ALL, BENCH, GYM

import dualstep as ds

FILE = HERE / "hashes.json"
STEPS, ENVIRONMENTS = 1000, 4
SOURCES = {**ALL, "terrain": HERE / "terrain.xml", "herd": HERE / "herd.xml"}
MODELS = [*GYM, *BENCH, "tendon_wrap", "terrain", "actuator_muscle", "islands", "herd", "integrator_discrete",
          "fluid_ellipsoid", "contact_surfaces"]  # fmt: skip
# what must agree with the file; lanes and the PTX interpreter are slow, so fewer environments of them
DEVICES = {
    "cpu": ({"device": "cpu"}, ENVIRONMENTS),
    "emulated": ({"device": "emulated", "lanes": 8, "seed": 7}, 1),
}
if present("cuda"):
    DEVICES["cuda"] = ({"device": "cuda"}, 1 if in_software() else ENVIRONMENTS)


def model_hash(model):
    """Of the numbers that the physics reads, in the precision of the kernels."""
    digest = hashlib.sha256()
    for name in sorted(ds._core.model_field_names("R")):
        if name.startswith(("geom_rgba", "geom_aabb", "numeric_", "key_", "site_size")):
            continue
        values = getattr(model, name)
        # an empty array of meshes or height fields says nothing: models without them keep their hash
        if name.startswith(("mesh_poly", "hfield_")) and not np.size(values):
            continue
        # nor do those of muscles and slider-cranks
        if name in ("actuator_lengthrange", "actuator_cranklength") and not np.any(values):
            continue
        if values is not None:
            digest.update(name.encode() + np.asarray(values, np.float32).tobytes())
    return digest.hexdigest()[:16]


def hashes(name, device):
    options, count = DEVICES[device]
    model = ds.Model.from_mjcf(SOURCES[name])
    return {"model": model_hash(model), "environments": final_hashes(rollout(model, range(count), STEPS, **options))}


def problem(name, device, golden):
    """What is wrong with a model on a device, in words; None where it is right."""
    if name not in golden:
        return "has no golden hash: run tests/golden/golden.py write"
    found, wanted = hashes(name, device), golden[name]
    if found["model"] != wanted["model"]:
        return (
            f"is another model than the hashes were made with (MuJoCo {golden['_mujoco']}, gymnasium "
            f"{golden['_gymnasium']}): run tests/golden/golden.py write with the versions of this machine, and "
            "look at nothing but those hashes changing"
        )
    count = len(found["environments"])
    if found["environments"] != wanted["environments"][:count]:
        return f"stands elsewhere after {STEPS} steps on '{device}': {found['environments']}"
    return None


def load():
    return json.loads(FILE.read_text())


def write():
    import gymnasium
    import mujoco

    golden = {"_mujoco": mujoco.__version__, "_gymnasium": gymnasium.__version__}
    for name in MODELS:
        golden[name] = hashes(name, "cpu")
        print(name, *golden[name]["environments"])
    FILE.write_text(json.dumps(golden, indent=1) + "\n")


def check(devices):
    golden, wrong = load(), 0
    for device in devices:
        for name in MODELS:
            what = problem(name, device, golden)
            wrong += what is not None
            print(f"{name} on {device}: {what or 'ok'}")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "write"))
    parser.add_argument("--device", choices=DEVICES, help="alone, in place of all")
    given = parser.parse_args()
    if given.what == "write":
        write()
    sys.exit(check([given.device] if given.device else DEVICES) != 0)
