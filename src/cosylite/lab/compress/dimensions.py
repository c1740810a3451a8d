"""The dimensions of nano's networks: which axes of which tensors belong together and can be cut together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from cosylite.lab.nano.acoustic import AcousticModel
from cosylite.lab.nano.config import FRAME_CHANNELS, MEL_BANDS
from cosylite.lab.nano.vocoder import Vocoder


@dataclass(frozen=True)
class Use:
    """Where the units of a dimension lie along an axis: `repeats` runs of all units, `unit` entries each."""

    tensor: str
    axis: int
    offset: int = 0
    repeats: int = 1
    unit: int = 1

    def index(self, kept: Tensor, size: int, length: int) -> Tensor:
        """Entries of an axis of `length` that stay when of `size` units only `kept` do."""
        inside = (kept[:, None] * self.unit + torch.arange(self.unit)).flatten()
        runs = [self.offset + r * size * self.unit + inside for r in range(self.repeats)]
        end = self.offset + self.repeats * size * self.unit
        return torch.cat([torch.arange(self.offset), *runs, torch.arange(end, length)])

    def units(self, values: Tensor, size: int) -> Tensor:
        """The entries of a tensor by unit: (size, everything else)."""
        count = self.repeats * size * self.unit
        moved = values.movedim(self.axis, 0)[self.offset : self.offset + count]
        return moved.reshape(self.repeats, size, -1).transpose(0, 1).reshape(size, -1)


@dataclass(frozen=True)
class Dimension:
    """A set of units that can be removed one by one.

    Attributes:
        name: the graph, what it is, and where: ``flow.hidden.3``.
        kind: hidden, heads, width, or the inner width that follows it.
        size: units.
    """

    name: str
    kind: str
    size: int
    uses: tuple[Use, ...]

    @property
    def graph(self) -> str:
        """The stage it belongs to."""
        return self.name.split(".")[0]


def _block(prefix: str, name: str, hidden: int) -> Dimension:
    uses = (Use(f"{prefix}.spread.weight", 0), Use(f"{prefix}.spread.bias", 0), Use(f"{prefix}.gather.weight", 1))
    return Dimension(name, "hidden", hidden, uses)


def _inner(prefix: str, name: str, size: int) -> Dimension:
    """The hidden units of a small network of two layers, which are as many as channels."""
    uses = (Use(f"{prefix}.0.weight", 0), Use(f"{prefix}.0.bias", 0), Use(f"{prefix}.2.weight", 1))
    return Dimension(name, "inner", size, uses)


def _ends(*layers: str) -> tuple[Use, ...]:
    """Weight rows and biases of layers that write to a dimension."""
    return tuple(use for layer in layers for use in (Use(f"{layer}.weight", 0), Use(f"{layer}.bias", 0)))


def _norms(*layers: str) -> tuple[Use, ...]:
    return _ends(*layers)


def acoustic_dimensions(model: AcousticModel) -> Iterator[Dimension]:
    """All dimensions of text encoder and flow decoder."""
    config = model.config
    yield from _text_dimensions(model)
    width, kernel = config.decoder_width, config.kernel
    blocks = [f"decoder.stack.blocks.{i}" for i in range(len(config.decoder_dilations))]
    for i, block in enumerate(blocks):
        yield _block(block, f"flow.hidden.{i}", config.decoder_hidden)
    yield _inner("decoder.guess", "flow.guess", width)
    yield _inner("decoder.time", "flow.time", width)
    uses = [*_ends("decoder.enter", "decoder.time.2"), Use("decoder.shifts", 1), *_norms("decoder.norm")]
    uses.append(Use("decoder.leave.weight", 1))
    for block in blocks:
        uses += [*_norms(f"{block}.norm"), Use(f"{block}.spread.weight", 1, 0, kernel), *_ends(f"{block}.gather")]
    yield Dimension("flow.width", "width", width, tuple(uses))


def _text_dimensions(model: AcousticModel) -> Iterator[Dimension]:
    config, width = model.config, model.config.encoder_width
    inner = config.encoder_conv_hidden or 2 * width
    size = config.encoder_head_size or width // config.encoder_heads
    writes = ["encoder.voice_in", "encoder.voice_out"]
    norms, reads = ["encoder.norm"], [Use("encoder.embed.weight", 1), Use("encoder.duration.0.weight", 1)]
    for i in range(config.encoder_convs):
        spread, gather = f"encoder.spread.{i}", f"encoder.gather.{i}"
        yield Dimension(f"text.conv_hidden.{i}", "hidden", inner, (*_ends(spread), Use(f"{gather}.weight", 1)))
        writes.append(gather)
        norms.append(f"encoder.norms.{i}")
        reads.append(Use(f"{spread}.weight", 1, 0, 5))
    for i in range(config.encoder_layers):
        layer = f"encoder.layers.{i}"
        up, down, qkv, out = (f"{layer}.{part}" for part in ("up", "down", "qkv", "out"))
        yield Dimension(f"text.hidden.{i}", "hidden", config.encoder_hidden, (*_ends(up), Use(f"{down}.weight", 1)))
        heads = (*(Use(f"{qkv}.{p}", 0, 0, 3, size) for p in ("weight", "bias")), Use(f"{out}.weight", 1, 0, 1, size))
        yield Dimension(f"text.heads.{i}", "heads", config.encoder_heads, heads)
        writes += [out, down]
        norms += [f"{layer}.norm1", f"{layer}.norm2"]
        reads += [Use(f"{up}.weight", 1), Use(f"{qkv}.weight", 1)]
    yield _inner("encoder.duration", "text.duration", width)
    outside = (Use("decoder.guess.0.weight", 1), Use("decoder.enter.weight", 1, 2 * FRAME_CHANNELS))
    yield Dimension("text.width", "width", width, (*_ends(*writes), *_norms(*norms), *reads, *outside))


def vocoder_dimensions(model: Vocoder) -> Iterator[Dimension]:
    """All dimensions of the vocoder."""
    config = model.config
    blocks = [f"frames.blocks.{i}" for i in range(len(config.frame_dilations))]
    blocks += [f"hops.blocks.{i}" for i in range(len(config.hop_dilations))]
    uses = [*_ends("enter"), *_norms("norm"), Use("leave.weight", 1)]
    uses += [Use("to_hops.weight", 1), Use("to_hops.weight", 0, 0, 2), Use("to_hops.bias", 0, 0, 2)]
    for i, block in enumerate(blocks):
        yield _block(block, f"vocoder.hidden.{i}", config.hidden)
        uses += [*_norms(f"{block}.norm"), Use(f"{block}.spread.weight", 1, 0, config.kernel)]
        uses += _ends(f"{block}.gather")
    yield Dimension("vocoder.width", "width", config.width, tuple(uses))


VOCODER_LEAST_WIDTH = MEL_BANDS + 2
"""The state of the vocoder keeps past inputs in its channels."""


def cut(weights: Mapping[str, Tensor], dimensions: Mapping[Dimension, Tensor]) -> dict[str, Tensor]:
    """The weights without the units that are not kept; `dimensions` holds the kept units, in order."""
    result = dict(weights)
    for dimension, kept in dimensions.items():
        for use in dimension.uses:
            values = result[use.tensor]
            index = use.index(kept, dimension.size, values.shape[use.axis])
            result[use.tensor] = values.index_select(use.axis, index).contiguous()
    return result
