"""Playing audio with a program that the machine has."""

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from cosylite.audio.encoder import Encoder
from cosylite.audio.files import write_file
from cosylite.audio.values import Samples
from cosylite.errors import DeviceError

_RAW = ["--raw", "--rate={rate}", "--channels=1", "--format=s16le"]
PLAYERS: dict[str, list[str]] = {
    "paplay": _RAW,
    "pw-cat": ["--playback", "--rate={rate}", "--channels=1", "--format=s16", "-"],
    "aplay": ["-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", "{rate}"],
    "ffplay": ["-nodisp", "-autoexit", "-loglevel", "quiet", "-f", "s16le", "-ar", "{rate}", "-"],
    "play": ["-q", "-t", "raw", "-e", "signed", "-b", "16", "-c", "1", "-r", "{rate}", "-"],
}
"""Programs that play 16 bit samples from their standard input, and their arguments."""
FILE_PLAYERS = ("afplay",)
"""Programs that play a file only."""


class Player:
    """Plays a stream of samples. A player that is closed early stops nothing else."""

    def __init__(self, sample_rate: int) -> None:
        """Raises DeviceError where no player is installed."""
        name = next((n for n in (*PLAYERS, *FILE_PLAYERS) if shutil.which(n)), None)
        if name is None:
            raise DeviceError(
                f"no player found: install one of {', '.join(PLAYERS)}, or write a file with -o",
                code="no_player",
                param="play",
            )
        self._rate, self._name = sample_rate, name
        self._kept: list[Samples] = []
        self._encoder = Encoder("pcm", sample_rate)
        self._process: subprocess.Popen[bytes] | None = None
        if name in PLAYERS:
            arguments = [part.format(rate=sample_rate) for part in PLAYERS[name]]
            self._process = subprocess.Popen([name, *arguments], stdin=subprocess.PIPE)

    def write(self, samples: Samples) -> None:
        """Play the next samples; waits while the player has enough."""
        if self._process is None:
            self._kept.append(samples)
        elif self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(self._encoder.encode(samples))
                self._process.stdin.flush()

    def close(self) -> None:
        """Wait until everything has been heard."""
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.communicate()
        elif self._kept:
            self._play_file()

    def stop(self) -> None:
        """Fall silent at once."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self._kept = []

    def _play_file(self) -> None:
        import numpy as np

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "speech.wav"
            write_file(path, np.concatenate(self._kept), self._rate)
            subprocess.run([self._name, str(path)], check=False)
