"""The language models of the official families as graphs: one for prefill and steps alike, with the cache in place.

A graph takes new rows for every sequence of a batch and the buffers with the keys and values of the rows before, and
writes the new keys and values behind them; the caller binds each output to the buffer of the input. So nothing is
copied per step, sequences of any length share a step, and the memory belongs to the sequence.

Inputs: `rows` (B, T, width); `cached` (B,) rows before; `fresh` (B,) valid new rows; per layer the buffers `keys_i`,
`values_i` (B, heads, capacity, size), and in v1 `places_i` of `places_graph` for at least as many distances as there
are rows. Outputs: `scores` (B, vocabulary) after the last valid row; per layer `new_keys_i`, `new_values_i`.
Either all sequences are new, or all get one row, or there is only one sequence.

The kernels want heads of a multiple of 16 columns; smaller ones (toys) are filled up with zeros.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cosylite.lab.export.blocks import (
    causal_mask,
    each,
    encoder_layers,
    feed_forward,
    input_layer,
    layer_norm,
    linear,
    rms_norm,
    silu,
    sinusoids,
)
from cosylite.lab.export.graph import GraphWriter, Precision, Shape, Value
from cosylite.lab.models.attention import Attention, RelativeAttention
from cosylite.lab.models.encoder import EncoderLayer
from cosylite.lab.models.lm import LanguageModel, QwenLayer, QwenLM, TransformerLM

_CONTRIB = "com.microsoft"


def head_room(size: int) -> int:
    """Columns of a head in the graph."""
    return -(-size // 16) * 16


def lm_graph(lm: LanguageModel, precision: Precision = "fp32") -> GraphWriter:
    """The graph of a language model."""
    return _transformer_graph(lm, precision) if isinstance(lm, TransformerLM) else _qwen_graph(lm, precision)


def text_graph(lm: TransformerLM, precision: Precision = "fp32") -> GraphWriter:
    """v1: embedded text (1, N, size) to rows (1, N, width)."""
    g = GraphWriter("text", "int8" if precision == "int4" else precision)
    config = lm.config.text_encoder
    x = g.reshape(g.input("text", [1, "tokens", config.input_size]), -1, config.input_size)
    x = input_layer(g, x, lm.text_encoder.embed)
    x = encoder_layers(g, x, lm.text_encoder.layers, config.width, causal_mask(g, g.dimension(x, 0)))
    rows = linear(g, layer_norm(g, x, lm.text_encoder.norm), lm.text_projection)
    g.output("rows", g.unsqueeze(rows, 0), [1, "tokens", lm.config.width])
    return g


@dataclass(frozen=True)
class _Step:
    """Values that all layers of a graph share."""

    cached: Value
    fresh: Value
    shape: Value
    """(B, T), int64."""
    last: Value
    """(B,) int32: index of the last valid row of every sequence."""
    total: Value
    """int32 scalar: most rows of a sequence after this step."""
    turn: tuple[Value, Value] | None = None
    """Cosines and sines (total, size / 2) of rotary positions."""

    def apart(self, g: GraphWriter, x: Value) -> Value:
        """Rows (B * T, C) to (B, T, C)."""
        return g.op("Reshape", x, g.concat(self.shape, g.ints(-1), axis=0))


def _open(g: GraphWriter, width: int) -> tuple[Value, _Step]:
    rows = g.input("rows", ["batch", "new", width])
    cached, fresh = g.input("cached", ["batch"], "int"), g.input("fresh", ["batch"], "int")
    last = g.op("Sub", g.add(cached, fresh), g.integer(1))
    most = g.add(g.op("ReduceMax", cached, g.ints(0), keepdims=0), g.dimension(rows, 1))
    step = _Step(cached, fresh, g.op("Shape", rows, end=2), g.cast(last, "short"), g.cast(most, "short"))
    x = g.reshape(rows, -1, width)
    g.equal_rows(x)
    return x, step


def _close(g: GraphWriter, x: Value, step: _Step) -> Value:
    """The last valid row of every sequence."""
    batch, new = g.slice(step.shape, 0, 1, 0), g.slice(step.shape, 1, 2, 0)
    first = g.mul(g.range(g.op("Squeeze", batch, g.ints(0))), new)
    return g.op("Gather", x, g.op("Sub", g.add(first, step.fresh), g.integer(1)), axis=0)


def _scores(g: GraphWriter, x: Value, lm: LanguageModel) -> None:
    """The scores of all tokens, where 4 bits would be felt directly."""
    precision: Precision | None = "int8" if g.precision == "int4" else None
    g.equal_rows(x)
    scores = g.product(x, lm.decoder.weight.T, lm.decoder.bias, precision=precision)
    g.output("scores", scores, ["batch", lm.decoder.out_features])


@dataclass(frozen=True)
class _Heads:
    """The heads of an attention layer, of `size` columns, in the graph `room`."""

    heads: int
    kv_heads: int
    size: int
    halves: bool
    """Queries and keys are turned in pairs of column i and column i + size / 2."""

    @classmethod
    def of(cls, layer: Attention, *, halves: bool) -> "_Heads":
        return cls(layer.heads, layer.kv_heads, layer.head_size, halves)

    @property
    def room(self) -> int:
        return head_room(self.size)

    def spread(self, columns: Tensor, heads: int, *, halves: bool) -> Tensor:
        """Columns (..., heads * size) to (..., heads * room)."""
        index = torch.arange(self.size)
        if halves:
            index = index + (index >= self.size // 2) * (self.room - self.size) // 2
        index = (torch.arange(heads)[:, None] * self.room + index).flatten()
        wide = columns.new_zeros(*columns.shape[:-1], heads * self.room)
        wide[..., index] = columns.detach()
        return wide

    def packed(self, layers: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Columns of queries, keys and values side by side."""
        q, k, v = layers
        return torch.cat(
            [
                self.spread(q, self.heads, halves=self.halves),
                self.spread(k, self.kv_heads, halves=self.halves),
                self.spread(v, self.kv_heads, halves=False),
            ],
            -1,
        )


