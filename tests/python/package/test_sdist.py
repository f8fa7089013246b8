"""The source distribution holds what a build takes, and nothing of the tests."""

import re
import subprocess
import tarfile

import pytest
from places import ROOT

build = pytest.importorskip("scikit_build_core.build")
tomllib = pytest.importorskip("tomllib")


def tracked(*folders):
    done = subprocess.run(["git", "ls-files", "--", *folders], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no git here")
    # what is new and not committed yet does not matter, what is gone from the disk neither
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build.build_sdist(str(folder))
    assert (folder / name).stat().st_size < 3e6
    with tarfile.open(folder / name) as file:
        return {entry.name.partition("/")[2] for entry in file.getmembers() if entry.isfile()}


def test_it_holds_the_sources(held):
    wanted = tracked("kernels", "host", "bindings", "envs", "bench/models", "CMakeLists.txt", "pyproject.toml")
    wanted |= {"README.md", "LICENSE"}
    assert sorted(wanted - held) == []
    assert any(name.endswith("policies/HalfCheetah.npz") for name in held)


def test_it_holds_nothing_else(held):
    assert [name for name in held if name.startswith(("tests/", ".ci/", "docs/", "build/", ".github/"))] == []
    assert [name for name in held if name.endswith((".so", ".pyc"))] == []


def test_what_a_release_builds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pythons = project["tool"]["cibuildwheel"]["build"].split()
    least = re.search(r"3\.(\d+)", project["project"]["requires-python"])
    assert least is not None and pythons[0] == f"cp3{least[1]}-*"
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    for python in pythons:
        assert python.removesuffix("-*") in workflow
