"""Clients that do not read cannot keep a server process from ending, and slow ones still get everything."""

import contextlib
import json
import re
import signal
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from .test_process import process

LONG = "A sentence that goes on. " * 150
GRACE = 10.0
"""After the drain: two seconds for connections to close, and the end of the process on a very busy machine."""


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    """A client with a small window, as on a slow line."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(20)
        client.connect(("127.0.0.1", port))
        yield client


@contextlib.contextmanager
def ask(port: int, **fields: object) -> Iterator[socket.socket]:
    """Ask for speech and read only the beginning of the answer."""
    body = json.dumps({"input": LONG, "response_format": "pcm", **fields}).encode()
    head = "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json"
    with connected(port) as client:
        client.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        assert client.recv(12) == b"HTTP/1.1 200"
        yield client


def wait_for(log: list[str], words: str) -> None:
    deadline = time.monotonic() + 10
    while words not in "".join(log):
        assert time.monotonic() < deadline, log
        time.sleep(0.02)


@pytest.mark.parametrize("stream", [True, False])
def test_a_reader_that_stalls_cannot_hold_up_the_end(stream: bool) -> None:
    with process(0.0, "--drain-seconds", "1") as (server, port, log), ask(port, stream=stream):
        server.send_signal(signal.SIGTERM)
        started = time.monotonic()
        assert server.wait(1 + GRACE) == 0, log
        assert time.monotonic() - started > 1, "the client had no time to go on"


def test_a_reader_that_was_given_up_is_dropped_and_does_not_hold_up_the_end() -> None:
    with process(0.0, "--stall-seconds", "0.5", "--drain-seconds", "20") as (server, port, log), ask(port) as client:
        wait_for(log, "gave up a reader")
        wait_for(log, "dropped a connection")
        server.send_signal(signal.SIGTERM)
        assert server.wait(GRACE) == 0, log
        rest = b"".join(iter(lambda: client.recv(1 << 16), b""))
        assert not rest.endswith(b"0\r\n\r\n"), "broken off, and yet it looks complete"


def test_a_slow_reader_gets_the_rest_of_a_whole_file_while_the_server_drains() -> None:
    with process(0.0, "--drain-seconds", "20") as (server, port, log), ask(port, stream=False) as client:
        server.send_signal(signal.SIGTERM)
        wait_for(log, "draining")
        time.sleep(2.5)  # longer than connections get after the drain
        data = b"".join(iter(lambda: client.recv(1 << 16), b""))
        length = re.search(rb"content-length: (\d+)", data)
        assert length is not None and int(length[1]) > 1 << 20
        assert len(data.partition(b"\r\n\r\n")[2]) == int(length[1])
        assert server.wait(GRACE) == 0, log


def test_a_second_signal_ends_at_once_although_a_reader_stalls() -> None:
    with process(0.0, "--drain-seconds", "60") as (server, port, log), ask(port):
        server.send_signal(signal.SIGTERM)
        wait_for(log, "draining")
        server.send_signal(signal.SIGTERM)
        assert server.wait(GRACE) == 0, log


def test_a_wyoming_client_that_stalls_cannot_hold_up_the_end() -> None:
    with process(0.0, "--wyoming", "0", "--drain-seconds", "1") as (server, http_port, log):
        found = re.search(r"tcp://127\.0\.0\.1:(\d+)", "".join(log))
        assert found is not None
        with connected(int(found[1])) as client:
            client.sendall(json.dumps({"type": "synthesize", "data": {"text": LONG}}).encode() + b"\n")
            assert client.recv(10)
            assert httpx.get(f"http://127.0.0.1:{http_port}/health/live").status_code == 200
            server.send_signal(signal.SIGTERM)
            assert server.wait(1 + GRACE) == 0, log
