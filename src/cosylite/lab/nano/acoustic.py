"""nano's acoustic model: symbols to log-mel, F0 and voicing by conditional flow matching.

Text encoder (convolutions, transformer) -> durations; frames carry the state of their symbol, their place in it and its
length; a causal decoder predicts the velocity of a straight path from noise to the frames (Lipman et al., 2023).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cosylite.lab.nano.blocks import CausalStack, TransformerLayer, stack_frames
from cosylite.lab.nano.config import FRAME_CHANNELS, AcousticConfig


class TextEncoder(nn.Module):
    """Symbols and voice to states and durations."""

    def __init__(self, config: AcousticConfig) -> None:
        super().__init__()
        width = config.encoder_width
        self.embed = nn.Embedding(config.symbols + 1, width, padding_idx=0)
        self.voice_in = nn.Linear(config.voice_width, width)
        self.voice_out = nn.Linear(config.voice_width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.encoder_convs))
        inner = config.encoder_conv_hidden or 2 * width
        self.spread = nn.ModuleList(nn.Linear(5 * width, inner) for _ in range(config.encoder_convs))
        self.gather = nn.ModuleList(nn.Linear(inner, width) for _ in range(config.encoder_convs))
        size = config.encoder_head_size or width // config.encoder_heads
        self.layers = nn.ModuleList(
            TransformerLayer(width, config.encoder_hidden, config.encoder_heads, size, config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.norm = nn.LayerNorm(width)
        self.duration = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, tokens: Tensor, lengths: Tensor, voice: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a batch.

        Args:
            tokens: (B, N) int64, 0 where padded.
            lengths: (B,) int64.
            voice: (B, D).

        Returns:
            Log durations in frames (B, N) and states (B, N, C).
        """
        inside = (torch.arange(tokens.shape[1], device=tokens.device)[None] < lengths[:, None])[..., None]
        mask = inside.to(voice.dtype)
        bias = ((1.0 - mask) * -1e4).reshape(tokens.shape[0], 1, 1, tokens.shape[1])
        x = self.embed(tokens) + self.voice_in(voice)[:, None]
        for norm, spread, gather in zip(self.norms, self.spread, self.gather, strict=True):
            around = F.pad(norm(x) * mask, (0, 0, 2, 2))
            x = x + gather(F.silu(spread(stack_frames(around, 5, 1))))
        for layer in self.layers:
            x = layer(x, bias)
        states = self.norm(x + self.voice_out(voice)[:, None])
        return self.duration(states)[..., 0], states


def time_features(time: Tensor, width: int) -> Tensor:
    """Sinusoidal features (B, width) of `time` (B,) in 0 to 1."""
    half = width // 2
    rates = torch.exp(torch.arange(half, device=time.device) * (-math.log(1000.0) / (half - 1))) * 100.0
    angles = time[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


SHORTEST = 0.05
"""Least share of the path that is taken as still to go: velocities near the end stay finite."""


class FlowDecoder(nn.Module):
    """Velocity field over frames; causal, with the past of every block as an argument.

    The network predicts where the path ends, as a correction of the guess, and the velocity leads there (prediction of
    the data; Li and He, "Back to Basics: Let Denoising Generative Models Denoise", 2025). The teacher says a
    sentence in one way only, so the ends lie near a function of the text, while a velocity carries all of the noise.
    """

    def __init__(self, config: AcousticConfig) -> None:
        super().__init__()
        width = config.decoder_width
        self.guess = nn.Sequential(
            nn.Linear(config.encoder_width + 2, width), nn.SiLU(), nn.Linear(width, FRAME_CHANNELS)
        )
        self.enter = nn.Linear(2 * FRAME_CHANNELS + config.encoder_width + 2, width)
        self.time = nn.Sequential(nn.Linear(128, width), nn.SiLU(), nn.Linear(width, width))
        self.shifts = nn.Parameter(torch.zeros(len(config.decoder_dilations), width))
        self.stack = CausalStack(width, config.decoder_hidden, config.kernel, config.decoder_dilations)
        self.norm = nn.LayerNorm(width)
        self.leave = nn.Linear(width, FRAME_CHANNELS)

    def forward(
        self, x: Tensor, cond: Tensor, position: Tensor, time: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One evaluation.

        Args:
            x: (B, T, 82) frames at `time`.
            cond: (B, T, C) states of the symbols the frames belong to.
            position: (B, T, 2) place inside the symbol, scaled log duration.
            time: (B,) or (1,), 0 noise to 1 data.
            state: (B, past, width).

        Returns:
            Velocity (B, T, 82), a direct guess of the frames (B, T, 82), next state.
        """
        text = torch.cat([cond, position], dim=-1)
        guess = self.guess(text)
        hidden = self.enter(torch.cat([x, guess, text], dim=-1))
        now = self.time(time_features(time, 128))[:, None]
        shifts = [now + shift for shift in self.shifts]
        hidden, following = self.stack(hidden, state, shifts)
        end = guess + self.leave(self.norm(hidden))
        return (end - x) / (1.0 - time).clamp(min=SHORTEST)[:, None, None], guess, following

    def start(self, batch: int) -> Tensor:
        """The state before the first frame."""
        return torch.zeros(batch, self.stack.past, self.stack.width)


class AcousticModel(nn.Module):
    """Voices, text encoder and flow decoder."""

    def __init__(self, config: AcousticConfig) -> None:
        super().__init__()
        self.config = config
        self.voices = nn.Embedding(config.voices, config.voice_width)
        self.encoder = TextEncoder(config)
        self.decoder = FlowDecoder(config)
        nn.init.normal_(self.voices.weight, std=1.0)


def expand(states: Tensor, durations: Tensor) -> tuple[Tensor, Tensor]:
    """Frames from symbols: cond (B, T, C) and position (B, T, 2), T the longest of the batch.

    Args:
        states: (B, N, C).
        durations: (B, N) int64 frames; 0 at padding.
    """
    ends = durations.cumsum(1)
    frames = int(ends[:, -1].max())
    t = torch.arange(frames, device=states.device)
    index = torch.searchsorted(ends.contiguous(), t[None].expand(len(ends), -1).contiguous(), right=True)
    index = index.clamp(max=durations.shape[1] - 1)
    length = durations.gather(1, index).clamp(min=1)
    begin = (ends - durations).gather(1, index)
    place = ((t[None] - begin + 0.5) / length).clamp(max=1.0)
    position = torch.stack([place, length.float().log() / 4], dim=-1).to(states.dtype)
    return states.gather(1, index[..., None].expand(-1, -1, states.shape[-1])), position
