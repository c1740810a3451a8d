"""Acoustic features of nano: log-mel at 50 Hz, F0 and voicing at the same frames, durations in frames.

The mel follows the settings of CosyVoice 2 (24 kHz, FFT 1920, hop 480, 80 Slaney bands, magnitude spectrum, natural
log, floor 1e-5), except that its bands reach 12 kHz, because the vocoder must draw fricatives from them.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from cosylite.lab.nano import teacher

SAMPLE_RATE = 24_000
N_FFT = 1920
HOP = 480
BANDS = 80
HIGHEST_HZ = 12_000.0
FLOOR = 1e-5

Floats = NDArray[np.float32]


def _hz_to_slaney(hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Slaney's mel scale: linear to 1 kHz, then 27 steps per factor 6.4 (Auditory Toolbox, 1998)."""
    return np.where(hz < 1000.0, hz * 3 / 200, 15 + 27 * np.log(np.maximum(hz, 1000.0) / 1000.0) / np.log(6.4))


def _slaney_to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < 15, mel * 200 / 3, 1000.0 * np.exp((mel - 15) * np.log(6.4) / 27))


@functools.cache
def mel_filters() -> Floats:
    """Triangular filters of equal area, (N_FFT // 2 + 1, BANDS)."""
    edges = _slaney_to_hz(np.linspace(0, _hz_to_slaney(np.array(HIGHEST_HZ)), BANDS + 2))
    bins = np.arange(N_FFT // 2 + 1) * SAMPLE_RATE / N_FFT
    rise = (bins[:, None] - edges[None, :-2]) / np.diff(edges)[None, :-1]
    fall = (edges[None, 2:] - bins[:, None]) / np.diff(edges)[None, 1:]
    area = 2.0 / (edges[2:] - edges[:-2])
    return (np.maximum(0, np.minimum(rise, fall)) * area).astype(np.float32)


@functools.cache
def _window() -> Floats:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(N_FFT) / N_FFT)).astype(np.float32)


def log_mel(samples: Floats) -> Floats:
    """Log-mel (T, 80) of `samples` (N,), T = ceil(N / 480); frame t is centred on sample 480 t + 240."""
    frames = -(-len(samples) // HOP)
    side = (N_FFT - HOP) // 2
    padded = np.pad(samples, (side, side + frames * HOP - len(samples)))
    view = np.lib.stride_tricks.sliding_window_view(padded, N_FFT)[::HOP]
    magnitude = np.abs(np.fft.rfft(view * _window(), axis=1)).astype(np.float32)
    mel: Floats = np.log(np.maximum(magnitude @ mel_filters(), FLOOR))
    return mel


def frame_durations(units: NDArray[np.int32]) -> NDArray[np.int32]:
    """Teacher durations (P,) in units of 600 samples to frames of 480: cumulative boundaries are rounded."""
    bounds = np.round(np.cumsum(units) * (teacher.DURATION_UNIT / HOP)).astype(np.int64)
    return np.diff(bounds, prepend=0).astype(np.int32)


def frame_pitch(f0: Floats, frames: int) -> tuple[Floats, Floats]:
    """Teacher F0 (80 Hz) at `frames` frame centres: (log F0 (T,), voicing (T,) of 0 or 1).

    Log F0 is interpolated through unvoiced stretches, so that it is smooth everywhere.
    """
    centres = (np.arange(frames) + 0.5) * HOP
    times = (np.arange(len(f0)) + 0.5) * teacher.F0_HOP
    voiced = f0 > teacher.LOWEST_F0
    nearest = np.clip((centres / teacher.F0_HOP).astype(np.int64), 0, len(f0) - 1)
    if not voiced.any():
        return np.full(frames, np.log(150.0), np.float32), np.zeros(frames, np.float32)
    smooth = np.interp(centres, times[voiced], np.log(f0[voiced]))
    return smooth.astype(np.float32), voiced[nearest].astype(np.float32)
