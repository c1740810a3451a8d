"""Chinese words, readings and tone sandhi."""

import pytest

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.zh import ChineseG2P
from cosylite.text.g2p.zh_pinyin import syllable_symbols
from cosylite.text.symbols import unknown_symbols


@pytest.fixture(scope="module")
def g2p() -> ChineseG2P:
    return ChineseG2P()


def symbols(g2p: ChineseG2P, text: str) -> str:
    return " ".join(word.symbols + word.after for word in g2p.words(AlignedText.of(text)))


@pytest.mark.parametrize(
    ("syllable", "expected"),
    [("zhong1", "ꭧʊ→ŋ"), ("yuan2", "ɥɛ↗n"), ("lü4", "ly↘"), ("jue2", "ʨɥe↗"), ("er4", "ɚ↘"), ("de5", "tɤ")],
)
def test_syllable_symbols(syllable: str, expected: str) -> None:
    assert syllable_symbols(syllable) == expected


def test_every_syllable_of_pypinyin_has_known_symbols() -> None:
    from pypinyin import Style
    from pypinyin.constants import PINYIN_DICT
    from pypinyin.style import convert

    marked = {form for forms in PINYIN_DICT.values() for form in forms.split(",")}
    for form in {convert(form, Style.TONE3, strict=False) for form in marked}:
        spoken = syllable_symbols(form)
        assert spoken and not unknown_symbols(spoken), form


def test_words_cover_their_source(g2p: ChineseG2P) -> None:
    words = g2p.words(AlignedText.of("我们去银行，好吗？", 10))
    assert next((w.text, w.start, w.end) for w in words) == ("我们", 10, 12)
    assert words[-1].end == 18 and words[-1].after == "?"
    assert [w.after for w in words].count(",") == 1


def test_letters_glued_to_han_are_named(g2p: ChineseG2P) -> None:
    assert symbols(g2p, "U盘") == "jˈu pʰa↗n"
