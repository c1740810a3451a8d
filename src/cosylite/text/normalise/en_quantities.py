"""English: money, percentages, temperatures, units, fractions, ranges, ordinals, powers."""

import re

from cosylite.text.normalise.en_numbers import cardinal, fraction, number, ordinal, pairs
from cosylite.text.normalise.en_rules import Rule, after, around, before
from cosylite.text.normalise.en_tables import CURRENCIES, MAGNITUDES, UNITS

NUMBER = r"(?:\d{1,3}(?:,\d{2,3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_N = rf"(?:{NUMBER})"
_SIGN = r"(?:(?<![\w)\]%°])[-−–])?"
_DASH = r"\s?(?:-|–|—|~|to)\s?"
_CURRENCY = "|".join(sorted((re.escape(key) for key in CURRENCIES if not key.isalpha()), key=len, reverse=True))
_CODES = "|".join(key for key in CURRENCIES if key.isalpha())
_MAGNITUDE = r"(?:thousand|million|billion|trillion|hundred|mil)\b|(?:bn|Bn|mn|mm|MM|tn|[kKmMbBtT])(?![\w])"
_UNIT = "|".join(sorted((re.escape(key) for key in UNITS), key=len, reverse=True))
_AFTER_ADJECTIVE = re.compile(
    r"[ -](?!(?:of|in|on|to|at|and|or|for|from|is|was|are|were|with|by|per|a|an|the|as|than|but|if|when|that|more|less|"
    r"each|into|over|under|after|before|away|long|wide|high|tall|deep|later|ago|every|last|this|next|now|"
    r"off)\b)[a-z]{2,}"
)
_ATTRIBUTES = ("W", "kW", "V", "mm", "MB", "GB", "TB", "MP", "mAh", "GHz", "MHz", "Hz", "cc", "hp", "px", "kWh")
_SUPER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_SUB = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SIZE = r"(?:in\.?|\"|cm|mm|ft|km|m)"
_VULGAR = {
    "½": ("1", "2"), "⅓": ("1", "3"), "⅔": ("2", "3"), "¼": ("1", "4"), "¾": ("3", "4"), "⅕": ("1", "5"),
    "⅖": ("2", "5"),
    "⅗": ("3", "5"), "⅘": ("4", "5"), "⅙": ("1", "6"), "⅚": ("5", "6"), "⅛": ("1", "8"), "⅜": ("3", "8"),
    "⅝": ("5", "8"), "⅞": ("7", "8"), "⅐": ("1", "7"), "⅑": ("1", "9"), "⅒": ("1", "10"),
}  # fmt: skip


def _adjective(match: re.Match[str]) -> bool:
    """Whether the quantity stands between an article and a noun: a 5 km run."""
    lead = re.search(r"(?i)\b(?:a|an)\s+(?:\w+\s)?$", before(match))
    return lead is not None and _AFTER_ADJECTIVE.match(after(match)) is not None


def _amount(text: str, magnitude: str | None) -> str:
    return number(text) + (f" {MAGNITUDES[magnitude]}" if magnitude else "")


def _per(text: str | None) -> str:
    """What follows a slash after a unit or an amount."""
    if not text:
        return ""
    names = {
        "h": "hour",
        "hr": "hour",
        "s": "second",
        "mo": "month",
        "yr": "year",
        "d": "day",
        "wk": "week",
        "y": "year",
    }
    unit = UNITS.get(text)
    return f" per {names.get(text) or (unit[0] if unit else text)}"


def _money(match: re.Match[str]) -> str:
    fields = match.groupdict()
    symbol = (fields.get("symbol") or fields.get("code") or "").strip()
    one, many, cent, cents = CURRENCIES[symbol]
    text, magnitude, until = match.group("n"), match.group("magnitude"), fields.get("until")
    sign = "minus " if fields.get("sign") else ""
    tail = _per(fields.get("per"))
    if until:
        start = _amount(text, fields.get("first"))
        return f"{start} to {_amount(until, magnitude)} {many}{tail}"
    if magnitude or not re.fullmatch(r"[\d,]*\.\d\d", text) or not cent:
        plain = text.replace(",", "")
        if not magnitude and re.fullmatch(r"\d*\.0+", plain):
            plain = plain.partition(".")[0]
        single = (plain == "1" and not magnitude) or _adjective(match) or after(match).startswith("-a-")
        return f"{sign}{_amount(plain, magnitude)} {one if single else many}{tail}"
    whole, _, hundredths = text.replace(",", "").partition(".")
    parts = []
    if whole.strip("0"):
        parts.append(f"{cardinal(whole)} {one if whole == '1' or _adjective(match) else many}")
    if int(hundredths):
        parts.append(f"{cardinal(hundredths)} {cent if int(hundredths) == 1 else cents}")
    return sign + (" and ".join(parts) or f"zero {many}") + tail


