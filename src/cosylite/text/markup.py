"""placeholder"""

from dataclasses import dataclass

from cosylite.text.aligned import AlignedText
from cosylite.text.types import Lang


@dataclass(frozen=True)
class Reading:
    """A reading that the user gives for a stretch of text."""

    lang: Lang | None
    """Language that the reading is written for; None: that of the text around (phonemes between slashes)."""
    text: str


@dataclass(frozen=True)
class Style:
    """What markup says about a stretch of text."""

    lang: Lang | None = None
    rate: float = 1.0
    reading: Reading | None = None


PLAIN = Style()


@dataclass(frozen=True)
class Run:
    """Text of one style."""

    text: AlignedText
    style: Style = PLAIN


@dataclass(frozen=True)
class Stop:
    """A sentence must end here; `pause` in seconds follows it (None: the engine's default)."""

    pause: float | None = None


Item = Run | Stop


class Markup:
    """placeholder"""

    def feed(self, text: AlignedText) -> list[Item]:
        return [Run(text)] if text else []

    def flush(self) -> list[Item]:
        return []
