"""Cloning, modes and instructions of CosyVoice bundles through the service."""

import asyncio
import base64
import shutil
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from cosylite.audio.recordings import Recording
from cosylite.cli import main
from cosylite.errors import InputError
from cosylite.serve.cache import clip_key
from cosylite.serve.engine import SpeechOptions
from cosylite.serve.service import Service
from cosylite.serve.settings import Settings
from cosylite.serve.tts_engine import load_engine

from .families import SPOKEN, TEXT, Toys, ask, close, samples, serve, toys
from .test_http import assert_error

__all__ = ["toys"]
VOICES = "/v1/audio/voices"


async def add(client: httpx.AsyncClient, toys: Toys, name: str, text: str = SPOKEN) -> httpx.Response:
    form = {"name": name, "consent": "yes", "ref_text": text}
    return await client.post(VOICES, data=form, files={"audio_sample": ("a.wav", toys.prompt.read_bytes())})


def test_voices_are_added_spoken_kept_and_deleted(toys: Toys, tmp_path: Path) -> None:
    async def first(client: httpx.AsyncClient, service: Service) -> None:
        assert_error(await add(client, toys, "中文女"), 409, "voice_exists")
        assert_error(await add(client, toys, "alloy"), 409, "voice_exists")
        added = (await add(client, toys, "Anna")).json()["voice"]
        told = toys.say("v2", TEXT, voice="Told", seed=2)
        for voice in ("anna", added["id"], {"id": added["id"]}):
            assert close(samples(await ask(client, voice=voice, seed=2)), told)
        cross = toys.say("v2", TEXT, voice="Told", seed=2, mode="cross-lingual")
        assert close(samples(await ask(client, voice="Anna", seed=2, mode="cross-lingual")), cross)
        assert not np.array_equal(cross, told)
        assert (await add(client, toys, "Untold", "")).status_code == 200
        untold = await ask(client, voice="Untold", seed=2)
        assert close(samples(untold), cross), "without its text a recording is used cross-lingually"
        assert_error(await ask(client, voice="Untold", mode="zero-shot"), 400, "wrong_mode", "mode")
        assert_error(await ask(client, voice="Anna", mode="preset"), 400, "wrong_mode", "mode")
        assert_error(await add(client, toys, "Third"), 403, "voice_quota")

    async def restarted(client: httpx.AsyncClient, service: Service) -> None:
        listed = (await client.get(VOICES)).json()
        assert [voice["name"] for voice in listed["uploaded_voices"]] == ["Anna", "Untold"]
        assert [voice["kind"] for voice in listed["voices"]][-2:] == ["cloned", "cloned"]
        answer = await ask(client, voice="Anna", seed=2)
        assert answer.headers["x-cache"] == "miss"
        assert close(samples(answer), toys.say("v2", TEXT, voice="Told", seed=2))
        for name in ("Anna", "Untold"):
            assert (await client.delete(f"{VOICES}/{name}")).status_code == 200
        assert_error(await ask(client, voice="Anna"), 400, "unknown_voice", "voice")
        assert not list(tmp_path.iterdir())

    for check in (first, restarted):
        serve(check, toys.bundle("v2"), voices_dir=str(tmp_path), max_voices=2)


def test_a_recording_in_the_request(toys: Toys) -> None:
    url = "data:audio/wav;base64," + base64.b64encode(toys.prompt.read_bytes()).decode()

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        found = samples(await ask(client, ref_audio=url, ref_text=SPOKEN, seed=2))
        assert close(found, toys.say("v2", TEXT, voice="Told", seed=2))
        other = await ask(client, ref_audio=url, ref_text="He was", seed=2)
        assert other.headers["x-cache"] == "miss", "what is said in the recording is part of the key"
        assert not np.array_equal(samples(other), found)
        assert (await ask(client, ref_audio=url, ref_text=SPOKEN, seed=2)).headers["x-cache"] == "hit"

    serve(check, toys.bundle("v2"))


@pytest.mark.timeout(240)
def test_instructions_and_modes(toys: Toys) -> None:
    async def follows(client: httpx.AsyncClient, service: Service) -> None:
        plain = samples(await ask(client))
        answer = await ask(client, instructions="be happy")
        assert answer.headers["x-cache"] == "miss" and "x-instructions" not in answer.headers
        assert close(samples(answer), toys.say("v2", TEXT, instruct="be happy"))
        assert not np.array_equal(samples(answer), plain)
        assert_error(await ask(client, mode="instruct"), 400, "missing_instruct", "instructions")
        assert_error(await ask(client, mode="preset", instructions="x"), 400, "unsupported", "instructions")
        assert_error(await ask(client, instructions="x" * 2000), 400, None, "instructions")
        assert_error(await ask(client, mode="zero-shot"), 400, "wrong_mode", "mode")
        assert_error(await ask(client, mode="sing"), 400, "invalid_field", "mode")
        items = [{"input": TEXT, "instructions": "be happy"}, {"input": TEXT, "mode": "instruct"}]
        batch = {"items": items, "response_format": "pcm"}
        found = (await client.post("/v1/audio/speech/batch", json=batch)).json()["results"]
        assert base64.b64decode(found[0]["audio_data"]) == answer.content
        assert found[1]["error"]["code"] == "missing_instruct"

    async def cannot(client: httpx.AsyncClient, service: Service) -> None:
        assert_error(await ask(client, instructions="be happy"), 400, "unsupported", "instructions")
        assert_error(await ask(client, mode="instruct"), 400, "unsupported", "mode")

    serve(follows, toys.bundle("v2"))
    serve(cannot, toys.bundle("v1"))


