"""The five lines of the README, and what an import costs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import soundfile

from cosylite import TTS


def test_five_lines(tmp_path: Path, tiny: Path) -> None:
    tts = TTS(tiny)
    audio = tts.say("안녕하세요")
    audio.save(tmp_path / "a.wav")
    played = [chunk.samples for chunk in tts.stream("Hello there.", voice="jm_tiny", speed=1.1)]
    assert [voice.name for voice in tts.voices]

    samples, rate = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert rate == audio.sample_rate == 24000
    np.testing.assert_allclose(samples, audio.samples, atol=1e-4)
    assert sum(map(len, played)) > 0


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, cosylite; print(sorted({'torch', 'onnxruntime', 'soundfile', 'soxr', 'scipy'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_speaking_needs_no_torch(tiny: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import cosylite;"
        f"print(len(cosylite.TTS({str(tiny)!r}).say('hello').samples) > 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True"
