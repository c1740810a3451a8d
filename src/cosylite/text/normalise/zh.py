"""Chinese written forms in words: numbers, dates, money, units, codes, addresses, symbols.

Rules run in a fixed order, the most specific first; each replaces whole matches, so that every character still
points at what was typed. What no rule knows is read as an amount, named as a symbol, or dropped.
"""

import re
import unicodedata
from fractions import Fraction

from cosylite.text.aligned import AlignedText
from cosylite.text.normalise import zh_amounts, zh_codes, zh_dates
from cosylite.text.normalise.zh_numbers import cardinal, digits
from cosylite.text.normalise.zh_tables import SYMBOLS

_WIDE = re.compile("[\uff01-\uff5e\u3000㎡㎥㎏㎎㎞㎝㎜㎖ℓ㏄°º˚μµ℃Å]")
_KEPT_WIDE = "，！？：；（）"
_SPELT = {"㎡": "m²", "㎥": "m³", "㏄": "ml", "ℓ": "L", "º": "°", "˚": "°", "°": "°", "℃": "℃", "µ": "μ", "\u3000": " "}
_WIDE_COLON = re.compile("(?<=[0-9])：(?=[0-9])")
_ENDLESS = re.compile("[0-9]{25,}|(?:[0-9]+[.,:/-]){12,}[0-9]*|[-0-9., ]{80,}")
_DROPPED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]")
_NUMERIC = re.compile("[^\x00-\x7f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff〇]")
_HASH_TAG = re.compile("#(?=[^#0-9\\s]{1,30}#)|(?<=[一-鿿A-Za-z])#(?![0-9])")
_BETWEEN_HAN = re.compile("(?<=[\u4e00-\u9fffA-Za-z])\\s?/\\s?(?=[\u4e00-\u9fffA-Za-z])")
_SYMBOL = re.compile("[" + re.escape("".join(key for key in SYMBOLS)) + "]")
_DASH = re.compile("(?<=[\u4e00-\u9fff])-(?=[\u4e00-\u9fff])")
_SILENT = re.compile(r"[*_#|~^/\\`•●○■□★☆※→←↑↓▲▼◆◇♪♫☑✓✔✗✘❤©®™†‡]+")
_PICTURE = re.compile("[\u2190-\u23ff\u2500-\u2bff\U0001f000-\U0001faff\U000fe000-\U0010ffff\ue000-\uf8ff]")


def normalise(text: AlignedText) -> AlignedText:
    """Rewrite `text` (one Chinese span) so that it holds words and punctuation only."""
    text = text.sub(_DROPPED, "").sub(_WIDE, _narrow).sub(_WIDE_COLON, ":").sub(_ENDLESS, _spell_out)
    for rules in (zh_codes.RULES, zh_dates.RULES, zh_amounts.RULES, zh_codes.LATE_RULES, zh_amounts.LATE_RULES):
        for pattern, replacement in rules:
            text = text.sub(pattern, replacement)
    text = (
        text.sub(_HASH_TAG, "")
        .sub(_BETWEEN_HAN, "、")
        .sub(_DASH, "")
        .sub(_SYMBOL, lambda match: SYMBOLS[match.group()])
    )
    return text.sub(_NUMERIC, _numeric).sub(_SILENT, " ").sub(_PICTURE, "")


def _spell_out(match: re.Match[str]) -> str:
    """Digit by digit, so that no rule has to try a run of digits from each of its ends."""
    return "".join(digits(character) or character for character in match.group())


def _narrow(match: re.Match[str]) -> str | None:
    character = match.group()
    if character in _KEPT_WIDE:
        return None
    return _SPELT.get(character) or unicodedata.normalize("NFKC", character)


def _numeric(match: re.Match[str]) -> str | None:
    """Numerals that are one character: ½, ③, Ⅳ, ٣."""
    value = unicodedata.numeric(match.group(), None)
    if value is None:
        return None
    exact = Fraction(value).limit_denominator(1000)
    if exact.denominator == 1:
        return cardinal(str(abs(exact.numerator)))
    return f"{cardinal(str(exact.denominator))}分之{cardinal(str(abs(exact.numerator)))}"
