"""The guardian of the official models: what it finds, what it draws again, what it counts."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from cosylite.errors import CancelledError, DeviceError
from cosylite.options import SynthesisOptions
from cosylite.runtime.family.batching import DecodeLoop, Request, decode_together
from cosylite.runtime.family.decode import Prompt
from cosylite.runtime.family.engine import FamilyEngine, load_family_engine
from cosylite.runtime.family.guardian import FamilyGuardian, Fault, Length, SilenceWatch, TokenWatch
from cosylite.runtime.family.memory import Memory
from cosylite.runtime.family.tokens import ATTEMPTS, Decoder, PiecesDraft, Seeds, SegmentDraft
from cosylite.runtime.sessions import Counters

from .golden import Array
from .speaking import prompt_file, speaking_bundle

Sampler = Callable[[Array, Sequence[int]], int]
RATE = 25


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> FamilyEngine:
    """Of v3: with silent tokens, and ends that nobody forbids."""
    folder = tmp_path_factory.mktemp("guardian")
    engine = load_family_engine(speaking_bundle(folder, "v3"), device="cpu", threads=1, voices=folder / "voices")
    engine.add_voice("Told", prompt_file(folder / "prompt.wav"), "He is")
    return engine


def faults(tokens: Sequence[int], prompt: Sequence[int] = ()) -> list[tuple[int, Fault]]:
    watch = TokenWatch(Length(10, 400), RATE, prompt)
    return [(i, fault) for i, token in enumerate(tokens) if (fault := watch.see(token))]


def lively(count: int, seed: int = 1) -> list[int]:
    """Tokens without any pattern."""
    return [int(token) for token in np.random.default_rng(seed).integers(200, 6000, count)]


def test_speech_has_no_faults() -> None:
    assert faults(lively(300), lively(300, 2)) == []
    assert faults([7] * 40 + lively(30) + [9] * 40) == []
    twice = lively(30)
    assert faults(twice * 2 + lively(50, 3)) == []


@pytest.mark.parametrize("period", [1, 2, 7, 25, 40])
def test_loops_are_found_and_cut(period: int) -> None:
    head, loop = lively(60), lively(period, 2)
    found = faults(head + loop * 200)
    assert found and found[0][1] == "token_loops"
    at = found[0][0]
    assert max(3 * period, 50) <= at + 1 - len(head) <= max(3 * period, 50) + 1
    watch = TokenWatch(Length(10, 400), RATE)
    for token in (head + loop * 200)[: at + 1]:
        watch.see(token)
    assert at + 1 - watch.loop() == len(head) + period


def test_leaks_of_the_prompt_are_found() -> None:
    prompt = lively(120)
    assert faults([*lively(40, 2), *prompt[30:54]], prompt) == []
    found = faults([*lively(40, 2), *prompt[30:60]], prompt)
    assert found[0] == (64, "prompt_leaks")
    assert faults([5] * 40, [5] * 100) == []


def test_ends() -> None:
    watch = TokenWatch(Length(3, 5), RATE)
    assert watch.end(stopped=True) == "early_ends" and watch.end(stopped=False) == "endless"
    for token in (1, 2, 3):
        watch.see(token)
    assert watch.end(stopped=True) is None


class Script:
    """A sampler per attempt, that draws from lists; what follows ends the speech."""

    def __init__(self, end: int, *drawings: list[int]) -> None:
        self._end, self._drawings, self.attempts = end, drawings, 0

    def sampler(self, model: object, attempt: int = 0) -> Sampler:
        drawing = self._drawings[min(attempt, len(self._drawings) - 1)]
        self.attempts = attempt + 1

        def draw(logp: Array, history: Sequence[int]) -> int:
            if len(history) < len(drawing):
                return drawing[len(history)]
            return self._end if np.isfinite(logp[self._end]) else 3

        return draw


def drawn(
    engine: FamilyEngine, *drawings: list[int], text: int = 10, prompt: tuple[int, ...] = (), first: int | None = None
) -> tuple[SegmentDraft, Script, dict[str, int]]:
    """A segment of `text` ids whose tokens are given, and what was counted."""
    guardian = FamilyGuardian(Counters())
    decoder = Decoder(engine.model.lm, "v3", RATE, guardian)
    script = Script(engine.model.lm.controls.end, *drawings)
    draft = SegmentDraft(decoder, Prompt([5] * text, (), prompt), script, first)  # type: ignore[arg-type]
    if first is not None:
        draft.wait(first)
        draft.commit()
    draft.wait(None)
    return draft, script, guardian.counters.as_dict()


GOOD = [t % 90 + 30 for t in lively(40)]
LOOP = [*GOOD, *[60, 61, 62] * 60]
"""Longer than what is found to be a loop; it has no end of its own."""


def test_good_speech_is_left_alone(engine: FamilyEngine) -> None:
    draft, script, counts = drawn(engine, GOOD)
    assert draft.tokens == GOOD and script.attempts == 1 and counts == {}


def test_loops_are_drawn_again(engine: FamilyEngine) -> None:
    draft, script, counts = drawn(engine, LOOP, GOOD)
    assert draft.tokens == GOOD and script.attempts == 2
    assert counts == {"token_loops": 1, "resampled": 1}


def test_loops_that_come_back_are_cut(engine: FamilyEngine) -> None:
    draft, script, counts = drawn(engine, LOOP)
    assert draft.tokens == LOOP[: len(GOOD) + 3] and script.attempts == ATTEMPTS
    assert counts == {"token_loops": ATTEMPTS, "resampled": ATTEMPTS - 1, "unresolved": 1}


def test_loops_are_cut_once_somebody_listens(engine: FamilyEngine) -> None:
    draft, script, counts = drawn(engine, LOOP, GOOD, first=20)
    assert draft.tokens == LOOP[: len(GOOD) + 3] and script.attempts == 1
    assert counts == {"token_loops": 1, "unresolved": 1}


def test_leaks_are_drawn_again(engine: FamilyEngine) -> None:
    prompt = tuple([t % 90 + 30 for t in lively(60, 4)])
    leak = [*GOOD[:5], *prompt[:40]]
    draft, _, counts = drawn(engine, leak, GOOD, prompt=prompt)
    assert draft.tokens == GOOD and counts == {"prompt_leaks": 1, "resampled": 1}
    draft, _, counts = drawn(engine, leak, prompt=prompt)
    assert draft.tokens == leak and counts == {"prompt_leaks": 2, "resampled": 2}


def test_missing_tails_are_drawn_again(engine: FamilyEngine) -> None:
    draft, _, counts = drawn(engine, GOOD[:4], GOOD)
    assert draft.tokens == GOOD and counts == {"early_ends": 1, "resampled": 1}
    draft, script, counts = drawn(engine, GOOD[:4])
    assert draft.tokens == [*GOOD[:4], *[3] * 16] and script.attempts == ATTEMPTS  # no end is accepted at last
    assert counts["early_ends"] == 2 + 16
    draft, script, counts = drawn(engine, GOOD[:8], GOOD, first=6)
    assert draft.tokens == [*GOOD[:8], *[3] * 12] and script.attempts == 1


def test_endless_speech_is_drawn_again(engine: FamilyEngine) -> None:
    endless = [t % 90 + 30 for t in lively(500, 5)]
    draft, _, counts = drawn(engine, endless, GOOD)
    assert draft.tokens == GOOD and counts == {"endless": 1, "resampled": 1}
    draft, _, counts = drawn(engine, endless)
    assert draft.tokens == endless[:200] and counts["unresolved"] == 1


def test_long_silences_are_shortened(engine: FamilyEngine) -> None:
    draft, _, counts = drawn(engine, [*GOOD[:10], 1, 2, 1, 2, 28, 29, 1, *GOOD[10:], 1])
    assert draft.tokens == [*GOOD[:10], 1, 2, 1, 2, 28, *GOOD[10:], 1] and counts == {"silent_tokens": 2}


def test_equal_seeds_are_equal_whatever_was_drawn_again(engine: FamilyEngine) -> None:
    seeds = Seeds(3, 1)
    logp = np.zeros(130, np.float32)
    first = [[seeds.sampler(engine.model.lm, attempt)(logp, []) for _ in range(20)] for attempt in (0, 1, 2)]
    again = [[seeds.sampler(engine.model.lm, attempt)(logp, []) for _ in range(20)] for attempt in (0, 1, 2)]
    assert first == again and first[0] != first[1] != first[2]


def test_control_tokens_amid_pieces_are_drawn_again(engine: FamilyEngine) -> None:
    """The model asks for an end while text still comes, and for more text after it has ended."""
    guardian = FamilyGuardian(Counters())
    decoder = Decoder(engine.model.lm, "v3", RATE, guardian)
    controls = engine.model.lm.controls
    said: list[int] = []

    class Odd:
        def sampler(self, model: object, attempt: int = 0) -> Sampler:
            def draw(logp: Array, history: Sequence[int]) -> int:
                said.append(len(history))
                finite = np.isfinite(logp)
                odd = controls.end if len(history) < 10 else controls.fill
                return odd if odd is not None and finite[odd] and len(said) % 2 else 40 + len(said) % 7

            return draw

    system = engine.reading.encode("You are a helpful assistant.<|endofprompt|>")
    prompt = Prompt((), system, tuple(range(30, 45)))
    draft = PiecesDraft(decoder, ([5] for _ in range(12)), prompt, Odd())  # type: ignore[arg-type]
    draft.wait(None)
    counts = guardian.counters.as_dict()
    assert counts["out_of_step"] > 0 and draft.done and all(token < 130 for token in draft.tokens)


def test_silences_are_counted() -> None:
    guardian = FamilyGuardian(Counters())
    watch = SilenceWatch(guardian, 1000)
    loud, quiet = np.full(300, 0.1, np.float32), np.zeros(1600, np.float32)
    for part in (quiet, loud, quiet[:1400], loud, quiet, loud, quiet[:900], quiet[:900], loud, quiet):
        watch.push(part)
    assert guardian.counters.as_dict() == {"silences": 2}


def test_samples_that_are_no_numbers_are_silenced() -> None:
    guardian = FamilyGuardian(Counters())
    samples = np.array([0.5, np.nan, np.inf, -0.5], np.float32)
    assert guardian.checked(samples).tolist() == [0.5, 0, 0, -0.5]
    assert guardian.counters.as_dict() == {"samples_repaired": 2}


def test_counts_are_those_of_the_model(engine: FamilyEngine) -> None:
    before = engine.model.counters.as_dict().get("samples_limited", 0)
    engine.say("He is in.", SynthesisOptions("Told", volume=4.0, flow_steps=1))
    assert engine.model.counters.as_dict()["samples_limited"] > before


def test_what_keeps_a_request_from_beginning_reaches_its_caller(
    engine: FamilyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody waits for it."""

    def refuse(*_: object) -> None:
        raise DeviceError("no", code="stage_failed")

    with monkeypatch.context() as patch:
        patch.setattr(type(engine.decoder.prefixes), "begin", refuse)
        with pytest.raises(DeviceError, match="no"):
            engine.say("He is in.", SynthesisOptions("Told", flow_steps=1))
    assert engine.say("He is in.", SynthesisOptions("Told", flow_steps=1)).duration > 0


