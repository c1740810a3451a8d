"""What a caller can get wrong, on the command line: one line each, and the exit code of its kind."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cosylite.cli import main

from .speaking import TOYS, prompt_file, speaking_bundle

Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of v1, which takes no instructions."""
    return speaking_bundle(tmp_path_factory.mktemp("bad"), "v1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; its exit code and the one line that it says."""

    def run(*args: object) -> tuple[int, str]:
        code = main([str(arg) for arg in args])
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1 and lines[0].startswith("cosylite: error: "), lines
        return code, lines[0]

    return run


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TOYS / "v2", tmp_path / "toy", ignore=shutil.ignore_patterns("cases")))


class Mischief:
    """An object whose unpickling runs code."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("mischief",)


def test_checkpoints(toy: Path, run: Run, tmp_path: Path) -> None:
    def convert() -> tuple[int, str]:
        return run("convert", toy, "-o", tmp_path / "bundle", "-q")

    flow = (toy / "flow.pt").read_bytes()
    (toy / "flow.pt").unlink()
    code, line = convert()
    assert code == 3 and "flow.pt is missing" in line
    (toy / "flow.pt").write_bytes(flow[: len(flow) // 2])
    code, line = convert()
    assert code == 3 and "flow.pt" in line
    (toy / "flow.pt").write_bytes(pickle.dumps({"a": Mischief()}))
    code, line = convert()
    assert code == 3 and "flow.pt" in line and "mischief" not in line
    (toy / "flow.pt").write_bytes(flow)
    settings = (toy / "config.json").read_text()
    (toy / "config.json").write_text(settings.replace('"family": "v2"', '"family": "v3"'))
    code, line = convert()
    assert code == 3 and "not the settings of family v3" in line
    assert not (tmp_path / "bundle").exists()


def test_prompts(bundle: Path, run: Run, tmp_path: Path) -> None:
    def add(name: str, *more: str) -> tuple[int, str]:
        return run("voice", "add", "Anna", tmp_path / name, "--bundle", bundle, *more)

    soundfile.write(tmp_path / "silent.wav", np.zeros(48000, np.float32), 16000)
    soundfile.write(tmp_path / "long.wav", np.zeros(600 * 8000, np.int16), 8000)
    prompt_file(tmp_path / "short.wav", seconds=0.4)
    (tmp_path / "text.wav").write_text("no audio")
    assert add("silent.wav") == (2, "cosylite: error: the recording is silent; record it again")
    assert add("long.wav") == (2, "cosylite: error: the recording lasts 600.0 s; cut it to at most 30 s")
    assert add("short.wav")[1].endswith("give at least 1 s of speech")
    assert add("text.wav")[0] == 2 and add("none.wav")[0] == 5


def test_speech(bundle: Path, run: Run, tmp_path: Path) -> None:
    def say(*more: str) -> tuple[int, str]:
        return run("say", "Hello.", "--bundle", bundle, "--device", "cpu", "-o", tmp_path / "a.wav", *more)

    code, line = say("--voice", "nobody")
    assert code == 2 and "unknown voice 'nobody'; voices of this bundle: 中文女" in line
    code, line = say("--instruct", "Sound happy.")
    assert code == 2 and "was not trained to follow instructions" in line
    code, line = say("--mode", "zero-shot")
    assert code == 2 and "is a preset without recording" in line
    code, line = say("--mode", "loud")
    assert code == 2 and "choose one of auto, preset" in line
    code, line = say("--streaming", "exact")
    assert code == 2 and "use official" in line
    code, line = run("say", "Hello.", "--bundle", tmp_path / "nowhere", "-o", tmp_path / "a.wav")
    assert code == 3 and "no bundle" in line
    code, line = run("say", "Hello.", "--instruct", "Sound happy.", "-o", tmp_path / "a.wav")
    assert code == 2 and "takes no instruct" in line
    code, line = run("convert-voice", tmp_path / "none.wav", "--bundle", bundle, "-o", tmp_path / "a.wav")
    assert code == 5 and "cannot read" in line
    code, line = run("convert-voice", tmp_path / "none.wav", "-o", tmp_path / "a.wav")
    assert code == 3 and "voices from recordings need a bundle of CosyVoice" in line
    assert not (tmp_path / "a.wav").exists()


def test_bundles_without_what_is_needed(bundle: Path, run: Run, tmp_path: Path, toy: Path) -> None:
    assert main(["convert", str(toy), "-o", str(tmp_path / "bare"), "-q"]) == 0
    code, line = run("say", "Hello.", "--bundle", tmp_path / "bare", "-o", tmp_path / "a.wav")
    assert code == 3 and "has no vocabulary" in line
    prompt = prompt_file(tmp_path / "prompt.wav")
    code, line = run("voice", "add", "Anna", prompt, "--bundle", tmp_path / "bare")
    assert code == 3
    code, line = run("voice", "add", "Anna", prompt)
    assert code == 3 and "name a bundle of CosyVoice" in line
