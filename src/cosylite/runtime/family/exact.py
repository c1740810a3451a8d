"""Streaming that equals the whole sentence (v2 and v3): the vocoder sees every frame with all that it depends on.

The work per chunk does not grow: pitch and filter run over a window of frames with margins on both sides, the
excitation carries its phases, and only the middle of the window is given out.
"""

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.family.model import Vocoder
from cosylite.runtime.family.source import Noise, SourceStream

Array = NDArray[np.float32]


class ExactVocoder:
    """Vocodes the mel of one utterance chunk by chunk."""

    def __init__(self, vocoder: Vocoder, noise: Noise) -> None:
        spec = vocoder.spec
        self._vocoder, self._frame = vocoder, spec.source.samples_per_frame
        self._left, self._right, self._pitch_reach = spec.left_frames, spec.right_frames, spec.pitch_frames
        self._stream = SourceStream(vocoder.source, noise)
        self._mel = np.zeros((1, vocoder.bands, 0), np.float32)
        self._source = np.zeros((1, 1, 0), np.float32)
        self._first = 0  # frame at which the two begin
        self._pitched = 0  # frames whose pitch has been found
        self._done = 0  # frames given out

    def push(self, mel: Array, *, final: bool) -> Array:
        """Samples (1, L) that the next frames (1, bands, T) complete."""
        self._mel = np.concatenate([self._mel, mel], -1)
        known = self._first + self._mel.shape[-1]
        self._excite(known if final else known - self._pitch_reach, final)
        excited = self._first + self._source.shape[-1] // self._frame
        ready = known if final else excited - self._right
        if ready <= self._done:
            return np.zeros((1, 0), np.float32)
        window = self._mel[..., : excited - self._first]
        wave = self._vocoder.decode(window, self._source)
        start, stop = ((frame - self._first) * self._frame for frame in (self._done, ready))
        self._done = ready
        self._forget(max(min(ready - self._left, self._pitched - self._pitch_reach), self._first))
        return wave[:, start:stop]

    def _excite(self, ready: int, final: bool) -> None:
        """Find the pitch of the frames before `ready`, and excite what is complete."""
        fresh = np.zeros((1, 0), np.float32)
        if ready > self._pitched:
            f0 = self._vocoder.pitch(self._mel)
            fresh = f0[:, self._pitched - self._first : ready - self._first]
            self._pitched = ready
        self._source = np.concatenate([self._source, self._stream.push(fresh, final=final)], -1)

    def _forget(self, first: int) -> None:
        """Drop what no later window needs."""
        drop = first - self._first
        self._mel, self._source = self._mel[..., drop:], self._source[..., drop * self._frame :]
        self._first = first
