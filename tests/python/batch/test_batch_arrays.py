"""The arrays of a batch: shapes, types, live views, assignment, lazy outputs; what is refused, and in what words."""

import gc

import numpy as np
import pytest
from batch_models import OUTPUTS, STATE, everything, gym, same_bits, shake, small

import dualstep as ds

N = 5


@pytest.fixture
def sim():
    return ds.Batch(small(), N, device="cpu", num_threads=1)


def test_shapes_and_types(sim):
    m = sim.model
    shapes = dict(
        qpos=(m.nq,), qvel=(m.nv,), act=(m.na,), ctrl=(m.nu,), qfrc_applied=(m.nv,), xfrc_applied=(m.nbody, 6),
        mocap_pos=(m.nmocap, 3), mocap_quat=(m.nmocap, 4), qacc_warmstart=(m.nv,), time=(), status=(), iterations=(),
        residual=(), reset_count=(), qacc=(m.nv,), qacc_smooth=(m.nv,), qfrc_bias=(m.nv,), qfrc_passive=(m.nv,),
        qfrc_actuator=(m.nv,), qfrc_smooth=(m.nv,), qfrc_constraint=(m.nv,), actuator_force=(m.nu,),
        xpos=(m.nbody, 3), xquat=(m.nbody, 4), xipos=(m.nbody, 3), cvel=(m.nbody, 6), cinert=(m.nbody, 10),
        cfrc_ext=(m.nbody, 6), subtree_com=(m.nbody, 3), geom_xpos=(m.ngeom, 3), geom_xmat=(m.ngeom, 9), site_xpos=(m.nsite, 3),
        site_xmat=(m.nsite, 9), energy=(2,), sensordata=(m.nsensordata,),
        ten_length=(m.ntendon,), ten_velocity=(m.ntendon,), ten_J=(m.ntendon, m.nv),
    )  # fmt: skip
    types = dict(time=np.float64, status=np.uint32, reset_count=np.uint32, iterations=np.int32)
    for name, shape in shapes.items():
        array = getattr(sim, name)
        assert array.shape == (N, *shape), name
        assert array.dtype == types.get(name, np.float32), name
        assert array.flags.c_contiguous and array.ctypes.data % 64 == 0, name
    assert ds.Batch(small(), 2, dtype="float64").qpos.dtype == np.float64
    assert set(shapes) >= {n for n in STATE + OUTPUTS if not n.startswith("contact_") and n != "qM"}
    for name in shapes:
        assert len(getattr(ds.Batch, name).__doc__) > len("(N, nu) ")


