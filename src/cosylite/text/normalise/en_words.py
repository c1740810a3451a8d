"""English: abbreviations, Roman numerals, codes, symbols, and every number that is left."""

import re
import unicodedata
from collections.abc import Callable

from cosylite.text.normalise.en_numbers import cardinal, digits, number, ordinal, pairs, roman
from cosylite.text.normalise.en_quantities import NUMBER
from cosylite.text.normalise.en_rules import Rule, after, before
from cosylite.text.normalise.en_tables import (
    ABBREVIATIONS,
    AT_END,
    BARE,
    KINGS,
    LETTER_SYMBOLS,
    NEEDS_NAME,
    NEEDS_NUMBER,
    PARTS,
    SYMBOLS,
)  # fmt: skip

_GREEK = "".join(LETTER_SYMBOLS)
_NUMBER_WORD = re.compile(r"\s+(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty)\b")


def _like(model: str, words: str) -> str:
    """`words` with a capital where the written form had one."""
    return words[0].upper() + words[1:] if model[0].isupper() else words


def _ends_sentence(match: re.Match[str]) -> bool:
    rest = after(match)
    return not rest.strip() or re.match(r"[\"”')]*\s+[A-Z]", rest) is not None


def _abbreviation(match: re.Match[str]) -> str | None:
    text = match.group(1)
    key = text.lower()
    rest = after(match)
    if key not in ABBREVIATIONS:
        return None
    numbered = re.match(r"\s*(?:\d|[A-Z]\b|[IVX]+\b)", rest) or (
        key != "no" and match.group().endswith(".") and _NUMBER_WORD.match(rest)
    )
    if key in NEEDS_NUMBER and not numbered:
        return None
    if key in NEEDS_NAME and not re.match(r"\s+[A-Z]", rest):
        return None
    if key in ("co", "inc", "ltd", "corp", "min", "max", "sec", "art", "ref", "cont", "pub", "est", "temp") and (
        not text[0].isupper() and not match.group().endswith(".")
    ):
        return None
    if key in ("min", "max", "no", "art", "temp", "tech", "ref", "pub", "est", "rep", "ct", "pl") and _ends_sentence(
        match
    ):
        return None
    dot = "." if key in AT_END and _ends_sentence(match) else ""
    return _like(text, ABBREVIATIONS[key]) + dot


def _bare(match: re.Match[str]) -> str | None:
    return _like(match.group(1), ABBREVIATIONS[match.group(1).lower()])


def _doctor(match: re.Match[str]) -> str:
    """`Dr.` before a name is Doctor, behind one Drive; `St.` Saint or Street."""
    doctor = match.group(1).lower() == "dr"
    lead, rest = before(match), after(match)
    titled = re.match(r"\s+(?:[A-Z]|Mc|O['’])", rest) is not None
    behind_name = re.search(r"(?:\b[A-Z][a-z]+|\d(?:st|nd|rd|th)|st|nd|rd|th)\s+$", lead) is not None
    known = re.search(
        r"\b(?:The|A|An|And|Or|In|At|To|Ask|Call|See|Visit|Hi|Hello|Dear|Is|With|Of|From|By|On|Mount)\s+$", lead
    )
    saint = not doctor and re.match(r"\s+(?:Louis|Paul|Petersburg|John|Mary|Peter|George|Patrick|Thomas|Andrews)", rest)
    road = behind_name and not known and not saint
    if road and titled and not re.search(r"\d+\w?\s+(?:[A-Z][\w'’]*\s+)+$", lead):
        road = False
    if not titled and behind_name:
        road = True
    word = ("Drive" if doctor else "Street") if road else ("Doctor" if doctor else "Saint")
    ends = match.group(2) and road and _ends_sentence(match)
    return word + ("." if ends else "")


def _initials(match: re.Match[str]) -> str:
    """`U.S.A.` as USA, with the full stop again where it ended a sentence."""
    letters = match.group().replace(".", "").replace(" ", "")
    sentence = not after(match).strip()
    return letters.upper() + ("." if sentence and match.group().endswith(".") else "")


def _part(match: re.Match[str]) -> str | None:
    value = roman(match.group(2))
    if value is None or (match.group(2) in ("I", "C", "D", "M", "L") and match.group(1)[0].islower()):
        return None
    if match.group(2) in ("C", "D", "M", "L"):
        return None
    return f"{match.group(1)} {cardinal(str(value))}"


def _king(match: re.Match[str]) -> str | None:
    value = roman(match.group(2))
    if match.group(2) == "I" and re.match(r"\s+(?:am|was|have|had|will|would|do|did|can|think|'|’)", after(match)):
        return None
    return f"{match.group(1)} the {ordinal(str(value))}" if value else None


def _century(match: re.Match[str]) -> str | None:
    value = roman(match.group(1))
    return ordinal(str(value)) if value else None


def _numeral(match: re.Match[str]) -> str | None:
    value = roman(match.group(2))
    return match.group(1) + cardinal(str(value)) if value else None


def _world_war(match: re.Match[str]) -> str:
    return f"World War {('One', 'Two', 'Three')[len(match.group(1)) - 1]}"


