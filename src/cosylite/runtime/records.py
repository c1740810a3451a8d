"""From decoded JSON to frozen dataclasses: every key known, none missing, every value of its type."""

import dataclasses
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

Record = TypeVar("Record")
Fail = Callable[[str], Exception]


def record(kind: type[Record], data: Any, fail: Fail, where: str = "") -> Record:
    """Build the dataclass `kind` from a JSON object.

    Args:
        fail: makes the exception to raise from a description of the problem.
        where: name of the object in that description.
    """
    name = where or "the top level"
    if not isinstance(data, dict):
        raise fail(f"{name} must be an object")
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise fail(f"unknown key {unknown[0]!r} in {name}; valid: {', '.join(fields)}")
    for key, field in fields.items():
        if key not in data and field.default is dataclasses.MISSING:
            raise fail(f"key {key!r} is missing in {name}")
    hints = typing.get_type_hints(kind)
    prefix = f"{where}." if where else ""
    return kind(**{key: _value(hints[key], value, fail, prefix + key) for key, value in data.items()})


def _value(kind: Any, data: Any, fail: Fail, where: str) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return data
    if origin in (typing.Union, types.UnionType):
        return None if data is None else _value(next(a for a in args if a is not type(None)), data, fail, where)
    if origin is typing.Literal:
        if data not in args:
            raise fail(f"{where} must be one of {', '.join(map(str, args))}")
        return data
    if dataclasses.is_dataclass(kind):
        return record(typing.cast(type[Any], kind), data, fail, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise fail(f"{where} must be a list")
        return tuple(_value(args[0], item, fail, f"{where}[{i}]") for i, item in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            raise fail(f"{where} must be an object")
        return {key: _value(args[1], item, fail, f"{where}.{key}") for key, item in data.items()}
    return _plain(kind, data, fail, where)


def _plain(kind: Any, data: Any, fail: Fail, where: str) -> Any:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise fail(f"{where} must be of type {kind.__name__}, not {type(data).__name__}")
    return data
