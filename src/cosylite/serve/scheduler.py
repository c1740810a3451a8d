"""The scheduler: worker threads that run steps of many segment streams in deadline order.

A `Job` is one segment being spoken. Readers raise its demand (how many chunks they want); a worker steps the runnable
job with the earliest deadline and puts it back while demand is left. The deadline of a step is the moment at which a
listener would run out of audio, so first chunks go first and streams that are well ahead give way. A job without
readers is closed after the step that runs. Unstarted whole segments of similar predicted length share one run where
batching pays (dynamic batching).

Jobs of an engine that decodes wait for tokens, which its shared steps draw for all of them (continuous batching): one
worker at a time runs them, whenever the most urgent job waits for tokens, while others turn tokens into sound. A worker
with nothing else to do draws ahead.
"""

import asyncio
import heapq
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from cosylite.audio.values import AudioChunk
from cosylite.errors import CancelledError, CosyliteError
from cosylite.serve.engine import Engine, Segment, SegmentStream, SpeechOptions

LOG = logging.getLogger(__name__)
SIMILAR = 1.5
"""Longest to shortest predicted length within one batch."""
BATCH_AUDIO_SECONDS = 16.0
"""Most predicted audio in one batch: a batch blocks its worker, and other requests' first chunks wait for it."""


class State(Enum):
    """Where a job is. Changed under the scheduler's lock only."""

    IDLE = "idle"
    QUEUED = "queued"
    STEPPING = "stepping"
    CLOSED = "closed"


@dataclass(eq=False)
class Job:
    """One segment being spoken; its fields belong to the scheduler.

    Args:
        publish: called on the event loop with each chunk, then once with None or the error that ended the job.
        base: monotonic time at which the first sample is due.
        whole: nobody listens while it is made, so it may be spoken in one run.
    """

    engine: Engine
    segment: Segment
    options: SpeechOptions
    publish: Callable[[AudioChunk | None, BaseException | None], None]
    base: float
    first: bool = False
    whole: bool = False
    demand: int = 0
    made: int = 0
    made_seconds: float = 0.0
    state: State = State.IDLE
    cancelled: bool = False
    error: BaseException | None = None
    """Why it was cancelled, if not by its readers."""
    version: int = 0
    stream: SegmentStream | None = None

    @property
    def deadline(self) -> float:
        """When the next chunk is due."""
        return self.base + self.made_seconds

    @property
    def waits(self) -> bool:
        """Whether a shared step of the engine must come first."""
        return self.engine.decodes and (self.stream is None or not self.stream.ready)


@dataclass
class BatchPolicy:
    """Dynamic batching of whole segments: on or off, and its limits."""

    on: bool
    window_seconds: float
    rows: int


@dataclass(frozen=True)
class Observer:
    """What the scheduler reports; called from worker threads."""

    batch: Callable[[str, int], None] = field(default=lambda stage, rows: None)
    step_seconds: Callable[[str, float], None] = field(default=lambda stage, seconds: None)
    tokens: Callable[[Engine, int], None] = field(default=lambda engine, count: None)