def test_a_closed_segment_says_so(engine: FamilyEngine) -> None:
    (segment,) = engine.segments("He is in.")
    stream = engine.speak_segment(segment, SynthesisOptions("Told", flow_steps=1))
    stream.close()
    with pytest.raises(CancelledError):
        engine.step_many([stream])


def test_nothing_is_drawn_again_for_a_closed_segment(engine: FamilyEngine) -> None:
    """Closed by another thread, just as the guardian has it drawn again."""
    decoder = Decoder(engine.model.lm, "v3", RATE, FamilyGuardian(Counters()))
    drafts: list[SegmentDraft] = []

    class Closing(Script):
        def sampler(self, model: object, attempt: int = 0) -> Sampler:
            if attempt:
                drafts[0].close()
            return super().sampler(model, attempt)

    script = Closing(engine.model.lm.controls.end, [7] * 400)
    drafts.append(SegmentDraft(decoder, Prompt([5] * 10), script))  # type: ignore[arg-type]
    with pytest.raises(CancelledError):
        drafts[0].wait(None)
    assert decoder.load == 0


def test_rows_and_their_memory_stay_together_where_memory_is_short(
    engine: FamilyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def request(text: int) -> Request:
        return Request(Prompt([text] * 4), Seeds(text).sampler(engine.model.lm))

    alone, leaving, staying = request(6), request(5), request(6)
    decode_together(engine.model.lm, [alone])
    loop = DecodeLoop(engine.model.lm)
    for each in (leaving, staying):
        loop.submit(each)
    for _ in range(3):
        loop.step()
    loop.cancel(leaving)
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "keep", _full)
        with pytest.raises(MemoryError):
            loop.step()
    while loop.busy:
        loop.step()
    assert staying.tokens == alone.tokens and len(alone.tokens) > 5


