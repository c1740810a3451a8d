"""Edges, pauses and dates of words."""

import numpy as np
import pytest

from cosylite.options import SynthesisOptions
from cosylite.runtime.assembly import MARGIN, Assembler, Begin, EdgeTrimmer, End, Mark, Piece, Timeline
from cosylite.runtime.guardian import Guardian, SilenceWatch
from cosylite.runtime.sessions import Counters
from cosylite.text.types import Sentence, Span, SpokenSpan, Word

RATE = 24000


def timeline(first: int, last: int) -> Timeline:
    return Timeline(
        (Mark("a", first, (first + last) // 2), Mark("b", (first + last) // 2, last)),
        Mark("a b", first, last),
        first,
        last,
    )


def sentence(after: str = ".", pause: float | None = None) -> Sentence:
    word = Word("a", 0, 1, "a", "a", after)
    return Sentence((SpokenSpan(Span("en", 0, 1, "a"), "a", (word,)),), 0, 1, pause)


def speech(first: int, last: int, total: int) -> np.ndarray:
    samples = np.zeros(total, np.float32)
    samples[first:last] = 0.5 * np.sin(np.arange(last - first) / 10.0)
    return samples


def trimmed(samples: np.ndarray, line: Timeline, size: int) -> tuple[np.ndarray, int]:
    trimmer = EdgeTrimmer(line)
    parts = [trimmer.push(samples[i : i + size]) for i in range(0, len(samples), size)]
    return np.concatenate([*parts, trimmer.finish()]), trimmer.cut


@pytest.mark.parametrize("size", [1, 77, 480, 100_000])
def test_trimming_does_not_depend_on_pieces(size: int) -> None:
    samples, line = speech(6000, 12000, 20000), timeline(5760, 12000)
    out, cut = trimmed(samples, line, size)
    assert cut == 5760 - MARGIN
    assert len(out) == 12000 + MARGIN - cut
    np.testing.assert_array_equal(out, trimmed(samples, line, 480)[0])
    np.testing.assert_array_equal(out[2000:-2000], samples[cut + 2000 : 12000 + MARGIN - 2000])


def test_early_and_late_sound_is_kept() -> None:
    samples = speech(6000, 12000, 20000)
    out, cut = trimmed(samples, timeline(9600, 10000), 480)
    assert cut <= 6000 - MARGIN + 240
    assert np.abs(out).sum() == pytest.approx(np.abs(samples).sum(), rel=1e-3)


def test_all_silence_keeps_the_sounds() -> None:
    out, cut = trimmed(np.zeros(20000, np.float32), timeline(6000, 12000), 480)
    assert len(out) == 12000 - 6000 + 2 * MARGIN and cut == 6000 - MARGIN


def events(*pauses: float | None, after: str = ".") -> list:
    out: list = []
    for pause in pauses:
        out += [Begin(sentence(after, pause), timeline(0, 2400)), Piece(speech(0, 2400, 2400)), End()]
    return out


def assembled(items: list, **options: object) -> tuple[np.ndarray, list]:
    assembler = Assembler(SynthesisOptions(**options), Guardian(Counters(), np.zeros(82, np.float32)))
    chunks = list(assembler.chunks(iter(items), hold_end=True))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.is_last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    return np.concatenate([chunk.samples for chunk in chunks]), [w for chunk in chunks for w in chunk.words]


def test_silence_stands_between_sentences_only() -> None:
    samples, words = assembled(events(None, None), sentence_silence=0.5)
    assert len(samples) == 2400 + 12000 + 2400
    assert [word.start for word in words] == pytest.approx([0, 0.05, 0.6, 0.65])
    assert not samples[2400:14400].any()


def test_explicit_pause_replaces_the_silence() -> None:
    assert len(assembled(events(1.0, None), sentence_silence=0.5)[0]) == 2400 + 24000 + 2400
    assert len(assembled(events(None, 1.0), sentence_silence=0.5)[0]) == 2400 + 12000 + 2400 + 24000
    between = [*events(None), Begin(Sentence((), 0, 0, 1.0), None), *events(None)]
    assert len(assembled(between, sentence_silence=0.5)[0]) == 2400 + 24000 + 2400


def test_parts_of_a_sentence_are_closer() -> None:
    assert len(assembled(events(None, None, after=","), sentence_silence=0.5)[0]) == 2400 + 4800 + 2400


def test_volume_and_peaks() -> None:
    plain, _ = assembled(events(None))
    half, _ = assembled(events(None), volume=0.5)
    loud, _ = assembled(events(None), volume=4.0)
    np.testing.assert_allclose(half, plain * 0.5, atol=1e-7)
    assert 0.9 < np.abs(loud).max() <= 1.0
    assert not assembled(events(None), volume=0.0)[0].any()


def test_filters_run_through_sentences() -> None:
    low, _ = assembled(events(None, None), low_pass=1000.0)
    high, _ = assembled(events(None, None), high_pass=1000.0)
    plain, _ = assembled(events(None, None))
    assert np.abs(high[:2000]).sum() < np.abs(low[:2000]).sum()
    assert len(low) == len(high) == len(plain)


def test_missing_speech_is_noticed() -> None:
    def silent_words(samples: np.ndarray, size: int) -> int:
        counters = Counters()
        watch = SilenceWatch(Guardian(counters, np.zeros(82, np.float32)), RATE, 1000, len(samples))
        for i in range(0, len(samples), size):
            watch.push(samples[i : i + size])
        watch.finish()
        return counters.as_dict().get("silent_words", 0)

    gap = np.concatenate([speech(0, 24000, 24000), np.zeros(48000, np.float32), speech(0, 24000, 24000)])
    for size in (100, 5000, 10**6):
        assert silent_words(gap, size) == 1
        assert silent_words(gap[:50000], size) == 0
        assert silent_words(np.zeros(96000, np.float32), size) == 1
