"""The language models of the official families as graphs: one for prefill and steps alike, with the cache outside.

A graph takes new rows for every sequence of a batch and the keys and values of the rows before, and gives the new keys
and values; the caller stores them. So nothing is copied per step, sequences of any length share a step, and the memory
belongs to the sequence. Cached keys are kept transposed, (B, heads, size, rows), ready for the product with queries.

Inputs: `rows` (B, T, width); `cached` (B,) rows before; `fresh` (B,) valid new rows; per layer `keys_i`, `values_i`.
Outputs: `scores` (B, vocabulary) after the last valid row; per layer `new_keys_i`, `new_values_i`.
"""

from dataclasses import dataclass

import numpy as np

from cosylite.lab.export.blocks import (
    causal_mask,
    each,
    encoder_layers,
    feed_forward,
    forbid,
    input_layer,
    layer_norm,
    linear,
    project,
    relative_queries,
    rms_norm,
    rows_again,
    silu,
    sinusoids,
)
from cosylite.lab.export.graph import GraphWriter, Precision, Value
from cosylite.lab.models.encoder import EncoderLayer
from cosylite.lab.models.lm import LanguageModel, QwenLayer, QwenLM, TransformerLM


@dataclass(frozen=True)
class _Step:
    """Values that all layers of a graph share."""

    positions: Value
    """(B, T) of the new rows."""
    mask: Value
    """(B, 1, T, S + T), additive, over cached and new keys."""


def lm_graph(lm: LanguageModel, precision: Precision = "fp32") -> GraphWriter:
    """The graph of a language model."""
    return _transformer_graph(lm, precision) if isinstance(lm, TransformerLM) else _qwen_graph(lm, precision)


def text_graph(lm: TransformerLM, precision: Precision = "fp32") -> GraphWriter:
    """v1: embedded text (1, N, size) to rows (1, N, width)."""
    g = GraphWriter("text", precision)
    config = lm.config.text_encoder
    x = g.input("text", [1, "tokens", config.input_size])
    x = input_layer(g, x, lm.text_encoder.embed)
    x = encoder_layers(g, x, lm.text_encoder.layers, config.width, causal_mask(g, g.dimension(x, 1)))
    rows = linear(g, layer_norm(g, x, lm.text_encoder.norm), lm.text_projection)
    g.output("rows", rows, [1, "tokens", lm.config.width])
    return g


def _open(g: GraphWriter, width: int) -> tuple[Value, _Step]:
    rows = g.input("rows", ["batch", "new", width])
    cached = g.input("cached", ["batch"], "int")
    fresh = g.input("fresh", ["batch"], "int")
    new = g.range(g.dimension(rows, 1))
    positions = g.add(g.unsqueeze(cached, 1), g.unsqueeze(new, 0))
    keys = g.range(g.dimension("values_0", 2))
    seen = g.op("Less", g.unsqueeze(keys, 0), g.unsqueeze(cached, 1))
    valid = g.op("Less", g.unsqueeze(new, 0), g.unsqueeze(fresh, 1))
    own = g.add(causal_mask(g, g.dimension(rows, 1)), g.unsqueeze(forbid(g, valid), 1, 2))
    before = g.op("Expand", g.unsqueeze(forbid(g, seen), 1, 2), _mask_shape(g, rows))
    return rows, _Step(positions, g.concat(before, own, axis=3))


def _mask_shape(g: GraphWriter, rows: Value) -> Value:
    """Shape (1, 1, T, 1), to spread a mask over the new rows."""
    return g.concat(g.ints(1, 1), g.op("Shape", rows, start=1, end=2), g.ints(1), axis=0)


def _close(g: GraphWriter, hidden: Value, scores: int, lm: LanguageModel) -> None:
    last = g.unsqueeze(g.op("Sub", "fresh", g.integer(1)), 1, 2)
    index = g.op("Expand", last, g.concat(g.ints(1, 1), g.op("Shape", hidden, start=2, end=3), axis=0))
    row = g.op("Squeeze", g.op("GatherElements", hidden, index, axis=1), g.ints(1))
    g.output("scores", linear(g, row, lm.decoder), ["batch", scores])


def _cache(g: GraphWriter, layer: int, heads: int, size: int) -> tuple[Value, Value]:
    keys = g.input(f"keys_{layer}", ["batch", heads, size, "cache"])
    return keys, g.input(f"values_{layer}", ["batch", heads, "cache", size])


def _store(g: GraphWriter, layer: int, keys: Value, values: Value, heads: int, size: int) -> None:
    g.output(f"new_keys_{layer}", keys, ["batch", heads, size, "new"])
    g.output(f"new_values_{layer}", values, ["batch", heads, "new", size])


