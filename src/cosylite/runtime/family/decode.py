"""Decoding: the order of the rows, the limits of length, and text that arrives in pieces.

Written once against `TokenModel`, so that PyTorch and ONNX Runtime decode with the same code.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import InputError
from cosylite.runtime.family.sampling import Sampler

Array = NDArray[np.float32]
Rows = NDArray[np.float32]
"""Rows (N, width) that a language model is fed with."""
State = TypeVar("State")


@dataclass(frozen=True)
class ControlIds:
    """Ids beyond the speech tokens."""

    speech_tokens: int
    """Also the first control id: everything from here on ends the speech."""
    end: int
    fill: int | None = None
    """Asks for more text when it arrives in pieces; None where that is not supported (v1)."""
    end_of_prompt: int | None = None
    """Text id up to which the prompt text is fed at once when text arrives in pieces (v3)."""


class TokenModel(Protocol[State]):
    """A language model of the family; `State` is what it remembers of one utterance."""

    @property
    def controls(self) -> ControlIds:
        """Ids beyond the speech tokens."""
        ...

    def text(self, ids: Sequence[int]) -> Rows:
        """Rows of text ids; of the whole text at once, because v1 encodes it."""
        ...

    def speech(self, ids: Sequence[int]) -> Rows:
        """Rows of speech tokens."""
        ...

    def speaker(self, embedding: Array) -> Rows:
        """No row or one, from speaker vectors (0 or 1, size)."""
        ...

    def start_row(self) -> Rows:
        """The row that opens a sequence."""
        ...

    def task_row(self) -> Rows:
        """The row that asks for speech."""
        ...

    def open(self, capacity: int) -> State:
        """Empty memory for `capacity` rows."""
        ...

    def feed(self, rows: Rows, state: State) -> Array:
        """Feed rows (N >= 1, width); log-probabilities (vocabulary,) of the next token."""
        ...


@dataclass(frozen=True)
class Prompt:
    """What precedes the speech."""

    text: Sequence[int]
    prompt_text: Sequence[int] = ()
    prompt_tokens: Sequence[int] = ()
    embedding: Array = field(default_factory=lambda: np.zeros((0, 192), np.float32))
    """Speaker vectors (0 or 1, size); only v1 listens to them."""


@dataclass(frozen=True)
class Limits:
    """How many tokens per text token at least and at most."""

    min_ratio: float = 2.0
    max_ratio: float = 20.0

    def bounds(self, text_tokens: int) -> tuple[int, int]:
        """Least and greatest number of speech tokens; worked out in float32 as the official code does."""
        count = np.float32(text_tokens)
        return int(count * np.float32(self.min_ratio)), int(count * np.float32(self.max_ratio))


OFFICIAL_LIMITS = Limits()
"""From 2 to 20 speech tokens per text token."""


def prompt_rows(model: TokenModel[State], prompt: Prompt) -> Rows:
    """The rows of the first pass: start, speaker, prompt text and text, task, prompt speech."""
    text = model.text([*prompt.prompt_text, *prompt.text])
    parts = [model.start_row(), model.speaker(prompt.embedding), text, model.task_row()]
    return np.concatenate([*parts, model.speech(prompt.prompt_tokens)])


def decode(
    model: TokenModel[State], prompt: Prompt, sampler: Sampler, limits: Limits = OFFICIAL_LIMITS
) -> Iterator[int]:
    """Yield speech tokens until the model ends or the greatest length is reached."""
    controls = model.controls
    least, most = limits.bounds(len(prompt.text))
    rows = prompt_rows(model, prompt)
    state = model.open(len(rows) + most)
    out: list[int] = []
    while len(out) < most:
        logp = model.feed(rows, state)
        token = sampler(forbid_end(logp, controls) if len(out) < least else logp, out)
        if token >= controls.speech_tokens:
            return
        out.append(token)
        yield token
        rows = model.speech([token])


def forbid_end(logp: Array, controls: ControlIds) -> Array:
    """Forbid the first control id. It ends the speech in v1 and v2; in v3 it is another, and this has no effect."""
    masked = logp.copy()
    masked[controls.speech_tokens] = -np.inf
    return masked


def decode_pieces(
    model: TokenModel[State],
    pieces: Iterable[Sequence[int]],
    prompt: Prompt,
    sampler: Sampler,
    *,
    mix: tuple[int, int],
    capacity: int = 4096,
) -> Iterator[int]:
    """Yield speech tokens while the text still arrives (v2 and v3).

    Args:
        model: the language model.
        pieces: text ids as they come; speech begins as soon as there are `mix[0]` of them.
        prompt: prompt text and speech; its `text` is not used.
        sampler: picks the tokens.
        mix: so many text rows, then so many speech rows, in turn.
        capacity: rows the model can remember.

    Raises:
        InputError: the family cannot do it, or the model went out of step.
    """
    stream = _PieceStream(model, prompt, sampler, mix, model.open(capacity))
    for piece in pieces:
        yield from stream.push(piece)
    yield from stream.finish()


class _PieceStream(Generic[State]):
    """The state of `decode_pieces`."""

    def __init__(
        self, model: TokenModel[State], prompt: Prompt, sampler: Sampler, mix: tuple[int, int], state: State
    ) -> None:
        if model.controls.fill is None:
            raise InputError("this family needs the whole text at once", code="unsupported", param="text")
        self._model, self._sampler, self._mix, self._state = model, sampler, mix, state
        self._controls, self._fill = model.controls, model.controls.fill
        head, rest = self._split_prompt(prompt.prompt_text)
        self._pending = np.concatenate([model.start_row(), model.text(head)])
        self._text = model.text(rest)
        self._speech = model.speech(prompt.prompt_tokens)
        count = len(prompt.prompt_tokens)
        self._next_fill = (count // mix[1] + 1) * mix[1] - count
        self._out: list[int] = []

    def _split_prompt(self, ids: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        end = self._controls.end_of_prompt
        if end is None:
            return (), ids
        if end not in ids:
            raise InputError(
                "the prompt text must hold <|endofprompt|>", code="missing_end_of_prompt", param="prompt_text"
            )
        cut = list(ids).index(end) + 1
        return ids[:cut], ids[cut:]

    def push(self, piece: Sequence[int]) -> Iterator[int]:
        """More text; yields what can be said with it."""
        self._text = np.concatenate([self._text, self._model.text(piece)])
        while len(self._speech) and len(self._text) >= self._mix[0]:
            self._pending = np.concatenate([self._pending, self._take_text(), self._take_speech()])
        if len(self._speech) or not self._take_turn():
            return
        yield from self._speak()

    def _take_turn(self) -> bool:
        """Add text to what is fed next where the order of rows asks for it; False when there is not enough."""
        after_fill = bool(self._out) and self._out[-1] == self._fill
        at_start = not self._out and len(self._pending) == 1
        if not (after_fill or at_start):
            return True
        if len(self._text) < self._mix[0]:
            return False
        text = self._take_text()
        self._pending = text if after_fill else np.concatenate([self._pending, text])
        return True

    def _speak(self) -> Iterator[int]:
        while True:
            logp = self._model.feed(self._pending, self._state)
            if len(self._out) == self._next_fill:
                token = self._fill
            else:
                token = self._sampler(forbid_end(logp, self._controls), self._out)
            if token == self._fill:
                self._next_fill = len(self._out) + self._mix[1] + 1
                self._out.append(token)
                return
            yield self._emit(token)

    def finish(self) -> Iterator[int]:
        """The text is complete; yields the rest of the speech."""
        self._pending = np.concatenate([self._pending, self._text, self._model.task_row()])
        while True:
            token = self._sampler(self._model.feed(self._pending, self._state), self._out)
            if token == self._controls.end:
                return
            yield self._emit(token)

    def _emit(self, token: int) -> int:
        if token >= self._controls.speech_tokens:
            raise InputError(
                f"the model drew the control id {token} amid the text; try another seed", code="out_of_step"
            )
        self._out.append(token)
        self._pending = self._model.speech([token])
        return token

    def _take_text(self) -> Rows:
        head, self._text = self._text[: self._mix[0]], self._text[self._mix[0] :]
        return head

    def _take_speech(self) -> Rows:
        head, self._speech = self._speech[: self._mix[1]], self._speech[self._mix[1] :]
        return head


def limit_silence(tokens: Iterable[int], silent: frozenset[int], longest: int = 5) -> Iterator[int]:
    """Drop what goes beyond `longest` silent tokens in a row."""
    run = 0
    for token in tokens:
        run = run + 1 if token in silent else 0
        if run <= longest:
            yield token
