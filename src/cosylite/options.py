"""What a caller may choose about an utterance: one frozen value, its defaults and its limits."""

import math
from dataclasses import dataclass

from cosylite.errors import InputError

LANGUAGES = ("auto", "zh", "en", "ja", "ko")
SPEED = (0.25, 4.0)
VOLUME = (0.0, 4.0)
SENTENCE_SILENCE = (0.0, 10.0)
NOISE_SCALE = (0.0, 2.0)
HIGH_PASS_HZ = (10.0, 1000.0)
LOW_PASS_HZ = (1000.0, 11900.0)
MAX_SEED = 2**63 - 1
MAX_CHUNK_FRAMES = 3000


@dataclass(frozen=True)
class Voice:
    """A voice of a bundle: `native` is the language of its speaker, `languages` are those it reads well."""

    name: str
    gender: str
    native: str
    languages: tuple[str, ...]


@dataclass(frozen=True)
class SynthesisOptions:
    """How a text is spoken.

    Attributes:
        voice: name of a voice of the bundle; None: the bundle's default for the language of the text.
        lang: ``"auto"``, or the language that ambiguous text is read in.
        speed: speaking rate, 0.25 to 4; the pitch stays.
        seed: equal seeds give equal audio.
        volume: factor on the samples, 0 to 4; peaks are limited softly.
        sentence_silence: seconds between sentences.
        trim: cut silence at both edges of every sentence.
        noise_scale: variation of intonation and timbre, 0 (flat) to 2; 1 is what the model was trained with.
        low_pass, high_pass: corner frequency in Hz of a gentle filter (12 dB per octave); None: no filter.
        skip_unknown: leave out text in scripts that cannot be spoken, instead of an error.

    Raises:
        InputError: a value is out of its range.
    """

    voice: str | None = None
    lang: str = "auto"
    speed: float = 1.0
    seed: int = 0
    volume: float = 1.0
    sentence_silence: float = 0.25
    trim: bool = True
    noise_scale: float = 1.0
    low_pass: float | None = None
    high_pass: float | None = None
    skip_unknown: bool = False

    def __post_init__(self) -> None:
        if self.lang not in LANGUAGES:
            raise InputError(
                f"unknown language {self.lang!r}; choose one of {', '.join(LANGUAGES)}",
                code="unknown_language",
                param="lang",
            )
        _check_range("speed", self.speed, SPEED)
        _check_range("volume", self.volume, VOLUME)
        _check_range("sentence_silence", self.sentence_silence, SENTENCE_SILENCE)
        _check_range("noise_scale", self.noise_scale, NOISE_SCALE)
        if self.low_pass is not None:
            _check_range("low_pass", self.low_pass, LOW_PASS_HZ)
        if self.high_pass is not None:
            _check_range("high_pass", self.high_pass, HIGH_PASS_HZ)
        _check_whole("seed", self.seed, 0, MAX_SEED)


def check_chunk_frames(chunk_frames: int | None) -> None:
    """Raise InputError unless None or a whole number of frames from 1 to 3000."""
    if chunk_frames is not None:
        _check_whole("chunk_frames", chunk_frames, 1, MAX_CHUNK_FRAMES)


def _check_range(name: str, value: float, limits: tuple[float, float]) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name} must be a number, not {value!r}", code="bad_option", param=name)
    if not limits[0] <= value <= limits[1]:
        raise InputError(
            f"{name} must be between {limits[0]:g} and {limits[1]:g}, not {value:g}", code="out_of_range", param=name
        )


def _check_whole(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} must be a whole number, not {value!r}", code="bad_option", param=name)
    if not low <= value <= high:
        raise InputError(f"{name} must be between {low} and {high}, not {value}", code="out_of_range", param=name)
