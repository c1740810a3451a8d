"""Connections of the HTTP server that do nothing: clients that never ask, and clients that do not take the answer."""

import logging
import socket
from asyncio.trsock import TransportSocket
from collections.abc import Iterable
from typing import Any

LOG = logging.getLogger(__name__)
UNSENT_BYTES = 64 << 10
"""What the kernel may hold unsent for one connection. Left to itself it takes megabytes, minutes of coded speech, and
nothing could be said about how far a reader is."""


class ConnectionWatch:
    """Remembers since when connections do nothing, and ends them.

    Args:
        header_seconds: longest time to a request.
        stall_seconds: how long the rest of an ended answer may wait for its reader without any progress. Closing a
            connection politely first delivers what is left, which never happens while the client does not read.
    """

    def __init__(self, header_seconds: float, stall_seconds: float) -> None:
        self._header_seconds = header_seconds
        self._stall_seconds = stall_seconds
        self._asking: dict[Any, float] = {}
        self._ending: dict[Any, tuple[int, float]] = {}

    def sweep(self, connections: Iterable[Any], now: float) -> None:
        """End what was idle for too long.

        Args:
            connections: uvicorn's protocol objects.
            now: monotonic seconds.
        """
        asking, ending = {}, {}
        for connection in connections:
            if getattr(connection, "cycle", connection) is None:
                asking[connection] = self._asking.get(connection, now)
            if connection.transport is not None and connection.transport.is_closing():
                left = unsent_bytes(connection)
                before = self._ending.get(connection, (left, now))
                ending[connection] = before if before[0] == left else (left, now)
        self._asking, self._ending = asking, ending
        for connection, since in asking.items():
            if connection.transport is not None and now - since > self._header_seconds:
                connection.transport.close()
        for connection, (_, since) in ending.items():
            if now - since > self._stall_seconds:
                LOG.info("dropped a connection whose client does not take the rest of its answer")
                connection.transport.abort()


def unsent_bytes(connection: Any) -> int:
    """Bytes of answers that wait for the client of a connection of uvicorn."""
    transport = connection.transport
    return 0 if transport is None else int(transport.get_write_buffer_size())


def abort_all(connections: Iterable[Any]) -> None:
    """Drop connections without delivering what is left."""
    for connection in connections:
        if connection.transport is not None:
            connection.transport.abort()


def limit_unsent(listener: socket.socket | TransportSocket) -> None:
    """Let the kernel hold little unsent data for the connections that a listening socket will accept."""
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)  # Linux and macOS
    if option is not None:
        listener.setsockopt(socket.IPPROTO_TCP, option, UNSENT_BYTES)
