"""Hangul as pronounced to phoneme symbols."""

from types import MappingProxyType

from cosylite.text.g2p.ko_jamo import Syllable, split

_PLAIN = MappingProxyType({"ㄱ": ("k", "ɡ"), "ㄷ": ("t", "d"), "ㅂ": ("p", "b"), "ㅈ": ("ʨ", "ʥ")})
"""Plain consonants: as they are at the start of a word or after an obstruent, and between voiced sounds."""
_ONSETS = MappingProxyType(
    {
        "ㄲ": "ᴋ", "ㄸ": "ᴛ", "ㅃ": "ᴘ", "ㅉ": "ᴄ", "ㅆ": "ꜱ", "ㅋ": "kʰ", "ㅌ": "tʰ", "ㅍ": "pʰ", "ㅊ": "ʨʰ",
        "ㄴ": "n", "ㅁ": "m", "ㄹ": "ɾ", "ㅎ": "h", "ㅇ": "", "ㅅ": "s",
    }
)  # fmt: skip
_CODAS = MappingProxyType({"": "", "ㄱ": "k", "ㄷ": "t", "ㅂ": "p", "ㄴ": "n", "ㅁ": "m", "ㄹ": "l", "ㅇ": "ŋ"})
_VOWELS = MappingProxyType(
    {
        "ㅏ": "a", "ㅐ": "ɛ", "ㅔ": "e", "ㅓ": "ʌ", "ㅗ": "o", "ㅜ": "u", "ㅡ": "ɨ", "ㅣ": "i", "ㅢ": "ɰi",
        "ㅑ": "ja", "ㅕ": "jʌ", "ㅛ": "jo", "ㅠ": "ju", "ㅒ": "jɛ", "ㅖ": "je", "ㅘ": "wa", "ㅝ": "wʌ", "ㅙ": "wɛ",
        "ㅞ": "we", "ㅚ": "we", "ㅟ": "wi",
    }
)  # fmt: skip
_PALATAL_VOWELS = frozenset("ㅣㅑㅕㅛㅠㅒㅖㅟ")


def hangul_symbols(reading: str) -> str:
    """Phoneme symbols of one word, written in hangul as it is pronounced (seven codas at most)."""
    symbols = ""
    before: Syllable | None = None
    for part in split(reading):
        symbols += _onset(part, before) + _vowel(part) + _CODAS[part.coda]
        before = part
    return symbols


def _onset(part: Syllable, before: Syllable | None) -> str:
    if part.onset in _PLAIN:
        voiced = before is not None and before.coda not in ("ㄱ", "ㄷ", "ㅂ")
        return _PLAIN[part.onset][voiced]
    if part.onset == "ㄹ" and before is not None and before.coda == "ㄹ":
        return "l"
    if part.onset == "ㅅ" and part.vowel in _PALATAL_VOWELS:
        return "ɕ"
    return _ONSETS[part.onset]


def _vowel(part: Syllable) -> str:
    vowel = _VOWELS[part.vowel]
    return vowel[1:] if vowel[0] == "j" and part.onset in "ㅅㅆㅈㅉㅊ" else vowel
