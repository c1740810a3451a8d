"""Vocoders against golden data, stage by stage: pitch, excitation, waveform."""

from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.lab.models.hift import HiFT

from .golden import ROOT, Case, case_files, case_name, checkpoint, close

PITCH_TOLERANCE = 1e-3
SOURCE_TOLERANCE = 1e-4
WAVE_TOLERANCE = 2e-4
PATHS = case_files("hift_*")


def noise_of(case: Case) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The noise (1, samples, sines) and start phases (1, sines) of a case."""
    if case.family == "v3":
        with np.load(ROOT / "v3" / "hift_noise.npz") as stored:
            return torch.from_numpy(stored["sine_noise"]), None
    noise, phases = torch.from_numpy(case["in.noise"]), torch.from_numpy(case["in.rand01"])
    if case.family == "v2":
        return noise, None
    phases = (phases[..., 0] * (2 * np.pi) - np.pi).float()
    phases[:, 0] = 0
    return noise.transpose(1, 2), phases


def vocoder(case: Case) -> HiFT:
    return checkpoint(case.family).model.vocoder


@pytest.mark.parametrize("path", PATHS, ids=case_name)
@torch.inference_mode()
def test_pitch(path: Path) -> None:
    case = Case(path)
    mel = torch.from_numpy(case["in.mel"])
    close(f"{case.family} pitch (Hz)", vocoder(case).pitch(mel), case["out.f0"], PITCH_TOLERANCE)
    if "out.f0_nofinal" in case:
        found = vocoder(case).pitch(mel, finalize=False)
        close(f"{case.family} pitch (Hz)", found, case["out.f0_nofinal"], PITCH_TOLERANCE)


@pytest.mark.parametrize("path", PATHS, ids=case_name)
@torch.inference_mode()
def test_excitation(path: Path) -> None:
    case = Case(path)
    noise, phases = noise_of(case)
    found = vocoder(case).excite(torch.from_numpy(case["out.f0"]), noise, phases)
    close(f"{case.family} excitation", found, case["out.source"], SOURCE_TOLERANCE)
    if "out.source_nofinal" in case:
        found = vocoder(case).excite(torch.from_numpy(case["out.f0_nofinal"]), noise, phases)
        close(f"{case.family} excitation", found, case["out.source_nofinal"], SOURCE_TOLERANCE)


@pytest.mark.parametrize("path", PATHS, ids=case_name)
@torch.inference_mode()
def test_waveform(path: Path) -> None:
    case = Case(path)
    hift, mel = vocoder(case), torch.from_numpy(case["in.mel"])
    for source, wave in (("out.source", "out.wav"), ("out.source_cached", "out.wav_cached")):
        if source in case:
            found = hift.decode(mel, torch.from_numpy(case[source]))
            close(f"{case.family} waveform", found, case[wave], WAVE_TOLERANCE)
    silent = torch.zeros_like(torch.from_numpy(case["out.source"]))
    close(
        f"{case.family} waveform, silent source", hift.decode(mel, silent), case["out.wav_zero_source"], WAVE_TOLERANCE
    )
    if "out.source_nofinal" in case:
        found = hift.decode(mel, torch.from_numpy(case["out.source_nofinal"]), finalize=False)
        close(f"{case.family} waveform, unfinished", found, case["out.wav_nofinal"], WAVE_TOLERANCE)


@pytest.mark.parametrize("path", PATHS, ids=case_name)
@torch.inference_mode()
def test_mel_to_waveform_loosely(path: Path) -> None:
    """From the mel alone the slightest change of pitch moves the phases; the length and the level still agree."""
    case = Case(path)
    hift, mel = vocoder(case), torch.from_numpy(case["in.mel"])
    found = hift.decode(mel, hift.excite(hift.pitch(mel), *noise_of(case))).numpy()
    close(f"{case.family} waveform from mel alone", found, case["out.wav"], 0.3)
    assert np.abs(found).max() <= hift.config.limit
