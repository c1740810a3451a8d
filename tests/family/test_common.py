"""Pieces that the families share, against golden data: sampling, fades, fixed noise."""

import hashlib
import json

import numpy as np
import pytest
import torch

from cosylite.audio.features import FLOW_MELS, filter_bank, prompt_mel, slaney_filters, speaker_features, token_mel
from cosylite.lab.models.config import COSYVOICE_3
from cosylite.lab.models.noise import flow_noise, vocoder_noise
from cosylite.lab.sampling import torch_draw
from cosylite.runtime.family.chunks import chunks_of, exact_chunker, official_chunks
from cosylite.runtime.family.sampling import SamplingSettings, draw_token, nucleus, race, repetition_aware
from cosylite.runtime.family.streaming import cross_fade

from .golden import ROOT, SHAPES, close


def numbered(case: dict[str, np.ndarray], prefix: str) -> list[int]:
    return sorted(int(name.removeprefix(prefix)) for name in case if name.removeprefix(prefix).isdigit())


def load(name: str) -> dict[str, np.ndarray]:
    with np.load(ROOT / "common" / name) as arrays:
        return dict(arrays)


def settings_of(params: np.ndarray) -> SamplingSettings:
    """Settings stored in float32; they were chosen in decimal."""
    top_p, top_k, window, repetition = (round(float(value), 6) for value in params)
    return SamplingSettings(top_p, int(top_k), int(window), repetition)


def test_sampling_with_given_chance() -> None:
    case = load("ras.npz")
    for i in numbered(case, "in.logp"):
        settings, history = settings_of(case[f"in.params{i}"]), case[f"in.history{i}"].tolist()
        ids, probabilities = nucleus(case[f"in.logp{i}"], settings.top_p, settings.top_k)
        assert ids.tolist() == case[f"out.nucleus_ids{i}"].tolist()
        close("sampling nucleus", probabilities, case[f"out.nucleus_probs{i}"], 1e-6)
        chances = [case[f"in.exp_nucleus{i}"], case[f"in.exp_full{i}"]]

        def draw(p: np.ndarray, chances: list[np.ndarray] = chances) -> int:
            return int((p / chances.pop(0)).argmax())

        assert draw_token(case[f"in.logp{i}"], history, settings, draw) == case[f"out.token{i}"]
        assert len(chances) == (0 if case[f"out.fallback{i}"] else 1)


def test_sampling_with_the_chance_of_torch() -> None:
    case = load("ras.npz")
    for i in numbered(case, "in.logp"):
        draw = torch_draw(torch.Generator().manual_seed(int(case[f"in.torch_seed{i}"])))
        sampler = repetition_aware(settings_of(case[f"in.params{i}"]), draw)
        assert sampler(case[f"in.logp{i}"], case[f"in.history{i}"].tolist()) == case[f"out.token{i}"]


def test_sampling_follows_the_probabilities() -> None:
    logp = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    draw = race(np.random.default_rng(1))
    picks = [draw_token(logp, [], SamplingSettings(top_p=1.0), draw) for _ in range(4000)]
    assert np.abs(np.bincount(picks) / 4000 - [0.5, 0.3, 0.2]).max() < 0.03


def test_chance_of_zero_draws_nothing_unlikely() -> None:
    """NumPy's exponential numbers in float32 are 0 now and then."""

    class Zero:
        def standard_exponential(self, count: int, dtype: object) -> np.ndarray:
            times = np.ones(count, np.float32)
            times[:2] = 0
            return times

    draw = race(Zero())  # type: ignore[arg-type]
    assert draw(np.array([0, 1e-12, 0.4, 0.6], np.float32)) == 3
    assert draw(np.array([0, 0.1, 0.3, 0.6], np.float32)) == 1


def test_fade() -> None:
    case = load("fade.npz")
    for i in numbered(case, "in.new"):
        found = cross_fade(case[f"in.new{i}"], case[f"in.old{i}"], int(case[f"in.half_window{i}"]))
        close("cross-fade", found, case[f"out.mix{i}"], 1e-6)


