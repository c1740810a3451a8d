"""Reading `Settings` from flags, environment and file; conversion and refusal of unknown names live here."""

import argparse
import dataclasses
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

from cosylite.errors import InputError
from cosylite.serve.settings import Settings, flag, setting_names

PREFIX = "COSYLITE_"
OTHER_VARIABLES = frozenset(
    f"{PREFIX}{name}" for name in ("CONFIG", "GOLDEN", "FRONTEND_CASES", "HUB_URL", "REQUIRE_BROWSER")
)
"""Variables of other parts of cosylite and of its tests, which are no settings."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and one flag per setting; flags that are not given stay out of the namespace."""
    parser.add_argument("--config", metavar="FILE", help="TOML file with settings, names as the flags with _ for -")
    types = get_type_hints(Settings)
    for spec in dataclasses.fields(Settings):
        _add_flag(parser, spec, types[spec.name])


def _add_flag(parser: argparse.ArgumentParser, spec: "dataclasses.Field[Any]", kind: Any) -> None:
    text = spec.metadata["help"].replace("%", "%%")
    common: dict[str, Any] = {"dest": spec.name, "default": argparse.SUPPRESS}
    if kind is bool:
        text += " (default: on)" if spec.default else " (default: off)"
        parser.add_argument(flag(spec.name), action=argparse.BooleanOptionalAction, help=text, **common)
        return
    if kind == tuple[str, ...]:
        default = ", ".join(getattr(Settings(), spec.name)) or "none"
        text = f"{text} (default: {default})"
        parser.add_argument(flag(spec.name), action="append", metavar="TEXT", help=text, **common)
        return
    choices = spec.metadata.get("choices")
    metavar = "{" + ",".join(choices) + "}" if choices else {int: "N", float: "N", str: "TEXT"}[kind]
    shown = "empty" if spec.default == "" else str(spec.default)
    parser.add_argument(flag(spec.name), metavar=metavar, help=f"{text} (default: {shown})", **common)


def load_settings(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Merge the three sources into one value.

    Args:
        flags: settings given on the command line by name (and `config`); values may be strings.
        environ: the environment, such as `os.environ`.

    Raises:
        InputError: an unknown name, a value of the wrong kind or range, or an unreadable file.
    """
    path = flags.get("config") or environ.get(PREFIX + "CONFIG")
    merged: dict[str, Any] = {}
    if path:
        merged.update(_from_file(Path(path)))
    merged.update(_from_environ(environ))
    merged.update({name: value for name, value in flags.items() if name != "config"})
    types = get_type_hints(Settings)
    _refuse_unknown(merged, "setting")
    return Settings(**{name: _convert(name, value, types[name]) for name, value in merged.items()})


def _from_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", code="invalid_setting", param="config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}", code="invalid_setting", param="config") from error
    _refuse_unknown(content, f"setting in {path}")
    return content


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    found = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name not in OTHER_VARIABLES
    }
    _refuse_unknown(found, f"variable {PREFIX}*")
    types = get_type_hints(Settings)
    return {name: value.split() if types[name] == tuple[str, ...] else value for name, value in found.items()}


def _refuse_unknown(given: Mapping[str, Any], what: str) -> None:
    known = setting_names()
    for name in given:
        if name not in known:
            raise InputError(
                f"unknown {what}: {name}; known are {', '.join(known)}", code="unknown_setting", param=name
            )


def _convert(name: str, value: Any, kind: Any) -> Any:
    """Turn a string from a flag or the environment, or a TOML value, into the type of the setting."""
    if kind == tuple[str, ...]:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, (list, tuple)) and all(isinstance(item, str) for item in items):
            return tuple(items)
    elif kind is bool:
        words = dict.fromkeys(("1", "true", "on", "yes"), True) | dict.fromkeys(("0", "false", "off", "no"), False)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
    elif kind is str:
        if isinstance(value, str):
            return value
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        try:
            number = kind(value)
        except (ValueError, OverflowError):
            number = None
        if number is not None and math.isfinite(number) and not (kind is int and isinstance(value, float)):
            return number
    kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    raise InputError(
        f"{flag(name)} must be {kinds.get(kind, 'a list of texts')}, got {value!r}", code="invalid_setting", param=name
    )
