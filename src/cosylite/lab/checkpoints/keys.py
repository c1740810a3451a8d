"""Our parameter names and the official ones, one to one.

A table holds pairs of dotted prefixes, ours and theirs; `*` stands for one part of the name, the same on both sides,
and what follows the prefix is kept. The first pair that fits decides.
"""

from collections.abc import Iterable

from torch import nn

from cosylite.lab.models.config import DiTConfig, UNetConfig
from cosylite.lab.models.encoder import Encoder, UpsamplingEncoder
from cosylite.lab.models.flow import CausalFlow, TokenFlow
from cosylite.lab.models.hift import HiFT
from cosylite.lab.models.lm import TransformerLM

Pair = tuple[str, str]

UNUSED = ("llm.model.lm_head.weight", "decoder.estimator.rotary_embed.inv_freq")
"""Official keys that repeat what is known already: the tied output matrix of Qwen2, the rotary rates of the DiT."""


def official_names(model: nn.Module) -> dict[str, str]:
    """Official name of every parameter of a network: {official: ours}."""
    pairs = _pairs(model)
    return {_translate(name, pairs): name for name in model.state_dict()}


def _translate(name: str, pairs: Iterable[Pair]) -> str:
    parts = name.split(".")
    for ours, theirs in pairs:
        pattern = ours.split(".")
        if len(pattern) <= len(parts) and all(p in ("*", part) for p, part in zip(pattern, parts, strict=False)):
            stars = iter(part for p, part in zip(pattern, parts, strict=False) if p == "*")
            head = [next(stars) if p == "*" else p for p in theirs.split(".")]
            return ".".join(head + parts[len(pattern) :])
    return name


def _pairs(model: nn.Module) -> list[Pair]:
    if isinstance(model, HiFT):
        return _vocoder(model)
    if isinstance(model, TokenFlow | CausalFlow):
        return _flow(model)
    return _transformer_lm() if isinstance(model, TransformerLM) else _qwen_lm()


def _under(ours: str, theirs: str, pairs: Iterable[Pair]) -> list[Pair]:
    return [(f"{ours}.{a}", f"{theirs}.{b}") for a, b in pairs]


def _layers(norms: tuple[str, str]) -> list[Pair]:
    names = [("query", "linear_q"), ("key", "linear_k"), ("value", "linear_v"), ("out", "linear_out")]
    names += [("position", "linear_pos"), ("content_bias", "pos_bias_u"), ("distance_bias", "pos_bias_v")]
    norm_pairs = [("attention_norm", norms[0]), ("feed_forward_norm", norms[1])]
    return [
        *_under("attention", "self_attn", names),
        *norm_pairs,
        ("up", "feed_forward.w_1"),
        ("down", "feed_forward.w_2"),
    ]


def _encoder(norms: tuple[str, str] = ("norm_mha", "norm_ff")) -> list[Pair]:
    return [
        *_under("layers.*", "encoders.*", _layers(norms)),
        *_under("up_layers.*", "up_encoders.*", _layers(norms)),
        *_under("embed", "embed.out", [("linear", "0"), ("norm", "1")]),
        *_under("up_embed", "up_embed.out", [("linear", "0"), ("norm", "1")]),
        *_under("look_ahead", "pre_lookahead_layer", _LOOK_AHEAD),
        ("up", "up_layer.conv"),
        ("norm", "after_norm"),
    ]


_LOOK_AHEAD: tuple[Pair, ...] = (("first", "conv1"), ("second", "conv2"))


def _transformer_lm() -> list[Pair]:
    return [
        *_under("text_encoder", "text_encoder", _encoder()),
        *_under("backbone", "llm", _encoder(("norm1", "norm2"))),
        ("text_projection", "text_encoder_affine_layer"),
        ("speaker_projection", "spk_embed_affine_layer"),
        ("control", "llm_embedding"),
        ("decoder", "llm_decoder"),
    ]


def _qwen_lm() -> list[Pair]:
    attention = [("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj"), ("out", "o_proj")]
    layer = [
        *_under("attention", "self_attn", attention),
        ("attention_norm", "input_layernorm"),
        ("feed_forward_norm", "post_attention_layernorm"),
        *[(name, f"mlp.{name}_proj") for name in ("gate", "up", "down")],
    ]
    return [
        *_under("layers.*", "llm.model.model.layers.*", layer),
        ("norm", "llm.model.model.norm"),
        ("text_embedding", "llm.model.model.embed_tokens"),
        ("control", "llm_embedding"),
        ("decoder", "llm_decoder"),
    ]


