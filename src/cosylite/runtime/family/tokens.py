"""Speech tokens of segments while they are drawn, under the eyes of the guardian.

All segments that are being spoken share the steps of one decoding loop: whoever needs tokens advances everybody's.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import CancelledError
from cosylite.runtime.family.batching import DecodeLoop, Prefixes, Request
from cosylite.runtime.family.decode import OFFICIAL_LIMITS, Prompt, decode_pieces
from cosylite.runtime.family.guardian import SEVERITY, FamilyGuardian, Fault, Length, TokenWatch
from cosylite.runtime.family.kinds import SILENT_TOKENS, Family
from cosylite.runtime.family.model import TokenModel
from cosylite.runtime.family.sampling import Sampler, race, repetition_aware

Array = NDArray[np.float32]

ATTEMPTS = 3
"""How often a segment is drawn at most."""
MOST_ROWS = 8
ROW_TOKENS = 1000
CACHE_BYTES = 256_000_000
"""What the keys and values of all rows together may take, at `ROW_TOKENS` each."""
LONGEST_SILENCE = 5
"""Silent tokens in a row that are spoken."""
PIECES_RATIO = 20
"""Speech tokens per text token at most where text comes in pieces; the official code has no limit there."""


@dataclass(frozen=True)
class Seeds:
    """Where the chance of one segment comes from: the caller's seed and the number of the segment."""

    seed: int
    number: int = 0

    def sampler(self, model: TokenModel, attempt: int = 0) -> Sampler:
        """A sampler of its own for every attempt."""
        entropy = [self.seed, self.number, *([attempt] if attempt else [])]
        return repetition_aware(model.spec.sampling, race(np.random.default_rng(entropy)))

    def noise(self, chunk: int = 0) -> int:
        """Seed of the noises of a chunk."""
        if not chunk:
            return self.seed + self.number
        return int(np.random.SeedSequence([self.seed, self.number, chunk]).generate_state(1, np.uint64)[0] >> 1)


class Draft(Protocol):
    """Tokens of one segment, as far as they are drawn."""

    @property
    def tokens(self) -> list[int]:
        """Tokens to be spoken so far."""
        ...

    @property
    def done(self) -> bool:
        """Whether no more will come."""
        ...

    def ready(self, count: int | None) -> bool:
        """Whether there are `count` tokens, or all there will be (None: only the latter). Does not wait."""
        ...

    def wait(self, count: int | None) -> None:
        """Until `ready`."""
        ...

    def commit(self) -> None:
        """What is there is being spoken, and cannot be drawn again."""
        ...

    def close(self) -> None:
        """Nobody needs the rest."""
        ...


