"""Graphs in OpenVINO (extra [openvino]), behind the calls of an ONNX Runtime session that the runtime uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import DeviceError

PRECISIONS = {"openvino": "f32", "openvino-bf16": "bf16"}
"""Device name: what OpenVINO computes float products in. Integer products of the graph stay integer ones."""


@dataclass(frozen=True)
class Value:
    """An input or output: sizes, None where free."""

    name: str
    shape: tuple[int | None, ...]


def available() -> bool:
    """Whether OpenVINO is installed."""
    from importlib.util import find_spec

    return find_spec("openvino") is not None


class OpenVinoSession:
    """A compiled graph. One request per call, so several threads may run it."""

    def __init__(self, path: Path, device: str, threads: int) -> None:
        """Compile the graph.

        Raises:
            DeviceError: OpenVINO is not installed, or cannot compile the graph.
        """
        try:
            import openvino
        except ImportError as error:
            raise missing(device) from error
        properties = {
            "INFERENCE_PRECISION_HINT": PRECISIONS[device],
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_HYPER_THREADING": True,
        }
        try:
            self._compiled = openvino.Core().compile_model(str(path), "CPU", properties)
        except RuntimeError as error:
            raise DeviceError(
                f"device {device!r} cannot load {path.name} ({str(error).splitlines()[0][:200]}); use device 'cpu'",
                code="device_failed",
                param="device",
            ) from error

    def get_inputs(self) -> list[Value]:
        """Declared inputs."""
        return [_value(port) for port in self._compiled.inputs]

    def get_outputs(self) -> list[Value]:
        """Declared outputs."""
        return [_value(port) for port in self._compiled.outputs]

    def run(self, outputs: Sequence[str], feeds: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Evaluate the graph."""
        request = self._compiled.create_infer_request()
        request.infer({name: np.ascontiguousarray(value) for name, value in feeds.items()})
        return [request.get_tensor(name).data.copy() for name in outputs]


def _value(port: Any) -> Value:
    shape = tuple(None if size.is_dynamic else int(size.get_length()) for size in port.get_partial_shape())
    return Value(port.get_any_name(), shape)


def missing(device: str) -> DeviceError:
    """The error where OpenVINO is not installed."""
    return DeviceError(
        f"device {device!r} is not available: pip install 'cosylite[openvino]', or use device 'cpu'",
        code="device_missing",
        param="device",
    )
