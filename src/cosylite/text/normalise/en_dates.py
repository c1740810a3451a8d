"""English: dates, times of day, years, decades."""

import re

from cosylite.text.normalise.en_numbers import decade, number, ordinal, plural, two_digits, year
from cosylite.text.normalise.en_rules import Rule, after, before
from cosylite.text.normalise.en_tables import MONTH_NAMES, MONTHS, WEEKDAY_NAMES

_MONTH_WORD = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_MONTH = rf"(?P<month>{_MONTH_WORD})"
_DAY = r"(?P<day>[0-2]?\d|3[01])(?:st|nd|rd|th)?(?!\d|[.,]\d|:\d|%)"
_YEAR = r"(?P<year>[1-9]\d{3}|['’]\d\d)(?![\w%]|[.,:]\d)"
_WEEKDAY = r"(?:Mon|Tues?|Wed|Weds|Thu|Thurs?|Fri|Sat|Sun)"
_TO = r"\s*(?:-|–|—)\s*"
_AM_PM = r"(?P<half>[aApP])\.?\s?[mM](?P<dot>\.?)(?![\w])"
_ZONES = r"(?:GMT|UTC|EST|EDT|CST|CDT|MST|MDT|PST|PDT|CET|CEST|BST|JST|KST|ET|PT|CT|MT)"


def _month(text: str) -> str:
    return MONTH_NAMES[text.rstrip(".").lower()]


def _year(text: str | None, comma: str = ",") -> str:
    if not text:
        return ""
    words = year(text) if text.isdecimal() else two_digits(int(text[-2:]))
    return f"{comma} {words}"


def _numeric(first: str, second: str, last: str | None) -> str | None:
    """Month/day/year, or day/month/year where only that is possible."""
    month, day = int(first), int(second)
    if month > 12:
        month, day = day, month
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    if last and len(last) == 2:
        last = ("20" if int(last) < 50 else "19") + last
    return f"{MONTHS[month - 1]} {ordinal(str(day))}{_year(last)}"


def _iso(match: re.Match[str]) -> str | None:
    return _numeric(match.group("m"), match.group("d"), match.group("y"))


def _day_ok(match: re.Match[str]) -> bool:
    return 1 <= int(match.group("day")) <= 31


def _month_day(match: re.Match[str]) -> str | None:
    if not _day_ok(match):
        return None
    words = f"{_month(match.group('month'))} {ordinal(match.group('day'))}"
    if match.group("until"):
        words += f" to {ordinal(match.group('until'))}"
    return words + _year(match.group("year"))


def _day_month(match: re.Match[str]) -> str | None:
    if not _day_ok(match):
        return None
    article = "" if re.search(r"(?i)\b(?:the|this|every|each|that)\s+$", before(match)) else "the "
    days = ordinal(match.group("day"))
    if match.group("until"):
        days += f" to {article}{ordinal(match.group('until'))}"
    return f"{article}{days} of {_month(match.group('month'))}{_year(match.group('year'))}"


def _month_year(match: re.Match[str]) -> str:
    return f"{_month(match.group('month'))}{_year(match.group('year'), '')}"


def _month_range(match: re.Match[str]) -> str:
    return f"{_month(match.group(1))} to {_month(match.group(2))}"


def _weekday(match: re.Match[str]) -> str:
    return WEEKDAY_NAMES[match.group(1).lower()] + (match.group(2) or "")


def _weekday_range(match: re.Match[str]) -> str:
    return f"{WEEKDAY_NAMES[match.group(1).lower()]} to {WEEKDAY_NAMES[match.group(2).lower()]}"


def _half(match: re.Match[str]) -> str:
    """`AM` or `PM`, with the full stop again where it also ended a sentence."""
    rest = after(match)
    ends = bool(match.group("dot")) and (not rest.strip() or re.match(r"\s+[A-Z]", rest)) and not rest.startswith(".")
    zone = re.match(rf"\s+(?:{_ZONES}|{'|'.join(MONTHS)}|{'|'.join(WEEKDAY_NAMES.values())})\b", rest)
    return match.group("half").upper() + "M" + ("." if ends and not zone else "")


