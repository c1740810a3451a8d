"""The official families for `families.py`: a bundle on the runtime, or our PyTorch networks, stage by stage."""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TOKEN_RATE = {"v1": 50, "v2": 25, "v3": 25}
FIRST_CHUNK = {"v1": 120, "v2": 28, "v3": 28}
"""Tokens that the official code waits for before the first audio, look-ahead included."""


@dataclass(frozen=True)
class Given:
    """A voice to speak with; without a prompt its arrays are empty."""

    text: list[int]
    prompt_text: list[int]
    prompt_tokens: np.ndarray
    prompt_feat: np.ndarray
    embedding: np.ndarray

    @classmethod
    def random(cls, family: str, text: int, prompt_seconds: int, seed: int) -> "Given":
        """Made-up ids and arrays of the right shapes."""
        draw = np.random.default_rng(seed)
        tokens = prompt_seconds * TOKEN_RATE[family]
        frames = int(prompt_seconds * 22050 / 256) if family == "v1" else 2 * tokens
        return cls(
            [int(i) for i in draw.integers(0, 50000, text)],
            [int(i) for i in draw.integers(0, 50000, 5 * prompt_seconds)],
            draw.integers(0, 4096, (1, tokens)),
            draw.standard_normal((1, frames, 80), dtype=np.float32),
            draw.standard_normal((1, 192), dtype=np.float32),
        )


class Speaker:
    """The three stages of a model, timed. Subclasses say how they run."""

    family: str
    sample_rate: int

    def decode(self, given: Given, count: int) -> list[int]:
        """Exactly `count` speech tokens."""
        raise NotImplementedError

    def mel(self, given: Given, tokens: list[int], steps: int, *, streaming: bool = False) -> np.ndarray:
        """Mel (1, 80, T); `streaming` as for a first chunk."""
        raise NotImplementedError

    def wave(self, mel: np.ndarray, *, streaming: bool = False) -> np.ndarray:
        """Samples (1, N)."""
        raise NotImplementedError

    def say(self, given: Given, seconds: int, steps: int = 10) -> dict[str, float]:
        """Seconds that each stage takes for a sentence, and that it lasts."""
        count = seconds * TOKEN_RATE[self.family]
        tokens, lm = timed(lambda: self.decode(given, count))
        mel, flow = timed(lambda: self.mel(given, tokens, steps))
        wave, vocoder = timed(lambda: self.wave(mel))
        lasts = wave.shape[-1] / self.sample_rate
        if len(tokens) != count or abs(lasts - seconds) > 0.1:
            raise RuntimeError(f"{len(tokens)} tokens and {lasts:.2f} s of audio instead of {count} and {seconds} s")
        return {"lm": lm, "flow": flow, "vocoder": vocoder, "seconds": lasts, "tokens": count}

    def first_audio(self, given: Given) -> float:
        """Seconds to the first audio."""

        def first() -> np.ndarray:
            tokens = self.decode(given, FIRST_CHUNK[self.family])
            return self.wave(self.mel(given, tokens, 10, streaming=True), streaming=True)

        return timed(first)[1]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def forced(speech_tokens: int, sampler: Any) -> Any:
    """A sampler that never ends the speech."""

    def pick(logp: np.ndarray, history: list[int]) -> int:
        logp = logp.copy()
        logp[speech_tokens:] = -np.inf
        return int(sampler(logp, history))

    return pick


