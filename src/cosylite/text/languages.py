"""The parts of one language, loaded at its first use."""

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from cosylite.text.aligned import AlignedText
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
    symbols_from_reading: Callable[[str], str]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def words(self, text: AlignedText) -> list[Word]:
        """Words of normalised text."""
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

    def _load(self, lang: Lang) -> Language:
        normaliser = importlib.import_module(f"cosylite.text.normalise.{lang}")
        module = importlib.import_module(f"cosylite.text.g2p.{lang}")
        factory = getattr(module, _READERS[lang])
        # Latin words in Chinese text are English.
        reader = factory(latin=self["en"].words) if lang == "zh" else factory()
        return Language(
            cast(Callable[[AlignedText], AlignedText], normaliser.normalise),
            cast(Reader, reader),
            lambda reading: cast(str, module.symbols_from_reading(reading)),
        )
