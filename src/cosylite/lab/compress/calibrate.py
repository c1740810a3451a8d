"""Ranges of activations for static quantisation: what flows into the products while the float model speaks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray

from cosylite.errors import InputError
from cosylite.lab.compress.recipe import Calibration
from cosylite.lab.export.quantise import constant_products
from cosylite.runtime.nano import NanoModel, Reading, Voicing, render_batch
from cosylite.runtime.sessions import Feeds

Floats = NDArray[np.float32]
_PER_CALL = 2048
"""Values that are kept of a tensor in one evaluation."""
_BINS = 2048
_LEVELS = 128


@dataclass(frozen=True)
class Range:
    """Unsigned levels of a tensor: value = (level - zero) * scale."""

    scale: float
    zero: int

    @classmethod
    def of(cls, low: float, high: float) -> "Range":
        """The 256 levels that cover `low` to `high` and hit zero exactly."""
        low, high = min(low, 0.0), max(high, 0.0)
        scale = max(high - low, 1e-8) / 255.0
        return cls(float(np.float32(scale)), int(np.clip(round(-low / scale), 0, 255)))


class Watched:
    """Values of one tensor: a sample of them, and the true extremes."""

    def __init__(self) -> None:
        self._parts: list[Floats] = []
        self.low, self.high = 0.0, 0.0

    def add(self, values: Floats, rng: np.random.Generator) -> None:
        """Note the values of one evaluation."""
        flat = values.ravel()
        self.low, self.high = min(self.low, float(flat.min())), max(self.high, float(flat.max()))
        self._parts.append(flat[rng.integers(0, flat.size, _PER_CALL)] if flat.size > _PER_CALL else flat)

    def values(self) -> Floats:
        """The sample (N,)."""
        return np.concatenate(self._parts)


class TappedStage:
    """A stage that also notes what flows into every product."""

    def __init__(self, model: onnx.ModelProto, watch: Callable[[str, Floats], None], threads: int) -> None:
        self.threads, self.device = threads, "cpu"
        self._watch = watch
        tapped = onnx.ModelProto()
        tapped.CopyFrom(model)
        declared = {value.name for value in (*tapped.graph.input, *tapped.graph.output)}
        self._inputs = {i.name for i in tapped.graph.input}
        self._sources = list(dict.fromkeys(m.node.input[0] for m in constant_products(tapped)))
        for name in self._sources:
            if name not in declared:
                tapped.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
        self._session = _open(tapped, threads)

    def run(self, outputs: Sequence[str], feeds: Feeds) -> list[Floats]:
        """As `Stage.run`."""
        inner = [name for name in self._sources if name not in self._inputs]
        results = self._session.run([*outputs, *inner], dict(feeds))
        seen = dict(zip(inner, results[len(outputs) :], strict=True))
        for name in self._sources:
            self._watch(name, seen[name] if name in seen else np.asarray(feeds[name], np.float32))
        return list(results[: len(outputs)])


def _open(model: onnx.ModelProto, threads: int):  # type: ignore[no-untyped-def]
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def watch_nano(
    model: NanoModel, graphs: Mapping[str, onnx.ModelProto], readings: Sequence[Reading], seed: int
) -> dict[str, dict[str, Watched]]:
    """What flows into the products of every graph while `readings` are spoken, by graph and tensor.

    Args:
        model: is given stages that watch, and should not be used for anything else.
    """
    rng = np.random.default_rng(seed)
    seen: dict[str, dict[str, Watched]] = {name: {} for name in graphs}

    def watcher(graph: str) -> Callable[[str, Floats], None]:
        return lambda tensor, values: seen[graph].setdefault(tensor, Watched()).add(values, rng)

    for name, graph in graphs.items():
        setattr(model, name, TappedStage(graph, watcher(name), model.text.threads))
    for number, reading in enumerate(readings):
        render_batch(model, model.plan([reading]), [Voicing(seed + number)])
    return seen


def find_range(watched: Watched, how: Calibration) -> Range:
    """The levels of a tensor."""
    if how.method == "min_max":
        return Range.of(watched.low, watched.high)
    values = watched.values()
    if how.method == "percentile":
        low, high = np.percentile(values, [100 - how.percentile, how.percentile])
        return Range.of(float(low), float(high))
    top = _entropy_limit(values) if how.method == "entropy" else _squared_limit(values, watched)
    return Range.of(max(watched.low, -top), min(watched.high, top))


def _squared_limit(values: Floats, watched: Watched) -> float:
    """The limit on absolute values at which rounding and clipping together cost least."""
    best, limit = np.inf, max(-watched.low, watched.high)
    for share in np.geomspace(1.0, 0.05, 40):
        top = share * max(-watched.low, watched.high)
        levels = Range.of(max(watched.low, -top), min(watched.high, top))
        rounded = np.clip(np.rint(values / levels.scale) + levels.zero, 0, 255) - levels.zero
        cost = float(np.square(rounded * levels.scale - values).mean())
        if cost < best:
            best, limit = cost, top
    return float(limit)


def _entropy_limit(values: Floats) -> float:
    """The limit on absolute values whose 128 levels lose least information (Kullback-Leibler)."""
    counts, edges = np.histogram(np.abs(values), _BINS)
    best, limit = np.inf, float(edges[-1])
    for stop in range(_LEVELS, _BINS + 1, 16):
        wanted = counts[:stop].astype(np.float64)
        wanted[-1] += counts[stop:].sum()
        group = np.arange(stop) * _LEVELS // stop
        filled = np.bincount(group, counts[:stop] > 0, _LEVELS)
        total = np.bincount(group, counts[:stop], _LEVELS)
        spread = np.where(counts[:stop] > 0, (total / np.maximum(filled, 1))[group], 0.0)
        cost = _divergence(wanted, spread)
        if cost < best:
            best, limit = cost, float(edges[stop])
    return limit


def _divergence(wanted: NDArray[np.float64], made: NDArray[np.float64]) -> float:
    p, q = wanted / wanted.sum(), (made + 1e-9) / (made + 1e-9).sum()
    inside = p > 0
    return float((p[inside] * np.log(p[inside] / q[inside])).sum())


def ranges_of(seen: Mapping[str, Watched], how: Calibration) -> dict[str, Range]:
    """Levels of every watched tensor.

    Raises:
        InputError: nothing was seen.
    """
    if not seen:
        raise no_data()
    return {name: find_range(watched, how) for name, watched in seen.items()}


def no_data() -> InputError:
    """The error for static quantisation without anything to calibrate on."""
    return InputError(
        "static int8 needs calibration data: give --data manifest.jsonl, or the work folder of the model's training",
        code="no_calibration_data",
        param="data",
    )
