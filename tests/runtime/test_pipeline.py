"""Workers: order, bounds, errors, cancellation."""

import threading
import time
from collections.abc import Iterator

import pytest

from cosylite.errors import CancelledError
from cosylite.runtime.pipeline import Pipeline


def count(n: int, made: list[int], pipeline: Pipeline | None = None) -> Iterator[int]:
    for i in range(n):
        if pipeline is not None:
            pipeline.check()
        made.append(i)
        yield i


def test_order_is_kept_through_stages() -> None:
    with Pipeline() as pipeline:
        doubled = (2 * i for i in pipeline.ahead(count(100, []), 3))
        assert list(pipeline.ahead(doubled, 2)) == [2 * i for i in range(100)]


def test_a_worker_is_bounded() -> None:
    made: list[int] = []
    with Pipeline() as pipeline:
        items = pipeline.ahead(count(100, made), 3)
        next(items)
        time.sleep(0.05)
        assert len(made) <= 5


def test_errors_reach_the_consumer_after_what_was_made() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise ValueError("no")

    with Pipeline() as pipeline:
        items = pipeline.ahead((i for i in pipeline.ahead(failing(), 2)), 2)
        assert next(items) == 1
        with pytest.raises(ValueError, match="no"):
            next(items)


def test_closing_stops_every_worker() -> None:
    before = threading.active_count()
    made: list[int] = []
    pipeline = Pipeline()
    items = pipeline.ahead((i for i in pipeline.ahead(count(10**9, made, pipeline), 2)), 2)
    next(items)
    pipeline.close()
    assert threading.active_count() == before
    with pytest.raises(CancelledError):
        next(items)


def test_a_blocked_source_does_not_block_closing() -> None:
    release = threading.Event()

    def late() -> Iterator[int]:
        yield 1
        release.wait(30)
        yield 2

    start = time.monotonic()
    with Pipeline() as pipeline:
        items = pipeline.ahead(late(), 2, wait=False)
        assert next(items) == 1
    assert time.monotonic() - start < 5
    release.set()
