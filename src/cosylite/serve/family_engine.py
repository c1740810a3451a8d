"""Bundles of CosyVoice behind the service: one decoding loop for all segments, and voices from recordings."""

import contextlib
import hashlib
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from cosylite.audio.recordings import Recording
from cosylite.audio.values import AudioChunk
from cosylite.errors import BundleError, InputError
from cosylite.options import SynthesisOptions
from cosylite.runtime.engine import check_threads
from cosylite.runtime.family.catalogue import Catalogue
from cosylite.runtime.family.engine import FamilyEngine, load_family_engine
from cosylite.runtime.family.finish import Finisher
from cosylite.runtime.family.kinds import LANGUAGES
from cosylite.runtime.family.modes import AnyVoice, Conditions, PresetVoice
from cosylite.runtime.family.stepping import SegmentStream as FamilyStream
from cosylite.serve.engine import Prompt, Segment, SegmentStream, Shared, SpeechOptions, VoiceInfo
from cosylite.serve.settings import Settings
from cosylite.text.family.pieces import SentenceFeed
from cosylite.text.family.segment import TextSegment

LOG = logging.getLogger(__name__)
SECONDS_PER_ID = 0.25
"""About what a text id sounds."""
PROMPTS_KEPT = 32
"""Recordings whose features are kept: half a megabyte each at most."""
_OPTION_PARAMS = {"instruct": "instructions", "text": "instructions"}
_PROMPT_PARAMS = {"audio": "ref_audio", "text": "ref_text"}
_UPLOAD_PARAMS = {"audio": "audio_sample", "text": "ref_text"}
"""Names of parameters in the runtime, and those by which callers know them."""


def load_family_bundle(path: Path, settings: Settings) -> "FamilyServeEngine":
    """Load a bundle of an official family for the service.

    Raises:
        CosyliteError: the bundle or the device cannot be used.
    """
    check_threads(settings.threads)
    runtime = load_family_engine(path, device=settings.device, threads=settings.threads)
    rows = 1 if settings.batching == "off" else min(settings.batch_rows, runtime.decoder.rows)
    return FamilyServeEngine(runtime, rows)


