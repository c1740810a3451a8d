"""Toys that speak: bundles with vocabulary, preset speakers, graphs that hear prompts, and a saved voice.

Always the toys of this repository, whatever `COSYLITE_GOLDEN` names: the texts and tokens of the tests fit their sizes.
"""

import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import soundfile
import torch

from cosylite.cli import main
from cosylite.lab.checkpoints import Checkpoint, load_checkpoint
from cosylite.text.family.tokenizers import unpack

from .golden import OWN
from .listeners import write_listeners

QWEN = Path(__file__).parent / "data" / "qwen.ranks.xz"
SPEECH_TOKENS = 100
"""All toys know as many speech tokens at least."""
V2_PIECES = 360
"""The toy of v2 has rows for 400 ids; the special pieces follow those of the vocabulary."""
TOYS = OWN / "public"


@cache
def toy(family: str) -> Checkpoint:
    """The toy model of a family."""
    return load_checkpoint(TOYS / family)


def preset_vectors(family: str) -> dict[str, torch.Tensor]:
    """Vectors (1, 192) of two preset speakers, by name."""
    stored = [entry["embedding"] for entry in toy(family).speakers.values() if "embedding" in entry]
    return {"中文女": stored[0], "英文男": -stored[0].flip(-1)}


def speaking_bundle(folder: Path, family: str, *, name: str = "model") -> Path:
    """Convert a toy that is complete; `name` is that of its folder."""
    model = Path(shutil.copytree(TOYS / family, folder / name, ignore=shutil.ignore_patterns("cases")))
    write_listeners(model, family, speech_tokens=SPEECH_TOKENS)
    saved = {n: entry for n, entry in toy(family).speakers.items() if "prompt_text" in entry}
    torch.save({n: {"embedding": v} for n, v in preset_vectors(family).items()} | saved, model / "spk2info.pt")
    if family != "v1":
        pieces = unpack(QWEN.read_bytes())
        write_qwen_vocabulary(model / "CosyVoice-BlankEN", pieces[:V2_PIECES] if family == "v2" else pieces)
    assert main(["convert", str(model), "-o", str(folder / f"{name}-bundle"), "-q"]) == 0
    return folder / f"{name}-bundle"


def write_qwen_vocabulary(folder: Path, pieces: list[bytes]) -> None:
    """vocab.json and merges.txt as Qwen2 has them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(hidden)}
    words = ["".join(letters[b] for b in piece) for piece in pieces]
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}), "utf-8")
    merges = [f"{word[:-1]} {word[-1]}" for word in words[256:]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]), "utf-8")


def prompt_file(path: Path, seconds: float = 2.0, rate: int = 16000) -> Path:
    """A recording of a buzz whose pitch and loudness move."""
    time = np.arange(round(seconds * rate)) / rate
    wave = sum(np.sin(2 * np.pi * k * (110 + 20 * np.sin(2 * time)) * time) / k for k in (1, 2, 3))
    soundfile.write(path, (0.2 * wave * (1 + np.sin(9 * time))).astype(np.float32), rate)
    return path
