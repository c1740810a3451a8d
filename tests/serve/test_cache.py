"""The cache: keys, lifetimes, bounds, sharing, and what survives a crash."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cosylite.audio.values import WordTiming
from cosylite.errors import OutputError
from cosylite.serve.cache import Cache, clip_key
from cosylite.serve.clip import Clip
from cosylite.serve.disk import DiskTier
from cosylite.serve.engine import Prompt, Segment, SpeechOptions, VoiceInfo

from .conftest import running
from .fake import FakeEngine
from .test_speech import FIRST, SECOND, TEXT, expected_pcm

SPEECH = "/v1/audio/speech"


def clip(size: int = 1000, created: float | None = None) -> Clip:
    pcm = np.arange(size, dtype=np.int16)
    words = (WordTiming("你好", 0.0, 0.01), WordTiming("there", 0.02, 0.03))
    return Clip(pcm, 24000, words, time.time() if created is None else created)


def test_keys_tell_everything_apart_that_sounds_different() -> None:
    engine = FakeEngine()
    segment = Segment("Hi.", "hi.", 1.0)
    base = SpeechOptions("ann")
    prompt = Prompt(np.zeros(4, np.float32), 24000, "", "abc")
    keys = {
        clip_key(engine, segment, base),
        clip_key(engine, Segment("Ho.", "ho.", 1.0), base),
        clip_key(FakeEngine(revision="2"), segment, base),
        clip_key(FakeEngine(name="other"), segment, base),
        clip_key(FakeEngine(voices=(VoiceInfo("ann", "Ann", revision="2"),)), segment, base),
        *(
            clip_key(engine, segment, replace(base, **change))  # type: ignore[arg-type]
            for change in (
                {"voice": "bob"},
                {"speed": 1.1},
                {"seed": 1},
                {"lang": "en"},
                {"instructions": "x"},
                {"mode": "cross-lingual"},
                {"prompt": prompt},
                {"prompt": replace(prompt, text="said")},
            )
        ),
    }
    assert len(keys) == 13
    assert clip_key(engine, Segment("HI.", "hi.", 2.0, lead=0.3), base) in keys


def test_clip_round_trip_and_damage() -> None:
    made = clip()
    data = made.to_bytes()
    read = Clip.from_bytes(data)
    assert (read.pcm == made.pcm).all() and read.words == made.words and read.created == made.created
    for place in (0, 5, 20, len(data) - 1):
        broken = bytearray(data)
        broken[place] ^= 0xFF
        if place != 5:  # the time of creation is not part of the checksum
            with pytest.raises(ValueError, match="clip"):
                Clip.from_bytes(bytes(broken))
    for length in (0, 10, len(data) // 2):
        with pytest.raises(ValueError, match="clip"):
            Clip.from_bytes(data[:length])


def test_pieces_keep_every_sample_and_word_once() -> None:
    made = clip(24000)
    pieces = made.pieces(0.015)
    assert (np.concatenate([piece.pcm for piece in pieces]) == made.pcm).all()
    assert tuple(word for piece in pieces for word in piece.words) == made.words


def test_memory_is_bounded_and_least_recently_used_goes_first() -> None:
    async def go() -> None:
        cache = Cache(3 * clip().size, 60)
        for name in "abc":
            cache.put(name, clip())
        assert cache.peek("a") is not None
        cache.put("d", clip())
        assert [name for name in "abcd" if cache.peek(name)] == ["a", "c", "d"]
        cache.put("e", clip(10**6))
        assert cache.peek("e") is None
        assert cache.memory_size <= 3 * clip().size

    asyncio.run(go())


def test_lifetime(tmp_path: Path) -> None:
    async def go() -> None:
        cache = Cache(10**6, 60, DiskTier(tmp_path, 10**6, 60))
        old = clip(created=time.time() - 61)
        cache.put("00a", old)
        await cache.close()
        assert cache.peek("00a") is None
        assert DiskTier(tmp_path, 10**6, 60).get("00a") is None
        assert not list(tmp_path.glob("*/*"))

    asyncio.run(go())


def test_disk_is_bounded_and_recovers_from_damage(tmp_path: Path) -> None:
    tier = DiskTier(tmp_path, 20_000, 60)
    for index in range(30):
        tier.put(f"{index:02d}key", clip())
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) <= 20_000
    assert tier.get("29key") is not None
    path = next(tmp_path.glob("29/*"))
    path.write_bytes(path.read_bytes()[:-3])
    assert tier.get("29key") is None
    assert not path.exists()


def test_unusable_folder_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(OutputError):
        DiskTier(file, 1000, 60)


def test_kill_during_writes_leaves_a_cache_that_opens_clean(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import numpy as np, time
        from pathlib import Path
        from cosylite.serve.clip import Clip
        from cosylite.serve.disk import DiskTier
        tier = DiskTier(Path({str(tmp_path)!r}), 10**9, 3600)
        print("go", flush=True)
        for index in range(10**6):
            tier.put(f"{{index % 50:02d}}key", Clip(np.full(200_000, index % 50, np.int16), 24000, (), time.time()))
    """)
    for pause in (0.05, 0.11):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    tier = DiskTier(tmp_path, 10**9, 3600)
    found = [tier.get(path.stem) for path in tmp_path.glob("*/*.clip")]
    assert found, "the process wrote nothing"
    for path in tmp_path.glob("*/*.clip"):
        whole = tier.get(path.stem)
        assert whole is not None and (whole.pcm == int(path.stem[:2])).all()
    for left_over in tmp_path.glob("*/*.tmp"):
        old = time.time() - 3600
        os.utime(left_over, (old, old))
    DiskTier(tmp_path, 10**9, 3600)
    assert not list(tmp_path.glob("*/*.tmp"))


