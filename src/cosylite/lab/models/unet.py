"""The velocity estimator of v1 and v2: residual blocks over time with attention in between.

v1 halves the time axis once and uses group norm; v2 ("causal") never resamples, pads on the left and normalises every
frame by itself.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosylite.lab.models.attention import Attention, chunk_mask
from cosylite.lab.models.config import UNetConfig


def sinusoids(time: Tensor, size: int) -> Tensor:
    """Embedding (B, size) of flow times (B,): sines, then cosines, of 1000 t at geometric rates."""
    half = size // 2
    rates = torch.exp(torch.arange(half).float() * (-math.log(10000) / (half - 1)))
    turn = 1000 * time[:, None] * rates
    return torch.cat([turn.sin(), turn.cos()], -1)


class TimeEmbedding(nn.Module):
    """Sinusoids through a two-layer network."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.size = size
        self.up, self.down = nn.Linear(size, width), nn.Linear(width, width)

    def forward(self, time: Tensor) -> Tensor:
        """(B,) to (B, width)."""
        out: Tensor = self.down(F.silu(self.up(sinusoids(time, self.size))))
        return out


class TimeConv(nn.Conv1d):
    """Convolution of odd kernel that keeps the length: centred, or looking only to the left."""

    def __init__(self, size: int, out: int, kernel: int, *, causal: bool) -> None:
        super().__init__(size, out, kernel)
        self.pad = (kernel - 1, 0) if causal else (kernel // 2, kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, size, T) to (B, out, T)."""
        return super().forward(F.pad(x, self.pad))


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of every frame."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, T) to the same shape."""
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class ConvBlock(nn.Module):
    """Convolution, norm, Mish."""

    def __init__(self, size: int, out: int, *, causal: bool) -> None:
        super().__init__()
        self.conv = TimeConv(size, out, 3, causal=causal)
        self.norm: nn.Module = ChannelNorm(out) if causal else nn.GroupNorm(8, out)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, size, T) to (B, out, T)."""
        return F.mish(self.norm(self.conv(x * mask))) * mask


class ResidualBlock(nn.Module):
    """Two blocks with the flow time added in between, and a skip."""

    def __init__(self, size: int, out: int, time: int, *, causal: bool) -> None:
        super().__init__()
        self.first, self.second = ConvBlock(size, out, causal=causal), ConvBlock(out, out, causal=causal)
        self.time = nn.Linear(time, out)
        self.skip = nn.Conv1d(size, out, 1)

    def forward(self, x: Tensor, mask: Tensor, time: Tensor) -> Tensor:
        """(B, size, T) to (B, out, T)."""
        h = self.first(x, mask) + self.time(F.mish(time))[..., None]
        out: Tensor = self.second(h, mask) + self.skip(x * mask)
        return out


class AttentionBlock(nn.Module):
    """Attention and feed-forward network over the frames."""

    def __init__(self, width: int, heads: int, head_size: int) -> None:
        super().__init__()
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, head_size, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, T, width) to the same shape."""
        x = x + self.attention(self.attention_norm(x), mask)
        out: Tensor = x + self.down(F.gelu(self.up(self.feed_forward_norm(x))))
        return out


class Stage(nn.Module):
    """A residual block, its attention blocks, and what changes (or keeps) the frame rate after them."""

    def __init__(self, config: UNetConfig, size: int, out: int, time: int, resample: nn.Module) -> None:
        super().__init__()
        self.residual = ResidualBlock(size, out, time, causal=config.causal)
        self.attention = nn.ModuleList(
            AttentionBlock(out, config.heads, config.head_size) for _ in range(config.blocks)
        )
        self.resample = resample

    def forward(self, x: Tensor, mask: Tensor, time: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
        """(B, size, T) to frames (B, out, T), and the same at the rate of the next stage."""
        x = self.residual(x, mask, time).transpose(1, 2)
        for block in self.attention:
            x = block(x, visible)
        x = x.transpose(1, 2)
        return x, self.resample(x * mask)


class UNet(nn.Module):
    """The whole estimator."""

    def __init__(self, config: UNetConfig) -> None:
        super().__init__()
        self.config = config
        widths, time, causal = config.channels, 4 * config.channels[0], config.causal
        self.time = TimeEmbedding(config.in_channels, time)
        self.down, self.middle, self.up = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        size = config.in_channels
        for level, out in enumerate(widths):
            last = level == len(widths) - 1
            halve = nn.Conv1d(out, out, 3, stride=2, padding=1)
            self.down.append(Stage(config, size, out, time, TimeConv(out, out, 3, causal=causal) if last else halve))
            size = out
        for _ in range(config.middle):
            self.middle.append(Stage(config, size, size, time, nn.Identity()))
        for level, out in enumerate([*widths[-2::-1], widths[0]]):
            last = level == len(widths) - 1
            double = nn.ConvTranspose1d(out, out, 4, stride=2, padding=1)
            self.up.append(Stage(config, 2 * size, out, time, TimeConv(out, out, 3, causal=causal) if last else double))
            size = out
        self.last = ConvBlock(size, size, causal=causal)
        self.out = nn.Conv1d(size, config.out_channels, 1)

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        mu: Tensor,
        time: Tensor,
        speaker: Tensor,
        prompt: Tensor,
        *,
        streaming: bool = False,
    ) -> Tensor:
        """Velocity of the flow.

        Args:
            x, mu, prompt: (B, mel, T): state, condition from the tokens, mel of the prompt.
            mask: (B, 1, T), 1 for frames and 0 for padding.
            time: (B,), 0 to 1.
            speaker: (B, mel).
            streaming: limit attention to chunks and everything before them (v2).

        Returns:
            (B, mel, T).
        """
        t = self.time(time)
        x = torch.cat([x, mu, speaker[..., None].expand(-1, -1, x.shape[-1]), prompt], 1)
        masks, skips = [mask], []
        for level, stage in enumerate(self.down):
            skip, x = stage(x, masks[-1], t, self._visible(masks[-1], streaming))
            skips.append(skip)
            if level < len(self.down) - 1:
                masks.append(masks[-1][..., ::2])
        for stage in self.middle:
            x, _ = stage(x, masks[-1], t, self._visible(masks[-1], streaming))
        for stage, skip, level_mask in zip(self.up, reversed(skips), reversed(masks), strict=True):
            x = torch.cat([x[..., : skip.shape[-1]], skip], 1)
            _, x = stage(x, level_mask, t, self._visible(level_mask, streaming))
        out: Tensor = self.out(self.last(x, mask) * mask) * mask
        return out

    def _visible(self, mask: Tensor, streaming: bool) -> Tensor:
        keys = mask[:, :, None, :].bool()
        return keys & chunk_mask(mask.shape[-1], self.config.chunk) if streaming and self.config.chunk else keys
