"""What a model is calibrated, measured and trained on: its own training data, or a manifest of the user."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cosylite.errors import InputError
from cosylite.lab.nano.dataset import Example, load_new
from cosylite.runtime.nano import FlowStream, NanoModel, Plan, Reading, Voicing, render_batch
from cosylite.text.frontend import Frontend, symbol_sequence


@dataclass(frozen=True)
class Row:
    """A line of a manifest.

    Attributes:
        text: what is said.
        voice: who says it.
        lang: of the text.
        symbols: phoneme symbols of nano, in place of what the frontend would make of the text.
        audio: recording of it; read by family models as the prompt of its voice.
        speech_tokens: of the recording, for family models.
    """

    text: str
    voice: str | None = None
    lang: str = "auto"
    symbols: str | None = None
    audio: str | None = None
    speech_tokens: tuple[int, ...] = ()
    id: str = ""


_KEYS = tuple(Row.__dataclass_fields__)


def read_manifest(path: Path) -> list[Row]:
    """Rows of a JSON-lines file.

    Raises:
        InputError: the file is missing, empty, or a line is not such a row.
    """
    if not path.is_file():
        raise InputError(f"there is no manifest {path}", code="data_not_found", param="data")
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.strip():
            rows.append(_row(line, f"{path}, line {number}"))
    if not rows:
        raise InputError(f"{path} has no rows", code="data_empty", param="data")
    return rows


def _row(line: str, where: str) -> Row:
    try:
        raw: Any = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error})", code="bad_data", param="data") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("text"), str):
        raise InputError(f"{where}: must be an object with a text", code="bad_data", param="data")
    unknown = sorted(set(raw) - set(_KEYS))
    if unknown:
        raise InputError(
            f"{where}: unknown key {unknown[0]!r}; valid: {', '.join(_KEYS)}", code="bad_data", param="data"
        )
    tokens = raw.get("speech_tokens") or ()
    if not isinstance(tokens, list | tuple) or not all(isinstance(t, int) and t >= 0 for t in tokens):
        raise InputError(f"{where}: speech_tokens must be a list of numbers", code="bad_data", param="data")
    return Row(**{**raw, "speech_tokens": tuple(tokens)})


def own_examples(work: Path) -> list[Example]:
    """The training utterances of a nano work folder; none where there are none."""
    manifests = tuple(sorted(p.name for p in work.glob("manifest*.jsonl")))
    return load_new(work, set(), manifests) if manifests and (work / "utterances").is_dir() else []


def example_readings(examples: Sequence[Example], symbols: Sequence[str]) -> list[Reading]:
    """What was said in the training utterances."""
    return [Reading("".join(symbols[i - 1] for i in e.tokens), e.voice) for e in examples]


def manifest_readings(rows: Sequence[Row], model: NanoModel) -> list[Reading]:
    """What a manifest says, one reading per sentence.

    Raises:
        InputError: a voice is unknown, or a text cannot be read.
    """
    voices = {voice.name: voice.row for voice in model.bundle.manifest.voices.list}
    frontend = Frontend()
    readings = []
    for row in rows:
        name = row.voice or model.bundle.manifest.voices.default["mixed"]
        if name not in voices:
            raise InputError(
                f"the data name the voice {name!r}; the model has {', '.join(voices)}",
                code="unknown_voice",
                param="data",
            )
        sentences = [row.symbols] if row.symbols else list(_symbols(frontend, row))
        readings += [Reading(f" {s.strip()} ", voices[name]) for s in sentences]
    return readings


def _symbols(frontend: Frontend, row: Row) -> Iterator[str]:
    for sentence in frontend.analyse(row.text, lang="auto" if row.lang == "mixed" else row.lang):
        if sentence.words:
            yield "".join(symbol for symbol, _ in symbol_sequence(sentence))


def sample(readings: Sequence[Reading], count: int, seed: int) -> list[Reading]:
    """`count` different readings by chance, or all; equal seeds give equal ones."""
    return list(readings) if len(readings) <= count else random.Random(seed).sample(list(readings), count)


def spoken_examples(model: NanoModel, readings: Sequence[Reading], seed: int) -> Iterator[Example]:
    """Utterances that the float model speaks itself, to learn from where only text is given."""
    spec = model.bundle.manifest
    mean, std = np.array(spec.mel.mean, np.float32), np.array(spec.mel.std, np.float32)
    ids = {symbol: i + 1 for i, symbol in enumerate(spec.symbols)}
    for number, (reading, plan) in enumerate(zip(readings, fixed_plans(model, readings), strict=True)):
        if not isinstance(reading.voice, int):
            continue  # a blend of voices has no row to learn
        voicing = Voicing(seed + number)
        features = FlowStream(model, plan, voicing).push(plan.length)
        samples = render_batch(model, [plan], [voicing])[0]
        pitch, voiced = model.pitch(features)
        yield Example(
            f"spoken-{number}", "", reading.voice, np.array([ids[s] for s in reading.symbols], np.int64), plan.frames,
            (features[:, :-2] * std + mean).astype(np.float16), np.log(pitch), voiced.astype(np.uint8),
            np.clip(np.rint(samples * 32767), -32768, 32767).astype(np.int16),
        )  # fmt: skip


def fixed_plans(model: NanoModel, readings: Sequence[Reading]) -> list[Plan]:
    """Plans whose durations later comparisons hold fixed."""
    return [model.plan([reading])[0] for reading in readings]
