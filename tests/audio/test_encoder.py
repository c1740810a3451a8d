"""Encoding streams and files."""

import io
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cosylite.audio.encoder import Encoder
from cosylite.audio.files import AudioFile, write_file
from cosylite.audio.formats import FORMATS, format_of
from cosylite.audio.interrupts import interrupts_deferred
from cosylite.audio.values import Speech
from cosylite.errors import InputError, OutputError

RATE = 24000


def tone(seconds: float = 2.0, hz: float = 440.0) -> np.ndarray:
    return (0.4 * np.sin(2 * np.pi * hz * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def read(data: bytes | str | os.PathLike[str], name: str, rate: int = RATE) -> tuple[np.ndarray, int]:
    raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    if name == "pcm":
        return np.frombuffer(raw, "<i2").astype(np.float32) / 32767, rate
    if name == "flac" and not any(raw[22:26]):
        # A stream does not tell its length, which every player takes, but not the library used here.
        raw = raw[:22] + (2 * RATE).to_bytes(4, "big") + raw[26:]
    samples, found = soundfile.read(io.BytesIO(raw), dtype="float32")
    return samples, found


def pieces(samples: np.ndarray, size: int = 1013) -> list[np.ndarray]:
    return [samples[i : i + size] for i in range(0, len(samples), size)]


def dominant_hz(samples: np.ndarray, rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * rate / len(samples))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_stream_decodes_to_what_went_in(name: str) -> None:
    encoder = Encoder(name, RATE)
    parts = [encoder.encode(part) for part in pieces(tone())]
    assert sum(map(len, parts)) > 0, "nothing came out before the end"
    data = b"".join(parts) + encoder.close()
    assert encoder.close() == b""
    samples, rate = read(data, name)
    assert rate == encoder.sample_rate == RATE
    assert len(samples) == pytest.approx(2 * RATE, abs=3000)
    assert dominant_hz(samples, rate) == pytest.approx(440, abs=2)
    if name in ("wav", "flac", "pcm"):
        np.testing.assert_allclose(samples, tone(), atol=1e-4)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_file_decodes_to_what_went_in(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    Speech(tone(), RATE).save(path)
    samples, rate = read(path, name)
    assert rate == RATE
    assert dominant_hz(samples, rate) == pytest.approx(440, abs=2)


def test_floats_survive_exactly() -> None:
    encoder = Encoder("wav", RATE, float32=True)
    data = encoder.encode(tone()) + encoder.close()
    np.testing.assert_array_equal(soundfile.read(io.BytesIO(data), dtype="float32")[0], tone())


@pytest.mark.parametrize(
    ("name", "rate", "expected"), [("opus", 22050, 24000), ("mp3", 22050, 22050), ("wav", 8000, 8000)]
)
def test_rates_that_a_codec_lacks_are_resampled(name: str, rate: int, expected: int) -> None:
    encoder = Encoder(name, RATE, output_sample_rate=rate)
    assert encoder.sample_rate == expected
    data = b"".join(encoder.encode(part) for part in pieces(tone())) + encoder.close()
    samples, found = read(data, name)
    assert found == expected
    assert len(samples) / found == pytest.approx(2.0, abs=0.15)
    assert dominant_hz(samples, found) == pytest.approx(440, abs=2)


def test_samples_beyond_full_scale_are_clipped_not_wrapped() -> None:
    encoder = Encoder("pcm", RATE)
    assert np.frombuffer(encoder.encode(np.array([2.0, -2.0, 1.0], np.float32)), "<i2").tolist() == [
        32767,
        -32768,
        32767,
    ]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_interrupted_file_is_playable(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    with pytest.raises(KeyboardInterrupt), AudioFile(path, RATE) as file:
        for i, part in enumerate(pieces(tone(3.0), 4800)):
            if i == 10:
                raise KeyboardInterrupt
            file.write(part)
    samples, rate = read(path, name)
    assert len(samples) / rate == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("name", ["wav", "pcm", "flac", "mp3"])
def test_file_is_playable_without_being_closed(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    file = AudioFile(path, RATE)
    for part in pieces(tone(3.0), 4800):
        file.write(part)
    copy = tmp_path / f"copy.{name}"
    copy.write_bytes(path.read_bytes())
    file.close()
    samples, rate = read(copy, name)
    assert len(samples) / rate > 1.9


def test_unknown_formats_name_the_known_ones() -> None:
    with pytest.raises(InputError, match="wav, flac, mp3"):
        Encoder("midi", RATE)
    with pytest.raises(InputError, match=r"\.wav"):
        format_of("speech.docx")
    assert format_of("A.WAV").name == "wav"
    assert format_of("x.raw").name == "pcm"


def test_unwritable_path_is_one_clear_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "a.wav"):
        with pytest.raises(OutputError) as caught:
            write_file(path, tone(), RATE, "wav")
        assert caught.value.exit_code == 5
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "opus", "pcm"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_is_one_clear_error(name: str) -> None:
    with pytest.raises(OutputError, match="disk is full"), AudioFile("/dev/full", RATE, name) as file:
        for part in pieces(tone(3.0)):
            file.write(part)


def test_full_disk_keeps_what_was_written(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path, limits = tmp_path / "a.wav", resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_001, limits[1]))
    try:
        with pytest.raises(OutputError, match="cannot write"), AudioFile(path, RATE) as file:
            for part in pieces(tone(3.0), 4800):
                file.write(part)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    samples, _ = soundfile.read(path, dtype="float32")
    assert len(samples) >= 20_000
    np.testing.assert_allclose(samples[:20_000], tone(3.0)[:20_000], atol=1e-4)


def test_nothing_is_opened_before_the_first_samples(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(b"precious")
    with AudioFile(path, RATE):
        pass
    assert path.read_bytes() == b"precious"


def test_pipe_gets_a_stream(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    import threading

    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    write_file(fifo, tone(), RATE, "wav")
    reader.join()
    samples, _ = soundfile.read(io.BytesIO(got[0]), dtype="float32")
    np.testing.assert_allclose(samples, tone(), atol=1e-4)


def test_an_interrupt_during_encoding_is_not_lost() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # under nohup it is ignored
    try:
        with pytest.raises(KeyboardInterrupt), interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            after = True
        assert after
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
