"""`WS /v1/audio/speech/stream`: text arrives in pieces, audio leaves as soon as a clause is complete.

The message names are those of vLLM-Omni's route; docs/websocket.md describes the protocol.
"""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import ConfigDict, ValidationError

from cosylite.errors import CosyliteError, InputError
from cosylite.serve.auth import SUBPROTOCOL_PREFIX, Gate
from cosylite.serve.encoding import check_format, open_encoding
from cosylite.serve.engine import SpeechOptions
from cosylite.serve.errors import ServeError, body_of
from cosylite.serve.orders import make_options
from cosylite.serve.registry import Deployment
from cosylite.serve.schemas import Format, SpeechDefaults
from cosylite.serve.service import Service
from cosylite.serve.speech import Order
from cosylite.serve.turns import Turn
from cosylite.serve.utterance import Message, UtteranceIds, UtteranceWriter

router = APIRouter()
GOING_AWAY, TRY_LATER, POLICY = 1001, 1013, 1008
MAX_TURNS_WAITING = 8


class SessionConfig(SpeechDefaults):
    """The fields of `session.config`."""

    model_config = ConfigDict(extra="ignore")

    response_format: Format = "pcm"
    timestamps: bool = False
    audio: Literal["binary", "base64"] = "binary"


@router.websocket("/v1/audio/speech/stream")
async def stream(socket: WebSocket) -> None:
    """One session: many turns."""
    service: Service = socket.app.state.service
    gate: Gate = socket.app.state.gate
    try:
        caller = gate.identify(socket)
        if service.admission.draining or not service.warm:
            raise ServeError("the server is not ready", status=503, code="not_ready")
        if service.sockets >= service.settings.max_sockets:
            raise ServeError("too many sessions are open", status=503, code="too_many_sessions")
    except CosyliteError as error:
        await socket.accept(_subprotocol(socket))
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await socket.send_json({"type": "error", "message": str(error), **body_of(error)})
            await socket.close(TRY_LATER if isinstance(error, ServeError) and error.status == 503 else POLICY)
        return
    service.sockets += 1
    try:
        await socket.accept(_subprotocol(socket))
        await _Session(socket, service, partial(gate.count, caller)).run()
    finally:
        service.sockets -= 1


def _subprotocol(socket: WebSocket) -> str | None:
    offered: list[str] = socket.scope.get("subprotocols", [])
    return next((name for name in offered if name.startswith(SUBPROTOCOL_PREFIX)), None)


