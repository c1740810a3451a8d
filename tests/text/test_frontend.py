"""The frontend as a whole, with the real language parts."""

import random
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from cosylite.errors import InputError
from cosylite.text.frontend import Frontend, TextStream, symbol_sequence, symbol_string
from cosylite.text.sentences import EARLY, WHOLE, Limits
from cosylite.text.symbols import unknown_symbols
from cosylite.text.types import Sentence

MIXED = (
    "Hello，今天天气真不错！ 「はい。」と言った。こんにちは、안녕하세요！ 我用Python写了3个script。 "
    "Dr. Smith paid $3.50 on 12/25/2024.\r\n\r\n会議室は3階です。Please wait here. "
    "오늘은 10월 3일입니다. cafe\u0301 😀 ok?"
)


@pytest.fixture(scope="module")
def frontend() -> Frontend:
    return Frontend()


def all_symbols(sentences: list[Sentence]) -> str:
    return " | ".join(symbol_string(sentence) for sentence in sentences)


@pytest.mark.parametrize(
    ("text", "langs", "symbols"),
    [
        ("Hello, world.", ["en"], "həlˈO, wˈɜɹld."),
        ("Hello，你好！", ["en", "zh"], "həlˈO, ni↗xau↓!"),
        ("こんにちは、안녕하세요！", ["ja", "ko"], "koɲɲiʨiβa, annjʌŋhasejo!"),
        ("我用Python。", ["zh", "en", "zh"], "wo↓jʊ↘ŋ pˈIθˌɑn."),
    ],
)
def test_languages_and_symbols(frontend: Frontend, text: str, langs: list[str], symbols: str) -> None:
    (sentence,) = frontend.analyse(text)
    assert [spoken.span.lang for spoken in sentence.spans] == langs
    assert symbol_string(sentence) == symbols


def test_words_say_where_they_stand(frontend: Frontend) -> None:
    sentences = frontend.analyse(MIXED)
    assert len(sentences) >= 9
    for sentence in sentences:
        for word in sentence.words:
            assert word.text == MIXED[word.start : word.end]
            assert sentence.start <= word.start < word.end <= sentence.end
            assert word.symbols and not unknown_symbols(word.symbols + word.after)
        for spoken in sentence.spans:
            assert spoken.span.text == MIXED[spoken.span.start : spoken.span.end]
    starts = [word.start for sentence in sentences for word in sentence.words]
    assert starts == sorted(starts)
    assert {w.text for s in sentences for w in s.words} >= {"Hello", "Python", "cafe\u0301", "$3.50"}


def test_symbol_sequence_names_words(frontend: Frontend) -> None:
    (sentence,) = frontend.analyse("Hello, world.")
    sequence = symbol_sequence(sentence)
    assert "".join(symbol for symbol, _ in sequence) == "həlˈO, wˈɜɹld."
    assert sequence[6:8] == [(" ", 0), ("w", 1)]


def pieces_of(text: str, sizes: Iterator[int]) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = next(sizes)
        yield text[at : at + size]
        at += size


@pytest.mark.parametrize("limits", [WHOLE, EARLY])
def test_pieces_do_not_matter(frontend: Frontend, limits: Limits) -> None:
    text = (
        MIXED + " [pause 500ms]这[行|hang2]吗？ " + "很长的句子，" * 30 + "[lang ja]東京。[/lang] End." + " word" * 200
    )
    whole = TextStream(frontend, limits=limits)
    expected = [*whole.feed(text), *whole.flush()]
    rng = random.Random(5)
    for top in (1, 7, 100):
        stream = TextStream(frontend, limits=limits)
        sizes = (rng.randint(1, top) for _ in text)
        got = [sentence for piece in pieces_of(text, sizes) for sentence in stream.feed(piece)]
        assert [*got, *stream.flush()] == expected


def test_flush_ends_a_sentence_and_positions_go_on(frontend: Frontend) -> None:
    stream = frontend.stream()
    assert stream.feed("Hello") == []
    (first,) = stream.flush()
    assert stream.feed(" there. Now") != []
    (last,) = stream.flush()
    assert (first.start, first.end) == (0, 5)
    assert last.words[0].start == 13
    assert stream.flush() == []


def test_sentences_come_as_soon_as_they_are_certain(frontend: Frontend) -> None:
    stream = frontend.stream()
    assert stream.feed("今天天气很好。") == []
    assert len(stream.feed("我们")) == 1
    long = "昨天下午我们一起去了城里的图书馆，借了很多很多有意思的书，晚上回家以后一直看到很晚，"
    assert len(stream.feed(long)) == 1


def test_an_iterable_of_pieces_is_read_lazily(frontend: Frontend) -> None:
    seen: list[str] = []

    def pieces() -> Iterator[str]:
        for piece in ["One. ", "Two. ", "Three. "]:
            seen.append(piece)
            yield piece

    sentences = frontend.iterate(pieces())
    next(sentences)
    assert seen == ["One. ", "Two. "]
    assert len(list(sentences)) == 2


