"""Static int8 in the form of QuantizeLinear and DequantizeLinear nodes, which every engine understands and fuses."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from cosylite.lab.compress.calibrate import Range
from cosylite.lab.export.quantise import Matrix, constant_products, quantise_columns


def quantise_static(
    model: onnx.ModelProto, ranges: Mapping[str, Range], chosen: Callable[[Matrix], bool]
) -> onnx.ModelProto:
    """A copy of `model` whose chosen products take int8 weights (a scale per column) and activations of fixed levels.

    Args:
        ranges: levels of the tensors that flow into the products.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    matrices = {m.node.output[0]: m for m in constant_products(result) if chosen(m)}
    nodes, rounded = list(graph.node), set[str]()
    del graph.node[:]
    for node in nodes:
        matrix = matrices.get(node.output[0])
        if matrix is None:
            graph.node.append(node)
            continue
        if node.input[0] not in rounded:
            rounded.add(node.input[0])
            graph.node.extend(_round_nodes(node.input[0], ranges[node.input[0]], graph))
        graph.node.extend(_product_nodes(matrix, graph))
    drop_unused(graph)
    onnx.checker.check_model(result)
    return result


def _round_nodes(source: str, levels: Range, graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    scale, zero = f"{source}_scale", f"{source}_zero"
    graph.initializer.append(numpy_helper.from_array(np.array(levels.scale, np.float32), scale))
    graph.initializer.append(numpy_helper.from_array(np.array(levels.zero, np.uint8), zero))
    return [
        helper.make_node("QuantizeLinear", [source, scale, zero], [f"{source}_levels"]),
        helper.make_node("DequantizeLinear", [f"{source}_levels", scale, zero], [f"{source}_rounded"]),
    ]


def _product_nodes(matrix: Matrix, graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    source, output = matrix.node.input[0], matrix.node.output[0]
    values, scale = quantise_columns(matrix.weight)
    names = [f"{output}_weight", f"{output}_weight_scale", f"{output}_weight_zero"]
    arrays: list[NDArray[Any]] = [values, scale, np.zeros(len(scale), np.int8)]
    for name, array in zip(names, arrays, strict=True):
        graph.initializer.append(numpy_helper.from_array(array, name))
    product = f"{output}_product" if matrix.bias else output
    nodes = [
        helper.make_node("DequantizeLinear", names, [f"{output}_matrix"], axis=1),
        helper.make_node("MatMul", [f"{source}_rounded", f"{output}_matrix"], [product], name=matrix.node.name),
    ]
    if matrix.bias:
        nodes.append(helper.make_node("Add", [product, matrix.bias], [output]))
    return nodes


def drop_unused(graph: onnx.GraphProto) -> None:
    """Remove the initialisers that no node takes."""
    used = {name for node in graph.node for name in node.input}
    kept = [i for i in graph.initializer if i.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
