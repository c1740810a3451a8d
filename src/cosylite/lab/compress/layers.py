"""Names of the products of a graph, and the patterns that pick them.

A layer is named by its graph and its module: ``flow.stack.blocks.3.spread``. The class of a layer is its name without
numbers; the search chooses a precision per class.
"""

import fnmatch
from collections.abc import Iterable, Sequence

import onnx

from cosylite.errors import InputError
from cosylite.lab.export.quantise import constant_products


def product_names(graph: str, model: onnx.ModelProto) -> dict[str, str]:
    """Output of every product with a constant matrix, and the name of its layer."""
    return {m.node.output[0]: f"{graph}.{m.node.name or m.node.output[0]}" for m in constant_products(model)}


def layer_class(layer: str) -> str:
    """The name without numbers: ``flow.stack.blocks.spread``."""
    return ".".join(part for part in layer.split(".") if not part.isdigit())


def pick(layers: Sequence[str], patterns: Iterable[str]) -> set[str]:
    """The layers that match any pattern (``*`` matches everything, dots included).

    Raises:
        InputError: a pattern matches none.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        found = fnmatch.filter(layers, pattern)
        if not found:
            classes = ", ".join(dict.fromkeys(layer_class(layer) for layer in layers))
            raise InputError(
                f"recipe: the layer filter {pattern!r} matches nothing; there are {classes or 'no layers'}"
                " (with numbers between the parts)",
                code="no_such_layer",
                param="layers",
            )
        chosen.update(found)
    return chosen
