"""Errors, keys, limits, headers, catalogue, voices, health and metrics."""

import asyncio
import base64
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile

from .conftest import running
from .fake import FakeEngine

SPEECH = "/v1/audio/speech"


def recording(length: float = 2.0, rate: int = 16000, level: float = 0.3) -> bytes:
    file = io.BytesIO()
    samples = level * np.sin(np.arange(round(length * rate)) * 0.05)
    soundfile.write(file, samples, rate, format="WAV")
    return file.getvalue()


def go(check: Callable[..., Any], engine: FakeEngine | None = None, **changes: Any) -> None:
    async def run() -> None:
        async with running(engine or FakeEngine(), **changes) as (client, service, _):
            await check(client, service)

    asyncio.run(run())


def assert_error(answer: httpx.Response, status: int, code: str | None = None, param: str | None = None) -> None:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert body["error"]["message"] and body["error"]["type"]
    if code is not None:
        assert body["error"]["code"] == code
    if param is not None:
        assert body["error"]["param"] == param


def test_every_error_has_the_nested_shape() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        post = client.post
        assert_error(
            await post(SPEECH, content=b"{", headers={"Content-Type": "application/json"}), 400, "invalid_json"
        )
        assert_error(await post(SPEECH, content=b"\xff\xfe"), 400)
        assert_error(await post(SPEECH, json=[]), 400)
        assert_error(await post(SPEECH, json={}), 400, param="input")
        assert_error(await post(SPEECH, json={"input": 5}), 400, param="input")
        assert_error(await post(SPEECH, json={"input": " \n "}), 400, "empty_input", "input")
        assert_error(await post(SPEECH, json={"input": "..."}), 400, "empty_text", "input")
        assert_error(await post("/tts", json={"text": "..."}), 400, "empty_text", "text")
        assert_error(await post(SPEECH, json={"input": "..."}), 400)
        assert_error(await post(SPEECH, json={"input": "x" * 4097}), 400, "input_too_long", "input")
        assert_error(await post(SPEECH, json={"input": "x", "response_format": "ogg"}), 400, param="response_format")
        for speed in (0.2, 4.1, "fast", None, "NaN"):
            assert_error(await post(SPEECH, json={"input": "x", "speed": speed}), 400, param="speed")
        assert_error(await post(SPEECH, json={"input": "x", "stream_format": "xml"}), 400, param="stream_format")
        assert_error(await post(SPEECH, json={"input": "x", "model": "m"}), 404, "model_not_found", "model")
        assert_error(await post(SPEECH, json={"input": "x", "language": "tlh"}), 400, param="language")
        assert_error(await post(SPEECH, json={"input": "x", "ref_audio": "http://x/y.wav"}), 400, param="ref_audio")
        assert_error(await client.get("/nothing/here"), 404)
        assert_error(await client.get(SPEECH), 405)
        assert_error(await client.get("/v1/models/none"), 404, "model_not_found")
        assert_error(await client.get("/v1/audio/voices?model=none"), 404)
        assert_error(await post(SPEECH, content=b"x" * (1 << 21)), 413, "too_large")

    go(check)


def test_unexpected_failures_are_500_without_details() -> None:
    class Broken(FakeEngine):
        broken = False

        def segments(self, text: str, lang: str) -> Any:
            if self.broken:
                raise KeyError("a secret detail")
            return super().segments(text, lang)

    engine = Broken()

    async def check(client: httpx.AsyncClient, service: Any) -> None:
        engine.broken = True
        answer = await client.post(SPEECH, json={"input": "x"})
        assert_error(answer, 500, "internal_error")
        assert "secret" not in answer.text
        assert service.admission.running == service.active == 0

    go(check, engine)


def test_chunked_bodies_are_limited_too() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        async def flood() -> Any:
            for _ in range(100):
                yield b" " * 65536

        assert_error(await client.post(SPEECH, content=flood()), 413, "too_large")

    go(check)


def test_keys() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        body = {"input": "Hello."}
        assert_error(await client.post(SPEECH, json=body), 401, "missing_api_key")
        wrong = await client.post(SPEECH, json=body, headers={"Authorization": "Bearer wrong-key-here"})
        assert_error(wrong, 401, "invalid_api_key")
        assert wrong.headers["www-authenticate"] == "Bearer"
        for headers in (
            {"Authorization": "Bearer second-key"},
            {"X-API-Key": "first-key"},
            {"xi-api-key": "first-key"},
        ):
            assert (await client.post(SPEECH, json=body, headers=headers)).status_code == 200
        assert_error(await client.post(SPEECH + "?token=first-key", json=body), 401)
        for path in ("/", "/docs", "/openapi.json", "/health/live", "/health/ready", "/metrics"):
            assert (await client.get(path)).status_code == 200
        for path in ("/v1/models", "/v1/audio/voices", "/v1/audio/models"):
            assert_error(await client.get(path), 401)

    go(check, api_key=("first-key", "second-key"))


