"""The audio cache: finished segments under a digest of everything that shapes their sound.

Memory first, then disk. The memory tier belongs to the event loop; disk work runs on its own thread, so that a slow
disk delays neither the loop nor the synthesis. What is kept is 16-bit PCM per segment: all formats share it, and a long
text reuses the sentences that it shares with others.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from cosylite.serve.clip import Clip
from cosylite.serve.disk import DiskTier
from cosylite.serve.engine import Engine, Segment, SpeechOptions

LOG = logging.getLogger(__name__)
FORMAT = 2
"""Part of every key; raised when the meaning of an entry changes."""
MAX_PENDING_WRITES = 64


def clip_key(engine: Engine, segment: Segment, options: SpeechOptions) -> str:
    """SHA-256 over the spoken form and every option that changes the audio."""
    prompt = options.prompt
    voice = next((voice.revision for voice in engine.voices if voice.id == options.voice), "")
    parts = [
        FORMAT,
        engine.name,
        engine.revision,
        segment.key,
        options.voice,
        voice,
        options.mode,
        options.lang,
        options.speed,
        options.seed,
        options.instructions,
        [prompt.digest, prompt.text] if prompt else None,
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


class Cache:
    """Two tiers of clips.

    Args:
        memory_bytes: size of the memory tier.
        lifetime: seconds; 0 switches the cache off.
        disk: the disk tier, or None.
    """

    def __init__(self, memory_bytes: int, lifetime: float, disk: DiskTier | None = None) -> None:
        self._limit = memory_bytes
        self._lifetime = lifetime
        self._disk = disk
        self._clips: OrderedDict[str, Clip] = OrderedDict()
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="cosylite-cache") if disk else None
        self._pending: set[asyncio.Future[None]] = set()
        self.memory_size = 0

    @property
    def on(self) -> bool:
        """Whether anything is ever kept."""
        return self._lifetime > 0

    @property
    def disk_size(self) -> int:
        """Bytes on disk, about."""
        return self._disk.size if self._disk else 0

    def peek(self, key: str) -> Clip | None:
        """The clip in memory, if any."""
        clip = self._clips.get(key)
        if clip is None:
            return None
        if clip.created + self._lifetime <= time.time():
            self._drop(key)
            return None
        self._clips.move_to_end(key)
        return clip

    async def fetch(self, key: str) -> Clip | None:
        """The clip in memory or on disk, if any."""
        clip = self.peek(key)
        if clip is not None or self._disk is None or not self.on:
            return clip
        clip = await asyncio.get_running_loop().run_in_executor(self._threads, self._disk.get, key)
        if clip is not None:
            self._remember(key, clip)
        return clip

    def put(self, key: str, clip: Clip) -> None:
        """Keep a clip; the disk copy is written in the background."""
        if not self.on:
            return
        self._remember(key, clip)
        if self._disk is None or len(self._pending) >= MAX_PENDING_WRITES:
            return
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._write, key, clip)
        self._pending.add(work)
        work.add_done_callback(self._pending.discard)

    async def close(self) -> None:
        """Finish the writes that are under way."""
        if self._pending:
            await asyncio.wait(self._pending)
        if self._threads is not None:
            self._threads.shutdown(wait=True)

    def _write(self, key: str, clip: Clip) -> None:
        if self._disk is None:
            return
        try:
            self._disk.put(key, clip)
        except OSError as error:
            LOG.warning("the disk cache could not be written: %s", error)

    def _remember(self, key: str, clip: Clip) -> None:
        self._drop(key)
        if clip.size > self._limit:
            return
        self._clips[key] = clip
        self.memory_size += clip.size
        while self.memory_size > self._limit:
            self._drop(next(iter(self._clips)))

    def _drop(self, key: str) -> None:
        with contextlib.suppress(KeyError):
            self.memory_size -= self._clips.pop(key).size