def test_flow_noise() -> None:
    case = load("cfm_rand_noise.npz")
    noise = flow_noise().numpy()
    close("flow noise", noise[..., : case["z_first400"].shape[-1]], case["z_first400"], 0)
    assert hashlib.sha256(noise.astype("<f4").tobytes()).digest() == case["sha256"].tobytes()


def test_vocoder_noise() -> None:
    with np.load(SHAPES / "v3_official_noise.npz") as case:
        noise = vocoder_noise(COSYVOICE_3.flow, COSYVOICE_3.vocoder).numpy()
        wanted = case["sine_noise_first2400"]
        close("vocoder noise", noise[:, : wanted.shape[1]], wanted, 0)
        assert hashlib.sha256(noise.data).digest() == case["sine_noise_sha256"].tobytes()


def test_torch_state_is_left_alone() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(1)
    torch.manual_seed(5)
    flow_noise()
    assert torch.rand(1) == wanted


@pytest.mark.parametrize(("count", "prompt", "wanted"), [(96, 17, [36, 86, 96]), (80, 0, [28, 78, 80]), (10, 3, [10])])
def test_causal_schedule(count: int, prompt: int, wanted: list[int]) -> None:
    chunks = list(official_chunks("v2", range(count), prompt))
    assert [len(chunk.tokens) for chunk in chunks] == wanted
    assert [chunk.final for chunk in chunks] == [False] * (len(wanted) - 1) + [True]


@pytest.mark.parametrize("prompt", [0, 17, 40])
@pytest.mark.parametrize("hop", [None, 5, 60])
def test_exact_chunks_end_with_attention_chunks(prompt: int, hop: int | None) -> None:
    chunks = list(chunks_of(range(400), exact_chunker(prompt, 25, 3, hop=hop)))
    ends = [len(chunk.tokens) - 3 for chunk in chunks[:-1]]
    assert 10 <= ends[0] < 35 and all((prompt + end) % 25 == 0 for end in ends)
    assert [chunk.done for chunk in chunks] == [0, *ends] and len(chunks[-1].tokens) == 400
    sizes = np.diff(ends)
    assert set(sizes) == ({25, 50, 100} if hop is None else {25} if hop == 5 else {75})


def test_bounded_chunks_leave_out_whole_attention_chunks() -> None:
    whole = list(chunks_of(range(600), exact_chunker(17, 25, 3)))
    bounded = list(chunks_of(range(600), exact_chunker(17, 25, 3, window=60)))
    for a, b in zip(whole, bounded, strict=True):
        assert b.dropped % 25 == 0 and a.tokens == [*range(b.dropped), *b.tokens] and a.done == b.done + b.dropped
        assert b.done < 60 + 25 and (a.done <= 60 or b.done >= 60)


def test_overlap_schedule() -> None:
    chunks = list(official_chunks("v1", range(263), 0))
    assert [(chunk.tokens[0], len(chunk.tokens)) for chunk in chunks] == [(0, 120), (100, 120), (200, 63)]


def test_special_ids() -> None:
    from cosylite.lab.models.stages import control_ids

    facts = json.loads((ROOT / "text" / "special_tokens.json").read_text())["speech_ids"]
    for family in ("v1", "v2", "v3"):
        controls = control_ids(family, facts[family]["speech_token_size"])
        assert controls.end == facts[family]["eos"]
        assert controls.fill == facts[family].get("fill")


def test_prompt_features() -> None:
    case = load("feats.npz")
    for family, settings in FLOW_MELS.items():
        found = prompt_mel(case[f"in.{family}_wav"][0], settings)
        close(f"{family} prompt mel", found[None], case[f"out.{family}_mel"], 1e-4)
        filters = slaney_filters(settings.sample_rate, settings.n_fft, settings.bands, settings.high)
        close("mel filters", filters.sum(1), case[f"out.{family}_melbasis_rowsum"], 1e-6)
    samples = case["in.wav16k"][0]
    close("tokenizer mel", token_mel(samples)[None], case["out.whisper_logmel128"], 1e-4)
    close("filter bank", filter_bank(samples), case["out.kaldi_fbank80_knf"], 1e-3)
    close("speaker features", speaker_features(samples), case["out.kaldi_fbank80_knf_meannorm"], 1e-3)