def _house(match: re.Match[str]) -> str:
    return pairs(match.group(1)) + (f" {match.group(2).upper()}" if match.group(2) else "")


def _model(match: re.Match[str]) -> str:
    return match.group(1) + pairs(match.group(2))


def _dialled(match: re.Match[str]) -> str:
    return match.group(1) + digits(match.group(2))


def _code(match: re.Match[str]) -> str | None:
    """Letters and digits in one token: MP3, GPT-4o, A380, H2O, 221B, covid-19."""
    pieces = re.findall(r"[^\W\d_]+|\d[\d,]*(?:\.\d+)?", match.group())
    if len(pieces) < 2:
        return None
    words = []
    for i, piece in enumerate(pieces):
        if not piece[0].isdecimal():
            words.append(piece if i or len(pieces[0]) > 1 else piece.upper())
        elif "." in piece or "," in piece or len(piece) <= 2:
            words.append(number(piece))
        else:
            known = len(piece) == 3 or (len(piece) == 4 and (i == 0 or piece[:2] in ("19", "20")))
            words.append(pairs(piece) if known else digits(piece))
    return " ".join(words)


def _left(match: re.Match[str]) -> str:
    return f" {number(match.group())} "


def _symbol(match: re.Match[str]) -> str:
    return f" {SYMBOLS[match.group()]} "


def _greek(match: re.Match[str]) -> str:
    return f" {LETTER_SYMBOLS[match.group().lower()]} "


def _slash(match: re.Match[str]) -> str:
    first, second = match.group(1), match.group(2)
    if f"{first}/{second}".lower() in ("he/she", "she/he", "him/her", "his/her", "her/his", "s/he"):
        return f"{first} or {second}"
    quiet = first.lower() == "and" or (first.isupper() and second.isupper() and len(first) > 1)
    return f"{first} {'' if quiet else 'slash '}{second}"


def _drop(match: re.Match[str]) -> str:
    """Nothing for what cannot be said; a space where words would run together."""
    return "" if all(unicodedata.category(char) in ("Mn", "Cf", "Cs") for char in match.group()) else " "


_FIXED: tuple[tuple[str, str], ...] = (
    (r"(?i)\be\.\s?g\.?(?!\w)", "for example"),
    (r"(?i)\bi\.\s?e\.?(?!\w)", "that is"),
    (r"(?i)\ba\.?k\.?a\b\.?", "also known as"),
    (r"\bP\.?h\.?\s?D\b\.?(?=\s[a-z]|,)|\bPh\.\s?D\b|\bPhD\b", "PHD"),
    (r"\b[Ee]t al\.", "et al"),
    (r"\bc\. ?(?=\d)", "circa "),
    (r"\bw/o\b", "without"),
    (r"\bw/ ?(?=\w)", "with "),
    (r"\bc/o\b", "care of"),
    (r"\b[nN]/[aA]\b", "N A"),
    (r"\bb/c\b", "because"),
    (r"</?[A-Za-z][^<>]*>", " "),
    (r"(?<!\S)(?:[:;=8][-'^]?[()DPpOo3/|*\]\[]+|<3+|[xX]D+|\^_+\^|:'\()(?!\S)", " "),
    (r"(?<=\d)-for-(?=\d)", " for "),
    (r"\b24/7\b", "twenty-four seven"),
    (r"\b401\(?k\)?(?!\w)", "four oh one K"),
    (r"\bp\.\s?(?=\d)", "page "),
    (r"\bpp\.\s?(?=\d)", "pages "),
    (r"\bNo\.\s?(?=\d)", "number "),
    (r"\bRm\.\s?(?=\d)", "room "),
    (r"\bSc\.\s?(?=[\dIVX])", "scene "),
    (r"(?<=\d\.\d)/(?=(?:5|10)\b)", " out of "),
    (r"(?<=\d0s)\s?[–-]\s?(?=\d{4}s)", " to "),
    (r"\bvs?\.(?=\s+[A-Za-z])", "versus"),
    (r"#(?=\d)", "number "),
    (r"~\s?(?=\d|[$€£])", "about "),
    (r"(?<=\w)\s?\*\s?(?=\d)|(?<=\d)\s?\*\s?(?=\w)|(?<=\d)\s?·\s?(?=\d)", " times "),
    (r"(?<=\d) / (?=\d)", " divided by "),
    (r"(?<=\w)\s?!=\s?(?=\w)", " is not equal to "),
    (r"(?<=[\w)])\s?<=\s?(?=\w)", " is less than or equal to "),
    (r"(?<=[\w)])\s?>=\s?(?=\w)", " is greater than or equal to "),
    (r"(?<=\w)\s?==\s?(?=\w)", " equals "),
    (r"\s?[-=]+>\s?", " to "),
    (r"\bR&D\b", "R and D"),
    (r"(?<=\w)['’]s(?=\d)", " "),
)


def _always(words: str) -> Callable[[re.Match[str]], str]:
    return lambda _: words