def test_language_context_is_carried(frontend: Frontend) -> None:
    sentences = frontend.analyse("東京は日本の首都です。\n北京。\n你们好吗？\n北京。")
    assert [s.spans[0].span.lang for s in sentences] == ["ja", "ja", "zh", "zh"]
    sentences = frontend.analyse("使用禁止。\nここに入らないでください。")
    assert [s.spans[0].span.lang for s in sentences] == ["ja", "ja"]
    assert Frontend(default_han="ja").analyse("北京。")[0].spans[0].span.lang == "ja"
    assert frontend.analyse("東京。", lang="ja")[0].spans[0].span.lang == "ja"


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t\u3000", "😀👍", "!?…。", "\ud800", "\u200b\ufeff", "[pause 1s]", "<speak/>", "——"]
)
def test_nothing_to_speak(frontend: Frontend, text: str) -> None:
    with pytest.raises(InputError) as caught:
        frontend.analyse(text)
    assert (caught.value.code, caught.value.param) == ("empty_text", "text")


@pytest.mark.parametrize("text", [None, 3, b"abc", ["a", 1]])
def test_not_a_string(frontend: Frontend, text: object) -> None:
    with pytest.raises(InputError) as caught:
        list(frontend.iterate(text if isinstance(text, list) else [text]))  # type: ignore[list-item]
    assert caught.value.code == "invalid_text"
    if not isinstance(text, list):
        with pytest.raises(InputError):
            frontend.analyse(text)  # type: ignore[arg-type]


def test_unknown_languages(frontend: Frontend) -> None:
    for text in ("مرحبا", "Hello สวัสดี"):
        with pytest.raises(InputError) as caught:
            frontend.analyse(text)
        assert caught.value.code == "unsupported_language"
    skipping = frontend.forgiving()
    assert all_symbols(skipping.analyse("Hello สวัสดี world")) == all_symbols(frontend.analyse("Hello world"))
    with pytest.raises(InputError) as caught:
        skipping.analyse("مرحبا")
    assert caught.value.code == "empty_text"
    with pytest.raises(InputError):
        frontend.analyse("Hello", lang="fr")
    with pytest.raises(InputError):
        Frontend(default_han="ko")  # type: ignore[arg-type]


def test_too_long(frontend: Frontend) -> None:
    with pytest.raises(InputError) as caught:
        frontend.analyse("a" * 2_000_001)
    assert caught.value.code == "text_too_long"


def test_a_long_text_takes_constant_memory(frontend: Frontend) -> None:
    def book() -> Iterator[str]:
        for number in range(150):
            yield f"This is sentence {number} of the book. "

    sentences = frontend.iterate(book())
    next(sentences)
    tracemalloc.start()
    try:
        count = sum(1 for _ in sentences)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 149
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "text",
    [
        "a" * 5_000,
        "字" * 10_000,
        "\u0301" * 50_000 + "a",
        " " * 200_000 + "a",
        "[" * 5_000 + "a",
        "<a " * 5_000,
        "1" * 5_000,
        "가" * 10_000,
        "あ" * 10_000,
    ],
)
def test_monstrous_text_is_read(frontend: Frontend, text: str) -> None:
    sentences = list(frontend.iterate(text))
    assert sentences
    assert all(sentence.end - sentence.start < 60_000 or text.startswith(("\u0301", " ")) for sentence in sentences)


def test_garbage_gives_symbols_or_an_input_error(frontend: Frontend) -> None:
    rng = random.Random(11)
    alphabet = "aZ9 .,!?'\"“”「」。、，…—-–()[]<>/\\|@#$%^&*~`+=_:;°€£¥½²①ⅣΩαπ№™©ßéñ"
    alphabet += "字漢かナッー々가힣ㅋ\u0301\u200d\n\t😀🇯🇵\ud83d\x00{}"
    for _ in range(150):
        text = "".join(rng.choice(alphabet) for _ in range(60))
        try:
            sentences = frontend.analyse(text)
        except InputError as error:
            assert error.code in {"bad_markup", "bad_reading", "unsupported_markup", "empty_text"}
            continue
        assert not unknown_symbols(all_symbols(sentences).replace(" | ", " ")), repr(text)


def test_threads_share_a_frontend() -> None:
    frontend = Frontend()
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(all_symbols(frontend.analyse(MIXED)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results)) == 1


def test_preloading() -> None:
    frontend = Frontend()
    frontend.preload("zh", "ko")
    assert set(frontend._languages._loaded) == {"zh", "ko"}
    frontend.forgiving().analyse("hello")
    assert set(frontend._languages._loaded) == {"zh", "ko", "en"}