def _cents(match: re.Match[str]) -> str:
    return f"{number(match.group(1))} cent{'' if match.group(1) == '1' else 's'}"


def _unit(match: re.Match[str]) -> str | None:
    text, unit = match.group("n"), match.group("unit")
    tail = after(match)
    lead = before(match)
    if unit in ("in", "t", "l", "mo", "pt", "g", "m", "s", "h", "W", "V") and not _plausible(unit, match, lead, tail):
        return None
    one, many = UNITS[unit]
    power = match.group("power") or ""
    if power in ("²", "2", "^2"):
        one, many = f"square {one}", f"square {many}"
    elif power in ("³", "3", "^3"):
        one, many = f"cubic {one}", f"cubic {many}"
    noun = unit in _ATTRIBUTES and not match.group("gap") and _AFTER_ADJECTIVE.match(tail)
    single = text.lstrip("-−–") == "1" or match.group("gap") == "-" or noun or _adjective(match)
    first = match.group("first")
    words = f"{number(first)} to {number(text)}" if first else number(text)
    again = {"²": " squared", "2": " squared", "^2": " squared", "³": " cubed"}.get(match.group("again") or "", "")
    dot = "." if match.group("dot") and (not tail.strip() or re.match(r"\s+[A-Z]", tail)) else ""
    return f"{words} {one if single and not first else many}{_per(match.group('per'))}{again}{dot}"


def _plausible(unit: str, match: re.Match[str], lead: str, tail: str) -> bool:
    """Whether a unit that is also a word or a letter is meant as a unit."""
    if unit == "in":
        return match.group("gap") in ("", "-") or bool(match.group("dot")) or not re.match(r"\s+\w", tail)
    if unit == "s":
        return not re.search(r"(?i)\b(?:the|her|his|their|my|your|our|early|late|mid)[ -]$", lead)
    if unit == "t" and "." in match.group("n"):
        return True
    if unit in ("t", "l", "pt"):
        return match.group("gap") != ""
    return True


def _percent(match: re.Match[str]) -> str:
    first = match.group("first")
    words = f"{number(first)} to {number(match.group('n'))}" if first else number(match.group("n"))
    return f"{words} percent" + (" point" if re.match(r"-point", after(match)) else "")


def _temperature(match: re.Match[str]) -> str:
    scale = {"C": " Celsius", "F": " Fahrenheit", "K": " kelvin"}.get((match.group("scale") or "").upper(), "")
    first = match.group("first")
    text = match.group("n")
    words = f"{number(first)} to {number(text)}" if first else number(text)
    return f"{words} degree{'' if text.lstrip('-−–') == '1' or _adjective(match) else 's'}{scale}"


def _angle(match: re.Match[str]) -> str:
    names = ("degrees", "minutes", "seconds")
    parts = [f"{number(part)} {name}" for part, name in zip(match.groups()[:3], names, strict=True) if part]
    side = {"N": " north", "S": " south", "E": " east", "W": " west"}.get(match.group(4) or "", "")
    return " ".join(parts) + side


def _feet(match: re.Match[str]) -> str:
    feet, inches = match.group(1), match.group(2)
    return f"{number(feet)} {'foot' if feet == '1' else 'feet'} {number(inches)}"


def _inches(match: re.Match[str]) -> str | None:
    if before(match).count('"') % 2:  # closes a quotation
        return None
    noun = _AFTER_ADJECTIVE.match(after(match))
    return f"{number(match.group(1))} {'inch' if noun or match.group(1) == '1' else 'inches'}"


def _mixed(match: re.Match[str]) -> str:
    top, bottom = match.group(2), match.group(3)
    if top == "1" and bottom in ("2", "4"):
        return f"{cardinal(match.group(1))} and a {'half' if bottom == '2' else 'quarter'}"
    return f"{cardinal(match.group(1))} and {fraction(top, bottom)}"


