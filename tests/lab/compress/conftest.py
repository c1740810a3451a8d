"""A tiny nano with random weights and the work folder of its training, and its float bundle, exported once."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.lab.compress.source import NanoSource, load_nano
from cosylite.lab.nano.acoustic import AcousticModel
from cosylite.lab.nano.config import AcousticConfig, VocoderConfig
from cosylite.lab.nano.dataset import VOICES
from cosylite.lab.nano.vocoder import Vocoder
from cosylite.text.symbols import SYMBOLS

TINY = AcousticConfig(
    symbols=len(SYMBOLS), voices=len(VOICES), voice_width=8, encoder_width=32, encoder_hidden=64, encoder_heads=4,
    encoder_convs=1, encoder_layers=1, decoder_width=48, decoder_hidden=64, decoder_dilations=(1, 2), dropout=0.0,
)  # fmt: skip
TINY_VOCODER = VocoderConfig(width=96, hidden=64, hop_dilations=(1, 2))
SENTENCES = ("həlˈO, wˈɜɹld.", "ni↗xau↓, pa→ŋ ni↗n?", "lˈA mˈun", "sˈʌn ɪz hˈI.")


def write_work(folder: Path) -> None:
    """A work folder as training leaves it: checkpoints, statistics, manifest, utterances."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    acoustic, vocoder = AcousticModel(TINY), Vocoder(TINY_VOCODER, np.full(80, -4.0), np.full(80, 2.0))
    with torch.no_grad():
        acoustic.encoder.duration[2].bias.fill_(1.0)
        vocoder.leave.weight.mul_(30)  # a fresh one hardly says anything
    for name, model in (("acoustic", acoustic), ("vocoder", vocoder)):
        torch.save({"step": 1, "config": asdict(model.config), "average": model.state_dict()}, folder / f"{name}.pt")
    stats = {"mel_mean": [-4.0] * 80, "mel_std": [2.0] * 80, "pitch_mean": 5.0, "pitch_std": 0.3}
    (folder / "statistics.json").write_text(json.dumps(stats))
    (folder / "utterances").mkdir()
    lines = []
    for i, symbols in enumerate(SENTENCES * 2):
        row = {"id": f"u{i}", "lang": "en", "voice": VOICES[i % 3], "text": "x", "symbols": symbols}
        lines.append(json.dumps(row, ensure_ascii=False))
        durations = rng.integers(2, 5, len(symbols) + 2)
        frames = int(durations.sum())
        np.savez(
            folder / "utterances" / f"u{i}.npz",
            durations=durations,
            mel=rng.normal(-4, 2, (frames, 80)).astype(np.float16),
            pitch=rng.normal(5, 0.3, frames).astype(np.float32),
            voicing=(rng.random(frames) > 0.4).astype(np.uint8),
            samples=rng.integers(-3000, 3000, frames * 480).astype(np.int16),
        )
    (folder / "manifest.jsonl").write_text("\n".join(lines), "utf-8")


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nano")
    write_work(folder)
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where float exports are kept between recipes."""
    return tmp_path_factory.mktemp("compress")


@pytest.fixture(scope="session")
def source(work: Path, cache: Path) -> NanoSource:
    return load_nano(work, cache)
