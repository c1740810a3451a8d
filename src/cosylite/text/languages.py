"""The parts of one language, loaded at its first use."""

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ja_kana import kana_symbols
from cosylite.text.g2p.ko_symbols import hangul_symbols
from cosylite.text.g2p.zh_pinyin import pinyin_symbols
from cosylite.text.markup import Reading
from cosylite.text.types import LANGS, Lang, Word

_READERS: dict[Lang, str] = {"zh": "ChineseG2P", "en": "EnglishG2P", "ja": "JapaneseG2P", "ko": "KoreanG2P"}


class Reader(Protocol):
    """Grapheme-to-phoneme conversion of one language."""

    def words(self, text: AlignedText) -> list[Word]:
        """Words of normalised text."""
        ...


@dataclass
class Language:
    """Normaliser and reader of one language; `lock` serialises the reader, whose libraries need not be thread-safe."""

    normalise: Callable[[AlignedText], AlignedText]
    reader: Reader
    lock: threading.Lock = field(default_factory=threading.Lock)

    def words(self, text: AlignedText) -> list[Word]:
        """Words of normalised text."""
        if not any(character.isalnum() for character in text.text):
            return []
        with self.lock:
            return self.reader.words(text)


class Languages:
    """Loads languages at their first use; may be shared between threads."""

    def __init__(self) -> None:
        self._loaded: dict[Lang, Language] = {}
        self._locks: dict[Lang, threading.Lock] = {lang: threading.Lock() for lang in LANGS}

    def __getitem__(self, lang: Lang) -> Language:
        found = self._loaded.get(lang)
        if found is None:
            with self._locks[lang]:
                found = self._loaded.get(lang) or self._load(lang)
                self._loaded[lang] = found
        return found

    def symbols(self, reading: Reading) -> str:
        """Phoneme symbols of a reading that the user gave.

        Raises:
            InputError: `bad_reading` where it holds a syllable that the language does not have.
        """
        if reading.lang is None:
            return reading.text
        convert = {"zh": pinyin_symbols, "ja": kana_symbols, "ko": hangul_symbols}[reading.lang]
        symbols = convert(reading.text)
        if not symbols:
            raise InputError(
                f"the reading {reading.text!r} is none of {reading.lang}: check its syllables",
                code="bad_reading",
                param="text",
            )
        return symbols

    def _load(self, lang: Lang) -> Language:
        normaliser = importlib.import_module(f"cosylite.text.normalise.{lang}")
        module = importlib.import_module(f"cosylite.text.g2p.{lang}")
        factory = getattr(module, _READERS[lang])
        # Latin words in Chinese text are English.
        reader = factory(latin=lambda text: self["en"].words(text)) if lang == "zh" else factory()
        return Language(
            cast(Callable[[AlignedText], AlignedText], normaliser.normalise),
            cast(Reader, reader),
        )
