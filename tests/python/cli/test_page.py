"""The viewer's page: bound to this machine, and answering to itself alone."""

import argparse
import pathlib
import socket

import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import play


def asked(port, path="/", **headers):
    """The first line of what the server answers to a request."""
    lines = [f"GET {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode())
        connection.settimeout(10)
        return connection.recv(4096).split(b"\r\n")[0].decode()


def test_the_page_answers_to_itself_alone():
    viser = pytest.importorskip("viser")

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
        assert " 403 " in asked(port, Host=here, Origin="http://[", **upgrade)
        # the same header twice
        assert " 403 " in asked(port, Host=f"evil.example\r\nHost: {here}")
        assert " 403 " in asked(port, Host=here, Origin=f"http://{here}\r\nOrigin: http://evil.example", **upgrade)
        # what is no request, as of whoever tries out ports
        with socket.create_connection(("127.0.0.1", port), timeout=5) as stray:
            stray.sendall(b"\x00\x01\r\n\r\n")
            assert stray.recv(10) == b""
        for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%5c..%5cetc/passwd"):
            assert " 404 " in asked(port, path, Host=here), path
        # bound to this machine alone
        listening = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        own = {at[1].split(":")[0] for at in listening if at[3] == "0A" and int(at[1].split(":")[1], 16) == port}
        assert own == {"0100007F"}
    finally:
        viewer.close()


def test_play_binds_this_machine_alone_by_default():
    parser = argparse.ArgumentParser()
    play.add_arguments(parser)
    assert parser.parse_args(["x.pt"]).host == "127.0.0.1"
