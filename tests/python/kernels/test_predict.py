"""The prediction of a step's cost (bench/cost/predict.py): what it reads of programs, kernels/ and machine code. The
step itself takes NVRTC many seconds, so its functions are those that have budgets (tests/cuda/check_special.py)."""

import json
import re
import shutil
import sys

import pytest
from places import ROOT

import dualstep as ds
from dualstep import _core

sys.path.append(str(ROOT / "bench" / "cost"))
import predict

# the folders of its tools have names that others may want
sys.path = [folder for folder in sys.path if folder not in (str(ROOT / "bench" / "cost"), str(ROOT / "tests" / "cuda"))]

TINY = 'extern "C" __global__ void dualstep_fused_step(float* x) { for (int i = 0; i < 9; i++) x[i] /= x[i + 1]; }\n'


@pytest.fixture(scope="module")
def text():
    return predict.program([predict.LANES])


@pytest.fixture(scope="module")
def stages():
    """Of the specialised humanoid: all at once, and by part."""
    budgets = json.loads((ROOT / "kernels" / "launch" / "cuda" / "budgets_specialized.json").read_text())
    steps = budgets["steps"]["sm_90"]
    parts = {part: steps[f"humanoid in parts: {part}"]["stages"] for part in predict.PARTS}
    return steps["humanoid"]["stages"], parts


def test_sizes_of_a_program(text):
    model, n = ds.Model.from_mjcf(predict.MODEL), predict.sizes(text)
    assert (n["nq"], n["nv"], n["nu"], n["nbody"], n["njnt"]) == (model.nq, model.nv, model.nu, model.nbody, model.njnt)
    # the arrays of the workspace lie one behind the other, each as long as the field table says
    begin, fields = predict.numbers(text, "Layout"), _core.scratch_fields()
    found = re.findall(r"^constexpr int (k\w+) = (\d+);", (ROOT / "kernels/data/tables.h").read_text(), re.MULTILINE)
    constants = {constant: int(number) for constant, number in found}
    assert len(begin) == len(fields) + 1  # the last one is the end
    for (name, length, *_), start, end in zip(fields, begin[:-1], begin[1:], strict=True):
        if "?" not in length:  # of C alone
            assert end - start == eval(length, {**constants, **n}), name


def test_bytes_of_a_workspace(text):
    n = predict.sizes(text)
    # sets and lists, and the single-dof rows in use twice (kernels/data/tables.h)
    words = -(-(n["single_begin"] + 2 * n["nsingleword"]) // 16) * 16
    assert predict.workspace_bytes(text) == 4 * (predict.numbers(text, "Layout")[-1] + words)
    with pytest.raises(ValueError, match="islands"):
        predict.workspace_bytes(_core.specialized_program(many_balls()))


def many_balls():
    ball = '<body pos="{} 0 1"><freejoint/><geom size=".1"/></body>'
    return ds.Model.from_mjcf(f"<mujoco><worldbody>{''.join(map(ball.format, range(10)))}</worldbody></mujoco>")


def test_every_function_of_the_step_has_a_file_and_a_part(stages):
    place_of = predict.places(*stages)
    assert set(place_of) == set(stages[0])
    assert {place.part for place in place_of.values()} == set(predict.PARTS)
    for stage, part, file in [
        ("kinematics", "smooth", "kernels/smooth/kinematics.h"),
        ("smooth_dynamics", "smooth", "kernels/step.h"),
        ("collide_kind<0>", "collide", "kernels/collide/pair_contacts.h"),
        ("limit_rows", "rows", "kernels/rows/rows.h"),
        ("newton<3, false>", "solve", "kernels/solver/newton.h"),
        ("EnvIO::load", "smooth", "kernels/data/env_io.h"),
        ("EnvIO::store", "integrate", "kernels/data/env_io.h"),
    ]:
        assert place_of[stage] == predict.Place(file, part)


def test_a_function_without_a_place_is_named(stages):
    fused, parts = stages
    with pytest.raises(LookupError, match="unheard_of<3> of the step is written in no file"):
        predict.places([*fused, "unheard_of<3>"], parts)
    # written in a file of which no part has a function
    with pytest.raises(LookupError, match=r"box_box of kernels/collide/box_box\.h is in .* belongs to no part"):
        predict.places([*fused, "box_box"], parts)


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt here, which reads the names of functions")
def test_a_prediction_follows_from_what_is_counted(stages):
    place_of = predict.places(*stages)
    count = {"instructions of warps": 640, "instructions of threads": 6400, "barriers": 64, "shuffles": 64,
             "bytes fetched": 256, "bytes written": 256}  # fmt: skip
    counts = {predict.ENTRY: count, "_ZN8dualstep9batch_ops10place_rowsEv": count}
    [(place, work)] = predict.work_by_place(counts, {predict.ENTRY: 2.0}, place_of).items()
    assert place == predict.Place(predict.LAUNCH, "smooth")
    assert (work.instructions, work.busy, work.barriers, work.shuffles, work.bytes) == (5, 10, 1, 1, 2)
    with pytest.raises(LookupError, match="unheard_of"):
        predict.work_by_place({"_ZN8dualstep4cuda10unheard_ofEv": count}, {predict.ENTRY: 2.0}, place_of)
    everywhere = dict.fromkeys(place_of.values(), work)
    by_file = predict.work_by_file(everywhere)
    assert sum(w.bytes for w in by_file.values()) == 2 * len(everywhere)
    device, assumed = predict.H200(), predict.Assumed()
    assert all(p.rate > 0 for p in predict.predict(list(by_file.values()), 96, 40_000, device, assumed))
    times = predict.predict_parts(everywhere, {f"dualstep_staged_{part}": 96 for part in predict.PARTS}, 40_000, device,
                                  assumed)  # fmt: skip
    assert set(times) == set(predict.PARTS) and min(times.values()) > assumed.launch


def test_the_page_has_places_for_the_tables():
    page = predict.README.read_text()
    for begin, end in predict.MARKS.values():
        assert page.count(begin) == page.count(end) == 1 and page.index(begin) < page.index(end)
    named = set(re.findall(r"`((?:kernels|tests|host|bench|bindings)/[\w/.-]+\.\w+)`", page))
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_largest_block_whose_registers_fit():
    # 65,536 registers, which go to the 32 threads of a warp by eights
    warps = {n: predict.warps_of(n, predict.H200()) for n in (40, 80, 81, 96, 128, 129, 168, 255)}
    assert warps == {40: 24, 80: 24, 81: 20, 96: 20, 128: 16, 129: 12, 168: 12, 255: 8}


@pytest.mark.skipif(not _core.describe_specialization().startswith("NVRTC"), reason="no NVRTC here")
def test_what_machine_code_says(tmp_path, monkeypatch):
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(predict, "program", lambda lanes: TINY)
    made = predict.compiled([8])
    registers = made.registers[predict.ENTRY]
    assert 0 < registers < 64 and predict.warps_of(registers, predict.H200()) == max(predict.WARPS)
    assert 0.2 < predict.ratios(made.text, made.code)[predict.ENTRY] < 20
    with pytest.raises(RuntimeError, match="cache"):
        predict.compiled([8])
