"""The real engines behind the service: bundles of nano seen as segments and steps, and who loads which family."""

import json
from collections.abc import Iterator, Sequence

from cosylite.audio.values import AudioChunk
from cosylite.errors import InputError
from cosylite.options import SynthesisOptions
from cosylite.runtime.assembly import CLAUSE_SILENCE
from cosylite.runtime.bundle import family_of, find_bundle
from cosylite.runtime.engine import Engine as Runtime
from cosylite.runtime.family.kinds import FAMILIES
from cosylite.runtime.voices import VoiceChoice, blend_name, named_voice
from cosylite.serve.engine import Engine, Prompt, Segment, SegmentStream, Shared, SpeechOptions, VoiceInfo
from cosylite.serve.settings import Settings
from cosylite.text.frontend import TextStream, symbol_string
from cosylite.text.types import Sentence
from cosylite.tts import TTS

SECONDS_PER_SYMBOL = 0.065
CLAUSE_MARKS = (",", ";", ":", "—")


def load_engine(source: str, settings: Settings) -> Engine:
    """Load a bundle of any family for the service.

    Raises:
        CosyliteError: the bundle or the device cannot be used.
    """
    path = find_bundle(source)
    if family_of(path) in FAMILIES:
        from cosylite.serve.family_engine import load_family_bundle

        return load_family_bundle(path, settings)
    return NanoEngine(TTS(source, device=settings.device, threads=settings.threads).engine)


class NanoEngine:
    """Implements `cosylite.serve.engine.Engine` with the runtime of nano bundles."""

    can_clone = False
    modes: tuple[str, ...] = ()
    decodes = decoding = False

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._manifest = runtime.model.bundle.manifest
        self._frontend = runtime.frontend(SynthesisOptions())
        self.name: str = self._manifest.name
        self.revision: str = self._manifest.revision
        self.sample_rate: int = self._manifest.sample_rate
        self.languages: tuple[str, ...] = self._manifest.languages
        self.default_voice: str = self._manifest.voices.default["mixed"]
        self.voices: Sequence[VoiceInfo] = tuple(
            VoiceInfo(
                voice.name, voice.name, (voice.native, *(n for n in voice.languages if n != voice.native)), voice.gender
            )
            for voice in runtime.voices
        )

    def segments(self, text: str, lang: str) -> Iterator[Segment]:
        """Sentences of a whole text, one by one."""
        cutter = _Cutter(VoiceChoice(self._manifest, None, lang, text))
        for sentence in self._frontend.iterate(text, lang=lang):
            yield cutter.segment(sentence)

    def feed(self, lang: str) -> "_Feed":
        """A splitter for text that arrives in pieces; long sentences go out clause by clause."""
        return _Feed(self._frontend.stream(lang=lang), _Cutter(VoiceChoice(self._manifest, None, lang, None)))

    def blend(self, name: str) -> str | None:
        """A blend of voices of the bundle, its shares brought to a sum of 1: equal blends are cached as one."""
        if "+" not in name and ":" not in name:
            return None
        mix = named_voice(self._manifest.voices, name).mix
        names = {spec.row: spec.name for spec in self._manifest.voices.list}
        return blend_name({names[row]: share for row, share in mix})

    def prepare(self, options: SpeechOptions) -> None:
        """There is nothing to prepare."""

    def learn(self, prompt: Prompt) -> None:
        """Voices come with the bundle only."""
        raise InputError(f"the model {self.name} cannot clone voices", code="cannot_clone", param="model")

    def open(self, segment: Segment, options: SpeechOptions, *, whole: bool = False) -> "_Stream":
        """Begin to speak a sentence."""
        return _Stream(self._runtime.speak_sentence(segment.payload, _options(options)))

    def advance(self, streams: Sequence[SegmentStream]) -> Shared:
        """There are no shared steps."""
        return Shared(0)

    def speak_many(self, items: Sequence[tuple[Segment, SpeechOptions]]) -> list[AudioChunk]:
        """Whole sentences in one run of the graphs."""
        return self._runtime.speak_sentences([(segment.payload, _options(options)) for segment, options in items])

    def close(self) -> None:
        """The sessions are freed with the last reference to this object."""


class _Cutter:
    """Makes segments of the sentences of one text, in order: pauses between them, and who speaks them."""

    def __init__(self, choice: VoiceChoice) -> None:
        self._choice = choice
        self._lead = 0.0

    def segment(self, sentence: Sentence) -> Segment:
        symbols = symbol_string(sentence) if sentence.words else ""
        key = json.dumps([symbols, [word.text for word in sentence.words], sentence.rate, sentence.pause_seconds])
        lead, self._lead = (self._lead if sentence.words else 0.0), _gap_after(sentence)
        seconds = SECONDS_PER_SYMBOL * len(symbols) / sentence.rate + (sentence.pause_seconds or 0.0)
        voice = self._choice.voice(sentence).name
        text = "".join(span.span.text for span in sentence.spans).strip()
        return Segment(text, key, seconds, lead, voice, sentence)


def _gap_after(sentence: Sentence) -> float:
    """Silence between a sentence and the next one, where the sentence does not bring its own pause."""
    if sentence.pause_seconds is not None or not sentence.words:
        return 0.0
    share = CLAUSE_SILENCE if sentence.words[-1].after[-1:] in CLAUSE_MARKS else 1.0
    return SynthesisOptions().sentence_silence * share


class _Feed:
    def __init__(self, stream: TextStream, cutter: _Cutter) -> None:
        self._stream = stream
        self._cutter = cutter

    def push(self, piece: str) -> list[Segment]:
        return [self._cutter.segment(sentence) for sentence in self._stream.feed(piece)]

    def flush(self) -> list[Segment]:
        return [self._cutter.segment(sentence) for sentence in self._stream.flush()]


class _Stream:
    ready = True

    def __init__(self, chunks: Iterator[AudioChunk]) -> None:
        self._chunks = chunks

    def step(self) -> AudioChunk | None:
        return next(self._chunks, None)

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()


def _options(options: SpeechOptions) -> SynthesisOptions:
    return SynthesisOptions(options.voice or None, options.lang, options.speed, options.seed)
