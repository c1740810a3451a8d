"""Korean readings: the standard pronunciation, symbols, Latin letters, places in the text."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosylite.errors import InputError
from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ko import KoreanG2P, symbols_from_reading
from cosylite.text.g2p.ko_jamo import join, split
from cosylite.text.g2p.ko_latin import LatinReader
from cosylite.text.g2p.ko_lexicon import MARKED_WORDS
from cosylite.text.symbols import TENSE, unknown_symbols

PRONUNCIATIONS = Path(__file__).parents[1] / "data" / "ko_pronunciations.txt"
READER = KoreanG2P()


def _heard(text: str) -> str:
    return " ".join(word.reading for word in READER.words(AlignedText.of(text)))


def _symbols(text: str) -> str:
    return " ".join(word.symbols for word in READER.words(AlignedText.of(text)))


def test_standard_pronunciations() -> None:
    lines = PRONUNCIATIONS.read_text(encoding="utf-8").splitlines()
    cases = [line.split("\t") for line in lines if not line.startswith("#")]
    wrong = [(text, spoken, heard) for text, spoken in cases if (heard := _heard(text)) != spoken]
    assert not wrong
    assert len(cases) > 400


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("고기", "koɡi"),
        ("아기", "aɡi"),
        ("학교", "hakᴋjo"),
        ("감기", "kamɡi"),
        ("꼬리", "ᴋoɾi"),
        ("떡", "ᴛʌk"),
        ("빵", "ᴘaŋ"),
        ("찌개", "ᴄiɡɛ"),
        ("쓰다", "ꜱɨda"),
        ("시간", "ɕiɡan"),
        ("세상", "sesaŋ"),
        ("달라", "talla"),
        ("하루", "haɾu"),
        ("의사", "ɰisa"),
        ("희망", "himaŋ"),
        ("쥬스", "ʨusɨ"),
        ("샤워", "ɕawʌ"),
        ("외국", "weɡuk"),
        ("크다", "kʰɨda"),
        ("영어", "jʌŋʌ"),
    ],
)
def test_symbols(text: str, symbols: str) -> None:
    assert _symbols(text) == symbols


def test_tense_consonants_have_symbols_of_their_own() -> None:
    assert set("ᴋᴛᴘᴄꜱ") == set(TENSE) == {symbol for symbol in _symbols("꼬 또 뽀 쪼 쏘") if symbol in TENSE}


def test_words_punctuation_and_places() -> None:
    text = "안녕하세요, 저는 (학생)입니다!"
    words = READER.words(AlignedText.of(text, offset=3))
    assert [(word.text, word.after) for word in words] == [
        ("안녕하세요", ","),
        ("저는", ","),
        ("학생", ","),
        ("입니다", "!"),
    ]
    assert all(text[word.start - 3 : word.end - 3] == word.text for word in words)


def test_punctuation_keeps_words_apart() -> None:
    assert _heard("밥 먹다") == "밤 먹따"
    assert _heard("밥, 먹다") == "밥 먹따"


def test_decomposed_hangul() -> None:
    text = "\u1112\u1161\u11ab국"
    words = READER.words(AlignedText.of(text))
    assert [word.reading for word in words] == ["한국"]
    assert (words[0].start, words[0].end) == (0, 4)


@pytest.mark.parametrize(
    ("word", "hangul"),
    [
        ("A", "에이"),
        ("IBM", "아이비엠"),
        ("YouTube", "유튜브"),
        ("meeting", "미팅"),
        ("NASA", "나사"),
        ("html", "에이치티엠엘"),
    ],
)
def test_latin_words(word: str, hangul: str) -> None:
    assert LatinReader().read(word) == hangul


def test_glued_latin() -> None:
    assert _heard("A동과 K팝") == "에이동과 케이팝"


@settings(max_examples=200, deadline=None)
@given(st.from_regex("[A-Za-z]{1,12}", fullmatch=True))
def test_any_latin_word_becomes_hangul(word: str) -> None:
    assert LatinReader().read(word)
    assert all("가" <= character <= "힣" for character in LatinReader().read(word))


def test_reading_given_by_the_user() -> None:
    assert symbols_from_reading("궁물") == symbols_from_reading("국물") == "kuŋmul"
    assert symbols_from_reading("서울 역") == "sʌul jʌk"


@pytest.mark.parametrize("reading", ["", "abc", "국물!", "ㄱ"])
def test_reading_that_is_not_hangul(reading: str) -> None:
    with pytest.raises(InputError, match="hangul"):
        symbols_from_reading(reading)


@given(st.text(alphabet=st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), max_size=12))
def test_splitting_syllables_is_reversible(text: str) -> None:
    assert join(split(text)) == text


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet=st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), max_size=20))
def test_any_text_gives_known_symbols(text: str) -> None:
    for word in READER.words(AlignedText.of(text)):
        assert word.symbols
        assert not unknown_symbols(word.symbols + word.after)
        assert 0 <= word.start < word.end <= len(text)


def test_word_list_has_no_doubles() -> None:
    words = [entry.split("=")[0].translate(str.maketrans("", "", "*+|")) for entry in MARKED_WORDS.split()]
    assert len(words) == len(set(words))


def test_empty_text() -> None:
    assert READER.words(AlignedText.of("")) == []
    assert READER.words(AlignedText.of("ㅠㅠ ... 123")) == []
