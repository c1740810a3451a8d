"""What speaks: the engine of a bundle, whatever its family."""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Literal, Protocol

from cosylite.audio.values import AudioChunk, Speech
from cosylite.errors import InputError
from cosylite.options import SynthesisOptions, Voice
from cosylite.runtime.allocator import limit_arenas
from cosylite.runtime.bundle import family_of, find_bundle
from cosylite.runtime.engine import check_threads, load_engine
from cosylite.runtime.family.kinds import FAMILIES
from cosylite.runtime.sessions import default_threads
from cosylite.text.lexicon import Lexicon


class Speaker(Protocol):
    """What `TTS` and the command line need of an engine."""

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Voices of the bundle."""
        ...

    @property
    def sample_rate(self) -> int:
        """Samples per second."""
        ...

    def say(self, text: str, options: SynthesisOptions) -> Speech:
        """The whole utterance."""
        ...

    def stream(
        self, text: str | Iterable[str], options: SynthesisOptions, chunk_frames: int | None = None
    ) -> Generator[AudioChunk, None, None]:
        """The same in chunks, while they are made."""
        ...

    def say_many(self, texts: Sequence[str], options: SynthesisOptions) -> list[Speech]:
        """Several texts, in order."""
        ...


def load_speaker(
    bundle: str | os.PathLike[str],
    *,
    device: str = "auto",
    devices: Mapping[str, str] | None = None,
    threads: int | None = None,
    lexicon: Mapping[str, str] | Lexicon | None = None,
    default_han: Literal["zh", "ja"] = "zh",
) -> Speaker:
    """Load the engine of a bundle; see `cosylite.TTS`."""
    path = find_bundle(bundle)
    limit_arenas(default_threads())
    if family_of(path) not in FAMILIES:
        return load_engine(
            bundle, device=device, devices=devices, threads=threads, lexicon=lexicon, default_han=default_han
        )
    check_threads(threads)
    for name, value in (("devices", devices), ("lexicon", lexicon)):
        if value:
            raise InputError(f"bundles of CosyVoice take no {name}; leave it out", code="unsupported", param=name)
    from cosylite.runtime.family.engine import load_family_engine

    return load_family_engine(path, device=device, threads=threads)
