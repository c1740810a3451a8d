"""Codecs: samples in, bytes into a sink. One object per stream."""

import os
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.formats import Format
from cosylite.audio.interrupts import interrupts_deferred
from cosylite.audio.values import Samples

UNKNOWN_SIZE = 0xFFFFFFFF
WAV_HEADER = 44
_TAG_WITHIN = 64


class Sink(Protocol):
    """Where the bytes go."""

    seekable: bool
    """Whether bytes that were written can still be changed."""

    def write(self, data: bytes) -> int:
        """Write at the current position."""
        ...

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move; returns the new position."""
        ...

    def tell(self) -> int:
        """Current position."""
        ...


class Codec(Protocol):
    """Writes samples to a sink."""

    def write(self, samples: Samples) -> None:
        """Encode the next samples."""
        ...

    def close(self) -> None:
        """Encode what is left and complete the headers."""
        ...


def open_codec(kind: Format, sink: Sink, sample_rate: int, *, float32: bool = False) -> Codec:
    """A codec for samples at `sample_rate`, which must be one of `kind.rates` where there are any."""
    if kind.container is None:
        return PlainCodec(sink, sample_rate, header=kind.name == "wav", float32=float32)
    return LibraryCodec(kind, sink, sample_rate)


def to_integers(samples: Samples) -> NDArray[np.int16]:
    """16 bit integers, little-endian, out-of-range samples clipped."""
    integers: NDArray[np.int16] = np.clip(np.rint(samples * np.float32(32767.0)), -32768, 32767).astype("<i2")
    return integers


class PlainCodec:
    """Samples as they are, with or without a WAV header.

    The sizes in the header are kept true after every write where the sink allows it, so that a file is playable
    whenever writing stops; a pipe gets the customary "unknown" size.
    """

    def __init__(self, sink: Sink, sample_rate: int, *, header: bool, float32: bool) -> None:
        self._sink, self._float32 = sink, float32
        self._header = header
        if header:
            sink.write(self._wav_header(sample_rate))

    def write(self, samples: Samples) -> None:
        data = samples.astype("<f4").tobytes() if self._float32 else to_integers(samples).tobytes()
        self._sink.write(data)
        self._patch()

    def close(self) -> None:
        self._patch()

    def _patch(self) -> None:
        if not (self._header and self._sink.seekable):
            return
        size = max(0, self._sink.seek(0, os.SEEK_END) - WAV_HEADER)
        for position, value in ((4, size + WAV_HEADER - 8), (40, size)):
            self._sink.seek(position)
            self._sink.write(min(value, UNKNOWN_SIZE).to_bytes(4, "little"))
        self._sink.seek(0, os.SEEK_END)

    def _wav_header(self, sample_rate: int) -> bytes:
        width = 4 if self._float32 else 2
        size, data = (36, 0) if self._sink.seekable else (UNKNOWN_SIZE, UNKNOWN_SIZE)
        fields: list[bytes] = [b"RIFF", size.to_bytes(4, "little"), b"WAVEfmt ", (16).to_bytes(4, "little")]
        fields += [(3 if self._float32 else 1).to_bytes(2, "little"), (1).to_bytes(2, "little")]
        fields += [sample_rate.to_bytes(4, "little"), (sample_rate * width).to_bytes(4, "little")]
        fields += [width.to_bytes(2, "little"), (8 * width).to_bytes(2, "little"), b"data", data.to_bytes(4, "little")]
        return b"".join(fields)


class LibraryCodec:
    """FLAC, MP3, Vorbis and Opus through libsndfile."""

    def __init__(self, kind: Format, sink: Sink, sample_rate: int) -> None:
        import soundfile

        # A constant rate lets players tell the length of an mp3 stream, and seek in it. 0.4: 96 kbit/s at 24 kHz.
        constant = {"bitrate_mode": "CONSTANT", "compression_level": 0.4} if kind.name == "mp3" else {}
        with interrupts_deferred():
            self._file: Any = soundfile.SoundFile(
                _FileLike(sink), "w", sample_rate, 1, kind.subtype, format=kind.container, **constant
            )

    def write(self, samples: Samples) -> None:
        with interrupts_deferred():
            self._file.write(samples)

    def close(self) -> None:
        with interrupts_deferred():
            self._file.close()


class _FileLike:
    """A sink with the methods that soundfile asks for.

    LAME begins with a frame that tells the length of the whole, a guess until the end is reached; players would
    stop there. Its tag is blanked at first, which leaves a frame of silence; at the end a file gets the true one.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink, self.seek, self.tell = sink, sink.seek, sink.tell
        self._started = False

    def write(self, data: Any) -> int:
        """Write at the current position."""
        data = bytes(data)
        if not self._started:
            self._started = True
            head = data[:_TAG_WITHIN].replace(b"Xing", bytes(4)).replace(b"Info", bytes(4))
            data = head + data[_TAG_WITHIN:]
        return self._sink.write(data)

    def readinto(self, buffer: Any) -> int:
        """Nothing is ever read back."""
        return 0
