"""Bracket markup, SSML, and what is refused."""

import pytest

from cosylite.errors import InputError
from cosylite.text.clean import Cleaner, clean
from cosylite.text.markup import Item, Reading, Run, Stop
from cosylite.text.ssml import Markup


def parse(text: str) -> list[Item]:
    markup = Markup()
    return [*markup.feed(clean(text)), *markup.flush()]


def shown(text: str) -> list[object]:
    """Runs as text (neighbours of one style joined), stops as their pause."""
    out: list[object] = []
    style = None
    for item in parse(text):
        if isinstance(item, Stop):
            out.append(item.pause)
            style = None
        elif style is item.style and out and isinstance(out[-1], str):
            out[-1] += item.text.text
        else:
            out.append(item.text.text)
            style = item.style
    return out


def runs(text: str) -> list[Run]:
    return [item for item in parse(text) if isinstance(item, Run)]


def test_pauses() -> None:
    assert shown("a [pause 500ms] b[pause 1.5s]c") == ["a ", 0.5, " b", 1.5, "c"]


@pytest.mark.parametrize("text", ["[pause 11s]", "[pause 3]", "[pause 5 minutes]", "[pause 1e9s]"])
def test_bad_pauses(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse("ab " + text)
    assert caught.value.code == "bad_markup"
    assert "character 3" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("[行|hang2]", Reading("zh", "hang2")),
        ("[重庆|chong2 qing4]", Reading("zh", "chong2 qing4")),
        ("[重庆|Chong2qing4]", Reading("zh", "chong2 qing4")),
        ("[女|nv3]", Reading("zh", "nü3")),
        ("[東雲|しののめ]", Reading("ja", "シノノメ")),
        ("[東京|トーキョー]", Reading("ja", "トーキョー")),
        ("[독립|동닙]", Reading("ko", "동닙")),
        ("[tomato|/təmˈɑtO/]", Reading(None, "təmˈɑtO")),
    ],
)
def test_readings(text: str, reading: Reading) -> None:
    (run,) = runs(text)
    assert run.style.reading == reading
    assert run.text.text == text[1:].split("|")[0]
    assert run.text.starts[0] == 1


def test_unknown_symbols_in_a_reading_are_named() -> None:
    with pytest.raises(InputError, match="é") as caught:
        parse("[a|/é/]")
    assert caught.value.code == "bad_reading"


def test_language_tags() -> None:
    langs = [(run.text.text, run.style.lang) for run in runs("[lang ja]東京[lang zh-CN]北京[/lang]駅[/lang]好")]
    assert langs == [("東京", "ja"), ("北京", "zh"), ("駅", "ja"), ("好", None)]


@pytest.mark.parametrize(
    ("text", "code"),
    [("[lang xx]a[/lang]", "unsupported_language"), ("[lang ja]a", "bad_markup"), ("a[/lang]", "bad_markup")],
)
def test_bad_language_tags(text: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d",
        "x[0] = y[1]",
        "[a|b]",
        "[pause]",
        "[note] hi",
        "<b>bold</b>",
        "<3",
        "[",
        "<",
        "[行|",
        "a|b]",
        "I [heart] x",
    ],
)
def test_other_brackets_are_text(text: str) -> None:
    assert shown(text) == [text]


