"""Building blocks of the official networks as graph nodes.

Rows are (M, C), all frames of all sequences below each other, so that a product is one call of a kernel and quantising
a row needs no reshaping; signals are (B, C, T).
"""

import math
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from torch import Tensor, nn

from cosylite.lab.export.graph import GraphWriter, Value
from cosylite.lab.models.attention import RelativeAttention
from cosylite.lab.models.encoder import EncoderLayer, InputLayer, LookAhead
from cosylite.lab.models.unet import TimeEmbedding

Kind = TypeVar("Kind", bound=nn.Module)

FORBIDDEN = -1e9
"""Added to the scores of keys that must not be seen."""
_END = 1 << 62


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
    return g.product(x, layer.weight.T, layer.bias, precision="fp32" if exact else None)


def layer_norm(g: GraphWriter, x: Value, layer: nn.LayerNorm) -> Value:
    """Rows through a layer norm."""
    return norm(g, x, g.weight(layer.weight), g.weight(layer.bias), float(layer.eps))


def norm(g: GraphWriter, x: Value, scale: Value, shift: Value, epsilon: float) -> Value:
    """Rows brought to mean 0 and variance 1, then scaled and shifted per column."""
    return g.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)


def rms_norm(g: GraphWriter, x: Value, layer: nn.RMSNorm) -> Value:
    """Rows through a root-mean-square norm."""
    epsilon = float(layer.eps or 0.0)
    return g.op("SimplifiedLayerNormalization", x, g.weight(layer.weight), axis=-1, epsilon=epsilon)


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


def conv_line(
    g: GraphWriter,
    x: Value,
    layer: nn.Conv1d,
    left: int = 0,
    right: int = 0,
    *,
    inputs: Tensor | None = None,
    outputs: Tensor | None = None,
) -> Value:
    """Line (B, C, 1, T) through a convolution, padded with zeros; as such it has faster kernels than as a signal.

    Args:
        inputs, outputs: factors of the channels.
    """
    weight, bias = layer.weight, layer.bias
    weight = weight if inputs is None else weight * inputs[:, None]
    if outputs is not None:
        weight, bias = weight * outputs[:, None, None], None if bias is None else bias * outputs
    return g.op(
        "Conv",
        x,
        g.weight(weight[:, :, None]),
        *([] if bias is None else [g.weight(bias)]),
        kernel_shape=[1, *layer.kernel_size],
        strides=[1, *layer.stride],
        dilations=[1, *layer.dilation],
        group=layer.groups,
        pads=[0, left, 0, right],
    )


def group_norm(g: GraphWriter, x: Value, layer: nn.GroupNorm) -> Value:
    """Signal through a group norm."""
    groups = layer.num_groups
    ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
    grouped = g.reshape(x, 0, groups, -1)
    normed = g.op("InstanceNormalization", grouped, g.weight(ones), g.weight(zeros), epsilon=float(layer.eps))
    signal = g.op("Reshape", normed, g.op("Shape", x))
    return g.add(g.mul(signal, g.weight(layer.weight[:, None])), g.weight(layer.bias[:, None]))


