"""Voices by name, and blends of them."""

import numpy as np
import pytest

from cosylite import TTS
from cosylite.errors import InputError
from cosylite.runtime.voices import blend_name, named_voice


@pytest.fixture(scope="module")
def tts() -> TTS:
    return TTS(threads=1)


def test_shares_are_brought_to_one() -> None:
    assert blend_name({"a": 3, "b": 1.0}) == blend_name({"a": np.float32(3), "b": np.int64(1)}) == "a:0.75+b:0.25"


@pytest.mark.parametrize(
    "shares",
    [{}, {"a": 0}, {"a": -1.0}, {"a": float("nan")}, {"a": "1"}, {"a+b": 1}, {"": 1}, {"a": 10**400}, {1: 1}, ["a"]],
)
def test_bad_shares_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(InputError) as caught:
        blend_name(shares)
    assert caught.value.code == "invalid_blend" and caught.value.param == "voice"


def test_a_blend_lies_between_its_voices(tts: TTS) -> None:
    voices = tts.engine.model.bundle.manifest.voices
    found = named_voice(voices, tts.blend({"jm_kumo": 0.25, "jf_alpha": 0.75}))
    rows = {spec.name: spec.row for spec in voices.list}
    assert found.mix == ((rows["jm_kumo"], 0.25), (rows["jf_alpha"], 0.75))
    assert set(found.languages) <= {"ja", "ko", "en"} and "ja" in found.languages


def test_a_blend_speaks_and_a_whole_share_is_the_voice_itself(tts: TTS) -> None:
    alone = tts.say("Good morning.", voice="af_heart").samples
    whole = tts.say("Good morning.", voice=tts.blend({"af_heart": 2})).samples
    mixed = tts.say("Good morning.", voice="af_heart+am_michael").samples
    assert np.array_equal(alone, whole)
    assert len(mixed) != len(alone) or not np.array_equal(alone, mixed)
    assert np.isfinite(mixed).all() and np.abs(mixed).max() > 0.05


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("af_heart:0.5+nobody:0.5", "unknown_voice"),
        ("af_heart:x+am_michael", "invalid_blend"),
        ("af_heart:-1", "invalid_blend"),
        ("af_heart:inf", "invalid_blend"),
        ("af_heart:1e308+am_michael:1e308", "invalid_blend"),
        ("+", "unknown_voice"),
        (":", "unknown_voice"),
    ],
)
def test_unreadable_blends_are_refused(tts: TTS, name: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        tts.say("Hello.", voice=name)
    assert caught.value.code == code and caught.value.param == "voice"


@pytest.mark.parametrize("voice", [5, ["af_heart"], b"af_heart"])
def test_a_voice_is_a_name(tts: TTS, voice: str) -> None:
    with pytest.raises(InputError) as caught:
        tts.say("Hello.", voice=voice)
    assert caught.value.code == "bad_option" and caught.value.param == "voice"


def test_a_blend_of_unknown_voices_is_refused_at_once(tts: TTS) -> None:
    with pytest.raises(InputError, match="nobody"):
        tts.blend({"nobody": 1})
