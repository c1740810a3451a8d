"""Every mode of every family through the façade, on the toys: what reaches the networks, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cosylite import TTS, CosyliteError
from cosylite.audio.recordings import Recording
from cosylite.errors import BundleError, InputError
from cosylite.options import SynthesisOptions
from cosylite.runtime.family.conversion import split_recording
from cosylite.runtime.family.decode import decode, limit_silence
from cosylite.runtime.family.engine import FamilyEngine
from cosylite.runtime.family.kinds import SILENT_TOKENS
from cosylite.runtime.family.modes import END_OF_PROMPT, SYSTEM, Conditions
from cosylite.runtime.family.tokens import Seeds

from .golden import FAMILIES
from .speaking import preset_vectors, prompt_file, speaking_bundle, toy

TEXT = "Ab cd."
SPOKEN = "He is"
Engines = Callable[[str], FamilyEngine]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("modes")


@pytest.fixture(scope="module")
def speakers(folder: Path) -> Callable[[str], TTS]:
    """The façade over the toy of a family, with the added voices "Told" and "Untold"."""
    loaded: dict[str, TTS] = {}

    def load(family: str) -> TTS:
        if family not in loaded:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("COSYLITE_CACHE_DIR", str(folder / "cache"))
                tts = TTS(speaking_bundle(folder, family, name=family), device="cpu", threads=1)
            recording = prompt_file(folder / "prompt.wav")
            tts.add_voice("Told", recording, SPOKEN)
            tts.add_voice("Untold", recording)
            loaded[family] = tts
        return loaded[family]

    return load


@pytest.fixture(scope="module")
def engines(speakers: Callable[[str], TTS]) -> Engines:
    return lambda family: speakers(family).family_engine


def saved_name(family: str) -> str:
    (name,) = [name for name, entry in toy(family).speakers.items() if "prompt_text" in entry]
    return name


def given(engine: FamilyEngine, voice: str, **options: object) -> Conditions:
    return engine.modes.conditions(engine.catalogue.get(voice), SynthesisOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("family", FAMILIES)
def test_voices_of_all_kinds(family: str, speakers: Callable[[str], TTS]) -> None:
    tts = speakers(family)
    assert [voice.name for voice in tts.voices] == ["中文女", "英文男", saved_name(family), "Told", "Untold"]
    kinds = [tts.family_engine.catalogue.kind(voice.name) for voice in tts.voices]
    assert kinds == ["preset", "preset", "saved", "added", "added"]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_reaches_the_networks(family: str, engines: Engines) -> None:
    """The table of modes, row by row."""
    engine = engines(family)
    system = engine.reading.encode(SYSTEM + END_OF_PROMPT) if family == "v3" else []
    told = engine.catalogue.get("Told")
    preset = given(engine, "中文女")
    assert preset.prompt_text == tuple(system) and preset.prompt_tokens == ()
    assert (preset.speaker == preset_vectors(family)["中文女"].numpy()).all() and (
        preset.lm_speaker == preset.speaker
    ).all()
    assert preset.flow_tokens.shape == (1, 0) and preset.flow_mel.shape == (1, 0, 80)
    zero = given(engine, "Told")
    assert zero.prompt_text == (*system, *engine.reading.encode(SPOKEN))
    assert zero.prompt_tokens == tuple(told.tokens.tolist()) and (zero.flow_tokens[0] == told.tokens).all()  # type: ignore[union-attr]
    assert (zero.flow_mel[0] == told.mel).all() and (zero.lm_speaker[0] == told.speaker).all()  # type: ignore[union-attr]
    cross = given(engine, "Told", mode="cross-lingual")
    assert cross.prompt_text == tuple(system) and cross.prompt_tokens == ()
    assert (cross.flow_tokens == zero.flow_tokens).all() and (cross.flow_mel == zero.flow_mel).all()
    untold = given(engine, "Untold")
    assert untold.prompt_text == cross.prompt_text and (untold.flow_mel == cross.flow_mel).all()
    if family != "v1":
        instruct = given(engine, "Told", instruct="be happy")
        words = f"{SYSTEM} be happy{END_OF_PROMPT}" if family == "v3" else f"be happy{END_OF_PROMPT}"
        assert instruct.prompt_text == tuple(engine.reading.encode(words)) and instruct.prompt_tokens == ()
        assert (instruct.flow_tokens == zero.flow_tokens).all() and (instruct.flow_mel == zero.flow_mel).all()
        typed = given(engine, "Told", instruct=words)
        assert typed.prompt_text == instruct.prompt_text
        assert engine.reading.encode(END_OF_PROMPT) == [instruct.prompt_text[-1]]


def test_texts_that_bring_the_system_prompt(engines: Engines) -> None:
    """As in the official examples of v3: it is not repeated, and such a text is neither normalised nor split."""
    engine = engines("v3")
    (segment,) = engine.segments(f"{SYSTEM}{END_OF_PROMPT}[breath]He is in 2.")
    cross, zero = (given(engine, "Told", mode=mode) for mode in ("cross-lingual", "zero-shot"))
    assert engine.modes.without_system(cross, segment.ids).prompt_text == ()
    assert engine.modes.without_system(zero, segment.ids) is zero
    assert engine.modes.without_system(cross, engine.reading.encode("He is")) is cross
    assert engine.reading.encode("[breath]")[0] in segment.ids and "2" in segment.text


def test_instructions_for_v1(folder: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the model of that name takes them; the instruction stands for the speaker in the language model."""
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(folder / "cache"))
    bundle = speaking_bundle(folder, "v1", name="CosyVoice-300M-Instruct")
    tts = TTS(bundle, device="cpu", threads=1)
    found = given(tts.family_engine, "中文女", instruct="A calm man.")
    assert found.prompt_text == tuple(tts.family_engine.reading.encode("A calm man." + END_OF_PROMPT))
    assert found.lm_speaker.shape == (0, 192) and found.flow_tokens.size == 0
    assert (found.speaker == preset_vectors("v1")["中文女"].numpy()).all()
    assert tts.say(TEXT, voice="中文女", instruct="A calm man.", seed=1).duration > 0
    assert code_of(given, engines("v1"), "中文女", instruct="A calm man.") == ("unsupported", "instruct")


