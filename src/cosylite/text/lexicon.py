"""Readings that the user gives for words.

A lexicon file is UTF-8 text with one entry a line: word, language (zh, en, ja, ko) and reading, separated by tabs.
Empty lines and lines that start with `#` are skipped:

    # word    lang    reading
    重庆    zh    chong2 qing4
    東雲    ja    シノノメ
    독립    ko    동닙
    Qwen    en    /kwˈɛn/

Readings are pinyin with tone digits, kana or hangul as pronounced, or phoneme symbols between slashes (every language).
The longest entry that fits wins. Latin words match whole and in any case; Korean entries match at the start of a word.
An entry of Chinese, Japanese or Korean for a Latin word holds in sentences of that language.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cosylite.errors import CosyliteError, InputError, OutputError
from cosylite.text.markup import Reading, reading_of
from cosylite.text.types import LANGS, Lang

_HANGUL = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True)
class Match:
    """An entry found at characters `[start, end)`."""

    start: int
    end: int
    reading: Reading


class Lexicon:
    """Readings by language and word. Immutable; may be shared between threads."""

    def __init__(self, entries: Mapping[tuple[Lang, str], Reading]) -> None:
        self._entries = {(lang, word.casefold()): reading for (lang, word), reading in entries.items()}
        self._patterns = {lang: _pattern([word for of, word in self._entries if of == lang]) for lang in LANGS}

    def __len__(self) -> int:
        return len(self._entries)

    @classmethod
    def of(cls, readings: Mapping[str, str]) -> "Lexicon":
        """A lexicon from readings by word; the form of a reading tells its language (slashes: English).

        Raises:
            InputError: `bad_lexicon` where a word or reading is none.
        """
        entries: dict[tuple[Lang, str], Reading] = {}
        for word, written in readings.items():
            reading = reading_of(written.strip(), 0)
            if reading is None or not word.strip():
                raise _bad(f"the lexicon entry {word!r}: {written!r} has no word or no reading; {_FORMS}")
            entries[reading.lang or "en", word.strip()] = reading
        return cls(entries)

    @classmethod
    def load(cls, path: str | Path) -> "Lexicon":
        """Read a lexicon file (see the module).

        Raises:
            OutputError: `unreadable_file`.
            InputError: `bad_lexicon`, naming the line.
        """
        try:
            lines = Path(path).read_text("utf-8-sig").splitlines()
        except OSError as error:
            raise OutputError(
                f"cannot read the lexicon {path}: {error.strerror}", code="unreadable_file", param="lexicon"
            ) from error
        except UnicodeDecodeError as error:
            raise _bad(f"the lexicon {path} is not UTF-8 (byte {error.start}): save it as UTF-8") from error
        entries: dict[tuple[Lang, str], Reading] = {}
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):
                lang, word, reading = _entry(line, f"line {number} of the lexicon {path}")
                entries[lang, word] = reading
        return cls(entries)

    def find(self, text: str, lang: Lang) -> Iterator[Match]:
        """Entries of one language in `text`, leftmost longest, without overlaps."""
        pattern = self._patterns[lang]
        if pattern is not None:
            for match in pattern.finditer(text):
                yield Match(match.start(), match.end(), self._entries[lang, match[0].casefold()])


_FORMS = "readings are pinyin with tone digits, kana, hangul, or phonemes between slashes"


def _entry(line: str, place: str) -> tuple[Lang, str, Reading]:
    fields = [field.strip() for field in line.split("\t") if field.strip()]
    if len(fields) != 3:
        raise _bad(f"{place} has {len(fields)} fields: write word, language and reading with tabs between them")
    word, tag, written = fields
    lang = next((known for known in LANGS if known == tag), None)
    if lang is None:
        raise _bad(f"{place} names the language {tag!r}: use {', '.join(LANGS)}")
    try:
        reading = reading_of(written, 0)
    except CosyliteError as error:
        raise _bad(f"{place}: {error}") from error
    if reading is None or reading.lang not in (None, lang):
        raise _bad(f"{place} has the reading {written!r}, which is none for {lang}; {_FORMS}")
    return lang, word, reading


def _pattern(words: list[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    return re.compile("|".join(map(_word_pattern, sorted(words, key=len, reverse=True))), re.IGNORECASE)


def _word_pattern(word: str) -> str:
    before = after = ""
    if word[0].isascii() and word[0].isalnum():
        before = "(?<![A-Za-z0-9])"
    elif _HANGUL.match(word[0]):
        before = "(?<![\uac00-\ud7a3])"
    if word[-1].isascii() and word[-1].isalnum():
        after = "(?![A-Za-z0-9])"
    return f"{before}{re.escape(word)}{after}"


def _bad(message: str) -> InputError:
    return InputError(message, code="bad_lexicon", param="lexicon")
