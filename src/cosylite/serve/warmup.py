"""What happens once after a bundle is loaded: a warm-up synthesis, and the measurement that decides about batching."""

import time

from cosylite.errors import BundleError
from cosylite.serve.engine import Engine, Segment, SpeechOptions
from cosylite.serve.scheduler import BatchPolicy
from cosylite.serve.settings import Settings

TEXTS = {
    "en": "The kettle is on, and the tea will be ready soon.",
    "zh": "水已经烧开了，茶马上就好。",
    "ja": "お湯が沸いたので、お茶がもうすぐ入ります。",
    "ko": "물이 끓었으니 차가 곧 준비됩니다.",
}
GREETING = "你好。"
PAYS = 0.85
"""A row in a batch must take at most this share of the time of a row alone."""
ROUNDS = 3


def warm_up(engine: Engine) -> float:
    """Speak one sentence in every language of the engine; returns the seconds it took.

    One that decodes reads all languages with the same graphs and takes its time, so it greets once; without a voice
    there is nothing to speak with.

    Raises:
        BundleError: a sentence gave no audio.
    """
    started = time.monotonic()
    texts = {lang: TEXTS.get(lang, TEXTS["en"]) for lang in engine.languages}
    if engine.decodes:
        texts = {"auto": GREETING} if engine.voices else {}
    for lang, text in texts.items():
        options = SpeechOptions(voice="", lang=lang)
        for segment in engine.segments(text, lang):
            if not _speak_alone(engine, segment, options):
                raise BundleError(f"the bundle {engine.name} made no audio while warming up", code="warm_up_failed")
    return time.monotonic() - started


def measure_batching(engine: Engine, settings: Settings) -> tuple[BatchPolicy, float | None]:
    """The batching policy, and in `auto` the measured share (time of a row in a batch by time of a row alone).

    What decodes reads all its weights for every step, so rows that share one always pay.
    """
    on = settings.batching == "on" or (settings.batching == "auto" and engine.decodes)
    policy = BatchPolicy(on, settings.batch_window_seconds, settings.batch_rows)
    if settings.batching != "auto" or settings.batch_rows < 2 or engine.decodes:
        return policy, None
    lang = "en" if "en" in engine.languages else engine.languages[0]
    rows = min(4, settings.batch_rows)
    segment = next(iter(engine.segments(TEXTS.get(lang, TEXTS["en"]), lang)))
    items = [(segment, SpeechOptions(voice="", lang=lang, seed=seed)) for seed in range(rows)]
    alone, together = [], []
    for _ in range(ROUNDS):
        started = time.monotonic()
        _speak_alone(engine, *items[0])
        middle = time.monotonic()
        engine.speak_many(items)
        alone.append(middle - started)
        together.append((time.monotonic() - middle) / rows)
    ratio = min(together) / max(min(alone), 1e-9)
    return BatchPolicy(ratio <= PAYS, policy.window_seconds, policy.rows), ratio


def _speak_alone(engine: Engine, segment: Segment, options: SpeechOptions) -> int:
    stream = engine.open(segment, options)
    samples = 0
    try:
        while True:
            while not stream.ready:
                engine.advance([stream])
            chunk = stream.step()
            if chunk is None:
                break
            samples += len(chunk.samples)
            if chunk.is_last:
                break
    finally:
        stream.close()
    return samples