def test_a_fresh_batch_stands_at_the_reference_configuration(sim):
    m = sim.model
    np.testing.assert_array_equal(sim.qpos, np.tile(m.qpos0.astype(np.float32), (N, 1)))
    for name in ("qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "qacc_warmstart", "time", "status", "residual"):
        assert not getattr(sim, name).any(), name
    np.testing.assert_array_equal(sim.mocap_pos[3], [[1, 2, 3]])
    np.testing.assert_array_equal(sim.mocap_quat[3], [[0, 1, 0, 0]])


def test_views_are_live_and_stay_where_they_are(sim):
    held = {name: getattr(sim, name) for name in (*STATE, "time", "status", *OUTPUTS)}
    where = {name: array.ctypes.data for name, array in held.items()}
    sim.qvel[1, 0] = 2.5
    sim.ctrl[...] = 0.5
    before = held["xpos"].copy()
    sim.step(2)
    assert not np.array_equal(before, held["xpos"])
    np.testing.assert_allclose(held["time"], 0.008)
    sim.reset()
    sim.load(sim.save())
    sim.set_parameter("opt_gravity", [0, 0, -1])
    sim.step()
    for name, array in held.items():
        assert getattr(sim, name).ctypes.data == where[name], name
        assert same_bits(getattr(sim, name), array), name


def test_writing_moves_the_simulation(sim):
    sim.qpos[2, 2] = 1.25
    sim.qpos[:, 7] = np.linspace(0, 0.4, N)
    sim.forward()
    assert sim.xpos[2, 2, 2] == np.float32(1.25)
    assert len({sim.xpos[e, 4].tobytes() for e in range(N)}) == N


def test_a_force_alone_in_its_pack_is_felt():
    model, pack = gym("humanoid"), 16
    entries = np.arange(6, 6 * model.nbody)
    with ds.Batch(model, pack * len(entries)) as batch:
        batch.step()
        free = batch.qacc.copy()
        batch.reset()
        batch.xfrc_applied.reshape(batch.num_envs, -1)[pack * np.arange(len(entries)), entries] = 50
        batch.step()
        felt = np.any(batch.qacc != free, axis=1).reshape(-1, pack)
    assert felt[:, 0].all() and not felt[:, 1:].any()


def test_assignment_copies(sim):
    given = np.full((N, sim.model.nv), 0.5, np.float32)
    view = sim.qvel
    sim.qvel = given
    given[:] = 7
    assert sim.qvel is view and (view == 0.5).all()
    sim.ctrl = [[0.1, 0.2]] * N
    np.testing.assert_array_equal(sim.ctrl, np.float32([[0.1, 0.2]] * N))
    sim.qvel += 1
    assert (view == 1.5).all()
    sim.time = np.arange(N, dtype=np.float64)
    assert sim.time[3] == 3


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("qpos", np.zeros((N + 1, 9), np.float32), ["qpos", f"({N + 1}, 9)", f"({N}, 9)"]),
        ("qpos", np.zeros(9, np.float32), ["(9,)", f"({N}, 9)"]),
        ("qvel", np.zeros((N, 8)), ["float64", "float32"]),
        ("qvel", np.zeros((N, 8), np.int32), ["int32", "float32"]),
        ("ctrl", [[1, 2, 3]] * N, [f"({N}, 3)", f"({N}, 2)"]),
        ("ctrl", [["a", "b"]] * N, ["ctrl", "float32"]),
        ("ctrl", [[1], [2, 3]], ["ctrl"]),
        ("ctrl", None, ["ctrl", "wanted"]),
        ("ctrl", 1.0, ["()", f"({N}, 2)"]),
    ],
)
def test_assignment_of_another_shape_or_type_is_refused(sim, name, value, words):
    getattr(sim, name)[...] = 0.25
    with pytest.raises(ValueError) as error:
        setattr(sim, name, value)
    assert all(word in str(error.value) for word in words), error.value
    assert (getattr(sim, name) == 0.25).all()


def test_outputs_cannot_be_assigned(sim):
    with pytest.raises(AttributeError):
        sim.xpos = sim.xpos


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(num_envs=0), ["num_envs 0"]),
        (dict(num_envs=-3), ["num_envs -3"]),
        (dict(num_envs=2.5), ["2.5", "integer"]),
        (dict(num_envs=2**40), ["num_envs"]),
        (dict(device="gpu"), ["'gpu'", "'cpu'", "'cuda'"]),
        (dict(device="cuda:x"), ["'cuda:x'"]),
        (dict(device="cpu:1"), ["'cpu:1'"]),
        (dict(device=7), ["7"]),
        (dict(dtype="float16"), ["float16", "float32", "float64"]),
        (dict(dtype="nonsense"), ["nonsense"]),
        (dict(dtype=None), ["None"]),
        (dict(num_threads=-1), ["num_threads -1"]),
        (dict(isa="sse9"), ["'sse9'", "'portable'"]),
        (dict(diverged="explode"), ["'explode'", "'freeze'", "'reset'"]),
    ],
)
def test_a_batch_that_cannot_be_is_refused(arguments, words):
    with pytest.raises(ValueError) as error:
        ds.Batch(small(), **{"num_envs": 2, **arguments})
    assert all(word in str(error.value) for word in words), error.value


def test_a_batch_of_something_else_is_refused():
    with pytest.raises(TypeError, match="dualstep.Model"):
        ds.Batch("humanoid.xml", 2)


def test_options_are_checked_when_the_batch_is_made():
    model = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    model.opt.gravity[2] = np.nan
    with pytest.raises(ds.InvalidModelError, match="gravity"):
        ds.Batch(model, 2)


