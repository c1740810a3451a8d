"""HiFT: mel to waveform through a pitch predictor, a harmonic source and a filter network that ends in an inverse STFT.

v3 is causal: convolutions look to the left only, apart from a few future mel frames at the input.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from cosylite.lab.models.config import VocoderConfig
from cosylite.runtime.family.source import HarmonicSource, PhaseKind, SourceConfig

MAX_MAGNITUDE = 100.0
PER_SAMPLE_RATE = 22050
"""At this rate the official code accumulates the phase of the source per sample."""


class PaddedConv(nn.Conv1d):
    """Convolution that keeps the length: centred, to the left, or (`future`) to the right."""

    def __init__(self, size: int, out: int, kernel: int, *, dilation: int = 1, causal: bool) -> None:
        super().__init__(size, out, kernel, dilation=dilation)
        reach = (kernel - 1) * dilation
        self.pad = (reach, 0) if causal else (reach // 2, reach - reach // 2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, size, T) to (B, out, T)."""
        return super().forward(F.pad(x, self.pad))


class Snake(nn.Module):
    """x + sin^2(a x) / a, with one a per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, T) to the same shape."""
        alpha = self.alpha[:, None]
        return x + torch.sin(x * alpha).square() / (alpha + 1e-9)


class SnakeBlock(nn.Module):
    """Residual pairs of a dilated and a plain convolution."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...], *, causal: bool) -> None:
        super().__init__()

        def convs(sizes: tuple[int, ...]) -> nn.ModuleList:
            return nn.ModuleList(PaddedConv(channels, channels, kernel, dilation=d, causal=causal) for d in sizes)

        self.dilated, self.plain = convs(dilations), convs((1,) * len(dilations))
        self.before = nn.ModuleList(Snake(channels) for _ in dilations)
        self.between = nn.ModuleList(Snake(channels) for _ in dilations)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, T) to the same shape."""
        for before, dilated, between, plain in zip(self.before, self.dilated, self.between, self.plain, strict=True):
            x = x + plain(between(dilated(before(x))))
        return x


