"""Post-training quantisation: a method per layer, ranges from calibration, and layers kept in float by sensitivity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import onnx
from tqdm import tqdm

from cosylite.errors import BundleError
from cosylite.lab.compress.calibrate import Range, no_data, ranges_of, watch_nano
from cosylite.lab.compress.layers import pick, product_names
from cosylite.lab.compress.measure import Reference
from cosylite.lab.compress.recipe import Calibration, Method, Rule, Selection
from cosylite.lab.compress.static import quantise_static
from cosylite.lab.export.quantise import Matrix, quantise
from cosylite.runtime.nano import NanoModel, Reading

Graphs = Mapping[str, onnx.ModelProto]
Ranges = Mapping[str, Mapping[str, Range]]


@dataclass(frozen=True)
class Plan:
    """The method of every layer; what is not named stays in float. `learned` are ranges from training, by layer."""

    methods: dict[str, Method]
    ranges: Ranges = field(default_factory=dict)
    learned: Mapping[str, Range] = field(default_factory=dict)

    def but(self, methods: Mapping[str, Method]) -> "Plan":
        """The plan with other methods for some layers."""
        return Plan({**self.methods, **methods}, self.ranges, self.learned)

    def only(self, layer: str) -> "Plan":
        """The plan for one layer, all others in float."""
        return Plan({layer: self.methods[layer]}, self.ranges, self.learned)


def layers_of(graphs: Graphs) -> list[str]:
    """Names of all layers that can be quantised."""
    return [layer for name, graph in graphs.items() for layer in product_names(name, graph).values()]


def methods_of(graphs: Graphs, rules: tuple[Rule, ...]) -> dict[str, Method]:
    """The method of every layer that a rule names; later rules win. Raises InputError for filters without a match."""
    layers, methods = layers_of(graphs), dict[str, Method]()
    for rule in rules:
        methods |= dict.fromkeys(sorted(pick(layers, rule.layers)), rule.method)
    return {layer: method for layer, method in methods.items() if method != "fp32"}


def calibrated(
    model: NanoModel, graphs: Graphs, readings: list[Reading], how: Calibration, seed: int
) -> dict[str, dict[str, Range]]:
    """Ranges of every tensor that flows into a product; raises InputError without readings."""
    if not readings:
        raise no_data()
    seen = watch_nano(model, graphs, readings, seed)
    return {graph: ranges_of(tensors, how) for graph, tensors in seen.items()}


def apply(graphs: Graphs, plan: Plan) -> dict[str, onnx.ModelProto]:
    """Rewrite the graphs as planned."""
    return {name: _apply(name, graph, plan) for name, graph in graphs.items()}


def _apply(name: str, graph: onnx.ModelProto, plan: Plan) -> onnx.ModelProto:
    layers = product_names(name, graph)

    def uses(method: Method) -> Callable[[Matrix], bool]:
        return lambda matrix: plan.methods.get(layers[matrix.node.output[0]]) == method

    wanted = {plan.methods.get(layer) for layer in layers.values()}
    if "static" in wanted:
        graph = quantise_static(graph, _ranges(name, graph, layers, plan), uses("static"))
    if "dynamic" in wanted:
        dynamic = uses("dynamic")
        standard = all(o.domain in ("", "ai.onnx") for o in graph.opset_import)
        graph = quantise(graph, keep=lambda matrix: not dynamic(matrix), check=standard)
    return graph


def _ranges(name: str, graph: onnx.ModelProto, layers: dict[str, str], plan: Plan) -> dict[str, Range]:
    ranges = dict(plan.ranges.get(name, {}))
    for node in graph.graph.node:
        layer = layers.get(node.output[0]) if node.output else None
        if layer is not None and layer in plan.learned:
            ranges[node.input[0]] = plan.learned[layer]
    return ranges


Build = Callable[[Mapping[str, onnx.ModelProto]], NanoModel]
"""Opens a model whose stages run the given graphs."""


def sensitivities(graphs: Graphs, plan: Plan, reference: Reference, build: Build) -> dict[str, float]:
    """Distance to the float model when one layer alone is quantised, worst first."""
    found = {}
    for layer in tqdm(plan.methods, desc="sensitivity", mininterval=2, leave=False):
        name = layer.split(".")[0]
        found[layer] = reference.distance(build({**graphs, name: _apply(name, graphs[name], plan.only(layer))}))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def select(
    graphs: Graphs, plan: Plan, reference: Reference, build: Build, how: Selection
) -> tuple[Plan, dict[str, float]]:
    """The plan with as few layers in float as the budget allows, and the sensitivity of every layer.

    Raises:
        BundleError: even with the allowed share of layers in float the budget is not kept.
    """
    worst = sensitivities(graphs, plan, reference, build)
    order, most = list(worst), int(how.most * len(worst))

    def keeping(count: int) -> Plan:
        return plan.but(dict.fromkeys(order[:count], "fp32"))

    def distance(count: int) -> float:
        return reference.distance(build(apply(graphs, keeping(count))))

    reached = distance(most)
    if reached > how.mel_distance:
        raise BundleError(
            f"with {most} of {len(order)} layers in float the distance is {reached:.3f}, above the budget of"
            f" {how.mel_distance:g}: allow more layers (selective.most) or a larger distance",
            code="quality_below_budget",
            param="selective",
        )
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if distance(middle) <= how.mel_distance else (middle + 1, high)
    return keeping(low), worst


def write(graphs: Graphs, folder: Path) -> None:
    """Write the graphs to their files."""
    for name, graph in graphs.items():
        onnx.save(graph, str(folder / f"{name}.onnx"))
