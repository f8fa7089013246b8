"""Writes the models that the fuzzers change: every array that dualstep takes of an mjModel, as text.

PYTHONPATH=bindings/python python tests/fuzz/write_corpus.py
"""

import pathlib
import sys

import mujoco

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "python" / "reference"), str(HERE.parent / "python" / "support")]


# a kind of element each, few dofs: a hundred of these take as long as one scene that has everything
SCENES = (
    "actuator_dcmotor", "actuator_delay", "actuator_muscle", "actuator_pid", "actuator_slidercrank", "equality_joint", "everything", "limit_joints",
    "mocap", "sensor_frame", "sensor_touch", "tendon_fixed", "tendon_rows", "tendon_wrap",
)  # fmt: skip


def main(folder: pathlib.Path = HERE / "corpus") -> None:
    from raw_models import write
    from test_relations import LINKS

    write(folder / "links.raw", mujoco.MjModel.from_xml_string(LINKS))
    for scene in SCENES:
        write(folder / f"{scene}.raw", mujoco.MjModel.from_xml_path(str(HERE.parent / "scenes" / f"{scene}.xml")))


if __name__ == "__main__":
    main()
