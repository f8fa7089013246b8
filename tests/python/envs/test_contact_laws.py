"""Tasks under other laws of contact: what is set, several at once, and the audit of a policy, whose energies balance."""

import copy
import json

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import dualstep as ds
from dualstep.envs import contact
from dualstep.envs.contact import LAWS

BOX = """<mujoco><option timestep="0.002" integrator="Euler"/><worldbody><geom type="plane" size="9 9 .1"/>
  <body pos="0 0 0.1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
  <geom type="box" size=".1 .1 .1" mass="2" condim="3"/></body></worldbody>
  <actuator><motor joint="{joint}" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>"""


class Brick(ds.envs.Task):
    """A brick of 2 kg that slides on its face, with a motor that nobody uses."""

    def __init__(self, speed: float = 1.5) -> None:
        text = BOX.format(joint="push").replace('axis="1 0 0"', 'axis="1 0 0" name="push"')
        super().__init__(ds.Model.from_mjcf(text), frame_skip=5)
        self.speed = speed

    def reset(self, s, draw):
        drawn = 0.1 * draw.uniform(0.0, 1.0, 1)
        return {"qvel": s.xp.concatenate([self.speed + drawn, 0 * drawn], axis=1)}

    def observe(self, s):
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def reward(self, s):
        return s.qvel[:, 0], {}

    def terminated(self, s):
        return s.qpos[:, 0] > 100


ds.envs.register_task("ContactBrick", Brick, max_episode_steps=50)


def test_laws_are_told_apart_by_traits():
    assert contact.SPRINGS == ("compliant", "soft_anchor") and contact.ANCHORS == ("soft_anchor",)
    assert contact.IMPACTS == ("impulsive",) and contact.DIRECTIONS == ("anitescu", "stewart_trinkle")


def test_a_law_by_its_name_brings_what_it_needs():
    for law in LAWS:
        env = ds.envs.make("Hopper", 2, contact=law, seed=0)
        opt = env.task.model.opt
        assert opt.contact_model == law and env.task.dt == pytest.approx(0.008)
        assert opt.integrator == ("rk4" if law in ("todorov", "compliant") else "euler")
        env.reset()
        env.step(env.action_space.sample())
        env.close()
    assert ds.envs.make("Hopper", 2).task.model.opt.contact_model == "todorov"


def test_springs_carry_the_weight_at_the_depth_that_is_promised():
    env = ds.envs.make("ContactBrick", 1, contact="compliant", speed=0.0)
    env.reset(seed=0)
    env.step(np.zeros((1, 1), np.float32))
    for _ in range(40):
        env.step(np.zeros((1, 1), np.float32))
    # four corners share it
    assert -env.sim.contacts().dist[0, 0] == pytest.approx(5e-3 / 4, rel=0.05)


@pytest.mark.parametrize(
    "given, told",
    [
        ("anitecu", "did you mean 'anitescu'"),
        ({"stifness": 1.0}, "did you mean 'stiffness'"),
        ({"substeps": 0}, "substeps 0"),
        ([], "at least one"),
    ],
)
def test_what_makes_no_sense_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        ds.envs.make("Hopper", 2, contact=given)


def test_each_law_has_an_environment():
    told = r"num_envs 1 is given, and contact has 2 models \(todorov; anitescu\): at least one environment for each"
    with pytest.raises(ValueError, match=told):
        ds.envs.make("InvertedPendulum", 1, contact=["todorov", "anitescu"])
    with pytest.raises(ValueError, match="num_envs 2.5 is given, and it must be an integer"):
        ds.envs.make("InvertedPendulum", 2.5, contact=["todorov", "anitescu"])
    assert ds.envs.make("InvertedPendulum", 1, contact=["anitescu"]).num_envs == 1


def test_several_laws_at_once_are_the_batches_side_by_side():
    mixed = ds.envs.make("Hopper", 5, contact=["todorov", "anitescu"])
    alone = [ds.envs.make("Hopper", n, contact=law) for n, law in ((2, "todorov"), (3, "anitescu"))]
    observation, _ = mixed.reset(seed=4)
    apart = [env.reset(seed=seed)[0] for env, seed in zip(alone, (4, 6))]
    assert np.array_equal(observation, np.concatenate(apart))
    ended = 0
    actions = np.random.default_rng(0).uniform(-1, 1, (60, 5, 3)).astype(np.float32)
    for action in actions:
        given = mixed.step(action)
        parts = [env.step(rows) for env, rows in zip(alone, (action[:2], action[2:]))]
        for i in range(4):
            assert np.array_equal(given[i], np.concatenate([part[i] for part in parts]))
        if "final_obs" in given[4]:
            marked = given[4]["_final_obs"]
            ended += int(marked.sum())
            assert np.array_equal(marked, given[2] | given[3])
    assert ended > 0
    kept = mixed.state()
    after = mixed.step(actions[0])[0]
    mixed.load_state(kept)
    assert np.array_equal(mixed.step(actions[0])[0], after)


