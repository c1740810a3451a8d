"""Audio formats by name and file extension."""

import os
from dataclasses import dataclass
from pathlib import Path

from cosylite.errors import InputError


@dataclass(frozen=True)
class Format:
    """An audio format.

    Attributes:
        container, subtype: libsndfile's names; None for what this package writes itself.
        rates: sample rates the codec takes; empty: any.
    """

    name: str
    media_type: str
    container: str | None = None
    subtype: str | None = None
    rates: tuple[int, ...] = ()


_MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
FORMATS: dict[str, Format] = {
    kind.name: kind
    for kind in (
        Format("wav", "audio/wav"),
        Format("flac", "audio/flac", "FLAC", "PCM_16"),
        Format("mp3", "audio/mpeg", "MP3", "MPEG_LAYER_III", _MP3_RATES),
        Format("opus", "audio/ogg; codecs=opus", "OGG", "OPUS", (8000, 12000, 16000, 24000, 48000)),
        Format("ogg", "audio/ogg; codecs=vorbis", "OGG", "VORBIS"),
        Format("pcm", "audio/pcm"),
    )
}
"""wav: 16 bit integers or 32 bit floats; pcm: the same without a header, little-endian; ogg: Vorbis."""
EXTENSIONS = {**{f".{name}": name for name in FORMATS}, ".raw": "pcm", ".wave": "wav", ".oga": "ogg"}


def format_named(name: str) -> Format:
    """Raises InputError, with the names there are, for an unknown one."""
    try:
        return FORMATS[name.lower()]
    except KeyError:
        raise InputError(
            f"unknown audio format {name!r}; choose one of {', '.join(FORMATS)}", code="unknown_format", param="format"
        ) from None


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format that a file name asks for; InputError where its extension says nothing."""
    extension = Path(path).suffix.lower()
    if extension not in EXTENSIONS:
        raise InputError(
            f"{os.fspath(path)!r} does not tell the audio format: end it in one of {', '.join(EXTENSIONS)},"
            " or name the format",
            code="unknown_format",
            param="format",
        )
    return FORMATS[EXTENSIONS[extension]]
