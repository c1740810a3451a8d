"""Reads one sentence: language spans, normalisation, readings, and what the user overrides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby

from cosylite.text.aligned import AlignedText
from cosylite.text.languages import Languages
from cosylite.text.markup import Style
from cosylite.text.spans import split_languages
from cosylite.text.symbols import PUNCTUATION
from cosylite.text.types import Lang, Sentence, Span, SpokenSpan, Word

Source = Callable[[int, int], str]
"""The text as typed between two positions."""

_MARKS = {"，": ",", "、": ",", "；": ";", "：": ":", "。": ".", "｡": ".", "！": "!", "？": "?", "–": "—", "―": "—"}
_MARKS |= {mark: mark for mark in ";:,.!?—…"}


@dataclass(frozen=True)
class _Stretch:
    """Characters `[start, end)` of the sentence in one language."""

    lang: Lang
    start: int
    end: int


class SentenceReader:
    """Reads the sentences of one text in order; remembers the language for what follows.

    Args:
        languages: the readers.
        lang: language of everything, or None to find out.
        default_han: language of Han-only text that says nothing else.
    """

    def __init__(self, languages: Languages, lang: Lang | None, default_han: Lang) -> None:
        self._languages = languages
        self._lang = lang
        self._han = default_han
        self._last: Lang | None = None

    def read(
        self, text: AlignedText, styles: tuple[Style, ...], source: Source, pause: float | None
    ) -> Sentence | None:
        """One sentence, or None where nothing in it is spoken.

        Args:
            text: the sentence, aligned with the original.
            styles: per character, what markup says.
            source: gives the original text between two positions.
            pause: explicit pause after it in seconds.
        """
        text = AlignedText(text.text.replace("\n", " "), text.starts, text.ends)
        spans = [self._span(text, stretch, styles, source) for stretch in self._stretches(text.text, styles)]
        spans = _settle_marks(spans)
        if not any(span.words for span in spans):
            return None
        return Sentence(tuple(spans), text.starts[0], text.ends[-1], pause, styles[-1].rate)

    def _stretches(self, text: str, styles: tuple[Style, ...]) -> list[_Stretch]:
        found: list[_Stretch] = []
        start = 0
        for lang, group in groupby(styles, lambda style: style.lang):
            end = start + sum(1 for _ in group)
            found.extend(self._split(text[start:end], start, lang))
            start = end
        return _merged(found)

    def _split(self, text: str, offset: int, forced: Lang | None) -> list[_Stretch]:
        lang = forced or self._lang or (None if any(c.isalpha() for c in text) else self._last)
        spans = split_languages(text, lang=lang or "auto", default_han=self._han)
        if forced is None:
            for span in spans:
                if span.lang in ("zh", "ja"):
                    self._han = span.lang
                self._last = span.lang
        return [_Stretch(span.lang, offset + span.start, offset + span.end) for span in spans]

    def _span(self, text: AlignedText, stretch: _Stretch, styles: tuple[Style, ...], source: Source) -> SpokenSpan:
        part = text.slice(stretch.start, stretch.end)
        language = self._languages[stretch.lang]
        normalised = language.normalise(part)
        words = tuple(replace(word, text=source(word.start, word.end)) for word in language.words(normalised))
        start, end = part.starts[0], part.ends[-1]
        return SpokenSpan(Span(stretch.lang, start, end, source(start, end)), normalised.text, words)


def _merged(stretches: list[_Stretch]) -> list[_Stretch]:
    """Neighbours of one language as one stretch."""
    merged: list[_Stretch] = []
    for stretch in stretches:
        if merged and merged[-1].lang == stretch.lang:
            merged[-1] = replace(merged[-1], end=stretch.end)
        else:
            merged.append(stretch)
    return merged


def _settle_marks(spans: list[SpokenSpan]) -> list[SpokenSpan]:
    """Give punctuation at the start of a span to the word before it; words that are only punctuation go."""
    settled: list[SpokenSpan] = []
    for span in spans:
        words = [word for word in span.words if word.symbols.strip(PUNCTUATION + " ")]
        mark = _leading_mark(span.normalised)
        holder = next((i for i in reversed(range(len(settled))) if settled[i].words), None)
        if mark and holder is not None and not settled[holder].words[-1].after:
            before = settled[holder]
            last = replace(before.words[-1], after=mark)
            settled[holder] = SpokenSpan(before.span, before.normalised, (*before.words[:-1], last))
        settled.append(SpokenSpan(span.span, span.normalised, tuple(words)))
    return settled


def _leading_mark(text: str) -> str:
    """The symbol of the first punctuation before the first letter, or nothing."""
    for character in text:
        if character.isalnum():
            break
        if character in _MARKS:
            return _MARKS[character]
    return ""
