"""Rewrites a stretch of text so that the normaliser of its language reads it as `<say-as>` asks."""

import re
from types import MappingProxyType

from cosylite.text.aligned import AlignedText
from cosylite.text.markup import SayAs
from cosylite.text.types import Lang

DIGITS = MappingProxyType(
    {
        "en": ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
        "zh": tuple("零一二三四五六七八九"),
        "ja": ("ゼロ", "イチ", "ニー", "サン", "ヨン", "ゴー", "ロク", "ナナ", "ハチ", "キュー"),
        "ko": tuple("공일이삼사오육칠팔구"),
    }
)
_ORDERS = MappingProxyType({"zh": "ymd", "ja": "ymd", "ko": "ymd", "en": "mdy"})
_DATE_UNITS = MappingProxyType({"zh": "年月日", "ja": "年月日", "ko": "년월일"})
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_ENDINGS = MappingProxyType({1: "st", 2: "nd", 3: "rd"})


def rewrite(say_as: SayAs, text: AlignedText, lang: Lang) -> AlignedText:
    """`text` in words or forms that the normaliser of `lang` reads in the way of `say_as`; positions are kept."""
    if say_as.kind in ("characters", "digits", "telephone"):
        return _one_by_one(say_as.kind, text, lang)
    written = text.text.strip()
    if say_as.kind == "cardinal":
        new = _cardinal(written, lang)
    elif say_as.kind == "ordinal":
        new = _ordinal(written, lang)
    else:
        new = _date(written, say_as.order or _ORDERS[lang], lang)
    return text if new is None else text.sub(re.compile(r"(?s).+"), lambda _: new)


def _one_by_one(kind: str, text: AlignedText, lang: Lang) -> AlignedText:
    one = "幺" if lang == "zh" and kind == "telephone" else DIGITS[lang][1]

    def spoken(match: re.Match[str]) -> str:
        character = match[0]
        if character.isdecimal():
            value = int(character)
            return " " + (one if value == 1 else DIGITS[lang][value]) + " "
        if kind == "telephone" and character in "-() ./":
            return ", "
        return f" {character} " if kind == "characters" else character

    return text.sub(re.compile(r"(?s)."), spoken)


def _cardinal(written: str, lang: Lang) -> str | None:
    digits = re.sub(r"[,\s]", "", written)
    if not re.fullmatch(r"[+-]?\d+(\.\d+)?", digits):
        return None
    return digits if lang != "en" or "." in digits else f"{int(digits):,}"


def _ordinal(written: str, lang: Lang) -> str | None:
    if not re.fullmatch(r"\d{1,9}", written):
        return None
    if lang == "en":
        value = int(written)
        ending = "th" if value % 100 in (11, 12, 13) else _ENDINGS.get(value % 10, "th")
        return f"{value}{ending}"
    return {"zh": f"第{written}", "ja": f"{written}番目", "ko": f"{written}번째"}[lang]


def _date(written: str, order: str, lang: Lang) -> str | None:
    parts = re.findall(r"\d+", written)
    if len(parts) != len(order) or re.search(r"[^\d\s./-]", written):
        return None
    values = dict(zip(order, (int(part) for part in parts), strict=True))
    if lang != "en":
        joined = [f"{values[key]}{unit}" for key, unit in zip("ymd", _DATE_UNITS[lang], strict=True) if key in values]
        return " ".join(joined) if lang == "ko" else "".join(joined)
    month = values.get("m")
    if month is not None and not 1 <= month <= 12:
        return None
    words = [_MONTHS[month - 1]] if month is not None else []
    if "d" in values:
        words.append(_ordinal(str(values["d"]), "en") or "")
    year = str(values["y"]) if "y" in values else ""
    return " ".join(words) + (", " if words and "d" in values and year else " ") + year
