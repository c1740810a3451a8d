"""Whole models against golden data: text or tokens to waveform, and streams."""

from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.lab.models.flow import TokenFlow
from cosylite.lab.models.noise import flow_noise
from cosylite.lab.models.stages import TorchTokenModel, TorchVocoder, control_ids
from cosylite.runtime.family.chunks import TokenChunk, official_chunks
from cosylite.runtime.family.decode import Prompt, decode, limit_silence
from cosylite.runtime.family.flow import cosine_times, euler_steps, resize_frames, target_frames
from cosylite.runtime.family.kinds import SILENT_TOKENS
from cosylite.runtime.family.sampling import greedy
from cosylite.runtime.family.streaming import FadingVocoder, GrowingVocoder, official_joiner

from .golden import ROOT, Case, case_files, case_name, checkpoint, close

MEL_TOLERANCE = 2e-4
WAVE_TOLERANCE = 2e-4
STEPS = euler_steps(cosine_times(10))


def mel_of(case: Case, tokens: list[int]) -> torch.Tensor:
    """Mel of a whole sentence with the prompt of the case."""
    flow = checkpoint(case.family).model.flow
    mel: torch.Tensor
    prompt = "in.prompt_speech_token" if "in.prompt_speech_token" in case else "in.prompt_token"
    given = [torch.tensor([tokens]), torch.tensor([case.ids(prompt)], dtype=torch.long)]
    rest = [torch.from_numpy(case[name]) for name in ("in.prompt_feat", "in.embedding")]
    if isinstance(flow, TokenFlow):
        mel = flow(*given, *rest, torch.from_numpy(case["in.z"]), STEPS)[0]
    else:
        mel = flow(*given, *rest, flow_noise(), STEPS)
    return mel


def check_waveform(case: Case, mel: torch.Tensor) -> None:
    wave = checkpoint(case.family).model.vocoder.decode(mel, torch.from_numpy(case["out.source"]))
    close(f"{case.family} chain waveform", wave, case["out.wav"], WAVE_TOLERANCE)


@pytest.mark.parametrize("path", case_files("chain_zero_shot", "chain_speed", "chain_sft"), ids=case_name)
@torch.inference_mode()
def test_text_to_waveform(path: Path) -> None:
    case = Case(path)
    config, lm = checkpoint(case.family).config, checkpoint(case.family).model.lm
    model = TorchTokenModel(lm, control_ids(config.family, config.lm.speech_tokens))
    prompt = Prompt(
        case.ids("in.text"), case.ids("in.prompt_text"), case.ids("in.prompt_speech_token"), case["in.embedding"]
    )
    tokens = list(decode(model, prompt, greedy))
    assert tokens == case.ids("out.llm_tokens")
    tokens = list(limit_silence(tokens, SILENT_TOKENS[config.family]))
    assert tokens == case.ids("out.flow_tokens")
    mel = mel_of(case, tokens)
    close(f"{case.family} chain mel", mel, case["out.mel"], MEL_TOLERANCE)
    speed = float(case["in.speed"])
    mel = torch.from_numpy(resize_frames(mel.numpy(), speed)) if speed != 1 else mel
    close(f"{case.family} chain mel at speed", mel, case["out.hift_mel"], MEL_TOLERANCE)
    check_waveform(case, mel)


@pytest.mark.parametrize("path", case_files("chain_vc"), ids=case_name)
@torch.inference_mode()
def test_tokens_to_waveform(path: Path) -> None:
    case = Case(path)
    mel = mel_of(case, case.ids("in.token"))
    close(f"{case.family} chain mel", mel, case["out.mel"], MEL_TOLERANCE)
    check_waveform(case, mel)


class StoredSource(TorchVocoder):
    """A vocoder whose excitation is the stored one of each call."""

    sources: list[np.ndarray]

    def excite(self, mel: np.ndarray, *, finalize: bool) -> np.ndarray:
        return self.sources.pop(0)


def streaming_vocoder(case: Case) -> FadingVocoder | GrowingVocoder:
    hift = checkpoint(case.family).model.vocoder
    if case.family == "v3":
        with np.load(ROOT / "v3" / "hift_noise.npz") as stored:
            own = TorchVocoder(hift, torch.from_numpy(stored["sine_noise"]))
            return official_joiner("v3", own, hift.config.samples_per_frame)
    vocoder = StoredSource(hift, torch.zeros(0))
    object.__setattr__(vocoder, "sources", [case[f"in.fresh_source{i}"] for i in range(int(case["out.n_chunks"]))])
    return official_joiner(checkpoint(case.family).config.family, vocoder, hift.config.samples_per_frame)


def chunks_of(case: Case) -> list[TokenChunk]:
    family = checkpoint(case.family).config.family
    return list(official_chunks(family, case.ids("in.token"), case["in.prompt_token"].size))


@pytest.mark.parametrize("path", case_files("stream_*"), ids=case_name)
@torch.inference_mode()
def test_stream(path: Path) -> None:
    """Chunk by chunk; the vocoder gets the stored mel, since the phases of v3 magnify the last digit of its pitch."""
    case = Case(path)
    flow, vocoder = checkpoint(case.family).model.flow, streaming_vocoder(case)
    chunks = chunks_of(case)
    assert [len(chunk.tokens) for chunk in chunks] == case.ids("out.flow_token_lens")
    prompt = torch.from_numpy(case["in.prompt_token"]).long()
    rest = [torch.from_numpy(case[name]) for name in ("in.prompt_feat", "in.embedding")]
    cache: torch.Tensor | None = None
    for number, chunk in enumerate(chunks):
        tokens = torch.tensor([chunk.tokens])
        if isinstance(flow, TokenFlow):
            mel, cache = flow(tokens, prompt, *rest, torch.from_numpy(case[f"in.z{number}"]), STEPS, cache)
        else:
            assert case[f"out.flow_streaming{number}"] == (not chunk.final)
            assert case[f"out.flow_finalize{number}"] == chunk.final
            mel = flow(tokens, prompt, *rest, flow_noise(), STEPS, streaming=not chunk.final, finalize=chunk.final)
        close(f"{case.family} stream mel", mel, case[f"out.flow_mel{number}"], MEL_TOLERANCE)
        done = 0 if isinstance(flow, TokenFlow) else chunk.done * flow.config.frames_per_token
        wave = vocoder.push(case[f"out.flow_mel{number}"][..., done:], final=chunk.final)
        close(f"{case.family} stream waveform", wave, case[f"out.wav{number}"], WAVE_TOLERANCE)


def test_frames_of_tokens() -> None:
    assert [target_frames(n, 50, 22050, 256) for n in (20, 120)] == [34, 206]
