"""Bundles: a folder of data that is a model. Read with every check that can be made, never executed."""

import hashlib
import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import BundleError
from cosylite.runtime.records import record

FORMAT = 1
MANIFEST = "bundle.json"
NANO_STAGES = ("text", "flow", "vocoder")


@dataclass(frozen=True)
class MelSpec:
    """The mel spectrogram: `mean` and `std` (bands,) of the natural-log magnitude."""

    bands: int
    n_fft: int
    hop: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True)
class PitchSpec:
    """Mean and standard deviation of the natural logarithm of F0 in Hz."""

    mean: float
    std: float


@dataclass(frozen=True)
class FlowSpec:
    """Times at which the flow is evaluated: from 0 (noise) to 1, one more than steps."""

    times: tuple[float, ...]


@dataclass(frozen=True)
class VocoderSpec:
    """`lookahead`: mel frames the vocoder needs beyond the one it draws; `pad`: a normalised mel frame of silence."""

    lookahead: int
    pad: tuple[float, ...]


@dataclass(frozen=True)
class VoiceSpec:
    """A voice: `native` is the language of its speaker, `row` its line in the voices file."""

    name: str
    gender: str
    native: str
    languages: tuple[str, ...]
    row: int


@dataclass(frozen=True)
class VoicesSpec:
    """`default`: voice name per language, and ``"mixed"``."""

    file: str
    list: tuple[VoiceSpec, ...]
    default: dict[str, str]


