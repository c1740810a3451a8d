"""Parameters of nano's networks out of its exported graphs: the way back from a bundle to a training."""

from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from cosylite.errors import BundleError


def weights_of(path: Path) -> dict[str, NDArray[np.float32]]:
    """Parameters of the graph at `path` by their names in its module; matrices are found by the bias added to them."""
    graph = onnx.load(str(path)).graph
    values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    found = {name: value for name, value in values.items() if "." in name}
    shifts = [values[node.input[1]] for node in graph.node if node.op_type == "Add" and _is_shift(node, values)]
    if shifts:
        found["decoder.shifts"] = np.stack(shifts)
    products = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    for node in graph.node:
        bias = node.input[-1] if node.op_type in ("Add", "Gemm") else ""
        if not bias.endswith(".bias") or bias not in values:
            continue
        matrix = _matrix(node, products, values)
        if matrix is not None:
            found[bias.removesuffix("bias") + "weight"] = np.ascontiguousarray(matrix.T)
    return found


def _is_shift(node: onnx.NodeProto, values: dict[str, NDArray[np.float32]]) -> bool:
    return node.input[1].startswith("getitem") and node.input[1] in values


def _matrix(
    node: onnx.NodeProto, products: dict[str, str], values: dict[str, NDArray[np.float32]]
) -> NDArray[np.float32] | None:
    """The matrix (K, N) of the product to which `node` adds the bias, in int8 or float32."""
    if node.op_type == "Gemm":
        weight = values[node.input[1]]
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        return weight.T if transposed else weight
    product = node.input[0]
    if product in products:
        return values.get(products[product])
    prefix = product.removesuffix("_scaled") if product.endswith("_scaled") else f"{product}_int8"
    if f"{prefix}_weight" not in values:
        return None
    return values[f"{prefix}_weight"].astype(np.float32) * values[f"{prefix}_scale"]


def fill(model: torch.nn.Module, weights: dict[str, NDArray[np.float32]], own: tuple[str, ...] = ()) -> None:
    """Load `weights` into `model`; those named in `own` may stay as the model made them.

    Raises:
        BundleError: weights are missing, or some belong nowhere.
    """
    state = {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    lost = [name for name in missing if name not in own]
    if lost or unexpected:
        raise BundleError(f"the graphs do not fit: missing {lost}, unknown {unexpected}", code="weights", param="model")
