"""A progress bar with the time left, on a terminal only."""

import sys
import time
from typing import TextIO

_WIDTH = 30
_SHOWN_AFTER = 1.0
_EVERY = 0.2


class Progress:
    """Shows how much of `total` is done; of an unknown total (None), how much audio there is."""

    def __init__(self, total: int | None, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._total = total
        self._active = not quiet and self._stream.isatty()
        self._start = time.monotonic()
        self._next = self._start + _SHOWN_AFTER
        self._shown = False

    def update(self, done: int, seconds: float) -> None:
        """`done` of the total is spoken; `seconds` of audio are made."""
        now = time.monotonic()
        if not self._active or now < self._next:
            return
        self._next = now + _EVERY
        self._shown = True
        self._stream.write(f"\r{self._line(done, seconds, now - self._start)}\x1b[K")
        self._stream.flush()

    def close(self) -> None:
        """Remove the bar."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _line(self, done: int, seconds: float, elapsed: float) -> str:
        made = f"{clock(seconds)} of audio"
        if not self._total:
            return made
        share = min(1.0, done / self._total)
        bar = ("#" * round(share * _WIDTH)).ljust(_WIDTH, ".")
        left = f", {clock(elapsed * (1 - share) / share)} left" if share > 0 else ""
        return f"[{bar}] {share:4.0%}  {made}{left}"


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
