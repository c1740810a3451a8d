"""House rules that a machine can check: file sizes, no asserts, no broad excepts, no machine paths."""

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "cosylite").rglob("*.py"))
LONGEST = 420
CARRIES_EXCEPTIONS = {"pipeline.py", "scheduler.py", "middleware.py", "family_engine.py"}
"""Files whose worker threads catch everything in order to raise it again in the consumer, and the one HTTP handler of
last resort."""


def test_files_are_short() -> None:
    long = {p.name: n for p in SOURCES if (n := len(p.read_text("utf-8").splitlines())) > LONGEST}
    assert not long


def test_no_asserts_and_no_broad_excepts_in_the_package() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            assert not isinstance(node, ast.Assert), f"{path}:{node.lineno}"
            if isinstance(node, ast.ExceptHandler) and path.name not in CARRIES_EXCEPTIONS:
                names = (
                    {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {"BaseException"}
                )
                reraises = any(isinstance(n, ast.Raise) and n.exc is None for n in ast.walk(node))
                assert reraises or not names & {"Exception", "BaseException"}, f"{path}:{node.lineno}"


def test_no_path_of_a_machine_is_in_the_repository() -> None:
    """Tracked text files name no absolute path below the usual work folders."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    for name in listed:
        path = ROOT / name
        if name and path.suffix in {".py", ".md", ".toml", ".yaml", ".json", ".sh"} and path.is_file():
            text = path.read_text("utf-8", errors="ignore")
            for bad in ("/" + "work/", "/" + "root/"):
                assert bad not in text, f"{name} names {bad}"
