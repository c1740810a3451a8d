"""Speaks with the official models: text to segments, tokens, mel and waveform, in every mode they have."""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.recordings import Recording, Source, read_recording
from cosylite.audio.values import AudioChunk, SentenceTiming, Speech
from cosylite.errors import InputError
from cosylite.options import SynthesisOptions, Voice, check_chunk_frames
from cosylite.runtime.family.catalogue import Catalogue, load_reading
from cosylite.runtime.family.chunks import TokenChunk
from cosylite.runtime.family.conversion import SOURCE_SECONDS, split_recording
from cosylite.runtime.family.finish import Finisher
from cosylite.runtime.family.guardian import FamilyGuardian
from cosylite.runtime.family.model import STEPS, FamilyModel, load_family
from cosylite.runtime.family.modes import AnyVoice, Conditions, Modes
from cosylite.runtime.family.render import Streaming, Voicing, first_tokens, plan
from cosylite.runtime.family.segments import SegmentRun
from cosylite.runtime.family.stepping import SegmentStream, step_together
from cosylite.runtime.family.tokens import Decoder, GivenTokens, PiecesDraft, Seeds, SegmentDraft
from cosylite.runtime.family.voices import VoiceStore
from cosylite.runtime.pipeline import Pipeline
from cosylite.text.family.pieces import SentenceFeed, TextSequences
from cosylite.text.family.reading import Reading
from cosylite.text.family.segment import TextSegment

Array = NDArray[np.float32]

CHUNKS_AHEAD = 4
"""Chunks of tokens that are drawn while the sound of one is made."""


