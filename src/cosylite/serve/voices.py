"""Voice names: the bundle's own, OpenAI's thirteen as aliases, and voices that callers added.

Added voices live as two files each (`<id>.json`, `<id>.wav`) in one folder; ids are made here, so nothing a caller
sends ever becomes part of a path.
"""

import hashlib
import io
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile

from cosylite.errors import InputError, OutputError
from cosylite.serve.engine import Engine, Prompt, VoiceInfo
from cosylite.serve.errors import ServeError

OPENAI_VOICES = {
    "alloy": None,
    "ash": "male",
    "ballad": "male",
    "cedar": "male",
    "coral": "female",
    "echo": "male",
    "fable": "male",
    "marin": "female",
    "nova": "female",
    "onyx": "male",
    "sage": "female",
    "shimmer": "female",
    "verse": "male",
}
"""The names of OpenAI's voices and the gender of the voice that stands in; None: the bundle's default voice."""
PROMPT_SECONDS = (1.0, 30.0)
PROMPT_RATES = (8000, 96000)
_NAME = re.compile(r"[\w][\w .-]{0,63}")
_ID = re.compile(r"voice_[0-9a-f]{16}")


@dataclass(frozen=True)
class AddedVoice:
    """What is kept of a voice that a caller added."""

    id: str
    name: str
    consent: str
    text: str
    digest: str
    seconds: float
    created: float
    owner: str


def pick_voice(engine: Engine, name: str | None) -> str | None:
    """The engine's voice id for a name of the bundle or of OpenAI; "" is the default voice; None: unknown."""
    if not name:
        return ""
    folded = name.casefold()
    for voice in engine.voices:
        if folded in (voice.id.casefold(), voice.name.casefold()):
            return voice.id
    if folded not in OPENAI_VOICES:
        return None
    gender = OPENAI_VOICES[folded]
    if gender is None:
        return ""
    fitting = [voice.id for voice in engine.voices if voice.gender == gender]
    rank = [alias for alias, other in OPENAI_VOICES.items() if other == gender].index(folded)
    return fitting[rank % len(fitting)] if fitting else ""


def read_prompt(data: bytes, text: str, param: str) -> Prompt:
    """Check an uploaded recording and make it mono.

    Raises:
        InputError: not audio, of the wrong length or rate, or silent; with `param`.
    """
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate, frames = file.samplerate, file.frames
            if not PROMPT_RATES[0] <= rate <= PROMPT_RATES[1] or not 1 <= file.channels <= 8:
                raise InputError(
                    "the recording must have 1 to 8 channels at 8 to 96 kHz", code="invalid_audio", param=param
                )
            low, high = PROMPT_SECONDS
            if not low * rate <= frames <= high * rate:
                raise InputError(
                    f"the recording must be {low:g} to {high:g} seconds long",
                    code="invalid_audio",
                    param=param,
                )
            samples = file.read(frames, dtype="float32", always_2d=True).mean(axis=1)
    except (soundfile.LibsndfileError, RuntimeError, ValueError) as error:
        raise InputError(
            "the recording cannot be read; send WAV, FLAC, OGG or MP3", code="invalid_audio", param=param
        ) from error
    if not np.isfinite(samples).all() or float(np.abs(samples).max(initial=0.0)) < 1e-3:
        raise InputError("the recording is silent", code="invalid_audio", param=param)
    return Prompt(samples, rate, text, hashlib.sha256(data).hexdigest())


