"""Fixtures of the service's tests: an app with the fake engine, in process and behind a real socket."""

import asyncio
import contextlib
import importlib
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

from cosylite.serve.app import create_app
from cosylite.serve.connections import limit_unsent
from cosylite.serve.server import Server, make_config
from cosylite.serve.service import Service
from cosylite.serve.settings import Settings

from .fake import FakeEngine

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the wyoming package imports audioop
    importlib.import_module("wyoming.audio")


def loader(*engines: FakeEngine) -> Callable[[str, Settings], FakeEngine]:
    """A loader that finds engines by name."""
    known = {engine.name: engine for engine in engines}
    return lambda source, settings: known[source]


def settings(**changes: Any) -> Settings:
    """Settings for tests: one fake bundle, two workers, batching off."""
    return Settings(**{"bundle": ("fake",), "port": 0, "workers": 2, "batching": "off", **changes})


@contextlib.asynccontextmanager
async def running(engine: FakeEngine | None = None, *more: FakeEngine, **changes: Any) -> AsyncIterator[Any]:
    """A started app and a client for it: `(client, service, app)`."""
    engines = (engine or FakeEngine(), *more)
    app = create_app(settings(**changes), loader(*engines))
    async with app.router.lifespan_context(app):
        service: Service = app.state.service
        await until(lambda: service.warm or service.failure is not None)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield client, service, app


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


class _InThread(Server):
    """The service's server without signals: only the main thread may handle them."""

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


class Live:
    """A server on a socket, in a thread of this process, on uvicorn's loop (uvloop where it is installed)."""

    def __init__(self, engine: FakeEngine, **changes: Any) -> None:
        self.engine = engine
        self.app = create_app(settings(**changes), loader(engine))
        self.service: Service = self.app.state.service
        config = make_config(self.app, self.service.settings)
        self._server = _InThread(config, self.service)
        self._socket = config.bind_socket()
        limit_unsent(self._socket)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    @property
    def connections(self) -> int:
        """Connections that the server holds."""
        return len(self._server.server_state.connections)

    def __enter__(self) -> "Live":
        self._thread.start()
        for _ in range(500):
            if self.service.warm:
                return self
            threading.Event().wait(0.01)
        raise RuntimeError("the server did not start")

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(15)
        if self._thread.is_alive():
            raise RuntimeError("the server did not stop")


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    """Starts servers: `live(engine, setting=...)`."""
    with contextlib.ExitStack() as stack:
        yield lambda engine=None, **changes: stack.enter_context(Live(engine or FakeEngine(), **changes))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the service hang when they fail: end them soon."""
    for item in items:
        if "serve" in item.path.parts:
            item.add_marker(pytest.mark.timeout(60))
