"""Cartpole: one pole on a cart, or a chain of two or three."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import SuiteTask, compiled, named, read, small_control, tolerance
from dualstep.model import Model


def cart_with(poles: int) -> Model:
    root = read("cartpole.xml")
    parent = named(root, "body", "pole_1")
    for pole in range(2, poles + 1):
        parent = ET.SubElement(parent, "body", name=f"pole_{pole}", pos="0 0 1", childclass="pole")
        ET.SubElement(parent, "joint", name=f"hinge_{pole}")
        ET.SubElement(parent, "geom", name=f"pole_{pole}")
    if poles > 1:
        named(root, "geom", "floor").set("pos", f"0 0 {1 - poles - 0.05}")
        named(root, "camera", "fixed").set("pos", f"0 {-1 - 2 * poles} 1")
        named(root, "camera", "lookatcart").set("pos", f"0 {-2 * poles} 2")
    return compiled(root)


class Cartpole(SuiteTask):
    derived = anew = False
    poles = 1
    hanging = False
    """whether the poles hang where an episode begins"""
    sparse = False

    def __init__(self) -> None:
        super().__init__(cart_with(self.poles))

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp, n = s.xp, self.poles
        if self.hanging:
            cart_and_pole, others = 0.01 * draw.normal(2), 0.1 * draw.normal(n - 1 or 1)[:, : n - 1]
            qpos = xp.concatenate([cart_and_pole[:, :1], math.pi + cart_and_pole[:, 1:], others], axis=1)
        else:
            qpos = xp.concatenate([draw.uniform(-0.1, 0.1, 1), draw.uniform(-0.034, 0.034, n)], axis=1)
        return {"qpos": qpos, "qvel": 0.01 * draw.normal(n + 1)}

    def angles(self, s: View) -> Any:
        """(rows, poles) of each pole from upright."""
        return s.xp.cumsum(s.qpos[:, 1:], axis=1)

    def observe(self, s: View) -> Any:
        angles = self.angles(s)
        # cosine and sine, pole by pole
        turns = s.xp.stack([s.xp.cos(angles), s.xp.sin(angles)], axis=-1).reshape(angles.shape[0], -1)
        return s.xp.concatenate([s.qpos[:, :1], turns, s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp, cosines = s.xp, s.xp.cos(self.angles(s))
        if self.sparse:
            inside = tolerance(xp, s.qpos[:, 0], -0.25, 0.25)
            return inside * 1.0 * (cosines >= 0.995).all(axis=1), {}
        terms = {
            "upright": ((cosines + 1) / 2).mean(axis=1),
            "small_control": small_control(s),
            "small_velocity": (1 + self._least(s, tolerance(xp, s.qvel[:, 1:], margin=5))) / 2,
            "centered": (1 + tolerance(xp, s.qpos[:, 0], margin=2)) / 2,
        }
        return math.prod(terms.values()), terms

    def _least(self, s: View, x: Any) -> Any:
        return s.xp.amin(x, axis=1)


class Balance(Cartpole):
    """dm_control cartpole-balance: one pole, near upright, paid for staying there."""


class BalanceSparse(Cartpole):
    """dm_control cartpole-balance_sparse: the same, paid within 0.25 m and 6 degrees alone."""

    sparse = True


class Swingup(Cartpole):
    """dm_control cartpole-swingup: one pole that hangs, paid for bringing it up."""

    hanging = True


class SwingupSparse(Swingup):
    """dm_control cartpole-swingup_sparse: the same, paid within 0.25 m and 6 degrees alone."""

    sparse = True


class TwoPoles(Swingup):
    """dm_control cartpole-two_poles: a chain of two poles that hangs, paid for bringing it up."""

    poles = 2


class ThreePoles(Swingup):
    """dm_control cartpole-three_poles: a chain of three poles that hangs, paid for bringing it up."""

    poles = 3