def test_readings_in_the_text(frontend: Frontend) -> None:
    (sentence,) = frontend.analyse("这[行|hang2]不行。")
    assert [w.reading for w in sentence.words][1] == "hang2"
    assert symbol_string(sentence).startswith("ꭧɤ↘ xa↗ŋ ")
    (sentence,) = frontend.analyse("[東雲|シノノメ]は駅です。")
    assert symbol_string(sentence).startswith("ɕinonome βa ")
    (sentence,) = frontend.analyse("[독립|독립]은 좋다.")
    assert (sentence.words[0].reading, sentence.words[0].text) == ("독립은", "독립은")
    (sentence,) = frontend.analyse("I say [tomato|/təmˈɑtO/], you listen.")
    assert "təmˈɑtO, " in symbol_string(sentence)


def test_a_syllable_that_does_not_exist(frontend: Frontend) -> None:
    with pytest.raises(InputError) as caught:
        frontend.analyse("这[行|xyz2]不行。")
    assert caught.value.code == "bad_reading"


def test_pauses_and_rates(frontend: Frontend) -> None:
    sentences = frontend.analyse("[pause 1s]One. [pause 500ms][pause 200ms] Two [pause 3s]")
    assert [(len(s.words), s.pause_seconds) for s in sentences] == [(0, 1.0), (1, 0.5), (0, 0.2), (1, 3.0)]
    ssml = "<speak>Go on. <prosody rate='fast'>Quick one.</prosody> Slow <break time='2s'/> end.</speak>"
    sentences = frontend.analyse(ssml)
    assert [(s.rate, s.pause_seconds) for s in sentences] == [(1.0, None), (1.25, None), (1.0, 2.0), (1.0, None)]
    assert ssml[sentences[1].words[0].start :].startswith("Quick")


@pytest.mark.parametrize(
    ("say_as", "inner", "same_as"),
    [
        ("cardinal", "2024", "two thousand twenty four"),
        ("ordinal", "3", "third"),
        ("digits", "2024", "two zero two four"),
        ("date' format='dmy", "03/02/2020", "February third twenty twenty"),
        ("characters", "B2B", "B two B"),
    ],
)
def test_say_as_in_english(frontend: Frontend, say_as: str, inner: str, same_as: str) -> None:
    ssml = f"<speak>Say <say-as interpret-as='{say_as}'>{inner}</say-as> now</speak>"
    plain = all_symbols(frontend.analyse(f"Say {same_as} now")).translate({ord(c): "" for c in "ˈˌ,"})
    assert all_symbols(frontend.analyse(ssml)).translate({ord(c): "" for c in "ˈˌ,"}) == plain


@pytest.mark.parametrize(
    ("lang", "say_as", "inner", "reading"),
    [
        ("zh", "telephone", "110", "yao1yao1ling2"),
        ("zh", "digits", "12", "yi1er4"),
        ("zh", "ordinal", "2", "di4er4"),
        ("ja", "digits", "29", "ニーキュー"),
        ("ko", "digits", "29", "이구"),
    ],
)
def test_say_as_in_other_languages(frontend: Frontend, lang: str, say_as: str, inner: str, reading: str) -> None:
    ssml = f"<speak xml:lang='{lang}'><say-as interpret-as='{say_as}'>{inner}</say-as></speak>"
    words = [word for sentence in frontend.analyse(ssml) for word in sentence.words]
    assert "".join(word.reading for word in words).replace(" ", "") == reading
    assert all(inner.startswith(word.text) or word.text in inner for word in words)


def test_substitution_keeps_the_place(frontend: Frontend) -> None:
    ssml = "<speak>The <sub alias='World Wide Web'>WWW</sub> grew.</speak>"
    (sentence,) = frontend.analyse(ssml)
    assert [word.text for word in sentence.words] == ["The", "WWW", "WWW", "WWW", "grew"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("明日はTeamsでmeetingがあります。", ["ティームズ", "ミーティング"]),
        ("明日は Teams で会います。", ["ティームズ"]),
        ("오늘 BTS 콘서트에 갔다.", ["비티에스"]),
        ("Google에서 Kubernetes를 쓴다.", ["구글", "kˌubəɹnˈɛtiz"]),
        ("彼は“good morning”と言った。", ["ɡˈʊd", "mˈɔɹnɪŋ"]),
        ("I love 寿司 and ラーメン.", ["ˌI", "lˈʌv", "ænd"]),
        ("今日は、OK、大丈夫。", ["ˌOkˈA"]),
        ("我用Python。", ["pˈIθˌɑn"]),
    ],
)
def test_latin_words_among_others(frontend: Frontend, text: str, words: list[str]) -> None:
    (sentence,) = frontend.analyse(text)
    english = [word.reading for spoken in sentence.spans if spoken.span.lang == "en" for word in spoken.words]
    assert english == words
