"""Terrain: what its tiles are, the height that tasks look up, a robot on it, levels that rise and fall with success."""

import importlib.util
import types

import mujoco
import numpy as np
import pytest

pytest.importorskip("gymnasium")

import dualstep as ds
from dualstep.envs import terrain
from dualstep.envs.arrays import HostArrays, TorchArrays
from dualstep.envs.terrain import KINDS, MIDDLE, Terrain

installed = pytest.mark.skipif(importlib.util.find_spec("mjlab") is None, reason="the robots come with mjlab")


def view(arrays):
    return types.SimpleNamespace(xp=arrays.xp, arrays=arrays, table=lambda values, *_: arrays.from_host(values))


def tile(ground, level, column, *, inner=0.0):
    """The heights of a tile; `inner`: within this of its middle."""
    x, y, _ = ground.origins[level, column]
    half = inner or ground.size / 2
    first = round((x - half + ground.half[0]) / ground.cell), round((y - half + ground.half[1]) / ground.cell)
    count = round(2 * half / ground.cell) + 1
    return ground.heights[first[1] : first[1] + count, first[0] : first[0] + count]


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    ground = Terrain(kind, levels=4, seed=3)
    assert ground.columns == 2 and ground.origins.shape == (4, 2, 3)
    spans = []
    for level in range(4):
        for column in range(2):
            heights = tile(ground, level, column)
            middle = tile(ground, level, column, inner=MIDDLE - ground.cell)
            assert np.ptp(middle) == 0 and middle[0, 0] == ground.origins[level, column, 2]
            # at the rim tiles meet, and the border
            assert not heights[0].any() and not heights[:, -1].any()
        spans.append(np.ptp(heights))
    if kind == "flat":
        assert not ground.heights.any()
    elif kind == "stepping_stones":
        # it is the share of the ground that shrinks
        shares = [(tile(ground, level, 0) > -0.1).mean() for level in range(4)]
        assert (np.diff(shares) < 0).all() and shares[0] > 0.85 and shares[-1] > 0.4
    else:
        assert (np.diff(spans) > 0).all()
    if kind == "stairs":
        steps = np.unique(tile(ground, 3, 1).round(6))
        assert np.allclose(np.diff(steps), 0.12)
        assert tile(ground, 3, 0).min() == pytest.approx(-steps.max())
    if kind == "slopes":
        slope = np.diff(tile(ground, 3, 1), axis=1) / ground.cell
        assert abs(slope).max() == pytest.approx(0.4)


def test_what_is_drawn_depends_on_the_seed():
    first, again, other = Terrain("rough", seed=1), Terrain("rough", seed=1), Terrain("rough", seed=2)
    assert np.array_equal(first.heights, again.heights) and not np.array_equal(first.heights, other.heights)
    # and on the place of the tile alone
    longer = Terrain(("rough", "flat"), levels=6, seed=1)
    assert np.array_equal(tile(first, 2, 1), tile(longer, 2, 1))
    assert np.allclose(Terrain("stairs", scale=2).heights, 2 * Terrain("stairs").heights)


def test_heights_are_those_of_mujoco():
    ground = Terrain(levels=3, border=1.0, seed=5)
    spec = mujoco.MjSpec()
    ground.add_to(spec)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rng = np.random.default_rng(0)
    places = rng.uniform(-1, 1, (400, 2)) * (np.array(ground.half) - 0.01)
    host = ground.height(view(HostArrays()), places[:, 0], places[:, 1])
    found = np.zeros(1, np.int32)
    for (x, y), height in zip(places, host):
        down = mujoco.mj_ray(model, data, np.array([x, y, 5.0]), np.array([0, 0, -1.0]), None, 1, -1, found)
        assert 5 - down == pytest.approx(height, abs=1e-5)
    assert np.ptp(host) > 1
    # beyond the border, and for no number, it is some number
    odd = np.array([1e9, -1e9, np.nan, np.inf])
    assert np.isfinite(ground.height(view(HostArrays()), odd, odd)).all()


def test_tensors_find_the_same_heights():
    torch = pytest.importorskip("torch")
    ground = Terrain(levels=2, seed=5)
    x, y = np.random.default_rng(0).uniform(-9, 9, (2, 50, 3))
    there = ground.height(view(TorchArrays("cpu")), torch.from_numpy(x), torch.from_numpy(y))
    assert np.array_equal(there.numpy(), ground.height(view(HostArrays()), x, y))


def test_what_makes_no_sense_is_refused():
    for given, told in (
        ({"kinds": "stair"}, "no kind of ground 'stair'; near it is: stairs"),
        ({"kinds": "xyz"}, "there are: flat, slopes"),
        ({"kinds": ()}, "no kind of ground is given"),
        ({"levels": 0}, "levels 0 is given, and a whole number of 1 or more is wanted"),
        ({"levels": 1.5}, "levels 1.5 is given"),
        ({"size": 1}, "size 1 is given, and 2.2 to 100 is wanted"),
        ({"cell": float("nan")}, "cell nan is given"),
        ({"size": 100, "levels": 100}, "a grid of .* at most"),
    ):
        with pytest.raises(ValueError, match=told):
            Terrain(**given)
    with pytest.raises(TypeError, match="terrain 3 is given"):
        terrain.terrain_of(3)
    assert terrain.terrain_of(None) is terrain.terrain_of("flat") is None
    assert terrain.terrain_of({"kinds": "rough", "scale": 3}, scale=1.5).low < -0.1


# a robot on it -------------------------------------------------------------------------------------------------


def robots(num_envs, **options):
    options = {"terrain": {"kinds": "mixed", "levels": 4, "border": 1.0}, "num_threads": 1, "randomize": (), **options}
    return ds.envs.make("Go1Joystick", num_envs, pushes=False, noise=False, **options)


