"""Audio files that are playable whenever writing stops."""

import errno
import os
from types import TracebackType
from typing import IO

from cosylite.audio.codecs import Codec, open_codec
from cosylite.audio.encoder import Encoder, Resampler, output_rate
from cosylite.audio.formats import format_named, format_of
from cosylite.audio.values import Samples
from cosylite.errors import OutputError


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write to an unbuffered file, which may take less than it is given."""
    view = memoryview(data)
    while len(view):
        view = view[file.write(view) or 0 :]


class FileSink:
    """A file on disk. Errors are kept for the writer to raise: they must not pass through libsndfile."""

    seekable = True

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write at the current position."""
        try:
            write_all(self._file, data)
        except OSError as error:
            self.error = self.error or error
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Current position."""
        return self._file.tell()


class AudioFile:
    """Writes one audio file piece by piece. Use as a context manager: whatever happens, the file is completed.

    The file is opened at the first `write`, so a text that cannot be spoken does not empty a file that exists.
    """

    def __init__(
        self, path: str | os.PathLike[str], sample_rate: int, format: str | None = None, *, float32: bool = False
    ) -> None:
        """
        Args:
            path: where to; the extension chooses the format.
            format: overrides the extension.

        Raises:
            InputError: unknown format.
        """
        self.path = os.fspath(path)
        self._kind = format_named(format) if format else format_of(path)
        self._rate, self._float32 = sample_rate, float32
        self._file: IO[bytes] | None = None
        self._sink: FileSink | None = None
        self._codec: Codec | None = None
        self._encoder: Encoder | None = None
        target = output_rate(self._kind, sample_rate)
        self._target, self._resampler = target, Resampler(sample_rate, target)
        self.seconds = 0.0
        """Audio given to `write` so far."""

    def write(self, samples: Samples) -> None:
        """Append samples (N,).

        Raises:
            OutputError: the file cannot be opened, or the disk is full; what was written before stays playable.
        """
        if self._file is None:
            self._open()
        try:
            self._put(samples)
        except OSError as error:
            raise self._failure(error) from error
        self.seconds += len(samples) / self._rate

    def close(self) -> None:
        """Complete the file; does nothing the second time."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            if self._encoder is not None:
                write_all(file, self._encoder.close())
            elif self._codec is not None and self._sink is not None:
                self._codec.write(self._resampler.finish())
                self._codec.close()
                self._raise_kept()
            file.close()
        except OSError as error:
            raise self._failure(error) from error
        finally:
            _close_quietly(file)

    def __enter__(self) -> "AudioFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OutputError:
            if error is None:
                raise

    def _open(self) -> None:
        try:
            self._file = open(self.path, "wb", buffering=0)  # noqa: SIM115
            if self._file.seekable():
                self._sink = FileSink(self._file)
                self._codec = open_codec(self._kind, self._sink, self._target, float32=self._float32)
            else:
                self._encoder = Encoder(self._kind.name, self._rate, float32=self._float32)
        except OSError as error:
            raise self._failure(error) from error

    def _put(self, samples: Samples) -> None:
        if self._encoder is not None and self._file is not None:
            write_all(self._file, self._encoder.encode(samples))
        elif self._codec is not None:
            self._codec.write(self._resampler.push(samples))
            self._raise_kept()

    def _raise_kept(self) -> None:
        if self._sink is not None and self._sink.error is not None:
            error, self._sink.error = self._sink.error, None
            raise error

    def _failure(self, error: OSError) -> OutputError:
        if error.errno == errno.ENOSPC:
            return OutputError(
                f"the disk is full: {self.path} holds the first {self.seconds:.1f} s", code="disk_full", param="output"
            )
        reason = error.strerror or str(error)
        return OutputError(f"cannot write {self.path}: {reason}", code="cannot_write", param="output")


def _close_quietly(file: IO[bytes]) -> None:
    """Close a file whose failure has been reported already."""
    try:
        file.close()
    except OSError:
        return


def write_file(path: str | os.PathLike[str], samples: Samples, sample_rate: int, format: str | None = None) -> None:
    """Write a whole audio file; see `AudioFile`."""
    with AudioFile(path, sample_rate, format) as file:
        file.write(samples)
