"""The usual IPA spellings in cosylite's phoneme symbols, which write diphthongs and affricates as one character."""

import re

_SPELLINGS = {
    "aɪ": "I", "aɪ̯": "I", "eɪ": "A", "oʊ": "O", "əʊ": "Q", "aʊ": "W", "ɔɪ": "Y",
    "tʃ": "ʧ", "dʒ": "ʤ", "dʑ": "ʥ", "tɕ": "ʨ", "ts": "ʦ", "dz": "ʣ", "ʈʂ": "ꭧ",
    "ɝ": "ɜɹ", "ɚ": "əɹ", "g": "ɡ", "l̩": "ᵊl", "n̩": "ᵊn", "ɫ": "l", "'": "ˈ", "ʼ": "", "˥˥": "→", "˥": "→", "˧˥": "↗",
    "˨˩˦": "↓", "˥˩": "↘",
}  # fmt: skip
_LONGEST_FIRST = re.compile("|".join(re.escape(key) for key in sorted(_SPELLINGS, key=len, reverse=True)))
_LEFT_OUT = str.maketrans("", "", ".‿|‖[]/\u0361\u035c\u032f\u031a\u0348\u032a")


def from_ipa(text: str) -> str:
    """`text` in cosylite's symbols; syllable dots, ties and fine diacritics go. Unknown characters stay."""
    return _LONGEST_FIRST.sub(lambda match: _SPELLINGS[match[0]], text.translate(_LEFT_OUT))
