"""The nano model: three graphs, and the arithmetic between them.

    symbols -> [text] -> durations, states -> [flow, several steps] -> mel, pitch, voicing -> [vocoder] -> samples

Everything that belongs to an utterance lives in a `Plan`, a `FlowStream` or a `VocoderStream`; the model itself never
changes. Every graph is causal and hands on its state, so chunks of any size give what one whole run gives.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import BundleError
from cosylite.runtime.bundle import Bundle
from cosylite.runtime.durations import Conditioning, Ints, is_letter, repair_durations, whole_frames
from cosylite.runtime.guardian import MOST_ATTEMPTS, Guardian
from cosylite.runtime.noise import normal_frames
from cosylite.runtime.sessions import Counters, Stage, choose_device, default_threads
from cosylite.runtime.source import Excitation, silent_frames
from cosylite.runtime.stft import BINS, FRAME, IstftStream
from cosylite.runtime.voices import Mix

Array = NDArray[np.float32]
Halt = Callable[[], None]
"""Called between steps; raises to stop the work."""

VOICED = 0.0
"""The flow draws voicing as -1 or 1; above this is voiced."""


@dataclass(frozen=True)
class Plan:
    """What the text stage says about a sentence, before any sound is made.

    Attributes:
        frames: whole frames per symbol, (N,).
        states: encoder state per symbol, (N, C).
    """

    frames: Ints
    states: Array
    conditioning: Conditioning

    @property
    def length(self) -> int:
        """Frames of the sentence (20 ms each)."""
        return len(self.conditioning.index)


@dataclass(frozen=True)
class Reading:
    """A sentence for the text stage: symbols, the row of the voice or a mix of rows, and the speaking rate."""

    symbols: str
    voice: int | Mix
    speed: float = 1.0


@dataclass(frozen=True)
class Voicing:
    """Numbers that shape the sound of a sentence."""

    seed: int = 0
    noise_scale: float = 1.0


def never() -> None:
    """The `Halt` that never stops."""


class NanoModel:
    """A loaded nano bundle. Methods may be called from several threads."""

    def __init__(
        self,
        bundle: Bundle,
        *,
        device: str = "auto",
        devices: Mapping[str, str] | None = None,
        threads: int | None = None,
        counters: Counters | None = None,
        times: Sequence[float] | None = None,
    ) -> None:
        """Open the three graphs; `times` replaces the times of the flow.

        Raises:
            BundleError: a graph is damaged or does not have the shapes of a nano model.
            DeviceError: a device is not available.
        """
        manifest = bundle.manifest
        self.bundle, self.counters = bundle, counters or Counters()
        self.text, self.flow, self.vocoder = (
            Stage(
                name,
                bundle.file(manifest.stages[name]),
                device=choose_device((devices or {}).get(name, device)),
                threads=threads or default_threads(),
                counters=self.counters,
            )
            for name in ("text", "flow", "vocoder")
        )
        self._voices = bundle.voice_table()
        self._ids = {symbol: i + 1 for i, symbol in enumerate(manifest.symbols)}  # 0 is padding
        self.width = manifest.mel.bands + 2
        self.flow_state = _state_shape(self.flow)
        self.vocoder_state = _state_shape(self.vocoder)
        self.times = np.array(times or manifest.flow.times, dtype=np.float32)
        self.lookahead = manifest.vocoder.lookahead
        self._silence = np.array([*manifest.vocoder.pad, 0.0, -1.0], dtype=np.float32)
        self.guardian = Guardian(self.counters, self._silence)

    def single_threaded(self) -> "NanoModel":
        """The same model with one thread per call, for callers that run several calls at the same time."""
        devices = {stage.name: stage.device for stage in (self.text, self.flow, self.vocoder)}
        return NanoModel(
            self.bundle, devices=devices, threads=1, counters=self.counters, times=[float(t) for t in self.times]
        )

    def plan(self, readings: Sequence[Reading]) -> list[Plan]:
        """Durations and states of sentences, run together; equal to one by one."""
        lengths = np.array([len(reading.symbols) for reading in readings], dtype=np.int64)
        tokens = np.zeros((len(readings), lengths.max()), dtype=np.int64)
        for row, reading in zip(tokens, readings, strict=True):
            row[: len(reading.symbols)] = [self._id(symbol) for symbol in reading.symbols]
        feeds = {"tokens": tokens, "lengths": lengths, "voice": np.stack([self._voice(r.voice) for r in readings])}
        try:
            durations, states = self.text.run(("durations", "states"), feeds)
        except MemoryError:
            self.guardian.halved(len(readings))
            half = len(readings) // 2
            return self.plan(readings[:half]) + self.plan(readings[half:])
        return [
            self._plan(reading, durations[i, :n], states[i, :n])
            for i, (reading, n) in enumerate(zip(readings, lengths, strict=True))
        ]

    def _voice(self, voice: int | Mix) -> Array:
        """Vector (D,) of a voice or a mix."""
        mix = ((voice, 1.0),) if isinstance(voice, int) else voice
        shares = np.array([share for _, share in mix], np.float32)
        vector: Array = shares @ self._voices[[row for row, _ in mix]]
        return vector

    def _id(self, symbol: str) -> int:
        try:
            return self._ids[symbol]
        except KeyError:
            raise BundleError(
                f"the bundle has no symbol {symbol!r} that the text needs: use a bundle made for this version",
                code="unknown_symbol",
            ) from None

    def _plan(self, reading: Reading, durations: Array, states: Array) -> Plan:
        repaired, count = repair_durations(durations)
        self.guardian.saw_durations(count)
        letters = np.array([is_letter(symbol) for symbol in reading.symbols])
        frames = whole_frames(repaired, letters, reading.speed)
        return Plan(frames, states, Conditioning.of(frames))

    def velocity(self, x: Array, cond: Array, position: Array, time: float, state: Array) -> tuple[Array, Array]:
        """One evaluation of the flow: velocity (B, T, 82) and next state."""
        feeds = {"x": x, "cond": cond, "position": position, "time": np.array([time], np.float32), "state": state}
        velocity, next_state = self.flow.run(("velocity", "next_state"), feeds)
        return velocity, next_state

    def spectrum(self, features: Array, harmonic: Array, noise: Array, state: Array) -> tuple[Array, Array]:
        """One run of the vocoder graph on features (B, T, 82): spectrum (B, 2T, 962) and next state."""
        bands = self.width - 2
        pitch = features[..., bands:].copy()
        pitch[..., 1] = pitch[..., 1] > VOICED
        feeds = {"mel": features[..., :bands], "pitch": pitch, "harmonic": harmonic, "noise": noise, "state": state}
        spectrum, next_state = self.vocoder.run(("spectrum", "next_state"), feeds)
        return spectrum, next_state

    def pitch(self, features: Array) -> tuple[Array, NDArray[np.bool_]]:
        """F0 in Hz and voicing, each (T,), of features (T, 82)."""
        spec = self.bundle.manifest.pitch
        log_f0 = np.clip(features[:, -2] * spec.std + spec.mean, 3.0, 7.3)
        return np.exp(log_f0), features[:, -1] > VOICED

    def silence(self, count: int) -> Array:
        """Unvoiced frames of silence, (count, 82)."""
        return np.tile(self._silence, (count, 1))


class FlowStream:
    """One sentence on its way from noise to features, any number of frames at a time.

    Where a frame is bad, it and all later ones are drawn again from other noise. The frames before it were good and
    stay, so that the result depends on the frames alone, never on how they were pushed.
    """

    def __init__(self, model: NanoModel, plan: Plan, voicing: Voicing) -> None:
        self._model, self._plan, self._voicing = model, plan, voicing
        self._states = [np.zeros((1, *model.flow_state), np.float32) for _ in model.times[1:]]
        self._attempt = 0
        self.done = 0
        """Frames given out."""

    @property
    def left(self) -> int:
        """Frames still to come."""
        return self._plan.length - self.done

    def push(self, count: int, halt: Halt = never) -> Array:
        """The next `count` frames (fewer at the end): features (n, 82)."""
        count = min(count, self.left)
        if not count:
            return np.zeros((0, self._model.width), np.float32)
        try:
            features, states = self._evaluate(count, halt)
        except MemoryError:
            self._model.guardian.halved(count)
            half = count // 2
            return np.concatenate([self.push(half, halt), self.push(count - half, halt)])
        bad = self._model.guardian.first_bad(features) if self._attempt < MOST_ATTEMPTS else None
        if bad is not None:
            good = self.push(bad, halt)
            self._attempt += 1
            self._model.guardian.resampled()
            return np.concatenate([good, self.push(count - bad, halt)])
        self._states = states
        self.done += count
        return self._model.guardian.checked_features(features)

    def _evaluate(self, count: int, halt: Halt) -> tuple[Array, list[Array]]:
        model, rows = self._model, slice(self.done, self.done + count)
        index = self._plan.conditioning.index[rows]
        cond, position = self._plan.states[index][None], self._plan.conditioning.position[rows][None]
        x = _noise(model, self.done, count, self._voicing, self._attempt)[None]
        states = []
        for step, state in enumerate(self._states):
            halt()
            start, end = model.times[step], model.times[step + 1]
            velocity, next_state = model.velocity(x, cond, position, float(start), state)
            x = x + (end - start) * velocity
            states.append(next_state)
        return x[0], states


class VocoderStream:
    """One sentence on its way from features to samples; lags by the vocoder's look-ahead and one frame."""

    def __init__(self, model: NanoModel, *, seed: int) -> None:
        self._model = model
        self._state = np.zeros((1, *model.vocoder_state), np.float32)
        self._excitation = Excitation(seed=seed)
        self._istft = IstftStream()
        delay = silent_frames(2 * model.lookahead)
        self._harmonic, self._noise = [delay], [delay]
        self._drop = 2 * model.lookahead

    def push(self, features: Array, halt: Halt = never) -> Array:
        """Take features (n, 82); give the samples that are complete."""
        if not len(features):
            return np.zeros(0, np.float32)
        self._extend(*self._excitation.push(*self._model.pitch(features)))
        return self._istft.push(self._spectrum(features, halt))

    def finish(self, halt: Halt = never) -> Array:
        """The samples still owed."""
        self._extend(*self._excitation.finish())
        spectrum = self._spectrum(self._model.silence(self._model.lookahead), halt)
        return np.concatenate([self._istft.push(spectrum), self._istft.finish()])

    def _extend(self, harmonic: Array, noise: Array) -> None:
        self._harmonic.append(harmonic)
        self._noise.append(noise)

    def _spectrum(self, features: Array, halt: Halt) -> Array:
        halt()
        try:
            spectrum = self._evaluate(features)
        except MemoryError:
            self._model.guardian.halved(len(features))
            half = len(features) // 2
            return np.concatenate([self._spectrum(features[:half], halt), self._spectrum(features[half:], halt)])
        dropped = min(self._drop, len(spectrum))
        self._drop -= dropped
        return spectrum[dropped:]

    def _evaluate(self, features: Array) -> Array:
        count = 2 * len(features)
        harmonic, noise = np.concatenate(self._harmonic), np.concatenate(self._noise)
        spectrum, self._state = self._model.spectrum(
            features[None], harmonic[None, :count], noise[None, :count], self._state
        )
        self._harmonic, self._noise = [harmonic[count:]], [noise[count:]]
        return self._model.guardian.checked_spectrum(spectrum[0])