class FamilyEngine:
    """Speaks segment by segment. May be shared between threads; every call has its own state."""

    def __init__(self, path: Path, model: FamilyModel, reading: Reading, added: VoiceStore | None = None) -> None:
        """`added`: the voices of the user; None: those in the usual folder."""
        self.model, self.reading = model, reading
        self.guardian = FamilyGuardian(model.counters)
        self.catalogue = Catalogue(path, model.manifest, reading, added)
        self.modes = Modes(model.manifest, reading.encode)
        self.decoder = Decoder(model.lm, model.manifest.family, model.flow.spec.token_rate, self.guardian)

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Preset speakers, saved voices and added ones."""
        return self.catalogue.voices

    @property
    def sample_rate(self) -> int:
        """Samples per second."""
        return self.model.manifest.sample_rate

    @property
    def can_clone(self) -> bool:
        """Whether the bundle can hear recordings."""
        return self.catalogue.listener.available

    @property
    def can_instruct(self) -> bool:
        """Whether the model follows instructions."""
        return self.model.manifest.instruct

    def add_voice(self, name: str, source: Source, text: str = "") -> Voice:
        """Make a voice from a recording and keep it; see `Catalogue.add`."""
        return self.catalogue.add(name, source, text)

    def remove_voice(self, name: str) -> None:
        """Forget a voice that was added; see `Catalogue.remove`."""
        self.catalogue.remove(name)

    def say(self, text: str, options: SynthesisOptions) -> Speech:
        """The whole utterance. Words have no times."""
        return self.say_many([text], options)[0]

    def say_many(self, texts: Sequence[str], options: SynthesisOptions) -> list[Speech]:
        """Several texts, whose segments share the steps of the language model.

        Raises:
            InputError: an option, the voice or a text cannot be used.
            DeviceError: there is not enough memory for a segment.
        """
        if isinstance(texts, str):
            raise InputError("say_many takes a list of texts, not one", code="invalid_text", param="texts")
        given = self._given(options)
        segments = [self.segments(text) for text in texts]
        finishers = [self._finisher(options) for _ in texts]
        opened = (
            self.open(segment, options, given=given, number=number, whole=True)
            for group in segments
            for number, segment in enumerate(group)
        )
        with closing(self._rendered(opened)) as rendered:
            return [
                Speech.of(list(self._finished(_first(rendered, len(group)), finisher, len(group))))
                for group, finisher in zip(segments, finishers, strict=True)
            ]

    def stream(
        self, text: str | Iterable[str], options: SynthesisOptions, chunk_frames: int | None = None
    ) -> Generator[AudioChunk, None, None]:
        """Chunks of audio while they are made; closing the iterator cancels what is under way.

        Args:
            text: a text, or pieces of one that may arrive late.
            chunk_frames: frames of 20 ms to compute at a time (v2 and v3 in exact and bounded streaming), rounded up to
                the attention chunks of the model; None: few at first, then more.

        Raises:
            InputError: an option, the voice or the text cannot be used. What the text is found guilty of, only once
                the iterator gets there.
        """
        check_chunk_frames(chunk_frames)
        if not isinstance(text, Iterable) or isinstance(text, bytes | bytearray):
            raise InputError(
                f"text must be a string or pieces of text, not {type(text).__name__}", code="invalid_text", param="text"
            )
        if chunk_frames is not None and self._streaming(options) in ("official", "whole"):
            raise InputError(
                "official streaming and CosyVoice 1 have chunks of their own; leave out chunk_frames",
                code="unsupported",
                param="chunk_frames",
            )
        return self._stream(text, options, self._given(options), self._finisher(options), chunk_frames)

    def convert(self, source: Source, options: SynthesisOptions) -> Speech:
        """What somebody says in a recording of up to 10 minutes, in the voice of `options`.

        Raises:
            InputError: the recording, the voice or an option cannot be used.
            BundleError: the bundle lacks the graphs that hear recordings.
            OutputError: the recording cannot be read.
            DeviceError: there is not enough memory.
        """
        if options.instruct or options.mode != "auto":
            raise InputError(
                "converting takes neither mode nor instruct; leave them out", code="unsupported", param="mode"
            )
        given = self.modes.conversion(self.catalogue.get(options.voice))
        recording = read_recording(source, seconds=SOURCE_SECONDS)
        parts = split_recording(recording)
        opened = (self._converted(part, given, self._voicing(options, number)) for number, part in enumerate(parts))
        finisher = self._finisher(options)
        whole = [finisher.join(samples) for _, samples, _ in self._rendered(opened)]
        return Speech(np.concatenate(whole), self.sample_rate)

    def segments(self, text: str) -> list[TextSegment]:
        """Segments of a text.

        Raises:
            InputError: the text has nothing to speak, or pieces that the model does not know.
        """
        return self.reading.segments(text)

    def feed(self) -> SentenceFeed:
        """Cuts text that arrives in pieces into normalised segments; `reading.segment` makes what `open` takes."""
        return SentenceFeed(self.reading.text)

    def open(
        self,
        segment: TextSegment,
        options: SynthesisOptions,
        *,
        voice: AnyVoice | None = None,
        given: Conditions | None = None,
        number: int = 0,
        whole: bool = False,
        chunk_frames: int | None = None,
    ) -> SegmentRun:
        """Begin to speak a segment; it takes part in the decoding loop at once. Close it in the end.

        Args:
            voice: instead of the one that `options` names, such as one that is not kept.
            given: what voice and options come to, where that is known already.
            number: of the segment in its text; each has chance of its own.
            whole: nobody waits for the first sound.

        Raises:
            InputError: an option or the voice cannot be used.
        """
        if given is None:
            given = self.modes.conditions(voice or self.catalogue.get(options.voice), options)
        given = self.modes.without_system(given, segment.ids)
        voicing = self._voicing(options, number)
        way = plan(self.model, given, voicing, whole=whole, chunk_frames=chunk_frames)
        spoken_from = first_tokens(self.model, given, voicing)
        draft = SegmentDraft(self.decoder, given.prompt(list(segment.ids)), voicing.seeds, spoken_from)
        return SegmentRun(segment, draft, way, self.guardian, self.sample_rate)

    def speak_segment(
        self,
        segment: TextSegment,
        options: SynthesisOptions,
        *,
        voice: AnyVoice | None = None,
        chunk_frames: int | None = None,
    ) -> SegmentStream:
        """Begin to speak a segment step by step; see `open`. Segments join and leave the decoding loop at any time."""
        finisher = self._finisher(options)
        run = self.open(segment, options, voice=voice, chunk_frames=chunk_frames)
        return SegmentStream(run, finisher, self.sample_rate)

    def step_many(self, streams: Sequence[SegmentStream]) -> list[AudioChunk | None]:
        """One step of several segments together; see `step_together`."""
        return step_together(self.decoder, streams)

    def speak_segments(
        self, items: Sequence[tuple[TextSegment, SynthesisOptions, AnyVoice | None]]
    ) -> list[AudioChunk]:
        """Whole segments, each equal to the joined chunks of `speak_segment` (as far as its streaming allows)."""
        runs = (self.open(segment, options, voice=voice, whole=True) for segment, options, voice in items)
        finishers = [self._finisher(options) for _, options, _ in items]
        with closing(self._rendered(runs)) as rendered:
            whole = [Speech.of(list(self._finished(_first(rendered, 1), finisher, 1))) for finisher in finishers]
        return [AudioChunk(speech.samples, speech.sample_rate, 0, True, (), speech.sentences) for speech in whole]

    def _converted(self, part: Recording, given: Conditions, voicing: Voicing) -> SegmentRun:
        draft, way = GivenTokens(self.catalogue.tokens(part)), plan(self.model, given, voicing, whole=True)
        return SegmentRun(TextSegment("", ()), draft, way, self.guardian, self.sample_rate)

    def _given(self, options: SynthesisOptions) -> Conditions:
        return self.modes.conditions(self.catalogue.get(options.voice), options)

    def _finisher(self, options: SynthesisOptions) -> Finisher:
        self._streaming(options)
        return Finisher(options, self.sample_rate, self.guardian)

    def _streaming(self, options: SynthesisOptions) -> Streaming:
        v1 = self.model.manifest.family == "v1"
        if v1 and options.streaming in ("exact", "bounded"):
            raise InputError(
                f"CosyVoice 1 normalises over whole sentences and has no {options.streaming} streaming; use official",
                code="unsupported",
                param="streaming",
            )
        if options.streaming == "auto":
            return "whole" if v1 else "exact"
        return cast(Streaming, options.streaming)

    def _voicing(self, options: SynthesisOptions, number: int) -> Voicing:
        steps = STEPS if options.flow_steps is None else options.flow_steps
        seeds = Seeds(options.seed, number)
        return Voicing(self._streaming(options), seeds, options.speed, options.noise_scale, steps)

    def _rendered(self, runs: Iterator[SegmentRun]) -> Generator[tuple[SegmentRun, Array, bool], None, None]:
        """Samples of segments in order, and whether those are their last; the next ones are being decoded already.

        One place in the decoding loop stays free for others.
        """
        opened: deque[SegmentRun] = deque()
        try:
            while True:
                while len(opened) < max(1, self.decoder.rows - 1) and (run := next(runs, None)) is not None:
                    opened.append(run)
                if not opened:
                    return
                for chunk in opened[0].chunks():
                    yield opened[0], opened[0].render(chunk), chunk.final
                opened.popleft().close()
        finally:
            _close(opened)

    def _stream(
        self,
        text: str | Iterable[str],
        options: SynthesisOptions,
        given: Conditions,
        finisher: Finisher,
        chunk_frames: int | None,
    ) -> Generator[AudioChunk, None, None]:
        opened: list[SegmentRun] = []
        count: int | None = None
        runs: Iterator[SegmentRun]
        if isinstance(text, str):
            segments = self.segments(text)
            count = len(segments)
            runs = (
                self.open(segment, options, given=given, number=number, chunk_frames=chunk_frames)
                for number, segment in enumerate(segments)
            )
        else:
            runs = self._runs_of_pieces(_checked(text), options, given, chunk_frames)

        pipeline = Pipeline()

        def chunks() -> Iterator[tuple[SegmentRun, TokenChunk]]:
            for run in runs:
                opened[:] = [run]  # those before are closed, and would only take memory
                pipeline.check()
                for chunk in run.chunks():
                    yield run, chunk
                run.close()

        try:
            drawn = pipeline.ahead(chunks(), CHUNKS_AHEAD, wait=isinstance(text, str))
            rendered = ((run, run.render(chunk), chunk.final) for run, chunk in drawn)
            yield from self._finished(rendered, finisher, count)
        finally:
            pipeline.cancel()
            _close(opened)  # what the worker waits for
            pipeline.close()
            _close(opened)  # what it opened in between

    def _runs_of_pieces(
        self, pieces: Iterable[str], options: SynthesisOptions, given: Conditions, chunk_frames: int | None
    ) -> Iterator[SegmentRun]:
        """Segments of text that still arrives: spoken while they do where the model can, else sentence by sentence."""
        lm = self.model.lm
        # Without speech to continue, v3 would begin before there is any text.
        while_reading = bool(lm.spec.mix) and (lm.spec.end_of_prompt is None or len(given.prompt_tokens) > 0)
        if while_reading:
            for number, sequence in enumerate(TextSequences(pieces, self.reading.text, self.reading.encode)):
                draft = PiecesDraft(self.decoder, sequence, given.prompt([]), Seeds(options.seed, number))
                way = plan(self.model, given, self._voicing(options, number), whole=False, chunk_frames=chunk_frames)
                yield SegmentRun(sequence, draft, way, self.guardian, self.sample_rate)
            return
        for number, segment in enumerate(self.reading.segments_of_pieces(pieces, self.feed())):
            yield self.open(segment, options, given=given, number=number, chunk_frames=chunk_frames)

    def _finished(
        self, rendered: Iterator[tuple[SegmentRun, Array, bool]], finisher: Finisher, count: int | None
    ) -> Generator[AudioChunk, None, None]:
        """Chunks of one utterance of `count` segments (None: not known yet). A segment's times come with its end."""
        rate, spoken, index, started, number = self.sample_rate, 0, 0, 0, 0
        current: SegmentRun | None = None
        for run, samples, final in rendered:
            lead = np.zeros(0, np.float32)
            if run is not current:
                current = run
                lead = finisher.begin(first=number == 0)
                number += 1
                started = spoken + len(lead)
            out = np.concatenate([lead, finisher.push(samples, last=final)])
            spoken += len(out)
            last = final and number == count
            if len(out) or last or final:
                heard = (SentenceTiming(run.text, started / rate, spoken / rate),) if final else ()
                yield AudioChunk(out, rate, index, last, (), heard)
                index += 1
        if count is None:
            if not index:
                raise InputError(
                    "the text has nothing to speak: give at least one word", code="empty_text", param="text"
                )
            yield AudioChunk(np.zeros(0, np.float32), rate, index, True)


def _checked(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        if not isinstance(piece, str):
            raise InputError(
                f"pieces of text must be strings, not {type(piece).__name__}", code="invalid_text", param="text"
            )
        yield piece


def _close(runs: Iterable[SegmentRun]) -> None:
    for run in runs:
        run.close()


def _first(
    rendered: Iterator[tuple[SegmentRun, Array, bool]], segments: int
) -> Iterator[tuple[SegmentRun, Array, bool]]:
    """What belongs to the next `segments` segments."""
    while segments:
        item = next(rendered)
        segments -= item[2]
        yield item


def load_family_engine(
    path: Path, *, device: str = "auto", threads: int | None = None, voices: Path | None = None
) -> FamilyEngine:
    """Load a bundle of an official family.

    Args:
        voices: folder of added voices; None: the user's.

    Raises:
        BundleError: the bundle is damaged, or has no vocabulary.
        DeviceError: the device is not available, or the extra [family] is not installed.
    """
    model = load_family(path, device=device, threads=threads)
    added = None if voices is None else VoiceStore(model.manifest.family, voices)
    return FamilyEngine(path, model, load_reading(path, model.manifest), added)