def test_memory_grows_as_a_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(2, 1, 4)
    pad, calls = np.pad, iter(range(9))
    with monkeypatch.context() as patch:
        patch.setattr(np, "pad", lambda *given: pad(*given) if next(calls) < 3 else _full())
        with pytest.raises(MemoryError):
            memory.make_room(100)
    memory.make_room(100)
    assert {array.shape for array in (*memory.keys, *memory.values)} == {(1, 1, 128, 4)}


def _full(*_: object) -> None:
    raise MemoryError


def test_loops_after_text_in_pieces_end(engine: FamilyEngine) -> None:
    guardian = FamilyGuardian(Counters())
    decoder = Decoder(engine.model.lm, "v3", RATE, guardian)

    class Stuck:
        def sampler(self, model: object, attempt: int = 0) -> Sampler:
            return lambda logp, history: 50 + len(history) % 3

    system = engine.reading.encode("You are a helpful assistant.<|endofprompt|>")
    prompt = Prompt((), system, tuple(range(30, 45)))
    draft = PiecesDraft(decoder, ([5] for _ in range(30)), prompt, Stuck())  # type: ignore[arg-type]
    draft.wait(None)
    assert guardian.counters.as_dict() == {"token_loops": 1}


def test_too_little_memory_is_said(engine: FamilyEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(engine.model.vocoder), "decode", _full)
    with pytest.raises(DeviceError, match="not enough memory"):
        engine.say("He is in.", SynthesisOptions("Told", flow_steps=1))
