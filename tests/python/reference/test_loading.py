"""Models of strangers: how large they may be, how long they may compile, and which files they may name."""

import math
import os
import pathlib
import subprocess
import sys
import time

import mujoco
import pytest

import dualstep as ds
from dualstep import _loading

BALL = "<body><freejoint/><geom size='.1'/></body>"


def model(world=BALL, rest=""):
    return f"<mujoco>{rest}<worldbody>{world}</worldbody></mujoco>"


@pytest.fixture
def folders(tmp_path, monkeypatch):
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    for folder in ("inside", "outside"):
        (tmp_path / folder / "part.xml").write_text(f"<mujoco><worldbody>{BALL}</worldbody></mujoco>")
        (tmp_path / folder / "mesh.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    monkeypatch.chdir(tmp_path / "inside")
    return tmp_path


MESH = "<asset><mesh name='m' file='{}'/></asset><worldbody><body><freejoint/><geom type='mesh' mesh='m'/></body></worldbody>"
ESCAPES = {
    "include": '<include file="{outside}/part.xml"/>',
    "include above": '<include file="../outside/part.xml"/>',
    "mesh": MESH.format("{outside}/mesh.obj"),
    "mesh above": MESH.format("../outside/mesh.obj"),
    "meshdir": '<compiler meshdir="{outside}"/>' + MESH.format("mesh.obj"),
    "assetdir later": MESH.format("mesh.obj") + '<compiler assetdir="../outside"/>',
    "a link": '<include file="link.xml"/>',
    "included by an include": '<include file="first.xml"/>',
    "attached": '<asset><model name="a" file="{outside}/part.xml"/></asset><worldbody><attach model="a" prefix="b"/></worldbody>',
    "beside two hyphens in a comment": '<!-- a -- b --><include file="{outside}/part.xml"/>',
    "in characters by number": '<include file="{outside}&#47;part.xml"/>',
    "by such an include": '<!-- a -- b --><include file="hyphens.xml"/>',
    # MuJoCo takes "none/.." away without a look, and backslashes for slashes
    "mesh by way of nowhere": MESH.format("none/../../outside/mesh.obj"),
    "meshdir by way of nowhere": '<compiler meshdir="none/../../outside"/>' + MESH.format("mesh.obj"),
    "mesh by backslashes": MESH.format("..\\outside\\mesh.obj"),
    "include by backslashes": '<include file="..\\outside\\part.xml"/>',
    "attached by backslashes": '<asset><model name="a" file="..\\outside\\part.xml"/></asset><worldbody><attach model="a" prefix="b"/></worldbody>',
    # what an attached model includes lies beside it, whatever has that name beside the whole
    "beside an attached model": '<asset><model name="a" file="sub/first.xml"/></asset><worldbody><attach model="a" prefix="b"/></worldbody>',
}


@pytest.mark.parametrize("how", ESCAPES)
def test_a_text_names_files_below_a_folder_alone(folders, how, monkeypatch):
    read, whole = [], pathlib.Path.read_bytes
    monkeypatch.setattr(pathlib.Path, "read_bytes", lambda path: read.append(path.resolve()) or whole(path))
    (folders / "inside" / "link.xml").symlink_to(folders / "outside" / "part.xml")
    (folders / "inside" / "first.xml").write_text('<mujoco><include file="../outside/part.xml"/></mujoco>')
    (folders / "inside" / "hyphens.xml").write_text('<mujoco><!-- c -- d --><include file="../outside/part.xml"/></mujoco>')
    (folders / "inside" / "sub").mkdir()
    (folders / "inside" / "sub" / "first.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    (folders / "inside" / "sub" / "part.xml").write_text('<mujoco><include file="../../outside/part.xml"/></mujoco>')
    text = f"<mujoco>{ESCAPES[how].format(outside=folders / 'outside')}</mujoco>"
    with pytest.raises(ds.InvalidModelError, match="outside of the folder '.*inside'.*root="):
        ds.Model.from_mjcf(text)
    assert all(path.is_relative_to(folders / "inside") for path in read)
    if how not in ("a link", "assetdir later"):
        assert ds.Model.from_mjcf(text, root=folders).nbody >= 1
        assert ds.Model.from_mjcf(text, root="/").nbody >= 1


def test_files_below_the_folder_and_assets_are_taken(folders):
    for file in ("part.xml", "./part.xml", str(folders / "inside" / "part.xml")):
        assert ds.Model.from_mjcf(f'<mujoco><include file="{file}"/></mujoco>').nbody == 2
    brought = {"../outside/part.xml": model().encode()}
    assert ds.Model.from_mjcf('<mujoco><include file="../outside/part.xml"/></mujoco>', brought).nbody == 2
    # a file is its user's, unless a folder is given
    path = folders / "inside" / "whole.xml"
    path.write_text('<mujoco><include file="../outside/part.xml"/></mujoco>')
    assert ds.Model.from_mjcf(path).nbody == 2
    with pytest.raises(ds.InvalidModelError, match=r"'\.\./outside/part.xml'.*outside of the folder"):
        ds.Model.from_mjcf(path, root=folders / "inside")
    with pytest.raises(ds.InvalidModelError, match="lies outside of the folder"):
        ds.Model.from_mjcf(path, root=folders / "outside")


BOMBS = {
    "replicate": (model("<replicate count='100000'><replicate count='100000'><geom size='.1'/></replicate></replicate>"), "geoms"),
    "replicated bodies": (model(f"<replicate count='1000000'>{BALL}</replicate>"), "bodies"),
    "replicated sites": (model("<replicate count='100000'><replicate count='100000'><site/></replicate></replicate>"), "elements"),
    "replicated nothing": (model("<replicate count='100000'><replicate count='100000'/></replicate>"), "elements"),
    "keys": (model(rest='<size nkey="2000000000"/>'), "keys"),
    "user numbers": (model(rest='<size nuser_geom="2000000000"/>'), "numbers"),
    "texture": (model(rest='<asset><texture name="t" type="2d" builtin="flat" width="1000000" height="1000000"/></asset>'), "numbers"),
    "height field": (model(rest='<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'), "numbers"),
    "user numbers of many": (model("<body/>" * 40, '<size nuser_body="90000000"/>'), "numbers"),
    "longest user numbers": (model(f"<geom size='.1' user='{'1 ' * 20_000}'/>" + "<geom size='.1'/>" * 9000), "numbers"),
    "keys of many": (model(f"<replicate count='9000'>{BALL}</replicate>", '<size nkey="10000"/>'), "numbers"),
    "matches": (model("<geom name='g' size='.1'/>", "<sensor><contact geom1='g' num='200000000'/></sensor>"), "numbers"),
    "readings": (model(rest="<sensor><user dim='1500000000'/></sensor>"), "numbers"),
    "pixels": (model("<camera name='c' resolution='40000 40000'/>", "<sensor><rangefinder camera='c'/></sensor>"), "numbers"),
    "samples": (model("<body><joint name='j'/></body>", "<actuator><motor joint='j' nsample='1500000000' delay='1'/></actuator>"), "numbers"),
    "mesh": (model(rest="<asset><mesh name='m' builtin='supersphere' params='100000 1 1'/></asset>"), "numbers"),
    "plate": (model(rest="<asset><mesh name='m' builtin='plate' params='100000 100000'/></asset>"), "numbers"),
    "composite": (model("<composite prefix='c' type='cable' count='10000000 1 1'><geom size='.1'/></composite>"), "bodies"),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_model_that_grows_without_bound_is_refused_at_once(bomb):
    text, what = BOMBS[bomb]
    began = time.monotonic()
    with pytest.raises(ds.InvalidModelError, match=rf"the model has .* {what}, and at most .* are loaded: DUALSTEP_LOAD_") as caught:
        ds.Model.from_mjcf(text)
    assert time.monotonic() - began < 1 and "\n" not in str(caught.value)


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (40_000).to_bytes(4, "big") * 2 + b"\1\0\0\0\0"


@pytest.mark.parametrize("element", ["<texture name='t' type='2d' file='{}'/>", "<hfield name='h' size='1 1 1 1' file='{}'/>"])
def test_a_picture_that_grows_without_bound_is_refused_at_once(element, folders):
    (folders / "inside" / "large.png").write_bytes(PNG)
    refused = "the model has 1600000000 numbers, and at most 100000000 are loaded"
    for file, assets in (("large.png", None), ("none/../large.png", None), ("brought.png", {"brought.png": PNG})):
        text = model(rest=f"<asset>{element.format(file)}</asset>")
        with pytest.raises(ds.InvalidModelError, match=refused):
            ds.Model.from_mjcf(text, assets)


def test_included_bombs(folders):
    (folders / "inside" / "many.xml").write_text("<mujoco><replicate count='1000'><include file='part.xml'/></replicate></mujoco>")
    (folders / "inside" / "self.xml").write_text("<mujoco><include file='self.xml'/></mujoco>")
    (folders / "inside" / "balls.xml").write_text("<mujoco>" + BALL * 50 + "</mujoco>")
    with pytest.raises(ds.InvalidModelError, match="bodies, and at most"):
        ds.Model.from_mjcf(model("<replicate count='1000'><include file='balls.xml'/></replicate>"))
    with pytest.raises(ds.InvalidModelError):
        ds.Model.from_mjcf(folders / "inside" / "self.xml")


def test_attached_bombs(folders):
    (folders / "inside" / "sites.xml").write_text(f"<mujoco>{model('<site/>' * 400)[8:]}")
    attach = "<replicate count='1000'><frame><attach model='{}' prefix='p'/></frame></replicate>"
    for name, named in (("s", 'name="s"'), ("mujoco", "")):
        asset = f'<asset><model {named} file="sites.xml"/></asset>'
        with pytest.raises(ds.InvalidModelError, match="the model has .* elements, and at most 300000"):
            ds.Model.from_mjcf(model(attach.format(name), rest=asset))


@pytest.mark.parametrize("text, words", [
    ("<mujoco><worldbody></mujoco>", "XML that cannot be read: mismatched tag: line 1"),
    ('<!DOCTYPE m [<!ENTITY f "a.xml">]><mujoco><include file="&f;"/></mujoco>', "declares entities of XML"),
    ("<mujoco><worldbody><geom size='&'/></worldbody></mujoco>", "XML that cannot be read"),
])  # fmt: skip
def test_what_is_no_xml_is_refused(text, words):
    with pytest.raises(ds.InvalidModelError, match=words):
        ds.Model.from_mjcf(text)


def test_limits_are_variables(monkeypatch):
    three = model(BALL * 3)
    monkeypatch.setenv("DUALSTEP_LOAD_BODIES", "3")
    with pytest.raises(ds.InvalidModelError, match="has 4 bodies, and at most 3 are loaded: DUALSTEP_LOAD_BODIES"):
        ds.Model.from_mujoco(mujoco.MjModel.from_xml_string(three))
    assert ds.Model.from_mjcf(model(BALL * 2)).nbody == 3
    monkeypatch.setenv("DUALSTEP_LOAD_BODIES", "inf")
    assert ds.Model.from_mjcf(three).nbody == 4
    for word in ("many", "-1", "0", "nan"):
        monkeypatch.setenv("DUALSTEP_LOAD_BODIES", word)
        with pytest.raises(ValueError, match=f"DUALSTEP_LOAD_BODIES is '{word}', and a positive number"):
            ds.Model.from_mjcf(three)


def test_a_limit_on_time_is_kept_by_a_child(monkeypatch):
    monkeypatch.setenv("DUALSTEP_LOAD_SECONDS", "20")
    same = ds.Model.from_mjcf(model(rest='<keyframe><key name="k"/></keyframe>'))
    assert (same.nbody, same.nkey, same.name_of("key", 0)) == (2, 1, "k")
    with pytest.raises(ds.InvalidModelError, match="(?s)unrecognized attribute.*line"):
        ds.Model.from_mjcf(model("<geom sise='1'/>"))
    monkeypatch.setenv("DUALSTEP_LOAD_SECONDS", "0.05")
    began = time.monotonic()
    with pytest.raises(ds.InvalidModelError, match="longer to compile than DUALSTEP_LOAD_SECONDS = 0.05 allows"):
        ds.Model.from_mjcf(model())
    assert time.monotonic() - began < 5
    monkeypatch.delenv("DUALSTEP_LOAD_SECONDS")
    monkeypatch.setenv("DUALSTEP_LOAD_MEGABYTES", "40")
    with pytest.raises(ds.InvalidModelError, match="takes more memory to compile than DUALSTEP_LOAD_MEGABYTES = 40 allows"):
        ds.Model.from_mjcf(model())


@pytest.mark.parametrize(("ended", "megabytes", "words"), [
    (-6, 40, "takes more memory to compile than DUALSTEP_LOAD_MEGABYTES = 40 allows, or .* ends with signal 6"),
    (-11, math.inf, "^MuJoCo does not survive this model: it ends with signal 11$"),
    (1, 40, "^MuJoCo does not survive this model: it ends with status 1$"),
])  # fmt: skip
def test_how_a_child_ended_is_told(ended, megabytes, words):
    with pytest.raises(ds.InvalidModelError, match=words):
        _loading._check_end(ended, "", "", math.inf, megabytes)


def test_assets_and_paths_reach_the_child(monkeypatch, folders):
    monkeypatch.setenv("DUALSTEP_LOAD_SECONDS", "20")
    assert ds.Model.from_mjcf('<mujoco><include file="b.xml"/></mujoco>', {"b.xml": model().encode()}).nbody == 2
    assert ds.Model.from_mjcf(os.path.join("part.xml")).nbody == 2


def test_what_ends_mujocos_compiler_without_a_word_is_refused_too():
    # an attached model without a file; MuJoCo compiles nothing more in that process
    text = '<mujoco><asset><model name="m"/></asset><worldbody><attach model="m" body="b" prefix="_"/></worldbody></mujoco>'
    script = f"import dualstep as ds\ntry:\n    ds.Model.from_mjcf({text!r})\nexcept ds.InvalidModelError as error:\n    print(error)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0 and "says nothing of" in ended.stdout