class Decoder:
    """One decoding loop for all segments of a model, for several threads."""

    def __init__(self, model: TokenModel, family: Family, token_rate: int, guardian: FamilyGuardian) -> None:
        per_token = 2 * 4 * model.spec.layers * model.spec.heads * model.spec.head_size
        rows = max(1, min(MOST_ROWS, CACHE_BYTES // (per_token * ROW_TOKENS)))
        self.model, self.token_rate, self.guardian = model, token_rate, guardian
        self.silent = SILENT_TOKENS[family]
        self.prefixes = Prefixes(model)
        self.rows = rows
        """How many segments share a step."""
        self._loop = DecodeLoop(model, rows=rows, prefixes=self.prefixes)
        self._lock = threading.Lock()

    def submit(self, request: Request) -> None:
        """Let a request take part from the next step on."""
        with self._lock:
            self._loop.submit(request)

    def cancel(self, request: Request) -> None:
        """Let a request leave at the next step."""
        self._loop.cancel(request)

    @property
    def busy(self) -> bool:
        """Whether a step has something to do."""
        return self._loop.busy

    @property
    def load(self) -> int:
        """Requests that take part or wait for it."""
        with self._lock:
            return self._loop.load

    def step(self) -> int:
        """Advance every active request by one token; returns how many there were."""
        with self._lock:
            return len(self._loop.step()) if self._loop.busy else 0


class SegmentDraft:
    """Tokens of a whole text.

    Where the guardian objects they are drawn again with a new seed, as long as nothing has been spoken. An end that
    comes too early is handled alike whether or not somebody listens already, so that streams equal the whole: within
    the first `spoken_from` tokens everything is drawn again, later only the token.
    """

    def __init__(self, decoder: Decoder, prompt: Prompt, seeds: Seeds, spoken_from: int | None = None) -> None:
        """`spoken_from`: tokens of the first chunk of a stream; None: there is no stream."""
        self._decoder, self._prompt, self._seeds, self._spoken_from = decoder, prompt, seeds, spoken_from
        self._length = Length(*OFFICIAL_LIMITS.bounds(len(prompt.text)))
        self._attempt = 0
        self._committed = False
        self._earlier: list[tuple[Fault, list[int]]] = []
        """Complete drawings that were rejected."""
        self._closed = False
        self.done = False
        self.tokens: list[int] = []
        self._start()

    def _start(self) -> None:
        sampler = self._seeds.sampler(self._decoder.model, self._attempt)
        insists_from = 0 if self._attempt + 1 >= ATTEMPTS else self._spoken_from
        self._request = Request(self._prompt, sampler, insists_from=insists_from)
        self._watch = TokenWatch(self._length, self._decoder.token_rate, self._prompt.prompt_tokens)
        self._limit = _SilenceLimit(self._decoder.silent)
        self._seen = 0
        self.tokens = []
        self._decoder.submit(self._request)
        if self._closed:  # by another thread, while the one before was the request
            self._decoder.cancel(self._request)

    def ready(self, count: int | None) -> bool:
        """See `Draft`; raises what kept the language model from beginning. A closed one is ready to say so."""
        self._look(count)
        return self.done or self._closed or (count is not None and len(self.tokens) >= count)

    def wait(self, count: int | None) -> None:
        """See `Draft`; raises CancelledError once closed."""
        while not self.ready(count):
            self._decoder.step()
        if self._closed and not self.done:
            raise CancelledError("the synthesis was cancelled", code="cancelled")

    def commit(self) -> None:
        """See `Draft`."""
        self._committed = True

    def close(self) -> None:
        """See `Draft`."""
        self._closed = True
        self._decoder.cancel(self._request)

    def _look(self, count: int | None) -> None:
        """Judge what has been drawn since, but no more than is asked for: others may have driven the loop further."""
        request = self._request
        while not self.done and (count is None or len(self.tokens) < count):
            ended = request.done  # asked first: tokens may come in between
            if request.error is not None:
                raise request.error
            if self._seen == len(request.tokens):
                if ended and not self._closed:
                    self._end()
                return
            token = request.tokens[self._seen]
            self._seen += 1
            if self._limit.keeps(token):
                self.tokens.append(token)
            fault = self._watch.see(token)
            if fault and self._object(fault, complete=False):
                return

    def _end(self) -> None:
        fault = self._watch.end(stopped=self._request.stopped)
        if not (fault and self._object(fault, complete=True)):
            self._finish(fault)

    def _object(self, fault: Fault, *, complete: bool) -> bool:
        """Deal with a fault; False where the drawing goes on or ends as it is."""
        last = self._attempt + 1 >= ATTEMPTS
        if fault == "prompt_leaks" and (self._committed or last):
            return False  # there is nothing better
        self._decoder.guardian.count(fault)
        if not self._committed and not last:
            if complete:
                self._earlier.append((fault, self.tokens))
            self._again()
            return True
        if fault == "token_loops":
            self._decoder.cancel(self._request)
            del self.tokens[max(1, len(self.tokens) - self._watch.loop()) :]
            self._finish(fault)
            return True
        return False

    def _again(self) -> None:
        self._decoder.cancel(self._request)
        self._decoder.guardian.count("resampled")
        self._attempt += 1
        self._start()

    def _finish(self, fault: Fault | None) -> None:
        guardian = self._decoder.guardian
        if fault:
            guardian.count("unresolved")
            if not self._committed and self._earlier:
                best, tokens = min(self._earlier, key=lambda drawing: SEVERITY[drawing[0]])
                if SEVERITY[best] < SEVERITY[fault]:
                    self.tokens = tokens
        guardian.count("early_ends", self._request.insisted)
        guardian.count("silent_tokens", self._limit.dropped)
        self.done = True


class PiecesDraft:
    """Tokens of a text that arrives while it is spoken (v2, v3)."""

    def __init__(self, decoder: Decoder, pieces: Iterable[list[int]], prompt: Prompt, seeds: Seeds) -> None:
        self._decoder = decoder
        self._limit = _SilenceLimit(decoder.silent)
        self._sampler = _InStep(decoder, seeds.sampler(decoder.model))
        text, speech = decoder.model.spec.mix
        self._drawn = decode_pieces(
            decoder.model, self._sampler.counted(pieces), prompt, self._sampler, mix=(text, speech)
        )
        self.done = False
        self.tokens: list[int] = []

    def ready(self, count: int | None) -> bool:
        """See `Draft`."""
        return self.done or (count is not None and len(self.tokens) >= count)

    def wait(self, count: int | None) -> None:
        """See `Draft`; waits for text too."""
        while not self.ready(count):
            token = next(self._drawn, None)
            if token is None:
                self._decoder.guardian.count("silent_tokens", self._limit.dropped)
                self.done = True
            elif self._limit.keeps(token):
                self.tokens.append(token)

    def commit(self) -> None:
        """See `Draft`."""

    def close(self) -> None:
        """See `Draft`."""
        self.done = True


class GivenTokens:
    """Tokens that are known from the start, such as those of speech that gets another voice."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.tokens, self.done = list(tokens), True

    def ready(self, count: int | None) -> bool:
        """See `Draft`."""
        return True

    def wait(self, count: int | None) -> None:
        """See `Draft`."""

    def commit(self) -> None:
        """See `Draft`."""

    def close(self) -> None:
        """See `Draft`."""


class _SilenceLimit:
    """Says which tokens are spoken: of silent ones only the first few in a row."""

    def __init__(self, silent: frozenset[int]) -> None:
        self._silent, self._run, self.dropped = silent, 0, 0

    def keeps(self, token: int) -> bool:
        self._run = self._run + 1 if token in self._silent else 0
        self.dropped += self._run > LONGEST_SILENCE
        return self._run <= LONGEST_SILENCE


class _InStep:
    """Keeps a model in step with text in pieces: no control token at the wrong time, and an end in time."""

    def __init__(self, decoder: Decoder, sampler: Sampler) -> None:
        self._guardian, self._sampler, self._controls = decoder.guardian, sampler, decoder.model.controls
        self._watch = TokenWatch(Length(0, 0), decoder.token_rate)
        self._text = 0
        self._reading = True

    def counted(self, pieces: Iterable[list[int]]) -> Iterable[list[int]]:
        """The pieces, on their way to the model."""
        for piece in pieces:
            self._text += len(piece)
            yield piece
        self._reading = False

    def __call__(self, logp: Array, history: Sequence[int]) -> int:
        first, wanted = self._controls.speech_tokens, self._controls.fill if self._reading else self._controls.end
        if not self._reading and (self._watch.loop() or len(history) >= PIECES_RATIO * self._text):
            self._guardian.count("token_loops" if self._watch.loop() else "endless")
            return self._controls.end
        token = self._sampler(logp, history)
        if token >= first and token != wanted:
            token = self._in_step(logp, history, wanted)
        self._watch.see(token)
        return token

    def _in_step(self, logp: Array, history: Sequence[int], wanted: int | None) -> int:
        """A token that may come now, or the control token that is due."""
        first = self._controls.speech_tokens
        self._guardian.count("out_of_step")
        allowed = logp.copy()
        allowed[first:] = -np.inf
        if wanted is not None:
            allowed[wanted] = logp[wanted]
        return self._sampler(allowed, history)
