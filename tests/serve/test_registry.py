"""Several bundles and revisions side by side: names, switching, rolling back, unloading."""

import asyncio
from typing import Any

import pytest

from cosylite.errors import BundleError, InputError
from cosylite.serve.app import create_app
from cosylite.serve.registry import parse_bundle
from cosylite.serve.settings import Settings

from .conftest import running, settings, until
from .fake import FakeEngine

KEY = {"Authorization": "Bearer operator-key"}
LONG = "This is a long sentence that takes a while to speak in the test. " * 3


def revisions() -> tuple[FakeEngine, FakeEngine]:
    return FakeEngine(name="one", revision="1", step_seconds=0.01), FakeEngine(name="two", revision="2")


async def revision_of(client: Any, model: str | None = None) -> str:
    found = await client.get(f"/v1/models/{model or 'tts-1'}")
    return str(found.json()["revision"])


def test_names() -> None:
    assert parse_bundle("nano") == ("nano", "nano")
    assert parse_bundle("fast=/opt/bundles/nano-2") == ("fast", "/opt/bundles/nano-2")
    assert parse_bundle("/opt/bundles/nano-2/") == ("nano-2", "/opt/bundles/nano-2/")
    for wrong in ("=x", "a=", "a b", "a/b=c"):
        with pytest.raises(InputError):
            parse_bundle(wrong)
    for clash in (("fake", "fake"), ("tts-1=fake",)):
        with pytest.raises(InputError):
            create_app(settings(bundle=clash), lambda source, settings: FakeEngine())


def test_switch_and_roll_back_without_dropping_a_request() -> None:
    async def go() -> None:
        one, two = revisions()
        async with running(one, two, bundle=("speech=one", "next=two"), admin_key=("operator-key",)) as (client, *_):
            assert await revision_of(client) == "1"
            body = {"input": LONG, "response_format": "wav"}
            before = [asyncio.create_task(client.post("/v1/audio/speech", json=body)) for _ in range(3)]
            await until(lambda: one.open_now > 0)
            answer = await client.put("/admin/aliases/speech", json={"target": "next"}, headers=KEY)
            assert answer.json()["aliases"] == {"speech": "next", "next": "next"}
            assert await revision_of(client) == await revision_of(client, "speech") == "2"
            spoken = two.opened
            assert (await client.post("/v1/audio/speech", json=body)).status_code == 200
            assert two.opened > spoken
            assert [(await task).status_code for task in before] == [200] * 3
            back = await client.post("/admin/aliases/speech/rollback", headers=KEY)
            assert back.json()["aliases"]["speech"] == "speech"
            assert await revision_of(client) == "1"
            assert (await client.post("/admin/aliases/speech/rollback", headers=KEY)).status_code == 409
            for wrong in ("/admin/aliases/none", "/admin/aliases/speech"):
                missing = await client.put(wrong, json={"target": "none"}, headers=KEY)
                assert missing.status_code == 404
            assert (await client.get("/admin/aliases")).status_code == 401

    asyncio.run(go())


def test_admin_routes_are_off_without_a_key() -> None:
    async def go() -> None:
        async with running() as (client, *_):
            assert (await client.get("/admin/aliases")).status_code == 404

    asyncio.run(go())


def test_idle_bundles_are_unloaded_and_come_back() -> None:
    async def go() -> None:
        made: list[FakeEngine] = []

        def load(source: str, settings: Settings) -> FakeEngine:
            made.append(FakeEngine())
            return made[-1]

        app = create_app(settings(idle_unload_seconds=0.2), load)
        async with app.router.lifespan_context(app):
            service = app.state.service
            await until(lambda: service.warm)
            await until(lambda: made[0].closed)
            assert service.ready
            async with service.lease(None) as deployment:
                assert deployment.ready is made[1]
                await asyncio.sleep(0.5)
                assert not made[1].closed

    asyncio.run(go())


def test_a_bundle_that_cannot_be_loaded_is_reported() -> None:
    def load(source: str, settings: Settings) -> FakeEngine:
        raise BundleError("no such bundle", code="bundle_not_found")

    async def go() -> None:
        app = create_app(settings(), load)
        failures: list[BaseException] = []
        app.state.service.on_failure = failures.append
        async with app.router.lifespan_context(app):
            await until(lambda: bool(failures))
            assert isinstance(failures[0], BundleError)
            assert not app.state.service.ready

    asyncio.run(go())


def test_batching_is_switched_on_where_it_pays() -> None:
    async def policy(engine: FakeEngine, **changes: Any) -> bool:
        async with running(engine, **changes) as (_, service, _app):
            return bool(service.registry.deployments[0].policy.on)

    async def go() -> None:
        cases = (("auto", 0.0, True), ("auto", 0.03, False), ("on", 0.03, True), ("off", 0.0, False))
        for batching, row_seconds, expected in cases:
            engine = FakeEngine(step_seconds=0.004, row_seconds=row_seconds)
            assert await policy(engine, batching=batching) is expected, (batching, row_seconds)

    asyncio.run(go())


def test_batched_answers_equal_single_ones() -> None:
    async def go() -> None:
        engine = FakeEngine()
        async with running(engine, batching="on", cache_seconds=0, workers=1) as (client, *_):
            engine.step_seconds = 0.02
            bodies = [{"text": f"Sentence number {index} of ten.", "format": "pcm"} for index in range(10)]
            together = await asyncio.gather(*(client.post("/tts", json=body) for body in bodies))
            assert max(engine.batches) > 1
        async with running(FakeEngine(), batching="off") as (client, *_):
            alone = [await client.post("/tts", json=body) for body in bodies]
        assert [answer.json()["audio"] for answer in together] == [answer.json()["audio"] for answer in alone]

    asyncio.run(go())
