"""Settings from flags, environment and file."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosylite.errors import InputError
from cosylite.serve.settings import Settings, flag, setting_names
from cosylite.serve.settings_sources import add_flags, load_settings


def parse(*words: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return {name: value for name, value in vars(parser.parse_args(words)).items() if value is not None}


def test_defaults_listen_on_loopback() -> None:
    settings = load_settings({}, {})
    assert (settings.host, settings.port, settings.bundle) == ("127.0.0.1", 8000, ("nano",))


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nmax_running = 2\nlog_level = "error"\nbundle = ["a", "b=c"]\npage = false\n')
    environ = {"COSYLITE_MAX_RUNNING": "3", "COSYLITE_LOG_LEVEL": "debug", "COSYLITE_CONFIG": str(file)}
    settings = load_settings(parse("--log-level", "warning"), environ)
    assert (settings.port, settings.max_running, settings.log_level) == (1, 3, "warning")
    assert settings.bundle == ("a", "b=c")
    assert settings.page is False


def test_every_setting_has_a_flag_and_a_variable() -> None:
    text = " ".join(parse_help())
    for name in setting_names():
        assert flag(name) in text
    environ = {"COSYLITE_API_KEY": "first-key second-key", "COSYLITE_TELEMETRY": "on"}
    settings = load_settings({}, environ)
    assert settings.api_key == ("first-key", "second-key")
    assert settings.telemetry is True


def parse_help() -> list[str]:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return parser.format_help().split()


@pytest.mark.parametrize(
    ("flags", "environ", "param"),
    [
        ({"port": "eighty"}, {}, "port"),
        ({"port": "70000"}, {}, "port"),
        ({"port": "80.5"}, {}, "port"),
        ({"max_running": "0"}, {}, "max_running"),
        ({"cache_seconds": "nan"}, {}, "cache_seconds"),
        ({"cache_seconds": "inf"}, {}, "cache_seconds"),
        ({"batching": "maybe"}, {}, "batching"),
        ({"root_path": "tts"}, {}, "root_path"),
        ({"wyoming": "here"}, {}, "wyoming"),
        ({"api_key": ["short"]}, {}, "api_key"),
        ({"api_key": ["long enough"], "cors_origin": ["*"]}, {}, "cors_origin"),
        ({}, {"COSYLITE_PROT": "1"}, "prot"),
        ({}, {"COSYLITE_PAGE": "perhaps"}, "page"),
        ({"config": "/does/not/exist"}, {}, "config"),
    ],
)
def test_wrong_settings_name_the_setting(flags: dict[str, object], environ: dict[str, str], param: str) -> None:
    with pytest.raises(InputError) as caught:
        load_settings(flags, environ)
    assert caught.value.param == param
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["port = 'x", "colour = 1", "port = [1]", "page = 3", "bundle = [1]"])
def test_wrong_files_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(content)
    with pytest.raises(InputError):
        load_settings({"config": str(file)}, {})


def test_unknown_setting_lists_the_known_ones(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("prot = 1")
    with pytest.raises(InputError, match="max_running"):
        load_settings({"config": str(file)}, {})


def test_wyoming_address() -> None:
    assert Settings(wyoming="10200").wyoming_address() == ("127.0.0.1", 10200)
    assert Settings(wyoming="tcp://0.0.0.0:1").wyoming_address() == ("0.0.0.0", 1)


def test_command_line_refuses_with_exit_code_2() -> None:
    for words in (["--port", "many"], ["--colour", "red"], ["--bundle", "a b=c"]):
        command = [sys.executable, "-m", "cosylite.cli", "serve", *words]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ}, check=False)
        assert done.returncode == 2, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
