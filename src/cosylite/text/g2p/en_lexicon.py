"""The English pronunciation lexicon: exact look-up, inflected forms, compounds.

The packed file holds lines `key TAB phones [TAB tag:phones ...]`, 5 MB of memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources

from cosylite.text.g2p.packed import PackedLines

VOWELS = "AIOQWYaeiouæɑɐɒɔəɚɛɜɪʊʌᵊᵻ"
_VOICELESS = "pftθkʃsʧ"
_SIBILANT = "szʃʒʧʤ"


@dataclass(frozen=True)
class Entry:
    """Phones of one spelling: the default, and others by part of speech (`NOUN`, `VERB`, `ADJ`, `VBD`, ...)."""

    phones: str
    variants: dict[str, str] = field(default_factory=dict)

    def of(self, *tags: str) -> str:
        """Phones for the first of `tags` that the entry knows, else the default."""
        return next((self.variants[tag] for tag in tags if tag in self.variants), self.phones)


def plural(phones: str) -> str:
    """Phones with the plural, third person or genitive ending; nothing stays nothing."""
    if not phones:
        return ""
    if phones[-1] in _SIBILANT:
        return phones + "ᵻz"
    return phones + ("s" if phones[-1] in _VOICELESS else "z")


def past(phones: str) -> str:
    """Phones with the past tense ending."""
    if not phones:
        return ""
    if phones[-1] == "d":
        return phones + "ᵻd"
    if phones[-1] == "t":
        return _flap(phones) + "ᵻd"
    return phones + ("t" if phones[-1] in _VOICELESS else "d")


def _flap(phones: str) -> str:
    """A final t between vowels as the American tap."""
    return phones[:-1] + "ɾ" if len(phones) > 1 and phones[-1] == "t" and phones[-2] in VOWELS else phones


# suffix, spellings of the stem to try ("=": doubled consonant undone), phones added
_ENDINGS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("ing", ("", "e", "="), "ɪŋ"),
    ("ings", ("", "e", "="), "ɪŋz"),
    ("in'", ("", "e", "="), "ɪn"),
    ("er", ("", "e", "="), "əɹ"),
    ("ers", ("", "e", "="), "əɹz"),
    ("ier", ("y",), "əɹ"),
    ("est", ("", "e", "="), "əst"),
    ("iest", ("y",), "əst"),
    ("ly", ("",), "li"),
    ("ily", ("y",), "əli"),
    ("ness", ("",), "nəs"),
    ("iness", ("y",), "nəs"),
    ("less", ("",), "ləs"),
    ("ful", ("",), "fəl"),
    ("able", ("", "e"), "əbᵊl"),
    ("ment", ("",), "mənt"),
    ("ments", ("",), "mənts"),
    ("ish", ("", "e"), "ɪʃ"),
    ("ism", ("", "e"), "ˌɪzᵊm"),
    ("ist", ("", "e"), "ɪst"),
    ("ists", ("", "e"), "ɪsts"),
    ("like", ("",), "lˌIk"),
    ("wise", ("",), "wˌIz"),
    ("ward", ("",), "wəɹd"),
    ("ship", ("",), "ʃˌɪp"),
    ("hood", ("",), "hˌʊd"),
)
_PREFIXES = {
    "un": "ˌʌn", "re": "ɹˌi", "non": "nˌɑn", "pre": "pɹˌi", "mis": "mˌɪs", "over": "ˌOvəɹ", "under": "ˌʌndəɹ",
    "anti": "ˌænti", "multi": "mˌʌlti", "super": "sˌupəɹ", "semi": "sˌɛmi", "inter": "ˌɪntəɹ", "micro": "mˌIkɹO",
    "mini": "mˌɪni", "mega": "mˌɛɡə", "auto": "ˌɔɾO", "co": "kˌO", "de": "dˌi", "dis": "dˌɪs", "sub": "sˌʌb",
    "post": "pˌOst", "out": "ˌWt", "cyber": "sˌIbəɹ", "hyper": "hˌIpəɹ", "pseudo": "sˌudO", "ultra": "ˌʌltɹə",
    "counter": "kˌWntəɹ", "self": "sˌɛlf", "neuro": "nˌʊɹO", "bio": "bˌIO", "geo": "ʤˌiO", "nano": "nˌænO",
}  # fmt: skip


class Lexicon:
    """Read-only look-up in the packed lexicon; the names of `en_names.txt` win over it."""

    def __init__(self) -> None:
        names = resources.files("cosylite.text").joinpath("data", "en_names.txt")
        lines = names.read_text(encoding="utf-8").splitlines()
        self._lines = PackedLines("en_lexicon.xz")
        self._names = dict(line.split("\t", 1) for line in lines)
        self._seen: dict[str, Entry | None] = {}

    def exact(self, key: str) -> Entry | None:
        """The entry spelt exactly `key`."""
        if key in self._names:
            return Entry(self._names[key])
        line = self._lines.find(key)
        return None if line is None else _entry(line)

    def named(self, word: str) -> bool:
        """Whether `word` is in the list of names, spelt like this."""
        return word in self._names

    def listed(self, word: str) -> bool:
        """Whether the lexicon holds `word` as typed or in other case."""
        return self._cased(word) is not None

    def find(self, word: str) -> Entry | None:
        """Phones of a spelling: as typed, in other case, inflected, prefixed, or compounded; None if unknown."""
        if word not in self._seen:
            if len(self._seen) > 20000:
                self._seen.clear()
            self._seen[word] = self._cased(word) or self._inflected(word.lower())
        return self._seen[word]

    def _cased(self, word: str) -> Entry | None:
        for key in dict.fromkeys((word, word.lower(), word.capitalize())):
            if entry := self.exact(key):
                return entry
        return None

    def _inflected(self, word: str) -> Entry | None:
        return self._genitive(word) or self._plural(word) or self._past(word) or self._suffixed(word)

    def _stem(self, word: str) -> Entry | None:
        """A stem of at least two letters: listed, or itself inflected."""
        return (self._cased(word) or self._suffixed(word)) if len(word) > 2 else None

    def _genitive(self, word: str) -> Entry | None:
        if word.endswith("'s"):
            return _each(self.find(word[:-2]), plural)
        return self.find(word[:-1]) if word.endswith("s'") else None

    def _plural(self, word: str) -> Entry | None:
        if not word.endswith("s") or word.endswith("ss"):
            return None
        stems = [word[:-1]]
        if word.endswith("ies"):
            stems.insert(0, word[:-3] + "y")
        elif word.endswith("es"):
            stems.append(word[:-2])
        return next((_each(found, plural) for stem in stems if (found := self._stem(stem))), None)

    def _past(self, word: str) -> Entry | None:
        if not word.endswith("ed"):
            return None
        stems = [word[:-1], word[:-2]]
        if word.endswith("ied"):
            stems.insert(0, word[:-3] + "y")
        if len(word) > 5 and word[-3] == word[-4]:
            stems.append(word[:-3])
        found = next((found for stem in stems if (found := self._stem(stem))), None)
        return found and Entry(past(found.of("VERB")))

    def _suffixed(self, word: str) -> Entry | None:
        for suffix, spellings, phones in _ENDINGS:
            if not word.endswith(suffix) or len(word) < len(suffix) + 3:
                continue
            base = word[: -len(suffix)]
            for spelling in spellings:
                stem = base + spelling
                if spelling == "=":
                    if base[-1] != base[-2]:
                        continue
                    stem = base[:-1]
                if found := self._cased(stem):
                    tag = "VERB" if suffix in ("ing", "ings", "er", "ers", "able") else "ADJ"
                    stem_phones = found.of(tag)
                    if phones[0] in VOWELS:
                        stem_phones = _flap(stem_phones)
                    return Entry(stem_phones + phones)
        return self._prefixed(word)

    def _prefixed(self, word: str) -> Entry | None:
        for prefix, phones in _PREFIXES.items():
            rest = word[len(prefix) :].lstrip("-")
            if word.startswith(prefix) and len(rest) > 3 and (found := self._cased(rest)):
                return Entry(phones + found.phones)
        return None

    def compound(self, word: str) -> Entry | None:
        """Two listed words written as one, the second with lighter stress; None if there is no such split."""
        lower = word.lower()
        best: tuple[int, str] | None = None
        for cut in range(3, len(lower) - 2):
            first, second = self.exact(lower[:cut]), self.exact(lower[cut:])
            if first and second:
                balance = abs(len(lower) - 2 * cut)
                if best is None or balance < best[0]:
                    best = balance, first.phones + second.phones.replace("ˌ", "").replace("ˈ", "ˌ")
        return Entry(best[1]) if best else None


def _entry(line: str) -> Entry:
    phones, *variants = line.split("\t")
    pairs = (variant.partition(":") for variant in variants)
    return Entry(phones, {tag: other for tag, _, other in pairs})


def _each(entry: Entry | None, change: Callable[[str], str]) -> Entry | None:
    """The entry with `change` applied to all its readings."""
    return entry and Entry(change(entry.phones), {tag: change(phones) for tag, phones in entry.variants.items()})
