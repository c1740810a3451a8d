"""nano's vocoder: a pulse train and white noise, as STFT frames, shaped by predicted filters; all at frame rate.

The idea is that of HiFT (source, filter, inverse STFT; Li et al., 2023) and of harmonic-plus-noise models, moved from
sample rate to 100 frames a second. The spectral envelope that the mel already tells is added to the predicted gains,
so that training starts from a voice, not from noise.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cosylite.lab.nano.blocks import CausalStack, stack_frames
from cosylite.lab.nano.config import BINS, MEL_BANDS, VocoderConfig
from cosylite.lab.nano.features import HIGHEST_HZ, N_FFT, SAMPLE_RATE, mel_filters
from cosylite.runtime.stft import HOP
from cosylite.runtime.stft import N_FFT as WINDOW


def envelope_matrix() -> np.ndarray:
    """(80, 481): linear interpolation from the centres of the mel bands to the bins of the output STFT."""
    filters = mel_filters()
    centres = (filters * np.arange(N_FFT // 2 + 1)[:, None]).sum(0) / filters.sum(0) * SAMPLE_RATE / N_FFT
    bins = np.arange(BINS) * SAMPLE_RATE / WINDOW
    identity = np.eye(MEL_BANDS)
    matrix = np.stack([np.interp(bins, centres, row) for row in identity])
    fade = np.where(bins > HIGHEST_HZ, 0.0, 1.0)
    return (matrix * fade).astype(np.float32)


class Vocoder(nn.Module):
    """Mel, pitch and excitation to the spectrum of the speech.

    Args:
        config: sizes.
        mel_mean: (80,) mean of the log-mel.
        mel_std: (80,) deviation of the log-mel.
    """

    envelope: Tensor
    band_mean: Tensor
    band_std: Tensor
    band_level: Tensor

    def __init__(self, config: VocoderConfig, mel_mean: np.ndarray, mel_std: np.ndarray) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.enter = nn.Linear(config.kernel * (MEL_BANDS + 2), width)
        self.frames = CausalStack(width, config.hidden, config.kernel, config.frame_dilations)
        self.to_hops = nn.Linear(width, 2 * width)
        self.hops = CausalStack(width, config.hidden, config.kernel, config.hop_dilations)
        self.norm = nn.LayerNorm(width)
        self.leave = nn.Linear(width, 3 * BINS)
        nn.init.normal_(self.leave.weight, std=0.01)
        nn.init.zeros_(self.leave.bias)
        self.register_buffer("band_mean", torch.tensor(mel_mean, dtype=torch.float32))
        self.register_buffer("band_std", torch.tensor(mel_std, dtype=torch.float32))
        # A band of equal area sums magnitudes of a 1920-point spectrum; the excitation has unit power, whose
        # 960-point Hann spectrum has magnitude sqrt(960 * 3 / 8) = 19.
        area = np.log(mel_filters().sum(0) * np.sqrt(N_FFT * 3 / 8)).astype(np.float32)
        self.register_buffer("band_level", torch.from_numpy(area))
        self.register_buffer("envelope", torch.from_numpy(envelope_matrix()))
        self.past_in = config.kernel - 1 + config.lookahead
        self.past = self.past_in + self.frames.past + self.hops.past

    def forward(
        self, mel: Tensor, pitch: Tensor, harmonic: Tensor, noise: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        """A stretch of T mel frames; output frame pair t belongs to mel frame t - lookahead.

        Args:
            mel: (B, T, 80) normalised log-mel.
            pitch: (B, T, 2) normalised log F0, voicing.
            harmonic: (B, 2 T, 962) STFT of the pulse train for the output frames.
            noise: (B, 2 T, 962) STFT of the noise for the output frames.
            state: (B, past, width); its first rows hold past inputs in their first 82 channels.

        Returns:
            Spectrum (B, 2 T, 962) and next state.
        """
        inputs = torch.cat([mel, pitch], dim=-1)
        width = self.config.width
        seen = torch.cat([state[:, : self.past_in, : MEL_BANDS + 2], inputs], dim=1)
        recent = seen[:, self.config.lookahead :]
        x = self.enter(stack_frames(recent, self.config.kernel, 1))
        split = self.past_in + self.frames.past
        x, frames_state = self.frames(x, state[:, self.past_in : split])
        batch, count = x.shape[0], x.shape[1]
        x = self.to_hops(x).reshape(batch, 2 * count, width)
        x, hops_state = self.hops(x, state[:, split:])
        out = self.leave(self.norm(x))
        level = self._level(seen[:, self.past_in - self.config.lookahead :][:, :count, :MEL_BANDS])
        spectrum = self._shape(out.float(), level, harmonic, noise)
        kept = F.pad(seen[:, count:], (0, width - MEL_BANDS - 2))
        return spectrum, torch.cat([kept, frames_state.float(), hops_state.float()], dim=1)

    def _level(self, mel: Tensor) -> Tensor:
        """Log gain (B, 2 T, 481) that the mel (B, T, 80) of the output frames tells."""
        level = (mel.float() * self.band_std + self.band_mean - self.band_level) @ self.envelope
        return level.repeat_interleave(2, dim=1)

    def _shape(self, out: Tensor, level: Tensor, harmonic: Tensor, noise: Tensor) -> Tensor:
        gain_h, phase, gain_n = out.chunk(3, dim=-1)
        loud = torch.exp((level + gain_h).clamp(max=6.0))
        real, imag = loud * phase.cos(), loud * phase.sin()
        hiss = torch.exp((level + gain_n - 1.0).clamp(max=6.0))
        h_real, h_imag = harmonic.chunk(2, dim=-1)
        n_real, n_imag = noise.chunk(2, dim=-1)
        return torch.cat(
            [real * h_real - imag * h_imag + hiss * n_real, real * h_imag + imag * h_real + hiss * n_imag], -1
        )

    def start(self, batch: int) -> Tensor:
        """The state before the first frame."""
        return torch.zeros(batch, self.past, self.config.width)


def waveform(spectrum: Tensor) -> Tensor:
    """Inverse STFT of (B, 2 T, 962) to samples (B, 480 T), differentiable; inside the edges equal to the runtime's."""
    count = spectrum.shape[1]
    frames = torch.fft.irfft(torch.complex(*spectrum.chunk(2, dim=-1)), n=WINDOW)
    frames = frames * torch.hann_window(WINDOW, periodic=True, device=spectrum.device) / 1.5
    length = (count - 1) * HOP + WINDOW
    folded = F.fold(frames.transpose(1, 2), (1, length), (1, WINDOW), stride=(1, HOP))
    return folded[:, 0, 0, WINDOW // 2 : WINDOW // 2 + count * HOP]
