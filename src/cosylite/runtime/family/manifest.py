"""`bundle.json` of the official families."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosylite.errors import BundleError
from cosylite.runtime.bundle import FORMAT, MANIFEST, FileSpec, check_files, damaged
from cosylite.runtime.family.kinds import Family
from cosylite.runtime.family.noise import FIXED
from cosylite.runtime.family.sampling import SamplingSettings
from cosylite.runtime.family.source import SourceConfig
from cosylite.runtime.records import record

STAGES: dict[Family, tuple[str, ...]] = {
    "v1": ("text", "places", "lm", "encoder", "regulator", "time", "estimator", "pitch", "vocoder"),
    "v2": ("lm", "encoder", "time", "estimator", "pitch", "vocoder"),
    "v3": ("lm", "encoder", "time", "estimator", "pitch", "vocoder"),
}
"""The graphs of a family; each lies in a file of its name."""
_SHARED = ("text_table", "speech_table", "control", "source_mix")
TABLES: dict[Family, tuple[str, ...]] = {
    "v1": (*_SHARED, "speaker_weight", "speaker_bias"),
    "v2": _SHARED,
    "v3": _SHARED,
}
"""What the runtime looks up or multiplies by itself; each lies in a .npy file of its name."""
TOKENIZER = "tokenizer.xz"
"""The vocabulary, as `text.family.tokenizers.pack` writes it; toys of v2 and v3 may lack it."""
PROMPT_VOICES = "voices"
"""Folder of the voices that were saved with a prompt, one safetensors file each."""
VOICES = "voices"
"""Vectors (voices, size) of the preset speakers, in a .npy file of this name; a bundle without speakers has none."""


@dataclass(frozen=True)
class TokenSpec:
    """The language model."""

    layers: int
    heads: int
    """Heads of the keys and values."""
    head_size: int
    width: int
    speech_tokens: int
    end: int
    fill: int | None
    end_of_prompt: int | None
    mix: tuple[int, ...]
    """Text and speech tokens per block when text arrives in pieces; empty where that is not supported."""
    sampling: SamplingSettings


@dataclass(frozen=True)
class FlowSpec:
    """The flow."""

    mel: int
    token_rate: int
    guidance: float
    look_ahead: int
    """Future tokens (v2, v3)."""
    frames_per_token: int
    """v2 and v3."""
    token_chunk: int
    """Tokens per attention chunk of the encoder when streaming; 0 where there is no such thing."""
    frame_chunk: int
    """Frames per attention chunk of the estimator when streaming; 0 where there is no such thing."""


@dataclass(frozen=True)
class VocoderSpec:
    """The vocoder. The look-rights are future mel frames (v3)."""

    n_fft: int
    hop: int
    limit: float
    look_right: int
    pitch_look_right: int
    pitch_frames: int
    """Frames on either side on which the pitch of a frame depends, at most."""
    left_frames: int
    right_frames: int
    """Frames before and after on which the waveform of a frame depends, at most."""
    source: SourceConfig


@dataclass(frozen=True)
class FamilyManifest:
    """All facts of a bundle of an official family."""

    format: int
    family: Family
    name: str
    revision: str
    licence: str
    sample_rate: int
    tokens: TokenSpec
    flow: FlowSpec
    vocoder: VocoderSpec
    voices: tuple[str, ...]
    """Preset speakers, in the order of the rows of their vectors."""
    files: dict[str, FileSpec]
    measured: dict[str, Any]
    instruct: bool = True
    """Whether the model was trained to follow instructions: all of v2 and v3, and CosyVoice-300M-Instruct."""


def read_manifest(path: Path) -> FamilyManifest:
    """Read the facts of a bundle and compare its files with their list.

    Raises:
        BundleError: the bundle is missing, damaged, incomplete, of a later format or of another kind.
    """
    try:
        data = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BundleError(f"{path} has no {MANIFEST}, so it is no bundle", code="bundle_not_found") from error
    except (ValueError, OSError) as error:
        raise damaged(path, f"{MANIFEST} cannot be read") from error
    if isinstance(data, dict) and data.get("format") != FORMAT:
        raise BundleError(
            f"bundle {path} has format {data.get('format')!r}, this version reads {FORMAT}: update cosylite",
            code="bundle_format",
        )
    manifest = record(FamilyManifest, data, lambda problem: damaged(path, f"{MANIFEST}: {problem}"))
    needed = [f"{name}.onnx" for name in STAGES[manifest.family]]
    needed += [f"{name}.npy" for name in (*TABLES[manifest.family], *FIXED[manifest.family])]
    needed += [TOKENIZER] if manifest.family == "v1" else []
    needed += [f"{VOICES}.npy"] if manifest.voices else []
    for name in needed:
        if name not in manifest.files:
            raise damaged(path, f"{MANIFEST} lists no {name}")
    check_files(path, manifest.files)
    return manifest
