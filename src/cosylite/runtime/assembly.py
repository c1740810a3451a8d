"""From the samples of sentences to the chunks of an utterance: edges, pauses, filters, volume, times of words."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.filters import Biquad, soften_peaks
from cosylite.audio.values import AudioChunk, SentenceTiming, WordTiming
from cosylite.options import SynthesisOptions
from cosylite.runtime.durations import is_letter, is_sound
from cosylite.runtime.guardian import Guardian, SilenceWatch
from cosylite.runtime.nano import Plan
from cosylite.runtime.stft import FRAME
from cosylite.text.types import Sentence

Array = NDArray[np.float32]

SAMPLE_RATE = 24000
QUIET = 10.0 ** (-50 / 20)
BLOCK = 240
MARGIN = 960
"""Samples of silence that trimming leaves."""
FADE = 60
CLAUSE_SILENCE = 0.4
"""Share of the silence between sentences that follows a part of a long one."""

LONGEST_LAST_SOUND = 2880
"""Samples that the last sound is taken to last at most: models count the silence that ends a sentence to that sound."""

_EVERYTHING = 2**62


@dataclass(frozen=True)
class Mark:
    """A stretch of a sentence, in samples of the sentence before trimming."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Timeline:
    """Where the words of a sentence are heard; `first` and `last` bound its sounds, in samples."""

    words: tuple[Mark, ...]
    sentence: Mark
    first: int
    last: int

    @classmethod
    def of(cls, sentence: Sentence, symbols: list[tuple[str, int]], plan: Plan) -> "Timeline":
        """From symbols, each with the index of its word, and their frames. Words of one source range become one."""
        ends = np.cumsum(plan.frames) * FRAME
        starts = ends - plan.frames * FRAME
        marks: list[Mark] = []
        ranges: list[tuple[int, int]] = []
        last_letter = 0
        for (symbol, index), start, end in zip(symbols, starts.tolist(), ends.tolist(), strict=True):
            if not is_sound(symbol):
                continue
            if is_letter(symbol):
                last_letter = start
            word = sentence.words[index]
            if ranges and ranges[-1] == (word.start, word.end):
                marks[-1] = Mark(marks[-1].text, marks[-1].start, end)
            else:
                ranges.append((word.start, word.end))
                marks.append(Mark(word.text, start, end))
        if marks:
            end = min(marks[-1].end, last_letter + LONGEST_LAST_SOUND)
            marks[-1] = Mark(marks[-1].text, marks[-1].start, end)
        text = "".join(span.span.text for span in sentence.spans).strip()
        first, last = (marks[0].start, marks[-1].end) if marks else (0, 0)
        return cls(tuple(marks), Mark(text, first, last), first, last)


@dataclass(frozen=True)
class Begin:
    """A sentence begins. `timeline` is None for one that is only a pause."""

    sentence: Sentence
    timeline: Timeline | None


@dataclass(frozen=True)
class Piece:
    """The next samples (or, between flow and vocoder, features) of the sentence."""

    data: Array


@dataclass(frozen=True)
class End:
    """The sentence is complete."""


Event = Begin | Piece | End


class EdgeTrimmer:
    """Cuts silence before the first and after the last sound of a sentence, at any chunking alike."""

    def __init__(self, timeline: Timeline) -> None:
        self._first, self._last = timeline.first, timeline.last
        self._held: Array = np.zeros(0, np.float32)
        self._position = 0  # of the first held sample
        self._started = False
        self.cut = 0
        """Samples cut at the start; final once `push` has given samples."""

    def push(self, samples: Array) -> Array:
        """Take the next samples; give those that are certain to stay."""
        self._held = np.concatenate([self._held, samples])
        if not self._started and not self._start():
            return np.zeros(0, np.float32)
        return self._release(self._last - self._position)

    def finish(self) -> Array:
        """The rest, without silence at its end."""
        if not self._started:
            self._begin_at(max(0, self._first - MARGIN))
        loud = np.flatnonzero(np.abs(self._held) > QUIET)
        end = (int(loud[-1]) + 1 if len(loud) else 0) + MARGIN
        if end >= len(self._held):
            return self._release(len(self._held))
        kept = self._release(end).copy()
        kept[-FADE:] *= np.linspace(1.0, 0.0, FADE, dtype=np.float32)
        return kept

    def _start(self) -> bool:
        """Decide where the sentence begins, if what has come so far tells."""
        leading = self._held[: self._first]
        for block in range(0, len(leading) - BLOCK + 1, BLOCK):
            if np.abs(leading[block : block + BLOCK]).max() > QUIET:
                self._begin_at(max(0, block - MARGIN))
                return True
        if len(self._held) >= self._first:
            self._begin_at(max(0, self._first - MARGIN))
        return self._started

    def _begin_at(self, position: int) -> None:
        self._started = True
        self.cut = min(position, len(self._held))
        self._release(self.cut)
        if self.cut:
            fade = np.linspace(0.0, 1.0, FADE, dtype=np.float32)[: len(self._held)]
            self._held[: len(fade)] *= fade

    def _release(self, count: int) -> Array:
        count = max(0, min(count, len(self._held)))
        out, self._held = self._held[:count], self._held[count:].copy()
        self._position += count
        return out


