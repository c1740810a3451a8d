"""The snippets of docs/text.md run."""

import re
from pathlib import Path

import pytest

from cosylite.cli import main
from cosylite.text.frontend import Frontend
from cosylite.text.lexicon import Lexicon

DOC = (Path(__file__).resolve().parents[2] / "docs" / "text.md").read_text("utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOC, re.DOTALL)


@pytest.mark.parametrize("code", snippets("python"))
def test_python(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs/text.md", "exec"), {"__name__": "docs"})
    assert capsys.readouterr().out


def test_ssml() -> None:
    (text,) = snippets("xml")
    sentences = Frontend().analyse(text)
    assert 0.8 in [sentence.rate for sentence in sentences]
    assert 0.8 in [sentence.pause_seconds for sentence in sentences]


def test_lexicon_and_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.tsv").write_text(snippets("text")[0], "utf-8")
    assert len(Lexicon.load("words.tsv")) == 5
    for command in re.findall(r"^\$ cosylite (.*)$", DOC, re.MULTILINE):
        arguments = [argument.strip('"') for argument in re.findall(r'"[^"]*"|\S+', command)]
        assert main(arguments) == 0
    assert "kwˈɛn" in capsys.readouterr().out


def test_inline_examples() -> None:
    table = DOC.split("## Markup in plain text")[1].split("##")[0]
    examples = re.findall(r"`(\[[^`]*\])`", "".join(line for line in table.splitlines() if line.startswith("|")))
    assert len(examples) >= 8
    for example in examples:
        assert Frontend().analyse(f"{example.replace(chr(92), '')} ok.")
