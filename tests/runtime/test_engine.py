"""The engine on a tiny bundle: what is promised of any text and any chunking."""

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cosylite import TTS, AudioChunk
from cosylite.audio.values import Speech, WordTiming
from cosylite.errors import CosyliteError, InputError
from cosylite.options import SynthesisOptions

ENGLISH = "Hello world, this is a small test. It has two sentences; the second one is longer than the first."
LONG = "the quick brown fox jumps over the lazy dog and then runs back home again " * 4
TEXTS = [
    ENGLISH,
    "こんにちは、今日はいい天気ですね。",
    "안녕하세요! 오늘 날씨가 정말 좋네요.",
    "Hello，今天天气真不错！",
]


def joined(chunks: list[AudioChunk]) -> Speech:
    return Speech.of(chunks)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("chunk_frames", [1, 7, 31, 1000, None])
def test_streaming_equals_saying(tts: TTS, text: str, chunk_frames: int | None) -> None:
    whole = tts.say(text, seed=3)
    chunks = list(tts.stream(text, seed=3, chunk_frames=chunk_frames))
    stream = joined(chunks)
    assert len(stream.samples) == len(whole.samples)
    np.testing.assert_allclose(stream.samples, whole.samples, atol=1e-4)
    assert stream.words == whole.words and stream.sentences == whole.sentences
    assert all(len(chunk.samples) for chunk in chunks)
    assert [chunk.is_last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


@pytest.mark.parametrize(
    "more", [{"trim": False}, {"low_pass": 4000.0, "high_pass": 80.0, "volume": 0.7}, {"speed": 1.7}]
)
def test_streaming_equals_saying_with_options(tts: TTS, more: dict[str, float]) -> None:
    whole = tts.say(ENGLISH, **more)
    stream = joined(list(tts.stream(ENGLISH, chunk_frames=5, **more)))
    assert len(stream.samples) == len(whole.samples)
    np.testing.assert_allclose(stream.samples, whole.samples, atol=1e-4)


def test_saying_many_equals_saying_each(tts: TTS) -> None:
    texts = [*TEXTS, "Yes.", LONG, "One. Two. Three."]
    for speech, text in zip(tts.say_many(texts, seed=5), texts, strict=True):
        alone = tts.say(text, seed=5)
        assert len(speech.samples) == len(alone.samples)
        # Rows in a batch round differently; a pitch that differs in the seventh digit moves steep pulses a little.
        np.testing.assert_allclose(speech.samples, alone.samples, atol=1e-3)
        assert speech.words == alone.words
    assert tts.say_many([]) == []


def test_saying_many_in_several_threads(tts: TTS, tiny: Path) -> None:
    texts = [f"{text} {i}" for i, text in enumerate(TEXTS * 3)]
    for speech, text in zip(TTS(tiny, device="cpu", threads=3).say_many(texts), texts, strict=True):
        np.testing.assert_allclose(speech.samples, tts.say(text).samples, atol=1e-3)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_text_in_pieces_equals_the_whole_text(tts: TTS, size: int) -> None:
    whole = tts.say(ENGLISH)
    pieces = [ENGLISH[i : i + size] for i in range(0, len(ENGLISH), size)]
    np.testing.assert_allclose(joined(list(tts.stream(pieces))).samples, whole.samples, atol=1e-4)


def test_audio_starts_before_the_text_ends(tts: TTS) -> None:
    heard = threading.Event()

    def pieces() -> Iterator[str]:
        yield "This is the first sentence. And "
        assert heard.wait(30), "no audio came before the text had ended"
        yield "this is the second."

    for _ in tts.stream(pieces()):
        heard.set()


def test_a_long_sentence_sounds_before_a_quarter_of_it_is_computed(own_tts: TTS) -> None:
    computed = 0
    flow = own_tts.engine.model.velocity

    def counted(x: np.ndarray, *rest: object) -> tuple[np.ndarray, np.ndarray]:
        nonlocal computed
        computed += x.shape[1]
        return flow(x, *rest)  # type: ignore[arg-type]

    own_tts.engine.model.velocity = counted  # type: ignore[method-assign, assignment]
    task = own_tts.engine.plan(own_tts.engine.frontend(SynthesisOptions()).analyse(LONG)[0], SynthesisOptions())
    assert task.plan is not None and len(LONG) >= 290
    stream = own_tts.engine.speak_sentence(task.sentence, SynthesisOptions())
    assert len(next(stream).samples) > 0
    steps = len(own_tts.engine.model.times) - 1
    assert computed / steps < task.plan.length / 4


def test_closing_a_stream_cancels_at_once(own_tts: TTS) -> None:
    threads = threading.active_count()
    stream = own_tts.stream(LONG * 20)
    next(stream)
    start = time.monotonic()
    stream.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start < 1.0
    assert threading.active_count() == threads


def test_an_error_in_a_stage_reaches_the_caller(own_tts: TTS) -> None:
    def fail(*_: object) -> None:
        raise ValueError("broken vocoder")

    own_tts.engine.model.spectrum = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(ValueError, match="broken vocoder"):
        own_tts.say("hello")


def test_an_error_in_the_text_source_reaches_the_caller(tts: TTS) -> None:
    def pieces() -> Iterator[str]:
        yield "Hello there. This is"
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        list(tts.stream(pieces()))


def test_seeds(tts: TTS) -> None:
    one, again, other = (tts.say("hello there", seed=seed).samples for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert len(one) == len(other) and not np.allclose(one, other, atol=1e-3)


def test_noise_scale(tts: TTS) -> None:
    flat, normal = (tts.say("hello there", noise_scale=scale).samples for scale in (0.0, 1.0))
    assert not np.allclose(flat, normal, atol=1e-3)


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.25, 2.0])
def test_speed_changes_the_length(tts: TTS, speed: float) -> None:
    normal, changed = (tts.say(ENGLISH, speed=s, trim=False, sentence_silence=0.0).duration for s in (1.0, speed))
    assert changed == pytest.approx(normal / speed, rel=0.08)


