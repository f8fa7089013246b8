"""Writes the models that the fuzzers change: every array that dualstep takes of an mjModel, as text.

PYTHONPATH=bindings/python python tests/fuzz/write_corpus.py
"""

import pathlib
import sys

import mujoco
import numpy as np

from dualstep import _core

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "python" / "reference"), str(HERE.parent / "python" / "support")]


def write(path: pathlib.Path, source: mujoco.MjModel) -> None:
    lines = [f"size {name} {getattr(source, name)}" for name in _core.model_size_names()]
    for kind, letter in (("int", "I"), ("real", "R")):
        for name in _core.model_field_names(letter):
            values = np.asarray(getattr(source, name)).reshape(-1)
            words = (str(int(v)) if letter == "I" else f"{v:.17g}" for v in values)
            lines.append(" ".join((kind, name, *words)))
    for name in _core.model_option_names():
        lines.append(" ".join(("option", name, *(f"{v:.17g}" for v in np.atleast_1d(getattr(source.opt, name))))))
    lines += [f"names {bytes(source.names).hex()}", f"text {bytes(source.text_data).hex()}"]
    path.write_text("\n".join(lines) + "\n")


# a kind of element each, few dofs: a hundred of these take as long as one scene that has everything
SCENES = (
    "actuator_dcmotor", "actuator_delay", "actuator_muscle", "actuator_slidercrank", "equality_joint", "everything", "limit_joints",
    "mocap", "sensor_frame", "sensor_touch", "tendon_fixed", "tendon_rows", "tendon_wrap",
)  # fmt: skip


def main() -> None:
    from test_relations import LINKS

    write(HERE / "corpus" / "links.raw", mujoco.MjModel.from_xml_string(LINKS))
    for scene in SCENES:
        write(HERE / "corpus" / f"{scene}.raw", mujoco.MjModel.from_xml_path(str(HERE.parent / "scenes" / f"{scene}.xml")))


if __name__ == "__main__":
    main()
