"""Orthographic words of a clause to their pronunciation: respelling by word list and context, then the sound rules."""

import re

from cosylite.text.g2p import ko_rules
from cosylite.text.g2p.ko_jamo import Syllable, coda_of, join, split
from cosylite.text.g2p.ko_words import Respeller

_ADNOMINAL_NOUN = re.compile("(?:것|거|걸|건|겁|게|수|데|바|줄|적|지도|지는|지$|듯|뻔|법|곳|정도|성싶|상황|때)")
_SURE_ADNOMINAL = re.compile(".*(?:[할갈올될볼줄쓸살만날]|[었았했있없같좋싶먹읽높많적입]을)$")
_NOT_ADNOMINAL = re.compile(
    ".*(?:오늘|내일|서울|마을|가을|겨울|거울|얼굴|하늘|사람들|아이들|우리들|학생들|친구들|그들|이들|를)$"
)
_NATIVE_COUNTER = re.compile("(?:살|시$|시[에가까반]|시간|장|대|자루|개|권|병|번|잔|가지|곳|사람|달|배|줄|자리|조각)")
_SINO_NUMBER = re.compile("[영일이삼사오육칠팔구십백천만억조]+$")
_SINO_COUNTER = re.compile("(?:대$|도$|도[를가입]|세기|주$|주일|주년|장|조$|단계|세$|등|동|점|진)")
_PLACE = re.compile("아래|위|앞|안에|안으로")
_EVENT = re.compile("^(?:무슨|한|할|볼|좋은|큰|그런|어떤|다른|하는|될|많은|힘든|생긴)$")

_INSERTIONS = (
    (_EVENT, re.compile("일(?:[이을은도에만]|인|$)")),
    (re.compile("[은는]$"), re.compile("엿(?:[이을도]|$)")),
    (re.compile("^잘$"), re.compile("입|익|읽|잊")),
)
"""Words whose meeting inserts ㄴ (after ㄹ: ㄹ): 할 일, 먹은 엿, 잘 입다."""


def pronounce(words: list[str], pause_after: list[bool], respeller: Respeller) -> list[str]:
    """Hangul as pronounced, word by word. `pause_after[i]`: punctuation keeps word i from acting on the next."""
    spoken: list[list[Syllable]] = []
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) and not pause_after[index] else ""
        syllables = split(respeller.respell(word, following))
        if index and not pause_after[index - 1]:
            _join(words[index - 1], word, syllables)
        ko_rules.apply_rules(syllables)
        if spoken and not pause_after[index - 1]:
            _across(words[index - 1], word, spoken[-1][-1], syllables[0])
        spoken.append(syllables)
    return [join(syllables) for syllables in spoken]


def _join(before: str, word: str, syllables: list[Syllable]) -> None:
    """What the word `before` does to the beginning of `word`."""
    first = syllables[0]
    if first.onset in ko_rules.TENSE and _makes_tense(before, word):
        first.onset = ko_rules.TENSE[first.onset]
    if any(left.search(before) and right.match(word) for left, right in _INSERTIONS):
        first.onset = "ㄹ" if coda_of(before[-1]) == "ㄹ" else "ㄴ"


def _makes_tense(before: str, word: str) -> bool:
    """-ㄹ before a noun (할 수), numerals in ㄹ before counters (열 살), the decimal point (삼 점 오)."""
    if word == "점" and _SINO_NUMBER.match(before):
        return True
    if re.search("(?:열|여덟)$", before) and _NATIVE_COUNTER.match(word):
        return True
    if _SINO_NUMBER.match(before):
        return before[-1] in "일칠팔" and _SINO_COUNTER.match(word) is not None
    if coda_of(before[-1]) != "ㄹ" or _NOT_ADNOMINAL.match(before):
        return False
    return (_ADNOMINAL_NOUN.match(word) or _SURE_ADNOMINAL.match(before)) is not None


def _across(before: str, word: str, left: Syllable, right: Syllable) -> None:
    """Sounds across a space, inside one breath: 못 해 -> 모 태, 밥 먹다 -> 밤 먹따, 밭 아래 -> 바 다래."""
    if left.coda not in ko_rules.NASAL:
        return
    if right.onset == "ㅇ":
        if before in ("못", "옷", "꽃") and right.vowel in "ㅣㅑㅕㅛㅠ":
            left.coda, right.onset = "ㄴ", "ㄴ"
        elif before == "못" or (len(before) == 1 and _PLACE.match(word)):
            left.coda, right.onset = "", left.coda
    elif right.onset == "ㅎ":
        right.onset, left.coda = ko_rules.ASPIRATED[left.coda], ""
    elif right.onset in ko_rules.TENSE:
        right.onset = ko_rules.TENSE[right.onset]
    elif right.onset in "ㄴㅁ":
        left.coda = ko_rules.NASAL[left.coda]
