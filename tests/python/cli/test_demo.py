"""The demo: the policy that the package ships acts as the one it is made from, and runs; the page is served."""

import re
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import chromium
import numpy as np
import pytest

pytest.importorskip("gymnasium")

import dualstep as ds
from dualstep.cli import main
from dualstep.envs import stored


# of the page: the title of the panel, and how high the panel is
HEAD = "[...document.querySelectorAll('div')].find(e => !e.children.length && e.innerText.trim() === 'dualstep')"
PANEL = f"{HEAD}?.closest('.mantine-Paper-root')?.getBoundingClientRect().height"


def test_the_policy_that_is_shipped_runs():
    assert stored.names() == ["HalfCheetah"]
    policy = stored.named("HalfCheetah")
    env = ds.envs.make(policy.task, 8, num_threads=1)
    observation, _ = env.reset(seed=0)
    speeds = []
    for _ in range(200):
        observation, _, _, _, info = env.step(policy(observation))
        speeds.append(np.median(info["x_velocity"]))
    # metres a second; half a second to get going
    assert np.mean(speeds[50:]) > 4
    with pytest.raises(ValueError, match="there are: HalfCheetah"):
        stored.named("Ant")


def test_a_stored_policy_acts_as_its_checkpoint(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("rsl_rl")
    from dualstep.envs.training.learner import Learner
    from dualstep.envs.training.settings import Settings

    settings = Settings(num_envs=4, num_steps=4, mini_batches=1, hidden=(8, 6), activation="elu", clip_observation=2.0)
    learner = Learner("Hopper", settings, device="cpu", num_threads=1)
    learner.learn(64)
    learner.save(tmp_path / "latest.pt")
    stored.store(tmp_path / "latest.pt", tmp_path / "hopper.npz")
    policy = stored.StoredPolicy(tmp_path / "hopper.npz")
    observation = 3 * np.random.default_rng(0).standard_normal((50, 11)).astype(np.float32)
    assert policy(observation) == pytest.approx(learner.policy()(torch.from_numpy(observation)).numpy(), abs=2e-6)


def test_the_page_is_served_for_a_while(capfd):
    pytest.importorskip("viser")
    assert main(["demo", "--port", "8196", "--for", "0.5", "--num-envs", "4", "--no-browser"]) == 0
    assert "4 half-cheetahs: http://127.0.0.1:8196" in capfd.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_page_that_is_opened_is_the_one_that_is_served(host, capfd, monkeypatch):
    pytest.importorskip("viser")
    from dualstep.cli import demo

    opened = []
    monkeypatch.setattr(demo, "_open_soon", opened.append)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            pytest.skip(f"no {host} here")
    assert main(["demo", "--port", "0", "--host", host, "--for", "0.1", "--num-envs", "1"]) == 0
    served = capfd.readouterr().err.partition("1 half-cheetah: ")[2].split()[0]
    assert opened == [served] and urlsplit(served).hostname == host and urlsplit(served).port


@pytest.mark.skipif(chromium.BINARY is None, reason="no Chromium here")
def test_robots_run_in_a_browser(tmp_path):
    pytest.importorskip("viser")
    command = [sys.executable, "-m", "dualstep", "demo", "--port", "0", "--no-browser", "--for", "900", "--num-envs", "4"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stderr is not None
            address = next(word for line in served.stderr for word in line.split() if word.startswith("http://"))
            with chromium.page(tmp_path / "profile") as page:
                page.open(address)
                limit = time.monotonic() + 240
                # of the episodes that have ended so far
                while not ("4 half-cheetahs" in page.text() and re.search(r"return (none yet|-?\d)", page.text())):
                    assert time.monotonic() < limit, page.text()
                    time.sleep(0.2)
                # on a phone the panel is a bar that opens when it is touched
                page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
                page.open(address)
                for closed in (True, False):
                    limit = time.monotonic() + 240
                    while (0 < (page.evaluate(PANEL) or 0) < 100) != closed:
                        assert time.monotonic() < limit, page.text()
                        time.sleep(0.2)
                    page.evaluate(f"{HEAD}.click()")
        finally:
            served.terminate()
