"""Japanese readings: ambiguous words in context, kana symbols, accents, places in the text, errors."""

import importlib
import logging
import shutil
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosylite.errors import DeviceError, InputError, OutputError
from cosylite.text.aligned import AlignedText
from cosylite.text.g2p import ja_dictionary
from cosylite.text.g2p.ja import JapaneseG2P, dictionary_ready, symbols_from_reading
from cosylite.text.g2p.ja_kana import KANA_SYMBOLS, kana_symbols
from cosylite.text.symbols import unknown_symbols

READINGS = Path(__file__).parents[1] / "data" / "ja_readings.txt"
READER = JapaneseG2P()


def _heard(text: str) -> str:
    """The reading, with を as オ and the long e as ー, however it is written."""
    return _canonical("".join(word.reading for word in READER.words(AlignedText.of(text))))


def _canonical(kana: str) -> str:
    kana = kana.replace("ヲ", "オ")
    return "".join(
        "ー" if c == "イ" and i and kana[i - 1] in "エケセテネヘメレゲゼデベペ" else c for i, c in enumerate(kana)
    )


def test_readings_in_context() -> None:
    cases = [line.split("\t") for line in READINGS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    wrong = [(text, kana, heard) for text, kana in cases if (heard := _heard(text)) != _canonical(kana)]
    assert not wrong
    assert len(cases) > 600


@pytest.mark.parametrize(
    ("kana", "symbols"),
    [
        ("キョー", "kʲoː"),
        ("ガッコー", "ɡaʔkoː"),
        ("シンブン", "ɕimbɯɴ"),
        ("サンカ", "saŋka"),
        ("ニンジャ", "ɲiɲʥa"),
        ("アンナイ", "annai"),
        ("ツズキ", "ʦɨzɨkʲi"),
        ("フューチャー", "ɸʲɨːʨaː"),
        ("ティーム", "tʲiːmɯ"),
        ("ヴァイオリン", "vaioɾʲiɴ"),
        ("ワヲ", "βao"),
        ("ー", ""),
    ],
)
def test_kana_symbols(kana: str, symbols: str) -> None:
    assert kana_symbols(kana) == symbols


def test_every_kana_has_known_symbols() -> None:
    assert not unknown_symbols("".join(KANA_SYMBOLS.values()))


def test_auxiliaries_join_their_verb_and_punctuation_follows() -> None:
    words = READER.words(AlignedText.of("寿司を食べました、とても「おいしかった」です！"))
    assert [word.text for word in words][:3] == ["寿司", "を", "食べました"]
    assert words[2].after == ","
    assert words[-1].after == "!"


def test_pitch_accent() -> None:
    accents = {word.reading: word.accent for word in READER.words(AlignedText.of("今日は雨が降る。"))}
    assert accents["キョー"] == 1
    assert accents["ワ"] == 0
    assert accents["アメ"] == 1


def test_number_words_share_the_digits() -> None:
    words = READER.words(AlignedText.of("2024年の夏"))
    assert {(word.start, word.end) for word in words[:2]} == {(0, 4)}
    assert words[-1].text == "夏"


def test_half_width_and_control_characters_keep_places() -> None:
    text = "ｶﾞｷﾞ\t本\x00屋"
    words = READER.words(AlignedText.of(text, offset=10))
    assert text[words[0].start - 10 : words[0].end - 10] == "ｶﾞｷﾞ"
    assert words[-1].end == 10 + len(text)


def test_offset_is_kept() -> None:
    assert READER.words(AlignedText.of("本", offset=7))[0].start == 7


def test_reading_given_by_the_user() -> None:
    assert symbols_from_reading("とーきょー") == "toːkʲoː"
    assert symbols_from_reading("ニホン ゴ") == "ɲihoɴ ɡo"


@pytest.mark.parametrize("reading", ["", "abc", "日本", "ー"])
def test_reading_that_is_not_kana(reading: str) -> None:
    with pytest.raises(InputError, match="kana"):
        symbols_from_reading(reading)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_known_symbols(text: str) -> None:
    for word in READER.words(AlignedText.of(text)):
        assert word.symbols
        assert not unknown_symbols(word.symbols + word.after)
        assert 0 <= word.start < word.end <= len(text)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="今日行った、。ー〜ッンァカ゛ｶﾞ12０%年人 a¥「」々ゞ😀\ud800\u3099", max_size=30))
def test_japanese_looking_text_gives_known_symbols(text: str) -> None:
    for word in READER.words(AlignedText.of(text)):
        assert not unknown_symbols(word.symbols + word.after)
        assert 0 <= word.start < word.end <= len(text)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(DeviceError, match="pip install haqumei") as caught:
        JapaneseG2P().words(AlignedText.of("本"))
    assert caught.value.code == "missing_dependency"


def test_unwritable_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("no folder")
    monkeypatch.setattr(ja_dictionary, "dictionary_folder", lambda: blocker / "haqumei")
    with pytest.raises(OutputError, match="XDG_CACHE_HOME") as caught:
        JapaneseG2P().words(AlignedText.of("本"))
    assert caught.value.code == "cache_unwritable"


def test_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ja_dictionary, "dictionary_folder", lambda: tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    with pytest.raises(OutputError, match="5 MB are free"):
        JapaneseG2P().words(AlignedText.of("本"))


def test_first_use_is_announced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ja_dictionary, "dictionary_folder", lambda: tmp_path)
    with caplog.at_level(logging.INFO):
        JapaneseG2P().words(AlignedText.of("本"))
    assert "103 MB" in caplog.text


def test_dictionary_is_ready_after_use() -> None:
    READER.words(AlignedText.of("本"))
    assert dictionary_ready()


def test_empty_text() -> None:
    assert READER.words(AlignedText.of("")) == []
    assert READER.words(AlignedText.of("。、！")) == []
