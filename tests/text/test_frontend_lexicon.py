"""Readings from a lexicon file or a mapping."""

from pathlib import Path

import pytest

from cosylite.errors import InputError, OutputError
from cosylite.text.frontend import Frontend, symbol_string
from cosylite.text.lexicon import Lexicon

FILE = """\ufeff# my words
重庆\tzh\tchong2 qing4
重\tzh\tzhong4

東雲\tja\tしののめ
독립\tko\t독립
Qwen\ten\t/kwˈɛn/
Zorg\ten\t/blˈup/
Qwen\tja\tクウェン
"""


@pytest.fixture(scope="module")
def frontend(tmp_path_factory: pytest.TempPathFactory) -> Frontend:
    path = tmp_path_factory.mktemp("lexicon") / "words.tsv"
    path.write_text(FILE, "utf-8")
    return Frontend(Lexicon.load(path))


def symbols(frontend: Frontend, text: str) -> str:
    return " | ".join(symbol_string(sentence) for sentence in frontend.analyse(text))


def test_longest_match(frontend: Frontend) -> None:
    words = frontend.analyse("我在重庆。")[0].words
    assert [word.reading for word in words] == ["wo3", "zai4", "chong2 qing4"]
    assert words[-1].after == "."


def test_every_language(frontend: Frontend) -> None:
    assert symbols(frontend, "東雲は駅です。").startswith("ɕinonome βa ")
    assert frontend.analyse("독립은 좋다.")[0].words[0].reading == "독립은"
    assert "kwˈɛn" in symbols(frontend, "I like QWEN.")
    assert "kwˈɛn" in symbols(frontend, "我用qwen吗？")


def test_whole_words_only(frontend: Frontend) -> None:
    assert "blˈup" in symbols(frontend, "zorg, Zorg's")
    assert "blˈup" not in symbols(frontend, "Zorgs azorg zorg2")


def test_entry_of_another_language_for_a_latin_word(frontend: Frontend) -> None:
    sentence = frontend.analyse("私はQwenを使います。")[0]
    assert [span.span.lang for span in sentence.spans] == ["ja"]
    assert "クウェン" in [word.reading for word in sentence.words]


def test_mapping() -> None:
    frontend = Frontend({"行": "hang2", "GIF": "/ʤˈɪf/"})
    assert "xa↗ŋ" in symbols(frontend, "这行吗？")
    assert symbols(frontend, "a gif.").endswith("ʤˈɪf.")
    with pytest.raises(InputError) as caught:
        Frontend({"行": "??"})
    assert caught.value.code == "bad_lexicon"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("重庆 zh chong2", "1 fields"),
        ("重庆\tchong2 qing4", "2 fields"),
        ("重庆\tfr\tchong2", "fr"),
        ("重庆\tzh\tちょんちん", "zh"),
        ("x\ten\t/??é/", "line 3"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, line: str, names: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(f"# first\n行\tzh\thang2\n{line}\n", "utf-8")
    with pytest.raises(InputError, match="line 3") as caught:
        Lexicon.load(path)
    assert names in str(caught.value)
    assert caught.value.param == "lexicon"


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        Lexicon.load(tmp_path / "missing.tsv")
    path = tmp_path / "latin1.tsv"
    path.write_bytes("é\ten\t/e/\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        Lexicon.load(path)
