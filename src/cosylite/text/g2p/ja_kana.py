"""Katakana to phoneme symbols."""

import re
from types import MappingProxyType

_VOWELS = "アイウエオ"
_VOWEL_SYMBOLS = ("a", "i", "ɯ", "e", "o")
_PLAIN_ROWS = (
    ("カキクケコ", ("k", "kʲ", "k", "k", "k")),
    ("ガギグゲゴ", ("ɡ", "ɡʲ", "ɡ", "ɡ", "ɡ")),
    ("サシスセソ", ("s", "ɕ", "s", "s", "s")),
    ("ザジズゼゾ", ("ʣ", "ʥ", "z", "ʣ", "ʣ")),
    ("タチツテト", ("t", "ʨ", "ʦ", "t", "t")),
    ("ダヂヅデド", ("d", "ʥ", "z", "d", "d")),
    ("ナニヌネノ", ("n", "ɲ", "n", "n", "n")),
    ("ハヒフヘホ", ("h", "ç", "ɸ", "h", "h")),
    ("バビブベボ", ("b", "bʲ", "b", "b", "b")),
    ("パピプペポ", ("p", "pʲ", "p", "p", "p")),
    ("マミムメモ", ("m", "mʲ", "m", "m", "m")),
    ("ラリルレロ", ("ɾ", "ɾʲ", "ɾ", "ɾ", "ɾ")),
)
_FRONTED_U = frozenset("スズツヅ")
"""Kana whose u is the fronted, high central vowel."""
_YOON = {
    "キ": "kʲ", "ギ": "ɡʲ", "シ": "ɕ", "ジ": "ʥ", "チ": "ʨ", "ヂ": "ʥ", "ニ": "ɲ", "ヒ": "ç", "ビ": "bʲ", "ピ": "pʲ",
    "ミ": "mʲ", "リ": "ɾʲ", "テ": "tʲ", "デ": "dʲ", "フ": "ɸʲ", "ヴ": "vʲ",
}  # fmt: skip
_SMALL_VOWELS = {
    "ク": "kᵝ", "グ": "ɡᵝ", "フ": "ɸ", "ヴ": "v", "ウ": "β", "ツ": "ʦ", "ス": "s", "ズ": "z",
}  # fmt: skip
_ODD = {
    "ヤ": "ja", "ユ": "jɯ", "ヨ": "jo", "ワ": "βa", "ヰ": "i", "ヱ": "e", "ヲ": "o", "ヴ": "vɯ",
    "シェ": "ɕe", "ジェ": "ʥe", "チェ": "ʨe", "イェ": "je", "ティ": "tʲi", "ディ": "dʲi", "トゥ": "tɯ", "ドゥ": "dɯ",
    "スィ": "si", "ズィ": "zi", "ツィ": "ʦi", "ヒェ": "çe", "ニェ": "ɲe", "キェ": "kʲe", "ギェ": "ɡʲe", "リェ": "ɾʲe",
    "ミェ": "mʲe", "ビェ": "bʲe", "ピェ": "pʲe", "ホゥ": "hɯ", "ヮ": "βa", "ヵ": "ka", "ヶ": "ke",
    "ァ": "a", "ィ": "i", "ゥ": "ɯ", "ェ": "e", "ォ": "o", "ャ": "ja", "ュ": "jɯ", "ョ": "jo", "ヷ": "va", "ヺ": "vo",
}  # fmt: skip


def _build_table() -> dict[str, str]:
    table = dict(zip(_VOWELS, _VOWEL_SYMBOLS, strict=True))
    for row, onsets in _PLAIN_ROWS:
        for kana, onset, vowel in zip(row, onsets, _VOWEL_SYMBOLS, strict=True):
            table[kana] = onset + ("ɨ" if kana in _FRONTED_U else vowel)
    for kana, onset in _YOON.items():
        table |= {kana + "ャ": onset + "a", kana + "ュ": onset + "ɨ", kana + "ョ": onset + "o"}
    for kana, onset in _SMALL_VOWELS.items():
        table |= {kana + small: onset + vowel for small, vowel in zip("ァィェォ", "aieo", strict=True)}
    return table | _ODD


KANA_SYMBOLS = MappingProxyType(_build_table())
"""Mora (one or two katakana) to symbols; ン, ッ and ー depend on their neighbours and are not in it."""
_MORA = re.compile("|".join(sorted(KANA_SYMBOLS, key=len, reverse=True)) + "|[ンッー]")
_NASALS = (("mpb", "m"), ("kɡ", "ŋ"), ("ɲʨʥ", "ɲ"), ("tdnɾzʣʦ", "n"))
_HIRAGANA = MappingProxyType({code: code + 0x60 for code in (*range(0x3041, 0x3097), 0x309D, 0x309E)})


def to_katakana(text: str) -> str:
    """`text` with its hiragana as katakana."""
    return text.translate(_HIRAGANA)


def morae(kana: str) -> list[str]:
    """The morae of a katakana string, in order; characters that are no kana are left out."""
    return _MORA.findall(kana)


def kana_symbols(kana: str) -> str:
    """Phoneme symbols of a katakana pronunciation (long vowels written ー). Other characters are left out."""
    parts = morae(kana)
    symbols = ""
    for index, mora in enumerate(parts):
        if mora == "ー":
            symbols += "ː" if symbols and symbols[-1] in "aiɯɨeo" else ""
        elif mora == "ッ":
            symbols += "ʔ"
        elif mora == "ン":
            symbols += _nasal(parts[index + 1] if index + 1 < len(parts) else "")
        else:
            symbols += KANA_SYMBOLS[mora]
    return symbols


def _nasal(next_mora: str) -> str:
    onset = KANA_SYMBOLS.get(next_mora, " ")[0]
    for onsets, nasal in _NASALS:
        if onset in onsets:
            return nasal
    return "ɴ"
