"""Orthographic words of a clause to their pronunciation: respelling by word list and context, then the sound rules."""

import re

from cosylite.text.g2p import ko_rules
from cosylite.text.g2p.ko_jamo import Syllable, coda_of, join, split
from cosylite.text.g2p.ko_words import respell

_ADNOMINAL_NOUN = re.compile("(?:것|거|걸|건|겁|게|수|데|바|줄|적|지도|지는|지$|듯|뻔|법|곳|정도|성싶|상황|때)")
_SURE_ADNOMINAL = re.compile(".*(?:[할갈올될볼줄쓸살만날]|[었았했있없같좋싶먹읽높많적입]을)$")
_NOT_ADNOMINAL = re.compile(".*(?:오늘|내일|서울|마을|가을|겨울|거울|얼굴|하늘|이들|[를들])$")
_EVENT = re.compile("(?:무슨|한|할|볼|좋은|큰|그런|어떤|다른|하는|될|많은|힘든|생긴)$")


def pronounce(words: list[str], pause_after: list[bool]) -> list[str]:
    """Hangul as pronounced, word by word. `pause_after[i]`: punctuation keeps word i from acting on the next."""
    spoken: list[list[Syllable]] = []
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) and not pause_after[index] else ""
        syllables = split(respell(word, following))
        if index and not pause_after[index - 1]:
            _join_adnominal(words[index - 1], word, syllables)
        ko_rules.apply_rules(syllables)
        if spoken and not pause_after[index - 1]:
            _across(words[index - 1], spoken[-1][-1], syllables[0])
        spoken.append(syllables)
    return [join(syllables) for syllables in spoken]


def _join_adnominal(before: str, word: str, syllables: list[Syllable]) -> None:
    """-ㄹ before a noun makes it tense (할 수); 일 "matter" takes an ㄴ (할 일)."""
    if coda_of(before[-1]) == "ㄹ" and not _NOT_ADNOMINAL.match(before):
        noun = _ADNOMINAL_NOUN.match(word) or _SURE_ADNOMINAL.match(before)
        if noun and syllables[0].onset in ko_rules.TENSE:
            syllables[0].onset = ko_rules.TENSE[syllables[0].onset]
    if _EVENT.match(before) and re.match("일(?:[이을은도에만]|인|$)", word):
        syllables[0].onset = "ㄹ" if coda_of(before[-1]) == "ㄹ" else "ㄴ"


def _across(before: str, left: Syllable, right: Syllable) -> None:
    """Sounds across a space, inside one breath: 못 해 -> 모 태, 밥 먹다 -> 밤 먹따."""
    if before in ("못", "옷", "꽃") and right.onset == "ㅇ":
        if right.vowel in "ㅣㅑㅕㅛㅠ":
            left.coda, right.onset = "ㄴ", "ㄴ"
        else:
            left.coda, right.onset = "", "ㄷ"
    elif left.coda in ko_rules.NASAL and right.onset == "ㅎ":
        right.onset, left.coda = ko_rules.ASPIRATED[left.coda], ""
    elif left.coda in ko_rules.NASAL and right.onset in ko_rules.TENSE:
        right.onset = ko_rules.TENSE[right.onset]
    elif left.coda in ko_rules.NASAL and right.onset in "ㄴㅁ":
        left.coda = ko_rules.NASAL[left.coda]
