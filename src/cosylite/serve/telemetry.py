"""OpenTelemetry spans, where the operator asks for them; what happens to them is up to the SDK of the process."""

import contextlib
from collections.abc import Iterator
from typing import Any

from cosylite.errors import DeviceError


class Telemetry:
    """Makes spans, or nothing at all.

    Raises:
        DeviceError: it is switched on and opentelemetry-api is not installed.
    """

    def __init__(self, on: bool) -> None:
        self._tracer: Any = None
        if not on:
            return
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise DeviceError(
                "--telemetry needs opentelemetry-api: pip install 'cosylite[telemetry]'", code="missing_extra"
            ) from error
        self._tracer = trace.get_tracer("cosylite")

    @contextlib.contextmanager
    def span(self, name: str, **attributes: str | int | float | bool) -> Iterator[Any]:
        """A span around the block; gives it, or None while telemetry is off. An exception marks it as failed."""
        if self._tracer is None:
            yield None
            return
        span = self._tracer.start_span(name, attributes={f"cosylite.{key}": value for key, value in attributes.items()})
        try:
            yield span
        except Exception as error:
            span.record_exception(error)
            raise
        finally:
            span.end()