def clock(hour: str, minute: str | None) -> str:
    """`7`, `05`: seven oh five; `15`, `00`: fifteen hundred; `3`, `00`: three o'clock."""
    spoken = two_digits(int(hour))
    if minute is None:
        return spoken
    if minute == "00":
        value = int(hour)
        return "midnight" if value in (0, 24) else f"{spoken} o'clock" if value <= 12 else f"{spoken} hundred"
    return f"{spoken} {'oh ' if minute[0] == '0' else ''}{two_digits(int(minute))}"


def _valid(hour: str, minute: str | None) -> bool:
    return int(hour) <= 24 and int(minute or 0) < 60


def _half_day(match: re.Match[str]) -> str | None:
    hour, minute = match.group("hour"), match.group("minute")
    if not _valid(hour, minute):
        return None
    return f"{clock(hour, None if minute == '00' else minute)} {_half(match)}"


def _half_day_range(match: re.Match[str]) -> str | None:
    hour, minute = match.group("from"), match.group("past")
    if not (_valid(hour, minute) and _valid(match.group("hour"), match.group("minute"))):
        return None
    start = clock(hour, None if minute == "00" else minute)
    if match.group("first"):
        start += f" {match.group('first')[0].upper()}M"
    return f"{start} to {_half_day(match)}"


def _time(match: re.Match[str]) -> str | None:
    hour, minute, second = match.group(1), match.group(2), match.group(3)
    if not _valid(hour, minute):
        return None
    if second:
        units = ((hour, "hour"), (minute, "minute"), (second, "second"))
        return " ".join(f"{two_digits(int(n))} {unit}{'' if int(n) == 1 else 's'}" for n, unit in units)
    zone = re.match(r"\s*(?:h\b|hours\b|hrs?\b)", after(match))
    words = clock(hour, minute)
    return words.removesuffix(" o'clock") + " hundred" if zone and minute == "00" else words


def _counted(text: str, unit: str) -> str:
    return f"{number(text)} {unit}{'' if int(text) == 1 else 's'}"


def _duration(match: re.Match[str]) -> str:
    parts = zip(match.groups(), ("hour", "minute", "second"), strict=True)
    return " ".join(_counted(text.lstrip("0") or "0", unit) for text, unit in parts if text)


def _time_range(match: re.Match[str]) -> str | None:
    if not (_valid(match.group(1), match.group(2)) and _valid(match.group(3), match.group(4))):
        return None
    return f"{clock(match.group(1), match.group(2))} to {clock(match.group(3), match.group(4))}"


def _decade(match: re.Match[str]) -> str:
    lead = {"mid": "mid ", "early": "early ", "late": "late ", "pre": "pre ", "post": "post "}.get(
        match.group(1) or "", ""
    )
    return lead + decade(match.group(2))


def _short_decade(match: re.Match[str]) -> str:
    return plural(two_digits(int(match.group(1))))


def _short_year(match: re.Match[str]) -> str:
    text = match.group(1)
    return ("oh " if text[0] == "0" else "") + two_digits(int(text))


def _year_range(match: re.Match[str]) -> str | None:
    first, second = match.group(1), match.group(2)
    if len(second) == 2:
        if int(second) <= int(first[2:]) or not 1100 <= int(first) <= 2100:
            return None
        return f"{year(first)} to {two_digits(int(second))}"
    if not (1100 <= int(first) <= 2100 and int(first) <= int(second) <= 2100):
        return None
    return f"{year(first)} to {year(second)}"


def _era(match: re.Match[str]) -> str:
    text = match.group(1)
    return f"{year(text) if len(text) == 4 else number(text)} {match.group(2).replace('.', '').replace(' ', '')}"


def _anno(match: re.Match[str]) -> str:
    return f"AD {year(match.group(1)) if len(match.group(1)) == 4 else number(match.group(1))}"


