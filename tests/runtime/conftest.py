"""The tiny bundle and engines that speak with it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cosylite import TTS

TINY = Path(__file__).parents[1] / "assets" / "tiny"


@pytest.fixture(scope="session")
def tiny() -> Path:
    return TINY


@pytest.fixture(scope="session")
def tts() -> TTS:
    return TTS(TINY, device="cpu", threads=1)


@pytest.fixture
def own_tts() -> TTS:
    """An engine that a test may break."""
    return TTS(TINY, device="cpu", threads=1)


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., Path]:
    """Copies the tiny bundle and changes keys of its manifest, given as paths like `mel.bands`."""

    def make(**changes: object) -> Path:
        folder = tmp_path / "bundle"
        shutil.copytree(TINY, folder)
        manifest = json.loads((folder / "bundle.json").read_text())
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = manifest
            for key in parents:
                place = place[key]
            if value is None:
                del place[last]
            else:
                place[last] = value
        (folder / "bundle.json").write_text(json.dumps(manifest))
        return folder

    return make
