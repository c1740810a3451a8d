"""A clip: finished audio of one segment as the service keeps it, and its form on disk."""

import json
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cosylite.audio.values import AudioChunk, Samples, WordTiming

MAGIC = b"CLC1"
_HEAD = struct.Struct("<4sdII")
"""Magic, time of creation, bytes of metadata, CRC-32 of everything after the head."""

Pcm = NDArray[np.int16]


def to_pcm(samples: Samples) -> Pcm:
    """Float samples to 16 bits, clipped."""
    scaled: Pcm = np.rint(np.clip(samples, -1.0, 1.0) * 32767.0).astype(np.int16)
    return scaled


def to_float(pcm: Pcm) -> Samples:
    """The inverse of `to_pcm`, exact after another `to_pcm`."""
    return pcm.astype(np.float32) / np.float32(32767.0)


@dataclass(frozen=True)
class Piece:
    """A stretch of 16-bit mono audio with the words that begin in it, times from the start of the segment."""

    pcm: Pcm
    sample_rate: int
    words: tuple[WordTiming, ...] = ()

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return len(self.pcm) / self.sample_rate

    @classmethod
    def of(cls, chunk: AudioChunk) -> "Piece":
        """From a chunk of the engine."""
        return cls(to_pcm(chunk.samples), chunk.sample_rate, tuple(chunk.words))


@dataclass(frozen=True)
class Clip:
    """All audio of a segment."""

    pcm: Pcm
    sample_rate: int
    words: tuple[WordTiming, ...] = ()
    created: float = field(default=0.0)
    """Seconds since the epoch."""

    @property
    def size(self) -> int:
        """Bytes it takes in memory, about."""
        return self.pcm.nbytes + 120 * len(self.words) + 200

    @classmethod
    def join(cls, pieces: list[Piece], created: float) -> "Clip":
        """The pieces of one segment in order; at least one."""
        words = tuple(word for piece in pieces for word in piece.words)
        return cls(np.concatenate([piece.pcm for piece in pieces]), pieces[0].sample_rate, words, created)

    def pieces(self, seconds: float) -> list[Piece]:
        """Cut into pieces of about `seconds`, words with the piece in which they begin."""
        step = max(1, round(seconds * self.sample_rate))
        found = []
        for start in range(0, len(self.pcm), step):
            end = start + step
            last = end >= len(self.pcm)
            words = tuple(
                word
                for word in self.words
                if (start == 0 or word.start * self.sample_rate >= start)
                and (last or word.start * self.sample_rate < end)
            )
            found.append(Piece(self.pcm[start:end], self.sample_rate, words))
        return found

    def to_bytes(self) -> bytes:
        """The form on disk: head, metadata, little-endian samples."""
        meta = {"rate": self.sample_rate, "words": [[word.text, word.start, word.end] for word in self.words]}
        text = json.dumps(meta, ensure_ascii=False, separators=(",", ":")).encode()
        body = text + self.pcm.astype("<i2").tobytes()
        return _HEAD.pack(MAGIC, self.created, len(text), zlib.crc32(body)) + body

    @classmethod
    def from_bytes(cls, data: bytes) -> "Clip":
        """Read the form on disk.

        Raises:
            ValueError: the data is damaged or not a clip.
        """
        if len(data) < _HEAD.size:
            raise ValueError("truncated clip")
        magic, created, length, checksum = _HEAD.unpack_from(data)
        body = data[_HEAD.size :]
        if magic != MAGIC or length > len(body) or zlib.crc32(body) != checksum:
            raise ValueError("damaged clip")
        meta = json.loads(body[:length])
        words = tuple(WordTiming(text, start, end) for text, start, end in meta["words"])
        pcm = np.frombuffer(body[length:], dtype="<i2").astype(np.int16)
        return cls(pcm, int(meta["rate"]), words, created)