class _Session:
    """One socket. The reader handles messages; each turn has a task that speaks, one after the other."""

    def __init__(self, socket: WebSocket, service: Service, count: Callable[[], None]) -> None:
        self._socket = socket
        self._count = count
        self._service = service
        self._config = SessionConfig()
        self._id = "session_" + secrets.token_hex(8)
        self._turn: Turn | None = None
        self._speaking: dict[asyncio.Task[None], UtteranceIds] = {}
        self._turns = 0
        self._sending = asyncio.Lock()

    async def run(self) -> None:
        """Serve the socket until either side closes it."""
        with contextlib.suppress(WebSocketDisconnect):
            try:
                await self._send({"type": "session.created", "session_id": self._id})
                code = await self._read()
                await self._socket.close(code)
            except (TimeoutError, RuntimeError, OSError):  # stalled, or closed under our hands
                self._service.metrics.disconnects.inc()
            finally:
                await self._cancel()

    async def _read(self) -> int:
        """Handle messages; returns the code with which to close."""
        while True:
            try:
                async with asyncio.timeout(self._service.settings.idle_seconds):
                    message = await self._receive()
            except TimeoutError:
                if self._speaking:
                    continue
                return GOING_AWAY
            except InputError as error:
                await self._fail(error)
                continue
            if message["type"] == "session.close":
                await self._finish()
                return 1000
            try:
                await self._handle(message)
            except CosyliteError as error:
                await self._fail(error)

    async def _receive(self) -> dict[str, Any]:
        text = await self._socket.receive()
        if text["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(text.get("code", 1000))
        try:
            message = json.loads(text.get("text") or "")
        except ValueError as error:
            raise InputError("messages must be JSON texts", code="invalid_json") from error
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            raise InputError("messages must be objects with a type", code="invalid_message", param="type")
        return message

    async def _handle(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "session.config":
            await self._configure(message)
        elif kind == "input.text":
            await self._text(message)
        elif kind == "input.flush":
            if self._turn is not None:
                await self._turn.flush()
        elif kind == "input.done":
            await self._done()
        elif kind == "input.cancel":
            cancelled = await self._cancel()
            ids = [entry.fields() for entry in cancelled]
            await self._send({"type": "input.cancelled", "session_id": self._id, "utterances": ids})
        elif kind == "ping":
            await self._send({"type": "pong", "session_id": self._id})
        else:
            raise InputError(
                f"unknown message type {kind[:40]!r}; known are session.config, input.text, input.flush, input.done, "
                "input.cancel, session.close, ping",
                code="invalid_message",
                param="type",
            )

    async def _configure(self, message: dict[str, Any]) -> None:
        if self._turn is not None:
            raise InputError(
                "text is buffered: send input.done or input.cancel before session.config",
                code="turn_open",
                param="type",
            )
        fields = {**message.get("session", {}), **message} if isinstance(message.get("session"), dict) else message
        try:
            config = SessionConfig.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(
                f"session.config: {first['msg']}",
                code="invalid_field",
                param=".".join(str(part) for part in first["loc"]),
            ) from error
        check_format(config.response_format, config.sample_rate)
        self._service.registry.resolve(config.model)
        async with self._service.lease(config.model) as deployment:
            _options(self._service, deployment, config)
            rate = config.sample_rate or deployment.ready.sample_rate
        self._config = config
        await self._send(
            {
                "type": "session.configured",
                "session_id": self._id,
                "sample_rate": rate,
                "format": config.response_format,
            }
        )

    async def _text(self, message: dict[str, Any]) -> None:
        text = message.get("text")
        if not isinstance(text, str):
            raise InputError("input.text needs text", code="invalid_message", param="text")
        if self._turn is None:
            await self._open_turn()
        if self._turn is not None:
            await self._turn.push(text)

    async def _done(self) -> None:
        if self._turn is None:
            await self._open_turn()
        turn, self._turn = self._turn, None
        if turn is not None:
            await turn.end()

    async def _open_turn(self) -> None:
        if len(self._speaking) >= MAX_TURNS_WAITING:
            raise InputError("too many turns wait to be spoken", code="too_many_turns", param="type")
        self._count()
        ids = UtteranceIds(utterance_id="utt_" + secrets.token_hex(8), utterance_index=self._turns)
        deployment = await self._service.registry.acquire(self._config.model)
        try:
            options = _options(self._service, deployment, self._config)
            self._turn = Turn(deployment, options.lang, self._service.settings.max_characters)
            order = self._turn.order(
                options, self._service.registry.resolve(self._config.model), "socket", self._config.response_format
            )
        except BaseException:
            self._service.registry.release(deployment)
            raise
        self._turns += 1
        work = self._speak(ids, deployment, order, self._turn, list(self._speaking), self._config)
        task = asyncio.create_task(work)
        self._speaking[task] = ids

        def ended(task: asyncio.Task[None]) -> None:
            self._service.registry.release(deployment)
            del self._speaking[task]

        task.add_done_callback(ended)

    async def _speak(
        self,
        ids: UtteranceIds,
        deployment: Deployment,
        order: Order,
        turn: Turn,
        before: list[asyncio.Task[None]],
        config: SessionConfig,
    ) -> None:
        """Speak one turn after those before it."""
        try:
            if before:
                await asyncio.wait(before)
            async with self._service.speak(deployment, order) as talk:
                rate = config.sample_rate or talk.sample_rate
                encoding = open_encoding(config.response_format, talk.sample_rate, rate)
                writer = UtteranceWriter(
                    self._send_all,
                    ids,
                    encoding,
                    rate,
                    config.response_format,
                    config.audio == "base64",
                    config.timestamps,
                )
                async for spoken in talk:
                    await writer.say(spoken)
                await writer.end()
        except CosyliteError as error:
            await self._break(turn, ids, error)
        except (TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
            self._service.metrics.stalls.inc()
            with contextlib.suppress(RuntimeError):
                await self._socket.close(GOING_AWAY)

    async def _break(self, turn: Turn, ids: UtteranceIds, error: CosyliteError) -> None:
        if self._turn is turn:
            self._turn = None
        with contextlib.suppress(TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
            await self._fail(error, ids)
            await self._send({"type": "session.done", **ids.fields(), "total_sentences": 0, "error": True})

    async def _finish(self) -> None:
        """Let the turns that are under way end."""
        if self._turn is not None:
            await self._done()
        if self._speaking:
            await asyncio.wait(list(self._speaking))

    async def _cancel(self) -> list[UtteranceIds]:
        self._turn = None
        speaking = dict(self._speaking)
        for task in speaking:
            task.cancel()
        if speaking:
            await asyncio.wait(list(speaking))
        return list(speaking.values())

    async def _fail(self, error: CosyliteError, ids: UtteranceIds | None = None) -> None:
        known = ids.fields() if ids else {"session_id": self._id}
        await self._send({"type": "error", "message": str(error), **body_of(error), **known})

    async def _send(self, message: dict[str, Any]) -> None:
        await self._send_all([message])

    async def _send_all(self, messages: list[Message]) -> None:
        """Send messages together, none of another turn between them; TimeoutError where the client takes nothing."""
        async with self._sending:
            for message in messages:
                async with asyncio.timeout(self._service.settings.stall_seconds):
                    if isinstance(message, bytes):
                        await self._socket.send_bytes(message)
                    else:
                        await self._socket.send_text(json.dumps(message, ensure_ascii=False))


def _options(service: Service, deployment: Deployment, config: SessionConfig) -> SpeechOptions:
    return make_options(
        service,
        deployment,
        voice=config.voice,
        language=config.language,
        speed=config.speed,
        seed=config.seed,
        instructions=config.instructions,
        mode=config.mode,
        ref_audio=config.ref_audio,
        ref_text=config.ref_text,
    )
