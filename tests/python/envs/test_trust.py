"""What comes from others runs nothing: checkpoints, compiled tasks, machine code, pages of other sites."""

import os
import pathlib
import pickle
import socket
import subprocess
import sys

import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import main

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")

from dualstep.envs.training.learner import CheckpointError, Learner, read_checkpoint
from dualstep.envs.training.player import load_policy
from dualstep.envs.training.settings import Settings

TASK = """
import pathlib
from dualstep.envs.tasks.pendulums import InvertedPendulum
(pathlib.Path(__file__).with_name("ran.txt")).write_text("ran")
class Mine(InvertedPendulum):
    pass
"""
PLAY = ["--episodes", "1", "--device", "cpu", "--num-envs", "1"]


def forget():
    ds.envs.registry._entries.pop("Mine", None)
    ds.envs.registry._file.cache_clear()
    for name in [name for name in sys.modules if name.startswith("dualstep_task_")]:
        del sys.modules[name]


@pytest.fixture
def checkpoint(tmp_path):
    """Of a task of one's own, whose file says when it is run."""
    (tmp_path / "mine.py").write_text(TASK)
    name, _ = ds.envs.registry.find(f"{tmp_path / 'mine.py'}:Mine")
    learner = Learner(name, Settings(num_envs=2, num_steps=8, hidden=(4,)), seed=0, device="cpu", num_threads=1)
    learner.save(tmp_path / "latest.pt")
    learner.close()
    forget()
    (tmp_path / "ran.txt").unlink()
    yield tmp_path / "latest.pt"
    forget()


def test_a_checkpoint_imports_nothing_unless_it_is_told_to(checkpoint, capsys):
    ran = checkpoint.with_name("ran.txt")
    with pytest.raises(CheckpointError, match="no code is run that a checkpoint names; --task .* and --trust imports"):
        load_policy(checkpoint)
    assert main(["play", str(checkpoint), *PLAY]) == 2
    told = capsys.readouterr().err.strip()
    assert "mine.py:Mine" in told and "--trust" in told and "\n" not in told
    assert main(["export", str(checkpoint), "--out", str(checkpoint.with_name("p.pt"))]) == 2
    assert "--trust" in capsys.readouterr().err
    assert not ran.exists()
    assert load_policy(checkpoint, trust=True)[0] == "Mine" and ran.exists()


