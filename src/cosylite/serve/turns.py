"""Turns: text that arrives in pieces, spoken as it comes. Shared by the WebSocket route and the Wyoming port.

A `Turn` takes text, cuts it into segments with the engine's feed, and hands them to the service as one order.
"""

import asyncio
from collections.abc import AsyncIterator

from cosylite.errors import InputError
from cosylite.serve.engine import Segment, SpeechOptions
from cosylite.serve.registry import Deployment
from cosylite.serve.speech import Order

BACKLOG_FACTOR = 16
"""Text that waits to be spoken may be so many times the longest text of a request."""


class Turn:
    """Text of one utterance on its way to speech. `push`, `flush` and `end` are not called at the same time."""

    def __init__(self, deployment: Deployment, lang: str, limit: int) -> None:
        self._feed = deployment.ready.feed(lang)
        self._limit = limit * BACKLOG_FACTOR
        self._segments: asyncio.Queue[Segment | None] = asyncio.Queue()
        self._backlog = 0
        self.characters = 0

    async def push(self, piece: str) -> None:
        """Add text.

        Raises:
            InputError: too much text waits, or the engine cannot read the piece.
        """
        if self._backlog + len(piece) > self._limit:
            raise InputError(
                f"more than {self._limit} characters wait to be spoken; send text more slowly",
                code="input_too_long",
                param="text",
            )
        self.characters += len(piece)
        self._queue(await asyncio.to_thread(self._feed.push, piece))

    async def flush(self) -> None:
        """Speak what is there, complete or not."""
        self._queue(await asyncio.to_thread(self._feed.flush))

    async def end(self) -> None:
        """Flush, and end the turn."""
        try:
            await self.flush()
        finally:
            self._segments.put_nowait(None)

    def _queue(self, segments: list[Segment]) -> None:
        for segment in segments:
            self._backlog += len(segment.text)
            self._segments.put_nowait(segment)

    async def segments(self) -> AsyncIterator[Segment]:
        """Segments as they become complete, until the end of the turn."""
        while (segment := await self._segments.get()) is not None:
            self._backlog -= len(segment.text)
            yield segment

    def order(self, options: SpeechOptions, model: str, endpoint: str, format: str) -> Order:
        """The order that speaks this turn."""
        return Order("", options, model, endpoint, format, segments=self.segments())
