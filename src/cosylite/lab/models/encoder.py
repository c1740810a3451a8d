"""Encoders with relative positions: the text encoder, the v1 language model, the token encoders of the v1 and v2 flows.

One layer serves them all: attention, then a feed-forward network, each after a norm and added to its input.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosylite.lab.models.attention import KeyValueCache, LayerCache, RelativeAttention, causal_mask, chunk_mask
from cosylite.lab.models.config import EncoderConfig

UP_LAYERS = 4
"""Layers after the up-sampling of the v2 encoder; fixed in the official code."""


class InputLayer(nn.Module):
    """Projects rows to the width of the encoder: linear, norm, optionally ReLU, scaled by the root of the width."""

    def __init__(self, size: int, width: int, *, relu: bool = False) -> None:
        super().__init__()
        self.linear, self.norm, self.relu = nn.Linear(size, width), nn.LayerNorm(width), relu
        self.scale = math.sqrt(width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, size) to (B, T, width)."""
        x = self.norm(self.linear(x))
        return (F.relu(x) if self.relu else x) * self.scale


class EncoderLayer(nn.Module):
    """Attention with relative positions and a feed-forward network with SiLU (or ReLU)."""

    def __init__(self, width: int, heads: int, feed_forward: int, *, relu: bool = False) -> None:
        super().__init__()
        self.attention = RelativeAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.feed_forward_norm = nn.LayerNorm(width, eps=1e-12)
        self.activation = F.relu if relu else F.silu

    def forward(
        self, x: Tensor, mask: Tensor | None, *, cache: LayerCache | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """(B, T, width) to the same shape."""
        x = x + self.attention(self.attention_norm(x), mask, cache=cache, positions=positions)
        out: Tensor = x + self.down(self.activation(self.up(self.feed_forward_norm(x))))
        return out


class Encoder(nn.Module):
    """Input layer, a stack of layers and a final norm. `relu` gives the plain transformer of the v1 language model."""

    def __init__(self, config: EncoderConfig, *, relu: bool = False) -> None:
        super().__init__()
        self.config = config
        self.embed = InputLayer(config.input_size, config.width, relu=relu)
        self.layers = nn.ModuleList(
            EncoderLayer(config.width, config.heads, config.feed_forward, relu=relu) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.width, eps=1e-5)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, T, input_size) to (B, T, width); `mask` as in `attend`."""
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x, mask)
        out: Tensor = self.norm(x)
        return out

    def extend(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """Causal step: the next rows (B, T, input_size) of every sequence, which are added to the cache."""
        positions = cache.advance(x.shape[1])
        mask = causal_mask(positions, int(positions.max()) + 1)
        x = self.embed(x)
        for layer, memory in zip(self.layers, cache.layers, strict=True):
            x = layer(x, mask, cache=memory, positions=positions)
        out: Tensor = self.norm(x)
        return out


class LookAhead(nn.Module):
    """Adds to every row a function of itself, `look_ahead` future rows and two past results."""

    def __init__(self, size: int, channels: int, look_ahead: int) -> None:
        super().__init__()
        self.look_ahead = look_ahead
        self.first = nn.Conv1d(size, channels, look_ahead + 1)
        self.second = nn.Conv1d(channels, size, 3)

    def forward(self, x: Tensor, future: Tensor | None = None) -> Tensor:
        """Rows (B, T, size), `future` (B, look_ahead, size) or None at the end of the text; to (B, T, size)."""
        y = x.transpose(1, 2)
        y = F.pad(y, (0, self.look_ahead)) if future is None else torch.cat([y, future.transpose(1, 2)], -1)
        y = F.leaky_relu(self.first(y))
        out: Tensor = x + self.second(F.pad(y, (2, 0))).transpose(1, 2)
        return out


class UpsamplingEncoder(nn.Module):
    """The token encoder of the v2 flow: look-ahead, layers, two frames per token, more layers."""

    def __init__(self, config: EncoderConfig, *, look_ahead: int, chunk: int) -> None:
        super().__init__()
        width = config.width

        def stack(count: int) -> nn.ModuleList:
            return nn.ModuleList(EncoderLayer(width, config.heads, config.feed_forward) for _ in range(count))

        self.chunk = chunk
        self.embed = InputLayer(config.input_size, width)
        self.look_ahead = LookAhead(width, width, look_ahead)
        self.layers = stack(config.layers)
        self.up = nn.Conv1d(width, width, 5)
        self.up_embed = InputLayer(width, width)
        self.up_layers = stack(UP_LAYERS)
        self.norm = nn.LayerNorm(width, eps=1e-5)

    def forward(
        self, x: Tensor, *, future: Tensor | None = None, visible: Tensor | None = None, streaming: bool = False
    ) -> Tensor:
        """Encode token embeddings.

        Args:
            x: (B, T, input_size).
            future: (B, look_ahead, input_size), tokens after `x` that are looked at but not encoded.
            visible: (B, T) bool, False where `x` is padding.
            streaming: limit attention to chunks and everything before them.

        Returns:
            (B, 2 T, width).
        """
        x = self.look_ahead(self.embed(x), None if future is None else self.embed(future))
        mask = self._mask(x.shape[1], self.chunk, visible, streaming)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.up(F.pad(x.transpose(1, 2).repeat_interleave(2, -1), (4, 0))).transpose(1, 2)
        x = self.up_embed(x)
        visible = None if visible is None else visible.repeat_interleave(2, -1)
        mask = self._mask(x.shape[1], 2 * self.chunk, visible, streaming)
        for layer in self.up_layers:
            x = layer(x, mask)
        out: Tensor = self.norm(x)
        return out

    @staticmethod
    def _mask(length: int, chunk: int, visible: Tensor | None, streaming: bool) -> Tensor | None:
        mask = None if visible is None else visible[:, None, None, :]
        if not streaming:
            return mask
        chunks = chunk_mask(length, chunk)
        return chunks if mask is None else chunks & mask
