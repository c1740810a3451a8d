"""Fake quantisation: linear layers that compute in training what int8, 4-bit or ternary weights will compute later.

Weights and activations are brought to whole levels, multiplied, and scaled back; rounding passes gradients straight
through (Bengio et al., 2013), and fixed activation scales are learned with the weights (Esser et al., 2020). Under
bfloat16 autocast the levels stay exact, because whole numbers up to 256 are.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cosylite.lab.compress.calibrate import Range
from cosylite.lab.compress.layers import pick

Weights = Literal["int8", "int4", "ternary"]
Activations = Literal["static", "dynamic", "float"]
_TOP = {"int8": 127, "int4": 7, "ternary": 1}
_FLOOR = 1e-8


def round_through(x: Tensor) -> Tensor:
    """Rounded values whose gradient is that of `x`."""
    return x + (x.round() - x).detach()


class FakeQuantLinear(nn.Linear):
    """A linear layer with rounded weights and activations.

    Args:
        layer: whose weights it takes over.
        weights: how weights are stored, with a scale per output.
        activations: how inputs are rounded.
        levels: of the inputs, where they are static.
    """

    step: Tensor | None
    zero: Tensor

    def __init__(
        self, layer: nn.Linear, weights: Weights, activations: Activations, levels: Range | None = None
    ) -> None:
        super().__init__(layer.in_features, layer.out_features, layer.bias is not None)
        self.weight, self.bias = layer.weight, layer.bias
        self.weights, self.activations = weights, activations
        if activations == "static":
            if levels is None:
                raise ValueError("static activations need levels")
            self.step = nn.Parameter(torch.tensor(levels.scale).log())
            self.register_buffer("zero", torch.tensor(float(levels.zero)))
        else:
            self.step = None

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out), in float32."""
        levels, scale = self._input_levels(x.float())
        matrix, columns = self.weight_levels()
        out = F.linear(levels, matrix).float() * scale * columns
        return out if self.bias is None else out + self.bias

    def _input_levels(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.activations == "float":
            return x, x.new_ones(())
        if self.step is None:
            scale = x.abs().amax(-1, keepdim=True).clamp(min=_FLOOR).detach() / 127
            return round_through(x / scale), scale
        # A learned scale sees the gradients of all values; they are damped by their number.
        damp = (x.numel() * 127) ** -0.5
        log_scale = self.step * damp + (self.step * (1 - damp)).detach()
        scale = log_scale.exp()
        return round_through((x / scale).clamp(-self.zero, 255 - self.zero)), scale

    def weight_levels(self) -> tuple[Tensor, Tensor]:
        """Whole levels (out, in) and scales (out,): weight = level * scale."""
        if self.weights == "ternary":
            size = self.weight.abs()
            large = size > 0.7 * size.mean(1, keepdim=True)
            scale = (size * large).sum(1) / large.sum(1).clamp(min=1)
            ternary = self.weight.sign() * large
            soft = self.weight / scale.detach().clamp(min=_FLOOR)[:, None]
            return soft + (ternary - soft).detach(), scale
        top = _TOP[self.weights]
        scale = self.weight.abs().amax(1).clamp(min=_FLOOR).detach() / top
        return round_through(self.weight / scale[:, None]).clamp(-top, top), scale

    def plain(self) -> nn.Linear:
        """The layer with the weights that it really multiplies with."""
        layer = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        matrix, scale = self.weight_levels()
        with torch.no_grad():
            # int8 is stored by the exporter, whose rounding is the same; coarser levels are exact in it.
            layer.weight.copy_(self.weight if self.weights == "int8" else matrix * scale[:, None])
            if self.bias is not None:
                layer.bias.copy_(self.bias)
        return layer

    def range(self) -> Range | None:
        """The levels of the input after training, where they are static."""
        return None if self.step is None else Range(float(self.step.detach().exp()), int(self.zero))

    def extra_repr(self) -> str:
        """Sizes and how it is quantised."""
        return f"{super().extra_repr()}, weights={self.weights}, activations={self.activations}"


def linear_layers(model: nn.Module) -> dict[str, nn.Linear]:
    """Every linear layer by its name in the model."""
    return {name: layer for name, layer in model.named_modules() if isinstance(layer, nn.Linear)}


def insert(
    model: nn.Module,
    patterns: Iterable[str],
    weights: Weights,
    activations: Activations,
    ranges: Mapping[str, Range],
    names: Mapping[str, str] | None = None,
) -> list[str]:
    """Replace the linear layers that match by layers that pretend to be quantised, in place; returns their names.

    Args:
        ranges: levels of the input of every layer, by the names that the patterns match.
        names: those names by the name in the model; None: they are the same.

    Raises:
        InputError: a pattern matches nothing.
    """
    layers = linear_layers(model)
    called = {name: (names or {}).get(name, name) for name in layers}
    chosen = pick([called[name] for name in layers], patterns)
    done = []
    for name, layer in layers.items():
        if called[name] in chosen:
            _replace(model, name, FakeQuantLinear(layer, weights, activations, ranges.get(called[name])))
            done.append(called[name])
    return done


def remove(model: nn.Module, names: Mapping[str, str] | None = None) -> dict[str, Range]:
    """Put plain linear layers back, in place; returns the learned levels of static inputs by layer."""
    found = {}
    for name, layer in linear_layers(model).items():
        if isinstance(layer, FakeQuantLinear):
            levels = layer.range()
            if levels is not None:
                found[(names or {}).get(name, name)] = levels
            _replace(model, name, layer.plain())
    return found


def _replace(model: nn.Module, name: str, layer: nn.Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, layer)


def nano_names(model: nn.Module, graphs: Mapping[str, str]) -> dict[str, str]:
    """Names of layers as the graphs call them, by their names in a network.

    Args:
        graphs: graph by the prefix of its layers, such as ``{"encoder.": "text"}``.
    """
    return {
        name: f"{graph}.{name.removeprefix(prefix)}"
        for name in linear_layers(model)
        for prefix, graph in graphs.items()
        if name.startswith(prefix)
    }


ACOUSTIC_GRAPHS = {"encoder.": "text", "decoder.": "flow"}
VOCODER_GRAPHS = {"": "vocoder"}
