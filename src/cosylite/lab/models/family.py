"""A whole model of the CosyVoice family."""

from dataclasses import dataclass

import torch

from cosylite.lab.models.config import FamilyConfig, FlowConfig, VocoderConfig
from cosylite.lab.models.flow import CausalFlow, TokenFlow
from cosylite.lab.models.hift import HiFT
from cosylite.lab.models.lm import LanguageModel, build_lm


@dataclass(frozen=True)
class FamilyModel:
    """The three networks of a model and its configuration."""

    config: FamilyConfig
    lm: LanguageModel
    flow: TokenFlow | CausalFlow
    vocoder: HiFT


def build_flow(config: FlowConfig, vocoder: VocoderConfig, *, causal: bool) -> TokenFlow | CausalFlow:
    """The flow of a family; v1 derives its frame rate from the vocoder."""
    if causal:
        return CausalFlow(config)
    return TokenFlow(config, sample_rate=vocoder.sample_rate, hop=vocoder.samples_per_frame)


def build_family(config: FamilyConfig, *, device: str = "cpu") -> FamilyModel:
    """A model with freshly drawn weights, in evaluation mode; on the device "meta" it has none and takes no memory."""
    with torch.device(device):
        lm = build_lm(config.lm)
        flow = build_flow(config.flow, config.vocoder, causal=config.family != "v1")
        vocoder = HiFT(config.vocoder)
    return FamilyModel(config, lm.eval(), flow.eval(), vocoder.eval())
