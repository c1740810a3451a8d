"""Where sentences end, and that this does not depend on how much of the text is there."""

import random

import pytest

from cosylite.text.sentences import EARLY, WHOLE, Limits, next_break


def split(text: str, limits: Limits = WHOLE) -> list[str]:
    parts, column = [], 0
    while text:
        found = next_break(text, final=True, column=column, limits=limits)
        assert found is not None and found.end > 0
        part, text = text[: found.end], text[found.end :]
        column = len(part) - part.rfind("\n") - 1 if "\n" in part else column + len(part)
        parts.append(part)
    return parts


def split_growing(text: str, limits: Limits) -> list[str]:
    """Split while the text arrives character by character."""
    parts: list[str] = []
    column, window = 0, ""
    for character in [*text, ""]:
        window += character
        while True:
            found = next_break(window, final=character == "", column=column, limits=limits)
            if found is None:
                break
            part, window = window[: found.end], window[found.end :]
            column = len(part) - part.rfind("\n") - 1 if "\n" in part else column + len(part)
            parts.append(part)
    return parts


@pytest.mark.parametrize(
    "text",
    [
        "Hello there.| How are you?| Fine!",
        "Dr. Smith met Mr. J. K. Rowling at 5 p.m. in St. Ives.| Then they left.",
        "It costs $3.14, e.g. at example.com/a.b?c=d. or less.| See Fig. 3 and No. 5.",
        "He lives in the U.S. Army base.| It grew in the U.S.| The end.",
        "We meet on Jan. 5.| Bring pens, paper, etc.| Then go.",
        "1. First item.| 2. Second item.",
        "\"Really?\" he said.| \"Yes!\"| She left.",
        "Wait... what?| I know…| Nobody does.",
        "Version 2.0.1 is out.| Yahoo! is a company.",
        "今天天气很好。|我们去公园吧！|好吗？",
        "他说：“你好。”|我说：“再见！”|然后走了。",
        "我……不知道。|真的？！|好吧。",
        "「はい。」と言った。|今日は晴れです。|「本当？」|そうです。",
        "오늘은 날씨가 좋다.| 내일은 비가 온다!| 그래?",
        '"안녕."이라고 말했다.| 끝.',
        "Python很好用.|我喜欢它。|Really?|是的！",
        "价格是3.5元。|版本2.0发布了。|1.苹果很好。",
        "A title\n\n|And then text goes on.",
        "a line\n|Another line\nand more",
        "第一行\n|第二行",
        "오늘은 3일입니다.| ok?",
        "See (it is true.)| Next one.",
        "What?!| No way!!!| OK.",
        "We have plan B.| Then we go.",
    ],
)  # fmt: skip
def test_sentence_ends(text: str) -> None:
    expected = [part.strip() for part in text.split("|")]
    assert [part.strip() for part in split(text.replace("|", ""))] == expected


def test_wrapped_lines_are_one_sentence() -> None:
    text = "The first line of a paragraph that somebody has\nwrapped by hand, and it goes on here\ntill it ends. Good."
    assert len(split(text)) == 2
    text = "It was the year in which everything had changed for Mr Ford and\nMary did not know what to do about it."
    assert len(split(text)) == 1


def test_comma_free_sentence_of_300_characters_stays_whole() -> None:
    for word in ("word ", "字", "ねこ", "사람 "):
        text = (word * 300)[:300].strip()
        assert split(text) == [text]
        assert split(text, EARLY) == [text]


def test_long_sentence_is_cut_at_clause_marks() -> None:
    clause = "and then they walked along the river for a very long time, "
    parts = split(clause * 30 + "the end.")
    assert len(parts) > 3
    assert all(part.rstrip().endswith((",", ".")) for part in parts)
    assert all(len(part) < 520 for part in parts)


def test_numbers_are_not_cut_at_their_commas() -> None:
    text = "sum 1,234,567 " * 60
    assert all(not part.rstrip().endswith(",") for part in split(text))


def test_text_without_any_marks_is_cut_at_words() -> None:
    for text in ("word " * 5000, "字" * 20000):
        parts = split(text)
        assert "".join(parts) == text
        assert max(map(len, parts)) <= WHOLE.characters
        assert all(part.endswith(" ") for part in parts[:-1]) or "字" in text


def test_early_limits_cut_sooner() -> None:
    text = "昨天下午我们一起去了城里的图书馆，借了很多很多有意思的书，晚上回家以后一直看到很晚。"
    assert len(split(text)) == 1
    assert len(split(text, EARLY)) > 1


@pytest.mark.parametrize("limits", [WHOLE, EARLY])
def test_pieces_do_not_matter(limits: Limits) -> None:
    rng = random.Random(3)
    atoms = ["Dr. ", "Hello", ". ", ".", "? ", "!", "。", "！", "”", "「", "」", "と", "字", "가", "\n", "\n\n", " "]
    atoms += [
        ",",
        ", ",
        "，",
        "3.14",
        "1,000",
        "U.S. ",
        "The ",
        "the ",
        "B. ",
        "…",
        "...",
        "a" * 30,
        "字" * 40,
        "etc. ",
    ]
    for _ in range(60):
        text = "".join(rng.choice(atoms) for _ in range(120))
        assert split_growing(text, limits) == split(text, limits), repr(text)


def test_an_end_is_not_claimed_too_early() -> None:
    assert next_break("Hello.", final=False) is None
    assert next_break("Hello. ", final=False) is None
    assert next_break("Hello. A", final=False) is not None
    assert next_break("好。", final=False) is None
    assert next_break("", final=True) is None
