"""Structured pruning of nano: whole blocks, heads, hidden units and channels go, and the tensors become smaller."""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from cosylite.errors import InputError
from cosylite.lab.compress.dimensions import (
    VOCODER_LEAST_WIDTH,
    Dimension,
    acoustic_dimensions,
    cut,
    vocoder_dimensions,
)
from cosylite.lab.compress.heal import Lessons
from cosylite.lab.compress.recipe import Pruning
from cosylite.lab.export.nano_bundle import NanoNetworks
from cosylite.lab.nano.acoustic import AcousticModel, expand
from cosylite.lab.nano.crops import TAIL, WARM
from cosylite.lab.nano.losses import mel_loss, spectral_loss
from cosylite.lab.nano.training import masked_mean
from cosylite.lab.nano.vocoder import Vocoder, waveform

_BATCHES = 6
_FRAMES, _CROPS = 1500, 8
GRAPHS = ("text", "flow", "vocoder")

Loss = Callable[[int], Tensor]


def prune(networks: NanoNetworks, how: Pruning, lessons: Lessons | None) -> NanoNetworks:
    """The networks without their least important parts.

    Args:
        lessons: data to estimate importance from.

    Raises:
        InputError: an unknown graph, or importance by data without any.
    """
    unknown = sorted(set(how.graphs) - set(GRAPHS))
    if unknown:
        raise InputError(
            f"recipe: unknown graph {unknown[0]!r} in prune; valid: {', '.join(GRAPHS)}",
            code="bad_recipe",
            param="prune",
        )
    if lessons is None and (how.importance == "taylor" or how.depth):
        raise InputError("pruning judges by data: give --data manifest.jsonl", code="no_calibration_data", param="data")
    acoustic, vocoder = networks.acoustic, networks.vocoder
    if how.depth and lessons is not None:
        acoustic, vocoder = shorten(acoustic, vocoder, how, lessons)
    chosen = [k for k, share in (("hidden", how.hidden), ("heads", how.heads), ("width", how.width)) if share]
    if chosen:
        acoustic = _narrow_acoustic(acoustic, how, lessons)
        vocoder = _narrow_vocoder(vocoder, how, lessons)
    return dataclasses.replace(networks, acoustic=acoustic, vocoder=vocoder)


def acoustic_loss(model: AcousticModel, lessons: Lessons) -> Loss:
    """The training loss of the acoustic model on batch `i`, with noise of its own."""

    def loss(i: int) -> Tensor:
        batch = lessons.acoustic(i, _FRAMES)
        torch.manual_seed(i)
        noise, time = torch.randn_like(batch.frames), torch.rand(len(batch.lengths))
        logs, states = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
        cond, position = expand(states, batch.durations)
        mixed = noise + (batch.frames - noise) * time[:, None, None]
        velocity, guess, _ = model.decoder(mixed, cond, position, time, model.decoder.start(len(batch.lengths)))
        inside = (torch.arange(batch.frames.shape[1])[None] < batch.counts[:, None]).float()
        symbols = (torch.arange(batch.tokens.shape[1])[None] < batch.lengths[:, None]).float()
        wanted = batch.durations.clamp(min=1).float().log()
        return (
            masked_mean((velocity - (batch.frames - noise)).square(), inside)
            + 0.3 * masked_mean((guess - batch.frames).abs(), inside)
            + 0.3 * masked_mean((logs - wanted).square(), symbols)
        )

    return loss


def vocoder_loss(model: Vocoder, lessons: Lessons) -> Loss:
    """The spectral training loss of the vocoder on batch `i`."""

    def loss(i: int) -> Tensor:
        batch = lessons.crops(i, _CROPS, model.config.lookahead)
        spectrum, _ = model(batch.mel, batch.pitch, batch.harmonic, batch.noise, model.start(len(batch.mel)))
        samples = waveform(spectrum[:, 2 * model.config.lookahead :])
        samples = samples[:, WARM * 480 : samples.shape[1] - TAIL * 480]
        return mel_loss(samples, batch.samples) + spectral_loss(samples, batch.samples)

    return loss


