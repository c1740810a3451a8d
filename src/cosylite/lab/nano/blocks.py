"""Building blocks of nano: causal convolution blocks whose past is an argument, and a transformer layer.

Convolutions are written as matrix products over stacked frames: on processors with matrix units that is several times
faster than a depthwise convolution, in training and in ONNX Runtime, and it is what int8 kernels speed up.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def stack_frames(x: Tensor, kernel: int, dilation: int) -> Tensor:
    """(B, T + (kernel - 1) * dilation, C) to (B, T, kernel * C): each frame with its past, oldest first."""
    frames = x.shape[1] - (kernel - 1) * dilation
    return torch.cat([x[:, k * dilation : k * dilation + frames] for k in range(kernel)], dim=-1)


class CausalBlock(nn.Module):
    """Residual block: norm, modulation, causal convolution, SiLU, projection.

    Args:
        width: channels.
        hidden: channels inside.
        kernel: frames a convolution sees.
        dilation: distance between them.
    """

    def __init__(self, width: int, hidden: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        self.norm = nn.LayerNorm(width)
        self.spread = nn.Linear(kernel * width, hidden)
        self.gather = nn.Linear(hidden, width)

    @property
    def past(self) -> int:
        """Frames of state."""
        return (self.kernel - 1) * self.dilation

    def forward(self, x: Tensor, state: Tensor, shift: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One stretch of frames.

        Args:
            x: (B, T, C).
            state: (B, past, C), zeros at the start.
            shift: (C,) or (B, 1, C) added after the norm.

        Returns:
            Output (B, T, C) and the next state.
        """
        normed = self.norm(x) if shift is None else self.norm(x) + shift
        seen = torch.cat([state.to(normed.dtype), normed], dim=1)
        update = self.gather(F.silu(self.spread(stack_frames(seen, self.kernel, self.dilation))))
        return x + update, seen[:, seen.shape[1] - self.past :]


class CausalStack(nn.Module):
    """Causal blocks in a row; their states lie one after the other in one tensor (B, past, C)."""

    def __init__(self, width: int, hidden: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(CausalBlock(width, hidden, kernel, d) for d in dilations)
        self.pasts = [(kernel - 1) * d for d in dilations]
        self.past = sum(self.pasts)
        self.width = width

    def forward(self, x: Tensor, state: Tensor, shifts: list[Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """As `CausalBlock.forward`, with one shift per block."""
        states = []
        pasts = torch.split(state, self.pasts, dim=1)
        for i, (block, past) in enumerate(zip(self.blocks, pasts, strict=True)):
            x, following = block(x, past, None if shifts is None else shifts[i])
            states.append(following)
        return x, torch.cat(states, dim=1)


def rotary(x: Tensor) -> Tensor:
    """Rotary position embedding (Su et al., 2021) of (B, heads, N, D)."""
    half = x.shape[-1] // 2
    rates = 10_000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angles = torch.arange(x.shape[2], device=x.device, dtype=torch.float32)[:, None] * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class TransformerLayer(nn.Module):
    """Pre-norm self-attention with rotary positions and a feed-forward network."""

    def __init__(self, width: int, hidden: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        inner = heads * head_size
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * inner)
        self.out = nn.Linear(inner, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """`x` (B, N, C); `bias` (B, 1, 1, N) is added to the attention scores (large negative at padding)."""
        batch, count, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotary(q), rotary(k)
        scores = (q @ k.transpose(-1, -2)) * (q.shape[-1] ** -0.5) + bias.to(q.dtype)
        mixed = (scores.softmax(-1).to(v.dtype) @ v).transpose(1, 2).reshape(batch, count, -1)
        x = x + self.dropout(self.out(mixed))
        result: Tensor = x + self.dropout(self.down(F.silu(self.up(self.norm2(x)))))
        return result
