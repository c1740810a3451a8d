"""Rewrites the teacher's graph so that its slow part, the decoder, runs on bfloat16 units.

The published graph quantises convolutions (`ConvInteger`), which ONNX Runtime computes slowly. Here they become float
convolutions with the dequantised weights, and the graph is cut in three: `front` (text side, F0, harmonic source, style
projections), `generator` (all convolutions from F0 to the spectrum) and `back` (inverse STFT). Front and back stay
in float32, since phases in bfloat16 would be noise; the generator goes to OpenVINO in bfloat16. OpenVINO has only
a slow kernel for `Sin`, so the squared sine of the Snake activation (Ziyin et al., 2020) becomes a range reduction and
a polynomial.
"""

from collections import defaultdict

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from cosylite.errors import BundleError

_DECODER = "/decoder/decoder/"
_STARTS = {
    "/encoder/MatMul_1_output_0",
    *(_DECODER + name for name in ("Concat_output_0", "F0_conv/Conv_output_0", "N_conv/Conv_output_0")),
    _DECODER + "generator/Concat_3_output_0",
}
"""Tensors with a time axis that enter the generator: aligned text states, F0 and energy, harmonic spectrum."""
SPECTRUM = _DECODER + "generator/conv_post/Conv_output_0"


def _weights(graph: GraphProto) -> dict[str, onnx.TensorProto]:
    return {w.name: w for w in graph.initializer}


def _producers(graph: GraphProto) -> dict[str, NodeProto]:
    return {name: node for node in graph.node for name in node.output}


def _consumers(graph: GraphProto) -> dict[str, list[NodeProto]]:
    found: dict[str, list[NodeProto]] = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            found[name].append(node)
    return found


def _only(nodes: list[NodeProto], kind: str) -> NodeProto:
    if len(nodes) != 1 or nodes[0].op_type != kind:
        raise BundleError(f"the teacher's graph is not the known one: expected one {kind}", code="teacher_graph")
    return nodes[0]


def _per_channel(values: NDArray[np.float32], rank: int) -> NDArray[np.float32]:
    return values.reshape(-1, *([1] * (rank - 1))) if values.ndim else values


def float_convolutions(model: ModelProto) -> None:
    """Replace quantise, `ConvInteger`, bias, cast and scale by one float `Conv`, in place."""
    graph = model.graph
    weights, producers, consumers = _weights(graph), _producers(graph), _consumers(graph)
    replaced: dict[int, NodeProto | None] = {}
    for node in graph.node:
        if node.op_type != "ConvInteger":
            continue
        (after,) = consumers[node.output[0]]
        bias: list[str] = []
        if after.op_type == "Add":
            (other,) = (name for name in after.input if name != node.output[0])
            divided = producers[producers[other].input[0]]
            while divided.op_type != "Div":
                divided = producers[divided.input[0]]
            bias = [divided.input[0]]
            replaced[id(after)] = None
            (after,) = consumers[after.output[0]]
        scaled = _only(consumers[_only([after], "Cast").output[0]], "Mul")
        (factor,) = (name for name in scaled.input if name != after.output[0])
        (scale,) = (name for name in producers[factor].input if name in weights)
        stored, zero = (numpy_helper.to_array(weights[n]).astype(np.float32) for n in (node.input[1], node.input[3]))
        values = (stored - _per_channel(zero, stored.ndim)) * _per_channel(
            numpy_helper.to_array(weights[scale]).astype(np.float32), stored.ndim
        )
        name = f"{node.name}_weight"
        graph.initializer.append(numpy_helper.from_array(values, name))
        source = producers[node.input[0]].input[0]
        new = helper.make_node("Conv", [source, name, *bias], [scaled.output[0]], name=f"{node.name}_float")
        new.attribute.extend(node.attribute)
        replaced |= {id(node): None, id(after): None, id(scaled): new}
    nodes = [replaced.get(id(node), node) for node in graph.node]
    kept = [node for node in nodes if node is not None]
    del graph.node[:]
    graph.node.extend(kept)


def _ancestors(graph: GraphProto, outputs: set[str], stop: set[str]) -> list[NodeProto]:
    """Nodes that `outputs` need, in order, not looking behind the tensors in `stop`."""
    needed, kept = set(outputs), []
    for node in reversed(graph.node):
        made = set(node.output)
        if made & needed and not made & stop:
            kept.append(node)
            needed |= set(node.input)
    return kept[::-1]


