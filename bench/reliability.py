"""Measures what dualstep promises of its reliability, and writes docs/reliability.md.

    python bench/reliability.py --fclib FOLDER --corpus FOLDER    # all figures, an hour; fails where one is worse than its limit
    python bench/reliability.py isolation kkt                     # some of them, to the terminal alone
    python bench/reliability.py soak --soak 1e6                   # a soak of so many environment-steps, in place of 1e8

Of --fclib, FOLDER has problems of contact with dry friction, .dat and .hdf5: numerics/src/FrictionContact/test/data of
Siconos. Of --corpus, it has models in MJCF: model and test of MuJoCo's repository. --build FOLDER is what ./test builds.

Every figure is measured by code of its own, which asks a batch and nothing else, and has a limit that is committed here.
Peers' values are of November 2026, on two CPU cores: MuJoCo 4.0.0, MuJoCo Warp 4.0.0; "-" where none was measured.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import itertools
import json
import math
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from built_figures import BUILD, RUNS, fuzzed, interpreted, races
from closed_forms import closed_forms, momentum, rotation
from command_figures import CORPUS, SEARCH, corpus, golden, machines, searched
from consistency import consistency
from fclib import PROBLEMS, problems
from kkt import residuals
from reliability_page import Figure, got_worse, page, replace_sections

import dualstep as ds
from dualstep.measure.workload import STATE

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"
MEASURED = ROOT / "bench" / "results" / "reliability.json"
"""the values that the page has"""
RECORDS = ("time", "status", "iterations", "residual")
NAMES = ("humanoid", "ant", "hopper", "walker2d_v5", "half_cheetah", "swimmer", "reacher", "pusher_v5",
         "inverted_pendulum", "inverted_double_pendulum", "humanoidstandup")  # fmt: skip


def models() -> dict[str, ds.Model]:
    import gymnasium

    folder = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    found = {name: ds.Model.from_mjcf(folder / f"{name}.xml") for name in NAMES}
    found["benchmark humanoid"] = ds.Model.from_mjcf(ROOT / "bench" / "models" / "humanoid.xml")
    return found


def shaken(model: ds.Model, count: int, seed: int = 0, **options: Any) -> ds.Batch:
    """A batch amid motion, other in each environment."""
    batch, rng = ds.Batch(model, count, device="cpu", **options), np.random.default_rng(seed)
    batch.qvel[...] = rng.normal(0, 0.5, batch.qvel.shape)
    act(batch, rng, 30)
    return batch


def act(batch: ds.Batch, rng: np.random.Generator, steps: int) -> None:
    for _ in range(steps):
        batch.ctrl[...] = rng.uniform(-1, 1, batch.ctrl.shape)
        batch.step()


def all_of(batch: ds.Batch) -> dict[str, np.ndarray]:
    return {name: np.array(getattr(batch, name)) for name in (*STATE, *RECORDS, "qacc", "xpos", "qfrc_constraint")}


def differing(a: dict[str, np.ndarray], b: dict[str, np.ndarray], rows: Any = slice(None), of: Any = slice(None)) -> int:
    """Environments with a bit that differs; a NaN is a NaN."""
    wrong = None
    for name in a:
        one, other = a[name][rows], b[name][of]
        same = (one == other) | ((one != one) & (other != other))
        bad = ~same.reshape(len(one), -1).all(axis=1)
        wrong = bad if wrong is None else wrong | bad
    return 0 if wrong is None else int(wrong.sum())


# the figures ---------------------------------------------------------------------------------------------------


def batch_size() -> tuple[float, str]:
    """1, 2: the same 64 environments in batches of 1 to 65,536, in other places, under overflow too; a thousand steps, of the
    largest batches a hundred."""
    wrong = looked = 0
    for model in models().values():
        for capacity in (0, 3):
            model.opt.contact_capacity = capacity
            start = shaken(model, 64)
            arrays = {field: np.array(getattr(start, field)) for field in STATE}
            start.close()

            def run(
                rows: np.ndarray, steps: int, model: ds.Model = model, arrays: dict[str, np.ndarray] = arrays
            ) -> dict[str, np.ndarray]:
                with ds.Batch(model, len(rows), device="cpu") as batch:
                    for field, array in arrays.items():
                        getattr(batch, field)[...] = array[rows % 64]
                    batch.step(steps)
                    return all_of(batch)

            rng = np.random.default_rng(1)
            few = (np.array([5]), np.arange(7), np.arange(32), rng.permutation(64))
            many = (np.arange(4096), np.arange(65536)[::-1]) if capacity == 0 else (np.arange(4096),)
            for steps, batches in ((1000, few), (100, many)):
                whole = run(np.arange(64), steps)
                for rows in batches:
                    wrong += differing(run(rows, steps), whole, slice(None), rows % 64)
                    looked += len(rows)
    return wrong, f"{wrong} of {looked:,} environments of {len(models())} models differ in a bit from the same ones in another batch"


def isolation() -> tuple[float, str]:
    """7: numbers no simulation can use, in one of 4,096 environments, with room for all contacts and for two."""
    kinds, wrong, cases = (np.nan, np.inf, -np.inf, 1e12, 1e30), 0, 0
    for model, capacity in itertools.product(models().values(), (0, 2)):
        model.opt.contact_capacity = capacity
        clean, victim = shaken(model, 4096), 1234
        others = np.arange(4096) != victim
        start = clean.save()
        clean.step(10)
        wanted = all_of(clean)
        for value in kinds:
            for field in ("qpos", "qvel", "act", "ctrl", "xfrc_applied", "qfrc_applied", "mocap_pos", "mocap_quat"):
                array = getattr(clean, field)
                if array[0].size == 0:
                    continue
                clean.load(start)
                array[victim] = value
                clean.step(10)
                wrong += differing(all_of(clean), wanted, others, others)
                cases += 1
                array[victim] = 0
        # parameters: what no simulation can use is refused, and what is large is taken
        clean.load(start)
        for name, value in (("opt_gravity", [1e12, -1e12, 1e12]), ("body_mass", 1e9), ("dof_damping", 1e9)):
            shape = clean.get_parameter(name, [victim]).shape
            clean.load(start)
            clean.set_parameter(name, np.broadcast_to(value, shape), [victim])
            clean.step(10)
            wrong += differing(all_of(clean), wanted, others, others)
            cases += 1
        clean.close()
    return wrong, f"{wrong} of 4,095 neighbours changed in a bit, in {cases} cases on {len(models())} models"


def wild_controls(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """What no controller should say."""
    return rng.choice((-1, 1, 1e3, -1e6, np.nan), shape, p=(0.45, 0.45, 0.06, 0.03, 0.01))


def strike(batch: ds.Batch, rng: np.random.Generator, first: int) -> None:
    """Blows of any strength to eight environments from number `first` on."""
    hit = rng.integers(first, batch.num_envs, 8)
    batch.qvel[hit] = rng.normal(0, 10.0 ** rng.integers(0, 9), (8, batch.qvel.shape[1]))


def lost_now(batch: ds.Batch) -> int:
    """Environments with a number that is not finite, and no bit of status."""
    finite = np.isfinite(batch.residual)
    for array in (batch.qacc, batch.qpos, batch.qvel):
        finite &= np.isfinite(array).all(axis=1)
    return int((~finite & (batch.status == 0)).sum())


def unflagged() -> tuple[float, str]:
    """8: states that are not finite, or accelerations, under adversarial controls and speeds, without a bit of status."""
    lost = steps = flagged = 0
    for number, model in enumerate(models().values()):
        rng = np.random.default_rng(number)
        with ds.Batch(model, 256, device="cpu", diverged="reset") as batch:
            for _ in range(60):
                batch.ctrl[...] = wild_controls(rng, batch.ctrl.shape)
                strike(batch, rng, 0)
                batch.step()
                lost += lost_now(batch)
                flagged += int((batch.status & 1).sum())
                steps += 256
    return lost, f"{lost} of {steps:,} environment-steps were not finite and not flagged; {flagged:,} were flagged as diverged"


def memory_in_use() -> float:
    """Of this process, in MB."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


