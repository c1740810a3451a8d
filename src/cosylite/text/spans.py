"""Splits text into spans of one language each, by script and context."""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from cosylite.errors import InputError
from cosylite.text.han import HanJudge
from cosylite.text.span_contexts import LINE_MARKS, SENTENCE_MARKS, Contexts
from cosylite.text.types import LANGS, Lang, Span

_HAN = "\u2e80-\u2fdf々〆〇\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"
_LETTER = (
    "A-Za-zÀ-ÖØ-öø-ʯ\u0370-\u0373\u0376-\u037d\u037f\u0386\u0388-\u03ff\u1d00-\u1d2b\u1d6b-\u1d77\u1e00-\u1fbc\u1fbe"
    "\u1fc2-\u1fcc\u1fd0-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ffc\u2c60-\u2c7f\ua722-\ua787\ua78b-\ua7ff\uab30-\uab68Ａ-Ｚａ-ｚ"
    "\ufb00-\ufb06\U0001d400-\U0001d7cb"
)
_UNITS = (
    "mmHg|USD|EUR|GBP|JPY|CNY|RMB|HKD|KRW|km/h|m/s|km²|m²|m³|cm²|km|cm|mm|nm|μm|µm|m|kg|mg|g|t|ml|mL|L|l|kW·?h|KWH|kW|MW|GW|W|V|A|mA|mAh|Hz|kHz|MHz|GHz|KB|MB|"
    "GB|TB|Mbps|kbps|dB|dpi|ppm|rpm|kcal|cal|kPa|hPa|MPa|Pa|ms|s|h|min|hr|am|pm|AM|PM|px|x|X|C|F|[KMGB]"
)
_TOKEN = re.compile(
    r"(?P<url>https?://[!-~]+|www\.[\w\-./?=&%#~+]+|[A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+)"
    rf"|(?P<unit>(?<=[0-9０-９万千百亿億만천백억]) ?(?:{_UNITS})(?![{_LETTER}0-9])|(?<=[%％])p(?![{_LETTER}])"
    r"|(?<=[0-9])(?:[xX](?=[0-9])|h(?=[0-9]{1,2}(?:m|分))))"
    rf"|(?P<code>(?<![{_LETTER}])(?:[A-Z]{{1,3}}-?[0-9]+[A-Z]?|v[0-9][0-9.]*|(?<=[0-9])[A-Z]{{1,2}}[0-9]*|No(?=\.?[0-9])|(?:US|HK|NT|CA|AU|NZ)(?=[$＄]))(?![{_LETTER}]))"
    rf"|(?P<en>[{_LETTER}][{_LETTER}\u0300-\u036f]*)"
    rf"|(?P<ja>[{_KANA}][{_KANA}\u3099\u309a]*)|(?P<ko>[{_HANGUL}]+)|(?P<han>[{_HAN}]+)",
    re.ASCII,
)
_WIDE_MARKS = frozenset("，。！？、；：…—～·．｡､")
_NARROW_MARKS = frozenset(".,!?;:'’")
_HIRAGANA = re.compile("[\u3041-\u3096]")
_CJK = re.compile(f"[{_HAN}{_KANA}{_HANGUL}]")
_KANA_OR_HANGUL = re.compile(f"[{_KANA}{_HANGUL}]")
_SUPPORTED = re.compile(f"[\\x00-\\xff{_LETTER}{_HAN}{_KANA}{_HANGUL}０-９\u2100-\u214f\u3099\u309a]")
_MARKS_OF_NO_SCRIPT = ("COMBINING", "VARIATION", "MUSICAL", "IDEOGRAPHIC", "MODIFIER", "MATHEMATICAL")


@dataclass(slots=True)
class _Run:
    """Characters of one script; `lang` is None while it is open."""

    kind: str
    start: int
    end: int
    lang: Lang | None
    clause: int


def split_languages(
    text: str, *, lang: Lang | str = "auto", default_han: Lang = "zh", skip_unknown: bool = False
) -> list[Span]:
    """Spans in order that cover every character of `text` exactly once; `[]` for empty text.

    Args:
        lang: "auto", or the language that Han characters, and text without any letters, belong to. Kana, hangul and
            Latin letters keep their own language.
        default_han: the language of Han characters that nothing decides ("zh" or "ja").
        skip_unknown: leave characters of unsupported scripts out of the spans instead of raising.

    Raises:
        InputError: `unsupported_language` for an unknown `lang`, or for the first character of a script that no
            language here is written in.
    """
    if lang != "auto" and lang not in LANGS:
        raise InputError(
            f"unknown language {lang!r}; use auto, {', '.join(LANGS)}", code="unsupported_language", param="lang"
        )
    unknown = _unsupported(text)
    if unknown and not skip_unknown:
        at = min(text.index(character) for character in unknown)
        raise InputError(
            f"{_script(text[at])} script at character {at + 1} ({text[at]!r}) is not supported; "
            "write Chinese, English, Japanese or Korean, or skip unknown scripts",
            code="unsupported_language",
            param="text",
        )
    contexts = Contexts.of(text)
    runs = _runs(text, contexts)
    forced = None if lang == "auto" else _as_lang(lang)
    _decide(text, runs, contexts, forced, default_han)
    owners = _Owners(text, runs, contexts, forced or default_han).all()
    return _spans(text, owners, unknown)


