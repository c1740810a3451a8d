"""Bundles of CosyVoice through the service: the audio of `TTS`, one decoding loop, and several bundles side by side."""

import asyncio
import base64
import gc
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection

from cosylite.serve.engine import SpeechOptions
from cosylite.serve.service import Service
from cosylite.serve.settings import Settings
from cosylite.serve.tts_engine import load_engine

from .conftest import Live, until
from .families import SPEECH, TEXT, Toys, ask, close, engine_of, metric, samples, serve, toys
from .test_http import assert_error
from .test_stream import receive, send, session

__all__ = ["toys"]
TINY = str(Path(__file__).parents[1] / "assets" / "tiny")
LONG = "He is in the ab cd of it, and so on. " * 3
FAMILIES = ("v1", "v2", "v3")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("family", FAMILIES)
def test_service_audio_equals_say(family: str, toys: Toys) -> None:
    async def check(client: httpx.AsyncClient, service: Service) -> None:
        for more in ({"seed": 3}, {"seed": 4, "speed": 1.5, "voice": "英文男"}):
            wanted = toys.say(family, TEXT, **more)
            for attempt in ("miss", "hit"):
                answer = await ask(client, **more)
                assert answer.headers["x-cache"] == attempt
                assert close(samples(answer), wanted)
        (model, *_) = (await client.get("/v1/models")).json()["data"]
        instructs = family != "v1"
        assert model["can_clone"] and model["can_instruct"] is instructs and model["revision"]
        assert model["modes"] == ["preset", "zero-shot", "cross-lingual", *(["instruct"] if instructs else [])]
        voices = (await client.get("/v1/audio/voices")).json()
        assert [voice["kind"] for voice in voices["voices"]] == ["preset", "preset", "saved"]
        assert voices["default"] == "中文女"

    serve(check, toys.bundle(family))


def test_streams_events_and_batches(toys: Toys) -> None:
    """As PCM while it is made, as events, and as items of a batch; `timestamps` tells what is known."""

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        body = {"input": TEXT, "response_format": "pcm", "seed": 5}
        async with client.stream("POST", SPEECH, json=body) as answer:
            streamed = await answer.aread()
            assert answer.status_code == 200 and answer.headers["x-cache"] == "miss"
        events = await client.post(SPEECH, json={**body, "stream_format": "sse", "timestamps": True})
        told = [json.loads(line[6:]) for line in events.text.splitlines() if line]
        deltas = [base64.b64decode(event["audio"]) for event in told if event["type"] == "speech.audio.delta"]
        assert b"".join(deltas) == streamed
        assert [event["type"] for event in told if "delta" not in event["type"]][-1] == "speech.audio.done"
        begun = [event for event in told if event["type"] == "speech.audio.sentence"]
        assert begun == [{"type": "speech.audio.sentence", "text": TEXT, "start": 0.0}]
        assert not any(event["type"] == "speech.audio.words" for event in told)
        simple = {"text": TEXT, "seed": 5, "timestamps": True, "format": "pcm"}
        answer = (await client.post("/tts", json=simple)).json()
        assert answer["words"] == [] and bytes.fromhex(answer["audio"]) == streamed
        assert answer["sentences"] == [{"text": TEXT, "start": 0.0, "end": answer["duration"]}]
        items = [{"input": TEXT}, {"input": "..."}, {"input": TEXT, "voice": "nobody"}]
        batch = {"items": items, "response_format": "pcm", "seed": 5}
        found = (await client.post(SPEECH + "/batch", json=batch)).json()
        assert [item["status"] for item in found["results"]] == ["success", "error", "error"]
        assert base64.b64decode(found["results"][0]["audio_data"]) == streamed

    serve(check, toys.bundle("v2"))


def test_text_in_pieces_gives_segments_as_they_are_complete(toys: Toys) -> None:
    engine = load_engine(toys.bundle("v2"), Settings(device="cpu"))
    text = "He is in it now. And so on, it is. " * 4
    whole = [segment.text for segment in engine.segments(text, "auto")]
    for size in (1, 3, 1000):
        feed = engine.feed("auto")
        early = [s for start in range(0, len(text), size) for s in feed.push(text[start : start + size])]
        found = early + feed.flush()
        assert early and " ".join(s.text for s in found).split() == " ".join(whole).split()
        assert [s.lead for s in found] == [0.0] + [0.25] * (len(found) - 1)


