"""What the English normalisation rules share: their type, and the text around a match."""

import re
from collections.abc import Callable

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]]
_WINDOW = 80


def before(match: re.Match[str]) -> str:
    """Up to 80 characters in front of the match."""
    return match.string[max(0, match.start() - _WINDOW) : match.start()]


def after(match: re.Match[str]) -> str:
    """Up to 80 characters behind the match."""
    return match.string[match.end() : match.end() + _WINDOW]


def around(match: re.Match[str]) -> str:
    """The match with its surroundings."""
    return before(match) + match.group() + after(match)
