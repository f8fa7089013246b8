"""Manipulator: a planar arm that brings a ball or a peg to where it belongs."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import apart, compiled, every_row, named, place, read, tolerance, without
from dualstep.envs.tasks.suite.planar_arm import PlanarArm

CLOSE = 0.01
IN_HAND, IN_TARGET = 0.1, 0.1
"""shares of the episodes that begin with the object there"""


class BringBall(PlanarArm):
    """dm_control manipulator-bring_ball: paid for bringing a ball to a target."""

    thing, receptacle = "ball", "cup"
    insert = False

    def __init__(self, fully_observable: bool = True) -> None:
        self.fully_observable = fully_observable
        target = f"target_{self.thing}"
        root = read("manipulator.xml")
        wanted = {self.thing, target} | ({self.receptacle} if self.insert else set())
        without(root, "body", {"ball", "target_ball", "cup", "peg", "target_peg", "slot"} - wanted)
        # where both may be: the receptacle turns with the target, and their other coordinates are the model's
        self.movable = [target, self.receptacle] if self.insert else [target]
        for name in self.movable:
            body = named(root, "body", name)
            body.set("mocap", "true")
            body.attrib.pop("euler", None)
        super().__init__(compiled(root), [f"{self.thing}_{axis}" for axis in "xzy"])
        self.object, self.target = self.ids("body", self.thing, target)
        self.mocap = [int(self.model.body_mocapid[body]) for body in self.ids("body", *self.movable)]
        self.grasp, self.pinch = self.ids("site", "grasp", "pinch")
        sites = ("peg", "target_peg", "peg_grasp", "peg_pinch", "peg_tip", "target_peg_tip")
        self.sites = self.ids("site", *(sites if self.thing == "peg" else ("ball", "target_ball")))

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        speed = 0.0

        def one() -> dict[str, Any]:
            nonlocal speed
            arm = self.arm(s, draw)
            target, u = draw.uniform(0, 1, 3), draw.uniform(0, 1, 5)
            x, z = 0.8 * target[:, :1] - 0.4, 0.1 + 0.3 * target[:, 1:2]
            angle = (2 * target[:, 2:] - 1) * (math.pi / 3 if self.insert else math.pi)
            how, anywhere = u[:, :1], u[:, :1] >= IN_HAND + IN_TARGET
            things = [u[:, 1:2] - 0.5, 0.7 * u[:, 2:3], 2 * math.pi * u[:, 3:4]]
            in_target = [x, z, angle]
            in_hand = self.in_grasp(s, arm)
            things = [
                xp.where(anywhere, free, xp.where(how < IN_HAND, held, there))
                for free, held, there in zip(things, in_hand, in_target, strict=True)
            ]
            # as the suite does it, the speed of a configuration in which something touches is left to the next
            speed = xp.where(anywhere, 10 * u[:, 4:] - 5, speed + 0 * x)
            state = self.targets(s, x, z, angle)
            state["qpos"] = self.configuration(s, arm, xp.concatenate(things, axis=1))
            qvel = 0 * state["qpos"]
            at = self.thing_dofs[0]
            state["qvel"] = xp.concatenate([qvel[:, :at], speed, qvel[:, at + 1 :]], axis=1)
            return state

        return apart(s, one)

    def targets(self, s: View, x: Any, z: Any, angle: Any) -> dict[str, Any]:
        """Places and orientations of the target, and of the receptacle."""
        xp, places, quats = s.xp, {}, {}
        for at in self.mocap:
            places[at] = xp.concatenate([x, s.mocap_pos[:, at, 1:2] + 0 * x, z], axis=1)
            quats[at] = xp.concatenate([xp.cos(angle / 2), 0 * x, xp.sin(angle / 2), 0 * x], axis=1)
        both = {"mocap_pos": places, "mocap_quat": quats}
        return {name: xp.stack([of[at] for at in range(len(of))], axis=1) for name, of in both.items()}

    def in_grasp(self, s: View, arm: Any) -> list[Any]:
        """x, z and the angle of an object in the hand."""
        start = s.constant("qpos0")[None, len(self.joints) :] + 0 * arm[:, :1]
        place(s, {"qpos": self.configuration(s, arm, start)}, every_row(arm))
        # what was evaluated now, and not what the view has of before
        where = s._of(s.sim.site_xpos)[:, self.grasp]
        axes = s._of(s.sim.site_xmat)[:, self.grasp].reshape(-1, 9)
        angle = math.pi - s.xp.arctan2(axes[:, 6], axes[:, 0])
        return [s.arrays.real(x, float)[:, None] for x in (where[:, 0], where[:, 2], angle)]

    def observe(self, s: View) -> Any:
        parts = self.observe_arm(s)
        if self.fully_observable:
            parts += [
                self.poses(s, [self.hand]), self.poses(s, [self.object]), s.qvel[:, self.thing_dofs],
                self.poses(s, [self.target]),
            ]  # fmt: skip
        return s.xp.concatenate(parts, axis=1)

    def close(self, s: View, first: int, second: int) -> Any:
        return tolerance(s.xp, self.distance(s, first, second), 0, CLOSE, 2 * CLOSE)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        return self.close(s, *self.sites), {}


class BringPeg(BringBall):
    """dm_control manipulator-bring_peg: paid for holding a peg, and more for bringing it to a target."""

    thing, receptacle = "peg", "slot"

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        peg, target, grasp, pinch, tip, target_tip = self.sites
        holding = (self.close(s, grasp, self.grasp) + self.close(s, pinch, self.pinch)) / 2
        bringing = (self.close(s, peg, target) + self.close(s, tip, target_tip)) / 2
        return s.xp.maximum(bringing, holding / 3), {"holding": holding, "bringing": bringing}


class InsertBall(BringBall):
    """dm_control manipulator-insert_ball: paid for bringing a ball into a cup."""

    insert = True


class InsertPeg(BringPeg):
    """dm_control manipulator-insert_peg: paid for bringing a peg into a slot."""

    insert = True
