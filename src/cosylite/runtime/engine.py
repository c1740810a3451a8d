"""The engine: a loaded bundle and a text frontend, from text to chunks of audio."""

import os
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.values import AudioChunk, Speech
from cosylite.errors import InputError
from cosylite.options import SynthesisOptions, Voice, check_chunk_frames
from cosylite.runtime.assembly import Assembler, Begin, End, Event, Piece, Timeline
from cosylite.runtime.bundle import NANO_STAGES, load_bundle
from cosylite.runtime.nano import NanoModel, Plan, Reading, Voicing, render_batch
from cosylite.runtime.pipeline import Pipeline
from cosylite.runtime.stream import WHOLE_FRAMES, ChunkSizes, Task, flow_stage, render_in_chunks, vocoder_stage
from cosylite.runtime.tuning import remembered, tuned_model
from cosylite.runtime.voices import VoiceChoice
from cosylite.text.frontend import Frontend, symbol_sequence
from cosylite.text.lexicon import Lexicon
from cosylite.text.types import Sentence

Array = NDArray[np.float32]

SENTENCES_AHEAD = 2
PIECES_AHEAD = 4
CPU_ROWS, CPU_FRAMES = 2, 300
"""Rows and frames (padding included) that a processor renders together: more would not fit its caches."""
DEVICE_ROWS, DEVICE_FRAMES = 16, 4000
"""The same for other devices, which larger batches keep busy."""
PLANNED_TOGETHER = 16
MAX_THREADS = 256


