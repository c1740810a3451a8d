"""Quantisation-aware training of nano, and unstructured sparsity."""

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from cosylite.lab.compress.calibrate import Range, Watched, ranges_of
from cosylite.lab.compress.fake import ACOUSTIC_GRAPHS, VOCODER_GRAPHS, insert, linear_layers, nano_names, remove
from cosylite.lab.compress.heal import heal
from cosylite.lab.compress.layers import pick
from cosylite.lab.compress.recipe import Calibration, FakeQuantisation, Sparsity
from cosylite.lab.compress.session import with_networks
from cosylite.lab.export.nano_bundle import NanoNetworks
from cosylite.lab.nano.dataset import Example
from cosylite.runtime.bundle import Bundle
from cosylite.runtime.nano import Reading, Voicing, render_batch


def parts_of(networks: NanoNetworks) -> list[tuple[nn.Module, dict[str, str]]]:
    """Both networks, with the names of their layers in the graphs."""
    return [
        (networks.acoustic, nano_names(networks.acoustic, ACOUSTIC_GRAPHS)),
        (networks.vocoder, nano_names(networks.vocoder, VOCODER_GRAPHS)),
    ]


def layer_ranges(
    networks: NanoNetworks, bundle: Bundle, readings: Sequence[Reading], how: Calibration, seed: int
) -> dict[str, Range]:
    """Calibrated levels of the input of every linear layer, watched while the networks speak in PyTorch.

    Args:
        bundle: in float32, whose facts the networks share.

    Raises:
        InputError: there is nothing to speak.
    """
    rng, seen, hooks = np.random.default_rng(seed), dict[str, Watched](), []
    for model, names in parts_of(networks):
        for name, layer in linear_layers(model).items():
            if name in names:
                watched = seen.setdefault(names[name], Watched())
                hooks.append(layer.register_forward_pre_hook(_watcher(watched, rng)))
    speaker = with_networks(bundle, networks)
    try:
        for number, reading in enumerate(readings):
            render_batch(speaker, speaker.plan([reading]), [Voicing(seed + number)])
    finally:
        for hook in hooks:
            hook.remove()
    return ranges_of(seen if readings else {}, how)


def _watcher(watched: Watched, rng: np.random.Generator) -> Callable[[nn.Module, tuple[torch.Tensor, ...]], None]:
    return lambda _, inputs: watched.add(inputs[0].numpy(), rng)


def fine_tune(
    networks: NanoNetworks,
    teacher: NanoNetworks,
    how: FakeQuantisation,
    ranges: Mapping[str, Range],
    examples: Sequence[Example],
    folder: Path,
    seed: int,
) -> tuple[NanoNetworks, dict[str, Range]]:
    """Train with fake quantisation; plain networks again, and the learned levels by layer.

    Args:
        ranges: calibrated levels by layer, where training starts.

    Raises:
        InputError: a layer filter matches nothing.
    """
    student = copy.deepcopy(networks)
    parts = parts_of(student)
    chosen = pick([name for _, names in parts for name in names.values()], how.layers)
    graphs = []
    for model, names in parts:
        mine = sorted(chosen & set(names.values()))
        if mine:
            done = insert(model, mine, how.weights, how.activations, ranges, names)
            graphs += [name.split(".")[0] for name in done]
    student = heal(student, teacher, examples, how.training, folder, seed=seed, graphs=graphs, name="qat")
    learned: dict[str, Range] = {}
    for model, names in parts_of(student):
        learned |= remove(model, names)
    return student, learned


@torch.no_grad()
def sparsify(networks: NanoNetworks, how: Sparsity) -> NanoNetworks:
    """A copy whose chosen layers have the smallest share of their weights set to zero. Shapes stay."""
    result = copy.deepcopy(networks)
    parts = parts_of(result)
    chosen = pick([name for _, names in parts for name in names.values()], how.layers)
    for model, names in parts:
        for name, layer in linear_layers(model).items():
            if names.get(name) in chosen:
                count = int(how.share * layer.weight.numel())
                if count:
                    limit = layer.weight.abs().flatten().kthvalue(count).values
                    layer.weight[layer.weight.abs() <= limit] = 0.0
    return result
