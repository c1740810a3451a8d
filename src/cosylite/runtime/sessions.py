"""ONNX Runtime sessions: devices, threads, and what happens when one of them fails."""

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import BundleError, DeviceError
from cosylite.runtime import cuda_graph, openvino_engine

log = logging.getLogger(__name__)

Feeds = Mapping[str, NDArray[Any]]

PROVIDERS: dict[str, tuple[str, str]] = {
    "cpu": ("CPUExecutionProvider", "onnxruntime"),
    "cuda": ("CUDAExecutionProvider", "onnxruntime-gpu"),
    "cuda-graph": ("CUDAExecutionProvider", "onnxruntime-gpu"),
    "tensorrt": ("TensorrtExecutionProvider", "onnxruntime-gpu"),
    "rocm": ("MIGraphXExecutionProvider", "onnxruntime-migraphx"),
    "directml": ("DmlExecutionProvider", "onnxruntime-directml"),
    "coreml": ("CoreMLExecutionProvider", "onnxruntime"),
}
"""Device name: ONNX Runtime's provider, and the package that brings it."""
DEVICES = (*PROVIDERS, *openvino_engine.PRECISIONS)
"""Every device that can be asked for; those of OpenVINO are processors too, with another engine."""
MAX_DEFAULT_THREADS = 4
_MEMORY_WORDS = ("bad_alloc", "failed to allocate", "out of memory", "bfcarena")


class Counters:
    """Counts of unusual events, for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str, count: int = 1) -> None:
        """Count an event."""
        if count:
            with self._lock:
                self._counts[name] += count

    def as_dict(self) -> dict[str, int]:
        """Counts so far by name."""
        with self._lock:
            return dict(self._counts)


def default_threads() -> int:
    """Processors this process may use, at most 4: the graphs are too small to feed more."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MAX_DEFAULT_THREADS, usable))


def choose_device(device: str) -> str:
    """Check that a device can be used; ``"auto"``: CUDA where ONNX Runtime offers it, else CPU.

    Raises:
        DeviceError: unknown, or not offered by the installed ONNX Runtime; the message says what to install.
    """
    import onnxruntime

    offered = onnxruntime.get_available_providers()
    if device == "auto":
        return "cuda" if PROVIDERS["cuda"][0] in offered else "cpu"
    if device not in DEVICES:
        raise DeviceError(
            f"unknown device {device!r}; choose one of auto, {', '.join(DEVICES)}",
            code="unknown_device",
            param="device",
        )
    if device in openvino_engine.PRECISIONS:
        if not openvino_engine.available():
            raise openvino_engine.missing(device)
        return device
    provider, package = PROVIDERS[device]
    if provider not in offered:
        raise DeviceError(
            f"device {device!r} is not available: install it with `pip install {package}`"
            " in place of onnxruntime, with the driver it needs, or use device 'cpu'",
            code="device_missing",
            param="device",
        )
    return device


