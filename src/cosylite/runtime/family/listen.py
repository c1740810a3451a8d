"""Hears a prompt as the official models do: speech tokens and speaker vector, by the official graphs as they are."""

import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.features import FLOW_MELS, SPEECH_RATE, prompt_mel, speaker_features, token_mel
from cosylite.audio.recordings import Recording
from cosylite.errors import BundleError, InputError
from cosylite.runtime.family.kinds import LISTENERS, SPEAKER_SIZE, Family
from cosylite.runtime.sessions import Counters, Stage

Array = NDArray[np.float32]
Ids = NDArray[np.int32]

FRAMES_PER_TOKEN = 2
"""Mel frames of a speech token in v2 and v3."""


@dataclass(frozen=True)
class Heard:
    """What the models need of a recording."""

    tokens: Ids
    """(P,)"""
    mel: Array
    """(Q, bands)"""
    speaker: Array
    """(192,)"""


class Listener:
    """The speech tokenizer and the speaker network of a bundle; loaded when first used, for several threads."""

    def __init__(self, folder: Path, family: Family, *, threads: int = 1) -> None:
        self._folder, self._family, self._threads = folder, family, threads
        self._lock = threading.Lock()
        self._stages: dict[str, Stage] = {}

    @property
    def available(self) -> bool:
        """Whether the bundle holds both graphs."""
        return all((self._folder / name).is_file() for name in LISTENERS[self._family])

    def hear(self, recording: Recording) -> Heard:
        """Everything about a prompt; in v2 and v3 tokens and mel are brought to the same length.

        Raises:
            BundleError: the bundle lacks the graphs, or they are not what their names say.
            InputError: nothing was heard.
        """
        settings = FLOW_MELS[self._family]
        mel = prompt_mel(recording.at(settings.sample_rate), settings).T
        tokens = self.tokens(recording)
        if self._family != "v1":
            count = min(len(mel) // FRAMES_PER_TOKEN, len(tokens))
            tokens, mel = tokens[:count], mel[: count * FRAMES_PER_TOKEN]
        return Heard(tokens, mel, self.speaker(recording))

    def tokens(self, recording: Recording) -> Ids:
        """Speech tokens (P,) of at most 30 s."""
        stage = self._stage(LISTENERS[self._family][0])
        mel = token_mel(recording.at(SPEECH_RATE))[None]
        feeds = dict(zip(stage.input_shapes(), (mel, np.array([mel.shape[-1]], np.int32)), strict=False))
        found = stage.run(list(stage.output_shapes())[:1], feeds)[0]
        if not found.size:
            raise InputError("no speech was found in the recording", code="no_speech", param="audio")
        return found.ravel().astype(np.int32)

    def speaker(self, recording: Recording) -> Array:
        """The speaker's vector (192,)."""
        stage = self._stage(LISTENERS[self._family][1])
        (name,) = stage.input_shapes()
        features = speaker_features(recording.at(SPEECH_RATE))[None]
        vector = stage.run(list(stage.output_shapes())[:1], {name: features})[0].ravel()
        if len(vector) != SPEAKER_SIZE:
            raise _unfit(stage.path, f"gives vectors of {len(vector)} numbers instead of {SPEAKER_SIZE}")
        return vector.astype(np.float32)

    def _stage(self, file: str) -> Stage:
        with self._lock:
            if file not in self._stages:
                self._stages[file] = self._open(file)
            return self._stages[file]

    def _open(self, file: str) -> Stage:
        path = self._folder / file
        if not path.is_file():
            raise BundleError(
                f"this bundle cannot hear recordings: it has no {file}; convert the model again with that file of the"
                " release in its folder",
                code="missing_listener",
                param="bundle",
            )
        stage = Stage(file, path, device="cpu", threads=self._threads, counters=Counters())
        wanted = 1 if file == LISTENERS[self._family][1] else 2
        if len(stage.input_shapes()) != wanted:
            raise _unfit(path, f"takes {len(stage.input_shapes())} inputs instead of {wanted}")
        return stage


def _unfit(path: Path, problem: str) -> BundleError:
    return BundleError(f"{path} {problem}; take the file of the release", code="bad_listener", param="bundle")
