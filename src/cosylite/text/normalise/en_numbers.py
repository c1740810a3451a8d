"""English number words. All functions take and return plain strings; digits are ASCII."""

import re

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = (
    "", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion", "septillion",
    "octillion", "nonillion", "decillion",
)  # fmt: skip
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_ROMAN = re.compile(r"M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def two_digits(value: int) -> str:
    """Words of 0..99."""
    if value < 20:
        return _ONES[value]
    return _TENS[value // 10] + (f"-{_ONES[value % 10]}" if value % 10 else "")


def _three_digits(value: int) -> str:
    parts = [f"{_ONES[value // 100]} hundred"] if value >= 100 else []
    if value % 100 or not parts:
        parts.append(two_digits(value % 100))
    return " ".join(parts)


def digits(text: str, zero: str = "zero") -> str:
    """Every digit by its name."""
    return " ".join(zero if char == "0" else _ONES[int(char)] for char in text if char.isdecimal())


def cardinal(text: str) -> str:
    """Words of a whole number, commas allowed; beyond decillions digit by digit."""
    plain = text.replace(",", "")
    if len(plain) > 36:
        return digits(plain)
    value = int(plain)
    if value == 0:
        return "zero"
    groups: list[str] = []
    scale = 0
    while value:
        value, rest = divmod(value, 1000)
        if rest:
            groups.append(f"{_three_digits(rest)} {_SCALES[scale]}".strip())
        scale += 1
    return " ".join(reversed(groups))


def number(text: str) -> str:
    """Words of a number with optional sign, commas and decimals: `-1,234.50`, `.5`; leading zeros digit by digit."""
    sign = "minus " if text[:1] in ("-", "−", "–") else ""
    whole, point, decimals = text.lstrip("-−–+").partition(".")
    plain = whole.replace(",", "")
    if not plain:
        words = ""
    elif len(plain) > 1 and plain[0] == "0":
        words = digits(plain)
    else:
        words = cardinal(plain)
    if point:
        words = f"{words} point {digits(decimals)}".strip()
    return sign + words


def as_ordinal(words: str) -> str:
    """The ordinal of cardinal words."""
    head, cut, last = words.rpartition(" ") if words.rfind(" ") > words.rfind("-") else words.rpartition("-")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return head + cut + last


def ordinal(text: str) -> str:
    """Ordinal words of a whole number, commas allowed."""
    return as_ordinal(cardinal(text))


def year(text: str) -> str:
    """A year as it is said: `1905` nineteen oh five, `2007` two thousand seven, `2024` twenty twenty-four."""
    value = int(text)
    if value < 1000 or value > 9999 or value % 1000 == 0 or value // 10 % 100 == 0:
        return cardinal(text)
    first, second = divmod(value, 100)
    if second == 0:
        return f"{two_digits(first)} hundred"
    return f"{two_digits(first)} {'oh ' if second < 10 else ''}{two_digits(second)}"


def pairs(text: str) -> str:
    """Numbers of houses, rooms, models: `305` three oh five, `380` three eighty, `4090` forty ninety."""
    if text[0] == "0" or len(text) > 4:
        return digits(text)
    value = int(text)
    if len(text) < 3 or value % 1000 == 0:
        return cardinal(text)
    first, second = divmod(value, 100)
    if second == 0:
        return f"{two_digits(first)} hundred"
    return f"{two_digits(first)} {'oh ' if second < 10 else ''}{two_digits(second)}"


def plural(words: str) -> str:
    """Plural of number words: nineties, hundreds, sixes."""
    if words.endswith("y"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith(("x", "s")) else "s")


def decade(text: str) -> str:
    """`1990` nineteen nineties, `2000` two thousands, `80` eighties."""
    value = int(text)
    if value < 100:
        return plural(two_digits(value))
    return plural(year(text))


def fraction(top: str, bottom: str) -> str:
    """`3`, `4`: three quarters; `1`, `2`: one half."""
    value = int(bottom)
    if value == 2:
        name = "half" if int(top) == 1 else "halves"
    elif value == 1:
        return f"{cardinal(top)} over one"
    else:
        name = "quarter" if value == 4 else ordinal(bottom)
        name += "" if int(top) == 1 else "s"
    return f"{cardinal(top)} {name}"


def roman(text: str) -> int | None:
    """Value of a well-formed Roman numeral in capitals, else None."""
    if not text or not _ROMAN.fullmatch(text):
        return None
    values = [_ROMAN_VALUES[char] for char in text]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