SOAK = [1e8]
"""environment-steps of the soak, which an option changes"""
SOAKED, EPISODE = 1024, 1000


def soaked_controls(rng: np.random.Generator, width: int) -> np.ndarray:
    """Half of the environments within the ranges of most, a quarter at their ends, a quarter wild."""
    calm, ends = SOAKED // 2, SOAKED // 4
    return np.concatenate((rng.uniform(-1, 1, (calm, width)), rng.choice((-1, 1), (ends, width)),
                           wild_controls(rng, (SOAKED - calm - ends, width))))  # fmt: skip


def soak() -> tuple[float, str]:
    """9: a long run of all models, under random and adversarial actions and blows, episodes of 1,000 steps."""
    lost = steps = 0
    causes = dict.fromkeys(ds.Status, 0)
    soaked = models()
    share = math.ceil(SOAK[0] / len(soaked) / SOAKED)
    growth = 0.0
    for number, (name, model) in enumerate(soaked.items()):
        rng = np.random.default_rng(number)
        with ds.Batch(model, SOAKED, device="cpu", diverged="reset") as batch:
            # episodes begin one after the other, not together
            left = rng.integers(1, EPISODE + 1, SOAKED)
            before = 0.0
            for step in range(share):
                if step % 5 == 0:
                    batch.ctrl[...] = soaked_controls(rng, model.nu)
                if step % 10 == 0:
                    strike(batch, rng, SOAKED * 3 // 4)
                batch.step()
                lost += lost_now(batch)
                if batch.status.any():
                    for bit in causes:
                        causes[bit] += int(((batch.status & int(bit)) != 0).sum())
                left -= 1
                if (ended := left == 0).any():
                    batch.reset(ended)
                    left[ended] = EPISODE
                if step == share // 10:
                    before = memory_in_use()
            steps += share * SOAKED
            growth = max(growth, memory_in_use() - before)
        print(f"  soak, {name}: {steps:,} of {SOAK[0]:,.0f}, {lost} lost", file=sys.stderr, flush=True)
    told = ", ".join(f"{count:,} {bit.name}" for bit, count in causes.items() if count)
    return lost, (f"{lost} of {steps:,} environment-steps of {len(soaked)} models were not finite and not flagged; flagged "
                  f"were {told}; the memory of the process grew by at most {growth:.0f} MB on any of them")  # fmt: skip


def overflow() -> tuple[float, str]:
    """10: the bit of an overflow is set where contacts are lost, and nowhere else; how many are needed is said."""
    wrong = looked = 0
    for name in ("humanoid", "ant", "humanoidstandup", "hopper", "walker2d_v5", "half_cheetah", "benchmark humanoid"):
        model = models()[name]
        with shaken(model, 256) as batch:
            act(batch, np.random.default_rng(2), 120)
            state, need = batch.save(), np.array(batch.contacts().count)
            arrays = {field: np.array(getattr(batch, field)) for field in STATE}
        del state
        for capacity in range(1, int(need.max()) + 1):
            model.opt.contact_capacity = capacity
            with ds.Batch(model, 256, device="cpu") as batch, ds.Batch(models()[name], 256, device="cpu") as roomy:
                for other in (batch, roomy):
                    for field, array in arrays.items():
                        getattr(other, field)[...] = array
                    other.forward()
                need_here = np.array(roomy.contacts().count)
                flagged = (batch.status & int(ds.Status.CONTACT_OVERFLOW)) > 0
                wrong += int(((flagged != (need_here > capacity)) | (batch.contacts_needed != need_here)).sum())
                looked += 256
    return wrong, f"{wrong} of {looked:,} environments have the bit of a contact overflow wrong, or the number that they need"


def fail_safe() -> tuple[float, str]:
    """11: scenes at rest, a second with half of the contacts that they need: the largest acceleration as a multiple of that with
    all, or of gravity where that is larger, and how many cm away from there something ends."""
    scenes = {"a tower of ten boxes": ROOT / "bench" / "models" / "solver" / "stack.xml",
              "a lying humanoid": ROOT / "bench" / "models" / "humanoid.xml"}  # fmt: skip
    worst, told = 0.0, []
    for name, path in scenes.items():
        model = ds.Model.from_mjcf(path)
        with ds.Batch(model, 1, device="cpu") as batch:
            batch.step(round(8 / model.opt.timestep))
            state, need = {field: np.array(getattr(batch, field)) for field in STATE}, int(np.array(batch.contacts().count)[0])
        (all_peak, all_end), (peak, end) = (
            a_second(model, state, capacity) for capacity in (need, (need + 1) // 2)
        )
        moved = float(np.abs(end - all_end).max())
        worst = max(worst, peak / all_peak, 100 * moved)
        told.append(f"{name} with {(need + 1) // 2} of {need} contacts {peak / all_peak:.1f} times, {100 * moved:.1f} cm")
    return worst, "; ".join(told)


def a_second(model: ds.Model, state: dict[str, np.ndarray], capacity: int) -> tuple[float, np.ndarray]:
    """The largest acceleration, at least gravity's, and where bodies end."""
    model.opt.contact_capacity, peak = capacity, 9.81
    with ds.Batch(model, 1, device="cpu") as batch:
        for field, array in state.items():
            getattr(batch, field)[...] = array
        for _ in range(math.ceil(1 / model.opt.timestep)):
            batch.step()
            peak = max(peak, float(np.abs(batch.qacc).max()))
        return peak, np.array(batch.xpos[0])


def restored_hash(batch: ds.Batch, state: bytes) -> str:
    """Of where a state goes on to."""
    batch.load(state)
    act(batch, np.random.default_rng(3), 50)
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in all_of(batch).values())).hexdigest()