def render_batch(model: NanoModel, plans: Sequence[Plan], voicings: Sequence[Voicing]) -> list[Array]:
    """Samples of whole sentences, run together as rows; equal to streaming each."""
    features = _flow_batch(model, plans, voicings)
    for row, plan, voicing in zip(features, plans, voicings, strict=True):
        if model.guardian.first_bad(row[: plan.length]) is not None:  # rare: the sentence goes its own way
            row[: plan.length] = FlowStream(model, plan, voicing).push(plan.length)
    return _vocode_batch(model, features, [plan.length for plan in plans], [voicing.seed for voicing in voicings])


def _flow_batch(model: NanoModel, plans: Sequence[Plan], voicings: Sequence[Voicing]) -> Array:
    rows, longest = len(plans), max(plan.length for plan in plans)
    cond = np.zeros((rows, longest, plans[0].states.shape[1]), np.float32)
    position = np.zeros((rows, longest, 2), np.float32)
    x = np.zeros((rows, longest, model.width), np.float32)
    for i, (plan, voicing) in enumerate(zip(plans, voicings, strict=True)):
        cond[i, : plan.length] = plan.states[plan.conditioning.index]
        position[i, : plan.length] = plan.conditioning.position
        x[i, : plan.length] = _noise(model, 0, plan.length, voicing)
    zero = np.zeros((rows, *model.flow_state), np.float32)
    for start, end in zip(model.times[:-1], model.times[1:], strict=True):
        velocity, _ = model.velocity(x, cond, position, float(start), zero)
        x = x + (end - start) * velocity
    return x


