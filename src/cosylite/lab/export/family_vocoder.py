"""The vocoders of the official families as graphs: pitch, and the filter network between two Fourier transforms.

Future frames of the causal vocoder (v3) are part of the input: the graph gives fewer frames than it is fed, and the
caller pads with zeros at the end of the speech.
"""

import torch
from torch import Tensor, nn

from cosylite.lab.export.blocks import conv_line, each, one
from cosylite.lab.export.graph import GraphWriter, Precision, Value
from cosylite.lab.models.hift import FilterStage, HiFT, PaddedConv, Snake, SnakeBlock, Upsample

_POST_SLOPE = 0.01
_STRAIGHT = 1e-6


def vocoder_graphs(hift: HiFT, precision: Precision = "fp32") -> dict[str, GraphWriter]:
    """The graphs of a vocoder by name. Below float32 the weights of the filter are stored in half precision."""
    return {"pitch": _pitch(hift), "vocoder": _filter(hift, precision)}


def _pitch(hift: HiFT) -> GraphWriter:
    """`mel` (B, mel, T + future) to `f0` (B, T) in Hz.

    In double precision: the source magnifies the slightest change of pitch, and what streaming finds must equal what
    the whole sentence gives. As products, because ONNX Runtime has no double convolution.
    """
    g = GraphWriter("pitch")
    predictor, config = hift.pitch_predictor, hift.config
    mel = g.input("mel", ["batch", config.mel, "mel_frames"])
    x = g.transpose(g.cast(mel, "double"), 0, 2, 1)
    for layer in each(predictor.convs, nn.Conv1d):
        x = _elu(g, _unfolded(g, x, layer))
    out = predictor.out
    rows = g.add(g.matmul(x, g.weight(out.weight.T.double())), g.weight(out.bias.double()))
    f0 = g.cast(g.op("Abs", rows), "float")
    g.output("f0", g.op("Squeeze", f0, g.ints(2)), ["batch", "frames"])
    return g


def _unfolded(g: GraphWriter, rows: Value, layer: nn.Conv1d) -> Value:
    """Rows (B, T, C) through a convolution, as one product with the rows of its window side by side."""
    kernel = layer.kernel_size[0]
    if isinstance(layer, PaddedConv):
        rows = g.op("Pad", rows, g.ints(0, layer.pad[0], 0, 0, layer.pad[1], 0))
    shifted = [g.op("Slice", rows, g.ints(k), g.ints(k - kernel + 1 or 1 << 62), g.ints(1)) for k in range(kernel)]
    weight = layer.weight.permute(2, 1, 0).flatten(0, 1).double()
    product = g.matmul(g.concat(*shifted, axis=2), g.weight(weight))
    return product if layer.bias is None else g.add(product, g.weight(layer.bias.double()))


def _elu(g: GraphWriter, x: Value) -> Value:
    zero = g.cast(g.number(0.0), "double")
    negative = g.op("Sub", g.op("Exp", g.op("Min", x, zero)), g.cast(g.number(1.0), "double"))
    return g.op("Where", g.op("Greater", x, zero), x, negative)


def _filter(hift: HiFT, precision: Precision) -> GraphWriter:
    """`mel` (B, mel, T + future) and the spectrum of the excitation `source` (B, 18, F) to `rows` (B, 18, F).

    Inside, signals are images (B, C, 1, T) of one line, for which there are faster convolutions.
    """
    g = GraphWriter("vocoder", "fp16" if precision != "fp32" else "fp32")
    config, bins = hift.config, hift.config.n_fft + 2
    mel = g.unsqueeze(g.input("mel", ["batch", config.mel, "mel_frames"]), 2)
    source = g.unsqueeze(g.input("source", ["batch", bins, "bins"]), 2)
    first = one(hift.first, nn.Conv1d)
    x = conv_line(g, mel, first, *(first.pad if isinstance(first, PaddedConv) else ()))
    for stage in each(hift.stages, FilterStage):
        x = _stage(g, x, source, stage)
    last: PaddedConv = hift.last
    rows = conv_line(g, g.op("LeakyRelu", x, alpha=_POST_SLOPE), last, *last.pad)
    g.output("rows", g.op("Squeeze", rows, g.ints(2)), ["batch", bins, "bins"])
    return g


def _stage(g: GraphWriter, x: Value, source: Value, stage: FilterStage) -> Value:
    x = _upsample(g, g.op("LeakyRelu", x, alpha=stage.slope), stage.up)
    if stage.is_last:
        x = g.concat(g.slice(x, 1, 2, 3), x, axis=3)
    down = conv_line(g, source, stage.source_down, *stage.source_down.pad)
    x = g.add(x, _snake_block(g, down, stage.source_block))
    total = g.op("Sum", *[_snake_block(g, x, block) for block in each(stage.blocks, SnakeBlock)])
    return g.mul(total, g.number(1 / len(stage.blocks)))


def _upsample(g: GraphWriter, x: Value, layer: Upsample) -> Value:
    inner = layer.conv
    if isinstance(inner, PaddedConv):
        repeated = g.concat(*[g.unsqueeze(x, 4)] * layer.rate, axis=4)
        return conv_line(g, g.reshape(repeated, 0, 0, 1, -1), inner, *inner.pad)
    inner = one(inner, nn.ConvTranspose1d)
    pad = int(inner.padding[0])
    return g.op(
        "ConvTranspose",
        x,
        g.weight(inner.weight[:, :, None]),
        *([] if inner.bias is None else [g.weight(inner.bias)]),
        kernel_shape=[1, inner.kernel_size[0]],
        strides=[1, inner.stride[0]],
        pads=[0, pad, 0, pad],
    )


def _snake_block(g: GraphWriter, x: Value, block: SnakeBlock) -> Value:
    snakes = zip(each(block.before, Snake), each(block.between, Snake), strict=True)
    convs = zip(each(block.dilated, PaddedConv), each(block.plain, PaddedConv), strict=True)
    for (before, between), (dilated, plain) in zip(snakes, convs, strict=True):
        turned = g.mul(x, g.weight(_rate(before)[:, None, None]))
        h = conv_line(g, _snake(g, turned), dilated, *dilated.pad, inputs=1 / _rate(before), outputs=_rate(between))
        x = g.add(x, conv_line(g, _snake(g, h), plain, *plain.pad, inputs=1 / _rate(between)))
    return x


def _snake(g: GraphWriter, turned: Value) -> Value:
    """a times the snake x + sin^2(a x) / a, from a x; the convolutions on either side hold the factors."""
    wave = g.op("Sin", turned)
    return g.add(turned, g.mul(wave, wave))


def _rate(snake: Snake) -> Tensor:
    """The a of every channel. With one that is next to nothing, a snake is straight; it must not be divided by."""
    return torch.where(snake.alpha.abs() < _STRAIGHT, _STRAIGHT, snake.alpha)