def restored_elsewhere() -> tuple[int, int]:
    """Models whose state goes on otherwise in a new process, and how many were looked at."""
    here = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models().items():
            with shaken(model, 8) as batch:
                state = batch.save()
                pathlib.Path(folder, name).write_bytes(state)
                here[name] = restored_hash(batch, state)
        program = (
            "import json, pathlib, sys; sys.path.insert(0, sys.argv[1]); import reliability as r; print(json.dumps({name: r.restored_hash("
            "r.ds.Batch(model, 8, device='cpu'), pathlib.Path(sys.argv[2], name).read_bytes()) for name, model in r.models().items()}))"
        )
        ran = subprocess.run([sys.executable, "-c", program, str(ROOT / "bench"), folder], capture_output=True, text=True, check=True)
    there = json.loads(ran.stdout.splitlines()[-1])
    return sum(there[name] != here[name] for name in here), len(here)


def restore() -> tuple[float, str]:
    """12: a state goes on with the same bits in another batch, at another place, with other threads, in another process."""
    wrong = looked = 0
    for model in models().values():
        batch = shaken(model, 64)
        state, rng = batch.save(), np.random.default_rng(3)
        place = rng.permutation(64)
        with ds.Batch(model, 100, device="cpu", num_threads=1) as other:
            other.load(state, place + 20)
            controls = rng.uniform(-1, 1, batch.ctrl.shape)
            batch.ctrl[...], other.ctrl[place + 20] = controls, controls
            batch.step(50)
            other.step(50)
            wrong += differing(all_of(other), all_of(batch), place + 20)
            looked += 64
        batch.close()
    others, count = restored_elsewhere()
    return wrong + others, (
        f"{wrong} of {looked} restored environments differ in a bit; of {count} models {others} go on otherwise in a new process"
    )


