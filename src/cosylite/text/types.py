"""Values that the text frontend passes on."""

from dataclasses import dataclass, field
from typing import Literal

Lang = Literal["zh", "en", "ja", "ko"]
LANGS: tuple[Lang, ...] = ("zh", "en", "ja", "ko")


@dataclass(frozen=True)
class Span:
    """A stretch of the text in one language: characters `[start, end)` of the text as typed."""

    lang: Lang
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Word:
    """One spoken word.

    `text`, `start`, `end` refer to the text as typed; `symbols` is a string in which every character is one
    phoneme symbol of `symbols.SYMBOLS` (spaces and punctuation are words of their own or `after`);
    `reading` is pinyin with tone digits (zh, syllables joined by spaces; the tones of the dictionary, while `symbols`
    have those after sandhi), katakana (ja), hangul as pronounced (ko), and the phonemes again (en).
    """

    text: str
    start: int
    end: int
    symbols: str
    reading: str
    after: str = ""
    """Punctuation symbols that follow the word directly, such as ``","``; drives pauses."""
    accent: int | None = None
    """Japanese pitch accent: the mora after which the pitch falls (0: flat); None where unknown."""


@dataclass(frozen=True)
class SpokenSpan:
    """A span after normalisation and grapheme-to-phoneme conversion."""

    span: Span
    normalised: str
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Sentence:
    """What one run of the acoustic model speaks: spans in order, with the pause that follows."""

    spans: tuple[SpokenSpan, ...]
    start: int
    end: int
    pause_seconds: float | None = None
    """Explicit pause after the sentence (`[pause 500ms]`, `<break>`); None: the engine's default."""
    rate: float = 1.0
    """Speaking-rate factor from markup (`<prosody rate>`)."""
    words: tuple[Word, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(word for span in self.spans for word in span.words))