def _project(g: GraphWriter, x: Value, layer: Attention, heads: _Heads, more: Tensor | None = None) -> Value:
    """Queries, keys and values of rows, side by side; `more` is added to the queries."""
    weight = heads.packed((layer.query.weight.T, layer.key.weight.T, layer.value.weight.T))
    query_bias = layer.query.bias if more is None else layer.query.bias + more.flatten()
    return g.product(x, weight, heads.packed((query_bias, layer.key.bias, layer.value.bias)))


def _attend(g: GraphWriter, packed: Value, i: int, heads: _Heads, step: _Step, bias: Value = "") -> Value:
    """Attention of the new rows over the cache, to which they are added: rows (B * T, heads * room)."""
    shape: Shape = ["batch", heads.kv_heads, "capacity", heads.room]
    buffers = [g.input(f"{name}_{i}", shape) for name in ("keys", "values")]
    turned = bool(step.turn)
    inputs = [step.apart(g, packed), "", "", *buffers, step.last, step.total, *(step.turn or ("", ""))]
    out, keys, values = g.ops(
        "GroupQueryAttention",
        *inputs,
        *(["", bias] if bias else []),
        outputs=3,
        domain=_CONTRIB,
        num_heads=heads.heads,
        kv_num_heads=heads.kv_heads,
        scale=heads.size**-0.5,
        do_rotary=int(turned),
    )
    g.output(f"new_keys_{i}", keys, shape)
    g.output(f"new_values_{i}", values, shape)
    return g.reshape(out, -1, heads.heads * heads.room)


def _merge(g: GraphWriter, rows: Value, layer: Attention, heads: _Heads) -> Value:
    weight = heads.spread(layer.out.weight, heads.heads, halves=False).T
    return g.product(rows, weight, layer.out.bias)


def places_graph(lm: TransformerLM, precision: Precision = "fp32") -> GraphWriter:
    """v1: `distances` (N,) to `places_i` (heads, size, N) per layer; times queries they score distances."""
    g = GraphWriter("places", "fp16" if precision != "fp32" else "fp32")
    config = lm.config.backbone
    cos, sin = sinusoids(g, g.input("distances", ["distances"], "int"), config.width)
    waves = g.transpose(g.concat(sin, cos, axis=-1), 1, 0)
    for i, layer in enumerate(each(lm.backbone.layers, EncoderLayer)):
        attention = layer.attention
        weight = attention.position.weight * attention.head_size**-0.5
        found = g.matmul(g.weight(torch.cat([weight[:, 0::2], weight[:, 1::2]], 1)), waves)
        shape = (attention.heads, attention.head_size)
        g.output(f"places_{i}", g.reshape(found, *shape, -1), [*shape, "distances"])
    return g