def resets() -> tuple[float, str]:
    """13: those that are reset are as new, and the others as they were, in every array."""
    wrong = looked = 0
    for number, model in enumerate(models().values()):
        rng, batch = np.random.default_rng(number), shaken(model, 64, number)
        new = ds.Batch(model, 64, device="cpu")
        new.forward()
        names = [name for name, *_ in ds._core.batch_fields() if name != "reset_count"]

        def arrays(of: ds.Batch, names: list[str] = names) -> dict[str, np.ndarray]:
            found = {name: np.array(getattr(of, name)) for name in names}
            for name, array in found.items():  # slots without a contact hold what was there
                if name.startswith("contact_") and array.ndim > 1:
                    array[np.arange(array.shape[1]) >= found["contact_count"][:, None]] = 0
            return found

        for _ in range(8):
            mask, before = rng.random(64) < 0.4, arrays(batch)
            batch.reset(mask)
            after = arrays(batch)
            wrong += differing(after, before, ~mask, ~mask)
            fresh = arrays(new)
            for name in ("iterations", "residual"):  # of an evaluation, which a reset is none of
                del after[name], fresh[name]
            wrong += differing(after, fresh, mask, mask)
            looked += 64
            act(batch, rng, 3)
        batch.close()
        new.close()
    return wrong, f"{wrong} of {looked:,} environments are wrong after a masked reset"