def _fraction(match: re.Match[str]) -> str | None:
    top, bottom = match.group(1), match.group(2)
    lead = before(match)
    if (top, bottom) in (
        ("24", "7"),
        ("9", "11"),
        ("50", "50"),
        ("20", "20"),
        ("60", "40"),
        ("80", "20"),
        ("70", "30"),
    ):
        return f"{cardinal(top)} {cardinal(bottom)}"
    if len(bottom) > 4 or len(top) > 4 or int(bottom) == 0:
        return f"{cardinal(top)} slash {cardinal(bottom)}"
    rated = re.search(r"(?i)\b(?:rat\w+|scor\w+|gave|give|got|grade\w*|a|solid|perfect|mark)\b[^.!?]{0,25}$", lead)
    if top == bottom or (rated and bottom in ("5", "10", "20", "100")):
        return f"{cardinal(top)} out of {cardinal(bottom)}"
    if int(bottom) > 100 or int(top) > 100:
        return f"{cardinal(top)} over {cardinal(bottom)}"
    return fraction(top, bottom)


def _vulgar(match: re.Match[str]) -> str:
    top, bottom = _VULGAR[match.group(2)]
    if not match.group(1):
        return f" {fraction(top, bottom)}"
    if top == "1" and bottom in ("2", "4"):
        return f"{cardinal(match.group(1))} and a {'half' if bottom == '2' else 'quarter'}"
    return f"{cardinal(match.group(1))} and {fraction(top, bottom)}"


def _power(match: re.Match[str]) -> str:
    base = number(match.group(1)) if match.group(1)[0].isdecimal() else match.group(1)
    exponent = (match.group(2) or match.group(3)).translate(_SUPER).strip("{}() ")
    if exponent in ("2", "3"):
        return f"{base} {'squared' if exponent == '2' else 'cubed'}"
    if exponent.lstrip("+-").isdecimal():
        return f"{base} to the power of {number(exponent.lstrip('+'))}"
    return f"{base} to the power of {exponent}"


def _scientific(match: re.Match[str]) -> str:
    return f"{number(match.group(1))} times ten to the power of {number(match.group(2).lstrip('+'))}"


def _range(match: re.Match[str]) -> str:
    return f"{number(match.group(1))} to {number(match.group(2))}"


def _by(match: re.Match[str]) -> str | None:
    sizes = re.findall(NUMBER, match.group())
    if re.match(r"\s?=", after(match)):
        return " times ".join(map(number, sizes))
    if "=" in after(match):
        return None
    unit = UNITS.get({'"': "in", "in.": "in"}.get(match["unit"] or "", match["unit"] or ""))
    words = " by ".join(pairs(size) if re.fullmatch(r"[1-9]\d{3}|720", size) else number(size) for size in sizes)
    return words + (f" {unit[1]}" if unit else "")


def _times(match: re.Match[str]) -> str:
    equation = re.search(r"[=<>≤≥]|\bf\(", around(match)) is not None
    return f"{number(match.group(1))} {'x' if equation else 'times'}"


def _thousands(match: re.Match[str]) -> str | None:
    place = (
        r"(?i)\b(?:apt|apartment|room|suite|unit|gate|seat|class|section|building|platform|level|zone|grade|bay|pier|lot|block|flat|no|line|row|"
        r"exit|rm|fl|ste)\.?\s$"
    )
    if match.group(2) in "BKM" and re.search(place, before(match)):
        return None
    return f"{number(match.group(1))} {MAGNITUDES[match.group(2)]}"


def _ordinal(match: re.Match[str]) -> str:
    return ordinal(match.group(1))


def _score(match: re.Match[str]) -> str | None:
    """Two numbers joined by a dash: a range or a score; a difference where the text is an equation."""
    if re.search(r"\s[-–]\s", match.group()) and re.search("[=≈≠]", around(match)):
        return None
    return _range(match)


def _ranged(unit: str = "") -> str:
    return rf"(?<![\w.,$])(?:(?P<first>{_SIGN}{_N}){unit}{_DASH})?(?P<n>{_SIGN}{_N})"


