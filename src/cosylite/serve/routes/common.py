"""What all routes share: the service of the app, the caller, and documented error answers."""

from typing import Annotated, Any

from fastapi import Depends, Request

from cosylite.serve.auth import Gate
from cosylite.serve.schemas import ErrorBody
from cosylite.serve.service import Service


def service_of(request: Request) -> Service:
    """The service behind the app."""
    service: Service = request.app.state.service
    return service


def admit(request: Request) -> str:
    """Check key and rate limit; returns the caller."""
    gate: Gate = request.app.state.gate
    return gate.admit(request)


def admit_operator(request: Request) -> str:
    """Check an admin key."""
    gate: Gate = request.app.state.admin_gate
    return gate.admit(request)


TheService = Annotated[Service, Depends(service_of)]
Caller = Annotated[str, Depends(admit)]
Operator = Annotated[str, Depends(admit_operator)]

_MEANINGS = {
    400: "a field is missing or wrong",
    401: "no key or a wrong one",
    403: "switched off by the operator",
    404: "no such model, voice or alias",
    409: "conflicts with what exists",
    413: "too large",
    429: "too many requests; see Retry-After",
    503: "not ready, draining, or waited too long; see Retry-After",
    504: "no audio in time",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Documentation of error answers for a route."""
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in statuses}


def wants_store(request: Request) -> bool:
    """False for `Cache-Control: no-store`."""
    return "no-store" not in request.headers.get("cache-control", "").lower()
