"""Compression: one verb that makes a model smaller and faster and measures what that costs."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from cosylite.errors import BundleError
from cosylite.lab.compress.family_run import compress_family
from cosylite.lab.compress.nano_run import compress_nano
from cosylite.lab.compress.recipe import Recipe, read_recipe
from cosylite.lab.compress.source import is_family
from cosylite.lab.export.family import check_target
from cosylite.runtime.engine import check_threads

__all__ = ["Recipe", "compress", "read_recipe", "set_threads"]


def set_threads(threads: int) -> None:
    """Processor threads of training; 0 leaves them as they are. Also quiets what the exporter logs of itself.

    Raises:
        InputError: a number that makes no sense.
    """
    check_threads(threads or None)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    if threads:
        torch.set_num_threads(threads)


def compress(
    model: str | os.PathLike[str],
    recipe: str | Path | Recipe,
    output: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    work: str | os.PathLike[str] = "build/compress",
    report: Callable[[str], None] = lambda step: None,
) -> dict[str, Any]:
    """Write a compressed bundle of a model.

    Args:
        model: work folder of nano's training, checkpoint of the family, or float32 bundle of either.
        recipe: a recipe, the name of one, or a YAML file.
        output: folder of the bundle; a bundle there is replaced.
        data: JSON lines with text, voice, and for the family speech_tokens; None: the model's own training data.
        work: what long recipes keep, so that they go on where they were interrupted.
        report: is told every step.

    Returns:
        What was measured, as it also stands in the bundle.

    Raises:
        InputError: the recipe or the data cannot be used.
        BundleError: the model cannot be used, or the result falls below the budget of the recipe.
        OutputError: something that is no bundle is in the way.
    """
    folder, target = Path(model), Path(output)
    if not folder.is_dir():
        raise BundleError(f"there is no model folder {folder}", code="model_not_found", param="model")
    chosen = recipe if isinstance(recipe, Recipe) else read_recipe(recipe)
    check_target(target)
    given, kept = Path(data) if data is not None else None, Path(work)
    if is_family(folder):
        return compress_family(folder, chosen, target, data=given, work=kept, report=report)
    return compress_nano(folder, chosen, target, data=given, work=kept, report=report).measured
