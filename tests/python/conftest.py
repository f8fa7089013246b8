"""What all Python tests share: hypothesis' profiles, random numbers, Gymnasium's models, what is being tested."""

import os
import pathlib
import zlib

# before NumPy is there: threads of its linear algebra wait for each other by turning around, as many of them in every process
# of the tests as the machine has cores, and matrices here are small
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gymnasium
import hypothesis
import numpy as np
import pytest

import dualstep as ds

_ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
GYMNASIUM = (
    "ant half_cheetah hopper humanoid humanoidstandup inverted_double_pendulum inverted_pendulum pusher_v5 reacher "
    "swimmer walker2d_v5"
).split()

# the same examples in every run; `HYPOTHESIS_PROFILE=search` looks for new ones, and many more
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_report_header():
    with ds.Batch(ds.Model.from_mjcf(_ASSETS / "reacher.xml"), 1) as batch:
        return f"dualstep {ds.__version__} from {pathlib.Path(ds.__file__).parent}: {batch.description}"


@pytest.fixture
def rng(request):
    """Random numbers that depend on nothing but the test's name."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(params=GYMNASIUM)
def gym_path(request):
    """Each of Gymnasium's models, as a path."""
    return _ASSETS / f"{request.param}.xml"


@pytest.fixture
def humanoid_path():
    return _ASSETS / "humanoid.xml"