def test_a_bundle_without_any_voice(toys: Toys, tmp_path: Path) -> None:
    """As CosyVoice2-0.5B is released: it loads, says what is missing, and speaks with recordings."""
    model = Path(shutil.copytree(Path(toys.bundle("v2")).parent / "v2", tmp_path / "bare"))
    (model / "spk2info.pt").unlink()
    assert main(["convert", str(model), "-o", str(tmp_path / "bundle"), "-q"]) == 0
    url = "data:audio/wav;base64," + base64.b64encode(toys.prompt.read_bytes()).decode()

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        assert_error(await ask(client), 400, "no_voice", "voice")
        assert (await client.get(VOICES)).json()["voices"] == []
        found = samples(await ask(client, ref_audio=url, ref_text=SPOKEN, seed=2))
        assert close(found, toys.say("v2", TEXT, voice="Told", seed=2))

    serve(check, str(tmp_path / "bundle"))


def test_a_bundle_that_cannot_hear(toys: Toys, tmp_path: Path) -> None:
    model = Path(shutil.copytree(Path(toys.bundle("v2")).parent / "v2", tmp_path / "deaf"))
    (model / "campplus.onnx").unlink()
    assert main(["convert", str(model), "-o", str(tmp_path / "bundle"), "-q"]) == 0

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        assert_error(await add(client, toys, "Anna"), 400, "cannot_clone")
        assert_error(await ask(client, ref_audio="data:audio/wav;base64,AAAA"), 400, "cannot_clone")
        assert (await ask(client)).status_code == 200

    serve(check, str(tmp_path / "bundle"), voices_dir=str(tmp_path / "voices"))


def test_keys_tell_what_a_voice_of_one_name_sounds_like(toys: Toys, monkeypatch: pytest.MonkeyPatch) -> None:
    """A voice of the user that is made anew under its name is not answered from the cache."""
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(toys.folder / "replaced"))

    def key() -> str:
        engine = load_engine(toys.bundle("v2"), Settings(device="cpu"))
        assert "Mine" in [voice.id for voice in engine.voices]
        return clip_key(engine, next(engine.segments(TEXT, "auto")), SpeechOptions("Mine"))

    made: list[Any] = []
    for text in (SPOKEN, SPOKEN, "He was"):
        bundle = ["--bundle", toys.bundle("v2")]
        assert main(["voice", "add", "Mine", str(toys.prompt), "--text", text, *bundle]) == 0
        made.append(key())
    assert made[0] == made[1] != made[2]


def test_recordings_in_which_nothing_is_heard(toys: Toys, tmp_path: Path) -> None:
    """They are refused when they are sent, and nothing is kept of them."""
    url = "data:audio/wav;base64," + base64.b64encode(toys.prompt.read_bytes()).decode()

    def hear(recording: Recording) -> Any:
        raise InputError("no speech was found in the recording", code="no_speech", param="audio")

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        engine: Any = service.registry.deployments[0].engine
        engine._runtime.catalogue.listener.hear = hear
        assert_error(await add(client, toys, "Anna"), 400, "no_speech", "audio_sample")
        assert_error(await ask(client, ref_audio=url), 400, "no_speech", "ref_audio")
        assert not list(tmp_path.iterdir()) and not service.voices.list()

    serve(check, toys.bundle("v2"), voices_dir=str(tmp_path))


def test_one_recording_is_heard_once(toys: Toys) -> None:
    """Also when many ask for it at the same time."""
    url = "data:audio/wav;base64," + base64.b64encode(toys.prompt.read_bytes()).decode()

    async def check(client: httpx.AsyncClient, service: Service) -> None:
        engine: Any = service.registry.deployments[0].engine
        listener, calls = engine._runtime.catalogue.listener, []
        hear = listener.hear
        listener.hear = lambda recording: (calls.append(recording), hear(recording))[1]
        answers = await asyncio.gather(*(ask(client, ref_audio=url, seed=seed) for seed in range(4)))
        assert all(answer.status_code == 200 for answer in answers) and len(calls) == 1

    serve(check, toys.bundle("v2"))