def _flow(model: TokenFlow | CausalFlow) -> list[Pair]:
    estimator = model.config.estimator
    pairs = _dit() if isinstance(estimator, DiTConfig) else _unet(estimator)
    encodes = isinstance(model.encoder, Encoder | UpsamplingEncoder)
    encoder = _under("encoder", "encoder", _encoder())
    return [
        *_under("estimator", "decoder.estimator", pairs),
        *(encoder if encodes else _under("encoder", "pre_lookahead_layer", _LOOK_AHEAD)),
        ("embedding", "input_embedding"),
        ("speaker_projection", "spk_embed_affine_layer"),
        ("projection", "encoder_proj"),
        *[(f"regulator.convs.{i}", f"length_regulator.model.{3 * i}") for i in range(4)],
        *[(f"regulator.norms.{i}", f"length_regulator.model.{3 * i + 1}") for i in range(4)],
        ("regulator.out", "length_regulator.model.12"),
    ]


def _to_attention(theirs: str) -> list[Pair]:
    names = [("query", "to_q"), ("key", "to_k"), ("value", "to_v"), ("out", "to_out.0")]
    return _under("attention", theirs, names)


def _unet(config: UNetConfig) -> list[Pair]:
    norm = "2" if config.causal else "1"
    residual: list[Pair] = [("time", "mlp.1"), ("skip", "res_conv")]
    for ours, theirs in (("first", "block1"), ("second", "block2")):
        residual += _under(ours, f"{theirs}.block", [("conv", "0"), ("norm", norm)])
    block = [
        *_to_attention("attn1"),
        ("attention_norm", "norm1"),
        ("feed_forward_norm", "norm3"),
        ("up", "ff.net.0.proj"),
        ("down", "ff.net.2"),
    ]
    pairs: list[Pair] = []
    for ours, theirs in (("down", "down_blocks"), ("middle", "mid_blocks"), ("up", "up_blocks")):
        pairs += _under(f"{ours}.*.residual", f"{theirs}.*.0", residual)
        pairs += _under(f"{ours}.*.attention.*", f"{theirs}.*.1.*", block)
        last = len(config.channels) - 1
        pairs += [(f"{ours}.{i}.resample", f"{theirs}.{i}.2.conv") for i in range(last)]
        pairs += [(f"{ours}.{last}.resample", f"{theirs}.{last}.2")]
    return [
        *pairs,
        *_under("time", "time_mlp", [("up", "linear_1"), ("down", "linear_2")]),
        *_under("last", "final_block.block", [("conv", "0"), ("norm", norm)]),
        ("out", "final_proj"),
    ]


def _dit() -> list[Pair]:
    block = [
        *_to_attention("attn"),
        ("modulation", "attn_norm.linear"),
        ("up", "ff.ff.0.0"),
        ("down", "ff.ff.2"),
    ]
    return [
        *_under("blocks.*", "transformer_blocks.*", block),
        *_under("time", "time_embed.time_mlp", [("up", "0"), ("down", "2")]),
        ("embed", "input_embed.proj"),
        *[(f"position.{i}", f"input_embed.conv_pos_embed.conv{i + 1}.0") for i in range(2)],
        ("modulation", "norm_out.linear"),
        ("out", "proj_out"),
    ]


def _vocoder(model: HiFT) -> list[Pair]:
    kernels = len(model.config.block_kernels)
    block = [("dilated", "convs1"), ("plain", "convs2"), ("before", "activations1"), ("between", "activations2")]
    pairs: list[Pair] = []
    for stage in range(len(model.config.rates)):
        for kernel in range(kernels):
            pairs += _under(f"stages.{stage}.blocks.{kernel}", f"resblocks.{stage * kernels + kernel}", block)
    return [
        *pairs,
        *_under("stages.*.source_block", "source_resblocks.*", block),
        *[(f"pitch_predictor.convs.{i}", f"f0_predictor.condnet.{2 * i}") for i in range(5)],
        ("pitch_predictor.out", "f0_predictor.classifier"),
        ("mix", "m_source.l_linear"),
        ("first", "conv_pre"),
        ("stages.*.up.conv", "ups.*"),
        ("stages.*.source_down", "source_downs.*"),
        ("last", "conv_post"),
    ]