def test_several_processes_share_a_folder(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import numpy as np, time, sys
        from pathlib import Path
        from cosylite.serve.clip import Clip
        from cosylite.serve.disk import DiskTier
        tier = DiskTier(Path({str(tmp_path)!r}), 400_000, 3600)
        for index in range(300):
            key = f"{{index % 20:02d}}key"
            tier.put(key, Clip(np.full(10_000, index % 20, np.int16), 24000, (), time.time()))
            found = tier.get(f"{{(index * 7) % 20:02d}}key")
            assert found is None or (found.pcm == (index * 7) % 20).all()
    """)
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [process.wait(40) for process in processes] == [0, 0, 0]


async def ask(client: Any, text: str = TEXT, headers: dict[str, str] | None = None, **more: Any) -> Any:
    body = {"input": text, "voice": "ann", "response_format": "pcm", **more}
    answer = await client.post(SPEECH, json=body, headers=headers)
    assert answer.status_code == 200
    return answer


def test_repeated_sentences_are_not_spoken_again() -> None:
    async def go() -> None:
        engine = FakeEngine()
        async with running(engine) as (client, _, _app):
            first = await ask(client)
            again = await ask(client)
            assert (first.headers["x-cache"], again.headers["x-cache"]) == ("miss", "hit")
            assert first.content == again.content == expected_pcm()
            base = engine.opened
            await ask(client, f"{SECOND} Something new. {FIRST}")
            assert engine.spoken[-1] == "Something new."
            assert engine.opened == base + 1
            await ask(client, response_format="mp3")
            assert engine.opened == base + 1, "formats share one entry"
            await ask(client, voice="bob")
            await ask(client, seed=5)
            assert engine.opened == base + 5
            timed = await client.post("/tts", json={"text": TEXT, "voice": "ann", "timestamps": True})
            assert [word["text"] for word in timed.json()["words"]][:2] == ["Hello", "there"]
            assert engine.opened == base + 5

    asyncio.run(go())


def test_no_store_is_respected() -> None:
    async def go() -> None:
        engine = FakeEngine()
        async with running(engine) as (client, service, _):
            for _ in range(2):
                answer = await ask(client, headers={"Cache-Control": "no-store"})
                assert answer.headers["x-cache"] == "miss"
            assert service.cache.memory_size == 0
            warm = 4  # sentences spoken while warming up
            assert engine.opened == warm + 4

    asyncio.run(go())


def test_ten_clients_share_one_synthesis() -> None:
    async def go() -> None:
        engine = FakeEngine(step_seconds=0.005)
        async with running(engine) as (client, service, _):
            base = engine.opened
            answers = await asyncio.gather(*(ask(client) for _ in range(10)))
            assert {answer.content for answer in answers} == {expected_pcm()}
            assert engine.opened == base + 2
            assert engine.open_now == 0
            assert service.admission.running == 0

    asyncio.run(go())


def test_survives_a_restart_on_disk(tmp_path: Path) -> None:
    async def go() -> None:
        for attempt in range(2):
            engine = FakeEngine()
            async with running(engine, cache_dir=str(tmp_path)) as (client, _, _app):
                answer = await ask(client)
                assert answer.content == expected_pcm()
                assert answer.headers["x-cache"] == ("miss", "hit")[attempt]
        assert list(tmp_path.glob("audio/*/*.clip"))

    asyncio.run(go())


def test_a_cached_answer_takes_less_than_ten_milliseconds() -> None:
    async def go() -> None:
        async with running(FakeEngine()) as (client, _, _app):
            await ask(client)
            times = []
            for _ in range(20):
                started = time.perf_counter()
                await ask(client)
                times.append(time.perf_counter() - started)
            assert sorted(times)[len(times) // 2] < 0.010

    asyncio.run(go())
