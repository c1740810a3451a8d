"""`WS /v1/audio/speech/stream` with the `websockets` client over a socket."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from cosylite.serve.engine import SpeechOptions

from .conftest import Live, until
from .fake import FakeEngine, tone

FIRST, SECOND = "Hello there, my friend.", "How are you today?"
Session = Callable[[ClientConnection], Any]


def pcm(text: str, voice: str = "ann") -> bytes:
    return np.rint(tone(text, SpeechOptions(voice)) * 32767).astype("<i2").tobytes()


async def send(socket: ClientConnection, kind: str, **fields: Any) -> None:
    await socket.send(json.dumps({"type": kind, **fields}))


async def receive(socket: ClientConnection, kind: str, seconds: float = 5.0) -> tuple[list[dict[str, Any]], bytes]:
    """Messages up to and with the first of a kind, and the binary frames between them."""
    messages, audio = [], b""
    async with asyncio.timeout(seconds):
        while True:
            frame = await socket.recv()
            if isinstance(frame, bytes):
                audio += frame
                continue
            messages.append(json.loads(frame))
            if messages[-1]["type"] == kind:
                return messages, audio


def session(server: Live, check: Session, **options: Any) -> None:
    async def go() -> None:
        url = f"ws://127.0.0.1:{server.port}/v1/audio/speech/stream"
        async with connect(url, **options) as socket:
            await check(socket)

    asyncio.run(go())


def test_text_in_pieces_and_many_turns(live: Callable[..., Live]) -> None:
    server = live()

    async def check(socket: ClientConnection) -> None:
        created = json.loads(await socket.recv())
        assert created["type"] == "session.created"
        await send(socket, "session.config", voice="ann", response_format="pcm", timestamps=True)
        configured, _ = await receive(socket, "session.configured")
        assert configured[-1]["sample_rate"] == 24000
        for turn in range(3):
            for word in f"{FIRST} {SECOND}".split():
                await send(socket, "input.text", text=word + " ")
            await send(socket, "input.done")
            messages, audio = await receive(socket, "session.done")
            gap = bytes(2 * 2400)
            assert audio == pcm(FIRST) + gap + pcm(SECOND)
            assert {message["utterance_index"] for message in messages} == {turn}
            assert len({message["utterance_id"] for message in messages}) == 1
            starts = [message for message in messages if message["type"] == "audio.start"]
            assert [(m["sentence_index"], m["sentence_text"]) for m in starts] == [(0, FIRST), (1, SECOND)]
            done = [message for message in messages if message["type"] == "audio.done"]
            assert sum(message["total_bytes"] for message in done) == len(audio)
            told = [word["text"] for m in messages if m["type"] == "audio.words" for word in m["words"]]
            assert told == ["Hello", "there", "my", "friend", "How", "are", "you", "today"]
            assert messages[-1]["total_sentences"] == 2
        await send(socket, "session.close")
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1000

    session(server, check)
    assert server.service.sockets == 0
    assert server.service.active == 0


def test_audio_leaves_before_the_text_ends(live: Callable[..., Live]) -> None:
    async def check(socket: ClientConnection) -> None:
        await send(socket, "input.text", text=FIRST + " And then")
        messages, _ = await receive(socket, "audio.start")
        assert messages[-1]["sentence_text"] == FIRST
        await send(socket, "input.flush")
        await receive(socket, "audio.start")
        await send(socket, "input.text", text=" more.")
        await send(socket, "input.done")
        messages, _ = await receive(socket, "session.done")
        assert messages[-1]["total_sentences"] == 3

    session(live(), check)


def test_cancel_stops_and_the_next_turn_is_clean(live: Callable[..., Live]) -> None:
    engine = FakeEngine(step_seconds=0.02)
    server = live(engine)

    async def check(socket: ClientConnection) -> None:
        await send(socket, "session.config", voice="ann")
        await send(socket, "input.text", text="A very long sentence that goes on " * 50 + ".")
        await send(socket, "input.done")
        await receive(socket, "audio.start")
        await send(socket, "input.cancel")
        messages, _ = await receive(socket, "input.cancelled")
        assert [entry["utterance_index"] for entry in messages[-1]["utterances"]] == [0]
        await until(lambda: engine.open_now == 0, 1)
        steps = engine.steps
        await asyncio.sleep(0.1)
        assert engine.steps == steps
        await send(socket, "input.text", text=FIRST)
        await send(socket, "input.done")
        messages, audio = await receive(socket, "session.done")
        assert messages[-1]["utterance_index"] == 1
        assert audio == pcm(FIRST)

    session(server, check)


def test_base64_audio_carries_ids(live: Callable[..., Live]) -> None:
    async def check(socket: ClientConnection) -> None:
        await send(socket, "session.config", voice="bob", audio="base64", response_format="mp3")
        await send(socket, "input.text", text=FIRST)
        await send(socket, "input.done")
        messages, audio = await receive(socket, "session.done")
        assert audio == b""
        deltas = [message for message in messages if message["type"] == "audio.delta"]
        assert all(message["utterance_index"] == 0 and message["sentence_index"] == 0 for message in deltas)
        data = b"".join(base64.b64decode(message["audio"]) for message in deltas)
        assert data[:1] == b"\xff"

    session(live(), check)


def test_wrong_messages_are_answered_and_survived(live: Callable[..., Live]) -> None:
    async def check(socket: ClientConnection) -> None:
        await socket.recv()
        for bad in ("{", "[]", '{"type": 1}', '{"type": "dance"}', '{"type": "input.text"}'):
            await socket.send(bad)
            messages, _ = await receive(socket, "error")
            assert set(messages[-1]["error"]) == {"message", "type", "param", "code"}
        await socket.send(b"\x00\x01")
        await receive(socket, "error")
        for wrong in ({"voice": "zoe"}, {"speed": 9}, {"response_format": "ogg"}, {"model": "no"}, {"language": "xx"}):
            await send(socket, "session.config", **wrong)
            await receive(socket, "error")
        await send(socket, "input.text", text="x" * 5)
        await send(socket, "session.config", voice="ann")
        messages, _ = await receive(socket, "error")
        assert messages[-1]["error"]["code"] == "turn_open"
        await send(socket, "input.cancel")
        await receive(socket, "input.cancelled")
        await send(socket, "input.text", text="It goes BOOM here.")
        await send(socket, "input.done")
        messages, _ = await receive(socket, "session.done")
        assert [message["type"] for message in messages] == ["error", "session.done"]
        await send(socket, "ping")
        await receive(socket, "pong")
        await send(socket, "input.text", text=FIRST)
        await send(socket, "input.done")
        _, audio = await receive(socket, "session.done")
        assert audio == pcm(FIRST)

    session(live(), check)


def test_leaving_frees_everything(live: Callable[..., Live]) -> None:
    engine = FakeEngine(step_seconds=0.02)
    server = live(engine)

    async def check(socket: ClientConnection) -> None:
        await send(socket, "input.text", text="A very long sentence that goes on " * 50 + ". ")
        await receive(socket, "audio.start")

    for _ in range(3):
        session(server, check)

    async def freed() -> None:
        await until(lambda: engine.open_now == 0 and server.service.sockets == 0 and server.service.active == 0, 2)

    asyncio.run(freed())
    assert server.service.admission.running == 0
    assert all(deployment.leases == 0 for deployment in server.service.registry.deployments)


def test_keys_by_header_query_and_subprotocol(live: Callable[..., Live]) -> None:
    server = live(api_key=("a-secret-key",))
    url = f"ws://127.0.0.1:{server.port}/v1/audio/speech/stream"

    async def opens(address: str, **options: Any) -> bool:
        async with connect(address, **options) as socket:
            return bool(json.loads(await socket.recv())["type"] == "session.created")

    async def go() -> None:
        assert await opens(url, additional_headers={"Authorization": "Bearer a-secret-key"})
        assert await opens(url + "?token=a-secret-key")
        assert await opens(url, subprotocols=["cosylite.key.a-secret-key"])
        assert not await opens(url)
        assert not await opens(url + "?token=wrong")

    asyncio.run(go())


def test_turns_count_against_the_rate_limit(live: Callable[..., Live]) -> None:
    async def check(socket: ClientConnection) -> None:
        for _ in range(2):
            await send(socket, "input.text", text=FIRST)
            await send(socket, "input.done")
            await receive(socket, "session.done")
        await send(socket, "input.text", text=FIRST)
        messages, _ = await receive(socket, "error")
        assert messages[-1]["error"]["code"] == "rate_limit_exceeded"

    session(live(rate_limit=8), check)


def test_idle_sessions_are_closed_and_sessions_are_limited(live: Callable[..., Live]) -> None:
    server = live(idle_seconds=1.0, max_sockets=1)
    url = f"ws://127.0.0.1:{server.port}/v1/audio/speech/stream"

    async def go() -> None:
        async with connect(url) as first:
            assert json.loads(await first.recv())["type"] == "session.created"
            async with connect(url) as second:
                assert json.loads(await second.recv())["error"]["code"] == "too_many_sessions"
            async with asyncio.timeout(3):
                with pytest.raises(ConnectionClosed):
                    await first.recv()

    asyncio.run(go())
