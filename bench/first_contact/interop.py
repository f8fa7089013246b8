"""What other libraries see of a batch on a GPU. Every case is a process, and a failure is a line.

    interop.py [CASE...]      # all cases; a library that is not here is named and is no failure
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from figures import load

import dualstep as ds
from dualstep.measure.workload import host

CASES: dict[str, Callable[[], None]] = {}
LANES, NUM_ENVS = 8, 64


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES[function.__name__] = function
    return function


# Any: whether arrays are numpy's or a device's is known when it runs
def batch(num_envs: int = NUM_ENVS, **options: Any) -> Any:
    return ds.Batch(load("humanoid"), num_envs, "cuda", lanes=LANES, **options)


@case
def array_interface() -> None:
    with batch(4) as sim:
        sim.step(2)
        interface = sim.qpos.__cuda_array_interface__
        assert interface["shape"] == (4, sim.model.nq) and interface["typestr"] == "<f4" and interface["data"][0]


@case
def torch_without_copies() -> None:
    import torch

    with batch() as sim:
        qpos = torch.from_dlpack(sim.qpos)
        sim.step(3)
        assert np.array_equal(qpos.cpu().numpy(), host(sim.qpos))
        sim.ctrl = torch.full((NUM_ENVS, sim.model.nu), 0.25, device="cuda")
        assert (host(sim.ctrl) == 0.25).all()
        qpos += 1
        torch.cuda.synchronize()
        assert np.array_equal(qpos.cpu().numpy(), host(sim.qpos))
        assert torch.from_dlpack(sim.status).dtype == torch.uint32


@case
def torch_stream_orders() -> None:
    import torch

    with batch(4096) as sim, batch(4096) as other:
        stream = torch.cuda.Stream()
        for _ in range(20):
            with torch.cuda.stream(stream):
                sim.stream = stream
                action = torch.rand(4096, sim.model.nu, device="cuda") - 0.5
                sim.ctrl = action
                sim.step(2)
                qpos = torch.from_dlpack(sim.qpos).clone()
            stream.synchronize()
            other.ctrl = action.cpu().numpy()
            other.step(2)
            assert np.array_equal(qpos.cpu().numpy(), host(other.qpos))


@case
def torch_graph_of_first_calls() -> None:
    """A capture that forbids allocation holds a first step, restarts and masked resets, and replays them after others."""
    import torch

    mask = torch.zeros(NUM_ENVS, dtype=torch.bool, device="cuda")
    mask[3] = True
    with batch(diverged="reset") as sim, batch(diverged="reset") as other:
        stream = torch.cuda.Stream()
        sim.stream = stream
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            sim.step(2)
            sim.reset(mask)
        sim.reset(np.arange(NUM_ENVS) == 5, keyframe=0)
        other.reset(np.arange(NUM_ENVS) == 5, keyframe=0)
        for _ in range(5):
            graph.replay()
            other.step(2)
            other.reset(mask)
        torch.cuda.synchronize()
        assert np.array_equal(host(sim.qpos), host(other.qpos))


@case
def jax_without_copies() -> None:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax

    with batch() as sim:
        sim.step()
        assert np.array_equal(np.asarray(jax.dlpack.from_dlpack(sim.qvel)), host(sim.qvel))


@case
def jax_still_computes_what_is_given() -> None:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp

    @jax.jit
    def late(x):
        y = jax.lax.fori_loop(0, 300, lambda _, y: y @ y / jnp.linalg.norm(y), jnp.ones((2048, 2048)))
        return x + 0 * y[0, 0]

    with batch() as sim:
        for k in range(1, 6):
            sim.ctrl = late(jnp.full((NUM_ENVS, sim.model.nu), 0.125 * k, jnp.float32))
            sim.step()
            assert (host(sim.ctrl) == 0.125 * k).all()
        sim.reset(late(jnp.arange(NUM_ENVS, dtype=jnp.float32)) < 7)
        assert ((host(sim.time) == 0) == (np.arange(NUM_ENVS) < 7)).all()


@case
def torch_fork_within_a_capture() -> None:
    """A batch whose stream joined a capture, given an action from another stream of that capture: edges both ways."""
    import torch

    with batch() as sim, batch() as other:
        origin, side = torch.cuda.Stream(), torch.cuda.Stream()
        action = torch.zeros((NUM_ENVS, sim.model.nu), device="cuda")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=origin):
            action += 0.125
            side.wait_stream(origin)
            sim.stream = side
            sim.ctrl = action
            sim.step()
            origin.wait_stream(side)
        for k in range(1, 4):
            graph.replay()
            torch.cuda.synchronize()
            other.ctrl = np.full((NUM_ENVS, sim.model.nu), 0.125 * k, np.float32)
            other.step()
        sim.stream = 0
        assert np.array_equal(host(sim.qpos), host(other.qpos))


@case
def a_capture_of_others_is_refused() -> None:
    import torch

    with batch() as sim:
        action = torch.zeros((NUM_ENVS, sim.model.nu), device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            action += 1
            try:
                sim.ctrl = action
            except RuntimeError as error:
                assert "captured into a graph" in str(error)
            else:
                raise AssertionError("what a graph is to compute was read at once")
        graph.replay()
        torch.cuda.synchronize()
        assert (action == 1).all()


@case
def cupy_without_copies() -> None:
    import cupy

    with batch() as sim:
        sim.step()
        assert np.array_equal(cupy.asarray(sim.qvel).get(), host(sim.qvel))


@case
def no_memory_is_a_memory_error() -> None:
    try:
        batch(2**28)
    except MemoryError:
        pass
    else:
        raise AssertionError("2^28 environments fit")
    with batch(8) as sim:
        sim.step()
        assert np.isfinite(host(sim.qpos)).all()


def main() -> int:
    if len(sys.argv) > 2 and sys.argv[1] == "--here":
        CASES[sys.argv[2]]()
        return 0
    failed = 0
    for name in sys.argv[1:] or CASES:
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--here", name], capture_output=True, text=True, timeout=60
            )
            last = (done.stderr.strip().splitlines() or ["?"])[-1]
            bad = done.returncode != 0 and not last.startswith("ModuleNotFoundError")
            found = "ok" if done.returncode == 0 else ("FAILED: " if bad else "left out: ") + last[:160]
        except subprocess.TimeoutExpired:
            bad, found = True, "FAILED: 60 s"
        failed += bad
        print(f"{name:32} {found}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
