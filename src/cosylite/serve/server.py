"""Running the app in a process of its own: sockets, signals, drain, Wyoming."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import time
from collections.abc import Iterator
from types import FrameType

import uvicorn
from fastapi import FastAPI

from cosylite.errors import CosyliteError, DeviceError, OutputError
from cosylite.serve.app import create_app
from cosylite.serve.connections import ConnectionWatch, abort_all, limit_unsent, unsent_bytes
from cosylite.serve.logs import set_up_logs
from cosylite.serve.service import LoadEngine, Service
from cosylite.serve.settings import Settings
from cosylite.serve.wyoming import WyomingServer

LOG = logging.getLogger(__name__)
SWEEP_SECONDS = 1.0
MAX_FILES = 65536
GRACE_SECONDS = 2
"""What connections get to close after the drain, before they are dropped."""
SWITCH_INTERVAL_SECONDS = 0.0005
"""How long a thread may keep the interpreter: the event loop must answer while workers compute."""


class Server(uvicorn.Server):
    """uvicorn, except that the first signal drains: answers go on, health says not ready, new speech is refused.

    When the time for that is over, whoever has not taken an answer is dropped: a client cannot hold up the end.
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._drain_seconds = service.settings.drain_seconds
        self._watch = ConnectionWatch(service.settings.header_seconds, service.settings.stall_seconds)
        self._swept = 0.0
        self._stopping: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.failure: BaseException | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while running; unlike uvicorn's, they are not raised again: a drained exit is a clean one."""
        self._loop = asyncio.get_running_loop()
        before = {name: signal.signal(name, self.handle_exit) for name in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first signal, stop at once at the second."""
        if self._service.admission.draining:
            self.should_exit = self.force_exit = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._drop_all)
        elif self._loop is not None:
            self._service.admission.draining = True
            self._loop.call_soon_threadsafe(self._begin_drain)

    def _drop_all(self) -> None:
        """Break off what is being answered: it must not look complete when the service closes under it."""
        abort_all(tuple(self.server_state.connections))

    def _begin_drain(self) -> None:
        self._stopping = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        LOG.info("draining: %d requests in flight, up to %g s", self._service.active, self._drain_seconds)
        until = time.monotonic() + self._drain_seconds
        while self._busy() and time.monotonic() < until:
            await asyncio.sleep(0.05)
        self.should_exit = True

    def _busy(self) -> bool:
        """Whether answers are being made or delivered."""
        return self._service.active > 0 or any(map(unsent_bytes, self.server_state.connections))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close connections politely, then drop those that are left: their clients do not read."""
        await super().shutdown(sockets)
        self._drop_all()
        await asyncio.sleep(0)  # the loop closes them in its next round
        if self.force_exit:  # uvicorn leaves it out then, and the app would end with a traceback
            await self.lifespan.shutdown()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second: closes connections that do not ask for anything."""
        now = time.monotonic()
        if now - self._swept > SWEEP_SECONDS:
            self._swept = now
            self._watch.sweep(tuple(self.server_state.connections), now)
        return await super().on_tick(counter)

    def fail(self, error: BaseException) -> None:
        """Stop because the service cannot start."""
        self.failure = error
        self.should_exit = True


def serve(settings: Settings, load_engine: LoadEngine | None = None) -> int:
    """Serve until a signal ends it; returns the exit code.

    Raises:
        CosyliteError: the settings or a bundle cannot be served, or the port is taken.
    """
    set_up_logs(settings.log_level, settings.log_format)
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    _allow_many_sockets()
    app = create_app(settings, load_engine)
    service: Service = app.state.service
    config = make_config(app, settings)
    server = Server(config, service)
    service.on_failure = server.fail
    try:
        sockets = [config.bind_socket()]
        limit_unsent(sockets[0])
    except SystemExit as error:  # uvicorn's way to say that the address is taken
        raise OutputError(
            f"cannot listen on {settings.host}:{settings.port}: choose another --port",
            code="address_in_use",
            param="port",
        ) from error
    asyncio.run(_run(server, service, settings, sockets))
    if isinstance(server.failure, CosyliteError):
        raise server.failure
    if server.failure is not None:
        raise DeviceError(f"the service could not start: {server.failure}", code="start_failed") from server.failure
    return 0


def make_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How uvicorn runs the app."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        root_path=settings.root_path,
        ws_max_size=settings.max_body_bytes,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=30,
        lifespan="on",
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
    )


def _allow_many_sockets() -> None:
    """Raise the soft limit of open files to the hard one, where there is such a thing."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _run(server: Server, service: Service, settings: Settings, sockets: list[socket.socket]) -> None:
    host, port = sockets[0].getsockname()[:2]
    LOG.info("listening on http://%s:%d%s", f"[{host}]" if ":" in host else host, port, settings.root_path)
    async with contextlib.AsyncExitStack() as stack:
        if settings.wyoming:
            wyoming = WyomingServer(service, *settings.wyoming_address())
            await stack.enter_async_context(wyoming)
        await server.serve(sockets=sockets)
