"""Stages of a stream in threads of their own: bounded queues, one worker per stage, cancelled at once.

A stage is an iterator over the results of the stage before it. `Pipeline.ahead` lets a worker run such an iterator a
few items ahead of whoever consumes it. Exceptions travel to the consumer; nobody polls.
"""

import threading
from collections import deque
from collections.abc import Iterator
from typing import TypeVar

from cosylite.errors import CancelledError

Item = TypeVar("Item")

JOIN_SECONDS = 10.0


class Pipeline:
    """The workers of one utterance. Use as a context manager: leaving it stops them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._cancelled = False
        self._workers: list[threading.Thread] = []

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def check(self) -> None:
        """Raise CancelledError once the pipeline is closed; stages call it between steps."""
        if self._cancelled:
            raise CancelledError("the synthesis was cancelled", code="cancelled")

    def ahead(self, items: Iterator[Item], depth: int, *, wait: bool = True) -> Iterator[Item]:
        """Run `items` in a worker, at most `depth` items ahead.

        Args:
            wait: whether `close` waits for the worker. False where `items` may block in code of the caller.
        """
        queue: deque[Item] = deque()
        ended: list[BaseException | None] = []
        worker = threading.Thread(
            target=self._work, args=(items, depth, queue, ended), name="cosylite-stage", daemon=True
        )
        if wait:
            self._workers.append(worker)
        worker.start()
        return self._read(queue, ended)

    def cancel(self) -> None:
        """Cancel what is under way, without waiting."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def close(self) -> None:
        """Cancel what is under way and wait until the workers have stopped."""
        self.cancel()
        for worker in self._workers:
            worker.join(JOIN_SECONDS)

    def _work(self, items: Iterator[Item], depth: int, queue: deque[Item], ended: list[BaseException | None]) -> None:
        error: BaseException | None = None
        try:
            for item in items:
                with self._changed:
                    self._changed.wait_for(lambda: len(queue) < depth or self._cancelled)
                    self.check()
                    queue.append(item)
                    self._changed.notify_all()
        except BaseException as raised:  # handed to the consumer, which raises it
            error = raised
        with self._changed:
            ended.append(error)
            self._changed.notify_all()

    def _read(self, queue: deque[Item], ended: list[BaseException | None]) -> Iterator[Item]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: queue or ended or self._cancelled)
                self.check()
                if not queue:
                    break
                item = queue.popleft()
                self._changed.notify_all()
            yield item
        if ended[0] is not None:
            raise ended[0]
