"""Respelling of words and endings whose pronunciation the letters alone do not tell."""

import re
from functools import cache

from cosylite.text.g2p import ko_rules
from cosylite.text.g2p.ko_jamo import join, split
from cosylite.text.g2p.ko_lexicon import MARKED_WORDS

_LONGEST = 7


def _marked(entry: str) -> tuple[str, str]:
    """Spelling and respelling of an entry: `*` makes the next onset tense, `+` inserts ㄴ, `|` ends a part."""
    if "=" in entry:
        word, spoken = entry.split("=")
        return word, spoken
    word = re.sub(r"[*+|~]", "", entry)
    syllables = split(word)
    position = 0
    for character in entry:
        if character == "*":
            syllables[position].onset = ko_rules.TENSE[syllables[position].onset]
        elif character == "+":
            syllables[position].onset = "ㄴ"
        elif character == "|":
            before = syllables[position - 1]
            before.coda = ko_rules.NEUTRAL.get(before.coda, before.coda)
        elif character != "~":
            position += 1
    return word, join(syllables)


@cache
def _lexicon() -> dict[str, str]:
    return dict(map(_marked, MARKED_WORDS.split()))


def respell(word: str, following: str = "") -> str:
    """`word` (one orthographic word) spelt so that the sound rules read it right; `following` is the next word."""
    spelling, done = "", 0
    lexicon = _lexicon()
    while done < len(word):
        longest = min(_LONGEST, len(word) - done)
        shortest = 2 if done % 2 == 0 else 3
        for size in range(longest, shortest - 1, -1):
            if word[done : done + size] in lexicon:
                spelling += lexicon[word[done : done + size]]
                done += size
                break
        else:
            spelling += word[done]
            done += 1
    return spelling
