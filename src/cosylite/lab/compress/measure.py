"""How far a bundle is from the float model, how fast it is, how large, and what an engine makes of its graphs."""

import dataclasses
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from cosylite.lab.nano.features import log_mel
from cosylite.runtime.nano import NanoModel, Plan, Reading, Voicing, render_batch

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Reference:
    """What the float model says: plans whose durations are held fixed, and the log-mel (T, 80) of each."""

    readings: tuple[Reading, ...]
    plans: tuple[Plan, ...]
    mels: tuple[Floats, ...]
    seed: int

    @classmethod
    def of(cls, model: NanoModel, readings: Sequence[Reading], seed: int = 0) -> "Reference":
        """Let the float model speak."""
        plans = [model.plan([reading])[0] for reading in readings]
        mels = [log_mel(render_batch(model, [plan], [Voicing(seed)])[0]) for plan in plans]
        return cls(tuple(readings), tuple(plans), tuple(mels), seed)

    def distance(self, model: NanoModel) -> float:
        """Mean absolute difference of the log-mels, with the durations and the noise of the float model."""
        return float(np.mean(self.distances(model)))

    def distances(self, model: NanoModel) -> list[float]:
        """The distance of every sentence."""
        found = []
        for reading, plan, mel in zip(self.readings, self.plans, self.mels, strict=True):
            states = model.plan([reading])[0].states
            samples = render_batch(model, [dataclasses.replace(plan, states=states)], [Voicing(self.seed)])[0]
            found.append(float(np.abs(log_mel(samples) - mel).mean()))
        return found


@dataclass(frozen=True)
class Speed:
    """Seconds of computing per second of speech, and milliseconds per sentence. Text processing is not included."""

    rtf: float
    latency_ms: float
    latency_ms_p95: float


def speed(model: NanoModel, readings: Sequence[Reading], repeats: int = 3) -> Speed:
    """Best of `repeats` for every sentence, one after the other."""
    taken, seconds = [], 0.0
    for reading in readings:
        best = np.inf
        for _ in range(repeats):
            start = time.perf_counter()
            plan = model.plan([reading])[0]
            render_batch(model, [plan], [Voicing()])
            best = min(best, time.perf_counter() - start)
        taken.append(best)
        seconds += plan.length / 50
    return Speed(sum(taken) / seconds, float(np.mean(taken)) * 1000, float(np.percentile(taken, 95)) * 1000)


def megabytes(folder: Path) -> float:
    """Size of all files of a bundle in 10^6 bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def parameters(models: Sequence[onnx.ModelProto]) -> int:
    """Numbers in the matrices and vectors of graphs; scales and zero points count too."""
    return sum(int(np.prod(i.dims)) for model in models for i in model.graph.initializer)


def fused_nodes(model: onnx.ModelProto) -> tuple[Counter[str], Counter[str]]:
    """Kinds of nodes of a graph, as written and as ONNX Runtime runs it after fusing on this machine."""
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fused.onnx")
        options = ort.SessionOptions()
        options.optimized_model_filepath = path
        options.log_severity_level = 4
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        fused = onnx.load(path)
    return _kinds(model), _kinds(fused)


def _kinds(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)
