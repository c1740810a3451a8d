"""The server as a process of its own: signals, drain, exit codes, logs."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .fake import seconds

ROOT = Path(__file__).parents[2]
LONG = "This is a sentence that goes on for a good while" + " and on" * 50 + "."


@contextlib.contextmanager
def process(step_seconds: float, *flags: str) -> Iterator[tuple["subprocess.Popen[str]", int, list[str]]]:
    """A running server: the process, its port, and its log so far."""
    command = [sys.executable, "-m", "tests.serve.run_fake", str(step_seconds), *flags]
    server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    log: list[str] = []
    listening, ready = threading.Event(), threading.Event()

    def read() -> None:
        assert server.stderr is not None
        for line in server.stderr:
            log.append(line)
            if "listening on" in line:
                listening.set()
            if "ready: models" in line:
                ready.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert ready.wait(20) and listening.wait(20), log
        found = re.search(r"http://127\.0\.0\.1:(\d+)", "".join(log))
        assert found is not None
        yield server, int(found[1]), log
    finally:
        if server.poll() is None:
            server.kill()
        server.wait()
        reader.join()
        assert server.stderr is not None
        server.stderr.close()


def test_sigterm_finishes_streams_in_flight_and_refuses_new_ones() -> None:
    with process(0.05, "--drain-seconds", "20", "--workers", "1") as (server, port, log):
        url = f"http://127.0.0.1:{port}"
        body = {"input": LONG, "response_format": "pcm"}
        assert httpx.get(url + "/health/ready").status_code == 200
        with httpx.stream("POST", url + "/v1/audio/speech", json=body, timeout=20) as answer:
            parts = answer.iter_bytes()
            data = next(parts)
            server.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 5
            while httpx.get(url + "/health/ready").status_code != 503:
                assert time.monotonic() < deadline
            assert httpx.get(url + "/health/live").status_code == 200
            refused = httpx.post(url + "/v1/audio/speech", json=body)
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "server_draining"
            assert "retry-after" in refused.headers
            data += b"".join(parts)
        assert len(data) == 2 * round(seconds(LONG, 1) * 24000)
        assert server.wait(5) == 0, log


def test_the_grace_time_ends_and_a_second_signal_is_immediate() -> None:
    with process(0.25, "--drain-seconds", "0.3", "--workers", "1") as (server, port, log):
        body = {"input": LONG, "response_format": "pcm"}
        url = f"http://127.0.0.1:{port}/v1/audio/speech"
        with (
            pytest.raises(httpx.RemoteProtocolError),  # broken off, not ended cleanly
            httpx.stream("POST", url, json=body, timeout=20) as answer,
        ):
            for _ in answer.iter_bytes():
                server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0, log


def test_a_second_signal_leaves_no_traceback() -> None:
    with process(0.25, "--drain-seconds", "20", "--workers", "1") as (server, port, log):
        body = {"input": LONG, "response_format": "pcm"}
        url = f"http://127.0.0.1:{port}/v1/audio/speech"
        with (
            pytest.raises(httpx.RemoteProtocolError),
            httpx.stream("POST", url, json=body, timeout=20) as answer,
        ):
            for _ in answer.iter_bytes():
                server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0, log
    assert "Traceback" not in "".join(log)


def test_logs_are_json_lines_with_request_ids_and_without_keys() -> None:
    with process(0.0, "--log-format", "json", "--api-key", "a-secret-key") as (server, port, log):
        url = f"http://127.0.0.1:{port}/v1/models"
        headers = {"Authorization": "Bearer a-secret-key", "X-Request-Id": "my-request-1"}
        assert httpx.get(url, headers=headers).headers["x-request-id"] == "my-request-1"
        assert httpx.get(url + "?token=a-secret-key").status_code == 401
        server.send_signal(signal.SIGINT)
        assert server.wait(5) == 0
    lines = [json.loads(line) for line in log]
    access = [line for line in lines if line["logger"] == "cosylite.access"]
    assert (access[0]["request_id"], access[0]["status"]) == ("my-request-1", 200)
    assert "a-secret-key" not in "".join(log)


def test_a_taken_port_is_an_output_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-m", "cosylite.cli", "serve", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 5
    assert "choose another --port" in done.stderr.splitlines()[-1]


def test_a_missing_bundle_ends_the_process_with_code_3() -> None:
    command = [sys.executable, "-m", "cosylite.cli", "serve", "--port", "0", "--bundle", "no-such-bundle"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 3
    assert "no-such-bundle" in done.stderr.splitlines()[-1]


def test_silent_connections_are_closed_and_others_are_not() -> None:
    with process(0.05, "--header-seconds", "0.5", "--workers", "1") as (_, port, _log):
        url = f"http://127.0.0.1:{port}/v1/audio/speech"
        with (
            httpx.stream("POST", url, json={"input": LONG}) as answer,
            socket.create_connection(("127.0.0.1", port), timeout=5) as silent,
        ):
            silent.sendall(b"POST /tts HT")
            assert silent.recv(100) == b""
            assert len(answer.read()) > 1000


def test_wyoming_listens_next_to_http() -> None:
    with process(0.0, "--wyoming", "0") as (_, _port, log):
        found = re.search(r"tcp://127\.0\.0\.1:(\d+)", "".join(log))
        assert found is not None
        with socket.create_connection(("127.0.0.1", int(found[1]))) as client:
            client.sendall(b'{"type": "describe"}\n')
            assert json.loads(client.makefile().readline())["type"] == "info"
