"""How a step is launched, chosen by time and remembered."""

import numpy as np
import pytest
from answers import host
from scenes import ALL

import dualstep as ds
from dualstep.tune import CHOICES, PARTS, remembered_lanes, seconds_of_step, ticks_of_parts, tune_lanes


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Timer:
    def __init__(self, **times):
        self.times, self.calls = times, []

    def __call__(self, model, num_envs, device, lanes):
        self.calls.append(lanes)
        return self.times["parts" if isinstance(lanes, tuple) else f"w{lanes}"]


def by_part(model, num_envs, device, lanes):
    """Each part is fastest with other threads."""
    best = (1, 8, 32, 8, 1)
    return [10 + abs(lanes - wanted) for wanted in best]


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


def test_parts_of_a_step_get_threads_of_their_own_where_that_is_faster(cache):
    model = load("reacher")
    slower, faster = Timer(w1=3.0, w8=1.0, w32=2.0, parts=1.5), Timer(w1=3.0, w8=1.0, w32=2.0, parts=0.5)
    assert tune_lanes(model, 100, "emulated", slower, by_part) == 8
    assert slower.calls == [*CHOICES, (1, 8, 32, 8, 1)]
    assert tune_lanes(model, 1000, "emulated", faster, by_part) == (1, 8, 32, 8, 1)
    # the next process asks the disk, by what a batch says of itself, and steps nothing
    assert tune_lanes(model, 1000, "emulated", Timer()) == (1, 8, 32, 8, 1)
    assert remembered_lanes(model, 1000, "emulated, 4 lanes, ordered") == (1, 8, 32, 8, 1)
    assert remembered_lanes(model, 100, "emulated, 8 lanes, shuffled") == 8
    assert remembered_lanes(model, 10, "emulated, 8 lanes, shuffled") is None
    assert remembered_lanes(model, 1000, "cuda:0, Some GPU, 8 threads an environment") is None


def test_only_a_gpu_times_parts():
    assert ticks_of_parts(load("reacher"), 2, "emulated", 8) == []
    assert set(PARTS) < set(stage_names())


def stage_names():
    with ds.Batch(load("reacher"), 1, "cpu") as batch:
        batch._core.time_stages(True)
        batch.step()
        return batch._core.stage_ticks()


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_a_batch_asks_for_no_tuning_where_there_is_nothing_to_gain(cache, device):
    with ds.Batch(load("reacher"), 4, device, lanes="tuned") as tuned, ds.Batch(load("reacher"), 4, device) as plain:
        assert tuned.description == plain.description
    assert not cache.exists()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"lanes": 7}', '{"lanes": null}', '{"lanes": [8, 8]}'])
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
    for lanes in (*CHOICES, (1, 8, 32, 8, 1)):
        with ds.Batch(model, 3, "emulated", lanes=lanes) as batch:
            batch.ctrl = np.full((3, model.nu), 0.5, np.float32)
            batch.step(20)
            ends.append(host(batch.qpos).tobytes())
    assert len(set(ends)) == 1
