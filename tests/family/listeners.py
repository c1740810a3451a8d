"""Stand-ins for the official graphs that hear prompts: the same inputs and outputs, and almost no network.

`python -m tests.family.listeners FOLDER v2` writes them into the folder of a toy checkpoint.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SPEECH_TOKENS = {"v1": 4096, "v2": 6561, "v3": 6561}
MEL_FRAMES_PER_TOKEN = {"v1": 2, "v2": 4, "v3": 4}


def write_listeners(folder: Path, family: str, *, speech_tokens: int | None = None) -> None:
    """Write campplus.onnx and speech_tokenizer_vN.onnx. Toys know fewer `speech_tokens` than the releases."""
    onnx.save(speaker_network(), folder / "campplus.onnx")
    tokens = speech_tokens or SPEECH_TOKENS[family]
    tokenizer = speech_tokenizer(tokens, MEL_FRAMES_PER_TOKEN[family])
    onnx.save(tokenizer, folder / f"speech_tokenizer_{family}.onnx")


def speaker_network() -> onnx.ModelProto:
    """input (1, frames, 80) to output (1, 192): a random projection of the spread of every band."""
    weight = np.random.default_rng(1).standard_normal((80, 192)).astype(np.float32)
    nodes = [
        helper.make_node("Mul", ["input", "input"], ["square"]),
        helper.make_node("ReduceMean", ["square", "time"], ["spread"], keepdims=0),
        helper.make_node("MatMul", ["spread", "weight"], ["output"]),
    ]
    values = [numpy_helper.from_array(np.array([1]), "time"), numpy_helper.from_array(weight, "weight")]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, "frames", 80])]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 192])]
    return _model(nodes, inputs, outputs, values)


def speech_tokenizer(tokens: int, stride: int) -> onnx.ModelProto:
    """feats (1, 128, frames), feats_length (1,) to indices (1, tokens): every `stride` frames, from their loudness."""
    weight = np.random.default_rng(2).uniform(0.5, 1.5, (1, 128, stride)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["feats", "weight"], ["loudness"], strides=[stride]),
        helper.make_node("Cast", ["feats_length"], ["length"], to=TensorProto.INT64),
        helper.make_node("Div", ["length", "stride"], ["count"]),
        helper.make_node("Slice", ["loudness", "zero", "count", "two"], ["known"]),
        helper.make_node("Mul", ["known", "scale"], ["large"]),
        helper.make_node("Abs", ["large"], ["size"]),
        helper.make_node("Cast", ["size"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Mod", ["whole", "tokens"], ["wrapped"]),
        helper.make_node("Squeeze", ["wrapped", "one"], ["indices"]),
    ]
    constants = {
        "weight": weight,
        "stride": np.array([stride]),
        "zero": np.array([0]),
        "one": np.array([1]),
        "two": np.array([2]),
        "scale": np.array(1000.0, np.float32),
        "tokens": np.array(tokens),
    }
    inputs = [
        helper.make_tensor_value_info("feats", TensorProto.FLOAT, [1, 128, "frames"]),
        helper.make_tensor_value_info("feats_length", TensorProto.INT32, [1]),
    ]
    outputs = [helper.make_tensor_value_info("indices", TensorProto.INT64, [1, "count"])]
    return _model(nodes, inputs, outputs, [numpy_helper.from_array(v, name) for name, v in constants.items()])


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    values: list[onnx.TensorProto],
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "stand-in", inputs, outputs, values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    write_listeners(Path(sys.argv[1]), sys.argv[2])
