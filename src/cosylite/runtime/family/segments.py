"""One segment being spoken: its tokens, its chunks, its samples."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import DeviceError
from cosylite.runtime.family.chunks import Chunker, TokenChunk
from cosylite.runtime.family.guardian import FamilyGuardian, SilenceWatch
from cosylite.runtime.family.render import Renderer
from cosylite.runtime.family.tokens import Draft

Array = NDArray[np.float32]


class Named(Protocol):
    """Something with a text, which may still grow."""

    @property
    def text(self) -> str:
        """The text."""
        ...


class SegmentRun:
    """A segment on its way from text to samples."""

    def __init__(
        self,
        segment: Named,
        draft: Draft,
        plan: tuple[Chunker, Renderer],
        guardian: FamilyGuardian,
        sample_rate: int,
    ) -> None:
        self._segment, self._draft, self._guardian = segment, draft, guardian
        self._chunker, self._renderer = plan
        self._silence = SilenceWatch(guardian, sample_rate)
        self.finished = False
        """Whether the last chunk was taken."""

    @property
    def text(self) -> str:
        """The normalised text, as far as it is known."""
        return self._segment.text

    def ready(self) -> bool:
        """Whether the tokens of the next chunk are there. Does not wait."""
        return self.finished or self._draft.ready(self._chunker.needed)

    def take(self) -> TokenChunk:
        """The next chunk; waits for its tokens.

        Raises:
            DeviceError: there is not enough memory.
        """
        try:
            self._draft.wait(self._chunker.needed)
        except MemoryError as error:
            raise _no_memory() from error
        chunk = self._chunker.take(self._draft.tokens, ended=self._draft.done)
        if chunk is None:  # what was waited for is there
            raise RuntimeError("a chunk without tokens")
        self._draft.commit()
        self.finished = chunk.final
        return chunk

    def chunks(self) -> Iterator[TokenChunk]:
        """The chunks that are left, as their tokens come."""
        while not self.finished:
            yield self.take()

    def render(self, chunk: TokenChunk) -> Array:
        """Samples (N,) that a chunk completes; chunks come in order.

        Raises:
            DeviceError: there is not enough memory.
        """
        try:
            samples = self._guardian.checked(self._renderer.push(chunk))
        except MemoryError as error:
            raise _no_memory() from error
        self._silence.push(samples)
        return samples

    def close(self) -> None:
        """Nobody needs the rest."""
        self._draft.close()


def _no_memory() -> DeviceError:
    return DeviceError(
        "not enough memory for a sentence of this length; free some, or use shorter sentences", code="no_memory"
    )
