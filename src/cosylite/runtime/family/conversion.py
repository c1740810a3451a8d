"""Recordings whose speech gets another voice: cut into parts that the speech tokenizers take."""

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.recordings import Recording

SOURCE_SECONDS = (0.3, 600.0)
"""Length of a recording to be converted."""
PART_SECONDS = (20.0, 28.0)
"""Longer recordings are cut at the quietest place between these, part by part."""
REST_SECONDS = 1.0
"""What is left after a cut lasts as long at least: the models make little of a syllable alone."""
FRAME_SECONDS = 0.02
PAUSE_FRAMES = 10


def split_recording(recording: Recording) -> list[Recording]:
    """Parts of at most 28 s, cut where it is quietest."""
    parts: list[Recording] = []
    rate, samples = recording.sample_rate, recording.samples
    while len(samples) > PART_SECONDS[1] * rate:
        cut = _quietest(samples, rate)
        parts.append(Recording(samples[:cut], rate))
        samples = samples[cut:]
    return [*parts, Recording(samples, rate)]


def _quietest(samples: NDArray[np.float32], rate: int) -> int:
    """The sample amid the quietest fifth of a second between 20 and 28 s."""
    first, last = (round(seconds * rate) for seconds in PART_SECONDS)
    last = min(last, len(samples) - round(REST_SECONDS * rate))
    frame = round(FRAME_SECONDS * rate)
    stretch = samples[first:last]
    frames = stretch[: len(stretch) // frame * frame].reshape(-1, frame)
    energy = np.convolve((frames.astype(np.float64) ** 2).mean(1), np.ones(PAUSE_FRAMES), "valid")
    return first + (int(energy.argmin()) + PAUSE_FRAMES // 2) * frame
