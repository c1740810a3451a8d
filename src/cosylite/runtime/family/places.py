"""What the language model of v1 knows of distances between rows, worked out once."""

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.sessions import Stage

Array = NDArray[np.float32]

LEAST = 512
"""Distances that are worked out at first; later always twice as many."""


class Places:
    """Vectors by which queries find keys at a distance, one array (heads, size, distances) per layer.

    They depend on nothing else, so no step has to project positions again. The graph is loaded for a moment only, as
    its weights are not needed afterwards. For several threads.
    """

    def __init__(self, load: Callable[[], Stage], layers: int) -> None:
        self._load, self._layers = load, layers
        self._lock = threading.Lock()
        self._known: list[Array] = []
        self._cut: list[Array] = []

    def feeds(self, distances: int) -> dict[str, Array]:
        """Inputs of the language model for exactly so many distances."""
        with self._lock:
            if not self._cut or self._cut[0].shape[-1] != distances:
                self._learn(distances)
                self._cut = [np.ascontiguousarray(values[..., :distances]) for values in self._known]
            return {f"places_{i}": values for i, values in enumerate(self._cut)}

    def _learn(self, distances: int) -> None:
        size = self._known[0].shape[-1] if self._known else 0
        if distances <= size:
            return
        count = max(LEAST, 2 * size, distances)
        names = [f"places_{i}" for i in range(self._layers)]
        self._known = self._load().run(names, {"distances": np.arange(count)})