class Engine:
    """Speaks text. May be shared between threads; every call has its own state."""

    def __init__(self, model: NanoModel, frontend: Frontend, forgiving: Frontend) -> None:
        """`forgiving` is the frontend that leaves out scripts it cannot read."""
        self.model = model
        self._single_threaded: NanoModel | None = None
        self._loading = threading.Lock()
        self._frontend, self._forgiving = frontend, forgiving

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Voices of the bundle."""
        listed = self.model.bundle.manifest.voices.list
        return tuple(Voice(spec.name, spec.gender, spec.native, spec.languages) for spec in listed)

    @property
    def sample_rate(self) -> int:
        """Samples per second."""
        return self.model.bundle.manifest.sample_rate

    def frontend(self, options: SynthesisOptions) -> Frontend:
        """The frontend for these options."""
        return self._forgiving if options.skip_unknown else self._frontend

    def stream(
        self, text: str | Iterable[str], options: SynthesisOptions, chunk_frames: int | None = None
    ) -> Generator[AudioChunk, None, None]:
        """Chunks of audio while they are made; closing the iterator cancels what is under way.

        Args:
            text: a text, or pieces of one that may arrive late.
            chunk_frames: frames (20 ms) to compute at a time; None: few at first, then more.

        Raises:
            InputError: an option, the voice or the text cannot be used. What the text is found guilty of, only once
                the iterator gets there.
        """
        check_chunk_frames(chunk_frames)
        choice = self._choice(text, options)
        return self._stream(text, options, choice, ChunkSizes(chunk_frames))

    def say(self, text: str, options: SynthesisOptions) -> Speech:
        """The whole utterance; equal to the joined chunks of `stream`."""
        choice = self._choice(text, options)
        return Speech.of(list(self._stream(text, options, choice, ChunkSizes(WHOLE_FRAMES))))

    def say_many(self, texts: Sequence[str], options: SynthesisOptions) -> list[Speech]:
        """Several texts together, in order; each equal to `say` of it."""
        if isinstance(texts, str):
            raise InputError("say_many takes a list of texts, not one", code="invalid_text", param="texts")
        tasks = [list(self._tasks(text, options, self._choice(text, options), PLANNED_TOGETHER)) for text in texts]
        rendered = self.render([task for group in tasks for task in group], [_voicing(options)] * sum(map(len, tasks)))
        samples = iter(rendered)
        return [Speech.of(list(self._assembled(_complete(group, samples), options, hold_end=True))) for group in tasks]

    def speak_sentence(
        self, sentence: Sentence, options: SynthesisOptions, chunk_frames: int | None = None
    ) -> Generator[AudioChunk, None, None]:
        """One sentence in this thread, step by step: the pause after it is included only where it is explicit."""
        check_chunk_frames(chunk_frames)
        choice = VoiceChoice(self.model.bundle.manifest, options.voice, options.lang, None)
        tasks = self._plan([sentence], choice, options)
        events = flow_stage(self.model, iter(tasks), ChunkSizes(chunk_frames), _voicing(options))
        return self._assembled(vocoder_stage(self.model, events, _voicing(options)), options, hold_end=True)

    def speak_sentences(self, items: Sequence[tuple[Sentence, SynthesisOptions]]) -> list[AudioChunk]:
        """Whole sentences together, each with options of its own and equal to the chunks of `speak_sentence`."""
        manifest = self.model.bundle.manifest
        tasks = [
            self._plan([sentence], VoiceChoice(manifest, options.voice, options.lang, None), options)[0]
            for sentence, options in items
        ]
        samples = iter(self.render(tasks, [_voicing(options) for _, options in items]))
        speeches = [
            Speech.of(list(self._assembled(_complete([task], samples), options, hold_end=True)))
            for task, (_, options) in zip(tasks, items, strict=True)
        ]
        return [AudioChunk(s.samples, s.sample_rate, 0, True, s.words, s.sentences) for s in speeches]

    def plan(self, sentence: Sentence, options: SynthesisOptions) -> Task:
        """Durations of a sentence, before any sound is made."""
        choice = VoiceChoice(self.model.bundle.manifest, options.voice, options.lang, None)
        return self._plan([sentence], choice, options)[0]

    def render(self, tasks: Sequence[Task], voicings: Sequence[Voicing]) -> list[Array]:
        """Samples of every task that has words, in order.

        They are computed in groups of similar length, one group per processor thread at a time: that keeps the threads
        busier than sharing the work of every matrix among them.
        """
        spoken = [(task.plan, voicing) for task, voicing in zip(tasks, voicings, strict=True) if task.plan is not None]
        results: list[Array] = [np.zeros(0, np.float32)] * len(spoken)
        workers = min(len(spoken), self.model.flow.threads)
        model = self.model if workers <= 1 else self._worker_model()
        on_processor = self.model.flow.device.startswith(("cpu", "openvino"))
        limits = (CPU_ROWS, CPU_FRAMES) if on_processor else (DEVICE_ROWS, DEVICE_FRAMES)
        groups = _groups([plan.length for plan, _ in spoken], workers, *limits)

        def run(group: list[int]) -> None:
            rendered = self._render_group(model, [spoken[i][0] for i in group], [spoken[i][1] for i in group])
            for i, samples in zip(group, rendered, strict=True):
                results[i] = samples

        if workers <= 1:
            for group in groups:
                run(group)
            return results
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(run, groups))
        return results

    def _worker_model(self) -> NanoModel:
        """The model with one thread per call, loaded at its first use."""
        with self._loading:
            if self._single_threaded is None:
                self._single_threaded = self.model.single_threaded()
            return self._single_threaded

    def _render_group(self, model: NanoModel, plans: Sequence[Plan], voicings: Sequence[Voicing]) -> list[Array]:
        """Samples of sentences rendered together; in smaller parts where memory does not suffice."""
        try:
            return render_batch(model, plans, voicings)
        except MemoryError:
            model.guardian.halved(sum(plan.length for plan in plans))
        if len(plans) == 1:
            return [render_in_chunks(model, plans[0], voicings[0])]
        half = len(plans) // 2
        first = self._render_group(model, plans[:half], voicings[:half])
        return first + self._render_group(model, plans[half:], voicings[half:])

    def _choice(self, text: str | Iterable[str], options: SynthesisOptions) -> VoiceChoice:
        if not isinstance(text, Iterable) or isinstance(text, (bytes, bytearray)):
            raise InputError(
                f"text must be a string or pieces of text, not {type(text).__name__}", code="invalid_text", param="text"
            )
        options.refuse_family_options()
        known = text if isinstance(text, str) else None
        return VoiceChoice(self.model.bundle.manifest, options.voice, options.lang, known)

    def _stream(
        self, text: str | Iterable[str], options: SynthesisOptions, choice: VoiceChoice, sizes: ChunkSizes
    ) -> Generator[AudioChunk, None, None]:
        whole, voicing = isinstance(text, str), _voicing(options)
        with Pipeline() as pipeline:
            tasks = pipeline.ahead(self._tasks(text, options, choice, 1), SENTENCES_AHEAD, wait=whole)
            features = flow_stage(self.model, tasks, sizes, voicing, pipeline.check)
            pieces = pipeline.ahead(features, PIECES_AHEAD)
            samples = pipeline.ahead(vocoder_stage(self.model, pieces, voicing, pipeline.check), PIECES_AHEAD)
            yield from self._assembled(samples, options, hold_end=whole)

    def _tasks(
        self, text: str | Iterable[str], options: SynthesisOptions, choice: VoiceChoice, together: int
    ) -> Iterator[Task]:
        waiting: list[Sentence] = []
        for sentence in self.frontend(options).iterate(text, lang=options.lang):
            waiting.append(sentence)
            if len(waiting) >= together:
                yield from self._plan(waiting, choice, options)
                waiting = []
        if waiting:
            yield from self._plan(waiting, choice, options)

    def _plan(self, sentences: Sequence[Sentence], choice: VoiceChoice, options: SynthesisOptions) -> list[Task]:
        """Tasks of sentences, whose durations are predicted together."""
        spoken = [sentence for sentence in sentences if sentence.words]
        symbols = [_symbols(sentence) for sentence in spoken]
        readings = [
            Reading("".join(symbol for symbol, _ in pairs), choice.voice(sentence).mix, options.speed * sentence.rate)
            for sentence, pairs in zip(spoken, symbols, strict=True)
        ]
        plans = self.model.plan(readings) if readings else []
        planned = iter(
            Task(sentence, plan, Timeline.of(sentence, pairs, plan))
            for sentence, pairs, plan in zip(spoken, symbols, plans, strict=True)
        )
        return [next(planned) if sentence.words else Task(sentence, None, None) for sentence in sentences]

    def _assembled(
        self, events: Iterator[Event], options: SynthesisOptions, *, hold_end: bool
    ) -> Generator[AudioChunk, None, None]:
        return Assembler(options, self.model.guardian).chunks(events, hold_end=hold_end)


def _symbols(sentence: Sentence) -> list[tuple[str, int]]:
    """Symbols of a sentence between the two boundary spaces that the model expects."""
    inner = symbol_sequence(sentence)
    return [(" ", 0), *inner, (" ", inner[-1][1])]


def _voicing(options: SynthesisOptions) -> Voicing:
    return Voicing(options.seed, options.noise_scale)


def _complete(tasks: Sequence[Task], samples: Iterator[Array]) -> Iterator[Event]:
    """Events of tasks whose samples are complete."""
    for task in tasks:
        yield Begin(task.sentence, task.timeline)
        if task.plan is not None:
            yield Piece(next(samples))
            yield End()


def _groups(lengths: Sequence[int], workers: int, most_rows: int, most_frames: int) -> list[list[int]]:
    """Indices in groups of similar length, long ones first, so that workers end at about the same time."""
    rows = max(1, min(most_rows, len(lengths) // (2 * max(1, workers))))
    groups: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        last = groups[-1] if groups else None
        if last is not None and len(last) < rows and (len(last) + 1) * lengths[last[0]] <= most_frames:
            last.append(i)
        else:
            groups.append([i])
    return groups


def check_threads(threads: int | None) -> None:
    """Raise InputError unless None or a number of threads that makes sense."""
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise InputError(
            f"threads must be between 1 and {MAX_THREADS}, not {threads}", code="out_of_range", param="threads"
        )


def load_engine(
    bundle: str | os.PathLike[str],
    *,
    device: str = "auto",
    devices: Mapping[str, str] | None = None,
    threads: int | None = None,
    lexicon: Mapping[str, str] | Lexicon | None = None,
    default_han: Literal["zh", "ja"] = "zh",
) -> Engine:
    """Load a bundle and a frontend; see `cosylite.TTS`."""
    unknown = sorted(set(devices or {}) - set(NANO_STAGES))
    if unknown:
        raise InputError(
            f"unknown stage {unknown[0]!r} in devices; stages: {', '.join(NANO_STAGES)}",
            code="unknown_stage",
            param="devices",
        )
    check_threads(threads)
    loaded = load_bundle(bundle)
    setting = remembered(loaded) if device == "auto" and not devices and threads is None else None
    if setting is None:
        model = NanoModel(loaded, device=device, devices=devices, threads=threads)
    else:
        model = tuned_model(loaded, setting)
    frontend = Frontend(lexicon, default_han)
    return Engine(model, frontend, frontend.forgiving())
