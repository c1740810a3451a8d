"""The scheduler: worker threads that run steps of many segment streams in deadline order.

A `Job` is one segment being spoken. Readers raise its demand (how many chunks they want); a worker steps the runnable
job with the earliest deadline and puts it back while demand is left. The deadline of a step is the moment at which a
listener would run out of audio, so first chunks go first and streams that are well ahead give way. A job without
readers is closed after the step that runs. Jobs of an engine with `step_rows` > 1 share steps (continuous batching);
unstarted whole segments of similar predicted length share one run where batching pays (dynamic batching).
"""

import asyncio
import heapq
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from cosylite.audio.values import AudioChunk
from cosylite.errors import CancelledError, CosyliteError
from cosylite.serve.engine import Engine, Segment, SegmentStream, SpeechOptions

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
    version: int = 0
    stream: SegmentStream | None = None

    @property
    def deadline(self) -> float:
        """When the next chunk is due."""
        return self.base + self.made_seconds


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
        self._stepping_engines: set[int] = set()
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
        job.state = State.QUEUED
        job.version += 1
        self._counter += 1
        heapq.heappush(self._heap, (job.deadline if deadline is None else deadline, self._counter, job.version, job))
        self._ready.notify_all()

    def _work(self) -> None:
        while True:
            with self._ready:
                jobs, together = self._next()
            if not jobs:
                return
            if together:
                self._speak_whole(jobs)
            else:
                self._step(jobs)

    def _next(self) -> tuple[list[Job], bool]:
        """Wait for work; returns jobs in state STEPPING and whether to speak them whole, or no jobs when closing."""
        while not self._closing:
            job = self._pop()
            if job is None:
                self._ready.wait()
                continue
            job.state = State.STEPPING
            if job.cancelled:
                return [job], False
            if job.engine.step_rows > 1:
                self._stepping_engines.add(id(job.engine))
                return [job, *self._take_mates(job)], False
            policy = self._policies(job.engine)
            if policy.on and job.whole and job.made == 0 and job.stream is None:
                return self._gather(job, policy), True
            return [job], False
        return [], False

    def _pop(self) -> Job | None:
        """The runnable job with the earliest deadline whose engine is free."""
        held = []
        found = None
        while self._heap and found is None:
            entry = heapq.heappop(self._heap)
            job = entry[3]
            if entry[2] != job.version or job.state is not State.QUEUED:
                continue
            if id(job.engine) in self._stepping_engines:
                held.append(entry)
                continue
            found = job
        for entry in held:
            heapq.heappush(self._heap, entry)
        return found

    def _take(self, fits: Callable[[Job], bool], count: int) -> list[Job]:
        """Further queued jobs that fit, in deadline order."""
        taken: list[Job] = []
        for _, _, version, job in sorted(self._heap, key=lambda entry: entry[:3]):
            if len(taken) >= count:
                break
            if version == job.version and job.state is State.QUEUED and not job.cancelled and fits(job):
                job.state = State.STEPPING
                taken.append(job)
        return taken

    def _take_mates(self, head: Job) -> list[Job]:
        """Jobs that share a step with one of an engine that steps rows together."""
        return self._take(lambda job: job.engine is head.engine, head.engine.step_rows - 1)

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

            more = self._take(fits, 1)
            batch += more
            left = until - time.monotonic()
            if not more and (left <= 0 or self._heap or len(self._jobs) <= len(batch)):
                break
            if not more:
                self._ready.wait(left)
        return batch

    def _step(self, jobs: list[Job]) -> None:
        started = time.monotonic()
        for job in [job for job in jobs if job.cancelled]:
            self._finish(job, None)
        live = [job for job in jobs if not job.cancelled]
        try:
            streams = [self._stream_of(job) for job in live]
            chunks = live[0].engine.step_many(streams) if len(streams) > 1 else [stream.step() for stream in streams]
        except Exception as error:  # whatever the engine raises belongs to the readers of these jobs
            for job in live:
                self._finish(job, error)
            chunks = []
            live = []
        finally:
            if jobs[0].engine.step_rows > 1:
                with self._ready:
                    self._stepping_engines.discard(id(jobs[0].engine))
                    self._ready.notify_all()
        if live:
            self._observer.step_seconds("step", time.monotonic() - started)
            self._observer.batch("step", len(live))
        for job, chunk in zip(live, chunks, strict=True):
            self._after(job, chunk)

    def _stream_of(self, job: Job) -> SegmentStream:
        if job.stream is None:
            job.stream = job.engine.open(job.segment, job.options)
        return job.stream

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
            self._finish(job, None)
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
        if from_worker:
            self._post(job, None, error)
        else:
            job.publish(None, error)

    def _post(self, job: Job, chunk: AudioChunk | None, error: BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(job.publish, chunk, error)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            return
