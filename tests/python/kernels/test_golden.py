"""The golden hashes of tests/golden, on the CPU and on emulated lanes."""

import golden
import pytest
from answers import in_software

# what generic kernels leave out has a step made for it wherever it runs
NOT_GENERIC = {"terrain", "islands", "herd", "fluid_ellipsoid", "contact_surfaces"}
# on the PTX interpreter the run-time compiler is what takes the time: there every second model has a step made for it
# besides; the others run the generic kernels, which are the same source
SPECIALIZED = {*golden.MODELS[::2], *NOT_GENERIC}


@pytest.mark.parametrize(
    ("name", "device"), [(name, device) for device in golden.DEVICES for name in golden.MODELS]
)
def test_golden_hash(name, device, monkeypatch):
    if device == "cuda" and name in NOT_GENERIC:
        monkeypatch.setenv("DUALSTEP_SPECIALIZE", "1")
    elif device == "cuda" and in_software() and name not in SPECIALIZED:
        monkeypatch.setenv("DUALSTEP_SPECIALIZE", "0")
    assert golden.problem(name, device, golden.load()) is None


def test_the_hash_sees_a_single_bit():
    import numpy as np
    from answers import final_hashes

    arrays = {"qpos": np.ones((1, 3), np.float32), "qvel": np.ones((1, 3), np.float32)}
    before = final_hashes({1: arrays})
    arrays["qvel"][0, 2] = np.nextafter(arrays["qvel"][0, 2], np.float32(2))
    assert final_hashes({1: arrays}) != before
