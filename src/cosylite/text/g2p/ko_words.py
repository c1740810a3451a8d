"""Respelling of words and endings whose pronunciation the letters alone do not tell."""

import re
from collections.abc import Mapping

from cosylite.text.g2p import ko_rules
from cosylite.text.g2p.ko_jamo import coda_of, join, split
from cosylite.text.g2p.ko_lexicon import MARKED_WORDS

_LONGEST = 7
_NOUN_END = "(?=이|가|은|는|을|를|의|에|으로|로|과|와|도|만|까지|부터|보다|입니|인|적|$)"
_TENSE_SUFFIX = re.compile(f"(?<=[가-힣]{{2}})[성증권법]{_NOUN_END}")
_PLAIN_SUFFIX = re.compile(
    "[남여구완형찬작장음화혜편합생양달결인개지감조육재자]성|[보인검논실확고예수]증|[방사입마]법|[한두세네몇]권"
)
_LIQUID_WORDS = re.compile(
    "[언여반본원]론|[분군전]량|[권인전근탄]력|[난진선근]로|[원연진만완]료"
    "|[인분전한난본]류|[신연전관]령|[반혼산곤문]란|[전관선범의]례"
)
"""Ends of words in which ㄴ and ㄹ become ㄹㄹ, although the ㄹ begins what is often a suffix."""
_LIQUID_SUFFIX = re.compile("(?<=[가-힣])[론량력란료류령례로]")
_COMPOUND_TAIL = re.compile(
    f"(?<=[가-힣]{{2}})(?:[역약]{_NOUN_END}|용(?=$|[이으은을도품])|여행|영화|요리|유리|연필|열차|여자|역사)"
)
_SIMPLE_TAILS = re.compile(
    "[번통권전영면방광병군]역|[활적작운등수신전공상통남복혼관실겸인착급]용|[절협한선공농빈탄극경청]약"
)
_OBJECTIVE_ENDING = re.compile(
    "(?<=[할갈올볼될쓸낼을릴])(?:게요?$|걸요?$|거[야예에라]|것|겁니|건|수록"
    "|수[있없밖]|지[도는라만]?|듯|데|밖에|세라|진대)|(?<=[줄만들살알])(?:걸요?$"
    "|거[야예에라]|겁니|수록)"
)
_PROMISE = re.compile("게요?$")
_DESCRIPTIVE = re.compile(".*(?:길|멀|달|가늘|둥글|잘|힘들|서툴|거칠|드물|모질|졸|얼|절|골)$")
_L_STEM = re.compile(".*(?:알|살|울|놀|열|밀|들|팔|풀|불|걸|날|돌|빌|갈|물|털|흔들|말|떨)$")
_NUMERAL = re.compile("[영공일이삼사오육칠팔구십백천만억조]{2,}")
_NUMERAL_TENSE = re.compile("(?<=[칠팔])십")
_NUMERAL_INSERTION = re.compile("(?<=[십백천만억영])육")
_EUI_NOUNS = re.compile(
    "[주회정강의동합논결문토협이항거예모호편창성고적유심건제상하내수탈열선악임본신대사전질발함경민한]의"
)
"""Nouns of two syllables; any other 의 at the end of a word is the particle."""
_EUI_TAILS = re.compile("[가-힣]{2,}주의$|(?:국무|대책|정상|임원|간부|화상|전체|긴급)회의$")


def _respelt(entry: str) -> tuple[str, str]:
    """Spelling and respelling of an entry of the word list (see `ko_lexicon`)."""
    if "=" in entry:
        word, spoken = entry.split("=")
        return word, spoken
    word = re.sub("[*+|]", "", entry)
    syllables = split(word)
    position = 0
    for character in entry:
        if character == "*":
            syllables[position].onset = ko_rules.TENSE[syllables[position].onset]
        elif character == "+":
            syllables[position].onset = "ㄴ"
        elif character == "|":
            before = syllables[position - 1]
            syllables[position].onset = ko_rules.NEUTRAL.get(before.coda, before.coda)
            before.coda = ""
        else:
            position += 1
    return word, join(syllables)


