"""Japanese readings: the dictionary of haqumei, then katakana to phoneme symbols."""

import importlib
import logging
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from cosylite.errors import DeviceError, OutputError
from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ja_kana import kana_symbols, morae, to_katakana
from cosylite.text.g2p.ja_readings import Readings
from cosylite.text.types import Word

_LOG = logging.getLogger(__name__)
_VOICED_HALF_WIDTH = re.compile("[ｳｶ-ﾄﾊ-ﾎ][ﾞﾟ]")
_PUNCTUATION = {
    "、": ",", "，": ",", ",": ",", "。": ".", "．": ".", ".": ".", "｡": ".", "､": ",", "！": "!", "!": "!", "？": "?",
    "?": "?", "…": "…", "‥": "…", "：": ":", ":": ":", "；": ";", ";": ";", "—": "—", "―": "—", "─": "—", "–": "—",
    "(": ",", ")": ",", "（": ",", "）": ",", "【": ",", "】": ",", "[": ",", "]": ",", "《": ",", "》": ",",
    "〈": ",", "〉": ",", "\n": ",",
}  # fmt: skip
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class _Token(Protocol):
    """What is used of haqumei's `WordPhonemeDetail`."""

    pron: str
    pos: str
    pos_group1: str
    accent_nucleus: int
    chain_flag: int
    char_span: tuple[int, int]


class _Reader(Protocol):
    def g2p_mapping_detailed(self, text: str) -> list[_Token]: ...


@dataclass(frozen=True)
class _Piece:
    """A morpheme: characters `[start, end)` of the analysed text, its kana and how it joins its neighbours."""

    start: int
    end: int
    kana: str
    accent: int
    glued: bool
    chained: bool


def dictionary_folder() -> Path:
    """Where haqumei keeps its unpacked dictionary: the user's cache folder of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
        return Path(base or Path.home() / "AppData" / "Local") / "haqumei"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "haqumei"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "haqumei"


def dictionary_ready() -> bool:
    """Whether the Japanese dictionary is unpacked already; if not, the first use takes some seconds and 103 MB."""
    folder = dictionary_folder()
    return folder.is_dir() and any(folder.rglob("sys.dic"))


class JapaneseG2P:
    """Readings of normalised Japanese text. The dictionary is loaded at the first use.

    Raises:
        DeviceError: haqumei is not installed (code ``missing_dependency``).
        OutputError: its dictionary cannot be unpacked into the user's cache (code ``cache_unwritable``).
    """

    def __init__(self) -> None:
        self._reader: _Reader | None = None
        self._readings = Readings()

    def words(self, text: AlignedText) -> list[Word]:
        """The words of `text`, with katakana pronunciation, phoneme symbols and pitch accent."""
        text = self._readings.apply(_tidy(text))
        if not text.text.strip():
            return []
        pieces = list(_pieces(text.text, self._load().g2p_mapping_detailed(text.text)))
        return list(_words(text, pieces))

    def _load(self) -> _Reader:
        if self._reader is None:
            self._reader = _open_reader()
        return self._reader


def _open_reader() -> _Reader:
    try:
        module = importlib.import_module("haqumei")
    except ImportError as error:
        raise DeviceError(
            "Japanese needs the package haqumei: install it with `pip install haqumei`",
            code="missing_dependency",
            param="lang",
        ) from error
    if not dictionary_ready():
        _LOG.info("unpacking the Japanese dictionary into %s (103 MB, once)", dictionary_folder())
    try:
        return cast(_Reader, module.Haqumei())
    except (RuntimeError, OSError, ValueError) as error:
        raise OutputError(
            f"the Japanese dictionary cannot be unpacked into {dictionary_folder()}: make the folder writable or set"
            f" XDG_CACHE_HOME to one that is, with 103 MB free ({error})",
            code="cache_unwritable",
        ) from error


def _tidy(text: AlignedText) -> AlignedText:
    """One character in, one character out of haqumei's own clean-up, so that its positions are ours."""
    text = text.sub(_VOICED_HALF_WIDTH, lambda match: unicodedata.normalize("NFKC", match.group()))
    return AlignedText("".join(map(_tidy_character, text.text)), text.starts, text.ends)


def _tidy_character(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"):
        return "\n" if character == "\n" else " "
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character


def _pieces(text: str, tokens: Iterable[_Token]) -> Iterator[_Piece]:
    """Morphemes that cover `text` in order. Tokens whose place is not known stand for what lies between."""
    numbers = list(_NUMBER.finditer(text))
    done = 0
    for token in tokens:
        start, end = token.char_span
        if not done <= start <= end <= len(text):
            start, end = done, len(text)
        done = max(done, end)
        kana = "".join(morae(to_katakana(token.pron.replace("’", ""))))
        for number in numbers:
            if (number.start() < end and start < number.end()) or start == end == number.end():
                start, end = min(start, number.start()), max(end, number.end())
        glued = _is_glued(token) or kana[:1] in ("ン", "ッ", "ー")
        yield _Piece(start, end, kana, token.accent_nucleus, glued, token.chain_flag == 1)


def _is_glued(token: _Token) -> bool:
    """Auxiliaries and the て of a verb are spoken as part of the word before."""
    if token.chain_flag != 1:
        return False
    if token.pos == "助動詞" or (token.pos == "助詞" and token.pos_group1 == "接続助詞"):
        return True
    return token.pos in ("動詞", "形容詞", "名詞") and token.pos_group1 in ("接尾", "数")


def _words(text: AlignedText, pieces: list[_Piece]) -> Iterator[Word]:
    groups: list[list[_Piece]] = []
    for piece in pieces:
        if groups and piece.glued and piece.kana and groups[-1][-1].kana:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    phrase_accent, phrase_position = 0, 0
    pending: Word | None = None
    for group in groups:
        kana = "".join(piece.kana for piece in group)
        start, end = group[0].start, group[-1].end
        if not kana:
            pending = _with_punctuation(pending, text.text[start:end])
            continue
        if not group[0].chained:
            phrase_accent, phrase_position = group[0].accent, 0
        length = len(morae(kana))
        accent = phrase_accent - phrase_position
        phrase_position += length
        if pending is not None:
            yield pending
        pending = _word(text, start, end, kana, accent if 0 < accent <= length else 0)
    if pending is not None:
        yield pending


def _word(text: AlignedText, start: int, end: int, kana: str, accent: int) -> Word:
    if start == end:
        start, end = max(0, start - 1), max(1, end)
    if text.text[start:end].strip():
        start += len(text.text[start:end]) - len(text.text[start:end].lstrip())
    first, last = text.source(start, end)
    return Word(text.text[start:end], first, last, kana_symbols(kana), kana, accent=accent)


def _with_punctuation(word: Word | None, written: str) -> Word | None:
    if word is None:
        return None
    after = word.after
    for character in written:
        mark = _PUNCTUATION.get(character, "")
        if mark and not after.endswith(mark):
            after = mark if after == "," else after if mark == "," and after else after + mark
    return Word(word.text, word.start, word.end, word.symbols, word.reading, after, word.accent)
