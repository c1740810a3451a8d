"""Models whose stages run graphs that are not on disk."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import nn

from cosylite.lab.export.nano import nano_graphs
from cosylite.lab.export.nano_bundle import NanoNetworks
from cosylite.runtime.bundle import Bundle
from cosylite.runtime.nano import NanoModel
from cosylite.runtime.sessions import Feeds


class GraphStage:
    """A stage from a graph in memory."""

    device = "cpu"

    def __init__(self, name: str, model: onnx.ModelProto, threads: int) -> None:
        import onnxruntime as ort

        self.name, self.threads = name, threads
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def input_shapes(self) -> dict[str, tuple[int | str | None, ...]]:
        """Declared shape of every input."""
        return {value.name: tuple(value.shape) for value in self._session.get_inputs()}

    def run(self, outputs: Sequence[str], feeds: Feeds) -> list[NDArray[Any]]:
        """Evaluate the graph."""
        return list(self._session.run(list(outputs), dict(feeds)))


class TorchStage:
    """A stage that runs a network in PyTorch, eagerly."""

    device = "cpu"

    def __init__(
        self, name: str, module: nn.Module, outputs: Sequence[str], inputs: Sequence[str], threads: int
    ) -> None:
        self.name, self.threads = name, threads
        self._module, self._outputs, self._inputs = module, tuple(outputs), tuple(inputs)

    @torch.inference_mode()
    def run(self, outputs: Sequence[str], feeds: Feeds) -> list[NDArray[np.float32]]:
        """Evaluate the network."""
        made = self._module(*(torch.from_numpy(np.ascontiguousarray(feeds[name])) for name in self._inputs))
        named = dict(zip(self._outputs, made, strict=True))
        return [named[name].numpy() for name in outputs]


def with_graphs(bundle: Bundle, graphs: Mapping[str, onnx.ModelProto], threads: int = 1) -> NanoModel:
    """The model of a bundle with other graphs of the same interface; state shapes are read from them."""
    model = NanoModel(bundle, device="cpu", threads=threads)
    for name, graph in graphs.items():
        stage = GraphStage(name, graph, threads)
        setattr(model, name, stage)
        state = stage.input_shapes().get("state")
        if state is not None:
            setattr(model, f"{name}_state", (state[1], state[2]))
    return model


def with_networks(bundle: Bundle, networks: NanoNetworks, threads: int = 1) -> NanoModel:
    """The model of a float bundle, run by PyTorch."""
    model = NanoModel(bundle, device="cpu", threads=threads)
    for name, graph in nano_graphs(networks.acoustic, networks.vocoder, networks.duration_scale).items():
        setattr(model, name, TorchStage(name, graph.module.eval(), graph.outputs, tuple(graph.inputs), threads))
        if "state" in graph.inputs:
            setattr(model, f"{name}_state", tuple(graph.inputs["state"].shape[1:]))
    return model