def _attend(g: GraphWriter, scores: tuple[Value, Value], values: tuple[Value, Value], mask: Value) -> Value:
    """Attention over cached and new rows, each in its place; only the scores are joined."""
    joined = g.add(g.concat(*scores, axis=3), mask)
    lengths = g.concat(*[g.op("Shape", v, start=2, end=3) for v in values], axis=0)
    before, own = g.ops("Split", g.op("Softmax", joined, axis=-1), lengths, outputs=2, axis=3)
    return g.add(g.matmul(before, values[0]), g.matmul(own, values[1]))


def _transformer_graph(lm: TransformerLM, precision: Precision) -> GraphWriter:
    g = GraphWriter("lm", precision)
    config = lm.config.backbone
    size = config.width // config.heads
    rows, step = _open(g, lm.config.width)
    cos, sin = sinusoids(g, step.positions, config.width)
    at_query = g.unsqueeze(cos, 1), g.unsqueeze(sin, 1)
    cached_cos, cached_sin = sinusoids(g, g.range(g.dimension("values_0", 2)), config.width)
    at_cached = g.transpose(g.concat(cached_cos, cached_sin, axis=-1), 1, 0)
    at_new = g.unsqueeze(g.transpose(g.concat(cos, sin, axis=-1), 0, 2, 1), 1)
    x = input_layer(g, rows, lm.backbone.embed)
    for i, layer in enumerate(each(lm.backbone.layers, EncoderLayer)):
        attention = layer.attention
        keys, values = _cache(g, i, config.heads, size)
        q, k, v = project(g, layer_norm(g, x, layer.attention_norm), attention)
        new_keys = g.transpose(k, 0, 1, 3, 2)
        content, turned = relative_queries(g, q, attention, at_query)
        before = g.add(g.matmul(content, keys), g.matmul(turned, at_cached))
        own = g.add(g.matmul(content, new_keys), g.matmul(turned, at_new))
        out = _attend(g, (before, own), (values, v), step.mask)
        x = g.add(x, linear(g, rows_again(g, out), attention.out))
        x = feed_forward(g, x, layer, relu=True)
        _store(g, i, new_keys, v, config.heads, size)
    _close(g, layer_norm(g, x, lm.backbone.norm), lm.config.speech_tokens + 1, lm)
    return g


def _qwen_graph(lm: QwenLM, precision: Precision) -> GraphWriter:
    g = GraphWriter("lm", precision)
    config = lm.config.backbone
    size = config.width // config.heads
    x, step = _open(g, config.width)
    rates = (config.rope_theta ** (-np.arange(0, size, 2) / size)).astype(np.float32)
    angle = g.unsqueeze(g.mul(g.unsqueeze(g.cast(step.positions, "float"), -1), g.weight(rates)), 1)
    turn = g.op("Cos", angle), g.op("Sin", angle)
    for i, layer in enumerate(each(lm.layers, QwenLayer)):
        x = _qwen_layer(g, x, layer, i, step, turn)
    _close(g, rms_norm(g, x, lm.norm), lm.config.speech_tokens + lm.config.control_rows, lm)
    return g


def _qwen_layer(g: GraphWriter, x: Value, layer: QwenLayer, i: int, step: _Step, turn: tuple[Value, Value]) -> Value:
    attention = layer.attention
    heads, kv_heads, size = attention.heads, attention.kv_heads, attention.head_size
    keys, values = _cache(g, i, kv_heads, size)
    q, k, v = project(g, rms_norm(g, x, layer.attention_norm), attention)
    new_keys = g.transpose(_rotate(g, k, turn, size), 0, 1, 3, 2)
    # The query heads that share a key head are stacked, so that its cache is read once.
    q = g.reshape(_rotate(g, q, turn, size), 0, kv_heads, -1, size)
    mask = g.concat(*[step.mask] * (heads // kv_heads), axis=2)
    out = _attend(g, (g.matmul(q, keys), g.matmul(q, new_keys)), (values, v), mask)
    rows = g.reshape(out, 0, heads, -1, size)
    x = g.add(x, linear(g, rows_again(g, rows), attention.out))
    y = rms_norm(g, x, layer.feed_forward_norm)
    _store(g, i, new_keys, v, kv_heads, size)
    return g.add(x, linear(g, g.mul(silu(g, linear(g, y, layer.gate)), linear(g, y, layer.up)), layer.down))


def _rotate(g: GraphWriter, x: Value, turn: tuple[Value, Value], size: int) -> Value:
    cos, sin = turn
    first, second = g.slice(x, 0, size // 2, 3), g.slice(x, size // 2, size, 3)
    return g.concat(
        g.op("Sub", g.mul(first, cos), g.mul(second, sin)),
        g.add(g.mul(second, cos), g.mul(first, sin)),
        axis=3,
    )
