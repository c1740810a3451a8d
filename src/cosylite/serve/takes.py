"""Takes: segments that are being spoken or lie in the cache, shared by everyone who asks for the same.

`TakeShop.pieces` is the one way to the audio of a segment: cache, then a take that another request started, then a new
job for the scheduler. Lives on the event loop.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from cosylite.audio.values import AudioChunk
from cosylite.serve.cache import Cache, clip_key
from cosylite.serve.clip import Clip, Piece
from cosylite.serve.engine import Segment, SpeechOptions
from cosylite.serve.metrics import Metrics
from cosylite.serve.registry import Deployment, Registry
from cosylite.serve.scheduler import Job, Scheduler

HIT_PIECE_SECONDS = 0.5
CHUNKS_AHEAD = 2


@dataclass(frozen=True)
class Timing:
    """When a segment is due, and for whom.

    Args:
        base: monotonic time at which its first sample is due.
        first: it begins the request, so its first chunk is what the caller waits for.
        whole: the caller wants all of it at once.
    """

    base: float
    first: bool = False
    whole: bool = False


class Take:
    """The growing audio of one segment. Every reader sees all pieces from the first."""

    def __init__(self, on_end: Callable[["Take"], None]) -> None:
        self.pieces: list[Piece] = []
        self.ended = False
        self.error: BaseException | None = None
        self.readers = 0
        self._on_end = on_end
        self._waiting: set[asyncio.Future[None]] = set()

    def publish(self, chunk: AudioChunk | None, error: BaseException | None) -> None:
        """Take what the scheduler made: a chunk, or the end."""
        if chunk is not None:
            self.pieces.append(Piece.of(chunk))
        else:
            self.ended, self.error = True, error
            self._on_end(self)
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def changed(self) -> None:
        """Wait for the next piece or the end."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)


class TakeShop:
    """Finds or makes the audio of segments."""

    def __init__(self, scheduler: Scheduler, cache: Cache, registry: Registry, metrics: Metrics) -> None:
        self._scheduler = scheduler
        self._cache = cache
        self._registry = registry
        self._metrics = metrics
        self._running: dict[str, tuple[Take, Job]] = {}

    async def pieces(
        self, deployment: Deployment, segment: Segment, options: SpeechOptions, timing: Timing, store: bool
    ) -> AsyncGenerator[tuple[Piece, bool]]:
        """The audio of a segment, each piece with whether it was made for this or an earlier request.

        Close the iterator (`contextlib.aclosing`) to stop: the last reader that leaves cancels the job.

        Args:
            store: False keeps the request out of the cache in both directions.
        """
        key = clip_key(deployment.ready, segment, options)
        store = store and self._cache.on
        if store and key not in self._running:
            clip = await self._cache.fetch(key)
            if clip is not None:
                self._metrics.cache_hits.inc()
                for piece in clip.pieces(HIT_PIECE_SECONDS):
                    yield piece, True
                return
        if store and key in self._running:
            self._metrics.cache_shared.inc()
            take, job = self._running[key]
        else:
            self._metrics.cache_misses.inc()
            take, job = self._start(deployment, segment, options, timing, key if store else None)
        take.readers += 1
        try:
            index = 0
            while True:
                while index < len(take.pieces):
                    yield take.pieces[index], False
                    index += 1
                if take.ended:
                    break
                self._scheduler.raise_demand(job, index + CHUNKS_AHEAD, timing.base if index == 0 else None)
                await take.changed()
            if take.error is not None:
                raise take.error
        finally:
            take.readers -= 1
            if take.readers == 0 and not take.ended:
                self._abandon(key, take, job)

    def _start(
        self, deployment: Deployment, segment: Segment, options: SpeechOptions, timing: Timing, key: str | None
    ) -> tuple[Take, Job]:
        self._registry.hold(deployment)

        def end(take: Take) -> None:
            self._registry.release(deployment)
            if key is None or self._running.get(key, (None,))[0] is not take:
                return
            del self._running[key]
            if take.error is None and take.pieces:
                self._cache.put(key, Clip.join(take.pieces, time.time()))

        take = Take(end)
        job = Job(deployment.ready, segment, options, take.publish, timing.base, timing.first, timing.whole)
        if key is not None:
            self._running[key] = (take, job)
        self._scheduler.submit(job)
        return take, job

    def _abandon(self, key: str, take: Take, job: Job) -> None:
        if self._running.get(key, (None,))[0] is take:
            del self._running[key]
        self._scheduler.cancel(job)
