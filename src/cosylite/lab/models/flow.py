"""Speech tokens to mel by flow matching: the condition path of each family and one guided solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosylite.lab.models.config import DiTConfig, FlowConfig
from cosylite.lab.models.dit import DiT
from cosylite.lab.models.encoder import Encoder, LookAhead, UpsamplingEncoder
from cosylite.lab.models.unet import UNet
from cosylite.runtime.family.flow import EDGE_FRAMES, Step, euler, segments, target_frames


class Estimator(Protocol):
    """The call of `UNet` and `DiT`."""

    def __call__(
        self, x: Tensor, mask: Tensor, mu: Tensor, time: Tensor, speaker: Tensor, prompt: Tensor, *, streaming: bool
    ) -> Tensor: ...


@dataclass(frozen=True)
class Condition:
    """What the solver is told: mu (B, mel, T) from the tokens, speaker (B, mel), prompt mel (B, mel, T)."""

    mu: Tensor
    speaker: Tensor
    prompt: Tensor


def guided(estimator: Estimator, x: Tensor, time: float, given: Condition, guidance: float, streaming: bool) -> Tensor:
    """Velocity (1, mel, T) with classifier-free guidance; the unconditional row shares the call. 0: no such row."""
    if not guidance:
        one = torch.ones(1, 1, x.shape[-1])
        return estimator(x, one, given.mu, torch.full((1,), time), given.speaker, given.prompt, streaming=streaming)
    batch = [torch.cat([value, torch.zeros_like(value)]) for value in (given.mu, given.speaker, given.prompt)]
    mask = torch.ones(2, 1, x.shape[-1])
    rows = estimator(
        x.expand(2, -1, -1), mask, batch[0], torch.full((2,), time), batch[1], batch[2], streaming=streaming
    )
    return (1 + guidance) * rows[:1] - guidance * rows[1:]


class LengthRegulator(nn.Module):
    """v1: brings token states to the frame rate and smooths them."""

    def __init__(self, mel: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv1d(mel, mel, 3, padding=1) for _ in range(4))
        self.norms = nn.ModuleList(nn.GroupNorm(1, mel) for _ in range(4))
        self.out = nn.Conv1d(mel, mel, 1)

    def forward(self, prompt: Tensor, target: Tensor, prompt_frames: int, frames: int) -> Tensor:
        """States (B, P, mel) and (B, N, mel) to (B, prompt_frames + frames, mel)."""
        x, y = prompt.transpose(1, 2), target.transpose(1, 2)
        parts = [resize(y[..., a:b], size) for a, b, size in segments(y.shape[-1], frames)]
        x = torch.cat([resize(x, prompt_frames), *parts], -1)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = F.mish(norm(conv(x)))
        out: Tensor = self.out(x)
        return out.transpose(1, 2)


def resize(x: Tensor, frames: int) -> Tensor:
    """Linear interpolation over time, half-pixel centres, edges held: (B, C, N) to (B, C, frames)."""
    return F.interpolate(x, frames, mode="linear") if frames and x.shape[-1] else x.new_zeros(*x.shape[:2], frames)


class Flow(nn.Module):
    """What the families share: embeddings, the speaker projection, the estimator and the solver."""

    def __init__(self, config: FlowConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.speech_tokens, config.input_size)
        self.speaker_projection = nn.Linear(config.speaker_size, config.mel)
        size = config.estimator
        self.estimator: Estimator = DiT(size) if isinstance(size, DiTConfig) else UNet(size)

    def embed(self, tokens: Tensor) -> Tensor:
        """Rows (B, N, input_size) of token ids (B, N); negative ids count as 0."""
        out: Tensor = self.embedding(tokens.clamp(min=0))
        return out

    def speaker(self, embedding: Tensor) -> Tensor:
        """(B, speaker_size) to (B, mel)."""
        out: Tensor = self.speaker_projection(F.normalize(embedding, dim=1))
        return out

    def condition(self, mu: Tensor, embedding: Tensor, prompt_feat: Tensor) -> Condition:
        """Condition of mu (B, T, mel), speaker vector (B, speaker_size) and prompt mel (B, P, mel)."""
        prompt = F.pad(prompt_feat, (0, 0, 0, mu.shape[1] - prompt_feat.shape[1]))
        return Condition(mu.transpose(1, 2), self.speaker(embedding), prompt.transpose(1, 2))

    def solve(self, noise: Tensor, given: Condition, steps: Sequence[Step], *, streaming: bool = False) -> Tensor:
        """Follow the flow from `noise` (1, mel, T) to a mel of the same shape."""
        guidance = self.config.guidance
        return euler(lambda x, time: guided(self.estimator, x, time, given, guidance, streaming), noise, steps)


class TokenFlow(Flow):
    """v1: full attention over prompt and target, then interpolation to 86.13 frames a second."""

    def __init__(self, config: FlowConfig, *, sample_rate: int, hop: int) -> None:
        super().__init__(config)
        if config.encoder is None:
            raise ValueError("the flow of v1 needs an encoder")
        self.sample_rate, self.hop = sample_rate, hop
        self.encoder = Encoder(config.encoder)
        self.projection = nn.Linear(config.encoder.width, config.mel)
        self.regulator = LengthRegulator(config.mel)

    def mu(self, tokens: Tensor, prompt_tokens: Tensor, prompt_frames: int) -> Tensor:
        """Condition (1, prompt_frames + frames, mel) of token ids (1, N) and prompt token ids (1, P)."""
        states = self.projection(self.encoder(self.embed(torch.cat([prompt_tokens, tokens], 1))))
        split, config = prompt_tokens.shape[1], self.config
        frames = target_frames(tokens.shape[1], config.token_rate, self.sample_rate, self.hop)
        out: Tensor = self.regulator(states[:, :split], states[:, split:], prompt_frames, frames)
        return out

    def forward(
        self,
        tokens: Tensor,
        prompt_tokens: Tensor,
        prompt_feat: Tensor,
        embedding: Tensor,
        noise: Tensor,
        steps: Sequence[Step],
        cache: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Mel of a chunk, and what the next chunk needs to continue it.

        Args:
            tokens, prompt_tokens: (1, N) and (1, P) ids.
            prompt_feat: (1, Q, mel).
            embedding: (1, speaker_size).
            noise: (1, mel, T), T = Q plus the frames of `tokens`.
            steps: of `euler_steps`.
            cache: (1, mel, Q + 34, 2) of the chunk before: noise and condition of its prompt and its last frames.

        Returns:
            The mel of the target (1, mel, T - Q), and the cache.
        """
        prompt = prompt_feat.shape[1]
        given = self.condition(self.mu(tokens, prompt_tokens, prompt), embedding, prompt_feat)
        start, given, cache = self.resume(noise, given, prompt, cache)
        return self.solve(start, given, steps)[..., prompt:], cache

    @staticmethod
    def resume(noise: Tensor, given: Condition, prompt: int, cache: Tensor | None) -> tuple[Tensor, Condition, Tensor]:
        """Put the cached head into noise and condition; also the cache for the next chunk."""
        mu = given.mu
        if cache is not None:
            size = cache.shape[2]
            noise = torch.cat([cache[..., 0], noise[..., size:]], -1)
            mu = torch.cat([cache[..., 1], mu[..., size:]], -1)
        kept = [torch.cat([x[..., :prompt], x[..., -EDGE_FRAMES:]], -1) for x in (noise, mu)]
        return noise, Condition(mu, given.speaker, given.prompt), torch.stack(kept, -1)