def code_of(call: Callable[..., object], *args: object, **named: object) -> tuple[str, str | None]:
    with pytest.raises(CosyliteError) as caught:
        call(*args, **named)
    assert "\n" not in str(caught.value)
    return caught.value.code, caught.value.param


@pytest.mark.parametrize("family", ["v2", "v3"])
def test_modes_that_do_not_fit(family: str, engines: Engines, speakers: Callable[[str], TTS]) -> None:
    engine = engines(family)
    assert code_of(given, engine, "中文女", mode="zero-shot") == ("wrong_mode", "mode")
    assert code_of(given, engine, "中文女", mode="cross-lingual") == ("wrong_mode", "mode")
    assert code_of(given, engine, "Told", mode="preset") == ("wrong_mode", "mode")
    assert code_of(given, engine, "Untold", mode="zero-shot") == ("wrong_mode", "mode")
    assert code_of(given, engine, "Told", mode="zero-shot", instruct="x") == ("unsupported", "instruct")
    assert code_of(given, engine, "Told", mode="instruct") == ("missing_instruct", "instruct")
    say = speakers(family).say
    assert code_of(say, TEXT, voice="nobody") == ("unknown_voice", "voice")
    assert code_of(say, TEXT, mode="sung") == ("unknown_mode", "mode")
    assert code_of(say, TEXT, streaming="fast") == ("unknown_streaming", "streaming")
    assert code_of(say, TEXT, flow_steps=0) == ("out_of_range", "flow_steps")
    assert code_of(say, TEXT, instruct="x" * 2000) == ("bad_option", "instruct")


def test_nano_takes_none_of_it() -> None:
    from cosylite.runtime.engine import load_engine

    tiny = load_engine(Path(__file__).parents[1] / "assets" / "tiny", device="cpu", threads=1)
    for options in ({"mode": "preset"}, {"instruct": "x"}, {"streaming": "exact"}, {"flow_steps": 4}):
        code, param = code_of(tiny.say, TEXT, SynthesisOptions(**options))  # type: ignore[arg-type]
        assert (code, param) == ("unsupported", next(iter(options)))
    tts = TTS(Path(__file__).parents[1] / "assets" / "tiny", device="cpu", threads=1)
    assert code_of(tts.add_voice, "A", "a.wav")[0] == "unsupported_family"


