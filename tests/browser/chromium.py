"""A headless Chromium spoken to through a pair of pipes, with nothing but the standard library."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT = 60.0
LONGEST = 16_000  # pixels down that a browser can draw at once
MISSING = (
    f"no browser: none of {', '.join(NAMES)} is installed. Install Chromium from the system's packages "
    "(Debian, Ubuntu: apt-get install chromium), or name one in NACRE_CHROMIUM"
)


def find() -> str | None:
    """The browser's path; NACRE_CHROMIUM names one that is not among the commands."""
    named = os.environ.get("NACRE_CHROMIUM")
    return shutil.which(named) if named else next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    """One browser with one page. Messages are JSON ended by a zero byte, on descriptors 3 and 4 of the browser."""

    def __init__(self, path: str, profile: Path):
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        # High numbers first, so that giving the browser 3 and 4 cannot close what the other needs.
        command = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += ["--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", command, str(read_there), str(write_there), path, *flags],
            pass_fds=(read_there, write_there),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(read_there)
        os.close(write_there)
        self._read, self._write, self._rest, self._count = read_here, write_here, b"", 0
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    _session: str | None = None

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        ends = time.monotonic() + TIMEOUT
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, ends - time.monotonic()))
            more = os.read(self._read, 1 << 20) if ready else b""
            if not more:
                raise RuntimeError("the browser ended or gave no answer")
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        found = json.loads(line)
        if "method" in found:
            self.events.append(found)
        return found

    def open(self, page: Path, width: int, dark: bool = False) -> None:
        """Load a file at a width; returns when it has loaded, with the events since then in `events`."""
        height = 900
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self._receive()

    def evaluate(self, script: str) -> Any:
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def screenshot(self, to: Path) -> list[Path]:
        """The whole page, down to its foot; one that is longer than a picture may be, in several (NAME-2.png...)."""
        size, written = self.call("Page.getLayoutMetrics")["cssContentSize"], []
        for top in range(0, int(size["height"]), LONGEST):
            height = min(size["height"] - top, LONGEST)
            clip = {"x": 0, "y": top, "width": size["width"], "height": height, "scale": 1}
            data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
            written.append(to.with_stem(f"{to.stem}-{len(written) + 1}") if written else to)
            written[-1].write_bytes(base64.b64decode(data))
        return written

    def pdf(self, to: Path) -> None:
        data = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
        to.write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """Errors of scripts, messages of the console or of the browser, and anything fetched besides the page."""
        found = []
        for e in self.events:
            method, params = e["method"], e["params"]
            if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                found.append(json.dumps(params)[:500])
            if method == "Network.requestWillBeSent" and params.get("type") != "Document":
                found.append(f"fetched {params['request']['url'][:200]}")
        return found

    def close(self) -> None:
        with contextlib.suppress(RuntimeError, OSError):
            self._session = None
            self.call("Browser.close")
        os.close(self._read)
        os.close(self._write)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # the session this process leads, and nothing else
            self._process.wait(10)