class CausalFlow(Flow):
    """v2 and v3: two frames per token, a short look-ahead, attention that can be limited to chunks."""

    def __init__(self, config: FlowConfig) -> None:
        super().__init__(config)
        if config.encoder is None:
            self.encoder: nn.Module = LookAhead(config.input_size, config.look_ahead_channels, config.look_ahead)
            self.projection: nn.Module = nn.Identity()
        else:
            self.encoder = UpsamplingEncoder(config.encoder, look_ahead=config.look_ahead, chunk=config.token_chunk)
            self.projection = nn.Linear(config.encoder.width, config.mel)

    def encode(self, tokens: Tensor, *, streaming: bool, finalize: bool) -> Tensor:
        """States of the encoder, before the projection; without `finalize` the last tokens are only looked at.

        Returns (1, 2 N, width) in v2 and (1, N, mel) in v3.
        """
        rows, ahead = self.embed(tokens), self.config.look_ahead
        future = None if finalize else rows[:, -ahead:]
        rows = rows if finalize else rows[:, :-ahead]
        if isinstance(self.encoder, UpsamplingEncoder):
            out: Tensor = self.encoder(rows, future=future, streaming=streaming)
        else:
            out = self.encoder(rows, future)
        return out

    def mu(self, tokens: Tensor, *, streaming: bool, finalize: bool) -> Tensor:
        """Condition (1, frames_per_token * N, mel) of token ids (1, N), prompt first."""
        states = self.encode(tokens, streaming=streaming, finalize=finalize)
        if not isinstance(self.encoder, UpsamplingEncoder):
            states = states.repeat_interleave(self.config.frames_per_token, 1)
        out: Tensor = self.projection(states)
        return out

    def forward(
        self,
        tokens: Tensor,
        prompt_tokens: Tensor,
        prompt_feat: Tensor,
        embedding: Tensor,
        noise: Tensor,
        steps: Sequence[Step],
        *,
        streaming: bool = False,
        finalize: bool = True,
    ) -> Tensor:
        """Mel (1, mel, T) of the target.

        Args:
            tokens, prompt_tokens: (1, N) and (1, P) ids.
            prompt_feat: (1, 2 P, mel).
            embedding: (1, speaker_size).
            noise: (1, mel, at least the number of frames); its head is used.
            steps: of `euler_steps`.
            streaming: limit attention to chunks and everything before them.
            finalize: the last tokens are the end of the text, not only context.
        """
        mu = self.mu(torch.cat([prompt_tokens, tokens], 1), streaming=streaming, finalize=finalize)
        given = self.condition(mu, embedding, prompt_feat)
        mel = self.solve(noise[..., : mu.shape[1]], given, steps, streaming=streaming)
        return mel[..., prompt_feat.shape[1] :]
