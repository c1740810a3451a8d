"""How well a sentence survives a change of language: what is understood, is it one voice, how long the pauses."""

import itertools
from dataclasses import dataclass

import numpy as np

from cosylite.audio.values import Speech
from cosylite.lab.evaluate.naturalness import voice_vector
from cosylite.lab.evaluate.recogniser import Recogniser, comparable
from cosylite.text.frontend import Frontend

UNDERSTOOD = 0.5
"""A part counts as understood when at least this share of it is in a transcript."""
SHORTEST_FOR_LIKENESS = 0.6
"""Seconds; the speaker encoder says little about less."""
QUIET_DB = -40.0


@dataclass(frozen=True)
class Part:
    """A stretch in one language, with the seconds between which it is heard."""

    lang: str
    text: str
    start: float
    end: float


def parts_of(text: str, speech: Speech, frontend: Frontend) -> list[Part]:
    """Languages of `text` as the frontend finds them, with the times of `speech.words`."""
    places, cursor = [], 0
    for word in speech.words:
        found = text.find(word.text, cursor)
        if found >= 0:
            places.append((found, word))
            cursor = found + len(word.text)
    parts: list[Part] = []
    for sentence in frontend.analyse(text):
        for spoken in sentence.spans:
            inside = [w for at, w in places if spoken.span.start <= at < spoken.span.end]
            if not inside:
                continue
            part = Part(spoken.span.lang, spoken.span.text, inside[0].start, inside[-1].end)
            if parts and parts[-1].lang == part.lang:
                part = Part(part.lang, parts[-1].text + part.text, parts[-1].start, part.end)
                parts.pop()
            parts.append(part)
    return parts


def found_share(wanted: list[str], heard: list[str]) -> float:
    """Share of `wanted` units that the best stretch of `heard` has in order."""
    from rapidfuzz.distance import LCSseq

    if not wanted:
        return 1.0
    best = 0.0
    size = len(wanted) + len(wanted) // 4
    for start in range(max(1, len(heard) - size + 1)):
        best = max(best, LCSseq.similarity(wanted, heard[start : start + size]) / len(wanted))
    return best


def understood(part: Part, speech: Speech, ears: Recogniser) -> bool:
    """Whether `part` is in the transcript of the whole or of its own stretch, taken for its language."""
    rate = speech.sample_rate
    alone = speech.samples[max(0, int((part.start - 0.1) * rate)) : int((part.end + 0.1) * rate)]
    wanted = comparable(part.text, part.lang)
    heard = (ears.transcribe(samples, rate, part.lang) for samples in (speech.samples, alone))
    return any(found_share(wanted, comparable(text, part.lang)) >= UNDERSTOOD for text in heard)


def pause_at(speech: Speech, first: Part, second: Part) -> float:
    """Seconds of quiet around the switch: the longest quiet run that touches 0.2 s on each side of it."""
    size = speech.sample_rate // 100
    frames = speech.samples[: len(speech.samples) // size * size].reshape(-1, size)
    level = 20 * np.log10(np.sqrt((frames**2).mean(1)) + 1e-9)
    quiet = level < np.percentile(level, 95) + QUIET_DB
    window = range(int((first.end - 0.2) * 100), int((second.start + 0.2) * 100))
    longest, start = 0, None
    for i in range(len(quiet) + 1):
        if i < len(quiet) and quiet[i]:
            start = i if start is None else start
        elif start is not None:
            if any(start <= w < i for w in window):
                longest = max(longest, i - start)
            start = None
    return longest / 100


def likeness(speech: Speech, parts: list[Part]) -> float | None:
    """Mean cosine between the voices of neighbouring parts that are long enough; None without such a pair."""
    rate = speech.sample_rate
    vectors = [
        voice_vector(speech.samples[int(p.start * rate) : int(p.end * rate)], rate)
        if p.end - p.start >= SHORTEST_FOR_LIKENESS
        else None
        for p in parts
    ]
    cosines = [float(np.dot(a, b)) for a, b in itertools.pairwise(vectors) if a is not None and b is not None]
    return float(np.mean(cosines)) if cosines else None


def switching_scores(text: str, speech: Speech, frontend: Frontend, ears: Recogniser) -> dict[str, float | list[float]]:
    """`understood` (1: every part is), `span_likeness` where it can be told, `pauses` (seconds) at the switches."""
    parts = parts_of(text, speech, frontend)
    scores: dict[str, float | list[float]] = {
        "understood": float(all(understood(part, speech, ears) for part in parts)),
        "pauses": [pause_at(speech, a, b) for a, b in itertools.pairwise(parts)],
    }
    alike = likeness(speech, parts)
    return scores if alike is None else scores | {"span_likeness": alike}
