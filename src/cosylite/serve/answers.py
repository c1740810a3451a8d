"""Answers that carry audio: a stream of bytes, server-sent events, or a whole file.

The first audio exists before an answer begins, so every refusal has its proper status. After that, a failure aborts
the connection (raw audio) or is an event (SSE); a stream that ends cleanly is complete. A client that leaves ends the
synthesis, one that takes nothing for too long is disconnected.
"""

import asyncio
import base64
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cosylite.audio.values import SentenceTiming, WordTiming
from cosylite.errors import CosyliteError
from cosylite.serve.encoding import Encoding, encode, open_encoding
from cosylite.serve.errors import body_of
from cosylite.serve.metrics import Metrics
from cosylite.serve.speech import Speech

LOG = logging.getLogger(__name__)
STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class ClientGone(Exception):
    """The client left while a whole file was being made."""


class StreamedAnswer(Response):
    """Sends parts as they come, watching the client.

    Args:
        parts: the body; closed at the end.
        resources: closed after the last part, whatever happened.
        stall_seconds: longest wait for the client to take a part.
    """

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        resources: contextlib.AsyncExitStack,
        metrics: Metrics,
        stall_seconds: float,
        headers: Mapping[str, str],
    ) -> None:
        self._parts = parts
        self._resources = resources
        self._metrics = metrics
        self._stall = stall_seconds
        self.status_code = 200
        self.background = None
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._resources:
            sending = asyncio.create_task(self._send(send))
            leaving = asyncio.create_task(_disconnect(receive))
            try:
                await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
                if not sending.done():
                    self._metrics.disconnects.inc()
            finally:
                for task in (sending, leaving):
                    task.cancel()
                await asyncio.wait((sending, leaving))
        if not sending.cancelled() and (error := sending.exception()) is not None:
            self._report(error)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for part in self._parts:
            if part:
                await self._pass(send, part, more=True)
        await self._pass(send, b"", more=False)

    async def _pass(self, send: Send, part: bytes, more: bool) -> None:
        async with asyncio.timeout(self._stall):
            await send({"type": "http.response.body", "body": part, "more_body": more})

    def _report(self, error: BaseException) -> None:
        """The body was not finished, so the server closes the connection without the final chunk."""
        if isinstance(error, TimeoutError):
            self._metrics.stalls.inc()
            LOG.warning("gave up a reader that took nothing for %g seconds", self._stall)
        elif isinstance(error, OSError):
            self._metrics.disconnects.inc()
        else:
            LOG.error("an answer broke off: %s", error, exc_info=None if isinstance(error, CosyliteError) else error)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def raw_parts(speech: Speech, encoding: Encoding) -> AsyncIterator[bytes]:
    """Encoded audio, part by part."""
    async for spoken in speech:
        yield await encode(encoding, spoken.pcm)
    yield encoding.close()


async def sse_parts(speech: Speech, encoding: Encoding, characters: int, timestamps: bool) -> AsyncIterator[bytes]:
    """Server-sent events in OpenAI's form; a failure is the event `speech.audio.error`."""
    try:
        async for spoken in speech:
            if timestamps and spoken.begins:
                sentence = {"text": spoken.segment.text, "start": round(spoken.start, 3)}
                yield _event({"type": "speech.audio.sentence", **sentence})
            if timestamps and spoken.words:
                yield _event({"type": "speech.audio.words", "words": word_list(spoken.words)})
            data = await encode(encoding, spoken.pcm)
            if data:
                yield _delta(data)
        data = encoding.close()
        if data:
            yield _delta(data)
    except CosyliteError as error:
        LOG.error("an answer broke off: %s", error)
        yield _event({"type": "speech.audio.error", **body_of(error)})
        return
    tokens = {"input_tokens": characters, "output_tokens": round(speech.audio_seconds * 50)}
    usage = {**tokens, "total_tokens": sum(tokens.values())}
    yield _event({"type": "speech.audio.done", "usage": usage})


def word_list(words: Sequence[WordTiming | SentenceTiming]) -> list[dict[str, object]]:
    """Times of words or sentences as JSON values."""
    return [{"text": word.text, "start": round(word.start, 3), "end": round(word.end, 3)} for word in words]


def _delta(data: bytes) -> bytes:
    return _event({"type": "speech.audio.delta", "audio": base64.b64encode(data).decode()})


def _event(value: Mapping[str, object]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


@dataclass
class WholeFile:
    """A complete file with exact lengths, the rate of its audio, and when words and sentences are heard."""

    data: bytes
    sample_rate: int
    words: list[WordTiming]
    sentences: list[SentenceTiming]

    def times(self) -> dict[str, list[dict[str, object]]]:
        """As fields of an answer. Models that do not know words have sentences only."""
        return {"words": word_list(self.words), "sentences": word_list(self.sentences)}


async def whole_file(speech: Speech, format: str, sample_rate: int | None) -> WholeFile:
    """Speak to the end."""
    rate = sample_rate or speech.sample_rate
    encoding = open_encoding(format, speech.sample_rate, rate, whole=True)
    made = WholeFile(b"", rate, [], [])
    parts, begun = [], -1
    async for spoken in speech:
        made.words += spoken.words
        parts.append(spoken.pcm)
        if spoken.begins:
            begun = spoken.segment_index
            made.sentences.append(SentenceTiming(spoken.segment.text, spoken.start, spoken.start))
        if spoken.segment_index == begun:
            end = spoken.start + len(spoken.pcm) / spoken.sample_rate
            made.sentences[-1] = replace(made.sentences[-1], end=end)
    made.data = await asyncio.to_thread(encoding.encode_all, parts)
    return made


@contextlib.asynccontextmanager
async def watch_client(request: Request) -> AsyncIterator[None]:
    """Cancel the block when the client leaves.

    Raises:
        ClientGone: instead of the cancellation.
    """
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("watch_client needs a task")
    gone = False

    async def watch() -> None:
        nonlocal gone
        await _disconnect(request.receive)
        gone = True
        task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if gone and task.uncancel() == 0:
            raise ClientGone from None
        raise
    finally:
        watcher.cancel()
        await asyncio.wait((watcher,))
