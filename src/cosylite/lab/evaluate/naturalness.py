"""Predicted opinion scores and voice likeness. Each judge is loaded when it is first asked."""

import functools
import sys
import types
from typing import Any

import numpy as np
import soxr
import torch
from numpy.typing import NDArray

from cosylite.errors import DeviceError

Samples = NDArray[np.float32]


def _missing(package: str) -> DeviceError:
    return DeviceError(f"this score needs {package}: pip install 'cosylite[quality]'", code="missing_dependency")


def _at_16k(samples: Samples, sample_rate: int) -> Samples:
    heard: Samples = soxr.resample(samples, sample_rate, 16_000).astype(np.float32)
    return np.clip(heard, -1, 1)


def dnsmos(samples: Samples, sample_rate: int) -> float:
    """DNSMOS overall (Reddy et al., 2022), 1 to 5."""
    try:
        from speechmos import dnsmos as judge
    except ImportError as error:
        raise _missing("speechmos") from error
    return float(judge.run(_at_16k(samples, sample_rate), sr=16_000)["ovrl_mos"])


@functools.cache
def _distillmos() -> Any:
    # The package imports torchaudio for its command line only; an empty module stands in for it.
    sys.modules.setdefault("torchaudio", types.ModuleType("torchaudio"))
    try:
        import distillmos as package
    except ImportError as error:
        raise _missing("distillmos") from error
    return package.ConvTransformerSQAModel().eval()


@torch.no_grad()
def distillmos(samples: Samples, sample_rate: int) -> float:
    """DistillMOS (Stahl and Gamper, 2025), 1 to 5."""
    return float(_distillmos()(torch.from_numpy(_at_16k(samples, sample_rate))[None]))


@functools.cache
def _speaker_encoder() -> Any:
    try:
        from resemblyzer import VoiceEncoder
    except ImportError as error:
        raise _missing("resemblyzer") from error
    return VoiceEncoder("cpu", verbose=False)


def voice_vector(samples: Samples, sample_rate: int) -> NDArray[np.float32]:
    """Unit vector (256,) that stands for the speaker of `samples`."""
    vector: NDArray[np.float32] = _speaker_encoder().embed_utterance(_at_16k(samples, sample_rate))
    return vector
