"""Attention, once for all families: grouped heads, relative positions, rotation and an in-place key/value cache."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Rotate = Callable[[Tensor], Tensor]
"""Turns queries or keys of shape (B, H, T, D) by their positions."""


@dataclass
class LayerCache:
    """Keys and values of one layer: (B, H, capacity, D) each, filled in place."""

    keys: Tensor
    values: Tensor

    def write(self, k: Tensor, v: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Store rows (B, H, T, D) at `positions` (B, T); return all keys and values up to the furthest position."""
        rows = torch.arange(k.shape[0])[:, None]
        self.keys[rows, :, positions] = k.transpose(1, 2)
        self.values[rows, :, positions] = v.transpose(1, 2)
        used = int(positions.max()) + 1
        return self.keys[:, :, :used], self.values[:, :, :used]


@dataclass
class KeyValueCache:
    """What a causal network remembers: one cache per layer and how many rows each sequence of the batch has."""

    layers: list[LayerCache]
    lengths: Tensor
    """(B,) int64."""

    @classmethod
    def create(cls, layers: int, batch: int, heads: int, head_size: int, capacity: int) -> "KeyValueCache":
        """Empty cache for `capacity` rows."""
        shape = (batch, heads, capacity, head_size)
        return cls(
            [LayerCache(torch.zeros(shape), torch.zeros(shape)) for _ in range(layers)], torch.zeros(batch).long()
        )

    def advance(self, rows: int) -> Tensor:
        """Positions (B, rows) of the next rows of every sequence, which now count as used."""
        positions = self.lengths[:, None] + torch.arange(rows)
        self.lengths = self.lengths + rows
        return positions


def causal_mask(positions: Tensor, keys: int) -> Tensor:
    """Mask (B, 1, T, keys): True where key j is not after the query at `positions` (B, T)."""
    return torch.arange(keys)[None, None, None, :] <= positions[:, None, :, None]


def chunk_mask(length: int, chunk: int) -> Tensor:
    """Mask (1, 1, length, length): a query sees every key up to the end of its own chunk."""
    index = torch.arange(length)
    limit = (torch.div(index, chunk, rounding_mode="floor") + 1) * chunk
    return (index[None, :] < limit[:, None])[None, None]


def attend(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention.

    Args:
        q: (B, H, T, D).
        k, v: (B, H or a divisor of it, S, D).
        mask: bool, broadcast to (B, H, T, S), True where visible. A query that sees nothing yields zeros.
        bias: added to the products before scaling, broadcast to (B, H, T, S).

    Returns:
        (B, T, H * D).
    """
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-1, -2)
    if bias is not None:
        scores = scores + bias
    scores = scores / math.sqrt(q.shape[-1])
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~mask, 0.0)
    return (weights @ v).transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """Self-attention with its four projections."""

    def __init__(
        self,
        width: int,
        heads: int,
        head_size: int,
        *,
        kv_heads: int | None = None,
        bias: bool = True,
        out_bias: bool = True,
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_size = heads, kv_heads or heads, head_size
        self.query = nn.Linear(width, heads * head_size, bias=bias)
        self.key = nn.Linear(width, self.kv_heads * head_size, bias=bias)
        self.value = nn.Linear(width, self.kv_heads * head_size, bias=bias)
        self.out = nn.Linear(heads * head_size, width, bias=out_bias)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, D), keys and values (B, H_kv, T, D) of rows `x` (B, T, width)."""

        def split(rows: Tensor, heads: int) -> Tensor:
            return rows.view(*rows.shape[:2], heads, self.head_size).transpose(1, 2)

        return (
            split(self.query(x), self.heads),
            split(self.key(x), self.kv_heads),
            split(self.value(x), self.kv_heads),
        )

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        rotate: Rotate | None = None,
        cache: LayerCache | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Attend over `x` (B, T, width), or over the cache once `x` is stored in it at `positions` (B, T)."""
        q, k, v = self.project(x)
        if rotate is not None:
            q, k = rotate(q), rotate(k)
        if cache is not None and positions is not None:
            k, v = cache.write(k, v, positions)
        out: Tensor = self.out(attend(q, k, v, mask=mask))
        return out


def angles(positions: Tensor, size: int, theta: float) -> Tensor:
    """Angles position * theta^(-2i/size), in double precision: (..., size / 2)."""
    rates = theta ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    return positions.double()[..., None] * rates


def rotate_halves(positions: Tensor, size: int, theta: float) -> Rotate:
    """Rotary positions (B, T) or (T,) in the form that pairs column i with column i + size / 2."""
    turn = angles(positions, size, theta)
    turn = turn[:, None] if turn.dim() == 3 else turn
    cos, sin = turn.cos().float(), turn.sin().float()

    def rotate(x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    return rotate


def rotate_first_head(positions: Tensor, size: int, theta: float) -> Rotate:
    """Rotary positions (T,) that pair columns 2i and 2i + 1, and touch only head 0 as the v3 estimator does."""
    turn = angles(positions, size, theta)
    cos, sin = turn.cos().float(), turn.sin().float()

    def rotate(x: Tensor) -> Tensor:
        even, odd = x[:, :1, :, 0::2], x[:, :1, :, 1::2]
        turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1).flatten(-2)
        return torch.cat([turned, x[:, 1:]], 1)

    return rotate


class RelativeAttention(Attention):
    """Attention whose scores also depend on the distance between query and key.

    The score of a distance is a dot product with sinusoids of that distance. By the addition theorem it equals
    a dot product of the query, turned by its own position, with sinusoids of the key's position; so one table of
    absolute positions serves every row of a batch, and nothing has to be computed again as the sequence grows.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads, width // heads)
        self.position = nn.Linear(width, width, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, self.head_size))
        self.distance_bias = nn.Parameter(torch.zeros(heads, self.head_size))

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        rotate: Rotate | None = None,
        cache: LayerCache | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """As `Attention.forward`; without `positions` the rows are numbered from 0. `rotate` is not used."""
        q, k, v = self.project(x)
        if positions is None:
            positions = torch.arange(x.shape[1])[None]
        if cache is not None:
            k, v = cache.write(k, v, positions)
        bias = self.distance_scores(q + self.distance_bias[:, None], positions, k.shape[2])
        out: Tensor = self.out(attend(q + self.content_bias[:, None], k, v, mask=mask, bias=bias))
        return out

    def distance_scores(self, q: Tensor, positions: Tensor, keys: int) -> Tensor:
        """Scores (B, H, T, keys) of queries (B, H, T, D) at `positions` (B or 1, T) for the keys 0 .. keys - 1."""
        width = self.position.weight.shape[0]
        spread = q @ self.position.weight.view(self.heads, self.head_size, width)
        even, odd = spread[..., 0::2], spread[..., 1::2]
        at_query = angles(positions, width, 1e4)[:, None]
        cos, sin = at_query.cos().float(), at_query.sin().float()
        turned = torch.cat([even * sin + odd * cos, odd * sin - even * cos], -1)
        at_key = angles(torch.arange(keys), width, 1e4)
        return turned @ torch.cat([at_key.cos(), at_key.sin()], -1).float().T