def _as_lang(lang: str) -> Lang:
    return next(known for known in LANGS if known == lang)


def _runs(text: str, contexts: Contexts) -> list[_Run]:
    runs: list[_Run] = []
    # Japanese and Korean read addresses in their own words (テスト アットマーク), Chinese in English.
    own_addresses = _KANA_OR_HANGUL.search(text) is not None
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        start, end = match.span()
        if kind == "url" and own_addresses:
            continue
        if kind in ("unit", "code") or (kind == "en" and end - start == 1 and _glued(text, start, end)):
            continue
        lang: Lang | None = None if kind == "han" else "en" if kind == "url" else _as_lang(kind)
        runs.append(_Run(kind, start, end, lang, contexts.clause_at(start)))
    return runs


def _glued(text: str, start: int, end: int) -> bool:
    """Whether a letter stands directly next to a character of Chinese, Japanese or Korean (T恤, A栋)."""
    around = text[max(start - 1, 0) : start], text[end : end + 1]
    return any(_CJK.match(character) for character in around)


def _decide(text: str, runs: list[_Run], contexts: Contexts, forced: Lang | None, default_han: Lang) -> None:
    """Give every Han run its language."""
    judge = HanJudge()
    open_runs = [run for run in runs if run.lang is None]
    if forced in ("zh", "ja"):
        for run in open_runs:
            run.lang = forced
        return
    foreign = _beside_foreign_kana(text, runs, open_runs, judge)
    touching = _touching(runs) - foreign
    evidence = [judge.evidence(text[run.start : run.end]) for run in open_runs]
    for run, found in zip(open_runs, evidence, strict=True):
        if found is None and run.start in foreign:
            found = "zh"
        han = text[run.start : run.end]
        if run.start in touching and not (found == "zh" and not judge.has_japanese_only(han)):
            run.lang = "ja"
        elif found:
            run.lang = _as_lang(found)
    _decide_by_context(open_runs, runs, contexts)
    _decide_by_neighbours(text, open_runs, contexts, judge, default_han)


def _touching(runs: list[_Run]) -> set[int]:
    """Starts of the Han runs that stand directly next to kana."""
    touching: set[int] = set()
    for left, right in pairwise(runs):
        if left.end == right.start and "ja" in (left.kind, right.kind):
            touching.add(right.start if left.kind == "ja" else left.start)
    return touching


def _beside_foreign_kana(text: str, runs: list[_Run], open_runs: list[_Run], judge: HanJudge) -> set[int]:
    """Starts of Han runs in clauses that hold Chinese and no hiragana: the katakana there is a foreign word."""
    japanese = {run.clause for run in runs if run.kind == "ja" and _HIRAGANA.search(text, run.start, run.end)}
    chinese = {run.clause for run in open_runs if judge.hints_chinese(text[run.start : run.end])}
    return {run.start for run in open_runs if run.clause in chinese and run.clause not in japanese}


def _decide_by_context(open_runs: list[_Run], runs: list[_Run], contexts: Contexts) -> None:
    """Clause first, then sentence: kana speaks for Japanese, decided Han for its language, kana before Han."""
    clauses: dict[int, Lang] = {}
    sentences: dict[int, Lang] = {}
    for run in runs:
        if run.lang in ("zh", "ja"):
            sentence = contexts.clauses[run.clause].sentence
            for table, key in ((clauses, run.clause), (sentences, sentence)):
                if run.kind == "ja" or key not in table:
                    table[key] = run.lang
    for run in open_runs:
        if run.lang is None:
            run.lang = clauses.get(run.clause) or sentences.get(contexts.clauses[run.clause].sentence)


def _decide_by_neighbours(
    text: str, open_runs: list[_Run], contexts: Contexts, judge: HanJudge, default_han: Lang
) -> None:
    """What is left follows the Han language before it on the line, then its looks, then any before or after it."""
    later = next((run.lang for run in open_runs if run.lang), None)
    before: Lang | None = None
    line = -1
    for run in open_runs:
        if run.lang is None:
            same_line = contexts.clauses[run.clause].line == line
            if before and same_line:
                run.lang = before
            elif judge.looks_japanese(text[run.start : run.end]):
                run.lang = "ja"
            else:
                run.lang = before or later or default_han
        before, line = run.lang, contexts.clauses[run.clause].line


