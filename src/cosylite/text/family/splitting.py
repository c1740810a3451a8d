"""Sentence splitting of the official front-end: pieces at every terminator, joined up to a length."""

from collections.abc import Callable
from dataclasses import dataclass

_TERMINATORS = {"zh": "。？！；：、.?!;", "en": ".?!;:"}
_COMMAS = "，,"
_CLOSING = '"”'


@dataclass(frozen=True)
class SplitRules:
    """Lengths in characters (Chinese) or tokens (otherwise)."""

    longest: int = 80
    """A segment is closed when the next piece would carry it beyond this, ..."""
    enough: int = 60
    """... if it has more than this."""
    shortest: int = 20
    """A last segment below this joins the one before."""
    at_commas: bool = False


def split(text: str, *, chinese: bool, length: Callable[[str], int], rules: SplitRules = SplitRules()) -> list[str]:
    """Segments of a text; a sentence is never cut inside, however long. No text gives no segments."""
    if not text:
        return []
    terminators = _TERMINATORS["zh" if chinese else "en"] + (_COMMAS if rules.at_commas else "")
    if text[-1] not in terminators:
        text += "。" if chinese else "."
    return _merge(_pieces(text, terminators), length, rules)


def _pieces(text: str, terminators: str) -> list[str]:
    """Cut after every terminator; one that follows another is dropped, and a closing quote stays with its piece."""
    pieces: list[str] = []
    start = 0
    for i, char in enumerate(text):
        if char not in terminators:
            continue
        if i > start:
            pieces.append(text[start : i + 1])
        start = i + 1
        if pieces and text[start : start + 1] in _CLOSING and start < len(text):
            pieces[-1] += text[start]
            start += 1
    return pieces


def _merge(pieces: list[str], length: Callable[[str], int], rules: SplitRules) -> list[str]:
    segments: list[str] = []
    current = ""
    for piece in pieces:
        if length(current + piece) > rules.longest and length(current) > rules.enough:
            segments.append(current)
            current = ""
        current += piece
    if current and segments and length(current) < rules.shortest:
        segments[-1] += current
    elif current:
        segments.append(current)
    return segments