_BEFORE_YEAR = re.compile(
    r"(?i)(?:\b(?:in|since|from|until|till|by|of|during|year|years|before|after|between|around|circa|early|late|mid|"
    r"spring|summer|autumn|fall|winter|class of|january|february|march|april|may|june|july|august|september|october|"
    r"november|december|copyright|born|died|founded|established|est\.|c\.|election|olympics|day|eve|q[1-4]|fiscal|fy|"
    r"season|cup|edition|and|to|through|or|budget|census|season|quarter|half|mid-|the)|[(©])\s*$"
)
_STRONG = re.compile(
    r"(?i)\b(?:in|since|until|till|during|year|before|after|circa|spring|summer|autumn|fall|winter|january|"
    r"february|march|"
    r"april|may|june|july|august|september|october|november|december|copyright|born|died|founded|established|by)\s*$"
)
_COUNTING = re.compile(
    r"(?:\s|-)(?!(?:was|is|has|as|its|this|his|us|census|crisis|olympics|elections|games|times|does|news)\b)"
    r"(?:(?:new|more|extra|other|different|small|large|young|old|active|registered|local|free|copies)\s)?"
    r"(?:[a-z]+s|people|men|women|children|percent|feet|copies|sheep|fish|kilo\w*|\w+meters?)\b"
)


def _lone_year(match: re.Match[str]) -> str | None:
    """A four-digit number as a year where the words around say so, or nothing says that it counts things."""
    text = match.group()
    value = int(text)
    lead, tail = before(match), after(match)
    counted = _COUNTING.match(tail) is not None
    if not 1100 <= value <= 2100 or re.match(
        r"\s?(?:%|percent|[°×*/+=x]|dollars?|points?|[kcm]?m\b|[kK]?[gG]\b)", tail
    ):
        return None
    if _STRONG.search(lead):
        return None if counted and value % 100 == 0 and not re.search(r"(?i)\b(?:in|since)\s*$", lead) else year(text)
    if counted and not (re.search(r"(?i)\bthe\s*$", lead) and value >= 1900):
        return None
    if _BEFORE_YEAR.search(lead):
        return year(text)
    named = re.search(r"[A-Z][a-z]+,? $", lead) is not None
    alone = re.match(r"\s*(?:$|[.,;:!?)’']|[A-Z])", tail) is not None
    return year(text) if 1900 <= value <= 2099 and (named or alone or not lead.strip()) else None


