"""Which tokens go to the flow when: the chunks of the official code, and those of exact streaming."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cosylite.runtime.family.kinds import Family


@dataclass(frozen=True)
class TokenChunk:
    """Tokens for one call of the flow."""

    tokens: list[int]
    done: int
    """How many of `tokens` earlier chunks have spoken already; their frames are dropped."""
    final: bool
    dropped: int = 0
    """How many tokens before `tokens` are left out, where the view to the left is bounded."""


class Chunker(Protocol):
    """Cuts the growing tokens of one segment."""

    @property
    def needed(self) -> int | None:
        """Tokens there must be for the next chunk, unless the speech ends before; None: all."""
        ...

    def take(self, tokens: Sequence[int], *, ended: bool) -> TokenChunk | None:
        """The next chunk of the tokens so far; None while there are too few. The last one is `final`."""
        ...


class WholeChunker:
    """Everything at once."""

    needed = None

    def take(self, tokens: Sequence[int], *, ended: bool) -> TokenChunk | None:
        """See `Chunker`."""
        return TokenChunk(list(tokens), 0, True) if ended else None


class CausalChunker:
    """v2 and v3: every call of the flow gets all tokens so far, or with `window` those that are not too long ago.

    Chunks may only end where the attention chunks of the models end.
    """

    def __init__(
        self,
        first: int,
        hop: int,
        *,
        longest: int = 100,
        look_ahead: int = 3,
        window: int | None = None,
        grid: int = 25,
    ) -> None:
        """
        Args:
            first: tokens of the first chunk.
            hop: tokens of the second; every later one has twice as many, up to `longest`.
            look_ahead: tokens that must follow a chunk.
            window: tokens before a chunk that the flow is shown again; None: all of them.
            grid: tokens of an attention chunk; only multiples of it are left out.
        """
        self._size, self._hop, self._longest = first, hop, longest
        self._ahead, self._window, self._grid = look_ahead, window, grid
        self._done = 0

    @property
    def needed(self) -> int | None:
        """See `Chunker`."""
        return self._done + self._size + self._ahead

    def take(self, tokens: Sequence[int], *, ended: bool) -> TokenChunk | None:
        """See `Chunker`."""
        needed = self._done + self._size + self._ahead
        if len(tokens) >= needed:
            chunk = self._chunk(tokens[:needed], final=False)
            self._done += self._size
            self._size, self._hop = self._hop, min(2 * self._hop, self._longest)
            return chunk
        return self._chunk(tokens, final=True) if ended else None

    def _chunk(self, tokens: Sequence[int], *, final: bool) -> TokenChunk:
        unseen = 0 if self._window is None else max(0, self._done - self._window)
        dropped = unseen // self._grid * self._grid
        return TokenChunk(list(tokens[dropped:]), self._done - dropped, final, dropped)


class OverlapChunker:
    """v1: chunks of constant length, each repeating the last tokens of the one before."""

    def __init__(self, hop: int = 100, overlap: int = 20) -> None:
        self._hop, self._overlap = hop, overlap
        self._start = 0

    @property
    def needed(self) -> int | None:
        """See `Chunker`."""
        return self._start + self._hop + self._overlap

    def take(self, tokens: Sequence[int], *, ended: bool) -> TokenChunk | None:
        """See `Chunker`."""
        end = self._start + self._hop + self._overlap
        if len(tokens) >= end:
            chunk = TokenChunk(list(tokens[self._start : end]), 0, False)
            self._start += self._hop
            return chunk
        return TokenChunk(list(tokens[self._start :]), 0, True) if ended else None


OFFICIAL_HOP = 25
"""Tokens of the first official chunks of v2 and v3."""
EXACT_FIRST = 10
"""Tokens of the first exact chunk at least; the vocoder holds back about as many."""


def official_chunker(family: Family, prompt_tokens: int) -> Chunker:
    """Cuts as the official code of a family does; in v2 and v3 the first chunk makes the prompt fill whole hops."""
    if family == "v1":
        return OverlapChunker()
    return CausalChunker(OFFICIAL_HOP + -prompt_tokens % OFFICIAL_HOP, 2 * OFFICIAL_HOP)


def exact_chunker(
    prompt_tokens: int, grid: int, look_ahead: int, *, hop: int | None = None, window: int | None = None
) -> Chunker:
    """Cuts at the ends of attention chunks of `grid` tokens: a small chunk, then larger ones or `hop` each time."""
    first = EXACT_FIRST + -(prompt_tokens + EXACT_FIRST) % grid
    if hop is None:
        return CausalChunker(first, grid, longest=4 * grid, look_ahead=look_ahead, window=window, grid=grid)
    size = -(-hop // grid) * grid
    return CausalChunker(first, size, longest=size, look_ahead=look_ahead, window=window, grid=grid)


def chunks_of(tokens: Iterable[int], chunker: Chunker) -> Iterator[TokenChunk]:
    """Chunks of a stream of tokens."""
    waiting: list[int] = []
    for token in tokens:
        waiting.append(token)
        chunk = chunker.take(waiting, ended=False)
        if chunk is not None:
            yield chunk
    last = chunker.take(waiting, ended=True)
    while last is not None and not last.final:
        yield last
        last = chunker.take(waiting, ended=True)
    if last is not None:
        yield last


def official_chunks(family: Family, tokens: Iterable[int], prompt_tokens: int) -> Iterator[TokenChunk]:
    """The chunks that the official code of a family makes of a stream of tokens."""
    return chunks_of(tokens, official_chunker(family, prompt_tokens))