class Scheduler:
    """Runs jobs on `workers` threads. Create it inside a running event loop and `close` it there.

    Args:
        policies: the batching policy of an engine, asked for each batch.
    """

    def __init__(
        self, workers: int, policies: Callable[[Engine], BatchPolicy], observer: Observer | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._policies = policies
        self._observer = observer or Observer()
        self._ready = threading.Condition()
        self._heap: list[tuple[float, int, int, Job]] = []
        self._counter = 0
        self._advancing: set[int] = set()
        self._jobs: set[Job] = set()
        self._closing = False
        self._threads = [
            threading.Thread(target=self._work, name=f"cosylite-worker-{index}", daemon=True)
            for index in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def open_jobs(self) -> int:
        """Jobs that are not closed yet."""
        return len(self._jobs)

    def submit(self, job: Job) -> None:
        """Take a job; it runs once demand is raised."""
        with self._ready:
            self._jobs.add(job)

    def raise_demand(self, job: Job, chunks: int, base: float | None = None) -> None:
        """Ask that `chunks` chunks of the job exist, at the latest `base` plus their playing time."""
        with self._ready:
            urgent = base is not None and base < job.base
            if urgent and base is not None:
                job.base = base
            if chunks <= job.demand and not urgent:
                return
            job.demand = max(job.demand, chunks)
            if job.state is State.IDLE or (job.state is State.QUEUED and urgent):
                self._push(job)

    def cancel(self, job: Job) -> None:
        """Close the job after the step that may be running."""
        with self._ready:
            job.cancelled = True
            if job.state in (State.IDLE, State.QUEUED):
                self._push(job, deadline=float("-inf"))

    def stop_threads(self) -> None:
        """End the threads after their current steps. Blocking; `close` must follow."""
        with self._ready:
            self._closing = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        """Close every stream, telling its readers. On the event loop, after `stop_threads`."""
        for job in list(self._jobs):
            self._finish(job, CancelledError("the server stopped", code="server_stopped"), from_worker=False)

    def _push(self, job: Job, deadline: float | None = None) -> None:
        self._put(job, job.deadline if deadline is None else deadline)
        self._ready.notify_all()

    def _put(self, job: Job, deadline: float) -> None:
        job.state = State.QUEUED
        job.version += 1
        self._counter += 1
        heapq.heappush(self._heap, (deadline, self._counter, job.version, job))

    def _work(self) -> None:
        while self._turn():
            continue

    def _turn(self) -> bool:
        """One piece of work; False when closing. Nothing of it is held on to while waiting for the next."""
        with self._ready:
            work = self._next()
        if work is None:
            return False
        work()
        return True

    def _next(self) -> Callable[[], None] | None:
        """Wait for work; None when closing."""
        while not self._closing:
            job = self._pop()
            if job is not None:
                return self._work_for(job)
            idle = next((job.engine for job in self._jobs if self._may_draw_ahead(job)), None)
            if idle is not None:
                self._advancing.add(id(idle))
                return partial(self._advance, idle, [])
            self._ready.wait()
        return None

    def _work_for(self, job: Job) -> Callable[[], None]:
        if job.waits and not job.cancelled:
            self._put(job, job.deadline)
            self._advancing.add(id(job.engine))
            waiting = [other for other in self._queued() if other.engine is job.engine and other.waits]
            return partial(self._advance, job.engine, waiting)
        job.state = State.STEPPING
        if job.cancelled:
            return partial(self._finish, job, job.error)
        policy = self._policies(job.engine)
        if policy.on and job.whole and job.made == 0 and job.stream is None:
            return partial(self._speak_whole, self._gather(job, policy))
        return partial(self._step, job)

    def _may_draw_ahead(self, job: Job) -> bool:
        return job.engine.decodes and id(job.engine) not in self._advancing and job.engine.decoding

    def _pop(self) -> Job | None:
        """The runnable job with the earliest deadline, but those that take part in a shared step that runs."""
        held = []
        found = None
        while self._heap and found is None:
            entry = heapq.heappop(self._heap)
            job = entry[3]
            if entry[2] != job.version or job.state is not State.QUEUED:
                continue
            if id(job.engine) in self._advancing and job.waits:
                held.append(entry)
                continue
            found = job
        for entry in held:
            heapq.heappush(self._heap, entry)
        return found

    def _queued(self) -> list[Job]:
        """Queued jobs that nobody gave up, in deadline order."""
        entries = sorted(self._heap, key=lambda entry: entry[:3])
        return [
            job
            for _, _, version, job in entries
            if version == job.version and job.state is State.QUEUED and not job.cancelled
        ]

    def _take(self, fits: Callable[[Job], bool]) -> list[Job]:
        """The first queued job that fits, if any."""
        found = next((job for job in self._queued() if fits(job)), None)
        if found is None:
            return []
        found.state = State.STEPPING
        return [found]

    def _gather(self, head: Job, policy: BatchPolicy) -> list[Job]:
        """Companions for a whole segment, waiting up to the window while nothing else could run."""
        batch = [head]
        until = time.monotonic() + policy.window_seconds
        while len(batch) < policy.rows and not self._closing:
            low = min(job.segment.seconds for job in batch)
            high = max(job.segment.seconds for job in batch)
            room = BATCH_AUDIO_SECONDS - sum(job.segment.seconds for job in batch)

            def fits(job: Job, low: float = low, high: float = high, room: float = room) -> bool:
                seconds = job.segment.seconds
                return (
                    job.engine is head.engine
                    and job.whole
                    and job.made == 0
                    and job.stream is None
                    and seconds <= room
                    and max(high, seconds) <= SIMILAR * min(low, seconds)
                )

            more = self._take(fits)
            batch += more
            left = until - time.monotonic()
            if not more and (left <= 0 or self._heap or len(self._jobs) <= len(batch)):
                break
            if not more:
                self._ready.wait(left)
        return batch

    def _step(self, job: Job) -> None:
        started = time.monotonic()
        try:
            if job.stream is None:
                job.stream = job.engine.open(job.segment, job.options, whole=job.whole)
            chunk = job.stream.step()
        except Exception as error:  # whatever the engine raises belongs to the readers of this job
            self._finish(job, error)
            return
        self._observer.step_seconds("step", time.monotonic() - started)
        self._observer.batch("step", 1)
        self._after(job, chunk)

    def _advance(self, engine: Engine, jobs: list[Job]) -> None:
        """A shared step. The jobs stay queued: nobody else takes them as long as they wait."""
        started = time.monotonic()
        try:
            for job in jobs:
                if job.stream is None:
                    job.stream = engine.open(job.segment, job.options, whole=job.whole)
            done = engine.advance([job.stream for job in jobs if job.stream is not None])
        except Exception as error:  # nobody knows whose fault it is
            LOG.error("a shared step of %s failed", engine.name, exc_info=error)
            self._fail_all(engine, error)
        else:
            if done.rows:
                self._observer.step_seconds("decode", time.monotonic() - started)
                self._observer.batch("decode", done.rows)
                self._observer.tokens(engine, done.rows)
        with self._ready:
            self._advancing.discard(id(engine))
            self._ready.notify_all()

    def _fail_all(self, engine: Engine, error: BaseException) -> None:
        """End all jobs that an engine has begun."""
        with self._ready:
            for job in self._jobs:
                if job.engine is engine and job.stream is not None:
                    job.cancelled, job.error = True, error
                    if job.state in (State.IDLE, State.QUEUED):
                        self._push(job, deadline=float("-inf"))

    def _speak_whole(self, jobs: list[Job]) -> None:
        started = time.monotonic()
        try:
            chunks = jobs[0].engine.speak_many([(job.segment, job.options) for job in jobs])
        except Exception as error:  # whatever the engine raises belongs to the readers of these jobs
            for job in jobs:
                self._finish(job, error)
            return
        self._observer.step_seconds("whole", time.monotonic() - started)
        self._observer.batch("whole", len(jobs))
        for job, chunk in zip(jobs, chunks, strict=True):
            self._post(job, chunk, None)
            self._finish(job, None)

    def _after(self, job: Job, chunk: AudioChunk | None) -> None:
        """Publish what a step made and queue the next one if somebody waits for it."""
        if chunk is None or job.cancelled:
            self._finish(job, job.error)
            return
        if len(chunk.samples):
            self._post(job, chunk, None)
        if chunk.is_last:
            self._finish(job, None)
            return
        with self._ready:
            if len(chunk.samples):
                if job.made == 0 and job.first:
                    job.base = time.monotonic()
                job.made += 1
                job.made_seconds += chunk.duration
            job.state = State.IDLE
            if job.cancelled or job.made < job.demand:
                self._push(job)

    def _finish(self, job: Job, error: BaseException | None, from_worker: bool = True) -> None:
        with self._ready:
            if job.state is State.CLOSED:
                return
            job.state = State.CLOSED
            self._jobs.discard(job)
        if job.stream is not None:
            try:
                job.stream.close()
            except CosyliteError as failure:
                error = error or failure
            job.stream = None
        if from_worker:
            self._post(job, None, error)
        else:
            job.publish(None, error)

    def _post(self, job: Job, chunk: AudioChunk | None, error: BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(job.publish, chunk, error)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            return
