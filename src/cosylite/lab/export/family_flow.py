"""The flows of the official families as graphs: token encoder, length regulator (v1), velocity estimator.

Where attention can be limited to chunks, the graph has an int64 scalar `chunk`; a chunk longer than the sequence gives
full attention.
"""

from collections.abc import Callable

import numpy as np
from torch import nn

from cosylite.lab.export.blocks import (
    FORBIDDEN,
    attention,
    chunk_mask,
    conv,
    each,
    embed,
    encoder_layers,
    group_norm,
    input_layer,
    layer_norm,
    linear,
    look_ahead,
    mish,
    one,
    silu,
    time_embedding,
)
from cosylite.lab.export.graph import GraphWriter, Precision, Shape, Value
from cosylite.lab.models.dit import POSITION_KERNEL, DiT, DiTBlock
from cosylite.lab.models.encoder import LookAhead, UpsamplingEncoder
from cosylite.lab.models.flow import CausalFlow, Flow, TokenFlow
from cosylite.lab.models.unet import AttentionBlock, ChannelNorm, ConvBlock, ResidualBlock, Stage, TimeConv, UNet

_END = 1 << 62


def flow_graphs(flow: TokenFlow | CausalFlow, precision: Precision = "fp32") -> dict[str, GraphWriter]:
    """The graphs of a flow by name."""
    estimator = flow.estimator
    graph = _dit(estimator, precision) if isinstance(estimator, DiT) else _unet(one(estimator, UNet), precision)
    if isinstance(flow, TokenFlow):
        return {"encoder": _token_encoder(flow, precision), "regulator": _regulator(flow), "estimator": graph}
    return {"encoder": _causal_encoder(flow, precision), "estimator": graph}


def _speaker(g: GraphWriter, flow: Flow) -> None:
    vector = g.input("embedding", ["batch", flow.config.speaker_size])
    norm = g.op("ReduceL2", vector, g.ints(1), keepdims=1)
    unit = g.op("Div", vector, g.op("Max", norm, g.number(1e-12)))
    g.output("speaker", linear(g, unit, flow.speaker_projection, exact=True), ["batch", flow.config.mel])


def _token_encoder(flow: TokenFlow, precision: Precision) -> GraphWriter:
    """v1: `tokens` (1, N) to `states` (1, N, mel); `embedding` to `speaker`."""
    g = GraphWriter("encoder", precision)
    _speaker(g, flow)
    x = input_layer(g, embed(g, g.input("tokens", [1, "tokens"], "int"), flow.embedding), flow.encoder.embed)
    nothing_hidden = g.unsqueeze(g.number(0.0), 0, 1, 2, 3)
    x = encoder_layers(g, x, flow.encoder.layers, flow.encoder.config.width, nothing_hidden)
    states = linear(g, layer_norm(g, x, flow.encoder.norm), flow.projection)
    g.output("states", states, [1, "tokens", flow.config.mel])
    return g


def _regulator(flow: TokenFlow) -> GraphWriter:
    """v1: `states` (1, mel, T) at the frame rate to `mu` of the same shape."""
    g = GraphWriter("regulator")
    x = g.input("states", [1, flow.config.mel, "frames"])
    norms = each(flow.regulator.norms, nn.GroupNorm)
    for layer, norm in zip(each(flow.regulator.convs, nn.Conv1d), norms, strict=True):
        x = mish(g, group_norm(g, conv(g, x, layer, 1, 1), norm))
    g.output("mu", conv(g, x, flow.regulator.out), [1, flow.config.mel, "frames"])
    return g


def _causal_encoder(flow: CausalFlow, precision: Precision) -> GraphWriter:
    """v2, v3: `tokens` (1, N), `future` (1, 3) and `known` (1 when the future is, else 0) to `mu` (1, mel, 2 N)."""
    g = GraphWriter("encoder", precision)
    _speaker(g, flow)
    x = embed(g, g.input("tokens", [1, "tokens"], "int"), flow.embedding)
    future = embed(g, g.input("future", [1, flow.config.look_ahead], "int"), flow.embedding)
    known = g.input("known", [])
    if isinstance(flow.encoder, UpsamplingEncoder):
        chunk = g.input("chunk", [], "int")
        rows = linear(g, _upsampling(g, x, future, known, chunk, flow.encoder), one(flow.projection, nn.Linear))
        mu = g.transpose(rows, 0, 2, 1)
    else:
        rows = look_ahead(g, x, g.mul(future, known), one(flow.encoder, LookAhead))
        mu = _repeat(g, g.transpose(rows, 0, 2, 1), flow.config.frames_per_token)
    g.output("mu", mu, [1, flow.config.mel, "frames"])
    return g


