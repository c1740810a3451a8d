"""Training data: the manifest and the utterance files that the teacher has written so far."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosylite.errors import InputError
from cosylite.lab.nano.config import FeatureStatistics
from cosylite.text.symbols import SYMBOLS

VOICES = ("jm_kumo", "jf_nezumi", "jf_alpha", "af_heart", "am_michael", "zf_xiaoxiao", "zm_yunxi", "af_bella")
"""Voices in the order of their rows in the embedding; new ones are appended."""
_IDS = {symbol: i + 1 for i, symbol in enumerate(SYMBOLS)}


@dataclass(frozen=True)
class Example:
    """One utterance: tokens (N,), durations (N,) in frames, frames (T, 82) unnormalised, samples (480 T,) int16."""

    name: str
    lang: str
    voice: int
    tokens: NDArray[np.int64]
    durations: NDArray[np.int64]
    mel: NDArray[np.float16]
    pitch: NDArray[np.float32]
    voicing: NDArray[np.uint8]
    samples: NDArray[np.int16]


def token_ids(symbols: str) -> NDArray[np.int64]:
    """Ids of `symbols` with the boundary space at both ends; 0 is padding."""
    return np.array([_IDS[s] for s in f" {symbols} "], np.int64)


def load_new(work: Path, known: set[str], manifests: tuple[str, ...] = ("manifest.jsonl",)) -> list[Example]:
    """Examples whose files exist and whose ids are not in `known` (which is extended)."""
    found = []
    for manifest in manifests:
        for line in (work / manifest).read_text("utf-8").splitlines():
            row = json.loads(line)
            path = work / "utterances" / f"{row['id']}.npz"
            if row["id"] in known or not path.exists():
                continue
            known.add(row["id"])
            found.append(_load(path, row))
    return found


def _load(path: Path, row: dict[str, str]) -> Example:
    with np.load(path) as data:
        tokens = token_ids(row["symbols"])
        durations = data["durations"].astype(np.int64)
        if len(tokens) != len(durations):
            raise InputError(
                f"{path} has {len(durations)} durations for {len(tokens)} symbols: speak it again", code="data"
            )
        return Example(
            row["id"], row["lang"], VOICES.index(row["voice"]), tokens, durations,
            data["mel"], data["pitch"], data["voicing"], data["samples"],
        )  # fmt: skip


def statistics(examples: list[Example]) -> FeatureStatistics:
    """Means and deviations of the mel per band and of log F0 over voiced frames."""
    mel = np.concatenate([e.mel.astype(np.float32) for e in examples])
    pitch = np.concatenate([e.pitch[e.voicing > 0] for e in examples])
    return FeatureStatistics(
        tuple(mel.mean(0).tolist()), tuple(mel.std(0).tolist()), float(pitch.mean()), float(pitch.std())
    )


def normalised_frames(example: Example, stats: FeatureStatistics) -> NDArray[np.float32]:
    """(T, 82): normalised log-mel, normalised log F0, voicing as -1 or 1."""
    mel = (example.mel.astype(np.float32) - np.array(stats.mel_mean, np.float32)) / np.array(stats.mel_std, np.float32)
    pitch = (example.pitch - stats.pitch_mean) / stats.pitch_std
    voicing = example.voicing.astype(np.float32) * 2 - 1
    return np.concatenate([mel, pitch[:, None], voicing[:, None]], axis=1).astype(np.float32)


@dataclass(frozen=True)
class AcousticBatch:
    """Padded tensors: tokens (B, N), lengths (B,), voices (B,), durations (B, N), frames (B, T, 82), counts (B,)."""

    tokens: Tensor
    lengths: Tensor
    voices: Tensor
    durations: Tensor
    frames: Tensor
    counts: Tensor


def acoustic_batch(examples: list[Example], stats: FeatureStatistics) -> AcousticBatch:
    """Pad `examples` together."""
    pad = torch.nn.utils.rnn.pad_sequence
    frames = [torch.from_numpy(normalised_frames(e, stats)) for e in examples]
    return AcousticBatch(
        pad([torch.from_numpy(e.tokens) for e in examples], batch_first=True),
        torch.tensor([len(e.tokens) for e in examples]),
        torch.tensor([e.voice for e in examples]),
        pad([torch.from_numpy(e.durations) for e in examples], batch_first=True),
        pad(frames, batch_first=True),
        torch.tensor([len(f) for f in frames]),
    )


def acoustic_batches(examples: list[Example], most_frames: int, rng: random.Random) -> Iterator[list[Example]]:
    """One epoch of batches of similar length, each of at most `most_frames` frames, in random order."""
    order = sorted(examples, key=lambda e: len(e.mel) * rng.uniform(0.9, 1.1))
    batches: list[list[Example]] = [[]]
    for example in order:
        longest = max([len(e.mel) for e in batches[-1]] + [len(example.mel)])
        if batches[-1] and longest * (len(batches[-1]) + 1) > most_frames:
            batches.append([])
        batches[-1].append(example)
    rng.shuffle(batches)
    yield from batches


@dataclass(frozen=True)
class Prosody:
    """Durations and pitch of one sentence without sound: tokens and durations (N,), pitch and voicing (T,)."""

    voice: int
    tokens: NDArray[np.int64]
    durations: NDArray[np.int64]
    pitch: NDArray[np.float32]
    voicing: NDArray[np.uint8]


def load_prosody(folder: Path, known: set[str]) -> list[Prosody]:
    """Sentences of the shards in `folder` whose names are not in `known` (which is extended)."""
    found = []
    for path in sorted(folder.glob("[0-9]*.npz")):
        if path.name in known or path.name.endswith(".part.npz"):
            continue
        known.add(path.name)
        with np.load(path) as data:
            symbols, frames = np.cumsum(data["symbols"])[:-1], np.cumsum(data["frames"])[:-1]
            columns = [np.split(data[n], symbols) for n in ("tokens", "durations")]
            columns += [np.split(data[n], frames) for n in ("pitch", "voicing")]
            for voice, tokens, durations, pitch, voicing in zip(data["voices"].tolist(), *columns, strict=True):
                found.append(Prosody(VOICES.index(voice), tokens, durations.astype(np.int64), pitch, voicing))
    return found


def prosody_batch(examples: list[Prosody], stats: FeatureStatistics) -> AcousticBatch:
    """Pad `examples` together; the mel channels of the frames are zero and mean nothing."""
    silent = [
        Example("", "", e.voice, e.tokens, e.durations, np.zeros((len(e.pitch), 80), np.float16), e.pitch, e.voicing,
                np.zeros(0, np.int16))
        for e in examples
    ]  # fmt: skip
    return acoustic_batch(silent, stats)
