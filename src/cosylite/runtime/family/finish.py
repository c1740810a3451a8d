"""What is done to the samples of segments: edges cut, silence between them, filters, volume."""

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.filters import Biquad, soften_peaks
from cosylite.errors import InputError
from cosylite.options import SynthesisOptions
from cosylite.runtime.family.guardian import FamilyGuardian

Array = NDArray[np.float32]

QUIET = 10.0 ** (-50 / 20)
MARGIN_SECONDS = 0.04
"""Silence that trimming leaves at either edge."""


class EdgeTrimmer:
    """Cuts the silence at both edges of a segment that arrives in chunks; `margin` samples of it stay."""

    def __init__(self, margin: int) -> None:
        self._margin = margin
        self._held = np.zeros(0, np.float32)
        self._heard = False

    def push(self, samples: Array) -> Array:
        """Samples that are known to stay."""
        held = np.concatenate([self._held, samples])
        loud = np.flatnonzero(np.abs(held) > QUIET)
        if not len(loud):
            if not self._heard and len(held) > 2 * self._margin:
                held = held[-2 * self._margin :]
            self._held = held
            return held[:0]
        start = 0 if self._heard else max(0, int(loud[0]) - self._margin)
        end = int(loud[-1]) + 1
        self._heard, self._held = True, held[end:]
        return held[start:end]

    def finish(self) -> Array:
        """The margin at the end; of a segment without any sound, two margins."""
        rest, self._held = self._held, self._held[:0]
        return rest[: self._margin if self._heard else 2 * self._margin]


class Finisher:
    """Finishes the segments of one utterance, one after the other."""

    def __init__(self, options: SynthesisOptions, sample_rate: int, guardian: FamilyGuardian) -> None:
        low, high = options.low_pass, options.high_pass
        if low is not None and low >= sample_rate / 2:
            raise InputError(
                f"low_pass must be below {sample_rate / 2:g} Hz for this bundle", code="out_of_range", param="low_pass"
            )
        self._options, self._guardian = options, guardian
        self._margin = round(MARGIN_SECONDS * sample_rate)
        self._filters = [] if high is None else [Biquad.high_pass(high, sample_rate)]
        self._filters += [] if low is None else [Biquad.low_pass(low, sample_rate)]
        self.gap = round(options.sentence_silence * sample_rate)
        """Samples of silence between segments."""
        self._trimmer: EdgeTrimmer | None = None

    def begin(self, *, first: bool) -> Array:
        """Finished samples of the silence before a segment."""
        self._trimmer = EdgeTrimmer(self._margin) if self._options.trim else None
        return self._finished(np.zeros(0 if first else self.gap, np.float32))

    def push(self, samples: Array, *, last: bool) -> Array:
        """Finished samples of the segment; `last`: it has no more."""
        if self._trimmer is not None:
            samples = self._trimmer.push(samples)
            if last:
                samples = np.concatenate([samples, self._trimmer.finish()])
        return self._finished(samples)

    def join(self, samples: Array) -> Array:
        """Finished samples of a stretch that is neither cut at its edges nor parted from the one before."""
        return self._finished(samples)

    def _finished(self, samples: Array) -> Array:
        for stage in self._filters:
            samples = stage.push(samples)
        limited, count = soften_peaks(samples * np.float32(self._options.volume))
        self._guardian.count("samples_limited", count)
        return limited
