"""Writes an official model as a bundle."""

import dataclasses
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosylite.lab.checkpoints import Checkpoint
from cosylite.lab.export.bundle import replace_folder, write_manifest
from cosylite.lab.export.family_flow import flow_graphs
from cosylite.lab.export.family_lm import lm_graph, text_graph
from cosylite.lab.export.family_vocoder import vocoder_graphs
from cosylite.lab.export.graph import GraphWriter, Precision
from cosylite.lab.models.config import DiTConfig, FlowConfig, QwenConfig, QwenLMConfig, VocoderConfig
from cosylite.lab.models.family import FamilyModel
from cosylite.lab.models.lm import TransformerLM
from cosylite.lab.models.stages import control_ids
from cosylite.runtime.family.manifest import FlowSpec, TokenSpec, VocoderSpec


def graphs(model: FamilyModel, precision: Precision = "fp32") -> dict[str, GraphWriter]:
    """Every graph of a model by name."""
    lm = {"lm": lm_graph(model.lm, precision)}
    if isinstance(model.lm, TransformerLM):
        lm["text"] = text_graph(model.lm, precision)
    return lm | flow_graphs(model.flow, precision) | vocoder_graphs(model.vocoder)


def tables(model: FamilyModel) -> dict[str, NDArray[np.float32]]:
    """What the runtime looks up or multiplies by itself."""
    lm, mix = model.lm, model.vocoder.mix
    found: dict[str, Tensor] = {
        "text_table": lm.text_embedding.weight,
        "speech_table": lm.speech_embedding.weight,
        "control": torch.cat(lm.control_rows()),
        "source_mix": torch.cat([mix.weight[0], mix.bias]),
    }
    if isinstance(lm, TransformerLM):
        found |= {"speaker_weight": lm.speaker_projection.weight.T, "speaker_bias": lm.speaker_projection.bias}
    return {name: np.ascontiguousarray(tensor.detach().numpy()) for name, tensor in found.items()}


def token_spec(model: FamilyModel) -> TokenSpec:
    """Facts about the language model."""
    config, backbone = model.config.lm, model.config.lm.backbone
    controls = control_ids(model.config.family, config.speech_tokens)
    return TokenSpec(
        layers=backbone.layers,
        heads=backbone.kv_heads if isinstance(backbone, QwenConfig) else backbone.heads,
        head_size=backbone.width // backbone.heads,
        width=config.backbone.width if isinstance(config, QwenLMConfig) else config.width,
        speech_tokens=config.speech_tokens,
        end=controls.end,
        fill=controls.fill,
        end_of_prompt=controls.end_of_prompt,
        mix=config.mix if isinstance(config, QwenLMConfig) else (),
        sampling=config.sampling,
    )


def flow_spec(config: FlowConfig, *, causal: bool) -> FlowSpec:
    """Facts about the flow."""
    has_encoder_chunks = causal and not isinstance(config.estimator, DiTConfig)
    return FlowSpec(
        mel=config.mel,
        token_rate=config.token_rate,
        guidance=config.guidance,
        look_ahead=config.look_ahead if causal else 0,
        frames_per_token=config.frames_per_token if causal else 0,
        token_chunk=config.token_chunk if has_encoder_chunks else 0,
        frame_chunk=config.estimator.chunk,
    )


def reach(config: VocoderConfig) -> tuple[int, int]:
    """Mel frames before and after a frame on which its waveform depends, rounded up."""
    share = 1.0 if config.causal else 0.5
    samples, total = 1, 0.0 if config.causal else 3.0
    for stage, (rate, kernel) in enumerate(zip(config.rates, config.kernels, strict=True)):
        samples *= rate
        shapes = zip(config.block_kernels, config.block_dilations, strict=True)
        blocks = max(_block_reach(k, dilations) for k, dilations in shapes)
        source = 2 + share * _block_reach(config.source_kernels[stage], config.source_dilations[stage])
        total = max(total + kernel / samples, source / samples) + share * blocks / samples
    frames = math.ceil(total + 1 + (6 + config.n_fft) / samples)
    return frames, config.look_right + 2 if config.causal else frames


def _block_reach(kernel: int, dilations: tuple[int, ...]) -> int:
    return (kernel - 1) * (sum(dilations) + len(dilations))


def vocoder_spec(model: FamilyModel) -> VocoderSpec:
    """Facts about the vocoder."""
    config = model.config.vocoder
    left, right = reach(config)
    return VocoderSpec(
        n_fft=config.n_fft,
        hop=config.hop,
        limit=config.limit,
        look_right=config.look_right if config.causal else 0,
        pitch_look_right=config.pitch_look_right if config.causal else 0,
        pitch_frames=5 if not config.causal else 8 + config.pitch_look_right,
        left_frames=left,
        right_frames=right,
        source=model.vocoder.source().config,
    )


def export_family(
    checkpoint: Checkpoint, target: Path, *, name: str, precision: Precision = "fp32", licence: str = "Apache-2.0"
) -> None:
    """Write the bundle of a checkpoint to the folder `target`, replacing it as a whole.

    Args:
        precision: of the matrices of language model and flow; the vocoder stays in float32.
    """
    model = checkpoint.model
    with tempfile.TemporaryDirectory(dir=_parent(target)) as scratch:
        folder = Path(scratch) / "bundle"
        folder.mkdir()
        for stage, graph in graphs(model, precision).items():
            graph.save(folder / f"{stage}.onnx")
        for table, values in tables(model).items():
            np.save(folder / f"{table}.npy", values)
        facts = {
            "family": model.config.family,
            "name": name,
            "licence": licence,
            "sample_rate": model.config.sample_rate,
            "tokens": dataclasses.asdict(token_spec(model)),
            "flow": dataclasses.asdict(flow_spec(model.config.flow, causal=model.config.family != "v1")),
            "vocoder": dataclasses.asdict(vocoder_spec(model)),
            "measured": {"precision": precision},
        }
        write_manifest(folder, facts)
        replace_folder(folder, target)


def _parent(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.parent
