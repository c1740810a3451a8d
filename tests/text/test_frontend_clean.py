"""Input hygiene keeps what can be spoken and remembers where it stood."""

import random

import pytest

from cosylite.errors import InputError
from cosylite.text.clean import Cleaner, clean


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        ("cafe\u0301", "café"),
        ("か\u3099", "が"),
        ("\u1112\u1161\u11ab", "한"),
        ("a\u200bb\ufeff\u00ad\x07c", "abc"),
        ("a\ud800b", "ab"),
        ("a\tb\u00a0\u3000 c", "a b c"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a \n \r\n\n b", "a\n\nb"),
        ("ＡＢＣ１２３", "ABC123"),
        ("١٢ ๓", "12 3"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("ﬁne 𝐇𝐢", "fine Hi"),
        ("❤\ufe0f1\ufe0f\u20e3", "❤1"),
        ("x\u0321\u0489", "x"),
        ("，。！？；：", "，。！？；："),
        ("", ""),
        ("   ", " "),
    ],
)
def test_cleaning(raw: str, want: str) -> None:
    assert clean(raw).text == want


def test_positions_are_those_of_the_original() -> None:
    raw = "\ufeffe\u0301 \t\r\n字"
    cleaned = clean(raw)
    assert cleaned.text == "é\n字"
    assert [raw[s:e] for s, e in zip(cleaned.starts, cleaned.ends, strict=True)] == ["e\u0301", " \t\r\n", "字"]


def test_pieces_do_not_matter() -> None:
    rng = random.Random(1)
    atoms = [
        "a",
        "\u0301",
        "\u0323",
        "か",
        "\u3099",
        "\r",
        "\n",
        " ",
        "\t",
        "\u200b",
        "字",
        "\u1112",
        "\u1161",
        "\u11ab",
        "\ud800",
        "ｶ",
        "ﾞ",
        "Ａ",
    ]
    for _ in range(200):
        raw = "".join(rng.choice(atoms) for _ in range(30)) + rng.choice(["", "\u0301" * 50 + "x"])
        cleaner, at = Cleaner(), 0
        text, starts, ends = "", (), ()
        while at < len(raw):
            size = rng.randint(1, 5)
            out = cleaner.feed(raw[at : at + size])
            text, starts, ends, at = text + out.text, starts + out.starts, ends + out.ends, at + size
        out, whole = cleaner.flush(), clean(raw)
        assert text + out.text == whole.text, repr(raw)
        assert starts + out.starts == whole.starts, repr(raw)


@pytest.mark.parametrize(
    ("text", "script"), [("مرحبا", "Arabic"), ("ok สวัสดี", "Thai"), ("привет", "Cyrillic"), ("שלום", "Hebrew")]
)
def test_other_scripts_are_named(text: str, script: str) -> None:
    with pytest.raises(InputError, match=script) as caught:
        clean(text)
    assert caught.value.code == "unsupported_language"
    assert caught.value.param == "text"


def test_other_scripts_can_be_skipped() -> None:
    assert clean("ab мир cd", skip_unknown=True).text == "ab cd"


def test_a_megabyte_of_marks_is_quick() -> None:
    assert clean("a" + "\u0301\u0323" * 500_000 + "b").text == "ạb"
    cleaner = Cleaner()
    text = "".join(cleaner.feed(piece).text for piece in ["a", *["\u0301\u0323" * 500] * 1000, "b"])
    assert text + cleaner.flush().text == "ạb"