RULES: tuple[Rule, ...] = (
    (re.compile(r"(?<![\w.])([\d.]+)\s?[×x*·]\s?10(?:\^\{?([-+−]?\d+)\}?|([⁻⁺]?[⁰¹²³⁴-⁹]+))"),
     lambda m: f"{number(m[1])} times ten to the power of {number((m[2] or m[3]).translate(_SUPER).lstrip('+'))}"),
    (re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[eE]([-+−]?\d+)(?!\w)"), _scientific),
    (
        re.compile(rf"(?P<sign>(?<!\w)[-−]\s?)?"
            rf"(?<![\w$])(?P<symbol>{_CURRENCY})\s?(?P<n>{_N})(?:(?P<first>{_MAGNITUDE})?{_DASH}"
                   rf"(?:(?P=symbol))?\s?(?P<until>{_N}))?(?:[\s-]?(?P<magnitude>{_MAGNITUDE}))?"
                   rf"(?:\s?/\s?(?P<per>[a-zA-Z]+))?(?!\d)"),
        _money,
    ),
    (
        re.compile(rf"\b(?P<code>{_CODES})\s?(?P<n>{_N})(?:\s?(?P<magnitude>{_MAGNITUDE}))?(?!\w)"),
        _money,
    ),
    (
        re.compile(rf"(?<![\w.,])(?P<n>{_N})(?:\s?(?P<magnitude>{_MAGNITUDE}))?\s?(?P<code>(?:{_CODES})\b|{_CURRENCY})"
                   rf"(?!\s?\d)(?:/(?P<per>[a-z]+))?"),
        _money,
    ),
    (re.compile(rf"(?<![\w.,])({_N})\s?¢"), _cents),
    (re.compile(rf"{_ranged('%?')}\s?(?:%|pct\b)"), _percent),
    (re.compile(r"(?<!\w)([-−]?\d+(?:\.\d+)?)°\s?(\d+(?:\.\d+)?)[′']\s?(?:(\d+(?:\.\d+)?)[″\"]\s?)?([NSEW])?"
        r"(?!\w)"), _angle),
    (re.compile(r"(?<!\w)([-−]?\d+(?:\.\d+)?)°()()\s?([NSEW])(?!\w)"), _angle),
    (re.compile(rf"{_ranged('(?:°?[CF]?)')}\s?(?:°(?:\s?(?P<scale>[CFK])(?!\w))?|"
        rf"degrees (?=[CF]\b)(?P<other>))"), _temperature),
    (re.compile(r"(?<![\w.])(\d{1,2})['′’]\s?(\d{1,2}(?:\.\d)?)(?:[\"″”]|''|(?=\s|$|[.,]))"), _feet),
    (re.compile(rf"(?<![\w.])({_N})[\"″](?=\s|$|[.,;)-])"), _inches),
    (re.compile(rf"(?<![\w.])({_N})\s?{_SIZE}?\s?[x×]\s?{_N}(?:\s?{_SIZE}?\s?[x×]\s?{_N})?"
        rf"(?:\s?(?P<unit>{_SIZE})(?!\w))?(?!\.?\d)"), _by),
    (re.compile(r"(?<![\w./])(\d+)[ -](\d{1,2})[/⁄](\d{1,3})(?![\w/])"), _mixed),
    (re.compile(r"(?:(?<!\d)(\d++)\s?)?([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒])"), _vulgar),
    (re.compile(r"(?<![\w./])(\d+\.\d+)/(\d+)(?![\w/]|\.\d)"), lambda m: f"{number(m[1])} out of {number(m[2])}"),
    (re.compile(r"(?<![\w./])(\d+)[/⁄](\d+)(?:(?:th|rd|nd)s?)?(?![\w/]|\.\d)"), _fraction),
    (
        re.compile(rf"{_ranged(f'(?:{_UNIT})?')}(?P<gap>\s?|-)(?P<unit>{_UNIT})(?P<power>[²³]|\^?[23](?!\d))?"
                   rf"(?:\s?/\s?(?P<per>[a-zA-Z]+)(?P<again>[²³]|\^?2(?!\d))?)?"
                       rf"(?![\w'’])(?P<dot>(?<!\w\w\w\w\w)\.(?!\w))?"),
        _unit,
    ),
    (re.compile(rf"(?<![\w.-])(?!\d{{5}})({_N})([kKMB])\b(?=[+]?(?:\s+[a-z]|\s*[.,!?]|\+|$))(?!\s+(?:run|race|video|monitor|"
        rf"tv|display|screen|"
                r"resolution|TV))"), _thousands),
    (re.compile(rf"(?<![\w.])({_N})[x×](?![\w.])"), _times),
    (re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th|ST|ND|RD|TH)\b"), _ordinal),
    (re.compile(r"((?<![\dA-Za-z.])\d++(?:\.\d++)?|(?<![A-Za-z])[A-Za-z]{1,3}|\))(?:([⁻⁺]?[⁰¹²³⁴-⁹ⁿ]+)|"
        r"\^(\{?\(?[-+−]?\w+\)?\}?))"), _power),
    (re.compile(r"([A-Za-z])([₀-₉]+)"), lambda m: f"{m[1]}{m[2].translate(_SUB)}"),
    (re.compile(rf"(?<![\w.,/-])({_N})\s?(?:-|–|—|~|〜)\s?({_N})(?![\w/]|-\d|\.\d|\s?=|\s?[-+*/×]\s?\d)"), _score),
)  # fmt: skip
