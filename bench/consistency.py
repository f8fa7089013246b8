"""Self-consistency in the step size, a figure of `python bench/reliability.py`."""

from __future__ import annotations

import pathlib

import gymnasium
import mujoco
import numpy as np

import dualstep as ds

HERE = pathlib.Path(__file__).resolve().parent


def in_motion() -> dict[str, str]:
    """MJCF of five scenes: smooth, articulated with contacts, many bodies, driven, sliding."""
    links = "".join(
        f'<body pos="{0.2 if k else 0} 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .2 0 0"/>'
        for k in range(8)
    )
    chain = f'<mujoco><option><flag contact="disable"/></option><worldbody>{links}{"</body>" * 8}</worldbody></mujoco>'
    pile = "".join(
        f'<body pos="{0.15 * (k % 3)} {0.15 * (k // 3 % 3)} {0.2 + 0.2 * (k // 9)}" euler="{40 * k} {25 * k} 0"><freejoint/>'
        '<geom type="capsule" size=".04 .05"/></body>' for k in range(27)
    )
    slope = (
        '<geom type="plane" size="5 5 1" euler="0 20 0" friction=".2"/>'
        '<body pos="0 0 .3" euler="0 20 0"><freejoint/><geom type="box" size=".1 .2 .05" friction=".2"/></body>'
    )
    assets = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    return {
        "chain": chain,
        "humanoid": (HERE / "models" / "humanoid.xml").read_text(),
        "27 capsules": f'<mujoco><worldbody><geom type="plane" size="5 5 1"/>{pile}</worldbody></mujoco>',
        "half_cheetah": (assets / "half_cheetah.xml").read_text(),
        "box on a slope": f"<mujoco><worldbody>{slope}</worldbody></mujoco>",
    }


def consistency() -> tuple[float, str]:
    """19: how far steps of 1 to 8 ms end from steps of 1/8 ms, 80 ms later, over the way, on five scenes in motion (Erez,
    Tassa, Todorov 2015); the largest ratio to MuJoCo's."""
    span, finest, sizes, count = 0.08, 0.000125, (0.001, 0.002, 0.004, 0.008), 16
    worst, told = 0.0, []
    for name, xml in in_motion().items():
        m = mujoco.MjModel.from_xml_string(xml)
        m.opt.timestep = 0.0005
        data = mujoco.MjData(m)
        data.qvel[:] = np.random.default_rng(2).normal(0, 0.3, m.nv)
        starts = []
        for k in range(count * 200):
            data.ctrl[:] = np.sin(0.01 * k + np.arange(m.nu))
            mujoco.mj_step(m, data)
            if k % 200 == 199:
                starts.append((data.qpos.copy(), data.qvel.copy(), data.ctrl.copy()))
        qpos, qvel, ctrl = (np.array(column) for column in zip(*starts, strict=True))
        ends: dict[tuple[str, float], np.ndarray] = {}
        for size in (finest, *sizes):
            m.opt.timestep = size
            steps = round(span / size)
            there = np.zeros_like(qpos)
            for env in range(count):
                mujoco.mj_resetData(m, data)
                data.qpos[:], data.qvel[:], data.ctrl[:] = qpos[env], qvel[env], ctrl[env]
                mujoco.mj_step(m, data, steps)
                there[env] = data.qpos
            with ds.Batch(ds.Model.from_mujoco(m), count, device="cpu", dtype="float64") as batch:
                batch.qpos[...], batch.qvel[...], batch.ctrl[...] = qpos, qvel, ctrl
                batch.step(steps)
                ends["here", size], ends["MuJoCo", size] = np.array(batch.qpos), there

        def error(side: str, size: float, qpos: np.ndarray = qpos, ends: dict[tuple[str, float], np.ndarray] = ends) -> float:
            best = ends[side, finest]
            way = np.linalg.norm(best - qpos, axis=1)
            return float(np.median(np.linalg.norm(ends[side, size] - best, axis=1) / way))

        pairs = [(error("here", size), error("MuJoCo", size)) for size in sizes]
        worst = max(worst, *(here / there for here, there in pairs))
        told.append(f"{name} {pairs[1][0]:.1e} ({pairs[1][1]:.1e})")
    return worst, f"at 2 ms, and MuJoCo's: {', '.join(told)}; over all sizes at most {worst:.3f} times MuJoCo's"
