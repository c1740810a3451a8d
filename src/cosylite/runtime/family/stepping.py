"""Segments that are spoken step by step, several together: what a service drives."""

from collections.abc import Sequence

import numpy as np

from cosylite.audio.values import AudioChunk, SentenceTiming
from cosylite.runtime.family.finish import Finisher
from cosylite.runtime.family.segments import SegmentRun
from cosylite.runtime.family.tokens import Decoder


class SegmentStream:
    """One segment; its chunks are finished (edges, filters, volume), without silence before it. Close it in the end."""

    def __init__(self, run: SegmentRun, finisher: Finisher, sample_rate: int) -> None:
        self._run, self._finisher, self._rate = run, finisher, sample_rate
        self._samples, self._index = 0, 0
        finisher.begin(first=True)

    def ready(self) -> bool:
        """Whether the next chunk only needs to be rendered."""
        return self._run.ready()

    def step(self) -> AudioChunk | None:
        """The next chunk, for which the decoding loop is advanced; None after the last one."""
        if self._run.finished:
            return None
        chunk = self._run.take()
        samples = self._finisher.push(self._run.render(chunk), last=chunk.final)
        self._samples += len(samples)
        heard = (SentenceTiming(self._run.text, 0.0, self._samples / self._rate),) if chunk.final else ()
        self._index += 1
        return AudioChunk(samples, self._rate, self._index - 1, chunk.final, (), heard)

    def waiting(self) -> AudioChunk:
        """A chunk without samples, which says that the next one is not ready."""
        return AudioChunk(np.zeros(0, np.float32), self._rate, self._index)

    def close(self) -> None:
        """Nobody needs the rest."""
        self._run.close()


def step_together(decoder: Decoder, streams: Sequence[SegmentStream]) -> list[AudioChunk | None]:
    """One step of several segments, in order: the next chunk, one without samples, or None after the last one.

    The decoding loop is advanced, for all open segments whether among these or not, until one of these is ready.
    """
    while streams and not any(stream.ready() for stream in streams):
        decoder.step()
    return [stream.step() if stream.ready() else stream.waiting() for stream in streams]
