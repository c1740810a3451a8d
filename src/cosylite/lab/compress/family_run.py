"""A recipe on a model of the CosyVoice family: a checkpoint, or a bundle in float32."""

import dataclasses
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

from cosylite.errors import BundleError, InputError
from cosylite.lab.checkpoints import Checkpoint, load_checkpoint
from cosylite.lab.checkpoints.vocabulary import vocabulary
from cosylite.lab.compress import family, family_flow, ptq
from cosylite.lab.compress.data import read_manifest
from cosylite.lab.compress.measure import megabytes
from cosylite.lab.compress.recipe import Recipe, wrong
from cosylite.lab.export.bundle import replace_folder, write_json, write_manifest
from cosylite.lab.export.family import export_family
from cosylite.runtime.bundle import MANIFEST
from cosylite.runtime.family.manifest import read_manifest as read_facts
from cosylite.text.family.tokenizers import qwen_tokenizer, whisper_tokenizer

Report = Callable[[str], None]
QUANTISED = ("text", "lm", "encoder", "estimator")
"""Graphs whose products may be quantised; the vocoder stays in float."""


def compress_family(
    model: Path, recipe: Recipe, output: Path, *, data: Path | None, work: Path, report: Report
) -> dict[str, Any]:
    """Run a recipe; what was measured."""
    for section in ("prune", "sparse", "selective", "budget"):
        if getattr(recipe, section) is not None:
            raise wrong(
                f"{section} is for nano; models of the family take guidance, steps, fake, family_precision, quantise"
            )
    if any(rule.method == "static" for rule in recipe.quantise):
        raise wrong("static int8 is for nano; graphs of the family have a scale per row: use dynamic")
    if (model / MANIFEST).is_file():
        return _bundle(model, recipe, output)
    if recipe.quantise:
        raise wrong("a checkpoint of the family is quantised by family_precision; quantise is for its bundle")
    return _checkpoint(model, recipe, output, data, work, report)


def _checkpoint(
    model: Path, recipe: Recipe, output: Path, data: Path | None, work: Path, report: Report
) -> dict[str, Any]:
    checkpoint = load_checkpoint(model)
    if recipe.trains:
        rows = read_manifest(data) if data else []
        lessons = family.lessons_of(checkpoint, rows, _encoder(checkpoint))
        folder = work / f"trained-{recipe.digest(_digest(model), data.read_text('utf-8') if data else '')}"
        folder.mkdir(parents=True, exist_ok=True)
        if recipe.guidance:
            checkpoint = family_flow.remove_guidance(checkpoint, recipe.guidance, lessons, folder, recipe.seed)
        if recipe.steps:
            checkpoint = family_flow.distil_steps(checkpoint, recipe.steps, lessons, folder, recipe.seed)
        if recipe.fake:
            checkpoint = family.fine_tune(checkpoint, recipe.fake, lessons, folder, recipe.seed)
    name, precision = output.resolve().name, recipe.family_precision
    found = export_family(checkpoint, output, name=name, precision=precision, report=report)
    return {
        "recipe": dataclasses.asdict(recipe),
        "size_mb": round(megabytes(output), 3),
        "differences": {stage: dataclasses.asdict(d) for stage, d in found.items()},
    }


def _encoder(checkpoint: Checkpoint) -> Callable[[str], list[int]]:
    """Text to ids. Toys without a vocabulary take their ids as numbers in the text."""
    pieces, kind = vocabulary(checkpoint), checkpoint.config.family
    if pieces is None:
        return _numbers
    return (whisper_tokenizer(pieces) if kind == "v1" else qwen_tokenizer(pieces, kind)).encode


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split()]
    except ValueError as error:
        raise InputError(
            "this toy has no vocabulary: the texts of the data must be ids", code="bad_data", param="data"
        ) from error


def _digest(model: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(model.glob("*.pt")):
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _bundle(model: Path, recipe: Recipe, output: Path) -> dict[str, Any]:
    """Quantise the graphs of a bundle; raises BundleError if they are quantised already."""
    if recipe.trains or recipe.family_precision != "fp32":
        raise InputError(
            "this recipe needs the weights of the model: give its checkpoint, not a bundle",
            code="needs_checkpoint",
            param="model",
        )
    read_facts(model)
    raw: dict[str, Any] = json.loads((model / MANIFEST).read_text("utf-8"))
    graphs = {n: onnx.load(str(model / f"{n}.onnx")) for n in QUANTISED if (model / f"{n}.onnx").is_file()}
    if not ptq.layers_of(graphs):
        raise BundleError(
            f"{model} is quantised already: it has no float products; give the bundle in float32",
            code="already_quantised",
            param="model",
        )
    small = ptq.apply(graphs, ptq.Plan(ptq.methods_of(graphs, recipe.quantise)))
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".bundle-") as scratch:
        folder = Path(scratch) / "bundle"
        shutil.copytree(model, folder, ignore=shutil.ignore_patterns(MANIFEST))
        ptq.write(small, folder)
        measured = {
            "recipe": dataclasses.asdict(recipe),
            "float_mb": round(megabytes(model), 3),
            "size_mb": round(megabytes(folder), 3),
        }
        facts = {k: v for k, v in raw.items() if k not in ("format", "revision", "files")}
        whole = write_manifest(folder, {**facts, "name": output.resolve().name, "measured": {"compression": measured}})
        write_json(folder, whole)
        replace_folder(folder, output)
    return measured
