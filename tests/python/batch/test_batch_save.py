"""Save and load: bit-exact, in a new process, in other places; damaged or foreign bytes are refused."""

import random
import struct
import subprocess
import sys

import numpy as np
import pytest
from batch_models import SMALL, assert_same, everything, gym, shake, small

import dualstep as ds

N = 21


def run(model=None, n=N, steps=12, seed=2, **options):
    sim = ds.Batch(model or small(), n, **options)
    shake(sim, np.random.default_rng(seed))
    sim.mocap_pos[...] = 0.5
    for _ in range(steps):
        sim.step(2)
    return sim


def onward(sim):
    """What becomes of it: outputs now, then a stretch under fixed controls."""
    now = everything(sim)
    sim.ctrl[...] = 0.2
    for _ in range(10):
        sim.step(3)
    return now, everything(sim)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["small", "humanoid"])
def test_loading_gives_the_same_bits(name, dtype):
    model = small() if name == "small" else gym(name)
    sim = run(model, dtype=dtype)
    state = sim.save()
    other = ds.Batch(model, N, dtype=dtype)
    other.load(state)
    assert other.save() == state
    for a, b in zip(onward(sim), onward(other), strict=True):
        assert_same(a, b)
    # back to where it was
    sim.load(state)
    assert sim.save() == state


def test_a_diverged_environment_is_saved_as_it_is():
    sim, other = run(), ds.Batch(small(), N)
    sim.qvel[4] = np.nan
    sim.step()
    other.load(sim.save())
    assert other.status[4] == ds.Status.DIVERGED
    for a, b in zip(onward(sim), onward(other), strict=True):
        assert_same(a, b)


def test_other_places_and_sizes():
    sim = run()
    state = sim.save([3, 20, 7])
    other = run(n=40, seed=9)
    before = everything(other)
    places = np.array([39, 0, 17])
    other.load(state, places)
    after = everything(other)
    assert_same(after, everything(sim), places, [3, 20, 7])
    rest = ~np.isin(np.arange(40), places)
    assert_same(after, before, rest, rest)
    _, end = onward(sim)
    _, end_other = onward(other)
    assert_same(end_other, end, places, [3, 20, 7])
    mask = np.zeros(40, bool)
    mask[[0, 17, 39]] = True
    assert other.save(mask) == other.save([0, 17, 39]) != other.save([17, 0, 39])
    assert other.save(5) == other.save([5])


