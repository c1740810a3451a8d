"""The Wyoming protocol over TCP, for Home Assistant: `describe`, `synthesize`, and text that is streamed in.

An event is a line of JSON (`type`, `data`, `data_length`, `payload_length`), then `data_length` bytes of further JSON
data, then `payload_length` bytes of payload. The protocol has no keys: listen where only trusted hosts reach.
"""

import asyncio
import json
import logging
from typing import Any

import numpy as np

from cosylite import __version__
from cosylite.errors import CosyliteError, InputError
from cosylite.serve.connections import limit_unsent
from cosylite.serve.errors import ServeError
from cosylite.serve.logs import request_id
from cosylite.serve.orders import make_options, make_order
from cosylite.serve.registry import Deployment
from cosylite.serve.service import Service
from cosylite.serve.speech import Order
from cosylite.serve.turns import Turn
from cosylite.serve.voices import listing

LOG = logging.getLogger(__name__)
LINE_LIMIT = 64 << 10
TAIL_SECONDS = 0.2
"""Silence after the last sample: some speakers swallow the end of what they play."""
ATTRIBUTION = {"name": "cosylite", "url": ""}


class WyomingServer:
    """The listener; an async context manager.

    Args:
        service: what speaks.
        host, port: where to listen; port 0 lets the system choose, see `port`.
    """

    def __init__(self, service: Service, host: str, port: int) -> None:
        self._service = service
        self._host = host
        self.port = port
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "WyomingServer":
        self._server = await asyncio.start_server(self._connected, self._host, self.port, limit=LINE_LIMIT)
        for listener in self._server.sockets:
            limit_unsent(listener)
        self.port = self._server.sockets[0].getsockname()[1]
        if self._service.settings.api_key:
            LOG.warning("the Wyoming port %s:%d does not ask for the API key", self._host, self.port)
        LOG.info("Wyoming on tcp://%s:%d", self._host, self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._open) >= self._service.settings.max_sockets:
            writer.close()
            return
        self._open.add(task)
        request_id.set(f"wyoming_{id(task):x}")
        try:
            await _Connection(self._service, reader, writer).run()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self._service.metrics.disconnects.inc()
            writer.transport.abort()  # a polite close would wait for a client that does not read
        except asyncio.CancelledError:
            LOG.debug("closed a Wyoming connection while shutting down")
            writer.transport.abort()
        finally:
            await self._close(writer)
            self._open.discard(task)

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        """Close after the client took what is left, or without that when it does not."""
        writer.close()
        try:
            async with asyncio.timeout(self._service.settings.stall_seconds):
                await writer.wait_closed()
        except OSError:  # left before the end, or took nothing in time
            self._service.metrics.disconnects.inc()
        finally:
            writer.transport.abort()


