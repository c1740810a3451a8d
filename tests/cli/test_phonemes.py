"""`cosylite phonemes`, and how the command line reports errors."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosylite.cli import COMMANDS, main


def spans(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert main(["phonemes", "--json", *arguments]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["spans"]
    return found


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = spans(capsys, "Hello，今天有3个。我们走！")
    assert set(first) == {"lang", "start", "end", "text", "normalised", "words"}
    assert (first["lang"], first["start"], first["end"], first["text"]) == ("en", 0, 5, "Hello")
    assert first["words"] == [{"text": "Hello", "start": 0, "end": 5, "symbols": "həlˈO", "reading": "həlˈO"}]
    assert (second["lang"], second["text"]) == ("zh", "，今天有3个。我们走！")
    assert "三个" in str(second["normalised"])


def test_plain_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["phonemes", "我有2个苹果。"]) == 0
    out = capsys.readouterr().out
    assert "我有两个苹果" in out
    assert "liang3" in out
    assert "symbols" in out


def test_language_and_lexicon_and_skipping(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert spans(capsys, "--lang", "ja", "東京")[0]["lang"] == "ja"
    assert spans(capsys, "--default-han", "ja", "東京")[0]["lang"] == "ja"
    lexicon = tmp_path / "words.tsv"
    lexicon.write_text("行\tzh\thang2\n", "utf-8")
    words = spans(capsys, "--lexicon", str(lexicon), "这行吗")[0]["words"]
    assert "hang2" in str(words)
    assert spans(capsys, "--skip-unknown", "hi привет")[0]["lang"] == "en"


def test_text_from_a_file_and_standard_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeff你好".encode())
    assert spans(capsys, "--file", str(path))[0]["text"] == "你好"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("안녕".encode())))
    assert spans(capsys, "-")[0]["text"] == "안녕"


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (["phonemes", ""], 2, "nothing to speak"),
        (["phonemes", "مرحبا"], 2, "Arabic"),
        (["phonemes", "<speak><voice>x</voice></speak>"], 2, "<voice>"),
        (["phonemes", "--lang", "fr", "x"], 2, "fr"),
        (["phonemes"], 2, "TEXT"),
        (["phonemes", "a", "--file", "b"], 2, "TEXT"),
        (["phonemes", "--file", "/no/such/file"], 5, "/no/such/file"),
        (["phonemes", "--lexicon", "/no/such/file", "x"], 5, "lexicon"),
        (["nothing"], 2, "nothing"),
        ([], 2, "COMMAND"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, names: str) -> None:
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("cosylite: error: ")
    assert err.count("\n") == 1
    assert names in err


def test_files_that_are_not_utf8(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("é".encode("latin-1"))
    assert main(["phonemes", "--file", str(path)]) == 2
    assert "UTF-8" in capsys.readouterr().err


def test_interrupted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("cosylite.cli.phonemes.read_text", interrupt)
    assert main(["phonemes", "x"]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX pipe")
def test_a_closed_pipe_is_quiet() -> None:
    command = [sys.executable, "-m", "cosylite.cli", "phonemes", "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write(b"Hello there. " * 5000)
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert command in capsys.readouterr().out
