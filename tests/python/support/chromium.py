"""A headless Chromium that is told what to do over its debugging protocol."""

import base64
import contextlib
import json
import shutil
import subprocess
import urllib.request

BINARY = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# WebGL by SwiftShader, in software
FLAGS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--remote-debugging-port=0",
         "--no-first-run", "--window-size=1100,720"]  # fmt: skip


class Page:
    def __init__(self, socket):
        self._socket, self._count = socket, 0

    def call(self, method, **parameters):
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=300))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, address):
        self.call("Page.enable")
        self.call("Page.navigate", url=address)

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def text(self):
        return self.evaluate("document.body.innerText") or ""

    def click(self, label):
        """A button by what is written on it."""
        found = self.evaluate(
            f"""(() => {{ const b = [...document.querySelectorAll('button')].find(b => b.innerText.trim() === '{label}');
            if (b) b.click(); return !!b; }})()"""
        )
        assert found, f"there is no button '{label}' in: {self.text()}"

    def press(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self):
        """PNG"""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])


@contextlib.contextmanager
def page(folder):
    from websockets.sync.client import connect

    command = [BINARY, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = next(line for line in process.stderr if "DevTools listening on" in line)
        port = line.split()[-1].split(":")[2].split("/")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=300) as answer:
            pages = json.load(answer)
        address = next(one["webSocketDebuggerUrl"] for one in pages if one["type"] == "page")
        with connect(address, max_size=None, ping_interval=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(30)
