"""Corpus filters, features and batches of nano's training."""

import random
from pathlib import Path

import numpy as np
import pytest

from cosylite.lab.nano import corpus, features
from cosylite.lab.nano.dataset import Example, acoustic_batch, acoustic_batches, load_new, statistics, token_ids
from cosylite.lab.nano.teacher import DURATION_UNIT
from cosylite.text.symbols import SYMBOLS


@pytest.mark.parametrize(
    ("lang", "text", "clean"),
    [
        ("en", "Like the hunt, but with richer rewards.", True),
        ("en", "like the hunt, but with richer rewards.", False),
        ("en", "See http://example.org for details.", False),
        ("zh", "唯有门前镜湖水，春风不改旧时波。", True),
        ("zh", "矩阵 A = LU 分解。", False),
        ("ja", "文書で表を挿入する機能です。", True),
        ("ja", "注意事項。", False),
        ("ko", "이름을 입력합니다.", True),
        ("ko", "Anchors the selected object to the paragraph.", False),
    ],
)
def test_clean_sentences(lang: str, text: str, clean: bool) -> None:
    assert corpus.is_clean(text, lang) is clean


def test_the_split_depends_on_the_text_alone() -> None:
    texts = [f"sentence {i}" for i in range(4000)]
    share = sum(map(corpus.is_held_out, texts)) / len(texts)
    assert 0.02 < share < 0.06
    assert corpus.is_held_out(texts[7]) == corpus.is_held_out("sentence 7")


def test_patterns_are_filled_without_repetition() -> None:
    made = corpus.fill_patterns(["{a}和{b}。"], {"a": ["x", "y"], "b": ["1", "2"]}, 10)
    assert sorted(made) == ["x和1。", "x和2。", "y和1。", "y和2。"]


def test_durations_keep_their_total() -> None:
    units = np.random.default_rng(0).integers(1, 9, 200).astype(np.int32)
    frames = features.frame_durations(units)
    assert abs(frames.sum() - units.sum() * DURATION_UNIT / features.HOP) <= 0.5
    assert np.abs(np.cumsum(frames) - np.cumsum(units) * 1.25).max() <= 0.5


def test_the_mel_of_a_tone_peaks_in_its_band() -> None:
    samples = np.sin(2 * np.pi * 1000 * np.arange(24_000) / 24_000).astype(np.float32)
    mel = features.log_mel(samples)
    assert mel.shape == (50, 80)
    centre = (features.mel_filters() * np.arange(961)[:, None]).sum(0) / features.mel_filters().sum(0) * 12.5
    assert abs(centre[mel[20].argmax()] - 1000) < 40


def test_pitch_is_smooth_through_unvoiced_stretches() -> None:
    f0 = np.array([200.0] * 16 + [7.0] * 16 + [100.0] * 16, np.float32)
    pitch, voicing = features.frame_pitch(f0, 30)
    assert voicing[:9].all() and not voicing[11:19].any() and voicing[21:].all()
    assert np.all(np.diff(pitch[10:20]) < 0)
    silent, unvoiced = features.frame_pitch(np.full(8, 5.0, np.float32), 5)
    assert np.isfinite(silent).all() and not unvoiced.any()


def example(frames: int, tokens: int, name: str = "x") -> Example:
    rng = np.random.default_rng(frames)
    durations = np.full(tokens, frames // tokens)
    durations[-1] += frames - durations.sum()
    return Example(
        name, "en", 1, rng.integers(1, 9, tokens), durations, rng.standard_normal((frames, 80)).astype(np.float16),
        np.full(frames, 5.0, np.float32) + rng.standard_normal(frames).astype(np.float32) * 0.1,
        (np.arange(frames) % 3 > 0).astype(np.uint8), np.zeros(frames * 480, np.int16),
    )  # fmt: skip


def test_batches_hold_every_example_once_and_stay_small() -> None:
    examples = [example(40 + 7 * i, 5, str(i)) for i in range(30)]
    seen = [e.name for batch in acoustic_batches(examples, 600, random.Random(1)) for e in batch]
    assert sorted(seen, key=int) == [e.name for e in examples]
    for batch in acoustic_batches(examples, 600, random.Random(2)):
        assert max(len(e.mel) for e in batch) * len(batch) <= 600


def test_a_batch_is_padded_with_zeros() -> None:
    examples = [example(50, 5), example(30, 3)]
    batch = acoustic_batch(examples, statistics(examples))
    assert batch.frames.shape == (2, 50, 82) and batch.counts.tolist() == [50, 30]
    assert not batch.frames[1, 30:].any() and batch.tokens[1, 3:].tolist() == [0, 0]
    assert set(batch.frames[0, :, 81].tolist()) == {-1.0, 1.0}


def test_every_symbol_has_an_id_and_none_is_padding() -> None:
    ids = token_ids("".join(SYMBOLS))
    assert len(set(ids.tolist())) == len(SYMBOLS) and ids.min() == 1
    assert ids[0] == ids[-1] == token_ids("")[0]


def test_only_spoken_rows_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "utterances").mkdir()
    (tmp_path / "manifest.jsonl").write_text(
        '{"id": "a", "lang": "en", "voice": "af_heart", "symbols": "hI"}\n'
        '{"id": "b", "lang": "en", "voice": "af_heart", "symbols": "hI"}\n'
    )
    data = {"samples": np.zeros(1920, np.int16), "mel": np.zeros((4, 80), np.float16)}
    more = {"pitch": np.zeros(4, np.float32), "voicing": np.ones(4, np.uint8), "durations": np.ones(4, np.int32)}
    np.savez(tmp_path / "utterances" / "a.npz", **data, **more)
    known: set[str] = set()
    assert [e.name for e in load_new(tmp_path, known)] == ["a"]
    assert load_new(tmp_path, known) == []
