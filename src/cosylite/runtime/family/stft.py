"""The short Fourier transforms at the ends of HiFT's filter network. NumPy only."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

MAX_MAGNITUDE = 100.0


def _window(n_fft: int) -> NDArray[np.float64]:
    return np.hanning(n_fft + 1)[:-1]


def source_spectrum(source: Array, n_fft: int, hop: int) -> Array:
    """Real, then imaginary parts of an excitation (B, 1, L), centred and reflected at the ends.

    Returns:
        (B, n_fft + 2, L / hop + 1).
    """
    padded = np.pad(source[:, 0], ((0, 0), (n_fft // 2, n_fft // 2)), mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft, axis=1)[:, ::hop]
    spectrum = np.fft.rfft(frames * _window(n_fft)).transpose(0, 2, 1)
    return np.concatenate([spectrum.real, spectrum.imag], 1).astype(np.float32)


def waveform(rows: Array, n_fft: int, hop: int, limit: float) -> Array:
    """Samples (B, L) of log-magnitudes and phases (B, n_fft + 2, L / hop + 1), limited to `limit`."""
    half = n_fft // 2 + 1
    magnitude = np.minimum(np.exp(rows[:, :half]), MAX_MAGNITUDE)
    spectrum = (magnitude * np.exp(1j * np.sin(rows[:, half:]))).transpose(0, 2, 1)
    window = _window(n_fft)
    frames = np.fft.irfft(spectrum, n_fft) * window
    wave = _overlap_add(frames, hop)
    weight = _overlap_add(np.broadcast_to(window**2, (1, *frames.shape[1:])), hop)
    edge = n_fft // 2
    samples = wave[:, edge:-edge] / weight[:, edge:-edge]
    return np.clip(samples, -limit, limit).astype(np.float32)


def _overlap_add(frames: NDArray[np.float64], hop: int) -> NDArray[np.float64]:
    """Sum frames (B, F, n) at `hop` samples from each other: (B, (F - 1) hop + n)."""
    batch, count, size = frames.shape
    out = np.zeros((batch, count + size // hop - 1, hop))
    for part in range(size // hop):
        out[:, part : part + count] += frames[:, :, part * hop : (part + 1) * hop]
    return out.reshape(batch, -1)
