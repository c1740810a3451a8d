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
            result[0][:, 2] = np.nan
            return result

    target._session = Poisoned()
    speech = own_tts.say("hello there")
    assert np.isfinite(speech.samples).all() and np.abs(speech.samples).max() <= 1.0
    assert {"features_repaired", "spectrum_repaired"} & set(own_tts.engine.model.counters.as_dict())


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
