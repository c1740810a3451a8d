"""Subtitles and timings of what was said."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cosylite.audio.values import AudioChunk, SentenceTiming, WordTiming
from cosylite.errors import OutputError


@dataclass
class Timings:
    """Collects the times of an utterance while it is spoken."""

    words: list[WordTiming] = field(default_factory=list)
    sentences: list[SentenceTiming] = field(default_factory=list)
    samples: int = 0
    sample_rate: int = 24000

    def add(self, chunk: AudioChunk) -> None:
        """Take over the times of a chunk."""
        self.words.extend(chunk.words)
        self.sentences.extend(chunk.sentences)
        self.samples += len(chunk.samples)
        self.sample_rate = chunk.sample_rate

    @property
    def seconds(self) -> float:
        """Length of the audio."""
        return self.samples / self.sample_rate

    def heard(self) -> list[SentenceTiming]:
        """Sentences cut to the audio there is: it ends early where speaking was interrupted."""
        return [
            SentenceTiming(" ".join(s.text.split()), s.start, min(s.end, self.seconds))
            for s in self.sentences
            if s.start < self.seconds
        ]


def srt(timings: Timings) -> str:
    """SubRip subtitles, one per sentence."""
    blocks = [
        f"{i}\n{_clock(s.start, ',')} --> {_clock(s.end, ',')}\n{s.text}\n" for i, s in enumerate(timings.heard(), 1)
    ]
    return "\n".join(blocks)


def vtt(timings: Timings) -> str:
    """WebVTT subtitles, one per sentence."""
    blocks = [f"{_clock(s.start, '.')} --> {_clock(s.end, '.')}\n{_escaped(s.text)}\n" for s in timings.heard()]
    return "\n".join(["WEBVTT\n", *blocks])


def as_json(timings: Timings) -> str:
    """Times of words and sentences, and the duration, in seconds."""

    def rounded(items: Sequence[WordTiming | SentenceTiming]) -> list[dict[str, object]]:
        return [{k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(item).items()} for item in items]

    words = [word for word in timings.words if word.start < timings.seconds]
    document = {
        "duration": round(timings.seconds, 4),
        "sample_rate": timings.sample_rate,
        "sentences": rounded(timings.heard()),
        "words": rounded(words),
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


WRITERS: dict[str, Callable[[Timings], str]] = {"srt": srt, "vtt": vtt, "json": as_json}


def write_timings(path: Path, kind: str, timings: Timings) -> None:
    """Write a file of one of the kinds of `WRITERS`.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        path.write_text(WRITERS[kind](timings), encoding="utf-8", errors="replace")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}", code="cannot_write", param=kind) from error


def _clock(seconds: float, mark: str) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}{mark}{rest % 1000:03d}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
