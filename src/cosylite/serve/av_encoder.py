"""Encoders through PyAV (FFmpeg's libraries, no ffmpeg program): aac in ADTS, and Opus in Ogg with small pages."""

import io
from fractions import Fraction
from typing import Any

import av
import numpy as np

from cosylite.audio.encoder import Resampler
from cosylite.audio.values import Samples
from cosylite.serve.clip import to_pcm

_CONTAINERS = {"aac": ("adts", "aac", {}), "opus": ("ogg", "libopus", {"page_duration": "20000"})}
_BIT_RATES = {"aac": 64_000, "opus": 32_000}


class AvEncoder:
    """One stream of encoded audio; `format` is "aac" or "opus"."""

    def __init__(self, format: str, source_rate: int, rate: int) -> None:
        container, codec, options = _CONTAINERS[format]
        self._resampler = Resampler(source_rate, rate)
        self._rate = rate
        self._position = 0
        self._sink = _Sink()
        self._container: Any = av.open(self._sink, "w", format=container, options=options)
        stream: Any = self._container.add_stream(codec, rate=rate)
        stream.layout, stream.bit_rate = "mono", _BIT_RATES[format]
        stream.codec_context.thread_count = 1
        self._stream = stream

    def encode(self, samples: Samples) -> bytes:
        """Bytes that are ready after these samples."""
        self._feed(self._resampler.push(samples))
        return self._sink.take()

    def close(self) -> bytes:
        """The last bytes, which the muxer writes only now."""
        self._feed(self._resampler.finish())
        for packet in self._stream.encode(None):
            self._container.mux(packet)
        self._container.close()
        return self._sink.take()

    def _feed(self, samples: Samples) -> None:
        if not len(samples):
            return
        frame = av.AudioFrame.from_ndarray(to_pcm(samples)[np.newaxis, :], format="s16", layout="mono")
        frame.sample_rate = self._rate
        frame.pts = self._position
        frame.time_base = Fraction(1, self._rate)
        self._position += len(samples)
        for packet in self._stream.encode(frame):
            self._container.mux(packet)


class _Sink(io.RawIOBase):
    """Collects what the muxer writes; cannot seek."""

    def __init__(self) -> None:
        super().__init__()
        self._data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._data += data
        return len(data)

    def take(self) -> bytes:
        """Remove and return what was written."""
        data = bytes(self._data)
        self._data.clear()
        return data
