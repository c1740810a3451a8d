"""Korean readings: the sound rules of standard Korean, a word list for what they cannot know, and phoneme symbols."""

import re
import unicodedata
from types import MappingProxyType

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ko_jamo import join, split
from cosylite.text.g2p.ko_latin import LatinReader
from cosylite.text.g2p.ko_pronounce import pronounce
from cosylite.text.g2p.ko_rules import apply_rules
from cosylite.text.g2p.ko_symbols import hangul_symbols
from cosylite.text.g2p.ko_words import Respeller
from cosylite.text.types import Word

_PUNCTUATION = {
    ",": ",", "，": ",", "、": ",", ".": ".", "。": ".", "．": ".", "!": "!", "！": "!", "?": "?", "？": "?", "…": "…",
    "‥": "…", ":": ":", "：": ":", ";": ";", "；": ";", "—": "—", "―": "—", "–": "—", "(": ",", ")": ",", "（": ",",
    "）": ",", "[": ",", "]": ",", "\n": ",",
}  # fmt: skip
_JAMO = re.compile("[ᄀ-ᇿ]+")
_LATIN = re.compile("[A-Za-z]+")
_LETTER = re.compile("[ㄱ-ㅎ]")
_LETTER_SOUNDS = MappingProxyType(
    {
        "ㄱ": "기역",
        "ㄴ": "니은",
        "ㄷ": "디귿",
        "ㄹ": "리을",
        "ㅁ": "미음",
        "ㅂ": "비읍",
        "ㅅ": "시옷",
        "ㅇ": "응",
        "ㅈ": "지읒",
        "ㅊ": "치읓",
    }
    | {"ㅋ": "크", "ㅌ": "티읕", "ㅍ": "피읖", "ㅎ": "흐"}
)
"""Single consonant letters: mostly laughter (ㅋㅋ, ㅎㅎ) and ㅇㅇ; vowel letters (ㅠㅠ) are a face and silent."""
_WORD = re.compile("[가-힣]+")


class KoreanG2P:
    """Readings of normalised Korean text: one word per orthographic word. Needs no data files."""

    def __init__(self) -> None:
        self._respeller = Respeller()
        self._latin = LatinReader()

    def words(self, text: AlignedText) -> list[Word]:
        """The words of `text` with hangul as pronounced and phoneme symbols; Latin letters are read as Korean ones.

        What is neither is left out.
        """
        text = text.sub(_JAMO, lambda match: unicodedata.normalize("NFC", match.group()))
        text = text.sub(_LATIN, lambda match: self._latin.read(match.group()))
        text = text.sub(_LETTER, lambda match: _LETTER_SOUNDS.get(match.group()))
        matches = list(_WORD.finditer(text.text))
        if not matches:
            return []
        ends = [match.start() for match in matches[1:]] + [len(text)]
        after = [_punctuation(text.text[match.end() : end]) for match, end in zip(matches, ends, strict=True)]
        spoken = pronounce([match.group() for match in matches], [bool(marks) for marks in after], self._respeller)
        words = []
        for match, reading, marks in zip(matches, spoken, after, strict=True):
            start, end = text.source(*match.span())
            words.append(Word(match.group(), start, end, hangul_symbols(reading), reading, marks))
        return words


def symbols_from_reading(reading: str) -> str:
    """Phoneme symbols of a reading in hangul, which the sound rules still apply to (`궁물`, `국물`).

    Raises:
        InputError: the reading holds anything but hangul syllables and spaces.
    """
    words = reading.split()
    if not words or not all(_WORD.fullmatch(word) for word in words):
        raise InputError(
            f"a Korean reading is written in hangul, not {reading!r}", code="invalid_reading", param="reading"
        )
    spoken = []
    for word in words:
        syllables = split(word)
        apply_rules(syllables)
        spoken.append(hangul_symbols(join(syllables)))
    return " ".join(spoken)


def _punctuation(written: str) -> str:
    after = ""
    for character in written:
        mark = _PUNCTUATION.get(character, "")
        if mark and not after.endswith(mark):
            after = mark if after == "," else after if mark == "," and after else after + mark
    return after