def kkt() -> tuple[float, str]:
    """14: the relative residual of the constraints' problem at the defaults, in float32, by MuJoCo's own rows and laws in double
    precision, of all environments; where more than 1e-2 is left without a bit of status, the acceleration is right to 1e-2."""
    worst, lost, stiff, count, lines = 0.0, 0, 0, 0, []
    for number, (name, model) in enumerate(models().items()):
        with shaken(model, 128, number) as batch:
            rng = np.random.default_rng(number)
            found = residuals(model, batch, lambda batch, rng=rng: act(batch, rng, 3), 8)
        median, high, largest = (float(np.quantile(found.relative, q)) for q in (0.5, 0.95, 1))
        worst = max(worst, high)
        above = (found.relative > 1e-2) & (found.status == 0)
        stiff += int(np.count_nonzero(above))
        lost += int(np.count_nonzero(above & (found.error > 1e-2)))
        count += len(found.status)
        lines.append(f"{name} {median:.0e}, {high:.0e}, {largest:.0e}")
    told = f"median, p95 and largest: {'; '.join(lines)}; {stiff} of {count:,} are above 1e-2 and not flagged, {lost} of them with an error above 1e-2"
    return (math.inf if lost else worst), told


def one_step() -> tuple[float, str]:
    """16: accelerations beside MuJoCo's, converged, in double precision, on the scenes of the tests."""
    import mujoco

    worst, worst_of, count, left_out = 0.0, "", 0, 0
    for path in sorted((ROOT / "tests" / "scenes").glob("*.xml")):
        source = mujoco.MjModel.from_xml_path(str(path))
        source.opt.solver, source.opt.iterations, source.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 300, 0
        try:
            reference = ds.Reference(ds.Model.from_mujoco(source))
        except ValueError:
            left_out += 1
            continue
        data, rng = mujoco.MjData(source), np.random.default_rng(count)
        for _ in range(4):
            mujoco.mj_resetData(source, data)
            data.qvel[:], data.ctrl[:] = rng.normal(0, 1, source.nv), rng.uniform(-1, 1, source.nu)
            for _ in range(int(rng.integers(0, 20))):
                mujoco.mj_step(source, data)
            # of delayed controls both remember the same, up to one step ago
            remembered = []
            for a in np.flatnonzero((source.actuator_delay != 0) & (source.actuator_history[:, 0] != 0)):
                values = rng.normal(size=(source.actuator_history[a, 0], source.actuator_ctrlnum[a]))
                times = data.time - source.opt.timestep * np.arange(len(values), 0, -1)
                mujoco.mj_initCtrlHistory(source, data, a, times, values)
                remembered.append(values.T.ravel())
            if remembered:
                reference.ctrl_history[...] = np.concatenate(remembered)
            mujoco.mj_forward(source, data)
            for name in ("qpos", "qvel", "act", "ctrl"):
                getattr(reference, name)[...] = getattr(data, name)
            reference.time = data.time
            reference.forward()
            size = max(1.0, float(np.abs(data.qacc).max(initial=0)))
            error = float(np.abs(reference.qacc - data.qacc).max(initial=0)) / size
            if error > worst:
                worst, worst_of = error, path.stem
        count += 1
    return worst, f"largest relative difference of qacc {worst:.0e} ({worst_of}), on {count} scenes; {left_out} not simulated"


