"""Reads one sentence: language spans, normalisation, readings, and what the user overrides."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ko_latin import LatinReader
from cosylite.text.g2p.zh_pinyin import LETTER_NAMES
from cosylite.text.languages import Languages
from cosylite.text.lexicon import Lexicon
from cosylite.text.markup import Reading, SayAs, Style, join
from cosylite.text.say_as import rewrite
from cosylite.text.spans import split_languages
from cosylite.text.symbols import PUNCTUATION
from cosylite.text.types import Lang, Sentence, Span, SpokenSpan, Word

T = TypeVar("T")
Source = Callable[[int, int], str]
"""The text as typed between two positions."""

_HANJA_GLOSS = re.compile("(?<=[가-힣])[(（][一-鿿]{1,10}[)）]")
"""Chinese characters that repeat a Korean word: 사고(思考). They are not read."""
_LATIN = re.compile(r"[A-Za-z]+")
_FEW_WORDS = re.compile(r" *[^\W_][\w.&'’+#-]*(?: [^\W_][\w.&'’+#-]*)? *")
_MARKS = {"，": ",", "、": ",", "；": ";", "：": ":", "。": ".", "｡": ".", "！": "!", "？": "?", "–": "—", "―": "—"}
_MARKS |= {mark: mark for mark in ";:,.!?—…"}


@dataclass(frozen=True, eq=False)
class _Override:
    """What replaces the usual reading of some neighbouring characters."""

    reading: Reading | None = None
    say_as: SayAs | None = None


@dataclass(frozen=True)
class _Piece:
    """A part of a span that was read in one go."""

    written: str
    normalised: str
    words: tuple[Word, ...]
    goes_on: bool = False
    """Whether the piece before belongs to the same span."""


class SentenceReader:
    """Reads the sentences of one text in order; remembers the language for what follows.

    Args:
        languages: normalisers and readers.
        lexicon: readings of the user.
        lang: language of everything that can be read in it, or None to find out.
        default_han: language of Han-only text that says nothing else.
        skip_unknown: leave out characters that no language reads.
    """

    def __init__(
        self,
        languages: Languages,
        lexicon: Lexicon,
        lang: Lang | None,
        default_han: Lang,
        *,
        skip_unknown: bool = False,
    ) -> None:
        self._languages = languages
        self._lexicon = lexicon
        self._lang = lang
        self._han = default_han
        self._last: Lang | None = None
        self._skip_unknown = skip_unknown
        self._korean_latin = LatinReader()

    def read(self, text: AlignedText, styles: Sequence[Style], source: Source, pause: float | None) -> Sentence | None:
        """One sentence, or None where nothing in it is spoken.

        Args:
            text: the sentence, aligned with the original.
            styles: per character, what markup says.
            source: gives the original text between two positions.
            pause: explicit pause after it in seconds.

        Raises:
            InputError: `bad_reading`, `unsupported_language`.
        """
        text = AlignedText(text.text.replace("\n", " "), text.starts, text.ends)
        langs = self._langs(text.text, styles)
        overrides = _overrides(text.text, langs, styles)
        self._look_up(text.text, langs, overrides)
        read: list[tuple[Lang, AlignedText, list[_Piece]]] = []
        for lang, start, end in _stretches(langs):
            if lang is not None:
                part = text.slice(start, end)
                host = self._host(text.text, langs, start, end) if lang == "en" else lang
                found = list(self._pieces(host, part, overrides[start:end], source))
                read.append((lang, part, [replace(piece, goes_on=i > 0) for i, piece in enumerate(found)]))
        pieces = _settled([piece for _, _, found in read for piece in found])
        if not any(piece.words for piece in pieces):
            return None
        left = iter(pieces)
        spans = tuple(_span(lang, part, [next(left) for _ in found], source) for lang, part, found in read)
        return Sentence(spans, text.starts[0], text.ends[-1], pause, styles[-1].rate)

    def look_ahead(self, sample: str) -> None:
        """Expect the Han language that a text begins with, as all of `sample` tells."""
        spans = split_languages(sample, default_han=self._han, skip_unknown=True)
        self._han = next((span.lang for span in spans if span.lang in ("zh", "ja")), self._han)

    def _langs(self, text: str, styles: Sequence[Style]) -> list[Lang | None]:
        """The language of every character; None for what is to be skipped."""
        langs: list[Lang | None] = []
        for forced, start, end in _stretches([style.lang for style in styles]):
            part = text[start:end]
            lang = forced or self._lang or self._hint(part)
            found: list[Lang | None] = [None] * len(part)
            for span in split_languages(
                part, lang=lang or "auto", default_han=self._han, skip_unknown=self._skip_unknown
            ):
                found[span.start : span.end] = [span.lang] * (span.end - span.start)
                if forced is None:
                    self._last = span.lang
                    self._han = span.lang if span.lang in ("zh", "ja") else self._han
            if forced is None:
                for gloss in _HANJA_GLOSS.finditer(part):
                    found[gloss.start() : gloss.end()] = [None] * len(gloss.group())
            langs.extend(found)
        return [
            style.reading.lang if style.reading and style.reading.lang else lang
            for lang, style in zip(langs, styles, strict=True)
        ]

    def _hint(self, text: str) -> Lang | None:
        """Language of text whose letters say nothing: that of the text before, else English unless its marks are wide.

        The letters of plain ASCII may all be units and codes (`2 x 3 = 6`, `3D`).
        """
        if text.isascii():
            return self._last or "en"
        return None if any(character.isalpha() for character in text) else self._last

    def _host(self, text: str, langs: list[Lang | None], start: int, end: int) -> Lang:
        """The language that reads Latin letters: Japanese or Korean read one or two words among their own as theirs.

        Korean does so with loanwords and acronyms only. What stands in quotes, or between other marks, is English.
        """
        around = {langs[i] for i in (start - 1, end) if 0 <= i < len(langs)}
        before, after = text[:start].rstrip()[-1:], text[end:].lstrip()[:1]
        if not _FEW_WORDS.fullmatch(text[start:end]) or not (before.isalnum() or after.isalnum()):
            return "en"
        # The letters that carry Japanese or Korean grammar must outnumber the Latin words of the sentence.
        words = len(_LATIN.findall(text))
        if around == {"ja"} and sum("\u3041" <= character <= "\u3096" for character in text) >= words:
            return "ja"
        if around == {"ko"} and sum("\uac00" <= character <= "\ud7a3" for character in text) >= 2 * words:
            known = all(map(self._korean_latin.knows, _LATIN.findall(text[start:end])))
            return "ko" if known else "en"
        return "en"

    def _look_up(self, text: str, langs: list[Lang | None], overrides: list[_Override | None]) -> None:
        """Put the entries of the user's lexicon into `overrides` (and `langs`, for Latin words in other languages)."""
        if not len(self._lexicon):
            return
        around = [lang for lang in dict.fromkeys(langs) if lang is not None and lang != "en"]
        for lang, start, end in _stretches(list(langs)):
            if lang is None:
                continue
            for entries in [*around, lang] if lang == "en" else [lang]:
                for match in self._lexicon.find(text[start:end], entries):
                    place = slice(start + match.start, start + match.end)
                    if not any(overrides[place]):
                        overrides[place] = [_Override(match.reading)] * (match.end - match.start)
                        langs[place] = [entries] * (match.end - match.start)

    def _pieces(
        self, lang: Lang, part: AlignedText, overrides: Sequence[_Override | None], source: Source
    ) -> Iterator[_Piece]:
        """A span cut at readings. Kana readings go into Japanese text, where particles need to see them."""
        text = AlignedText("", (), ())
        kana: list[tuple[int, int, str]] = []
        for override, start, end in _stretches(overrides):
            chunk = part.slice(start, end)
            if override is None:
                text = join(text, chunk)
            elif override.reading is None:
                text = join(text, self._said(override.say_as, chunk, lang))
            elif lang == "ja" and override.reading.lang == "ja":
                place = chunk.source(0, len(chunk))
                kana.append((*place, override.reading.text))
                count = len(override.reading.text)
                text = join(text, AlignedText(override.reading.text, (place[0],) * count, (place[1],) * count))
            else:
                yield from self._read(lang, text, kana, source)
                text, kana = AlignedText("", (), ()), []
                word = self._word(chunk, override.reading, source)
                yield _Piece(chunk.text, chunk.text, (word,))
        yield from self._read(lang, text, kana, source)

    def _read(
        self, lang: Lang, text: AlignedText, kana: list[tuple[int, int, str]], source: Source
    ) -> Iterator[_Piece]:
        if not text.text:
            return
        language = self._languages[lang]
        normalised = language.normalise(text)
        words = [replace(word, text=source(word.start, word.end)) for word in language.words(normalised)]
        for start, end, reading in kana:
            words = self._exactly(words, start, end, reading, source)
        yield _Piece(text.text, normalised.text, tuple(words))

    def _exactly(self, words: list[Word], start: int, end: int, kana: str, source: Source) -> list[Word]:
        """Replace the words of `[start, end)` by one read as `kana`, unless a word goes on beyond."""
        inside = [i for i, word in enumerate(words) if word.start < end and word.end > start]
        if not inside or any(words[i].start < start or words[i].end > end for i in inside):
            return words
        first, last = words[inside[0]], words[inside[-1]]
        symbols = self._languages.symbols(Reading("ja", kana))
        accent = first.accent if first is last else None
        word = Word(source(start, end), start, end, symbols, kana, last.after, accent)
        return [*words[: inside[0]], word, *words[inside[-1] + 1 :]]

    def _word(self, chunk: AlignedText, reading: Reading, source: Source) -> Word:
        start, end = chunk.source(0, len(chunk))
        return Word(source(start, end), start, end, self._languages.symbols(reading), reading.text)

    def _said(self, say_as: SayAs | None, chunk: AlignedText, lang: Lang) -> AlignedText:
        return rewrite(say_as, chunk, lang) if say_as is not None else chunk


