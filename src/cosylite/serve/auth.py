"""Keys and rate limits."""

import hashlib
import hmac
import time
from collections import OrderedDict

from starlette.requests import HTTPConnection

from cosylite.serve.errors import ServeError

MAX_BUCKETS = 10_000
SUBPROTOCOL_PREFIX = "cosylite.key."


class RateLimiter:
    """A token bucket per caller: `per_minute` requests a minute, in bursts of up to a quarter of that."""

    def __init__(self, per_minute: int) -> None:
        self._rate = per_minute / 60.0
        self._burst = max(1.0, per_minute / 4.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request.

        Raises:
            ServeError: 429 with the time after which the next one is allowed.
        """
        if self._rate <= 0:
            return
        now = time.monotonic()
        level, then = self._buckets.pop(caller, (self._burst, now))
        level = min(self._burst, level + (now - then) * self._rate)
        if level < 1.0:
            self._buckets[caller] = (level, now)
            raise ServeError(
                "too many requests with this key; slow down",
                status=429,
                code="rate_limit_exceeded",
                retry_after=(1.0 - level) / self._rate,
            )
        self._buckets[caller] = (level - 1.0, now)
        while len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)


class Gate:
    """Decides who may call. A caller is known afterwards by a digest of its key, or by its address."""

    def __init__(self, keys: tuple[str, ...], limiter: RateLimiter) -> None:
        self._digests = [_digest(key) for key in keys]
        self._limiter = limiter

    def count(self, caller: str) -> None:
        """Count a further request of a caller who was admitted before.

        Raises:
            ServeError: 429.
        """
        self._limiter.take(caller)

    def admit(self, connection: HTTPConnection) -> str:
        """Check key and rate; returns the name of the caller.

        Raises:
            ServeError: 401 or 429.
        """
        caller = self.identify(connection)
        self._limiter.take(caller)
        return caller

    def identify(self, connection: HTTPConnection) -> str:
        """Check the key only.

        Raises:
            ServeError: 401.
        """
        if not self._digests:
            return f"address:{connection.client.host if connection.client else 'local'}"
        key = offered_key(connection)
        if key is None:
            raise ServeError(
                "no key was sent; use the header Authorization: Bearer KEY", status=401, code="missing_api_key"
            )
        offered = _digest(key)
        known = [hmac.compare_digest(offered, digest) for digest in self._digests]
        if not any(known):
            raise ServeError("the key is not valid", status=401, code="invalid_api_key")
        return "key:" + offered.hex()[:12]


def offered_key(connection: HTTPConnection) -> str | None:
    """The key: bearer header, `X-API-Key`, `xi-api-key`; for WebSockets also `?token=` or a subprotocol."""
    scheme, _, value = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    key = connection.headers.get("x-api-key") or connection.headers.get("xi-api-key")
    if key or connection.scope["type"] != "websocket":
        return key
    for offered in connection.headers.get("sec-websocket-protocol", "").split(","):
        if offered.strip().startswith(SUBPROTOCOL_PREFIX):
            return offered.strip().removeprefix(SUBPROTOCOL_PREFIX)
    return connection.query_params.get("token")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
