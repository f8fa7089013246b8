"""Rollouts that depend on nothing but the model: what must come out with the same bits, wherever they run.

An environment is one of `IDENTITIES`: its start and its controls at every step follow from that number, not from
its place in a batch. Random numbers are a counter through splitmix64 (Steele, Lea, Flood 2014), so that no
library's next version can change them.
"""

import hashlib

import numpy as np

import dualstep as ds
from dualstep.measure.workload import host

_TINY = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
IDENTITIES = 32
KEPT = "qpos qvel act qacc_warmstart time status iterations".split()
OUTPUTS = [name for name, role, _, _ in ds._core.batch_fields() if role == "output"]


def uniform(key, shape):
    """Numbers between -1 and 1, the same on every machine."""
    z = np.arange(1, np.prod(shape, dtype=int) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = (z + np.uint64(key) * np.uint64(0x100000000)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return ((z >> np.uint64(40)).astype(np.float64) / 2**23 - 1).reshape(shape)


def present(device):
    """Whether batches can run there."""
    try:
        ds.Batch(ds.Model.from_mjcf(_TINY), 1, device=device).close()
    except ValueError:
        return False
    return True


def in_software():
    """Whether device "cuda" is the PTX interpreter of tests/ptx_interpreter."""
    with ds.Batch(ds.Model.from_mjcf(_TINY), 1, device="cuda") as sim:
        return "PTX interpreter" in sim.description


def snapshot(sim, names):
    """Copies on the host, wherever the batch lives."""
    arrays = {name: host(getattr(sim, name)) for name in names}
    if "contact_dist" in names:
        arrays |= {f"contact_{name}": host(array) for name, array in sim.contacts()._asdict().items()}
    return arrays


def rollout(model, rows, steps, names=KEPT, every=100, **options):
    """Arrays by name at the first steps and then at every so many; environment r is identity rows[r]."""
    rows = np.asarray(rows) % IDENTITIES
    trail = {}
    with ds.Batch(model, len(rows), **options) as sim:
        sim.qvel = uniform(0, (IDENTITIES, model.nv))[rows].astype(sim.dtype)
        if "contact_dist" in names:
            snapshot(sim, names)  # every output is wanted from the first step on
        for step in range(1, steps + 1):
            sim.ctrl = uniform(step, (IDENTITIES, model.nu))[rows].astype(sim.dtype)
            sim.step()
            if step <= 10 or step % every == 0 or step == steps:
                trail[step] = snapshot(sim, names)
    return trail


def first_difference(one, other, rows_one=slice(None), rows_other=slice(None)):
    """Where two trails part: step, array, environment and entry; None where all bits agree."""
    for step in sorted(one.keys() & other.keys()):
        for name, array in one[step].items():
            a, b = np.ascontiguousarray(array[rows_one]), np.ascontiguousarray(other[step][name][rows_other])
            if a.tobytes() == b.tobytes():
                continue
            unequal = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
            place = tuple(int(i) for i in np.argwhere(unequal)[0])
            return f"step {step}: {name}{list(place)} is {a[place]!r} and {b[place]!r}"
    return None


def final_hashes(trail):
    """Of qpos and qvel of each environment at the end."""
    last = trail[max(trail)]
    return [
        hashlib.sha256(q.tobytes() + v.tobytes()).hexdigest()[:16] for q, v in zip(last["qpos"], last["qvel"], strict=True)
    ]


def assert_one_answer(model, steps, names):
    """Packs and lanes of several widths and orders give the same bits every few steps, and what stands beside an
    environment in its pack does not matter."""
    rows, options = [0, 9, 21], {"names": names, "every": 5}
    expected = rollout(model, rows, steps, device="cpu", **options)
    for lanes, order in ((1, "ordered"), (4, "reversed"), (32, "shuffled")):
        got = rollout(model, rows, steps, device="emulated", lanes=lanes, order=order, **options)
        assert first_difference(got, expected) is None, lanes
    alone = rollout(model, rows[1:2], steps, device="cpu", **options)
    assert first_difference(alone, expected, slice(None), [1]) is None
