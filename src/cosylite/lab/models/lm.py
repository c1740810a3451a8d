"""The language models: text and prompt rows in, speech tokens out.

Both classes offer the same steps, so that decoding (`runtime.family.decode`) is written once: rows for text, speech,
speaker and the two control marks; `extend`, which feeds rows into a cache; and `logits`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cosylite.lab.models.attention import Attention, KeyValueCache, LayerCache, Rotate, causal_mask, rotate_halves
from cosylite.lab.models.config import QwenConfig, QwenLMConfig, TransformerLMConfig
from cosylite.lab.models.encoder import Encoder


class TransformerLM(nn.Module):
    """v1: a causal text encoder and a transformer; the speaker is one row of the sequence."""

    def __init__(self, config: TransformerLMConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.text_embedding = nn.Embedding(config.text_tokens, config.text_encoder.input_size)
        self.text_encoder = Encoder(config.text_encoder)
        self.text_projection = nn.Linear(config.text_encoder.width, width)
        self.speaker_projection = nn.Linear(config.speaker_size, width)
        self.control = nn.Embedding(2, width)
        self.speech_embedding = nn.Embedding(config.speech_tokens, width)
        self.backbone = Encoder(config.backbone, relu=True)
        self.decoder = nn.Linear(config.backbone.width, config.speech_tokens + 1)

    def text_rows(self, ids: Tensor) -> Tensor:
        """Rows (B, N, width) of text ids (B, N); prompt text and text together, since the encoder runs over both."""
        positions = torch.arange(ids.shape[1])[None]
        hidden = self.text_encoder(self.text_embedding(ids), causal_mask(positions, ids.shape[1]))
        out: Tensor = self.text_projection(hidden)
        return out

    def speech_rows(self, ids: Tensor) -> Tensor:
        """Rows (B, N, width) of speech ids (B, N)."""
        out: Tensor = self.speech_embedding(ids)
        return out

    def speaker_rows(self, embedding: Tensor) -> Tensor:
        """Rows (N, width) of speaker vectors (N, speaker_size)."""
        out: Tensor = self.speaker_projection(F.normalize(embedding, dim=1))
        return out

    def control_rows(self) -> tuple[Tensor, Tensor]:
        """The rows (1, width) that open the sequence and that ask for speech."""
        return self.control.weight[:1], self.control.weight[1:]

    def create_cache(self, batch: int, capacity: int) -> KeyValueCache:
        """Empty cache for `batch` sequences of at most `capacity` rows."""
        size = self.config.backbone
        return KeyValueCache.create(size.layers, batch, size.heads, size.width // size.heads, capacity)

    def extend(self, rows: Tensor, cache: KeyValueCache) -> Tensor:
        """Feed rows (B, T, width); hidden states (B, T, backbone width)."""
        return self.backbone.extend(rows, cache)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores (..., speech_tokens + 1); the last one ends the speech."""
        out: Tensor = self.decoder(hidden)
        return out


class QwenLayer(nn.Module):
    """One layer of the Qwen2 backbone."""

    def __init__(self, config: QwenConfig) -> None:
        super().__init__()
        width, size = config.width, config.width // config.heads
        self.attention_norm = nn.RMSNorm(width, eps=config.norm_eps)
        self.attention = Attention(width, config.heads, size, kv_heads=config.kv_heads, out_bias=False)
        self.feed_forward_norm = nn.RMSNorm(width, eps=config.norm_eps)
        self.gate = nn.Linear(width, config.feed_forward, bias=False)
        self.up = nn.Linear(width, config.feed_forward, bias=False)
        self.down = nn.Linear(config.feed_forward, width, bias=False)

    def forward(self, x: Tensor, mask: Tensor, rotate: Rotate, cache: LayerCache, positions: Tensor) -> Tensor:
        """(B, T, width) to the same shape."""
        x = x + self.attention(self.attention_norm(x), mask, rotate=rotate, cache=cache, positions=positions)
        y = self.feed_forward_norm(x)
        out: Tensor = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return out


class QwenLM(nn.Module):
    """v2 and v3: text embeddings and speech embeddings in one causal Qwen2 backbone; no speaker row."""

    def __init__(self, config: QwenLMConfig) -> None:
        super().__init__()
        self.config = config
        size = config.backbone
        rows = config.speech_tokens + config.control_rows
        self.text_embedding = nn.Embedding(size.vocabulary, size.width)
        self.control = nn.Embedding(2, size.width) if config.separate_start else None
        self.speech_embedding = nn.Embedding(rows, size.width)
        self.layers = nn.ModuleList(QwenLayer(size) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.width, eps=size.norm_eps)
        self.decoder = nn.Linear(size.width, rows, bias=config.decoder_bias)

    def text_rows(self, ids: Tensor) -> Tensor:
        """Rows (B, N, width) of text ids (B, N)."""
        out: Tensor = self.text_embedding(ids)
        return out

    def speech_rows(self, ids: Tensor) -> Tensor:
        """Rows (B, N, width) of speech ids (B, N)."""
        out: Tensor = self.speech_embedding(ids)
        return out

    def speaker_rows(self, embedding: Tensor) -> Tensor:
        """No rows: these families take the voice from the prompt alone."""
        return embedding.new_zeros(0, self.config.backbone.width)

    def control_rows(self) -> tuple[Tensor, Tensor]:
        """The rows (1, width) that open the sequence and that ask for speech."""
        if self.control is not None:
            return self.control.weight[:1], self.control.weight[1:]
        start = self.config.speech_tokens
        return self.speech_embedding.weight[start : start + 1], self.speech_embedding.weight[start + 2 : start + 3]

    def create_cache(self, batch: int, capacity: int) -> KeyValueCache:
        """Empty cache for `batch` sequences of at most `capacity` rows."""
        size = self.config.backbone
        return KeyValueCache.create(size.layers, batch, size.kv_heads, size.width // size.heads, capacity)

    def extend(self, rows: Tensor, cache: KeyValueCache) -> Tensor:
        """Feed rows (B, T, width); hidden states of the same shape."""
        size = self.config.backbone
        positions = cache.advance(rows.shape[1])
        mask = causal_mask(positions, int(positions.max()) + 1)
        rotate = rotate_halves(positions, size.width // size.heads, size.rope_theta)
        x = rows
        for layer, memory in zip(self.layers, cache.layers, strict=True):
            x = layer(x, mask, rotate, memory, positions)
        out: Tensor = self.norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores (..., speech_tokens + control_rows)."""
        out: Tensor = self.decoder(hidden)
        return out


LanguageModel = TransformerLM | QwenLM


def build_lm(config: TransformerLMConfig | QwenLMConfig) -> LanguageModel:
    """The language model of a family."""
    return TransformerLM(config) if isinstance(config, TransformerLMConfig) else QwenLM(config)
