"""The official `openai` client, in process and over a socket; and plain `curl`."""

import asyncio
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from .conftest import Live, running
from .decode import decode
from .fake import FakeEngine
from .test_speech import FORMATS, LENGTH, TEXT, expected_pcm

KEY = "a-secret-key"


def test_async_client_in_process() -> None:
    async def go() -> None:
        async with running(api_key=(KEY,)) as (_, service, app):
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport) as http:
                client = openai.AsyncOpenAI(base_url="http://test/v1", api_key=KEY, http_client=http)
                for format in FORMATS:
                    answer = await client.audio.speech.create(
                        model="gpt-4o-mini-tts", voice="ann", input=TEXT, response_format=format
                    )
                    samples, rate = decode(await answer.aread(), format)
                    assert abs(len(samples) / rate - LENGTH) < 0.12
                async with client.audio.speech.with_streaming_response.create(
                    model="tts-1", voice="ann", input=TEXT, response_format="pcm"
                ) as streamed:
                    assert b"".join([part async for part in streamed.iter_bytes()]) == expected_pcm()
                models = [model.id async for model in await client.models.list()]
                assert models[0] == "fake" and "tts-1" in models
                assert (await client.models.retrieve("fake")).id == "fake"
                with pytest.raises(openai.NotFoundError) as missing:
                    await client.audio.speech.create(model="other", voice="ann", input=TEXT)
                assert missing.value.code == "model_not_found"
                with pytest.raises(openai.BadRequestError) as refused:
                    await client.audio.speech.create(model="fake", voice="zoe", input=TEXT)
                assert (refused.value.code, refused.value.param) == ("unknown_voice", "voice")
                stranger = client.with_options(api_key="another-key", max_retries=0)
                with pytest.raises(openai.AuthenticationError):
                    await stranger.audio.speech.create(model="fake", voice="ann", input=TEXT)
            assert service.admission.running == 0

    asyncio.run(go())


@pytest.fixture
def served(live: Callable[..., Live]) -> Live:
    return live(FakeEngine(step_seconds=0.005))


def test_client_over_a_socket(served: Live, tmp_path: Path) -> None:
    client: Any = openai.OpenAI(base_url=served.url + "/v1", api_key="none", max_retries=0)
    with client:
        for format in FORMATS:
            answer = client.audio.speech.create(model="tts-1-hd", voice="ann", input=TEXT, response_format=format)
            samples, rate = decode(answer.read(), format)
            assert abs(len(samples) / rate - LENGTH) < 0.12
        with client.audio.speech.with_streaming_response.create(
            model="tts-1", voice="ann", input=TEXT, response_format="pcm"
        ) as streamed:
            streamed.stream_to_file(tmp_path / "speech.pcm")
        assert (tmp_path / "speech.pcm").read_bytes() == expected_pcm()
        with client.audio.speech.with_streaming_response.create(
            model="tts-1", voice="ann", input=TEXT, response_format="pcm", stream_format="sse"
        ) as events:
            assert events.headers["content-type"].startswith("text/event-stream")
            assert b"speech.audio.done" in events.read()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(served: Live, tmp_path: Path) -> None:
    file = tmp_path / "out.wav"
    command = ["curl", "-sS", "-f", f"{served.url}/v1/audio/speech", "-H", "Content-Type: application/json", "-o", file]
    body = '{"input": "Hello there, this is a test. And here is one more sentence!", "response_format": "wav"}'
    subprocess.run([*command, "-d", body], check=True)
    samples, rate = decode(file.read_bytes(), "wav")
    assert abs(len(samples) / rate - LENGTH) < 0.001