class _Owners:
    """Gives the characters between runs to the language on one side: see `_chunk`."""

    def __init__(self, text: str, runs: list[_Run], contexts: Contexts, fallback: Lang) -> None:
        self._text = text
        self._runs = runs
        self._contexts = contexts
        self._fallback = fallback
        self._starts = [run.start for run in runs]
        self._main: dict[int, Lang] = {}
        for run in runs:
            self._main.setdefault(contexts.clauses[run.clause].context, run.lang or fallback)
        self._quotes: dict[int, Lang] = {}

    def all(self) -> list[tuple[int, Lang]]:
        """Positions where a language begins."""
        owners: list[tuple[int, Lang]] = []
        left: _Run | None = None
        for right in [*self._runs, None]:
            start, end = left.end if left else 0, right.start if right else len(self._text)
            if end > start:
                owners.extend(self._chunk(left, right, start, end))
            if right:
                owners.append((right.start, right.lang or self._fallback))
            left = right
        return owners

    def _chunk(self, left: _Run | None, right: _Run | None, start: int, end: int) -> list[tuple[int, Lang]]:
        """Owners of neutral characters: the left side, unless a quotation, a break or the main language says else."""
        after = (right.lang if right else left.lang if left else None) or self._fallback
        owner = (left.lang if left else None) or after
        main = self._main[self._contexts.clauses[left.clause].context] if left else owner
        last_space = max(self._text.rfind(space, start, end) for space in " \n\t\u3000")
        glued = right is not None and right.kind != "en"
        broken = False
        marks_only = left is not None
        owners: list[tuple[int, Lang]] = []
        for i in range(start, end):
            character = self._text[i]
            if i in self._contexts.pairs:
                self._quotes[i] = owners[-1][1] if owners else owner if left else self._behind(i, after)
                owners.append((i, self._quotes[i]))
                owner, marks_only = after, False
                continue
            if i in self._contexts.openers:
                owner = self._quotes.get(self._contexts.openers[i], owner)
            elif character in _WIDE_MARKS:
                owner = self._wide(character, owner, main, right)
            elif character in _NARROW_MARKS and marks_only:
                if owner in ("zh", "ja") and main not in ("zh", "ja") and (right is None or right.lang == main):
                    owner = main
            elif (broken and not character.isspace()) or (left and i > start and i == last_space + 1 and glued):
                owner = after
            elif left and owner != main and self._goes_to_main(i, right, main):
                owner = main
            marks_only = marks_only and character in _NARROW_MARKS
            broken = broken or character in LINE_MARKS or self._ends_sentence(i)
            owners.append((i, owner))
        return owners

    def _goes_to_main(self, i: int, right: _Run | None, main: Lang) -> bool:
        """Behind a foreign word: before the main language again, or set off by a space (`iPhone 15`)."""
        if right is not None and right.lang == main:
            return True
        return self._text[i - 1].isspace() and not self._text[i].isspace()

    def _wide(self, mark: str, owner: Lang, main: Lang, right: _Run | None) -> Lang:
        """Full-width marks belong to Chinese or Japanese where there is any to take them."""
        if owner != "en" or (mark in SENTENCE_MARKS and main == "en"):
            return owner
        if right and right.lang in ("zh", "ja"):
            return right.lang
        return main if main in ("zh", "ja") else owner

    def _ends_sentence(self, i: int) -> bool:
        character = self._text[i]
        if character == ".":
            return self._text[i + 1 : i + 2].isspace()
        return character in SENTENCE_MARKS

    def _behind(self, opening: int, default: Lang) -> Lang:
        """Language that goes on behind a quotation with nothing before it."""
        at = bisect_right(self._starts, self._contexts.pairs[opening])
        return (self._runs[at].lang if at < len(self._runs) else None) or default


def _spans(text: str, owners: list[tuple[int, Lang]], unknown: set[str]) -> list[Span]:
    spans: list[Span] = []
    for (start, lang), (end, _) in pairwise([*owners, (len(text), "zh")]):
        if spans and spans[-1].lang == lang:
            spans[-1] = Span(lang, spans[-1].start, end, "")
        else:
            spans.append(Span(lang, start, end, ""))
    filled = [Span(span.lang, span.start, span.end, text[span.start : span.end]) for span in spans]
    return filled if not unknown else [part for span in filled for part in _without(span, unknown)]


def _without(span: Span, unknown: set[str]) -> list[Span]:
    """The parts of a span between characters of unsupported scripts."""
    pattern = re.compile("[^" + "".join(map(re.escape, sorted(unknown))) + "]+")
    parts = pattern.finditer(span.text)
    return [Span(span.lang, span.start + m.start(), span.start + m.end(), m.group()) for m in parts]


def _unsupported(text: str) -> set[str]:
    """Letters, marks and digits of scripts that none of the languages uses."""
    return {character for character in set(text) if not _SUPPORTED.match(character) and _has_script(character)}


def _has_script(character: str) -> bool:
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"):
        return False
    name = unicodedata.name(character, "")
    return bool(name) and not name.startswith(_MARKS_OF_NO_SCRIPT)


def _script(character: str) -> str:
    return re.split("[ -]", unicodedata.name(character))[0].capitalize()
