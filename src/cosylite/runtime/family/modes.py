"""The modes of the official models: what of voice, transcript and instruction reaches which network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import InputError
from cosylite.options import SynthesisOptions
from cosylite.runtime.family.decode import Prompt
from cosylite.runtime.family.kinds import Family
from cosylite.runtime.family.manifest import FamilyManifest
from cosylite.runtime.family.voices import PromptVoice

Array = NDArray[np.float32]
Encode = Callable[[str], list[int]]

END_OF_PROMPT = "<|endofprompt|>"
"""Ends an instruction, and in v3 the system prompt; v1 was trained with it as ordinary text."""
SYSTEM = "You are a helpful assistant."
"""What v3 was trained to see first."""


@dataclass(frozen=True)
class PresetVoice:
    """A speaker that the checkpoint brings; `speaker` (192,)."""

    name: str
    speaker: Array


AnyVoice = PresetVoice | PromptVoice


@dataclass(frozen=True)
class Conditions:
    """What precedes the text, for language model and flow."""

    prompt_text: tuple[int, ...]
    prompt_tokens: tuple[int, ...]
    """Speech that the language model continues."""
    lm_speaker: Array
    """(0 or 1, 192)"""
    flow_tokens: NDArray[np.int64]
    """(1, P)"""
    flow_mel: Array
    """(1, Q, bands)"""
    speaker: Array
    """(1, 192)"""

    def prompt(self, text: list[int]) -> Prompt:
        """What the language model gets for a text."""
        return Prompt(text, self.prompt_text, self.prompt_tokens, self.lm_speaker)


class Modes:
    """The modes of one bundle. `encode` gives the ids of a text as it is."""

    def __init__(self, manifest: FamilyManifest, encode: Encode) -> None:
        self._family: Family = manifest.family
        self._follows, self._bands = manifest.instruct, manifest.flow.mel
        self._end_of_prompt = manifest.tokens.end_of_prompt
        self._encode = encode

    def conditions(self, voice: AnyVoice, options: SynthesisOptions) -> Conditions:
        """What a voice and the options come to.

        Raises:
            InputError: the mode does not go with the voice, the model or the other options.
        """
        mode = self._mode(voice, options)
        if mode == "instruct":
            return self._instruct(voice, options.instruct)
        if isinstance(voice, PresetVoice):
            return self._built((), (), voice, shown=False)
        if mode == "cross-lingual":
            return self._built((), (), voice, shown=True)
        return self._built(tuple(voice.text.tolist()), tuple(voice.tokens.tolist()), voice, shown=True)

    def conversion(self, voice: AnyVoice) -> Conditions:
        """For speech of somebody else that gets this voice; the language model has no part in it."""
        return self._built((), (), voice, shown=isinstance(voice, PromptVoice))

    def without_system(self, given: Conditions, text: Sequence[int]) -> Conditions:
        """The conditions for a text that brings the system prompt of v3 itself, as in the official examples."""
        if self._end_of_prompt is None or self._end_of_prompt not in text or given.prompt_text != self._system():
            return given
        return replace(given, prompt_text=())

    def _system(self) -> tuple[int, ...]:
        return tuple(self._encode(SYSTEM + END_OF_PROMPT))

    def _mode(self, voice: AnyVoice, options: SynthesisOptions) -> str:
        mode = options.mode
        if mode == "auto":
            preset = isinstance(voice, PresetVoice)
            speaking = "preset" if preset else "zero-shot" if _transcribed(voice) else "cross-lingual"
            mode = "instruct" if options.instruct else speaking
        if options.instruct and mode != "instruct":
            raise InputError(
                f"mode {mode} takes no instruction; leave out instruct, or the mode",
                code="unsupported",
                param="instruct",
            )
        if mode == "preset" and isinstance(voice, PromptVoice):
            raise InputError(
                f"voice {voice.name!r} comes from a recording and is no preset; use zero-shot or cross-lingual",
                code="wrong_mode",
                param="mode",
            )
        if mode in ("zero-shot", "cross-lingual") and isinstance(voice, PresetVoice):
            raise InputError(
                f"voice {voice.name!r} is a preset without recording; use mode preset, or add a voice",
                code="wrong_mode",
                param="mode",
            )
        if mode == "zero-shot" and not _transcribed(voice):
            raise InputError(
                f"it is not known what the recording of {voice.name!r} says; add the voice with its text, or use mode"
                " cross-lingual",
                code="wrong_mode",
                param="mode",
            )
        return mode

    def _instruct(self, voice: AnyVoice, instruct: str) -> Conditions:
        if not instruct.strip():
            raise InputError(
                "mode instruct needs an instruction: give instruct", code="missing_instruct", param="instruct"
            )
        if not self._follows:
            raise InputError(
                "this model was not trained to follow instructions; leave out instruct, or use CosyVoice-300M-Instruct,"
                " CosyVoice2-0.5B or Fun-CosyVoice3-0.5B",
                code="unsupported",
                param="instruct",
            )
        text = instruct if END_OF_PROMPT in instruct else instruct.strip() + END_OF_PROMPT
        if self._family == "v3" and not text.startswith(SYSTEM):
            text = f"{SYSTEM} {text}"
        ids = tuple(self._encode(text))
        if self._family == "v1":  # the instruction stands for the speaker
            return self._built(ids, (), voice, shown=False, heard=False)
        return self._built(ids, (), voice, shown=isinstance(voice, PromptVoice))

    def _built(
        self, text: tuple[int, ...], tokens: tuple[int, ...], voice: AnyVoice, *, shown: bool, heard: bool = True
    ) -> Conditions:
        """`shown`: the flow continues the recording; `heard`: the language model of v1 is told the speaker."""
        if self._end_of_prompt is not None and self._end_of_prompt not in text:
            text = (*self._system(), *text)
        speaker = voice.speaker[None].astype(np.float32)
        shows = isinstance(voice, PromptVoice) and shown
        return Conditions(
            text,
            tokens,
            speaker if heard else speaker[:0],
            np.array([voice.tokens if shows else []], np.int64),  # type: ignore[union-attr]
            voice.mel[None] if shows else np.zeros((1, 0, self._bands), np.float32),  # type: ignore[union-attr]
            speaker,
        )


def _transcribed(voice: AnyVoice) -> bool:
    return isinstance(voice, PromptVoice) and voice.transcribed
