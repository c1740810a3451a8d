"""English words to phoneme symbols: lexicon, context, a spelling model for what is unknown."""

import re

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.en_clues import EXTRA_PAIRS
from cosylite.text.g2p.en_context import BE, MODALS, PREPOSITIONS, Context, by_part_of_speech, word_set
from cosylite.text.g2p.en_heteronyms import special_readers
from cosylite.text.g2p.en_lexicon import VOWELS, Entry, Lexicon, plural
from cosylite.text.g2p.en_spelling import SpellingModel
from cosylite.text.types import Word

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*(?:['’](?=\s|$))?")
_HYPHENED = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:['’-][^\W\d_]+)+")
_PIECES = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]")
_PAUSES = {";": ";", ":": ":", ",": ",", ".": ".", "!": "!", "?": "?", "—": "—", "…": "…", "(": ",", ")": ",", "–": "—"}
_STRENGTH = "?!.…—;:,"
_LONGEST = 40
"""Letters that are read in one go; longer strings are no words and are read piece by piece."""
_EMPHASISED = word_set(
    "not you all the and are but can for has had her him his how its may new now one our out see she too two "
    "use was way who why yes yet no so do is if in of on or be by my me we he go up an as at to big bad any "
    "did get got let off old own put say try win it am ok day man men top red hot end fun buy free stop this "
    "that what when will with your from have they must only very"
)
_COMPUTING = word_set(
    "department support team guy guys industry manager specialist infrastructure security sector consultant"
)
_LETTER_AFTER = word_set(
    "vitamin plan grade hepatitis type class group section part letter option team series appendix an"
)


class EnglishG2P:
    """Reads normalised English text. Loading takes about 0.1 s; one instance may be shared between threads."""

    def __init__(self) -> None:
        self._lexicon = Lexicon()
        self._special = special_readers()
        self._spelling: SpellingModel | None = None
        self._guessed: dict[str, str] = {}

    def words(self, text: AlignedText) -> list[Word]:
        """The words of one span of normalised text, in order."""
        found = self._tokens(text.text)
        if not found:
            return []
        spelt = [text.text[start:end].replace("’", "'") for start, end in found]
        ends = [start for start, _ in found[1:]] + [len(text.text)]
        pauses = [_pause(text.text[end:until]) for (_, end), until in zip(found, ends, strict=True)]
        shouted = sum(map(len, spelt)) > 8 and len(spelt) > 2 and all(word.isupper() for word in spelt)
        lower = [word.lower() for word in spelt]
        phones = [
            self._read(spelt[i], Context(lower, pauses, i, spelt[i][0].isupper()), shouted) for i in range(len(spelt))
        ]
        words: list[Word] = []
        for index, (start, end) in enumerate(found):
            context = Context(lower, pauses, index, spelt[index][0].isupper())
            symbols = _weak(context, phones, spelt[index])
            if symbols:
                first, last = text.source(start, end)
                words.append(Word(text.text[start:end], first, last, symbols, symbols, pauses[index]))
        return words

    def _tokens(self, text: str) -> list[tuple[int, int]]:
        """Ranges of the words; a word with hyphens stays whole only if it is listed."""
        whole = {
            match.start(): match.end()
            for match in _HYPHENED.finditer(text)
            if "-" in match.group() and self._lexicon.listed(match.group().replace("’", "'"))
        }
        found: list[tuple[int, int]] = []
        for match in _WORD.finditer(text):
            if not found or match.start() >= found[-1][1]:
                found.append((match.start(), whole.get(match.start(), match.end())))
        return found

    def _read(self, word: str, context: Context, shouted: bool) -> str:
        """Phones of one word in its context, weak forms aside."""
        if word.isupper() and len(word) > 1 and not shouted:
            acronym = self._acronym(word, context)
            if acronym:
                return acronym
        lower = word.lower()
        if lower in self._special:
            return self._special[lower](context)
        if lower in EXTRA_PAIRS:
            noun, verb = EXTRA_PAIRS[lower]
            return by_part_of_speech(Entry(noun, {"VERB": verb}), context)
        if word.endswith("'s") and len(word) > 3 and not self._lexicon.listed(word):
            return plural(self._read(word[:-2], context, shouted))
        mixed = len(_PIECES.findall(word.replace("'", ""))) > 1 and not shouted
        if len(word) > _LONGEST:
            return self._guess(word)
        entry = self._lexicon.exact(word) or (None if mixed else self._lexicon.find(lower if shouted else word))
        if entry:
            return by_part_of_speech(entry, context)
        if mixed:
            return self._mixed(word, context)
        entry = self._lexicon.compound(word)
        return entry.phones if entry else self._guess(word)

    def _acronym(self, word: str, context: Context) -> str:
        """Letter names of a word in capitals, or nothing where it is read as a word."""
        if len(word) > _LONGEST:
            return ""
        lower = word.lower()
        if word in ("IT", "WHO") and (context.back() == "the" or context.ahead() in _COMPUTING):
            return self._letters(word)
        if self._lexicon.named(word):
            return ""
        if lower in _EMPHASISED or (len(word) > 3 and self._lexicon.listed(word)):
            return ""
        if len(word) <= 3 and self._lexicon.exact(word) and not self._lexicon.exact(lower):
            return ""
        readable = re.search("[AEIOUY]", word) is not None and len(word) > 5
        return "" if readable else self._letters(word)

    def _mixed(self, word: str, context: Context) -> str:
        """A word with capitals inside, such as OpenAI or iOS, or with a plural ending, such as PCs."""
        if word[-1] == "s" and word[:-1].isupper():
            return plural(self._letters(word[:-1]))
        if self._lexicon.listed(word.lower()):
            return self._read(word.lower(), context, False)
        parts = [
            self._letters(part) if part.isupper() or len(part) == 1 else self._plain(part)
            for part in _PIECES.findall(word)
        ]
        return "".join(parts)

    def _plain(self, word: str) -> str:
        entry = self._lexicon.find(word)
        return entry.phones if entry else self._guess(word)

    def _letters(self, word: str) -> str:
        entries = [self._lexicon.exact(letter) for letter in word.upper()]
        phones = "".join(entry.phones for entry in entries if entry).replace("ˈ", "ˌ")
        head, mark, tail = phones.rpartition("ˌ")
        return head + "ˈ" * len(mark) + tail

    def _guess(self, word: str) -> str:
        """Phones of a word that no list knows; letter names where it has no vowel."""
        if len(word) > _LONGEST:
            return "".join(self._guess(word[at : at + _LONGEST]) for at in range(0, len(word), _LONGEST))
        if word not in self._guessed:
            if len(word) < 6 and not re.search("[aeiouy]", word.lower()) and word.isascii():
                return self._letters(word)
            if self._spelling is None:
                self._spelling = SpellingModel()
            if len(self._guessed) > 5000:
                self._guessed.clear()
            self._guessed[word] = self._spelling.read(word)
        return self._guessed[word]


def _pause(between: str) -> str:
    """The strongest pause mark written between two words, or nothing."""
    marks = {_PAUSES[char] for char in between if char in _PAUSES}
    if "..." in between:
        marks = marks - {"."} | {"…"}
    if re.search(r"\s-+\s|--", between):
        marks.add("—")
    return next((mark for mark in _STRENGTH if mark in marks), "")


def _weak(context: Context, phones: list[str], typed: str) -> str:
    """Reading of a word with the weak forms that depend on what follows."""
    word, following = context.word, context.ahead()
    last = not following
    vowel = not last and phones[context.index + 1].lstrip("ˈˌ")[:1] in tuple(VOWELS)
    if word == "the":
        return "ði" if vowel else "ðə"
    if word == "to":
        return "tu" if last else "tʊ" if vowel else "tə"
    if word == "a":
        letter = (
            typed == "A" and context.back() and (context.back() in _LETTER_AFTER or not phones[context.index + 1 :])
        )
        return "ˈA" if last or letter else "ɐ"
    if word == "an":
        return "ɐn"
    if word == "i":
        return "ˈI" if last else "ˌI"
    if word == "that":
        return "ðˈæt" if last or following in BE | MODALS or context.back() in BE | PREPOSITIONS else "ðæt"
    if last and word in _STRONG:
        return _STRONG[word]
    return phones[context.index]


_STRONG = {
    "be": "bˈi", "been": "bˈɪn", "by": "bˈI", "can": "kˈæn", "could": "kˈʊd", "get": "ɡˈɛt", "gone": "ɡˈɔn",
    "got": "ɡˈɑt", "had": "hˈæd", "has": "hˈæz", "have": "hˈæv", "his": "hˈɪz", "hers": "hˈɜɹz", "should": "ʃˈʊd",
    "would": "wˈʊd", "this": "ðˈɪs", "do": "dˈu", "does": "dˈʌz", "did": "dˈɪd", "is": "ˈɪz", "are": "ˈɑɹ",
    "was": "wˈʌz", "were": "wˈɜɹ", "will": "wˈɪl", "am": "ˈæm", "must": "mˈʌst", "them": "ðˈɛm", "you": "jˈu",
    "me": "mˈi", "him": "hˈɪm", "us": "ˈʌs",
}  # fmt: skip
