"""Text of the official families that arrives in pieces.

What comes out depends on the characters only, never on how they were cut into pieces.
"""

from collections.abc import Callable, Iterable, Iterator

from cosylite.text.family.normalise import FamilyText, contains_chinese, only_punctuation

_ENDS = "。？！；?!;\n"
_CLAUSES = "，、：,:"
_CLOSING = "\"'”’)）]」』"
_OPENED = {"[": "]", "<": ">"}
_TAG = 24
"""Longest piece in brackets that the tokenizers know; more than that is no tag."""
_WORDS = 10
"""Characters without spaces that are waited for, so that words are not cut."""


class SentenceFeed:
    """Cuts growing text into stretches of whole sentences: a short one first, longer ones after it."""

    def __init__(self, text: FamilyText, *, first: int = 12, later: int = 60) -> None:
        """A stretch ends with a sentence once it has `first` characters, after the first stretch `later`."""
        self._text, self._least, self._later = text, first, later
        self._buffer = ""

    def push(self, piece: str) -> list[str]:
        """Normalised segments that are complete now."""
        found: list[str] = []
        for char in piece:
            if self._ends_before(char):
                found += self._cut()
            self._buffer += char
        return found

    def flush(self) -> list[str]:
        """The rest, whether complete or not."""
        return self._cut()

    def _ends_before(self, char: str) -> bool:
        text = self._buffer.rstrip(_CLOSING)
        if len(self._buffer.strip()) < self._least or char in _CLOSING or char in _ENDS:
            return False
        return text[-1:] in tuple(_ENDS) or (text[-1:] == "." and char.isspace())

    def _cut(self) -> list[str]:
        text, self._buffer = self._buffer, ""
        segments = [segment for segment in self._text.segments(text) if segment] if text.strip() else []
        if segments:
            self._least = self._later
        return segments


class WordFeed:
    """Gives growing text on as soon as no word, number or tag can be cut any more."""

    def __init__(self, text: FamilyText) -> None:
        self._text = text
        self._buffer = ""
        self._open = ""
        """What closes the bracket that the buffer is in."""

    def push(self, piece: str) -> Iterator[str]:
        """Stretches that are complete now, numbers in words."""
        for char in piece:
            if self._buffer and self._breaks_before(char):
                yield self._cut()
            self._buffer += char
            self._follow(char)

    def flush(self) -> Iterator[str]:
        """The rest."""
        if self._buffer:
            yield self._cut()

    def _follow(self, char: str) -> None:
        if self._open and (char == self._open or len(self._buffer) - self._buffer.rfind(_opener(self._open)) > _TAG):
            self._open = ""
        elif not self._open:
            self._open = _OPENED.get(char, "")

    def _breaks_before(self, char: str) -> bool:
        if self._open:
            return False
        last = self._buffer[-1]
        if char.isspace():
            return not last.isspace()
        if last in _ENDS or last in _CLAUSES:
            return not (char.isdigit() or char in _CLOSING or char in _ENDS)
        return len(self._buffer) >= _WORDS and not last.isascii() and not char.isascii() and char.isalpha()

    def _cut(self) -> str:
        stretch, self._buffer, self._open = self._buffer, "", ""
        if not any(char.isdigit() for char in stretch):
            return stretch.replace("\n", " ")
        words = self._text.verbalise(stretch.strip(), chinese=contains_chinese(stretch))
        return (" " if stretch[0].isspace() else "") + words.replace("\n", " ")


def _opener(closing: str) -> str:
    return next(opening for opening, end in _OPENED.items() if end == closing)


class TextSequences:
    """Text in pieces as sequences for a language model that speaks while it reads.

    A sequence ends with a sentence once it has `longest` ids, so that none grows without bounds.
    """

    def __init__(
        self, pieces: Iterable[str], text: FamilyText, encode: Callable[[str], list[int]], *, longest: int = 60
    ) -> None:
        self._stretches = _stretches(pieces, WordFeed(text))
        self._encode, self._longest = encode, longest
        self._next: str | None = None
        self._ended = False

    def __iter__(self) -> Iterator["TextSequence"]:
        """The sequences; each must be read to its end before the next is asked for."""
        while self._more():
            yield TextSequence(self._read)

    def _more(self) -> bool:
        while self._next is None or only_punctuation(self._next.strip()):
            self._next = next(self._stretches, None)
            if self._next is None:
                return False
        return True

    def _read(self, spoken: list[str]) -> Iterator[list[int]]:
        count = 0
        while self._next is not None:
            stretch = self._next
            ids = self._encode(stretch)
            count += len(ids)
            spoken.append(stretch)
            for number in ids:
                yield [number]
            self._next = None
            if count >= self._longest and stretch.rstrip()[-1:] in (*_ENDS, "."):
                return
            self._next = next(self._stretches, None)


class TextSequence:
    """One sequence: iterate to get its ids, one at a time; `text` is what has been read."""

    def __init__(self, read: Callable[[list[str]], Iterator[list[int]]]) -> None:
        self._read = read
        self._spoken: list[str] = []

    def __iter__(self) -> Iterator[list[int]]:
        return self._read(self._spoken)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._spoken).strip()


def _stretches(pieces: Iterable[str], feed: WordFeed) -> Iterator[str]:
    for piece in pieces:
        yield from feed.push(piece)
    yield from feed.flush()
