"""Gentle second-order filters and a peak limiter for a signal that arrives in pieces."""

import math

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.values import Samples

_BLOCK = 64
_BUTTERWORTH_Q = math.sqrt(0.5)


class Biquad:
    """A second-order section in state-space form, computed 64 samples at a time with matrix products."""

    def __init__(self, b: tuple[float, float, float], a: tuple[float, float]) -> None:
        """y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]."""
        self._state = np.zeros(2)
        step = np.array([[-a[0], 1.0], [-a[1], 0.0]])
        drive = np.array([b[1] - a[0] * b[0], b[2] - a[1] * b[0]])
        powers = [np.eye(2)]
        for _ in range(_BLOCK):
            powers.append(powers[-1] @ step)
        response = np.array([b[0], *(float((p @ drive)[0]) for p in powers[:-2])])
        lag = np.arange(_BLOCK)[:, None] - np.arange(_BLOCK)[None, :]
        self._direct = np.where(lag >= 0, response[np.maximum(lag, 0)], 0.0)
        self._observe = np.array([p[0] for p in powers[:-1]])
        self._advance = powers
        self._inject = np.array([p @ drive for p in powers[:-1]])[::-1].T

    @classmethod
    def low_pass(cls, corner_hz: float, sample_rate: int) -> "Biquad":
        """Butterworth low-pass."""
        cos, alpha = _angles(corner_hz, sample_rate)
        gain = (1.0 - cos) / 2.0
        return cls._normalised((gain, 2.0 * gain, gain), cos, alpha)

    @classmethod
    def high_pass(cls, corner_hz: float, sample_rate: int) -> "Biquad":
        """Butterworth high-pass."""
        cos, alpha = _angles(corner_hz, sample_rate)
        gain = (1.0 + cos) / 2.0
        return cls._normalised((gain, -2.0 * gain, gain), cos, alpha)

    @classmethod
    def _normalised(cls, b: tuple[float, float, float], cos: float, alpha: float) -> "Biquad":
        scale = 1.0 + alpha
        return cls((b[0] / scale, b[1] / scale, b[2] / scale), (-2.0 * cos / scale, (1.0 - alpha) / scale))

    def push(self, samples: Samples) -> Samples:
        """Filter the next samples (N,); returns as many."""
        if not len(samples):
            return samples
        count, rest = divmod(len(samples), _BLOCK)
        blocks = np.zeros((count + (rest > 0), _BLOCK))
        blocks.reshape(-1)[: len(samples)] = samples
        out = blocks @ self._direct.T
        driven = blocks[:count] @ self._inject.T
        states = np.empty((len(blocks), 2))
        full_step = self._advance[_BLOCK]
        for i in range(count):
            states[i] = self._state
            self._state = full_step @ self._state + driven[i]
        if rest:
            states[-1] = self._state
            self._state = self._advance[rest] @ self._state + self._inject[:, _BLOCK - rest :] @ blocks[-1, :rest]
        out += states @ self._observe.T
        return out.reshape(-1)[: len(samples)].astype(np.float32)


def _angles(corner_hz: float, sample_rate: int) -> tuple[float, float]:
    """Cosine of the corner's angle and the bandwidth term of the bilinear transform."""
    omega = 2.0 * math.pi * corner_hz / sample_rate
    return math.cos(omega), math.sin(omega) / (2.0 * _BUTTERWORTH_Q)


KNEE = 0.9


def soften_peaks(samples: Samples) -> tuple[Samples, int]:
    """Keep samples within -1 to 1 with a smooth knee at 0.9; returns how many were above full scale before."""
    size: NDArray[np.float32] = np.abs(samples)
    if not len(samples) or size.max() <= KNEE:
        return samples, 0
    over = KNEE + (1.0 - KNEE) * np.tanh((size - KNEE) / (1.0 - KNEE))
    limited = np.where(size > KNEE, np.copysign(over, samples), samples).astype(np.float32)
    return limited, int((size > 1.0).sum())
