"""The flows of the official families as graphs: token encoder, length regulator (v1), flow time, velocity estimator.

Where attention can be limited to chunks, the graph has an int64 scalar `chunk`; a chunk longer than the sequence gives
full attention.

All that depends on the flow time alone is a graph of its own, `time`: it runs once for all steps of all sentences, and
then its weights (a third of the estimator of v3) need not stay in memory. The estimator takes its result, `step`.
"""

import numpy as np
import torch
from torch import Tensor, nn

from cosylite.lab.export.blocks import (
    ChunkMask,
    Frames,
    chunk_mask,
    conv,
    conv_line,
    conv_rows,
    each,
    embed,
    encoder_layers,
    group_norm,
    group_norm_rows,
    input_layer,
    layer_norm,
    linear,
    look_ahead,
    mish,
    norm,
    one,
    rows_of,
    signal_of,
    silu,
    time_embedding,
)
from cosylite.lab.export.graph import GraphWriter, Precision, Shape, Value
from cosylite.lab.models.attention import Attention
from cosylite.lab.models.dit import POSITION_KERNEL, DiT, DiTBlock
from cosylite.lab.models.encoder import LookAhead, UpsamplingEncoder
from cosylite.lab.models.flow import CausalFlow, Flow, TokenFlow
from cosylite.lab.models.unet import AttentionBlock, ChannelNorm, ConvBlock, ResidualBlock, Stage, TimeConv, UNet

_DIT_PARTS = 6
"""Vectors by which the flow time shifts, scales and gates a block of v3."""


def flow_graphs(flow: TokenFlow | CausalFlow, precision: Precision = "fp32") -> dict[str, GraphWriter]:
    """The graphs of a flow by name. In int4 they are as in int8: with many rows a product is bound by arithmetic."""
    precision = "int8" if precision == "int4" else precision
    estimator = flow.estimator
    if isinstance(estimator, DiT):
        graphs = {"time": _dit_time(estimator, precision), "estimator": _dit(estimator, precision)}
    else:
        unet = one(estimator, UNet)
        graphs = {"time": _unet_time(unet, precision), "estimator": _unet(unet, precision)}
    if isinstance(flow, TokenFlow):
        return {"encoder": _token_encoder(flow, precision), "regulator": _regulator(flow, precision), **graphs}
    return {"encoder": _causal_encoder(flow, precision), **graphs}


def _speaker(g: GraphWriter, flow: Flow) -> None:
    vector = g.input("embedding", ["batch", flow.config.speaker_size])
    length = g.op("ReduceL2", vector, g.ints(1), keepdims=1)
    unit = g.op("Div", vector, g.op("Max", length, g.number(1e-12)))
    g.output("speaker", linear(g, unit, flow.speaker_projection, exact=True), ["batch", flow.config.mel])


def _token_encoder(flow: TokenFlow, precision: Precision) -> GraphWriter:
    """v1: `tokens` (1, N) to `states` (1, N, mel); `embedding` to `speaker`."""
    g = GraphWriter("encoder", precision)
    _speaker(g, flow)
    tokens = g.reshape(g.input("tokens", [1, "tokens"], "int"), -1)
    x = input_layer(g, embed(g, tokens, flow.embedding), flow.encoder.embed)
    x = encoder_layers(g, x, flow.encoder.layers, flow.encoder.config.width)
    states = linear(g, layer_norm(g, x, flow.encoder.norm), flow.projection)
    g.output("states", g.unsqueeze(states, 0), [1, "tokens", flow.config.mel])
    return g


def _regulator(flow: TokenFlow, precision: Precision) -> GraphWriter:
    """v1: `states` (1, mel, T) at the frame rate to `mu` of the same shape."""
    g = GraphWriter("regulator", precision)
    x = g.input("states", [1, flow.config.mel, "frames"])
    norms = each(flow.regulator.norms, nn.GroupNorm)
    for layer, after in zip(each(flow.regulator.convs, nn.Conv1d), norms, strict=True):
        x = mish(g, group_norm(g, conv(g, x, layer, 1, 1), after))
    g.output("mu", conv(g, x, flow.regulator.out), [1, flow.config.mel, "frames"])
    return g


