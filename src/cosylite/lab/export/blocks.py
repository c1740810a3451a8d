"""Building blocks of the official networks as graph nodes. Rows are (B, T, C), signals (B, C, T)."""

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from torch import nn

from cosylite.lab.export.graph import GraphWriter, Value
from cosylite.lab.models.attention import Attention, RelativeAttention
from cosylite.lab.models.encoder import EncoderLayer, InputLayer, LookAhead
from cosylite.lab.models.unet import TimeEmbedding

Kind = TypeVar("Kind", bound=nn.Module)

FORBIDDEN = -1e9
"""Added to the scores of keys that must not be seen."""


def each(layers: Iterable[nn.Module], kind: type[Kind]) -> list[Kind]:
    """The layers of a list, all of one kind."""
    return [one(layer, kind) for layer in layers]


def one(layer: object, kind: type[Kind]) -> Kind:
    """A layer whose kind is known to the caller but not to the type checker."""
    if not isinstance(layer, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(layer).__name__}")
    return layer


def linear(g: GraphWriter, x: Value, layer: nn.Linear, *, exact: bool = False) -> Value:
    """Rows through a linear layer; `exact` keeps it in float32."""
    return g.product(x, layer.weight.T, layer.bias, exact=exact)


def layer_norm(g: GraphWriter, x: Value, layer: nn.LayerNorm) -> Value:
    """Rows through a layer norm."""
    return g.op(
        "LayerNormalization", x, g.weight(layer.weight), g.weight(layer.bias), axis=-1, epsilon=float(layer.eps)
    )


def rms_norm(g: GraphWriter, x: Value, layer: nn.RMSNorm) -> Value:
    """Rows through a root-mean-square norm."""
    mean = g.op("ReduceMean", g.mul(x, x), g.ints(-1), keepdims=1)
    root = g.op("Sqrt", g.add(mean, g.number(layer.eps or 0.0)))
    return g.mul(g.op("Div", x, root), g.weight(layer.weight))


def silu(g: GraphWriter, x: Value) -> Value:
    """x sigmoid(x)."""
    return g.mul(x, g.op("Sigmoid", x))


def mish(g: GraphWriter, x: Value) -> Value:
    """x tanh(log(1 + e^x)), in the form x n / (n + 2) with n = e^x (e^x + 2), for which there are fast kernels."""
    power = g.op("Exp", g.op("Min", x, g.number(20.0)))
    n = g.mul(power, g.add(power, g.number(2.0)))
    return g.mul(x, g.op("Div", n, g.add(n, g.number(2.0))))


def conv(g: GraphWriter, x: Value, layer: nn.Conv1d, left: int = 0, right: int = 0) -> Value:
    """Signal through a convolution, padded with zeros."""
    weights = [g.weight(layer.weight)] + ([] if layer.bias is None else [g.weight(layer.bias)])
    return g.op(
        "Conv",
        x,
        *weights,
        kernel_shape=list(layer.kernel_size),
        strides=list(layer.stride),
        dilations=list(layer.dilation),
        group=layer.groups,
        pads=[left, right],
    )


def group_norm(g: GraphWriter, x: Value, layer: nn.GroupNorm) -> Value:
    """Signal through a group norm."""
    groups = layer.num_groups
    ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
    grouped = g.reshape(x, 0, groups, -1)
    normed = g.op("InstanceNormalization", grouped, g.weight(ones), g.weight(zeros), epsilon=float(layer.eps))
    signal = g.op("Reshape", normed, g.op("Shape", x))
    return g.add(g.mul(signal, g.weight(layer.weight[:, None])), g.weight(layer.bias[:, None]))


def time_embedding(g: GraphWriter, time: Value, layer: TimeEmbedding) -> Value:
    """Embedding (B, width) of flow times (B,)."""
    half = layer.size // 2
    rates = 1000 * np.exp(np.arange(half) * (-math.log(10000) / (half - 1)))
    turn = g.mul(g.unsqueeze(time, 1), g.weight(rates.astype(np.float32)))
    waves = g.concat(g.op("Sin", turn), g.op("Cos", turn), axis=1)
    return linear(g, silu(g, linear(g, waves, layer.up, exact=True)), layer.down, exact=True)


def embed(g: GraphWriter, ids: Value, layer: nn.Embedding) -> Value:
    """Rows of ids; negative ids count as 0."""
    return g.op("Gather", g.weight(layer.weight), g.op("Max", ids, g.integer(0)), axis=0)


def project(g: GraphWriter, x: Value, layer: Attention) -> tuple[Value, Value, Value]:
    """Queries (B, H, T, D), already scaled for the softmax, keys and values of rows."""
    scale, bias = layer.head_size**-0.5, layer.query.bias
    scaled = g.product(x, layer.query.weight.T * scale, None if bias is None else bias * scale)
    return (
        heads_first(g, scaled, layer.heads, layer.head_size),
        heads_first(g, linear(g, x, layer.key), layer.kv_heads, layer.head_size),
        heads_first(g, linear(g, x, layer.value), layer.kv_heads, layer.head_size),
    )


def relative_queries(
    g: GraphWriter, q: Value, layer: RelativeAttention, at_query: tuple[Value, Value]
) -> tuple[Value, Value]:
    """What scaled queries ask of the content of keys (B, H, T, D), and of their positions (B, H, T, width)."""
    scale = layer.head_size**-0.5
    content = g.add(q, g.weight(layer.content_bias[:, None] * scale))
    return content, turn_query(g, g.add(q, g.weight(layer.distance_bias[:, None] * scale)), layer, at_query)


def softmax_attention(g: GraphWriter, scores: Value, values: Value, mask: Value) -> Value:
    """Weights of scaled scores (B, H, T, S), masked, applied to values (B, H, S, D)."""
    return g.matmul(g.op("Softmax", g.add(scores, mask), axis=-1), values)


