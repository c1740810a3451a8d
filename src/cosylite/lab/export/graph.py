"""A small writer of ONNX graphs.

The networks of the official families are written node by node instead of being traced: it takes milliseconds and no
second copy of the weights, and the caller decides what enters the graph and how (caches, masks, products that can be
quantised). What is written is compared with PyTorch afterwards.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from cosylite.lab.export.quantise import nibble_blocks, quantise_columns

OPSET = 20
Value = str
"""Name of a value in a graph."""
Shape = Sequence[int | str]
Precision = Literal["fp32", "fp16", "int8", "int4"]
_CONTRIB = "com.microsoft"
_LEVELS, _ZERO_POINT = 127, 128
_LARGEST_HALF = 65504.0
_HALVED = 256
"""In fp16, arrays of at least so many values are stored in half precision; what is computed stays float32."""
_TYPES = {
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
    "int": TensorProto.INT64,
    "short": TensorProto.INT32,
}


_OUTSIDE = 1 << 14
"""Weights of at least so many bytes lie in a file beside the graph, from where they are mapped instead of read."""
_PAGE = 4096


class GraphWriter:
    """Collects nodes, weights, inputs and outputs. `precision` is that of the products with constant matrices."""

    def __init__(self, name: str, precision: Precision = "fp32") -> None:
        self._name, self.precision = name, precision
        self._levels: dict[Value, tuple[Value, Value]] = {}
        self._zeros: Value = ""
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[tuple[str, NDArray[Any]]] = []
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
        array = np.asarray(values.detach().numpy() if isinstance(values, Tensor) else values)
        name = self._fresh("weight")
        if self.precision == "fp16" and array.dtype == np.float32 and array.size >= _HALVED:
            self._weights.append((name, np.clip(array, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)))
            return self.cast(name, "float")
        self._weights.append((name, array))
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

    def product(
        self,
        rows: Value,
        weight: Tensor,
        bias: Tensor | Value | None = None,
        *,
        precision: Precision | None = None,
        gain: Value = "",
    ) -> Value:
        """Rows (M, K) times a constant matrix (K, N), plus a bias (N,).

        In int8 every row has its own scale, so that it never depends on its neighbours, and so has every column of the
        matrix. In int4, blocks of a column share a scale.

        Args:
            precision: of this product, if not that of the graph.
            gain: factors (N,) of the columns of the product, before the bias; not in int4.
        """
        precision = precision or self.precision
        offset = self.weight(bias) if isinstance(bias, Tensor) else bias
        if precision == "int4":
            return self._int4_product(rows, weight.detach().numpy(), offset)
        if precision == "int8":
            out = self._int8_product(rows, weight.detach().numpy(), gain)
        else:
            out = self.matmul(rows, self.weight(weight))
            out = self.mul(out, gain) if gain else out
        return self.add(out, offset) if offset else out

    def _int8_product(self, rows: Value, weight: NDArray[np.float32], gain: Value) -> Value:
        levels, scale = self._row_levels(rows)
        columns, column_scale = quantise_columns(weight)
        factors = self.weight(column_scale)
        summed = self.op(
            "MatMulIntegerToFloat",
            levels,
            self.weight(columns),
            self.number(1.0),
            self.mul(factors, gain) if gain else factors,
            self._constant(np.uint8(_ZERO_POINT), ("zero point",)),
            domain=_CONTRIB,
        )
        return self.mul(summed, scale)

    def _row_levels(self, rows: Value) -> tuple[Value, Value]:
        """Rows (M, K) as unsigned levels and their scales (M, 1); worked out once per value."""
        if rows not in self._levels:
            top, low = (self.op(kind, rows, self.ints(1), keepdims=0) for kind in ("ReduceMax", "ReduceMin"))
            extreme = self.op("Max", top, self.op("Neg", low), self.number(1e-8))
            scale = self.mul(extreme, self.number(1 / _LEVELS))
            levels = self.op("QuantizeLinear", rows, scale, self._zeros or self._zero_points(rows), axis=0)
            self._levels[rows] = levels, self.unsqueeze(scale, 1)
        return self._levels[rows]

    def equal_rows(self, rows: Value) -> None:
        """Say that all rows that follow in products are as many as `rows`, which saves two nodes for each."""
        self._zeros = self._zero_points(rows)

    def _zero_points(self, rows: Value) -> Value:
        zero_point = numpy_helper.from_array(np.array([_ZERO_POINT], np.uint8))
        return self.op("ConstantOfShape", self.op("Shape", rows, end=1), value=zero_point)

    def _int4_product(self, rows: Value, weight: NDArray[np.float32], offset: Value | None) -> Value:
        size, columns = weight.shape
        packed, scales, block = nibble_blocks(weight)
        return self.op(
            "MatMulNBits",
            rows,
            self.weight(packed),
            self.weight(scales),
            *(["", "", offset] if offset else []),
            domain=_CONTRIB,
            K=size,
            N=columns,
            bits=4,
            block_size=block,
            accuracy_level=4,
        )

    def either(self, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """One of two values, of which only that one is computed."""
        branches = [self._branch(name, work) for name, work in (("yes", yes), ("no", no))]
        return self.op("If", condition, then_branch=branches[0], else_branch=branches[1])

    def _branch(self, name: str, work: Callable[[], Value]) -> onnx.GraphProto:
        outer, self._nodes = self._nodes, []
        result = work()
        inner, self._nodes = self._nodes, outer
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        return helper.make_graph(inner, name, [], [output])

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
        """Convert to "float", "double", "int" (64 bits) or "short" (32 bits)."""
        return self.op("Cast", value, to=_TYPES[kind])

    def pad(self, value: Value, left: int, right: int) -> Value:
        """Zeros around the last axis of (B, C, T)."""
        return self.op("Pad", value, self.ints(0, 0, left, 0, 0, right)) if left or right else value

    def model(self) -> onnx.ModelProto:
        """The finished graph, weights included."""
        return self._model([numpy_helper.from_array(np.asarray(a, order="C"), name) for name, a in self._weights])

    def _model(self, weights: list[onnx.TensorProto]) -> onnx.ModelProto:
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, weights)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="cosylite")
        model.ir_version = 10
        return model

    def save(self, path: Path) -> None:
        """Write the graph, and large weights to a file with the ending `.weights` beside it.

        ONNX Runtime maps that file and lets go of it piece by piece as it arranges the weights for its kernels, so that
        loading never holds them twice.
        """
        outside = path.with_suffix(".weights")
        weights = []
        with outside.open("wb") as file:
            for name, array in self._weights:
                if array.nbytes < _OUTSIDE:
                    weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
                    continue
                file.write(bytes(-file.tell() % _PAGE))
                weights.append(_reference(name, array, outside.name, file.tell()))
                file.write(np.asarray(array, order="C").data)
            empty = not file.tell()
        if empty:
            outside.unlink()
        onnx.save(self._model(weights), path)

    def _constant(self, value: Any, key: tuple[Any, ...]) -> Value:
        if key not in self._constants:
            self._constants[key] = self.weight(np.asarray(value))
        return self._constants[key]

    def _fresh(self, kind: str) -> Value:
        self._count += 1
        return f"{kind}_{self._count}"


def _reference(name: str, array: NDArray[Any], file: str, offset: int) -> onnx.TensorProto:
    """A weight that lies in another file."""
    tensor = onnx.TensorProto(name=name, dims=array.shape, data_type=helper.np_dtype_to_tensor_dtype(array.dtype))
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", file), ("offset", offset), ("length", array.nbytes)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor
