"""Repetition-aware sampling of speech tokens, exactly as the official models draw them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Draw = Callable[[Array], int]
"""Picks an index with the given probabilities (N,), which need not sum to one."""
Sampler = Callable[[Array, Sequence[int]], int]
"""Picks a token from log-probabilities (vocabulary,) and the tokens so far."""


@dataclass(frozen=True)
class SamplingSettings:
    """How tokens are drawn."""

    top_p: float = 0.8
    top_k: int = 25
    window: int = 10
    """How many past tokens are searched for the pick."""
    repetition: float = 0.1
    """The pick is rejected when it fills at least this share of the window."""


SHORTEST = np.float32(2.0**-25)
"""Waiting time that stands for all shorter ones."""


def greedy(logp: Array, history: Sequence[int]) -> int:
    """The most likely token."""
    return int(logp.argmax())


def race(generator: np.random.Generator) -> Draw:
    """Draw by an exponential race: the index whose exponential waiting time, at its own rate, ends first."""

    def draw(probabilities: Array) -> int:
        times = generator.standard_exponential(len(probabilities), dtype=np.float32)
        # one of ten million is 0 for want of digits, and would win for any token, even one that is forbidden
        return int((probabilities / np.maximum(times, SHORTEST)).argmax())

    return draw


def softmax(scores: Array) -> Array:
    """Probabilities (N,) of scores (N,), which may be minus infinity."""
    powers = np.exp(scores - scores.max())
    out: Array = powers / powers.sum()
    return out


def nucleus(logp: Array, top_p: float, top_k: int) -> tuple[NDArray[np.int64], Array]:
    """The most likely tokens: ids and probabilities, falling, up to and including the one that reaches `top_p`."""
    probabilities = softmax(logp)
    order = np.argsort(-probabilities, kind="stable")[:top_k]
    kept = probabilities[order]
    before = np.concatenate([np.zeros(1, np.float32), np.cumsum(kept, dtype=np.float32)[:-1]])
    count = int((before < np.float32(top_p)).sum())
    return order[:count], kept[:count]


def draw_token(logp: Array, history: Sequence[int], settings: SamplingSettings, draw: Draw) -> int:
    """Draw from the nucleus; when the pick was heard lately, draw again from everything else.

    Args:
        logp: (vocabulary,) log-probabilities; minus infinity forbids a token.
        history: tokens emitted so far.
        settings: how to draw.
        draw: the source of chance, called once or twice.
    """
    ids, probabilities = nucleus(logp, settings.top_p, settings.top_k)
    token = int(ids[draw(probabilities)])
    heard = sum(past == token for past in history[-settings.window :])
    if heard < settings.window * settings.repetition:
        return token
    rest = logp.copy()
    rest[token] = -np.inf
    return draw(softmax(rest))


def repetition_aware(settings: SamplingSettings, draw: Draw) -> Sampler:
    """A sampler with these settings."""
    return lambda logp, history: draw_token(logp, history, settings, draw)
