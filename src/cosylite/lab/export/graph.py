"""A small writer of ONNX graphs.

The networks of the official families are written node by node instead of being traced: it takes milliseconds and no
second copy of the weights, and the caller decides what enters the graph and how (caches, masks, products that can be
quantised). What is written is compared with PyTorch afterwards.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from cosylite.lab.export.quantise import quantise_columns

OPSET = 20
Value = str
"""Name of a value in a graph."""
Shape = Sequence[int | str]
Precision = Literal["fp32", "int8"]
_CONTRIB = "com.microsoft"
_LEVELS, _ZERO_POINT = 127, 128
_TYPES = {"float": TensorProto.FLOAT, "int": TensorProto.INT64, "double": TensorProto.DOUBLE}


class GraphWriter:
    """Collects nodes, weights, inputs and outputs. `precision` is that of the products with constant matrices."""

    def __init__(self, name: str, precision: Precision = "fp32") -> None:
        self._name, self._precision = name, precision
        self._levels: dict[Value, tuple[Value, Value]] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._count = 0

    def input(self, name: str, shape: Shape, kind: str = "float") -> Value:
        """Declare an input; names in `shape` are free dimensions."""
        self._inputs.append(helper.make_tensor_value_info(name, _TYPES[kind], list(shape)))
        return name

    def output(self, name: str, value: Value, shape: Shape, kind: str = "float") -> None:
        """Declare `value` as an output."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[kind], list(shape)))

    def op(self, kind: str, *inputs: Value, **attributes: Any) -> Value:
        """Add a node with one output."""
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def ops(self, kind: str, *inputs: Value, outputs: int, **attributes: Any) -> list[Value]:
        """Add a node with several outputs."""
        names = [self._fresh(kind.lower()) for _ in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def weight(self, values: Tensor | NDArray[Any]) -> Value:
        """Store an array as it is."""
        array = values.detach().numpy() if isinstance(values, Tensor) else values
        name = self._fresh("weight")
        self._weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def number(self, value: float) -> Value:
        """A float32 scalar."""
        return self._constant(np.float32(value), ("f", value))

    def ints(self, *values: int) -> Value:
        """An int64 vector."""
        return self._constant(np.array(values, np.int64), ("i", *values))

    def integer(self, value: int) -> Value:
        """An int64 scalar."""
        return self._constant(np.int64(value), ("n", value))

    def add(self, a: Value, b: Value) -> Value:
        """a + b."""
        return self.op("Add", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        """a * b."""
        return self.op("Mul", a, b)

    def matmul(self, a: Value, b: Value) -> Value:
        """Matrix product."""
        return self.op("MatMul", a, b)

    def product(self, rows: Value, weight: Tensor, bias: Tensor | None, *, exact: bool = False) -> Value:
        """Rows (..., K) times a constant matrix (K, N), plus a bias (N,).

        In int8 every row has its own scale, so that it never depends on its neighbours, and so has every column of the
        matrix; `exact` keeps a product in float32.
        """
        if self._precision == "fp32" or exact:
            out = self.matmul(rows, self.weight(weight))
        else:
            out = self._int8_product(rows, weight.detach().numpy())
        return out if bias is None else self.add(out, self.weight(bias))

    def _int8_product(self, rows: Value, weight: NDArray[np.float32]) -> Value:
        levels, scale = self._row_levels(rows, len(weight))
        columns, column_scale = quantise_columns(weight)
        summed = self.op(
            "MatMulIntegerToFloat",
            levels,
            self.weight(columns),
            self.number(1.0),
            self.weight(column_scale),
            self._constant(np.uint8(_ZERO_POINT), ("zero point",)),
            domain=_CONTRIB,
        )
        shape = self.concat(self.op("Shape", rows, end=-1), self.ints(weight.shape[1]), axis=0)
        return self.op("Reshape", self.mul(summed, scale), shape)

    def _row_levels(self, rows: Value, size: int) -> tuple[Value, Value]:
        """Rows as unsigned levels (M, K) and their scales (M, 1); worked out once per value."""
        if rows not in self._levels:
            flat = self.reshape(rows, -1, size)
            top = self.op("ReduceMax", flat, self.ints(1), keepdims=0)
            low = self.op("Neg", self.op("ReduceMin", flat, self.ints(1), keepdims=0))
            scale = self.mul(self.op("Max", top, low, self.number(1e-8)), self.number(1 / _LEVELS))
            zero_point = numpy_helper.from_array(np.array([_ZERO_POINT], np.uint8))
            zeros = self.op("ConstantOfShape", self.op("Shape", scale), value=zero_point)
            levels = self.op("QuantizeLinear", flat, scale, zeros, axis=0)
            self._levels[rows] = levels, self.unsqueeze(scale, 1)
        return self._levels[rows]

    def concat(self, *values: Value, axis: int) -> Value:
        """Concatenate."""
        return self.op("Concat", *values, axis=axis)

    def transpose(self, value: Value, *order: int) -> Value:
        """Reorder axes."""
        return self.op("Transpose", value, perm=list(order))

    def reshape(self, value: Value, *shape: int) -> Value:
        """Reshape; 0 keeps a dimension, -1 is worked out."""
        return self.op("Reshape", value, self.ints(*shape))

    def slice(self, value: Value, start: int, stop: int, axis: int, step: int = 1) -> Value:
        """Part of an axis, with fixed ends; a large `stop` means up to the end."""
        return self.op("Slice", value, self.ints(start), self.ints(stop), self.ints(axis), self.ints(step))

    def unsqueeze(self, value: Value, *axes: int) -> Value:
        """Add axes of length 1."""
        return self.op("Unsqueeze", value, self.ints(*axes))

    def dimension(self, value: Value, axis: int) -> Value:
        """Length of an axis, an int64 scalar."""
        return self.op("Squeeze", self.op("Shape", value, start=axis, end=axis + 1), self.ints(0))

    def range(self, stop: Value) -> Value:
        """0, 1, ... stop - 1 as int64."""
        return self.op("Range", self.integer(0), stop, self.integer(1))

    def cast(self, value: Value, kind: str) -> Value:
        """Convert to "float", "int" or "double"."""
        return self.op("Cast", value, to=_TYPES[kind])

    def pad(self, value: Value, left: int, right: int) -> Value:
        """Zeros around the last axis of (B, C, T)."""
        return self.op("Pad", value, self.ints(0, 0, left, 0, 0, right)) if left or right else value

    def model(self) -> onnx.ModelProto:
        """The finished graph."""
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._weights)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="cosylite")
        model.ir_version = 10
        return model

    def save(self, path: Path) -> None:
        """Write the graph as one file."""
        onnx.save(self.model(), path)

    def _constant(self, value: Any, key: tuple[Any, ...]) -> Value:
        if key not in self._constants:
            self._constants[key] = self.weight(np.asarray(value))
        return self._constants[key]

    def _fresh(self, kind: str) -> Value:
        self._count += 1
        return f"{kind}_{self._count}"
