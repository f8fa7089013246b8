"""What an installed wheel must do by itself, in an environment with nothing but its own requirements.

    python tests/wheel/smoke.py          # from any folder but the repository's, whose sources would be found first
"""

import importlib.util
import pickle
import subprocess
import sys

import numpy as np

import dualstep as ds


def main() -> None:
    found = importlib.util.find_spec("dualstep")
    assert found is not None and found.origin is not None and "site-packages" in found.origin, found
    model = ds.Model.named("humanoid")
    with ds.Batch(model, 33) as sim, ds.Batch(model, 1, isa="portable", num_threads=1) as alone:
        print(sim.description)
        for batch in (sim, alone):
            batch.step(20)
        # the best instruction set here gives the bits of the portable one
        assert np.array_equal(sim.qpos[32], alone.qpos[0]) and not sim.status.any()
        again = pickle.loads(pickle.dumps(sim))
        assert np.array_equal(again.qpos, sim.qpos)
    ref, double = ds.Reference(model), ds.Batch(model, 1, dtype="float64")
    for one in (ref, double):
        one.step(20)
    assert np.abs(double.qpos[0] - ref.qpos).max() < 1e-8
    assert ds.formulations.coulomb_1d is not None
    found = ds.audit(ds.Model.named("humanoid"), formulations=["todorov", "anitescu"], duration=0.02, convergence=False)
    assert not any(row.refused for row in found.rows if row.name == "todorov")
    for words in (["--version"], ["info"], ["audit", "--help"], ["demo", "--help"]):
        subprocess.run([sys.executable, "-m", "dualstep", *words], check=True, stdout=subprocess.DEVNULL)
    print(f"dualstep {ds.__version__} of {sys.version.split()[0]}: the wheel works by itself")


if __name__ == "__main__":
    main()