class Respeller:
    """Respells orthographic words so that the sound rules read them right."""

    def __init__(self) -> None:
        self._words = dict(map(_respelt, MARKED_WORDS.split()))

    def respell(self, word: str, following: str = "") -> str:
        """`word` as the sound rules should see it; `following` is the next word of the clause."""
        word = _particle_eui(word)
        spelling = self._look_up(word)
        spelling = _change_onset(word, spelling, _endings(word, following), ko_rules.TENSE)
        spelling = _change_onset(word, spelling, _tense_suffixes(word) + _numeral(word, _NUMERAL_TENSE), ko_rules.TENSE)
        return _change_onset(
            word, spelling, _inserted(word) + _numeral(word, _NUMERAL_INSERTION), {"ㅇ": "ㄴ", "ㄹ": "ㄴ"}
        )

    def _look_up(self, word: str) -> str:
        spelling, done = "", 0
        while done < len(word):
            piece = self._longest(word, done)
            spelling += self._words[piece] if piece else word[done]
            done += len(piece) or 1
        return spelling

    def _longest(self, word: str, start: int) -> str:
        """Longest entry at `start`; two syllables count at even positions only, where parts of compounds begin."""
        shortest = 2 if start % 2 == 0 else 3
        for size in range(min(_LONGEST, len(word) - start), shortest - 1, -1):
            if word[start : start + size] in self._words:
                return word[start : start + size]
        return ""


def _change_onset(word: str, spelling: str, places: list[int], onsets: Mapping[str, str]) -> str:
    """`spelling` with the onsets at `places` replaced, where it still has the onset of `word`."""
    syllables, written = split(spelling), split(word)
    for place in places:
        if syllables[place].onset == written[place].onset:
            syllables[place].onset = onsets.get(syllables[place].onset, syllables[place].onset)
    return join(syllables)


def _particle_eui(word: str) -> str:
    """The particle 의 is read 에, the last syllable of a noun is not."""
    if len(word) < 2 or not word.endswith("의") or _EUI_NOUNS.fullmatch(word) or _EUI_TAILS.search(word):
        return word
    return word[:-1] + "에"


def _endings(word: str, following: str) -> list[int]:
    """Onsets that are tense after the ending -ㄹ: 할게, 갈수록, 먹을지."""
    places = [match.start() for match in _OBJECTIVE_ENDING.finditer(word) if match.start() > 0]
    promise = _PROMISE.search(word)
    if promise and promise.start() > 0 and coda_of(word[promise.start() - 1]) == "ㄹ":
        stem = word[: promise.start()]
        adverb = following and promise.group() == "게" and _L_STEM.match(stem)
        if _DESCRIPTIVE.match(stem) or adverb:
            return [place for place in places if place != promise.start()]
        places.append(promise.start())
    return places


def _numeral(word: str, place: re.Pattern[str]) -> list[int]:
    """Places inside the Sino-Korean number that `word` begins with."""
    number = _NUMERAL.match(word)
    return [match.start() for match in place.finditer(number.group())] if number else []


def _tense_suffixes(word: str) -> list[int]:
    return [match.start() for match in _TENSE_SUFFIX.finditer(word) if not _PLAIN_SUFFIX.match(word, match.start() - 1)]


def _inserted(word: str) -> list[int]:
    """Onsets that become ㄴ: compounds such as 강남역, and ㄹ of a suffix after a word in ㄴ such as 생산량."""
    places = []
    for match in _COMPOUND_TAIL.finditer(word):
        before = word[match.start() - 1]
        if coda_of(before) and not _SIMPLE_TAILS.match(word, match.start() - 1):
            places.append(match.start())
    for match in _LIQUID_SUFFIX.finditer(word):
        start = match.start()
        if start >= 2 and coda_of(word[start - 1]) == "ㄴ" and not _LIQUID_WORDS.match(word, start - 1):
            places.append(start)
    return places
