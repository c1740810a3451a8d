"""Limits on running, waiting, and waiting time."""

import asyncio
import time
from collections.abc import Callable

import httpx
import pytest

from cosylite.serve.admission import Admission
from cosylite.serve.errors import ServeError

from .conftest import Live, running, until
from .fake import FakeEngine

SLOW = "This sentence is slow to speak because every step sleeps a little while."


def test_places_are_handed_out_in_order() -> None:
    async def go() -> None:
        admission = Admission(1, 2, 5.0)
        await admission.enter()
        order: list[int] = []

        async def one(index: int) -> None:
            await admission.enter()
            order.append(index)
            admission.leave(0.1)

        tasks = [asyncio.create_task(one(index)) for index in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ServeError) as refused:
            await admission.enter()
        assert (refused.value.status, refused.value.retry_after is not None) == (429, True)
        admission.leave()
        await asyncio.gather(*tasks)
        assert order == [0, 1]
        assert (admission.running, admission.waiting) == (0, 0)

    asyncio.run(go())


def test_waiting_ends_in_time_and_cancelled_waiters_leave_no_trace() -> None:
    async def go() -> None:
        admission = Admission(1, 5, 0.05)
        await admission.enter()
        with pytest.raises(ServeError) as late:
            await admission.enter()
        assert late.value.status == 503
        waiter = asyncio.create_task(admission.enter())
        await asyncio.sleep(0.01)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        admission.leave()
        assert (admission.running, admission.waiting) == (0, 0)
        for _ in range(50):  # a place that is handed over in the very moment of the cancellation comes back
            await admission.enter()
            waiter = asyncio.create_task(admission.enter())
            await asyncio.sleep(0)
            admission.leave()
            waiter.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiter
            assert admission.running == 0

    asyncio.run(go())


def test_parked_requests_give_their_place_away() -> None:
    async def go() -> None:
        admission = Admission(1, 0, 1.0)
        await admission.enter()
        async with admission.parked():
            await admission.enter()
            admission.leave()
        assert admission.running == 1
        admission.leave()

    asyncio.run(go())


def test_beyond_the_limits_requests_are_refused_quickly() -> None:
    async def go() -> None:
        engine = FakeEngine(step_seconds=0.05)
        async with running(engine, max_running=1, max_waiting=1, workers=1) as (client, service, _):
            bodies = [{"input": f"{SLOW} {index}", "response_format": "wav"} for index in range(3)]
            first = asyncio.create_task(client.post("/v1/audio/speech", json=bodies[0]))
            await until(lambda: service.admission.running == 1)
            second = asyncio.create_task(client.post("/v1/audio/speech", json=bodies[1]))
            await until(lambda: service.admission.waiting == 1)
            started = time.monotonic()
            third = await client.post("/v1/audio/speech", json=bodies[2])
            assert time.monotonic() - started < 1.0  # waiting would take ten
            assert third.status_code == 429
            assert int(third.headers["retry-after"]) >= 1
            assert third.json()["error"]["code"] == "server_overloaded"
            assert (await first).status_code == (await second).status_code == 200
            assert (await client.post("/v1/audio/speech", json=bodies[2])).status_code == 200

    asyncio.run(go())


def test_no_audio_in_time_is_504() -> None:
    async def go() -> None:
        engine = FakeEngine(step_seconds=0.0)
        async with running(engine, deadline_seconds=0.1) as (client, _service, _):
            engine.step_seconds = 0.4
            answer = await client.post("/v1/audio/speech", json={"input": SLOW})
            assert answer.status_code == 504
            await until(lambda: engine.open_now == 0)

    asyncio.run(go())


def test_a_client_that_leaves_stops_the_engine(live: Callable[..., Live]) -> None:
    engine = FakeEngine(step_seconds=0.02)
    server = live(engine)

    async def go() -> None:
        body = {"input": "A long sentence that goes on and on, " * 50, "response_format": "pcm"}
        async with httpx.AsyncClient() as client:
            async with client.stream("POST", server.url + "/v1/audio/speech", json=body) as answer:
                async for _ in answer.aiter_bytes():
                    break
            await until(lambda: engine.open_now == 0, 1)
            steps = engine.steps
            await asyncio.sleep(0.1)
            assert engine.steps == steps
            with pytest.raises(httpx.ReadTimeout):  # leaves before the whole file is there
                await client.post(server.url + "/tts", json={"text": body["input"]}, timeout=0.2)
            await until(lambda: engine.open_now == server.service.active == server.service.admission.running == 0, 5)
            assert (await client.post(server.url + "/tts", json={"text": "Next one."})).status_code == 200

    asyncio.run(go())


def test_a_reader_that_stalls_parks_the_engine_and_is_given_up(live: Callable[..., Live]) -> None:
    engine = FakeEngine()
    server = live(engine, ahead_seconds=2.0, stall_seconds=0.5, max_running=1, max_waiting=0, cache_seconds=0)
    text = "A long sentence that goes on and on for ever. " * 80

    async def go() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(1, 8, 4096)  # SO_RCVBUF: a small window, as on a slow line
        body = f'{{"input": "{text}", "response_format": "pcm", "sample_rate": 48000}}'.encode()
        head = "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
        writer.write(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await reader.read(100)
        await until(lambda: server.service.admission.running == 0, 5)
        steps = engine.steps
        async with httpx.AsyncClient() as client:  # the place is free although the slow reader is still there
            answer = await client.post(server.url + "/tts", json={"text": "Quick one."})
            assert answer.status_code == 200
        assert engine.steps < steps + 10
        assert sum(1 for _ in text) * 0.02 / 0.2 > steps, "everything was made although nobody read it"
        await until(lambda: server.service.active == 0, 5)
        assert engine.open_now == 0
        await until(lambda: server.connections == 0, 5)  # although the reader is still there
        writer.close()

    asyncio.run(go())
    assert b"cosylite_stream_stalls_total 1.0" in server.service.metrics.render()
