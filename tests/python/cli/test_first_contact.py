"""bench/first_contact: its calls are rehearsed on the PTX interpreter, and a part that fails or hangs ends alone."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from answers import in_software, present
from places import ROOT

import dualstep as ds

FOLDER = ROOT / "bench" / "first_contact"


def rehearse(call, out, **environment):
    package = str(pathlib.Path(ds.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    rest = {"FAST": "1", "REHEARSE": sys.executable, "OUT": str(out), "CARRIED": str(out), "JOBS": "1", "PYTHONPATH": path}
    return subprocess.run(
        ["bash", *call], capture_output=True, text=True, timeout=500, env={**os.environ, **rest, **environment}
    )


def parts(out):
    """Name and exit status of the parts, in their order."""
    rows = [line.split() for line in (out / "parts.txt").read_text().splitlines()]
    return {row[0].rstrip(":"): None if row[1] == "no" else int(row[2]) for row in rows}


def test_a_part_that_fails_or_hangs_ends_alone(tmp_path):
    script = f"""
. {FOLDER}/parts.sh
part hangs 1 sleep 60
part fails 9 bash -c 'echo why; exit 3'
part works 9 echo found
budget=$((SECONDS - began + 5))
part late 9 echo never
ends
"""
    done = rehearse(["-c", script], tmp_path)
    assert done.returncode == 1
    assert parts(tmp_path) == {"hangs": 124, "fails": 3, "works": 0, "late": None}
    log = (tmp_path / "log.txt").read_text()
    assert "why" in log and "found" in log and "never" not in log


def test_a_receipt_has_every_figure_part_and_failure(tmp_path):
    def receipt(*folders):
        command = [sys.executable, FOLDER / "receipt.py", "A Card", *folders, "--out", tmp_path]
        return subprocess.run(command, capture_output=True, text=True)

    call = tmp_path / "call"
    call.mkdir()
    done = receipt(call)
    assert done.returncode == 2 and "no parts.txt is there" in done.stderr
    figure = {"model": "ant", "lanes": [1, 8, 8, 8, 1], "n": 8192, "same_bits": False, "median": 1234567, "rates": [1],
              "commit": "abc", "choices": {"DUALSTEP_CUDA_WARPS": "2"}}  # fmt: skip
    cores = {"cores": "heap", "threads": 16, "n": 4096, "median": 7654321}
    (call / "figures.jsonl").write_text(f"{json.dumps(figure)}\n{json.dumps(cores)}\n")
    (call / "parts.txt").write_text("smoke                  rc 0     2 s, begun at   2 s\nlate: no time left\n")
    (call / "tests.xml").write_text(
        '<testsuites><testsuite tests="3" skipped="1"><testcase name="good"/><testcase name="bad"><failure/></testcase>'
        "</testsuite></testsuites>"
    )
    assert receipt(call).returncode == 0
    assert json.loads((tmp_path / "a-card.json").read_text())["calls"][0]["figures"] == [figure, cores]
    page = (tmp_path / "a-card.md").read_text()
    assert "| ant | 1, 8, 8, 8, 1 | `DUALSTEP_CUDA_WARPS=2` | 8,192 | 1,234,567 (other bits) | abc |" in page
    assert "| heap | 16 | 4,096 | 7,654,321 |" in page and "| smoke | 0 |" in page and "| late | no time left |" in page
    assert "tests: 3 tests, 1 skipped, failed: `bad`" in page


@pytest.mark.parametrize("script", ["prepare.sh"])
def test_wrong_options(script):
    done = subprocess.run([FOLDER / script, "--fast", "x"], capture_output=True, text=True)
    assert done.returncode == 2 and "--fast is given" in done.stderr
    done = subprocess.run([FOLDER / script, "--python", "no-such-python", "x"], capture_output=True, text=True)
    assert done.returncode == 1 and "no-such-python is not here" in done.stderr


@pytest.mark.skipif(not present("cuda") or not in_software(), reason="the PTX interpreter is not here")
@pytest.mark.parametrize("call", ["call1.sh", "call2.sh"])
def test_the_calls_go_all_the_way(call, tmp_path):
    done = rehearse([FOLDER / call], tmp_path, GOLDEN="and reacher")
    assert done.returncode == 0, done.stdout + done.stderr + (tmp_path / "log.txt").read_text()
    found = parts(tmp_path)
    wanted = {
        "call1.sh": ["smoke", "figure", "smoke_generic", "golden_generic", "golden_special", "sizes", "tests"],
        "call2.sh": ["lanes8", "unsorted", "warps2", "warps8", "carve_out", "addresses", "interop", "receipt", "cores"],
    }[call]
    assert list(found) == wanted and not any(found.values())
    figures = [json.loads(line) for line in (tmp_path / "figures.jsonl").read_text().splitlines()]
    assert all(line["median"] > 0 and line["commit"] for line in figures)
    assert all(line["same_bits"] for line in figures if "same_bits" in line)
    if call == "call2.sh":
        assert {line["cores"] for line in figures if "cores" in line} == {"humanoid", "heap"}
        assert list(tmp_path.glob("*.md"))
