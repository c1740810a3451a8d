"""Mandarin readings: words by rjieba, pinyin by a phrase list and our polyphone rules, tone sandhi, phoneme symbols."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.zh_pinyin import LETTER_NAMES, split_tone, syllable_symbols
from cosylite.text.g2p.zh_polyphones import apply_polyphones, simplifier
from cosylite.text.g2p.zh_readings import Readings
from cosylite.text.g2p.zh_sandhi import apply_sandhi
from cosylite.text.types import Word

LatinReader = Callable[[AlignedText], list[Word]]

HAN = "〇々\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE = re.compile(f"(?P<han>[{HAN}]+)|(?P<latin>[A-Za-z]+(?:['’][A-Za-z]+)*)|(?P<mark>[^\\s\\w])", re.ASCII)
_MARKS = {
    "，": ",", "、": ",", ",": ",", "；": ";", ";": ";", "：": ":", ":": ":", "。": ".", "．": ".", ".": ".", "｡": ".",
    "！": "!", "!": "!", "？": "?", "?": "?", "…": "…", "—": "—", "―": "—", "–": "—", "（": ",", "）": ",", "(": ",",
    ")": ",", "[": ",", "]": ",", "【": ",", "】": ",",
}  # fmt: skip
_PAUSES = ",:;—….!?"
"""Pause marks, weakest first; the strongest one stands for a run of marks."""


_DISTINCT = {"髮": "fa4", "發": "fa1", "乾": "gan1", "幹": "gan4", "隻": "zhi1", "麵": "mian4", "裏": "li3"}
"""Traditional characters that tell apart what one simplified character stands for."""
_AUTHORED = re.compile("著(?=[名作者称稱述书書])|(?<=[名原编編显顯巨专專论論译譯拙遗遺土])著")
_KIN = "爸妈媽哥姐弟妹爷爺奶叔伯姑舅公婆嫂婶嬸姨宝寶娃"


@dataclass
class _Draft:
    """A word on its way: Han words carry pinyin, others their symbols."""

    text: str
    start: int
    end: int
    pinyin: list[str]
    symbols: str = ""


class ChineseG2P:
    """Readings of normalised Chinese text. `latin` reads Latin words; without it they are spelt."""

    def __init__(self, latin: LatinReader | None = None) -> None:
        self._latin = latin
        self._readings: Readings | None = None

    def pinyin(self, han: str) -> list[str]:
        """Pinyin with dictionary tones, one syllable (or "" for an unknown character) per character of a Han run."""
        if self._readings is None:
            self._readings = Readings()
        run = _repeat_marks(han).translate(simplifier())
        syllables = apply_polyphones(run, self._readings.of(run))
        for match in _AUTHORED.finditer(han):
            syllables[match.start()] = "zhu4"
        return [_DISTINCT.get(han[i]) or _dictionary_tone(run, i, syllables[i]) for i in range(len(run))]

    def words(self, text: AlignedText) -> list[Word]:
        """Words of normalised text, which may hold Han, Latin letters and punctuation; anything else is dropped."""
        drafts: list[_Draft | str] = []
        for match in _PIECE.finditer(text.text):
            piece = text.slice(match.start(), match.end())
            if match.lastgroup == "han":
                drafts.extend(self._han_words(piece))
            elif match.lastgroup == "latin":
                drafts.extend(self._latin_words(piece))
            elif match.group() in _MARKS:
                drafts.append(_MARKS[match.group()])
        return self._finish(drafts, text)

    def _han_words(self, run: AlignedText) -> list[_Draft]:
        pinyin = self.pinyin(run.text)
        drafts: list[_Draft] = []
        done = 0
        for word in _cut(run.text.translate(simplifier())):
            start, end = run.source(done, done + len(word))
            drafts.append(_Draft(word, start, end, pinyin[done : done + len(word)]))
            done += len(word)
        return drafts

    def _latin_words(self, piece: AlignedText) -> list[_Draft]:
        if self._latin is not None and not (piece.text.isupper() and len(piece) <= 5):
            return [_Draft(w.text, w.start, w.end, [], w.symbols) for w in self._latin(piece)]
        drafts: list[_Draft] = []
        for i, letter in enumerate(piece.text):
            if letter.lower() in LETTER_NAMES:
                start, end = piece.source(i, i + 1)
                drafts.append(_Draft(letter, start, end, [], LETTER_NAMES[letter.lower()]))
        return drafts

    def _finish(self, drafts: list["_Draft | str"], text: AlignedText) -> list[Word]:
        words: list[Word] = []
        clause: list[_Draft] = []
        mark = ""
        for item in drafts:
            if isinstance(item, str):
                mark = max(mark, item, key=_strength)
                continue
            if mark and not clause:
                words.append(_lone_mark(mark, text))
            elif mark:
                words.extend(self._clause(clause, mark))
                clause = []
            mark = ""
            clause.append(item)
        if clause:
            words.extend(self._clause(clause, mark))
        elif mark:
            words.append(_lone_mark(mark, text))
        return words

    def _clause(self, drafts: list[_Draft], mark: str) -> list[Word]:
        words: list[Word] = []
        han = [draft for draft in drafts if draft.pinyin]
        spoken = iter(apply_sandhi([d.text for d in han], [d.pinyin for d in han], _is_word))
        for draft in drafts:
            symbols = draft.symbols
            if draft.pinyin:
                symbols = "".join(syllable_symbols(syllable) or "" for syllable in next(spoken))
            if symbols:
                reading = " ".join(filter(None, draft.pinyin)) or symbols
                words.append(Word(draft.text, draft.start, draft.end, symbols, reading))
        if words:
            words[-1] = replace(words[-1], after=mark)
        return words


def _cut(run: str) -> list[str]:
    """Words of a Han run. A `Jieba` of our own would be a second copy of the dictionary that the import loads."""
    from rjieba import cut

    return cut(run)


def _is_word(text: str) -> bool:
    from rjieba import has_word

    return has_word(text)


def _strength(mark: str) -> int:
    return _PAUSES.index(mark) if mark else -1


def _lone_mark(mark: str, text: AlignedText) -> Word:
    """Punctuation before any word of the span: a word of its own that only pauses."""
    start, end = text.source(0, 1)
    return Word(mark, start, end, mark, mark)


def _dictionary_tone(run: str, i: int, syllable: str) -> str:
    """Undo the sandhi that some phrases carry; the second half of 姐姐 and its like is neutral."""
    character = run[i]
    if character in ("一", "不"):
        return "yi1" if character == "一" else "bu4"
    if i and run[i - 1] == character and character in _KIN:
        return split_tone(syllable)[0] + "5"
    return syllable


def _repeat_marks(han: str) -> str:
    """Replace 々 by the character before it."""
    result = ""
    for character in han:
        result += result[-1] if character == "々" and result else character
    return result