# the same physics twice, so that rows are those of a single batch
TWICE = ["todorov", {"contact_model": "todorov"}]


def both(task="InvertedPendulum", num_envs=5, **options):
    """Two contact models that are the same, and one batch."""
    return [ds.envs.make(task, num_envs, num_threads=1, device="cpu", **options, **more) for more in ({"contact": TWICE}, {})]


@pytest.mark.parametrize("seed", [3, np.int64(3), [5, 1, 4, 1, 2], np.array([5, 1, 4, 1, 2])])
def test_environments_are_seeded_as_in_a_single_batch(seed):
    mixed, single = both(seed=seed)
    assert np.array_equal(mixed.reset()[0], single.reset()[0])
    later = [env.reset(seed=seed)[0] for env in both()]
    assert np.array_equal(*later)
    for env in both():
        with pytest.raises(ValueError, match="2 seeds are given, and there are 5 environments"):
            env.reset(seed=[1, 2])
        with pytest.raises(gymnasium.error.Error, match="must be a python integer"):
            env.reset(seed=2.5)


def same(given, wanted):
    """Whether both are the same arrays, in dicts of dicts."""
    if isinstance(wanted, dict):
        return given.keys() == wanted.keys() and all(same(given[name], wanted[name]) for name in wanted)
    return np.array_equal(given, wanted)


def test_what_happens_in_one_part_is_told_as_in_a_single_batch():
    mixed, single = both("Hopper", nonfinite="clamp")
    mixed.reset(seed=0), single.reset(seed=0)
    alone = 0
    actions = np.random.default_rng(0).uniform(-1, 1, (60, 5, 3)).astype(np.float32)
    actions[::7, 4] = np.nan
    for action in actions:
        seen, *_, told = zip(*(env.step(action) for env in (mixed, single)))
        assert same(*seen) and same(*told)
        marked = told[0].get("_final_obs", np.zeros(5, bool))
        alone += marked[:2].any() != marked[2:].any()
    assert alone > 0


@pytest.mark.parametrize("actions", [0.0, np.zeros((3, 1)), np.zeros(5)])
def test_actions_of_another_shape_are_refused(actions):
    for env in both():
        env.reset(seed=0)
        with pytest.raises(ValueError, match=r"actions of shape \(.*\) are given, and \(5, 1\) is wanted"):
            env.step(actions)


@pytest.mark.parametrize("mode", ["SAME_STEP", "DISABLED"])
def test_what_one_part_refuses_steps_none(mode):
    """By the numbers of all environments, and as a single batch says it."""
    envs, told = both(autoreset_mode=mode, max_episode_steps=3), []
    actions = np.zeros((5, 1), np.float32)
    for env in envs:
        with pytest.raises(gymnasium.error.ResetNeeded) as never:
            env.step(actions)
        env.reset(seed=0)
        actions[3:] = np.nan
        before = env.state()
        with pytest.raises(ValueError, match=r"environments \[3, 4\] \(2 in all\) are not finite") as wrong:
            env.step(actions)
        assert all(np.array_equal(array, before[name]) for name, array in env.state().items())
        actions[:] = 0
        told.append([str(never.value), str(wrong.value)])
    assert told[0] == told[1] and "5 of 5 environments were never reset: [0, 1, 2, 3, 4]" in told[0][0]
    for _ in range(3):
        envs[0].step(actions)
    if mode == "DISABLED":
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"environments \[0, 1, 2, 3, 4\] are done"):
            envs[0].step(actions)


@pytest.mark.parametrize("contact", [3, ["todorov", 3], [["todorov"], "anitescu"]])
def test_a_law_that_is_no_law_is_refused(contact):
    with pytest.raises(TypeError, match="is given, and the name of a law or a dict of options is wanted"):
        ds.envs.make("InvertedPendulum", 4, contact=contact)


def test_steps_of_episodes_are_written_in_place():
    for env in both(max_episode_steps=5):
        env.reset(seed=0)
        copied = copy.deepcopy(env)
        for one in (env, copied):
            one.elapsed[3] = 4
            assert one.step(np.zeros((5, 1)))[3].tolist() == [False, False, False, True, False]
            assert one.elapsed.tolist() == [1, 1, 1, 0, 1]
            one.elapsed = np.arange(5)
            assert one.step(np.zeros((5, 1)))[3].tolist() == [False, False, False, False, True]


def test_steps_of_episodes_are_written_in_place_by_rsl_rl():
    torch = pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    from dualstep.envs.adapters.rsl_rl import RslRlEnv

    env = RslRlEnv("InvertedPendulum", 4, contact=TWICE, max_episode_steps=5, num_threads=1, device="cpu", seed=0)
    env.episode_length_buf[2] = 4
    assert env.step(torch.zeros(4, 1))[3]["time_outs"].tolist() == [False, False, True, False]