@pytest.mark.parametrize(
    "tag", ["<break/>", "<break time='1s'/>", "</prosody>", "<voice name='x'>", "<emphasis>", "<p>"]
)
def test_ssml_tags_outside_speak_are_refused(tag: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(f"Hello {tag} there")
    assert caught.value.code == "unsupported_markup"
    assert tag in str(caught.value)


def test_pieces_do_not_matter() -> None:
    text = "a [pause 500ms] b [行|hang2] x[0] < y [lang ja]東京[/lang] [" + "q" * 350 + "] end"
    cleaner, markup = Cleaner(), Markup()
    items = [item for character in text for item in markup.feed(cleaner.feed(character))]
    items += [*markup.feed(cleaner.flush()), *markup.flush()]
    assert flat(items) == flat(parse(text))


def flat(items: list[Item]) -> list[object]:
    """One entry per character and stop, so that the borders of runs do not matter."""
    entries: list[object] = []
    for item in items:
        if isinstance(item, Stop):
            entries.append(item.pause)
        else:
            entries.extend((c, item.style.lang, item.style.reading) for c in item.text.text)
    return entries


def test_ssml_elements() -> None:
    assert shown('<speak>a<break time="250ms"/>b<break strength="none"/>c<break/>d</speak>') == [
        "a",
        0.25,
        "bc",
        0.5,
        "d",
    ]
    assert shown("<speak><p><s>One.</s><s>Two.</s></p></speak>") == [None, None, "One.", None, None, "Two.", None, None]
    (run,) = runs("<speak><sub alias='World Wide Web'>WWW</sub></speak>")
    assert run.text.text == "World Wide Web"
    assert run.text.source(0, 5) == (35, 38)
    assert runs("<speak><prosody rate='fast'>x</prosody></speak>")[0].style.rate == 1.25
    assert runs("<speak><prosody rate='80%'>x</prosody></speak>")[0].style.rate == 0.8
    assert runs("<speak><prosody rate='-10%'>x</prosody></speak>")[0].style.rate == pytest.approx(0.9)
    assert runs("<speak xml:lang='ja-JP'>東京</speak>")[0].style.lang == "ja"
    assert runs("<speak><lang xml:lang='zh'>東京</lang></speak>")[0].style.lang == "zh"


def test_ssml_entities_and_positions() -> None:
    text = "  <speak>A &amp; B &lt;break/&gt; 字é&#233;<!-- no --> z</speak>"
    (*_, last) = runs(text)
    assert "".join(run.text.text for run in runs(text)) == "A & B <break/> 字éé z"
    assert text[last.text.starts[-1]] == "z"


@pytest.mark.parametrize(
    ("ph", "alphabet", "reading"),
    [
        ("təˈmeɪtoʊ", "ipa", Reading(None, "təˈmAtO")),
        ("təmˈAtO", "x-cosylite", Reading(None, "təmˈAtO")),
        ("hang2", "pinyin", Reading("zh", "hang2")),
        ("シノノメ", "katakana", Reading("ja", "シノノメ")),
        ("동닙", "hangul", Reading("ko", "동닙")),
    ],
)
def test_ssml_phonemes(ph: str, alphabet: str, reading: Reading) -> None:
    (run,) = runs(f'<speak><phoneme alphabet="{alphabet}" ph="{ph}">x</phoneme></speak>')
    assert run.style.reading == reading


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("<voice name='a'>x</voice>", ["<voice>", "7"]),
        ("<audio src='a'/>", ["<audio>"]),
        ("<emphasis>x</emphasis>", ["<emphasis>"]),
        ("x<prosody pitch='high'>x</prosody>", ["pitch", "<prosody>", "8"]),
        ("<prosody rate='fast' volume='loud'>x</prosody>", ["volume"]),
        ("<prosody rate='quick'>x</prosody>", ["quick"]),
        ("<say-as interpret-as='currency'>x</say-as>", ["currency"]),
        ("<break strength='huge'/>", ["huge"]),
        ("<phoneme alphabet='sampa' ph='x'>x</phoneme>", ["sampa"]),
        ("<mstts:express-as>x</mstts:express-as>", ["mstts:express-as"]),
    ],
)
def test_unsupported_ssml_is_named(body: str, names: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse(f"<speak>{body}</speak>")
    assert caught.value.code == "unsupported_markup"
    assert all(name in str(caught.value) for name in names), str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "<speak>a",
        "<speak>a</b></speak>",
        "<speak>&nbsp;</speak>",
        "<speak>a</speak>b",
        "<speak><sub>a</sub></speak>",
        "<speak><prosody>a</prosody></speak>",
        "<speak><prosody rate='5'>a</prosody></speak>",
        "<speak><break time='60s'/></speak>",
        "<speak><speak>a</speak></speak>",
        "<speak><phoneme>a</phoneme></speak>",
    ],
)
def test_malformed_ssml(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == "bad_markup"


def test_document_types_are_refused() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><speak>&b;</speak>'
    with pytest.raises(InputError) as caught:
        parse(bomb)
    assert caught.value.code == "unsupported_markup"
    external = '<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd"><speak>x</speak>'
    with pytest.raises(InputError):
        parse(external)


def test_deep_nesting_is_fine() -> None:
    depth = 5000
    assert shown("<speak>" + "<prosody rate='fast'>" * depth + "x" + "</prosody>" * depth + "</speak>") == ["x"]
