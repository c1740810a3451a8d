"""Watches what the graphs give, draws again or repairs what is wrong, and counts what it did.

Every decision looks at single frames or samples, so it does not depend on how a sentence is cut into chunks.

Counted: `features_resampled` (times that the rest of a sentence was drawn again from a bad frame on),
`durations_repaired`, `features_repaired` (frames not finite), `features_limited` (frames far outside what
speech looks like), `spectrum_repaired` (frames not finite), `chunks_halved` (memory), `samples_limited` (clipping),
`silent_words` (sounds without audible energy for 1.5 seconds).
"""

import logging

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import DeviceError
from cosylite.runtime.sessions import Counters

log = logging.getLogger(__name__)

Array = NDArray[np.float32]

FEATURE_LIMIT = 8.0
"""Standard deviations; speech stays within 5."""
MOST_ATTEMPTS = 4
"""Times that the rest of one sentence is drawn again; after that bad frames are repaired only."""
SPECTRUM_ENERGY_LIMIT = 1e8
"""Sum of squares of a frame; full scale is some 1e5."""
AUDIBLE = 10.0 ** (-55 / 20)
SILENT_SECONDS = 1.5


class Guardian:
    """Checks of one engine. `silence` (82,) are the features of a silent frame."""

    def __init__(self, counters: Counters, silence: Array) -> None:
        self.counters = counters
        self._silence = silence

    def saw_durations(self, repaired: int) -> None:
        """Count durations that had to be repaired."""
        self._count("durations_repaired", repaired)

    def first_bad(self, features: Array) -> int | None:
        """Index of the first frame that is not finite or far outside what speech looks like."""
        bad = np.flatnonzero(~(np.abs(features) <= FEATURE_LIMIT).all(axis=1))  # also true for NaN
        return int(bad[0]) if len(bad) else None

    def resampled(self) -> None:
        """Count that the rest of a sentence is drawn again."""
        self._count("features_resampled", 1)

    def checked_features(self, features: Array) -> Array:
        """Features (n, 82) with frames that are not finite silenced and extreme values limited."""
        finite = np.asarray(np.isfinite(features).all(axis=1))
        if not finite.all():
            self._count("features_repaired", int((~finite).sum()))
            features = np.where(finite[:, None], features, self._silence)
        if features.size and np.abs(features).max() > FEATURE_LIMIT:
            self._count("features_limited", int((np.abs(features) > FEATURE_LIMIT).any(axis=1).sum()))
            features = np.clip(features, -FEATURE_LIMIT, FEATURE_LIMIT)
        return features

    def checked_spectrum(self, spectrum: Array) -> Array:
        """Spectrum frames (n, 962) with those that are not finite or absurdly loud silenced."""
        energy: Array = np.einsum("ij,ij->i", spectrum, spectrum)
        sane = energy < SPECTRUM_ENERGY_LIMIT  # false for NaN
        if sane.all():
            return spectrum
        self._count("spectrum_repaired", int((~sane).sum()))
        return np.where(sane[:, None], spectrum, np.float32(0.0))

    def halved(self, frames: int) -> None:
        """Memory did not suffice for a chunk: count, and give up where it cannot be halved.

        Raises:
            DeviceError: the chunk was a single frame.
        """
        if frames <= 1:
            raise DeviceError(
                "not enough memory to go on: free some, use fewer threads or a smaller bundle", code="no_memory"
            )
        self._count("chunks_halved", 1)

    def limited_samples(self, count: int) -> None:
        """Count samples that were above full scale."""
        self.counters.add("samples_limited", count)

    def silent_words(self) -> None:
        """Count a long silence where there should be speech."""
        self._count("silent_words", 1)

    def _count(self, name: str, count: int) -> None:
        if count:
            self.counters.add(name, count)
            log.warning("guardian: %s (%d)", name, count)


class SilenceWatch:
    """Notices speech that is not there: sounds of a sentence that make no audible samples for 1.5 seconds."""

    def __init__(self, guardian: Guardian, sample_rate: int, first: int, last: int) -> None:
        """`first`, `last`: the samples of the sentence between which there are sounds."""
        self._guardian = guardian
        self._limit = round(SILENT_SECONDS * sample_rate)
        self._position = 0
        self._heard, self._last = first, last

    def push(self, samples: Array) -> None:
        """Look at the next samples of the sentence."""
        loud = np.flatnonzero(np.abs(samples) > AUDIBLE) + self._position
        self._position += len(samples)
        loud = loud[(loud > self._heard) & (loud < self._last)]
        if len(loud):
            self._count(np.concatenate([[self._heard], loud]))
            self._heard = int(loud[-1])

    def finish(self) -> None:
        """The sentence is complete."""
        self._count(np.array([self._heard, self._last]))

    def _count(self, heard: NDArray[np.int64]) -> None:
        for _ in range(int((np.diff(heard) > self._limit).sum())):
            self._guardian.silent_words()
