"""Decoding answers back to samples, whatever the format."""

import io
import math
from typing import Any

import av
import numpy as np

from cosylite.audio.values import Samples


def decode(data: bytes, format: str, rate: int = 24000) -> tuple[Samples, int]:
    """Samples and their rate; raw for pcm, FFmpeg's libraries for the rest."""
    if format == "pcm":
        return np.frombuffer(data, "<i2").astype(np.float32) / 32767, rate
    container: Any = av.open(io.BytesIO(data))
    resampler = av.AudioResampler("flt", "mono")
    parts = [out.to_ndarray()[0] for frame in container.decode(audio=0) for out in resampler.resample(frame)]
    return np.concatenate(parts), container.streams.audio[0].rate


def pitch(samples: Samples, rate: int) -> float:
    """Strongest frequency in hertz of the middle of a sound."""
    middle = samples[len(samples) // 4 : 3 * len(samples) // 4]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
    return float(np.argmax(spectrum)) * rate / len(middle)


def loudness(samples: Samples) -> float:
    """Root mean square."""
    return math.sqrt(float(np.mean(samples**2))) if len(samples) else 0.0
