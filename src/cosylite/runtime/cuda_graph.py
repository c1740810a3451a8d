"""CUDA-graph replay: the launches of a graph are recorded once per set of shapes and then replayed as one.

The recorded launches read and write fixed addresses, so inputs are copied into buffers that stay. Streaming asks for
few different shapes; calls beyond the first `MOST_SHAPES` are run without recording.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_SHAPES = 24
_NOT_RECORDED = "-1"
Arrays = Mapping[str, NDArray[Any]]


class _Recording:
    """The buffers of one set of shapes."""

    def __init__(self, session: Any, number: int, device: str, feeds: Arrays, outputs: Mapping[str, tuple[int, ...]]):
        import onnxruntime as ort

        self.options = _options(str(number))
        self.binding = session.io_binding()
        self.inputs = {name: ort.OrtValue.ortvalue_from_numpy(value, device, 0) for name, value in feeds.items()}
        for name, value in self.inputs.items():
            self.binding.bind_ortvalue_input(name, value)
        self.outputs = {
            name: ort.OrtValue.ortvalue_from_shape_and_type(shape, np.float32, device, 0)
            for name, shape in outputs.items()
        }
        for name, value in self.outputs.items():
            self.binding.bind_ortvalue_output(name, value)


class ReplaySession:
    """An ONNX Runtime session whose calls are recorded and replayed. One call at a time."""

    def __init__(self, session: Any, device: str = "cuda") -> None:
        """`session` must have been opened with `enable_cuda_graph`; `device` is where the buffers lie."""
        self._session, self._device = session, device
        self._names = [value.name for value in session.get_outputs()]
        self._recordings: dict[tuple[Any, ...], _Recording] = {}
        self._lock = threading.Lock()

    def get_inputs(self) -> Any:
        """Declared inputs."""
        return self._session.get_inputs()

    def get_outputs(self) -> Any:
        """Declared outputs."""
        return self._session.get_outputs()

    def run(self, outputs: Sequence[str], feeds: Arrays) -> list[NDArray[np.float32]]:
        """Evaluate the graph."""
        given = {name: np.ascontiguousarray(value) for name, value in feeds.items()}
        key = tuple((name, value.shape) for name, value in sorted(given.items()))
        with self._lock:
            recording = self._recordings.get(key)
            if recording is None:
                made = self._session.run(self._names, given, _options(_NOT_RECORDED))
                if len(self._recordings) < MOST_SHAPES:
                    shapes = {name: array.shape for name, array in zip(self._names, made, strict=True)}
                    number = len(self._recordings) + 1
                    self._recordings[key] = _Recording(self._session, number, self._device, given, shapes)
                named = dict(zip(self._names, made, strict=True))
                return [named[name] for name in outputs]
            for name, value in given.items():
                recording.inputs[name].update_inplace(value)
            self._session.run_with_iobinding(recording.binding, recording.options)
            return [recording.outputs[name].numpy() for name in outputs]


def _options(number: str) -> Any:
    import onnxruntime as ort

    options = ort.RunOptions()
    options.add_run_config_entry("gpu_graph_id", number)
    return options