class FamilyServeEngine:
    """Implements `cosylite.serve.engine.Engine`.

    Every segment is spoken as `say` would speak it alone, so that equal sentences of different texts are equal.

    Args:
        runtime: the engine; nobody else may use its decoding loop.
        rows: segments that share a decoding step; more wait, the most urgent one first.
    """

    decodes = True
    languages = LANGUAGES

    def __init__(self, runtime: FamilyEngine, rows: int) -> None:
        manifest = runtime.model.manifest
        self._runtime, self._rows = runtime, rows
        self._advancing = threading.Lock()
        self._voices = _voices(runtime.catalogue)
        self._prompts = _Prompts(runtime.catalogue)
        self.name, self.revision, self.sample_rate = manifest.name, manifest.revision, manifest.sample_rate
        self.can_clone = runtime.can_clone
        self.voices: Sequence[VoiceInfo] = tuple(
            VoiceInfo(name, name, LANGUAGES, None, runtime.catalogue.kind(name), _digest(voice))
            for name, voice in self._voices.items()
        )
        self.default_voice = next(iter(self._voices), "")
        self.modes = self._find_modes(runtime.can_instruct)

    @property
    def decoding(self) -> bool:
        """Whether segments that were begun lack tokens."""
        return self._runtime.decoder.busy

    def segments(self, text: str, lang: str) -> Iterator[Segment]:
        """Segments as the official code cuts them; `lang` does not matter, the models see for themselves."""
        for number, segment in enumerate(self._runtime.segments(text)):
            yield self._segment(segment, first=number == 0)

    def feed(self, lang: str) -> "_Feed":
        """A splitter for text that arrives in pieces: whole sentences, a few at a time."""
        return _Feed(self)

    def blend(self, name: str) -> str | None:
        """There are no blends."""
        return None

    def prepare(self, options: SpeechOptions) -> None:
        """Hear the prompt unless that was done lately, and check that everything goes together."""
        self._conditions(options)

    def learn(self, prompt: Prompt) -> None:
        """Hear a recording that will be kept; raises InputError where it cannot be used."""
        with _renamed(_UPLOAD_PARAMS):
            self._prompts.voice(prompt)

    def open(self, segment: Segment, options: SpeechOptions, *, whole: bool = False) -> "_Stream":
        """A segment that begins as soon as there is a free row."""
        return _Stream(self, segment.payload, options, whole)

    def advance(self, streams: Sequence[SegmentStream]) -> Shared:
        """One token for every segment that was begun; the first of the others begin where rows are free."""
        decoder = self._runtime.decoder
        with self._advancing:
            waiting = [stream for stream in streams if isinstance(stream, _Stream) and not stream.ready]
            if any([stream.look() for stream in waiting]):
                return Shared(0)  # drawn ahead already
            for stream in waiting:
                if not stream.begun and decoder.load < self._rows:
                    stream.begin()
            rows = decoder.step()
            for stream in waiting:
                stream.look()
        return Shared(rows)

    def speak_many(self, items: Sequence[tuple[Segment, SpeechOptions]]) -> list[AudioChunk]:
        """Whole segments, each equal to the joined chunks of its stream."""
        streams = [self.open(segment, options, whole=True) for segment, options in items]
        try:
            return [self._whole(stream, streams) for stream in streams]
        finally:
            for stream in streams:
                stream.close()

    def close(self) -> None:
        """The sessions are freed with the last reference to this object."""

    def sentence_feed(self) -> SentenceFeed:
        """Cuts text that arrives in pieces; `read` makes segments of what it gives."""
        return self._runtime.feed()

    def begin(self, segment: TextSegment, options: SpeechOptions, whole: bool) -> FamilyStream:
        """Let a segment take part in the decoding loop."""
        given, spoken = self._conditions(options), _options(options)
        run = self._runtime.open(segment, spoken, given=given, whole=whole)
        return FamilyStream(run, Finisher(spoken, self.sample_rate, self._runtime.guardian), self.sample_rate)

    def leave(self) -> None:
        """A segment was closed. Where it was the last one, nobody else would clear the decoding loop of it."""
        if not self._runtime.decoder.load:
            self._runtime.decoder.step()

    def _whole(self, stream: "_Stream", streams: Sequence[SegmentStream]) -> AudioChunk:
        parts: list[AudioChunk] = []
        while not (parts and parts[-1].is_last):
            while not stream.ready:
                self.advance(streams)
            chunk = stream.step()
            if chunk is None:
                break
            parts.append(chunk)
        return AudioChunk(np.concatenate([part.samples for part in parts]), self.sample_rate, 0, True)

    def _conditions(self, options: SpeechOptions) -> Conditions:
        with _renamed(_PROMPT_PARAMS):
            voice = self._voice(options)
        with _renamed(_OPTION_PARAMS):
            return self._runtime.modes.conditions(voice, _options(options))

    def _voice(self, options: SpeechOptions) -> AnyVoice:
        if options.prompt is not None:
            return self._prompts.voice(options.prompt)
        name = options.voice or self.default_voice
        if not name:
            more = "; add one, or send ref_audio" if self.can_clone else ""
            raise InputError(f"the model {self.name} has no voice of its own{more}", code="no_voice", param="voice")
        if name not in self._voices:
            raise InputError(
                f"unknown voice {name[:80]!r}; known are {', '.join(self._voices)}", code="unknown_voice", param="voice"
            )
        return self._voices[name]

    def _segment(self, segment: TextSegment, *, first: bool) -> Segment:
        lead = 0.0 if first else SynthesisOptions().sentence_silence
        seconds = SECONDS_PER_ID * len(segment.ids)
        return Segment(segment.text, json.dumps(segment.text), seconds, lead, self.default_voice, segment)

    def read(self, parts: Sequence[str], *, first: bool) -> list[Segment]:
        """Segments of normalised stretches of text; `first`: nothing of the text came before."""
        found = list(self._runtime.reading.segments_of(parts))
        return [self._segment(segment, first=first and number == 0) for number, segment in enumerate(found)]

    def _find_modes(self, instruct: bool) -> tuple[str, ...]:
        presets = [isinstance(voice, PresetVoice) for voice in self._voices.values()]
        recorded = self.can_clone or not all(presets)
        return (
            *(("preset",) if any(presets) else ()),
            *(("zero-shot", "cross-lingual") if recorded else ()),
            *(("instruct",) if instruct else ()),
        )


