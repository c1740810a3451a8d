"""The outermost layer: request ids, body limits, safe headers, access logs, HTTP counters, and errors of last resort.

Plain ASGI, so that streams pass through untouched.
"""

import json
import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cosylite.serve.errors import ServeError, body_of, error_object
from cosylite.serve.logs import log_access, request_id
from cosylite.serve.metrics import Metrics

LOG = logging.getLogger(__name__)
_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH")
SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
UPLOAD_PATH = "/v1/audio/voices"
MULTIPART_SLACK = 64 << 10


class Outer:
    """Wraps the whole app.

    Args:
        max_body: largest request body in bytes.
        max_upload: largest recording; holds for the route that adds voices.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, max_body: int, max_upload: int) -> None:
        self._app = app
        self._metrics = metrics
        self._max_body = max_body
        self._max_upload = max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        offered = Headers(scope=scope).get("x-request-id", "")
        name = offered if _ID.fullmatch(offered) else "req_" + secrets.token_hex(8)
        token = request_id.set(name)
        try:
            if scope["type"] == "websocket":
                await self._app(scope, receive, send)
            else:
                await self._http(scope, receive, send, name)
        finally:
            request_id.reset(token)

    async def _http(self, scope: Scope, receive: Receive, send: Send, name: str) -> None:
        started = time.monotonic()
        status = 0
        body = _Limited(receive, self._limit(scope))

        async def send_on(message: Message) -> None:
            nonlocal status
            if body.exceeded and not status:
                return  # the framework takes it for an unreadable body; the right answer follows below
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = name
                for key, value in SAFE_HEADERS.items():
                    headers.setdefault(key, value)
            await send(message)

        try:
            body.check(int(Headers(scope=scope).get("content-length", "0") or "0"))
            await self._app(scope, body.receive, send_on)
            if body.exceeded and not status:
                body.check(body.taken)
        except ServeError as error:
            if status:
                raise
            body.exceeded = False
            await _answer(send_on, error.status, body_of(error))
        except Exception as error:  # the last resort: the caller gets an error object, the log the trace
            LOG.error("unexpected error", exc_info=error)
            if not status:
                await _answer(send_on, 500, error_object("internal error", 500, "internal_error"))
        finally:
            method = scope["method"] if scope["method"] in METHODS else "OTHER"
            self._metrics.http.labels(method, str(status or 499)).inc()
            log_access(method, scope["path"], status or 499, time.monotonic() - started)

    def _limit(self, scope: Scope) -> int:
        if scope["method"] == "POST" and scope["path"].endswith(UPLOAD_PATH):
            return self._max_upload + MULTIPART_SLACK
        return self._max_body


class _Limited:
    """A request body that may not be longer than `limit` bytes."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self.taken = 0
        self.exceeded = False

    async def receive(self) -> Message:
        """The next message."""
        message = await self._receive()
        if message["type"] == "http.request":
            self.taken += len(message.get("body", b""))
            self.check(self.taken)
        return message

    def check(self, length: int) -> None:
        """Raise ServeError (413) for a length beyond the limit."""
        if length > self._limit:
            self.exceeded = True
            raise ServeError(f"the request body is larger than {self._limit} bytes", status=413, code="too_large")


async def _answer(send: Send, status: int, body: object) -> None:
    data = json.dumps(body, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    if status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
