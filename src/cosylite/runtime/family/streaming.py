"""Streaming as the official code does it: how pieces of audio are joined."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.family.flow import EDGE_FRAMES
from cosylite.runtime.family.kinds import Family

Array = NDArray[np.float32]


def cross_fade(new: Array, old: Array, half: int) -> Array:
    """Fade the head of `new` (..., T) in over the tail of `old` (..., at least half).

    The halves of the symmetric Hamming window sum to about 1.08, not 1, as in the official code.
    """
    window = np.hamming(2 * half).astype(np.float32)
    head = new[..., :half] * window[:half] + old[..., -half:] * window[half:]
    return np.concatenate([head, new[..., half:]], -1)


def official_joiner(family: Family, vocoder: "Vocoder", samples_per_frame: int) -> "FadingVocoder | GrowingVocoder":
    """What joins the mel chunks of one utterance in the official code of a family."""
    if family == "v3":
        return GrowingVocoder(vocoder)
    if family == "v1":
        return FadingVocoder(vocoder, samples_per_frame, kept_frames=20, overlap_frames=EDGE_FRAMES)
    return FadingVocoder(vocoder, samples_per_frame, kept_frames=8)


class Vocoder(Protocol):
    """The two steps of the vocoder. Mels are (1, bands, T)."""

    def excite(self, mel: Array, *, finalize: bool) -> Array:
        """Excitation (1, 1, samples) of a mel."""
        ...

    def decode(self, mel: Array, source: Array, *, finalize: bool) -> Array:
        """Waveform (1, samples) of a mel and its excitation."""
        ...


@dataclass
class FadingVocoder:
    """Joins mel chunks of v1 and v2: each is vocoded with the last frames of the one before and cross-faded."""

    vocoder: Vocoder
    samples_per_frame: int
    kept_frames: int
    """Frames, and their excitation and audio, that the next chunk starts with: 20 in v1, 8 in v2."""
    overlap_frames: int = 0
    """Frames at the end of a mel chunk that the next one renders again: 34 in v1."""
    _overlap: Array | None = field(default=None, init=False)
    _mel: Array | None = field(default=None, init=False)
    _source: Array | None = field(default=None, init=False)
    _wave: Array | None = field(default=None, init=False)

    def push(self, mel: Array, *, final: bool) -> Array:
        """Audio (1, samples) that the next frames (1, bands, T) complete."""
        if self._overlap is not None:
            mel = cross_fade(mel, self._overlap, self.overlap_frames)
        if self._mel is not None:
            mel = np.concatenate([self._mel, mel], -1)
        if not final and self.overlap_frames:
            mel, self._overlap = mel[..., : -self.overlap_frames], mel[..., -self.overlap_frames :]
        source = self.vocoder.excite(mel, finalize=True)
        if self._source is not None:
            source = np.concatenate([self._source, source[..., self._source.shape[-1] :]], -1)
        wave = self.vocoder.decode(mel, source, finalize=True)
        kept = self.kept_frames * self.samples_per_frame
        if self._wave is not None:
            wave = cross_fade(wave, self._wave, kept)
        if final:
            return wave
        self._mel, self._source, self._wave = mel[..., -self.kept_frames :], source[..., -kept:], wave[..., -kept:]
        return wave[..., :-kept]


@dataclass
class GrowingVocoder:
    """Joins mel chunks of v3: everything so far is vocoded again, and what is new is given out."""

    vocoder: Vocoder
    _mel: Array | None = field(default=None, init=False)
    _spoken: int = field(default=0, init=False)

    def push(self, mel: Array, *, final: bool) -> Array:
        """Audio (1, samples) that the next frames (1, bands, T) complete."""
        self._mel = mel if self._mel is None else np.concatenate([self._mel, mel], -1)
        source = self.vocoder.excite(self._mel, finalize=final)
        wave = self.vocoder.decode(self._mel, source, finalize=final)
        new, self._spoken = wave[..., self._spoken :], wave.shape[-1]
        return new
