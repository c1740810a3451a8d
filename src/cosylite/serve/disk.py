"""The disk tier of the audio cache: one file per clip, written whole under a temporary name and renamed.

Safe with several processes on one folder and with a process that dies at any moment: a reader sees a whole file or
none, every file carries a checksum, and left-over temporary files are removed at the next start. All methods block.
"""

import contextlib
import os
import threading
import time
from pathlib import Path

from cosylite.errors import OutputError
from cosylite.serve.clip import Clip

SUFFIX = ".clip"
STALE_SECONDS = 60.0
RESCAN_SECONDS = 30.0


class DiskTier:
    """Clips in `folder`, at most about `limit` bytes, none older than `lifetime` seconds.

    Raises:
        OutputError: the folder cannot be created or written.
    """

    def __init__(self, folder: Path, limit: int, lifetime: float) -> None:
        self._folder = folder
        self._limit = limit
        self._lifetime = lifetime
        self._lock = threading.Lock()
        self._size = 0
        self._scanned = 0.0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise OutputError(
                f"the cache folder {folder} is not writable: {error.strerror}", code="cache_folder", param="cache_dir"
            ) from error
        with self._lock:
            self._clean()

    @property
    def size(self) -> int:
        """Bytes in the folder at the last count plus those written since."""
        return self._size

    def get(self, key: str) -> Clip | None:
        """The clip of a key, or None if it is absent, too old or damaged (then it is removed)."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        try:
            clip = Clip.from_bytes(data)
        except (ValueError, KeyError, TypeError):
            path.unlink(missing_ok=True)
            return None
        if clip.created + self._lifetime <= time.time():
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return clip

    def put(self, key: str, clip: Clip) -> None:
        """Write a clip; a full or read-only disk is not an error for the caller.

        Raises:
            OSError: the file could not be written.
        """
        path = self._path(key)
        data = clip.to_bytes()
        if len(data) > self._limit:
            return
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_name(f"{path.stem}.{os.getpid()}-{threading.get_ident()}.tmp")
        try:
            with temporary.open("wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        with self._lock:
            self._size += len(data)
            if self._size > self._limit or time.monotonic() - self._scanned > RESCAN_SECONDS:
                self._clean()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}{SUFFIX}"

    def _clean(self) -> None:
        """Count what is there, drop what is too old, and over the limit the least recently used down to 0.9 of it."""
        now = time.time()
        found: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("??/*"):
            try:
                status = path.stat()
                stale = path.suffix != SUFFIX and now - status.st_mtime > STALE_SECONDS
                if stale or now - status.st_mtime > self._lifetime:
                    path.unlink(missing_ok=True)
                elif path.suffix == SUFFIX:
                    found.append((status.st_mtime, status.st_size, path))
            except FileNotFoundError:  # another process was quicker
                continue
        self._size = sum(size for _, size, _ in found)
        if self._size > self._limit:
            for _, size, path in sorted(found):
                if self._size <= 0.9 * self._limit:
                    break
                path.unlink(missing_ok=True)
                self._size -= size
        self._scanned = time.monotonic()