def importance(model: nn.Module, dimensions: Sequence[Dimension], loss: Loss | None) -> dict[Dimension, Tensor]:
    """How much every unit matters (size,): by the size of its weights, or by the loss that its removal should cost.

    The first-order estimate is the absolute sum of weight times gradient over all entries of a unit, per batch
    (Molchanov et al., 2019).
    """
    parameters = {name: p for name, p in model.named_parameters()}
    if loss is None:
        return {d: _sizes(d, parameters) for d in dimensions}
    totals = {d: torch.zeros(d.size) for d in dimensions}
    for i in range(_BATCHES):
        model.zero_grad()
        loss(i).backward()  # type: ignore[no-untyped-call]
        for d in dimensions:
            parts = [u.units(_product(parameters[u.tensor]), d.size).sum(1) for u in d.uses]
            totals[d] += torch.stack(parts).sum(0).abs()
    model.zero_grad()
    return totals


def _product(parameter: nn.Parameter) -> Tensor:
    gradient = parameter.grad
    return torch.zeros_like(parameter) if gradient is None else (parameter * gradient).detach()


def _sizes(dimension: Dimension, parameters: Mapping[str, nn.Parameter]) -> Tensor:
    parts = []
    for use in dimension.uses:
        squares = use.units(parameters[use.tensor].detach().square(), dimension.size).sum(1)
        parts.append(squares / squares.mean().clamp(min=1e-12))
    return torch.stack(parts).sum(0)


def kept_units(scores: Tensor, share: float, multiple: int, least: int = 1) -> Tensor:
    """Indices of the units that stay, in order; their number is rounded to a multiple where there are so many."""
    size = len(scores)
    count = round(size * (1 - share))
    if size >= 2 * multiple:
        count = max(multiple, round(count / multiple) * multiple)
    return scores.topk(min(size, max(least, count))).indices.sort().values


def _cut_by(
    model: nn.Module, dimensions: Iterable[Dimension], how: Pruning, loss: Loss | None
) -> tuple[dict[str, Tensor], dict[str, int]]:
    """New weights, and the new size of every dimension by name."""
    shares = {"hidden": how.hidden, "heads": how.heads, "width": how.width, "inner": how.width}
    all_of_them = list(dimensions)
    chosen = [d for d in all_of_them if d.graph in how.graphs and shares[d.kind]]
    scores = importance(model, chosen, loss)
    sizes, kept = {d.name: d.size for d in all_of_them}, dict[Dimension, Tensor]()
    for d in chosen:
        least = VOCODER_LEAST_WIDTH if d.name == "vocoder.width" else 1
        multiple = 1 if d.kind == "heads" else how.multiple
        kept[d] = kept_units(scores[d], shares[d.kind], multiple, least)
        sizes[d.name] = len(kept[d])
    return cut(model.state_dict(), kept), sizes


def _narrow_acoustic(model: AcousticModel, how: Pruning, lessons: Lessons | None) -> AcousticModel:
    loss = acoustic_loss(model, lessons) if how.importance == "taylor" and lessons is not None else None
    weights, sizes = _cut_by(model, acoustic_dimensions(model), how, loss)
    config = model.config
    small = dataclasses.replace(
        config,
        encoder_width=sizes["text.width"],
        encoder_hidden=sizes.get("text.hidden.0", config.encoder_hidden),
        encoder_conv_hidden=sizes.get("text.conv_hidden.0", config.encoder_conv_hidden),
        encoder_heads=sizes.get("text.heads.0", config.encoder_heads),
        encoder_head_size=config.encoder_head_size or config.encoder_width // config.encoder_heads,
        decoder_width=sizes["flow.width"],
        decoder_hidden=sizes.get("flow.hidden.0", config.decoder_hidden),
    )
    result = AcousticModel(small)
    result.load_state_dict(weights)
    return result.eval()


