"""Compares a bundle with the PyTorch model that it was written from, stage by stage, on made-up input."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosylite.errors import BundleError
from cosylite.lab.models.family import FamilyModel
from cosylite.lab.models.flow import TokenFlow, guided
from cosylite.lab.models.stages import TorchTokenModel, control_ids
from cosylite.runtime.family.decode import Prompt, prompt_rows
from cosylite.runtime.family.model import WHOLE
from cosylite.runtime.family.model import FamilyModel as Bundle

Array = NDArray[np.float32]

TEXT, SPEECH, PROMPT = 12, 40, 10
"""Tokens of the made-up input."""
STEPS = 3
LIMITS = {"fp32": 1e-3, "fp16": 1e-1, "int8": 0.3, "int4": 0.9}
"""Relative differences that only a broken graph goes beyond. The excitation magnifies rounding most."""


@dataclass(frozen=True)
class Difference:
    """Between what a stage gives on ONNX Runtime and on PyTorch."""

    largest: float
    """Of any value."""
    relative: float
    """Root mean square, as a share of that of PyTorch's values."""

    @classmethod
    def between(cls, found: Array, wanted: Tensor | Array) -> "Difference":
        """Of two arrays; those of different shape, or with values that are no numbers, differ infinitely."""
        a, b = found.astype(np.float64), np.asarray(wanted, np.float64)
        if a.shape != b.shape or not np.isfinite(a).all():
            return cls(float("inf"), float("inf"))
        gap = np.abs(a - b)
        return cls(float(gap.max()), float(np.sqrt((gap**2).mean() / max((b**2).mean(), 1e-30))))

    def at_least(self, other: "Difference | None") -> "Difference":
        """The greater of both, value by value."""
        if other is None:
            return self
        return Difference(max(self.largest, other.largest), max(self.relative, other.relative))


class Comparison:
    """Collects the differences of the stages of one bundle."""

    def __init__(self, bundle: Bundle, model: FamilyModel) -> None:
        self._bundle, self._model = bundle, model
        self._random = np.random.default_rng(0)
        self.found: dict[str, Difference] = {}

    @torch.inference_mode()
    def run(self) -> dict[str, Difference]:
        """Compare every stage."""
        self._language_model()
        self._flow()
        self._vocoder()
        return self.found

    def _note(self, stage: str, found: Array, wanted: Tensor | Array) -> None:
        self.found[stage] = Difference.between(found, wanted).at_least(self.found.get(stage))

    def _ids(self, count: int, below: int) -> list[int]:
        return [int(i) for i in self._random.integers(0, below, count)]

    def _normal(self, *shape: int) -> Array:
        return self._random.standard_normal(shape, dtype=np.float32)

    def _language_model(self) -> None:
        ours, config = self._bundle.lm, self._model.config
        theirs = TorchTokenModel(self._model.lm, control_ids(config.family, config.lm.speech_tokens))
        prompt = Prompt(
            self._ids(TEXT, len(ours.text_table)),
            (),
            self._ids(PROMPT, config.lm.speech_tokens),
            self._normal(1, config.flow.speaker_size),
        )
        rows = prompt_rows(theirs, prompt)
        self._note("text", prompt_rows(ours, prompt), rows)
        memory, cache = ours.open(0), theirs.open(len(rows) + STEPS)
        for _ in range(1 + STEPS):
            self._note("lm", ours.feed(rows, memory), theirs.feed(rows, cache))
            rows = theirs.speech(self._ids(1, config.lm.speech_tokens))

    def _flow(self) -> None:
        ours, theirs, config = self._bundle.flow, self._model.flow, self._model.config.flow
        tokens, prompt = (np.array([self._ids(n, config.speech_tokens)]) for n in (SPEECH, PROMPT))
        embedding = self._normal(1, config.speaker_size)
        hint = self._normal(1, PROMPT * config.frames_per_token, config.mel)
        for streaming in (False, True) if ours.spec.frame_chunk else (False,):
            mu, speaker = ours.condition(tokens, prompt, hint, embedding, streaming, True)
            if isinstance(theirs, TokenFlow):
                wanted = theirs.mu(torch.from_numpy(tokens), torch.from_numpy(prompt), hint.shape[1])
            else:
                joined = torch.from_numpy(np.concatenate([prompt, tokens], 1))
                wanted = theirs.mu(joined, streaming=streaming, finalize=True)
            given = theirs.condition(wanted, torch.from_numpy(embedding), torch.from_numpy(hint))
            self._note("encoder", mu, given.mu)
            self._note("speaker", speaker, given.speaker)
            x = self._normal(*mu.shape)
            velocity = guided(theirs.estimator, torch.from_numpy(x), 0.4, given, config.guidance, streaming)
            told = given.mu.numpy(), given.speaker.numpy(), given.prompt.numpy()
            found = ours.velocity(x, 0.4, *told, ours.spec.frame_chunk if streaming else WHOLE)
            self._note("estimator", found, velocity)

    def _vocoder(self) -> None:
        ours, theirs = self._bundle.vocoder, self._model.vocoder
        mel = self._normal(1, ours.bands, SPEECH) * 2 - 5
        f0 = theirs.pitch(torch.from_numpy(mel))
        self._note("pitch", ours.pitch(mel), f0)
        samples = SPEECH * theirs.config.samples_per_frame
        noise = torch.from_numpy(np.array(self._bundle.noises.source(0, samples, 0)))
        source = theirs.excite(f0, noise)
        self._note("vocoder", ours.decode(mel, source.numpy()), theirs.decode(torch.from_numpy(mel), source))


def compare(bundle: Bundle, model: FamilyModel, precision: str) -> dict[str, Difference]:
    """Differences by stage: text (rows that the language model is fed), lm (log-probabilities), encoder, speaker,
    estimator (velocity), pitch (Hz), vocoder (waveform).

    Raises:
        BundleError: a stage differs by more than rounding explains.
    """
    found = Comparison(bundle, model).run()
    for stage, difference in found.items():
        if not difference.relative <= LIMITS[precision]:
            raise BundleError(
                f"stage {stage} of the bundle differs from PyTorch by {difference.largest:.2g},"
                f" {difference.relative:.2g} relative, more than rounding in {precision} explains;"
                " no bundle was written, please report it",
                code="export_mismatch",
                param=stage,
            )
    return found
