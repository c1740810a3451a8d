"""What the CosyVoice models hear of a prompt: mels for the flow and the tokenizer, features for the speaker network.

All functions take mono samples (N,) in -1..1 at the rate they name.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True)
class MelSettings:
    """Log-mel of a flow; `high` is the upper edge in Hz."""

    sample_rate: int
    n_fft: int
    hop: int
    high: float
    bands: int = 80


FLOW_MELS = {
    "v1": MelSettings(22050, 1024, 256, 8000.0),
    "v2": MelSettings(24000, 1920, 480, 8000.0),
    "v3": MelSettings(24000, 1920, 480, 12000.0),
}
"""The mels of the three families; v2 and v3 differ only in the upper edge."""

SPEECH_RATE = 16000
"""Rate of the samples for the speech tokenizer and the speaker network."""


def prompt_mel(samples: Array, settings: MelSettings) -> Array:
    """Log-mel (bands, frames) of samples at `settings.sample_rate`, as the flow of a family wants its prompt."""
    edge = (settings.n_fft - settings.hop) // 2
    padded = np.pad(samples, edge, mode="reflect")
    magnitude = np.sqrt(_power(padded, settings.n_fft, settings.hop) + 1e-9)
    weights = slaney_filters(settings.sample_rate, settings.n_fft, settings.bands, settings.high)
    out: Array = np.log(np.maximum(magnitude @ weights.T, 1e-5)).T.astype(np.float32)
    return out


def token_mel(samples: Array) -> Array:
    """Log-mel (128, frames) at 16 kHz, 100 frames a second, as the speech tokenizers want it."""
    n_fft, hop = 400, 160
    power = _power(np.pad(samples, n_fft // 2, mode="reflect"), n_fft, hop)[:-1]
    mel = power @ slaney_filters(SPEECH_RATE, n_fft, 128, SPEECH_RATE / 2).T
    log = np.log10(np.maximum(mel, 1e-10))
    out: Array = ((np.maximum(log, log.max() - 8) + 4) / 4).T.astype(np.float32)
    return out


def speaker_features(samples: Array) -> Array:
    """Mean-free filter bank (frames, 80) at 16 kHz, 100 frames a second, as the speaker network wants it."""
    bank = filter_bank(samples)
    out: Array = bank - bank.mean(0, keepdims=True)
    return out


def filter_bank(samples: Array) -> Array:
    """Log filter bank energies (frames, 80) at 16 kHz in the manner of Kaldi, without dither."""
    size, hop, n_fft = 400, 160, 512
    frames = _frames(samples.astype(np.float64), size, hop)
    frames = frames - frames.mean(1, keepdims=True)
    before = np.concatenate([frames[:, :1], frames[:, :-1]], 1)
    window = np.hanning(size) ** 0.85
    power = np.abs(np.fft.rfft((frames - 0.97 * before) * window, n_fft)) ** 2
    energies = power[:, : n_fft // 2] @ _kaldi_filters(80, n_fft).T
    out: Array = np.log(np.maximum(energies, np.finfo(np.float32).eps)).astype(np.float32)
    return out


def _frames(samples: NDArray[np.float64], size: int, hop: int) -> NDArray[np.float64]:
    """Overlapping frames (count, size) that lie wholly inside the samples."""
    if len(samples) < size:
        return np.zeros((0, size))
    return np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]


def _power(samples: Array, n_fft: int, hop: int) -> NDArray[np.float64]:
    """Power spectrum (frames, n_fft / 2 + 1) under a periodic Hann window."""
    window = np.hanning(n_fft + 1)[:-1]
    spectrum = np.fft.rfft(_frames(samples.astype(np.float64), n_fft, hop) * window)
    return spectrum.real**2 + spectrum.imag**2


def _hz_of_slaney(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Hz of the mel scale that is linear up to 1 kHz and logarithmic above."""
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def _slaney_of_hz(hz: float) -> float:
    return float(hz * 3 / 200 if hz < 1000 else 15 + 27 * np.log(hz / 1000) / np.log(6.4))


@lru_cache(maxsize=8)
def slaney_filters(sample_rate: int, n_fft: int, bands: int, high: float) -> NDArray[np.float64]:
    """Triangles (bands, n_fft / 2 + 1) from 0 Hz to `high`, each of unit area."""
    edges = _hz_of_slaney(np.linspace(0, _slaney_of_hz(high), bands + 2))
    bins = np.arange(n_fft // 2 + 1) * sample_rate / n_fft
    rise = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    filters: NDArray[np.float64] = np.maximum(0, np.minimum(rise, fall)) * (2 / (edges[2:] - edges[:-2]))[:, None]
    filters.setflags(write=False)
    return filters


@lru_cache(maxsize=2)
def _kaldi_filters(bands: int, n_fft: int, low: float = 20.0) -> NDArray[np.float64]:
    """Triangles (bands, n_fft / 2), straight on the mel scale, from `low` Hz to half the rate."""

    def mel(hz: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled: NDArray[np.float64] = 1127 * np.log(1 + hz / 700)
        return scaled

    first, last = mel(np.array([low, SPEECH_RATE / 2]))
    edges = np.linspace(first, last, bands + 2)
    bins = mel(np.arange(n_fft // 2) * SPEECH_RATE / n_fft)
    rise = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    filters: NDArray[np.float64] = np.maximum(0, np.minimum(rise, fall))
    filters.setflags(write=False)
    return filters
