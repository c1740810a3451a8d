"""Hangul syllables as their letters (compatibility jamo; the silent onset is ㅇ, no coda is the empty string)."""

from dataclasses import dataclass

ONSETS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
CODAS = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")
_FIRST, _LAST = 0xAC00, 0xD7A3


@dataclass
class Syllable:
    """One syllable; the rules change it in place."""

    onset: str
    vowel: str
    coda: str


def is_syllable(character: str) -> bool:
    """Whether `character` is a complete hangul syllable."""
    return _FIRST <= ord(character) <= _LAST


def split(text: str) -> list[Syllable]:
    """The letters of each syllable of `text`, which holds complete syllables only."""
    parts = []
    for character in text:
        index = ord(character) - _FIRST
        parts.append(Syllable(ONSETS[index // 588], VOWELS[index % 588 // 28], CODAS[index % 28]))
    return parts


def join(syllables: list[Syllable]) -> str:
    """The inverse of `split`."""
    return "".join(
        chr(_FIRST + ONSETS.index(part.onset) * 588 + VOWELS.index(part.vowel) * 28 + CODAS.index(part.coda))
        for part in syllables
    )


def coda_of(character: str) -> str:
    """The coda letter of a syllable; the empty string where there is none or it is no syllable."""
    return CODAS[(ord(character) - _FIRST) % 28] if is_syllable(character) else ""
