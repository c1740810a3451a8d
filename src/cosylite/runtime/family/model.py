"""The three stages of an official family on ONNX Runtime."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import DeviceError
from cosylite.runtime.bundle import damaged
from cosylite.runtime.family.decode import OFFICIAL_LIMITS, ControlIds, Limits, Prompt, Rows, decode
from cosylite.runtime.family.flow import EDGE_FRAMES, cosine_times, euler, euler_steps, resize, segments, target_frames
from cosylite.runtime.family.manifest import (
    STAGES,
    VOICES,
    FamilyManifest,
    FlowSpec,
    TokenSpec,
    VocoderSpec,
    read_manifest,
)
from cosylite.runtime.family.memory import Memory
from cosylite.runtime.family.noise import FIXED, FLOW, SOURCE, Noises
from cosylite.runtime.family.places import Places
from cosylite.runtime.family.sampling import Sampler, greedy, race, repetition_aware
from cosylite.runtime.family.source import HarmonicSource
from cosylite.runtime.family.stft import source_spectrum, waveform
from cosylite.runtime.family.times import FlowTimes
from cosylite.runtime.openvino_engine import PRECISIONS
from cosylite.runtime.sessions import Counters, Stage, choose_device, default_threads

Array = NDArray[np.float32]
Ids = NDArray[np.integer[Any]]
Tokens = Sequence[int] | Ids
"""Ids of one text; arrays of any shape are read in order."""

STEPS = 10
"""Evaluations of the estimator in the official models."""
USUAL_STEPS = (2, 4, STEPS)
"""Their flow times are worked out when a bundle is loaded, others when they are asked for."""
WHOLE = 1 << 30
"""A chunk longer than any sequence: full attention."""
BRIEF = ("time", "places")
"""Graphs that are loaded for a moment only, to work out what holds for all sentences."""


@dataclass(frozen=True)
class TokenModel:
    """The language model; see `decode.TokenModel` for what its methods mean."""

    spec: TokenSpec
    step: Stage
    text_stage: Stage | None
    """v1: the text encoder."""
    places: Places | None
    """v1: what it knows of distances."""
    text_table: Array
    speech_table: Array
    control: Array
    """(2, width): the rows that open a sequence and that ask for speech."""
    speaker_layer: tuple[Array, Array] | None
    """v1: matrix (speaker size, width) and bias."""

    @property
    def controls(self) -> ControlIds:
        """Ids beyond the speech tokens."""
        return ControlIds(self.spec.speech_tokens, self.spec.end, self.spec.fill, self.spec.end_of_prompt)

    def text(self, ids: Sequence[int]) -> Rows:
        """Rows (N, width) of text ids."""
        rows: Rows = self.text_table[list(ids)].astype(np.float32)
        if self.text_stage is None or not len(ids):
            return rows if self.text_stage is None else self.control[:0]
        encoded: Rows = self.text_stage.run(["rows"], {"text": rows[None]})[0][0]
        return encoded

    def speech(self, ids: Sequence[int]) -> Rows:
        """Rows (N, width) of speech tokens."""
        rows: Rows = self.speech_table[list(ids)].astype(np.float32)
        return rows

    def speaker(self, embedding: Array) -> Rows:
        """No row or one, from speaker vectors (0 or 1, size)."""
        if self.speaker_layer is None or not len(embedding):
            return self.control[:0]
        weight, bias = self.speaker_layer
        unit = embedding / np.maximum(np.linalg.norm(embedding, axis=1, keepdims=True), 1e-12)
        rows: Rows = unit @ weight + bias
        return rows

    def decode(
        self,
        text: Tokens,
        prompt_text: Tokens = (),
        prompt_tokens: Tokens = (),
        embedding: Array | None = None,
        sampler: Literal["ras", "greedy"] | Sampler = "ras",
        seed: int = 0,
        *,
        limits: Limits = OFFICIAL_LIMITS,
    ) -> list[int]:
        """Speech tokens of a text.

        Args:
            text, prompt_text: text ids.
            prompt_tokens: speech tokens of the prompt.
            embedding: speaker vectors (0 or 1, size); only v1 listens to them.
            sampler: repetition-aware sampling as the model was trained for, the likeliest token, or one of your own.
            seed: decides what "ras" draws.
            limits: least and greatest length.
        """
        words, before, speech = ([int(i) for i in np.ravel(ids)] for ids in (text, prompt_text, prompt_tokens))
        speaker = np.zeros((0, 1), np.float32) if embedding is None else embedding
        if isinstance(sampler, str):
            chance = race(np.random.default_rng(seed))
            sampler = greedy if sampler == "greedy" else repetition_aware(self.spec.sampling, chance)
        return list(decode(self, Prompt(words, before, speech, speaker), sampler, limits))

    def start_row(self) -> Rows:
        """The row that opens a sequence."""
        return self.control[:1]

    def task_row(self) -> Rows:
        """The row that asks for speech."""
        return self.control[1:]

    def open(self, capacity: int) -> Memory:
        """Empty memory of one sequence; it grows as needed."""
        return Memory(self.spec.layers, self.spec.heads, self.spec.head_size)

    def feed(self, rows: Rows, state: Memory) -> Array:
        """Log-probabilities (vocabulary,) after feeding rows (N, width)."""
        logp: Array = self.feed_batch([rows], state)[0]
        return logp

    def feed_batch(self, rows: Sequence[Rows], state: Memory) -> Array:
        """Feed every sequence of a batch its next rows, at least one each; log-probabilities (B, vocabulary)."""
        fresh = np.array([len(r) for r in rows], np.int64)
        state.make_room(int(fresh.max()))
        if (fresh == 1).all() or not state.lengths.any():
            scores = self._step(rows, fresh, state, slice(None))
        else:  # the graph takes several rows at once for new sequences only, or for one
            each = [slice(i, i + 1) for i in range(len(rows))]
            scores = np.concatenate([self._step(rows[one], fresh[one], state, one) for one in each])
        state.advance(fresh)
        top = scores.max(-1, keepdims=True)
        out: Array = scores - top - np.log(np.exp(scores - top).sum(-1, keepdims=True))
        return out

    def _step(self, rows: Sequence[Rows], fresh: NDArray[np.int64], state: Memory, part: slice) -> Array:
        padded = np.zeros((len(rows), int(fresh.max()), self.spec.width), np.float32)
        for row, new in enumerate(rows):
            padded[row, : len(new)] = new
        feeds: dict[str, NDArray[Any]] = {"rows": padded, "cached": state.lengths[part], "fresh": fresh}
        if self.places is not None:
            feeds |= self.places.feeds(state.capacity)
        return self.step.run_in_place(["scores"], feeds, state.buffers(part))[0]


@dataclass(frozen=True)
class Flow:
    """Speech tokens to mel."""

    spec: FlowSpec
    encoder: Stage
    times: FlowTimes
    estimator: Stage
    regulator: Stage | None
    """v1."""
    sample_rate: int
    samples_per_frame: int

    def __call__(
        self,
        tokens: Ids,
        prompt_tokens: Ids,
        prompt_feat: Array,
        embedding: Array,
        noise: Array,
        streaming: bool = False,
        finalize: bool = True,
        *,
        steps: int = STEPS,
    ) -> Array:
        """Mel (1, mel, T) of the target.

        Args:
            tokens, prompt_tokens: (1, N) and (1, P) ids.
            prompt_feat: (1, Q, mel), the mel of the prompt.
            embedding: (1, size), the speaker.
            noise: (1, mel, at least Q + T); its head is used.
            streaming: limit attention to chunks (v2, v3).
            finalize: the last tokens end the text; otherwise they are only looked at (v2, v3).
            steps: evaluations of the estimator.
        """
        return self.continued(tokens, prompt_tokens, prompt_feat, embedding, noise, streaming, finalize, steps=steps)[0]

    def continued(
        self,
        tokens: Ids,
        prompt_tokens: Ids,
        prompt_feat: Array,
        embedding: Array,
        noise: Array,
        streaming: bool = False,
        finalize: bool = True,
        *,
        steps: int = STEPS,
        cache: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """As the call, with what v1 needs to join chunks: `cache` (1, mel, Q + 34, 2) holds noise and condition of the
        prompt and of the last frames before; the one for the next chunk is returned too (v2, v3: None)."""
        mu, speaker = self.condition(tokens, prompt_tokens, prompt_feat, embedding, streaming, finalize)
        prompt = prompt_feat.shape[1]
        noise = noise[..., : mu.shape[-1]]
        if self.regulator is not None:
            noise, mu, cache = _resume(noise, mu, prompt, cache)
        hint = np.zeros_like(mu)
        hint[..., :prompt] = prompt_feat.transpose(0, 2, 1)
        chunk = self.spec.frame_chunk if streaming else WHOLE
        times = euler_steps(cosine_times(steps))
        self.times.prepare([step.time for step in times])
        mel = euler(lambda x, time: self.velocity(x, time, mu, speaker, hint, chunk), noise, times)
        return mel[..., prompt:], cache

    def velocity(self, x: Array, time: float, mu: Array, speaker: Array, hint: Array, chunk: int) -> Array:
        """Velocity (1, mel, T) with classifier-free guidance; the unconditional row shares the call.

        Models whose guidance was distilled away (0) take one row.
        """
        guidance = np.float32(self.spec.guidance)
        feeds: dict[str, NDArray[np.generic]] = {"x": x, "mu": mu, "speaker": speaker, "prompt": hint}
        if guidance:
            feeds = {name: np.concatenate([v, v if name == "x" else np.zeros_like(v)]) for name, v in feeds.items()}
        feeds["step"] = self.times.at(time)
        if self.spec.frame_chunk:
            feeds["chunk"] = np.array(chunk, np.int64)
        rows = self.estimator.run(["velocity"], feeds)[0]
        out: Array = (1 + guidance) * rows[:1] - guidance * rows[1:] if guidance else rows
        return out

    def condition(
        self,
        tokens: Ids,
        prompt_tokens: Ids,
        prompt_feat: Array,
        embedding: Array,
        streaming: bool,
        finalize: bool,
    ) -> tuple[Array, Array]:
        """What the estimator is told of prompt and target, (1, mel, frames), and of the speaker, (1, mel)."""
        joined = np.concatenate([prompt_tokens, tokens], 1).astype(np.int64)
        feeds: dict[str, NDArray[np.generic]] = {"embedding": embedding}
        if self.regulator is not None:
            states, speaker = self.encoder.run(["states", "speaker"], feeds | {"tokens": joined})
            at_rate = self._spread(states.transpose(0, 2, 1), prompt_tokens.shape[1], prompt_feat.shape[1])
            return self.regulator.run(["mu"], {"states": at_rate})[0], speaker
        ahead = self.spec.look_ahead
        feeds["known"] = np.array(not finalize, np.float32)
        feeds["tokens"] = joined if finalize else joined[:, :-ahead]
        feeds["future"] = np.zeros((1, ahead), np.int64) if finalize else joined[:, -ahead:]
        if self.spec.token_chunk:
            feeds["chunk"] = np.array(self.spec.token_chunk if streaming else WHOLE, np.int64)
        mu, speaker = self.encoder.run(["mu", "speaker"], feeds)
        return mu, speaker

    def _spread(self, states: Array, prompt_tokens: int, prompt_frames: int) -> Array:
        """v1: states (1, mel, P + N) to the frame rate."""
        prompt, target = states[..., :prompt_tokens], states[..., prompt_tokens:]
        tokens = target.shape[-1]
        frames = target_frames(tokens, self.spec.token_rate, self.sample_rate, self.samples_per_frame)
        parts = [resize(target[..., a:b], size) for a, b, size in segments(tokens, frames)]
        return np.concatenate([resize(prompt, prompt_frames), *parts], -1)


def _resume(noise: Array, mu: Array, prompt: int, cache: Array | None) -> tuple[Array, Array, Array]:
    """Put the cached head into noise and condition; also the cache for the next chunk."""
    if cache is not None:
        size = cache.shape[2]
        noise = np.concatenate([cache[..., 0], noise[..., size:]], -1)
        mu = np.concatenate([cache[..., 1], mu[..., size:]], -1)
    kept = [np.concatenate([x[..., :prompt], x[..., -EDGE_FRAMES:]], -1) for x in (noise, mu)]
    return noise, mu, np.stack(kept, -1)


@dataclass(frozen=True)
class Vocoder:
    """Mel to waveform; see `streaming.Vocoder`."""

    spec: VocoderSpec
    bands: int
    pitch_stage: Stage
    filter_stage: Stage
    source: HarmonicSource

    def __call__(self, mel: Array, source: Array) -> Array:
        """Waveform (1, samples) of a complete mel (1, bands, T) and its excitation (1, 1, samples)."""
        return self.decode(mel, source)

    def pitch(self, mel: Array, *, finalize: bool = True) -> Array:
        """Pitch (1, T) in Hz of a mel (1, bands, T); without `finalize` the last frames are only looked at (v3)."""
        return self.pitch_stage.run(["f0"], {"mel": _look_right(mel, self.spec.pitch_look_right, finalize)})[0]

    def excite(self, mel: Array, noise: Array, phases: Array | None = None, *, finalize: bool = True) -> Array:
        """Excitation (1, 1, samples) of a mel; noise and phases as in `HarmonicSource`."""
        return self.source(self.pitch(mel, finalize=finalize), noise, phases)

    def decode(self, mel: Array, source: Array, *, finalize: bool = True) -> Array:
        """Waveform (1, samples) of a mel (1, bands, T) and its excitation.

        In v3 without `finalize` the excitation is that of the first T - 3 frames, and the waveform has T - 8.
        """
        spec = self.spec
        spectrum = source_spectrum(source, spec.n_fft, spec.hop)
        if not finalize and spec.look_right:
            mel = mel[..., : -spec.pitch_look_right]
            spectrum = spectrum[..., : -spec.look_right * self.source.config.samples_per_frame // spec.hop]
        feeds = {"mel": _look_right(mel, spec.look_right, finalize), "source": spectrum}
        wave = waveform(self.filter_stage.run(["rows"], feeds)[0], spec.n_fft, spec.hop, spec.limit)
        unfinished = spec.look_right and not finalize
        return wave[:, : -self.source.config.samples_per_frame] if unfinished else wave


def _look_right(mel: Array, frames: int, finalize: bool) -> Array:
    return np.pad(mel, ((0, 0), (0, 0), (0, frames if finalize else 0)))


@dataclass(frozen=True)
class FamilyModel:
    """A loaded bundle of an official family."""

    manifest: FamilyManifest
    lm: TokenModel
    flow: Flow
    vocoder: Vocoder
    noises: Noises
    voices: Array
    """(voices, size): vectors of the preset speakers that the manifest names."""
    counters: Counters
    """Of unusual events, such as those that the guardian repaired."""


def load_family(path: Path, *, device: str = "cpu", threads: int | None = None) -> FamilyModel:
    """Load a bundle of an official family.

    Args:
        device: those of OpenVINO take the vocoder only, where its convolutions pay.

    Raises:
        BundleError: the bundle is missing, damaged or of another kind.
        DeviceError: the device is not available.
    """
    if device == "cuda-graph":
        raise DeviceError(
            "the sizes of CosyVoice change with every step, so CUDA graphs are of no use; use device 'cuda'",
            code="unsupported_device",
            param="device",
        )
    manifest = read_manifest(path)
    counters, device = Counters(), choose_device(device)

    def load(name: str) -> Stage:
        return Stage(
            name,
            path / f"{name}.onnx",
            device="cpu" if device in PRECISIONS and name != "vocoder" else device,
            threads=threads or default_threads(),
            counters=counters,
            large=True,
            spin=True,
            brief=name in BRIEF,
        )

    times = FlowTimes(lambda: load("time"))
    usual = {step.time for steps in USUAL_STEPS for step in euler_steps(cosine_times(steps))}
    times.prepare(sorted(usual))  # while nothing else needs memory
    stages = {name: load(name) for name in STAGES[manifest.family] if name not in BRIEF}

    def table(name: str) -> Array:
        values: Array = np.load(path / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return values

    speaker = (table("speaker_weight"), table("speaker_bias")) if manifest.family == "v1" else None
    tables = (table("text_table"), table("speech_table"), table("control"))
    places = Places(lambda: load("places"), manifest.tokens.layers) if manifest.family == "v1" else None
    lm = TokenModel(manifest.tokens, stages["lm"], stages.get("text"), places, *tables, speaker)
    frame = manifest.vocoder.source.samples_per_frame
    regulator = stages.get("regulator")
    flow = Flow(manifest.flow, stages["encoder"], times, stages["estimator"], regulator, manifest.sample_rate, frame)
    mix = table("source_mix")
    source = HarmonicSource(manifest.vocoder.source, mix[:-1], float(mix[-1]))
    vocoder = Vocoder(manifest.vocoder, manifest.flow.mel, stages["pitch"], stages["vocoder"], source)
    fixed = {name: table(name) for name in FIXED[manifest.family]}
    noises = Noises(manifest.flow.mel, source.config.sines, fixed.get(FLOW), fixed.get(SOURCE))
    voices = table(VOICES) if manifest.voices else np.zeros((0, 1), np.float32)
    if voices.ndim != 2 or len(voices) != len(manifest.voices):
        raise damaged(path, f"{VOICES}.npy must have one row for every voice")
    return FamilyModel(manifest, lm, flow, vocoder, noises, voices, counters)
