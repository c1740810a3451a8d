"""Where the golden cases are, and how results are held against them.

`COSYLITE_GOLDEN` may name another folder of the same layout: one with v1, v2, v3, common and text, or one above it.
"""

import os
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosylite.lab.checkpoints import Checkpoint, load_checkpoint

Array = NDArray[np.float32]
OWN = Path(__file__).parents[1] / "golden"
FAMILIES = ("v1", "v2", "v3")
differences: dict[str, float] = defaultdict(float)
"""Largest absolute difference per part; printed after the run."""


def _cases_root() -> Path:
    given = Path(os.environ.get("COSYLITE_GOLDEN") or OWN)
    options = [given, *sorted(child for child in given.iterdir() if child.is_dir())]
    return next((folder for folder in options if (folder / "v1").is_dir()), given)


ROOT = _cases_root()
SHAPES = next((p for p in (ROOT / "shapes", ROOT.parent / "shapes") if p.is_dir()), OWN / "shapes")


@cache
def checkpoint(family: str) -> Checkpoint:
    """The toy model of a family."""
    return load_checkpoint(ROOT / family)


class Case(dict[str, NDArray[Any]]):
    """The arrays of one file, and the family they belong to."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as arrays:
            super().__init__({name: arrays[name] for name in arrays})
        self.name = path.stem
        self.family = path.parts[-3]
        self.path = path

    def ids(self, name: str) -> list[int]:
        """Ids of an array, flat."""
        return [int(i) for i in self[name].ravel()]


def case_files(*patterns: str, families: tuple[str, ...] = FAMILIES) -> list[Path]:
    """Case files of the families, for parametrised tests."""
    return [path for f in families for p in patterns for path in sorted((ROOT / f / "cases").glob(f"{p}.npz"))]


def case_name(path: Path) -> str:
    """Short name of a case in the test report."""
    return f"{path.parts[-3]}-{path.stem}"


def close(part: str, found: ArrayLike, wanted: ArrayLike, tolerance: float) -> None:
    """Fail unless shapes agree and no value differs by more than `tolerance`."""
    a, b = np.asarray(found), np.asarray(wanted)
    assert a.shape == b.shape, f"{part}: shape {a.shape}, expected {b.shape}"
    difference = float(np.abs(a.astype(np.float64) - b).max()) if a.size else 0.0
    differences[part] = max(differences[part], difference)
    assert difference <= tolerance, f"{part}: differs by {difference:.2e}, allowed {tolerance:.0e}"
