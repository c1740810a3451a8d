"""The flow of the CosyVoice family as a student: without guidance, in fewer steps, with rounded weights."""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cosylite.lab.checkpoints import Checkpoint
from cosylite.lab.compress.recipe import FewSteps, GuidanceRemoval, wrong
from cosylite.lab.compress.train import train
from cosylite.lab.models.family import FamilyModel
from cosylite.lab.models.flow import CausalFlow, Condition, Flow, TokenFlow, guided
from cosylite.runtime.family.flow import Step, cosine_times, euler_steps

_CROP = 200
"""Frames of a lesson, at most."""
_PATH, _POINTS = 6, 3
"""Steps of the teacher's path, and points of it from which a student learns at a time."""


@dataclass(frozen=True)
class Lesson:
    """An utterance: text ids (N,), speech tokens (M,), the vector of its speaker (size,)."""

    text: Tensor
    tokens: Tensor
    speaker: Tensor


@dataclass(frozen=True)
class FlowPath:
    """The way of a flow from noise: points and guided velocities at the start of every step, and the end."""

    given: Condition
    streaming: bool
    steps: list[Step]
    points: list[Tensor]
    velocities: list[Tensor]


def mu_of(flow: TokenFlow | CausalFlow, lesson: Lesson, *, streaming: bool = False) -> Tensor:
    """The condition (1, T, mel) of the tokens of a lesson."""
    tokens = lesson.tokens[None]
    if isinstance(flow, CausalFlow):
        return flow.mu(tokens, streaming=streaming, finalize=True)
    return flow.mu(tokens, tokens[:, :0], 0)


@torch.no_grad()
def walk(flow: TokenFlow | CausalFlow, lesson: Lesson, count: int) -> FlowPath:
    """Follow the flow for `count` official steps; where it can stream, every second path by chance sees chunks only."""
    streaming = isinstance(flow, CausalFlow) and bool(torch.randint(2, ()))
    mu = mu_of(flow, lesson, streaming=streaming)
    start = int(torch.randint(max(1, mu.shape[1] - _CROP + 1), ()))
    mu = mu[:, start : start + _CROP]
    given = flow.condition(mu, lesson.speaker[None], mu[:, :0])
    steps = euler_steps(cosine_times(count))
    points, velocities = [torch.randn_like(given.mu)], []
    for time, size in steps:
        velocities.append(guided(flow.estimator, points[-1], time, given, flow.config.guidance, streaming))
        points.append(points[-1] + size * velocities[-1])
    return FlowPath(given, streaming, steps, points, velocities)


def imitate(student: TokenFlow | CausalFlow, path: FlowPath, guidance: float, count: int = _POINTS) -> Tensor:
    """Squared error of the student's velocity at points of a path, drawn by chance."""
    errors = []
    for i in torch.randperm(len(path.steps))[:count].tolist():
        said = guided(student.estimator, path.points[i], path.steps[i].time, path.given, guidance, path.streaming)
        errors.append(F.mse_loss(said, path.velocities[i]))
    return torch.stack(errors).mean()


def remove_guidance(
    checkpoint: Checkpoint, how: GuidanceRemoval, lessons: Sequence[Lesson], folder: Path, seed: int
) -> Checkpoint:
    """The checkpoint with a flow that needs no second, unconditional row: its guidance is 0."""
    flow, student = checkpoint.model.flow, _student(checkpoint)

    def losses(step: int) -> Mapping[str, Tensor]:
        return {"guidance": imitate(student, walk(flow, lessons[step % len(lessons)], _PATH), 0.0)}

    trained = train("guidance removal", student, losses, how.training, folder / "guidance.pt", seed=seed)
    trained.config = dataclasses.replace(flow.config, guidance=0.0)
    return with_model(checkpoint, flow=trained.requires_grad_(False))


def distil_steps(
    checkpoint: Checkpoint, how: FewSteps, lessons: Sequence[Lesson], folder: Path, seed: int
) -> Checkpoint:
    """The checkpoint with a flow that lands in `how.steps` official steps where the float model lands in more.

    Speak it with `flow_steps=` that number. The velocity of a step leads from where the student stands to the teacher's
    point at its end.

    Raises:
        InputError: a method other than the average velocity.
    """
    if how.method != "average_velocity" or how.training is None:
        raise wrong("steps of the family are learned by average_velocity, with training")
    flow, student = checkpoint.model.flow, _student(checkpoint)
    every, few = how.teacher_steps // how.steps, euler_steps(cosine_times(how.steps))

    def losses(step: int) -> Mapping[str, Tensor]:
        path = walk(flow, lessons[step % len(lessons)], how.teacher_steps)
        x, errors = path.points[0], []
        for i, (time, size) in enumerate(few):
            said = guided(student.estimator, x, time, path.given, flow.config.guidance, path.streaming)
            errors.append(F.mse_loss(said, (path.points[(i + 1) * every] - x) / size))
            x = (x + size * said).detach()
        return {"average_velocity": torch.stack(errors).mean()}

    trained = train(f"{how.steps} steps", student, losses, how.training, folder / f"steps-{how.steps}.pt", seed=seed)
    return with_model(checkpoint, flow=trained.requires_grad_(False))


def rounding_losses(
    teacher: FamilyModel, student: FamilyModel, lessons: Sequence[Lesson]
) -> Callable[[int], Mapping[str, Tensor]]:
    """What a flow with fake quantisation learns: the teacher's velocities, and its condition."""
    guidance = teacher.flow.config.guidance

    def losses(step: int) -> Mapping[str, Tensor]:
        lesson = lessons[step % len(lessons)]
        path = walk(teacher.flow, lesson, _PATH)
        with torch.no_grad():
            wanted = mu_of(teacher.flow, lesson)
        return {
            "velocity": imitate(student.flow, path, guidance, 1),
            "condition": F.mse_loss(mu_of(student.flow, lesson), wanted),
        }

    return losses


def _student(checkpoint: Checkpoint) -> TokenFlow | CausalFlow:
    """A copy of the flow whose estimator can learn."""
    student = copy.deepcopy(checkpoint.model.flow).requires_grad_(False)
    if not isinstance(student.estimator, nn.Module):
        raise TypeError("the estimator is no network")
    student.estimator.requires_grad_(True)
    return student


def with_model(checkpoint: Checkpoint, **parts: nn.Module) -> Checkpoint:
    """A copy of the checkpoint, with other networks."""
    model = checkpoint.model
    made: dict[str, Any] = {name: parts.get(name) or copy.deepcopy(getattr(model, name)) for name in ("lm", "flow")}
    flow = made["flow"]
    config = dataclasses.replace(model.config, flow=flow.config) if isinstance(flow, Flow) else model.config
    return dataclasses.replace(checkpoint, model=dataclasses.replace(model, config=config, **made))