def test_text_in_pieces_over_a_socket(live: Callable[..., Live], toys: Toys) -> None:
    engine = load_engine(toys.bundle("v2"), Settings(device="cpu"))
    server = live(engine, bundle=(engine.name,))
    spoken = {instruct: toys.say("v2", TEXT, seed=1, instruct=instruct) for instruct in ("", "be happy")}

    async def check(socket: ClientConnection) -> None:
        for instruct, wanted in spoken.items():
            await send(socket, "session.config", seed=1, instructions=instruct, timestamps=True)
            await receive(socket, "session.configured")
            for piece in ("A", "b c", "d."):
                await send(socket, "input.text", text=piece)
            await send(socket, "input.done")
            messages, audio = await receive(socket, "session.done", 40)
            kinds = [message["type"] for message in messages]
            assert kinds == ["audio.start", "audio.sentence", "audio.done", "session.done"]
            assert messages[0]["sentence_text"] == TEXT and messages[1]["start"] == 0.0
            found = np.frombuffer(audio, "<i2").astype(np.int64)
            assert found.shape == wanted.shape, "streamed in chunks, and of the same length"
        await send(socket, "session.config", mode="zero-shot")
        await receive(socket, "session.configured")
        await send(socket, "input.text", text=TEXT)
        await send(socket, "input.done")
        messages, _ = await receive(socket, "session.done", 40)
        assert messages[0]["error"]["code"] == "wrong_mode" and messages[-1]["error"] is True
        await send(socket, "session.config", model=engine.name)
        await receive(socket, "session.configured")
        await send(socket, "input.text", text=LONG)
        await send(socket, "input.flush")
        await receive(socket, "audio.start", 40)
        await send(socket, "input.cancel")
        await receive(socket, "input.cancelled")
        await until(lambda: not engine.decoding)

    session(server, check)


def test_requests_share_steps_and_each_gets_its_own_audio(toys: Toys) -> None:
    bodies = [{"text": TEXT * (1 + index % 3), "seed": index} for index in range(6)]
    answers: dict[str, list[bytes]] = {}

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        engine = engine_of(service)
        together = await asyncio.gather(*(ask(client, **body) for body in bodies))
        answers[service.settings.batching] = [answer.content for answer in together]
        assert all(answer.status_code == 200 for answer in together)
        rows = metric(service, "cosylite_batch_size_sum", stage="decode")
        steps = metric(service, "cosylite_batch_size_count", stage="decode")
        tokens = metric(service, "cosylite_tokens_total", model="v2-bundle")
        assert tokens == rows > 0
        assert (rows / steps > 2) if service.settings.batching == "auto" else rows == steps
        assert metric(service, "cosylite_batching", model="v2-bundle") == float(service.settings.batching == "auto")
        assert not engine.decoding

    for batching in ("auto", "off"):
        serve(check, toys.bundle("v2"), batching=batching, cache_seconds=0.0)
    assert answers["auto"] == answers["off"]
    engine = load_engine(toys.bundle("v2"), Settings(device="cpu"))
    (alone,) = engine.speak_many([(next(engine.segments(bodies[5]["text"], "auto")), SpeechOptions("", seed=5))])  # type: ignore[arg-type]
    assert close(np.frombuffer(answers["auto"][5], "<i2").astype(np.int64), toys.say("v2", **bodies[5]))  # type: ignore[arg-type]
    assert len(alone.samples) == len(answers["auto"][5]) // 2


def test_a_short_request_that_comes_late_ends_first(toys: Toys) -> None:
    async def check(client: httpx.AsyncClient, service: Service) -> None:
        warm = metric(service, "cosylite_tokens_total", model="v2-bundle")
        long = asyncio.create_task(ask(client, LONG))
        await until(lambda: metric(service, "cosylite_tokens_total", model="v2-bundle") > warm + 20, 20)
        short = await ask(client, "He is.")
        assert short.status_code == 200 and not long.done()
        assert len(samples(await long)) > len(samples(short))

    serve(check, toys.bundle("v2"), cache_seconds=0.0)


