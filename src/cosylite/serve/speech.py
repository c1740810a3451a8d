"""One request being spoken: place, lease, segments, takes, and a bounded buffer between synthesis and the reader.

`async with service.speak(order) as speech` returns once the first audio exists (so every refusal comes before the
first byte of an answer); iterating gives the rest. Leaving the block, for whatever reason, frees everything.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, replace
from types import TracebackType

import numpy as np

from cosylite.audio.values import WordTiming
from cosylite.errors import CosyliteError, InputError
from cosylite.serve.admission import Admission
from cosylite.serve.clip import Pcm, Piece
from cosylite.serve.engine import Engine, Segment, SpeechOptions
from cosylite.serve.errors import ServeError
from cosylite.serve.metrics import Metrics
from cosylite.serve.registry import Deployment
from cosylite.serve.settings import Settings
from cosylite.serve.takes import TakeShop, Timing

LOG = logging.getLogger(__name__)
WHOLE_SLACK_SECONDS = 0.25
"""Requests that nobody listens to yet give way to first chunks of others by so much."""


@dataclass(frozen=True)
class Order:
    """What a caller wants spoken, validated. `segments` replaces `text` where text arrives in pieces.

    `text_field` is the caller's name of the field that holds the text, for errors.
    """

    text: str
    options: SpeechOptions
    model: str
    endpoint: str
    format: str = "pcm"
    whole: bool = False
    store: bool = True
    segments: AsyncIterator[Segment] | None = None
    text_field: str = "text"


@dataclass(frozen=True)
class Spoken:
    """Audio of a request: all times are seconds from the start of the request.

    `begins`: it is the first of its segment, apart from the silence before that.
    """

    pcm: Pcm
    sample_rate: int
    segment: Segment
    segment_index: int
    words: tuple[WordTiming, ...] = ()
    start: float = 0.0
    begins: bool = False


class _Buffer:
    """Audio between synthesis and reader, bounded in seconds; the end or an error travels through it too."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._items: deque[Spoken | BaseException | None] = deque()
        self._seconds = 0.0
        self._changed = asyncio.Event()

    @property
    def full(self) -> bool:
        return self._seconds >= self._limit

    async def room(self) -> None:
        """Wait until it is not full."""
        while self.full:
            self._changed.clear()
            await self._changed.wait()

    def put(self, item: Spoken | BaseException | None) -> None:
        self._items.append(item)
        if isinstance(item, Spoken):
            self._seconds += len(item.pcm) / item.sample_rate
        self._changed.set()

    async def get(self) -> Spoken | BaseException | None:
        while not self._items:
            self._changed.clear()
            await self._changed.wait()
        item = self._items.popleft()
        if isinstance(item, Spoken):
            self._seconds -= len(item.pcm) / item.sample_rate
        self._changed.set()
        return item


@dataclass(frozen=True)
class SpeechParts:
    """What a speech uses of the service."""

    settings: Settings
    admission: Admission
    shop: TakeShop
    metrics: Metrics
    frontend: "FrontendPool"


class FrontendPool:
    """Runs the text side of engines off the loop and remembers the segments of short recent texts."""

    def __init__(self, size: int = 512, longest: int = 2000) -> None:
        self._plans: dict[tuple[str, str, str], list[Segment]] = {}
        self._size = size
        self._longest = longest

    async def segments(self, deployment: Deployment, text: str, lang: str) -> AsyncGenerator[Segment]:
        """Segments of a whole text, in order, each as soon as it is known."""
        engine = deployment.ready
        key = (f"{engine.name}@{engine.revision}", lang, text)
        known = self._plans.pop(key, None)
        if known is not None:
            self._plans[key] = known
            for segment in known:
                yield segment
            return
        found: list[Segment] = []
        source, following = await asyncio.to_thread(_begin, engine, text, lang)
        while following is not None:
            found.append(following)
            yield following
            following = await asyncio.to_thread(_next, source)
        if not found:
            raise InputError("the text has nothing that can be spoken", code="empty_input", param="text")
        if len(text) <= self._longest:
            self._plans[key] = found
            while len(self._plans) > self._size:
                del self._plans[next(iter(self._plans))]


def _begin(engine: Engine, text: str, lang: str) -> tuple[Iterator[Segment], Segment | None]:
    source = iter(engine.segments(text, lang))
    return source, _next(source)


def _next(source: Iterator[Segment]) -> Segment | None:
    for segment in source:
        return segment
    return None


