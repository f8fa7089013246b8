"""Models that a checkpoint brings along: a child reads them first."""

import numpy as np
import pytest

import dualstep as ds
from dualstep import _loading
from dualstep.envs import assets


@pytest.fixture
def stored():
    model = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    return assets.encode(model.mj_model)


def test_damaged_bytes_are_refused_or_read(stored):
    assert assets._decode(stored).nv == 6
    rng = np.random.default_rng(1)
    for _ in range(3):
        bad = bytearray(stored)
        for at in rng.integers(0, min(len(bad), 3000), size=12):
            bad[at] = 0xFF
        try:
            ds.Model.from_mujoco(assets._decode(bytes(bad)))
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize("end, words", [
    ("os.abort()", "signal 6"),
    ("os.kill(os.getpid(), 9)", "signal 9"),
    ("os._exit(7)", "status 7"),
])  # fmt: skip
def test_what_kills_its_reader_kills_a_child(stored, monkeypatch, end, words):
    """The reader is ended in place of MuJoCo's: 4.0.1's own survived thousands of damaged models."""
    reads = "model = mujoco.MjModel.from_binary_path(place)"
    assert reads in _loading._CHILD
    monkeypatch.setattr(_loading, "_CHILD", _loading._CHILD.replace(reads, f"import os; {end}"))
    with pytest.raises(ValueError, match=f"cannot be read by MuJoCo .*: MuJoCo does not survive this model: it ends with {words}"):
        assets._decode(stored)