class _Stream:
    """One segment. `ready` is set by whoever has the stream: `advance` while it waits, a worker while it steps."""

    def __init__(self, engine: FamilyServeEngine, segment: TextSegment, options: SpeechOptions, whole: bool) -> None:
        self._engine, self._segment, self._options, self._whole = engine, segment, options, whole
        self._stream: FamilyStream | None = None
        self._error: Exception | None = None
        self.ready = False

    @property
    def begun(self) -> bool:
        """Whether it takes part in the decoding loop, or did."""
        return self._stream is not None or self._error is not None

    def begin(self) -> None:
        """Take part; what goes wrong is raised by `step`, for its own request."""
        try:
            self._stream = self._engine.begin(self._segment, self._options, self._whole)
        except Exception as error:  # others share the step
            self._error, self.ready = error, True

    def look(self) -> bool:
        """Find out whether the tokens of the next chunk are there, or never will be."""
        try:
            self.ready = self._error is not None or (self._stream is not None and self._stream.ready())
        except Exception as error:  # others share the step
            self._error, self.ready = error, True
        return self.ready

    def step(self) -> AudioChunk | None:
        """The next chunk."""
        if self._error is not None:
            raise self._error
        chunk = self._stream.step() if self._stream is not None else None
        if chunk is not None and not chunk.is_last:
            self.look()
        return chunk

    def close(self) -> None:
        """Leave the decoding loop at its next step."""
        if self._stream is not None:
            self._stream.close()
            self._engine.leave()


class _Feed:
    def __init__(self, engine: FamilyServeEngine) -> None:
        self._engine, self._feed, self._first = engine, engine.sentence_feed(), True

    def push(self, piece: str) -> list[Segment]:
        return self._segments(self._feed.push(piece))

    def flush(self) -> list[Segment]:
        return self._segments(self._feed.flush())

    def _segments(self, parts: list[str]) -> list[Segment]:
        found = self._engine.read(parts, first=self._first)
        self._first = self._first and not found
        return found


class _Prompts:
    """Voices of recordings that were heard lately. For several threads; one recording is heard at a time."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known: OrderedDict[tuple[str, str], AnyVoice] = OrderedDict()
        self._lock, self._hearing = threading.Lock(), threading.Lock()

    def voice(self, prompt: Prompt) -> AnyVoice:
        """The voice of a recording."""
        key = (prompt.digest, prompt.text)
        found = self._look_up(key)
        if found is not None:
            return found
        with self._hearing:
            found = self._look_up(key)
            if found is None:
                recording = Recording(prompt.samples, prompt.sample_rate)
                found = self._catalogue.heard("recording", recording, prompt.text)
                with self._lock:
                    self._known[key] = found
                    while len(self._known) > PROMPTS_KEPT:
                        self._known.popitem(last=False)
        return found

    def _look_up(self, key: tuple[str, str]) -> AnyVoice | None:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)


@contextlib.contextmanager
def _renamed(params: Mapping[str, str]) -> Iterator[None]:
    """Let errors name what the caller sent."""
    try:
        yield
    except InputError as error:
        param = params.get(error.param or "", error.param)
        raise InputError(str(error), code=error.code, param=param) from error


def _voices(catalogue: Catalogue) -> dict[str, AnyVoice]:
    """The voices as they are now: a file that changes later would not agree with what is cached."""
    found: dict[str, AnyVoice] = {}
    for name in catalogue.names:
        try:
            found[name] = catalogue.get(name)
        except BundleError as error:
            if catalogue.kind(name) != "added":
                raise
            LOG.warning("left out the voice %r: %s", name, error)
    return found


def _digest(voice: AnyVoice) -> str:
    parts = [voice.speaker] if isinstance(voice, PresetVoice) else [voice.speaker, voice.text, voice.tokens, voice.mel]
    return hashlib.sha256(b"|".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]


def _options(options: SpeechOptions) -> SynthesisOptions:
    return SynthesisOptions(speed=options.speed, seed=options.seed, mode=options.mode, instruct=options.instructions)
