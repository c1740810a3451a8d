"""Fewer flow evaluations: a student whose few steps land where many steps of the float model land.

Two ways. *Average velocity*: from where the student stands at the start of a step, its velocity must lead to the place
on the teacher's path at the end of the step, so later steps correct what earlier ones missed. *Consistency*: from any
point of the teacher's path the student must name the same end of it (Song et al., 2023); Euler steps then walk towards
the end that it names.
"""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from cosylite.errors import InputError
from cosylite.lab.compress.heal import Lessons
from cosylite.lab.compress.recipe import FewSteps
from cosylite.lab.compress.train import train
from cosylite.lab.export.nano_bundle import NanoNetworks
from cosylite.lab.nano.acoustic import AcousticModel, FlowDecoder, expand
from cosylite.lab.nano.dataset import AcousticBatch
from cosylite.lab.nano.training import masked_mean

Velocity = Callable[[Tensor, float], Tensor]
"""Velocity of frames (B, T, 82) at a time."""
_DECAY = 0.99


def distil_steps(
    networks: NanoNetworks, teacher: NanoNetworks, how: FewSteps, lessons: Lessons | None, folder: Path, seed: int
) -> NanoNetworks:
    """The networks with a flow that needs `how.steps` evaluations."""
    if how.method == "none" or how.training is None:
        return networks
    if lessons is None:
        raise InputError("step distillation needs data: give --data", code="no_calibration_data", param="data")
    acoustic = copy.deepcopy(networks.acoustic)
    acoustic.requires_grad_(False)
    acoustic.decoder.requires_grad_(True)
    losses = _losses(acoustic, teacher.acoustic, how, lessons)
    done = train(f"{how.steps} steps", acoustic, losses, how.training, folder / f"steps-{how.steps}.pt", seed=seed)
    return dataclasses.replace(networks, acoustic=done.requires_grad_(True))


def _losses(
    student: AcousticModel, teacher: AcousticModel, how: FewSteps, lessons: Lessons
) -> Callable[[int], Mapping[str, Tensor]]:
    frames = how.training.frames if how.training else 0
    trail = copy.deepcopy(student.decoder).requires_grad_(False).eval()

    def losses(step: int) -> Mapping[str, Tensor]:
        batch = lessons.acoustic(step, frames)
        inside = (torch.arange(batch.frames.shape[1])[None] < batch.counts[:, None]).float()
        with torch.no_grad():
            wanted, given = _field(teacher, batch), _condition(student, batch)
            path = walk(wanted, torch.randn_like(batch.frames), how.teacher_steps)
        if how.method == "consistency":
            _follow(trail, student.decoder)
            pairs = consistency(_velocity(student.decoder, given), _velocity(trail, given), path, how.steps)
        else:
            pairs = average_velocity(_velocity(student.decoder, given), path, how.steps)
        return {how.method: torch.stack([masked_mean((a - b).square(), inside) for a, b in pairs]).mean()}

    return losses


@torch.no_grad()
def walk(velocity: Velocity, noise: Tensor, steps: int) -> list[Tensor]:
    """The points (steps + 1) of an Euler path from noise."""
    points = [noise]
    for i in range(steps):
        points.append(points[-1] + velocity(points[-1], i / steps) / steps)
    return points


def average_velocity(student: Velocity, path: Sequence[Tensor], steps: int) -> list[tuple[Tensor, Tensor]]:
    """Pairs of what the student says and should say, walking its own path beside the teacher's."""
    every = (len(path) - 1) // steps
    x, pairs = path[0], []
    for i in range(steps):
        said = student(x, i / steps)
        pairs.append((said, (path[(i + 1) * every] - x) * steps))
        x = (x + said / steps).detach()
    return pairs


def consistency(student: Velocity, trail: Velocity, path: Sequence[Tensor], steps: int) -> list[tuple[Tensor, Tensor]]:
    """Pairs of ends that the student names from a point of the path, and its trailing average from the next one.

    The points are those where a step of the result begins, and one chosen by chance.
    """
    last = len(path) - 1
    starts = {i * last // steps for i in range(steps)} | {int(torch.randint(last, ()))}
    pairs = []
    for i in sorted(starts):
        named = path[i] + (1 - i / last) * student(path[i], i / last)
        with torch.no_grad():
            wanted = path[last]
            if i + 1 < last:
                wanted = path[i + 1] + (1 - (i + 1) / last) * trail(path[i + 1], (i + 1) / last)
        pairs.append((named, wanted))
    return pairs


def _condition(model: AcousticModel, batch: AcousticBatch) -> tuple[Tensor, Tensor]:
    _, states = model.encoder(batch.tokens, batch.lengths, model.voices(batch.voices))
    return expand(states, batch.durations)


def _field(model: AcousticModel, batch: AcousticBatch) -> Velocity:
    return _velocity(model.decoder, _condition(model, batch))


def _velocity(decoder: FlowDecoder, given: tuple[Tensor, Tensor]) -> Velocity:
    def velocity(x: Tensor, time: float) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            said: Tensor = decoder(x, *given, torch.full((len(x),), time), decoder.start(len(x)))[0]
        return said.float()

    return velocity


@torch.no_grad()
def _follow(trail: FlowDecoder, student: FlowDecoder) -> None:
    for a, b in zip(trail.parameters(), student.parameters(), strict=True):
        a.lerp_(b, 1 - _DECAY)
