"""From speech tokens to samples: the flow and vocoder of one segment, chunk by chunk."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.family.chunks import (
    Chunker,
    TokenChunk,
    WholeChunker,
    exact_chunker,
    official_chunker,
)
from cosylite.runtime.family.exact import ExactVocoder
from cosylite.runtime.family.flow import resize_frames, target_frames
from cosylite.runtime.family.model import STEPS, FamilyModel
from cosylite.runtime.family.modes import Conditions
from cosylite.runtime.family.streaming import official_joiner
from cosylite.runtime.family.tokens import Seeds

Array = NDArray[np.float32]

Streaming = Literal["whole", "official", "exact", "bounded"]
"""Whole: every segment at once, with full attention, as the official code does where it does not stream."""
WINDOW_SECONDS = 4.0
"""What bounded streaming shows the flow of the speech before a chunk."""


@dataclass(frozen=True)
class Voicing:
    """How the tokens of one segment become sound."""

    streaming: Streaming
    seeds: Seeds
    speed: float = 1.0
    noise_scale: float = 1.0
    steps: int = STEPS


class Renderer(Protocol):
    """Flow and vocoder of one segment."""

    def push(self, chunk: TokenChunk) -> Array:
        """Samples (N,) that a chunk completes."""
        ...


def plan(
    model: FamilyModel, given: Conditions, voicing: Voicing, *, whole: bool, chunk_frames: int | None = None
) -> tuple[Chunker, Renderer]:
    """How a segment is cut and rendered.

    Args:
        whole: nobody waits for the first sound. Bounded streaming is cut all the same, since its cuts are heard.
        chunk_frames: frames per chunk (v2, v3), rounded up to attention chunks.
    """
    family, spec, prompt = model.manifest.family, model.flow.spec, given.flow_tokens.shape[1]
    official = voicing.streaming == "official"
    # The official code changes the speed of whole segments only.
    if voicing.streaming == "whole" or (official and (whole or voicing.speed != 1)):
        return WholeChunker(), WholeRenderer(model, given, voicing)
    if official:
        if family == "v1":
            return official_chunker(family, prompt), OverlapRenderer(model, given, voicing)
        return official_chunker(family, prompt), OfficialRenderer(model, given, voicing)
    if whole and voicing.streaming == "exact":
        return WholeChunker(), ExactRenderer(model, given, voicing)
    window = round(WINDOW_SECONDS * spec.token_rate) if voicing.streaming == "bounded" else None
    hop = None if chunk_frames is None else -(-chunk_frames // spec.frames_per_token)
    grid = spec.frame_chunk // spec.frames_per_token
    chunker = exact_chunker(prompt, grid, spec.look_ahead, hop=hop, window=window)
    return chunker, ExactRenderer(model, given, voicing)


def first_tokens(model: FamilyModel, given: Conditions, voicing: Voicing) -> int | None:
    """Tokens that there must be before a stream of a segment begins; None: it is always rendered at once."""
    return plan(model, given, voicing, whole=False)[0].needed


class _Renderer:
    """What all renderers have."""

    def __init__(self, model: FamilyModel, given: Conditions, voicing: Voicing) -> None:
        self._model, self._given, self._voicing = model, given, voicing
        self._seed = voicing.seeds.noise()
        self._frame = model.flow.samples_per_frame

    def _noise(self, frames: int, seed: int) -> Array:
        """Noise (1, bands, prompt + frames) from which the flow starts."""
        noise = self._model.noises.flow(self._given.flow_mel.shape[1] + frames, seed)
        return noise * np.float32(self._voicing.noise_scale)

    def _mel(
        self,
        tokens: list[int],
        noise: Array,
        *,
        streaming: bool = False,
        final: bool = True,
        cache: Array | None = None,
    ) -> tuple[Array, Array | None]:
        given = self._given
        return self._model.flow.continued(
            np.array([tokens], np.int64),
            given.flow_tokens,
            given.flow_mel,
            given.speaker,
            noise,
            streaming,
            final,
            steps=self._voicing.steps,
            cache=cache,
        )


class WholeRenderer(_Renderer):
    """A segment at once, as the official code does without streaming."""

    def push(self, chunk: TokenChunk) -> Array:
        """See `Renderer`."""
        if not chunk.tokens:
            return np.zeros(0, np.float32)
        flow, vocoder, noises = self._model.flow, self._model.vocoder, self._model.noises
        frames = len(chunk.tokens) * flow.spec.frames_per_token or target_frames(
            len(chunk.tokens), flow.spec.token_rate, flow.sample_rate, self._frame
        )
        mel = self._mel(chunk.tokens, self._noise(frames, self._seed))[0]
        if self._voicing.speed != 1:
            mel = resize_frames(mel, self._voicing.speed)
        noise = noises.source(0, mel.shape[-1] * self._frame, self._seed)
        phases = noises.phases(self._seed) if self._model.manifest.family == "v1" else None
        wave: Array = vocoder(mel, vocoder.excite(mel, noise, phases))[0]
        return wave


class ExactRenderer(_Renderer):
    """v2 and v3: attention limited to chunks to the very end, so that chunks equal the whole."""

    def __init__(self, model: FamilyModel, given: Conditions, voicing: Voicing) -> None:
        super().__init__(model, given, voicing)
        self._stretch = StretchStream(voicing.speed)
        noises, seed = model.noises, self._seed
        self._vocoder = ExactVocoder(model.vocoder, lambda start, count: noises.source(start, count, seed))

    def push(self, chunk: TokenChunk) -> Array:
        """See `Renderer`."""
        mel = self._stretch.push(self._frames(chunk), final=chunk.final)
        wave: Array = self._vocoder.push(mel, final=chunk.final)[0]
        return wave

    def _frames(self, chunk: TokenChunk) -> Array:
        """The new frames (1, bands, T) of a chunk."""
        spec, prompt = self._model.flow.spec, self._given.flow_mel.shape[1]
        if len(chunk.tokens) <= chunk.done:
            return np.zeros((1, spec.mel, 0), np.float32)
        dropped = chunk.dropped * spec.frames_per_token
        noise = self._noise(dropped + len(chunk.tokens) * spec.frames_per_token, self._seed)
        noise = np.concatenate([noise[..., :prompt], noise[..., prompt + dropped :]], -1)
        mel = self._mel(chunk.tokens, noise, streaming=True, final=chunk.final)[0]
        return mel[..., chunk.done * spec.frames_per_token :]


class OfficialRenderer(_Renderer):
    """v2 and v3 as the official code streams: the last chunk sees everything."""

    def __init__(self, model: FamilyModel, given: Conditions, voicing: Voicing) -> None:
        super().__init__(model, given, voicing)
        kept = 0 if model.manifest.family == "v3" else 8
        self._joiner = official_joiner(model.manifest.family, _Vocoder(model, self._seed, kept), self._frame)

    def push(self, chunk: TokenChunk) -> Array:
        """See `Renderer`."""
        per_token = self._model.flow.spec.frames_per_token
        if not chunk.tokens:
            return np.zeros(0, np.float32)
        noise = self._noise(len(chunk.tokens) * per_token, self._seed)
        mel = self._mel(chunk.tokens, noise, streaming=not chunk.final, final=chunk.final)[0]
        wave: Array = self._joiner.push(mel[..., chunk.done * per_token :], final=chunk.final)[0]
        return wave


class OverlapRenderer(_Renderer):
    """v1 as the official code streams: chunks overlap in tokens, mel and audio, and are faded into each other."""

    def __init__(self, model: FamilyModel, given: Conditions, voicing: Voicing) -> None:
        super().__init__(model, given, voicing)
        self._joiner = official_joiner("v1", _Vocoder(model, self._seed, 20), self._frame)
        self._cache: Array | None = None
        self._number = 0

    def push(self, chunk: TokenChunk) -> Array:
        """See `Renderer`."""
        flow = self._model.flow
        if not chunk.tokens:
            return np.zeros(0, np.float32)
        frames = target_frames(len(chunk.tokens), flow.spec.token_rate, flow.sample_rate, self._frame)
        noise = self._noise(frames, self._voicing.seeds.noise(self._number))
        mel, self._cache = self._mel(chunk.tokens, noise, cache=self._cache)
        self._number += 1
        wave: Array = self._joiner.push(mel, final=chunk.final)[0]
        return wave


class _Vocoder:
    """A vocoder for the joiners of official streaming, whose noise goes on from call to call."""

    def __init__(self, model: FamilyModel, seed: int, kept: int) -> None:
        """`kept`: frames that each mel repeats of the one before; v3 repeats all, and passes 0."""
        self._vocoder, self._noises, self._seed, self._kept = model.vocoder, model.noises, seed, kept
        self._phases = model.noises.phases(seed) if model.manifest.family == "v1" else None
        self._frame, self._start = model.flow.samples_per_frame, 0

    def excite(self, mel: Array, *, finalize: bool) -> Array:
        """See `streaming.Vocoder`."""
        noise = self._noises.source(self._start * self._frame, mel.shape[-1] * self._frame, self._seed)
        if self._kept:
            self._start += mel.shape[-1] - self._kept
        return self._vocoder.excite(mel, noise, self._phases, finalize=finalize)

    def decode(self, mel: Array, source: Array, *, finalize: bool) -> Array:
        """See `streaming.Vocoder`."""
        return self._vocoder.decode(mel, source, finalize=finalize)


class StretchStream:
    """Stretches a mel that arrives in chunks: linear interpolation between frames, as `resize` does for a whole."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._mel: Array | None = None
        self._first = 0  # frame at which it begins
        self._done = 0  # frames given out

    def push(self, mel: Array, *, final: bool) -> Array:
        """Frames (1, bands, N) that the next frames (1, bands, T) complete: int(T / speed) of all T in the end."""
        if self._speed == 1:
            return mel
        known = mel if self._mel is None else np.concatenate([self._mel, mel], -1)
        total = self._first + known.shape[-1]
        count = int(total / self._speed)
        index = np.arange(self._done, count)
        place = np.maximum((index + 0.5) * self._speed - 0.5, 0.0)
        if not final:
            place = place[place <= total - 2]
        left = np.minimum(place.astype(np.int64), max(total - 1, 0))
        right = np.minimum(left + 1, max(total - 1, 0))
        weight = (place - left).astype(np.float32)
        out = known[..., left - self._first] * (1 - weight) + known[..., right - self._first] * weight
        self._done += len(place)
        after = max((self._done + 0.5) * self._speed - 0.5, 0.0)
        keep = min(max(int(after) - self._first, 0), known.shape[-1])
        self._mel, self._first = known[..., keep:], self._first + keep
        stretched: Array = out.astype(np.float32)
        return stretched
