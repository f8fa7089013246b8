"""A task as users write them, for tests of what is done with such."""

import dualstep as ds


class Upright(ds.envs.Task):
    derived = False

    def __init__(self, target: float = 0.0) -> None:
        super().__init__("inverted_pendulum.xml", frame_skip=2)
        self.target = target

    def reset(self, s, draw):
        return {"qpos": 0.1 * draw.normal(2)}

    def observe(self, s):
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def reward(self, s):
        return 1 - abs(s.qpos[:, 0] - self.target), {}

    def terminated(self, s):
        return abs(s.qpos[:, 1]) > 1
