"""Speaks with the preset speakers of CosyVoice 1 (300M-SFT): text to segments, tokens, mel and waveform."""

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.filters import Biquad, soften_peaks
from cosylite.audio.values import AudioChunk, SentenceTiming, Speech
from cosylite.errors import BundleError, DeviceError, InputError
from cosylite.options import SynthesisOptions, Voice
from cosylite.runtime.family.flow import resize_frames, target_frames
from cosylite.runtime.family.manifest import TOKENIZER
from cosylite.runtime.family.model import FamilyModel, load_family
from cosylite.runtime.family.sampling import race, repetition_aware
from cosylite.text.family.normalise import FamilyText, wetext_verbaliser
from cosylite.text.family.tokenizers import Tokenizer, unpack, whisper_tokenizer

Array = NDArray[np.float32]

LANGUAGES = ("zh", "en", "ja", "ko")
QUIET = 10.0 ** (-50 / 20)
MARGIN_SECONDS = 0.04
"""Silence that trimming leaves at either edge."""


class FamilyEngine:
    """Speaks segment by segment. May be shared between threads; every call has its own state."""

    def __init__(self, model: FamilyModel, text: FamilyText, tokenizer: Tokenizer) -> None:
        self.model = model
        self._text, self._tokenizer = text, tokenizer

    @property
    def voices(self) -> tuple[Voice, ...]:
        """The preset speakers; a checkpoint says nothing about them but their names."""
        return tuple(Voice(name, "unknown", "unknown", LANGUAGES) for name in self.model.manifest.voices)

    @property
    def sample_rate(self) -> int:
        """Samples per second."""
        return self.model.manifest.sample_rate

    def say(self, text: str, options: SynthesisOptions) -> Speech:
        """The whole utterance; equal to the joined chunks of `stream`. Words have no times."""
        return Speech.of(list(self.stream(text, options)))

    def say_many(self, texts: Sequence[str], options: SynthesisOptions) -> list[Speech]:
        """Several texts, one after the other."""
        return [self.say(text, options) for text in texts]

    def stream(
        self, text: str | Iterable[str], options: SynthesisOptions, chunk_frames: int | None = None
    ) -> Generator[AudioChunk, None, None]:
        """One chunk per segment of the text. Pieces of text are waited for: this family needs the whole.

        Raises:
            InputError: an option, the voice or the text cannot be used.
            DeviceError: there is not enough memory for a segment.
        """
        if chunk_frames is not None:
            raise InputError(
                "CosyVoice 1 is spoken segment by segment; leave out chunk_frames",
                code="unsupported",
                param="chunk_frames",
            )
        row = self._row(options.voice)
        finish = _Finish(options, self.sample_rate)
        return self._stream(text, options, row, finish)

    def _stream(
        self, text: str | Iterable[str], options: SynthesisOptions, row: int, finish: "_Finish"
    ) -> Generator[AudioChunk, None, None]:
        segments = self._segments(text if isinstance(text, str) else "".join(text))
        spoken = 0
        for number, (segment, ids) in enumerate(segments):
            try:
                samples = self._speak(ids, row, options, number)
            except MemoryError as error:
                raise DeviceError(
                    "not enough memory for a sentence of this length; free some, or use shorter sentences",
                    code="no_memory",
                ) from error
            samples = finish(samples, first=number == 0)
            pause = finish.gap if number else 0
            rate = self.sample_rate
            heard = SentenceTiming(segment, (spoken + pause) / rate, (spoken + len(samples)) / rate)
            spoken += len(samples)
            yield AudioChunk(samples, rate, number, number == len(segments) - 1, (), (heard,))

    def _row(self, voice: str | None) -> int:
        names = self.model.manifest.voices
        if voice is None:
            return 0
        if voice not in names:
            raise InputError(
                f"unknown voice {voice!r}; voices of this bundle: {', '.join(names)}",
                code="unknown_voice",
                param="voice",
            )
        return names.index(voice)

    def _segments(self, text: str) -> list[tuple[str, list[int]]]:
        """Segments of a text and the ids of each."""
        found = [(segment, self._tokenizer.encode(segment)) for segment in self._text.segments(text)]
        found = [(segment, ids) for segment, ids in found if ids]
        if not found:
            raise InputError("the text has nothing to speak: give at least one word", code="empty_text", param="text")
        known = len(self.model.lm.text_table)
        for _, ids in found:
            if max(ids) >= known:
                raise InputError(
                    f"this model has no row for {self._tokenizer.decode([max(ids)])!r}; leave it out of the text",
                    code="unknown_piece",
                    param="text",
                )
        return found

    def _speak(self, ids: list[int], row: int, options: SynthesisOptions, number: int) -> Array:
        """Samples of one segment; every segment has chance of its own."""
        lm, flow, vocoder, noises = self.model.lm, self.model.flow, self.model.vocoder, self.model.noises
        embedding = np.array(self.model.voices[row : row + 1])
        chance = race(np.random.default_rng([options.seed, number]))
        tokens = lm.decode(ids, embedding=embedding, sampler=repetition_aware(lm.spec.sampling, chance))
        frames = target_frames(len(tokens), flow.spec.token_rate, flow.sample_rate, flow.samples_per_frame)
        seed = options.seed + number
        noise = noises.flow(frames, seed) * np.float32(options.noise_scale)
        no_prompt = np.zeros((1, 0), np.int64), np.zeros((1, 0, flow.spec.mel), np.float32)
        mel = flow(np.array([tokens]), *no_prompt, embedding, noise)
        if options.speed != 1:
            mel = resize_frames(mel, options.speed)
        samples = mel.shape[-1] * flow.samples_per_frame
        source = vocoder.excite(mel, noises.source(0, samples, seed), noises.phases(seed))
        wave: Array = vocoder(mel, source)[0]
        return wave