class Stage:
    """One graph of a bundle. `run` may be called from several threads.

    A device other than the CPU that fails while running is replaced by the CPU for good, with a warning and a count.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        device: str,
        threads: int,
        counters: Counters,
        large: bool = False,
        spin: bool = False,
        brief: bool = False,
    ) -> None:
        """Load the graph.

        Args:
            large: keep the memory of intermediate values for the next call, as pays with megabytes of them.
            spin: let threads wait for each other busily while the graph runs, as pays with many short nodes.
            brief: use the weights where they lie in the file, as pays where the graph runs once and is let go of.

        Raises:
            BundleError: the file is no usable graph.
            DeviceError: the device cannot load it.
        """
        self.name, self.path = name, path
        self.device, self.threads = device, threads
        self._large, self._spin, self._brief = large, spin, brief
        self._counters = counters
        self._lock = threading.Lock()
        self._session = self._open(device)

    def input_shapes(self) -> dict[str, tuple[int | str | None, ...]]:
        """Declared shape of every input: numbers, or names of free dimensions."""
        return {value.name: tuple(value.shape) for value in self._session.get_inputs()}

    def output_shapes(self) -> dict[str, tuple[int | str | None, ...]]:
        """Declared shape of every output."""
        return {value.name: tuple(value.shape) for value in self._session.get_outputs()}

    def run(self, outputs: Sequence[str], feeds: Feeds) -> list[NDArray[np.float32]]:
        """Evaluate the graph.

        Raises:
            MemoryError: there is not enough memory for arrays of this size.
            DeviceError: the graph failed on the CPU.
        """
        return self._guarded(lambda session: list(session.run(outputs, feeds)))

    def run_in_place(
        self, outputs: Sequence[str], feeds: Feeds, buffers: Sequence[tuple[str, str, NDArray[np.float32]]]
    ) -> list[NDArray[np.float32]]:
        """Evaluate a graph that writes some outputs over some inputs.

        Args:
            buffers: input, output and the array of both, which must be contiguous.

        Raises:
            MemoryError, DeviceError: as `run`.
        """
        return self._guarded(lambda session: _run_bound(session, outputs, feeds, buffers))

    def _guarded(self, work: Callable[[Any], list[NDArray[np.float32]]]) -> list[NDArray[np.float32]]:
        try:
            return work(self._session)
        except _ort_errors() as error:
            if _is_memory(error):
                raise MemoryError(f"stage {self.name}: {error}") from error
            if self.device == "cpu":
                raise DeviceError(f"stage {self.name} failed: {_first_line(error)}", code="stage_failed") from error
            self._fall_back(error)
            return self._guarded(work)

    def _fall_back(self, error: Exception) -> None:
        with self._lock:
            if self.device == "cpu":
                return
            log.warning("stage %s failed on %s (%s): going on with the CPU", self.name, self.device, _first_line(error))
            self._counters.add("device_fallbacks")
            self._session = self._open("cpu")
            self.device = "cpu"

    def _open(self, device: str) -> Any:
        if device in openvino_engine.PRECISIONS:
            return openvino_engine.OpenVinoSession(self.path, device, self.threads)
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.enable_mem_pattern = self._large  # small graphs get other lengths with every call
        options.enable_cpu_mem_arena = self._large  # small graphs are as fast without, and it never gives memory back
        options.add_session_config_entry("session.disable_prepacking", str(int(self._brief)))
        # stages share the processors, so nothing may spin between runs
        options.add_session_config_entry("session.intra_op.allow_spinning", str(int(self._spin)))
        options.add_session_config_entry("session.force_spinning_stop", "1")
        try:
            session = onnxruntime.InferenceSession(self.path, options, providers=_providers(device))
            return cuda_graph.ReplaySession(session) if device == "cuda-graph" else session
        except _ort_errors() as error:
            if _is_memory(error):
                raise DeviceError(
                    f"not enough memory to load stage {self.name}: free some, or use a smaller bundle", code="no_memory"
                ) from error
            if device == "cpu":
                raise BundleError(
                    f"{self.path} is no usable graph ({_first_line(error)}); install or pull the bundle again",
                    code="bundle_damaged",
                    param="bundle",
                ) from error
            raise DeviceError(
                f"device {device!r} cannot load stage {self.name} ({_first_line(error)}); use device 'cpu'",
                code="device_failed",
                param="device",
            ) from error


def _run_bound(
    session: Any, outputs: Sequence[str], feeds: Feeds, buffers: Sequence[tuple[str, str, NDArray[np.float32]]]
) -> list[NDArray[np.float32]]:
    import onnxruntime

    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for name in outputs:
        binding.bind_output(name)
    for source, target, array in buffers:
        shared = onnxruntime.OrtValue.ortvalue_from_numpy(array)
        binding.bind_ortvalue_input(source, shared)
        binding.bind_ortvalue_output(target, shared)
    session.run_with_iobinding(binding)
    return [value.numpy() for value in binding.get_outputs()[: len(outputs)]]


def _providers(device: str) -> list[Any]:
    """Providers in the order in which they are asked for a node."""
    provider = PROVIDERS[device][0]
    if device == "cuda-graph":
        return [(provider, {"enable_cuda_graph": "1"})]
    return [provider, PROVIDERS["cuda"][0]] if device == "tensorrt" else [provider]


def _ort_errors() -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises; its exceptions have no common base."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = (
        getattr(state, name, None)
        for name in ("Fail", "RuntimeException", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile")
    )
    more = (getattr(state, name, None) for name in ("EPFail", "NotImplemented", "EngineError", "NoModel"))
    return (RuntimeError, MemoryError, *(kind for kind in (*own, *more) if kind is not None))


def _is_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(word in text for word in _MEMORY_WORDS)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
