"""A stretch of text that an official model speaks in one go."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TextSegment:
    """The normalised text and its ids."""

    text: str
    ids: tuple[int, ...]
