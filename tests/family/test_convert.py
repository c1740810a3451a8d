"""`cosylite convert`, and what a bundle holds besides graphs: vocabulary, fixed noise, measured differences."""

import copy
import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.cli import main
from cosylite.errors import BundleError
from cosylite.lab.checkpoints.load import Checkpoint
from cosylite.lab.checkpoints.vocabulary import vocabulary
from cosylite.lab.export.family_check import Difference, compare
from cosylite.lab.models.config import COSYVOICE_3
from cosylite.lab.models.noise import flow_noise, vocoder_noise
from cosylite.runtime import load
from cosylite.runtime.family.noise import Noises
from cosylite.text.family.tokenizers import unpack, whisper_vocabulary

from .golden import ROOT, SHAPES, checkpoint

STAGES = {"text", "lm", "encoder", "speaker", "estimator", "pitch", "vocoder"}


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("converted") / "toy"
    assert main(["convert", str(ROOT / "v2"), "-o", str(target), "-q"]) == 0
    return target


def test_the_bundle_is_measured(converted: Path) -> None:
    manifest = json.loads((converted / "bundle.json").read_text("utf-8"))
    assert manifest["name"] == "toy" and manifest["measured"]["precision"] == "fp32"
    differences = manifest["measured"]["differences"]
    assert set(differences) == STAGES
    assert 0 < max(d["relative"] for d in differences.values()) < 1e-4
    assert list(converted.parent.iterdir()) == [converted]


def test_convert_again_in_int8(converted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An older bundle is replaced; steps go to stderr, the differences to stdout."""
    assert main(["convert", str(ROOT / "v2"), "-o", str(converted), "--precision", "int8"]) == 0
    out, err = capsys.readouterr()
    assert "write estimator.onnx" in err and "compare with PyTorch" in err and "no vocabulary" in err
    assert all(stage in out for stage in STAGES) and "in int8" in out
    measured = json.loads((converted / "bundle.json").read_text("utf-8"))["measured"]
    assert 1e-3 < measured["differences"]["estimator"]["relative"] < 0.2
    assert load(converted, threads=1).lm.decode([5, 6, 7], sampler="greedy")


def test_fixed_noise_of_the_flow(converted: Path) -> None:
    """The bundle has 30 s of it; what follows is counted out and does not depend on the seed."""
    noises = load(converted, threads=1).noises
    assert (noises.flow(1500, 3) == flow_noise().numpy()[..., :1500]).all()
    assert (noises.flow(40, 3) == flow_noise().numpy()[..., :40]).all()
    long = noises.flow(2100, 3)
    assert (long == noises.flow(2100, 4)).all() and (long[..., :1700] == noises.flow(1700, 0)).all()
    assert abs(long[..., 1500:].mean()) < 0.02 and abs(long[..., 1500:].std() - 1) < 0.02


def test_fixed_noise_of_the_vocoder() -> None:
    with np.load(SHAPES / "v3_official_noise.npz") as case:
        wanted = case["sine_noise_first2400"]
    table = vocoder_noise(COSYVOICE_3.flow, COSYVOICE_3.vocoder, 1).numpy()
    assert (table[:, : wanted.shape[1]] == wanted).all()
    noises = Noises(80, 9, source_table=table)
    around = noises.source(23_000, 9_000, 1)
    assert (around[:, :1000] == table[:, 23_000:]).all()
    assert (around[:, 2500:] == noises.source(25_500, 6_500, 2)).all()
    beyond = around[:, 1000:]
    assert beyond.min() >= 0 and beyond.max() <= 1 and abs(beyond.mean() - 0.5) < 0.01
    assert abs(beyond.var() - 1 / 12) < 0.002


def test_noise_by_seed() -> None:
    noises = Noises(80, 9)
    assert (noises.flow(50, 1)[..., :20] == noises.flow(20, 1)).all()
    assert not (noises.flow(20, 1) == noises.flow(20, 2)).any()
    normal = noises.source(100, 20_000, 1)
    assert (normal[:, 50:90] == noises.source(150, 40, 1)).all()
    assert abs(normal.mean()) < 0.01 and abs(normal.std() - 1) < 0.01
    phases = noises.phases(1)
    assert phases[0, 0] == 0 and np.abs(phases).max() <= np.pi and len(np.unique(phases)) == 9


def test_vocabulary_of_the_families(tmp_path: Path) -> None:
    toy = checkpoint("v1")
    pieces = vocabulary(toy)
    assert pieces == whisper_vocabulary()[: toy.model.lm.text_embedding.num_embeddings]
    assert vocabulary(checkpoint("v2")) is None
    release = Checkpoint(tmp_path, checkpoint("v2").model, {})
    (tmp_path / "cosyvoice2.yaml").touch()
    with pytest.raises(BundleError, match=r"vocab\.json is missing"):
        vocabulary(release)
    packed = Path(__file__).parent / "data" / "qwen.ranks.xz"
    _write_vocabulary(tmp_path / "CosyVoice-BlankEN", unpack(packed.read_bytes())[:300])
    found = vocabulary(release)
    assert found is not None and found == unpack(packed.read_bytes())[:300]


def _write_vocabulary(folder: Path, pieces: list[bytes]) -> None:
    """vocab.json and merges.txt as Qwen2 has them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(hidden)}
    words = ["".join(letters[b] for b in piece) for piece in pieces]
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}), "utf-8")
    merges = [f"{word[:-1]} {word[-1]}" for word in words[256:]]
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]), "utf-8")


def test_a_graph_that_disagrees_is_found(converted: Path) -> None:
    """Whatever the precision that the tests before left."""
    model = checkpoint("v2").model
    spoiled = dataclasses.replace(model, vocoder=copy.deepcopy(model.vocoder))
    spoiled.vocoder.last.weight.neg_()
    with pytest.raises(BundleError, match="stage vocoder of the bundle differs"):
        compare(load(converted, threads=1), spoiled, "int8")
    nothing = np.full((1, 2), np.nan, np.float32)
    assert Difference.between(nothing, torch.zeros(1, 2)).relative == float("inf")


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    out, err = capsys.readouterr()
    assert err.splitlines()[-1].startswith("cosylite: error: ") and not out
    for word in words:
        assert word in err


@pytest.mark.parametrize("precision", ["int2", "x"])
def test_precisions_that_do_not_exist(precision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["convert", str(ROOT / "v2"), "-o", str(tmp_path / "b"), "--precision", precision]
    assert main(command) == 2
    failed(capsys, precision, "fp32, fp16, int8, int4")
    assert not (tmp_path / "b").exists()


def test_what_is_no_bundle_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    assert main(["convert", str(ROOT / "v2"), "-o", str(tmp_path)]) == 5
    failed(capsys, "no bundle", "another folder")
    assert main(["convert", str(ROOT / "v2"), "-o", str(tmp_path / "letter.txt" / "b")]) == 5
    failed(capsys, "cannot write")
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(tmp_path / "none"), "-o", str(tmp_path / "b")]) == 3
    failed(capsys, "is not a directory")


def test_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith("cosylite.lab")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["convert", str(ROOT / "v2"), "-o", str(tmp_path / "b")]) == 4
    failed(capsys, "torch", "cosylite[lab]")
