"""Models for programs that have neither MuJoCo nor Python: their arrays in a file."""

import numpy as np

from dualstep import _core


def write(path, source):
    """Every array that dualstep takes of an mjModel, as text: what tests/support/read_raw.h reads."""
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
