"""Normalisation of the official front-end: written forms to words, odd characters away, then segments."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from cosylite.errors import DeviceError
from cosylite.text.family.numbers import number_words
from cosylite.text.family.splitting import SplitRules, split

Verbaliser = Callable[[str], str]
"""Replaces written forms (dates, amounts, units) by words."""

_TAG_WITH_DIGIT = re.compile(r"(\[[A-Z]+\d\])")
_HAN = re.compile(r"[\u4e00-\u9fff]")


def contains_chinese(text: str) -> bool:
    """Whether a text is treated as Chinese."""
    return bool(_HAN.search(text))


def drop_blanks(text: str) -> str:
    """Keep only spaces between two ASCII characters that are not spaces."""

    def kept(i: int) -> bool:
        before, after = text[i - 1 : i], text[i + 1 : i + 2]
        return all(c and c.isascii() and c != " " for c in (before, after))

    return "".join(c for i, c in enumerate(text) if c != " " or kept(i))


def superscripts(text: str) -> str:
    """Read the exponents of square and cubic units in Chinese."""
    return text.replace("²", "平方").replace("³", "立方")


def drop_brackets(text: str) -> str:
    """Remove brackets and back-ticks that are not read; a long dash becomes a space."""
    for mark in "（）【】`":
        text = text.replace(mark, "")
    return text.replace("——", " ")


def spell_numbers(text: str) -> str:
    """English words for runs of digits; characters like ² count as digits without a value."""
    out: list[str] = []
    run = ""
    for char in text + "\0":
        if char.isdigit():
            run += char
            continue
        if run:
            out.append(number_words(int("".join(c for c in run if c.isdecimal()) or "0")))
            run = ""
        out.append(char)
    return "".join(out)[:-1]


def only_punctuation(text: str) -> bool:
    """Whether a text has nothing but punctuation and symbols."""
    return all(unicodedata.category(char)[0] in "PS" for char in text)


def wetext_verbaliser() -> tuple[Verbaliser, Verbaliser]:
    """The official choice for Chinese and for other text; raises `DeviceError` when it is not installed."""
    try:
        from wetext import Normalizer
    except ImportError as error:
        raise DeviceError(
            "the official normalisation needs wetext; install cosylite[family]",
            code="missing_dependency",
            param="wetext",
        ) from error
    return _forgiving(Normalizer(remove_erhua=False).normalize), _forgiving(Normalizer().normalize)


def _forgiving(verbaliser: Verbaliser) -> Verbaliser:
    """Leaves a text as it is where the verbaliser does not get along with it, such as with digits in brackets."""

    def verbalise(text: str) -> str:
        try:
            return verbaliser(text)
        except (AssertionError, IndexError, KeyError, ValueError):
            return text

    return verbalise


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class FamilyText:
    """The text side of an official model.

    Attributes:
        length: number of tokens of a text, by which text other than Chinese is split.
        chinese, other: verbalisers; the default leaves written forms alone.
        rules: lengths of segments.
        tags: pieces such as ``[AY0]`` that the tokenizer knows as a whole and whose digits are no numbers.
    """

    length: Callable[[str], int]
    chinese: Verbaliser = _unchanged
    other: Verbaliser = _unchanged
    rules: SplitRules = field(default_factory=SplitRules)
    tags: frozenset[str] = frozenset()

    def normalise(self, text: str) -> str:
        """One normalised text, as for the transcript of a prompt. Text with control tags is left as it is."""
        return text if _is_tagged(text) else self._words(text.strip(), contains_chinese(text))

    def segments(self, text: str) -> list[str]:
        """Normalised segments, each to be spoken by itself; blank text gives none, empty text one empty segment."""
        if not text or _is_tagged(text):
            return [text]
        text = text.strip()
        chinese = contains_chinese(text)
        words = self._words(text, chinese)
        parts = split(words, chinese=chinese, length=len if chinese else self.length, rules=self.rules)
        return [part for part in parts if not only_punctuation(part)]

    def verbalise(self, text: str, *, chinese: bool) -> str:
        """Words for the written forms of a stretch of text; nothing else is changed."""
        parts = _TAG_WITH_DIGIT.split(text)
        return "".join(part if part in self.tags else self._verbalised(part, chinese) for part in parts)

    def _verbalised(self, text: str, chinese: bool) -> str:
        return self.chinese(text) if chinese else spell_numbers(self.other(text))

    def _words(self, text: str, chinese: bool) -> str:
        words = self.verbalise(text, chinese=chinese)
        if not chinese:
            return words
        text = drop_blanks(words.replace("\n", ""))
        text = superscripts(text).replace(".", "。").replace(" - ", "，")
        return re.sub(r"[，,、]+$", "。", drop_brackets(text))


def _is_tagged(text: str) -> bool:
    return "<|" in text and "|>" in text
