"""Watches the speech tokens and samples of the official models, and says when to draw again.

Counted:
    `token_loops` a stretch of tokens that repeats itself for two seconds;
    `prompt_leaks` a second of the prompt that is spoken again;
    `early_ends` fewer tokens than the text needs at least;
    `endless` the greatest length reached without an end;
    `resampled` segments drawn again with a new seed; `unresolved` those where that did not help;
    `out_of_step` control tokens amid text in pieces, drawn again;
    `silent_tokens` tokens left out of long silences;
    `silences` more than 1.5 seconds without audible sound within a segment;
    `samples_repaired` not finite, `samples_limited` above full scale.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.sessions import Counters

log = logging.getLogger(__name__)

Array = NDArray[np.float32]
Fault = Literal["token_loops", "prompt_leaks", "early_ends", "endless"]

SEVERITY: dict[Fault | None, int] = {None: 0, "endless": 1, "early_ends": 2, "prompt_leaks": 3, "token_loops": 4}
"""Which of several faulty drawings to keep: the one with the least."""
LOOP_SECONDS, LOOP_ROUNDS = 2.0, 3
LEAK_SECONDS, LEAK_KINDS = 1.0, 8
"""A leak has so many different tokens at least: two silences may be alike."""
AUDIBLE = 10.0 ** (-55 / 20)
SILENT_SECONDS = 1.5


@dataclass(frozen=True)
class Length:
    """Least and greatest number of tokens of a segment."""

    least: int
    most: int


class TokenWatch:
    """Looks at the tokens of one drawing, one by one."""

    def __init__(self, length: Length, token_rate: int, prompt_tokens: Sequence[int] = ()) -> None:
        self._length = length
        self._loop, self._leak = round(LOOP_SECONDS * token_rate), round(LEAK_SECONDS * token_rate)
        self._prompt = np.array(prompt_tokens, np.int64)
        self._matched = np.zeros(len(self._prompt) + 1, np.int64)
        """Entry j + 1: how many tokens up to the last one equal those of the prompt up to j."""
        self._past: list[int] = []
        self._repeats = np.zeros(self._loop, np.int64)
        """Entry p - 1: for how many tokens each has equalled the one p before it."""

    def see(self, token: int) -> Fault | None:
        """The fault that shows with the next token."""
        before = np.array(self._past[: -self._loop - 1 : -1], np.int64)
        same = np.zeros(self._loop, bool)
        same[: len(before)] = before == token
        self._repeats = np.where(same, self._repeats + 1, 0)
        self._past.append(token)
        self._matched[1:] = np.where(self._prompt == token, self._matched[:-1] + 1, 0)
        if self._leaks():
            return "prompt_leaks"
        return "token_loops" if self.loop() else None

    def end(self, *, stopped: bool) -> Fault | None:
        """The fault that shows at the end; `stopped`: the model ended the speech."""
        if not stopped:
            return "endless"
        return "early_ends" if len(self._past) < self._length.least else None

    def loop(self) -> int:
        """Tokens at the end that only repeat what was before them, where that makes a loop; else 0."""
        periods = np.arange(1, self._loop + 1)
        loops = self._repeats + periods >= np.maximum(LOOP_ROUNDS * periods, self._loop)
        return int(self._repeats[loops].max()) if loops.any() else 0

    def _leaks(self) -> bool:
        longest = int(self._matched.max())
        return longest >= self._leak and len(set(self._past[-longest:])) >= LEAK_KINDS


class FamilyGuardian:
    """Counts what was done, and looks at samples."""

    def __init__(self, counters: Counters) -> None:
        self.counters = counters

    def count(self, name: str, count: int = 1) -> None:
        """Count an event."""
        if count:
            self.counters.add(name, count)
            log.info("guardian: %s (%d)", name, count)

    def checked(self, samples: Array) -> Array:
        """Samples (N,) with those that are not finite silenced."""
        finite = np.isfinite(samples)
        if finite.all():
            return samples
        self.count("samples_repaired", int((~finite).sum()))
        return np.where(finite, samples, np.float32(0))


class SilenceWatch:
    """Notices silences within a segment: more than 1.5 seconds between two audible samples."""

    def __init__(self, guardian: FamilyGuardian, sample_rate: int) -> None:
        self._guardian, self._limit = guardian, round(SILENT_SECONDS * sample_rate)
        self._position, self._heard = 0, -1

    def push(self, samples: Array) -> None:
        """Look at the next samples."""
        loud = np.flatnonzero(np.abs(samples) > AUDIBLE) + self._position
        self._position += len(samples)
        if not len(loud):
            return
        known = loud if self._heard < 0 else np.concatenate([[self._heard], loud])
        self._guardian.count("silences", int((np.diff(known) > self._limit).sum()))
        self._heard = int(loud[-1])