def check_times(words: tuple[WordTiming, ...], duration: float) -> None:
    assert words and words[0].start >= 0 and words[-1].end <= duration + 1e-6
    for word, following in itertools.pairwise(words):
        assert word.start < word.end <= following.start + 1e-9


@pytest.mark.parametrize("text", TEXTS)
def test_times_are_ordered_and_inside_the_audio(tts: TTS, text: str) -> None:
    speech = tts.say(text)
    check_times(speech.words, speech.duration)
    assert all(word.text in text for word in speech.words)
    for sentence in speech.sentences:
        inside = [word for word in speech.words if sentence.start <= word.start < sentence.end]
        assert inside[0].start == pytest.approx(sentence.start) and inside[-1].end == pytest.approx(sentence.end)


def test_words_and_pauses_sum_to_the_duration(tts: TTS) -> None:
    speech = tts.say(ENGLISH, trim=False)
    edges = [0.0, *(t for w in speech.words for t in (w.start, w.end)), speech.duration]
    assert sum(b - a for a, b in itertools.pairwise(edges)) == pytest.approx(speech.duration)
    assert len(speech.sentences) == 2
    assert " ".join(word.text for word in speech.words) == ENGLISH.translate(str.maketrans("", "", ".,;"))


def test_a_number_of_several_words_has_one_time(tts: TTS) -> None:
    words = tts.say("I have 42 apples.").words
    assert [word.text for word in words] == ["I", "have", "42", "apples"]


def test_markup_pause(tts: TTS) -> None:
    plain, paused = tts.say("Hello. World."), tts.say("Hello. [pause 2s] World.")
    assert paused.duration - plain.duration == pytest.approx(2.0 - 0.25, abs=0.03)


def test_voices(tts: TTS) -> None:
    assert [voice.name for voice in tts.voices] == ["zf_tiny", "af_tiny", "jf_tiny", "jm_tiny"]
    default, named, other = (tts.say("hello", voice=v).samples for v in (None, "af_tiny", "jf_tiny"))
    np.testing.assert_array_equal(default, named)
    assert len(default) != len(other) or not np.allclose(default, other, atol=1e-3)
    with pytest.raises(InputError, match="zf_tiny, af_tiny, jf_tiny, jm_tiny") as caught:
        tts.stream("hello", voice="elvis")
    assert caught.value.code == "unknown_voice" and caught.value.param == "voice"


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("Hello there.", "af_tiny"),
        ("こんにちは。", "jf_tiny"),
        ("안녕하세요.", "jm_tiny"),
        ("今天天气真不错。", "zf_tiny"),
        ("Hello，今天天气真不错！", "jm_tiny"),
        ("Hello. 안녕하세요.", "jm_tiny"),
        ("<speak>今天天气真不错。</speak>", "zf_tiny"),
    ],
)
def test_default_voices(tts: TTS, text: str, voice: str) -> None:
    np.testing.assert_array_equal(tts.say(text).samples, tts.say(text, voice=voice).samples)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"speed": 0}, "speed"),
        ({"speed": -1.0}, "speed"),
        ({"speed": 100.0}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"speed": "fast"}, "speed"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"volume": -1.0}, "volume"),
        ({"lang": "fr"}, "lang"),
        ({"low_pass": 5.0}, "low_pass"),
        ({"high_pass": 9e9}, "high_pass"),
        ({"noise_scale": float("inf")}, "noise_scale"),
        ({"sentence_silence": 1e9}, "sentence_silence"),
        ({"chunk_frames": 0}, "chunk_frames"),
    ],
)
def test_bad_options_are_refused_before_anything_is_done(tts: TTS, options: dict[str, object], param: str) -> None:
    with pytest.raises(InputError) as caught:
        tts.stream("hello", **options)  # type: ignore[arg-type]
    assert caught.value.param == param and "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "   \n\t ", "\u200b\u200d", "\x00\x07", "\ud800", "...", "\ufeff"])