def _inputs(nodes: list[NodeProto], weights: dict[str, onnx.TensorProto]) -> list[str]:
    made = {name for node in nodes for name in node.output}
    names = dict.fromkeys(name for node in nodes for name in node.input)
    return [name for name in names if name and name not in made and name not in weights]


def _part(
    model: ModelProto, nodes: list[NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[str]
) -> ModelProto:
    weights = _weights(model.graph)
    used = {name for node in nodes for name in node.input}
    known = {info.name: info for info in model.graph.output}
    ends = [known.get(name) or helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "part", inputs, ends, [weights[name] for name in used if name in weights])
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def split(model: ModelProto, also: list[str]) -> tuple[ModelProto, ModelProto, ModelProto]:
    """Front, generator and back of a model with float convolutions; `also` are further outputs of the front."""
    graph, weights = model.graph, _weights(model.graph)
    timed, below = set(_STARTS), []
    for node in graph.node:
        if timed & set(node.input) and not set(node.output) & _STARTS:
            below.append(node)
            timed |= set(node.output)
    candidates = helper.make_graph(below, "below", [], [])
    inside = _ancestors(candidates, {SPECTRUM}, set())
    names = _inputs(inside, weights)
    given = {info.name for info in graph.input}
    front_outputs = [name for name in names if name not in given]
    front = _part(model, _ancestors(graph, {*front_outputs, *also}, set()), list(graph.input), [*front_outputs, *also])
    plain = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names]
    generator = _part(model, inside, plain, [SPECTRUM])
    spectrum = [helper.make_tensor_value_info(SPECTRUM, onnx.TensorProto.FLOAT, None)]
    back = _part(model, _ancestors(graph, {"audio"}, {SPECTRUM}), spectrum, ["audio"])
    return front, generator, back


def state_shapes(generator: ModelProto, shapes: dict[str, list[int | None]]) -> None:
    """Give the generator's inputs their `shapes` (None: any size), in place; OpenVINO wants to know the ranks."""
    infos = [
        helper.make_tensor_value_info(i.name, onnx.TensorProto.FLOAT, shapes[i.name]) for i in generator.graph.input
    ]
    del generator.graph.input[:]
    generator.graph.input.extend(infos)


def squared_sine_coefficients(terms: int = 5) -> NDArray[np.float64]:
    """c with sin(pi r)^2 = c1 r^2 + c2 r^4 + ... for |r| <= 1/2, by least squares; five terms are within 2e-6."""
    square = np.linspace(0, 0.5, 4001) ** 2
    powers = np.stack([square ** (k + 1) for k in range(terms)], axis=1)
    found: NDArray[np.float64] = np.linalg.lstsq(powers, np.sin(np.pi * np.sqrt(square)) ** 2, rcond=None)[0]
    return found


def polynomial_sines(generator: ModelProto) -> None:
    """Replace every `Sin` followed by a square by r = x/pi - round(x/pi) and an even polynomial, in place."""
    graph, consumers = generator.graph, _consumers(generator.graph)
    constants = {"snake_inverse_pi": 1 / np.pi}
    coefficients = squared_sine_coefficients()
    constants |= {f"snake_c{k}": float(c) for k, c in enumerate(coefficients)}
    for name, value in constants.items():
        graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
    nodes: list[NodeProto] = []
    squares: dict[str, NodeProto] = {}
    for node in graph.node:
        if node.op_type == "Sin":
            squares[_only(consumers[node.output[0]], "Pow").output[0]] = node
        elif node.output[0] in squares:
            nodes += _polynomial(squares[node.output[0]], node.output[0], len(coefficients))
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def _polynomial(sine: NodeProto, output: str, terms: int) -> list[NodeProto]:
    nodes: list[NodeProto] = []

    def op(kind: str, inputs: list[str], name: str) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], name=name + "_op"))
        return name

    base = sine.name
    turns = op("Mul", [sine.input[0], "snake_inverse_pi"], base + "_turns")
    rest = op("Sub", [turns, op("Round", [turns], base + "_whole")], base + "_rest")
    square = op("Mul", [rest, rest], base + "_square")
    value = op("Mul", [square, f"snake_c{terms - 1}"], f"{base}_top")
    for k in reversed(range(terms - 1)):
        value = op("Add", [value, f"snake_c{k}"], f"{base}_add{k}")
        value = op("Mul", [value, square], f"{base}_mul{k}" if k else output)
    return nodes
