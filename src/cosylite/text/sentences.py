"""Where sentences end.

`next_break` looks at the text that is left and finds the first place where one run of the acoustic model should
stop. Its answer depends only on the text before and shortly after that place, so text that arrives in pieces is cut
exactly as the whole text would be.

A sentence ends at the marks of the four languages with the closing quotes and brackets behind them, and at an empty
line. A full stop after an abbreviation, an initial or a list number, inside a number, an address or a file name does
not end one, nor does a quotation that the sentence goes on after. A single line end counts as one unless the line
looks wrapped. Sentences beyond a size are cut at commas and the like; one without any only at its hard limit.
"""

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Limits:
    """Sizes at which a sentence is cut.

    Attributes:
        symbols: estimated phoneme symbols after which a sentence is cut at a clause mark.
        characters: characters after which it is cut at a space, or anywhere.
    """

    symbols: int = 500
    characters: int = 500


@dataclass(frozen=True)
class Break:
    """The text is to be cut before character `end`; `kind` tells what stands there."""

    end: int
    kind: Literal["sentence", "clause", "word"]


WHOLE = Limits()
"""For texts that are complete."""
EARLY = Limits(symbols=120)
"""For text that is spoken while it is being written: long sentences go out clause by clause."""

_STRONG = "。！？｡"
_CLOSERS = "\"'”’」』）)】》〉］]｝}»›"
_OPENERS = "\"'“‘「『（(【《〈［[｛{«‹¿¡"
_CANDIDATE = re.compile(rf"(?P<mark>[.!?…{_STRONG}]+)(?P<close>[{re.escape(_CLOSERS)}]*)(?P<blank>\s*)|(?P<line>\n+)")
_CLAUSE = re.compile(r"[，、；：;—…]+[”’」』）)]*\s*|[,:][\"”’)]*\s+|(?<=[^\d\s]),(?=[^\d\s])| [-–] ")
_CJK = re.compile("[\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_GOES_ON = "とっをがはのにもだな，、,"
"""What follows a quotation within the sentence, directly behind the closing mark."""
_LAST_WORD = re.compile(r"[^\s\"'“‘(\[（「]+$")
_NEXT_WORD = re.compile(r"[A-Za-z']+")
_ROMAN = re.compile(r"(?:[IVX]{2,}|[VX])(?![\w'])")
_INITIALS = re.compile(r"[A-HJ-Z]|[A-Z](?:\.[A-Z])+")
_ZONES = frozenset({"GMT", "UTC", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "CET", "ET", "CT", "PT"})
_WRAPPED_LINE = 50


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = _words(
    "mr mrs ms mx dr prof rev gen sen rep gov capt lt col sgt maj cmdr adm hon pres supt messrs mme mlle mt ft "
    "vs v e.g i.e cf viz al approx ca dept est ext incl misc tel"
)
_BEFORE_NUMBERS = _words(
    "no nos vol fig figs p pp ch chap sec art eq para pt op cl jan feb mar apr jun jul aug sep sept oct nov dec "
    "eqs lat rm fl c rte"
)
_ENDINGS = _words("etc inc ltd co corp jr sr st ave blvd rd ln hwy bros a.m p.m u.s u.k u.n e.u d.c ph.d m.d b.a m.a")
_STARTERS = _words(
    "the a an he she it we they i you this that these those there here in on at for from with my your his her its our "
    "their but and so or if when while as after before then however what who where why how do does did is are was "
    "were not no yes please"
)


def next_break(text: str, *, final: bool, column: int = 0, limits: Limits = WHOLE) -> Break | None:
    """First place where `text` is to be cut, or None while that is not certain yet.

    Args:
        text: cleaned text that begins where the last sentence ended.
        final: nothing follows `text`; then the answer is a break for every text that is not empty.
        column: characters of the current line that stand before `text`.
        limits: sizes at which to cut inside a sentence.
    """
    if not text:
        return None
    end, known = _sentence_end(text, final, column)
    limit = _limit(text, limits.symbols)
    if limit is None or (end is not None and end <= limit):
        return None if end is None else Break(end, "sentence")
    if known <= limit:
        return None
    return _inner_break(text, end, limit, final, limits)


def _inner_break(text: str, end: int | None, limit: int, final: bool, limits: Limits) -> Break | None:
    """Where to cut a sentence whose estimated size passes the limit at character `limit`."""
    best: int | None = None
    for match in _CLAUSE.finditer(text):
        if match.end() == len(text) and not final:
            break
        if match.end() > limit:
            if best is None and match.end() < min(end or len(text), limits.characters):
                best = match.end()
            break
        if match.end() >= limit // 4:
            best = match.end()
    if best is not None and best < len(text):
        return Break(best, "clause")
    if end is not None and end <= limits.characters:
        return Break(end, "sentence")
    if len(text) <= limits.characters:
        return Break(len(text), "sentence") if final else None
    space = text.rfind(" ", limits.characters // 2, limits.characters)
    return Break(space + 1 if space > 0 else limits.characters, "word")


def _limit(text: str, symbols: int) -> int | None:
    """Index at which the estimated number of symbols passes `symbols`, or None."""
    if len(text) * 6 <= symbols:
        return None
    size = 0.0
    for index, character in enumerate(text):
        size += _symbols(character)
        if size > symbols:
            return index
    return None


def _symbols(character: str) -> float:
    if character < "\u1100":
        return 4.0 if character.isdigit() else 1.1
    if _HANGUL.match(character):
        return 3.0
    if "\u3041" <= character <= "\u30ff":
        return 2.5
    return 5.0


def _sentence_end(text: str, final: bool, column: int) -> tuple[int | None, int]:
    """End of the first sentence (None: not found), and the index up to which that is certain."""
    for match in _CANDIDATE.finditer(text):
        if match.end() == len(text):
            return (match.end(), len(text)) if final else (None, match.start())
        verdict = _line_ends(text, match, column) if match["line"] else _mark_ends(text, match, final)
        if verdict is None:
            return None, match.start()
        if verdict:
            return match.end(), match.end()
    return (len(text) if final else None), len(text)


def _line_ends(text: str, match: re.Match[str], column: int) -> bool:
    if len(match["line"]) > 1 or match.start() == 0:
        return True
    before, after = text[match.start() - 1], text[match.end()]
    if after.isascii() and after.islower() and before.isascii():
        return False
    previous = text.rfind("\n", 0, match.start())
    length = match.start() - previous - 1 if previous >= 0 else column + match.start()
    wrapped = length >= _WRAPPED_LINE and (before.isascii() or bool(_HANGUL.match(before)))
    return not (wrapped and (before.isalnum() or before in ",;-") and (after.isalnum() or after in _OPENERS))


def _mark_ends(text: str, match: re.Match[str], final: bool) -> bool | None:
    """Whether the marks end a sentence; None while the next word is not complete."""
    mark, after = match["mark"], text[match.end()]
    if "\n\n" in match["blank"]:
        return True
    if match["close"] and not match["blank"] and (after in _GOES_ON or _HANGUL.match(after)):
        return False
    if any(c in _STRONG for c in mark):
        return True
    if not match["blank"]:
        letter = bool(_CJK.match(after) or _HANGUL.match(after))
        before = text[match.start() - 1 : match.start()]
        return letter and not mark.startswith(("…", "..")) and not (mark == "." and (before.isdigit() or not before))
    native = text[match.start() - 1 : match.start()]
    if after.islower() and after.isascii() and not (_CJK.match(native) or _HANGUL.match(native)):
        return False
    if mark.startswith(("…", "..")):
        return after.isupper() or after in _OPENERS or "\n" in match["blank"]
    return True if mark != "." or match["close"] else _stop_ends(text, match, final)


def _stop_ends(text: str, match: re.Match[str], final: bool) -> bool | None:
    """Whether a full stop followed by a blank ends a sentence."""
    found = _LAST_WORD.search(text, 0, match.start())
    word = found[0] if found else ""
    lower, after = word.lower(), text[match.end()]
    if word.isdigit():
        return bool(text[: match.start() - len(word)].strip())
    if lower in _BEFORE_NUMBERS:
        roman = _ROMAN.match(text, match.end())
        if roman and roman.end() == len(text) and not final:
            return None
        return not (after.isdigit() or roman) and lower not in {"p", "pp", "fig", "figs"}
    if lower in _TITLES:
        return False
    initial = lower not in _ENDINGS and _INITIALS.fullmatch(word) is not None
    if not (initial or lower in _ENDINGS):
        return True
    following = _NEXT_WORD.match(text, match.end())
    if following is None:
        return not initial
    if following.end() == len(text) and not final:
        return None
    if following[0] in _ZONES:
        return False
    starter = following[0].lower() in _STARTERS
    return starter or lower in {"etc", "a.m", "p.m"}
