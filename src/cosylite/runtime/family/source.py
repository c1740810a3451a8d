"""The excitation of HiFT: sines at the pitch and its overtones plus noise, mixed down to one signal.

The operation order follows the official code, because phases grow to thousands of radians and float32 rounding is heard
in the comparison: `continuous` accumulates phase per sample (v1), `linear` accumulates per frame and interpolates (v2),
`held` keeps the phase constant within a frame (v3).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
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
        config = self.config
        pitch = np.repeat(f0.astype(np.float32), config.samples_per_frame, axis=1)[..., None]
        voiced = (pitch > config.voiced_threshold).astype(np.float32)
        unvoiced_level = (1 - voiced) * np.float32(config.amplitude) / np.float32(3)
        level = voiced * np.float32(config.noise_deviation) + unvoiced_level
        waves = self._sines(f0.astype(np.float32), phases) * voiced + level * noise[:, : pitch.shape[1]]
        mixed: Array = np.tanh(waves @ self.weight + np.float32(self.bias))
        return mixed[:, None].astype(np.float32)

    def _sines(self, f0: Array, phases: Array | None) -> Array:
        """(B, L, sines)."""
        config = self.config
        multiples = np.arange(1, config.sines + 1).astype(np.float32)
        step = (f0[..., None] * multiples / np.float32(config.sample_rate)).astype(np.float32)
        if config.phase == "continuous":
            cycles: Array = _accumulate(np.repeat(step, config.samples_per_frame, axis=1)) % np.float32(1)
            turn: Array = np.float32(2 * np.pi) * cycles
            if phases is not None:
                turn = turn + phases[:, None].astype(np.float32)
        else:
            per_frame = _accumulate(step % np.float32(1)) * np.float32(2) * np.float32(np.pi)
            turn = _spread(per_frame * np.float32(config.samples_per_frame), config.samples_per_frame, config.phase)
        sines: Array = np.sin(turn) * np.float32(config.amplitude)
        return sines


def _accumulate(x: Array) -> Array:
    """Running sum over time, in double precision, rounded."""
    total: Array = np.cumsum(x, axis=1, dtype=np.float64).astype(np.float32)
    return total


def _spread(x: Array, factor: int, kind: PhaseKind) -> Array:
    """Frames (B, T, C) to samples (B, T * factor, C).

    Interpolation is rounded as fused multiply-adds round, which the official code runs on: positions and the first
    product enter their sums unrounded.
    """
    if kind == "held":
        return np.repeat(x, factor, axis=1)
    scale = np.float64(np.float32(1 / factor))
    position = ((np.arange(x.shape[1] * factor) + 0.5) * scale - 0.5).clip(0).astype(np.float32)
    left = position.astype(np.int64)
    right = np.minimum(left + 1, x.shape[1] - 1)
    weight = (position - left.astype(np.float32))[None, :, None]
    fused = x[:, left].astype(np.float64) * (1 - weight) + x[:, right] * weight
    return fused.astype(np.float32)
