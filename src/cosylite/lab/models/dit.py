"""The velocity estimator of v3: a diffusion transformer."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosylite.lab.models.attention import Attention, Rotate, chunk_mask, rotate_first_head
from cosylite.lab.models.config import DiTConfig
from cosylite.lab.models.unet import TimeEmbedding

TIME_SIZE = 256
POSITION_KERNEL = 31
POSITION_GROUPS = 16


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Norm without weights of `x` (B, T, width), scaled and shifted by (B, width)."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale[:, None]) + shift[:, None]


class DiTBlock(nn.Module):
    """Attention and feed-forward network, each shifted, scaled and gated by the flow time."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        width = config.width
        self.modulation = nn.Linear(width, 6 * width)
        self.attention = Attention(width, config.heads, config.head_size)
        self.up, self.down = (
            nn.Linear(width, config.feed_forward * width),
            nn.Linear(config.feed_forward * width, width),
        )

    def forward(self, x: Tensor, time: Tensor, mask: Tensor, frames: Tensor, rotate: Rotate) -> Tensor:
        """(B, T, width) to the same shape; `frames` (B, T, 1) is 0 where the output of attention is dropped."""
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(F.silu(time)).chunk(6, -1)
        y = self.attention(modulate(x, shift_a, scale_a), mask, rotate=rotate) * frames
        x = x + gate_a[:, None] * y
        y = self.down(F.gelu(self.up(modulate(x, shift_m, scale_m)), approximate="tanh"))
        out: Tensor = x + gate_m[:, None] * y
        return out


class DiT(nn.Module):
    """The whole estimator; same call as `UNet`."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.time = TimeEmbedding(TIME_SIZE, width)
        self.embed = nn.Linear(4 * config.mel, width)
        self.position = nn.ModuleList(
            nn.Conv1d(width, width, POSITION_KERNEL, groups=POSITION_GROUPS) for _ in range(2)
        )
        self.blocks = nn.ModuleList(DiTBlock(config) for _ in range(config.depth))
        self.modulation = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, config.mel)

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
        """Velocity (B, mel, T); arguments as in `UNet.forward`. The output is not masked."""
        length = x.shape[-1]
        t = self.time(time)
        rows = torch.cat([x, prompt, mu, speaker[..., None].expand(-1, -1, length)], 1)
        h = self.embed(rows.transpose(1, 2))
        y = h.transpose(1, 2)
        for conv in self.position:
            y = F.mish(conv(F.pad(y, (POSITION_KERNEL - 1, 0))))
        h = h + y.transpose(1, 2)
        visible = mask[:, :, None, :].bool()
        if streaming:
            visible = visible & chunk_mask(length, self.config.chunk)
        rotate = rotate_first_head(torch.arange(length), self.config.head_size, 1e4)
        for block in self.blocks:
            h = block(h, t, visible, mask.transpose(1, 2), rotate)
        scale, shift = self.modulation(F.silu(t)).chunk(2, -1)
        out: Tensor = self.out(modulate(h, shift, scale))
        return out.transpose(1, 2)