def _upsampling(
    g: GraphWriter, x: Value, future: Value, known: Value, chunk: Value, encoder: UpsamplingEncoder
) -> Value:
    width = encoder.norm.normalized_shape[0]
    future = g.mul(input_layer(g, future, encoder.embed), known)
    x = look_ahead(g, input_layer(g, x, encoder.embed), future, encoder.look_ahead)
    x = encoder_layers(g, x, encoder.layers, width, chunk_mask(g, g.dimension(x, 1), chunk))
    y = conv(g, _repeat(g, g.transpose(x, 0, 2, 1), 2), encoder.up, left=4)
    x = input_layer(g, g.transpose(y, 0, 2, 1), encoder.up_embed)
    mask = chunk_mask(g, g.dimension(x, 1), g.mul(chunk, g.integer(2)))
    return layer_norm(g, encoder_layers(g, x, encoder.up_layers, width, mask), encoder.norm)


def _repeat(g: GraphWriter, x: Value, times: int) -> Value:
    """Every frame of a signal (1, C, T) `times` times."""
    return g.reshape(g.concat(*[g.unsqueeze(x, 3)] * times, axis=3), 0, 0, -1)


def _estimator_inputs(g: GraphWriter, mel: int) -> dict[str, Value]:
    signal: Shape = ["batch", mel, "frames"]
    values = {name: g.input(name, signal) for name in ("x", "mu", "prompt")}
    values["mask"] = g.input("mask", ["batch", 1, "frames"])
    values["time"] = g.input("time", ["batch"])
    speaker = g.unsqueeze(g.input("speaker", ["batch", mel]), 2)
    values["speaker"] = g.op("Expand", speaker, g.op("Shape", "x"))
    return values


def _key_mask(g: GraphWriter, mask: Value) -> Value:
    """Additive mask (B, 1, 1, T) of frames marked 1 or 0 in (B, 1, T)."""
    return g.unsqueeze(g.mul(g.op("Sub", g.number(1.0), mask), g.number(FORBIDDEN)), 2)


def _unet(unet: UNet, precision: Precision) -> GraphWriter:
    """`velocity` (B, mel, T) of the U-Net; inputs as in `UNet.forward`."""
    g = GraphWriter("estimator", precision)
    config = unet.config
    given = _estimator_inputs(g, config.out_channels)
    chunk = g.input("chunk", [], "int") if config.chunk else None

    def visible(mask: Value) -> Value:
        keys = _key_mask(g, mask)
        return keys if chunk is None else g.add(keys, chunk_mask(g, g.dimension(mask, 2), chunk))

    time = mish(g, time_embedding(g, given["time"], unet.time))
    x = g.concat(*[given[name] for name in ("x", "mu", "speaker", "prompt")], axis=1)
    masks, hidden, skips = [given["mask"]], [visible(given["mask"])], []
    for level, stage in enumerate(each(unet.down, Stage)):
        skip, x = _stage(g, x, masks[-1], time, hidden[-1], stage)
        skips.append(skip)
        if level < len(unet.down) - 1:
            masks.append(g.slice(masks[-1], 0, _END, 2, 2))
            hidden.append(visible(masks[-1]))
    for stage in each(unet.middle, Stage):
        x, _ = _stage(g, x, masks[-1], time, hidden[-1], stage)
    for stage, skip, mask, keys in zip(each(unet.up, Stage), skips[::-1], masks[::-1], hidden[::-1], strict=True):
        x = g.concat(_cut(g, x, skip), skip, axis=1)
        _, x = _stage(g, x, mask, time, keys, stage)
    last = _conv_block(g, x, given["mask"], unet.last)
    velocity = g.mul(conv(g, g.mul(last, given["mask"]), unet.out), given["mask"])
    g.output("velocity", velocity, ["batch", config.out_channels, "frames"])
    return g


def _cut(g: GraphWriter, x: Value, like: Value) -> Value:
    """The head of a signal, as long as another."""
    return g.op("Slice", x, g.ints(0), g.op("Shape", like, start=2, end=3), g.ints(2))


def _stage(g: GraphWriter, x: Value, mask: Value, time: Value, keys: Value, stage: Stage) -> tuple[Value, Value]:
    rows = g.transpose(_residual(g, x, mask, time, stage.residual), 0, 2, 1)
    for block in each(stage.attention, AttentionBlock):
        rows = _attention_block(g, rows, keys, block)
    x = g.transpose(rows, 0, 2, 1)
    layer, masked = stage.resample, g.mul(x, mask)
    if isinstance(layer, TimeConv):
        return x, conv(g, masked, layer, *layer.pad)
    if isinstance(layer, nn.Conv1d):
        return x, conv(g, masked, layer, 1, 1)
    return x, x if isinstance(layer, nn.Identity) else _double(g, masked, one(layer, nn.ConvTranspose1d))


def _double(g: GraphWriter, x: Value, layer: nn.ConvTranspose1d) -> Value:
    weights = [g.weight(layer.weight), *([] if layer.bias is None else [g.weight(layer.bias)])]
    return g.op("ConvTranspose", x, *weights, kernel_shape=[4], strides=[2], pads=[1, 1])


def _residual(g: GraphWriter, x: Value, mask: Value, time: Value, block: ResidualBlock) -> Value:
    h = g.add(_conv_block(g, x, mask, block.first), g.unsqueeze(linear(g, time, block.time), 2))
    return g.add(_conv_block(g, h, mask, block.second), conv(g, g.mul(x, mask), block.skip))


