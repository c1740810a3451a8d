"""The snippets of the README and the docs run with the bundled voice, and the files they name exist."""

import re
import shlex
from pathlib import Path

import pytest

from cosylite.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md"))]
SERVERS = ("serve", "pull", "convert", "compress", "voice")
"""Commands that do not end by themselves or need what a clone does not have."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Every `$ cosylite ...` line that can be run here, with its page."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in re.findall(r"^\$ cosylite (.*)$", block, re.MULTILINE):
                if line.split()[0] not in SERVERS:
                    found.append((page.name, line.split("#")[0].strip()))
    return found


PYTHON = [(page.name, code) for page in PAGES[:2] for code in blocks(page, "python")]


@pytest.fixture(autouse=True)
def folder_with_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("book.txt", "prompts.txt"):
        Path(name).write_text("It was a dark night.\n今天很冷。\n", "utf-8")
    Path("words.tsv").write_text("Kwena\ten\t/kwˈɛnə/\n", "utf-8")


@pytest.mark.parametrize(("page", "code"), PYTHON)
def test_python_snippets_run(page: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    played: list[int] = []
    exec(compile(code, page, "exec"), {"__name__": "docs", "play": lambda samples: played.append(len(samples))})
    assert sum(played) > 12_000 and Path("a.wav").stat().st_size > 10_000
    assert "jm_kumo" in capsys.readouterr().out


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_run(page: str, line: str) -> None:
    assert main(shlex.split(line)) == 0, f"{page}: cosylite {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_scripts_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target
    for script in re.findall(r"^\$ python (\S+\.py)", text, re.MULTILINE):
        assert (ROOT / script).exists(), script


def test_there_is_something_to_test() -> None:
    assert len(PYTHON) >= 2 and len(commands()) >= 5
