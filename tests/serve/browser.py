"""Headless Chromium over its debugging protocol: just what the page tests need."""

import asyncio
import base64
import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One page of the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._count = 0
        self.problems: list[str] = []
        """Errors on the console, uncaught exceptions, blocked or failed requests."""
        self.requests: list[str] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol."""
        self._count += 1
        number = self._count
        await self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        async with asyncio.timeout(20):
            while True:
                message = json.loads(await self._socket.recv())
                if message.get("id") == number:
                    assert "error" not in message, message
                    result: dict[str, Any] = message["result"]
                    return result
                self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        kind, params = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:500])
        elif kind == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif kind == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    async def run(self, code: str) -> Any:
        """Evaluate JavaScript and return its value."""
        result = await self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, code: str, seconds: float = 10.0) -> None:
        """Wait until JavaScript is true."""
        deadline = time.monotonic() + seconds
        while not await self.run(code):
            assert time.monotonic() < deadline, code
            await asyncio.sleep(0.05)

    async def open(self, url: str, width: int = 1280, dark: bool = False) -> None:
        """Load a page in a window of a size and colour scheme."""
        phone = width < 600
        size = {"width": width, "height": 844 if phone else 900}
        await self.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete' && document.querySelectorAll('#voice option').length > 1")

    async def press(self, key: str, code: int, modifiers: int = 0) -> None:
        """A key of the keyboard."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        text = {"text": "\r"} if key == "Enter" else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    async def screenshot(self, file: Path) -> None:
        """A picture of the whole page."""
        result = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(result["data"]))


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[Page]:
    """A fresh browser with one page."""
    if PROGRAM is None:
        raise RuntimeError("these tests need chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless=new", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={profile}",
                 "--autoplay-policy=no-user-gesture-required", "--disable-gpu", "--no-first-run",
                 "--disable-background-networking", "--lang=en-US"]  # fmt: skip
        program = subprocess.Popen([PROGRAM, *flags, "about:blank"], stderr=subprocess.PIPE, text=True)
        try:
            port = await asyncio.to_thread(_port, program)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                target = next(entry for entry in json.load(answer) if entry["type"] == "page")
            async with connect(target["webSocketDebuggerUrl"], max_size=None) as socket:
                page = Page(socket)
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await page.call(f"{domain}.enable")
                yield page
        finally:
            program.terminate()
            program.wait()
            if program.stderr is not None:
                program.stderr.close()


def _port(program: "subprocess.Popen[str]") -> str:
    assert program.stderr is not None
    for line in program.stderr:
        found = re.search(r"ws://127\.0\.0\.1:(\d+)/", line)
        if found:
            return found[1]
    raise RuntimeError("the browser did not start")
