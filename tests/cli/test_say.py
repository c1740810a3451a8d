"""The commands that speak and inspect, on the tiny bundle."""

import functools
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cosylite import TTS
from cosylite.cli import main
from cosylite.cli.progress import Progress, clock

TINY = Path(__file__).parents[1] / "assets" / "tiny"
COMMAND = [sys.executable, "-m", "cosylite.cli"]
MODEL = ["--bundle", str(TINY), "--device", "cpu", "--threads", "1"]


def say(*arguments: str) -> int:
    return main(["say", *MODEL, *arguments])


def failed(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> None:
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and err.startswith("cosylite: error: ")
    for word in words:
        assert word in err
    assert not out


def test_writes_a_file_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.wav"
    assert say("Hello there.", "-o", str(path), "--speed", "1.2", "--seed", "4") == 0
    samples, rate = soundfile.read(path, dtype="float32")
    expected = TTS(TINY, threads=1).say("Hello there.", speed=1.2, seed=4)
    assert rate == 24000
    np.testing.assert_allclose(samples, expected.samples, atol=1e-4)
    out = capsys.readouterr().out
    assert str(path) in out and f"{expected.duration:.2f} s of audio" in out and "real time" in out


def test_default_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert say("Hello there.") == 0
    assert (tmp_path / "speech.wav").stat().st_size > 1000


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "opus", "ogg", "pcm"])
def test_formats(tmp_path: Path, name: str) -> None:
    assert say("Hello there.", "-q", "-o", str(tmp_path / f"a.{name}")) == 0
    assert say("Hello there.", "-q", "-o", str(tmp_path / "b"), "--format", name) == 0
    a, b = ((tmp_path / file).read_bytes() for file in (f"a.{name}", "b"))
    assert len(a) > 500
    assert a == b or name in ("opus", "ogg")  # their streams have random numbers


