"""Writes an official model as a bundle."""

import dataclasses
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cosylite.errors import OutputError
from cosylite.lab.checkpoints import Checkpoint
from cosylite.lab.checkpoints.vocabulary import vocabulary
from cosylite.lab.export.bundle import replace_folder, write_json, write_manifest
from cosylite.lab.export.family_check import Difference, compare
from cosylite.lab.export.family_flow import flow_graphs
from cosylite.lab.export.family_lm import head_room, lm_graph, places_graph, text_graph
from cosylite.lab.export.family_vocoder import vocoder_graphs
from cosylite.lab.export.family_voices import follows_instructions, write_voices
from cosylite.lab.export.graph import GraphWriter, Precision
from cosylite.lab.models.config import DiTConfig, FamilyConfig, FlowConfig, QwenConfig, QwenLMConfig, VocoderConfig
from cosylite.lab.models.family import FamilyModel
from cosylite.lab.models.lm import TransformerLM
from cosylite.lab.models.noise import flow_noise, vocoder_noise
from cosylite.lab.models.stages import control_ids
from cosylite.runtime.bundle import MANIFEST
from cosylite.runtime.family.manifest import TOKENIZER, VOICES, FlowSpec, TokenSpec, VocoderSpec
from cosylite.runtime.family.model import load_family
from cosylite.runtime.family.noise import FIXED, FLOW, SOURCE
from cosylite.text.family.tokenizers import pack

NOISE_SECONDS = 30
"""Of the fixed noises in a bundle; the runtime makes up what goes beyond."""
Report = Callable[[str], None]


def graphs(model: FamilyModel, precision: Precision = "fp32") -> dict[str, GraphWriter]:
    """Every graph of a model by name."""
    lm = {"lm": lm_graph(model.lm, precision)}
    if isinstance(model.lm, TransformerLM):
        lm |= {"text": text_graph(model.lm, precision), "places": places_graph(model.lm, precision)}
    return lm | flow_graphs(model.flow, precision) | vocoder_graphs(model.vocoder, precision)


def tables(model: FamilyModel, precision: Precision = "fp32") -> dict[str, NDArray[np.float32] | NDArray[np.float16]]:
    """What the runtime looks up or multiplies by itself; below float32 the rows of tokens are kept in float16."""
    lm, mix = model.lm, model.vocoder.mix
    found: dict[str, Tensor] = {
        "text_table": lm.text_embedding.weight,
        "speech_table": lm.speech_embedding.weight,
        "control": torch.cat(lm.control_rows()),
        "source_mix": torch.cat([mix.weight[0], mix.bias]),
    }
    if isinstance(lm, TransformerLM):
        found |= {"speaker_weight": lm.speaker_projection.weight.T, "speaker_bias": lm.speaker_projection.bias}
    if precision != "fp32":
        found |= {name: found[name].half() for name in ("text_table", "speech_table")}
    return {name: np.ascontiguousarray(tensor.detach().numpy()) for name, tensor in found.items()}


def token_spec(model: FamilyModel) -> TokenSpec:
    """Facts about the language model."""
    config, backbone = model.config.lm, model.config.lm.backbone
    controls = control_ids(model.config.family, config.speech_tokens)
    return TokenSpec(
        layers=backbone.layers,
        heads=backbone.kv_heads if isinstance(backbone, QwenConfig) else backbone.heads,
        head_size=head_room(backbone.width // backbone.heads),
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


def speakers(checkpoint: Checkpoint) -> dict[str, NDArray[np.float32]]:
    """Vectors (size,) of the preset speakers; those saved with a prompt are of another kind (`family_voices`)."""
    entries = checkpoint.speakers.items()
    return {name: entry["embedding"].float().flatten().numpy() for name, entry in entries if "embedding" in entry}


def fixed_noises(config: FamilyConfig) -> dict[str, NDArray[np.float32]]:
    """The first 30 s of the noises that the official model draws once."""
    found: dict[str, Tensor] = {}
    if FLOW in FIXED[config.family]:
        frames = NOISE_SECONDS * config.sample_rate // config.vocoder.samples_per_frame
        found[FLOW] = flow_noise(config.flow.mel)[..., :frames]
    if SOURCE in FIXED[config.family]:
        found[SOURCE] = vocoder_noise(config.flow, config.vocoder, NOISE_SECONDS)
    return {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in found.items()}


def export_family(
    checkpoint: Checkpoint,
    target: Path,
    *,
    name: str,
    precision: Precision = "fp32",
    licence: str = "Apache-2.0",
    report: Report = lambda step: None,
) -> dict[str, Difference]:
    """Write the bundle of a checkpoint to the folder `target`, replacing a bundle there as a whole.

    Args:
        precision: of the matrices of language model and flow; the vocoder stays in float32.
        report: is told every step.

    Returns:
        How far every stage of the bundle is from PyTorch.

    Raises:
        BundleError: the vocabulary is missing, or a stage differs by more than rounding.
        OutputError: `target` is something else than a bundle, or cannot be written.
    """
    check_target(target)
    try:
        with tempfile.TemporaryDirectory(dir=_parent(target), prefix=".bundle-") as scratch:
            folder = Path(scratch) / "bundle"
            folder.mkdir()
            _write_files(checkpoint, folder, precision, report)
            facts = _facts(checkpoint.model, name, licence) | {"voices": list(speakers(checkpoint))}
            facts["instruct"] = follows_instructions(checkpoint)
            whole = write_manifest(folder, facts | {"measured": {"precision": precision}})
            report("compare with PyTorch")
            found = compare(load_family(folder), checkpoint.model, precision)
            whole["measured"]["differences"] = {stage: dataclasses.asdict(d) for stage, d in found.items()}
            write_json(folder, whole)
            replace_folder(folder, target)
    except OSError as error:
        raise OutputError(
            f"cannot write {target}: {error.strerror or error}", code="write_failed", param="output"
        ) from error
    return found


def check_target(target: Path) -> None:
    """Raise OutputError if something other than a bundle or an empty folder is in the way."""
    if not target.exists() or (target / MANIFEST).is_file():
        return
    if not target.is_dir() or any(target.iterdir()):
        raise OutputError(
            f"{target} exists and is no bundle; name another folder, or remove it", code="file_exists", param="output"
        )


def _write_files(checkpoint: Checkpoint, folder: Path, precision: Precision, report: Report) -> None:
    pieces = vocabulary(checkpoint)
    if pieces is None:
        report("no vocabulary in this toy: the bundle takes ids only")
    else:
        (folder / TOKENIZER).write_bytes(pack(pieces))
    for stage, graph in graphs(checkpoint.model, precision).items():
        report(f"write {stage}.onnx")
        graph.save(folder / f"{stage}.onnx")
    presets = speakers(checkpoint)
    report(f"{len(presets)} preset speakers: {', '.join(presets) or 'none'}")
    if presets:
        np.save(folder / f"{VOICES}.npy", np.stack(list(presets.values())))
    write_voices(checkpoint, folder, report)
    report("write tables")
    for table, values in (tables(checkpoint.model, precision) | fixed_noises(checkpoint.config)).items():
        np.save(folder / f"{table}.npy", values)


def _facts(model: FamilyModel, name: str, licence: str) -> dict[str, Any]:
    return {
        "family": model.config.family,
        "name": name,
        "licence": licence,
        "sample_rate": model.config.sample_rate,
        "tokens": dataclasses.asdict(token_spec(model)),
        "flow": dataclasses.asdict(flow_spec(model.config.flow, causal=model.config.family != "v1")),
        "vocoder": dataclasses.asdict(vocoder_spec(model)),
    }


def _parent(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.parent
