"""Deadline order, demand, cancellation, and both kinds of batching."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from cosylite.audio.values import AudioChunk
from cosylite.serve.engine import Segment, SegmentStream, Shared, SpeechOptions
from cosylite.serve.scheduler import BatchPolicy, Job, Scheduler

from .conftest import until
from .fake import FakeEngine, FakeStream, seconds

OPTIONS = SpeechOptions("ann")
OFF = BatchPolicy(False, 0.0, 1)


class Listener:
    """Collects what a job publishes."""

    def __init__(self) -> None:
        self.chunks: list[AudioChunk] = []
        self.ended = False
        self.error: BaseException | None = None

    def publish(self, chunk: AudioChunk | None, error: BaseException | None) -> None:
        if chunk is not None:
            self.chunks.append(chunk)
        else:
            self.ended, self.error = True, error


def job(engine: FakeEngine, text: str, base: float = 0.0, **more: bool) -> tuple[Job, Listener]:
    listener = Listener()
    segment = Segment(text, text, seconds(text, 1))
    return Job(engine, segment, OPTIONS, listener.publish, base, **more), listener


def with_scheduler(check: Callable[[Scheduler], Awaitable[None]], workers: int = 1, policy: BatchPolicy = OFF) -> None:
    async def go() -> None:
        scheduler = Scheduler(workers, lambda engine: policy)
        try:
            await check(scheduler)
        finally:
            scheduler.stop_threads()
            scheduler.close()

    asyncio.run(go())


def test_nothing_is_made_beyond_the_demand() -> None:
    engine = FakeEngine()

    async def check(scheduler: Scheduler) -> None:
        task, heard = job(engine, "x" * 100)
        scheduler.submit(task)
        await asyncio.sleep(0.02)
        assert engine.steps == 0
        for demand in (1, 3):
            scheduler.raise_demand(task, demand)
            await until(lambda demand=demand: len(heard.chunks) == demand)  # type: ignore[misc]
            await asyncio.sleep(0.02)
            assert engine.steps == demand
        scheduler.raise_demand(task, 1000)
        await until(lambda: heard.ended)
        assert sum(len(chunk.samples) for chunk in heard.chunks) == 24000 * seconds("x" * 100, 1)
        assert engine.open_now == 0 and scheduler.open_jobs == 0

    with_scheduler(check)


def test_first_chunks_go_before_streams_that_are_ahead() -> None:
    engine = FakeEngine(step_seconds=0.01)

    async def check(scheduler: Scheduler) -> None:
        long, heard_long = job(engine, "x" * 1000, time.monotonic(), first=True)
        scheduler.submit(long)
        scheduler.raise_demand(long, 1000)
        await until(lambda: len(heard_long.chunks) >= 3)
        short, heard_short = job(engine, "y" * 5, time.monotonic(), first=True)
        before = len(heard_long.chunks)
        scheduler.submit(short)
        scheduler.raise_demand(short, 2)
        await until(lambda: bool(heard_short.chunks))
        assert len(heard_long.chunks) - before <= 2, "the new request had to wait for the long one"
        scheduler.cancel(long)

    with_scheduler(check)


def test_cancel_stops_within_one_step() -> None:
    engine = FakeEngine(step_seconds=0.02)

    async def check(scheduler: Scheduler) -> None:
        task, heard = job(engine, "x" * 1000)
        scheduler.submit(task)
        scheduler.raise_demand(task, 1000)
        await until(lambda: len(heard.chunks) >= 2)
        steps = engine.steps
        scheduler.cancel(task)
        await until(lambda: engine.open_now == 0)
        assert engine.steps <= steps + 1
        idle, _ = job(engine, "y" * 100)
        scheduler.submit(idle)
        scheduler.cancel(idle)
        await until(lambda: scheduler.open_jobs == 0)
        assert "y" * 100 not in engine.spoken

    with_scheduler(check)


def test_an_error_ends_its_own_job_only() -> None:
    engine = FakeEngine()

    async def check(scheduler: Scheduler) -> None:
        bad, heard_bad = job(engine, "BOOM")
        good, heard_good = job(engine, "fine")
        for task in (bad, good):
            scheduler.submit(task)
            scheduler.raise_demand(task, 10)
        await until(lambda: heard_bad.ended and heard_good.ended)
        assert heard_bad.error is not None and heard_good.error is None
        assert engine.open_now == 0

    with_scheduler(check)


def test_whole_segments_of_similar_length_share_a_run() -> None:
    engine = FakeEngine()

    async def check(scheduler: Scheduler) -> None:
        lengths = [20, 22, 25, 200, 21]
        tasks = [job(engine, "x" * length, float(index), whole=True) for index, length in enumerate(lengths)]
        blocker, _ = job(engine, "z" * 100, -1.0)
        engine.step_seconds = 0.03
        scheduler.submit(blocker)
        scheduler.raise_demand(blocker, 1)
        await asyncio.sleep(0.01)
        for task, _ in tasks:
            scheduler.submit(task)
            scheduler.raise_demand(task, 2)
        await until(lambda: all(listener.ended for _, listener in tasks))
        assert sorted(engine.batches) == [1, 4]
        for (_, listener), length in zip(tasks, lengths, strict=True):
            assert sum(len(chunk.samples) for chunk in listener.chunks) == round(length * 0.02 * 24000)
        scheduler.cancel(blocker)

    with_scheduler(check, policy=BatchPolicy(True, 0.005, 8))


def test_one_request_alone_does_not_wait_for_companions() -> None:
    engine = FakeEngine()

    async def check(scheduler: Scheduler) -> None:
        task, heard = job(engine, "x" * 20, whole=True)
        started = time.monotonic()
        scheduler.submit(task)
        scheduler.raise_demand(task, 2)
        await until(lambda: heard.ended)
        assert time.monotonic() - started < 0.4

    with_scheduler(check, policy=BatchPolicy(True, 0.5, 8))


def test_rows_share_steps_where_the_engine_decodes() -> None:
    """Continuous batching: a row joins between two steps and leaves when it is done."""
    engine = FakeEngine(decodes=True, step_seconds=0.01)

    async def check(scheduler: Scheduler) -> None:
        tasks = [job(engine, "x" * (60 + 40 * index)) for index in range(6)]
        for task, _ in tasks:
            scheduler.submit(task)
            scheduler.raise_demand(task, 1000)
        await until(lambda: all(listener.ended for _, listener in tasks))
        for index, (_, listener) in enumerate(tasks):
            total = sum(len(chunk.samples) for chunk in listener.chunks)
            assert total == round((60 + 40 * index) * 0.02 * 24000)
        assert max(engine.rows) == 4
        steps = [-(-(60 + 40 * index) // 10) for index in range(6)]
        assert len(engine.rows) < sum(steps) * 0.6
        assert engine.open_now == 0

    with_scheduler(check, workers=2)


def test_shared_steps_never_overlap_nor_touch_streams_that_step() -> None:
    wrong: list[str] = []
    taking_part: set[int] = set()
    lock = threading.Lock()

    class Watched(FakeEngine):
        def advance(self, streams: Sequence[SegmentStream]) -> Shared:
            with lock:
                if taking_part:
                    wrong.append("two shared steps at once")
                taking_part.update(id(stream) for stream in streams)
            try:
                return super().advance(streams)
            finally:
                with lock:
                    taking_part.clear()

        def open(self, segment: Segment, options: SpeechOptions, *, whole: bool = False) -> FakeStream:
            stream = super().open(segment, options)
            inner, close = stream.step, stream.close

            def watched(work: Callable[[], Any], what: str) -> Any:
                with lock:
                    if not stream.ready and id(stream) in taking_part:
                        wrong.append(f"{what} while it takes part in a shared step")
                return work()

            stream.step = lambda: watched(inner, "stepped")  # type: ignore[method-assign]
            stream.close = lambda: watched(close, "closed")  # type: ignore[method-assign]
            return stream

    engine = Watched(decodes=True, step_seconds=0.002)

    async def check(scheduler: Scheduler) -> None:
        tasks = [job(engine, "x" * 100) for _ in range(8)]
        for task, _ in tasks:
            scheduler.submit(task)
        for demand in range(1, 12):
            for number, (task, _) in enumerate(tasks):
                scheduler.raise_demand(task, demand, float(demand))
                if demand == number + 3:
                    scheduler.cancel(task)
            await asyncio.sleep(0.004)
        await until(lambda: all(listener.ended for _, listener in tasks))
        assert not wrong and engine.open_now == 0 and scheduler.open_jobs == 0

    with_scheduler(check, workers=4)


def test_a_late_short_job_overtakes_in_the_shared_loop() -> None:
    engine = FakeEngine(decodes=True, step_seconds=0.01)

    async def check(scheduler: Scheduler) -> None:
        long, heard_long = job(engine, "x" * 1000, time.monotonic(), first=True)
        scheduler.submit(long)
        scheduler.raise_demand(long, 1000)
        await until(lambda: len(heard_long.chunks) >= 3)
        short, heard_short = job(engine, "y" * 25, time.monotonic(), first=True)
        scheduler.submit(short)
        scheduler.raise_demand(short, 1000)
        await until(lambda: heard_short.ended)
        assert not heard_long.ended
        scheduler.cancel(long)
        rows = len(engine.rows)
        await until(lambda: engine.open_now == 0)
        assert len(engine.rows) <= rows + 1

    with_scheduler(check, workers=2)


def test_a_shared_step_that_fails_ends_what_was_begun_and_nothing_else() -> None:
    engine = FakeEngine(decodes=True, step_seconds=0.005)

    async def check(scheduler: Scheduler) -> None:
        tasks = [job(engine, text) for text in ("fine" * 20, "SHAREDBOOM")]
        for task, _ in tasks:
            scheduler.submit(task)
            scheduler.raise_demand(task, 1000)
        await until(lambda: all(listener.ended for _, listener in tasks))
        assert all(listener.error is not None for _, listener in tasks)
        after, heard = job(engine, "fine again")
        scheduler.submit(after)
        scheduler.raise_demand(after, 1000)
        await until(lambda: heard.ended)
        assert heard.error is None and engine.open_now == 0 and scheduler.open_jobs == 0

    with_scheduler(check, workers=2)


def test_steps_of_one_stream_never_overlap() -> None:
    running: set[int] = set()
    overlaps: list[int] = []
    lock = threading.Lock()

    class Watched(FakeEngine):
        def open(self, segment: Segment, options: SpeechOptions, *, whole: bool = False) -> FakeStream:
            stream = super().open(segment, options)
            inner = stream.step

            def step() -> AudioChunk | None:
                with lock:
                    if id(stream) in running:
                        overlaps.append(1)
                    running.add(id(stream))
                try:
                    return inner()
                finally:
                    with lock:
                        running.discard(id(stream))

            stream.step = step  # type: ignore[method-assign]
            return stream

    engine = Watched(step_seconds=0.001)

    async def check(scheduler: Scheduler) -> None:
        tasks = [job(engine, "x" * 200) for _ in range(8)]
        for task, _ in tasks:
            scheduler.submit(task)
        for demand in range(1, 30):
            for task, _ in tasks:
                scheduler.raise_demand(task, demand, float(demand))
            await asyncio.sleep(0.001)
        await until(lambda: all(listener.ended for _, listener in tasks))
        assert not overlaps

    with_scheduler(check, workers=4)
