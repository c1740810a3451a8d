"""English words to phoneme symbols: lexicon, context, spelling rules for what is unknown."""

import re

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.en_lexicon import VOWELS, Lexicon, plural
from cosylite.text.g2p.en_spelling import SpellingModel
from cosylite.text.types import Word

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*(?:['’](?=\s|$))?")
_PAUSES = {";": ";", ":": ":", ",": ",", ".": ".", "!": "!", "?": "?", "—": "—", "…": "…", "(": ",", ")": ",", "–": "—"}
_STRENGTH = "?!.…—;:,"


class EnglishG2P:
    """Reads normalised English text. Loading takes about 0.1 s; one instance may be shared between threads."""

    def __init__(self) -> None:
        self._lexicon = Lexicon()
        self._spelling: SpellingModel | None = None
        self._guessed: dict[str, str] = {}

    def words(self, text: AlignedText) -> list[Word]:
        """The words of one span of normalised text, in order."""
        found = list(_WORD.finditer(text.text))
        if not found:
            return []
        spelt = [match.group().replace("’", "'") for match in found]
        ends = [match.start() for match in found[1:]] + [len(text.text)]
        pauses = [_pause(text.text[match.end() : end]) for match, end in zip(found, ends, strict=True)]
        phones = [self._read(word) for word in spelt]
        words: list[Word] = []
        for index, match in enumerate(found):
            symbols = _weak(spelt, pauses, phones, index)
            start, end = text.source(match.start(), match.end())
            words.append(Word(match.group(), start, end, symbols, symbols, pauses[index]))
        return words

    def _read(self, word: str) -> str:
        if word.endswith("'s") and word[:-2].isupper():
            return plural(self._read(word[:-2]))
        if word.isupper() and 1 < len(word) <= 5 and not self._lexicon.exact(word):
            known = len(word) > 3 and self._lexicon.find(word) is not None
            if not known:
                return self._letters(word)
        entry = self._lexicon.find(word) or self._lexicon.compound(word)
        return entry.phones if entry else self._guess(word)

    def _guess(self, word: str) -> str:
        """Phones of a word that no list knows; letter names where it has no vowel."""
        if word not in self._guessed:
            if len(word) < 6 and not re.search("[aeiouy]", word.lower()) and word.isascii():
                return self._letters(word.upper())
            if self._spelling is None:
                self._spelling = SpellingModel()
            if len(self._guessed) > 5000:
                self._guessed.clear()
            self._guessed[word] = self._spelling.read(word)
        return self._guessed[word]

    def _letters(self, word: str) -> str:
        entries = [self._lexicon.exact(letter) for letter in word]
        phones = "".join(entry.phones for entry in entries if entry).replace("ˈ", "ˌ")
        head, mark, tail = phones.rpartition("ˌ")
        return head + "ˈ" * len(mark) + tail


def _pause(between: str) -> str:
    """The strongest pause mark written between two words, or nothing."""
    marks = {_PAUSES[char] for char in between if char in _PAUSES}
    if "..." in between:
        marks = marks - {"."} | {"…"}
    return next((mark for mark in _STRENGTH if mark in marks), "")


def _weak(words: list[str], pauses: list[str], phones: list[str], index: int) -> str:
    """Reading of word `index` with the weak forms that depend on what follows."""
    word = words[index].lower()
    last = index + 1 == len(words) or bool(pauses[index])
    vowel = not last and phones[index + 1].lstrip("ˈˌ")[:1] in VOWELS
    if word == "the":
        return "ði" if vowel else "ðə"
    if word == "to":
        return "tu" if last else "tʊ" if vowel else "tə"
    if word == "a":
        return "ˈA" if last else "ɐ"
    if word == "an":
        return "ɐn"
    if word == "i":
        return "ˈI" if last else "ˌI"
    return phones[index]
