"""Code is loaded from folders and files that this user alone can write."""

import os
import shutil

import pytest

from dualstep import _core


def test_whom_a_folder_is_trusted_of(tmp_path):
    assert _core.distrust(str(tmp_path)) == ""
    tmp_path.chmod(0o777)
    assert "can be written by others" in _core.distrust(str(tmp_path))
    tmp_path.chmod(0o770)
    assert "can be written by others" in _core.distrust(str(tmp_path))
    tmp_path.chmod(0o755)
    assert "is not there" in _core.distrust(str(tmp_path / "none"))
    below = tmp_path / "below"
    below.mkdir(mode=0o700)
    assert _core.distrust(str(below)) == ""
    for mode, trusted in ((0o777, False), (0o770, False), (0o1777, True)):
        tmp_path.chmod(mode)
        assert (_core.distrust(str(below)) == "") == trusted
    tmp_path.chmod(0o770)
    assert f"'{tmp_path}' above '{below}' can be written by others" == _core.distrust(str(below))
    tmp_path.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, -1)
        assert "belongs to another user" in _core.distrust(str(tmp_path))


SOURCE = """#include "task.h"
struct Probe : dualstep::Task { static constexpr int observations = 1, normals = 0, uniforms = 0;
DUALSTEP_DEVICE void reset(const Env& s, const Start& start) const {}
DUALSTEP_DEVICE void observe(const Env& s, Real* out) const { out[0] = 7; }
DUALSTEP_DEVICE Real reward(const Env& s) const { return 0; }
DUALSTEP_DEVICE bool terminated(const Env& s) const { return false; } };
DUALSTEP_TASK(Probe)"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
def test_a_library_that_was_put_in_the_cache_is_not_loaded(tmp_path, monkeypatch):
    from dualstep.envs import compiled

    cache = tmp_path / "cache"
    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(cache))
    (tmp_path / "probe.cpp").write_text(SOURCE)
    made = compiled.compile_task(tmp_path / "probe.cpp", "float32")
    assert made.is_relative_to(cache) and made.stat().st_mode & 0o077 == 0 and cache.stat().st_mode & 0o022 == 0
    when = made.stat().st_mtime_ns
    assert compiled.compile_task(tmp_path / "probe.cpp", "float32") == made and made.stat().st_mtime_ns == when
    honest = made.read_bytes()
    # of the right name, and not what was made
    made.write_bytes(b"evil")
    assert compiled.compile_task(tmp_path / "probe.cpp", "float32").read_bytes()[:4] == honest[:4]
    # writable by others: made again, elsewhere or anew
    made.chmod(0o777)
    again = compiled.compile_task(tmp_path / "probe.cpp", "float32")
    assert again.stat().st_mode & 0o022 == 0
    (cache / "tasks").chmod(0o777)
    with pytest.warns(UserWarning, match="compiled anew: .*can be written by others"):
        elsewhere = compiled.compile_task(tmp_path / "probe.cpp", "float32")
    assert not elsewhere.is_relative_to(cache)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
def test_a_library_is_of_what_its_source_includes(tmp_path, monkeypatch):
    from dualstep.envs import compiled

    monkeypatch.setenv("DUALSTEP_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "a folder"
    folder.mkdir()
    source, header = folder / "probe.cpp", folder / "number.h"
    source.write_text('#include "number.h"\n' + SOURCE.replace("= 7", "= NUMBER"))
    header.write_text("#define NUMBER 7\n")
    made = compiled.compile_task(source, "float32")
    first, when = made.read_bytes(), made.stat().st_mtime_ns
    assert compiled.compile_task(source, "float32").stat().st_mtime_ns == when
    header.write_text("#define NUMBER 9\n")
    second = compiled.compile_task(source, "float32").read_bytes()
    assert second != first
    header.unlink()
    with pytest.raises(ValueError, match=r"(?s)does not compile:.*number\.h"):
        compiled.compile_task(source, "float32")
