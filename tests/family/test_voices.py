"""Voices made from recordings: files, checks, features, and the graphs that hear them."""

import io
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cosylite.audio.features import FLOW_MELS, prompt_mel
from cosylite.audio.recordings import Recording, read_recording, resample
from cosylite.cli import main
from cosylite.errors import BundleError, CosyliteError, InputError, OutputError
from cosylite.runtime.family.listen import Listener
from cosylite.runtime.family.voices import PromptVoice, VoiceStore, check_name, voices_folder

from .golden import FAMILIES, ROOT, checkpoint
from .listeners import MEL_FRAMES_PER_TOKEN, write_listeners


def tone(seconds: float, rate: int, channels: int = 1) -> np.ndarray:
    """A buzz (N,) or (N, channels) whose pitch moves."""
    time = np.arange(round(seconds * rate)) / rate
    wave = sum(np.sin(2 * np.pi * k * (110 + 20 * np.sin(2 * time)) * time) / k for k in (1, 2, 3))
    wave = 0.2 * wave * (1 + np.sin(9 * time))
    return (wave if channels == 1 else np.repeat(wave[:, None], channels, 1)).astype(np.float32)


@pytest.mark.parametrize(("rate", "channels", "suffix"), [(8000, 1, "wav"), (44100, 2, "flac"), (48000, 6, "wav")])
def test_any_rate_and_channels(rate: int, channels: int, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, tone(2, rate, channels), rate)
    found = read_recording(path)
    assert found.sample_rate == rate and abs(found.seconds - 2) < 1e-3
    np.testing.assert_allclose(found.samples, tone(2, rate), atol=1e-3)
    assert len(found.at(16000)) == 32000
    assert read_recording(io.BytesIO(path.read_bytes())).samples.shape == found.samples.shape


def test_resampling_keeps_what_both_rates_can_hold() -> None:
    time = np.arange(48000) / 48000
    low, high = (np.sin(2 * np.pi * hz * time).astype(np.float32) for hz in (1000, 11000))
    found = resample(low, 48000, 16000)
    np.testing.assert_allclose(found[50:-50], np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)[50:-50], atol=2e-3)
    assert np.abs(resample(high, 48000, 16000)[50:-50]).max() < 2e-2
    assert resample(low[:1001], 48000, 22050).shape == (460,)
    assert resample(low, 16000, 16000) is low