class _Connection:
    """One client. Events are handled in order; text that is streamed in is spoken by a task of its own."""

    def __init__(self, service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._service = service
        self._reader = reader
        self._writer = writer
        self._turn: Turn | None = None
        self._speaking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve until the client leaves or breaks the protocol."""
        try:
            while (event := await self._read()) is not None:
                try:
                    await self._handle(event["type"], event["data"])
                except CosyliteError as error:
                    await self._fail(error)
        except InputError as error:
            await self._fail(error)
        finally:
            if self._speaking is not None:
                self._speaking.cancel()
                await asyncio.wait([self._speaking])

    async def _read(self) -> dict[str, Any] | None:
        try:
            async with asyncio.timeout(self._service.settings.idle_seconds):
                line = await self._reader.readline()
                if not line:
                    return None
                header = _object(line)
                given = header.get("data")
                data: dict[str, Any] = given if isinstance(given, dict) else {}
                more = await self._reader.readexactly(self._length(header, "data_length"))
                if more:
                    data = {**data, **_object(more)}
                await self._reader.readexactly(self._length(header, "payload_length"))
        except ValueError as error:  # a line beyond the limit
            raise InputError("the event line is too long", code="invalid_event") from error
        if not isinstance(header.get("type"), str):
            raise InputError("the event has no type", code="invalid_event")
        return {"type": header["type"], "data": data}

    def _length(self, header: dict[str, Any], name: str) -> int:
        length = header.get(name) or 0
        if not isinstance(length, int) or not 0 <= length <= self._service.settings.max_body_bytes:
            raise InputError(f"{name} is not acceptable", code="invalid_event", param=name)
        return length

    async def _handle(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "describe":
            await self._describe()
        elif kind == "ping":
            await self._write("pong", {"text": data.get("text")} if data.get("text") else {})
        elif kind == "synthesize" and self._turn is None:
            await self._synthesize(data)
        elif kind == "synthesize-start":
            await self._start(data)
        elif kind == "synthesize-chunk" and self._turn is not None:
            await self._turn.push(_text(data))
        elif kind == "synthesize-stop" and self._turn is not None:
            await self._stop()

    async def _describe(self) -> None:
        programs = []
        for alias in self._service.registry.aliases:
            async with self._service.lease(alias) as deployment:
                programs.append(_program(alias, deployment, self._service))
        await self._write("info", {"tts": programs})

    async def _synthesize(self, data: dict[str, Any]) -> None:
        async with self._service.lease(None) as deployment:
            voice, language = _voice(data)
            options = make_options(self._service, deployment, voice=voice, language=language, speed=1.0, seed=0)
            order = make_order(
                self._service,
                deployment,
                _text(data),
                options,
                model=None,
                endpoint="wyoming",
                format="pcm",
                whole=False,
                store=True,
                param="text",
            )
            await self._speak(deployment, order)

    async def _start(self, data: dict[str, Any]) -> None:
        if self._turn is not None or self._speaking is not None:
            raise InputError("a stream is open: send synthesize-stop first", code="stream_open")
        deployment = await self._service.registry.acquire(None)
        try:
            voice, language = _voice(data)
            options = make_options(self._service, deployment, voice=voice, language=language, speed=1.0, seed=0)
            self._turn = Turn(deployment, options.lang, self._service.settings.max_characters)
            order = self._turn.order(options, self._service.registry.default, "wyoming", "pcm")
        except BaseException:
            self._service.registry.release(deployment)
            raise
        self._speaking = asyncio.create_task(self._speak(deployment, order))
        self._speaking.add_done_callback(lambda task: self._service.registry.release(deployment))

    async def _stop(self) -> None:
        turn, speaking = self._turn, self._speaking
        self._turn = self._speaking = None
        if turn is None or speaking is None:
            return
        try:
            await turn.end()
            await speaking
        finally:
            speaking.cancel()
            await asyncio.wait([speaking])
            await self._write("synthesize-stopped", {})

    async def _speak(self, deployment: Deployment, order: Order) -> None:
        shape = {"rate": deployment.ready.sample_rate, "width": 2, "channels": 1}
        async with self._service.speak(deployment, order) as talk:
            position = 0
            async for spoken in talk:
                if position == 0:
                    await self._write("audio-start", {**shape, "timestamp": 0})
                at = round(1000 * position / spoken.sample_rate)
                await self._write("audio-chunk", {**shape, "timestamp": at}, spoken.pcm.astype("<i2").tobytes())
                position += len(spoken.pcm)
            if position == 0:
                await self._write("audio-start", {**shape, "timestamp": 0})
            tail = np.zeros(round(TAIL_SECONDS * shape["rate"]), "<i2").tobytes()
            at = round(1000 * position / shape["rate"])
            await self._write("audio-chunk", {**shape, "timestamp": at}, tail)
            await self._write("audio-stop", {"timestamp": at + round(1000 * TAIL_SECONDS)})

    async def _fail(self, error: CosyliteError) -> None:
        if isinstance(error, ServeError) and error.status >= 500:
            LOG.warning("%s", error)
        await self._write("error", {"text": str(error), "code": error.code})

    async def _write(self, kind: str, data: dict[str, Any], payload: bytes = b"") -> None:
        body = json.dumps(data, ensure_ascii=False).encode() if data else b""
        header = {"type": kind, "version": __version__}
        lengths = {"data_length": len(body), "payload_length": len(payload)}
        header_line = json.dumps({**header, **{name: size for name, size in lengths.items() if size}})
        self._writer.write(header_line.encode() + b"\n" + body + payload)
        async with asyncio.timeout(self._service.settings.stall_seconds):
            await self._writer.drain()


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise InputError("events must be JSON objects", code="invalid_event") from error
    if not isinstance(value, dict):
        raise InputError("events must be JSON objects", code="invalid_event")
    return value


def _text(data: dict[str, Any]) -> str:
    text = data.get("text")
    if not isinstance(text, str):
        raise InputError("the event has no text", code="invalid_event", param="text")
    return text


def _voice(data: dict[str, Any]) -> tuple[str | None, str | None]:
    """Name and language of an event's voice. A language only decides how ambiguous text is read."""
    voice = data.get("voice")
    if not isinstance(voice, dict):
        return None, None
    name, language = voice.get("name"), voice.get("language")
    return (name if isinstance(name, str) else None), (language if isinstance(language, str) else None)


def _program(alias: str, deployment: Deployment, service: Service) -> dict[str, Any]:
    engine = deployment.ready
    shared = {"attribution": ATTRIBUTION, "installed": True, "version": engine.revision}
    voices = [
        {
            "name": voice.id,
            "description": voice.name,
            "languages": list(voice.languages or engine.languages),
            "speakers": None,
            **shared,
        }
        for voice in listing(engine, service.voices)
    ]
    return {
        "name": alias,
        "description": f"cosylite {alias}",
        "voices": voices,
        "supports_synthesize_streaming": True,
        **shared,
    }