def test_pictures_are_of_the_first_law(monkeypatch):
    drawn = []

    class Renderer:
        def __init__(self, task, mode, options):
            drawn.append((task.model.opt.contact_model, mode))

        def __call__(self, sim):
            return tuple(range(sim.num_envs))

        def close(self):
            drawn.append("closed")

    monkeypatch.setattr("dualstep.envs.render.Renderer", Renderer)
    env = ds.envs.make("Hopper", 4, contact=["anitescu", "todorov"], render_mode="rgb_array")
    assert env.render_mode == "rgb_array" and env.render() == (0, 1)
    env.close()
    assert drawn == [("anitescu", "rgb_array"), "closed"]
    assert ds.envs.make("Hopper", 4, contact=["anitescu", "todorov"]).render() is None


def still(observation):
    return 0 * observation[:, :1]


@pytest.fixture(scope="module")
def audited():
    pytest.importorskip("torch")
    from dualstep.envs.training.contact_audit import audit_policy

    return audit_policy("ContactBrick", still, episodes=3, seconds=0.5)


def test_contacts_take_what_the_brick_loses(audited):
    rows = {row.name: row for row in audited.rows}
    assert rows["as trained"].figures["kept"] == 1 and len(rows) > 15
    # the brick stops within 1.6^2/(2 g) = 0.13 m, 0.16 s; friction 1 takes all of its kinetic energy
    speeds = [1.5 + 0.1 * draw for draw in _draws()]
    energy = np.mean([0.5 * 2 * v * v for v in speeds])
    for row in audited.rows:
        assert not row.refused, row
        told = row.figures
        if row.name.startswith(("anitescu", "todorov", "as trained", "stewart")):
            assert -0.5 * told["net"] == pytest.approx(energy, rel=0.06), row.name
        assert told["motors"] == 0 and told["falls"] == 0 and told["given"] < 0.1 * energy
    # softness is paid in depth, and friction that is regularized in slip
    assert rows["compliant, k/4"].figures["penetration"] > 2 * rows["compliant"].figures["penetration"]
    assert rows["anitescu"].figures["penetration"] < rows["todorov, 50 ms, R 0.01"].figures["penetration"]


def _draws():
    env = ds.envs.make("ContactBrick", 3)
    observation, _ = env.reset(seed=0)
    return (observation[:, 2] - 1.5) / 0.1


def test_the_same_starts_are_compared(audited):
    base = np.array(audited.rows[0].returns)
    for row in audited.rows[1:]:
        apart = np.array(row.returns) - base
        assert row.figures["difference"] == pytest.approx(apart.mean())
        assert row.figures["difference_error"] == pytest.approx(apart.std() / np.sqrt(3))


def test_table_json_and_picture(audited, tmp_path):
    pytest.importorskip("matplotlib")
    lines = audited.table().splitlines()
    assert len(lines) == 2 + len(audited.rows) and "stewart_trinkle, round" in audited.table()
    assert json.loads(audited.to_json())["rows"][0]["name"] == "as trained"
    audited.draw(tmp_path / "audit.png")
    assert (tmp_path / "audit.png").stat().st_size > 10_000


def test_trained_and_audited_on_the_command_line(tmp_path, capsys, monkeypatch):
    for module in ("torch", "rsl_rl", "matplotlib"):
        pytest.importorskip(module)
    from dualstep import cli

    monkeypatch.chdir(tmp_path)
    small = ["--num-envs", "12", "--set", "num_steps=4", "--set", "mini_batches=1", "--set", "hidden=(8,)",
             "--episodes", "0", "--video-seconds", "0"]  # fmt: skip
    train = ["train", "Hopper", "--steps", "96", "--out", "mixed", "--no-tensorboard", *small]
    assert cli.main([*train, "--randomize-contact"]) == 0
    assert "2 soft_anchor" in capsys.readouterr().err
    assert cli.main([*train[:4], "--resume", "--steps", "144", *train[4:]]) == 0
    assert "exactly where it was" in capsys.readouterr().err
    # fewer environments than laws: for a look, and not to learn from
    assert cli.main(["play", "mixed", "--episodes", "2", "--device", "cpu"]) == 0
    assert cli.main([*train, "--randomize-contact", "--num-envs", "4"]) == 2
    assert "num_envs 4 is given, and contact has 6 models" in capsys.readouterr().err
    assert cli.main([*train, "--contact-model", "anitescu", "--randomize-contact"]) == 2
    assert cli.main([*train[:4], "--out", "hard", *train[6:], "--contact-model", "anitescu"]) == 0
    capsys.readouterr()
    assert cli.main(["audit", "hard", "--num-envs", "2", "--duration", "0.1", "--formulations", "todorov", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["name"] == "as trained: anitescu"
    assert {row["name"].partition(",")[0] for row in found["rows"][1:]} == {"todorov"}
    assert cli.main(["audit", "hard", "--actions", "1"]) == 2