def _causal_encoder(flow: CausalFlow, precision: Precision) -> GraphWriter:
    """v2, v3: `tokens` (1, N), `future` (1, 3) and `known` (1 when the future is, else 0) to `mu` (1, mel, 2 N)."""
    g = GraphWriter("encoder", precision)
    _speaker(g, flow)
    x = embed(g, g.reshape(g.input("tokens", [1, "tokens"], "int"), -1), flow.embedding)
    future = embed(g, g.reshape(g.input("future", [1, flow.config.look_ahead], "int"), -1), flow.embedding)
    known = g.input("known", [])
    if isinstance(flow.encoder, UpsamplingEncoder):
        chunk = g.input("chunk", [], "int")
        rows = linear(g, _upsampling(g, x, future, known, chunk, flow.encoder), one(flow.projection, nn.Linear))
    else:
        rows = look_ahead(g, x, g.mul(future, known), one(flow.encoder, LookAhead))
        rows = _repeat(g, rows, flow.config.frames_per_token, flow.config.mel)
    g.output("mu", g.unsqueeze(g.transpose(rows, 1, 0), 0), [1, flow.config.mel, "frames"])
    return g


def _upsampling(
    g: GraphWriter, x: Value, future: Value, known: Value, chunk: Value, encoder: UpsamplingEncoder
) -> Value:
    width = encoder.norm.normalized_shape[0]
    future = g.mul(input_layer(g, future, encoder.embed), known)
    x = look_ahead(g, input_layer(g, x, encoder.embed), future, encoder.look_ahead)
    x = encoder_layers(g, x, encoder.layers, width, chunk_mask(g, g.dimension(x, 0), chunk))
    y = conv_rows(g, Frames(g, g.ints(1)), _repeat(g, x, 2, width), encoder.up, left=4)
    x = input_layer(g, y, encoder.up_embed)
    mask = chunk_mask(g, g.dimension(x, 0), g.mul(chunk, g.integer(2)))
    return layer_norm(g, encoder_layers(g, x, encoder.up_layers, width, mask), encoder.norm)


def _repeat(g: GraphWriter, rows: Value, times: int, columns: int) -> Value:
    """Every row `times` times."""
    return g.reshape(g.concat(*[rows] * times, axis=1), -1, columns)


def _estimator_inputs(g: GraphWriter, mel: int, order: tuple[str, ...]) -> tuple[Frames, Value]:
    """The inputs of an estimator as rows (B * T, 4 mel), side by side in the given order."""
    signal: Shape = ["batch", mel, "frames"]
    values = {name: g.input(name, signal) for name in ("x", "mu", "prompt")}
    speaker = g.unsqueeze(g.input("speaker", ["batch", mel]), 2)
    values["speaker"] = g.op("Expand", speaker, g.op("Shape", "x"))
    rows = rows_of(g, g.concat(*[values[name] for name in order], axis=1), 4 * mel)
    return Frames(g, g.op("Shape", "x", end=1)), rows


def _attention(
    g: GraphWriter, frames: Frames, parts: tuple[Value, Value, Value], layer: Attention, mask: ChunkMask | None
) -> Value:
    """Attention of the frames of a sequence over each other, from rows of queries, keys and values to rows."""
    columns = layer.heads * layer.head_size
    given = [frames.apart(part, columns) for part in parts]

    def attend(*bias: Value) -> Value:
        return g.op("MultiHeadAttention", *given, *bias, domain="com.microsoft", num_heads=layer.heads)

    if mask is None:
        out = attend()
    else:
        bias = mask.bias
        out = g.either(mask.limited, lambda: attend("", "", bias), attend)
    return g.reshape(out, -1, columns)


def _unet_stages(unet: UNet) -> list[Stage]:
    return each([*unet.down, *unet.middle, *unet.up], Stage)


def _unet_time(unet: UNet, precision: Precision) -> GraphWriter:
    """`time` (S,) to `steps` (S, .): what every residual block adds."""
    g = GraphWriter("time", precision)
    time = mish(g, time_embedding(g, g.input("time", ["steps"]), unet.time))
    layers = [stage.residual.time for stage in _unet_stages(unet)]
    weight = torch.cat([layer.weight for layer in layers]).T
    g.output("steps", g.product(time, weight, torch.cat([layer.bias for layer in layers])), ["steps", weight.shape[1]])
    return g