def group_norm_rows(g: GraphWriter, frames: "Frames", x: Value, layer: nn.GroupNorm) -> Value:
    """Rows through a group norm over all rows of a sequence."""
    size = layer.num_channels
    group = np.arange(size) // (size // layer.num_groups)
    share = g.weight(((group[:, None] == group) / (size // layer.num_groups)).astype(np.float32))
    apart = frames.apart(x, size)
    centred = g.op("Sub", apart, g.matmul(g.op("ReduceMean", apart, g.ints(1)), share))
    power = g.matmul(g.op("ReduceMean", g.mul(centred, centred), g.ints(1)), share)
    factor = g.op("Div", g.weight(layer.weight), g.op("Sqrt", g.add(power, g.number(float(layer.eps)))))
    return g.reshape(g.add(g.mul(centred, factor), g.weight(layer.bias)), -1, size)


class Frames:
    """How rows belong to sequences of one length, for what looks beyond a row: convolutions and attention."""

    def __init__(self, g: GraphWriter, batch: Value) -> None:
        """`batch`: number of sequences, an int64 vector of length 1."""
        self._g, self._batch = g, batch

    def apart(self, x: Value, *columns: int) -> Value:
        """Rows (M, columns) to (B, T, columns); the columns may be several axes."""
        g = self._g
        return g.op("Reshape", x, g.concat(self._batch, g.ints(-1, *columns), axis=0))

    def window(self, x: Value, columns: int, kernel: int, left: int, right: int, stride: int = 1) -> Value:
        """Rows (M, columns) to rows (., kernel * columns): every row with its neighbours, zeros beyond the ends."""
        g = self._g
        padded = g.op("Pad", self.apart(x, columns), g.ints(0, left, 0, 0, right, 0))
        shifted = [g.slice(padded, k, k + 1 - kernel or _END, 1, stride) for k in range(kernel)]
        return g.reshape(g.concat(*shifted, axis=2), -1, kernel * columns)

    def heads(self, x: Value, heads: int, size: int) -> Value:
        """Rows (M, heads * size) to (B, heads, T, size)."""
        return self._g.transpose(self.apart(x, heads, size), 0, 2, 1, 3)


def rows_of(g: GraphWriter, signal: Value, columns: int) -> Value:
    """Signal (B, columns, T) as rows."""
    return g.reshape(g.transpose(signal, 0, 2, 1), -1, columns)


def signal_of(g: GraphWriter, frames: Frames, rows: Value, columns: int) -> Value:
    """Rows as a signal (B, columns, T)."""
    return g.transpose(frames.apart(rows, columns), 0, 2, 1)


def conv_rows(g: GraphWriter, frames: Frames, x: Value, layer: nn.Conv1d, left: int = 0, right: int = 0) -> Value:
    """Rows through a convolution without groups or dilation, as one product with every row's window."""
    size, kernel = layer.in_channels, layer.kernel_size[0]
    wide = x if kernel == 1 else frames.window(x, size, kernel, left, right, layer.stride[0])
    return g.product(wide, window_weight(layer.weight), layer.bias)


def window_weight(weight: Tensor) -> Tensor:
    """Weight (out, in, kernel) of a convolution as a matrix (kernel * in, out)."""
    return weight.permute(2, 1, 0).flatten(0, 1)


def time_embedding(g: GraphWriter, time: Value, layer: TimeEmbedding) -> Value:
    """Embedding (B, width) of flow times (B,)."""
    half = layer.size // 2
    rates = 1000 * np.exp(np.arange(half) * (-math.log(10000) / (half - 1)))
    turn = g.mul(g.unsqueeze(time, 1), g.weight(rates.astype(np.float32)))
    waves = g.concat(g.op("Sin", turn), g.op("Cos", turn), axis=1)
    return linear(g, silu(g, linear(g, waves, layer.up, exact=True)), layer.down, exact=True)


def embed(g: GraphWriter, ids: Value, layer: nn.Embedding) -> Value:
    """Rows of ids (M,); negative ids count as 0."""
    return g.op("Gather", g.weight(layer.weight), g.op("Max", ids, g.integer(0)), axis=0)


def scores(g: GraphWriter, q: Value, k: Value, size: int) -> Value:
    """Scaled scores (B, H, T, S) of queries (B, H, T, D) for keys (B, H, S, D)."""
    return g.op("FusedMatMul", q, k, domain="com.microsoft", transB=1, alpha=size**-0.5)


def merged(g: GraphWriter, weighted: Value, columns: int) -> Value:
    """(B, H, T, D) to rows."""
    return g.reshape(g.transpose(weighted, 0, 2, 1, 3), -1, columns)


def chunk_mask(g: GraphWriter, length: Value, chunk: Value) -> Value:
    """Additive mask (T, T): a query sees every key up to the end of its chunk of `chunk` positions."""
    index = g.range(length)
    limit = g.mul(g.add(g.op("Div", index, chunk), g.integer(1)), chunk)
    seen = g.op("Less", g.unsqueeze(index, 0), g.unsqueeze(limit, 1))
    return g.op("Where", seen, g.number(0.0), g.number(FORBIDDEN))


class ChunkMask:
    """The mask of `chunk_mask` for full sequences of `length`, added only where a chunk is shorter than that."""

    def __init__(self, g: GraphWriter, length: Value, chunk: Value) -> None:
        self.limited = g.op("Less", chunk, length)
        self.bias = g.unsqueeze(chunk_mask(g, length, chunk), 0, 1)
        """(1, 1, T, T)."""


def causal_mask(g: GraphWriter, length: Value) -> Value:
    """Additive mask (T, T): a query sees no later key."""
    return chunk_mask(g, length, g.integer(1))


def sinusoids(g: GraphWriter, positions: Value, width: int) -> tuple[Value, Value]:
    """Cosines and sines (..., width / 2) of positions (...) at the rates of relative attention."""
    rates = (1e4 ** (-np.arange(0, width, 2) / width)).astype(np.float32)
    angle = g.mul(g.unsqueeze(g.cast(positions, "float"), -1), g.weight(rates))
    return g.op("Cos", angle), g.op("Sin", angle)


def turn_query(g: GraphWriter, q: Value, layer: RelativeAttention, at_query: tuple[Value, Value]) -> Value:
    """What a query (B, H, T, D) looks for among the sinusoids of key positions: (B, H, T, width).

    Args:
        q: not scaled.
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


class RelativePositions:
    """The sinusoids of a full sequence of rows, shared by all layers of an encoder."""

    def __init__(self, g: GraphWriter, length: Value, width: int) -> None:
        cos, sin = sinusoids(g, g.range(length), width)
        self.at_query = cos, sin
        self.at_key = g.transpose(g.concat(cos, sin, axis=-1), 1, 0)


def relative_attention(
    g: GraphWriter, frames: Frames, x: Value, layer: RelativeAttention, places: RelativePositions, mask: Value | None
) -> Value:
    """Self-attention of full sequences of rows."""
    heads, size = layer.heads, layer.head_size
    q, k, v = (frames.heads(linear(g, x, part), heads, size) for part in (layer.query, layer.key, layer.value))
    content = g.add(q, g.weight(layer.content_bias[:, None]))
    turned = turn_query(g, g.add(q, g.weight(layer.distance_bias[:, None])), layer, places.at_query)
    bias = g.op("FusedMatMul", turned, places.at_key, domain="com.microsoft", alpha=size**-0.5)
    total = g.add(scores(g, content, k, size), bias if mask is None else g.add(bias, mask))
    weighted = g.matmul(g.op("Softmax", total, axis=-1), v)
    return linear(g, merged(g, weighted, heads * size), layer.out)


def feed_forward(g: GraphWriter, x: Value, layer: EncoderLayer, *, relu: bool = False) -> Value:
    """The second half of an encoder layer."""
    h = linear(g, layer_norm(g, x, layer.feed_forward_norm), layer.up)
    return g.add(x, linear(g, g.op("Relu", h) if relu else silu(g, h), layer.down))


def encoder_layers(g: GraphWriter, x: Value, layers: nn.ModuleList, width: int, mask: Value | None = None) -> Value:
    """One full sequence of rows through a stack of encoder layers."""
    frames = Frames(g, g.ints(1))
    places = RelativePositions(g, g.dimension(x, 0), width)
    for layer in each(layers, EncoderLayer):
        normed = layer_norm(g, x, layer.attention_norm)
        x = g.add(x, relative_attention(g, frames, normed, layer.attention, places, mask))
        x = feed_forward(g, x, layer)
    return x


def input_layer(g: GraphWriter, x: Value, layer: InputLayer) -> Value:
    """Rows to the width of an encoder."""
    x = layer_norm(g, linear(g, x, layer.linear), layer.norm)
    return g.mul(g.op("Relu", x) if layer.relu else x, g.number(layer.scale))


def look_ahead(g: GraphWriter, x: Value, future: Value, layer: LookAhead) -> Value:
    """Rows of one sequence with what comes after them mixed in."""
    frames = Frames(g, g.ints(1))
    y = g.op("LeakyRelu", conv_rows(g, frames, g.concat(x, future, axis=0), layer.first), alpha=0.01)
    return g.add(x, conv_rows(g, frames, y, layer.second, left=2))
