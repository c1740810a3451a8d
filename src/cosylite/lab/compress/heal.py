"""Distillation of nano's networks: a changed student imitates the float model on equal inputs and equal noise."""

import bisect
import copy
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from cosylite.lab.compress.recipe import Training
from cosylite.lab.compress.train import train
from cosylite.lab.export.nano_bundle import NanoNetworks
from cosylite.lab.nano.acoustic import AcousticModel, expand
from cosylite.lab.nano.config import FeatureStatistics
from cosylite.lab.nano.crops import TAIL, WARM, CropBatch, crop_batch
from cosylite.lab.nano.dataset import AcousticBatch, Example, acoustic_batch, acoustic_batches
from cosylite.lab.nano.losses import mel_loss, spectral_loss
from cosylite.lab.nano.training import masked_mean
from cosylite.lab.nano.vocoder import Vocoder, waveform

_CROP_FRAMES = 32


class Lessons:
    """What networks learn from; the batch of a step depends on the seed and the step alone."""

    def __init__(self, examples: Sequence[Example], stats: FeatureStatistics, seed: int) -> None:
        self.examples, self.stats, self.seed = list(examples), stats, seed
        self._starts: dict[int, list[int]] = {}
        self._epoch: tuple[int, int, list[list[Example]]] = (-1, 0, [])

    def acoustic(self, step: int, frames: int) -> AcousticBatch:
        """A batch of sentences; an epoch sees every sentence once."""
        starts = self._starts.setdefault(frames, [0])
        epoch = bisect.bisect_right(starts, step) - 1
        while True:
            batches = self._batches(epoch, frames)
            if epoch + 1 == len(starts):
                starts.append(starts[epoch] + len(batches))
            if step < starts[epoch + 1]:
                return acoustic_batch(batches[step - starts[epoch]], self.stats)
            epoch += 1

    def _batches(self, epoch: int, frames: int) -> list[list[Example]]:
        if self._epoch[:2] != (epoch, frames):
            rng = random.Random(self.seed * 10_000 + epoch)
            self._epoch = (epoch, frames, list(acoustic_batches(self.examples, frames, rng)))
        return self._epoch[2]

    def crops(self, step: int, count: int, lookahead: int) -> CropBatch:
        """A batch of short stretches of speech."""
        rng = random.Random(self.seed * 1_000_003 + step)
        return crop_batch(rng.choices(self.examples, k=count), self.stats, _CROP_FRAMES, lookahead, rng)


def acoustic_losses(
    student: AcousticModel, teacher: AcousticModel, batch: AcousticBatch, truth: float
) -> dict[str, Tensor]:
    """Squared errors of velocity, states and log durations, absolute error of the guess, all against the teacher.

    Args:
        truth: weight of the true velocity beside the teacher's.
    """
    count = len(batch.lengths)
    noise, time = torch.randn_like(batch.frames), torch.sigmoid(torch.randn(count))
    mixed = noise + (batch.frames - noise) * time[:, None, None]

    def run(model: AcousticModel) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            logs, states = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
            cond, position = expand(states, batch.durations)
            velocity, guess, _ = model.decoder(mixed, cond, position, time, model.decoder.start(count))
        return logs.float(), states.float(), velocity.float(), guess.float()

    with torch.no_grad():
        wanted = run(teacher)
    logs, states, velocity, guess = run(student)
    inside = (torch.arange(batch.frames.shape[1])[None] < batch.counts[:, None]).float()
    symbols = (torch.arange(batch.tokens.shape[1])[None] < batch.lengths[:, None]).float()
    losses = {
        "velocity": masked_mean((velocity - wanted[2]).square(), inside),
        "guess": 0.3 * masked_mean((guess - wanted[3]).abs(), inside),
        "duration": 0.5 * masked_mean((logs - wanted[0]).square(), symbols),
    }
    if truth:
        losses["truth"] = truth * masked_mean((velocity - (batch.frames - noise)).square(), inside)
    if states.shape == wanted[1].shape:
        losses["states"] = 0.3 * masked_mean((states - wanted[1]).square(), symbols)
    return losses


def vocoder_losses(student: Vocoder, teacher: Vocoder, batch: CropBatch) -> dict[str, Tensor]:
    """Distance of the speech of the student from that of the teacher, made from the same excitation."""
    late = 2 * student.config.lookahead

    def run(model: Vocoder) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            spectrum, _ = model(batch.mel, batch.pitch, batch.harmonic, batch.noise, model.start(len(batch.mel)))
        kept = spectrum[:, late:].float()
        samples = waveform(kept)
        return kept[:, 2 * WARM : kept.shape[1] - 2 * TAIL], samples[:, WARM * 480 : samples.shape[1] - TAIL * 480]

    with torch.no_grad():
        wanted_spectrum, wanted = run(teacher)
    spectrum, samples = run(student)
    size = wanted_spectrum.abs().mean() + 1e-5
    return {
        "spectrum": F.l1_loss(spectrum, wanted_spectrum) / size,
        "mel": mel_loss(samples, wanted),
        "spectral": spectral_loss(samples, wanted),
    }


def heal(
    student: NanoNetworks,
    teacher: NanoNetworks,
    examples: Sequence[Example],
    how: Training,
    folder: Path,
    *,
    seed: int,
    graphs: Sequence[str] = ("text", "flow", "vocoder"),
    name: str = "heal",
) -> NanoNetworks:
    """A trained copy of the networks of the given stages; checkpoints go to `folder`."""
    lessons = Lessons(examples, teacher.stats, seed)
    acoustic, vocoder = copy.deepcopy(student.acoustic), copy.deepcopy(student.vocoder)
    if {"text", "flow"} & set(graphs):
        run = _acoustic_run(acoustic, teacher.acoustic, lessons, how)
        acoustic = train(f"{name} acoustic", acoustic, run, how, folder / f"{name}-acoustic.pt", seed=seed)
    if "vocoder" in graphs:
        voice = _vocoder_run(vocoder, teacher.vocoder, lessons, how)
        vocoder = train(f"{name} vocoder", vocoder, voice, how, folder / f"{name}-vocoder.pt", seed=seed + 1)
    return NanoNetworks(acoustic, vocoder, student.stats, student.duration_scale, student.pad)


def _acoustic_run(
    student: AcousticModel, teacher: AcousticModel, lessons: Lessons, how: Training
) -> Callable[[int], Mapping[str, Tensor]]:
    return lambda step: acoustic_losses(student, teacher, lessons.acoustic(step, how.frames), how.truth)


def _vocoder_run(
    student: Vocoder, teacher: Vocoder, lessons: Lessons, how: Training
) -> Callable[[int], Mapping[str, Tensor]]:
    return lambda step: vocoder_losses(student, teacher, lessons.crops(step, how.crops, student.config.lookahead))