def _unet(unet: UNet, precision: Precision) -> GraphWriter:
    """`velocity` (B, mel, T) of the U-Net."""
    g = GraphWriter("estimator", precision)
    config = unet.config
    sizes = [stage.residual.time.out_features for stage in _unet_stages(unet)]
    step = g.input("step", [sum(sizes)])
    shifts = g.ops("Split", step, g.ints(*sizes), outputs=len(sizes), axis=0)
    frames, x = _estimator_inputs(g, config.out_channels, ("x", "mu", "speaker", "prompt"))
    mask = ChunkMask(g, g.dimension("x", 2), g.input("chunk", [], "int")) if config.chunk else None
    if len(unet.down) == 1:
        g.equal_rows(x)
    skips: list[tuple[Value, int]] = []
    for stage in each(unet.down, Stage):
        skip, x = _stage(g, frames, x, shifts.pop(0), mask, stage)
        skips.append((skip, stage.residual.time.out_features))
    for stage in each(unet.middle, Stage):
        x, _ = _stage(g, frames, x, shifts.pop(0), mask, stage)
    size = sizes[len(unet.down) - 1]
    for stage in each(unet.up, Stage):
        x = _join(g, frames, x, size, *skips.pop(), cut=len(unet.down) > 1)
        _, x = _stage(g, frames, x, shifts.pop(0), mask, stage)
        size = stage.residual.time.out_features
    last = conv_rows(g, frames, _conv_block(g, frames, x, unet.last), unet.out)
    velocity = signal_of(g, frames, last, config.out_channels)
    g.output("velocity", velocity, ["batch", config.out_channels, "frames"])
    return g


def _join(g: GraphWriter, frames: Frames, x: Value, size: int, skip: Value, skip_size: int, *, cut: bool) -> Value:
    """Rows beside those of a skip; `cut`: there may be one frame more of them."""
    if not cut:
        return g.concat(x, skip, axis=1)
    signal, other = frames.apart(x, size), frames.apart(skip, skip_size)
    head = g.op("Slice", signal, g.ints(0), g.op("Shape", other, start=1, end=2), g.ints(1))
    return g.reshape(g.concat(head, other, axis=2), -1, size + skip_size)


def _stage(
    g: GraphWriter, frames: Frames, x: Value, shift: Value, mask: ChunkMask | None, stage: Stage
) -> tuple[Value, Value]:
    x = _residual(g, frames, x, shift, stage.residual)
    for block in each(stage.attention, AttentionBlock):
        x = _attention_block(g, frames, x, mask, block)
    layer = stage.resample
    if isinstance(layer, TimeConv):
        return x, conv_rows(g, frames, x, layer, *layer.pad)
    if isinstance(layer, nn.Conv1d):
        return x, conv_rows(g, frames, x, layer, 1, 1)
    return x, x if isinstance(layer, nn.Identity) else _double(g, frames, x, one(layer, nn.ConvTranspose1d))


def _double(g: GraphWriter, frames: Frames, x: Value, layer: nn.ConvTranspose1d) -> Value:
    """Two rows for each, from it and its neighbours: a transposed convolution of kernel 4, stride 2 and padding 1."""
    none = torch.zeros_like(layer.weight[..., 0])
    before, here, after, later = (layer.weight[..., k] for k in (3, 1, 2, 0))
    weight = torch.cat([torch.cat([before, none], 1), torch.cat([here, after], 1), torch.cat([none, later], 1)])
    wide = frames.window(x, layer.in_channels, 3, 1, 1)
    return g.reshape(g.product(wide, weight, _twice(layer.bias)), -1, layer.out_channels)