def _transformer_graph(lm: TransformerLM, precision: Precision) -> GraphWriter:
    g = GraphWriter("lm", precision)
    x, step = _open(g, lm.config.width)
    new = g.unsqueeze(g.range(g.dimension("rows", 1)), 0, 2)
    distances = g.op("Sub", g.add(g.unsqueeze(step.cached, 1, 2), new), g.range(g.cast(step.total, "int")))
    distances = g.unsqueeze(g.op("Max", distances, g.integer(0)), 1)
    distances = g.op("Expand", g.cast(distances, "short"), g.ints(1, lm.config.backbone.heads, 1, 1))
    x = input_layer(g, x, lm.backbone.embed)
    for i, layer in enumerate(each(lm.backbone.layers, EncoderLayer)):
        attention = layer.attention
        heads = _Heads.of(attention, halves=False)
        packed = _project(g, layer_norm(g, x, layer.attention_norm), attention, heads, attention.content_bias)
        bias = _distances(g, packed, i, attention, heads, step, distances)
        x = g.add(x, _merge(g, _attend(g, packed, i, heads, step, bias), attention, heads))
        x = feed_forward(g, x, layer, relu=True)
    x = layer_norm(g, _close(g, x, step), lm.backbone.norm)
    _scores(g, x, lm)
    return g


def _distances(
    g: GraphWriter,
    packed: Value,
    i: int,
    layer: RelativeAttention,
    heads: _Heads,
    step: _Step,
    distances: Value,
) -> Value:
    """Scores (B, H, T, total) of the distances (B, H, T, total) between new rows and all rows."""
    q = g.slice(packed, 0, heads.heads * heads.room, 1)
    shape = g.concat(step.shape, g.ints(heads.heads, heads.room), axis=0)
    q = g.transpose(g.op("Reshape", q, shape), 0, 2, 1, 3)
    q = g.slice(q, 0, heads.size, 3) if heads.room > heads.size else q
    q = g.add(q, g.weight((layer.distance_bias - layer.content_bias)[:, None]))
    places = g.input(f"places_{i}", [heads.heads, heads.size, "distances"])
    return g.op("GatherElements", g.matmul(q, places), distances, axis=-1)


def _qwen_graph(lm: QwenLM, precision: Precision) -> GraphWriter:
    g = GraphWriter("lm", precision)
    config = lm.config.backbone
    x, step = _open(g, config.width)
    size = config.width // config.heads
    rates = np.zeros(head_room(size) // 2, np.float32)
    rates[: size // 2] = config.rope_theta ** (-np.arange(0, size, 2) / size)
    places = g.cast(g.range(g.cast(step.total, "int")), "float")
    angle = g.mul(g.unsqueeze(places, 1), g.weight(rates))
    step = dataclasses.replace(step, turn=(g.op("Cos", angle), g.op("Sin", angle)))
    for i, layer in enumerate(each(lm.layers, QwenLayer)):
        x = _qwen_layer(g, x, layer, i, step)
    x = rms_norm(g, _close(g, x, step), lm.norm)
    _scores(g, x, lm)
    return g


def _qwen_layer(g: GraphWriter, x: Value, layer: QwenLayer, i: int, step: _Step) -> Value:
    heads = _Heads.of(layer.attention, halves=True)
    packed = _project(g, rms_norm(g, x, layer.attention_norm), layer.attention, heads)
    x = g.add(x, _merge(g, _attend(g, packed, i, heads, step), layer.attention, heads))
    y = rms_norm(g, x, layer.feed_forward_norm)
    both = g.product(y, torch.cat([layer.gate.weight, layer.up.weight]).T)
    gate, up = g.ops("Split", both, outputs=2, axis=1, num_outputs=2)
    return g.add(x, linear(g, g.mul(silu(g, gate), up), layer.down))
