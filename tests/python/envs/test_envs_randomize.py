"""Domain randomization: who gets which parameters, what follows from them, and the state of environments as a whole."""

import gymnasium
import mujoco
import numpy as np
import pytest

import dualstep as ds
from dualstep.envs import Vary
from dualstep.envs.assets import find_asset


def ants(num_envs, *varies, **options):
    env = ds.envs.make("Ant", num_envs, num_threads=1, randomize=varies, **options)
    env.reset(seed=options.get("seed", 4))
    return env


def step(env, count=1):
    for t in range(count):
        found = env.step(np.stack([np.random.default_rng([t, i]).uniform(-1, 1, 8) for i in range(env.num_envs)]))
    return found


def test_a_mass_brings_its_inertia_and_what_is_derived():
    env = ants(5, Vary("body_mass", 0.5, 2.0, of="torso"), dtype="float64")
    model = env.sim.model
    torso = model.id_of("body", "torso")
    mass, inertia = env.sim.get_parameter("body_mass"), env.sim.get_parameter("body_inertia")
    ratio = mass[:, torso] / model.body_mass[torso]
    assert ((0.5 <= ratio) & (ratio < 2)).all() and len(set(ratio)) == 5
    np.testing.assert_allclose(inertia[:, torso] / model.body_inertia[torso], np.repeat(ratio[:, None], 3, axis=1))
    others = np.arange(model.nbody) != torso
    assert (mass[:, others] == model.body_mass[others]).all()
    # each is as if its model had been made so: inverse weights, and with them contacts, follow
    step(env, 20)
    made = mujoco.MjModel.from_xml_path(find_asset("ant.xml"))
    made.body_mass[:], made.body_inertia[:] = mass[2], inertia[2]
    mujoco.mj_setConst(made, mujoco.MjData(made))
    made = ds.Model.from_mujoco(made)
    made.opt.tolerance = model.opt.tolerance
    twin = ds.Batch(made, 1, "cpu", "float64", num_threads=1, rk4_outputs="last")
    for name in ("qpos", "qvel", "ctrl", "qacc_warmstart"):
        getattr(twin, name)[...] = getattr(env.sim, name)[2:3]
    touched = 0
    for _ in range(40):
        twin.step(1)
        env.sim.step(1)
        touched += int(twin.contacts().count[0] > 0)
    assert touched > 5
    np.testing.assert_allclose(twin.qpos[0], env.sim.qpos[2], atol=1e-9)


@pytest.mark.parametrize("distribution", ["uniform", "log_uniform", "normal"])
@pytest.mark.parametrize("operation", ["scale", "add", "set"])
def test_distributions(distribution, operation):
    low, high = (1.0, 0.1) if distribution == "normal" else (0.5, 2.0)
    env = ants(400, Vary("geom_friction", low, high, operation, distribution, of="floor", axes=(0,)))
    model = env.sim.model
    floor = model.id_of("geom", "floor")
    friction = env.sim.get_parameter("geom_friction")
    default = model.geom_friction[floor, 0]
    x = {"scale": lambda v: v / default, "add": lambda v: v - default, "set": lambda v: v}[operation](friction[:, floor, 0])
    if distribution == "normal":
        assert abs(x.mean() - 1) < 0.02 and abs(x.std() - 0.1) < 0.02
    else:
        assert x.min() >= 0.5 - 1e-12 and x.max() < 2
        z = (x - 0.5) / 1.5 if distribution == "uniform" else np.log(x / 0.5) / np.log(4)
        assert abs(z.mean() - 0.5) < 0.05 and abs(z.std() - 12**-0.5) < 0.03
    friction[:, floor, 0] = default
    assert (friction == model.geom_friction).all()


