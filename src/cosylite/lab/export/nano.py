"""Exports nano's networks to the three graphs of its bundle."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn
from torch.export import Dim

from cosylite.errors import BundleError
from cosylite.lab.export.quantise import constant_products
from cosylite.lab.nano.acoustic import AcousticModel, FlowDecoder, TextEncoder
from cosylite.lab.nano.config import BINS, FRAME_CHANNELS, MEL_BANDS
from cosylite.lab.nano.vocoder import Vocoder

OPSET = 18


class TextGraph(nn.Module):
    """Tokens, lengths and voice to durations in frames (B, N) and states (B, N, C)."""

    def __init__(self, encoder: TextEncoder, duration_scale: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.duration_scale = duration_scale

    def forward(self, tokens: Tensor, lengths: Tensor, voice: Tensor) -> tuple[Tensor, Tensor]:
        """Durations are those the model predicts, times the calibration factor."""
        log_durations, states = self.encoder(tokens, lengths, voice)
        return log_durations.exp() * self.duration_scale, states


class FlowGraph(nn.Module):
    """One velocity evaluation; the direct guess stays inside."""

    def __init__(self, decoder: FlowDecoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, x: Tensor, cond: Tensor, position: Tensor, time: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Velocity (B, T, 82) and next state."""
        velocity, _, following = self.decoder(x, cond, position, time, state)
        return velocity, following


@dataclass(frozen=True)
class Graph:
    """A graph to export: module, example inputs by name, output names, dynamic axes by input."""

    module: nn.Module
    inputs: dict[str, Tensor]
    outputs: tuple[str, ...]
    axes: dict[str, dict[int, str]]


def nano_graphs(acoustic: AcousticModel, vocoder: Vocoder, duration_scale: float = 1.0) -> dict[str, Graph]:
    """The graphs `text`, `flow` and `vocoder`."""
    config = acoustic.config
    text = Graph(
        TextGraph(acoustic.encoder, duration_scale),
        {
            "tokens": torch.randint(1, config.symbols, (2, 11)),
            "lengths": torch.tensor([11, 7]),
            "voice": torch.randn(2, config.voice_width),
        },
        ("durations", "states"),
        {"tokens": {0: "batch", 1: "symbols"}, "lengths": {0: "batch"}, "voice": {0: "batch"}},
    )
    frames = {0: "batch", 1: "frames"}
    flow = Graph(
        FlowGraph(acoustic.decoder),
        {
            "x": torch.randn(2, 9, FRAME_CHANNELS),
            "cond": torch.randn(2, 9, config.encoder_width),
            "position": torch.rand(2, 9, 2),
            "time": torch.tensor([0.3]),
            "state": torch.randn(2, *acoustic.decoder.start(1).shape[1:]),
        },
        ("velocity", "next_state"),
        {"x": frames, "cond": frames, "position": frames, "time": {}, "state": {0: "batch"}},
    )
    hops = {0: "batch", 1: "hops"}
    wave = Graph(
        vocoder,
        {
            "mel": torch.randn(2, 9, MEL_BANDS),
            "pitch": torch.rand(2, 9, 2),
            "harmonic": torch.randn(2, 18, 2 * BINS),
            "noise": torch.randn(2, 18, 2 * BINS),
            "state": torch.randn(2, *vocoder.start(1).shape[1:]),
        },
        ("spectrum", "next_state"),
        {"mel": frames, "pitch": frames, "harmonic": hops, "noise": hops, "state": {0: "batch"}},
    )
    return {"text": text, "flow": flow, "vocoder": wave}


def export(graph: Graph, path: Path) -> onnx.ModelProto:
    """Write `graph` to `path` as one ONNX file with dynamic batch and length; returns the model."""
    names = {name for axes in graph.axes.values() for name in axes.values()}
    dims = {name: Dim(name) for name in names if name != "hops"}
    if "hops" in names:
        dims["hops"] = 2 * dims["frames"]
    shapes = tuple({axis: dims[name] for axis, name in graph.axes[key].items()} for key in graph.inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own internals
        program = torch.onnx.export(
            graph.module.eval(),
            tuple(graph.inputs.values()),
            input_names=list(graph.inputs),
            output_names=list(graph.outputs),
            dynamic_shapes=shapes,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    if program is None:
        raise BundleError("the exporter gave no graph", code="export_failed")
    program.save(str(path), external_data=False)
    model = without_traces(onnx.load(str(path)))
    name_products(model, graph.module)
    onnx.save(model, str(path))
    return model


def name_products(model: onnx.ModelProto, module: nn.Module) -> None:
    """Name every product after its linear layer, which is found by the values of its matrix, or after the matrix."""
    names: dict[bytes, list[str]] = {}
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Linear):
            key = layer.weight.detach().T.contiguous().numpy().tobytes()
            names.setdefault(key, []).append(name.removeprefix("encoder.").removeprefix("decoder."))
    for matrix in constant_products(model):
        found = names.get(matrix.weight.tobytes())
        matrix.node.name = found.pop(0) if found else matrix.node.input[1]


def without_traces(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without what the exporter notes of its own run: source lines and folders of this machine."""
    graph = model.graph
    del graph.value_info[:]
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    return model