class _Finish:
    """What is done to the samples of every segment: edges, silence before it, filters, volume."""

    def __init__(self, options: SynthesisOptions, sample_rate: int) -> None:
        low, high = options.low_pass, options.high_pass
        if low is not None and low >= sample_rate / 2:
            raise InputError(
                f"low_pass must be below {sample_rate / 2:g} Hz for this bundle", code="out_of_range", param="low_pass"
            )
        self._options = options
        self._margin = round(MARGIN_SECONDS * sample_rate)
        self._filters = [] if high is None else [Biquad.high_pass(high, sample_rate)]
        self._filters += [] if low is None else [Biquad.low_pass(low, sample_rate)]
        self.gap = round(options.sentence_silence * sample_rate)
        """Samples of silence between segments."""

    def __call__(self, samples: Array, *, first: bool) -> Array:
        """Finished samples of a segment, after the silence that parts it from the one before."""
        samples = self._trimmed(samples) if self._options.trim else samples
        samples = samples if first else np.concatenate([np.zeros(self.gap, np.float32), samples])
        for stage in self._filters:
            samples = stage.push(samples)
        return soften_peaks(samples * np.float32(self._options.volume))[0]

    def _trimmed(self, samples: Array) -> Array:
        loud = np.flatnonzero(np.abs(samples) > QUIET)
        if not len(loud):
            return samples[: 2 * self._margin]
        return samples[max(0, int(loud[0]) - self._margin) : int(loud[-1]) + 1 + self._margin]


def load_family_engine(path: Path, *, device: str = "auto", threads: int | None = None) -> FamilyEngine:
    """Load a bundle of CosyVoice 1 with preset speakers.

    Raises:
        BundleError: the bundle is damaged, or has no preset speakers.
        DeviceError: the device is not available, or the extra [family] is not installed.
    """
    model = load_family(path, device=device, threads=threads)
    if model.manifest.family != "v1" or not model.manifest.voices:
        raise BundleError(
            f"bundle {path} has no preset speakers of CosyVoice 1; speaking with a prompt is not built in yet: convert"
            " CosyVoice-300M-SFT, or use the stages of this bundle through cosylite.runtime.load",
            code="unsupported_mode",
            param="bundle",
        )
    tokenizer = whisper_tokenizer(unpack((path / TOKENIZER).read_bytes()))
    chinese, other = wetext_verbaliser()
    text = FamilyText(lambda words: len(tokenizer.encode(words)), chinese, other)
    return FamilyEngine(model, text, tokenizer)
