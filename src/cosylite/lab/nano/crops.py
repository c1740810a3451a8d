"""Crops of speech for the vocoder: mel, pitch, excitation and the samples they should become."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosylite.lab.nano.config import FeatureStatistics
from cosylite.lab.nano.dataset import Example, normalised_frames
from cosylite.lab.nano.features import HOP
from cosylite.runtime.noise import white_noise
from cosylite.runtime.source import harmonic_source
from cosylite.runtime.stft import stft

WARM = 6
"""Frames at the start of a crop that warm the causal network up and are not judged."""
TAIL = 2
"""Frames at the end whose excitation window is cut off."""


@dataclass(frozen=True)
class CropBatch:
    """mel (B, T, 80), pitch (B, T, 2), harmonic and noise (B, 2 T, 962), samples (B, 480 * judged frames)."""

    mel: Tensor
    pitch: Tensor
    harmonic: Tensor
    noise: Tensor
    samples: Tensor


def excitation_spectra(
    pitch: np.ndarray, voicing: np.ndarray, lookahead: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Spectra (2 (T + lookahead), 962) of pulse train and noise for log F0 (T,), delayed by `lookahead` frames."""
    harmonic = stft(harmonic_source(np.exp(pitch), voicing))
    noise = stft(white_noise(0, HOP * len(pitch), seed=seed))
    late = ((2 * lookahead, 0), (0, 0))
    return np.pad(harmonic, late), np.pad(noise, late)


def crop_batch(
    examples: list[Example],
    stats: FeatureStatistics,
    frames: int,
    lookahead: int,
    rng: random.Random,
    predicted: Mapping[str, NDArray[np.float16]] = MappingProxyType({}),
) -> CropBatch:
    """Random crops with `frames` judged frames each; utterances that are too short are padded with their edges.

    `predicted` has normalised log-mels (T, 80) by utterance, which are taken instead of the teacher's.
    """
    rows: list[tuple[np.ndarray, ...]] = []
    whole = WARM + frames + TAIL
    for example in examples:
        count = len(example.mel)
        start = rng.randint(0, max(0, count - whole))
        index = np.clip(np.arange(start, start + whole + lookahead), 0, count - 1)
        normal = normalised_frames(example, stats)[index]
        mel = predicted[example.name][index].astype(np.float32) if example.name in predicted else normal[:, :80]
        voicing = example.voicing[index[:whole]].astype(np.float32)
        spectra = excitation_spectra(example.pitch[index[:whole]], voicing, lookahead, rng.randrange(2**31))
        pitch = normal[:, 80:] * np.array([1, 0.5], np.float32) + np.array([0, 0.5], np.float32)
        first = (start + WARM) * HOP
        samples = np.zeros(frames * HOP, np.float32)
        piece = example.samples[first : first + frames * HOP].astype(np.float32) / 32767
        samples[: len(piece)] = piece
        rows.append((mel, pitch, *spectra, samples))
    return CropBatch(*(torch.from_numpy(np.stack(parts)).float() for parts in zip(*rows, strict=True)))