RULES_EARLY: tuple[Rule, ...] = tuple((re.compile(pattern), _always(words)) for pattern, words in _FIXED)
RULES: tuple[Rule, ...] = (
    (re.compile(r"\b([fgh])\(([a-z])\)"), lambda m: f"{m[1]} of {m[2]}"),
    (re.compile(r"\bWW(I{1,3})\b"), _world_war),
    (re.compile(rf"(?i:\b((?:{PARTS})\.?))[ -]([IVXLCDM]+)\b(?!-?\d)"), _part),
    (re.compile(rf"\b({KINGS}) ([IVX]+)\b"), _king),
    (re.compile(r"\b([IVX]+)(?=(?:th|st|nd|rd)?(?:-|\s)(?:century|centuries|Century)\b)"), _century),
    (re.compile(r"(\b[A-Z][\w’']*\s)(?!(?:IV|XX|XI)\s+(?:drip|fluid|chrom|line))(?!XX?\b)([IVX]{2,})\b"), _numeral),
    (re.compile(r"(?<![\w.])([Dd]r|[Ss]t)(\.|(?=\s+[A-Z]))(?!\w)"), _doctor),
    (re.compile(r"\b([A-Za-z]{2,6})\.(?!\w|\.)"), _abbreviation),
    (re.compile(rf"(?i)(?<![\w.])({'|'.join(BARE)})(?![\w.'’])"), _bare),
    (re.compile(r"(?<![\w.])(?:[A-Za-z]\.){2,}(?!\w)|(?<![\w.])(?:[A-Z]\.)+[A-Z](?![\w.])"), _initials),
    (re.compile(r"\b([A-Z])\.(?=\s[A-Z])"), lambda m: m[1]),
    (re.compile(r"\b(\d{3,5})([A-Za-z])?(?=\s(?:[NSEW]\.?\s)?(?:[A-Z][\w'’]*\s){1,3}(?:Street|St\b|Avenue|Ave|Road|Rd|"
                r"Boulevard|Blvd|"
                r"Drive|Lane|Ln|Way|Court|Place|Terrace|Square|Parkway|Highway|Circle))"), _house),
    (re.compile(r"\b((?:[Rr]oom|[Ss]uite|[Aa]partment|Apt|[Bb]oeing|[Ff]light|[Rr]oute|[Hh]ighway|Interstate|[Bb]us|"
                r"RTX|GTX|Ryzen|"
                r"Airbus|[Ff]light [A-Z]{2}|[Gg]ate|[Aa]rea|[Ff]orm|[Ii]ntel Core|[Cc]hannel|"
                r"[Mm]odel) (?:number )?)(\d{3,4})(?![\w,.]*\d)"), _model),
    (re.compile(r"(?i)(\b(?:call|dial|text|called|dialed|calling)\s+)(\d{3,5})\b"), _dialled),
    (re.compile(r"(?<![\w.-])(?:[A-Za-z]+[-–]?\d[\w]*(?:\.\d+)?(?:-\w+)*|"
                r"\d+(?:\.\d+)?(?:-?[A-Za-z]+)+\d*\w*)(?![\w])"), _code),
    (re.compile(rf"(?<![\w)\]])[-−–]\s?(?=(?:{NUMBER}))()"), lambda m: "minus "),
    (re.compile(r"(?<=[\w)])\s[-−–]\s(?=[\w(][^.?!]{0,60}(?:=|equals))|(?<=\d)\s?−\s?(?=\d)"), lambda m: " minus "),
    (re.compile(r"(?<=[=+×])\s?-\s?(?=\w)"), lambda m: " minus "),
    (re.compile(r"\b([A-F])[-−](?=[\s,.]|$)"), lambda m: f"{m[1]} minus"),
    (re.compile(r"(?<=\s)m/s²"), lambda m: "meters per second squared"),
    (re.compile(r"(?<=\s)m/s\b"), lambda m: "meters per second"),
    (re.compile(r"(?<=\s)km/h\b"), lambda m: "kilometers per hour"),
    (re.compile(r"\b([A-Za-z]+)/([A-Za-z]+)\b"), _slash),
    (re.compile(rf"(?:{NUMBER})"), _left),
    (re.compile(r"\*+|_+|\^|~|`+|\|+|[®™•●■□◆▪★☆✓✔✗†‡¶]"), lambda m: " "),
    (re.compile(f"[{_GREEK}{_GREEK.upper()}](?![\u0370-\u03ff])(?<![\u0370-\u03ff].)"), _greek),
    (re.compile("[" + re.escape("".join(SYMBOLS)) + "]"), _symbol),
    (re.compile(r"(?<=\w)/(?=\w)"), lambda m: " slash "),
    (re.compile(r"(?<=\w)-(?=\s)|(?<=\s)-(?=\w)"), lambda m: ""),
)  # fmt: skip
LAST = (
    (re.compile(r"[^\w\s.,!?;:'\"()—–…“”‘’-]+|[\d_⁰¹²³⁴-⁹ⁿ₀-₉¼-¾⅐-⅞]+"), _drop),
    (re.compile(r"\s+"), lambda m: " "),
    (re.compile(r"^\s+|\s+$|\s+(?=[.,!?;:…)])|(?<=\()\s+"), lambda m: ""),
)