RULES: tuple[Rule, ...] = (
    (re.compile(r"(?<=\d\d\d\d-\d\d-\d\d)T(?=\d\d:\d\d)"), lambda match: ", "),
    (re.compile(r"(?<![\w./-])(?P<y>[12]\d{3})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?![\d/-])"), _iso),
    (
        re.compile(r"(?<![\w./-])(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d\d)(?![\d/-])"),
        lambda match: _numeric(match.group(1), match.group(3), match.group(4)),
    ),
    (
        re.compile(r"(?i)(?<=\bon )(\d{1,2})/(\d{1,2})(?![\d/])"),
        lambda match: _numeric(match.group(1), match.group(2), None),
    ),
    (
        re.compile(r"(?<![\w./$-])(1[0-2]|0?[1-9])/(1[3579]|2[12367]|29|3[01])(?![\w/%-]|\.\d)"),
        lambda match: _numeric(match.group(1), match.group(2), None),
    ),
    (re.compile(r"\b(\d{1,4})h\s?(\d{1,2})(?:m|min)?(?:\s?(\d{1,2})s)?\b"), _duration),
    (re.compile(r"\b(\d{1,4})m\s?(\d{1,2})s\b"), lambda m: f"{_counted(m[1], 'minute')} {_counted(m[2], 'second')}"),
    (re.compile(rf"(?i)\b({_MONTH_WORD}){_TO}({_MONTH_WORD})(?!\w)"), _month_range),
    (
        re.compile(rf"\b{_MONTH}\s+{_DAY}(?:{_TO}(?P<until>\d\d?)(?:st|nd|rd|th)?(?!\d|:))?(?:,?\s+{_YEAR})?"),
        _month_day,
    ),
    (
        re.compile(rf"(?<![\d.,:/$€£])\b(?P<day>[0-2]?\d|3[01])(?:st|nd|rd|th)?(?:{_TO}(?P<until>\d\d?)(?:st|nd|"
            rf"rd|th)?)?"
                   rf"[\s-]+(?:of\s+)?{_MONTH}(?!\w)(?:,?[\s-]+{_YEAR})?"),
        _day_month,
    ),
    (re.compile(rf"\b{_MONTH}(?:\s+of)?,?[\s]+{_YEAR}"), _month_year),
    (re.compile(r"\b(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.(?=\s|,)"), lambda m: _month(m[1])),
    (re.compile(rf"\b({_WEEKDAY})\.?{_TO}({_WEEKDAY})\b\.?"), _weekday_range),
    (re.compile(rf"\b({_WEEKDAY})(,)(?=\s+(?:January|February|March|April|May|June|July|August|Sep|Oct|Nov|Dec|"
        rf"the ))"), _weekday),
    (re.compile(r"\b(Sat|Sun)(?:\.(,)|()(?=\s\d{1,2}(?::\d\d)?\s?(?:[-–]|[aApP]\.?[mM])))"), _weekday),
    (re.compile(r"\b(Mon|Tues?|Wed|Weds|Thu|Thurs?|Fri)\.()(?=\s|,)"), _weekday),
    (
        re.compile(rf"\b(?P<from>\d{{1,2}})(?::(?P<past>\d\d))?\s?(?P<first>[aApP]\.?[mM]\.?)?(?:{_TO}|\s+to\s+)"
                   rf"(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))?\s?{_AM_PM}"),
        _half_day_range,
    ),
    (re.compile(rf"\b(?P<hour>\d{{1,2}})(?:[:.](?P<minute>[0-5]\d))?\s?{_AM_PM}"), _half_day),
    (re.compile(r"(?<![\d:.])(\d{1,2}):([0-5]\d)(?:-|–)(\d{1,2}):([0-5]\d)(?![\d:])"), _time_range),
    (re.compile(r"(?<![\d:.])(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?![\d:])"), _time),
    (re.compile(r"(?<![\d:.])(\d{1,4}):(\d{1,4})(?![\d:])"), lambda m: f"{number(m[1])} to {number(m[2])}"),
    (re.compile(rf"(?<=\s){_AM_PM}(?<=[mM]\.)"), _half),
    (re.compile(r"\b(?:(mid|early|late|pre|post)-)?([1-9]\d[0-9]0)['’]?s\b"), _decade),
    (re.compile(r"(?<![\w])['’]([1-9]0)['’]?s\b"), _short_decade),
    (
        re.compile(r"(?i)(?<=\b(?:the|her|his|our|low|mid|ies) )([2-9]0)['’]?s\b|(?<=\b(?:late|high|"
            r"your) )([2-9]0)['’]?s\b"
                   r"|(?<=\b(?:early|their) )([2-9]0)['’]?s\b|(?<=\bmid-)([2-9]0)s\b|(?<=\bmy )([2-9]0)s\b"),
        lambda match: plural(two_digits(int(next(filter(None, match.groups()))))),
    ),
    (re.compile(r"(?<![\w])['’](\d\d)(?![\w'’])"), _short_year),
    (re.compile(r"(?<![\w.,$€£¥/-])([12]\d{3})(?:-|–|—|/)(\d{4}|\d\d)(?![\w-]|[.,]\d)"), _year_range),
    (re.compile(r"\b(\d{1,4})\s?(BCE?\b|AD\b|CE\b|B\.\s?C\.(?:\s?E\.)?|A\.\s?D\.|C\.\s?E\.)"), _era),
    (re.compile(r"\bA\.?D\.?\s(\d{1,4})\b"), _anno),
    (re.compile(r"(?<![\w.,$€£¥#-])[12]\d{3}(?![\w%]|[.,]\d|-\w)"), _lone_year),
)  # fmt: skip
