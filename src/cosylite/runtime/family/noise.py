"""The noises of the official families.

v2 and v3 start every flow from the same noise, and v3 excites its vocoder with the same noise, whatever the seed.
A bundle holds the first 30 s of those; what goes beyond, and all other noise, is counted out by seed and position.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.family.kinds import Family
from cosylite.runtime.noise import normal_frames, white_noise

Array = NDArray[np.float32]

FLOW, SOURCE = "flow_noise", "source_noise"
FIXED: Mapping[Family, tuple[str, ...]] = {"v1": (), "v2": (FLOW,), "v3": (FLOW, SOURCE)}
"""The tables of a family; each lies in a .npy file of its name."""
_PHASES = 1
"""Keeps the phases of v1 apart from its noise."""


@dataclass(frozen=True)
class Noises:
    """Noise by position: any stretch of it can be had, at any time, with the same values."""

    bands: int
    sines: int
    flow_table: Array | None = None
    """v2, v3: (1, bands, frames), the head of the fixed noise."""
    source_table: Array | None = None
    """v3: (1, samples, sines), the head of the fixed noise."""

    def flow(self, frames: int, seed: int) -> Array:
        """Noise (1, bands, frames) from which the flow starts."""
        fixed = self.flow_table
        if fixed is None:
            return _by_band(normal_frames(0, frames, self.bands, seed=seed))
        known = fixed.shape[-1]
        beyond = normal_frames(known, frames - known, self.bands, seed=0)
        return np.concatenate([fixed[..., :frames], _by_band(beyond)], -1)

    def source(self, start: int, count: int, seed: int) -> Array:
        """Noise (1, count, sines) of the excitation: normal, in v3 uniform between 0 and 1."""
        fixed = self.source_table
        if fixed is None:
            return normal_frames(start, count, self.sines, seed=seed, purpose="excitation")[None]
        head = fixed[:, start : start + count]
        first, rest = start + head.shape[1], count - head.shape[1]
        flat = white_noise(first * self.sines, rest * self.sines, seed=0)
        uniform = flat.reshape(1, rest, self.sines) / np.float32(np.sqrt(12)) + np.float32(0.5)
        return np.concatenate([head, uniform], 1)

    def phases(self, seed: int) -> Array:
        """Phases (1, sines) in radians at which the sines of v1 start; the first starts at 0."""
        phases = white_noise(0, self.sines, seed=seed, attempt=_PHASES) * np.float32(np.pi / np.sqrt(3))
        phases[0] = 0
        return phases[None]


def _by_band(frames: Array) -> Array:
    return np.ascontiguousarray(frames.T)[None]
