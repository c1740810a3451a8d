"""The one phoneme symbol set. Every symbol is a single character.

The inventory is that of Kokoro-82M v1.0 (Apache-2.0), whose phoneme strings the bundled voice learnt from, plus
five symbols for the tense consonants of Korean, which the teacher's alphabet cannot write.
"""

PUNCTUATION = ';:,.!?—…"()“”'
STRESS_AND_LENGTH = "ˈˌː"
TONES = "→↗↓↘"
TENSE = {"ᴋ": "k", "ᴛ": "t", "ᴘ": "p", "ᴄ": "ʨ", "ꜱ": "s"}
"""Tense consonants ㄲ ㄸ ㅃ ㅉ ㅆ and the plain symbol that stands for each where a model lacks them."""
LETTERS = "AIOQSTWYabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔᵊᵻᵝʣʥʦʨꭧʰʲ\u0303"
SYMBOLS: tuple[str, ...] = (" ", *PUNCTUATION, *STRESS_AND_LENGTH, *TONES, *LETTERS, *TENSE)


def unknown_symbols(text: str) -> set[str]:
    """Characters of `text` that are not in the symbol set."""
    return set(text) - set(SYMBOLS)
