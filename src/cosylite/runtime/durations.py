"""From predicted durations to whole frames, and from frames to what the flow is conditioned on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosylite.text.symbols import LETTERS, PUNCTUATION, TENSE

Array = NDArray[np.float32]
Ints = NDArray[np.int64]

MAX_SYMBOL_FRAMES = 75.0
"""A symbol longer than 1.5 s at normal speed is a mistake of the predictor, not speech."""
FALLBACK_FRAMES = 5.0
_WITHOUT_SOUND = frozenset((" ", *PUNCTUATION))
_LETTERS = frozenset((*LETTERS, *TENSE))


def is_sound(symbol: str) -> bool:
    """Whether a symbol is pronounced; spaces and punctuation are at most pauses."""
    return symbol not in _WITHOUT_SOUND


def is_letter(symbol: str) -> bool:
    """Whether a symbol must be heard for at least a frame; stress, length and tone marks need not."""
    return symbol in _LETTERS


def repair_durations(durations: Array) -> tuple[Array, int]:
    """Replace durations (N,) that cannot be; returns how many there were."""
    bad = ~np.isfinite(durations)
    repaired = np.where(bad, np.float32(FALLBACK_FRAMES), durations)
    too_far = (repaired < 0) | (repaired > MAX_SYMBOL_FRAMES)
    return np.clip(repaired, 0.0, MAX_SYMBOL_FRAMES), int(bad.sum() + too_far.sum())


def whole_frames(durations: Array, letters: NDArray[np.bool_], speed: float) -> Ints:
    """Frames per symbol (N,): rounded boundaries, so that totals stay exact; a letter has at least one frame.

    Args:
        durations: predicted frames at normal speed, (N,).
        letters: whether each symbol is a letter, (N,).
    """
    least = np.cumsum(letters.astype(np.int64))
    wanted = np.rint(np.cumsum(durations.astype(np.float64)) / speed).astype(np.int64)
    ends = least + np.maximum(np.maximum.accumulate(wanted - least), 0)
    return np.diff(ends, prepend=0)


@dataclass(frozen=True)
class Conditioning:
    """What the flow sees of a sentence, per frame: `index` (T,) of the symbol, `position` (T, 2) within it."""

    index: Ints
    position: Array

    @classmethod
    def of(cls, frames: Ints) -> "Conditioning":
        """Spread `frames` per symbol (N,) over time."""
        index = np.repeat(np.arange(len(frames)), frames)
        starts = np.cumsum(frames) - frames
        length = frames[index]
        relative = (np.arange(len(index)) - starts[index] + 0.5) / np.maximum(length, 1)
        position = np.stack([relative, np.log(np.maximum(length, 1)) / 4.0], axis=1)
        return cls(index, position.astype(np.float32))
