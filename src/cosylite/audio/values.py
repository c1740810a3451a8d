"""Audio values: what synthesis returns."""

import os
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
class SentenceTiming:
    """A sentence of the text as typed, with the seconds between which it is heard."""

    text: str
    start: float
    end: float


@dataclass(frozen=True)
class AudioChunk:
    """A stretch of streamed audio.

    `words` and `sentences` hold those that begin in this chunk, with times from the start of the whole utterance.
    The last chunk of text that came in pieces may have no samples.
    """

    samples: Samples
    sample_rate: int
    index: int = 0
    is_last: bool = False
    words: tuple[WordTiming, ...] = field(default=())
    sentences: tuple[SentenceTiming, ...] = field(default=())

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate


@dataclass(frozen=True)
class Speech:
    """A whole utterance."""

    samples: Samples
    sample_rate: int
    words: tuple[WordTiming, ...] = field(default=())
    sentences: tuple[SentenceTiming, ...] = field(default=())

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate

    @classmethod
    def of(cls, chunks: list[AudioChunk]) -> "Speech":
        """Join the chunks of one utterance."""
        return cls(
            np.concatenate([chunk.samples for chunk in chunks]),
            chunks[0].sample_rate,
            tuple(word for chunk in chunks for word in chunk.words),
            tuple(sentence for chunk in chunks for sentence in chunk.sentences),
        )

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write an audio file.

        Args:
            path: where to; the extension chooses the format (wav, flac, mp3, ogg, opus, pcm).
            format: overrides the extension.

        Raises:
            InputError: unknown format.
            OutputError: the file cannot be written.
        """
        from cosylite.audio.files import write_file

        write_file(path, self.samples, self.sample_rate, format)
