"""Load an official model directory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cosylite.errors import BundleError
from cosylite.lab.checkpoints.hyperyaml import read_hyper_yaml
from cosylite.lab.checkpoints.settings import read_settings
from cosylite.lab.checkpoints.weights import fill, read_tensors, read_torch
from cosylite.lab.models.config import FamilyConfig
from cosylite.lab.models.family import FamilyModel, build_family
from cosylite.runtime.family.kinds import Family

YAML_FILES: Mapping[str, Family] = {"cosyvoice.yaml": "v1", "cosyvoice2.yaml": "v2", "cosyvoice3.yaml": "v3"}
"""A release is told by the one of these it holds; toys hold config.json instead."""
TOY_FILE = "config.json"
QWEN_CONFIG = "CosyVoice-BlankEN/config.json"
SPEAKERS = "spk2info.pt"
VOCODER_PREFIX = "generator."
"""Some releases keep this in front of the vocoder's keys."""

SpeakerTable = dict[str, dict[str, Tensor]]
"""Saved speakers: name to tensors; an SFT speaker has "embedding", a zero-shot speaker the prompt in all its forms."""


@dataclass(frozen=True)
class Checkpoint:
    """An official model: its networks with weights, and the speakers saved with it."""

    directory: Path
    model: FamilyModel
    speakers: SpeakerTable

    @property
    def config(self) -> FamilyConfig:
        """Sizes of the networks."""
        return self.model.config


def recognise(directory: Path) -> tuple[Family, Path]:
    """The family of a model directory and the file with its settings."""
    if not directory.is_dir():
        raise BundleError(f"{directory} is not a directory; give the folder of a model", code="missing_file")
    found = [name for name in YAML_FILES if (directory / name).is_file()]
    if len(found) > 1:
        raise BundleError(
            f"{directory} holds {' and '.join(found)}; keep only the one of its family", code="wrong_family"
        )
    if found:
        return YAML_FILES[found[0]], directory / found[0]
    toy = directory / TOY_FILE
    if not toy.is_file():
        raise BundleError(
            f"{directory} holds none of {', '.join(YAML_FILES)}; give the folder of a CosyVoice model",
            code="missing_file",
        )
    family = read_json(toy).get("family")
    for known in YAML_FILES.values():
        if family == known:
            return known, toy
    raise BundleError(
        f"{toy} is for family {family!r}; known are {', '.join(YAML_FILES.values())}", code="wrong_family"
    )


def read_config(directory: Path) -> FamilyConfig:
    """Sizes of the networks in a model directory."""
    family, path = recognise(directory)
    raw = read_json(path) if path.name == TOY_FILE else read_hyper_yaml(path)
    qwen = None if family == "v1" else read_json(directory / QWEN_CONFIG)
    return read_settings(raw, family, qwen)


def load_checkpoint(directory: str | Path) -> Checkpoint:
    """Load the three networks and the speakers of an official model directory.

    Raises:
        BundleError: a file is missing, damaged, unsafe, of another family, or its keys do not fit.
    """
    folder = Path(directory)
    config = read_config(folder)
    model = build_family(config, device="meta")
    fill(model.lm, read_tensors(folder / "llm.pt"), folder / "llm.pt")
    fill(model.flow, read_tensors(folder / "flow.pt"), folder / "flow.pt")
    vocoder = {name.replace(VOCODER_PREFIX, ""): value for name, value in read_tensors(folder / "hift.pt").items()}
    fill(model.vocoder, vocoder, folder / "hift.pt")
    return Checkpoint(folder, model, read_speakers(folder / SPEAKERS))


def read_speakers(path: Path) -> SpeakerTable:
    """The saved speakers; no file means none."""
    if not path.is_file():
        return {}
    found = read_torch(path)
    if isinstance(found, dict) and all(
        isinstance(name, str) and isinstance(entry, dict) and all(torch.is_tensor(v) for v in entry.values())
        for name, entry in found.items()
    ):
        return found
    raise BundleError(f"{path} is not a table of speakers", code="bad_checkpoint", param=path.name)


def read_json(path: Path) -> dict[str, Any]:
    """Read a mapping from JSON."""
    if not path.is_file():
        raise BundleError(f"{path} is missing; download the complete model", code="missing_file", param=path.name)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{path} is not valid JSON; download it again", code="bad_config", param=path.name) from error
    if not isinstance(found, dict):
        raise BundleError(f"{path} is not a mapping", code="bad_config", param=path.name)
    return found
