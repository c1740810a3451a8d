"""Streaming through the façade: exact, official and bounded; text in pieces; requests that share the decoding loop."""

import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from cosylite.audio.recordings import Recording
from cosylite.errors import DeviceError, InputError
from cosylite.lab.export.family import export_family
from cosylite.options import SynthesisOptions
from cosylite.runtime.family.chunks import chunks_of, exact_chunker
from cosylite.runtime.family.engine import FamilyEngine, load_family_engine
from cosylite.runtime.family.finish import EdgeTrimmer
from cosylite.runtime.family.flow import resize_frames
from cosylite.runtime.family.model import load_family
from cosylite.runtime.family.modes import Conditions, Modes
from cosylite.runtime.family.render import ExactRenderer, StretchStream, Voicing, plan
from cosylite.runtime.family.segments import SegmentRun
from cosylite.runtime.family.streaming import official_joiner
from cosylite.runtime.family.tokens import GivenTokens, Seeds
from cosylite.runtime.family.voices import VoiceStore

from .golden import FAMILIES, Array, Case, case_files, case_name, checkpoint, close, differences
from .speaking import prompt_file, speaking_bundle

TEXT = "He is in."
LONGER = "This one has a good many words, so that it has a good many tokens. " * 2
Engines = Callable[[str], FamilyEngine]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streaming")


@pytest.fixture(scope="module")
def engines(folder: Path) -> Engines:
    """The engine of a family's toy, with the added voice "Told"."""
    loaded: dict[str, FamilyEngine] = {}

    def load(family: str) -> FamilyEngine:
        if family not in loaded:
            bundle = speaking_bundle(folder, family, name=family)
            engine = load_family_engine(bundle, device="cpu", threads=1, voices=folder / "voices" / family)
            engine.add_voice("Told", prompt_file(folder / "prompt.wav"), "He is")
            loaded[family] = engine
        return loaded[family]

    return load


def joined(
    engine: FamilyEngine, text: str | Iterator[str], chunk_frames: int | None = None, **options: object
) -> Array:
    given = SynthesisOptions("Told", **({"seed": 4, "flow_steps": 2} | options))  # type: ignore[arg-type]
    return np.concatenate([chunk.samples for chunk in engine.stream(text, given, chunk_frames)])


