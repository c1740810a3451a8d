"""The excitation that the vocoder shapes: a band-limited pulse train at the pitch, and white noise.

One implementation for training and synthesis. Pitch comes as one value per 20 ms frame at 24 kHz (480 samples); it is
interpolated linearly between frame centres inside a voiced stretch. Every voiced stretch starts half-way between two
pulses, so what a stretch sounds like depends on nothing before it. Power per sample is 1 at any pitch.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.noise import white_noise
from cosylite.runtime.stft import BINS, FRAME, StftStream, stft

Array = NDArray[np.float32]
Scalar = TypeVar("Scalar", np.float64, np.bool_)

SAMPLE_RATE = 24000
MIN_PITCH_HZ = 20.0
MAX_PITCH_HZ = 1500.0
_BLOCK = 32  # half frames rendered at a time: small temporary arrays stay in the cache

__all__ = ["Excitation", "HarmonicStream", "harmonic_source", "noise_source", "pulse_train", "stft"]


def harmonic_source(f0: NDArray[np.floating], voiced: NDArray[np.generic]) -> Array:
    """Pulse train (480 T,) for pitch (T,) in Hz and voicing (T,), non-zero where voiced; other pitch is ignored."""
    stream = HarmonicStream()
    return np.concatenate([stream.push(f0, voiced), stream.finish()])


def noise_source(frames: int, *, seed: int = 0) -> Array:
    """White noise (480 frames,) of unit variance."""
    return white_noise(0, frames * FRAME, seed=seed)


def pulse_train(cycles: NDArray[np.float64], f0: NDArray[np.float64]) -> Array:
    """Sum of all cosine harmonics below 12 kHz at a phase given in cycles, scaled to unit power. Shapes (N,).

    The highest harmonic fades in as the pitch falls, so that a gliding pitch makes no steps.
    """
    # Sines of float32 are thirty times faster; the phase is reduced in float64 first.
    half = (np.pi * (cycles - np.rint(cycles))).astype(np.float32)
    harmonics = (SAMPLE_RATE / 2.0 / f0 - 1.0).astype(np.float32)
    whole = np.floor(harmonics)
    denominator = 2.0 * np.sin(half)
    at_pulse = np.abs(denominator) < 1e-6
    summed = np.sin((2.0 * whole + 1.0) * half) / np.where(at_pulse, np.float32(1.0), denominator) - np.float32(0.5)
    summed = np.where(at_pulse, whole, summed)
    summed += (harmonics - whole) * np.cos(2.0 * (whole + 1.0) * half)
    scaled: Array = summed * np.sqrt(2.0 / harmonics)
    return scaled


class HarmonicStream:
    """Pulse train for pitch frames that arrive in pieces; lags half a frame, because pitch is interpolated."""

    def __init__(self) -> None:
        self._cycles = 0.5
        self._f0 = np.zeros(0)  # the last two frames: the one before, and the one half given out
        self._voiced = np.zeros(0, dtype=bool)
        ramp = (np.arange(FRAME) + 0.5) / FRAME - 0.5
        self._early, self._late = -ramp[: FRAME // 2], ramp[FRAME // 2 :]

    def push(self, f0: NDArray[np.floating], voiced: NDArray[np.generic]) -> Array:
        """Take pitch and voicing (n,); give samples up to the middle of the last frame."""
        count, held = len(f0), len(self._f0)
        if not count:
            return np.zeros(0, dtype=np.float32)
        pitch = np.concatenate([self._f0, np.clip(np.asarray(f0, dtype=np.float64), MIN_PITCH_HZ, MAX_PITCH_HZ)])
        flags = np.concatenate([self._voiced, np.asarray(voiced) > 0])
        self._f0, self._voiced = pitch[-1:], flags[-1:]
        early = _interpolate(pitch, _neighbour(pitch, flags, -1), self._early)[held:]
        late = _interpolate(pitch, _neighbour(pitch, flags, 1), self._late)[:-1]
        if held:
            return self._render(_interleave(late, early), _interleave(flags[:-1], flags[1:]))
        curves = np.concatenate([early[:1], _interleave(late, early[1:])])
        return self._render(curves, np.concatenate([flags[:1], _interleave(flags[:-1], flags[1:])]))

    def finish(self) -> Array:
        """The second half of the last frame."""
        if not len(self._f0):
            return np.zeros(0, dtype=np.float32)
        return self._render(np.repeat(self._f0, FRAME // 2)[None], self._voiced)

    def _render(self, curves: NDArray[np.float64], gates: NDArray[np.bool_]) -> Array:
        """Samples for half frames: pitch per sample (h, 240), voicing (h,)."""
        out = np.zeros(curves.shape, dtype=np.float32)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], gates, [False]]).astype(np.int8)))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if start > 0:
                self._cycles = 0.5
            for first in range(start, end, _BLOCK):
                rows = slice(first, min(end, first + _BLOCK))
                f0 = curves[rows].reshape(-1)
                cycles = self._cycles + np.cumsum(f0 / SAMPLE_RATE)
                self._cycles = float(cycles[-1] % 1.0)
                out[rows] = pulse_train(cycles, f0).reshape(-1, FRAME // 2)
        if not gates[-1]:
            self._cycles = 0.5
        return out.reshape(-1)


def _neighbour(pitch: NDArray[np.float64], voiced: NDArray[np.bool_], step: int) -> NDArray[np.float64]:
    """Pitch of the frame before (-1) or after (1) where both are voiced, else of the frame itself."""
    index = np.clip(np.arange(len(pitch)) + step, 0, len(pitch) - 1)
    return np.where(voiced & voiced[index], pitch[index], pitch)


def _interpolate(
    pitch: NDArray[np.float64], other: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Pitch per sample (n, 240), going from a frame's centre towards its neighbour."""
    return pitch[:, None] + (other - pitch)[:, None] * weight


def _interleave(first: NDArray[Scalar], second: NDArray[Scalar]) -> NDArray[Scalar]:
    """first[0], second[0], first[1], second[1], ..."""
    return np.stack([first, second], axis=1).reshape(-1, *first.shape[1:])


class Excitation:
    """Spectrum frames of pulse train and noise, in step with the vocoder: two per pitch frame, one frame late."""

    def __init__(self, *, seed: int, attempt: int = 0) -> None:
        self._harmonic, self._harmonic_stft, self._noise_stft = HarmonicStream(), StftStream(), StftStream()
        self._seed, self._attempt = seed, attempt
        self._samples = 0

    def push(self, f0: NDArray[np.floating], voiced: NDArray[np.generic]) -> tuple[Array, Array]:
        """Take pitch and voicing (n,); give (harmonic, noise), each (2m, 962), m = n (n - 1 the first time)."""
        return self._spectra(self._harmonic.push(f0, voiced))

    def finish(self) -> tuple[Array, Array]:
        """The frames still owed."""
        harmonic, noise = self._spectra(self._harmonic.finish())
        return (
            np.concatenate([harmonic, self._harmonic_stft.finish()]),
            np.concatenate([noise, self._noise_stft.finish()]),
        )

    def _spectra(self, pulses: Array) -> tuple[Array, Array]:
        noise = white_noise(self._samples, len(pulses), seed=self._seed, attempt=self._attempt)
        self._samples += len(pulses)
        return self._harmonic_stft.push(pulses), self._noise_stft.push(noise)


def silent_frames(count: int) -> Array:
    """Spectrum frames of silence, (count, 962)."""
    return np.zeros((count, 2 * BINS), dtype=np.float32)