def _narrow_vocoder(model: Vocoder, how: Pruning, lessons: Lessons | None) -> Vocoder:
    loss = vocoder_loss(model, lessons) if how.importance == "taylor" and lessons is not None else None
    weights, sizes = _cut_by(model, vocoder_dimensions(model), how, loss)
    small = dataclasses.replace(model.config, width=sizes["vocoder.width"], hidden=sizes["vocoder.hidden.0"])
    return _vocoder(small, model, weights)


def _vocoder(config: object, model: Vocoder, weights: Mapping[str, Tensor]) -> Vocoder:
    zeros = np.zeros(len(model.band_mean))
    result = Vocoder(config, zeros, zeros + 1)  # type: ignore[arg-type]
    result.load_state_dict(weights)  # the statistics are among the weights
    return result.eval()


def shorten(acoustic: AcousticModel, vocoder: Vocoder, how: Pruning, lessons: Lessons) -> tuple[AcousticModel, Vocoder]:
    """Both networks without the blocks whose absence costs least; the one block at frame rate stays."""
    if {"text", "flow"} & set(how.graphs):
        acoustic = _shorten_acoustic(acoustic, how, acoustic_loss, lessons)
    if "vocoder" in how.graphs:
        names = [f"hops.blocks.{i}" for i in range(len(vocoder.config.hop_dilations))]
        kept = _kept_blocks(vocoder, names, ("gather",), how.depth, vocoder_loss(vocoder, lessons))
        dilations = tuple(vocoder.config.hop_dilations[i] for i in kept)
        weights = _renumbered(vocoder.state_dict(), "hops.blocks", kept)
        vocoder = _vocoder(dataclasses.replace(vocoder.config, hop_dilations=dilations), vocoder, weights)
    return acoustic, vocoder


def _shorten_acoustic(
    model: AcousticModel, how: Pruning, make: Callable[[AcousticModel, Lessons], Loss], lessons: Lessons
) -> AcousticModel:
    config, weights, loss = model.config, model.state_dict(), make(model, lessons)
    if "flow" in how.graphs:
        names = [f"decoder.stack.blocks.{i}" for i in range(len(config.decoder_dilations))]
        kept = _kept_blocks(model, names, ("gather",), how.depth, loss)
        weights = _renumbered(weights, "decoder.stack.blocks", kept)
        weights["decoder.shifts"] = weights["decoder.shifts"][kept]
        config = dataclasses.replace(config, decoder_dilations=tuple(config.decoder_dilations[i] for i in kept))
    if "text" in how.graphs:
        names = [f"encoder.layers.{i}" for i in range(config.encoder_layers)]
        kept = _kept_blocks(model, names, ("out", "down"), how.depth, loss)
        weights = _renumbered(weights, "encoder.layers", kept)
        config = dataclasses.replace(config, encoder_layers=len(kept))
    result = AcousticModel(config)
    result.load_state_dict(weights)
    return result.eval()


@torch.no_grad()
def _kept_blocks(model: nn.Module, blocks: Sequence[str], ends: Sequence[str], share: float, loss: Loss) -> list[int]:
    """Numbers of the blocks that stay: without each in turn the loss is measured, and the cheapest go."""
    costs = []
    weights = copy.deepcopy(model.state_dict())
    for block in blocks:
        silent = [f"{block}.{end}.{part}" for end in ends for part in ("weight", "bias")]
        model.load_state_dict(weights | {name: torch.zeros_like(weights[name]) for name in silent})
        costs.append(sum(float(loss(i)) for i in range(_BATCHES)))
    model.load_state_dict(weights)
    count = max(1, round(len(blocks) * (1 - share)))
    return sorted(sorted(range(len(blocks)), key=lambda i: -costs[i])[:count])


def _renumbered(weights: Mapping[str, Tensor], prefix: str, kept: Sequence[int]) -> dict[str, Tensor]:
    """The weights with only the kept blocks under `prefix`, numbered anew."""
    result = {name: value for name, value in weights.items() if not name.startswith(f"{prefix}.")}
    for new, old in enumerate(kept):
        start = f"{prefix}.{old}."
        result |= {f"{prefix}.{new}.{n[len(start) :]}": v for n, v in weights.items() if n.startswith(start)}
    return result