def test_when():
    varies = (
        Vary("dof_damping", 0.5, 2, of="hip_1", when="start"),
        Vary("dof_armature", 0.5, 2, of="hip_1", when="reset"),
        Vary("opt_gravity", -1, 1, "add", when=(0.2, 0.3)),
    )
    env = ants(3, *varies)
    seen = {name: [] for name in ("dof_damping", "dof_armature", "opt_gravity")}
    changes = []
    for t in range(12):
        for name, values in seen.items():
            values.append(env.sim.get_parameter(name))
        if t:
            changes.append((seen["opt_gravity"][-1] != seen["opt_gravity"][-2]).any(axis=1))
        step(env)
    # 0.05 s a step: between 4 and 6 of them
    assert all(4 <= gap <= 6 for row in np.array(changes).T for gap in np.diff([-1, *np.flatnonzero(row)]))
    gravity = np.array(seen["opt_gravity"])
    assert (abs(gravity - env.sim.model.opt.gravity) <= 1).all(), "it does not accumulate"
    assert all((values == seen["dof_armature"][0]).all() for values in seen["dof_armature"])
    damping, armature = env.sim.get_parameter("dof_damping"), env.sim.get_parameter("dof_armature")
    hip = env.sim.model.jnt_dofadr[env.sim.model.id_of("joint", "hip_1")]
    env.reset(options={"reset_mask": np.array([True, False, False])})
    changed = env.sim.get_parameter("dof_armature") != armature
    assert changed[0, hip] and changed.sum() == 1
    assert (env.sim.get_parameter("dof_damping") == damping).all()
    env.reset(seed=77)
    assert (env.sim.get_parameter("dof_damping") != damping).any(axis=1).all()


def test_an_event_of_the_user():
    env = ants(3, Vary("body_mass", 0.5, 2.0))
    before = env.sim.get_parameter("body_mass")
    env.randomize(np.array([False, True, False]))
    after = env.sim.get_parameter("body_mass")
    assert (after != before).any(axis=1).tolist() == [False, True, False]
    env.randomize()
    last = env.sim.get_parameter("body_mass")
    assert (last != before).any(axis=1).all() and (last != after).any(axis=1).all(), "anew, at the same moment too"
    step(env)
    env.randomize()
    assert (env.sim.get_parameter("body_mass") != last).any(axis=1).all()
    with pytest.raises(ValueError, match="mask has shape"):
        env.randomize(np.ones(2, bool))


def test_events_of_the_user_repeat():
    env = ants(3, Vary("body_mass", 0.5, 2.0, together=True), Vary("opt_gravity", -1, 1, "add", when=(0.05, 0.05)))

    def drawn():
        env.randomize()
        return env.sim.get_parameter("body_mass")[:, 1].tolist(), env.sim.get_parameter("opt_gravity")[:, 2].tolist()

    first, state, second = drawn(), env.state(), drawn()
    # what is due at the next step is another event
    step(env)
    due = env.sim.get_parameter("opt_gravity")[:, 2].tolist()
    masses, gravities = zip(first, second, drawn(), strict=True)
    assert len({*sum(masses, [])}) == 9 and len({*sum(gravities, []), *due}) == 12
    env.load_state(state)
    assert drawn() == second
    env.reset(seed=4)
    assert drawn() == first
    few = ds.envs.make("Ant", 1, num_threads=1, randomize=env.randomization)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"before randomize\(\): 1 of 1 environments were never reset"):
        few.randomize()
    few.reset(seed=6)
    few.randomize()
    assert few.sim.get_parameter("body_mass")[0, 1] == first[0][2]


