"""The CUDA backend on the PTX interpreter: a Python with it, for pytest or whatever is given.

    python tests/ptx_interpreter/run.py build/test                    # the tests that a GPU must pass
    python tests/ptx_interpreter/run.py build/test -m pytest -k sort  # other arguments of python

The build folder is one with DUALSTEP_TESTS and the CUDA backend. PTX_INTERPRETER_SEED=7 runs threads in another order.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = (
    "test_cuda.py", "test_cuda_graphs.py", "test_cuda_streams.py", "test_cuda_errors.py", "test_first_contact.py",
    "test_golden.py",
)  # fmt: skip
TESTS = [next(ROOT.glob(f"tests/python/**/{name}")) for name in NAMES]
ENVIRONMENTS = next(ROOT.glob("tests/python/**/test_envs_cuda.py"))


def nvrtc():
    """The run-time compiler of CUDA, from PyPI; None where it is not installed."""
    for folder in map(pathlib.Path, sys.path):
        for library in (folder / "nvidia").glob("*/lib/libnvrtc.so.1[23]"):
            return library
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of python; by default the tests")
    given = parser.parse_args()
    package = given.build.resolve() / "ptx_interpreter"
    if not list(package.glob("dualstep/_core*")):
        parser.error(f"{package} has no module: build with -DDUALSTEP_TESTS=ON where nvcc is")
    environment = os.environ | {"PYTHONPATH": str(package), "DUALSTEP_NVRTC": str(package / "libnvrtc.so")}
    compiler = nvrtc()
    if compiler:
        environment["PTX_INTERPRETER_NVRTC"] = str(compiler)
    else:
        environment["DUALSTEP_SPECIALIZE"] = "0"
    # specialised kernels are PTX here: not to be kept beside machine code
    environment["DUALSTEP_CACHE_DIR"] = str(package / "cache")
    os.chdir(ROOT)
    if given.arguments:
        os.execve(sys.executable, [sys.executable, *given.arguments], environment)
    jobs = ["-n", os.environ.get("JOBS", "auto"), "--dist", "worksteal"]
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *jobs]
    # there, torch's tensors of the CPU stand for those of a GPU: device memory is open to them
    opened = subprocess.run([*pytest, ENVIRONMENTS], env=environment | {"PTX_INTERPRETER_OPEN": "1"}).returncode
    closed = subprocess.run([*pytest, *TESTS, "-k", "cuda or not golden_hash"], env=environment).returncode
    sys.exit(opened or closed)


if __name__ == "__main__":
    main()
