"""Sound rules of standard Korean within and between syllables; words that need a dictionary are respelled before."""

from itertools import pairwise
from types import MappingProxyType

from cosylite.text.g2p.ko_jamo import Syllable

TENSE = MappingProxyType(dict(zip("ㄱㄷㅂㅅㅈ", "ㄲㄸㅃㅆㅉ", strict=True)))
ASPIRATED = MappingProxyType(dict(zip("ㄱㄷㅂㅈ", "ㅋㅌㅍㅊ", strict=True)))
NASAL = MappingProxyType({"ㄱ": "ㅇ", "ㄷ": "ㄴ", "ㅂ": "ㅁ"})
NEUTRAL = MappingProxyType(
    {
        "ㄲ": "ㄱ", "ㅋ": "ㄱ", "ㄳ": "ㄱ", "ㄺ": "ㄱ", "ㅅ": "ㄷ", "ㅆ": "ㄷ", "ㅈ": "ㄷ", "ㅊ": "ㄷ", "ㅌ": "ㄷ",
        "ㅎ": "ㄷ", "ㅍ": "ㅂ", "ㅄ": "ㅂ", "ㄿ": "ㅂ", "ㄵ": "ㄴ", "ㄶ": "ㄴ", "ㄻ": "ㅁ", "ㄼ": "ㄹ", "ㄽ": "ㄹ",
        "ㄾ": "ㄹ", "ㅀ": "ㄹ",
    }
)  # fmt: skip
"""What a coda is before a consonant or a pause."""
_CLUSTERS = MappingProxyType(
    {
        "ㄳ": ("ㄱ", "ㅆ"), "ㄵ": ("ㄴ", "ㅈ"), "ㄶ": ("ㄴ", "ㅎ"), "ㄺ": ("ㄹ", "ㄱ"), "ㄻ": ("ㄹ", "ㅁ"),
        "ㄼ": ("ㄹ", "ㅂ"), "ㄽ": ("ㄹ", "ㅆ"), "ㄾ": ("ㄹ", "ㅌ"), "ㄿ": ("ㄹ", "ㅍ"), "ㅀ": ("ㄹ", "ㅎ"),
        "ㅄ": ("ㅂ", "ㅆ"),
    }
)  # fmt: skip
_TENSING = frozenset("ㄲㅋㄳㄺㅅㅆㅈㅊㅌㅍㅄㄿㄱㄷㅂㄵㄻㄼㄽㄾ")
"""Codas that make a following plain obstruent tense (the ones of verb stems among them)."""


def apply_rules(syllables: list[Syllable]) -> None:
    """Change `syllables`, one orthographic word, to how they are spoken."""
    for part in syllables:
        if part.vowel == "ㅖ" and part.onset not in "ㅇㄹㄴ":
            part.vowel = "ㅔ"
    for left, right in pairwise(syllables):
        _contact(left, right)
    for index, part in enumerate(syllables):
        part.coda = NEUTRAL.get(part.coda, part.coda)
        _vowel(part, first=index == 0)


def _vowel(part: Syllable, *, first: bool) -> None:
    if part.vowel == "ㅢ" and (part.onset != "ㅇ" or not first):
        part.vowel = "ㅣ"
    elif part.onset in "ㅈㅉㅊ" and part.vowel in "ㅑㅕㅛㅠ":
        part.vowel = dict(zip("ㅑㅕㅛㅠ", "ㅏㅓㅗㅜ", strict=True))[part.vowel]


def _contact(left: Syllable, right: Syllable) -> None:
    if not left.coda:
        return
    if right.onset == "ㅇ":
        _liaison(left, right)
    elif left.coda in "ㅎㄶㅀ" and _after_h(left, right):
        pass
    elif right.onset == "ㅎ":
        aspirate(left, right)
    else:
        _consonants(left, right)


def _liaison(left: Syllable, right: Syllable) -> None:
    stays, moves = _CLUSTERS.get(left.coda, ("", left.coda))
    if moves == "ㅇ":
        return
    left.coda = stays
    if moves == "ㅎ":
        _pull(left, right)
        return
    if moves in "ㄷㅌ" and right.vowel in "ㅣㅕ":
        moves = "ㅈ" if moves == "ㄷ" else "ㅊ"
    right.onset = moves


def _pull(left: Syllable, right: Syllable) -> None:
    """What is left of ㄶ and ㅀ moves on, too, once their ㅎ is gone."""
    if left.coda:
        right.onset, left.coda = left.coda, ""


def _after_h(left: Syllable, right: Syllable) -> bool:
    """ㅎ in the coda meets a consonant; False where nothing special happens."""
    stays = _CLUSTERS.get(left.coda, ("", ""))[0]
    if right.onset in ASPIRATED:
        right.onset = ASPIRATED[right.onset]
    elif right.onset == "ㅅ":
        right.onset = "ㅆ"
    elif right.onset == "ㄴ":
        if stays == "ㄹ":
            right.onset = "ㄹ"
        stays = stays or "ㄴ"
    else:
        return False
    left.coda = stays
    return True


def aspirate(left: Syllable, right: Syllable) -> None:
    """An obstruent coda and ㅎ become one aspirated onset; other codas leave ㅎ alone."""
    stays, last = _CLUSTERS.get(left.coda, ("", left.coda))
    if left.coda in ("ㄳ", "ㅄ"):
        stays, last = "", NEUTRAL[left.coda]
    if last != "ㅈ":
        last = NEUTRAL.get(last, last)
    if last not in ASPIRATED:
        return
    if last == "ㄷ" and (right.vowel == "ㅣ" or (right.vowel == "ㅕ" and right.coda in ("", "ㅆ"))):
        last = "ㅈ" if left.coda in "ㄷㅌㄾ" else last
    left.coda, right.onset = stays, ASPIRATED[last]


def _consonants(left: Syllable, right: Syllable) -> None:
    if left.coda == "ㄺ" and right.onset == "ㄱ":
        left.coda, right.onset = "ㄹ", "ㄲ"
        return
    if left.coda in _TENSING:
        right.onset = TENSE.get(right.onset, right.onset)
    left.coda = NEUTRAL.get(left.coda, left.coda)
    nasalise(left, right)


def nasalise(left: Syllable, right: Syllable) -> None:
    """ㄱㄷㅂ before ㄴㅁㄹ, ㄹ after ㅁㅇ, and ㄴㄹ or ㄹㄴ."""
    if left.coda in NASAL and right.onset in "ㄴㅁㄹ":
        left.coda = NASAL[left.coda]
        right.onset = "ㄴ" if right.onset == "ㄹ" else right.onset
    elif left.coda in ("ㅁ", "ㅇ") and right.onset == "ㄹ":
        right.onset = "ㄴ"
    elif (left.coda, right.onset) in (("ㄴ", "ㄹ"), ("ㄹ", "ㄴ")):
        left.coda = right.onset = "ㄹ"
