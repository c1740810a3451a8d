"""Clauses, quotations and sentences of a text, the contexts that decide open Han characters and punctuation."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

OPENING = "“「『《〈‘（【("
CLOSING = "”」』》〉’）】)"
SENTENCE_MARKS = "。！？!?．｡."
LINE_MARKS = "\n\r\u2028\u2029"
_BREAK = re.compile(rf"[{LINE_MARKS}]|[。！？!?．｡]|\.(?=\s|$)|[,，、;；:：]|[{OPENING}{CLOSING}\"]")


@dataclass(slots=True)
class Clause:
    """A stretch between breaks. A quotation is a clause of its own; the clause around it goes on behind it."""

    sentence: int
    context: int
    """The sentence, or the quotation inside it, that sets the main language."""
    line: int


@dataclass
class Contexts:
    """Where clauses begin, and which quotation marks belong together."""

    clauses: list[Clause] = field(default_factory=list)
    pairs: dict[int, int] = field(default_factory=dict)
    """Position of each opening mark -> its closing mark."""
    openers: dict[int, int] = field(default_factory=dict)
    """Position of each closing mark -> its opening mark."""
    _cuts: list[int] = field(default_factory=list)
    _ids: list[int] = field(default_factory=list)
    _counter: int = 0
    _line: int = 0

    @classmethod
    def of(cls, text: str) -> "Contexts":
        """Scan `text` once."""
        contexts = cls()
        sentence = contexts._next()
        contexts._begin(0, sentence, sentence)
        stack: list[tuple[int, int]] = []
        for match in _BREAK.finditer(text):
            mark, at = match.group(), match.start()
            current = contexts.clauses[contexts._ids[-1]]
            if mark in LINE_MARKS:
                contexts._line += 1
            if mark in LINE_MARKS or (mark in SENTENCE_MARKS and not stack):
                stack = []
                sentence = contexts._next()
                contexts._begin(at + 1, sentence, sentence)
            elif stack and _closes(text[stack[-1][0]], mark):
                contexts._close(at, *stack.pop())
            elif mark in OPENING or mark == '"':
                stack.append((at, contexts._ids[-1]))
                contexts._begin(at + 1, current.sentence, contexts._next())
            elif mark not in CLOSING:
                contexts._begin(at + 1, current.sentence, current.context)
        return contexts

    def clause_at(self, position: int) -> int:
        """Index of the clause that holds a character."""
        return self._ids[bisect_right(self._cuts, position) - 1]

    def _next(self) -> int:
        self._counter += 1
        return self._counter

    def _begin(self, at: int, sentence: int, context: int) -> None:
        self.clauses.append(Clause(sentence, context, self._line))
        self._cuts.append(at)
        self._ids.append(len(self.clauses) - 1)

    def _close(self, at: int, opener: int, outer: int) -> None:
        self.pairs[opener], self.openers[at] = at, opener
        self._cuts.append(at)
        self._ids.append(outer)


def _closes(opening: str, mark: str) -> bool:
    if opening == '"':
        return mark == '"'
    return mark in CLOSING and OPENING.index(opening) == CLOSING.index(mark)
