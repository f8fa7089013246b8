"""A field of the state that is one row (toy_state.inl), in Python: its property, shape and meaning; saved, restored, reset.

python toy_state.py MODULE, an extension module that was compiled with the row.
"""

import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "bindings" / "python" / "dualstep"


def package(module: pathlib.Path, folder: pathlib.Path) -> None:
    """The package's sources around that module, in place of its own."""
    (folder / "dualstep").mkdir()
    # where the sources are used in place, a link to the tasks lies among them already
    for path in {"envs": ROOT / "envs", **{path.name: path for path in SOURCES.iterdir()}}.values():
        if not path.name.startswith("_core.c"):
            (folder / "dualstep" / path.name).symlink_to(path)
    (folder / "dualstep" / module.name).symlink_to(module)
    sys.path.insert(0, str(folder))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        package(pathlib.Path(sys.argv[1]), pathlib.Path(folder))
        import dualstep as ds

        model = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>")
        batch = ds.Batch(model, 3, num_threads=1)
        assert "toy_age" in dir(batch) and "steps that each dof has lived" in type(batch).toy_age.__doc__
        assert batch.toy_age.shape == (3, 6) and not batch.toy_age.any()
        batch.step(4)
        batch.toy_age[1] = 10
        state = batch.save()
        batch.step()
        np.testing.assert_array_equal(batch.toy_age[:, 0], [5, 11, 5])
        batch.load(state)
        np.testing.assert_array_equal(batch.toy_age[:, 5], [4, 10, 4])
        batch.reset(np.array([True, False, False]))
        np.testing.assert_array_equal(batch.toy_age[:, 5], [0, 10, 4])
        try:
            batch.toy_age = np.ones(7)
        except ValueError as error:
            assert "toy_age" in str(error)
        else:
            raise AssertionError("seven numbers are none for three environments")
        print("shown")


if __name__ == "__main__":
    main()
