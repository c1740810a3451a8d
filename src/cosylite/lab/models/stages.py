"""The networks behind the interfaces of the runtime: NumPy in, NumPy out, decoding and streaming shared with ONNX."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosylite.lab.models.attention import KeyValueCache
from cosylite.lab.models.hift import HiFT
from cosylite.lab.models.lm import LanguageModel
from cosylite.runtime.family.decode import ControlIds, Rows
from cosylite.runtime.family.kinds import Family

Array = NDArray[np.float32]

END_OF_PROMPT = 151646
"""Text id of <|endofprompt|> in v2 and v3."""


def control_ids(family: Family, speech_tokens: int) -> ControlIds:
    """The control ids of a family."""
    if family == "v1":
        return ControlIds(speech_tokens, end=speech_tokens)
    if family == "v2":
        return ControlIds(speech_tokens, end=speech_tokens, fill=speech_tokens + 2)
    return ControlIds(speech_tokens, end=speech_tokens + 1, fill=speech_tokens + 3, end_of_prompt=END_OF_PROMPT)


@dataclass(frozen=True)
class TorchTokenModel:
    """A `TokenModel` on PyTorch, one utterance at a time."""

    lm: LanguageModel
    controls: ControlIds

    def text(self, ids: Sequence[int]) -> Rows:
        """Rows of text ids."""
        return _rows(self.lm.text_rows(_ids(ids))[0]) if len(ids) else self._none()

    def speech(self, ids: Sequence[int]) -> Rows:
        """Rows of speech tokens."""
        return _rows(self.lm.speech_rows(_ids(ids))[0]) if len(ids) else self._none()

    def speaker(self, embedding: Array) -> Rows:
        """No row or one."""
        return _rows(self.lm.speaker_rows(torch.from_numpy(embedding))) if len(embedding) else self._none()

    def start_row(self) -> Rows:
        """The row that opens a sequence."""
        return _rows(self.lm.control_rows()[0])

    def task_row(self) -> Rows:
        """The row that asks for speech."""
        return _rows(self.lm.control_rows()[1])

    def open(self, capacity: int) -> KeyValueCache:
        """Empty cache."""
        return self.lm.create_cache(1, capacity)

    @torch.inference_mode()
    def feed(self, rows: Rows, state: KeyValueCache) -> Array:
        """Log-probabilities (vocabulary,) of the next token."""
        hidden = self.lm.extend(torch.from_numpy(rows)[None], state)
        return _rows(self.lm.logits(hidden[0, -1]).log_softmax(-1))

    def _none(self) -> Rows:
        return _rows(self.lm.control_rows()[0][:0])


@dataclass(frozen=True)
class TorchVocoder:
    """A streaming `Vocoder` on PyTorch; every call uses `noise` (1, samples, sines) and `phases` (1, sines) anew."""

    hift: HiFT
    noise: Tensor
    phases: Tensor | None = None

    @torch.inference_mode()
    def excite(self, mel: Array, *, finalize: bool) -> Array:
        """Excitation (1, 1, samples) of a mel (1, bands, T)."""
        f0 = self.hift.pitch(torch.from_numpy(mel), finalize=finalize)
        return _rows(self.hift.excite(f0, self.noise, self.phases))

    @torch.inference_mode()
    def decode(self, mel: Array, source: Array, *, finalize: bool) -> Array:
        """Waveform (1, samples) of a mel and its excitation."""
        return _rows(self.hift.decode(torch.from_numpy(mel), torch.from_numpy(source), finalize=finalize))


def _ids(ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], dtype=torch.long)


def _rows(tensor: Tensor) -> Array:
    out: Array = tensor.detach().numpy()
    return out