def test_a_task_that_the_user_names_is_enough(checkpoint, capsys, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.py").write_text(TASK)
    assert main(["play", str(checkpoint), *PLAY, "--task", f"{tmp_path / 'other' / 'mine.py'}:Mine"]) == 0
    assert (tmp_path / "other" / "ran.txt").exists() and not checkpoint.with_name("ran.txt").exists()


@pytest.mark.parametrize("name", ["os:path", "mine.py:Mine", "/tmp/evil.py:Task", "subprocess:Popen"])
def test_the_name_of_a_task_is_no_way_to_import(checkpoint, name):
    whole = torch.load(checkpoint, weights_only=True)
    torch.save({**whole, "task": name, "source": name}, checkpoint)
    with pytest.raises(CheckpointError, match="no code is run"):
        read_checkpoint(checkpoint)
    assert not checkpoint.with_name("ran.txt").exists()


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_a_pickle_in_a_checkpoint_is_not_run(checkpoint, tmp_path):
    whole = torch.load(checkpoint, weights_only=True)
    torch.save({**whole, "curve": Evil(tmp_path / "evil")}, checkpoint)
    with pytest.raises(CheckpointError, match="is no checkpoint of dualstep"):
        read_checkpoint(checkpoint)
    checkpoint.write_bytes(pickle.dumps(Evil(tmp_path / "evil")))
    with pytest.raises(CheckpointError, match="is no checkpoint of dualstep"):
        read_checkpoint(checkpoint)
    assert not (tmp_path / "evil").exists()


def test_malformed_checkpoints_are_a_line(checkpoint, capsys):
    """Fields that are missing, of other types, or of other shapes; bytes that were changed or cut."""
    whole, bytes_ = torch.load(checkpoint, weights_only=True), checkpoint.read_bytes()
    wrong = [{**whole, name: value} for name in whole for value in (None, 3, "x", [], {}, (1, 2), -1, [None], {"a": 1})]
    wrong += [{k: v for k, v in whole.items() if k != name} for name in whole]
    wrong += [{**whole, "settings": {**whole["settings"], name: "x"}} for name in whole["settings"]]
    wrong += [{**whole, "settings": {**whole["settings"], "hidden": hidden}} for hidden in ([3], [10**12], ["a"], [])]
    wrong += [{**whole, "algorithm": {**whole["algorithm"], name: value}} for name in whole["algorithm"] for value in (None, {}, {"x": 1})]
    rng = np.random.default_rng(0)
    files = [bytes_[: rng.integers(len(bytes_))] for _ in range(8)]
    for _ in range(24):
        changed = bytearray(bytes_)
        for at in rng.integers(len(changed), size=20):
            changed[at] ^= 1 << rng.integers(8)
        files.append(bytes(changed))
    refused = 0
    ds.envs.registry.find(f"{checkpoint.with_name('mine.py')}:Mine")
    for content in [*wrong, *files]:
        if isinstance(content, bytes):
            checkpoint.write_bytes(content)
        else:
            torch.save(content, checkpoint)
        try:
            load_policy(checkpoint, "Mine")
        except (CheckpointError, ValueError, TypeError, ImportError, FileNotFoundError) as error:
            refused += 1
            assert str(error) and str(error).count("\n") == 0, str(error)
    assert refused > 60


def test_a_model_in_a_checkpoint_that_kills_its_reader_kills_a_child(checkpoint):
    from dualstep.envs import assets

    model = ds.Model.from_mjcf("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    good = assets.encode(model.mj_model)
    assert assets._decode(good).nv == 6
    rng = np.random.default_rng(1)
    for _ in range(3):
        bad = bytearray(good)
        for at in rng.integers(0, min(len(bad), 3000), size=12):
            bad[at] = 0xFF
        try:
            ds.Model.from_mujoco(assets._decode(bytes(bad)))
        except ValueError as error:
            assert str(error)


# the page ------------------------------------------------------------------------------------------------------


def asked(port, path="/", **headers):
    """The first line of what the server answers to a request."""
    lines = [f"GET {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode())
        connection.settimeout(10)
        return connection.recv(4096).split(b"\r\n")[0].decode()


def test_the_page_answers_to_itself_alone():
    pytest.importorskip("viser")
    import viser

    from dualstep.viewer.web import Viewer

    env = ds.envs.make("InvertedPendulum", 1, num_threads=1, seed=0)
    viewer = Viewer(env, lambda _: np.zeros((1, 1), np.float32), port=0)
    try:
        port = viewer.port
        here = f"127.0.0.1:{port}"
        upgrade = {
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec_WebSocket_Version": "13", "Sec_WebSocket_Protocol": f"viser-v{viser.__version__}",
        }  # fmt: skip
        assert " 200 " in asked(port, Host=here)
        assert " 101 " in asked(port, Host=here, Origin=f"http://{here}", **upgrade)
        assert " 101 " in asked(port, Host=f"localhost:{port}", Origin=f"http://localhost:{port}", **upgrade)
        assert " 403 " in asked(port, Host=here, Origin="http://evil.example", **upgrade)
        assert " 403 " in asked(port, Host=here, Origin="null", **upgrade)
        assert " 403 " in asked(port, Host=here, Origin=f"http://127.0.0.1:{port + 1}", **upgrade)
        # a name of somebody else's that leads here
        assert " 403 " in asked(port, Host=f"evil.example:{port}", Origin=f"http://evil.example:{port}", **upgrade)
        assert " 403 " in asked(port, Host=f"evil.example:{port}")
        for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%5c..%5cetc/passwd"):
            assert " 404 " in asked(port, path, Host=here), path
        # bound to this machine alone
        listening = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        own = {at[1].split(":")[0] for at in listening if at[3] == "0A" and int(at[1].split(":")[1], 16) == port}
        assert own == {"0100007F"}
    finally:
        viewer.close()


def test_play_binds_this_machine_alone_by_default():
    import argparse

    from dualstep.cli import play

    parser = argparse.ArgumentParser()
    play.add_arguments(parser)
    assert parser.parse_args(["x.pt"]).host == "127.0.0.1"


def test_nothing_is_unpickled_by_the_package():
    """No call of pickle, of numpy's with pickles, or of torch's without weights_only, on what a user gives."""
    home = pathlib.Path(ds.__file__).parent
    found = subprocess.run(
        ["grep", "-rnE", r"allow_pickle=True|weights_only=False|pickle\.loads?\(|torch\.load\(", str(home), "--include=*.py"],
        capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    rest = [line for line in found if "weights_only=True" not in line and "_loading.py" not in line]
    assert rest == []
