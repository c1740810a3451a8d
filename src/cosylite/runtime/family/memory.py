"""Keys and values of the sequences that a language model decodes together, in place."""

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

BLOCK = 64
"""Memory grows by so many rows at a time."""


class Memory:
    """Buffers of a batch of sequences, one of keys and one of values per layer, (B, heads, capacity, size) each.

    The graph of the language model writes into them. Sequences may have different lengths; what lies beyond a length is
    never read.
    """

    def __init__(self, layers: int, heads: int, size: int, *, sequences: int = 1) -> None:
        self.lengths = np.zeros(sequences, np.int64)
        self.keys = [np.zeros((sequences, heads, BLOCK, size), np.float32) for _ in range(layers)]
        self.values = [np.zeros((sequences, heads, BLOCK, size), np.float32) for _ in range(layers)]

    @property
    def capacity(self) -> int:
        """Rows there is room for."""
        return self.values[0].shape[2]

    def buffers(self, rows: slice = slice(None)) -> list[tuple[str, str, Array]]:
        """Input, output and array of every buffer, of all sequences or of a range of them."""
        found = []
        for i, (keys, values) in enumerate(zip(self.keys, self.values, strict=True)):
            found.append((f"keys_{i}", f"new_keys_{i}", keys[rows]))
            found.append((f"values_{i}", f"new_values_{i}", values[rows]))
        return found

    def make_room(self, rows: int) -> None:
        """Make room for as many more rows in every sequence."""
        self._reserve(int(self.lengths.max(initial=0)) + rows)

    def advance(self, fresh: NDArray[np.int64]) -> None:
        """Count the `fresh` (B,) rows that were written."""
        self.lengths = self.lengths + fresh

    def join(self, other: "Memory") -> None:
        """Take the sequences of another memory of the same model into this batch, after the own ones."""
        self._reserve(other.capacity)
        other._reserve(self.capacity)
        keys = [np.concatenate(pair) for pair in zip(self.keys, other.keys, strict=True)]
        values = [np.concatenate(pair) for pair in zip(self.values, other.values, strict=True)]
        self.keys, self.values = keys, values
        self.lengths = np.concatenate([self.lengths, other.lengths])

    def keep(self, rows: Sequence[int]) -> None:
        """Forget all sequences but these."""
        chosen = list(rows)
        keys, values = [array[chosen] for array in self.keys], [array[chosen] for array in self.values]
        self.keys, self.values = keys, values
        self.lengths = self.lengths[chosen]

    def fork(self) -> "Memory":
        """A copy, to go on from separately."""
        other = copy.copy(self)
        other.lengths = self.lengths.copy()
        other.keys = [keys.copy() for keys in self.keys]
        other.values = [values.copy() for values in self.values]
        return other

    def _reserve(self, rows: int) -> None:
        capacity = -(-rows // BLOCK) * BLOCK
        more = capacity - self.capacity
        if more <= 0:
            return
        room = ((0, 0), (0, 0), (0, more), (0, 0))
        keys, values = [np.pad(array, room) for array in self.keys], [np.pad(array, room) for array in self.values]
        self.keys, self.values = keys, values  # both or none, where memory does not suffice