def test_rate_limits_per_key() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        first, second = {"X-API-Key": "first-key"}, {"X-API-Key": "second-key"}
        statuses = [(await client.get("/v1/models", headers=first)).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        limited = await client.get("/v1/models", headers=first)
        assert_error(limited, 429, "rate_limit_exceeded")
        assert int(limited.headers["retry-after"]) >= 1
        assert (await client.get("/v1/models", headers=second)).status_code == 200

    go(check, api_key=("first-key", "second-key"), rate_limit=12)


def test_headers_are_safe() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        answer = await client.get("/health/live", headers={"Origin": "https://evil.example", "X-Request-Id": "a\tb"})
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-request-id"].startswith("req_")
        assert "access-control-allow-origin" not in answer.headers
        page = await client.get("/")
        assert "default-src 'none'" in page.headers["content-security-policy"]

    go(check)


def test_cors_names_origins_and_never_credentials() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        good = await client.get("/health/live", headers={"Origin": "https://good.example"})
        evil = await client.get("/health/live", headers={"Origin": "https://evil.example"})
        assert good.headers["access-control-allow-origin"] == "https://good.example"
        assert "access-control-allow-origin" not in evil.headers
        assert "access-control-allow-credentials" not in good.headers

    go(check, cors_origin=("https://good.example",))


def test_paths_reach_no_files(tmp_path: Path) -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        for path in ("/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2f..%2fetc/passwd", "/v1/models/..%2f..%2fx"):
            assert (await client.get(path)).status_code in (404, 405)
        for voice in ("../../etc/passwd", "voice_0000000000000000", "/etc/passwd"):
            assert_error(await client.post(SPEECH, json={"input": "x", "voice": voice}), 400)
            assert_error(await client.delete(f"/v1/audio/voices/{voice.replace('/', '%2f')}"), 404)

    go(check, FakeEngine(can_clone=True), voices_dir=str(tmp_path))


def test_catalogue() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        models = (await client.get("/v1/models")).json()
        assert models["object"] == "list"
        assert [model["id"] for model in models["data"]] == ["fake", "tts-1", "tts-1-hd", "gpt-4o-mini-tts"]
        for model in models["data"]:
            assert (await client.get(f"/v1/models/{model['id']}")).json() == model
        assert models["data"][0]["formats"] == ["mp3", "opus", "aac", "flac", "wav", "pcm"]
        voices = (await client.get("/v1/audio/voices")).json()
        assert [voice["id"] for voice in voices["voices"]] == ["ann", "bob", "chen"]
        assert voices["voices"][0]["languages"] == ["en", "zh"]
        assert voices["uploaded_voices"] == []
        assert (await client.get("/v1/audio/models")).json()["models"][0] == {"id": "fake", "name": "fake"}

    go(check)


def test_voices_are_added_used_kept_and_deleted(tmp_path: Path) -> None:
    engine = FakeEngine(can_clone=True)
    path = "/v1/audio/voices"

    async def add(client: httpx.AsyncClient, data: bytes, key: str = "first-key", **fields: str) -> httpx.Response:
        form = {"name": "My voice", "consent": "true", "ref_text": "Hello.", **fields}
        return await client.post(
            path, data=form, files={"audio_sample": ("../x.wav", data)}, headers={"X-API-Key": key}
        )

    async def check(client: httpx.AsyncClient, service: Any) -> None:
        headers = {"X-API-Key": "first-key"}
        assert_error(await add(client, recording(), consent="false"), 400, "consent_required")
        assert_error(await add(client, recording(), name="../up"), 400, "invalid_name")
        for bad in (b"", b"not audio", recording(0.5), recording(31, 8000), recording(level=0), recording()[:60]):
            assert_error(await add(client, bad), 400, "invalid_audio")
        assert_error(await add(client, b"x" * 700_000), 413)
        added = (await add(client, recording())).json()["voice"]
        assert_error(await add(client, recording()), 409, "voice_exists")
        assert (await add(client, recording(3.0), name="Other")).status_code == 200
        assert_error(await add(client, recording(), name="Third"), 403, "voice_quota")
        plain = await client.post(SPEECH, json={"input": "Hi there.", "response_format": "pcm"}, headers=headers)
        for name in (added["id"], "my voice"):
            body = {"input": "Hi there.", "voice": name, "response_format": "pcm"}
            cloned = await client.post(SPEECH, json=body, headers=headers)
            assert cloned.status_code == 200 and cloned.content != plain.content

    async def after_restart(client: httpx.AsyncClient, service: Any) -> None:
        headers = {"X-API-Key": "first-key"}
        listed = (await client.get(path, headers=headers)).json()
        assert [voice["name"] for voice in listed["uploaded_voices"]] == ["My voice", "Other"]
        assert listed["voices"][-1]["kind"] == "cloned"
        assert_error(await client.delete(path + "/Other", headers={"X-API-Key": "second-key"}), 403)
        for name in ("My voice", "Other"):
            assert (await client.delete(f"{path}/{name}", headers=headers)).status_code == 200
        assert_error(await client.delete(path + "/Other", headers=headers), 404, "voice_not_found")
        assert not list(tmp_path.iterdir())

    limits: dict[str, Any] = {
        "voices_dir": str(tmp_path),
        "max_voices": 2,
        "max_upload_bytes": 600_000,
        "api_key": ("first-key", "second-key"),
    }
    go(check, engine, **limits)
    go(after_restart, FakeEngine(can_clone=True), **limits)


def test_bundles_that_cannot_clone_say_so(tmp_path: Path) -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        form = {"name": "v", "consent": "true"}
        answer = await client.post("/v1/audio/voices", data=form, files={"audio_sample": ("x", recording())})
        assert_error(answer, 400, "cannot_clone")

    go(check, voices_dir=str(tmp_path))


def test_reference_audio_in_the_request() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        url = "data:audio/wav;base64," + base64.b64encode(recording()).decode()
        body = {"input": "Hi.", "ref_audio": url, "ref_text": "x", "response_format": "pcm"}
        assert (await client.post(SPEECH, json=body)).status_code == 200
        silent = "data:audio/wav;base64," + base64.b64encode(recording(level=0.0)).decode()
        bad = ("data:audio/wav;base64,!!", "data:audio/wav;base64,AAAA", "data:audio/wav,x", "file:///etc/passwd")
        for wrong in (*bad, silent, "https://x.example/a.wav"):
            answer = await client.post(SPEECH, json={**body, "ref_audio": wrong})
            assert_error(answer, 400, "invalid_audio", "ref_audio")

    go(check, FakeEngine(can_clone=True))


def test_metrics() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        for _ in range(2):
            await client.post(SPEECH, json={"input": "Hello there."})
        await client.post(SPEECH, json={"input": "It goes BOOM."})
        await client.get("/nothing")
        text = (await client.get("/metrics")).text
        for line in (
            'cosylite_requests_total{endpoint="speech",format="mp3",model="fake",outcome="ok"} 2.0',
            'cosylite_requests_total{endpoint="speech",format="mp3",model="fake",outcome="server_error"} 1.0',
            "cosylite_cache_hits_total 1.0",
            "cosylite_requests_running 0.0",
            "cosylite_segments_open 0.0",
            'cosylite_model_loaded{model="fake",revision="1"} 1.0',
            'cosylite_http_responses_total{method="GET",status="404"} 1.0',
        ):
            assert line in text
        assert 'cosylite_time_to_first_audio_seconds_count{model="fake"} 2.0' in text

    go(check)


def test_ready_only_after_the_warm_up() -> None:
    async def check(client: httpx.AsyncClient, service: Any) -> None:
        service.warm = False
        assert_error(await client.get("/health/ready"), 503, "loading")
        assert (await client.get("/health/live")).status_code == 200
        service.warm = True
        service.admission.draining = True
        assert_error(await client.get("/health/ready"), 503, "draining")
        assert_error(await client.post(SPEECH, json={"input": "x"}), 503, "server_draining")

    go(check)


def test_random_bodies_never_give_a_server_error() -> None:
    rng = random.Random(7)
    values: list[Any] = [
        None,
        True,
        0,
        -1,
        1.5,
        1e308,
        2**70,
        "",
        " ",
        "x",
        "\x00",
        "\ud83d\ude00",
        "../x",
        [],
        [1],
        {},
    ]
    values += [{"id": "ann"}, "ann", "wav", "sse", "en", 24000, "data:;base64,", "a" * 5000]
    fields = ["input", "voice", "model", "speed", "response_format", "stream_format", "stream", "seed", "language",
              "sample_rate", "timestamps", "ref_audio", "instructions", "text", "format", "items"]  # fmt: skip

    async def check(client: httpx.AsyncClient, service: Any) -> None:
        for _ in range(250):
            body = {name: rng.choice(values) for name in rng.sample(fields, 5)}
            if rng.random() < 0.5:
                body |= {"input": "Hello.", "text": "Hello.", "items": [{"input": "Hello."}]}
            path = rng.choice([SPEECH, "/tts", "/v1/audio/speech/batch"])
            answer = await client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
            assert answer.status_code < 500, (path, body, answer.text)
            if answer.status_code >= 400:
                assert_error(answer, answer.status_code)

    go(check)


def test_telemetry_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    spans: list[dict[str, Any]] = []

    class Span:
        def __init__(self, attributes: dict[str, Any]) -> None:
            self.set_attribute = attributes.__setitem__
            self.end = lambda: spans.append(attributes)

    class Tracer:
        def start_span(self, name: str, attributes: dict[str, Any]) -> Span:
            return Span(attributes)

    monkeypatch.setattr(trace, "get_tracer", lambda name: Tracer())

    async def check(client: httpx.AsyncClient, service: Any) -> None:
        await client.post("/tts", json={"text": "Hello there."}, headers={"X-Request-Id": "my-id"})
        assert spans[0]["cosylite.request_id"] == "my-id"
        assert spans[0]["cosylite.audio_seconds"] > 0

    go(check, telemetry=True)
