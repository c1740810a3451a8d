"""Quality of a bundle on unseen sentences, and of its teacher through the same frontend, by machine judges.

    python benchmarks/quality.py --sentences FILE.json --work build/nano --teacher

FILE is a list of {"id", "lang", "text", "voice"}. Errors: Whisper base, language forced; zh characters, en words,
ja kana, ko jamo; a sentence counts at most 1. `--teacher` adds the rows of the teacher and the difference with a
paired bootstrap interval of 95 %. Of mixed sentences it is asked whether the words of every language are understood,
whether the voice stays the same from part to part, and how long the pauses at the switches are beside the teacher's.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from common import parser, report, row
from tqdm import tqdm

from cosylite import TTS
from cosylite.audio.values import Speech, WordTiming
from cosylite.lab.evaluate.naturalness import distillmos, dnsmos, voice_vector
from cosylite.lab.evaluate.recogniser import UNITS, Recogniser, error_rate, fetch_whisper
from cosylite.lab.evaluate.switching import switching_scores
from cosylite.lab.nano.teacher import DURATION_UNIT, SAMPLE_RATE, Teacher, Utterance, fetch
from cosylite.text.frontend import Frontend, symbol_sequence, symbol_string
from cosylite.text.types import Sentence

Scores = dict[str, float]
Speaker = Any


def arguments() -> argparse.Namespace:
    """Command line."""
    made = parser(__doc__)
    made.add_argument("--sentences", type=Path, required=True)
    made.add_argument("--per-language", type=int, default=None, help="use only the first N sentences of each language")
    made.add_argument("--work", type=Path, default=Path("build/nano"), help="where teacher and Whisper lie or are put")
    made.add_argument("--teacher", action="store_true", help="score the teacher too")
    made.add_argument("--details", type=Path, default=None, help="write transcripts and scores of every sentence here")
    made.add_argument("--noise-scale", type=float, default=1.0, help="of the bundle")
    made.add_argument("--no-naturalness", action="store_true", help="only errors")
    return made.parse_args()


def teacher_words(sentence: Sentence, said: Utterance, offset: float) -> list[WordTiming]:
    """When the teacher says the words of `sentence`, from `offset` seconds on."""
    ends = np.cumsum(said.durations) * DURATION_UNIT / SAMPLE_RATE
    times: dict[int, tuple[float, float]] = {}
    for place, (symbol, word) in enumerate(symbol_sequence(sentence)):
        if symbol.isspace():
            continue
        start = times[word][0] if word in times else float(ends[place])
        times[word] = (start, float(ends[place + 1]))
    return [WordTiming(sentence.words[w].text, offset + a, offset + b) for w, (a, b) in times.items()]


def teacher_speaker(work: Path, threads: int) -> Speaker:
    """A function that lets the teacher speak what the frontend makes of a text."""
    fetch(work / "teacher")
    teacher, frontend = Teacher(work / "teacher", threads), Frontend()

    def speak(text: str, lang: str, voice: str) -> Speech:
        samples, words, offset = [], [], 0.0
        for sentence in frontend.analyse(text, lang="auto" if lang == "mixed" else lang):
            said = teacher.speak(symbol_string(sentence).strip(), voice)
            words += teacher_words(sentence, said, offset)
            samples.append(said.samples)
            offset += len(said.samples) / SAMPLE_RATE
        return Speech(np.concatenate(samples), SAMPLE_RATE, tuple(words))

    return speak


def bundle_speaker(args: argparse.Namespace) -> Speaker:
    """A function that lets the bundle speak."""
    tts = TTS(args.bundle, threads=args.threads)

    def speak(text: str, lang: str, voice: str) -> Speech:
        forced = "auto" if lang == "mixed" else lang
        return tts.say(text, voice=voice, lang=forced, seed=args.seed, noise_scale=args.noise_scale)

    return speak


def judge(speak: Speaker, case: dict[str, str], ears: Recogniser, args: argparse.Namespace) -> dict[str, Any]:
    """All scores of one sentence."""
    speech = speak(case["text"], case["lang"], case["voice"])
    samples = speech.samples
    result: dict[str, Any] = {"id": case["id"], "lang": case["lang"], "voice": case["voice"], "text": case["text"]}
    result["seconds"] = len(samples) / SAMPLE_RATE
    if case["lang"] in UNITS:
        result["heard"] = ears.transcribe(samples, SAMPLE_RATE, case["lang"])
        result["error_rate"] = error_rate(case["text"], result["heard"], case["lang"])
    else:
        result |= switching_scores(case["text"], speech, Frontend(), ears)
    if not args.no_naturalness:
        result["dnsmos"] = dnsmos(samples, SAMPLE_RATE)
        result["distillmos"] = distillmos(samples, SAMPLE_RATE)
        result["vector"] = voice_vector(samples, SAMPLE_RATE).tolist()
    return result


def mean(results: list[dict[str, Any]], key: str) -> float | None:
    """Mean of the results that have `key`."""
    values = [r[key] for r in results if key in r]
    return float(np.mean(values)) if values else None


def bootstrap(differences: np.ndarray, seed: int) -> tuple[float, float]:
    """95 % interval of the mean of paired differences."""
    rng = np.random.default_rng(seed)
    means = rng.choice(differences, (2000, len(differences))).mean(1)
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def rows_for(
    name: str, results: list[dict[str, Any]], teacher: list[dict[str, Any]] | None, seed: int
) -> dict[str, Any]:
    """The table row of one group of sentences."""
    lang = results[0]["lang"]
    made = row(
        name,
        error_rate=mean(results, "error_rate"),
        error_unit=UNITS.get(lang),
        dnsmos=mean(results, "dnsmos"),
        distillmos=mean(results, "distillmos"),
        sentences=len(results),
    )
    if "understood" in results[0]:
        made["understood"], made["span_likeness"] = mean(results, "understood"), mean(results, "span_likeness")
    if teacher is not None:
        made["teacher_error_rate"] = mean(teacher, "error_rate")
        made["teacher_dnsmos"], made["teacher_distillmos"] = mean(teacher, "dnsmos"), mean(teacher, "distillmos")
        pairs = [(s, t) for s, t in zip(results, teacher, strict=True)]
        if "error_rate" in results[0]:
            low, high = bootstrap(np.array([s["error_rate"] - t["error_rate"] for s, t in pairs]), seed)
            made["error_over_teacher"] = f"{low:+.3f}..{high:+.3f}"
        if "understood" in results[0]:
            made |= mixed_beside_teacher(pairs)
        if "vector" in results[0]:
            made["likeness"] = float(np.mean([np.dot(s["vector"], t["vector"]) for s, t in pairs]))
    return made


def mixed_beside_teacher(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """The teacher's scores on mixed sentences, and the median and largest difference of the pauses at the switches."""
    gaps = [abs(a - b) * 1000 for s, t in pairs for a, b in zip(s["pauses"], t["pauses"], strict=False)]
    teacher = [t for _, t in pairs]
    return {
        "teacher_understood": mean(teacher, "understood"),
        "teacher_span_likeness": mean(teacher, "span_likeness"),
        "pause_difference_ms": float(np.median(gaps)) if gaps else None,
        "pause_difference_ms_max": max(gaps, default=None),
    }


