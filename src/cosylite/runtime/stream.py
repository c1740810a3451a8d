"""The stages of a stream, each a generator over what the stage before it gives.

    tasks -> features (flow) -> samples (vocoder) -> chunks (assembly)

Chained directly they run in one thread; `Pipeline.ahead` between them gives each a worker.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.assembly import Begin, End, Event, Piece, Timeline
from cosylite.runtime.nano import FlowStream, Halt, NanoModel, Plan, VocoderStream, Voicing, never
from cosylite.runtime.stft import FRAME
from cosylite.text.types import Sentence

Array = NDArray[np.float32]

FIRST_FRAMES = 12
LARGEST_FRAMES = 100
GROWTH = 1.6
WHOLE_FRAMES = 150
"""Frames per step where nobody waits for the first chunk: larger ones only need more memory."""


@dataclass(frozen=True)
class Task:
    """A sentence to be spoken; `plan` and `timeline` are None for one that is only a pause."""

    sentence: Sentence
    plan: Plan | None
    timeline: Timeline | None


class ChunkSizes:
    """How many frames to compute next: few at first, then more and more; or always the same."""

    def __init__(self, chunk_frames: int | None = None) -> None:
        self._fixed = chunk_frames
        self._next = float(FIRST_FRAMES)
        self._first = True

    def take(self, quiet: int = 0) -> int:
        """Frames of the next step. `quiet`: frames that will be cut from its start or only fill look-ahead."""
        if self._fixed is not None:
            return self._fixed
        size = int(self._next)
        self._next = min(LARGEST_FRAMES, self._next * GROWTH)
        extra, self._first = (quiet if self._first else 0), False
        return size + extra


def flow_stage(
    model: NanoModel, tasks: Iterator[Task], sizes: ChunkSizes, voicing: Voicing, halt: Halt = never
) -> Iterator[Event]:
    """Features of every sentence, in pieces."""
    for task in tasks:
        yield Begin(task.sentence, task.timeline)
        if task.plan is None or task.timeline is None:
            continue
        quiet = task.timeline.first // FRAME + model.lookahead
        flow = FlowStream(model, task.plan, voicing)
        while flow.left:
            yield Piece(flow.push(sizes.take(quiet), halt))
        yield End()


def vocoder_stage(model: NanoModel, events: Iterator[Event], voicing: Voicing, halt: Halt = never) -> Iterator[Event]:
    """Replaces the features by samples."""
    vocoder: VocoderStream | None = None
    for event in events:
        if isinstance(event, Begin):
            vocoder = VocoderStream(model, seed=voicing.seed)
            yield event
        elif vocoder is not None and isinstance(event, Piece):
            yield Piece(vocoder.push(event.data, halt))
        elif vocoder is not None:
            yield Piece(vocoder.finish(halt))
            yield End()


def render_in_chunks(model: NanoModel, plan: Plan, voicing: Voicing) -> Array:
    """Samples of a whole sentence, computed a stretch at a time."""
    flow, vocoder = FlowStream(model, plan, voicing), VocoderStream(model, seed=voicing.seed)
    parts = []
    while flow.left:
        parts.append(vocoder.push(flow.push(WHOLE_FRAMES)))
    return np.concatenate([*parts, vocoder.finish()])