def conservation() -> tuple[float, str]:
    """17: energy of a double pendulum without losses, RK4: the order of its drift."""
    xml = """<mujoco><option timestep="{h}" integrator="RK4"/><worldbody><body pos="0 0 2"><joint axis="0 1 0"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .5 0 0" contype="0" conaffinity="0"/><body pos=".5 0 0"><joint axis="0 1 0"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .5 0 0" contype="0" conaffinity="0"/></body></body></worldbody></mujoco>"""
    drifts = []
    for h in (0.008, 0.004):
        reference = ds.Reference(ds.Model.from_mjcf(xml.format(h=h)))
        reference.forward()
        before, drift = float(sum(reference.energy)), 0.0
        for _ in range(int(4 / h)):
            reference.step()
            drift = max(drift, abs(float(sum(reference.energy)) - before))
        drifts.append(drift)
    order = float(np.log2(drifts[0] / drifts[1]))
    return -order, f"halving the step divides the drift of the energy by 2^{order:.1f} ({drifts[1]:.0e} J of a swing at h = 0.004)"


def translation() -> tuple[float, str]:
    """20: a stack of boxes that is moved by a kilometre, in double precision."""
    world = '<geom type="plane" size="0 0 1" pos="{x} {x} 0"/>' + "".join(
        f'<body pos="{{x}} {{x}} {0.101 + 0.2 * k}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' for k in range(4)
    )
    ends = []
    for x in (0, 1000):
        model = ds.Model.from_mjcf(f"<mujoco><worldbody>{world.format(x=x)}</worldbody></mujoco>")
        with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
            batch.step(300)
            ends.append(batch.qpos[0].reshape(4, 7)[:, :3] - [x, x, 0])
    moved = float(np.abs(ends[0] - ends[1]).max())
    return moved, f"positions after 300 steps differ by {moved:.0e} m"


def checkpoints() -> tuple[float, str]:
    """22: states whose bytes were changed are refused, or load; the batch goes on."""
    model, rng = models()["hopper"], np.random.default_rng(5)
    batch = shaken(model, 8)
    state = batch.save()
    wanted, refused, taken, count = state, 0, 0, 3000
    for _ in range(count):
        changed = bytearray(state)
        for at in rng.integers(0, len(changed), rng.integers(1, 6)):
            changed[at] = rng.integers(256)
        if rng.random() < 0.2:
            del changed[rng.integers(len(changed)) :]
        if bytes(changed) == state:
            continue
        try:
            batch.load(bytes(changed))
            taken += 1
        except ValueError:
            refused += 1
    unchanged = batch.save() == wanted
    return taken + (not unchanged), f"{refused:,} of {refused + taken:,} changed states refused, and the batch unchanged by them"