@pytest.mark.parametrize("voice", ["中文女", "Told", "Untold", "saved"])
@pytest.mark.parametrize("family", FAMILIES)
def test_say_is_the_chain_of_the_stages(family: str, voice: str, engines: Engines) -> None:
    """Tokens, mel and waveform, done by hand with full attention."""
    engine = engines(family)
    voice = saved_name(family) if voice == "saved" else voice
    model, told = engine.model, given(engine, voice)
    ids = engine.reading.encode(TEXT)
    drawn = list(decode(model.lm, told.prompt(ids), Seeds(7).sampler(model.lm)))
    tokens = list(limit_silence(drawn, SILENT_TOKENS[model.manifest.family]))
    frames = model.flow.samples_per_frame
    noise = model.noises.flow(told.flow_mel.shape[1] + 4 * len(tokens), 7)
    mel = model.flow(np.array([tokens]), told.flow_tokens, told.flow_mel, told.speaker, noise)
    phases = model.noises.phases(7) if family == "v1" else None
    source = model.vocoder.excite(mel, model.noises.source(0, mel.shape[-1] * frames, 7), phases)
    wave = model.vocoder(mel, source)[0]
    options = SynthesisOptions(voice, seed=7, trim=False, streaming="official")
    speech = engine.say(TEXT, options)
    if engine.guardian.counters.as_dict().get("resampled", 0) == 0:
        assert speech.samples.shape == wave.shape
        quiet = np.abs(wave) < 0.9
        # In v3 the smallest difference of the mel becomes one of phase.
        np.testing.assert_allclose(speech.samples[quiet], wave[quiet], atol=2e-2 if family == "v3" else 1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_voice_conversion(family: str, speakers: Callable[[str], TTS], folder: Path) -> None:
    tts = speakers(family)
    recording = prompt_file(folder / "source.wav", seconds=3.0, rate=24000)
    told, preset = (tts.convert_voice(recording, voice, seed=1) for voice in ("Told", "中文女"))
    for speech in (told, preset):
        assert abs(speech.duration - 3.0) < 0.1 and np.abs(speech.samples).max() > 0
    assert told.samples.shape != preset.samples.shape or not np.allclose(told.samples, preset.samples, atol=1e-3)
    assert abs(tts.convert_voice(recording, "Told", speed=2.0).duration - 1.5) < 0.1
    assert code_of(tts.convert_voice, recording, "Told", mode="zero-shot") == ("unsupported", "mode")
    assert code_of(tts.convert_voice, recording, "nobody") == ("unknown_voice", "voice")
    assert code_of(tts.convert_voice, folder / "none.wav", "Told") == ("cannot_read", "audio")


def test_long_recordings_are_cut_where_it_is_quiet() -> None:
    rate = 8000
    samples = np.random.default_rng(1).uniform(-0.3, 0.3, 70 * rate).astype(np.float32)
    for second in (25, 47):
        samples[second * rate : second * rate + rate // 4] = 0
    parts = split_recording(Recording(samples, rate))
    assert (np.concatenate([part.samples for part in parts]) == samples).all()
    assert [round(part.seconds) for part in parts] == [25, 22, 23]
    assert all(part.seconds <= 28 for part in parts)


def test_what_is_left_of_a_recording_is_no_scrap() -> None:
    rate = 8000
    samples = np.random.default_rng(1).uniform(-0.3, 0.3, round(28.02 * rate)).astype(np.float32)
    samples[round(27.5 * rate) :] = 0
    parts = split_recording(Recording(samples, rate))
    assert [part.seconds >= 1 for part in parts] == [True, True]


def test_a_bundle_that_cannot_hear(folder: Path, engines: Engines, speakers: Callable[[str], TTS]) -> None:
    engine = engines("v2")
    listener = engine.catalogue.listener
    engine.catalogue.listener = type(listener)(folder / "nowhere", "v2")
    try:
        code, param = code_of(speakers("v2").add_voice, "A", folder / "prompt.wav")
        assert (code, param) == ("missing_listener", "bundle")
    finally:
        engine.catalogue.listener = listener


def test_tokenizer_of_another_model(folder: Path, engines: Engines, tmp_path: Path) -> None:
    from .listeners import write_listeners

    engine = engines("v2")
    listener = engine.catalogue.listener
    write_listeners(tmp_path, "v2")
    engine.catalogue.listener = type(listener)(tmp_path, "v2")
    try:
        with pytest.raises(BundleError, match="this model knows 140"):
            engine.add_voice("A", folder / "prompt.wav")
    finally:
        engine.catalogue.listener = listener


def test_names_of_voices(engines: Engines, folder: Path) -> None:
    engine, prompt = engines("v2"), folder / "prompt.wav"
    assert code_of(engine.add_voice, "../x", prompt) == ("bad_voice_name", "name")
    assert code_of(engine.add_voice, "中文女", prompt) == ("voice_exists", "name")
    assert code_of(engine.remove_voice, "中文女") == ("voice_exists", "name")
    assert code_of(engine.remove_voice, "nobody") == ("unknown_voice", "name")
    engine.add_voice("Short lived", prompt)
    engine.remove_voice("Short lived")
    assert "Short lived" not in engine.catalogue.names


def test_tags(engines: Engines) -> None:
    """Pieces of the tokenizers survive normalisation; those of a later generation are refused."""
    v3 = engines("v3").reading
    text = "He [breath] has [M][AY0][N][UH1][T] in 2 days, <strong>yes</strong>."
    (segment,) = v3.segments(text)
    assert segment.text == text.replace("2 days", "two days")
    for tag in ("[breath]", "[M]", "[AY0]", "[UH1]", "<strong>", "</strong>"):
        (number,) = v3.encode(tag)
        assert number in segment.ids
    (chinese,) = v3.segments("对报道[j][ǐ]予好评。")
    assert "[j][ǐ]" in chinese.text and set(v3.encode("[j][ǐ]")) <= set(chinese.ids) and len(v3.encode("[ǐ]")) == 1
    v2 = engines("v2").reading
    assert len(v2.encode("[breath]")) == 1
    with pytest.raises(InputError, match="tag of CosyVoice 3"):
        v2.segments("[AY0] a")


@pytest.mark.parametrize("family", FAMILIES)
def test_what_precedes_the_text_is_computed_once(family: str, engines: Engines) -> None:
    engine = engines(family)
    options = SynthesisOptions("Told", seed=3, trim=False, flow_steps=1)
    first = engine.say(TEXT, options)
    computed = engine.decoder.prefixes.computed
    again = engine.say(TEXT, options)
    engine.say("Cd ab.", options)
    assert engine.decoder.prefixes.computed == computed
    assert (first.samples == again.samples).all()
    engine.say(TEXT, SynthesisOptions("Told", mode="cross-lingual", flow_steps=1))
    assert engine.decoder.prefixes.computed >= computed


@pytest.mark.parametrize("family", FAMILIES)
def test_options_are_heard(family: str, speakers: Callable[[str], TTS]) -> None:
    tts = speakers(family)
    first = tts.say(TEXT, "Told", seed=1, trim=False)
    assert (tts.say(TEXT, "Told", seed=1, trim=False).samples == first.samples).all()
    for more in ({"seed": 2}, {"noise_scale": 0.5}, {"flow_steps": 3}, {"mode": "cross-lingual"}):
        other = tts.say(TEXT, "Told", **({"seed": 1, "trim": False} | more))  # type: ignore[arg-type]
        assert other.samples.shape != first.samples.shape or not np.allclose(other.samples, first.samples, atol=1e-3)
    twice = tts.say(TEXT, "Told", seed=1, trim=False, speed=2.0)
    assert abs(twice.duration - first.duration / 2) < 0.05


def test_command_line(
    folder: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cosylite.cli import main

    engines("v2")
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(folder / "cli"))
    bundle, prompt = ["--bundle", str(folder / "v2-bundle")], str(folder / "prompt.wav")
    model = [*bundle, "--device", "cpu", "--threads", "1"]
    assert main(["voice", "add", "Anna", prompt, "--text", SPOKEN, *bundle]) == 0
    assert "with its text" in capsys.readouterr().out
    assert main(["voice", "list", *bundle]) == 0
    assert capsys.readouterr().out == f"Anna  {SPOKEN}\n"
    damaged = folder / "cli" / "voices" / "v2" / "Bad.safetensors"
    damaged.write_bytes(b"no voice")
    assert main(["voice", "list", *bundle]) == 0
    listed = capsys.readouterr()
    assert listed.out == f"Anna  {SPOKEN}\n" and "left out Bad" in listed.err
    assert main(["voice", "remove", "Bad", *bundle]) == 0 and not damaged.exists()
    assert main(["voices", *bundle]) == 0
    assert capsys.readouterr().out.split() == ["中文女", "英文男", saved_name("v2"), "Anna"]
    wave = str(folder / "out.wav")
    for more in ([], ["--mode", "cross-lingual"], ["--instruct", "be happy"], ["--streaming", "bounded"]):
        assert main(["say", TEXT, "--voice", "Anna", "-q", "-o", wave, "--flow-steps", "2", *more, *model]) == 0
        assert soundfile.info(wave).frames > 1000
    assert main(["convert-voice", prompt, "--voice", "Anna", "-o", wave, *model]) == 0
    assert abs(soundfile.info(wave).duration - 2) < 0.1
    assert main(["say", TEXT, "--voice", "Anna", "--mode", "preset", "-o", wave, *model]) == 2
    assert main(["voice", "remove", "Anna", *bundle]) == 0
    assert main(["voice", "remove", "Anna", *bundle]) == 2
    assert main(["voice", "add", "Anna", str(folder / "none.wav"), *bundle]) == 5
    assert main(["voice", "add", "Anna", prompt]) == 3
    capsys.readouterr()
