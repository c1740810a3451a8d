"""Japanese readings: the dictionary of haqumei, then katakana to phoneme symbols."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ja_dictionary import Reader, Token, dictionary_ready, open_dictionary
from cosylite.text.g2p.ja_kana import kana_symbols, morae, to_katakana
from cosylite.text.g2p.ja_readings import Readings
from cosylite.text.types import Word

__all__ = ["JapaneseG2P", "dictionary_ready", "symbols_from_reading"]
_KATAKANA = re.compile("[ァ-ヺー]")
_KANA = re.compile("[ァ-ヺー ]*[ァ-ヺ][ァ-ヺー ]*")
_VOICED_HALF_WIDTH = re.compile("[ｳｶ-ﾄﾊ-ﾎ][ﾞﾟ]")
_PUNCTUATION = {
    "、": ",", "，": ",", ",": ",", "。": ".", "．": ".", ".": ".", "｡": ".", "､": ",", "！": "!", "!": "!", "？": "?",
    "?": "?", "…": "…", "‥": "…", "：": ":", ":": ":", "；": ";", ";": ";", "—": "—", "―": "—", "─": "—", "–": "—",
    "(": ",", ")": ",", "（": ",", "）": ",", "【": ",", "】": ",", "[": ",", "]": ",", "《": ",", "》": ",",
    "〈": ",", "〉": ",", "\n": ",",
}  # fmt: skip
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class _Piece:
    """A morpheme: characters `[start, end)` of the analysed text, its kana and how it joins its neighbours."""

    start: int
    end: int
    kana: str
    accent: int
    glued: bool
    chained: bool


class JapaneseG2P:
    """Readings of normalised Japanese text. The dictionary is loaded at the first use.

    Raises:
        DeviceError: haqumei is not installed (code ``missing_dependency``).
        OutputError: its dictionary cannot be unpacked into the user's cache (code ``cache_unwritable``).
    """

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._readings = Readings()

    def words(self, text: AlignedText) -> list[Word]:
        """The words of `text`, with katakana pronunciation, phoneme symbols and pitch accent."""
        text = self._readings.apply(_tidy(text))
        if not text.text.strip():
            return []
        pieces = list(_pieces(text.text, self._load().g2p_mapping_detailed(text.text)))
        return list(_words(text, pieces))

    def _load(self) -> Reader:
        if self._reader is None:
            self._reader = open_dictionary()
        return self._reader


def symbols_from_reading(reading: str) -> str:
    """Phoneme symbols of a reading in hiragana or katakana as it is pronounced (ワ for は, ー for long vowels).

    Raises:
        InputError: the reading holds anything but kana and spaces.
    """
    kana = to_katakana(unicodedata.normalize("NFKC", reading)).strip()
    if not _KANA.fullmatch(kana):
        raise InputError(
            f"a Japanese reading is written in kana, not {reading!r}", code="invalid_reading", param="reading"
        )
    return " ".join(kana_symbols(word) for word in kana.split())


def _tidy(text: AlignedText) -> AlignedText:
    """One character in, one character out of haqumei's own clean-up, so that its positions are ours."""
    text = text.sub(_VOICED_HALF_WIDTH, lambda match: unicodedata.normalize("NFKC", match.group()))
    return AlignedText("".join(map(_tidy_character, text.text)), text.starts, text.ends)


def _tidy_character(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"):
        return "\n" if character == "\n" else " "
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character


def _pieces(text: str, tokens: Iterable[Token]) -> Iterator[_Piece]:
    """Morphemes that cover `text` in order. Tokens whose place is not known stand for what lies between."""
    numbers = list(_NUMBER.finditer(text))
    done = 0
    unknown = False
    for token in tokens:
        start, end = token.char_span
        if not done <= start <= end <= len(text):
            start, end = done, len(text)
        done = max(done, end)
        kana = "".join(morae(to_katakana(token.pron.replace("’", ""))))
        for number in numbers:
            if (number.start() < end and start < number.end()) or start == end == number.end():
                start, end = min(start, number.start()), max(end, number.end())
        glued = _is_glued(token) or kana[:1] in ("ン", "ッ", "ー") or _splits_katakana(text, start, token, unknown)
        unknown = token.is_unknown
        yield _Piece(start, end, kana, token.accent_nucleus, glued, token.chain_flag == 1)


def _splits_katakana(text: str, start: int, token: Token, unknown: bool) -> bool:
    """Inside a katakana word that the dictionary does not know there are no words."""
    inside = _KATAKANA.match(text[start - 1 : start]) and _KATAKANA.match(text[start : start + 1])
    return inside is not None and (unknown or token.is_unknown)


def _is_glued(token: Token) -> bool:
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
