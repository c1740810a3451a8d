"""The files of deploy/ and the snippets of the documentation stay true."""

import asyncio
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from cosylite.serve.metrics import Metrics
from cosylite.serve.settings import setting_names
from cosylite.serve.settings_sources import load_settings

from .conftest import Live

ROOT = Path(__file__).parents[2]


def test_the_dashboard_uses_metrics_that_exist() -> None:
    text = (ROOT / "deploy" / "grafana-dashboard.json").read_text()
    json.loads(text)
    exposed = Metrics().render().decode()
    for name in set(re.findall(r"cosylite_\w+", text)):
        assert f"# TYPE {re.sub('_(bucket|sum|count)$', '', name)} " in exposed, name


def test_documented_metrics_are_all_there_is() -> None:
    documented = set(re.findall(r"`(cosylite_\w+)", (ROOT / "docs" / "http.md").read_text()))
    exposed = set(re.findall(r"# TYPE (cosylite_\w+) ", Metrics().render().decode()))
    assert documented == {name for name in exposed if not name.endswith("_created")}


@pytest.mark.parametrize("file", ["Containerfile", "compose.yaml", "cosylite.service"])
def test_variables_of_the_deployment_files_are_settings(file: str) -> None:
    text = (ROOT / "deploy" / file).read_text()
    names = {name.lower() for name in re.findall(r"COSYLITE_([A-Z_]+)", text)}
    assert names <= set(setting_names())


def test_flags_in_the_documentation_exist() -> None:
    for page in ("http.md", "websocket.md", "home-assistant.md", "open-webui.md"):
        text = (ROOT / "docs" / page).read_text()
        flags = set(re.findall(r"`--([a-z-]+)", text)) | set(re.findall(r"cosylite serve.*? --([a-z-]+)", text))
        assert {flag.replace("-", "_") for flag in flags} <= {*setting_names(), "config", "help"}, page


def test_the_settings_file_of_the_documentation_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "http.md").read_text()
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert example is not None
    tomllib.loads(example[1])
    (tmp_path / "serve.toml").write_text(example[1])
    assert load_settings({"config": str(tmp_path / "serve.toml")}, {}).max_running == 64


def test_the_websocket_example_runs(live: Callable[..., Live], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "websocket.md").read_text()
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    code = example[1].replace("127.0.0.1:8000", f"127.0.0.1:{live().port}")
    exec(compile(code, "websocket.md", "exec"), {"__name__": "example", "asyncio": asyncio})
    assert (tmp_path / "speech.pcm").stat().st_size == 2 * round(24000 * (13 * 0.02 + 0.1 + 12 * 0.02))
