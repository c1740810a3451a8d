"""`TTS`: text to speech in five lines."""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from cosylite.audio.values import AudioChunk, Speech
from cosylite.errors import BundleError
from cosylite.options import SynthesisOptions, Voice

if TYPE_CHECKING:
    from cosylite.runtime.engine import Engine
    from cosylite.runtime.speaker import Speaker
    from cosylite.text.lexicon import Lexicon


class MoreOptions(TypedDict, total=False):
    """Further options of a call; see `SynthesisOptions`."""

    volume: float
    sentence_silence: float
    trim: bool
    noise_scale: float
    low_pass: float | None
    high_pass: float | None
    skip_unknown: bool


class TTS:
    """A loaded voice model.

    Args:
        bundle: name of an installed bundle, or a folder.
        device: "auto", "cpu", "cuda" or another device of ONNX Runtime.
        devices: devices of single stages, such as ``{"flow": "cuda"}``.
        threads: processor threads per stage; None: as many as there are processors, at most 4.
        lexicon: readings by word that go before the built-in ones.
        default_han: language of Chinese characters that nothing else decides.

    Raises:
        BundleError: the bundle is missing or damaged.
        DeviceError: the device is not available; the message says what to install.
        InputError: an unknown stage in `devices`, a bad number of threads, or a bad lexicon.
    """

    def __init__(
        self,
        bundle: str | os.PathLike[str] = "nano",
        device: str = "auto",
        threads: int | None = None,
        *,
        devices: Mapping[str, str] | None = None,
        lexicon: "Mapping[str, str] | Lexicon | None" = None,
        default_han: Literal["zh", "ja"] = "zh",
    ) -> None:
        from cosylite.runtime.speaker import load_speaker

        self.speaker: Speaker = load_speaker(
            bundle, device=device, devices=devices, threads=threads, lexicon=lexicon, default_han=default_han
        )

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Voices of the bundle."""
        return self.speaker.voices

    @property
    def sample_rate(self) -> int:
        """Samples per second of everything that is said."""
        return self.speaker.sample_rate

    @property
    def engine(self) -> "Engine":
        """The engine of a nano bundle, with more than speaking.

        Raises:
            BundleError: the bundle is of another family.
        """
        from cosylite.runtime.engine import Engine

        if not isinstance(self.speaker, Engine):
            raise BundleError(
                "this works with nano bundles only so far; bundles of CosyVoice speak through TTS and `cosylite say`",
                code="unsupported_family",
                param="bundle",
            )
        return self.speaker

    def say(
        self,
        text: str,
        voice: str | None = None,
        lang: str = "auto",
        speed: float = 1.0,
        seed: int = 0,
        **more: Unpack[MoreOptions],
    ) -> Speech:
        """Speak a text.

        Args:
            text: what to say, with inline markup or SSML.
            voice: a name from `voices`; None: the default for the language.
            lang: "auto", "zh", "en", "ja" or "ko".
            speed: speaking rate, 0.25 to 4.
            seed: equal seeds give equal audio.
            **more: `volume`, `sentence_silence`, `trim`, `noise_scale`, `low_pass`, `high_pass`, `skip_unknown`.

        Raises:
            InputError: the text or an option cannot be used.
        """
        return self.speaker.say(text, SynthesisOptions(voice, lang, speed, seed, **more))

    def stream(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        lang: str = "auto",
        speed: float = 1.0,
        seed: int = 0,
        chunk_frames: int | None = None,
        **more: Unpack[MoreOptions],
    ) -> Generator[AudioChunk, None, None]:
        """Speak a text while it is computed, or while it is still being written.

        The joined chunks equal `say`, whatever `chunk_frames` is. Closing the iterator cancels at once.

        Args:
            text: a text, or an iterable of pieces of one text.
            voice, lang, speed, seed, more: as in `say`.
            chunk_frames: frames of 20 ms to compute at a time; None: few at first, then more.
        """
        return self.speaker.stream(text, SynthesisOptions(voice, lang, speed, seed, **more), chunk_frames)

    def say_many(
        self,
        texts: Sequence[str],
        voice: str | None = None,
        lang: str = "auto",
        speed: float = 1.0,
        seed: int = 0,
        **more: Unpack[MoreOptions],
    ) -> list[Speech]:
        """Speak several texts together: faster than one after the other. Results are in order."""
        return self.speaker.say_many(texts, SynthesisOptions(voice, lang, speed, seed, **more))
