"""One training loop for everything that is learned here: it resumes where it was killed, with equal weights."""

import copy
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from tqdm import tqdm

from cosylite.errors import BundleError
from cosylite.lab.compress.recipe import Training
from cosylite.lab.nano.training import Average, Schedule, clip, save, set_rate

Network = TypeVar("Network", bound=nn.Module)
Stateful = nn.Module | torch.optim.Optimizer
Losses = Callable[[int], Mapping[str, Tensor]]
"""Losses of a step, by name; what is random in them depends on the step alone. The sum is minimised."""
_WARM_SHARE = 0.05


def train(
    name: str, student: Network, losses: Losses, how: Training, checkpoint: Path, *, seed: int, average: bool = True
) -> Network:
    """Train `student` for `how.steps` updates; what it was when interrupted is read from `checkpoint`.

    Returns:
        The student, or the moving average of its weights.

    Raises:
        BundleError: a loss is not a number.
    """
    trained = [p for p in student.parameters() if p.requires_grad]
    mean = Average(student, decay=min(0.999, 1 - 10 / max(how.steps, 20)))
    optimiser = torch.optim.AdamW(trained, how.rate, betas=(0.9, 0.99), weight_decay=0.0)
    schedule = Schedule(how.rate, max(1, int(_WARM_SHARE * how.steps)), how.steps)
    parts: dict[str, Stateful] = {"student": student, "mean": mean.model, "optimiser": optimiser}
    step = _resume(checkpoint, parts)
    mean.steps = step
    student.train()
    saved = time.monotonic()
    with tqdm(total=how.steps, initial=step, desc=name, mininterval=5, dynamic_ncols=True) as bar:
        while step < how.steps:
            torch.manual_seed(seed * 1_000_003 + step)
            set_rate(optimiser, schedule.rate(step))
            found = losses(step)
            total = torch.stack(list(found.values())).sum()
            if not torch.isfinite(total):
                raise BundleError(
                    f"{name}: the loss is no number at step {step}: lower training.rate",
                    code="diverged",
                    param="recipe",
                )
            optimiser.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            clip(trained, 1.0)
            optimiser.step()
            mean.update(student)
            step += 1
            bar.update()
            bar.set_postfix({k: f"{float(v.detach()):.4f}" for k, v in found.items()}, refresh=False)
            if step == how.steps or time.monotonic() - saved > how.save_minutes * 60:
                save(checkpoint, {"step": step} | {key: part.state_dict() for key, part in parts.items()})
                saved = time.monotonic()
    result = copy.deepcopy(mean.model if average else student).eval().requires_grad_(True)
    return cast(Network, result)


def _resume(checkpoint: Path, parts: Mapping[str, Stateful]) -> int:
    if not checkpoint.is_file():
        return 0
    state = torch.load(checkpoint, weights_only=True)
    for key, part in parts.items():
        part.load_state_dict(state[key])
    return int(state["step"])
