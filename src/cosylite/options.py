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
MODES = ("auto", "preset", "zero-shot", "cross-lingual", "instruct")
STREAMINGS = ("auto", "official", "exact", "bounded")
MAX_FLOW_STEPS = 100
MAX_INSTRUCT = 1000


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

    For bundles of CosyVoice only, others refuse them:

    Attributes:
        mode: how the voice is shown to the model: ``"preset"``, ``"zero-shot"`` (recording and transcript),
            ``"cross-lingual"`` (recording alone), ``"instruct"``; ``"auto"``: what voice and instruction allow.
        instruct: how to speak, in words: an emotion, a dialect, a role, a pace.
        streaming: ``"exact"``: streams equal `say`; ``"official"``: as the official code does, where they do not;
            ``"bounded"``: constant cost per chunk, near to exact; ``"auto"``: exact, and CosyVoice 1, which cannot,
            segment by segment.
        flow_steps: evaluations of the flow per chunk, 1 to 100; None: the official 10.

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
    mode: str = "auto"
    instruct: str = ""
    streaming: str = "auto"
    flow_steps: int | None = None

    def __post_init__(self) -> None:
        if self.voice is not None and not isinstance(self.voice, str):
            raise InputError(f"voice must be a name, not {self.voice!r}", code="bad_option", param="voice")
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
        self._check_family_options()

    def _check_family_options(self) -> None:
        for name, value, known in (("mode", self.mode, MODES), ("streaming", self.streaming, STREAMINGS)):
            if value not in known:
                raise InputError(
                    f"unknown {name} {value!r}; choose one of {', '.join(known)}", code=f"unknown_{name}", param=name
                )
        if not isinstance(self.instruct, str) or len(self.instruct) > MAX_INSTRUCT:
            raise InputError(
                f"instruct must be a text of at most {MAX_INSTRUCT} characters", code="bad_option", param="instruct"
            )
        if self.flow_steps is not None:
            _check_whole("flow_steps", self.flow_steps, 1, MAX_FLOW_STEPS)

    def refuse_family_options(self) -> None:
        """Raise InputError where an option is set that only bundles of CosyVoice take."""
        for name in ("mode", "instruct", "streaming", "flow_steps"):
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise InputError(
                    f"this bundle takes no {name}; leave it out, or use a bundle of CosyVoice",
                    code="unsupported",
                    param=name,
                )


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
