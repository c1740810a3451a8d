"""Which language each stretch of a text is in."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosylite.errors import InputError
from cosylite.text.spans import split_languages


def split(text: str, **options: str) -> list[tuple[str, str]]:
    return [(span.lang, span.text) for span in split_languages(text, **options)]  # type: ignore[arg-type]


def marked(text: str) -> list[tuple[str, str]]:
    """`zh:我用|en:Python` as a list of language and text."""
    return [(part[:2], part[3:]) for part in text.split("|")]


@pytest.mark.parametrize(
    "expected",
    [
        "en:Hello|zh:，今天天气真不错！",
        "zh:她说：“|en:Good morning, everyone!|zh:”",
        "en:I love |ja:寿司|en: and |ja:ラーメン|en:.",
        "zh:“|en:Hello|zh:”，他说。",
        "en:I have |ja:3個|en: of them",
        "zh:买了|en:iPhone|zh: 15手机",
        "zh:航班CA1234延误了5km",
        "ja:私は|en:Windows|ja: 11を使う",
        "zh:今天下雨. |en:3 apples, please",
        "zh:我喜欢吃|ja:ラーメン|zh:和寿司",
        "zh:我想去|ja:スカイツリー|zh:看看",
        "ja:彼は|zh:你好|ja:と言った",
        "zh:邮箱是|en:test@example.com|zh:。",
        "en:café in |zh:巴黎|en: is Müller's naïve αβγ",
        "zh:A栋 T恤 |ja:Tシャツ",
        "ja:見て、北京大学の学生です。|zh:谢谢你！",
        "ja:2024年10月1日（火）に会議",
        "ja:彼は「中国」と言った。",
        "zh:B2B模式和5G网络、4K电视、3D打印",
        "ja:第一章\n吾輩は猫である。\n東京",
        "zh:他說：「今天天氣很好。」我們都同意了，項目",
        "ko:지금 3시, |en:OK?",
        "zh:12345",
        "zh:😀！！",
    ],
)
def test_mixed_text(expected: str) -> None:
    spans = marked(expected)
    assert split("".join(text for _, text in spans)) == spans


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        *[(text, "ja") for text in ("使用禁止", "給料日", "週末", "愛知県", "早稲田大学", "立入禁止区域", "北海道")],
        *[(text, "ja") for text in ("手荷物検査", "本日休業", "駐車場", "富士山")],
        *[(text, "zh") for text in ("我的名字叫田中", "謝謝你的幫忙", "國立臺灣大學", "交通安全", "山田太郎")],
        *[(text, "zh") for text in ("生日快乐", "国际机场", "安全第一")],
    ],
)
def test_han_alone(text: str, lang: str) -> None:
    assert split(text) == [(lang, text)]


def test_language_can_be_forced_and_defaulted() -> None:
    assert split("北京大学", lang="ja") == [("ja", "北京大学")]
    assert split("電話番号", lang="zh") == [("zh", "電話番号")]
    assert split("大学", default_han="ja") == [("ja", "大学")]
    assert split("2024", lang="ko") == [("ko", "2024")]
    assert split("我用Python", lang="zh") == [("zh", "我用"), ("en", "Python")]


def test_unknown_language_is_named() -> None:
    with pytest.raises(InputError, match="unknown language 'fr'"):
        split_languages("x", lang="fr")


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("مرحبا", "Arabic"),
        ("สวัสดี", "Thai"),
        ("Привет", "Cyrillic"),
        ("שלום", "Hebrew"),
        ("नमस्ते", "Devanagari"),
        ("٣", "Arabic"),
    ],
)
def test_unsupported_scripts(text: str, script: str) -> None:
    with pytest.raises(InputError, match=f"{script} script at character 5") as caught:
        split_languages("abc " + text)
    assert (caught.value.code, caught.value.param) == ("unsupported_language", "text")
    spans = split_languages(f"abc {text} 你好", skip_unknown=True)
    assert not set(text) & set("".join(span.text for span in spans))
    assert spans[-1].lang == "zh"


def test_empty_text_has_no_spans() -> None:
    assert split("") == []


@given(st.text(st.one_of(st.sampled_from('“”「」"(（）.。,， 12\n$Tab你我気のカ한글'), st.characters()), max_size=60))
def test_spans_cover_the_text_once(text: str) -> None:
    try:
        spans = split_languages(text)
    except InputError:
        return
    assert "".join(span.text for span in spans) == text
    assert [span.start for span in spans] == [0, *(span.end for span in spans)][: len(spans)]
    assert all(left.lang != right.lang for left, right in pairwise(spans))


@pytest.mark.parametrize("piece", ["今天天气很好，我们去公园吧。", "“", '"a', "東京は日本です。", "1 ", "a我"])
def test_time_is_linear(piece: str) -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        split_languages(piece * count)
        return time.process_time() - start

    seconds(1000)
    assert seconds(40_000) < 100 * max(seconds(4_000), 0.002)