class PitchPredictor(nn.Module):
    """Pitch in Hz per mel frame. v3 works in double precision: its source magnifies the slightest change of pitch."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        width, self.causal = config.pitch_channels, config.causal
        self.look_right = config.pitch_look_right if config.causal else 0
        first = nn.Conv1d(config.mel, width, self.look_right + 1) if config.causal else None
        self.convs = nn.ModuleList([first or PaddedConv(config.mel, width, 3, causal=False)])
        self.convs.extend(PaddedConv(width, width, 3, causal=config.causal) for _ in range(4))
        self.out = nn.Linear(width, 1)
        if config.causal:
            self.double()

    def forward(self, mel: Tensor, *, finalize: bool = True) -> Tensor:
        """(B, mel, T) to (B, T); without `finalize` the last `look_right` frames are only looked at."""
        x = F.pad(mel, (0, self.look_right if finalize else 0))
        for conv in self.convs:
            x = F.elu(conv(x))
        out: Tensor = self.out(x.transpose(1, 2)).squeeze(-1).abs()
        return out


class Upsample(nn.Module):
    """One step up in rate: a transposed convolution, or (v3) repetition and a convolution to the left."""

    def __init__(self, size: int, out: int, rate: int, kernel: int, *, causal: bool) -> None:
        super().__init__()
        self.rate = rate
        self.conv: nn.Module = (
            PaddedConv(size, out, kernel, causal=True)
            if causal
            else nn.ConvTranspose1d(size, out, kernel, stride=rate, padding=(kernel - rate) // 2)
        )
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        """(B, size, T) to (B, out, T * rate)."""
        out: Tensor = self.conv(x.repeat_interleave(self.rate, -1) if self.causal else x)
        return out


class SourceDown(nn.Conv1d):
    """Brings the spectrum of the source down to the rate of a stage."""

    def __init__(self, size: int, out: int, rate: int, *, causal: bool) -> None:
        super().__init__(size, out, 1 if rate == 1 else 2 * rate, stride=rate)
        centred = (0, 0) if rate == 1 else (rate // 2, rate // 2)
        self.pad = (rate - 1, 0) if causal else centred

    def forward(self, x: Tensor) -> Tensor:
        """(B, size, T) to about (B, out, T / rate)."""
        return super().forward(F.pad(x, self.pad))


class FilterStage(nn.Module):
    """One step up in rate: the source joins, then three blocks of different kernels are averaged."""

    def __init__(self, config: VocoderConfig, stage: int) -> None:
        super().__init__()
        causal, last = config.causal, len(config.rates) - 1
        size, out = config.channels >> stage, config.channels >> (stage + 1)
        self.slope, self.is_last = config.slope, stage == last
        self.up = Upsample(size, out, config.rates[stage], config.kernels[stage], causal=causal)
        self.source_down = SourceDown(config.n_fft + 2, out, math.prod(config.rates[stage + 1 :]), causal=causal)
        kernel, dilations = config.source_kernels[stage], config.source_dilations[stage]
        self.source_block = SnakeBlock(out, kernel, dilations, causal=causal)
        shapes = zip(config.block_kernels, config.block_dilations, strict=True)
        self.blocks = nn.ModuleList(SnakeBlock(out, k, d, causal=causal) for k, d in shapes)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        """(B, size, T) and the spectrum of the source to (B, out, T * rate), one frame more in the last stage."""
        x = self.up(F.leaky_relu(x, self.slope))
        x = F.pad(x, (1, 0), mode="reflect") if self.is_last else x
        x = x + self.source_block(self.source_down(source))
        return torch.stack([block(x) for block in self.blocks]).mean(0)


class HiFT(nn.Module):
    """The vocoder. `pitch`, `excite` and `decode` are its three steps."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config = config
        causal, bins = config.causal, config.n_fft + 2
        self.pitch_predictor = PitchPredictor(config)
        self.mix = nn.Linear(config.harmonics + 1, 1)
        self.first: nn.Module = (
            nn.Conv1d(config.mel, config.channels, config.look_right + 1)
            if causal
            else PaddedConv(config.mel, config.channels, 7, causal=False)
        )
        self.stages = nn.ModuleList(FilterStage(config, stage) for stage in range(len(config.rates)))
        self.last = PaddedConv(config.channels >> len(config.rates), bins, 7, causal=causal)

    def pitch(self, mel: Tensor, *, finalize: bool = True) -> Tensor:
        """Pitch (B, T) in Hz of a mel (B, mel, T).

        Without `finalize` the last frames of v3 are only looked at and have no pitch of their own.
        """
        if self.config.causal:
            out: Tensor = self.pitch_predictor(mel.double(), finalize=finalize).float()
        else:
            out = self.pitch_predictor(mel)
        return out

    def source(self) -> HarmonicSource:
        """The excitation generator with this model's mixing weights."""
        config = self.config
        kind: PhaseKind = (
            "held" if config.causal else "continuous" if config.sample_rate == PER_SAMPLE_RATE else "linear"
        )
        settings = SourceConfig(
            sample_rate=config.sample_rate,
            samples_per_frame=config.samples_per_frame,
            sines=config.harmonics + 1,
            amplitude=config.sine_amplitude,
            noise_deviation=config.noise_deviation,
            voiced_threshold=config.voiced_threshold,
            phase=kind,
        )
        return HarmonicSource(settings, self.mix.weight.detach()[0].numpy(), float(self.mix.bias.detach()))

    def excite(self, f0: Tensor, noise: Tensor, phases: Tensor | None = None) -> Tensor:
        """Excitation (B, 1, T * samples_per_frame) of a pitch (B, T); arguments as in `HarmonicSource`."""
        start: NDArray[np.float32] | None = None if phases is None else phases.numpy()
        return torch.from_numpy(self.source()(f0.detach().numpy(), noise.numpy(), start))

    def decode(self, mel: Tensor, source: Tensor, *, finalize: bool = True) -> Tensor:
        """Waveform of a mel and its excitation.

        Args:
            mel: (B, mel, T).
            source: (B, 1, T * samples_per_frame); in v3 without `finalize` that of the first T - 3 frames.
            finalize: v3: the mel is complete. If not, its last frames are only looked at.

        Returns:
            (B, samples): T * samples_per_frame, or (T - 8) * samples_per_frame without `finalize`.
        """
        spectrum = self.spectrum(mel, self.source_spectrum(source), finalize=finalize)
        wave = self.inverse_stft(spectrum).clamp(-self.config.limit, self.config.limit)
        return wave if finalize or not self.config.causal else wave[:, : -self.config.samples_per_frame]

    def source_spectrum(self, source: Tensor) -> Tensor:
        """Real, then imaginary parts of the STFT of (B, 1, L): (B, n_fft + 2, L / hop + 1)."""
        n_fft, hop = self.config.n_fft, self.config.hop
        spectrum = torch.stft(source[:, 0], n_fft, hop, window=torch.hann_window(n_fft), return_complex=True)
        return torch.cat([spectrum.real, spectrum.imag], 1)

    def spectrum(self, mel: Tensor, source: Tensor, *, finalize: bool = True) -> Tensor:
        """The network: mel (B, mel, T) and source spectrum to log-magnitude and phase rows (B, n_fft + 2, frames)."""
        config = self.config
        if config.causal:
            x, source = self._look_right(mel, source, finalize=finalize)
        else:
            x = self.first(mel)
        for stage in self.stages:
            x = stage(x, source)
        out: Tensor = self.last(F.leaky_relu(x))
        return out

    def _look_right(self, mel: Tensor, source: Tensor, *, finalize: bool) -> tuple[Tensor, Tensor]:
        config = self.config
        if finalize:
            return self.first(F.pad(mel, (0, config.look_right))), source
        dropped = math.prod(config.rates) * config.look_right
        return self.first(mel[..., : -config.pitch_look_right]), source[..., :-dropped]

    def inverse_stft(self, rows: Tensor) -> Tensor:
        """Samples (B, L) of log-magnitude and phase rows (B, n_fft + 2, frames)."""
        log_magnitude, angle = rows.chunk(2, 1)
        magnitude, phase = log_magnitude.exp().clamp(max=MAX_MAGNITUDE), angle.sin()
        spectrum = torch.complex(magnitude * phase.cos(), magnitude * phase.sin())
        n_fft, hop = self.config.n_fft, self.config.hop
        return torch.istft(spectrum, n_fft, hop, window=torch.hann_window(n_fft))