def _noise(model: NanoModel, start: int, count: int, voicing: Voicing, attempt: int = 0) -> Array:
    """What the flow starts from, (count, 82)."""
    drawn = normal_frames(start, count, model.width, seed=voicing.seed, attempt=attempt)
    return drawn * np.float32(voicing.noise_scale)


def _vocode_batch(model: NanoModel, features: Array, lengths: Sequence[int], seeds: Sequence[int]) -> list[Array]:
    rows, delay = len(lengths), 2 * model.lookahead
    fed = np.tile(model.silence(features.shape[1] + model.lookahead), (rows, 1, 1))
    harmonic = np.zeros((rows, 2 * fed.shape[1], 2 * BINS), np.float32)
    noise = np.zeros_like(harmonic)
    for i, length in enumerate(lengths):
        fed[i, :length] = model.guardian.checked_features(features[i, :length])
        excitation = Excitation(seed=seeds[i])
        parts = (excitation.push(*model.pitch(fed[i, :length])), excitation.finish())
        window = slice(delay, delay + 2 * length)
        harmonic[i, window] = np.concatenate([part[0] for part in parts])
        noise[i, window] = np.concatenate([part[1] for part in parts])
    spectrum, _ = model.spectrum(fed, harmonic, noise, np.zeros((rows, *model.vocoder_state), np.float32))
    return [_to_samples(model, spectrum[i, delay : delay + 2 * length]) for i, length in enumerate(lengths)]


def _to_samples(model: NanoModel, spectrum: Array) -> Array:
    inverse = IstftStream()
    samples = np.concatenate([inverse.push(model.guardian.checked_spectrum(spectrum)), inverse.finish()])
    return samples[: len(spectrum) // 2 * FRAME]


def _state_shape(stage: Stage) -> tuple[int, int]:
    """Rows and width of the state a graph hands on, from its declared input (batch, rows, width)."""
    shape = stage.input_shapes().get("state", ())
    if len(shape) != 3 or not isinstance(shape[1], int) or not isinstance(shape[2], int):
        raise BundleError(
            f"stage {stage.name} must have an input 'state' of shape (batch, rows, width), not {shape}",
            code="bundle_damaged",
            param="bundle",
        )
    return shape[1], shape[2]
