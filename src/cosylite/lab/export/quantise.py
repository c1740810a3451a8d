"""Dynamic int8 for the matrix products of an ONNX graph, with one activation scale per row.

ONNX's own `DynamicQuantizeLinear` takes one scale for the whole tensor, so that a frame's result would depend on the
frames and requests computed beside it. Here every row is scaled by its own absolute maximum, rounded, and shifted to
unsigned int8 with zero point 128, which is the form that the fast kernels of ONNX Runtime take on x86.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_ONE = "int8_levels"
_ZERO = "int8_zero_point"
_FLOOR = "int8_floor"


@dataclass(frozen=True)
class Matrix:
    """A product with a constant matrix, as the graph holds it: weight (K, N) after transposition."""

    node: onnx.NodeProto
    weight: NDArray[np.float32]
    bias: str | None


def constant_products(model: onnx.ModelProto) -> list[Matrix]:
    """Every MatMul or Gemm whose second input is a constant matrix."""
    constants = {i.name: i for i in model.graph.initializer}
    found = []
    for node in model.graph.node:
        if node.op_type not in ("MatMul", "Gemm") or node.input[1] not in constants:
            continue
        weight = numpy_helper.to_array(constants[node.input[1]])
        if weight.ndim != 2 or weight.dtype != np.float32:
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
            continue
        if attributes.get("transB", 0):
            weight = weight.T
        bias = node.input[2] if node.op_type == "Gemm" and len(node.input) > 2 else None
        found.append(Matrix(node, np.ascontiguousarray(weight), bias))
    return found


def quantise_columns(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric int8 of (K, N) with one scale per column: values and scales (N,)."""
    scale = np.maximum(np.abs(weight).max(0), 1e-8) / 127.0
    return np.clip(np.round(weight / scale), -127, 127).astype(np.int8), scale.astype(np.float32)


def nibble_blocks(weight: NDArray[np.float32], block: int = 64) -> tuple[NDArray[np.uint8], NDArray[np.float32], int]:
    """4 bits of (K, N), for `MatMulNBits`: every block of a column has its own scale, which its extreme value decides.

    Returns:
        Bytes (N, blocks, block / 2) of two values each, scales (N * blocks,), and the length of a block.
    """
    columns = weight.T
    blocks = -(-columns.shape[1] // block)
    padded = np.pad(columns, ((0, 0), (0, blocks * block - columns.shape[1]))).reshape(len(columns), blocks, block)
    extreme = np.take_along_axis(padded, np.abs(padded).argmax(-1, keepdims=True), -1)
    scale = np.where(extreme == 0, np.float32(1e-8), extreme / np.float32(-8))
    values = (np.clip(np.round(padded / scale), -8, 7) + 8).astype(np.uint8)
    packed: NDArray[np.uint8] = values[..., 0::2] | values[..., 1::2] << np.uint8(4)
    return packed, scale.astype(np.float32).ravel(), block


def _int8_nodes(matrix: Matrix, graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """The nodes that replace one product."""
    source, output, prefix = matrix.node.input[0], matrix.node.output[0], f"{matrix.node.output[0]}_int8"
    values, scale = quantise_columns(matrix.weight)
    for name, array in (("weight", values), ("scale", scale)):
        graph.initializer.append(numpy_helper.from_array(array, f"{prefix}_{name}"))
    product = f"{prefix}_scaled" if matrix.bias else output
    nodes = [
        helper.make_node("Abs", [source], [f"{prefix}_abs"]),
        helper.make_node("ReduceMax", [f"{prefix}_abs", "int8_last_axis"], [f"{prefix}_max"], keepdims=1),
        helper.make_node("Max", [f"{prefix}_max", _FLOOR], [f"{prefix}_top"]),
        helper.make_node("Div", [f"{prefix}_top", _ONE], [f"{prefix}_row"]),
        helper.make_node("Div", [source, f"{prefix}_row"], [f"{prefix}_unit"]),
        helper.make_node("Round", [f"{prefix}_unit"], [f"{prefix}_round"]),
        helper.make_node("Add", [f"{prefix}_round", "int8_shift"], [f"{prefix}_shifted"]),
        helper.make_node("Cast", [f"{prefix}_shifted"], [f"{prefix}_u8"], to=TensorProto.UINT8),
        helper.make_node("MatMulInteger", [f"{prefix}_u8", f"{prefix}_weight", _ZERO], [f"{prefix}_i32"]),
        helper.make_node("Cast", [f"{prefix}_i32"], [f"{prefix}_f32"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{prefix}_f32", f"{prefix}_scale"], [f"{prefix}_cols"]),
        helper.make_node("Mul", [f"{prefix}_cols", f"{prefix}_row"], [product]),
    ]
    if matrix.bias:
        nodes.append(helper.make_node("Add", [product, matrix.bias], [output]))
    return nodes


def _shared(graph: onnx.GraphProto) -> None:
    for name, array in (
        (_ONE, np.array(127.0, np.float32)),
        (_FLOOR, np.array(1e-8, np.float32)),
        ("int8_shift", np.array(128.0, np.float32)),
        (_ZERO, np.array(128, np.uint8)),
        ("int8_last_axis", np.array([-1], np.int64)),
    ):
        graph.initializer.append(numpy_helper.from_array(array, name))


def quantise(
    model: onnx.ModelProto, keep: Callable[[Matrix], bool] = lambda _: False, *, check: bool = True
) -> onnx.ModelProto:
    """A copy of `model` with every constant product in int8, except those that `keep` picks.

    Args:
        check: let `onnx` check the result; it does not know the operators that ONNX Runtime adds to the standard ones.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    chosen = {m.node.output[0]: m for m in constant_products(result) if not keep(m)}
    nodes = list(graph.node)
    del graph.node[:]
    _shared(graph)
    for node in nodes:
        matrix = chosen.get(node.output[0])
        graph.node.extend(_int8_nodes(matrix, graph) if matrix else [node])
    used = {name for node in graph.node for name in node.input}
    kept = [i for i in graph.initializer if i.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    if check:
        onnx.checker.check_model(result)
    return result
