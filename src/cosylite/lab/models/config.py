"""Sizes of the CosyVoice networks. Every default is the official value; toys and variants give their own.

`COSYVOICE_1`, `COSYVOICE_2` and `COSYVOICE_3` are the released models.
"""

from dataclasses import dataclass, field

from cosylite.runtime.family.kinds import Family
from cosylite.runtime.family.sampling import SamplingSettings


@dataclass(frozen=True)
class EncoderConfig:
    """A stack of attention and feed-forward layers with relative positions."""

    input_size: int = 512
    width: int = 1024
    heads: int = 16
    feed_forward: int = 4096
    layers: int = 6


@dataclass(frozen=True)
class QwenConfig:
    """The Qwen2 backbone."""

    vocabulary: int = 151936
    width: int = 896
    feed_forward: int = 4864
    layers: int = 24
    heads: int = 14
    kv_heads: int = 2
    norm_eps: float = 1e-6
    rope_theta: float = 1e6


@dataclass(frozen=True)
class TransformerLMConfig:
    """The language model of v1: a causal text encoder, then a causal transformer."""

    text_tokens: int = 51866
    speech_tokens: int = 4096
    speaker_size: int = 192
    width: int = 1024
    """Size of the rows the transformer is fed with."""
    text_encoder: EncoderConfig = EncoderConfig()
    backbone: EncoderConfig = EncoderConfig(input_size=1024, layers=14)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)


@dataclass(frozen=True)
class QwenLMConfig:
    """The language model of v2 and v3."""

    speech_tokens: int = 6561
    control_rows: int = 3
    """Rows after the speech tokens: 3 stop ids in v2, 200 control ids (start, end, task, fill, ...) in v3."""
    separate_start: bool = True
    """v2 keeps the start and task rows in a table of their own, v3 among the speech rows."""
    decoder_bias: bool = True
    mix: tuple[int, int] = (5, 15)
    """Text and speech tokens per block when text arrives piece by piece."""
    backbone: QwenConfig = QwenConfig()
    sampling: SamplingSettings = field(default_factory=SamplingSettings)


@dataclass(frozen=True)
class UNetConfig:
    """The velocity estimator of v1 and v2."""

    in_channels: int = 320
    out_channels: int = 80
    channels: tuple[int, ...] = (256, 256)
    head_size: int = 64
    heads: int = 8
    blocks: int = 4
    middle: int = 12
    causal: bool = False
    chunk: int = 0
    """Frames per attention chunk when streaming (v2)."""


@dataclass(frozen=True)
class DiTConfig:
    """The velocity estimator of v3."""

    mel: int = 80
    width: int = 1024
    depth: int = 22
    heads: int = 16
    head_size: int = 64
    feed_forward: int = 2
    """Width of the feed-forward layer, as a multiple of `width`."""
    chunk: int = 50
    """Frames per attention chunk when streaming."""


@dataclass(frozen=True)
class FlowConfig:
    """Speech tokens to mel: what the families share, the condition path and the estimator."""

    estimator: UNetConfig | DiTConfig
    input_size: int = 512
    mel: int = 80
    speaker_size: int = 192
    speech_tokens: int = 6561
    token_rate: int = 25
    """Speech tokens per second."""
    guidance: float = 0.7
    encoder: EncoderConfig | None = None
    """v1 and v2; None in v3."""
    token_chunk: int = 25
    """Tokens per attention chunk of the encoder when streaming (v2)."""
    look_ahead: int = 3
    """Future tokens a frame depends on (v2 and v3)."""
    look_ahead_channels: int = 1024
    """Inner width of the look-ahead layer of v3."""
    frames_per_token: int = 2
    """v2 and v3; v1 computes the number of frames from the rates."""


@dataclass(frozen=True)
class VocoderConfig:
    """HiFT: harmonic source, filter network, inverse STFT."""

    sample_rate: int = 24000
    mel: int = 80
    channels: int = 512
    harmonics: int = 8
    """Overtones; with the fundamental there are `harmonics + 1` sines."""
    sine_amplitude: float = 0.1
    noise_deviation: float = 0.003
    voiced_threshold: float = 10.0
    """Hz; at or below it a frame is unvoiced."""
    rates: tuple[int, ...] = (8, 5, 3)
    kernels: tuple[int, ...] = (16, 11, 7)
    n_fft: int = 16
    hop: int = 4
    block_kernels: tuple[int, ...] = (3, 7, 11)
    block_dilations: tuple[tuple[int, ...], ...] = ((1, 3, 5), (1, 3, 5), (1, 3, 5))
    source_kernels: tuple[int, ...] = (7, 7, 11)
    source_dilations: tuple[tuple[int, ...], ...] = ((1, 3, 5), (1, 3, 5), (1, 3, 5))
    slope: float = 0.1
    limit: float = 0.99
    pitch_channels: int = 512
    causal: bool = False
    look_right: int = 4
    """Future mel frames of the first convolution (v3)."""
    pitch_look_right: int = 3
    """Future mel frames of the pitch predictor (v3)."""

    @property
    def samples_per_frame(self) -> int:
        """Samples per mel frame."""
        total = self.hop
        for rate in self.rates:
            total *= rate
        return total


@dataclass(frozen=True)
class FamilyConfig:
    """One model: its family, the rate of its audio and the sizes of its three networks."""

    family: Family
    sample_rate: int
    lm: TransformerLMConfig | QwenLMConfig
    flow: FlowConfig
    vocoder: VocoderConfig = field(default_factory=VocoderConfig)


_FLOW_ENCODER = EncoderConfig(input_size=512, width=512, heads=8, feed_forward=2048, layers=6)

COSYVOICE_1 = FamilyConfig(
    family="v1",
    sample_rate=22050,
    lm=TransformerLMConfig(),
    flow=FlowConfig(estimator=UNetConfig(), speech_tokens=4096, token_rate=50, encoder=_FLOW_ENCODER),
    vocoder=VocoderConfig(
        sample_rate=22050,
        rates=(8, 8),
        kernels=(16, 16),
        source_kernels=(7, 11),
        source_dilations=((1, 3, 5), (1, 3, 5)),
    ),
)

COSYVOICE_2 = FamilyConfig(
    family="v2",
    sample_rate=24000,
    lm=QwenLMConfig(),
    flow=FlowConfig(estimator=UNetConfig(channels=(256,), causal=True, chunk=50), encoder=_FLOW_ENCODER),
)

COSYVOICE_3 = FamilyConfig(
    family="v3",
    sample_rate=24000,
    lm=QwenLMConfig(control_rows=200, separate_start=False, decoder_bias=False),
    flow=FlowConfig(estimator=DiTConfig(), input_size=80),
    vocoder=VocoderConfig(causal=True),
)