def test_too_large_a_batch_says_so():
    with pytest.raises(MemoryError):
        ds.Batch(gym("humanoid"), 2**31 - 1)


def test_outputs_made_late_have_the_bits_of_those_made_early():
    rng = np.random.default_rng(1)
    early, late = (ds.Batch(small(), 19, num_threads=1) for _ in range(2))
    for name in OUTPUTS:
        getattr(early, name)
    shake(early, rng)
    for name in STATE:
        getattr(late, name)[...] = getattr(early, name)
    for _ in range(30):
        early.step(2)
        late.step(2)
    early.qpos += 1  # outputs are those of the last evaluation, whatever was written since
    late.qpos += 1
    a, b = everything(early), everything(late)
    for name in a:
        assert same_bits(a[name], b[name]), name
    # and asking changed nothing
    early.step()
    late.step()
    assert same_bits(early.qpos, late.qpos)


def test_outputs_before_the_first_step_are_those_of_the_start(sim):
    np.testing.assert_array_equal(sim.xpos[:, 2], np.tile(np.float32([0, 0, 0.2]), (N, 1)))
    assert np.isfinite(sim.energy).all()
    assert not sim.iterations.any() and not sim.residual.any() and not sim.status.any()


def test_no_output_stays_unwritten():
    # memory begins as NaN: what no stage writes would show
    for model in (small(), gym("ant"), gym("humanoid")):
        sim = ds.Batch(model, 3)
        sim.step(3)
        for name in OUTPUTS:
            assert np.isfinite(getattr(sim, name)).all(), name
        contacts = sim.contacts()
        inside = np.arange(contacts.dist.shape[1]) < contacts.count[:, None]
        assert (contacts.geom[inside] >= 0).all() and (contacts.geom[~inside] == -1).all()


def test_contacts_and_mass_matrix(sim):
    sim.reset(keyframe="low")
    sim.forward()
    contacts = sim.contacts()
    capacity = contacts.dist.shape[1]
    assert contacts.count.tolist() == [1] * N
    assert contacts.pos.shape == (N, capacity, 3) and contacts.frame.shape == (N, capacity, 3, 3)
    assert contacts.force.shape == (N, capacity, 6) and contacts.geom.shape == (N, capacity, 2)
    np.testing.assert_allclose(contacts.dist[:, 0], -0.01, atol=1e-6)
    np.testing.assert_allclose(contacts.frame[:, 0, 0], np.tile([0, 0, 1], (N, 1)), atol=1e-6)
    assert contacts.geom[0, 0].tolist() == [0, 1] and (contacts.force[:, 0, 0] > 0).all()
    sim.qpos[:, 2] = 3
    sim.forward()
    assert sim.contacts().count.tolist() == [0] * N and contacts.count is sim.contacts().count

    dense = sim.mass_matrix()
    assert dense.shape == (N, sim.model.nv, sim.model.nv)
    np.testing.assert_array_equal(dense, dense.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(dense) > 0).all()
    np.testing.assert_allclose(np.diagonal(dense[0])[:3], sim.model.body_mass[2], rtol=1e-6)
    speed = np.arange(8, dtype=np.float32) / 8
    sim.qvel[...] = speed
    sim.forward()
    np.testing.assert_allclose(0.5 * speed @ sim.mass_matrix()[0] @ speed, sim.energy[0, 1], rtol=1e-5)


def test_contact_counts_alone_are_current():
    sim = ds.Batch(small(), 2)
    assert sim.contact_count.tolist() == [0, 0]
    sim.reset(keyframe="low")
    assert sim.contact_count.tolist() == [1, 1]


HEAP = """<mujoco><worldbody><geom type="plane" size="9 9 1"/>{}</worldbody></mujoco>"""
BALL = "<body pos='{} 0 {}'><freejoint/><geom size='.2'/></body>"


