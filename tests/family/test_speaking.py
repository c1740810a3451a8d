"""Preset speakers of CosyVoice 1 through the façade and the command line, on the toy."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from cosylite import TTS
from cosylite.cli import main
from cosylite.errors import BundleError, InputError
from cosylite.runtime.family.engine import FamilyEngine
from cosylite.runtime.family.flow import target_frames
from cosylite.runtime.family.sampling import race, repetition_aware

from .golden import ROOT, checkpoint

TEXT = "Ab cd."
LONGER = "One sentence that is long enough to be alone, with words and words. " * 3


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the toy, with two preset speakers, and one saved with a prompt, who is left out."""
    folder = tmp_path_factory.mktemp("bundles")
    model = shutil.copytree(ROOT / "v1", folder / "model", ignore=shutil.ignore_patterns("cases"))
    speakers = {name: {"embedding": vector} for name, vector in vectors().items()}
    torch.save(speakers | {"cloned": {"flow_embedding": torch.zeros(1, 192)}}, model / "spk2info.pt")
    assert main(["convert", str(model), "-o", str(folder / "sft"), "-q"]) == 0
    return folder / "sft"


@pytest.fixture(scope="module")
def tts(bundle: Path) -> TTS:
    return TTS(bundle, device="cpu", threads=1)


def vectors() -> dict[str, torch.Tensor]:
    """Speaker vectors by name."""
    (vector,) = [entry["embedding"] for entry in checkpoint("v1").speakers.values() if "embedding" in entry][:1]
    return {"中文女": vector, "英文男": -vector.flip(-1)}


def presets() -> list[str]:
    return list(vectors())


def test_voices(tts: TTS) -> None:
    assert [voice.name for voice in tts.voices] == presets()
    assert tts.sample_rate == checkpoint("v1").config.sample_rate


def test_say_is_the_chain_of_the_stages(tts: TTS) -> None:
    """Segment, ids, tokens, mel and waveform, done by hand from the speaker vector of the checkpoint."""
    assert isinstance(tts.speaker, FamilyEngine)
    model, name = tts.speaker.model, presets()[-1]
    embedding = vectors()[name].numpy()
    ids = tts.speaker.reading.encode(TEXT)
    chance = race(np.random.default_rng([7, 0]))
    sampler = repetition_aware(model.lm.spec.sampling, chance)
    tokens = model.lm.decode(ids, embedding=embedding, sampler=sampler)
    assert 2 * len(ids) <= len(tokens) <= 20 * len(ids)
    spec = model.manifest.vocoder.source
    frames = target_frames(len(tokens), 50, tts.sample_rate, spec.samples_per_frame)
    none, empty = np.zeros((1, 0), np.int64), np.zeros((1, 0, 80), np.float32)
    mel = model.flow(np.array([tokens]), none, empty, embedding, model.noises.flow(frames, 7))
    noise = model.noises.source(0, frames * spec.samples_per_frame, 7)
    wave = model.vocoder(mel, model.vocoder.excite(mel, noise, model.noises.phases(7)))[0]
    speech = tts.say(TEXT, voice=name, seed=7, trim=False)
    assert speech.samples.shape == wave.shape == (frames * spec.samples_per_frame,)
    quiet = np.abs(wave) < 0.9
    np.testing.assert_allclose(speech.samples[quiet], wave[quiet], atol=1e-5)
    assert [s.text for s in speech.sentences] == [TEXT] and speech.sentences[0].end == speech.duration


def test_seed_voice_and_speed(tts: TTS) -> None:
    first = tts.say(TEXT, seed=1, trim=False)
    assert (tts.say(TEXT, seed=1, trim=False, voice=presets()[0]).samples == first.samples).all()
    for other in (tts.say(TEXT, seed=2, trim=False), tts.say(TEXT, seed=1, trim=False, voice=presets()[1])):
        assert other.samples.shape != first.samples.shape or not np.allclose(other.samples, first.samples, atol=1e-3)
    twice = tts.say(TEXT, seed=1, trim=False, speed=2.0)
    assert abs(twice.duration - first.duration / 2) <= 256 / tts.sample_rate
    assert np.abs(tts.say(TEXT, seed=1, volume=0.1).samples).max() < 0.1


