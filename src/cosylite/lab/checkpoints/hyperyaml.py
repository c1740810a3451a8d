"""Reads the HyperPyYAML of the official releases as data. Tags name classes there; here nothing is imported or called.

`!new:`, `!name:` and `!apply:` give a mapping with the class under "class"; `!ref <key>` gives the value of that key,
and products of references and numbers are worked out. Any other tag is refused.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cosylite.errors import BundleError

MAX_BYTES = 1 << 20
_FACTOR = re.compile(r"\s*(?:<(?P<key>[A-Za-z_][A-Za-z0-9_]*)>|(?P<number>\d+(?:\.\d+)?))\s*")


class _Reference(str):
    """Text of a `!ref`, to be resolved once the whole file is read."""

    __slots__ = ()


class _DataLoader(yaml.SafeLoader):
    """Safe YAML plus the tags of HyperPyYAML, as data. Aliases are not in use and could grow without bound."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not accepted", None)
        return super().compose_node(parent, index)


def _construct_object(loader: _DataLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix.rsplit(".", 1)[-1]
    if isinstance(node, yaml.MappingNode):
        values: dict[Any, Any] = loader.construct_mapping(node, deep=True)
        return {"class": name, **values}
    if isinstance(node, yaml.SequenceNode):
        return {"class": name, "arguments": loader.construct_sequence(node, deep=True)}
    return {"class": name}


def _construct_reference(loader: _DataLoader, node: yaml.Node) -> _Reference:
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(None, None, "!ref needs a name", node.start_mark)
    return _Reference(node.value)


for _tag in ("!new:", "!name:", "!apply:"):
    _DataLoader.add_multi_constructor(_tag, _construct_object)
_DataLoader.add_constructor("!ref", _construct_reference)


def read_hyper_yaml(path: Path) -> dict[str, Any]:
    """Read a file as nested mappings, lists and scalars; raises `BundleError` if it is not such a file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _bad(path, f"is larger than {MAX_BYTES} bytes")
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=_DataLoader)
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or "not valid YAML"
        mark = getattr(error, "problem_mark", None)
        raise _bad(path, f"cannot be read: {reason}" + (f" in line {mark.line + 1}" if mark else "")) from error
    except UnicodeDecodeError as error:
        raise _bad(path, "is not UTF-8 text") from error
    except RecursionError as error:
        raise _bad(path, "is nested too deeply") from error
    if not isinstance(found, dict):
        raise _bad(path, "is not a mapping")
    resolver = _Resolver(found, path)
    return {key: resolver.lookup(key) for key in found}


class _Resolver:
    """Replaces references; every key is worked out once."""

    def __init__(self, root: Mapping[str, Any], path: Path) -> None:
        self._root, self._path = root, path
        self._done: dict[str, Any] = {}
        self._open: list[str] = []

    def lookup(self, key: str) -> Any:
        if key in self._done:
            return self._done[key]
        if key in self._open:
            raise _bad(self._path, f"refers to {key!r} in a circle")
        if key not in self._root:
            raise _bad(self._path, f"refers to {key!r}, which it does not define")
        self._open.append(key)
        self._done[key] = self._resolve(self._root[key])
        self._open.pop()
        return self._done[key]

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, _Reference):
            return self._reference(value)
        if isinstance(value, dict):
            return {key: self._resolve(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolve(item) for item in value]
        return value

    def _reference(self, text: str) -> Any:
        """The value a single reference names, of any kind, or the product of numbers."""
        values = [self._factor(part, text) for part in text.split("*")]
        if len(values) == 1:
            return values[0]
        product: int | float = 1
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _bad(self._path, f"multiplies {value!r}, which is not a number, in {text!r}")
            product = product * value
        return product

    def _factor(self, part: str, text: str) -> Any:
        found = _FACTOR.fullmatch(part)
        if found is None:
            raise _bad(self._path, f"has the reference {text!r}; only names and products are understood")
        if found["key"]:
            return self.lookup(found["key"])
        return float(found["number"]) if "." in found["number"] else int(found["number"])


def _bad(path: Path, reason: str) -> BundleError:
    return BundleError(f"{path} {reason}; use the file of the official release", code="bad_config", param=path.name)
