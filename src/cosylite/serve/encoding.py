"""Formats on the wire: names, content types, and one encoder per answer.

The encoders are those of `cosylite.audio`; PyAV adds aac, and Ogg Opus that leaves in small pages, where it is
installed (`cosylite[av]`).
"""

import asyncio
import importlib.util
import io
from typing import Protocol

import numpy as np

from cosylite.audio.codecs import open_codec
from cosylite.audio.encoder import Encoder, Resampler
from cosylite.audio.formats import FORMATS
from cosylite.audio.values import Samples
from cosylite.errors import InputError
from cosylite.serve.clip import Pcm, to_float

CONTENT_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
_AV_ONLY = ("aac",)
_AV_BETTER = ("opus",)


class StreamEncoder(Protocol):
    """Samples in, bytes out."""

    def encode(self, samples: Samples) -> bytes:
        """Bytes that are ready."""
        ...

    def close(self) -> bytes:
        """The last bytes."""
        ...


def has_av() -> bool:
    """Whether PyAV is installed."""
    return importlib.util.find_spec("av") is not None


def available_formats() -> tuple[str, ...]:
    """Formats that this installation can send."""
    return tuple(name for name in CONTENT_TYPES if name not in _AV_ONLY or has_av())


def check_format(format: str, sample_rate: int | None) -> None:
    """Refuse what cannot be encoded.

    Raises:
        InputError: the codec is not installed, or does not take the rate.
    """
    if format in _AV_ONLY and not has_av():
        raise InputError(
            f"{format} needs PyAV on the server (pip install 'cosylite[av]'); there are "
            f"{', '.join(available_formats())}",
            code="unsupported_format",
            param="response_format",
        )
    rates = FORMATS[format].rates if format in FORMATS else ()
    if sample_rate is not None and rates and sample_rate not in rates:
        raise InputError(
            f"{format} does not take {sample_rate} Hz; choose one of {', '.join(map(str, rates))}",
            code="unsupported_rate",
            param="sample_rate",
        )


class Encoding:
    """The one encoder of an answer: 16-bit audio of the engine's rate in, bytes of the format out."""

    def __init__(self, format: str, source_rate: int, rate: int, whole: bool) -> None:
        self.format = format
        self._source_rate = source_rate
        self._rate = rate
        self._stream: StreamEncoder | None = None if whole else _stream_encoder(format, source_rate, rate)

    def encode(self, pcm: Pcm) -> bytes:
        """Bytes that are ready after these samples."""
        return self._stream.encode(to_float(pcm)) if self._stream else b""

    def close(self) -> bytes:
        """The last bytes."""
        return self._stream.close() if self._stream else b""

    def encode_all(self, parts: list[Pcm]) -> bytes:
        """A complete file with exact lengths in its headers; only for whole answers."""
        samples = to_float(np.concatenate(parts)) if parts else np.zeros(0, np.float32)
        if self.format in _AV_ONLY:
            encoder = _stream_encoder(self.format, self._source_rate, self._rate)
            return encoder.encode(samples) + encoder.close()
        resampler = Resampler(self._source_rate, self._rate)
        sink = _Memory()
        codec = open_codec(FORMATS[self.format], sink, self._rate)
        codec.write(resampler.push(samples))
        codec.write(resampler.finish())
        codec.close()
        return sink.file.getvalue()


class _Memory:
    """A file in memory."""

    seekable = True

    def __init__(self) -> None:
        self.file = io.BytesIO()
        self.write, self.seek, self.tell = self.file.write, self.file.seek, self.file.tell


def open_encoding(format: str, source_rate: int, rate: int, whole: bool = False) -> Encoding:
    """The encoder of an answer.

    Args:
        source_rate: rate of the audio that comes in.
        rate: rate of what goes out.
        whole: only `encode_all` will be used.
    """
    return Encoding(format, source_rate, rate, whole)


async def encode(encoding: Encoding, pcm: Pcm) -> bytes:
    """`encoding.encode` off the event loop where it takes time."""
    if encoding.format in ("pcm", "wav"):
        return encoding.encode(pcm)
    return await asyncio.to_thread(encoding.encode, pcm)


def _stream_encoder(format: str, source_rate: int, rate: int) -> StreamEncoder:
    if format in _AV_ONLY or (format in _AV_BETTER and has_av()):
        from cosylite.serve.av_encoder import AvEncoder

        return AvEncoder(format, source_rate, rate)
    return Encoder(format, source_rate, output_sample_rate=rate)
