"""Tone sandhi of Mandarin: 一, 不 and runs of third tones, within one clause."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from cosylite.text.g2p.zh_pinyin import split_tone

DIGITS = frozenset("零〇一二三四五六七八九十幺")
# Words that end in 一 as a number or rank, so that it keeps its first tone before anything.
FINAL_ONE = frozenset(
    {"统一", "唯一", "万一", "周一", "星期一", "礼拜一", "之一", "其一", "单一", "专一", "合一", "划一", "归一"}
    | {"初一", "高一", "大一", "始终如一", "不一", "統一", "萬一", "週一", "單一", "專一", "劃一", "歸一"}
)
# Counted things before which 一 is a rank or a date, not an amount.
RANKED = ("月", "号", "號", "楼", "樓", "班", "级", "級", "等", "年级", "年級", "队", "中学", "日")


def apply_sandhi(
    words: Sequence[str], syllables: Sequence[Sequence[str]], is_word: Callable[[str], bool]
) -> list[list[str]]:
    """Syllables of the words of one clause after tone sandhi.

    `words` are Han words, `syllables` their pinyin with dictionary tones, one a character; `is_word` tells whether
    two characters are a word of the dictionary, which decides how longer words group.
    """
    text = "".join(words)
    flat = [syllable for word in syllables for syllable in word]
    changed = _sandhi_of_bu(text, _sandhi_of_one(words, text, flat))
    result: list[list[str]] = []
    done = 0
    for word in words:
        part = changed[done : done + len(word)]
        result.append(_third_tones_in_word(word, part, is_word))
        done += len(word)
    _third_tones_across(result)
    return result


def _tone(syllable: str) -> str:
    return split_tone(syllable)[1]


def _with_tone(syllable: str, tone: str) -> str:
    return split_tone(syllable)[0] + tone


def _sandhi_of_bu(text: str, flat: list[str]) -> list[str]:
    result = list(flat)
    for i, character in enumerate(text):
        if character != "不" or split_tone(flat[i])[0] != "bu" or i + 1 >= len(text):
            continue
        if i and text[i - 1] == text[i + 1]:
            result[i] = "bu5"
        elif _tone(result[i + 1]) == "4":
            result[i] = "bu2"
    return result


def _sandhi_of_one(words: Sequence[str], text: str, flat: list[str]) -> list[str]:
    result = list(flat)
    kept = _ones_that_keep_their_tone(words)
    for i, character in enumerate(text):
        if character != "一" or split_tone(flat[i])[0] != "yi" or i in kept or i + 1 >= len(text):
            continue
        before, after = text[i - 1] if i else "", text[i + 1]
        if before and before == after and before not in DIGITS:
            result[i] = "yi5"
        elif not _one_is_digit(text, i):
            result[i] = "yi2" if _tone(flat[i + 1]) == "4" or after in "个個" else "yi4"
    return result


def _one_is_digit(text: str, i: int) -> bool:
    before, after = text[i - 1] if i else "", text[i + 1]
    if before in DIGITS or after in DIGITS or before in ("第", "点", "點"):
        return True
    if after in "点點" and text[i + 2 : i + 3] in DIGITS and text[i + 2 : i + 3]:
        return True
    return text.startswith(RANKED, i + 1) and not text.startswith(("等等", "日三", "级棒", "楼的人"), i + 1)


def _ones_that_keep_their_tone(words: Sequence[str]) -> set[int]:
    kept: set[int] = set()
    done = 0
    for word in words:
        done += len(word)
        if word in FINAL_ONE:
            kept.add(done - 1)
    return kept


def _third_tones_in_word(word: str, syllables: list[str], is_word: Callable[[str], bool]) -> list[str]:
    if len(word) == 3 and not is_word(word[:2]) and is_word(word[1:]):
        return syllables[:1] + _raise_thirds(syllables[1:])
    if len(word) == 4:
        return _raise_thirds(syllables[:2]) + _raise_thirds(syllables[2:])
    return _raise_thirds(syllables)


def _raise_thirds(syllables: list[str]) -> list[str]:
    result = list(syllables)
    for i in range(len(result) - 1):
        if _tone(syllables[i]) == "3" and _tone(syllables[i + 1]) == "3":
            result[i] = _with_tone(result[i], "2")
    return result


def _third_tones_across(words: list[list[str]]) -> None:
    """Within four-syllable words the halves meet here too, so the whole clause is walked once, in place."""
    places = [(w, s) for w, word in enumerate(words) for s in range(len(word))]
    for (w, s), (next_w, next_s) in pairwise(places):
        if _tone(words[w][s]) == "3" and _tone(words[next_w][next_s]) == "3":
            words[w][s] = _with_tone(words[w][s], "2")