def test_text_from_a_file_and_from_standard_input(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Hello there. And again.\n", encoding="utf-8")
    assert say("--file", str(text), "-q", "-o", str(tmp_path / "a.wav")) == 0
    command = [*COMMAND, "say", "-", "-q", "-o", str(tmp_path / "b.wav"), *MODEL]
    subprocess.run(command, input=text.read_bytes(), check=True)
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


def test_pipe_speaks_before_the_text_is_finished() -> None:
    process = subprocess.Popen(
        [*COMMAND, "say", "-", "-o", "-", *MODEL],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin and process.stdout
    process.stdin.write(b"This is the first sentence. And this ")
    first = process.stdout.read(20_000)  # blocks until there is audio
    rest, err = process.communicate(b"is the second one.")
    samples, _ = soundfile.read(io.BytesIO(first + rest), dtype="float32")
    expected = TTS(TINY, threads=1).say("This is the first sentence. And this is the second one.").samples
    np.testing.assert_allclose(samples, expected, atol=1e-4)
    assert process.returncode == 0 and b"standard output" in err


def test_a_reader_that_leaves_is_no_error() -> None:
    command = " ".join([*COMMAND, "say", "'" + "Hello there. " * 200 + "'", "-o", "-", *MODEL])
    result = subprocess.run(f"{command} | head -c 100 > /dev/null", shell=True, capture_output=True, text=True)
    assert "Traceback" not in result.stderr


def test_timings(tmp_path: Path) -> None:
    files = {kind: tmp_path / f"a.{kind}" for kind in ("srt", "vtt", "json")}
    flags = [part for kind, path in files.items() for part in (f"--{kind}", str(path))]
    assert (
        say(
            "Hello <b> world. [pause 300ms] How are you & me?".replace("<b>", ""), "-o", str(tmp_path / "a.wav"), *flags
        )
        == 0
    )
    document = json.loads(files["json"].read_text("utf-8"))
    assert [word["text"] for word in document["words"]][:2] == ["Hello", "world"]
    assert document["duration"] == pytest.approx(soundfile.info(tmp_path / "a.wav").duration, abs=1e-3)
    srt = files["srt"].read_text("utf-8")
    assert srt.startswith("1\n00:00:00,") and " --> " in srt and "\n2\n" in srt and "How are you & me?" in srt
    vtt = files["vtt"].read_text("utf-8")
    assert vtt.startswith("WEBVTT\n\n00:00:00.") and "&amp; me?" in vtt


def test_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, folder = tmp_path / "lines.txt", tmp_path / "out" / "deep"
    text.write_text("One line.\n\nAnother line here.\nمرحبا\nThe last.", encoding="utf-8")
    assert say("--file", str(text), "--lines", "--out-dir", str(folder), "--format", "flac") == 2
    out, err = capsys.readouterr()
    assert sorted(path.name for path in folder.iterdir()) == ["0001.flac", "0003.flac", "0005.flac"]
    assert "line 4: " in err and "3 files" in out
    samples, _ = soundfile.read(folder / "0003.flac", dtype="float32")
    assert len(samples) == len(TTS(TINY, threads=1).say("Another line here.").samples)


def test_lines_and_their_folder_belong_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert say("hello", "--lines") == 2
    failed(capsys, 2, "--out-dir")
    assert say("hello", "--lines", "--out-dir", str(tmp_path), "-o", "a.wav") == 2
    failed(capsys, 2, "--output")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([""], 2, ["nothing to speak"]),
        (["  \n "], 2, ["nothing to speak"]),
        (["🎉" * 0 + "\u200b"], 2, ["nothing to speak"]),
        (["\ud800"], 2, ["nothing to speak"]),
        (["مرحبا"], 2, ["skip"]),
        (["สวัสดี"], 2, ["skip"]),
        (["hi", "--voice", "elvis"], 2, ["elvis", "zf_tiny, af_tiny, jf_tiny, jm_tiny"]),
        (["hi", "--speed", "0"], 2, ["speed", "0.25"]),
        (["hi", "--speed", "fast"], 2, ["--speed"]),
        (["hi", "--lang", "xx"], 2, ["--lang"]),
        (["hi", "-o", "/no/such/folder/a.wav"], 5, ["/no/such/folder/a.wav"]),
        (["hi", "-o", "speech.docx"], 2, [".wav"]),
        (["hi", "-o", ""], 2, ["--output"]),
        (["hi", "--device", "abacus"], 4, ["abacus", "cuda"]),
        (["hi", "--stage-device", "flow"], 2, ["STAGE=DEVICE"]),
        (["hi", "--stage-device", "brain=cpu"], 2, ["text, flow, vocoder"]),
        (["hi", "--threads", "0"], 2, ["threads"]),
        (["hi", "--chunk-frames", "0"], 2, ["chunk_frames"]),
        (["--file", "/no/such/file.txt"], 5, ["/no/such/file.txt"]),
        ([], 2, ["TEXT"]),
    ],
)
def test_errors_are_one_clear_line(
    arguments: list[str],
    code: int,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert say(*arguments) == code
    failed(capsys, code, *words)
    assert not list(tmp_path.iterdir()), "a file was left although nothing was spoken"


def test_a_failure_does_not_empty_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"precious")
    assert say("مرحبا", "-o", str(path)) == 2
    assert path.read_bytes() == b"precious"


def test_unknown_scripts_can_be_skipped(tmp_path: Path) -> None:
    assert say("hello مرحبا world", "--skip-unknown", "-o", str(tmp_path / "a.wav")) == 0


def test_text_that_is_not_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes("caf\xe9".encode("latin-1"))
    assert say("--file", str(tmp_path / "a.txt"), "-o", str(tmp_path / "a.wav")) == 2
    failed(capsys, 2, "UTF-8")


def test_times_that_cannot_be_written_are_found_out_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.wav"
    for target in (tmp_path / "none" / "a.srt", tmp_path):
        assert say("Hello there.", "-o", str(path), "--srt", str(target)) == 5
        failed(capsys, 5, "cannot write", str(target))
    assert not path.exists()


def test_file_names_that_the_terminal_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "你好.wav"
    result = subprocess.run(
        [*COMMAND, "say", "Hi.", "-o", str(path), *MODEL],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert path.exists() and b"??.wav" in result.stdout


def test_closed_standard_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["voices", "--bundle", str(TINY)]) == 0
    assert say("Hi.", "-o", "-") == 5
    assert "standard output is closed" in capsys.readouterr().err


