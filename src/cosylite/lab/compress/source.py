"""The model that is compressed, as it is found: nano's work folder, a nano bundle, or a model of the family."""

import dataclasses
import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import onnx

from cosylite.errors import BundleError
from cosylite.lab.compress.data import example_readings, own_examples
from cosylite.lab.compress.layers import product_names
from cosylite.lab.export.bundle import replace_folder
from cosylite.lab.export.nano_bundle import (
    NanoNetworks,
    duration_scale,
    even_times,
    load_models,
    read_statistics,
    silent_frame,
    write_facts,
    write_graphs,
)
from cosylite.lab.nano.dataset import Example
from cosylite.runtime.bundle import MANIFEST, NANO_STAGES, Bundle, family_of, load_bundle
from cosylite.runtime.nano import NanoModel, Reading

FLOW_STEPS = 4
"""Evaluations of the float model."""
_SCALED_ON = 160
CHECKPOINTS = ("acoustic.pt", "vocoder.pt", "statistics.json")


@dataclass(frozen=True)
class NanoSource:
    """nano in float32.

    Attributes:
        networks: with weights that can be trained; None where only graphs are known (a bundle).
        graphs: a bundle of the same model in float32.
        digest: of the weights.
        examples: training utterances that lie beside the checkpoint.
    """

    networks: NanoNetworks | None
    graphs: Path
    digest: str
    examples: list[Example]

    def bundle(self) -> Bundle:
        """The float32 bundle, checked."""
        return load_bundle(self.graphs)

    def model(self, threads: int = 1) -> NanoModel:
        """The float32 bundle, ready to speak."""
        return NanoModel(self.bundle(), device="cpu", threads=threads)

    def readings(self) -> list[Reading]:
        """What the training utterances say."""
        return example_readings(self.examples, self.bundle().manifest.symbols)


def is_family(model: Path) -> bool:
    """Whether a folder is a checkpoint or bundle of the CosyVoice family rather than nano."""
    if (model / MANIFEST).is_file():
        return family_of(model) not in ("nano", None)
    return not (model / "acoustic.pt").is_file()


def load_nano(model: Path, work: Path) -> NanoSource:
    """Read nano from its work folder or a bundle in float32; what is exported is kept in `work`.

    Raises:
        BundleError: files are missing, or the bundle is quantised already.
    """
    if (model / MANIFEST).is_file():
        return _from_bundle(model)
    digest = _digest([model / name for name in CHECKPOINTS])
    stats = read_statistics(model)
    acoustic, vocoder = load_models(model, stats)
    examples = own_examples(model)
    if not examples:
        raise BundleError(
            f"{model} has no utterances (manifest*.jsonl and utterances/), which tell the durations and the silence of"
            " nano: give the whole work folder of its training",
            code="missing_file",
            param="model",
        )
    target = work / f"float-{digest}"
    facts = target.with_suffix(".json")
    if target.is_dir() and facts.is_file():
        scale, pad = json.loads(facts.read_text("utf-8"))
        networks = NanoNetworks(acoustic, vocoder, stats, scale, tuple(pad))
    else:
        scale = duration_scale(acoustic, examples[:_SCALED_ON], stats)
        networks = NanoNetworks(acoustic, vocoder, stats, scale, silent_frame(examples, stats))
        write_float(networks, target, even_times(FLOW_STEPS))
        facts.write_text(json.dumps([scale, networks.pad]), "utf-8")
    return NanoSource(networks, target, digest, examples)


def saved_networks(model: Path, work: Path) -> NanoNetworks:
    """The networks of a work folder that `load_nano` has read before; the training utterances are not read again."""
    digest = _digest([model / name for name in CHECKPOINTS])
    scale, pad = json.loads((work / f"float-{digest}.json").read_text("utf-8"))
    stats = read_statistics(model)
    return NanoNetworks(*load_models(model, stats), stats, scale, tuple(pad))


def _from_bundle(model: Path) -> NanoSource:
    bundle = load_bundle(model)
    for stage in NANO_STAGES:
        if not product_names(stage, onnx.load(str(bundle.file(bundle.manifest.stages[stage])))):
            raise BundleError(
                f"{model} is quantised already: its stage {stage!r} has no float products; give the bundle in float32",
                code="already_quantised",
                param="model",
            )
    return NanoSource(None, model, bundle.manifest.revision, [])


def write_float(networks: NanoNetworks, target: Path, times: list[float]) -> None:
    """Export networks to a bundle in float32, replacing what is there as a whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".float-") as scratch:
        folder = Path(scratch) / "bundle"
        folder.mkdir()
        write_graphs(networks, folder)
        write_facts(networks, folder, times)
        replace_folder(folder, target)


def read_graphs(folder: Path) -> dict[str, onnx.ModelProto]:
    """The three graphs of a bundle."""
    bundle = load_bundle(folder)
    return {stage: onnx.load(str(bundle.file(bundle.manifest.stages[stage]))) for stage in NANO_STAGES}


def with_networks(source: NanoSource, networks: NanoNetworks) -> NanoSource:
    """The source with other networks; its graphs stay those of the float model."""
    return dataclasses.replace(source, networks=networks)


def _digest(paths: list[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        if not path.is_file():
            raise BundleError(f"{path} is missing: train nano first", code="missing_file", param="model")
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:12]
