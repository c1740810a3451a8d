"""`POST /v1/audio/speech`, `/v1/audio/speech/batch` and `/tts`, in process."""

import asyncio
import base64
import io
import json
import wave
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile

from cosylite.serve.engine import SpeechOptions

from .conftest import running
from .decode import decode, loudness, pitch
from .fake import FakeEngine, seconds, tone, words

TEXT = "Hello there, this is a test. And here is one more sentence!"
FIRST, SECOND = "Hello there, this is a test.", "And here is one more sentence!"
LENGTH = seconds(FIRST, 1) + 0.1 + seconds(SECOND, 1)
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
Check = Callable[[httpx.AsyncClient, Any, FakeEngine], Awaitable[None]]


def run(check: Check, engine: FakeEngine | None = None, **changes: Any) -> None:
    """Run a check against a started app."""

    async def go() -> None:
        used = engine or FakeEngine()
        async with running(used, **changes) as (client, service, _):
            await check(client, service, used)
            assert service.admission.running == 0
            assert used.open_now == 0

    asyncio.run(go())


async def speak(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post("/v1/audio/speech", json={"model": "tts-1", "input": TEXT, "voice": "ann", **body})


def events(text: str) -> list[dict[str, Any]]:
    """The JSON of server-sent events, as a reader of `data:` lines sees them."""
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]


def expected_pcm(voice: str = "ann", speed: float = 1.0) -> bytes:
    options = SpeechOptions(voice, speed=speed)
    parts = [tone(FIRST, options), np.zeros(2400, np.float32), tone(SECOND, options)]
    return np.rint(np.concatenate(parts) * 32767).astype("<i2").tobytes()


def test_pcm_is_exactly_what_the_engine_made() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await speak(client, response_format="pcm")
        assert answer.content == expected_pcm()
        assert answer.headers["x-sample-rate"] == "24000"

    run(check)


def test_default_is_mp3() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await client.post("/v1/audio/speech", json={"input": TEXT})
        assert answer.headers["content-type"] == "audio/mpeg"
        assert answer.content[:2] in (b"\xff\xfb", b"\xff\xf3")

    run(check)


@pytest.mark.parametrize("stream", [True, False, None])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_decodes_to_the_right_length(format: str, stream: bool | None) -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await speak(client, response_format=format, stream=stream)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == TYPES[format]
        samples, rate = decode(answer.content, format)
        padding = {"mp3": 0.1, "aac": 0.1}.get(format, 0.0)
        assert LENGTH - 0.02 <= len(samples) / rate <= LENGTH + 0.02 + padding
        assert loudness(samples[-rate // 2 :]) > 0.2, "the tail is missing"
        wanted = pitch(tone(FIRST, SpeechOptions("ann")), 24000)
        assert abs(pitch(samples[: int(0.5 * rate)], rate) - wanted) < 12

    run(check)


@pytest.mark.parametrize("format", ["mp3", "opus", "flac", "wav"])
def test_whole_files_have_exact_lengths_for_strict_readers(format: str) -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await speak(client, response_format=format, stream=False)
        assert int(answer.headers["content-length"]) == len(answer.content)
        samples, rate = soundfile.read(io.BytesIO(answer.content))
        assert abs(len(samples) / rate - LENGTH) < 0.08
        if format == "wav":
            with wave.open(io.BytesIO(answer.content)) as file:
                assert file.getnframes() == round(LENGTH * 24000)

    run(check)


@pytest.mark.parametrize("format", ["pcm", "mp3", "opus", "aac"])
def test_sse_deltas_join_to_the_streamed_bytes(format: str) -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await speak(client, response_format=format, stream_format="sse", model="fake")
        assert answer.headers["content-type"].startswith("text/event-stream")
        found = events(answer.text)
        assert [event["type"] for event in found[:-1]] == ["speech.audio.delta"] * (len(found) - 1)
        assert found[-1]["type"] == "speech.audio.done"
        assert found[-1]["usage"]["total_tokens"] > 0
        joined = b"".join(base64.b64decode(event["audio"]) for event in found[:-1])
        if format == "pcm":
            assert joined == expected_pcm()
        samples, rate = decode(joined, format)
        assert abs(len(samples) / rate - LENGTH) < 0.12

    run(check)


def test_timestamps_over_sse_and_tts() -> None:
    expected = [(word.text, word.start) for word in words(FIRST, 1)]
    later = [(word.text, word.start + seconds(FIRST, 1) + 0.1) for word in words(SECOND, 1)]

    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await speak(client, response_format="pcm", stream_format="sse", timestamps=True)
        told = [w for event in events(answer.text) if event["type"] == "speech.audio.words" for w in event["words"]]
        simple = await client.post("/tts", json={"text": TEXT, "timestamps": True})
        for found in (told, simple.json()["words"]):
            assert [word["text"] for word in found] == [text for text, _ in expected + later]
            times = [start for _, start in expected + later]
            assert np.allclose([word["start"] for word in found], times, atol=0.002)
        refused = await speak(client, timestamps=True)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "timestamps")

    run(check)


def test_simple_route() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await client.post("/tts", json={"text": TEXT})
        body = answer.json()
        assert (body["format"], body["sample_rate"]) == ("wav", 24000)
        with wave.open(io.BytesIO(bytes.fromhex(body["audio"]))) as file:
            assert abs(file.getnframes() / 24000 - LENGTH) < 0.001
        plain = await client.post("/tts", json={"text": TEXT, "format": "flac"}, headers={"Accept": "audio/*"})
        assert plain.headers["content-type"] == "audio/flac"
        assert abs(len(soundfile.read(io.BytesIO(plain.content))[0]) / 24000 - LENGTH) < 0.001
        for text in ("", "  \n"):
            refused = await client.post("/tts", json={"text": text})
            assert refused.status_code == 400
            assert refused.json()["error"]["param"] == "text"

    run(check)


def test_voices_and_aliases() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answers = {}
        for voice in ("ann", "bob", "Bob", {"id": "bob"}, "alloy", "onyx", "shimmer", None):
            answer = await speak(client, voice=voice, response_format="pcm")
            assert answer.status_code == 200
            answers[str(voice)] = answer.content
        assert answers["bob"] == answers["Bob"] == answers["{'id': 'bob'}"] == answers["onyx"] == expected_pcm("bob")
        assert answers["ann"] == answers["alloy"] == answers["None"] == expected_pcm()
        unknown = await speak(client, voice="zoe")
        assert unknown.status_code == 400
        assert unknown.json()["error"]["code"] == "unknown_voice"
        assert "ann" in unknown.json()["error"]["message"]

    run(check)


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.5, 4.0])
def test_openai_speeds(speed: float) -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await speak(client, speed=speed, response_format="pcm")
        assert answer.content == expected_pcm(speed=speed)

    run(check)


