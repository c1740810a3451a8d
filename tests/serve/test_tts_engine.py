"""The service on the real runtime, with the tiny bundle of noises: the audio of `TTS`, byte for byte."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from cosylite import TTS
from cosylite.serve.app import create_app
from cosylite.serve.clip import to_pcm
from cosylite.serve.engine import SpeechOptions
from cosylite.serve.settings import Settings
from cosylite.serve.tts_engine import NanoEngine, load_engine

from .conftest import until

TINY = str(Path(__file__).parents[1] / "assets" / "tiny")
TEXTS = (
    "Hello there. This is the second sentence, with a comma! And the third?",
    "你好，世界。今天天气很好。",
    "I said 你好 to 田中さん [pause 300ms] and then: goodbye.",
    "안녕하세요. 반갑습니다.",
)


@pytest.fixture(scope="module")
def tts() -> TTS:
    return TTS(TINY, threads=1)


@pytest.fixture(scope="module")
def engine() -> Iterator[NanoEngine]:
    loaded = load_engine(TINY, Settings(bundle=("tiny",)))
    assert isinstance(loaded, NanoEngine)
    yield loaded
    loaded.close()


def test_service_audio_equals_say(tts: TTS) -> None:
    async def go() -> None:
        app = create_app(Settings(bundle=(TINY,), workers=2, batching="off"))
        async with app.router.lifespan_context(app):
            await until(lambda: app.state.service.warm or app.state.service.failure, 40)
            assert app.state.service.failure is None
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                for text in TEXTS:
                    for more in ({}, {"voice": "zf_tiny", "speed": 1.3, "seed": 4}):
                        body = {"input": text, "response_format": "pcm", **more}
                        said = tts.say(text, **more)  # type: ignore[arg-type]
                        for attempt in ("miss", "hit"):
                            answer = await client.post("/v1/audio/speech", json=body)
                            assert answer.headers["x-cache"] == attempt
                            samples = np.frombuffer(answer.content, "<i2").astype(int)
                            expected = to_pcm(said.samples).astype(int)
                            assert len(samples) == len(expected)
                            assert np.abs(samples - expected).max() <= 3
                        body = {"text": text, "timestamps": True, **more}
                        words = (await client.post("/tts", json=body)).json()["words"]
                        assert [word["text"] for word in words] == [word.text for word in said.words]
                        starts = [word.start for word in said.words]
                        assert np.allclose([word["start"] for word in words], starts, atol=0.002)

    asyncio.run(go())


def test_blends_are_voices() -> None:
    async def go() -> None:
        app = create_app(Settings(bundle=(TINY,), workers=2, batching="off"))
        async with app.router.lifespan_context(app):
            await until(lambda: app.state.service.warm or app.state.service.failure, 40)
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:

                async def ask(voice: object) -> httpx.Response:
                    body = {"input": "Hello there.", "response_format": "pcm", "stream": False, "voice": voice}
                    return await client.post("/v1/audio/speech", json=body)

                mixed = await ask("af_tiny:3+jf_tiny:2")
                assert mixed.status_code == 200
                assert mixed.content not in ((await ask("af_tiny")).content, (await ask("jf_tiny")).content)
                again = await ask({"id": "af_tiny:0.6+jf_tiny:0.4"})
                assert again.headers["x-cache"] == "hit" and again.content == mixed.content
                for voice, code in (
                    ("af_tiny:1+nobody:1", "unknown_voice"),
                    ("af_tiny:x+jf_tiny:1", "invalid_blend"),
                    ("af_tiny:0+jf_tiny:1", "invalid_blend"),
                    ("af_tiny+", "unknown_voice"),
                ):
                    error = (await ask(voice)).json()["error"]
                    assert (error["code"], error["param"]) == (code, "voice"), error

    asyncio.run(go())


def test_text_in_pieces_gives_the_sentences_of_the_whole(engine: NanoEngine) -> None:
    for text in TEXTS:
        whole = [segment.key for segment in engine.segments(text, "auto")]
        feed = engine.feed("auto")
        pieces = [segment for start in range(0, len(text), 3) for segment in feed.push(text[start : start + 3])]
        assert [segment.key for segment in pieces + feed.flush()] == whole


def test_batches_equal_streams(engine: NanoEngine) -> None:
    segments = [segment for text in TEXTS for segment in engine.segments(text, "auto")]
    items = [(segment, SpeechOptions(segment.voice, seed=index)) for index, segment in enumerate(segments)]
    together = engine.speak_many(items)
    for (segment, options), chunk in zip(items, together, strict=True):
        stream = engine.open(segment, options)
        parts = []
        while (part := stream.step()) is not None:
            parts.append(part.samples)
        stream.close()
        alone = np.concatenate(parts)
        assert len(alone) == len(chunk.samples)
        assert np.abs(to_pcm(alone).astype(int) - to_pcm(chunk.samples).astype(int)).max() <= 3
        assert 0.3 < segment.seconds / max(chunk.duration, 0.01) < 3 or chunk.duration < 1


def test_voices_of_the_bundle(engine: NanoEngine) -> None:
    assert [voice.id for voice in engine.voices] == ["zf_tiny", "af_tiny", "jf_tiny", "jm_tiny"]
    assert engine.voices[0].languages[0] == "zh"
    assert engine.default_voice in {voice.id for voice in engine.voices}