def main() -> None:
    """Score and report, by language and by voice."""
    args = arguments()
    cases = json.loads(args.sentences.read_text("utf-8"))
    taken: dict[str, int] = defaultdict(int)
    chosen = []
    for case in cases:
        taken[case["lang"]] += 1
        if args.per_language is None or taken[case["lang"]] <= args.per_language:
            chosen.append(case)
    fetch_whisper(args.work / "whisper")
    ears = Recogniser(args.work / "whisper", args.threads)
    speak = bundle_speaker(args)
    student = [judge(speak, case, ears, args) for case in tqdm(chosen, desc="bundle", mininterval=5)]
    teacher = None
    if args.teacher:
        speak = teacher_speaker(args.work, args.threads)
        teacher = [judge(speak, case, ears, args) for case in tqdm(chosen, desc="teacher", mininterval=5)]
    rows = []
    for key in ("lang", "voice"):
        for value in dict.fromkeys(case[key] for case in chosen):
            picked = [i for i, case in enumerate(chosen) if case[key] == value]
            if key == "voice" and len({chosen[i]["lang"] for i in picked} & set(UNITS)) > 1:
                continue  # error rates in different units have no mean
            part = None if teacher is None else [teacher[i] for i in picked]
            rows.append(rows_for(value, [student[i] for i in picked], part, args.seed))
    report("quality", args, rows)
    if args.details:
        both = {"bundle": student, "teacher": teacher}
        args.details.write_text(json.dumps(both, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
