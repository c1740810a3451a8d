"""The arrows between the halves: the runtime half never reaches torch, the lab never reaches the service."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "cosylite"
LIGHT = ("text", "audio", "runtime", "serve", "cli")
HEAVY_MODULES = ("torch", "transformers", "onnx", "onnxscript")


def imports(path: Path) -> Iterator[str]:
    """Names of all modules that a file imports, at any depth of the code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files(folder: str) -> list[Path]:
    """Python files of a part of the package, which must exist."""
    found = sorted((PACKAGE / folder).rglob("*.py"))
    assert found, folder
    return found


@pytest.mark.parametrize("part", LIGHT)
def test_light_parts_never_import_torch(part: str) -> None:
    for path in files(part):
        for name in imports(path):
            assert name.split(".")[0] not in HEAVY_MODULES, f"{path} imports {name}"


@pytest.mark.parametrize("part", ["text", "audio", "runtime"])
def test_lower_parts_know_nothing_of_the_service_and_the_lab(part: str) -> None:
    for path in files(part):
        for name in imports(path):
            assert not name.startswith(("cosylite.serve", "cosylite.lab", "cosylite.cli")), f"{path} imports {name}"


def test_the_service_never_imports_the_lab() -> None:
    for path in files("serve"):
        assert not any(name.startswith("cosylite.lab") for name in imports(path)), path


def test_the_lab_never_imports_the_service() -> None:
    for path in files("lab"):
        assert not any(name.startswith(("cosylite.serve", "cosylite.cli")) for name in imports(path)), path


def test_importing_the_package_does_no_work() -> None:
    code = (
        "import sys, cosylite\n"
        "heavy = {'torch', 'onnxruntime', 'pypinyin', 'haqumei', 'fastapi', 'soundfile'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