class BundleSpeaker(Speaker):
    """A bundle on the runtime."""

    def __init__(self, path: Path, args: argparse.Namespace) -> None:
        from cosylite.runtime.family.model import load_family

        self.model = load_family(path, device=args.device, threads=args.threads)
        self.family, self.sample_rate = self.model.manifest.family, self.model.manifest.sample_rate
        self.seed = args.seed

    def sampler(self) -> Any:
        """Repetition-aware sampling of speech tokens only."""
        from cosylite.runtime.family.sampling import race, repetition_aware

        spec = self.model.lm.spec
        return forced(spec.speech_tokens, repetition_aware(spec.sampling, race(np.random.default_rng(self.seed))))

    def decode(self, given: Given, count: int) -> list[int]:
        from cosylite.runtime.family.decode import Limits

        ratio = count / len(given.text)
        return self.model.lm.decode(
            given.text,
            given.prompt_text,
            given.prompt_tokens,
            given.embedding,
            self.sampler(),
            limits=Limits(ratio, ratio),
        )

    def mel(self, given: Given, tokens: list[int], steps: int, *, streaming: bool = False) -> np.ndarray:
        whole = self.family == "v1" or not streaming
        noise = self.model.noises.flow(given.prompt_feat.shape[1] + 100 * len(tokens), self.seed)
        return self.model.flow(
            np.array([tokens]),
            given.prompt_tokens,
            given.prompt_feat,
            given.embedding,
            noise,
            not whole,
            whole,
            steps=steps,
        )

    def wave(self, mel: np.ndarray, *, streaming: bool = False) -> np.ndarray:
        finalize = self.family != "v3" or not streaming
        vocoder = self.model.vocoder
        samples = mel.shape[-1] * vocoder.spec.source.samples_per_frame
        source = vocoder.excite(mel, self.model.noises.source(0, samples, self.seed), finalize=finalize)
        return vocoder.decode(mel, source, finalize=finalize)


def random_model(family: str, seed: int) -> Any:
    """A model of official size."""
    import torch

    from cosylite.lab.models.config import COSYVOICE_1, COSYVOICE_2, COSYVOICE_3
    from cosylite.lab.models.family import build_family

    torch.manual_seed(seed)
    return build_family({"v1": COSYVOICE_1, "v2": COSYVOICE_2, "v3": COSYVOICE_3}[family])


class TorchSpeaker(Speaker):
    """Our own networks on PyTorch in float32."""

    def __init__(self, family: str, args: argparse.Namespace) -> None:
        import torch

        from cosylite.lab.models.stages import TorchTokenModel, control_ids

        torch.set_num_threads(args.threads)
        self.model = random_model(family, args.seed)
        self.family, self.sample_rate, self.seed = family, self.model.config.sample_rate, args.seed
        controls = control_ids(self.model.config.family, self.model.config.lm.speech_tokens)
        self.lm = TorchTokenModel(self.model.lm, controls)

    def decode(self, given: Given, count: int) -> list[int]:
        import torch

        from cosylite.runtime.family.decode import Limits, Prompt, decode
        from cosylite.runtime.family.sampling import race, repetition_aware

        config = self.model.config.lm
        chance = race(np.random.default_rng(self.seed))
        sampler = forced(config.speech_tokens, repetition_aware(config.sampling, chance))
        ratio = count / len(given.text)
        prompt = Prompt(given.text, given.prompt_text, given.prompt_tokens[0].tolist(), given.embedding)
        with torch.inference_mode():
            return list(decode(self.lm, prompt, sampler, Limits(ratio, ratio)))

    def mel(self, given: Given, tokens: list[int], steps: int, *, streaming: bool = False) -> np.ndarray:
        import torch

        from cosylite.lab.models.flow import CausalFlow
        from cosylite.runtime.family.flow import cosine_times, euler_steps, target_frames

        flow, schedule = self.model.flow, euler_steps(cosine_times(steps))
        config = self.model.config
        frames = (
            2 * len(tokens)
            if isinstance(flow, CausalFlow)
            else target_frames(
                len(tokens), config.flow.token_rate, config.sample_rate, config.vocoder.samples_per_frame
            )
        )
        noise = torch.randn(1, 80, given.prompt_feat.shape[1] + frames)
        arrays = (np.array([tokens]), given.prompt_tokens, given.prompt_feat, given.embedding)
        inputs = [torch.from_numpy(np.ascontiguousarray(value)) for value in arrays]
        with torch.inference_mode():
            if isinstance(flow, CausalFlow):
                return flow(*inputs, noise, schedule, streaming=streaming, finalize=not streaming).numpy()
            return flow(*inputs, noise, schedule)[0].numpy()

    def wave(self, mel: np.ndarray, *, streaming: bool = False) -> np.ndarray:
        import torch

        vocoder, finalize = self.model.vocoder, self.family != "v3" or not streaming
        signal = torch.from_numpy(np.ascontiguousarray(mel))
        noise = torch.rand(1, mel.shape[-1] * vocoder.config.samples_per_frame, vocoder.config.harmonics + 1)
        with torch.inference_mode():
            source = vocoder.excite(vocoder.pitch(signal, finalize=finalize), noise)
            return vocoder.decode(signal, source, finalize=finalize).numpy()
