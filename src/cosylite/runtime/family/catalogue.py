"""The voices that a bundle speaks with: its preset speakers, its saved ones, and those a user added."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.recordings import Recording, Source, read_recording
from cosylite.errors import BundleError, InputError
from cosylite.options import Voice
from cosylite.runtime.family.kinds import LANGUAGES, LISTENERS
from cosylite.runtime.family.listen import Listener
from cosylite.runtime.family.manifest import PROMPT_VOICES, TOKENIZER, VOICES, FamilyManifest, read_manifest
from cosylite.runtime.family.modes import AnyVoice, PresetVoice
from cosylite.runtime.family.voices import PromptVoice, VoiceStore, check_name
from cosylite.text.family.normalise import FamilyText, wetext_verbaliser
from cosylite.text.family.reading import Reading, family_tokenizer

Kind = Literal["preset", "saved", "added"]


class Catalogue:
    """The voices of one bundle, by name. May be shared between threads."""

    def __init__(
        self, path: Path, manifest: FamilyManifest, reading: Reading | None = None, added: VoiceStore | None = None
    ) -> None:
        """
        Args:
            reading: reads transcripts; without it no voice can be made.
            added: the voices of the user; None: those in the usual folder.
        """
        self._path, self._manifest, self._reading = path, manifest, reading
        self.saved = VoiceStore(manifest.family, path / PROMPT_VOICES)
        self.added = added or VoiceStore(manifest.family)
        self.listener = Listener(path, manifest.family)

    @property
    def names(self) -> list[str]:
        """Preset speakers, then saved voices, then added ones."""
        return list(dict.fromkeys([*self._manifest.voices, *self.saved, *self.added]))

    @property
    def voices(self) -> tuple[Voice, ...]:
        """The same; neither a checkpoint nor a recording says which language somebody speaks."""
        return tuple(Voice(name, "unknown", "unknown", LANGUAGES) for name in self.names)

    def kind(self, name: str) -> Kind:
        """Where a voice of this bundle comes from."""
        return "preset" if name in self._manifest.voices else "saved" if name in self.saved else "added"

    def get(self, name: str | None) -> AnyVoice:
        """A voice; None: the first one.

        Raises:
            InputError: there is none of this name, or none at all.
            BundleError: its file is damaged.
        """
        presets = self._manifest.voices
        known = self.names if name is None or name not in presets else [name]
        if name is None and known:
            name = known[0]
        if name in presets:
            return PresetVoice(name, self._preset(presets.index(name)))
        for store in (self.saved, self.added):
            if name is not None and name in store:
                return store.load(name)
        if not known:
            raise InputError(
                "this bundle has no voice yet; add one with `cosylite voice add NAME prompt.wav --text '...'`",
                code="no_voice",
                param="voice",
            )
        raise InputError(
            f"unknown voice {name!r}; voices of this bundle: {', '.join(known)}", code="unknown_voice", param="voice"
        )

    def heard(self, name: str, source: Source, text: str = "") -> PromptVoice:
        """A voice from a recording of 1 to 30 s, not kept.

        Args:
            text: what is said in it; "" where unknown.

        Raises:
            InputError: the recording, the text or the name cannot be used.
            BundleError: the bundle lacks the graphs that hear recordings.
            OutputError: the recording cannot be read.
        """
        check_name(name)
        recording = read_recording(source)
        ids = np.array(self._transcript(text), np.int32)
        heard = self.listener.hear(recording)
        self._check_tokens(heard.tokens)
        family = self._manifest.family
        return PromptVoice(name, family, text.strip(), ids, heard.tokens, heard.mel, heard.speaker)

    def tokens(self, recording: Recording) -> list[int]:
        """Speech tokens of at most 30 s of speech."""
        found = self.listener.tokens(recording)
        self._check_tokens(found)
        return [int(token) for token in found]

    def add(self, name: str, source: Source, text: str = "") -> Voice:
        """Make a voice and keep it; see `heard`. One of the same name that was added before is replaced."""
        check_name(name)
        if name in self._manifest.voices or name in self.saved:
            raise InputError(
                f"{name!r} is a voice of the bundle itself; choose another name", code="voice_exists", param="name"
            )
        self.added.save(self.heard(name, source, text))
        return Voice(name, "unknown", "unknown", LANGUAGES)

    def remove(self, name: str) -> None:
        """Forget a voice that was added.

        Raises:
            InputError: there is none of this name, or it belongs to the bundle.
            OutputError: its file cannot be deleted.
        """
        if name in self._manifest.voices or name in self.saved:
            raise InputError(
                f"{name!r} is a voice of the bundle itself and cannot be removed", code="voice_exists", param="name"
            )
        self.added.remove(name)

    def _transcript(self, text: str) -> list[int]:
        """Ids of what a recording says."""
        if not text.strip():
            return []
        if self._reading is None:
            raise no_vocabulary(self._path)
        return self._reading.encode(self._reading.text.normalise(text))

    def _preset(self, row: int) -> NDArray[np.float32]:
        table = np.load(self._path / f"{VOICES}.npy", mmap_mode="r", allow_pickle=False)
        return np.array(table[row], np.float32)

    def _check_tokens(self, tokens: NDArray[np.int32]) -> None:
        known = self._manifest.tokens.speech_tokens
        if tokens.min() < 0 or tokens.max() >= known:
            raise BundleError(
                f"{LISTENERS[self._manifest.family][0]} gives tokens up to {tokens.max()}, this model knows"
                f" {known}; take the file of the same release",
                code="bad_listener",
                param="bundle",
            )


def no_vocabulary(path: Path) -> BundleError:
    """The error for a bundle without vocabulary."""
    return BundleError(
        f"bundle {path} has no vocabulary and cannot read text; use its stages through cosylite.runtime.load",
        code="unsupported_mode",
        param="bundle",
    )


def load_reading(path: Path, manifest: FamilyManifest) -> Reading:
    """What reads text for a bundle.

    Raises:
        BundleError: the bundle has no vocabulary, or it is damaged.
        DeviceError: the extra [family] is not installed.
    """
    if TOKENIZER not in manifest.files:
        raise no_vocabulary(path)
    tokenizer = family_tokenizer((path / TOKENIZER).read_bytes(), manifest.family)
    chinese, other = wetext_verbaliser()
    rows = len(np.load(path / "text_table.npy", mmap_mode="r", allow_pickle=False))
    text = FamilyText(lambda words: len(tokenizer.encode(words)), chinese, other, tags=frozenset(tokenizer.specials))
    return Reading(tokenizer, text, rows=rows, family=manifest.family)


def load_catalogue(path: Path) -> Catalogue:
    """The voices of a bundle, without its models; raises what `load_reading` and `read_manifest` raise."""
    manifest = read_manifest(path)
    return Catalogue(path, manifest, load_reading(path, manifest))
