"""The teacher's graph is rewritten without changing what it computes."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from cosylite.errors import BundleError
from cosylite.lab.nano import teacher_graphs as graphs


def model_of(nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], shape: list[int | None]) -> onnx.ModelProto:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "test", ends[:1], ends[1:], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def run(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(["y"], {"x": x})[0]
    return result


def test_five_coefficients_follow_the_squared_sine() -> None:
    coefficients = graphs.squared_sine_coefficients()
    r = np.linspace(-0.5, 0.5, 1001)
    value = sum(c * r ** (2 * k + 2) for k, c in enumerate(coefficients))
    assert np.abs(value - np.sin(np.pi * r) ** 2).max() < 2e-6


def test_polynomials_replace_squared_sines_for_large_angles() -> None:
    nodes = [
        helper.make_node("Sin", ["x"], ["s"], name="snake/Sin"),
        helper.make_node("Pow", ["s", "two"], ["y"], name="snake/Pow"),
    ]
    model = model_of(nodes, {"two": np.array(2.0, np.float32)}, [None])
    x = np.random.default_rng(0).uniform(-60, 60, 5000).astype(np.float32)
    before = run(model, x)
    graphs.polynomial_sines(model)
    assert not [node for node in model.graph.node if node.op_type in ("Sin", "Pow")]
    assert np.abs(run(model, x) - before).max() < 3e-5


def test_a_sine_that_is_not_squared_is_refused() -> None:
    nodes = [helper.make_node("Sin", ["x"], ["s"], name="a"), helper.make_node("Neg", ["s"], ["y"], name="b")]
    with pytest.raises(BundleError, match="not the known one"):
        graphs.polynomial_sines(model_of(nodes, {}, [None]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_quantised_convolutions_become_float_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.standard_normal((6, 4, 3)).astype(np.float32),
        "b": rng.standard_normal(6).astype(np.float32),
    }
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", pads=[2, 2], dilations=[2])]
    model = model_of(nodes, weights, [1, None, None])
    onnx.save(model, tmp_path / "float.onnx")
    quantize_dynamic(
        tmp_path / "float.onnx", tmp_path / "int8.onnx", op_types_to_quantize=["Conv"], weight_type=QuantType.QUInt8
    )
    quantised = onnx.load(tmp_path / "int8.onnx")
    assert "ConvInteger" in {node.op_type for node in quantised.graph.node}
    x = rng.standard_normal((1, 4, 50)).astype(np.float32)
    graphs.float_convolutions(quantised)
    assert "ConvInteger" not in {node.op_type for node in quantised.graph.node}
    wanted = run(model, x)
    assert np.abs(run(quantised, x) - wanted).max() < 0.02 * np.abs(wanted).max()