def test_segments_stream_and_join(tts: TTS) -> None:
    chunks = list(tts.stream(LONGER, seed=3))
    assert len(chunks) > 1 and [chunk.is_last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    whole = tts.say(LONGER, seed=3)
    assert (np.concatenate([chunk.samples for chunk in chunks]) == whole.samples).all()
    assert [s.text for s in whole.sentences] == [s.text for chunk in chunks for s in chunk.sentences]
    gap = round(whole.sentences[0].end * tts.sample_rate)
    assert not whole.samples[gap : gap + tts.sample_rate // 5].any()


def test_text_in_pieces_is_spoken_sentence_by_sentence(tts: TTS) -> None:
    """However it is cut; the first sentence before there is more."""
    taken: list[str] = []

    def pieces(size: int) -> Iterator[str]:
        for at in range(0, len(LONGER), size):
            taken.append(LONGER[at : at + size])
            yield taken[-1]

    found = [list(tts.stream(pieces(size), seed=3)) for size in (7, 50)]
    joined = [np.concatenate([chunk.samples for chunk in chunks]) for chunks in found]
    assert (joined[0] == joined[1]).all() and found[0][-1].is_last
    assert len([s for chunk in found[0] for s in chunk.sentences]) == 3
    taken.clear()
    stream = tts.stream(pieces(10), seed=3)
    assert (next(stream).samples == found[0][0].samples).all()
    stream.close()


def failing(tts: TTS, code: str, text: str = TEXT, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        tts.say(text, **options)  # type: ignore[arg-type]
    assert caught.value.code == code
    return str(caught.value)


def test_bad_requests(tts: TTS) -> None:
    assert presets()[0] in failing(tts, "unknown_voice", voice="nobody")
    assert "<|en|>" in failing(tts, "unknown_piece", "<|en|>hello")
    for text in ("", "   ", "?!"):
        failing(tts, "empty_text", text)
    failing(tts, "out_of_range", low_pass=11_500.0)
    with pytest.raises(InputError, match="leave out chunk_frames"):
        tts.stream(TEXT, chunk_frames=10)


def test_what_these_bundles_do_not_take(bundle: Path, tts: TTS) -> None:
    with pytest.raises(InputError, match="take no lexicon"):
        TTS(bundle, lexicon={"a": "b"})
    with pytest.raises(InputError, match="take no devices"):
        TTS(bundle, devices={"flow": "cpu"})
    with pytest.raises(InputError, match="threads"):
        TTS(bundle, threads=0)
    with pytest.raises(BundleError, match="nano bundles only"):
        _ = tts.engine


def test_a_bundle_without_preset_speakers(bundle: Path, tmp_path: Path) -> None:
    bare = Path(shutil.copytree(bundle, tmp_path / "bare"))
    manifest = json.loads((bare / "bundle.json").read_text("utf-8"))
    manifest["voices"] = []
    del manifest["files"]["voices.npy"]
    (bare / "voices.npy").unlink()
    (bare / "bundle.json").write_text(json.dumps(manifest), "utf-8")
    tts = TTS(bare, threads=1)
    assert tts.voices == ()
    assert "cosylite voice add" in failing(tts, "no_voice")


def test_command_line(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wave = tmp_path / "a.wav"
    model = ["--bundle", str(bundle), "--device", "cpu", "--threads", "1"]
    assert (
        main(["say", TEXT, *model, "--voice", presets()[1], "-q", "-o", str(wave), "--srt", str(tmp_path / "a.srt")])
        == 0
    )
    samples, rate = soundfile.read(wave, dtype="float32")
    assert rate == 22050 and len(samples) > 1000 and TEXT in (tmp_path / "a.srt").read_text()
    assert main(["voices", "--bundle", str(bundle)]) == 0
    assert capsys.readouterr().out.split("\n")[:-1] == presets()
    assert main(["say", TEXT, *model, "--voice", "nobody", "-o", str(wave)]) == 2
    assert "voices of this bundle" in capsys.readouterr().err


def test_installed_bundles_are_listed(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(tmp_path))
    shutil.copytree(bundle, tmp_path / "bundles" / "sft")
    assert main(["bundles", "--json"]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["bundles"]}["sft"]
    assert found["family"] == "v1" and found["voices"] == presets() and found["problem"] is None
