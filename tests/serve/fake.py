"""A deterministic engine for tests of the service: tones instead of speech, exact lengths, controllable speed.

Segments end at sentence marks. The pitch of the tone depends on text, voice and seed, the length on the number of
characters and the speed, so a test can tell whose audio it got.
"""

import hashlib
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cosylite.audio.values import AudioChunk, Samples, WordTiming
from cosylite.errors import BundleError, InputError
from cosylite.serve.engine import Prompt, Segment, SegmentStream, Shared, SpeechOptions, VoiceInfo

RATE = 24000
SECONDS_PER_CHARACTER = 0.02
CHUNK_SECONDS = 0.2
_END = re.compile(r"[^.!?。！？]*[.!?。！？]+\s*|[^.!?。！？]+$")


@dataclass
class FakeEngine:
    """Implements `cosylite.serve.engine.Engine`.

    `step_seconds` is slept in every step; counters tell what was asked of it. Text with "BOOM" fails while speaking,
    after the first chunk with "LATEBOOM", in a shared step with "SHAREDBOOM". With `decodes`, every chunk needs one
    shared step, of at most `most_rows` streams.
    """

    name: str = "fake"
    revision: str = "1"
    sample_rate: int = RATE
    languages: tuple[str, ...] = ("en", "zh", "ja", "ko")
    default_voice: str = "ann"
    can_clone: bool = False
    modes: tuple[str, ...] = ()
    decodes: bool = False
    most_rows: int = 4
    step_seconds: float = 0.0
    row_seconds: float | None = None
    voices: Sequence[VoiceInfo] = (
        VoiceInfo("ann", "Ann", ("en", "zh"), "female"),
        VoiceInfo("bob", "Bob", ("en",), "male"),
        VoiceInfo("chen", "Chen", ("zh",), "female"),
    )
    opened: int = 0
    open_now: int = 0
    steps: int = 0
    closed: bool = False
    batches: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    spoken: list[str] = field(default_factory=list)
    prepared: list[SpeechOptions] = field(default_factory=list)
    learnt: list[Prompt] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def segments(self, text: str, lang: str) -> Iterator[Segment]:
        if not any(char.isalnum() for char in text):
            raise InputError("nothing to speak", code="empty_text", param="text")
        for index, match in enumerate(_END.finditer(text)):
            yield _segment(match.group(), 0.1 if index else 0.0)

    def feed(self, lang: str) -> "FakeFeed":
        return FakeFeed()

    @property
    def decoding(self) -> bool:
        return False

    def blend(self, name: str) -> str | None:
        return None

    def prepare(self, options: SpeechOptions) -> None:
        with self.lock:
            self.prepared.append(options)

    def learn(self, prompt: Prompt) -> None:
        with self.lock:
            self.learnt.append(prompt)

    def open(self, segment: Segment, options: SpeechOptions, *, whole: bool = False) -> "FakeStream":
        if self.closed:
            raise BundleError("closed", code="closed")
        with self.lock:
            self.opened += 1
            self.open_now += 1
            self.spoken.append(segment.text)
        return FakeStream(self, segment, options)

    def advance(self, streams: Sequence[SegmentStream]) -> Shared:
        mine = [stream for stream in streams if isinstance(stream, FakeStream)][: self.most_rows]
        with self.lock:
            self.rows.append(len(mine))
        time.sleep(self.step_seconds)
        if any("SHAREDBOOM" in stream.text for stream in mine):
            raise BundleError("the loop made nonsense", code="bad_output")
        for stream in mine:
            stream.ready = True
        return Shared(len(mine))

    def speak_many(self, items: Sequence[tuple[Segment, SpeechOptions]]) -> list[AudioChunk]:
        with self.lock:
            self.batches.append(len(items))
            self.spoken += [segment.text for segment, _ in items]
        time.sleep(self.step_seconds + (self.row_seconds or 0.0) * len(items))
        return [
            AudioChunk(tone(segment.text, options), RATE, 0, True, words(segment.text, options.speed))
            for segment, options in items
        ]

    def close(self) -> None:
        self.closed = True


class FakeStream:
    def __init__(self, engine: FakeEngine, segment: Segment, options: SpeechOptions) -> None:
        self._engine = engine
        self.text = segment.text
        self.ready = not engine.decodes
        self._samples = tone(segment.text, options)
        self._words = words(segment.text, options.speed)
        self._position = 0

    def step(self) -> AudioChunk | None:
        if not self.ready:
            raise RuntimeError("stepped without tokens")
        if self._engine.decodes:
            self.ready = False
        else:
            time.sleep(self._engine.step_seconds)
        return self.next_chunk()

    def next_chunk(self) -> AudioChunk | None:
        with self._engine.lock:
            self._engine.steps += 1
        if "BOOM" in self.text and (self._position or "LATEBOOM" not in self.text):
            raise BundleError("the model made nonsense", code="bad_output")
        start = self._position
        self._position += round(CHUNK_SECONDS * RATE)
        samples = self._samples[start : self._position]
        if not len(samples):
            return None
        within = tuple(w for w in self._words if start <= w.start * RATE < self._position)
        return AudioChunk(samples, RATE, 0, self._position >= len(self._samples), within)

    def close(self) -> None:
        with self._engine.lock:
            self._engine.open_now -= 1


class FakeFeed:
    def __init__(self) -> None:
        self._text = ""
        self._first = True

    def push(self, piece: str) -> list[Segment]:
        self._text += piece
        found = []
        while (match := re.match(r"[^.!?。！？]*[.!?。！？]+\s", self._text)) is not None:
            found.append(self._make(match.group()))
            self._text = self._text[match.end() :]
        return found

    def flush(self) -> list[Segment]:
        text, self._text = self._text, ""
        return [self._make(text)] if text.strip() else []

    def _make(self, text: str) -> Segment:
        first, self._first = self._first, False
        return _segment(text, 0.0 if first else 0.1)


def _segment(text: str, lead: float) -> Segment:
    spoken = " ".join(text.split())
    return Segment(spoken, spoken.lower(), seconds(spoken, 1.0), lead, "ann")


def seconds(text: str, speed: float) -> float:
    """Length of the tone."""
    return len(text) * SECONDS_PER_CHARACTER / speed


def tone(text: str, options: SpeechOptions) -> Samples:
    """What the engine says for a segment."""
    prompt = options.prompt.digest if options.prompt else ""
    digest = hashlib.sha256(f"{text.lower()}|{options.voice}|{options.seed}|{prompt}".encode()).digest()
    pitch = 200 + digest[0] * 4
    time_axis = np.arange(round(seconds(text, options.speed) * RATE)) / RATE
    return (0.4 * np.sin(2 * np.pi * pitch * time_axis)).astype(np.float32)


def words(text: str, speed: float) -> tuple[WordTiming, ...]:
    """Times of the words of a segment."""
    step = SECONDS_PER_CHARACTER / speed
    return tuple(
        WordTiming(match.group(), match.start() * step, match.end() * step) for match in re.finditer(r"\w+", text)
    )
