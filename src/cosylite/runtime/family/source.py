"""The excitation of HiFT: sines at the pitch and its overtones plus noise, mixed down to one signal.

The operation order follows the official code, because phases grow to thousands of radians and float32 rounding is heard
in the comparison: `continuous` accumulates phase per sample (v1), `linear` accumulates per frame and interpolates (v2),
`held` keeps the phase constant within a frame (v3).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Noise = Callable[[int, int], Array]
"""Noise (1, count, sines) from a sample on: `noise(start, count)`."""
PhaseKind = Literal["continuous", "linear", "held"]


@dataclass(frozen=True)
class SourceConfig:
    """Sizes and levels of the excitation."""

    sample_rate: int
    samples_per_frame: int
    sines: int = 9
    amplitude: float = 0.1
    noise_deviation: float = 0.003
    voiced_threshold: float = 10.0
    """Hz; at or below it a frame is unvoiced."""
    phase: PhaseKind = "held"


@dataclass(frozen=True)
class HarmonicSource:
    """Turns pitch into excitation; `weight` (sines,) and `bias` mix the sines."""

    config: SourceConfig
    weight: Array
    bias: float

    def __call__(self, f0: Array, noise: Array, phases: Array | None = None) -> Array:
        """Excitation of a stretch.

        Args:
            f0: (B, T) Hz per mel frame.
            noise: (B, at least T * samples_per_frame, sines); normal in v1 and v2, uniform in v3.
            phases: (B, sines) radians at the start; only v1 uses them.

        Returns:
            (B, 1, T * samples_per_frame), between -1 and 1.
        """
        config, f0 = self.config, f0.astype(np.float32)
        size = f0.shape[1] * config.samples_per_frame
        if config.phase == "continuous":
            steps = np.repeat(self._steps(f0), config.samples_per_frame, axis=1)
            turn = np.float32(2 * np.pi) * (_accumulate(steps) % np.float32(1))
            turn = turn if phases is None else turn + phases[:, None].astype(np.float32)
        else:
            turn = _spread(self.frame_turns(f0)[0], config, 0, range(size))
        return self.mix(turn, f0, noise[:, :size])

    def mix(self, turn: Array, f0: Array, noise: Array) -> Array:
        """Excitation (B, 1, L) of phases (B, L, sines) in radians, pitch (B, T) and noise (B, L, sines)."""
        config = self.config
        pitch = np.repeat(f0, config.samples_per_frame, axis=1)[..., None]
        voiced = (pitch > config.voiced_threshold).astype(np.float32)
        unvoiced_level = (1 - voiced) * np.float32(config.amplitude) / np.float32(3)
        level = voiced * np.float32(config.noise_deviation) + unvoiced_level
        waves = np.sin(turn) * np.float32(config.amplitude) * voiced + level * noise
        mixed: Array = np.tanh(waves @ self.weight + np.float32(self.bias))
        return mixed[:, None].astype(np.float32)

    def frame_turns(self, f0: Array, start: NDArray[np.float64] | None = None) -> tuple[Array, NDArray[np.float64]]:
        """Phase of every frame, and the cycles to go on from.

        Args:
            f0: (B, T) Hz.
            start: (B, 1, sines) cycles before the first frame; None at the beginning.

        Returns:
            Radians (B, T, sines), growing without wrapping, and the cycles (B, 1, sines) after the last frame.
        """
        cycles = np.cumsum(self._steps(f0) % np.float32(1), axis=1, dtype=np.float64)
        cycles = cycles if start is None else cycles + start
        turn = cycles.astype(np.float32) * np.float32(2) * np.float32(np.pi)
        return turn * np.float32(self.config.samples_per_frame), cycles[:, -1:]

    def _steps(self, f0: Array) -> Array:
        """Cycles per sample (B, T, sines)."""
        multiples = np.arange(1, self.config.sines + 1).astype(np.float32)
        return (f0[..., None] * multiples / np.float32(self.config.sample_rate)).astype(np.float32)


class SourceStream:
    """Excitation of pitch that arrives in pieces, equal to that of the whole (v2 and v3)."""

    def __init__(self, source: HarmonicSource, noise: Noise) -> None:
        self._source, self._noise = source, noise
        self._cycles: NDArray[np.float64] | None = None
        self._f0 = np.zeros((1, 0), np.float32)
        self._turns = np.zeros((1, 0, source.config.sines), np.float32)
        self._first = 0  # frame at which the two begin
        self._done = 0  # frames given out

    def push(self, f0: Array, *, final: bool) -> Array:
        """Excitation (1, 1, L) of the frames (1, T) that are complete now; v2 waits for the frame after."""
        if f0.shape[1]:
            turns, self._cycles = self._source.frame_turns(f0.astype(np.float32), self._cycles)
            self._turns = np.concatenate([self._turns, turns], 1)
            self._f0 = np.concatenate([self._f0, f0.astype(np.float32)], 1)
        config = self._source.config
        known = self._first + self._f0.shape[1]
        ready = known if final or config.phase == "held" else known - 1
        if ready <= self._done:
            return np.zeros((1, 1, 0), np.float32)
        samples = range(self._done * config.samples_per_frame, ready * config.samples_per_frame)
        turn = _spread(self._turns, config, self._first, samples)
        fresh = self._f0[:, self._done - self._first : ready - self._first]
        out = self._source.mix(turn, fresh, self._noise(samples.start, len(samples)))
        keep = max(ready - 1 - self._first, 0)
        self._turns, self._f0 = self._turns[:, keep:], self._f0[:, keep:]
        self._first, self._done = self._first + keep, ready
        return out


def _accumulate(x: Array) -> Array:
    """Running sum over time, in double precision, rounded."""
    total: Array = np.cumsum(x, axis=1, dtype=np.float64).astype(np.float32)
    return total


def _spread(x: Array, config: SourceConfig, first: int, samples: range) -> Array:
    """Frames (B, T, C), of which the first is number `first`, to the given samples (B, L, C).

    Interpolation is rounded as fused multiply-adds round, which the official code runs on: positions and the first
    product enter their sums unrounded.
    """
    index, factor = np.arange(samples.start, samples.stop), config.samples_per_frame
    if config.phase == "held":
        return x[:, index // factor - first]
    scale = np.float64(np.float32(1 / factor))
    position = ((index + 0.5) * scale - 0.5).clip(0).astype(np.float32)
    left = position.astype(np.int64)
    weight = (position - left.astype(np.float32))[None, :, None]
    right = np.minimum(left + 1 - first, x.shape[1] - 1)
    fused = x[:, left - first].astype(np.float64) * (1 - weight) + x[:, right] * weight
    return fused.astype(np.float32)