@dataclass(frozen=True)
class FileSpec:
    """Expected size and SHA-256 (hex) of a file."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class NanoManifest:
    """`bundle.json` of the family ``nano``."""

    format: int
    family: str
    name: str
    revision: str
    licence: str
    sample_rate: int
    languages: tuple[str, ...]
    symbols: tuple[str, ...]
    stages: dict[str, str]
    mel: MelSpec
    pitch: PitchSpec
    flow: FlowSpec
    vocoder: VocoderSpec
    voices: VoicesSpec
    files: dict[str, FileSpec]
    measured: dict[str, Any]


@dataclass(frozen=True)
class Bundle:
    """A bundle whose files have been checked."""

    path: Path
    manifest: NanoManifest

    def file(self, name: str) -> Path:
        """Path of a file of the bundle."""
        return self.path / name

    def voice_table(self) -> NDArray[np.float32]:
        """Voice vectors, shape (voices, D)."""
        try:
            table = np.load(self.file(self.manifest.voices.file), allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise damaged(self.path, f"{self.manifest.voices.file} is not a NumPy array file") from error
        if not isinstance(table, np.ndarray) or table.ndim != 2 or table.dtype != np.float32:
            raise damaged(self.path, f"{self.manifest.voices.file} must be a float32 array of two dimensions")
        if len(table) <= max(voice.row for voice in self.manifest.voices.list):
            raise damaged(self.path, f"{self.manifest.voices.file} has fewer rows than the voices that are listed")
        return table


def bundles_folder() -> Path:
    """Where the bundles that come with the package lie."""
    return Path(__file__).resolve().parent.parent / "bundles"


def cache_folder() -> Path:
    """Where pulled bundles lie: `COSYLITE_CACHE_DIR`, or `cosylite` in the user's cache folder."""
    chosen = os.environ.get("COSYLITE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cosylite"


def bundle_folders() -> list[Path]:
    """Every installed bundle: those of the package, then those in the cache."""
    roots = (bundles_folder(), cache_folder() / "bundles")
    return sorted(p.parent for root in roots if root.is_dir() for p in root.glob(f"*/{MANIFEST}"))


def find_bundle(name: str | os.PathLike[str]) -> Path:
    """Folder of a bundle, given by name (``"nano"``) or path.

    Raises:
        BundleError: there is none.
    """
    path = Path(name)
    installed = next((folder for folder in bundle_folders() if folder.name == str(name)), None)
    if path.is_dir() and (installed is None or (path / MANIFEST).is_file()):
        return path
    if installed is not None:
        return installed
    known = ", ".join(folder.name for folder in bundle_folders()) or "none"
    raise BundleError(
        f"no bundle {str(name)!r}: give a folder or the name of an installed bundle ({known})",
        code="bundle_not_found",
        param="bundle",
    )


def load_bundle(name: str | os.PathLike[str]) -> Bundle:
    """Find a bundle, read its manifest, and compare every file with the size and hash in it.

    Raises:
        BundleError: the bundle is missing, damaged, incomplete, has files that are not listed, or is of a later format.
    """
    path = find_bundle(name)
    manifest = _read_manifest(path)
    _check_facts(path, manifest)
    check_files(path, manifest.files)
    return Bundle(path, manifest)


def family_of(path: Path) -> str | None:
    """The family that the manifest of a bundle names; None where it cannot be read, which loading reports."""
    try:
        data = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return None
    family = data.get("family") if isinstance(data, dict) else None
    return family if isinstance(family, str) else None


def damaged(path: Path, problem: str) -> BundleError:
    """The error for a bundle with a problem."""
    return BundleError(
        f"bundle {path}: {problem}; install or pull the bundle again", code="bundle_damaged", param="bundle"
    )


def _read_manifest(path: Path) -> NanoManifest:
    try:
        data = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BundleError(f"{path} has no {MANIFEST}, so it is no bundle", code="bundle_not_found") from error
    except (ValueError, OSError) as error:
        raise damaged(path, f"{MANIFEST} cannot be read ({error})") from error
    if isinstance(data, dict):
        if data.get("format") != FORMAT:
            raise BundleError(
                f"bundle {path} has format {data.get('format')!r}, this version reads {FORMAT}: update cosylite",
                code="bundle_format",
            )
        if data.get("family") != "nano":
            raise BundleError(
                f"bundle {path} is of the family {data.get('family')!r}, this version speaks 'nano'",
                code="bundle_family",
            )
    return record(NanoManifest, data, lambda problem: damaged(path, f"{MANIFEST}: {problem}"))


def _check_facts(path: Path, manifest: NanoManifest) -> None:
    mel, times, voices = manifest.mel, manifest.flow.times, manifest.voices
    names = [voice.name for voice in voices.list]
    rules = (
        (manifest.sample_rate == 24000 and mel.hop == 480, "sample_rate must be 24000 and mel.hop 480"),
        (len(mel.mean) == len(mel.std) == mel.bands, "mel.mean and mel.std must have one number per band"),
        (all(value > 0 for value in (*mel.std, manifest.pitch.std)), "standard deviations must be above 0"),
        (len(times) >= 2 and times[0] == 0 and times[-1] == 1, "flow.times must go from 0 to 1"),
        (all(a < b for a, b in itertools.pairwise(times)), "flow.times must increase"),
        (manifest.vocoder.lookahead >= 1, "vocoder.lookahead must be at least 1"),
        (len(manifest.vocoder.pad) == mel.bands, "vocoder.pad must have one number per band"),
        (set(manifest.stages) == set(NANO_STAGES), f"stages must be {', '.join(NANO_STAGES)}"),
        (len(set(manifest.symbols)) == len(manifest.symbols), "symbols must differ from each other"),
        (" " in manifest.symbols, "symbols must have the space"),
        (bool(names) and len(set(names)) == len(names), "voices.list must have voices of different names"),
        (all(voice.row >= 0 for voice in voices.list), "voices.list must have rows of 0 or above"),
        (set(voices.default) == {*manifest.languages, "mixed"}, "voices.default must name every language and mixed"),
        (set(voices.default.values()) <= set(names), "voices.default names a voice that is not in voices.list"),
        ({*manifest.stages.values(), voices.file} <= set(manifest.files), "files lacks a stage or the voices"),
    )
    for holds, problem in rules:
        if not holds:
            raise damaged(path, f"{MANIFEST}: {problem}")


def check_files(path: Path, files: dict[str, FileSpec]) -> None:
    """Compare the files of a bundle with their list; raises `BundleError` for any that is missing, extra or changed."""
    present = {p.relative_to(path).as_posix() for p in path.rglob("*") if not p.is_dir()} - {MANIFEST}
    missing, extra = sorted(set(files) - present), sorted(present - set(files))
    if missing:
        raise damaged(path, f"files are missing: {', '.join(missing)}")
    if extra:
        raise damaged(path, f"files that {MANIFEST} does not list: {', '.join(extra)}")
    for name, spec in files.items():
        size = (path / name).stat().st_size
        if size != spec.bytes:
            raise damaged(path, f"{name} has {size} bytes instead of {spec.bytes}")
        with (path / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != spec.sha256:
            raise damaged(path, f"{name} does not match its SHA-256")
