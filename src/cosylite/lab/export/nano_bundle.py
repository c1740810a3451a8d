"""nano's checkpoints, and the bundle that is made of them."""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from cosylite.errors import BundleError
from cosylite.lab.export.bundle import write_manifest
from cosylite.lab.export.nano import export, nano_graphs
from cosylite.lab.nano.acoustic import AcousticModel
from cosylite.lab.nano.config import AcousticConfig, FeatureStatistics, VocoderConfig
from cosylite.lab.nano.dataset import VOICES, Example, acoustic_batch
from cosylite.lab.nano.vocoder import Vocoder
from cosylite.text.symbols import SYMBOLS

SPEAKERS: dict[str, dict[str, Any]] = {
    "jm_kumo": {"gender": "male", "native": "ja", "languages": ["ja", "zh", "en", "ko"]},
    "jf_nezumi": {"gender": "female", "native": "ja", "languages": ["ja", "en", "ko"]},
    "jf_alpha": {"gender": "female", "native": "ja", "languages": ["ja", "ko", "en"]},
    "af_heart": {"gender": "female", "native": "en", "languages": ["en", "ja", "ko"]},
    "am_michael": {"gender": "male", "native": "en", "languages": ["en", "zh", "ja", "ko"]},
    "zf_xiaoxiao": {"gender": "female", "native": "zh", "languages": ["zh", "en"]},
    "zm_yunxi": {"gender": "male", "native": "zh", "languages": ["zh", "en", "ja"]},
    "af_bella": {"gender": "female", "native": "en", "languages": ["en"]},
}
"""Languages are those the voice was trained on."""
DEFAULTS = {"zh": "zf_xiaoxiao", "en": "af_heart", "ja": "jf_alpha", "ko": "jf_nezumi", "mixed": "jm_kumo"}


@dataclass(frozen=True)
class NanoNetworks:
    """Everything that a bundle of nano is made of.

    Attributes:
        duration_scale: factor on the predicted durations.
        pad: (80,) normalised mel frame of silence.
    """

    acoustic: AcousticModel
    vocoder: Vocoder
    stats: FeatureStatistics
    duration_scale: float
    pad: tuple[float, ...]


def tupled(values: dict[str, Any]) -> dict[str, Any]:
    """Lists of a checkpoint's config back to tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def read_statistics(work: Path) -> FeatureStatistics:
    """The statistics that were fixed at the first training."""
    raw = tupled(json.loads((work / "statistics.json").read_text("utf-8")))
    return FeatureStatistics(**raw)


def load_models(work: Path, stats: FeatureStatistics) -> tuple[AcousticModel, Vocoder]:
    """The averaged weights of both checkpoints.

    Raises:
        BundleError: a checkpoint is missing or damaged.
    """
    acoustic = load_acoustic(work)
    saved = _read(work / "vocoder.pt")
    vocoder = Vocoder(VocoderConfig(**tupled(saved["config"])), np.array(stats.mel_mean), np.array(stats.mel_std))
    vocoder.load_state_dict(saved["average"])
    return acoustic, vocoder.eval()


def load_acoustic(work: Path) -> AcousticModel:
    """The averaged weights of the acoustic model.

    Raises:
        BundleError: the checkpoint is missing or damaged.
    """
    saved = _read(work / "acoustic.pt")
    acoustic = AcousticModel(AcousticConfig(**tupled(saved["config"])))
    acoustic.load_state_dict(saved["average"])
    return acoustic.eval()


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BundleError(f"{path} is missing: train nano first (docs/training.md)", code="missing_file", param="model")
    saved: dict[str, Any] = torch.load(path, weights_only=True, mmap=True)  # the optimiser stays on disk
    return saved


@torch.no_grad()
def duration_scale(model: AcousticModel, examples: list[Example], stats: FeatureStatistics) -> float:
    """Factor that makes the total of the predicted durations that of the teacher's: exp(mean log) falls short."""
    spoken = predicted = 0.0
    for i in range(0, len(examples), 16):
        batch = acoustic_batch(examples[i : i + 16], stats)
        logs, _ = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
        inside = torch.arange(logs.shape[1])[None] < batch.lengths[:, None]
        predicted += float((logs.exp() * inside).sum())
        spoken += float(batch.durations.sum())
    return spoken / predicted


def silent_frame(examples: list[Example], stats: FeatureStatistics) -> tuple[float, ...]:
    """The mean first frame of the speech, normalised (80,)."""
    edges = np.stack([e.mel[0].astype(np.float32) for e in examples])
    pad = (edges.mean(0) - np.array(stats.mel_mean)) / np.array(stats.mel_std)
    return tuple(float(v) for v in pad)


def even_times(steps: int) -> list[float]:
    """Times of that many flow evaluations."""
    return [i / steps for i in range(steps + 1)]


def write_graphs(networks: NanoNetworks, folder: Path) -> dict[str, onnx.ModelProto]:
    """Export the three graphs in float32, and the voices, to an existing folder."""
    graphs = nano_graphs(networks.acoustic, networks.vocoder, networks.duration_scale)
    models = {name: export(graph, folder / f"{name}.onnx") for name, graph in graphs.items()}
    np.save(folder / "voices.npy", networks.acoustic.voices.weight.detach().numpy().astype(np.float32))
    return models


def write_facts(networks: NanoNetworks, folder: Path, times: list[float], **more: Any) -> dict[str, Any]:
    """Write the manifest of the graphs in `folder`; `more` replaces facts."""
    return write_manifest(folder, facts(networks, times) | more)


def facts(networks: NanoNetworks, times: list[float]) -> dict[str, Any]:
    """What the manifest says besides files and revision."""
    stats = networks.stats
    names = VOICES[: networks.acoustic.config.voices]
    return {
        "family": "nano",
        "name": "nano",
        "licence": "Apache-2.0",
        "sample_rate": 24_000,
        "languages": ["zh", "en", "ja", "ko"],
        "symbols": list(itertools.islice(SYMBOLS, networks.acoustic.config.symbols)),
        "stages": {name: f"{name}.onnx" for name in ("text", "flow", "vocoder")},
        "mel": {"bands": 80, "n_fft": 1920, "hop": 480, "mean": list(stats.mel_mean), "std": list(stats.mel_std)},
        "pitch": {"mean": stats.pitch_mean, "std": stats.pitch_std},
        "flow": {"times": times},
        "vocoder": {"lookahead": networks.vocoder.config.lookahead, "pad": list(networks.pad)},
        "voices": {
            "file": "voices.npy",
            "list": [{"name": name, **SPEAKERS[name], "row": row} for row, name in enumerate(names)],
            "default": DEFAULTS,
        },
        "measured": {},
    }
