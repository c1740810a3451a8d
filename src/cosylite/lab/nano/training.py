"""What both training loops share: averaged weights, schedule, checkpoints that survive a kill, a log."""

import copy
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Schedule:
    """Learning rate: linear warm-up, constant, then a cosine fall over the last part of the steps."""

    peak: float
    warmup: int
    total: int
    fall: float = 0.5
    """Share of the steps, at the end, in which the rate falls."""
    floor: float = 0.02

    def rate(self, step: int) -> float:
        """Learning rate of `step`, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        begin = self.total * (1 - self.fall)
        if step < begin:
            return self.peak
        progress = min(1.0, (step - begin) / (self.total - begin))
        cosine = float(0.5 * (1 + torch.cos(torch.tensor(torch.pi * progress))))
        return self.peak * (self.floor + (1 - self.floor) * cosine)


class Average:
    """Exponential moving average of a model's parameters and buffers."""

    def __init__(self, model: nn.Module, decay: float = 0.999) -> None:
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self.decay = decay
        self.steps = 0

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Move towards `model`; young averages move faster."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), 1 - decay)


def save(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint so that a kill at any time leaves the old or the new one."""
    part = path.with_suffix(".part")
    torch.save(state, part)
    os.replace(part, path)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every group."""
    for group in optimiser.param_groups:
        group["lr"] = rate


class Log:
    """Means of named losses, printed and appended to a JSON-lines file every `every` steps."""

    def __init__(self, path: Path, every: int) -> None:
        self._path, self._every = path, every
        self._sums: dict[str, float] = {}
        self._count = 0
        self._since = time.monotonic()

    def add(self, step: int, losses: dict[str, Tensor | float]) -> None:
        """Add one step's losses."""
        self._count += 1
        for name, value in losses.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(value)
        if self._count < self._every:
            return
        row = {name: round(total / self._count, 4) for name, total in self._sums.items()}
        row |= {"step": step, "seconds_per_step": round((time.monotonic() - self._since) / self._count, 3)}
        print(json.dumps(row), flush=True)
        with self._path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        self._sums, self._count, self._since = {}, 0, time.monotonic()


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of `values` (B, T, ...) where `mask` (B, T) is 1."""
    while mask.dim() < values.dim():
        mask = mask[..., None]
    return (values * mask).sum() / (mask.expand_as(values).sum() + 1e-6)


def clip(parameters: Iterable[nn.Parameter], largest: float) -> Tensor:
    """Clip the gradient norm; the norm before."""
    return nn.utils.clip_grad_norm_(parameters, largest)