@pytest.mark.parametrize("chunk_frames", [None, 1, 130])
@pytest.mark.parametrize("family", ["v2", "v3"])
def test_exact_streams_equal_the_whole(family: str, chunk_frames: int | None, engines: Engines) -> None:
    engine = engines(family)
    options = SynthesisOptions("Told", seed=4, flow_steps=2)
    whole = engine.say(LONGER, options)
    chunks = list(engine.stream(LONGER, options, chunk_frames))
    assert len(chunks) > 2 and [chunk.is_last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    found = np.concatenate([chunk.samples for chunk in chunks])
    close(f"{family} exact stream", found, whole.samples, 2e-4 if family == "v2" else 2e-3)
    assert [s for chunk in chunks for s in chunk.sentences] == list(whole.sentences)


@pytest.mark.parametrize("family", ["v2", "v3"])
def test_exact_chunks_are_small_first_and_then_grow(family: str, engines: Engines) -> None:
    chunks = list(engines(family).stream(LONGER * 2, SynthesisOptions("Told", seed=4, flow_steps=1, trim=False)))
    seconds = [chunk.duration for chunk in chunks if not chunk.sentences]
    assert seconds[0] < 1.5 and max(seconds) >= 2 * min(seconds[:2])


@pytest.mark.parametrize("speed", [0.7, 1.6])
@pytest.mark.parametrize("family", ["v2", "v3"])
def test_speed_in_exact_streams(family: str, speed: float, engines: Engines) -> None:
    engine = engines(family)
    whole = engine.say(LONGER, SynthesisOptions("Told", seed=4, flow_steps=2, speed=speed))
    found = joined(engine, LONGER, speed=speed)
    close(f"{family} exact stream at speed", found, whole.samples, 2e-4 if family == "v2" else 2e-3)
    even = engine.say(LONGER, SynthesisOptions("Told", seed=4, flow_steps=2, trim=False, sentence_silence=0.0))
    paced = engine.say(
        LONGER, SynthesisOptions("Told", seed=4, flow_steps=2, trim=False, sentence_silence=0.0, speed=speed)
    )
    assert abs(paced.duration * speed - even.duration) < 0.1


@pytest.mark.parametrize("speed", [0.5, 0.83, 1.0, 1.25, 3.7])
def test_stretching_in_chunks(speed: float) -> None:
    phase = np.arange(4)[:, None] + np.arange(113) / 20
    mel = np.sin(phase)[None].astype(np.float32)
    whole = StretchStream(speed).push(mel, final=True)
    assert whole.shape[-1] == int(113 / speed)
    np.testing.assert_allclose(whole[..., 3:-3], resize_frames(mel, speed)[..., 3:-3], atol=0.1)
    for size in (1, 7, 50):
        stream = StretchStream(speed)
        parts = [stream.push(mel[..., at : at + size], final=at + size >= 113) for at in range(0, 113, size)]
        np.testing.assert_allclose(np.concatenate(parts, -1), whole, atol=1e-6)


def test_trimming_in_chunks() -> None:
    rng = np.random.default_rng(2)
    loud = rng.uniform(-0.5, 0.5, 900).astype(np.float32)
    loud[300:700] = 0
    samples = np.concatenate([np.zeros(500, np.float32), loud, np.zeros(600, np.float32)])
    for size in (1, 64, 5000):
        trimmer = EdgeTrimmer(100)
        parts = [trimmer.push(samples[at : at + size]) for at in range(0, len(samples), size)]
        found = np.concatenate([*parts, trimmer.finish()])
        assert (found == samples[400:1500]).all()
    quiet = EdgeTrimmer(100)
    assert len(quiet.push(np.zeros(1000, np.float32))) == 0 and len(quiet.finish()) == 200


def golden_run(case: Case) -> tuple[list[int], Conditions]:
    """Tokens and conditions of a golden case, which need no language model."""
    prompt = "in.prompt_token" if "in.prompt_token" in case else "in.prompt_speech_token"
    none = np.zeros((0, 192), np.float32)
    given = Conditions((), (), none, case[prompt].astype(np.int64), case["in.prompt_feat"], case["in.embedding"])
    return case.ids("in.token"), given


@pytest.mark.parametrize("path", case_files("stream_*"), ids=case_name)
def test_official_streams_are_those_of_the_golden_cases(path: Path, tmp_path: Path) -> None:
    """The engine's cuts and mels; the noise of v1 and the excitation are its own, so those are put in its place."""
    case = Case(path)
    export_family(checkpoint(case.family), tmp_path / "bundle", name="toy")
    model = load_family(tmp_path / "bundle", threads=1)
    tokens, given = golden_run(case)
    chunker, renderer = plan(model, given, Voicing("official", Seeds(0)), whole=False)
    mels: list[Array] = []
    number = 0

    class Joiner:
        def push(self, mel: Array, *, final: bool) -> Array:
            mels.append(mel)
            return mel[0, :1]

    renderer._joiner = Joiner()  # type: ignore[attr-defined]
    for chunk in chunks_of(tokens, chunker):
        if f"in.z{number}" in case:
            noise = case[f"in.z{number}"]
            renderer._noise = lambda frames, seed, noise=noise: noise  # type: ignore[attr-defined]
        renderer.push(chunk)
        stored = case[f"out.flow_mel{number}"]
        done = chunk.done * model.flow.spec.frames_per_token
        close(f"{case.family} engine official mel", mels[-1], stored[..., done:], 2e-4)
        number += 1
    assert number == int(case["out.n_chunks"])


@pytest.mark.parametrize("family", FAMILIES)
def test_official_streams_are_heard(family: str, engines: Engines) -> None:
    """As long as the whole, and the same each time."""
    engine = engines(family)
    options = SynthesisOptions("Told", seed=4, flow_steps=2, streaming="official", trim=False)
    whole, chunks = engine.say(LONGER, options), list(engine.stream(LONGER, options))
    assert len(chunks) > 1 and chunks[-1].is_last
    found = np.concatenate([chunk.samples for chunk in chunks])
    assert abs(len(found) - len(whole.samples)) <= 4 * engine.model.flow.samples_per_frame
    assert np.isfinite(found).all() and np.abs(found).max() <= 1
    again = np.concatenate([chunk.samples for chunk in engine.stream(LONGER, options)])
    assert (found == again).all()


@pytest.mark.parametrize("family", ["v2", "v3"])
def test_bounded_streams_are_near_to_exact(family: str, engines: Engines) -> None:
    """Distance of the mel, printed with the golden differences; none where the window holds everything."""
    engine = engines(family)
    model, rng = engine.model, np.random.default_rng(5)
    tokens = rng.integers(0, 100, 400).tolist()
    given = engine.modes.conditions(engine.catalogue.get("Told"), SynthesisOptions())
    whole, size = _mel(engine, given, tokens, None), model.flow.spec.frames_per_token * len(tokens)
    assert whole.shape == (1, 80, size)
    wide, narrow = (_mel(engine, given, tokens, window) for window in (400, 100))
    close(f"{family} bounded, window of everything", wide, whole, 2e-4)
    assert (narrow[..., :200] == whole[..., :200]).all()
    distance = np.sqrt(((narrow - whole) ** 2).mean() / whole.var())
    differences[f"{family} bounded mel, 4 s window, share of deviation"] = float(distance)
    assert 0 < distance < 0.5
    found = joined(engine, LONGER, streaming="bounded")
    again = engine.say(LONGER, SynthesisOptions("Told", seed=4, flow_steps=2, streaming="bounded"))
    close(f"{family} bounded stream", found, again.samples, 2e-3)


def _mel(engine: FamilyEngine, given: Conditions, tokens: list[int], window: int | None) -> Array:
    """Mel of tokens through the chunks of exact streaming."""
    prompt, spec = given.flow_tokens.shape[1], engine.model.flow.spec
    renderer = ExactRenderer(engine.model, given, Voicing("exact", Seeds(0), steps=2))
    chunks = chunks_of(tokens, exact_chunker(prompt, 25, spec.look_ahead, window=window))
    return np.concatenate([renderer._frames(chunk) for chunk in chunks], -1)


def test_streaming_that_does_not_exist(engines: Engines) -> None:
    for streaming in ("exact", "bounded"):
        with pytest.raises(InputError, match="use official"):
            engines("v1").stream(TEXT, SynthesisOptions("Told", streaming=streaming))
    with pytest.raises(InputError, match="leave out chunk_frames"):
        engines("v2").stream(TEXT, SynthesisOptions("Told", streaming="official"), 10)


@pytest.mark.parametrize(("family", "mode"), [("v2", "zero-shot"), ("v2", "cross-lingual"), ("v3", "zero-shot")])
def test_text_in_pieces_is_spoken_while_it_arrives(family: str, mode: str, engines: Engines) -> None:
    """However the text is cut; sound comes before its end."""
    engine = engines(family)
    sound = threading.Event()
    taken = 0

    def slowly() -> Iterator[str]:
        nonlocal taken
        for word in (LONGER * 2).split(" "):
            if taken > 40:
                assert sound.wait(60), "the end of the text was waited for"
            taken += 1
            yield word + " "

    options = SynthesisOptions("Told", seed=4, flow_steps=1, mode=mode)
    parts = []
    for chunk in engine.stream(slowly(), options):
        parts.append(chunk)
        if len(chunk.samples):
            sound.set()
    assert parts[-1].is_last
    whole = " ".join(s.text for chunk in parts for s in chunk.sentences)
    assert whole.split() == (LONGER * 2).split()
    letters = joined(engine, iter(LONGER * 2), flow_steps=1, mode=mode)
    assert (letters == np.concatenate([chunk.samples for chunk in parts])).all()


def test_v3_without_speech_to_continue_waits_for_sentences(engines: Engines) -> None:
    engine = engines("v3")
    chunks = list(engine.stream(iter(LONGER), SynthesisOptions("Told", flow_steps=1, mode="cross-lingual")))
    assert len([s for chunk in chunks for s in chunk.sentences]) == 2 and chunks[-1].is_last


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pieces", [[], ["", " "], ["?!"]])
def test_no_text_in_pieces(family: str, pieces: list[str], engines: Engines) -> None:
    with pytest.raises(InputError, match="nothing to speak"):
        list(engines(family).stream(iter(pieces), SynthesisOptions("Told", flow_steps=1)))


def test_an_error_in_the_callers_text_reaches_the_caller(engines: Engines) -> None:
    def failing() -> Iterator[str]:
        yield "He is in the "
        raise KeyError("from the caller")

    with pytest.raises(KeyError, match="from the caller"):
        list(engines("v2").stream(failing(), SynthesisOptions("Told", flow_steps=1)))


@pytest.mark.parametrize("family", FAMILIES)
def test_streams_can_be_left(family: str, engines: Engines) -> None:
    engine = engines(family)
    stream = engine.stream(LONGER * 3, SynthesisOptions("Told", flow_steps=1))
    next(stream)
    stream.close()
    engine.decoder.step()
    assert not engine.decoder._loop.busy


@pytest.mark.parametrize("family", FAMILIES)
def test_steps_of_several_segments(family: str, engines: Engines) -> None:
    """As the service takes them: segments join and leave, a late short one ends first, each equals its own run."""
    engine = engines(family)
    options = [SynthesisOptions("Told", seed=seed, flow_steps=1) for seed in range(3)]
    long, short = engine.segments(LONGER)[0], engine.segments("He is")[0]
    asked = list(zip((long, long, short), options, (None, None, None), strict=True))
    alone = engine.speak_segments(asked)
    streams = [engine.speak_segment(segment, given) for segment, given, _ in asked[:2]]
    found: list[list[Array]] = [[], [], []]
    ended: list[int] = []
    for step in range(10_000):
        if step == 1:
            streams.append(engine.speak_segment(short, options[2]))
        going = [i for i in range(len(streams)) if i not in ended]
        if not going:
            break
        for i, chunk in zip(going, engine.step_many([streams[i] for i in going]), strict=True):
            if chunk is None:
                ended.append(i)
                streams[i].close()
            else:
                found[i].append(chunk.samples)
    assert sorted(ended) == [0, 1, 2] and (family == "v1" or ended[0] == 2)
    for i in range(3):
        close(f"{family} segments in steps", np.concatenate(found[i]), alone[i].samples, 2e-3)
    assert [chunk.sentences[0].text for chunk in alone] == [segment.text for segment, _, _ in asked]


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_together_equal_texts_alone(family: str, engines: Engines) -> None:
    engine = engines(family)
    options = SynthesisOptions("Told", seed=2, flow_steps=1)
    texts = [LONGER, TEXT, "He is"]
    for text, speech in zip(texts, engine.say_many(texts, options), strict=True):
        close(f"{family} texts together", speech.samples, engine.say(text, options).samples, 2e-3)
    with pytest.raises(InputError, match="list of texts"):
        engine.say_many("He is", options)


def test_threads_share_the_loop(engines: Engines) -> None:
    engine = engines("v2")
    options = [SynthesisOptions("Told", seed=seed, flow_steps=1) for seed in range(4)]
    alone = [engine.say(TEXT, given).samples for given in options]
    found: dict[int, Array] = {}

    def speak(i: int) -> None:
        found[i] = engine.say(TEXT, options[i]).samples

    threads = [threading.Thread(target=speak, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        close("v2 threads", found[i], alone[i], 2e-3)


def test_a_voice_that_is_not_kept(engines: Engines, folder: Path) -> None:
    """As the service clones: heard once, spoken with, never written."""
    engine = engines("v2")
    time = np.arange(32000) / 16000
    recording = Recording((0.3 * np.sin(700 * time)).astype(np.float32), 16000)
    voice = engine.catalogue.heard("guest", recording, "He is")
    (segment,) = engine.segments(TEXT)
    run = engine.open(segment, SynthesisOptions(seed=1, flow_steps=1), voice=voice)
    assert len(np.concatenate([run.render(chunk) for chunk in run.chunks()])) > 1000
    assert "guest" not in engine.catalogue.names
    assert "guest" not in VoiceStore("v2", folder / "voices" / "v2")
    assert isinstance(engine.modes, Modes)


def test_given_tokens_are_there_at_once() -> None:
    given = GivenTokens([1, 2])
    given.wait(9)
    given.commit()
    given.close()
    assert given.ready(None) and given.done and given.tokens == [1, 2]


def test_official_joiners_hold_their_frames_back() -> None:
    class Silent:
        def excite(self, mel: Array, *, finalize: bool) -> Array:
            return np.zeros((1, 1, mel.shape[-1] * 4), np.float32)

        def decode(self, mel: Array, source: Array, *, finalize: bool) -> Array:
            return np.zeros((1, mel.shape[-1] * 4), np.float32)

    joiner = official_joiner("v2", Silent(), 4)
    assert joiner.push(np.zeros((1, 80, 20), np.float32), final=False).shape == (1, 48)
    assert joiner.push(np.zeros((1, 80, 20), np.float32), final=True).shape == (1, 112)


def test_segments_that_were_spoken_take_no_memory(engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engines("v2")
    opened: list[weakref.ref[SegmentRun]] = []
    alive: list[int] = []
    real = engine.open

    def watched(*given: object, **named: object) -> SegmentRun:
        run = real(*given, **named)  # type: ignore[arg-type]
        opened.append(weakref.ref(run))
        alive.append(sum(ref() is not None for ref in opened))
        return run

    (segment,) = engine.segments("Ab.")
    monkeypatch.setattr(engine, "open", watched)
    monkeypatch.setattr(engine, "segments", lambda text: [segment] * 20)
    assert list(engine.stream("", SynthesisOptions("Told", flow_steps=1)))
    assert len(opened) == 20 and max(alive) < 12


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("piece", [None, b"He is in.", 5])
def test_pieces_of_text_are_strings(family: str, piece: str, engines: Engines) -> None:
    with pytest.raises(InputError) as caught:
        joined(engines(family), iter(["He is ", piece]))
    assert caught.value.code == "invalid_text" and caught.value.param == "text"


def test_cuda_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="use device 'cuda'"):
        load_family(tmp_path, device="cuda-graph")
