"""English written forms (numbers, dates, money, units, addresses, abbreviations, symbols) to words."""

import re
import unicodedata

from cosylite.text.aligned import AlignedText
from cosylite.text.normalise import en_dates, en_quantities, en_web, en_words

_KEEP = set("′″…½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ₀₁₂₃₄₅₆₇₈₉℃℉™µªº¨´¯¸")
_ODD = re.compile(r"[^\x00-\x7f]")
_DEGREES = {"℃": "°C", "℉": "°F", "ª": "a", "º": "°", "µ": "µ", "μ": "µ", "—": "—"}


def _plain(match: re.Match[str]) -> str | None:
    """Full-width and other compatibility forms, foreign digits, odd spaces as plain characters."""
    char = match.group()
    if char in _DEGREES:
        return _DEGREES[char]
    if char in _KEEP:
        return None
    if char.isdecimal() and unicodedata.category(char) == "Nd":
        return str(unicodedata.digit(char))
    if unicodedata.category(char) in ("Zs", "Zl", "Zp"):
        return " "
    folded = unicodedata.normalize("NFKC", char)
    if folded == char:
        return " " if unicodedata.category(char) in ("No", "Nl") else None
    return folded


def normalise(text: AlignedText) -> AlignedText:
    """Words for everything written in short; what is left has only letters, spaces, apostrophes and punctuation."""
    text = text.sub(_ODD, _plain)
    rules = (
        *en_web.RULES,
        *en_words.RULES_EARLY,
        *en_dates.RULES,
        *en_quantities.RULES,
        *en_words.RULES,
        *en_words.LAST,
    )
    for pattern, replacement in rules:
        text = text.sub(pattern, replacement)
    return text