def test_sample_rate_is_converted() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        for format, rate in (("pcm", 8000), ("wav", 16000), ("mp3", 48000), ("opus", 48000)):
            answer = await speak(client, sample_rate=rate, response_format=format)
            samples, found = decode(answer.content, format, rate)
            assert found == rate == int(answer.headers["x-sample-rate"])
            assert abs(len(samples) / rate - LENGTH) < 0.12
        refused = await speak(client, sample_rate=44100, response_format="opus")
        assert refused.json()["error"]["param"] == "sample_rate"

    run(check)


def test_late_failure_breaks_off_and_sse_says_so() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        early = await speak(client, input="This goes BOOM now.")
        assert early.status_code == 503
        assert early.json()["error"]["code"] == "bad_output"
        late = await speak(client, input="This goes well at first but LATEBOOM it fails.", stream_format="sse")
        assert events(late.text)[-1]["type"] == "speech.audio.error"
        assert events(late.text)[-1]["error"]["code"] == "bad_output"
        whole = await client.post("/tts", json={"text": "This goes well at first but LATEBOOM it fails."})
        assert whole.status_code == 503

    run(check)


def test_instructions_are_ignored_visibly() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        answer = await speak(client, instructions="whisper")
        assert answer.headers["x-instructions"] == "ignored"

    run(check)


def test_batch_has_a_status_per_item() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        items = [
            {"input": TEXT},
            {"input": " "},
            {"input": TEXT, "voice": "bob", "response_format": "mp3", "speed": 2},
            {"input": TEXT, "voice": "zoe"},
            {"input": "This goes BOOM now."},
        ]
        answer = await client.post("/v1/audio/speech/batch", json={"items": items, "voice": "ann", "timestamps": True})
        body = answer.json()
        assert (body["total"], body["succeeded"], body["failed"]) == (5, 2, 3)
        assert [result["status"] for result in body["results"]] == ["success", "error", "success", "error", "error"]
        assert [result["index"] for result in body["results"]] == list(range(5))
        first, third = body["results"][0], body["results"][2]
        with wave.open(io.BytesIO(base64.b64decode(first["audio_data"]))) as file:
            assert file.readframes(file.getnframes()) == expected_pcm()
        assert first["media_type"] == "audio/wav"
        assert len(first["words"]) == len(TEXT.split())
        samples, rate = decode(base64.b64decode(third["audio_data"]), "mp3")
        assert abs(len(samples) / rate - ((LENGTH - 0.1) / 2 + 0.1)) < 0.1
        assert body["results"][3]["error"]["code"] == "unknown_voice"
        too_many = await client.post("/v1/audio/speech/batch", json={"items": [{"input": "a"}] * 33})
        assert too_many.status_code == 400

    run(check)


def test_two_voices_in_parallel_equal_one_after_the_other() -> None:
    async def check(client: httpx.AsyncClient, service: Any, engine: FakeEngine) -> None:
        voices = ["ann", "bob", "chen", "ann", "bob"]
        no_store = {"Cache-Control": "no-store"}
        bodies = [{"input": TEXT, "voice": voice, "response_format": "pcm"} for voice in voices]
        answers = await asyncio.gather(
            *(client.post("/v1/audio/speech", json=body, headers=no_store) for body in bodies)
        )
        assert [answer.content for answer in answers] == [expected_pcm(voice) for voice in voices]
        assert len({answer.headers["x-request-id"] for answer in answers}) == len(voices)

    run(check)
