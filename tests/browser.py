"""A real browser without a window, spoken to in the Chrome DevTools protocol."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser():
    """The path of a Chromium or Chrome, named by BLOCKWOLFE_BROWSER or on the PATH; or None."""
    return os.environ.get("BLOCKWOLFE_BROWSER") or next(
        filter(None, map(shutil.which, NAMES)), None
    )


class Browser:
    """One page of one browser process, which ends with the `with` block."""

    def __init__(self, executable, profile, patience=60.0):
        self.patience = patience
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-dev-shm-usage",
        ]
        flags += ["--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [executable, *flags],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self._connect(Path(profile) / "DevToolsActivePort")
        except BaseException:
            self._end()
            raise

    def _connect(self, port_file):
        import websocket

        def port():
            text = port_file.read_text() if port_file.exists() else ""
            return text.split("\n")[0] if "\n" in text else None

        address = f"http://127.0.0.1:{self._wait(port, 'a port')}/json/list"

        def page():
            with urllib.request.urlopen(address, timeout=self.patience) as answer:
                targets = json.load(answer)
            return next((t["webSocketDebuggerUrl"] for t in targets if t["type"] == "page"), None)

        url = self._wait(page, "a page")
        self._socket = websocket.create_connection(url, timeout=self.patience, suppress_origin=True)
        self._numbers = itertools.count(1)
        self.events = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def _wait(self, look, what):
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            if found := look():
                return found
            time.sleep(0.05)
        raise TimeoutError(f"the browser had not {what} after {self.patience} s")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()
        self._end()

    def _end(self):
        os.killpg(
            self._process.pid, signal.SIGKILL
        )  # its own session: the browser and its children
        self._process.wait()

    def send(self, method, **parameters):
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    # -- what tests do with a page -----------------------------------------------------------

    def open(self, path, width=1200, height=900, dark=False):
        """Load a file in a window of a size, in a colour scheme; forget earlier events."""
        phone = width < 600
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=phone,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.send("Page.navigate", url=Path(path).resolve().as_uri())
        self._wait(lambda: self.run("document.readyState") == "complete", "loaded the page")

    def run(self, script):
        """The value of a JavaScript expression."""
        found = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def hover(self, selector, across=0.5, down=0.5):
        """Move the mouse over an element, scrolled into view."""
        self.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        box = self.run(
            f"(r => [r.left, r.top, r.width, r.height])(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        x, y = box[0] + across * box[2], box[1] + down * box[3]
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector):
        self.hover(selector)
        at = self.run(
            f"(r => [r.left + r.width / 2, r.top + r.height / 2])(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1
            )

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def complaints(self):
        """Errors on the console, exceptions, and requests for anything but the file itself."""
        self.run("1")  # (whatever is under way has arrived after this)
        found = []
        for event in self.events:
            kind, given = event["method"], event["params"]
            if kind == "Runtime.exceptionThrown":
                found.append(given["exceptionDetails"])
            elif kind == "Runtime.consoleAPICalled" and given["type"] in (
                "error",
                "warning",
                "assert",
            ):
                found.append(given["args"])
            elif kind == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
                found.append(given["entry"]["text"])
            elif kind == "Network.requestWillBeSent" and not given["request"]["url"].startswith(
                ("file:", "data:")
            ):
                found.append(given["request"]["url"])
        return found

    def screenshot(self, path, whole=False):
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))