def heads_first(g: GraphWriter, x: Value, heads: int, size: int) -> Value:
    """Rows (B, T, heads * size) to (B, heads, T, size)."""
    return g.transpose(g.reshape(x, 0, 0, heads, size), 0, 2, 1, 3)


def rows_again(g: GraphWriter, x: Value) -> Value:
    """(B, heads, T, size) to rows (B, T, heads * size)."""
    return g.reshape(g.transpose(x, 0, 2, 1, 3), 0, 0, -1)


def chunk_mask(g: GraphWriter, length: Value, chunk: Value) -> Value:
    """Additive mask (1, 1, T, T): a query sees every key up to the end of its chunk of `chunk` positions."""
    index = g.range(length)
    limit = g.mul(g.add(g.op("Div", index, chunk), g.integer(1)), chunk)
    seen = g.op("Less", g.unsqueeze(index, 0), g.unsqueeze(limit, 1))
    return g.unsqueeze(forbid(g, seen), 0, 1)


def causal_mask(g: GraphWriter, length: Value) -> Value:
    """Additive mask (1, 1, T, T): a query sees no later key."""
    return chunk_mask(g, length, g.integer(1))


def forbid(g: GraphWriter, seen: Value) -> Value:
    """Zero where a bool is true, `FORBIDDEN` elsewhere."""
    return g.op("Where", seen, g.number(0.0), g.number(FORBIDDEN))


def sinusoids(g: GraphWriter, positions: Value, width: int) -> tuple[Value, Value]:
    """Cosines and sines (..., width / 2) of positions (...) at the rates of relative attention."""
    rates = (1e4 ** (-np.arange(0, width, 2) / width)).astype(np.float32)
    angle = g.mul(g.unsqueeze(g.cast(positions, "float"), -1), g.weight(rates))
    return g.op("Cos", angle), g.op("Sin", angle)


def turn_query(g: GraphWriter, q: Value, layer: RelativeAttention, at_query: tuple[Value, Value]) -> Value:
    """What a query (B, H, T, D) looks for among the sinusoids of key positions: (B, H, T, width).

    Args:
        at_query: cosines and sines (B or 1, 1, T, width / 2) of the positions of the queries.
    """
    cos, sin = at_query
    width = layer.position.weight.shape[0]
    weight = layer.position.weight.view(layer.heads, layer.head_size, width)
    even = g.matmul(q, g.weight(weight[..., 0::2]))
    odd = g.matmul(q, g.weight(weight[..., 1::2]))
    on_cos = g.add(g.mul(even, sin), g.mul(odd, cos))
    on_sin = g.op("Sub", g.mul(odd, sin), g.mul(even, cos))
    return g.concat(on_cos, on_sin, axis=-1)


def attention(g: GraphWriter, x: Value, layer: Attention, mask: Value, rotate: Callable[[Value], Value]) -> Value:
    """Plain self-attention of rows; `rotate` turns queries and keys (B, H, T, D)."""
    q, k, v = project(g, x, layer)
    scores = g.matmul(rotate(q), g.transpose(rotate(k), 0, 1, 3, 2))
    return linear(g, rows_again(g, softmax_attention(g, scores, v, mask)), layer.out)


class RelativePositions:
    """The sinusoids of a full sequence of rows, shared by all layers of an encoder."""

    def __init__(self, g: GraphWriter, length: Value, width: int) -> None:
        cos, sin = sinusoids(g, g.range(length), width)
        self.at_query = g.unsqueeze(cos, 0, 1), g.unsqueeze(sin, 0, 1)
        self.at_key = g.transpose(g.concat(cos, sin, axis=-1), 1, 0)


def relative_attention(
    g: GraphWriter, x: Value, layer: RelativeAttention, places: RelativePositions, mask: Value
) -> Value:
    """Self-attention of full sequences."""
    q, k, v = project(g, x, layer)
    content, turned = relative_queries(g, q, layer, places.at_query)
    scores = g.add(g.matmul(content, g.transpose(k, 0, 1, 3, 2)), g.matmul(turned, places.at_key))
    return linear(g, rows_again(g, softmax_attention(g, scores, v, mask)), layer.out)


def feed_forward(g: GraphWriter, x: Value, layer: EncoderLayer, *, relu: bool = False) -> Value:
    """The second half of an encoder layer."""
    h = linear(g, layer_norm(g, x, layer.feed_forward_norm), layer.up)
    return g.add(x, linear(g, g.op("Relu", h) if relu else silu(g, h), layer.down))


def encoder_layers(g: GraphWriter, x: Value, layers: nn.ModuleList, width: int, mask: Value) -> Value:
    """Full sequences through a stack of encoder layers."""
    places = RelativePositions(g, g.dimension(x, 1), width)
    for layer in each(layers, EncoderLayer):
        x = g.add(x, relative_attention(g, layer_norm(g, x, layer.attention_norm), layer.attention, places, mask))
        x = feed_forward(g, x, layer)
    return x


def input_layer(g: GraphWriter, x: Value, layer: InputLayer) -> Value:
    """Rows to the width of an encoder."""
    x = layer_norm(g, linear(g, x, layer.linear), layer.norm)
    return g.mul(g.op("Relu", x) if layer.relu else x, g.number(layer.scale))


def look_ahead(g: GraphWriter, x: Value, future: Value, layer: LookAhead) -> Value:
    """Rows with what comes after them mixed in."""
    y = g.transpose(g.concat(x, future, axis=1), 0, 2, 1)
    y = conv(g, g.op("LeakyRelu", conv(g, y, layer.first), alpha=0.01), layer.second, left=2)
    return g.add(x, g.transpose(y, 0, 2, 1))