@pytest.mark.parametrize(("old", "new"), [(47999, 24000), (8001, 16000), (95999, 16000)])
def test_rates_without_common_divisor_take_little_memory(old: int, new: int) -> None:
    tracemalloc.start()
    found = resample(np.sin(2 * np.pi * 440 * np.arange(old) / old).astype(np.float32), old, new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(found[50:-50], np.sin(2 * np.pi * 440 * np.arange(new) / new)[50:-50], atol=2e-3)
    assert len(found) == new and peak < 100e6


def code_of(call: object, *given: object, **named: object) -> tuple[str, type[CosyliteError]]:
    with pytest.raises(CosyliteError) as caught:
        call(*given, **named)  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    return caught.value.code, type(caught.value)


def test_bad_recordings(tmp_path: Path) -> None:
    long, short, silent, text = (tmp_path / name for name in ("long.wav", "short.wav", "silent.wav", "text.wav"))
    soundfile.write(long, np.zeros(600 * 8000, np.int16), 8000)
    soundfile.write(short, tone(0.5, 16000), 16000)
    soundfile.write(silent, np.zeros(32000, np.float32), 16000)
    text.write_text("this is no audio")
    assert code_of(read_recording, long) == ("audio_too_long", InputError)
    assert code_of(read_recording, short) == ("audio_too_short", InputError)
    assert code_of(read_recording, silent) == ("silent_audio", InputError)
    assert code_of(read_recording, text) == ("not_audio", InputError)
    assert code_of(read_recording, io.BytesIO(b"")) == ("not_audio", InputError)
    assert code_of(read_recording, tmp_path / "none.wav") == ("cannot_read", OutputError)
    assert code_of(read_recording, tmp_path) == ("cannot_read", OutputError)
    broken = Recording(np.full(32000, np.nan, np.float32), 16000)
    assert code_of(read_recording, broken) == ("bad_audio", InputError)
    assert code_of(read_recording, Recording(tone(2, 16000, 2), 16000)) == ("bad_audio", InputError)
    assert code_of(read_recording, Recording(tone(2, 16000), 100)) == ("bad_audio", InputError)


@pytest.mark.parametrize("family", FAMILIES)
def test_hearing_a_prompt(family: str, tmp_path: Path) -> None:
    kind = checkpoint(family).config.family
    write_listeners(tmp_path, family, speech_tokens=100)
    settings = FLOW_MELS[kind]
    recording = Recording(tone(2.013, settings.sample_rate), settings.sample_rate)
    heard = Listener(tmp_path, kind).hear(recording)
    mel = prompt_mel(recording.samples, settings).T
    assert heard.speaker.shape == (192,) and np.isfinite(heard.speaker).all()
    assert heard.tokens.min() >= 0 and heard.tokens.max() < 100 and len(set(heard.tokens.tolist())) > 5
    frames = 1 + len(recording.at(16000)) // 160 - 1
    if family == "v1":
        assert len(heard.tokens) == frames // MEL_FRAMES_PER_TOKEN[family] and (heard.mel == mel).all()
    else:
        assert len(heard.tokens) == min(frames // 4, len(mel) // 2) and len(heard.mel) == 2 * len(heard.tokens)
        assert (heard.mel == mel[: len(heard.mel)]).all()


def test_graphs_that_are_missing_or_wrong(tmp_path: Path) -> None:
    recording = Recording(tone(2, 16000), 16000)
    listener = Listener(tmp_path, "v2")
    assert not listener.available
    with pytest.raises(BundleError, match=r"no speech_tokenizer_v2\.onnx; convert the model again"):
        listener.hear(recording)
    write_listeners(tmp_path, "v2")
    assert listener.available
    shutil.copyfile(tmp_path / "campplus.onnx", tmp_path / "speech_tokenizer_v2.onnx")
    assert code_of(Listener(tmp_path, "v2").hear, recording)[0] == "bad_listener"
    (tmp_path / "speech_tokenizer_v2.onnx").write_bytes(b"no graph")
    assert code_of(Listener(tmp_path, "v2").hear, recording)[0] == "bundle_damaged"


def voice(name: str = "Anna") -> PromptVoice:
    """Of v2."""
    rng = np.random.default_rng(1)
    mel, speaker = rng.standard_normal((8, 80), np.float32), rng.standard_normal(192, np.float32)
    return PromptVoice(name, "v2", "你好。", np.array([5, 6], np.int32), np.arange(4, dtype=np.int32), mel, speaker)


def test_voices_are_kept(tmp_path: Path) -> None:
    store = VoiceStore("v2", tmp_path / "voices")
    assert store.names() == [] and "Anna" not in store
    store.save(voice())
    store.save(voice("李 雷-2"))
    found = VoiceStore("v2", tmp_path / "voices").load("Anna")
    assert store.names() == ["Anna", "李 雷-2"] and "Anna" in store
    assert (found.name, found.family, found.transcript) == ("Anna", "v2", "你好。")
    for part in ("text", "tokens", "mel", "speaker"):
        assert (getattr(found, part) == getattr(voice(), part)).all()
    store.remove("Anna")
    assert code_of(store.remove, "Anna") == ("unknown_voice", InputError)
    assert store.names() == ["李 雷-2"]


def test_bad_voice_files(tmp_path: Path) -> None:
    store = VoiceStore("v2", tmp_path)
    path = store.save(voice())
    assert code_of(VoiceStore("v3", tmp_path).load, "Anna") == ("wrong_family", BundleError)
    data = path.read_bytes()
    for damaged in (data[:100], data[:-5], b"", b"\x80\x04}." * 9):
        path.write_bytes(damaged)
        assert code_of(store.load, "Anna") == ("voice_damaged", BundleError)
    assert code_of(store.load, "nobody") == ("cannot_read", OutputError)
    (tmp_path / "file").touch()
    assert code_of(VoiceStore("v2", tmp_path / "file").save, voice()) == ("cannot_write", OutputError)


@pytest.mark.parametrize(
    "name", ["", ".", "../up", "a/b", "a\\b", ".hidden", "x" * 65, "a\n", " a", "a ", "-a", "𠮷" * 64]
)
def test_names_that_voices_cannot_have(name: str, tmp_path: Path) -> None:
    assert code_of(check_name, name) == ("bad_voice_name", InputError)
    assert name not in VoiceStore("v2", tmp_path)


def test_folder_of_voices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(tmp_path))
    assert voices_folder() == tmp_path / "voices"
    monkeypatch.delenv("COSYLITE_CACHE_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert voices_folder() == tmp_path / "data" / "cosylite" / "voices"


def test_convert_copies_what_hears_and_saved_voices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Path(shutil.copytree(ROOT / "v2", tmp_path / "model", ignore=shutil.ignore_patterns("cases")))
    write_listeners(model, "v2", speech_tokens=100)
    assert main(["convert", str(model), "-o", str(tmp_path / "bundle")]) == 0
    assert "voice saved with a prompt" in capsys.readouterr().err
    assert Listener(tmp_path / "bundle", "v2").available
    saved = VoiceStore("v2", tmp_path / "bundle" / "voices")
    stored = {name: entry for name, entry in checkpoint("v2").speakers.items() if "prompt_text" in entry}
    assert saved.names() == sorted(stored) and stored
    for name, entry in stored.items():
        found = saved.load(name)
        assert found.transcribed and (found.text == entry["prompt_text"].numpy()[0]).all()
        assert (found.mel == entry["prompt_speech_feat"].numpy()[0]).all()
        assert (found.tokens == entry["llm_prompt_speech_token"].numpy()[0]).all()
        assert (found.speaker == entry["llm_embedding"].numpy()[0]).all()
