"""`Encoder`: a stream of samples to a stream of bytes."""

import os
from typing import Any

import numpy as np

from cosylite.audio.codecs import Codec, open_codec
from cosylite.audio.formats import Format, format_named
from cosylite.audio.values import Samples


class StreamSink:
    """Collects bytes that go out at once; changes to what has gone out are dropped."""

    seekable = False

    def __init__(self) -> None:
        self._new = bytearray()
        self._gone = 0
        self._position = 0

    def write(self, data: bytes) -> int:
        """Append what lies past the bytes that were taken; overwrite what was not taken yet."""
        count, start = len(data), self._position - self._gone
        self._position += count
        if start < 0:
            data, start = data[-start:], 0
        self._new[start : start + len(data)] = data
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._gone + len(self._new)}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Current position."""
        return self._position

    def take(self) -> bytes:
        """Remove and return the new bytes."""
        data = bytes(self._new)
        self._gone += len(self._new)
        self._new.clear()
        return data


class Resampler:
    """Changes the sample rate of a stream; a copy where both rates are equal."""

    def __init__(self, source: int, target: int) -> None:
        self._stream: Any = None
        if source != target:
            import soxr

            self._stream = soxr.ResampleStream(source, target, 1, dtype="float32")

    def push(self, samples: Samples) -> Samples:
        """The next samples at the new rate, possibly delayed."""
        if self._stream is None:
            return samples
        return np.asarray(self._stream.resample_chunk(samples), dtype=np.float32)

    def finish(self) -> Samples:
        """What is left."""
        nothing = np.zeros(0, np.float32)
        if self._stream is None:
            return nothing
        return np.asarray(self._stream.resample_chunk(nothing, last=True), dtype=np.float32)


def output_rate(kind: Format, wanted: int) -> int:
    """The sample rate that a format is written at: the wanted one, or the next higher one that its codec takes."""
    if not kind.rates or wanted in kind.rates:
        return wanted
    return min((rate for rate in kind.rates if rate > wanted), default=max(kind.rates))


class Encoder:
    """Encodes one stream.

        encoder = Encoder("mp3", 24000)
        for chunk in chunks:
            send(encoder.encode(chunk.samples))
        send(encoder.close())

    Headers of streams have no sizes, as is customary. Codecs collect samples before they give bytes: mp3 about
    50 ms, flac 170 ms, opus and ogg up to a second.
    """

    def __init__(self, format: str, sample_rate: int, *, output_sample_rate: int | None = None, float32: bool = False):
        """
        Args:
            format: a name of `formats.FORMATS`.
            sample_rate: of the samples that will be encoded.
            output_sample_rate: rate to resample to; None: keep, or the next that the codec takes.
            float32: 32 bit floats instead of 16 bit integers (wav and pcm).

        Raises:
            InputError: unknown format.
        """
        self.format = format_named(format)
        self.sample_rate = output_rate(self.format, output_sample_rate or sample_rate)
        self._sink = StreamSink()
        self._resampler = Resampler(sample_rate, self.sample_rate)
        self._codec: Codec | None = open_codec(self.format, self._sink, self.sample_rate, float32=float32)

    @property
    def media_type(self) -> str:
        """MIME type of the bytes."""
        return self.format.media_type

    def encode(self, samples: Samples) -> bytes:
        """Take samples (N,); give the bytes that are ready."""
        if self._codec is not None:
            self._codec.write(self._resampler.push(samples))
        return self._sink.take()

    def close(self) -> bytes:
        """The last bytes; empty when called again."""
        if self._codec is not None:
            codec, self._codec = self._codec, None
            codec.write(self._resampler.finish())
            codec.close()
        return self._sink.take()
