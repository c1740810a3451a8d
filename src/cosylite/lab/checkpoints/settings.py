"""From the official settings (yaml of a release or config.json of a toy) to our configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cosylite.errors import BundleError
from cosylite.lab.models.config import (
    DiTConfig,
    EncoderConfig,
    FamilyConfig,
    FlowConfig,
    QwenConfig,
    QwenLMConfig,
    TransformerLMConfig,
    UNetConfig,
    VocoderConfig,
)
from cosylite.runtime.family.kinds import Family
from cosylite.runtime.family.sampling import SamplingSettings

Value = TypeVar("Value", int, float, bool, str)

CLASSES: Mapping[Family, tuple[str, str, str]] = {
    "v1": ("TransformerLM", "MaskedDiffWithXvec", "HiFTGenerator"),
    "v2": ("Qwen2LM", "CausalMaskedDiffWithXvec", "HiFTGenerator"),
    "v3": ("CosyVoice3LM", "CausalMaskedDiffWithDiT", "CausalHiFTGenerator"),
}
"""The classes of language model, flow and vocoder by which a family is told."""

_V2_CONTROL_ROWS, _V3_CONTROL_ROWS = 3, 200


@dataclass(frozen=True)
class Section:
    """A mapping inside the settings; every access names what is missing or of the wrong kind."""

    values: Mapping[str, Any]
    where: str

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def section(self, key: str) -> "Section":
        """The mapping under `key`."""
        found = self._found(key)
        if not isinstance(found, Mapping):
            raise self._error(key, "a mapping", found)
        return Section(found, self._name(key))

    def get(self, key: str, kind: type[Value]) -> Value:
        """The value under `key`; whole numbers pass as float."""
        found = self._found(key)
        if kind is float and isinstance(found, int) and not isinstance(found, bool):
            found = float(found)
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise self._error(key, kind.__name__, found)
        return found

    def sizes(self, key: str) -> tuple[int, ...]:
        """The list of whole numbers under `key`."""
        return _sizes(self._found(key), self, key)

    def groups(self, key: str) -> tuple[tuple[int, ...], ...]:
        """The list of lists of whole numbers under `key`."""
        found = self._found(key)
        if not isinstance(found, list):
            raise self._error(key, "a list", found)
        return tuple(_sizes(group, self, key) for group in found)

    def require(self, **wanted: object) -> None:
        """Refuse settings that ask for another computation than the families use."""
        for key, value in wanted.items():
            if key in self.values and self.values[key] != value:
                raise self._error(key, repr(value), self.values[key])

    def _found(self, key: str) -> Any:
        if key not in self.values:
            raise BundleError(f"the settings lack {self._name(key)}", code="bad_config", param=self._name(key))
        return self.values[key]

    def _name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def _error(self, key: str, wanted: str, found: object) -> BundleError:
        name = self._name(key)
        return BundleError(f"the setting {name} must be {wanted}, found {found!r}", code="bad_config", param=name)


def _sizes(found: Any, section: Section, key: str) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(isinstance(x, int) and not isinstance(x, bool) for x in found):
        raise section._error(key, "a list of whole numbers", found)
    return tuple(found)


def read_settings(raw: Mapping[str, Any], family: Family, qwen: Mapping[str, Any] | None) -> FamilyConfig:
    """Configuration of a family.

    Args:
        raw: the settings, nested as in the official yaml.
        family: what the settings must be for.
        qwen: the configuration of the backbone (v2, v3).

    Raises:
        BundleError: something is missing, of the wrong kind, or belongs to another family.
    """
    root = Section(raw, "")
    for part, wanted in zip(("llm", "flow", "hift"), CLASSES[family], strict=True):
        found = root.section(part).get("class", str)
        if found != wanted:
            raise BundleError(
                f"these are not the settings of family {family}: {part} is {found}, expected {wanted}",
                code="wrong_family",
                param=part,
            )
    lm = root.section("llm")
    return FamilyConfig(
        family=family,
        sample_rate=root.get("sample_rate", int),
        lm=_transformer_lm(lm) if family == "v1" else _qwen_lm(lm, family, Section(qwen or {}, "qwen2_config")),
        flow=_flow(root.section("flow"), family),
        vocoder=_vocoder(root.section("hift"), causal=family == "v3"),
    )


def _sampling(section: Section) -> SamplingSettings:
    return SamplingSettings(
        top_p=section.get("top_p", float),
        top_k=section.get("top_k", int),
        window=section.get("win_size", int),
        repetition=section.get("tau_r", float),
    )


def _encoder(section: Section, input_layer: str) -> EncoderConfig:
    section.require(
        input_layer=input_layer,
        pos_enc_layer_type="rel_pos_espnet",
        selfattention_layer_type="rel_selfattn",
        use_cnn_module=False,
        macaron_style=False,
        normalize_before=True,
    )
    return EncoderConfig(
        input_size=section.get("input_size", int),
        width=section.get("output_size", int),
        heads=section.get("attention_heads", int),
        feed_forward=section.get("linear_units", int),
        layers=section.get("num_blocks", int),
    )


def _transformer_lm(section: Section) -> TransformerLMConfig:
    return TransformerLMConfig(
        text_tokens=section.get("text_token_size", int),
        speech_tokens=section.get("speech_token_size", int),
        speaker_size=section.get("spk_embed_dim", int),
        width=section.get("llm_input_size", int),
        text_encoder=_encoder(section.section("text_encoder"), "linear"),
        backbone=_encoder(section.section("llm"), "linear_legacy"),
        sampling=_sampling(section.section("sampling")),
    )


def _qwen_lm(section: Section, family: Family, qwen: Section) -> QwenLMConfig:
    qwen.require(hidden_act="silu", tie_word_embeddings=True, use_sliding_window=False)
    backbone = QwenConfig(
        vocabulary=qwen.get("vocab_size", int),
        width=qwen.get("hidden_size", int),
        feed_forward=qwen.get("intermediate_size", int),
        layers=qwen.get("num_hidden_layers", int),
        heads=qwen.get("num_attention_heads", int),
        kv_heads=qwen.get("num_key_value_heads", int),
        norm_eps=qwen.get("rms_norm_eps", float),
        rope_theta=qwen.get("rope_theta", float),
    )
    mix = section.sizes("mix_ratio")
    if len(mix) != 2:
        raise section._error("mix_ratio", "two whole numbers", list(mix))
    return QwenLMConfig(
        speech_tokens=section.get("speech_token_size", int),
        control_rows=_V2_CONTROL_ROWS if family == "v2" else _V3_CONTROL_ROWS,
        separate_start=family == "v2",
        decoder_bias=family == "v2",
        mix=(mix[0], mix[1]),
        backbone=backbone,
        sampling=_sampling(section.section("sampling")),
    )


def _flow(section: Section, family: Family) -> FlowConfig:
    decoder = section.section("decoder")
    guidance = decoder.section("cfm_params")
    guidance = guidance.section("content") if "content" in guidance else guidance
    guidance.require(solver="euler", t_scheduler="cosine")
    estimator = decoder.section("estimator")
    shared = FlowConfig(
        estimator=_dit(estimator) if family == "v3" else _unet(estimator, causal=family == "v2"),
        input_size=section.get("input_size", int),
        mel=section.get("output_size", int),
        speaker_size=section.get("spk_embed_dim", int),
        speech_tokens=section.get("vocab_size", int),
        token_rate=section.get("input_frame_rate", int),
        guidance=guidance.get("inference_cfg_rate", float),
    )
    if family == "v1":
        section.section("length_regulator").require(sampling_ratios=[1, 1, 1, 1])
        return replace(shared, encoder=_encoder(section.section("encoder"), "linear"))
    shared = replace(
        shared,
        look_ahead=section.get("pre_lookahead_len", int),
        frames_per_token=section.get("token_mel_ratio", int),
    )
    if family == "v2":
        encoder = section.section("encoder")
        chunk = encoder.get("static_chunk_size", int)
        return replace(shared, encoder=_encoder(encoder, "linear"), token_chunk=chunk)
    channels = section.section("pre_lookahead_layer").get("channels", int)
    return replace(shared, look_ahead_channels=channels)


def _unet(section: Section, *, causal: bool) -> UNetConfig:
    section.require(act_fn="gelu", num_decoding_left_chunks=-1)
    return UNetConfig(
        in_channels=section.get("in_channels", int),
        out_channels=section.get("out_channels", int),
        channels=section.sizes("channels"),
        head_size=section.get("attention_head_dim", int),
        heads=section.get("num_heads", int),
        blocks=section.get("n_blocks", int),
        middle=section.get("num_mid_blocks", int),
        causal=causal,
        chunk=section.get("static_chunk_size", int) if causal else 0,
    )


def _dit(section: Section) -> DiTConfig:
    section.require(num_decoding_left_chunks=-1)
    mel = section.get("mel_dim", int)
    section.require(mu_dim=mel, spk_dim=mel, out_channels=mel)
    return DiTConfig(
        mel=mel,
        width=section.get("dim", int),
        depth=section.get("depth", int),
        heads=section.get("heads", int),
        head_size=section.get("dim_head", int),
        feed_forward=section.get("ff_mult", int),
        chunk=section.get("static_chunk_size", int),
    )


def _vocoder(section: Section, *, causal: bool) -> VocoderConfig:
    stft, pitch = section.section("istft_params"), section.section("f0_predictor")
    return VocoderConfig(
        sample_rate=section.get("sampling_rate", int),
        mel=section.get("in_channels", int),
        channels=section.get("base_channels", int),
        harmonics=section.get("nb_harmonics", int),
        sine_amplitude=section.get("nsf_alpha", float),
        noise_deviation=section.get("nsf_sigma", float),
        voiced_threshold=section.get("nsf_voiced_threshold", float),
        rates=section.sizes("upsample_rates"),
        kernels=section.sizes("upsample_kernel_sizes"),
        n_fft=stft.get("n_fft", int),
        hop=stft.get("hop_len", int),
        block_kernels=section.sizes("resblock_kernel_sizes"),
        block_dilations=section.groups("resblock_dilation_sizes"),
        source_kernels=section.sizes("source_resblock_kernel_sizes"),
        source_dilations=section.groups("source_resblock_dilation_sizes"),
        slope=section.get("lrelu_slope", float),
        limit=section.get("audio_limit", float),
        pitch_channels=pitch.get("cond_channels", int),
        causal=causal,
        look_right=section.get("conv_pre_look_right", int) if causal else 0,
    )
