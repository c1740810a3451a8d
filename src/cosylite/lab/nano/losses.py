"""Losses on waveforms: spectra at several resolutions, mel, and the adversarial pair."""

import functools

import torch
from torch import Tensor
from torch.nn import functional as F

from cosylite.lab.nano.features import FLOOR, HOP, N_FFT, mel_filters

RESOLUTIONS = ((512, 128), (1024, 256), (2048, 512))
"""FFT size and hop, as in Parallel WaveGAN (Yamamoto et al., 2020)."""


@functools.cache
def _window(size: int) -> Tensor:
    return torch.hann_window(size)


@functools.cache
def _filters() -> Tensor:
    return torch.from_numpy(mel_filters())


def magnitude(samples: Tensor, size: int, hop: int) -> Tensor:
    """Magnitude spectrum (B, frames, bins) of (B, N), without padding."""
    frames = samples.unfold(1, size, hop) * _window(size)
    spectrum = torch.fft.rfft(frames)
    power: Tensor = spectrum.real.square() + spectrum.imag.square() + 1e-7
    return power.sqrt()


def spectral_loss(made: Tensor, real: Tensor) -> Tensor:
    """Spectral convergence plus L1 of log magnitudes, mean over the resolutions."""
    total = made.new_zeros(())
    for size, hop in RESOLUTIONS:
        m, r = magnitude(made, size, hop), magnitude(real, size, hop)
        convergence = (m - r).norm() / (r.norm() + 1e-6)
        total = total + convergence + (m.clamp(min=1e-4).log() - r.clamp(min=1e-4).log()).abs().mean()
    return total / len(RESOLUTIONS)


def mel_loss(made: Tensor, real: Tensor) -> Tensor:
    """L1 of the log-mel."""
    return (log_mel(made) - log_mel(real)).abs().mean()


def log_mel(samples: Tensor) -> Tensor:
    """Log-mel (B, frames, 80) of (B, N), without padding."""
    return (magnitude(samples, N_FFT, HOP) @ _filters()).clamp(min=FLOOR).log()


def discriminator_loss(real: list[Tensor], made: list[Tensor]) -> Tensor:
    """Least squares (Mao et al., 2017): real to 1, made to 0."""
    return torch.stack([(r - 1).square().mean() + m.square().mean() for r, m in zip(real, made, strict=True)]).sum()


def generator_loss(made: list[Tensor]) -> Tensor:
    """Least squares: made to 1."""
    return torch.stack([(m - 1).square().mean() for m in made]).sum()


def feature_loss(real: list[list[Tensor]], made: list[list[Tensor]]) -> Tensor:
    """L1 between the inner features of the discriminators (Kumar et al., 2019)."""
    parts = [F.l1_loss(m, r.detach()) for rs, ms in zip(real, made, strict=True) for r, m in zip(rs, ms, strict=True)]
    return torch.stack(parts).sum()
