"""The noises that the official models draw once, when they are built, and that their checkpoints do not hold."""

import torch
from torch import Tensor, nn

from cosylite.lab.models.config import FlowConfig, VocoderConfig
from cosylite.lab.models.hift import PitchPredictor

SECONDS = 300
"""Length of both noises."""
_FLOW_FRAMES_PER_SECOND = 50


def flow_noise(mel: int = 80) -> Tensor:
    """Noise (1, mel, 15000) that the flows of v2 and v3 start from, whatever the sentence; its head is used."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(1, mel, SECONDS * _FLOW_FRAMES_PER_SECOND, generator=generator)


def vocoder_noise(flow: FlowConfig, vocoder: VocoderConfig, seconds: int = SECONDS) -> Tensor:
    """Noise (1, samples, sines) of the v3 vocoder, uniform between 0 and 1; of its 300 s the first `seconds`.

    It is drawn after the flow noise and after the initial weights of three modules, which are drawn here and dropped.
    Only the numbers of the official size are those of the official model. The whole takes 260 MB.
    """
    sines = vocoder.harmonics + 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        torch.randn(1, flow.mel, SECONDS * _FLOW_FRAMES_PER_SECOND)
        nn.Embedding(flow.speech_tokens, flow.input_size)
        nn.Linear(flow.speaker_size, flow.mel)
        PitchPredictor(vocoder)
        torch.rand(1, sines)
        return torch.rand(1, seconds * vocoder.sample_rate, sines)
