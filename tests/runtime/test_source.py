"""The excitation and the Fourier transform around the vocoder: exact at any chunking, sane in sound."""

import numpy as np
import pytest

from cosylite.runtime.noise import normal_frames, white_noise
from cosylite.runtime.source import Excitation, harmonic_source, noise_source, pulse_train
from cosylite.runtime.stft import IstftStream, StftStream, istft, stft


def pitch_track(frames: int = 60) -> tuple[np.ndarray, np.ndarray]:
    f0 = 180.0 + 60.0 * np.sin(np.arange(frames) / 7.0)
    voiced = np.ones(frames, dtype=bool)
    voiced[10:14] = voiced[30] = voiced[40:43] = False
    return np.where(voiced, f0, 0.0), voiced


def cuts(total: int, sizes: list[int]) -> list[slice]:
    out, at, i = [], 0, 0
    while at < total:
        out.append(slice(at, min(total, at + sizes[i % len(sizes)])))
        at, i = out[-1].stop, i + 1
    return out


@pytest.mark.parametrize("frames", [1, 2, 5, 40])
def test_istft_inverts_stft(frames: int) -> None:
    samples = np.random.default_rng(0).standard_normal(480 * frames).astype(np.float32)
    spectrum = stft(samples)
    assert spectrum.shape == (2 * frames, 962)
    np.testing.assert_allclose(istft(spectrum), samples, atol=2e-5)


@pytest.mark.parametrize("sizes", [[1], [7, 3], [960], [1000, 1]])
def test_transforms_do_not_depend_on_pieces(sizes: list[int]) -> None:
    samples = np.random.default_rng(1).standard_normal(480 * 9).astype(np.float32)
    whole = stft(samples)
    forward, inverse = StftStream(), IstftStream()
    pieces = np.concatenate([*(forward.push(samples[c]) for c in cuts(len(samples), sizes)), forward.finish()])
    np.testing.assert_allclose(pieces, whole, atol=1e-5)
    out = np.concatenate([*(inverse.push(whole[c]) for c in cuts(len(whole), sizes)), inverse.finish()])
    np.testing.assert_allclose(out, istft(whole), atol=1e-6)


@pytest.mark.parametrize("sizes", [[1], [2], [3, 1, 7], [100]])
def test_excitation_does_not_depend_on_pieces(sizes: list[int]) -> None:
    f0, voiced = pitch_track()
    stream = Excitation(seed=5)
    parts = [stream.push(f0[c], voiced[c]) for c in cuts(len(f0), sizes)]
    emitted = sum(len(h) for h, _ in parts)
    assert emitted == 2 * (len(f0) - 1)
    parts.append(stream.finish())
    harmonic = np.concatenate([h for h, _ in parts])
    noise = np.concatenate([n for _, n in parts])
    np.testing.assert_allclose(harmonic, stft(harmonic_source(f0, voiced)), atol=1e-3)
    np.testing.assert_allclose(noise, stft(noise_source(len(f0), seed=5)), atol=1e-4)


@pytest.mark.parametrize("f0", [55.0, 100.0, 233.3, 400.0, 900.0])
def test_pulse_train_has_unit_power_and_no_aliases(f0: float) -> None:
    samples = harmonic_source(np.full(100, f0), np.ones(100))[2400:-2400].astype(np.float64)
    assert np.mean(samples**2) == pytest.approx(1.0, rel=0.03)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    frequency = np.fft.rfftfreq(len(samples), 1 / 24000)
    away = np.abs(frequency / f0 - np.rint(frequency / f0)) * f0 > 5.0
    assert spectrum[away].sum() < 1e-3 * spectrum.sum()


def test_pulse_train_equals_the_sum_of_its_harmonics() -> None:
    f0 = np.full(500, 700.0)
    cycles = np.cumsum(f0 / 24000)
    harmonics = 12000 / 700.0 - 1
    k = np.arange(1, int(harmonics) + 2)
    weights = np.where(k <= harmonics, 1.0, harmonics - int(harmonics))
    expected = (np.cos(2 * np.pi * cycles[:, None] * k) * weights).sum(axis=1) * np.sqrt(2 / harmonics)
    np.testing.assert_allclose(pulse_train(cycles, f0), expected, atol=1e-5)
    assert pulse_train(np.zeros(1), np.full(1, 100.0))[0] == pytest.approx(119 * np.sqrt(2 / 119))


def test_a_gliding_pitch_makes_no_steps() -> None:
    cycles = np.linspace(0.0, 1.0, 200)
    edge = 12000 / 41.0  # one more harmonic fits below this pitch
    below, above = (pulse_train(cycles, np.full(200, edge * factor)) for factor in (1 - 1e-6, 1 + 1e-6))
    np.testing.assert_allclose(below, above, atol=1e-3)


def test_unvoiced_frames_are_silent_and_stretches_independent() -> None:
    f0, voiced = pitch_track()
    samples = harmonic_source(f0, voiced).reshape(-1, 480)
    assert not samples[~voiced].any()
    assert np.abs(samples[voiced]).max(axis=1).min() > 0.5
    alone = harmonic_source(f0[14:30], voiced[14:30]).reshape(-1, 480)
    np.testing.assert_allclose(samples[14:30], alone, atol=1e-6)


def test_noise_is_addressed_by_position() -> None:
    whole = white_noise(0, 5000, seed=3)
    np.testing.assert_array_equal(white_noise(1237, 1001, seed=3), whole[1237:2238])
    assert not np.array_equal(white_noise(0, 5000, seed=4), whole)
    assert not np.array_equal(white_noise(0, 5000, seed=3, attempt=1), whole)
    assert np.std(white_noise(0, 100_000, seed=0)) == pytest.approx(1.0, rel=0.01)
    frames = normal_frames(0, 400, 82, seed=3)
    np.testing.assert_array_equal(normal_frames(17, 30, 82, seed=3), frames[17:47])
    assert frames.shape == (400, 82)
    assert np.std(frames) == pytest.approx(1.0, rel=0.02) and abs(np.mean(frames)) < 0.02
    assert np.mean(frames**4) == pytest.approx(3.0, rel=0.1)
