"""Recordings that a caller brings: read, checked, made mono, and brought to another rate."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import InputError, OutputError

Array = NDArray[np.float32]

PROMPT_SECONDS = (1.0, 30.0)
"""Length of a recording that shows a voice: less says too little, more the speech tokenizers do not take."""
SILENT = 1e-3
"""A recording whose loudest sample is below this is silent."""
RATES = (4000, 384_000)

_LOBES = 6
_ROLL_OFF = 0.99
_BLOCK = 8192
"""Samples that are made at a time; what each is made of is copied for it."""


@dataclass(frozen=True)
class Recording:
    """Mono samples (N,) in -1..1, and their rate."""

    samples: Array
    sample_rate: int

    @property
    def seconds(self) -> float:
        """Length."""
        return len(self.samples) / self.sample_rate

    def at(self, sample_rate: int) -> Array:
        """The samples at another rate."""
        return resample(self.samples, self.sample_rate, sample_rate)


Source = str | os.PathLike[str] | IO[bytes] | Recording
"""A file name, an open binary file, or samples."""


def read_recording(source: Source, *, seconds: tuple[float, float] = PROMPT_SECONDS, param: str = "audio") -> Recording:
    """A recording of any rate and number of channels; channels are averaged.

    Args:
        source: a file that libsndfile reads (WAV, FLAC, OGG, MP3, ...), or samples.
        seconds: least and greatest length.
        param: name of the parameter that errors carry.

    Raises:
        InputError: not audio, too short, too long, silent, or not finite.
        OutputError: the file cannot be read.
    """
    found = _checked_rate(source, param) if isinstance(source, Recording) else _read(source, seconds, param)
    _check_length(found.seconds, seconds, param)
    if not np.isfinite(found.samples).all():
        raise InputError("the recording has samples that are no numbers; save it again", code="bad_audio", param=param)
    if np.abs(found.samples).max() < SILENT:
        raise InputError("the recording is silent; record it again", code="silent_audio", param=param)
    return found


def _checked_rate(recording: Recording, param: str) -> Recording:
    samples = np.asarray(recording.samples, np.float32)
    if samples.ndim != 1:
        raise InputError("samples must be mono, of shape (N,)", code="bad_audio", param=param)
    _check_rate(recording.sample_rate, param)
    return Recording(samples, recording.sample_rate)


def _read(source: "str | os.PathLike[str] | IO[bytes]", seconds: tuple[float, float], param: str) -> Recording:
    import soundfile

    named = isinstance(source, str | os.PathLike)
    name = f"{Path(source)}" if isinstance(source, str | os.PathLike) else "the recording"
    try:
        if isinstance(source, str | os.PathLike):
            with Path(source).open("rb"):
                pass  # libsndfile would not say why it cannot
        with soundfile.SoundFile(os.fspath(source) if named else source) as file:  # type: ignore[arg-type]
            _check_rate(file.samplerate, param)
            _check_length(file.frames / file.samplerate, seconds, param)
            samples = file.read(dtype="float32", always_2d=True).mean(axis=1)
            return Recording(samples, file.samplerate)
    except (soundfile.LibsndfileError, ValueError) as error:
        raise InputError(
            f"{name} is no audio that can be read; give WAV, FLAC, OGG or MP3", code="not_audio", param=param
        ) from error
    except OSError as error:
        raise OutputError(f"cannot read {name}: {error.strerror or error}", code="cannot_read", param=param) from error


def _check_rate(rate: int, param: str) -> None:
    if not RATES[0] <= rate <= RATES[1]:
        raise InputError(
            f"the recording must have {RATES[0]} to {RATES[1]} samples per second, not {rate}",
            code="bad_audio",
            param=param,
        )


def _check_length(length: float, seconds: tuple[float, float], param: str) -> None:
    low, high = seconds
    if length < low:
        raise InputError(
            f"the recording lasts {length:.2f} s; give at least {low:g} s of speech",
            code="audio_too_short",
            param=param,
        )
    if length > high:
        raise InputError(
            f"the recording lasts {length:.1f} s; cut it to at most {high:g} s", code="audio_too_long", param=param
        )


def resample(samples: Array, old: int, new: int) -> Array:
    """Samples (N,) at another rate, ceil(N new / old) of them: a sinc of six lobes under a squared cosine.

    These are the settings with which the official code resamples prompts.
    """
    if old == new:
        return samples
    divisor = math.gcd(old, new)
    old, new = old // divisor, new // divisor
    kernels, reach = _sinc_kernels(old, new)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(samples.astype(np.float32), reach), 2 * reach + 1)
    out = np.empty(-(-new * len(samples) // old), np.float32)
    for start in range(0, len(out), _BLOCK):
        at = np.arange(start, min(start + _BLOCK, len(out)))
        np.einsum("ij,ij->i", windows[at * old // new], kernels[at % new], out=out[at[0] : at[-1] + 1])
    return out


def _sinc_kernels(old: int, new: int) -> tuple[Array, int]:
    """One kernel for each of the `new` places between input samples, (new, 2 reach + 1), and the reach.

    Place p lies at p old / new input samples; its kernel begins `reach` samples before the last one up to there.
    """
    band = min(old, new) * _ROLL_OFF
    reach = math.ceil(_LOBES * old / band)
    places = np.arange(new)[:, None]
    inputs = places * old // new + np.arange(-reach, reach + 1)
    at = np.clip((inputs / old - places / new) * band, -_LOBES, _LOBES)
    kernels = np.sinc(at) * np.cos(at * np.pi / _LOBES / 2) ** 2 * (band / old)
    return kernels.astype(np.float32), reach
