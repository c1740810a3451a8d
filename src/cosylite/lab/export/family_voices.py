"""Voices in a bundle of an official model besides preset speakers: saved prompts, and the graphs that hear new ones."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cosylite.errors import InputError
from cosylite.lab.checkpoints import Checkpoint
from cosylite.runtime.family.kinds import LISTENERS
from cosylite.runtime.family.manifest import PROMPT_VOICES
from cosylite.runtime.family.voices import PromptVoice, VoiceStore

_PROMPT_KEYS = {"prompt_text", "llm_prompt_speech_token", "prompt_speech_feat", "llm_embedding"}
"""What a speaker that was saved with a prompt has."""


def follows_instructions(checkpoint: Checkpoint) -> bool:
    """Whether a model was trained for that. In v1 only the name of the release tells, as in the official code."""
    return checkpoint.config.family != "v1" or "instruct" in checkpoint.directory.resolve().name.lower()


def prompt_voices(checkpoint: Checkpoint) -> list[PromptVoice]:
    """The speakers that were saved with a prompt. Their transcripts are known as ids only."""
    return [
        PromptVoice(
            name,
            checkpoint.config.family,
            "",
            text=_flat(entry, "prompt_text").astype(np.int32),
            tokens=_flat(entry, "llm_prompt_speech_token").astype(np.int32),
            mel=entry["prompt_speech_feat"][0].float().numpy(),
            speaker=_flat(entry, "llm_embedding").astype(np.float32),
        )
        for name, entry in checkpoint.speakers.items()
        if set(entry) >= _PROMPT_KEYS
    ]


def _flat(entry: Mapping[str, Tensor], key: str) -> NDArray[Any]:
    values: NDArray[Any] = entry[key].flatten().numpy()
    return values


def write_voices(checkpoint: Checkpoint, folder: Path, report: Callable[[str], None]) -> None:
    """Write the voices that were saved with a prompt, and copy the graphs that hear new ones, where there are any."""
    family = checkpoint.config.family
    store = VoiceStore(family, folder / PROMPT_VOICES)
    for voice in prompt_voices(checkpoint):
        try:
            store.save(voice)
        except InputError as error:
            report(f"left out a saved voice: {error}")
        else:
            report(f"voice saved with a prompt: {voice.name}")
    for file in LISTENERS[family]:
        source = checkpoint.directory / file
        if source.is_file():
            report(f"copy {file}")
            shutil.copyfile(source, folder / file)
        else:
            report(f"no {file} in this model: no voice can be added to the bundle")
