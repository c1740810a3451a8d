"""The flow of the official families, as far as it is arithmetic: times, steps, lengths."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

State = TypeVar("State")
"""An array or tensor that can be added and scaled."""


class Step(NamedTuple):
    """One Euler step: from `time`, by `size`."""

    time: float
    size: float


def cosine_times(steps: int) -> NDArray[np.float32]:
    """The official times, 1 - cos(k pi / 2 steps): (steps + 1,), from 0 to 1, dense at the start."""
    even = np.linspace(0, 1, steps + 1, dtype=np.float32)
    times: NDArray[np.float32] = np.float32(1) - np.cos(even * np.float32(0.5 * np.pi))
    return times


def euler_steps(times: NDArray[np.float32]) -> list[Step]:
    """Steps through `times` (n + 1,); the running time is accumulated in float32 as the official solver does."""
    steps: list[Step] = []
    time, size = times[0], times[1] - times[0]
    for k in range(1, len(times)):
        steps.append(Step(float(time), float(size)))
        time = time + size
        if k < len(times) - 1:
            size = times[k + 1] - time
    return steps


def euler(velocity: Callable[[State, float], State], x: State, steps: Sequence[Step]) -> State:
    """Integrate `velocity(x, time)` from `x`."""
    for time, size in steps:
        x = x + size * velocity(x, time)  # type: ignore[operator, assignment]
    return x


def target_frames(tokens: int, token_rate: int, sample_rate: int, hop: int) -> int:
    """Mel frames of `tokens` speech tokens in v1; the order of the operations decides the rounding."""
    return int(tokens / token_rate * sample_rate / hop)


EDGE_TOKENS = 20
"""v1: so many tokens at either end of a long text are brought to the frame rate apart from the rest, ..."""
EDGE_FRAMES = 34
"""... to so many frames, which is also the overlap of streamed chunks."""


def segments(tokens: int, frames: int) -> list[tuple[int, int, int]]:
    """Stretches of a text in v1 as (first token, end, frames); the ends of a long one keep an exact rate."""
    if tokens <= 2 * EDGE_TOKENS:
        return [(0, tokens, frames)]
    return [
        (0, EDGE_TOKENS, EDGE_FRAMES),
        (EDGE_TOKENS, tokens - EDGE_TOKENS, frames - 2 * EDGE_FRAMES),
        (tokens - EDGE_TOKENS, tokens, EDGE_FRAMES),
    ]


def resize_frames(mel: NDArray[np.float32], speed: float) -> NDArray[np.float32]:
    """Mel (B, bands, T) at another speed: int(T / speed) frames."""
    return resize(mel, int(mel.shape[-1] / speed))


def resize(x: NDArray[np.float32], new: int) -> NDArray[np.float32]:
    """Linear interpolation over time, half-pixel centres, edges held: (B, C, T) to (B, C, new)."""
    old = x.shape[-1]
    if not old or not new:
        return np.zeros((*x.shape[:-1], new), np.float32)
    position = np.maximum((np.arange(new, dtype=np.float32) + 0.5) * np.float32(old / new) - 0.5, 0)
    left = np.minimum(position.astype(np.int64), old - 1)
    right = np.minimum(left + 1, old - 1)
    weight = (position - left).astype(np.float32)
    out: NDArray[np.float32] = x[..., left] * (1 - weight) + x[..., right] * weight
    return out