def _conv_block(g: GraphWriter, x: Value, mask: Value, block: ConvBlock) -> Value:
    x = conv(g, g.mul(x, mask), block.conv, *block.conv.pad)
    if isinstance(block.norm, ChannelNorm):
        x = g.transpose(layer_norm(g, g.transpose(x, 0, 2, 1), block.norm), 0, 2, 1)
    else:
        x = group_norm(g, x, one(block.norm, nn.GroupNorm))
    return g.mul(mish(g, x), mask)


def _attention_block(g: GraphWriter, x: Value, keys: Value, block: AttentionBlock) -> Value:
    x = g.add(x, attention(g, layer_norm(g, x, block.attention_norm), block.attention, keys, lambda q: q))
    h = g.op("Gelu", linear(g, layer_norm(g, x, block.feed_forward_norm), block.up))
    return g.add(x, linear(g, h, block.down))


def _dit(dit: DiT, precision: Precision) -> GraphWriter:
    """`velocity` (B, mel, T) of the DiT; inputs as in `DiT.forward`."""
    g = GraphWriter("estimator", precision)
    config = dit.config
    given = _estimator_inputs(g, config.mel)
    keys = _key_mask(g, given["mask"])
    mask = g.add(keys, chunk_mask(g, g.dimension("x", 2), g.input("chunk", [], "int")))
    time = silu(g, time_embedding(g, given["time"], dit.time))
    signal = g.concat(*[given[name] for name in ("x", "prompt", "mu", "speaker")], axis=1)
    x = linear(g, g.transpose(signal, 0, 2, 1), dit.embed)
    y = g.transpose(x, 0, 2, 1)
    for layer in each(dit.position, nn.Conv1d):
        y = mish(g, conv(g, y, layer, left=POSITION_KERNEL - 1))
    x = g.add(x, g.transpose(y, 0, 2, 1))
    frames = g.transpose(given["mask"], 0, 2, 1)
    rotate = _first_head_rotation(g, g.dimension("x", 2), config.head_size)
    for block in each(dit.blocks, DiTBlock):
        x = _dit_block(g, x, time, mask, frames, rotate, block)
    scale, shift = g.ops("Split", linear(g, time, dit.modulation), outputs=2, axis=1, num_outputs=2)
    rows = linear(g, _modulate(g, x, shift, scale, config.width), dit.out, exact=True)
    g.output("velocity", g.transpose(rows, 0, 2, 1), ["batch", config.mel, "frames"])
    return g


def _dit_block(
    g: GraphWriter,
    x: Value,
    time: Value,
    mask: Value,
    frames: Value,
    rotate: Callable[[Value], Value],
    block: DiTBlock,
) -> Value:
    width = block.up.in_features
    parts = g.ops("Split", linear(g, time, block.modulation), outputs=6, axis=1, num_outputs=6)
    shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = parts
    y = attention(g, _modulate(g, x, shift_a, scale_a, width), block.attention, mask, rotate)
    x = g.add(x, g.mul(g.unsqueeze(gate_a, 1), g.mul(y, frames)))
    h = linear(g, _modulate(g, x, shift_m, scale_m, width), block.up)
    y = linear(g, g.op("Gelu", h, approximate="tanh"), block.down)
    return g.add(x, g.mul(g.unsqueeze(gate_m, 1), y))


def _modulate(g: GraphWriter, x: Value, shift: Value, scale: Value, width: int) -> Value:
    ones, zeros = g.weight(np.ones(width, np.float32)), g.weight(np.zeros(width, np.float32))
    normed = g.op("LayerNormalization", x, ones, zeros, axis=-1, epsilon=1e-6)
    return g.add(g.mul(normed, g.unsqueeze(g.add(scale, g.number(1.0)), 1)), g.unsqueeze(shift, 1))


def _first_head_rotation(g: GraphWriter, length: Value, size: int) -> Callable[[Value], Value]:
    rates = (1e4 ** (-np.arange(0, size, 2) / size)).astype(np.float32)
    angle = g.mul(g.unsqueeze(g.cast(g.range(length), "float"), 1), g.weight(rates))
    cos, sin = g.op("Cos", angle), g.op("Sin", angle)

    def rotate(x: Value) -> Value:
        head, rest = g.slice(x, 0, 1, 1), g.slice(x, 1, _END, 1)
        even, odd = g.slice(head, 0, _END, 3, 2), g.slice(head, 1, _END, 3, 2)
        turned_even = g.op("Sub", g.mul(even, cos), g.mul(odd, sin))
        turned_odd = g.add(g.mul(odd, cos), g.mul(even, sin))
        pairs = g.concat(g.unsqueeze(turned_even, 4), g.unsqueeze(turned_odd, 4), axis=4)
        return g.concat(g.reshape(pairs, 0, 0, 0, -1), rest, axis=1)

    return rotate
