"""Devices, memory, and graphs that give nonsense."""

import logging
from pathlib import Path

import numpy as np
import pytest

from cosylite import TTS
from cosylite.errors import DeviceError
from cosylite.runtime.guardian import Guardian
from cosylite.runtime.sessions import Counters, Stage, choose_device


def test_devices_that_are_missing_say_what_to_install(tiny: Path) -> None:
    import onnxruntime

    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with pytest.raises(DeviceError, match="pip install onnxruntime-gpu") as caught:
            TTS(tiny, device="cuda")
        assert caught.value.exit_code == 4
        with pytest.raises(DeviceError, match="onnxruntime-gpu"):
            TTS(tiny, devices={"flow": "cuda"})
        assert choose_device("auto") == "cpu"
    with pytest.raises(DeviceError, match="auto, cpu, cuda"):
        TTS(tiny, device="abacus")


class FailingSession:
    """A session whose device gives out."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def run(self, *_: object) -> list[np.ndarray]:
        raise self.error


def test_a_device_that_fails_is_replaced_by_the_cpu(own_tts: TTS, tts: TTS, caplog: pytest.LogCaptureFixture) -> None:
    flow = own_tts.engine.model.flow
    flow.device, flow._session = "cuda", FailingSession(RuntimeError("CUDA error: device lost"))
    with caplog.at_level(logging.WARNING):
        speech = own_tts.say("hello there")
    np.testing.assert_allclose(speech.samples, tts.say("hello there").samples, atol=1e-4)
    assert flow.device == "cpu"
    assert own_tts.engine.model.counters.as_dict()["device_fallbacks"] == 1
    assert any("CUDA error: device lost" in record.message for record in caplog.records)


def test_a_cpu_that_fails_is_an_error(own_tts: TTS) -> None:
    own_tts.engine.model.flow._session = FailingSession(RuntimeError("bad graph"))
    with pytest.raises(DeviceError, match="bad graph"):
        own_tts.say("hello there")


@pytest.mark.parametrize("stage", ["flow", "vocoder"])
def test_scarce_memory_means_smaller_chunks(own_tts: TTS, tts: TTS, stage: str) -> None:
    target: Stage = getattr(own_tts.engine.model, stage)
    session = target._session

    class Cramped:
        def run(self, outputs: object, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
            if next(iter(feeds.values())).shape[1] > 10:
                raise RuntimeError("bad_alloc: Failed to allocate memory for requested buffer")
            return session.run(outputs, feeds)

    target._session = Cramped()
    np.testing.assert_allclose(own_tts.say("hello there").samples, tts.say("hello there").samples, atol=1e-4)
    assert own_tts.engine.model.counters.as_dict()["chunks_halved"] > 0


def test_no_memory_at_all_is_a_clear_error(own_tts: TTS) -> None:
    own_tts.engine.model.flow._session = FailingSession(MemoryError())
    with pytest.raises(DeviceError, match="memory"):
        own_tts.say("hello there")
    with pytest.raises(DeviceError, match="memory"):
        own_tts.say_many(["hello there", "good bye"])


@pytest.mark.parametrize("stage", ["flow", "vocoder"])
def test_values_that_are_no_numbers_never_reach_the_listener(own_tts: TTS, stage: str) -> None:
    target: Stage = getattr(own_tts.engine.model, stage)
    session = target._session

    class Poisoned:
        def run(self, outputs: object, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
            result = session.run(outputs, feeds)
            result[0][:, 2:3] = np.nan
            return result

    target._session = Poisoned()
    speech = own_tts.say("hello there")
    assert np.isfinite(speech.samples).all() and np.abs(speech.samples).max() <= 1.0
    assert {"features_repaired", "spectrum_repaired"} & set(own_tts.engine.model.counters.as_dict())


class Unlucky:
    """A flow that makes nonsense of some noise: where the first number of a frame is large."""

    def __init__(self, session: object, limit: float, nonsense: float) -> None:
        self.session, self.limit, self.nonsense = session, limit, nonsense

    def run(self, outputs: object, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        result = self.session.run(outputs, feeds)
        if feeds["time"][0] == 0:
            result[0][feeds["x"][:, :, 0] > self.limit] = self.nonsense
        return result


@pytest.mark.parametrize("nonsense", [np.nan, 1e6])
def test_bad_frames_are_drawn_again_alike_at_any_chunking(own_tts: TTS, tts: TTS, nonsense: float) -> None:
    text = "hello there, my good old friend"
    flow = own_tts.engine.model.flow
    flow._session = Unlucky(flow._session, 2.2, nonsense)
    counters = own_tts.engine.model.counters
    whole = own_tts.say(text).samples
    drawn = counters.as_dict()
    assert 0 < drawn["features_resampled"] <= 4
    assert not {"features_repaired", "features_limited"} & set(drawn)
    assert np.abs(whole - tts.say(text).samples).max() > 1e-3
    for frames in (1, 7, 50):
        chunks = [chunk.samples for chunk in own_tts.stream(text, chunk_frames=frames)]
        np.testing.assert_allclose(np.concatenate(chunks), whole, atol=1e-4)
    for speech in own_tts.say_many([text, "good bye", text]):
        if len(speech.samples) == len(whole):
            np.testing.assert_allclose(speech.samples, whole, atol=1e-4)
    assert counters.as_dict()["features_resampled"] > 4 * drawn["features_resampled"]


def test_bad_frames_that_stay_bad_are_repaired_after_a_few_attempts(own_tts: TTS) -> None:
    flow = own_tts.engine.model.flow
    flow._session = Unlucky(flow._session, -100.0, np.nan)
    whole = own_tts.say("hello there").samples
    counts = own_tts.engine.model.counters.as_dict()
    assert counts["features_resampled"] == 4 and counts["features_repaired"] > 10
    assert np.isfinite(whole).all()
    streamed = [chunk.samples for chunk in own_tts.stream("hello there", chunk_frames=3)]
    np.testing.assert_allclose(np.concatenate(streamed), whole, atol=1e-4)


def test_mad_durations_are_limited(own_tts: TTS) -> None:
    text = own_tts.engine.model.text
    session = text._session

    class Mad:
        def run(self, outputs: object, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
            durations, states = session.run(outputs, feeds)
            durations[:, 1] = 1e9
            durations[:, 2] = np.nan
            return [durations, states]

    text._session = Mad()
    assert own_tts.say("hello there").duration < 10
    assert own_tts.engine.model.counters.as_dict()["durations_repaired"] == 2


def test_extreme_features_are_limited() -> None:
    counters = Counters()
    features = np.zeros((3, 82), np.float32)
    features[1, 4] = 100.0
    assert np.abs(Guardian(counters, np.zeros(82, np.float32)).checked_features(features)).max() == 8.0
    assert counters.as_dict() == {"features_limited": 1}