def _stretches(values: Sequence[T]) -> Iterator[tuple[T, int, int]]:
    """Runs of equal neighbours with their range."""
    start = 0
    for value, group in groupby(values):
        end = start + sum(1 for _ in group)
        yield value, start, end
        start = end


def _overrides(text: str, langs: list[Lang | None], styles: Sequence[Style]) -> list[_Override | None]:
    """Per character, what markup asks for. Latin letters that are to be spelt have their names."""
    made: dict[int, _Override | None] = {}
    overrides: list[_Override | None] = []
    for character, lang, style in zip(text, langs, styles, strict=True):
        if id(style) not in made:
            wanted = style.reading is not None or style.say_as is not None
            made[id(style)] = _Override(style.reading, style.say_as) if wanted else None
        override = made[id(style)]
        if style.say_as and style.say_as.kind == "characters" and lang in ("en", "zh"):
            name = LETTER_NAMES.get(character.lower())
            override = _Override(Reading(None, name)) if name else override
        overrides.append(override)
    return overrides


def _settled(pieces: list[_Piece]) -> list[_Piece]:
    """Drop words that are only punctuation, give punctuation that leads a piece to the word before it, and write the
    parts of one Korean word as one word."""
    settled: list[_Piece] = []
    for piece in pieces:
        words = tuple(word for word in piece.words if word.symbols.strip(PUNCTUATION + " "))
        holder = next((i for i in reversed(range(len(settled))) if settled[i].words), None)
        mark = _leading_mark(piece.normalised)
        if holder is not None:
            before = settled[holder]
            last = before.words[-1]
            if mark and not last.after:
                settled[holder] = replace(before, words=(*before.words[:-1], replace(last, after=mark)))
            elif (
                words and piece.goes_on and before is settled[-1] and _is_one_korean_word(before.written, piece.written)
            ):
                joined = replace(
                    words[0],
                    text=last.text + words[0].text,
                    start=last.start,
                    symbols=last.symbols + words[0].symbols,
                    reading=last.reading + words[0].reading,
                )
                settled[holder] = replace(before, words=before.words[:-1])
                words = (joined, *words[1:])
        settled.append(replace(piece, words=words))
    return settled


def _is_one_korean_word(before: str, after: str) -> bool:
    """Whether hangul goes on without a blank from one piece to the next."""
    return all("\uac00" <= character <= "\ud7a3" for character in (before[-1:] or " ") + (after[:1] or " "))


def _leading_mark(text: str) -> str:
    """The symbol of the first punctuation before the first letter, or nothing."""
    for character in text:
        if character.isalnum():
            break
        if character in _MARKS:
            return _MARKS[character]
    return ""


def _span(lang: Lang, part: AlignedText, pieces: list[_Piece], source: Source) -> SpokenSpan:
    start, end = part.starts[0], part.ends[-1]
    normalised = "".join(piece.normalised for piece in pieces)
    words = tuple(word for piece in pieces for word in piece.words)
    return SpokenSpan(Span(lang, start, end, source(start, end)), normalised, words)
