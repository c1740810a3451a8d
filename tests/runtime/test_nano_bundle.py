"""The promises of streaming, kept by the bundled nano itself: its graphs are int8."""

from collections.abc import Iterable

import numpy as np
import pytest

from cosylite import TTS
from cosylite.audio.values import Samples
from cosylite.errors import BundleError
from cosylite.runtime.bundle import load_bundle

TEXTS = {
    "en": "Good morning, dear friends.",
    "zh": "早上好，朋友们。",
    "ja": "おはよう、みなさん。",
    "ko": "안녕하세요, 여러분.",
    "mixed": "Hello，你好！",
}


def _is_installed() -> bool:
    try:
        load_bundle("nano")
    except BundleError as error:
        if error.code == "bundle_not_found":
            return False
        raise
    return True


pytestmark = pytest.mark.skipif(not _is_installed(), reason="the nano bundle is not there")


@pytest.fixture(scope="module")
def nano() -> TTS:
    return TTS("nano", device="cpu", threads=1)


@pytest.fixture(scope="module")
def said(nano: TTS) -> dict[str, Samples]:
    return {name: nano.say(text).samples for name, text in TEXTS.items()}


def streamed(nano: TTS, text: str | Iterable[str], chunk_frames: int | None) -> Samples:
    return np.concatenate([chunk.samples for chunk in nano.stream(text, chunk_frames=chunk_frames)])


def assert_same(samples: Samples, expected: Samples) -> None:
    """Equal lengths, and a signal-to-noise ratio of at least 50 dB."""
    assert samples.shape == expected.shape
    noise = np.square(samples - expected).sum()
    assert noise <= np.square(expected).sum() * 1e-5


@pytest.mark.parametrize("chunk_frames", [1, 7, 50])
@pytest.mark.parametrize("name", [*TEXTS])
def test_streaming_equals_saying(nano: TTS, said: dict[str, Samples], name: str, chunk_frames: int) -> None:
    assert_same(streamed(nano, TEXTS[name], chunk_frames), said[name])


def test_text_in_pieces_equals_saying(nano: TTS, said: dict[str, Samples]) -> None:
    assert_same(streamed(nano, iter(TEXTS["mixed"]), None), said["mixed"])


def test_saying_many_equals_saying_each(nano: TTS, said: dict[str, Samples]) -> None:
    for speech, expected in zip(nano.say_many([*TEXTS.values()]), said.values(), strict=True):
        assert_same(speech.samples, expected)


def test_seeds(nano: TTS, said: dict[str, Samples]) -> None:
    np.testing.assert_array_equal(nano.say(TEXTS["en"]).samples, said["en"])
    other = nano.say(TEXTS["en"], seed=1).samples
    assert not np.array_equal(other[:9600], said["en"][:9600])


@pytest.mark.parametrize("name", [*TEXTS])
def test_words_are_in_order_and_within_the_audio(nano: TTS, name: str) -> None:
    speech = nano.say(TEXTS[name])
    times = [time for word in speech.words for time in (word.start, word.end)]
    assert times == sorted(times)
    assert times[0] >= 0.0
    assert times[-1] <= speech.duration


@pytest.mark.parametrize("name", [*TEXTS])
def test_edges_are_short_and_samples_sane(said: dict[str, Samples], name: str) -> None:
    size = np.abs(said[name])
    loud = np.flatnonzero(size > 0.01)
    assert loud[0] < 0.25 * 24000
    assert len(size) - loud[-1] < 0.3 * 24000
    assert size.max() <= 1.0
    assert abs(float(said[name].mean())) < 0.002
