"""Errors on the wire: OpenAI's nested object, and the one mapping from the error tree to HTTP statuses."""

from typing import Any

from cosylite.errors import BundleError, CancelledError, CosyliteError, DeviceError, InputError, OutputError

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    406: "invalid_request_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    429: "rate_limit_error",
}

_STATUS_OF_CODE = {
    "model_not_found": 404,
    "voice_not_found": 404,
}


class ServeError(CosyliteError):
    """A refusal of the service itself, with its HTTP status and, where trying again helps, the seconds to wait."""

    def __init__(
        self, message: str, *, status: int, code: str, param: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, code=code, param=param)
        self.status = status
        self.retry_after = retry_after


def status_of(error: CosyliteError) -> int:
    """The HTTP status for an error of the tree."""
    if isinstance(error, ServeError):
        return error.status
    if error.code in _STATUS_OF_CODE:
        return _STATUS_OF_CODE[error.code]
    if isinstance(error, InputError):
        return 400
    if isinstance(error, (BundleError, DeviceError, CancelledError)):
        return 503
    if isinstance(error, OutputError):
        return 500
    return 500


def error_object(message: str, status: int, code: str | None, param: str | None = None) -> dict[str, Any]:
    """The body of every answer that is not a success."""
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def body_of(error: CosyliteError) -> dict[str, Any]:
    """The wire form of an error of the tree."""
    return error_object(str(error), status_of(error), error.code, error.param)


def headers_of(error: CosyliteError) -> dict[str, str]:
    """Extra headers: `Retry-After` and `WWW-Authenticate` where they apply."""
    headers = {}
    if isinstance(error, ServeError) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if status_of(error) == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
