"""Admission: how many requests are synthesised at once, how many may wait, and for how long.

Lives on the event loop; no locks. A request that waits for its reader gives its place to others (`parked`).
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from cosylite.serve.errors import ServeError


class Admission:
    """Places for running requests, handed out first come, first served.

    Args:
        max_running: places.
        max_waiting: requests that may wait for a place.
        max_wait_seconds: longest wait.
    """

    def __init__(self, max_running: int, max_waiting: int, max_wait_seconds: float) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._max_wait = max_wait_seconds
        self._queue: deque[asyncio.Future[None]] = deque()
        self._mean_seconds = 0.5
        self.running = 0
        self.draining = False

    @property
    def waiting(self) -> int:
        """Requests in the queue now."""
        return len(self._queue)

    @property
    def full(self) -> bool:
        """Whether the next request would be refused."""
        return self.running >= self._max_running and self.waiting >= self._max_waiting

    async def enter(self) -> None:
        """Take a place, waiting for one if need be. Every success must be answered by one `leave`.

        Raises:
            ServeError: 429 if too many wait already, 503 while draining or after the longest wait.
        """
        if self.draining:
            raise ServeError(
                "the server is shutting down; try again elsewhere", status=503, code="server_draining", retry_after=5
            )
        if self.running < self._max_running and not self._queue:
            self.running += 1
            return
        if len(self._queue) >= self._max_waiting:
            raise ServeError(
                "too many requests are waiting; try again later",
                status=429,
                code="server_overloaded",
                retry_after=self._expected_wait(),
            )
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            async with asyncio.timeout(self._max_wait):
                await place
        except TimeoutError:
            self._give_up(place)
            raise ServeError(
                f"no place became free within {self._max_wait:g} seconds; try again later",
                status=503,
                code="queue_timeout",
                retry_after=self._expected_wait(),
            ) from None
        except asyncio.CancelledError:
            self._give_up(place)
            raise

    def leave(self, seconds: float | None = None) -> None:
        """Return a place; `seconds` is how long the request held it."""
        if seconds is not None:
            self._mean_seconds += 0.1 * (seconds - self._mean_seconds)
        self.running -= 1
        self._wake()

    @contextlib.asynccontextmanager
    async def parked(self) -> AsyncIterator[None]:
        """Give the place away for the block; afterwards it is taken back at once, over the limit if need be."""
        self.leave()
        try:
            yield
        finally:
            self.running += 1

    def _wake(self) -> None:
        while self._queue and self.running < self._max_running:
            place = self._queue.popleft()
            if not place.done():
                self.running += 1
                place.set_result(None)

    def _give_up(self, place: "asyncio.Future[None]") -> None:
        if place.done() and not place.cancelled():
            self.leave()
        elif place in self._queue:
            self._queue.remove(place)

    def _expected_wait(self) -> float:
        return self._mean_seconds * (1 + len(self._queue)) / self._max_running
