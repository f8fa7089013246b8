"""Who includes whom in the kernels, and who knows contact laws and kinds of actuators by name."""

import re

import pytest

from places import ROOT
KERNELS = ROOT / "kernels"
INCLUDE = re.compile(r'^\s*#\s*include "(kernels/[^"]+)"', re.MULTILINE)


def includes(path: str) -> list[str]:
    return INCLUDE.findall((ROOT / path).read_text())


def reached(path: str) -> set[str]:
    """Everything that a file includes, and what that includes."""
    found, waiting = set(), [path]
    while waiting:
        new = [name for name in includes(waiting.pop()) if name not in found]
        found.update(new)
        waiting += new
    return found


def files(folder: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (KERNELS / folder).rglob("*.h"))


def test_the_graph_is_seen():
    assert "kernels/solver/pgs.h" in reached("kernels/step.h")
    assert "kernels/contact/mujoco.h" in reached("kernels/collide/collide.h")


@pytest.mark.parametrize("path", files("collide") + files("rows"))
def test_collision_and_rows_do_without_the_solver(path):
    assert not [name for name in reached(path) if name.startswith("kernels/solver/")]


def test_a_law_does_without_the_solver():
    laws = files("contact")
    assert len(laws) > 8
    for path in laws:
        assert not [name for name in reached(path) if name.startswith("kernels/solver/")], path


def test_folders_do_not_include_each_other_in_circles():
    names = [path.name for path in KERNELS.iterdir() if path.is_dir()]
    uses = {name: {to.split("/")[1] for path in files(name) for to in includes(path)} & set(names) - {name} for name in names}
    assert uses["solver"] > {"rows", "contact"} and not uses["base"]
    while free := [name for name in uses if not uses[name] & set(uses)]:
        for name in free:
            del uses[name]
    assert not uses, f"these include each other: {uses}"


def naming(codes: list[str]) -> set[str]:
    """The sources of kernels, host and bindings that name one of these."""
    word = re.compile(r"\b(" + "|".join(codes) + r")\b")
    sources = [path for folder in ("kernels", "host", "bindings") for path in (ROOT / folder).rglob("*")
               if path.suffix in (".h", ".cpp", ".cuh", ".cu", ".inl")]  # fmt: skip
    return {str(path.relative_to(ROOT)) for path in sources if word.search(path.read_text())}


def test_nobody_compares_codes_of_laws():
    """A stage, or the host, asks a law by its traits and hooks; the list and the host's table of it hold the codes."""
    codes = re.findall(r"^  X\((kLaw\w+), ", (KERNELS / "data" / "contact_laws.h").read_text(), re.MULTILINE)
    assert len(codes) == 5
    assert naming(codes) == {"kernels/data/contact_laws.h", "host/model/contact_law.cpp"}


def test_nobody_compares_codes_of_shapes_in_the_reference():
    """The reference asks a shape by its hooks: its lists hold the codes, and shapes make one of themselves there. A tendon
    goes around spheres and cylinders alone."""
    codes = re.findall(r'^  X\((k\w+), "', (KERNELS / "data" / "shapes.h").read_text(), re.MULTILINE)
    assert len(codes) == 9
    assert {name for name in naming(codes) if name.startswith("host/reference/")} == {
        "host/reference/tendon.cpp",
        *(f"host/reference/shapes/{name}" for name in ("shapes.h", "pairs.h", "plane.cpp", "sphere.cpp", "capsule.cpp")),
    }


@pytest.mark.parametrize(
    "kind, count, hooks, reference",
    [
        ("Trn", 7, {"transmission", "sites"}, {"transmission"}),
        ("Dyn", 8, set(), {"actuation"}),
        ("Gain", 7, set(), {"actuation", "derivatives"}),
        ("Bias", 6, set(), {"actuation", "derivatives"}),
    ],
)
def test_nobody_compares_codes_of_actuators(kind, count, hooks, reference):
    """A stage, or the host, asks what the row of a kind says; beside its hooks the reference alone knows it by name."""
    rows = (KERNELS / "data" / "actuators.h").read_text()
    # those of motors stand in the list of their own too
    codes = sorted(set(re.findall(rf"^  (?:X|OTHER)\((k{kind}\w+), ", rows, re.MULTILINE)))
    assert len(codes) == count
    assert naming(codes) == {
        "kernels/data/actuators.h",
        *(f"kernels/smooth/actuators/{name}.h" for name in hooks),
        *(f"host/reference/{name}.cpp" for name in reference),
    }
