"""Random numbers addressed by position: the same seed and position give the same number however a signal is cut."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Purpose = Literal["excitation", "flow"]
_PURPOSES: tuple[Purpose, ...] = ("excitation", "flow")
_WORDS_PER_STEP = 4  # a Philox counter step makes four 64-bit words
_SAMPLES_PER_STEP = 8


def _bits(seed: int, purpose: Purpose, attempt: int, step: int, steps: int) -> NDArray[np.uint32]:
    key = np.array([seed, (_PURPOSES.index(purpose) << 32) | attempt], dtype=np.uint64)
    philox = np.random.Philox(key=key, counter=np.array([step, 0, 0, 0], dtype=np.uint64))
    return np.asarray(philox.random_raw(steps * _WORDS_PER_STEP), dtype="<u8").view("<u4")


def white_noise(start: int, count: int, *, seed: int, attempt: int = 0) -> Array:
    """Uniform white noise of unit variance for samples `[start, start + count)`, shape (count,)."""
    if count <= 0:
        return np.zeros(0, dtype=np.float32)
    step = start // _SAMPLES_PER_STEP
    steps = -(-(start + count) // _SAMPLES_PER_STEP) - step
    bits = _bits(seed, "excitation", attempt, step, steps)
    offset = start - step * _SAMPLES_PER_STEP
    unit = bits[offset : offset + count].astype(np.float32) * np.float32(2.0**-32)
    return (unit - np.float32(0.5)) * np.float32(np.sqrt(12.0))


def normal_frames(
    start: int, count: int, width: int, *, seed: int, attempt: int = 0, purpose: Purpose = "flow"
) -> Array:
    """Standard normal numbers for frames `[start, start + count)`, shape (count, width)."""
    if count <= 0:
        return np.zeros((0, width), dtype=np.float32)
    per_frame = -(-width // _SAMPLES_PER_STEP)
    bits = _bits(seed, purpose, attempt, start * per_frame, count * per_frame)
    pairs = ((bits.astype(np.float64) + 0.5) * 2.0**-32).reshape(count, 2, -1)
    radius, angle = np.sqrt(-2.0 * np.log(pairs[:, 0])), 2.0 * np.pi * pairs[:, 1]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return normal[:, :width].astype(np.float32)
