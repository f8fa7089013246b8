"""The number of threads an environment, chosen by time and remembered."""

import numpy as np
import pytest
from answers import host
from scenes import ALL

import dualstep as ds
from dualstep.tune import CHOICES, seconds_of_step, tune_lanes


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Timer:
    def __init__(self, **times):
        self.times, self.calls = times, []

    def __call__(self, model, num_envs, device, lanes):
        self.calls.append(lanes)
        return self.times[f"w{lanes}"]


def load(name):
    return ds.Model.from_mjcf(ALL[name])


def test_the_fastest_is_taken_and_remembered(cache):
    model, first = load("reacher"), Timer(w1=3.0, w8=1.0, w32=2.0)
    assert tune_lanes(model, 100, "emulated", first) == 8 and first.calls == list(CHOICES)
    other = Timer(w1=1.0, w8=2.0, w32=3.0)
    assert tune_lanes(model, 100, "emulated", other) == 8 and other.calls == []
    # about the same size is the same choice; another size or model is not
    assert tune_lanes(model, 127, "emulated", other) == 8 and other.calls == []
    assert tune_lanes(model, 128, "emulated", other) == 1 and other.calls == list(CHOICES)
    assert tune_lanes(load("swimmer"), 100, "emulated", other) == 1


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"lanes": 7}', '{"lanes": null}'])
def test_a_damaged_file_is_made_again(cache, damage):
    model, timer = load("reacher"), Timer(w1=2.0, w8=3.0, w32=1.0)
    assert tune_lanes(model, 4, "emulated", timer) == 32
    (path,) = cache.iterdir()
    path.write_text(damage)
    assert tune_lanes(model, 4, "emulated", timer) == 32 and len(timer.calls) == 6
    assert tune_lanes(model, 4, "emulated", timer) == 32 and len(timer.calls) == 6


def test_without_a_place_to_remember(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path / "file" / "below"))
    timer = Timer(w1=2.0, w8=1.0, w32=3.0)
    assert tune_lanes(load("reacher"), 4, "emulated", timer) == tune_lanes(load("reacher"), 4, "emulated", timer) == 8
    assert len(timer.calls) == 6


def test_only_devices_with_threads_an_environment():
    with pytest.raises(ValueError, match="'cpu'"):
        tune_lanes(load("reacher"), 4, "cpu")


def test_batches_are_timed_and_no_choice_changes_a_bit(cache):
    model = load("reacher")
    assert seconds_of_step(model, 2, "emulated", 8) > 0
    assert tune_lanes(model, 2, "emulated") in CHOICES
    ends = []
    for lanes in CHOICES:
        with ds.Batch(model, 3, "emulated", lanes=lanes) as batch:
            batch.ctrl = np.full((3, model.nu), 0.5, np.float32)
            batch.step(20)
            ends.append(host(batch.qpos).tobytes())
    assert len(set(ends)) == 1
