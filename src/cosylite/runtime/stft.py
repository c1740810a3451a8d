"""Short-time Fourier transform at the vocoder's frame rate, whole and streaming; both give the same numbers.

Window: periodic Hann of 960 samples; hop 240. Frame `j` is centred on sample `240 * j`; samples outside the signal are
zero. A signal of `480 * T` samples has `2 * T` frames of 962 values: 481 real parts, then 481 imaginary parts.
"""

import numpy as np
from numpy.typing import NDArray

N_FFT = 960
HOP = 240
BINS = N_FFT // 2 + 1
FRAME = 480
"""Samples per mel frame: two hops."""
_OVERLAP = N_FFT // HOP
_BLOCK = 64
"""Frames transformed at a time: larger temporary arrays cost more in page faults than the transform itself."""
_STEADY_NORM = 1.5  # sum of squared Hann windows at a quarter hop

Array = NDArray[np.float32]


def hann() -> Array:
    """The periodic Hann window, shape (960,)."""
    return (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(N_FFT) / N_FFT)).astype(np.float32)


def stft(samples: Array) -> Array:
    """Spectrum (2T, 962) of samples (480 T,)."""
    stream = StftStream()
    return np.concatenate([stream.push(samples), stream.finish()])


def istft(spectrum: Array) -> Array:
    """Samples (480 T,) of a spectrum (2T, 962). Inverts `stft`, edges included."""
    stream = IstftStream()
    return np.concatenate([stream.push(spectrum), stream.finish()])


class StftStream:
    """Spectrum frames of a signal that arrives in pieces of any size."""

    def __init__(self) -> None:
        # In float64, because NumPy's real transform of float32 is five times slower.
        self._wide_window = hann().astype(np.float64)
        self._buffer: Array = np.zeros(N_FFT // 2, dtype=np.float32)
        self._received = 0
        self._emitted = 0

    def push(self, samples: Array) -> Array:
        """Take samples (N,); give the frames (n, 962) whose window is now complete."""
        self._received += len(samples)
        self._buffer = np.concatenate([self._buffer, samples.astype(np.float32, copy=False)])
        count = (len(self._buffer) - N_FFT) // HOP + 1 if len(self._buffer) >= N_FFT else 0
        return self._frames(count)

    def finish(self) -> Array:
        """The last frames: as many as centres lie inside the signal; samples past its end are zero."""
        missing = -(-self._received // HOP) - self._emitted
        needed = max(0, (missing - 1) * HOP + N_FFT - len(self._buffer))
        self._buffer = np.concatenate([self._buffer, np.zeros(needed, dtype=np.float32)])
        return self._frames(missing)

    def _frames(self, count: int) -> Array:
        if count <= 0:
            return np.zeros((0, 2 * BINS), dtype=np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(self._buffer, N_FFT)[: count * HOP : HOP]
        frames = np.empty((count, 2 * BINS), dtype=np.float32)
        for start in range(0, count, _BLOCK):
            rows = slice(start, start + _BLOCK)
            spectrum = np.fft.rfft(windows[rows] * self._wide_window, axis=1)
            frames[rows, :BINS], frames[rows, BINS:] = spectrum.real, spectrum.imag
        self._buffer = self._buffer[count * HOP :].copy()
        self._emitted += count
        return frames


class IstftStream:
    """Overlap-add of spectrum frames that arrive in pieces of any size.

    A sample is given out once no later frame can touch it: `push` lags by 480 samples, `finish` gives the rest.
    """

    def __init__(self) -> None:
        self._window = hann()
        self._tail: Array = np.zeros((_OVERLAP - 1, HOP), dtype=np.float32)
        self._frames = 0
        self._squared = (self._window.astype(np.float64) ** 2).reshape(_OVERLAP, HOP)

    def push(self, spectrum: Array) -> Array:
        """Take frames (n, 962); give the samples that are complete."""
        count = len(spectrum)
        if not count:
            return np.zeros(0, dtype=np.float32)
        hops = np.zeros((count + _OVERLAP - 1, HOP), dtype=np.float32)
        hops[: _OVERLAP - 1] = self._tail
        for start in range(0, count, _BLOCK):
            pieces = self._pieces(spectrum[start : start + _BLOCK])
            for k in range(_OVERLAP):
                hops[start + k : start + k + len(pieces)] += pieces[:, k]
        self._tail = hops[count:].copy()
        first = self._frames
        self._frames += count
        return self._normalised(hops[:count], first)

    def _pieces(self, spectrum: Array) -> Array:
        """Windowed signals of frames, (n, 4, 240)."""
        frames = np.empty((len(spectrum), BINS), dtype=np.complex64)
        frames.real, frames.imag = spectrum[:, :BINS], spectrum[:, BINS:]
        pieces = np.fft.irfft(frames, n=N_FFT, axis=1).astype(np.float32, copy=False) * self._window
        return pieces.reshape(len(spectrum), _OVERLAP, HOP)

    def finish(self) -> Array:
        """The last 480 samples."""
        count = min(2, self._frames)  # a lone frame stands for 240 samples
        first = self._frames + 2 - count
        norms = np.stack([self._norm(first + i) for i in range(count)]) if count else np.ones((0, HOP))
        return (self._tail[2 - count : 2] / norms).astype(np.float32).reshape(-1)

    def _norm(self, hop: int) -> NDArray[np.float64]:
        """Sum of the squared windows of the frames received so far that cover a hop."""
        parts = [self._squared[k] for k in range(_OVERLAP) if 0 <= hop - k < self._frames]
        return np.asarray(np.sum(parts, axis=0))

    def _normalised(self, hops: Array, first: int) -> Array:
        """Divide by the window sum. Hops 0 and 1 lie before the signal; hop 2 lacks the frame before the first."""
        hops = hops / np.float32(_STEADY_NORM)
        if first <= 2 < first + len(hops):
            hops[2 - first] *= (_STEADY_NORM / self._norm(2)).astype(np.float32)
        return hops[max(0, 2 - first) :].reshape(-1)
