"""What the service needs from a speech engine, and nothing more.

The service knows segments (a sentence or clause that is one run of the acoustic model), steps and chunks of audio. It
does not know phonemes, graphs or families; `tts_engine.py` connects the real runtime, the tests connect a fake.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cosylite.audio.values import AudioChunk, Samples


@dataclass(frozen=True)
class VoiceInfo:
    """A voice as the voices route lists it."""

    id: str
    name: str
    languages: tuple[str, ...] = ()
    gender: str | None = None
    kind: str = "preset"
    revision: str = ""
    """Part of cache keys: another one wherever the voice of this id sounds different."""


@dataclass(frozen=True)
class Prompt:
    """A reference recording for cloning: mono samples, their rate, and what is said in them."""

    samples: Samples
    sample_rate: int
    text: str
    digest: str
    """Names the recording; together with `text` in cache keys."""


@dataclass(frozen=True)
class Segment:
    """A stretch of text that is spoken in one run, with the pause that follows it.

    Attributes:
        text: the text as typed.
        key: the spoken form; segments with equal keys sound the same with the same options and the same voice.
        seconds: predicted length of the audio at speed 1.
        lead: seconds of silence due before it, which are not part of its audio.
        voice: id of the voice that speaks it where none is asked for.
        payload: the engine's own.
    """

    text: str
    key: str
    seconds: float
    lead: float = 0.0
    voice: str = ""
    payload: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class SpeechOptions:
    """How a segment is spoken. `voice` is an id of the engine, "" the segment's own; `prompt` replaces it.

    `mode` is one of the engine's `modes`, or "auto".
    """

    voice: str
    lang: str = "auto"
    speed: float = 1.0
    seed: int = 0
    instructions: str = ""
    prompt: Prompt | None = None
    mode: str = "auto"


@dataclass(frozen=True)
class Shared:
    """What one shared step did: `rows` sequences got a token each."""

    rows: int


class TextFeed(Protocol):
    """Splits text that arrives in pieces into segments."""

    def push(self, piece: str) -> list[Segment]:
        """Take a piece and return the segments that are complete now."""
        ...

    def flush(self) -> list[Segment]:
        """Return what is left, whether complete or not."""
        ...


class SegmentStream(Protocol):
    """One segment being spoken. Each `step` does a bounded amount of work; steps never run at the same time."""

    @property
    def ready(self) -> bool:
        """Whether `step` has what it needs. Always, but where an engine `decodes`: there `advance` brings it about."""
        ...

    def step(self) -> AudioChunk | None:
        """The next chunk, or None after the last one."""
        ...

    def close(self) -> None:
        """Free what the stream holds; called once, also after the last chunk."""
        ...


class Engine(Protocol):
    """A loaded bundle. All methods are blocking and may be called from several threads at the same time.

    An engine that `decodes` is autoregressive: its streams wait for tokens, and one decoding loop draws those of all
    streams together. `advance` is one step of it and never runs twice at the same time, but beside steps of streams.
    """

    @property
    def name(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def sample_rate(self) -> int: ...
    @property
    def languages(self) -> tuple[str, ...]: ...
    @property
    def voices(self) -> Sequence[VoiceInfo]: ...
    @property
    def default_voice(self) -> str: ...
    @property
    def can_clone(self) -> bool: ...
    def blend(self, name: str) -> str | None:
        """The id of a blend of voices, such as ``a:0.6+b:0.4``; None: not one, or the engine blends none.

        Raises:
            InputError: a blend that cannot be read, or of a voice that is not there.
        """
        ...

    @property
    def modes(self) -> tuple[str, ...]:
        """Ways to use a voice; with "instruct", instructions are followed. Empty: there is one way, without a name."""
        ...

    @property
    def decodes(self) -> bool:
        """Whether streams wait for `advance`."""
        ...

    @property
    def decoding(self) -> bool:
        """Whether `advance` has something to do for streams that were begun."""
        ...

    def segments(self, text: str, lang: str) -> Iterator[Segment]:
        """Segments of a whole text in order, as lazily as the engine can.

        Raises:
            InputError: nothing in the text can be spoken, or its markup is wrong.
        """
        ...

    def feed(self, lang: str) -> TextFeed:
        """A splitter for text that arrives in pieces."""
        ...

    def prepare(self, options: SpeechOptions) -> None:
        """Check options, and do once what their voice needs, such as hearing a prompt. Before the first `open`.

        Raises:
            InputError: voice, mode and instructions do not go together, or the recording cannot be used.
        """
        ...

    def learn(self, prompt: Prompt) -> None:
        """Hear a recording that is to be kept as a voice.

        Raises:
            InputError: it cannot be used, or the bundle cannot clone.
        """
        ...

    def open(self, segment: Segment, options: SpeechOptions, *, whole: bool = False) -> SegmentStream:
        """Begin to speak a segment; `whole`: nobody waits for its first sound."""
        ...

    def advance(self, streams: Sequence[SegmentStream]) -> Shared:
        """One shared step for all streams that were begun; `streams` are those that wait, the most urgent first.

        Streams of which there are more than fit begin when others end.
        """
        ...

    def speak_many(self, items: Sequence[tuple[Segment, SpeechOptions]]) -> list[AudioChunk]:
        """Whole segments together in one run of the graphs; each equals the joined chunks of its stream."""
        ...

    def close(self) -> None:
        """Free the models. Not called while streams are open."""
        ...