class _Speaking:
    """The sentence that is being joined: its place in the output, and its words that have no date yet."""

    def __init__(self, begin: Begin, timeline: Timeline, offset: int, trim: bool, guardian: Guardian) -> None:
        self.pause = begin.sentence.pause_seconds
        self.last_mark = begin.sentence.words[-1].after[-1:] if begin.sentence.words else ""
        self._timeline, self._offset = timeline, offset
        self._words, self._sentence = list(timeline.words), [timeline.sentence]
        self._trimmer = EdgeTrimmer(timeline) if trim else None
        self._watch = SilenceWatch(guardian, SAMPLE_RATE, timeline.first, timeline.last)

    def push(self, samples: Array) -> Array:
        """Trimmed samples."""
        self._watch.push(samples)
        return self._trimmer.push(samples) if self._trimmer else samples

    def finish(self) -> Array:
        """The last of them."""
        self._watch.finish()
        return self._trimmer.finish() if self._trimmer else np.zeros(0, np.float32)

    def words_until(self, total: int) -> list[WordTiming]:
        """Words that begin before output sample `total` and were not given yet."""
        return [WordTiming(*self._dated(mark)) for mark in _pop_before(self._words, total - self._shift())]

    def sentence_until(self, total: int) -> list[SentenceTiming]:
        """The sentence, once, as soon as it begins before `total`."""
        return [SentenceTiming(*self._dated(mark)) for mark in _pop_before(self._sentence, total - self._shift())]

    def _shift(self) -> int:
        return self._offset - (self._trimmer.cut if self._trimmer else 0)

    def _dated(self, mark: Mark) -> tuple[str, float, float]:
        start, end = mark.start + self._shift(), mark.end + self._shift()
        return mark.text, start / SAMPLE_RATE, end / SAMPLE_RATE


def _pop_before(marks: list[Mark], position: int) -> list[Mark]:
    count = sum(mark.start < position for mark in marks)
    taken, marks[:] = marks[:count], marks[count:]
    return taken


class Assembler:
    """Joins the sentences of one utterance into a stream of samples, and dates their words."""

    def __init__(self, options: SynthesisOptions, guardian: Guardian) -> None:
        self._options, self._guardian = options, guardian
        self._filters: list[Biquad] = []
        if options.high_pass is not None:
            self._filters.append(Biquad.high_pass(options.high_pass, SAMPLE_RATE))
        if options.low_pass is not None:
            self._filters.append(Biquad.low_pass(options.low_pass, SAMPLE_RATE))
        self._speaking: _Speaking | None = None
        self._gap = 0.0  # silence due before the next sentence, if there is one
        self._total = 0
        self._index = 0
        self._parts: list[Array] = []
        self._words: list[WordTiming] = []
        self._sentences: list[SentenceTiming] = []

    def chunks(self, events: Iterator[Event], *, hold_end: bool) -> Generator[AudioChunk, None, None]:
        """Turn events into chunks.

        Args:
            hold_end: keep the end of every sentence until it is known whether it is the last, so that the last
                chunk has samples. Not for text that may arrive late.
        """
        for event in events:
            if isinstance(event, Begin):
                self._begin(event)
            elif isinstance(event, Piece):
                self._sound(event.data)
            else:
                self._end()
            if self._parts and not (hold_end and isinstance(event, End)):
                yield self._chunk(is_last=False)
        yield self._chunk(is_last=True)

    def _begin(self, event: Begin) -> None:
        if event.timeline is None:
            self._pause(event.sentence.pause_seconds or 0.0)
            return
        self._pause(self._gap)
        self._speaking = _Speaking(event, event.timeline, self._total, self._options.trim, self._guardian)

    def _sound(self, samples: Array) -> None:
        if self._speaking is not None:
            self._emit(self._speaking.push(samples))
            self._date(self._total)

    def _end(self) -> None:
        done = self._speaking
        if done is None:
            return
        self._emit(done.finish())
        self._date(_EVERYTHING)
        self._speaking = None
        if done.pause is not None:
            self._pause(done.pause)
        else:
            share = CLAUSE_SILENCE if done.last_mark in (",", ";", ":", "—") else 1.0
            self._gap = self._options.sentence_silence * share

    def _pause(self, seconds: float) -> None:
        """Silence, in place of the one that was due."""
        self._gap = 0.0
        self._emit(np.zeros(round(seconds * SAMPLE_RATE), np.float32))

    def _date(self, until: int) -> None:
        if self._speaking is not None:
            self._words += self._speaking.words_until(until)
            self._sentences += self._speaking.sentence_until(until)

    def _emit(self, samples: Array) -> None:
        if not len(samples):
            return
        for stage in self._filters:
            samples = stage.push(samples)
        if self._options.volume != 1.0:
            samples = samples * np.float32(self._options.volume)
        samples, limited = soften_peaks(samples)
        self._guardian.limited_samples(limited)
        self._total += len(samples)
        self._parts.append(samples)

    def _chunk(self, *, is_last: bool) -> AudioChunk:
        samples = np.concatenate([np.zeros(0, np.float32), *self._parts])
        chunk = AudioChunk(samples, SAMPLE_RATE, self._index, is_last, tuple(self._words), tuple(self._sentences))
        self._parts, self._words, self._sentences = [], [], []
        self._index += 1
        return chunk