def test_missing_bundle(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["say", "hi", "--bundle", str(tmp_path)]) == 3
    failed(capsys, 3, "bundle.json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk(capsys: pytest.CaptureFixture[str]) -> None:
    assert say("Hello there.", "-o", "/dev/full", "--format", "wav") == 5
    failed(capsys, 5, "disk is full")


@pytest.mark.parametrize(("name", "size"), [("wav", 60_000), ("mp3", 20_000)])
def test_interrupting_leaves_a_playable_file(tmp_path: Path, name: str, size: int) -> None:
    path, text = tmp_path / f"a.{name}", tmp_path / "book.txt"
    text.write_text("This is one of very many sentences of a book. " * 5000, encoding="utf-8")
    command = [*COMMAND, "say", "--file", str(text), "-o", str(path), "--srt", str(tmp_path / "a.srt"), *MODEL]
    # Under nohup or as a background job the tests ignore SIGINT, and a child would inherit that.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    deadline = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size > size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in err and str(path) in err and "Traceback" not in err
    samples, rate = soundfile.read(path, dtype="float32")
    assert len(samples) / rate > 0.5 and np.abs(samples).max() > 0.01
    assert (tmp_path / "a.srt").read_text().count("-->") >= 1


def test_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    player = tmp_path / "aplay"
    player.write_text(f"#!/bin/sh\ncat > {tmp_path}/heard\n")
    player.chmod(player.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    monkeypatch.setattr("cosylite.cli.player.PLAYERS", {"aplay": ["-q"]})
    monkeypatch.chdir(tmp_path)
    assert say("Hello there.", "--play") == 0
    heard = np.frombuffer((tmp_path / "heard").read_bytes(), "<i2")
    assert len(heard) == len(TTS(TINY, threads=1).say("Hello there.").samples)
    assert not (tmp_path / "speech.wav").exists()
    assert capsys.readouterr().out.startswith("played: ")

    monkeypatch.setenv("PATH", "/nowhere")
    assert say("Hello there.", "--play") == 4
    failed(capsys, 4, "aplay")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    terminal = Terminal()
    progress = Progress(1000, stream=terminal)
    progress.update(10, 0.5)
    assert terminal.getvalue() == ""
    now[0] = 110.0
    progress.update(250, 65.0)
    assert (
        " 25%" in terminal.getvalue() and "1:05 of audio" in terminal.getvalue() and "0:30 left" in terminal.getvalue()
    )
    progress.close()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert clock(3725) == "1:02:05"

    silent = io.StringIO()
    progress = Progress(1000, stream=silent)
    now[0] = 200.0
    progress.update(500, 1.0)
    assert silent.getvalue() == ""


def test_voices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["voices", "--bundle", str(TINY), "--json"]) == 0
    voices = json.loads(capsys.readouterr().out)["voices"]
    assert voices[3] == {
        "name": "jm_tiny",
        "gender": "male",
        "native": "ja",
        "languages": ["zh", "en", "ja", "ko"],
        "default_for": ["ko", "mixed"],
    }
    assert main(["voices", "--bundle", str(TINY)]) == 0
    assert "jm_tiny" in capsys.readouterr().out


def test_bundles(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "small").symlink_to(TINY)
    (tmp_path / "bundles" / "bad").mkdir()
    (tmp_path / "bundles" / "bad" / "bundle.json").write_text("{}")
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(tmp_path))
    assert main(["bundles", "--json"]) == 0
    bundles = {bundle["name"]: bundle for bundle in json.loads(capsys.readouterr().out)["bundles"]}
    assert bundles["small"]["languages"] == ["zh", "en", "ja", "ko"] and bundles["small"]["problem"] is None
    assert "bad" in bundles["bad"]["problem"]
    assert main(["bundles"]) == 0
    assert "small" in capsys.readouterr().out


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert "cpu" in facts["devices"] and facts["packages"]["numpy"] and "opus" in facts["formats"]
    assert main(["info"]) == 0
    assert "onnxruntime" in capsys.readouterr().out
