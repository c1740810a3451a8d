"""Whole frames from predicted durations."""

import numpy as np
import pytest

from cosylite.runtime.durations import (
    MAX_SYMBOL_FRAMES,
    Conditioning,
    is_letter,
    is_sound,
    repair_durations,
    whole_frames,
)


def test_totals_stay_exact() -> None:
    durations = np.random.default_rng(0).uniform(1.5, 9.0, 200).astype(np.float32)
    letters = np.ones(200, bool)
    for speed in (0.5, 1.0, 1.3):
        frames = whole_frames(durations, letters, speed)
        assert frames.sum() == round(float(durations.astype(np.float64).sum() / speed))
        assert (frames >= 1).all()


def test_letters_are_never_dropped_and_pauses_may_be() -> None:
    durations = np.full(10, 0.2, np.float32)
    letters = np.arange(10) % 2 == 0
    frames = whole_frames(durations, letters, 4.0)
    assert (frames[letters] == 1).all()
    assert (frames[~letters] == 0).all()


def test_time_lost_to_a_minimum_is_won_back() -> None:
    durations = np.array([0.1, 0.1, 0.1, 10.0], np.float32)
    assert whole_frames(durations, np.ones(4, bool), 1.0).tolist() == [1, 1, 1, 7]


def test_impossible_durations_are_repaired() -> None:
    durations = np.array([np.nan, np.inf, -3.0, 1e6, 5.0], np.float32)
    repaired, count = repair_durations(durations)
    assert count == 4
    assert np.isfinite(repaired).all() and repaired.max() <= MAX_SYMBOL_FRAMES and repaired[-1] == 5.0


def test_conditioning_places_frames_in_their_symbols() -> None:
    conditioning = Conditioning.of(np.array([2, 0, 3]))
    assert conditioning.index.tolist() == [0, 0, 2, 2, 2]
    assert conditioning.position[:, 0].tolist() == pytest.approx([0.25, 0.75, 1 / 6, 0.5, 5 / 6])
    assert conditioning.position[0, 1] == pytest.approx(np.log(2) / 4)


def test_kinds_of_symbols() -> None:
    assert is_letter("a") and is_sound("a")
    assert is_sound("ˈ") and not is_letter("ˈ")
    assert not is_sound(",") and not is_sound(" ")
