"""Continuous batching: sequences of different requests share every decoding step, and come and go between steps.

Decoding on a CPU is bound by reading the weights, so a second sequence in a step is nearly free. Each request gets the
tokens it would get alone: its own sampler, its own cache, its own limits.
"""

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field

import numpy as np

from cosylite.errors import CosyliteError
from cosylite.runtime.family.decode import OFFICIAL_LIMITS, Array, Limits, Prompt, Rows, forbid_end, prompt_rows
from cosylite.runtime.family.memory import Memory
from cosylite.runtime.family.model import TokenModel
from cosylite.runtime.family.sampling import Sampler


@dataclass(eq=False)
class Request:
    """A text on its way to speech tokens. `tokens` grows until `done`."""

    prompt: Prompt
    sampler: Sampler
    limits: Limits = OFFICIAL_LIMITS
    insists_from: int | None = None
    """From so many tokens on, an end before the least length is not accepted but drawn again; None: never."""
    tokens: list[int] = field(default_factory=list)
    done: bool = False
    stopped: bool = False
    """Whether the model ended the speech."""
    insisted: int = 0
    """How many ends were not accepted."""
    error: Exception | None = None
    """Why the request could not even begin."""

    def take(self, logp: Array, model: TokenModel) -> None:
        """Draw the next token, or end."""
        controls = model.controls
        least, most = self.limits.bounds(len(self.prompt.text))
        early = len(self.tokens) < least
        token = self.sampler(forbid_end(logp, controls) if early else logp, self.tokens)
        if token >= controls.speech_tokens and early and self._insists():
            self.insisted += 1
            spoken = logp.copy()
            spoken[controls.speech_tokens :] = -np.inf
            token = self.sampler(spoken, self.tokens)
        if token >= controls.speech_tokens:
            self.done = self.stopped = True
            return
        self.tokens.append(token)
        if len(self.tokens) >= most:  # otherwise left as it is: another thread may give the request up meanwhile
            self.done = True

    def _insists(self) -> bool:
        return self.insists_from is not None and len(self.tokens) >= self.insists_from


class Prefixes:
    """Memory of what precedes the text: computed once per voice, then copied. For several threads."""

    def __init__(self, model: TokenModel, *, kept: int = 8) -> None:
        """Keep those of the `kept` voices that were used last."""
        self._model, self._kept = model, kept
        self._lock = threading.Lock()
        self._memories: OrderedDict[tuple[object, ...], Memory] = OrderedDict()
        self.computed = 0
        """How often one was computed."""

    def begin(self, prompt: Prompt) -> tuple[Memory, Rows]:
        """Memory that holds the head of the rows, and the rows that are left to be fed."""
        rows = prompt_rows(self._model, prompt)
        head = len(rows) - len(prompt.text) - 1 - len(prompt.prompt_tokens)
        key = (*prompt.prompt_text, prompt.embedding.tobytes())
        with self._lock:
            memory = self._memories.get(key)
            if memory is None:
                memory = self._model.open(head)
                self._model.feed(rows[:head], memory)
                self._memories[key] = memory
                self.computed += 1
                if len(self._memories) > self._kept:
                    self._memories.popitem(last=False)
            self._memories.move_to_end(key)
            return memory.fork(), rows[head:]


class DecodeLoop:
    """Decodes many requests together. Not for several threads at once: one worker calls `step`."""

    def __init__(self, model: TokenModel, *, rows: int = 8, prefixes: Prefixes | None = None) -> None:
        """Decode at most `rows` requests at a time; the others wait in order of arrival."""
        self._model, self._rows = model, rows
        self._prefixes = prefixes or Prefixes(model)
        self._waiting: deque[Request] = deque()
        self._active: list[Request] = []
        self._memory: Memory | None = None

    def submit(self, request: Request) -> None:
        """Add a request; it joins at the next step if there is room."""
        self._waiting.append(request)

    def cancel(self, request: Request) -> None:
        """Give up a request; it leaves at the next step."""
        request.done = True

    @property
    def busy(self) -> bool:
        """Whether any request is not done."""
        return bool(self._waiting or self._active)

    @property
    def load(self) -> int:
        """Requests that are not done."""
        return sum(not request.done for request in (*self._waiting, *self._active))

    def step(self) -> list[Request]:
        """Advance every active request by one token and let waiting ones in.

        Returns:
            The requests that got a token or ended.
        """
        self._leave()
        moved = list(self._active)
        if self._active and self._memory is not None:
            rows = [self._model.speech(request.tokens[-1:]) for request in self._active]
            for request, logp in zip(self._active, self._model.feed_batch(rows, self._memory), strict=True):
                request.take(logp, self._model)
        while self._waiting and len(self._active) < self._rows:
            request = self._waiting.popleft()
            moved.append(request)
            if not request.done:
                self._try(request)
        self._leave()
        return moved

    def _try(self, request: Request) -> None:
        """Let a request in; what goes wrong belongs to it, and not to whoever calls `step`."""
        try:
            self._admit(request)
        except (MemoryError, CosyliteError) as error:
            request.error = error
            request.done = True

    def _admit(self, request: Request) -> None:
        if request.limits.bounds(len(request.prompt.text))[1] < 1:
            request.done = True
            return
        memory, rows = self._prefixes.begin(request.prompt)
        request.take(self._model.feed(rows, memory), self._model)
        if self._memory is None or not self._active:
            self._memory = memory
        else:
            self._memory.join(memory)
        self._active.append(request)

    def _leave(self) -> None:
        """Forget the requests that are done."""
        staying = [row for row, request in enumerate(self._active) if not request.done]
        if len(staying) == len(self._active):
            return
        if self._memory is not None:
            self._memory.keep(staying)  # first: where memory does not suffice, both stay as they are
        self._active = [self._active[row] for row in staying]


def decode_together(model: TokenModel, requests: list[Request], *, rows: int = 8) -> None:
    """Decode a fixed set of requests to their ends."""
    loop = DecodeLoop(model, rows=rows)
    for request in requests:
        loop.submit(request)
    while loop.busy:
        loop.step()