# ten trees are solved island by island on the CPU, pairs side by side
@pytest.mark.parametrize("count", [3, 10])
@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("asked", ["before", "after"])
def test_contacts_before_any_is_dropped(count, device, asked):
    # each environment has one ball more on the floor, the others are high above it
    model = ds.Model.from_mjcf(HEAP.format("".join(BALL.format(i, 0.19) for i in range(count))))
    model.opt.contact_capacity = 2
    with ds.Batch(model, count + 1, device, num_threads=1) as sim:
        for env in range(count + 1):
            sim.qpos[env].reshape(count, 7)[env:, 2] = 3
        if asked == "before":
            assert sim.contacts_needed.dtype == np.int32 and sim.contacts_needed.shape == (count + 1,)
        sim.step(3)
        assert sim.contacts_needed.tolist() == list(range(count + 1))
        assert sim.contact_count.tolist() == [min(n, 2) for n in range(count + 1)]
        assert [bool(bits & ds.Status.CONTACT_OVERFLOW) for bits in sim.status] == [n > 2 for n in range(count + 1)]
        # of the last evaluation alone: whoever leaves the floor needs none, and its status stays
        sim.qpos.reshape(count + 1, count, 7)[:, :, 2] += 3
        sim.forward()
        assert not sim.contacts_needed.any() and sim.status[count] & ds.Status.CONTACT_OVERFLOW
    # with as many slots nothing is dropped
    model.opt.contact_capacity = count
    with ds.Batch(model, 2, device, num_threads=1) as sim:
        sim.step()
        assert sim.contacts_needed.tolist() == sim.contact_count.tolist() == [count] * 2 and not sim.status.any()
    ref = ds.Reference(model)
    ref.forward()
    assert ref.contacts_needed == count


def test_arrays_outlive_their_batch():
    sim = ds.Batch(small(), N)
    sim.qpos[...] = 3
    array, xpos = sim.qpos, sim.xpos
    copy = xpos.copy()
    sim.close()
    del sim
    gc.collect()
    assert (array == 3).all() and same_bits(xpos, copy)


def test_closing():
    with ds.Batch(small(), N) as sim:
        sim.step()
    for use in (lambda: sim.step(), lambda: sim.qpos, lambda: sim.num_envs, lambda: sim.save()):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    assert "closed" in repr(sim)
    sim.close()


def test_what_it_says_of_itself():
    sim = ds.Batch(small(), 3, device="auto", num_threads=1, isa="portable", seed=11)
    assert sim.device in ("cpu", "cuda:0") and sim.num_envs == len(sim) == 3 and sim.seed == 11
    sim = ds.Batch(small(), 3, device="cpu", num_threads=1, isa="portable")
    assert sim.device == "cpu" and sim.dtype == np.float32 and sim.model is small()
    for word in ("3 of Model(nq=9", "float32", "portable", "1 thread"):
        assert word in repr(sim)


def test_other_libraries_share_the_memory(sim):
    assert np.from_dlpack(sim.qpos).ctypes.data == sim.qpos.ctypes.data
    assert sim.qpos.__dlpack_device__() == (1, 0)
    torch = pytest.importorskip("torch")
    tensor = torch.from_dlpack(sim.ctrl)
    tensor[:] = 0.125
    assert (sim.ctrl == 0.125).all()
    sim.qvel = torch.full((N, sim.model.nv), 2.0)
    assert (sim.qvel == 2).all()


@pytest.mark.parametrize("given", [0, -1, 1.5, None, "1", 2**31, 2**40])
def test_steps_that_are_no_number_are_refused(sim, given):
    with pytest.raises(ValueError, match="nsubsteps"):
        sim.step(given)
    assert not sim.time.any()


def test_steps_that_are_too_many_are_told_the_bound(sim):
    for call in (sim.step, lambda count: sim.rollout(np.zeros((1, N, sim.model.nu)), count)):
        with pytest.raises(ValueError, match=r"nsubsteps 1099511627776 is given, and it must be .* below 2\*\*31"):
            call(2**40)


def test_status_bits():
    assert ds.Status(5) == ds.Status.DIVERGED | ds.Status.NOT_CONVERGED
    assert [bit.value for bit in ds.Status] == [1, 2, 4] and ds.Status.CONTACT_OVERFLOW == 2