def test_rows_are_limited_and_the_most_urgent_request_gets_the_next(toys: Toys) -> None:
    engine = load_engine(toys.bundle("v2"), Settings(device="cpu", batch_rows=2))
    segment = next(engine.segments(TEXT, "auto"))
    streams = [engine.open(segment, SpeechOptions("", seed=seed), whole=True) for seed in range(4)]
    assert engine.advance(streams).rows == 2
    streams[1].close()
    assert engine.advance([streams[0], streams[3], streams[2]]).rows == 2
    waiting = [stream for stream in streams if not stream.ready]
    while not streams[3].ready:
        engine.advance(waiting)
    assert not streams[2].ready
    for stream in streams:
        stream.close()
    assert not engine.decoding


def test_a_client_that_leaves_frees_its_row(toys: Toys) -> None:
    async def check(client: httpx.AsyncClient, service: Service) -> None:
        engine = engine_of(service)
        warm = metric(service, "cosylite_tokens_total", model="v2-bundle")
        gone = asyncio.create_task(ask(client, LONG))
        await until(lambda: metric(service, "cosylite_tokens_total", model="v2-bundle") > warm + 5, 20)
        gone.cancel()
        await asyncio.wait([gone])
        await until(lambda: not engine.decoding, 10)
        tokens = metric(service, "cosylite_tokens_total", model="v2-bundle")
        assert tokens < warm + 200, "the segment was drawn to its end"
        await asyncio.sleep(0.1)
        assert metric(service, "cosylite_tokens_total", model="v2-bundle") == tokens
        assert service.admission.running == 0

    serve(check, toys.bundle("v2"), cache_seconds=0.0)


def test_errors_belong_to_their_request(toys: Toys) -> None:
    """One that cannot even begin does not hurt those that share the loop."""
    engine = load_engine(toys.bundle("v2"), Settings(device="cpu"))
    segment = next(engine.segments(TEXT, "auto"))
    good = engine.open(segment, SpeechOptions("", seed=1), whole=True)
    bad = engine.open(segment, SpeechOptions("nobody"), whole=True)
    while not (good.ready and bad.ready):
        engine.advance([good, bad])
    with pytest.raises(Exception, match="unknown voice 'nobody'"):
        bad.step()
    chunk = good.step()
    assert chunk is not None and chunk.is_last and len(chunk.samples)
    assert good.step() is None
    for stream in (good, bad):
        stream.close()


@pytest.mark.timeout(240)
def test_side_by_side_with_nano_aliases_and_unloading(toys: Toys) -> None:
    key = {"Authorization": "Bearer operator-key"}

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        nano = samples(await ask(client, model="nano"))
        family = samples(await ask(client, model="cosy"))
        assert not np.array_equal(nano, family)
        assert_error(await ask(client, model="nano", mode="zero-shot"), 400, "unsupported", "mode")
        answer = await ask(client, model="nano", instructions="be happy")
        assert answer.status_code == 200 and answer.headers["x-instructions"] == "ignored"
        switched = await client.put("/admin/aliases/nano", json={"target": "cosy"}, headers=key)
        assert switched.status_code == 200
        assert np.array_equal(samples(await ask(client, model="nano")), family)
        assert (await client.post("/admin/aliases/nano/rollback", headers=key)).status_code == 200
        assert np.array_equal(samples(await ask(client, model="nano")), nano)
        async with service.lease("cosy"):
            memory = weakref.ref(engine_of(service, 1)._runtime.model.lm.step)
        await until(lambda: service.registry.deployments[1].engine is None, 20)
        gc.collect()
        assert memory() is None, "the sessions are still held by somebody"
        again = await ask(client, model="cosy", seed=1)
        assert close(samples(again), toys.say("v2", TEXT, seed=1))

    changes: dict[str, Any] = {"admin_key": ("operator-key",), "idle_unload_seconds": 3.0}
    serve(check, f"nano={TINY}", f"cosy={toys.bundle('v2')}", **changes)