def test_draws_depend_on_the_seed_and_not_on_the_batch():
    vary = Vary("body_mass", 0.5, 2.0, together=True)
    many = ants(6, vary).sim.get_parameter("body_mass")
    few = ds.envs.make("Ant", 2, num_threads=1, randomize=[vary])
    few.reset(seed=[6, 9])
    assert np.array_equal(few.sim.get_parameter("body_mass"), many[[2, 5]])
    ratio = many[:, 1:] / few.sim.model.body_mass[1:]
    assert np.allclose(ratio, ratio[:, :1])
    assert few.randomization[0]["parameter"] == "body_mass" and ds.envs.make(
        "Ant", 1, randomize=few.randomization
    ).randomization == few.randomization


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"parameter": "geom_frictoin", "low": 1, "high": 2}, "near it are 'geom_friction'"),
        ({"parameter": "body_mass", "low": 2, "high": 1}, "low <= high"),
        ({"parameter": "body_mass", "low": 0, "high": 1, "distribution": "log_uniform"}, "a positive one"),
        ({"parameter": "body_mass", "low": 1, "high": 2, "of": "tors"}, "no name matches 'tors'; there are: .*'torso'"),
        ({"parameter": "body_mass", "low": 1, "high": 2, "when": "never"}, "'start', 'reset' or"),
        ({"parameter": "body_mass", "low": 1, "high": 2, "when": (2, 1)}, "least, most"),
        ({"parameter": "body_mass", "low": 1, "high": float("nan")}, "two finite numbers"),
        ({"parameter": "body_mass", "low": 1, "high": 2, "operation": "times"}, "one of 'scale'"),
        ({"parameter": "geom_friction", "low": 1, "high": 2, "axes": (3,)}, "of 3"),
        ({"parameter": "body_mass", "lo": 1, "high": 2}, "near it are: low"),
        ({"parameter": "dof_invweight0", "low": 1, "high": 2}, "derived"),
        ({"parameter": "body_mass", "low": -2, "high": -1}, "body_mass"),
        ({"parameter": "body_mass", "low": "1", "high": 2}, "low '1', high 2 is given, and two finite numbers"),
        ({"parameter": "body_mass", "low": 1}, "'high' is wanted too"),
        ({"parameter": "body_mass", "low": 1, "high": 2, "when": ("1", "2")}, "least, most"),
        ({"parameter": "body_mass", "low": 1, "high": 2, "of": "(torso"}, "of '\\(torso' .* a regular expression is"),
        ({"parameter": "body_mass", "low": 1, "high": 2, "of": 3}, "of 3 is given, and a text is wanted"),
        ({"parameter": "geom_friction", "low": 1, "high": 2, "axes": 0}, "axes 0 is given, and a tuple of different"),
        ({"parameter": "geom_friction", "low": 1, "high": 2, "axes": (0, 0)}, "axes \\(0, 0\\) is given"),
        ({"parameter": "geom_friction", "low": 1, "high": 2, "axes": ("x",)}, "axes \\('x',\\) is given"),
        ("body_mass", "a Vary, or a dict"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        ants(2, given)


def test_a_list_is_wanted():
    for given in (Vary("body_mass", 1, 2), {"parameter": "body_mass", "low": 1, "high": 2}, "body_mass", 3):
        with pytest.raises(TypeError, match="is given, and a list of such is wanted"):
            ds.envs.make("Ant", 1, randomize=given)


def test_an_entry_is_drawn_once():
    with pytest.raises(ValueError, match="body_inertia: an entry is drawn twice"):
        ants(2, Vary("body_mass", 1, 2, of="torso"), Vary("body_inertia", 1, 2))


@pytest.mark.parametrize("name", ["Ant", "Hopper"])
def test_a_state_goes_on_bit_for_bit(name):
    vary = [Vary("body_mass", 0.8, 1.2), Vary("opt_gravity", -1, 1, "add", when=(0.05, 0.1))]
    options = {"num_threads": 1, "max_episode_steps": 25, "randomize": vary}
    env, other = ds.envs.make(name, 4, **options), ds.envs.make(name, 4, **options)
    env.reset(seed=1)
    actions = np.random.default_rng(0).uniform(-1, 1, (60, *env.action_space.shape)).astype(np.float32)
    for action in actions[:20]:
        env.step(action)
    state = env.state()
    wanted = [env.step(action) for action in actions[20:]]
    other.load_state(state)
    for action, expected in zip(actions[20:], wanted, strict=True):
        for a, b in zip(expected[:4], other.step(action)[:4], strict=True):
            assert np.array_equal(a, b)
    with pytest.raises(ValueError, match="4 environments is given"):
        ds.envs.make(name, 3, **options).load_state(state)
