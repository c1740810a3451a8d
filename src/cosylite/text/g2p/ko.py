"""Korean readings: the sound rules of standard Korean, a word list for what they cannot know, and phoneme symbols."""

import re
import unicodedata

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ko_pronounce import pronounce
from cosylite.text.g2p.ko_symbols import hangul_symbols
from cosylite.text.types import Word

_PUNCTUATION = {
    ",": ",", "，": ",", "、": ",", ".": ".", "。": ".", "．": ".", "!": "!", "！": "!", "?": "?", "？": "?", "…": "…",
    "‥": "…", ":": ":", "：": ":", ";": ";", "；": ";", "—": "—", "―": "—", "–": "—", "(": ",", ")": ",", "（": ",",
    "）": ",", "[": ",", "]": ",", "\n": ",",
}  # fmt: skip
_JAMO = re.compile("[ᄀ-ᇿ]+")
_WORD = re.compile("[가-힣]+")


class KoreanG2P:
    """Readings of normalised Korean text: one word per orthographic word. Needs no data files."""

    def words(self, text: AlignedText) -> list[Word]:
        """The words of `text` with hangul as pronounced and phoneme symbols. What is not hangul is left out."""
        text = text.sub(_JAMO, lambda match: unicodedata.normalize("NFC", match.group()))
        matches = list(_WORD.finditer(text.text))
        if not matches:
            return []
        ends = [match.start() for match in matches[1:]] + [len(text)]
        after = [_punctuation(text.text[match.end() : end]) for match, end in zip(matches, ends, strict=True)]
        spoken = pronounce([match.group() for match in matches], [bool(marks) for marks in after])
        words = []
        for match, reading, marks in zip(matches, spoken, after, strict=True):
            start, end = text.source(*match.span())
            words.append(Word(match.group(), start, end, hangul_symbols(reading), reading, marks))
        return words


def _punctuation(written: str) -> str:
    after = ""
    for character in written:
        mark = _PUNCTUATION.get(character, "")
        if mark and not after.endswith(mark):
            after = mark if after == "," else after if mark == "," and after else after + mark
    return after