FIGURES = {
    "batch-size": Figure("Bits do not depend on batch size or place", batch_size, 0,
                         "MuJoCo Warp: 2 of 7 healthy worlds changed where a pool of contacts is full"),
    "search": Figure("Nor on anything else that was searched for", searched, 0, "-"),
    "golden": Figure("Committed hashes", golden, 0, "Box2D, Jolt: yes; MuJoCo: within a version and an architecture"),
    "machines": Figure("Committed hashes elsewhere", machines, 0, "Box2D, Jolt: yes; MuJoCo: within a version and an architecture"),
    "interpreted": Figure("The CPU's bits on the PTX interpreter", interpreted, 0, "nobody publishes it"),
    "isolation": Figure("Neighbours of a poisoned environment", isolation, 0, "MuJoCo Warp: 2 of 7 changed at a full pool"),
    "unflagged": Figure("Non-finite without a flag", unflagged, 0, "MuJoCo Warp: no flag for NaN or infinity; MuJoCo: resets"),
    "soak": Figure("Soak", soak, 0, "MuJoCo Warp: no flag for NaN or infinity; MuJoCo: resets"),
    "overflow": Figure("Flags of contact overflow", overflow, 0, "MuJoCo Warp: bits on all worlds, so the victim is unknown"),
    "fail-safe": Figure("Half of the contacts that are needed", fail_safe, 15, "MuJoCo Warp: a scene at rest is thrown to z = 5.3e6 m"),
    "restore": Figure("Restored states", restore, 0, "MuJoCo: exact with qacc_warmstart; Bullet: not for composites"),
    "resets": Figure("Masked resets", resets, 0, "MuJoCo Warp: resetting a world hides contacts of others (mujoco#3572)"),
    "kkt": Figure("Residual of the contact problem, float32, p95", kkt, 1e-4,
                  "MuJoCo, humanoid: Newton 4e-14 (float64), PGS of 20 iterations 0.12"),
    "one-step": Figure("One step beside MuJoCo", one_step, 1e-6, "MuJoCo Warp, float32: p95 4.9e-3, largest 0.13"),
    "corpus": Figure("MuJoCo's own models", corpus, 0, "-"),
    "closed-forms": Figure("Closed forms", closed_forms, 5e-3, "MuJoCo: in the figure"),
    "conservation": Figure("Order of energy drift", conservation, -3.8, "MuJoCo's RK4: the same order"),
    "momentum": Figure("Drift of momenta", momentum, 1.1, "MuJoCo: in the figure"),
    "translation": Figure("A scene moved by 1 km, float64", translation, 1e-3, "-"),
    "rotation": Figure("A scene turned as a whole, float64", rotation, 1e-6, "-"),
    "problems": Figure("Siconos' and FCLIB's problems", problems, 1e-6, "-"),
    "consistency": Figure("Self-consistency in the step size", consistency, 1.05, "MuJoCo: in the figure"),
    "checkpoints": Figure("Damaged states", checkpoints, 0, "MuJoCo's MJB: 5 of 1,500 changed files crash"),
    "fuzz": Figure("Models and checkpoints of random bytes", fuzzed, 0, "MuJoCo's MJB: 5 of 1,500 changed files crash"),
    "races": Figure("Lanes in any order", races, 0, "-"),
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("figures", nargs="*", choices=[[], *FIGURES], metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--fclib", type=pathlib.Path, metavar="FOLDER",
                        help="of .dat and .hdf5: Siconos' numerics/src/FrictionContact/test/data")  # fmt: skip
    parser.add_argument("--corpus", type=pathlib.Path, metavar="FOLDER", help="of models in MJCF: model and test of MuJoCo's repository")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD[0], metavar="FOLDER",
                        help="with tests, emulator and PTX interpreter (build/test)")  # fmt: skip
    parser.add_argument("--fuzz", type=int, default=RUNS[0], metavar="RUNS", help="of each fuzzer's target (%(default)d)")
    parser.add_argument("--soak", type=float, default=SOAK[0], metavar="STEPS", help="environment-steps of the soak (%(default)g)")
    parser.add_argument("--search", type=float, default=SEARCH[0], metavar="SECONDS", help="of the search (%(default)g)")
    parser.add_argument("--write", action="store_true", help="puts the figures that are named into the page")
    args = parser.parse_args()
    SOAK[:] = [args.soak]
    SEARCH[:] = [args.search]
    BUILD[:], RUNS[:] = [args.build.resolve()], [args.fuzz]
    asked = args.figures or list(FIGURES)
    if "corpus" in asked and args.corpus is None:
        parser.error("--corpus FOLDER is wanted: the page has a figure of its models in it")
    CORPUS[:] = [args.corpus] if args.corpus else []
    if args.fclib:
        PROBLEMS[:] = sorted(path for path in args.fclib.iterdir() if path.suffix in (".dat", ".hdf5"))
        if any(path.suffix == ".hdf5" for path in PROBLEMS) and importlib.util.find_spec("h5py") is None:
            parser.error(f"{args.fclib} has .hdf5 files, which h5py reads: pip install h5py")
    elif "problems" in asked:
        parser.error("--fclib FOLDER is wanted: the page has a figure of the problems in it")
    rows, worse = [], []
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for name in asked:
        began = time.monotonic()
        figure = FIGURES[name]
        value, told = figure.measure()
        rows.append((name, figure, value, told, time.monotonic() - began))
        print(f"{name}: {told} [{rows[-1][-1]:.0f} s]", flush=True)
        if why := got_worse(value, figure.limit, measured.get(name)):
            worse.append(f"{name} ({why})")
    if not args.figures or args.write:
        titles = [figure.title for figure in FIGURES.values()]
        PAGE.write_text(replace_sections(PAGE.read_text(), rows, titles) if args.figures else page(rows))
        # as they are now: another run may have written some meanwhile
        now = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
        MEASURED.write_text(json.dumps({**now, **{row[0]: row[2] for row in rows}}, indent=1) + "\n")
    if worse:
        print(f"worse: {', '.join(worse)}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
