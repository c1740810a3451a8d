"""Voices made from recordings: what the models need of a prompt, in a safetensors file each."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import BundleError, DeviceError, InputError, OutputError
from cosylite.runtime.family.kinds import FAMILIES, Family

Array = NDArray[np.float32]
Ids = NDArray[np.int32]

SUFFIX = ".safetensors"
FORMAT = "1"
_TENSORS = {"text": np.int32, "tokens": np.int32, "mel": np.float32, "speaker": np.float32}
MOST_BYTES = 200
"""Of a name: file systems take 255 for a whole file name."""
_NAME = re.compile(r"[^\W_](?:[\w .()+-]{0,62}[\w)+])?")


@dataclass(frozen=True)
class PromptVoice:
    """A voice, as heard in a recording."""

    name: str
    family: Family
    transcript: str
    """What is said in the recording, as given; "" where nobody said, or where only its ids are known."""
    text: Ids
    """(N,) text ids of the normalised transcript."""
    tokens: Ids
    """(P,) speech tokens."""
    mel: Array
    """(Q, bands); in v2 and v3 two frames for every token."""
    speaker: Array
    """(192,) vector of the speaker."""

    @property
    def transcribed(self) -> bool:
        """Whether it is known what the recording says, as zero-shot speech needs."""
        return bool(len(self.text))


def check_name(name: str) -> None:
    """Raise InputError unless a voice may have this name (it becomes the name of a file)."""
    if not _usable(name):
        raise InputError(
            f"a voice cannot be named {name!r}; use up to 64 letters, digits, spaces or any of _ - . + ( )",
            code="bad_voice_name",
            param="name",
        )


def _usable(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and len(name.encode()) <= MOST_BYTES


def voices_folder() -> Path:
    """Where the voices of a user lie, in one folder per family.

    Below `COSYLITE_CACHE_DIR` where that is set, else in the user's data folder.
    """
    chosen = os.environ.get("COSYLITE_CACHE_DIR")
    if chosen:
        return Path(chosen) / "voices"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "cosylite" / "voices"


class VoiceStore:
    """The voices of one family in a folder. Every bundle of the family can speak with them."""

    def __init__(self, family: Family, folder: Path | None = None) -> None:
        """`folder` holds the files themselves; None: the user's folder for the family."""
        self.family, self.folder = family, folder or voices_folder() / family

    def names(self) -> list[str]:
        """Names of the voices, sorted."""
        return sorted(path.name.removesuffix(SUFFIX) for path in self.folder.glob(f"*{SUFFIX}"))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _usable(name) and self.path(name).is_file()

    def path(self, name: str) -> Path:
        """The file of a voice."""
        return self.folder / f"{name}{SUFFIX}"

    def load(self, name: str) -> PromptVoice:
        """Read a voice; raises BundleError where its file is damaged or of another family."""
        return load_voice(self.path(name), self.family)

    def save(self, voice: PromptVoice) -> Path:
        """Write a voice, replacing one of its name.

        Raises:
            InputError: the name cannot be the name of a voice.
            OutputError: the file cannot be written.
        """
        check_name(voice.name)
        target = self.path(voice.name)
        new = target.with_suffix(".new")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            new.write_bytes(pack_voice(voice))
            new.replace(target)
        except OSError as error:
            raise OutputError(
                f"cannot write {target}: {error.strerror or error}", code="cannot_write", param="name"
            ) from error
        return target

    def remove(self, name: str) -> None:
        """Delete a voice.

        Raises:
            InputError: there is none of this name.
            OutputError: its file cannot be deleted.
        """
        if name not in self:
            known = ", ".join(self.names()) or "none"
            raise InputError(f"there is no added voice {name!r}; added: {known}", code="unknown_voice", param="name")
        try:
            self.path(name).unlink()
        except OSError as error:
            raise OutputError(
                f"cannot delete {self.path(name)}: {error.strerror or error}", code="cannot_write", param="name"
            ) from error


def pack_voice(voice: PromptVoice) -> bytes:
    """The content of a voice's file."""
    tensors = {name: np.ascontiguousarray(getattr(voice, name), kind) for name, kind in _TENSORS.items()}
    facts = {"format": FORMAT, "family": voice.family, "transcript": voice.transcript}
    packed: bytes = _safetensors().save(tensors, facts)
    return packed


def load_voice(path: Path, family: Family) -> PromptVoice:
    """Read the file of a voice.

    Raises:
        BundleError: the file is damaged, or of another family or format.
        OutputError: it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OutputError(
            f"cannot read {path}: {error.strerror or error}", code="cannot_read", param="voice"
        ) from error
    facts, tensors = _unpack(path, data)
    if facts.get("format") != FORMAT or facts.get("family") not in FAMILIES:
        raise _bad(path, "is no voice of this version")
    if facts["family"] != family:
        raise BundleError(
            f"{path} is a voice for {facts['family']}, this bundle is of {family}; add it anew with this bundle",
            code="wrong_family",
            param="voice",
        )
    shapes = {name: tensor.ndim for name, tensor in tensors.items()}
    if shapes != {"text": 1, "tokens": 1, "mel": 2, "speaker": 1} or any(
        tensors[name].dtype != kind for name, kind in _TENSORS.items()
    ):
        raise _bad(path, "is damaged")
    name = path.name.removesuffix(SUFFIX)
    return PromptVoice(name, family, facts.get("transcript", ""), **tensors)


def _unpack(path: Path, data: bytes) -> tuple[dict[str, str], Mapping[str, Any]]:
    safetensors = _safetensors()
    size = int.from_bytes(data[:8], "little")
    try:
        tensors = safetensors.load(data)
        facts = json.loads(data[8 : 8 + size]).get("__metadata__", {})
    except (_safetensors_error(), ValueError) as error:
        raise _bad(path, "is damaged") from error
    return facts, tensors


def _bad(path: Path, problem: str) -> BundleError:
    return BundleError(f"{path} {problem}; remove it and add the voice again", code="voice_damaged", param="voice")


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise DeviceError(
            "voices need safetensors; install cosylite[family]", code="missing_dependency", param="safetensors"
        ) from error
    return safetensors.numpy


def _safetensors_error() -> type[Exception]:
    from safetensors import SafetensorError

    return SafetensorError
