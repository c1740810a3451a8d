"""Pinyin syllables and English letter names as phoneme symbols.

A syllable is written `hao3`; tone 5 (or no digit) is the neutral tone; `v` stands for ü.
"""

INITIALS = {
    "zh": "ꭧ", "ch": "ꭧʰ", "sh": "ʂ", "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l",
    "g": "k", "k": "kʰ", "h": "x", "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "r": "ɻ", "z": "ʦ", "c": "ʦʰ", "s": "s",
}  # fmt: skip
# "T" marks where the tone arrow stands.
FINALS = {
    "a": "aT", "o": "woT", "uo": "woT", "e": "ɤT", "ai": "aiT", "ei": "eiT", "ao": "auT", "ou": "ouT", "an": "aTn",
    "en": "əTn", "ang": "aTŋ", "eng": "əTŋ", "ong": "ʊTŋ", "er": "ɚT", "i": "iT", "ia": "jaT", "ie": "jeT", "io": "joT",
    "iao": "jauT", "iu": "jouT", "ian": "jɛTn", "in": "iTn", "iang": "jaTŋ", "ing": "iTŋ", "iong": "jʊTŋ", "u": "uT",
    "ua": "waT", "uai": "waiT", "ui": "weiT", "uan": "waTn", "un": "wəTn", "uang": "waTŋ", "ueng": "wəTŋ", "v": "yT",
    "ve": "ɥeT", "van": "ɥɛTn", "vn": "yTn",
}  # fmt: skip
ARROWS = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}
# Syllables written without an initial, as initial-less finals.
BARE = {
    "yi": "i", "ya": "ia", "ye": "ie", "yo": "io", "yao": "iao", "you": "iu", "yan": "ian", "yin": "in", "yang": "iang",
    "ying": "ing", "yong": "iong", "wu": "u", "wa": "ua", "wo": "uo", "wai": "uai", "wei": "ui", "wan": "uan",
    "wen": "un", "wang": "uang", "weng": "ueng", "wong": "ong", "yu": "v", "yue": "ve", "yuan": "van", "yun": "vn",
}  # fmt: skip
SYLLABIC = {"m": "mT", "n": "nT", "ng": "ŋT", "hm": "xmT", "hng": "xŋT", "ê": "ɛT", "ei": "eiT"}
LETTER_NAMES = {
    "a": "ˈA", "b": "bˈi", "c": "sˈi", "d": "dˈi", "e": "ˈi", "f": "ˈɛf", "g": "ʤˈi", "h": "ˈAʧ", "i": "ˈI", "j": "ʤˈA",
    "k": "kˈA", "l": "ˈɛl", "m": "ˈɛm", "n": "ˈɛn", "o": "ˈO", "p": "pˈi", "q": "kjˈu", "r": "ˈɑɹ", "s": "ˈɛs",
    "t": "tˈi", "u": "jˈu", "v": "vˈi", "w": "dˈʌbᵊlju", "x": "ˈɛks", "y": "wˈI", "z": "zˈi",
}  # fmt: skip


def split_tone(syllable: str) -> tuple[str, str]:
    """`hao3` -> `("hao", "3")`; without a digit the tone is "5"."""
    if syllable and syllable[-1] in ARROWS:
        return syllable[:-1], syllable[-1]
    return syllable, "5"


def syllable_symbols(syllable: str) -> str | None:
    """Phoneme symbols of one pinyin syllable, or None if it is not one."""
    base, tone = split_tone(syllable.lower().replace("ü", "v").replace("u:", "v"))
    template = _template(base)
    return None if template is None else template.replace("T", ARROWS[tone])


def pinyin_symbols(reading: str) -> str | None:
    """Phoneme symbols of syllables separated by spaces, or None if one of them is not pinyin."""
    parts = [syllable_symbols(syllable) for syllable in reading.split()]
    return None if not parts or None in parts else "".join(part for part in parts if part)


def _template(base: str) -> str | None:
    if base in SYLLABIC:
        return SYLLABIC[base]
    if base in BARE:
        return FINALS[BARE[base]]
    initial = base[:2] if base[:2] in INITIALS else base[:1]
    final = base[len(initial) :]
    if initial not in INITIALS:
        return FINALS.get(base) if base[:1] in ("a", "e", "o") else None
    if initial in ("zh", "ch", "sh", "r", "z", "c", "s") and final == "i":
        return INITIALS[initial] + "ɨT"
    if initial in ("j", "q", "x") and final.startswith("u"):
        final = "v" + final[1:]
    if final == "ue":
        final = "ve"
    return INITIALS[initial] + FINALS[final] if final in FINALS else None
