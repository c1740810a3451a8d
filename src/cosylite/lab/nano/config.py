"""Sizes of nano's networks and the constants of its features."""

from dataclasses import dataclass

MEL_BANDS = 80
FRAME_CHANNELS = MEL_BANDS + 2
"""What the flow draws per frame: log-mel, log F0, voicing."""
BINS = 481


@dataclass(frozen=True)
class AcousticConfig:
    """Text encoder, duration predictor and flow-matching decoder."""

    symbols: int
    voices: int
    voice_width: int = 64
    encoder_width: int = 192
    encoder_hidden: int = 768
    encoder_heads: int = 4
    encoder_head_size: int | None = None
    """None: width / heads; pruned models have fewer heads of the same size."""
    encoder_convs: int = 2
    encoder_conv_hidden: int | None = None
    """None: twice the width."""
    encoder_layers: int = 4
    decoder_width: int = 256
    decoder_hidden: int = 512
    decoder_dilations: tuple[int, ...] = (1, 1, 2, 1, 1, 2, 1, 1, 2, 1)
    kernel: int = 3
    dropout: float = 0.05


@dataclass(frozen=True)
class VocoderConfig:
    """Source-filter vocoder at frame rate."""

    width: int = 256
    hidden: int = 512
    kernel: int = 3
    frame_dilations: tuple[int, ...] = (1,)
    """Blocks at 50 Hz, before the frames are doubled."""
    hop_dilations: tuple[int, ...] = (1, 2, 1, 2, 1)
    """Blocks at 100 Hz."""
    lookahead: int = 3
    """Mel frames of the future that an output frame may see."""


@dataclass(frozen=True)
class FeatureStatistics:
    """Means and deviations that bring the features near a standard normal."""

    mel_mean: tuple[float, ...]
    mel_std: tuple[float, ...]
    pitch_mean: float
    pitch_std: float
