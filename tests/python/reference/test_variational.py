"""The variational integrator on models: frequencies, energy, momenta, constraints, impacts, friction."""

import mujoco
import numpy as np
import pytest
from formulation_models import box, four_bar, particle, reference

import dualstep as ds


def variational(xml, **options):
    return reference(xml, integrator="variational", **options)


def test_harmonic_frequency():
    ref = variational("""<mujoco><option timestep=".1" gravity="0 0 0"/><worldbody><body>
      <joint type="slide" stiffness="9"/><geom size=".1" mass="1"/></body></worldbody></mujoco>""")
    ref.qpos[0] = 1
    q = [1.0]
    for _ in range(50):
        ref.step()
        q.append(ref.qpos[0])
    q = np.array(q)
    # q_{k+1} + q_{k-1} = 2 cos(w h) q_k
    w = np.arccos(np.dot(q[1:-1], q[2:] + q[:-2]) / (2 * np.dot(q[1:-1], q[1:-1]))) / 0.1
    assert w == pytest.approx(2.977798952, abs=1e-9)


@pytest.mark.parametrize("h, wanted", [(0.02, 3.387e-4), (0.01, 8.472e-5)])
def test_pendulum_energy_is_bounded(h, wanted):
    ref = variational(f"""<mujoco><option timestep="{h}"/><worldbody><body><joint axis="0 1 0"/>
      <inertial pos="0 0 -1" mass="1" diaginertia="1e-13 1e-13 1e-13"/></body></worldbody></mujoco>""")
    ref.qpos[0] = 1
    energy = []
    for _ in range(round(20 / h)):
        ref.step()
        energy.append(ref.hamiltonian())
    error = np.abs(np.array(energy) + 9.81 * np.cos(1))
    half = len(error) // 2
    assert error.max() == pytest.approx(wanted, rel=2e-3)
    assert error[half:].max() == pytest.approx(error[:half].max(), rel=1e-3)


def test_momenta_of_a_tumbling_tree_are_kept():
    ref = variational("""<mujoco><option timestep=".01" gravity="0 0 0"/><worldbody><body><freejoint/>
      <inertial pos=".1 .05 0" mass="1" diaginertia=".1 .2 .25"/><geom size=".1" contype="0"/><body pos=".3 0 0">
      <joint type="ball"/><geom type="capsule" size=".05 .1" pos=".1 0 .1" contype="0"/></body></body></worldbody>
      </mujoco>""")
    ref.qvel[:] = (0.1, 0.2, 0.3, 1, 2, -1.5, 3, -1, 0.5)

    def momenta():
        model = ref.model.mj_model
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = ref.qpos, ref.qvel
        mujoco.mj_forward(model, data)
        mujoco.mj_subtreeVel(model, data)
        p = data.subtree_linvel[0] * model.body_subtreemass[0]
        return np.concatenate([p, data.subtree_angmom[0] + np.cross(data.subtree_com[0], p)])

    before, energy = momenta(), ref.kinetic_energy
    ref.step(300)
    np.testing.assert_allclose(momenta(), before, atol=1e-12)
    assert ref.kinetic_energy == pytest.approx(energy, rel=1e-3)


def test_the_loop_of_a_linkage_stays_closed():
    ref = variational(four_bar())
    energy = ref.hamiltonian()
    for _ in range(10):
        ref.step(50)
        ref.forward()
        assert np.abs(ref._core.rows()["pos"]).max() < 1e-11
        assert ref.hamiltonian() == pytest.approx(energy, abs=2e-3)


def test_a_drop_meets_the_ground_in_two_steps():
    h = 0.02
    ref = variational(particle(h=h, mu=0, mass=1, height=1), contact_margin=0.2)
    # q_{-1} = 1, q_0 = 1 - g h^2 / 2
    ref.qpos[2], ref.qvel[2] = -0.5 * 9.81 * h * h, -9.81 * h
    forces = []
    for _ in range(30):
        ref.step()
        forces.append(ref.contacts().force[:, 0].sum())
    assert forces[20] == 0
    np.testing.assert_allclose(forces[21:23], (94.745, 135.79), atol=1e-8)
    np.testing.assert_allclose(forces[23:], 9.81, atol=1e-8)
    assert ref.qpos[2] + 1 == pytest.approx(0, abs=1e-12)


def test_a_sliding_particle_decelerates_by_mu_g():
    h = 0.02
    ref = variational(particle(h=h, mass=1), contact_margin=0.1)
    ref.qvel[:] = (1, 0, -0.5 * 9.81 * h)
    x = [0.0]
    for _ in range(20):
        ref.step()
        x.append(ref.qpos[0])
    v = np.diff(x) / h
    np.testing.assert_allclose(np.diff(v)[:9] / h, -4.905, atol=1e-9)
    np.testing.assert_allclose(v[11:], 0, atol=1e-12)


def test_a_box_lands_and_rests():
    ref = variational(box(h=0.01, height=0.05, spin="3 5 0"), contact_margin=0.05)
    for _ in range(100):
        ref.step()
        # complementarity: forces push, and only where the gap of the next configuration is closed
        found = ref.contacts()
        assert (found.force[:, 0] >= -1e-9).all()
    ref.forward()
    assert ref.contacts().force[:, 0].sum() == pytest.approx(3 * 9.81, rel=1e-6)
    assert ref.qpos[2] == pytest.approx(0.1, abs=1e-4) and ref.status == 0


def test_joint_stops_hold():
    ref = variational("""<mujoco><option timestep=".01"/><worldbody><body><joint axis="0 1 0" limited="true" range="10 90"/>
      <geom pos="0 0 -1" size=".1" mass="1"/></body></worldbody></mujoco>""", contact_margin=0.1)  # fmt: skip
    ref.qpos[0] = 0.5
    for _ in range(200):
        ref.step()
        assert ref.qpos[0] > np.radians(10) - 1e-12
    assert ref.qpos[0] == pytest.approx(np.radians(10), abs=1e-12)


def test_a_box_that_its_hinge_holds_deep_in_the_ground_is_told():
    """No motion frees it, and forces that do would be so large that the softened dual seems to have no bound either."""
    ref = variational("""<mujoco><worldbody><geom type="plane" size="5 5 0.1"/><body><joint axis="-2 -0.3 0.6"/>
      <geom type="box" size="0.09 0.03 0.1"/></body></worldbody></mujoco>""", contact_margin=0.02)  # fmt: skip
    ref.step(10)
    assert np.isfinite(ref.qpos).all() and ref.status & ds.Status.NOT_CONVERGED
