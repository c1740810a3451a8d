"""Scores of the frontend on a file of cases: the one in `tests/data`, or that of `COSYLITE_FRONTEND_CASES`."""

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cosylite.text.frontend import Frontend


def _benchmark() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "frontend.py"
    spec = importlib.util.spec_from_file_location("benchmark_frontend", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BENCHMARK = _benchmark()


@pytest.fixture(scope="module")
def lists() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(BENCHMARK.cases_path().read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def frontend() -> Frontend:
    return Frontend()


@pytest.mark.parametrize("name", BENCHMARK.MARKS)
def test_pass_mark(name: str, lists: dict[str, Any], frontend: Frontend, capsys: pytest.CaptureFixture[str]) -> None:
    if name not in lists:
        pytest.skip(f"the file has no list {name}")
    result = BENCHMARK.score(name, lists[name], frontend)
    mark = BENCHMARK.MARKS[name][1 if os.environ.get("COSYLITE_FRONTEND_CASES") else 0]
    with capsys.disabled():
        print(f"\n{name}: {result.percent:.1f} % of {result.total} (pass mark {mark})")
    assert result.percent >= mark, "\n".join(result.failures)


@pytest.mark.parametrize(
    ("text", "lang", "want"),
    [
        ("Twenty-five dollars and fifty cents.", "en", "twentyfivedollarsfiftycents"),
        ("Ｗｅ’re at sand and", "en", "wereatsand"),
        ("百分之五，ＯＫ！", "zh", "百分之五ok"),
        ("ジュー ヨン", "ja", "ジューヨン"),
    ],
)
def test_canonical_form(text: str, lang: str, want: str) -> None:
    assert BENCHMARK.canonical(text, lang) == want
