"""Filters and the peak limiter."""

import numpy as np
import pytest

from cosylite.audio.filters import KNEE, Biquad, soften_peaks


def reference(b: tuple[float, ...], a: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    y = np.zeros(len(x))
    for n in range(len(x)):
        y[n] = sum(b[k] * x[n - k] for k in range(3) if n >= k) - sum(a[k] * y[n - 1 - k] for k in range(2) if n > k)
    return y


def test_biquad_equals_its_difference_equation_at_any_chunking() -> None:
    x = np.random.default_rng(0).standard_normal(500).astype(np.float32)
    b, a = (0.2, 0.3, -0.1), (-0.9, 0.5)
    expected = reference(b, a, x)
    np.testing.assert_allclose(Biquad(b, a).push(x), expected, atol=1e-5)
    pieces = Biquad(b, a)
    parts = [pieces.push(part) for part in np.split(x, [1, 3, 70, 134, 135, 400])]
    np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-5)


@pytest.mark.parametrize("make", [Biquad.low_pass, Biquad.high_pass])
def test_corner_is_three_decibels_down(make) -> None:  # type: ignore[no-untyped-def]
    tone = np.sin(2 * np.pi * 2000 * np.arange(24000) / 24000).astype(np.float32)
    out = make(2000.0, 24000).push(tone)[4000:]
    assert np.sqrt(2 * np.mean(out**2)) == pytest.approx(np.sqrt(0.5), rel=0.01)


def test_filters_pass_and_stop() -> None:
    t = np.arange(24000) / 24000
    low, high = (np.sin(2 * np.pi * f * t).astype(np.float32) for f in (100.0, 9000.0))
    assert np.abs(Biquad.high_pass(1000.0, 24000).push(low)[5000:]).max() < 0.02
    assert np.abs(Biquad.low_pass(1000.0, 24000).push(high)[5000:]).max() < 0.02
    assert np.abs(Biquad.low_pass(8000.0, 24000).push(low)[5000:]).max() == pytest.approx(1.0, abs=0.01)


def test_peaks_are_softened_only_where_needed() -> None:
    quiet = np.linspace(-KNEE, KNEE, 100, dtype=np.float32)
    np.testing.assert_array_equal(soften_peaks(quiet)[0], quiet)
    loud = np.linspace(-3.0, 3.0, 1001, dtype=np.float32)
    limited, count = soften_peaks(loud)
    assert np.abs(limited).max() <= 1.0
    assert (np.diff(limited) >= 0).all()
    assert count == (np.abs(loud) > 1).sum()
