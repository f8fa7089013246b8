"""The simulators that a sweep over batch sizes times, behind one face: dualstep, MuJoCo Warp, MJX.

A peer is the package as it is installed, with its own default solver and tolerance, on the model that MuJoCo compiled
from the same file. Its error is measured like ours (measure/accuracy.py), against MuJoCo's own solution of the same
step in double precision, converged.
"""

from __future__ import annotations

import copy
import importlib.metadata
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from dualstep import _drop
from dualstep.batch import Batch, Status
from dualstep.measure.accuracy import Converged, relative_error
from dualstep.measure.workload import MUJOCO_STATE, States, host
from dualstep.model import Model


class Side(Protocol):
    """A batch of one simulator. `step` may return before it is done; `wait` returns when it is."""

    name: str
    version: str
    runs_on: str

    def put(self, states: States) -> None: ...
    def control(self, ctrl: np.ndarray) -> None: ...
    def step(self, substeps: int) -> None: ...
    def wait(self) -> None: ...
    def states(self, count: int) -> States: ...
    def accelerations(self, count: int) -> np.ndarray:
        """Those at the present state and controls, as a step finds them where it begins."""
        ...

    def counts(self) -> dict[str, int]:
        """Environments that diverged, overflowed, did not converge, since `put`; -1 where it is not told."""
        ...

    def errors(self, states: States, ctrl: np.ndarray, qacc: np.ndarray) -> np.ndarray: ...
    def check(self) -> None:
        """Raises Unchecked where the errors are not to be trusted."""


class Ours:
    """A dualstep.Batch."""

    name = "dualstep"

    def __init__(self, model: Model, num_envs: int, device: str, samples: int, lanes: int | str = "tuned") -> None:
        import dualstep as ds

        self.version = ds.__version__
        self.batch = Batch(model, num_envs, device, lanes=lanes)
        self.runs_on = self.batch.description
        self._converged = Converged(model, samples)

    def put(self, states: States) -> None:
        states.put(self.batch)

    def control(self, ctrl: np.ndarray) -> None:
        self.batch.ctrl = ctrl.astype(self.batch.dtype)

    def step(self, substeps: int) -> None:
        self.batch.step(substeps)

    def wait(self) -> None:
        self.batch.wait()

    def states(self, count: int) -> States:
        return States.of(self.batch, count)

    def accelerations(self, count: int) -> np.ndarray:
        self.batch.forward()
        return host(self.batch.qacc)[:count]

    def counts(self) -> dict[str, int]:
        status = host(self.batch.status)
        return {
            "diverged": int(np.count_nonzero(status & int(Status.DIVERGED))),
            "overflowed": int(np.count_nonzero(status & int(Status.CONTACT_OVERFLOW))),
            "unconverged": int(np.count_nonzero(status & int(Status.NOT_CONVERGED))),
        }

    def errors(self, states: States, ctrl: np.ndarray, qacc: np.ndarray) -> np.ndarray:
        return self._converged.error(states, ctrl, qacc)

    def check(self) -> None:
        self._converged.demand()


class _Peer:
    """What MuJoCo's own simulators share."""

    def __init__(self, model: Model, package: str) -> None:
        self.version = importlib.metadata.version(package)
        self.mj_model = _drop.awake(model.mj_model)

    def errors(self, states: States, ctrl: np.ndarray, qacc: np.ndarray) -> np.ndarray:
        import mujoco

        exact = copy.copy(self.mj_model)
        exact.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        exact.opt.tolerance, exact.opt.iterations, exact.opt.ls_iterations = 0, 1000, 200
        data, nv = mujoco.MjData(exact), exact.nv
        found = []
        for i in range(len(states)):
            # states that diverged have no solution; they are counted
            state = {name: states.arrays[name][i] for name in MUJOCO_STATE}
            if not all(np.isfinite(array).all() for array in (qacc[i], *state.values())):
                continue
            for name, array in state.items():
                getattr(data, name)[:] = array
            data.ctrl[:] = ctrl[i]
            mujoco.mj_forward(exact, data)
            mass = np.zeros((nv, nv))
            mujoco.mj_fullM(exact, data, mass)
            found.append((qacc[i].astype(float), data.qacc.copy(), data.qacc_smooth.copy(), mass))
        if not found:
            return np.empty(0)
        return relative_error(*(np.array(column) for column in zip(*found, strict=True)))

    def check(self) -> None:
        """MuJoCo's own solutions are what MuJoCo's simulators are held to."""