class Speech:
    """An order being carried out; an async context manager and an async iterator of `Spoken`.

    `deployment` is leased by the caller and given back by `__aexit__` of the service's wrapper.
    """

    def __init__(self, parts: SpeechParts, deployment: Deployment, order: Order, started: float) -> None:
        self._parts = parts
        self._deployment = deployment
        self._order = order
        self._started = started
        self._entered = 0.0
        self._buffer = _Buffer(parts.settings.ahead_seconds)
        self._first: Spoken | None = None
        self._ended = False
        self._task: asyncio.Task[None] | None = None
        self._outcome = "cancelled"
        self.first_audio_seconds = 0.0
        self.audio_seconds = 0.0
        self.from_cache = True

    @property
    def sample_rate(self) -> int:
        """Rate of the audio in hertz."""
        return self._deployment.ready.sample_rate

    async def __aenter__(self) -> "Speech":
        parts = self._parts
        try:
            await parts.admission.enter()
        except CosyliteError:
            self._outcome = "rejected"
            self._count()
            raise
        self._entered = time.monotonic()
        parts.metrics.queue_seconds.labels(self._order.model).observe(self._entered - self._started)
        self._task = asyncio.create_task(self._drive())
        self._task.add_done_callback(self._driven)
        try:
            await self._await_first()
        except BaseException as error:
            await self._stop(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop(error)

    def __aiter__(self) -> "Speech":
        return self

    async def __anext__(self) -> Spoken:
        if self._first is not None:
            spoken, self._first = self._first, None
            return spoken
        item = None if self._ended else await self._buffer.get()
        if item is None:
            self._ended = True
            self._outcome = "ok"
            raise StopAsyncIteration
        if isinstance(item, BaseException):
            raise item
        return item

    async def _await_first(self) -> None:
        limit = self._parts.settings.deadline_seconds
        if self._order.segments is not None:
            return
        try:
            async with asyncio.timeout(limit):
                item = await self._buffer.get()
        except TimeoutError:
            raise ServeError(f"no audio within {limit:g} seconds", status=504, code="timeout", retry_after=5) from None
        if isinstance(item, BaseException):
            raise item
        if item is None:
            self._ended = True
        self._first = item

    async def _drive(self) -> None:
        """Produce into the buffer; `_driven` puts the end there."""
        engine = self._deployment.ready
        if engine.modes:
            await asyncio.to_thread(engine.prepare, self._order.options)
        async with contextlib.AsyncExitStack() as stack:
            segments = self._order.segments or await self._plan(stack)
            index = 0
            async for segment in self._paced(segments):
                await self._speak(segment, index)
                index += 1

    def _driven(self, task: asyncio.Task[None]) -> None:
        """Tell the reader how it ended. What is no error of ours becomes one, so that readers know all there are."""
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, InputError) and error.param == "text":
            error = InputError(str(error), code=error.code, param=self._order.text_field)
        if error is None or isinstance(error, CosyliteError):
            self._buffer.put(error)
            return
        LOG.error("unexpected error while speaking", exc_info=error)
        self._buffer.put(ServeError("internal error", status=500, code="internal_error"))

    async def _plan(self, stack: contextlib.AsyncExitStack) -> AsyncIterator[Segment]:
        order = self._order
        plan = self._parts.frontend.segments(self._deployment, order.text, order.options.lang)
        return await stack.enter_async_context(contextlib.aclosing(plan))

    async def _paced(self, segments: AsyncIterator[Segment]) -> AsyncIterator[Segment]:
        """The segments; while text is awaited from a caller, the place is free for others."""
        live = self._order.segments is not None
        while True:
            try:
                if live:
                    async with self._parts.admission.parked():
                        segment = await anext(segments)
                else:
                    segment = await anext(segments)
            except StopAsyncIteration:
                return
            yield segment

    async def _speak(self, segment: Segment, index: int) -> None:
        if index == 0 and self._order.segments is not None:
            self._started = time.monotonic()  # the wait for the caller's text is not ours
        if index and segment.lead > 0:
            rate = self.sample_rate
            await self._deliver(Piece(np.zeros(round(segment.lead * rate), np.int16), rate), segment, index)
        timing = self._timing(index)
        offset = self.audio_seconds
        options = replace(self._order.options, voice=self._order.options.voice or segment.voice)
        pieces = self._parts.shop.pieces(self._deployment, segment, options, timing, self._order.store)
        begins = True
        async with contextlib.aclosing(pieces) as source:
            async for piece, cached in source:
                if self.first_audio_seconds == 0.0:
                    now = time.monotonic()
                    self.first_audio_seconds = now - self._started
                    self._parts.metrics.first_audio.labels(self._order.model).observe(now - self._started)
                self.from_cache = self.from_cache and cached
                await self._deliver(piece, segment, index, offset, begins=begins)
                begins = False

    async def _deliver(
        self, piece: Piece, segment: Segment, index: int, offset: float = 0.0, *, begins: bool = False
    ) -> None:
        if self._buffer.full:
            async with self._parts.admission.parked():
                await self._buffer.room()
        words = tuple(replace(word, start=word.start + offset, end=word.end + offset) for word in piece.words)
        start = self.audio_seconds
        self._buffer.put(Spoken(piece.pcm, piece.sample_rate, segment, index, words, start, begins))
        self.audio_seconds += piece.seconds

    def _timing(self, index: int) -> Timing:
        if self._order.whole:
            return Timing(self._started + WHOLE_SLACK_SECONDS + self.audio_seconds, False, True)
        due = self._started + self.first_audio_seconds + self.audio_seconds
        return Timing(due, index == 0, False)

    async def _stop(self, error: BaseException | None) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        try:
            await asyncio.wait([task])
        finally:  # also when this wait is cancelled in turn: a place must never be lost
            self._parts.admission.leave(time.monotonic() - self._entered)
        if isinstance(error, CosyliteError):
            self._outcome = "client_error" if isinstance(error, InputError) else "server_error"
        elif isinstance(error, Exception):
            self._outcome = "server_error"
        self._count()

    def _count(self) -> None:
        metrics, order = self._parts.metrics, self._order
        metrics.requests.labels(order.model, order.endpoint, order.format, self._outcome).inc()
        if self._outcome == "ok":
            seconds = time.monotonic() - self._started
            metrics.request_seconds.labels(order.model).observe(seconds)
            metrics.audio_seconds.labels(order.model).inc(self.audio_seconds)
            metrics.characters.labels(order.model).inc(len(order.text))
            if not self.from_cache and self.audio_seconds and order.segments is None:
                metrics.real_time_factor.labels(order.model).observe(seconds / self.audio_seconds)