def _twice(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else torch.cat([bias, bias])


def _residual(g: GraphWriter, frames: Frames, x: Value, shift: Value, block: ResidualBlock) -> Value:
    h = g.add(_conv_block(g, frames, x, block.first), shift)
    return g.add(_conv_block(g, frames, h, block.second), conv_rows(g, frames, x, block.skip))


def _conv_block(g: GraphWriter, frames: Frames, x: Value, block: ConvBlock) -> Value:
    x = conv_rows(g, frames, x, block.conv, *block.conv.pad)
    if isinstance(block.norm, ChannelNorm):
        return mish(g, layer_norm(g, x, block.norm))
    return mish(g, group_norm_rows(g, frames, x, one(block.norm, nn.GroupNorm)))


def _attention_block(g: GraphWriter, frames: Frames, x: Value, mask: ChunkMask | None, block: AttentionBlock) -> Value:
    layer, y = block.attention, layer_norm(g, x, block.attention_norm)
    parts = linear(g, y, layer.query), linear(g, y, layer.key), linear(g, y, layer.value)
    x = g.add(x, linear(g, _attention(g, frames, parts, layer, mask), layer.out))
    h = g.op("Gelu", linear(g, layer_norm(g, x, block.feed_forward_norm), block.up))
    return g.add(x, linear(g, h, block.down))


def _dit_time(dit: DiT, precision: Precision) -> GraphWriter:
    """`time` (S,) to `steps` (S, .): for every block shift, scale and gate of either half, then scale and shift of the
    end; 1 is added to the scales."""
    g = GraphWriter("time", precision)
    width = dit.config.width
    time = silu(g, time_embedding(g, g.input("time", ["steps"]), dit.time))
    layers = [*(block.modulation for block in each(dit.blocks, DiTBlock)), dit.modulation]
    weight, bias = torch.cat([layer.weight for layer in layers]).T, torch.cat([layer.bias for layer in layers])
    one_more = torch.zeros(len(bias) // width)
    one_more[: _DIT_PARTS * len(dit.blocks)].view(-1, _DIT_PARTS)[:, [1, 4]] = 1
    one_more[-2] = 1
    steps = g.product(time, weight, bias + one_more.repeat_interleave(width))
    g.output("steps", steps, ["steps", len(bias)])
    return g


def _dit(dit: DiT, precision: Precision) -> GraphWriter:
    """`velocity` (B, mel, T) of the DiT."""
    g = GraphWriter("estimator", precision)
    config = dit.config
    count = _DIT_PARTS * config.depth + 2
    step = g.input("step", [count * config.width])
    parts = g.ops("Split", step, outputs=count, axis=0, num_outputs=count)
    frames, rows = _estimator_inputs(g, config.mel, ("x", "prompt", "mu", "speaker"))
    length = g.dimension("x", 2)
    mask = ChunkMask(g, length, g.input("chunk", [], "int"))
    g.equal_rows(rows)
    x = linear(g, rows, dit.embed)
    y = g.unsqueeze(signal_of(g, frames, x, config.width), 2)
    for layer in each(dit.position, nn.Conv1d):
        y = mish(g, conv_line(g, y, layer, left=POSITION_KERNEL - 1))
    x = g.add(x, rows_of(g, g.op("Squeeze", y, g.ints(2)), config.width))
    turn = _turn(g, length, config.head_size)
    for block in each(dit.blocks, DiTBlock):
        own, parts = parts[:_DIT_PARTS], parts[_DIT_PARTS:]
        x = _dit_block(g, frames, x, own, mask, turn, block)
    scale, shift = parts
    rows = linear(g, norm(g, x, scale, shift, 1e-6), dit.out, exact=True)
    velocity = signal_of(g, frames, rows, config.mel)
    g.output("velocity", velocity, ["batch", config.mel, "frames"])
    return g


def _dit_block(
    g: GraphWriter,
    frames: Frames,
    x: Value,
    parts: list[Value],
    mask: ChunkMask,
    turn: tuple[Value, Value],
    block: DiTBlock,
) -> Value:
    shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = parts
    layer, y = block.attention, norm(g, x, scale_a, shift_a, 1e-6)
    q, k = (_turn_first_head(g, frames, linear(g, y, part), layer, turn) for part in (layer.query, layer.key))
    y = _attention(g, frames, (q, k, linear(g, y, layer.value)), layer, mask)
    x = g.add(x, _gated(g, y, layer.out, gate_a))
    h = linear(g, norm(g, x, scale_m, shift_m, 1e-6), block.up)
    return g.add(x, _gated(g, g.op("Gelu", h, approximate="tanh"), block.down, gate_m))


def _gated(g: GraphWriter, x: Value, layer: nn.Linear, gate: Value) -> Value:
    """Rows through a linear layer, its outputs times `gate`."""
    return g.product(x, layer.weight.T, g.mul(g.weight(layer.bias), gate), gain=gate)


def _turn(g: GraphWriter, length: Value, size: int) -> tuple[Value, Value]:
    """Cosines and sines (T, size / 2) of rotary positions."""
    rates = (1e4 ** (-np.arange(0, size, 2) / size)).astype(np.float32)
    angle = g.mul(g.unsqueeze(g.cast(g.range(length), "float"), 1), g.weight(rates))
    return g.op("Cos", angle), g.op("Sin", angle)


def _turn_first_head(g: GraphWriter, frames: Frames, x: Value, layer: Attention, turn: tuple[Value, Value]) -> Value:
    """Rows of queries or keys with head 0 turned by the positions, in pairs of neighbouring columns."""
    width = layer.heads * layer.head_size
    turned = g.op(
        "RotaryEmbedding",
        frames.apart(x, width),
        g.ints(0),
        *turn,
        domain="com.microsoft",
        num_heads=1,
        rotary_embedding_dim=layer.head_size,
        interleaved=1,
    )
    return g.reshape(turned, -1, width)
