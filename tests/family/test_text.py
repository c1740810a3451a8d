"""Tokenizers and text front-end of the official families, against golden facts."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cosylite.errors import BundleError
from cosylite.text.family.normalise import (
    FamilyText,
    contains_chinese,
    drop_blanks,
    drop_brackets,
    only_punctuation,
    spell_numbers,
    superscripts,
    wetext_verbaliser,
)
from cosylite.text.family.numbers import number_words
from cosylite.text.family.splitting import SplitRules, split
from cosylite.text.family.tokenizers import (
    Tokenizer,
    pack,
    qwen_tokenizer,
    read_qwen_vocabulary,
    unpack,
    whisper_tokenizer,
)

from .golden import ROOT

DATA = Path(__file__).parent / "data"


@cache
def facts(name: str) -> Any:
    return json.loads((ROOT / "text" / name).read_text(encoding="utf-8"))


@cache
def whisper() -> Tokenizer:
    return whisper_tokenizer()


@cache
def qwen_pieces() -> list[bytes]:
    return unpack((DATA / "qwen.ranks.xz").read_bytes())


@cache
def qwen(family: str) -> Tokenizer:
    return qwen_tokenizer(qwen_pieces(), "v2" if family == "v2" else "v3")


def test_whisper_tokenizer() -> None:
    for row in facts("v1_tokenizer.json")["strings"]:
        assert whisper().encode(row["text"]) == row["whisper_multilingual_100"], row["text"]
    assert whisper().encoding.n_vocab == facts("v1_tokenizer.json")["tokenizers"]["whisper_multilingual_100"]["n_vocab"]


def test_tokenizer_of_the_25_hz_recipe() -> None:
    tokenizer = whisper_tokenizer(unpack((DATA / "25hz.ranks.xz").read_bytes()), recipe_25hz=True)
    name = "cosyvoice_zh_ja_yue_char_del_100"
    for row in facts("v1_tokenizer.json")["strings"]:
        assert tokenizer.encode(row["text"]) == row[name], row["text"]
    assert tokenizer.encoding.n_vocab == facts("v1_tokenizer.json")["tokenizers"][name]["n_vocab"]
    for special, number in facts("special_tokens.json")["cosyvoice_tiktoken_specials_first"].items():
        assert tokenizer.specials[special] == number


@pytest.mark.parametrize("family", ["v2", "v3"])
def test_qwen_tokenizer(family: str) -> None:
    for row in facts("qwen_tokenizer_derived.json")["strings"]:
        assert qwen(family).encode(row["text"]) == row[family], row["text"]


@pytest.mark.parametrize("family", ["v2", "v3"])
def test_special_pieces(family: str) -> None:
    stored = facts("special_tokens.json")
    assert qwen(family).specials == stored[f"{family}_ids"]
    for special, number in stored["whisper_specials_first"].items():
        assert whisper().specials[special] == number
    assert len(whisper().specials) == stored["whisper_n_specials"]


def test_decoding_gives_the_text_back() -> None:
    text = "Hello 世界, こんにちは[laughter]<|endofprompt|>\n"
    for tokenizer in (whisper(), qwen("v2"), qwen("v3")):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_packed_vocabulary_round_trip() -> None:
    pieces = [b"a", b"bc", b"", bytes(range(200))]
    assert unpack(pack(pieces)) == pieces
    with pytest.raises(BundleError, match="damaged"):
        unpack(b"no vocabulary")


def letters(piece: bytes) -> str:
    """Write bytes as GPT-2 style vocabularies do."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in printable]
    return "".join(chr(b) if b in printable else chr(256 + hidden.index(b)) for b in piece)


def write_vocabulary(folder: Path, merges: list[tuple[bytes, bytes]]) -> list[bytes]:
    base = [bytes([b]) for b in range(256)]
    pieces = base + [a + b for a, b in merges]
    (folder / "vocab.json").write_text(json.dumps({letters(p): i for i, p in enumerate(pieces)}))
    lines = "\n".join(f"{letters(a)} {letters(b)}" for a, b in merges)
    (folder / "merges.txt").write_text(f"#version: 0.2\n{lines}\n")
    return pieces


def test_reading_the_vocabulary_of_a_checkpoint(tmp_path: Path) -> None:
    merges = [(b" ", b"h"), (b"\xe4", b"\xbd"), (b"\xe4\xbd", b"\xa0")]
    pieces = write_vocabulary(tmp_path, merges)
    assert read_qwen_vocabulary(tmp_path) == pieces


def test_bad_vocabularies_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="missing"):
        read_qwen_vocabulary(tmp_path)
    write_vocabulary(tmp_path, [(b"a", b"b"), (b"c", b"d")])
    (tmp_path / "merges.txt").write_text("c d\na b\n")
    with pytest.raises(BundleError, match="does not belong"):
        read_qwen_vocabulary(tmp_path)
    (tmp_path / "vocab.json").write_text("{")
    with pytest.raises(BundleError, match="damaged"):
        read_qwen_vocabulary(tmp_path)


HELPERS: dict[str, Callable[[str], object]] = {
    "contains_chinese": contains_chinese,
    "replace_corner_mark": superscripts,
    "remove_bracket": drop_brackets,
    "replace_blank": drop_blanks,
    "spell_out_number": spell_numbers,
    "is_only_punctuation": only_punctuation,
    "split_paragraph_zh": lambda text: split(text, chinese=True, length=len),
    "split_paragraph_zh_comma": lambda text: split(text, chinese=True, length=len, rules=SplitRules(at_commas=True)),
    "split_paragraph_en_whisper": lambda text: split(text, chinese=False, length=lambda t: len(whisper().encode(t))),
}


@pytest.mark.parametrize("name", HELPERS)
def test_front_end_helpers(name: str) -> None:
    for row in facts("frontend.json")["rows"]:
        if not isinstance(row[name], dict):
            assert HELPERS[name](row["text"]) == row[name], row["text"]


def length(text: str) -> int:
    return len(whisper().encode(text))


def test_front_end_without_verbaliser() -> None:
    for row in facts("frontend.json")["rows"]:
        wanted = row["text_normalize_split_no_wetext"]
        assert FamilyText(length).segments(row["text"]) == ([] if isinstance(wanted, dict) else wanted), row["text"]


def test_front_end_with_wetext() -> None:
    pytest.importorskip("wetext")
    chinese, other = wetext_verbaliser()
    front_end = FamilyText(length, chinese, other)
    for row in facts("frontend.json")["rows"]:
        split_wanted, wanted = row["text_normalize_split"], row["text_normalize_nosplit"]
        assert front_end.segments(row["text"]) == ([] if isinstance(split_wanted, dict) else split_wanted), row["text"]
        assert front_end.normalise(row["text"]) == ("" if isinstance(wanted, dict) else wanted), row["text"]


@pytest.mark.parametrize("text", [" ", "。", '."', "\n", "”。", '"', 'a "', " - ", "², ", "\u3000"])
def test_odd_text_never_fails(text: str) -> None:
    assert all(FamilyText(length).segments(text))


def test_numbers() -> None:
    assert number_words(1_234_567) == "one million, two hundred and thirty-four thousand, five hundred and sixty-seven"
    assert number_words(2001) == "two thousand and one"
    assert number_words(10**40).startswith("one zero zero")