class VoiceStore:
    """Voices that callers added, kept across restarts. All methods but `get` and `list` block on the disk.

    What is kept is the recording: every bundle that can clone hears it when the voice first speaks.

    Raises:
        OutputError: the folder cannot be used.
    """

    def __init__(self, folder: str, limit: int) -> None:
        self._folder = Path(folder) if folder else None
        self._limit = limit
        self._voices: dict[str, tuple[AddedVoice, Prompt]] = {}
        self._changing = threading.Lock()
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(
                    f"the folder {folder} for voices cannot be made: {error.strerror}",
                    code="voices_folder",
                    param="voices_dir",
                ) from error
            for path in sorted(self._folder.glob("voice_*.json")):
                self._load(path)

    @property
    def on(self) -> bool:
        """Whether voices can be added."""
        return self._folder is not None

    def list(self) -> list[AddedVoice]:
        """All added voices, oldest first."""
        return sorted((voice for voice, _ in self._voices.values()), key=lambda voice: (voice.created, voice.id))

    def get(self, name: str) -> tuple[AddedVoice, Prompt] | None:
        """An added voice by id or name."""
        if name in self._voices:
            return self._voices[name]
        folded = name.casefold()
        return next((entry for entry in self._voices.values() if entry[0].name.casefold() == folded), None)

    def add(
        self, name: str, consent: str, text: str, data: bytes, owner: str, learn: Callable[[Prompt], None]
    ) -> AddedVoice:
        """Check and keep a recording.

        Args:
            learn: tries the recording with the model; what it raises, `add` raises.

        Raises:
            InputError: a field or the recording is not usable.
            ServeError: the quota is used up, or the name is taken.
            OutputError: the voice cannot be written.
        """
        folder = self._require_folder()
        if not _NAME.fullmatch(name):
            raise InputError(
                "name must be 1 to 64 letters, digits, spaces, dots, dashes", code="invalid_name", param="name"
            )
        if consent.strip().casefold() in ("", "false", "0", "no", "off"):
            raise InputError(
                "consent is required: state that the speaker agreed, or give the id of the record",
                code="consent_required",
                param="consent",
            )
        with self._changing:
            self._check_room(name)
            prompt = read_prompt(data, text, "audio_sample")
            learn(prompt)
            voice = AddedVoice(
                "voice_" + secrets.token_hex(8),
                name,
                consent.strip()[:200],
                text,
                prompt.digest,
                round(len(prompt.samples) / prompt.sample_rate, 3),
                time.time(),
                owner,
            )
            _write(folder, voice, prompt)
            self._voices[voice.id] = (voice, prompt)
        return voice

    def delete(self, name: str) -> AddedVoice:
        """Remove a voice.

        Raises:
            ServeError: 404 if there is none.
        """
        folder = self._require_folder()
        entry = self.get(name)
        if entry is None:
            raise ServeError(f"no added voice {name[:80]!r}", status=404, code="voice_not_found", param="name")
        voice = entry[0]
        self._voices.pop(voice.id, None)
        (folder / f"{voice.id}.json").unlink(missing_ok=True)
        (folder / f"{voice.id}.wav").unlink(missing_ok=True)
        return voice

    def _check_room(self, name: str) -> None:
        if self.get(name) is not None:
            raise ServeError(f"a voice named {name!r} exists", status=409, code="voice_exists", param="name")
        if len(self._voices) >= self._limit:
            raise ServeError(
                f"no more than {self._limit} voices can be added; delete one first", status=403, code="voice_quota"
            )

    def _require_folder(self) -> Path:
        if self._folder is None:
            raise ServeError("adding voices is off; the operator sets --voices-dir", status=403, code="voices_off")
        return self._folder

    def _load(self, path: Path) -> None:
        try:
            voice = AddedVoice(**json.loads(path.read_text(encoding="utf-8")))
            if not _ID.fullmatch(voice.id) or voice.id != path.stem:
                raise ValueError("id and file name differ")
            samples, rate = soundfile.read(path.with_suffix(".wav"), dtype="float32")
        except (OSError, ValueError, TypeError, soundfile.LibsndfileError) as error:
            raise OutputError(
                f"the voice file {path} is damaged: {error}; move it away", code="voice_damaged", param="voices_dir"
            ) from error
        self._voices[voice.id] = (voice, Prompt(samples, rate, voice.text, voice.digest))


def _write(folder: Path, voice: AddedVoice, prompt: Prompt) -> None:
    """The recording first: a voice is there once its description is."""
    temporary = folder / f".{voice.id}.tmp"
    try:
        soundfile.write(folder / f"{voice.id}.wav", prompt.samples, prompt.sample_rate, subtype="FLOAT")
        temporary.write_text(json.dumps(asdict(voice), ensure_ascii=False), encoding="utf-8")
        os.replace(temporary, folder / f"{voice.id}.json")
    except (OSError, soundfile.LibsndfileError) as error:
        raise OutputError(
            "the voice cannot be written; the operator looks after --voices-dir",
            code="voices_folder",
            param="voices_dir",
        ) from error


def resolve_voice(engine: Engine, store: VoiceStore, name: str | None) -> tuple[str, Prompt | None]:
    """Engine voice and prompt for what a caller asked for.

    Raises:
        InputError: no such voice, a blend that cannot be read, or an added voice on a bundle that cannot clone.
    """
    known = pick_voice(engine, name)
    if known is not None:
        return known, None
    added = store.get(name or "")
    if added is not None:
        if not engine.can_clone:
            raise InputError(
                f"the model {engine.name} cannot speak with added voices", code="unknown_voice", param="voice"
            )
        return added[0].id, added[1]
    blend = engine.blend(name or "")
    if blend is not None:
        return blend, None
    names = ", ".join([voice.id for voice in engine.voices] + [voice.id for voice in store.list()])
    raise InputError(
        f"unknown voice {(name or '')[:80]!r}; known are {names} and OpenAI's voice names",
        code="unknown_voice",
        param="voice",
    )


def listing(engine: Engine, store: VoiceStore) -> list[VoiceInfo]:
    """All voices of an engine, own and added."""
    own = list(engine.voices)
    if engine.can_clone:
        own += [VoiceInfo(voice.id, voice.name, engine.languages, None, "cloned") for voice in store.list()]
    return own
