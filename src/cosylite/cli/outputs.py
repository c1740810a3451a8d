"""Where `cosylite say` sends its audio."""

import sys
from types import TracebackType
from typing import BinaryIO, Protocol

from cosylite.audio.encoder import Encoder
from cosylite.audio.files import AudioFile
from cosylite.audio.values import Samples
from cosylite.cli.player import Player
from cosylite.errors import OutputError


class Output(Protocol):
    """Takes samples."""

    def write(self, samples: Samples) -> None:
        """Take the next samples."""
        ...

    def close(self) -> None:
        """Complete what was written."""
        ...


class PipeOutput:
    """Standard output, encoded; every chunk goes out at once."""

    def __init__(self, format: str, sample_rate: int, stream: BinaryIO | None = None) -> None:
        if stream is None and sys.stdout is None:
            raise OutputError("standard output is closed", code="cannot_write", param="output")
        self._stream = stream or sys.stdout.buffer
        self._encoder = Encoder(format, sample_rate)

    def write(self, samples: Samples) -> None:
        """Raises OutputError where writing fails; a reader that is gone raises BrokenPipeError."""
        self._send(self._encoder.encode(samples))

    def close(self) -> None:
        """The last bytes."""
        self._send(self._encoder.close())

    def _send(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(
                f"cannot write to standard output: {error.strerror}", code="cannot_write", param="output"
            ) from error


class Outputs:
    """Several outputs at once. Leaving the context completes all of them, whatever happens."""

    def __init__(self, outputs: list[Output]) -> None:
        self._outputs = outputs

    def write(self, samples: Samples) -> None:
        """Give the samples to each."""
        for output in self._outputs:
            output.write(samples)

    def __enter__(self) -> "Outputs":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failure: Exception | None = None
        for output in self._outputs:
            if error is not None and isinstance(output, Player):
                output.stop()
                continue
            try:
                output.close()
            except (OutputError, BrokenPipeError) as closing:
                failure = failure or closing
        if failure is not None and error is None:
            raise failure


def open_outputs(path: str | None, format: str | None, sample_rate: int, *, play: bool) -> Outputs:
    """Outputs for `--output` (None: no file), `--format` and `--play`.

    Raises:
        InputError: unknown format.
        DeviceError: no player.
    """
    outputs: list[Output] = []
    if path == "-":
        outputs.append(PipeOutput(format or "wav", sample_rate))
    elif path is not None:
        outputs.append(AudioFile(path, sample_rate, format))
    if play:
        outputs.append(Player(sample_rate))
    return Outputs(outputs)
