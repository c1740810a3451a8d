"""`TTS`: text to speech in five lines."""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from cosylite.audio.values import AudioChunk, Speech
from cosylite.errors import BundleError
from cosylite.options import SynthesisOptions, Voice

if TYPE_CHECKING:
    from cosylite.audio.recordings import Source
    from cosylite.runtime.engine import Engine
    from cosylite.runtime.family.engine import FamilyEngine
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
    mode: str
    instruct: str
    streaming: str
    flow_steps: int | None


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

    @property
    def family_engine(self) -> "FamilyEngine":
        """The engine of a CosyVoice bundle, with more than speaking.

        Raises:
            BundleError: the bundle is of another family.
        """
        from cosylite.runtime.family.engine import FamilyEngine

        if not isinstance(self.speaker, FamilyEngine):
            raise BundleError(
                "voices from recordings need a bundle of CosyVoice; `cosylite convert` makes one",
                code="unsupported_family",
                param="bundle",
            )
        return self.speaker

    def blend(self, shares: Mapping[str, float]) -> str:
        """A voice between several of nano's: ``tts.say(text, voice=tts.blend({"af_heart": 0.6, "jf_alpha": 0.4}))``.

        Returns:
            The blend's name, ``af_heart:0.6+jf_alpha:0.4``, which works wherever a voice of this bundle is named.

        Raises:
            InputError: an unknown voice, or a share that is not above 0.
            BundleError: the bundle is of another family.
        """
        from cosylite.runtime.voices import blend_name, named_voice

        name = blend_name(shares)
        named_voice(self.engine.model.bundle.manifest.voices, name)
        return name

    def add_voice(self, name: str, audio: "Source", text: str = "") -> Voice:
        """Make a voice from a recording of somebody, with their consent; it is kept for all bundles of the family.

        Args:
            name: how it will be called; an added voice of this name is replaced.
            audio: file name, open file, or `audio.recordings.Recording`, of 1 to 30 s.
            text: what is said in it, as `mode="zero-shot"` needs; "" where unknown.

        Raises:
            InputError: the recording (no audio, too short or long, silent) or the name cannot be used.
            BundleError: the bundle is nano, or lacks the graphs that hear recordings.
            OutputError: the recording cannot be read, or the voice cannot be written.
        """
        return self.family_engine.add_voice(name, audio, text)

    def remove_voice(self, name: str) -> None:
        """Forget a voice that was added; raises InputError where there is none of this name."""
        self.family_engine.remove_voice(name)

    def convert_voice(
        self, audio: "Source", voice: str | None = None, speed: float = 1.0, seed: int = 0, **more: Unpack[MoreOptions]
    ) -> Speech:
        """What somebody says in a recording of up to 10 minutes, in another voice.

        Args:
            audio: file name, open file, or `audio.recordings.Recording`.
            voice, speed, seed, more: as in `say`.

        Raises:
            InputError: the recording, the voice or an option cannot be used.
            BundleError: the bundle is nano, or lacks the graphs that hear recordings.
            OutputError: the recording cannot be read.
        """
        return self.family_engine.convert(audio, SynthesisOptions(voice, "auto", speed, seed, **more))

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
            **more: `volume`, `sentence_silence`, `trim`, `noise_scale`, `low_pass`, `high_pass`, `skip_unknown`; with
                bundles of CosyVoice also `mode`, `instruct`, `streaming`, `flow_steps`; see `SynthesisOptions`.

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

        The joined chunks equal `say`, whatever `chunk_frames` is (with bundles of CosyVoice: where `streaming` is
        "exact"). Closing the iterator cancels at once.

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