class Warp(_Peer):
    """MuJoCo Warp: a step captured in a CUDA graph, which is launched for each step. `contacts` and `rows` are the
    capacities of a world."""

    name = "mujoco_warp"

    def __init__(self, model: Model, num_envs: int, device: str, contacts: int, rows: int) -> None:
        import mujoco
        import mujoco_warp
        import warp

        super().__init__(model, "mujoco-warp")
        warp.config.quiet = True
        self._warp, self._mjw, self.contacts, self.rows = warp, mujoco_warp, contacts, rows
        self._device = warp.get_device("cpu" if device == "cpu" else "cuda:0")
        self.runs_on = f"{self._device}, Warp {warp.__version__}, {contacts} contacts and {rows} rows a world"
        with warp.ScopedDevice(self._device):
            self._model = mujoco_warp.put_model(self.mj_model)
            self._data = mujoco_warp.put_data(
                self.mj_model, mujoco.MjData(self.mj_model), nworld=num_envs, nconmax=contacts, njmax=rows
            )
            self._graph = None
            mujoco_warp.step(self._model, self._data)  # compiles
            if self._device.is_cuda:
                with warp.ScopedCapture() as capture:
                    mujoco_warp.step(self._model, self._data)
                self._graph = capture.graph
        self._overflowed = np.zeros(num_envs, bool)

    def _assign(self, name: str, values: np.ndarray) -> None:
        array = getattr(self._data, name)
        if array.size:
            array.assign(np.ascontiguousarray(values, np.float32).reshape(array.shape))

    def put(self, states: States) -> None:
        for name in MUJOCO_STATE:
            self._assign(name, states.arrays[name])
        self._overflowed[:] = False
        if hasattr(self._data, "overflow"):
            self._data.overflow.zero_()

    def control(self, ctrl: np.ndarray) -> None:
        self._assign("ctrl", ctrl)

    def step(self, substeps: int) -> None:
        with self._warp.ScopedDevice(self._device):
            for _ in range(substeps):
                if self._graph is not None:
                    self._warp.capture_launch(self._graph)
                else:
                    self._mjw.step(self._model, self._data)

    def wait(self) -> None:
        self._warp.synchronize_device(self._device)

    def states(self, count: int) -> States:
        # on the CPU numpy() is a view, which the next step would change
        return States({name: getattr(self._data, name).numpy()[:count].copy() for name in MUJOCO_STATE})

    def accelerations(self, count: int) -> np.ndarray:
        with self._warp.ScopedDevice(self._device):
            self._mjw.forward(self._model, self._data)
        return self._data.qacc.numpy()[:count].copy()

    def counts(self) -> dict[str, int]:
        self._overflowed |= self._data.nefc.numpy() > self.rows
        if hasattr(self._data, "overflow"):
            self._overflowed |= self._data.overflow.numpy() != 0
        # contacts are of all worlds together
        candidates = max(int(getattr(self._data, name).numpy()[0]) for name in ("nacon", "ncollision"))
        if candidates > self._data.naconmax:
            self._overflowed[:] = True
        return {
            "diverged": int(np.count_nonzero(~np.isfinite(self._data.qpos.numpy()).all(axis=1))),
            "overflowed": int(np.count_nonzero(self._overflowed)),
            "unconverged": int(np.count_nonzero(self._data.solver_niter.numpy() >= self.mj_model.opt.iterations)),
        }


class Mjx(_Peer):
    """MJX on JAX: a step, mapped over the batch and compiled."""

    name = "mjx"

    def __init__(self, model: Model, num_envs: int, device: str) -> None:
        import jax
        from mujoco import mjx

        super().__init__(model, "mujoco-mjx")
        self._jax = jax
        self._device = jax.devices("cpu" if device == "cpu" else "gpu")[0]
        self.runs_on = f"{self._device}, JAX {jax.__version__}"
        with jax.default_device(self._device):
            self._model = mjx.put_model(self.mj_model)
            one = mjx.make_data(self._model)
            self._data = jax.vmap(lambda _: one)(jax.numpy.arange(num_envs))
            self._step = jax.jit(jax.vmap(lambda data: mjx.step(self._model, data)))
            self._forward = jax.jit(jax.vmap(lambda data: mjx.forward(self._model, data)))
        self.step(1)

    def _replace(self, **values: np.ndarray) -> None:
        with self._jax.default_device(self._device):
            self._data = self._data.replace(**{k: self._jax.numpy.asarray(v, "float32") for k, v in values.items()})

    def put(self, states: States) -> None:
        self._replace(**{name: states.arrays[name] for name in MUJOCO_STATE})

    def control(self, ctrl: np.ndarray) -> None:
        self._replace(ctrl=ctrl)

    def step(self, substeps: int) -> None:
        for _ in range(substeps):
            self._data = self._step(self._data)

    def wait(self) -> None:
        self._jax.block_until_ready(self._data.qpos)

    def states(self, count: int) -> States:
        return States({name: np.asarray(getattr(self._data, name))[:count] for name in MUJOCO_STATE})

    def accelerations(self, count: int) -> np.ndarray:
        return np.asarray(self._forward(self._data).qacc)[:count]

    def counts(self) -> dict[str, int]:
        broken = ~np.isfinite(np.asarray(self._data.qpos)).all(axis=1)
        # its contacts are all pairs, always; it does not say whether its solver converged
        return {"diverged": int(np.count_nonzero(broken)), "overflowed": 0, "unconverged": -1}


def missing(module: str, needs: Callable[[], Any] | None = None) -> str | None:
    """Why a peer cannot run here; None where it can."""
    import importlib

    try:
        importlib.import_module(module)
        if needs is not None:
            needs()
    except Exception as error:  # a package that is broken is as good as missing, and says why
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None
