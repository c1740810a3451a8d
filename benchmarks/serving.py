"""What the benchmarks of the service share: a server process, and a client that costs little."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Answer:
    """What a request gave: status, seconds to the first byte of the body and to its end, and the body."""

    status: int
    first: float
    total: float
    body: bytes
    complete: bool


class Server:
    """A running `cosylite serve`."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process = process
        self.port = port

    def rss_mb(self) -> float:
        """Resident memory in MB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def threads(self) -> int:
        """Threads of the process."""
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def files(self) -> int:
        """Open file descriptors."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def processor_seconds(self) -> float:
        """Processor time used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    async def metric(self, name: str, label: str = "") -> float:
        """Sum of a metric over its labels, or of those with a certain one."""
        text = (await request(self.port, "GET", "/metrics")).body.decode()
        found = re.findall(rf"^{name}(?:{{[^}}]*{label}[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return sum(float(value) for value in found)


@contextlib.contextmanager
def serving(*flags: str, seconds: float = 120.0) -> Iterator[Server]:
    """Start a server on a free port and wait until it is ready."""
    with tempfile.NamedTemporaryFile() as log:
        command = [sys.executable, "-m", "cosylite.cli", "serve", "--port", "0", "--log-level", "info", *flags]
        process = subprocess.Popen(command, stderr=log)
        try:
            yield Server(process, _wait(process, Path(log.name), seconds))
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: "subprocess.Popen[bytes]", log: Path, seconds: float) -> int:
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        text = log.read_text()
        port = re.search(r"listening on http://[\d.]+:(\d+)", text)
        if port and "ready: models" in text:
            print(*(line for line in text.splitlines() if " loaded " in line or "ready:" in line), sep="\n")
            return int(port[1])
        time.sleep(0.05)
    raise SystemExit(f"the server did not become ready:\n{log.read_text()}")


async def request(port: int, method: str, path: str, body: dict[str, Any] | None = None, **headers: str) -> Answer:
    """One request on a connection of its own."""
    data = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(data)}\r\n"
    head += "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head += "Content-Type: application/json\r\n\r\n"
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head.encode() + data)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(answer.split()[1])
        chunked = "transfer-encoding: chunked" in answer
        parts, first, complete = [], 0.0, not chunked
        while True:
            part, ended = await _part(reader, chunked)
            if part and not first:
                first = time.perf_counter() - started
            parts.append(part)
            if ended or not part:
                complete = complete or ended
                break
        return Answer(status, first, time.perf_counter() - started, b"".join(parts), complete)
    finally:
        writer.close()


async def _part(reader: asyncio.StreamReader, chunked: bool) -> tuple[bytes, bool]:
    if not chunked:
        return await reader.read(65536), False
    line = await reader.readline()
    if not line:
        return b"", False
    size = int(line, 16)
    data = await reader.readexactly(size + 2)
    return data[:-2], size == 0
