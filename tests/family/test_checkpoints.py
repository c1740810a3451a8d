"""Reading official model folders: what is recognised, what is refused and how the refusal reads."""

import dataclasses
import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from cosylite.errors import BundleError
from cosylite.lab.checkpoints import load_checkpoint
from cosylite.lab.checkpoints.hyperyaml import read_hyper_yaml
from cosylite.lab.checkpoints.load import read_config, read_speakers, recognise
from cosylite.lab.checkpoints.settings import read_settings
from cosylite.lab.checkpoints.weights import fold_weight_norm, match
from cosylite.lab.models.config import COSYVOICE_1, COSYVOICE_2, COSYVOICE_3, FamilyConfig, QwenConfig, QwenLMConfig
from cosylite.lab.models.family import build_family

from .golden import FAMILIES, ROOT, SHAPES, checkpoint

FIXTURES = Path(__file__).parent / "data"
OFFICIAL = {"v1": COSYVOICE_1, "v2": COSYVOICE_2, "v3": COSYVOICE_3}
YAML = {"v1": "cosyvoice.yaml", "v2": "cosyvoice2.yaml", "v3": "cosyvoice3.yaml"}
QWEN = {
    "vocab_size": 151936,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A copy of the v2 toy that a test may spoil."""
    return Path(shutil.copytree(ROOT / "v2", tmp_path / "v2", ignore=shutil.ignore_patterns("cases")))


@pytest.mark.parametrize("family", FAMILIES)
def test_released_shapes_fit(family: str) -> None:
    """Every key of the released size has its place, with nothing missing and nothing left over."""
    model = build_family(OFFICIAL[family], device="meta")
    tables = json.loads((SHAPES / f"{family}_official.json").read_text())["networks"]
    for name, network in (("llm", model.lm), ("flow", model.flow), ("hift", model.vocoder)):
        tensors = {key: torch.empty(t["shape"], device="meta") for key, t in tables[name]["keys"].items()}
        assert match(network, tensors)[1] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_speakers(family: str) -> None:
    speakers = checkpoint(family).speakers
    assert any("embedding" in entry for entry in speakers.values())
    assert any("flow_prompt_speech_token" in entry for entry in speakers.values())
    assert read_speakers(Path("no such file")) == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_official_yaml(family: str, tmp_path: Path) -> None:
    """A file in the tags of the releases gives exactly the official sizes."""
    shutil.copy(FIXTURES / YAML[family], tmp_path)
    if family != "v1":
        (tmp_path / "CosyVoice-BlankEN").mkdir()
        (tmp_path / "CosyVoice-BlankEN" / "config.json").write_text(json.dumps(QWEN))
    found = read_config(tmp_path)
    assert _without_unused(found) == _without_unused(OFFICIAL[family])


def _without_unused(config: FamilyConfig) -> FamilyConfig:
    """Settings that a family does not have keep their defaults on either side."""
    causal = config.vocoder.causal
    vocoder = config.vocoder if causal else dataclasses.replace(config.vocoder, look_right=0)
    return dataclasses.replace(config, vocoder=vocoder)


def test_yaml_is_data(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "__seed: !apply:os.mkdir [made]\nbase: 25\nchunk: !ref <base> * 2\nagain: !ref <chunk>\n"
        "net: !new:no.such.module.Net\n  size: !ref <chunk>\n  inner: [!ref <base>]\ncall: !name:os.system\n"
    )
    found = read_hyper_yaml(path)
    assert found["chunk"] == found["again"] == 50
    assert found["net"] == {"class": "Net", "size": 50, "inner": [25]}
    assert found["__seed"] == {"class": "mkdir", "arguments": ["made"]}
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: !!python/object/apply:os.system [ls]", "cannot be read"),
        ("a: !ref <b>", "does not define"),
        ("a: !ref <b>\nb: !ref <a>", "in a circle"),
        ("a: x\nb: !ref <a> * 2", "not a number"),
        ("a: !ref __import__('os')", "only names and products"),
        ("a: [1, 2", "cannot be read"),
        ("- a", "not a mapping"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("[" * 2000, "nested too deeply|cannot be read"),
        ("a: !other b", "cannot be read"),
    ],
)
def test_bad_yaml_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "cosyvoice.yaml"
    path.write_text(text)
    with pytest.raises(BundleError, match=reason) as caught:
        read_hyper_yaml(path)
    assert "\n" not in str(caught.value)


def test_families_are_recognised(tmp_path: Path) -> None:
    for family, name in YAML.items():
        folder = tmp_path / family
        folder.mkdir()
        (folder / name).touch()
        assert recognise(folder) == (family, folder / name)
    (tmp_path / "v1" / YAML["v2"]).touch()
    with pytest.raises(BundleError, match="keep only the one"):
        recognise(tmp_path / "v1")
    with pytest.raises(BundleError, match="holds none of"):
        recognise(tmp_path)
    with pytest.raises(BundleError, match="not a directory"):
        recognise(tmp_path / "nowhere")


def refusal(folder: Path) -> BundleError:
    with pytest.raises(BundleError) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", ["llm.pt", "flow.pt", "hift.pt", "CosyVoice-BlankEN/config.json"])
def test_missing_file(toy: Path, name: str) -> None:
    (toy / name).unlink()
    error = refusal(toy)
    assert error.code == "missing_file"
    assert name in str(error)


@pytest.mark.parametrize("size", [0, 100, 40_000])
def test_truncated_file(toy: Path, size: int) -> None:
    path = toy / "flow.pt"
    path.write_bytes(path.read_bytes()[:size])
    assert refusal(toy).code == "damaged_file"


class Mischief:
    """An object whose unpickling runs a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("mischief",)


@pytest.mark.parametrize("legacy", [False, True])
def test_pickle_with_code(toy: Path, legacy: bool) -> None:
    if legacy:
        (toy / "llm.pt").write_bytes(pickle.dumps({"a": Mischief()}))
    else:
        torch.save({"a": Mischief()}, toy / "llm.pt")
    assert refusal(toy).code == "unsafe_checkpoint"
    assert not Path("mischief").exists()


def test_scrambled_file(toy: Path) -> None:
    """Bytes that make no sense inside a well-formed archive."""
    path = toy / "llm.pt"
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    for spoilt in (b"\x80\x02}q\x00u.", b"", b"\x80\x02" + bytes(50), b"\x80\x02(."):
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in contents.items():
                archive.writestr(name, spoilt if name.endswith("data.pkl") else data)
        assert refusal(toy).code in {"damaged_file", "unsafe_checkpoint"}


def test_file_of_another_kind(toy: Path) -> None:
    torch.save([torch.zeros(1)], toy / "llm.pt")
    assert refusal(toy).code == "bad_checkpoint"
    with zipfile.ZipFile(toy / "llm.pt", "w") as archive:
        archive.writestr("a", "b")
    assert refusal(toy).code == "damaged_file"


def test_wrong_family(toy: Path) -> None:
    settings = json.loads((toy / "config.json").read_text())
    (toy / "config.json").write_text(json.dumps(settings | {"family": "v3"}))
    error = refusal(toy)
    assert error.code == "wrong_family"
    assert "Qwen2LM" in str(error)
    (toy / "config.json").write_text(json.dumps(settings | {"family": "v9"}))
    assert "known are v1, v2, v3" in str(refusal(toy))


def test_every_key_that_does_not_fit_is_named(toy: Path) -> None:
    tensors = torch.load(toy / "flow.pt", weights_only=True)
    tensors["strange.weight"] = torch.zeros(1)
    del tensors["encoder_proj.bias"]
    tensors["input_embedding.weight"] = torch.zeros(3, 3)
    torch.save(tensors, toy / "flow.pt")
    error = refusal(toy)
    assert error.code == "mismatched_checkpoint"
    for part in (
        "1 missing: encoder_proj.bias",
        "1 extra: strange.weight",
        "1 misshapen: input_embedding.weight (3, 3)",
    ):
        assert part in str(error)


def test_half_a_weight_norm_is_named(toy: Path) -> None:
    tensors = torch.load(toy / "hift.pt", weights_only=True)
    del tensors["conv_pre.parametrizations.weight.original0"]
    torch.save(tensors, toy / "hift.pt")
    assert "missing: conv_pre.weight" in str(refusal(toy))
    assert "extra: conv_pre.parametrizations.weight.original1" in str(refusal(toy))


def test_older_names_of_weight_norm() -> None:
    g, v = torch.rand(4, 1, 1), torch.rand(4, 3, 2)
    new = fold_weight_norm({f"a.parametrizations.weight.original{i}": t for i, t in enumerate((g, v))})
    old = fold_weight_norm({"a.weight_g": g, "a.weight_v": v})
    assert list(new) == list(old) == ["a.weight"]
    assert torch.equal(new["a.weight"], old["a.weight"])
    assert torch.allclose(new["a.weight"].flatten(1).norm(dim=1), g.flatten().double())


def test_missing_setting_is_named(toy: Path) -> None:
    settings = json.loads((toy / "config.json").read_text())
    del settings["flow"]["decoder"]["estimator"]["num_heads"]
    (toy / "config.json").write_text(json.dumps(settings))
    assert "flow.decoder.estimator.num_heads" in str(refusal(toy))
    settings["flow"]["decoder"]["estimator"]["num_heads"] = "many"
    (toy / "config.json").write_text(json.dumps(settings))
    assert "must be int, found 'many'" in str(refusal(toy))


def test_settings_of_another_computation_are_refused() -> None:
    raw = json.loads((ROOT / "v1" / "config.json").read_text())
    raw["flow"]["encoder"]["macaron_style"] = True
    with pytest.raises(BundleError, match=r"flow\.encoder\.macaron_style must be False"):
        read_settings(raw, "v1", None)


def test_sizes_of_toys_are_read() -> None:
    raw = json.loads((ROOT / "v2" / "CosyVoice-BlankEN" / "config.json").read_text())
    lm = read_config(ROOT / "v2").lm
    assert isinstance(lm, QwenLMConfig)
    assert lm.backbone == QwenConfig(
        raw["vocab_size"],
        raw["hidden_size"],
        raw["intermediate_size"],
        raw["num_hidden_layers"],
        raw["num_attention_heads"],
        raw["num_key_value_heads"],
        raw["rms_norm_eps"],
        raw["rope_theta"],
    )
