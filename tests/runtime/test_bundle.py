"""Bundles are checked in every respect before anything is loaded."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cosylite import TTS
from cosylite.errors import BundleError, InputError
from cosylite.runtime.bundle import find_bundle, load_bundle

Broken = Callable[..., Path]


def refused(folder: Path) -> str:
    with pytest.raises(BundleError) as caught:
        load_bundle(folder)
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_tiny_bundle_loads(tiny: Path) -> None:
    bundle = load_bundle(tiny)
    assert bundle.manifest.name == "tiny"
    assert bundle.voice_table().shape == (4, 4)


def test_generator_makes_the_committed_bundle(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    spec = importlib.util.spec_from_file_location("make_tiny_bundle", tiny.parent / "make_tiny_bundle.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make(tmp_path / "tiny")
    for path in sorted(tiny.iterdir()):
        assert (tmp_path / "tiny" / path.name).read_bytes() == path.read_bytes(), path.name


def test_missing_bundle_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no bundle 'nothing'"):
        find_bundle("nothing")
    assert "no bundle.json" in refused(tmp_path)


def test_bundles_in_the_cache_are_found(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "small").symlink_to(tiny)
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(tmp_path))
    assert find_bundle("small") == tmp_path / "bundles" / "small"


def test_extra_file(broken: Broken) -> None:
    folder = broken()
    (folder / "virus.py").write_text("print()")
    assert "virus.py" in refused(folder)


@pytest.mark.parametrize("name", ["flow.onnx", "voices.npy"])
def test_missing_file(broken: Broken, name: str) -> None:
    folder = broken()
    (folder / name).unlink()
    assert name in refused(folder)


def test_truncated_file(broken: Broken) -> None:
    folder = broken()
    data = (folder / "flow.onnx").read_bytes()
    (folder / "flow.onnx").write_bytes(data[:-100])
    message = refused(folder)
    assert "flow.onnx" in message and str(len(data) - 100) in message


def test_corrupt_file(broken: Broken) -> None:
    folder = broken()
    data = bytearray((folder / "vocoder.onnx").read_bytes())
    data[1000] ^= 1
    (folder / "vocoder.onnx").write_bytes(data)
    assert "SHA-256" in refused(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1, "family": "nano"}', "\x00"])
def test_unreadable_manifest(broken: Broken, text: str) -> None:
    folder = broken()
    (folder / "bundle.json").write_text(text)
    refused(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "update cosylite"),
        ({"family": "opera"}, "opera"),
        ({"mel__colour": 1}, "unknown key 'colour' in mel; valid: bands"),
        ({"pitch__std": None}, "'std' is missing in pitch"),
        ({"name": 3}, "name must be of type str"),
        ({"pitch__mean": "high"}, "pitch.mean must be of type float"),
        ({"pitch__std": 0.0}, "above 0"),
        ({"mel__mean": [0.0]}, "one number per band"),
        ({"mel__std": ["a"] * 80}, r"mel.std[0]"),
        ({"flow__times": [0.0, 0.5]}, "from 0 to 1"),
        ({"flow__times": [0.0, 0.6, 0.5, 1.0]}, "increase"),
        ({"vocoder__lookahead": 0}, "lookahead"),
        ({"vocoder__lookahead": True}, "lookahead"),
        ({"voices__default__zh": "nobody"}, "not in voices.list"),
        ({"voices__default__mixed": None}, "mixed"),
        ({"symbols": ["a", "a", " "]}, "differ"),
        ({"stages__text": "../text.onnx"}, "files lacks"),
        ({"files__flow.onnx__bytes": 5}, "flow.onnx"),
    ],
)
def test_bad_manifest_says_what_is_wrong(broken: Broken, changes: dict[str, object], words: str) -> None:
    assert words in refused(broken(**changes))


def test_graph_that_is_none(broken: Broken) -> None:
    import hashlib

    data = b"not a graph"
    folder = broken(**{"files__flow.onnx": {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}})
    (folder / "flow.onnx").write_bytes(data)
    with pytest.raises(BundleError, match="no usable graph"):
        TTS(folder)


def test_missing_symbol(broken: Broken) -> None:
    folder = broken()
    manifest = json.loads((folder / "bundle.json").read_text())
    manifest["symbols"][manifest["symbols"].index("h")] = "§"
    (folder / "bundle.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match="no symbol 'h'"):
        TTS(folder, threads=1).say("hello")


def test_threads_and_stages_are_checked(tiny: Path) -> None:
    with pytest.raises(InputError, match="threads"):
        TTS(tiny, threads=0)
    with pytest.raises(InputError, match="text, flow, vocoder"):
        TTS(tiny, devices={"brain": "cpu"})
