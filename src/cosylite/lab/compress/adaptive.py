"""Adaptive compute: does it pay to give easy sentences fewer flow steps than hard ones?

The error of few steps (distance of the flow's features from those of many) is measured per sentence; a ridge regression
predicts its logarithm from what is known before the flow runs (the encoder's states, the voice's rhythm). Sentences are
then given the steps that the prediction asks for, and the result is compared with fixed steps at the same mean number,
which are mixed at random from the two nearest whole numbers. An oracle that knows the errors shows the most to be had.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import InputError
from cosylite.runtime.nano import FlowStream, NanoModel, Plan, Reading, Voicing

Floats = NDArray[np.float64]
MANY = 16
LEAST_SENTENCES = 20
_RIDGE = 10.0


@dataclass(frozen=True)
class Measured:
    """Sentences: what is known beforehand (N, F), frames (N,), and the error of every number of steps (N, S)."""

    facts: Floats
    frames: Floats
    errors: Floats
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """A policy at a mean number of steps per frame, and its mean error per frame."""

    mean_steps: float
    fixed: float
    adaptive: float
    oracle: float


def facts_of(plan: Plan) -> Floats:
    """What is known of a sentence before the flow runs: mean and spread of its states, and its rhythm."""
    states, frames = plan.states.astype(np.float64), plan.frames.astype(np.float64)
    spoken = frames[frames > 0]
    rhythm = [np.log(plan.length), spoken.mean(), spoken.std(), frames.max(), (frames > 0).mean()]
    return np.concatenate([states.mean(0), states.std(0), rhythm])


def measure(
    model: NanoModel, readings: Sequence[Reading], steps: Sequence[int] = (1, 2, 3, 4, 6, 8), seed: int = 0
) -> Measured:
    """Speak every sentence with every number of steps.

    Raises:
        InputError: too few sentences to learn from and to judge on.
    """
    if len(readings) < LEAST_SENTENCES:
        raise InputError(
            f"adaptive compute needs at least {LEAST_SENTENCES} sentences, not {len(readings)}",
            code="too_little_data",
            param="data",
        )
    kinds = {count: _stepping(model, count) for count in (*steps, MANY)}
    facts, frames, errors = [], [], []
    for number, reading in enumerate(readings):
        plan = model.plan([reading])[0]
        said = {c: FlowStream(m, plan, Voicing(seed + number)).push(plan.length) for c, m in kinds.items()}
        facts.append(facts_of(plan))
        frames.append(float(plan.length))
        errors.append([float(np.abs(said[c] - said[MANY])[:, :80].mean()) for c in steps])
    return Measured(np.array(facts), np.array(frames), np.array(errors), tuple(steps))


def _stepping(model: NanoModel, count: int) -> NanoModel:
    return NanoModel(
        model.bundle, device="cpu", threads=model.flow.threads, times=[i / count for i in range(count + 1)]
    )


def predict(facts: Floats, errors: Floats, new: Floats) -> Floats:
    """Ridge regression of log errors (N, S) on standardised facts (N, F), at new facts (M, F): errors (M, S)."""
    mean, deviation = facts.mean(0), facts.std(0) + 1e-6
    x, wanted = (facts - mean) / deviation, np.log(errors + 1e-6)
    middle = wanted.mean(0)
    weights = np.linalg.solve(x.T @ x + _RIDGE * len(x) * np.eye(x.shape[1]), x.T @ (wanted - middle))
    predicted: Floats = np.exp(((new - mean) / deviation) @ weights + middle)
    return predicted


def allot(errors: Floats, frames: Floats, steps: Sequence[int], price: float) -> NDArray[np.int64]:
    """Index of the steps of every sentence that cost least: error plus `price` per step, both per frame."""
    chosen: NDArray[np.int64] = (errors + price * np.array(steps)).argmin(1)
    return chosen


TARGETS = (1.25, 1.5, 1.75, 2.5, 3.5, 5.0, 7.0)
"""Mean numbers of steps at which policies are compared; at whole ones all sentences would get the same."""


def compare(measured: Measured, seed: int = 0, targets: Sequence[float] = TARGETS) -> list[Row]:
    """Adaptive against fixed steps, by a predictor learned on one half of the sentences and judged on the other."""
    order = np.random.default_rng(seed).permutation(len(measured.frames))
    learn, judge = order[: len(order) // 2], order[len(order) // 2 :]
    told = predict(measured.facts[learn], measured.errors[learn], measured.facts[judge])
    part = dataclasses.replace(
        measured, facts=measured.facts[judge], frames=measured.frames[judge], errors=measured.errors[judge]
    )
    rows = []
    for target in targets:
        mean_steps, adaptive = _outcome(part, _allot_mean(told, part, target))
        rows.append(Row(mean_steps, _fixed(part, mean_steps), adaptive, _oracle(part, mean_steps)))
    return rows


def _allot_mean(errors: Floats, part: Measured, target: float) -> NDArray[np.int64]:
    """The allotment by these errors whose mean number of steps is nearest to `target`, by bisection of the price."""
    low, high = -12.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        few = _outcome(part, allot(errors, part.frames, part.steps, float(np.exp(middle))))[0] <= target
        low, high = (low, middle) if few else (middle, high)
    ends = [allot(errors, part.frames, part.steps, float(np.exp(price))) for price in (low, high)]
    return min(ends, key=lambda chosen: abs(_outcome(part, chosen)[0] - target))


def _outcome(part: Measured, chosen: NDArray[np.int64]) -> tuple[float, float]:
    share = part.frames / part.frames.sum()
    error = part.errors[np.arange(len(chosen)), chosen]
    return float((share * np.array(part.steps)[chosen]).sum()), float((share * error).sum())


def _fixed(part: Measured, mean_steps: float) -> float:
    """Error of fixed steps; between two whole numbers, sentences are given one or the other by chance."""
    share = part.frames / part.frames.sum()
    return float(np.interp(mean_steps, part.steps, (share[:, None] * part.errors).sum(0)))


def _oracle(part: Measured, mean_steps: float) -> float:
    """Error at about these mean steps if the errors were known."""
    return _outcome(part, _allot_mean(part.errors, part, mean_steps))[1]
