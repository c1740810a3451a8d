"""Toys of the official families behind the service: bundles, and a started app that serves them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from cosylite import TTS
from cosylite.serve.app import create_app
from cosylite.serve.clip import to_pcm
from cosylite.serve.family_engine import FamilyServeEngine
from cosylite.serve.service import Service
from cosylite.serve.settings import Settings
from family.speaking import prompt_file, speaking_bundle

from .conftest import until

SPEECH = "/v1/audio/speech"
TEXT = "Ab cd."
SPOKEN = "He is"
Samples = np.ndarray[Any, np.dtype[np.int64]]


class Toys:
    """Bundles of the families, made when first asked for, and a recording of somebody."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prompt = prompt_file(folder / "prompt.wav")
        self._speakers: dict[str, TTS] = {}

    def bundle(self, family: str) -> str:
        """Folder of the toy of a family."""
        folder = self.folder / f"{family}-bundle"
        return str(folder if folder.is_dir() else speaking_bundle(self.folder, family, name=family))

    def tts(self, family: str) -> TTS:
        """The façade over the same bundle, with the added voice "Told"."""
        if family not in self._speakers:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("COSYLITE_CACHE_DIR", str(self.folder / "cache"))
                tts = TTS(self.bundle(family), device="cpu", threads=1)
            tts.add_voice("Told", self.prompt, SPOKEN)
            self._speakers[family] = tts
        return self._speakers[family]

    def say(self, family: str, text: str, **options: Any) -> Samples:
        """What the façade says, in 16 bits."""
        return to_pcm(self.tts(family).say(text, **options).samples).astype(np.int64)


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toys]:
    folder = tmp_path_factory.mktemp("toys")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COSYLITE_CACHE_DIR", str(folder / "none"))
        yield Toys(folder)


@contextlib.asynccontextmanager
async def serving(*bundles: str, **changes: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Service]]:
    """A started app with real engines, and a client for it."""
    app = create_app(Settings(**{"bundle": bundles, "device": "cpu", "workers": 2, **changes}))
    async with app.router.lifespan_context(app):
        service: Service = app.state.service
        await until(lambda: service.warm or service.failure is not None, 50)
        assert service.failure is None, service.failure
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=50) as client:
            yield client, service


Check = Callable[[httpx.AsyncClient, Service], Any]


def serve(check: Check, *bundles: str, **changes: Any) -> None:
    """Run a check against a started app."""

    async def go() -> None:
        async with serving(*bundles, **changes) as (client, service):
            await check(client, service)

    asyncio.run(go())


async def ask(client: httpx.AsyncClient, text: str = TEXT, **fields: Any) -> httpx.Response:
    """A whole file of PCM."""
    body = {"input": text, "response_format": "pcm", "stream": False, **fields}
    return await client.post(SPEECH, json=body)


def samples(answer: httpx.Response) -> Samples:
    """The samples of an answer."""
    assert answer.status_code == 200, answer.text
    return np.frombuffer(answer.content, "<i2").astype(np.int64)


def engine_of(service: Service, number: int = 0) -> FamilyServeEngine:
    """The engine of a loaded bundle."""
    engine = service.registry.deployments[number].engine
    assert isinstance(engine, FamilyServeEngine)
    return engine


def metric(service: Service, name: str, **labels: str) -> float:
    """A sample of the service's metrics."""
    return service.metrics.registry.get_sample_value(name, labels) or 0.0


def close(found: Samples, wanted: Samples) -> bool:
    """Whether two renderings are equal up to rounding."""
    return found.shape == wanted.shape and int(np.abs(found - wanted).max()) <= 3
