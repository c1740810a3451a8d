"""Writes a nano bundle of a few kilobytes with random weights, the same on every machine: noises, not speech.

    python tests/assets/make_tiny_bundle.py [FOLDER]

The graphs have the inputs, outputs and causal structure of real ones. Needs the package onnx.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cosylite.text.symbols import PUNCTUATION, SYMBOLS

CONTEXT, HIDDEN, VOICE, BANDS, BINS = 8, 12, 4, 80, 481
LOOKAHEAD = 2
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
VOICES = (
    ("zf_tiny", "female", "zh", ["zh", "en"]),
    ("af_tiny", "female", "en", ["en"]),
    ("jf_tiny", "female", "ja", ["ja"]),
    ("jm_tiny", "male", "ja", ["zh", "en", "ja", "ko"]),
)


class Graph:
    """Collects nodes and weights of one graph."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, *shape: int, scale: float = 1.0) -> str:
        return self.constant(name, (self.random.standard_normal(shape) * scale).astype(np.float32).round(3))

    def constant(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, name: str, *values: int) -> str:
        return self.constant(name, np.array(values, np.int64))

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def save(self, path: Path, inputs: dict[str, tuple[int, list]], outputs: dict[str, tuple[int, list]]) -> None:
        graph = helper.make_graph(
            self.nodes,
            path.stem,
            [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
            [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))


def causal(graph: Graph, x: str, state: str, name: str, reach: int) -> str:
    """tanh of a causal convolution of kernel reach + 1 over time; also makes `next_state`."""
    seen = graph.node("Concat", [state, x], f"{name}_seen", axis=1)
    rows = graph.node("Shape", [x], f"{name}_rows", start=1, end=2)
    axis = graph.ints(f"{name}_axis", 1)
    taps = []
    for k in range(reach + 1):
        start = graph.ints(f"{name}_start{k}", k)
        end = graph.node("Add", [rows, start], f"{name}_end{k}")
        tap = graph.node("Slice", [seen, start, end, axis], f"{name}_tap{k}")
        taps.append(
            graph.node("MatMul", [tap, graph.weight(f"{name}_w{k}", HIDDEN, HIDDEN, scale=0.3)], f"{name}_y{k}")
        )
    total = graph.node("Sum", taps, f"{name}_sum")
    graph.node(
        "Slice", [seen, graph.ints(f"{name}_tail", -reach), graph.ints(f"{name}_big", 2**31), axis], "next_state"
    )
    return graph.node("Tanh", [total], f"{name}_out")


def text_graph(path: Path) -> None:
    graph = Graph(1)
    table = graph.random.standard_normal((len(SYMBOLS) + 1, CONTEXT)).astype(np.float32).round(3)
    long = [1.3 if s in " ,.?!;:" else 0.6 if s in PUNCTUATION else 1.1 for s in SYMBOLS]
    embedded = graph.node("Gather", [graph.constant("table", table), "tokens"], "embedded", axis=0)
    speaker = graph.node("MatMul", ["voice", graph.weight("speaker_w", VOICE, CONTEXT)], "speaker")
    wide = graph.node("Unsqueeze", [speaker, graph.ints("one", 1)], "wide")
    valid = graph.node("Greater", ["tokens", graph.ints("zero", 0)], "valid")
    mask = graph.node("Unsqueeze", [graph.node("Cast", [valid], "mask2", to=FLOAT), graph.ints("two", 2)], "mask")
    masked = graph.node("Mul", [embedded, mask], "masked")
    summed = graph.node("ReduceSum", [masked, graph.ints("along", 1)], "summed", keepdims=1)
    count = graph.node(
        "Unsqueeze", [graph.node("Cast", ["lengths"], "count1", to=FLOAT), graph.ints("both", 1, 2)], "count"
    )
    mean = graph.node("Div", [summed, count], "mean")
    graph.node("Tanh", [graph.node("Sum", [embedded, wide, mean], "mixed")], "states")
    base = graph.constant("base", np.array([0.0, *long], np.float32))
    logs = graph.node("Gather", [base, "tokens"], "logs", axis=0)
    bend = graph.node("MatMul", ["states", graph.weight("bend_w", CONTEXT, 1, scale=0.1)], "bend3")
    bent = graph.node("Squeeze", [bend, graph.ints("last", 2)], "bend")
    graph.node("Exp", [graph.node("Add", [logs, bent], "log_durations")], "durations")
    graph.save(
        path,
        {"tokens": (INT, ["b", "n"]), "lengths": (INT, ["b"]), "voice": (FLOAT, ["b", VOICE])},
        {"durations": (FLOAT, ["b", "n"]), "states": (FLOAT, ["b", "n", CONTEXT])},
    )


def flow_graph(path: Path) -> None:
    graph, width = Graph(2), BANDS + 2
    joined = graph.node("Concat", ["x", "cond", "position"], "joined", axis=2)
    entered = graph.node("MatMul", [joined, graph.weight("enter", width + CONTEXT + 2, HIDDEN, scale=0.2)], "entered")
    moment = graph.node("Mul", ["time", graph.weight("moment_w", HIDDEN)], "moment")
    hidden = graph.node("Tanh", [graph.node("Add", [entered, moment], "timed")], "hidden")
    out = causal(graph, hidden, "state", "conv", reach=3)
    leave = (graph.random.standard_normal((HIDDEN, width)) * 0.5).astype(np.float32).round(3)
    leave[:, -1] *= 3.0  # stretches with and without voice, as in speech
    change = graph.node("MatMul", [out, graph.constant("leave", leave)], "change")
    back = graph.node("Mul", ["x", graph.constant("pull", np.float32(-1.2))], "back")
    shift = np.zeros(width, np.float32)
    shift[-1] = 0.1
    graph.node("Sum", [change, back, graph.constant("shift", shift)], "velocity")
    graph.save(
        path,
        {
            "x": (FLOAT, ["b", "t", width]),
            "cond": (FLOAT, ["b", "t", CONTEXT]),
            "position": (FLOAT, ["b", "t", 2]),
            "time": (FLOAT, [1]),
            "state": (FLOAT, ["b", 3, HIDDEN]),
        },
        {"velocity": (FLOAT, ["b", "t", width]), "next_state": (FLOAT, ["b", 3, HIDDEN])},
    )


def vocoder_graph(path: Path) -> None:
    graph = Graph(3)
    joined = graph.node("Concat", ["mel", "pitch"], "joined", axis=2)
    entered = graph.node("MatMul", [joined, graph.weight("enter", BANDS + 2, HIDDEN, scale=0.3)], "entered")
    out = causal(graph, graph.node("Tanh", [entered], "hidden"), "state", "conv", reach=LOOKAHEAD + 2)
    shape = graph.constant("shape", np.array([0, -1, 2 * BINS], np.int64))
    shaped = []
    for source, level in (("harmonic", -3.5), ("noise", -4.5)):
        drawn = graph.node("MatMul", [out, graph.weight(f"{source}_w", HIDDEN, BINS, scale=0.2)], f"{source}_drawn")
        gain = graph.node(
            "Exp",
            [graph.node("Add", [drawn, graph.constant(f"{source}_l", np.float32(level))], f"{source}_log")],
            f"{source}_gain",
        )
        four = graph.node("Concat", [gain] * 4, f"{source}_four", axis=2)  # two hops, real and imaginary parts
        both = graph.node("Reshape", [four, shape], f"{source}_both")
        shaped.append(graph.node("Mul", [source, both], f"{source}_shaped"))
    graph.node("Add", shaped, "spectrum")
    rows = LOOKAHEAD + 2
    graph.save(
        path,
        {
            "mel": (FLOAT, ["b", "t", BANDS]),
            "pitch": (FLOAT, ["b", "t", 2]),
            "harmonic": (FLOAT, ["b", "t2", 2 * BINS]),
            "noise": (FLOAT, ["b", "t2", 2 * BINS]),
            "state": (FLOAT, ["b", rows, HIDDEN]),
        },
        {"spectrum": (FLOAT, ["b", "t2", 2 * BINS]), "next_state": (FLOAT, ["b", rows, HIDDEN])},
    )


def make(folder: Path) -> None:
    """Write the bundle."""
    folder.mkdir(parents=True, exist_ok=True)
    text_graph(folder / "text.onnx")
    flow_graph(folder / "flow.onnx")
    vocoder_graph(folder / "vocoder.onnx")
    np.save(folder / "voices.npy", np.random.default_rng(4).standard_normal((len(VOICES), VOICE)).astype(np.float32))
    names = ("text.onnx", "flow.onnx", "vocoder.onnx", "voices.npy")
    files = {name: (folder / name).read_bytes() for name in names}
    manifest = {
        "format": 1,
        "family": "nano",
        "name": "tiny",
        "revision": "1",
        "licence": "Apache-2.0",
        "sample_rate": 24000,
        "languages": ["zh", "en", "ja", "ko"],
        "symbols": list(SYMBOLS),
        "stages": {"text": "text.onnx", "flow": "flow.onnx", "vocoder": "vocoder.onnx"},
        "mel": {"bands": BANDS, "n_fft": 1920, "hop": 480, "mean": [-5.0] * BANDS, "std": [2.0] * BANDS},
        "pitch": {"mean": 5.1, "std": 0.3},
        "flow": {"times": [0.0, 0.25, 0.5, 1.0]},
        "vocoder": {"lookahead": LOOKAHEAD, "pad": [-3.0] * BANDS},
        "voices": {
            "file": "voices.npy",
            "list": [
                {"name": name, "gender": gender, "native": native, "languages": languages, "row": row}
                for row, (name, gender, native, languages) in enumerate(VOICES)
            ],
            "default": {"zh": "zf_tiny", "en": "af_tiny", "ja": "jf_tiny", "ko": "jm_tiny", "mixed": "jm_tiny"},
        },
        "files": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in files.items()
        },
        "measured": {},
    }
    (folder / "bundle.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "tiny")
