"""Chinese words, readings and tone sandhi."""

import pytest

from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.packed import PackedLines
from cosylite.text.g2p.zh import ChineseG2P
from cosylite.text.g2p.zh_pinyin import syllable_symbols
from cosylite.text.g2p.zh_readings import Readings
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


def test_every_listed_syllable_has_known_symbols() -> None:
    lines = PackedLines("zh_pinyin.xz").text().splitlines()[1:]
    assert len(lines) > 80_000
    assert all(len(line.split("\t")[0]) == len(line.split("\t")[1].split()) for line in lines)
    for form in {syllable for line in lines for syllable in line.split("\t")[1].split()}:
        spoken = syllable_symbols(form)
        assert spoken and not unknown_symbols(spoken), form


def test_the_longest_phrase_gives_the_reading(g2p: ChineseG2P) -> None:
    assert g2p.pinyin("银行") == ["yin2", "hang2"]
    assert g2p.pinyin("行不行") == ["xing2", "bu4", "xing2"]
    assert g2p.pinyin("\U00031fff好") == ["", "hao3"]
    readings = Readings()
    assert readings.of("") == []
    assert readings.of("重庆重要") == ["chong2", "qing4", "zhong4", "yao4"]


def test_packed_lines_find_every_key_and_nothing_else() -> None:
    packed = PackedLines("zh_pinyin.xz")
    lines = [line.split("\t") for line in packed.text().splitlines()[1:]]
    for key, value in (lines[0], lines[-1], *lines[::997]):
        assert packed.find(key) == value
        assert packed.find(key + "\uffff") is None
        assert packed.beginning_with(key[0]).decode().count("\n" + key + "\t") == 1
    assert packed.find("") is packed.find("a") is packed.find("\U0010ffff") is None
    assert packed.beginning_with("a").strip() == packed.beginning_with("\U0010ffff").strip() == b""


def test_words_cover_their_source(g2p: ChineseG2P) -> None:
    words = g2p.words(AlignedText.of("我们去银行，好吗？", 10))
    assert next((w.text, w.start, w.end) for w in words) == ("我们", 10, 12)
    assert words[-1].end == 18 and words[-1].after == "?"
    assert [w.after for w in words].count(",") == 1


def test_letters_glued_to_han_are_named(g2p: ChineseG2P) -> None:
    assert symbols(g2p, "U盘") == "jˈu pʰa↗n"
