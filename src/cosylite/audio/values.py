"""Audio values: what synthesis returns."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
"""Mono samples, shape (N,), nominal range -1 to 1."""


@dataclass(frozen=True)
class WordTiming:
    """A word of the text as typed, with the seconds between which it is heard."""

    text: str
    start: float
    end: float


@dataclass(frozen=True)
class AudioChunk:
    """A stretch of streamed audio.

    `words` holds the words that begin in this chunk, with times from the start of the whole utterance.
    """

    samples: Samples
    sample_rate: int
    index: int = 0
    is_last: bool = False
    words: tuple[WordTiming, ...] = field(default=())

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate
