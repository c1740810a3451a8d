"""Small discriminators for the vocoder: spectrograms at three resolutions, waveforms folded at three periods."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cosylite.lab.nano.losses import magnitude

Judgement = tuple[Tensor, list[Tensor]]


class SpectrumDiscriminator(nn.Module):
    """2-D convolutions over a log magnitude spectrogram."""

    def __init__(self, size: int, hop: int, width: int = 16) -> None:
        super().__init__()
        self.size, self.hop = size, hop
        shapes = [((3, 9), (1, 3)), ((3, 7), (1, 2)), ((3, 5), (1, 2)), ((3, 3), (1, 1))]
        layers, last = [], 1
        for kernel, stride in shapes:
            padding = (kernel[0] // 2, kernel[1] // 2)
            layers.append(nn.utils.parametrizations.weight_norm(nn.Conv2d(last, width, kernel, stride, padding)))
            last = width
        self.layers = nn.ModuleList(layers)
        self.judge = nn.Conv2d(last, 1, 3, padding=1)

    def forward(self, samples: Tensor) -> Judgement:
        """Scores and inner features for (B, N)."""
        x = magnitude(samples, self.size, self.hop).clamp(min=1e-4).log()[:, None]
        features = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.1)
            features.append(x)
        return self.judge(x), features


class PeriodDiscriminator(nn.Module):
    """2-D convolutions over the waveform folded at a period (Kong et al., 2020)."""

    def __init__(self, period: int, widths: tuple[int, ...] = (16, 32, 64, 64)) -> None:
        super().__init__()
        self.period = period
        layers, last = [], 1
        for width in widths:
            layers.append(nn.utils.parametrizations.weight_norm(nn.Conv2d(last, width, (5, 1), (3, 1), (2, 0))))
            last = width
        self.layers = nn.ModuleList(layers)
        self.judge = nn.Conv2d(last, 1, (3, 1), padding=(1, 0))

    def forward(self, samples: Tensor) -> Judgement:
        """Scores and inner features for (B, N)."""
        usable = samples.shape[1] // self.period * self.period
        x = samples[:, :usable].reshape(samples.shape[0], 1, -1, self.period)
        features = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.1)
            features.append(x)
        return self.judge(x), features


class Discriminators(nn.Module):
    """All of them."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            [SpectrumDiscriminator(size, size // 4) for size in (512, 1024, 2048)]
            + [PeriodDiscriminator(period) for period in (2, 3, 7)]
        )

    def forward(self, samples: Tensor) -> tuple[list[Tensor], list[list[Tensor]]]:
        """Scores and features of every discriminator for (B, N)."""
        with torch.autocast("cpu", torch.bfloat16):
            judged = [part(samples) for part in self.parts]
        return [score.float() for score, _ in judged], [[f.float() for f in features] for _, features in judged]