@installed
def test_it_stands_on_every_tile():
    env = robots(32, standing_share=1.0, curriculum=False)
    env.reset(seed=0)
    task, sim = env.task, env.sim
    zero = np.zeros(env.action_space.shape)
    # on its stance over the middle of each tile
    places = task.terrain.origins.reshape(-1, 3)
    assert len(places) == 32
    sim.qpos[:, :2], sim.qpos[:, 2] = places[:, :2], places[:, 2] + task.robot.height + 0.02
    for _ in range(25):
        observation, reward, terminated, _, info = env.step(zero)
        assert not terminated.any() and not sim.status.any()
    assert (abs(sim.qpos[:, 2] - places[:, 2] - task.robot.height) < 0.06).all()
    assert (sim.contacts().count >= 4).all() and (reward > 0.5 * 6 * task.dt).all()
    assert (abs(task.foot_heights(env._view())) < 0.03).all()
    # around the middle the ground is level
    near = abs(terrain_scan := observation[:, -task.width + task.blind :]) < 0.06
    assert near.all() and terrain_scan.shape[1] == task.width - task.blind


@installed
def test_the_scan_is_of_the_ground_ahead():
    env = robots(2, terrain={"kinds": "stairs", "levels": 4, "border": 1.0})
    env.reset(seed=0)
    task = env.task
    middle = task.terrain.origins[3, 1]
    for row, yaw in enumerate((0.0, np.pi)):
        # at the first stair down, which is ahead or behind
        env.sim.qpos[row, :3] = middle + [MIDDLE, 0, task.robot.height]
        env.sim.qpos[row, 3:7] = np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)
    scan = task.scan(env._view())
    ahead = scan.shape[1] // 2 + 3
    behind = scan.shape[1] // 2 - 3
    assert scan[0, ahead] > 0.1 and scan[1, behind] > 0.1
    assert abs(scan[0, behind]) < 1e-6 and abs(scan[1, ahead]) < 1e-6


def fly(env, speed):
    """An episode over the ground, along the command at a share of its speed; environments of speed None fall over."""
    sim = env.sim
    fallen = np.array([share is None for share in speed])
    share = np.array([share or 0.0 for share in speed])
    while True:
        # in the air, upright, looking along x
        sim.qpos[:, 2] = 2.0
        sim.qpos[:, 3:7] = 1, 0, 0, 0
        sim.qpos[fallen, 3:7] = 0, 1, 0, 0
        sim.qvel[:] = 0
        sim.qvel[:, :2] = share[:, None] * env._memory["command"][:, :2]
        _, _, terminated, truncated, info = env.step(np.zeros(env.action_space.shape))
        if truncated[~fallen].any():
            assert truncated[~fallen].all()
            return info["terrain_level"].astype(int)


@installed
def test_levels_rise_and_fall_with_success():
    options = dict(forward_range=(0.9, 1.0), sideways_range=(0.0, 0.0), standing_share=0.0, max_episode_steps=75)
    env = robots(6, **options)
    _, info = env.reset(seed=0)
    level = info["terrain_level"].astype(int)
    assert (level < 2).all() and len(set(level)) == 2
    # as it was told to, hardly, half a way, on its back
    speed = [1.0, 1.0, 0.2, 0.2, 0.6, None]
    begun = level
    for _ in range(2):
        level, before = fly(env, speed), level
        assert (level[:2] == before[:2] + 1).all()
        assert (level[2:4] == np.maximum(before[2:4] - 1, 0)).all()
        assert level[4] == begun[4] and level[5] == 0
    # it stands where its level says
    for row in range(6):
        column = int(env._memory["column"][row, 0])
        away = env.sim.qpos[row, :2] - env.task.terrain.origins[level[row], column, :2]
        assert (abs(away) <= 0.5).all()
    # a copy goes on with the same; from the hardest any level comes, and none is left out
    state = env.state()
    twin = robots(6, **options)
    twin.load_state(state)
    for _ in range(2):
        assert np.array_equal(fly(env, speed), fly(twin, speed))
    assert (env._memory["level"] <= 3).all() and (env._memory["level"] >= 0).all()
    # without a seed they last, with one all begins anew
    kept = env._memory["level"].copy()
    _, info = env.reset()
    assert np.array_equal(info["terrain_level"][4:5], kept[4:5, 0])
    _, info = env.reset(seed=0)
    assert np.array_equal(info["terrain_level"], begun)


@installed
def test_from_the_hardest_it_goes_to_any():
    env = robots(64, forward_range=(0.9, 1.0), sideways_range=(0.0, 0.0), standing_share=0.0, max_episode_steps=75,
                 terrain={"kinds": "flat", "levels": 4, "border": 0.0}, first_levels=4)  # fmt: skip
    env.reset(seed=0)
    env._memory["level"][:] = 3
    levels = fly(env, [1.0] * 64)
    assert set(levels) == {0, 1, 2, 3}


@installed
def test_what_walks_off_the_field_ends():
    env = robots(2)
    env.reset(seed=0)
    env.sim.qpos[0, :3] = env.task.terrain.half[0] + 1, 0, -3
    _, _, terminated, _, _ = env.step(np.zeros(env.action_space.shape))
    assert terminated.tolist() == [True, False]


@installed
def test_flat_ground_is_a_plane_as_ever():
    a, b = robots(4, terrain=None), robots(4, terrain="flat")
    assert a.task.model.nhfield == 0 and a.single_observation_space.shape == (12 + 3 * a.task.count,)
    assert np.array_equal(a.reset(seed=1)[0], b.reset(seed=1)[0])
    with pytest.raises(ValueError, match="no kind of ground 'ruff'"):
        robots(1, terrain="ruff")
