"""English written forms to words."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.en import EnglishG2P
from cosylite.text.normalise.en import normalise
from cosylite.text.normalise.en_numbers import cardinal, decade, fraction, number, ordinal, pairs, roman, year
from cosylite.text.symbols import unknown_symbols

CASES = Path(__file__).with_name("en_normalise_cases.txt").read_text(encoding="utf-8").splitlines()
PUNCTUATION = ".,!?;:'\"()—–…“”‘’-"
WRITTEN = st.text("0123456789.,:/-+$€£%°'\"@#()=<>^*x×²½ aAbBiIvVXmMkKpPtsTdDhH&~_…—Ⅳ①٣é日", max_size=30)
ENGLISH = EnglishG2P()


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    written, spoken = case.split(" | ")
    assert normalise(AlignedText.of(written)).text == spoken


def check(text: str) -> None:
    """Nothing but words and punctuation is left, in place, and the words have known symbols only."""
    normalised = normalise(AlignedText.of(text))
    for char in normalised.text:
        assert char in PUNCTUATION or unicodedata.category(char)[0] in "LMZ", (text, normalised.text)
    assert all(0 <= a < b <= len(text) for a, b in zip(normalised.starts, normalised.ends, strict=True))
    for word in ENGLISH.words(normalised):
        assert word.symbols and not unknown_symbols(word.symbols + word.after)
        assert 0 <= word.start < word.end <= len(text)


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    check(text)


@settings(deadline=None, max_examples=500)
@given(WRITTEN)
def test_any_mixture_of_digits_and_symbols(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text", ["", " ", "²", "\ud800", "😀👍🏽", "۵٣①Ⅷ〇", "9" * 5000, "1/" + "0" * 5000, "$" + "9" * 5000, "\x00\x07"]
)
def test_odd_text(text: str) -> None:
    check(text)


def test_alignment_of_a_rewritten_number() -> None:
    normalised = normalise(AlignedText.of("Pay $5.50 now"))
    start = normalised.text.index("five")
    assert normalised.source(start, start + len("five dollars")) == (4, 9)
    assert normalised.source(normalised.text.index("now"), len(normalised.text)) == (10, 13)


def test_number_words() -> None:
    assert cardinal("1000000") == "one million" and cardinal("110") == "one hundred ten" and cardinal("0") == "zero"
    assert number("-0.05") == "minus zero point zero five" and number(".5") == "point five"
    assert ordinal("21") == "twenty-first" and ordinal("12") == "twelfth" and ordinal("40") == "fortieth"
    assert year("1905") == "nineteen oh five" and year("2010") == "twenty ten" and year("2000") == "two thousand"
    assert year("1800") == "eighteen hundred" and decade("1990") == "nineteen nineties"
    assert pairs("305") == "three oh five" and pairs("4090") == "forty ninety"
    assert fraction("3", "4") == "three quarters" and fraction("1", "2") == "one half"
    assert roman("XIV") == 14 and roman("IIII") is None and roman("") is None
