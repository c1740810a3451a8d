"""The Wyoming port with the `wyoming` client package."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from cosylite.serve.engine import SpeechOptions
from cosylite.serve.wyoming import TAIL_SECONDS, WyomingServer

from .conftest import running, until
from .fake import FakeEngine, tone

FIRST, SECOND = "Hello there, my friend.", "How are you today?"
TAIL = bytes(2 * round(TAIL_SECONDS * 24000))


def pcm(text: str, voice: str = "ann") -> bytes:
    return np.rint(tone(text, SpeechOptions(voice)) * 32767).astype("<i2").tobytes()


def with_client(check: Callable[[AsyncTcpClient, Any], Awaitable[None]], engine: FakeEngine | None = None) -> None:
    async def go() -> None:
        used = engine or FakeEngine()
        async with running(used) as (_, service, _app), WyomingServer(service, "127.0.0.1", 0) as server:
            async with AsyncTcpClient("127.0.0.1", server.port) as client, asyncio.timeout(10):
                await check(client, service)
            await until(lambda: service.active == 0 and used.open_now == 0)
            assert service.admission.running == 0
            assert all(deployment.leases == 0 for deployment in service.registry.deployments)

    asyncio.run(go())


async def hear(client: AsyncTcpClient, until_stopped: bool = False) -> bytes:
    """The audio of one answer."""
    audio, started = b"", False
    while True:
        event = await client.read_event()
        assert event is not None
        if AudioStart.is_type(event.type):
            start = AudioStart.from_event(event)
            assert (start.rate, start.width, start.channels) == (24000, 2, 1)
            started = True
        elif AudioChunk.is_type(event.type):
            assert started
            audio += AudioChunk.from_event(event).audio
        elif (AudioStop if not until_stopped else SynthesizeStopped).is_type(event.type):
            return audio


def test_describe_lists_installed_voices() -> None:
    async def check(client: AsyncTcpClient, service: Any) -> None:
        await client.write_event(Describe().event())
        event = await client.read_event()
        assert event is not None and Info.is_type(event.type)
        program = Info.from_event(event).tts[0]
        assert program.installed and program.supports_synthesize_streaming
        assert [voice.name for voice in program.voices] == ["ann", "bob", "chen"]
        assert all(voice.installed and voice.languages and voice.version for voice in program.voices)

    with_client(check)


def test_synthesize() -> None:
    async def check(client: AsyncTcpClient, service: Any) -> None:
        await client.write_event(Synthesize(FIRST, SynthesizeVoice("bob")).event())
        assert await hear(client) == pcm(FIRST, "bob") + TAIL
        await client.write_event(Synthesize(FIRST, SynthesizeVoice(language="en-US")).event())
        assert await hear(client) == pcm(FIRST) + TAIL

    with_client(check)


def test_streamed_text_is_spoken_once() -> None:
    async def check(client: AsyncTcpClient, service: Any) -> None:
        for _ in range(2):
            await client.write_event(SynthesizeStart(SynthesizeVoice("ann")).event())
            for word in f"{FIRST} {SECOND}".split():
                await client.write_event(SynthesizeChunk(word + " ").event())
            await client.write_event(Synthesize(f"{FIRST} {SECOND}", SynthesizeVoice("ann")).event())
            await client.write_event(SynthesizeStop().event())
            gap = bytes(2 * 2400)
            assert await hear(client, until_stopped=True) == pcm(FIRST) + gap + pcm(SECOND) + TAIL

    with_client(check)


def test_streaming_speaks_before_the_text_ends() -> None:
    async def check(client: AsyncTcpClient, service: Any) -> None:
        await client.write_event(SynthesizeStart(SynthesizeVoice("ann")).event())
        await client.write_event(SynthesizeChunk(FIRST + " And").event())
        event = await client.read_event()
        assert event is not None and AudioStart.is_type(event.type)
        await client.write_event(SynthesizeStop().event())
        await hear_rest(client)

    async def hear_rest(client: AsyncTcpClient) -> None:
        while (event := await client.read_event()) is not None:
            if SynthesizeStopped.is_type(event.type):
                return

    with_client(check)


def test_errors_are_events_and_the_connection_survives() -> None:
    async def check(client: AsyncTcpClient, service: Any) -> None:
        for wrong in (Synthesize(FIRST, SynthesizeVoice("zoe")), Synthesize(" "), Synthesize("It goes BOOM.")):
            await client.write_event(wrong.event())
            event = await client.read_event()
            assert event is not None and Error.is_type(event.type)
        await client.write_event(SynthesizeStart().event())
        await client.write_event(SynthesizeChunk("It goes BOOM.").event())
        await client.write_event(SynthesizeStop().event())
        kinds = [(await client.read_event()).type, (await client.read_event()).type]  # type: ignore[union-attr]
        assert sorted(kinds) == ["error", "synthesize-stopped"]
        await client.write_event(Synthesize(FIRST).event())
        assert await hear(client) == pcm(FIRST) + TAIL

    with_client(check)


def test_garbage_and_broken_pipes_hurt_nobody() -> None:
    async def check(client: AsyncTcpClient, service: Any) -> None:
        engine: FakeEngine = service.registry.deployments[0].ready
        engine.step_seconds = 0.02
        port = client.port
        garbage = (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 70000 + b"\n", b'{"type":"synthesize","data_length":-1}\n',
                   b'{"type":"ping","payload_length":99999999999}\n', b"[]\n", b'{"data":{}}\n')  # fmt: skip
        for junk in garbage:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(junk)
            writer.close()
        for _ in range(5):
            leaver = AsyncTcpClient("127.0.0.1", port)
            await leaver.connect()
            await leaver.write_event(Synthesize("A long sentence that goes on. " * 40).event())
            await leaver.read_event()
            await leaver.disconnect()
        await client.write_event(Synthesize(FIRST).event())
        assert await hear(client) == pcm(FIRST) + TAIL

    with_client(check)