def test_a_new_process_goes_on_with_the_same_bits(tmp_path):
    sim = run()
    sim.set_parameter("geom_friction", np.linspace(0.5, 1, N)[:, None, None] * sim.model.geom_friction)
    (tmp_path / "state").write_bytes(sim.save())
    (tmp_path / "small.xml").write_text(SMALL)
    program = """
import sys, dualstep as ds
folder, n = sys.argv[1], int(sys.argv[2])
sim = ds.Batch(ds.Model.from_mjcf(folder + "/small.xml"), n, num_threads=1)
sim.load(open(folder + "/state", "rb").read())
for _ in range(25):
    sim.step(2)
open(folder + "/after", "wb").write(sim.save())
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path), str(N)], check=True)
    for _ in range(25):
        sim.step(2)
    assert sim.save() == (tmp_path / "after").read_bytes()


def test_parameters_are_part_of_the_state():
    sim, other, plain = run(), run(seed=8), run(seed=8)
    masses = sim.model.body_mass * np.linspace(1, 2, N)[:, None]
    sim.set_parameter("body_mass", masses)
    other.set_parameter("opt_gravity", [0, 0, -3])
    other.load(sim.save())
    np.testing.assert_array_equal(other.get_parameter("body_mass"), masses)
    np.testing.assert_array_equal(other.get_parameter("opt_gravity"), np.tile(sim.model.opt.gravity, (N, 1)))
    for a, b in zip(onward(sim), onward(other), strict=True):
        assert_same(a, b)
    # and a state without any takes them away
    other.load(plain.save())
    np.testing.assert_array_equal(other.get_parameter("body_mass"), np.tile(sim.model.body_mass, (N, 1)))
    for a, b in zip(onward(plain), onward(other), strict=True):
        assert_same(a, b)


def refused(sim, state, words, envs=None):
    before = sim.save(), everything(sim)
    with pytest.raises(ValueError) as error:
        sim.load(state, envs)
    assert all(word in str(error.value) for word in words), error.value
    assert sim.save() == before[0]
    assert_same(everything(sim), before[1])


def test_states_of_something_else_are_refused():
    sim = run()
    state = sim.save()
    refused(sim, ds.Batch(gym("ant"), N).save(), ["another model"])
    heavier = ds.Model.from_mjcf(SMALL.replace('size=".1"', 'size=".11"'))
    refused(sim, ds.Batch(heavier, N).save(), ["another model"])
    refused(sim, ds.Batch(small(), N, dtype="float64").save(), ["float64", "float32"])
    refused(sim, ds.Batch(small(), N - 1).save(), [str(N - 1), str(N)])
    refused(sim, state, ["21", "2"], envs=[0, 1])
    refused(sim, state, ["twice"], envs=[0] * N)
    refused(sim, state, ["21"], envs=list(range(1, N + 1)))
    refused(sim, state, ["bool"], envs=np.ones((N, 2), bool))
    refused(sim, state, ["float64"], envs=np.zeros(N))
    for other in (None, "text", 3, [1, 2], np.zeros(3)):
        refused(sim, other, ["state", "bytes"])
    assert isinstance(state, bytes)
    sim.load(bytearray(state))
    sim.load(memoryview(state))


def test_damaged_bytes_are_refused():
    sim = run(n=3)
    sim.set_parameter("body_mass", sim.model.body_mass * 2, 1)
    state = sim.save()
    draw = random.Random(4)
    for cut in [0, 1, 7, 8, 63, 64, 71, 72, len(state) - 1, *(draw.randrange(len(state)) for _ in range(60))]:
        refused(sim, state[:cut], ["no state"])
    for place in [*range(80), *(draw.randrange(len(state)) for _ in range(300))]:
        flipped = bytearray(state)
        flipped[place] ^= 1 << draw.randrange(8)
        with pytest.raises(ValueError):
            sim.load(bytes(flipped))
    assert sim.save() == state
    refused(sim, state + b"\0" * 8, ["no state"])
    refused(sim, bytes(len(state)), ["no state"])
    refused(sim, draw.randbytes(2000), ["no state"])


def checksum(data):
    """The format's checksum, to forge states that pass it."""
    mask = 2**64 - 1
    h = (len(data) * 0x9E3779B97F4A7C15) & mask
    for i in range(0, len(data), 8):
        h = ((h ^ int.from_bytes(data[i : i + 8], "little")) * 0xFF51AFD7ED558CCD) & mask
        h ^= h >> 32
    return struct.pack("<Q", h)


def test_forged_bytes_are_refused():
    # lengths and counts that lie, under a checksum that does not
    sim = run(n=3)
    sim.set_parameter("body_mass", sim.model.body_mass * 2, 1)
    state = sim.save()
    assert checksum(state[:-8]) == state[-8:]
    draw = random.Random(6)
    words = [place for place in range(8, len(state) - 8, 8) if place < 120 or draw.random() < 0.2]
    for place in words:
        for value in (0, 1, 2**31, 2**63, 2**64 - 1):
            forged = bytearray(state[:-8])
            forged[place : place + 8] = struct.pack("<Q", value)
            forged += checksum(forged)
            try:
                sim.load(bytes(forged))
            except ValueError:
                assert sim.save() == state
            else:  # a number of the state itself: taken for what it is
                sim.load(state)
    version = bytearray(state[:-8])
    version[8] = 9
    refused(sim, bytes(version + checksum(version)), ["version 9"])
    poisoned = bytearray(state[:-8])
    at = poisoned.rfind(struct.pack("<d", sim.model.body_mass[2] * 2))
    poisoned[at : at + 8] = struct.pack("<d", float("nan"))
    refused(sim, bytes(poisoned + checksum(poisoned)), ["body_mass", "finite"])


@pytest.mark.parametrize("option", ["timestep='0.01'", "integrator='RK4'", "gravity='0 0 -1'", "cone='elliptic'"])
def test_other_options_are_another_model(option):
    text = "<mujoco><option {}/><worldbody><body pos='0 0 1'><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    with ds.Batch(ds.Model.from_mjcf(text.format("")), 1) as sim, ds.Batch(ds.Model.from_mjcf(text.format(option)), 1) as other:
        refused(other, sim.save(), ["other options"])
    model = ds.Model.from_mjcf(text.format(""))
    model.opt.contact_model = "anitescu"
    with ds.Batch(model, 1) as other, ds.Batch(ds.Model.from_mjcf(text.format("")), 1) as sim:
        refused(other, sim.save(), ["other options"])