def test_nothing_to_say_is_one_clear_error(tts: TTS, text: str) -> None:
    with pytest.raises(InputError) as caught:
        tts.say(text)
    assert caught.value.code == "empty_text" and "\n" not in str(caught.value)


def test_unknown_scripts(tts: TTS) -> None:
    for text in ("مرحبا بالعالم", "สวัสดีชาวโลก"):
        with pytest.raises(InputError, match="skip"):
            tts.say(text)
    assert tts.say("hello مرحبا world", skip_unknown=True).duration > 0.5


@pytest.mark.parametrize("text", ["hel\ud800lo", "a\x00b\x1bc", "I ❤️ 🐱🎉 you", "e" + "\u0301" * 1000, "w" * 3000])
def test_odd_text_is_spoken(tts: TTS, text: str) -> None:
    assert tts.say(text).duration > 0.05


def test_not_a_text(tts: TTS) -> None:
    with pytest.raises(CosyliteError):
        tts.say(None)  # type: ignore[arg-type]


def test_a_megabyte_of_text_starts_at_once(tts: TTS) -> None:
    text = "This is one of very many sentences. " * 30_000
    stream = tts.stream(text)
    start = time.monotonic()
    first = next(stream)
    assert time.monotonic() - start < 5 and len(first.samples)
    stream.close()  # type: ignore[attr-defined]


def test_a_long_text_needs_no_more_memory_than_a_short_one(tts: TTS) -> None:
    import tracemalloc

    def peak(sentences: int) -> int:
        list(itertools.islice(tts.stream("Warm up."), 1))
        tracemalloc.start()
        for _ in tts.stream(f"Number {i} of many sentences is this." for i in range(sentences)):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    assert peak(60) < 1.5 * peak(10)


def test_utterances_at_the_same_time_do_not_mix(tts: TTS) -> None:
    expected = [tts.say(text, seed=i).samples for i, text in enumerate(TEXTS)]
    results: dict[int, np.ndarray] = {}

    def speak(i: int) -> None:
        results[i] = joined(list(tts.stream(TEXTS[i], seed=i, chunk_frames=9))).samples

    threads = [threading.Thread(target=speak, args=(i,)) for i in range(len(TEXTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, samples in enumerate(expected):
        np.testing.assert_allclose(results[i], samples, atol=1e-4)


def test_sentences_for_a_service(tts: TTS) -> None:
    engine = tts.engine
    items = [
        (engine.frontend(SynthesisOptions()).analyse(text)[0], SynthesisOptions(voice=voice, speed=speed, seed=seed))
        for text, voice, speed, seed in (
            ("Hello there.", "af_tiny", 1.0, 1),
            ("A longer sentence is here.", None, 1.5, 2),
        )
    ]
    for chunk, (sentence, options) in zip(engine.speak_sentences(items), items, strict=True):
        stream = joined(list(engine.speak_sentence(sentence, options, chunk_frames=6)))
        np.testing.assert_allclose(stream.samples, chunk.samples, atol=1e-4)
        assert chunk.words == stream.words and chunk.is_last


@pytest.mark.parametrize("text", [None, 5, b"bytes"])
def test_text_must_be_text(tts: TTS, text: str) -> None:
    with pytest.raises(InputError, match="text must be") as caught:
        tts.say(text)
    assert caught.value.code == "invalid_text"


def test_many_texts_must_be_many(tts: TTS) -> None:
    with pytest.raises(InputError, match="list of texts"):
        tts.say_many("hello")
