"""Checkpoints of the released shapes, with random weights, load and run. Slow: 4 GB of memory and disk a family."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from cosylite.lab.checkpoints import load_checkpoint
from cosylite.lab.models.stages import TorchTokenModel, control_ids
from cosylite.runtime.family.decode import Limits, Prompt, decode
from cosylite.runtime.family.sampling import greedy

from .golden import FAMILIES, SHAPES
from .test_checkpoints import FIXTURES, QWEN, YAML

pytestmark = pytest.mark.slow


@pytest.fixture
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A folder as a release has it: settings in the official tags, and every tensor of the released tables."""
    family, folder = request.param, tmp_path / "release"
    (folder / "CosyVoice-BlankEN").mkdir(parents=True)
    shutil.copy(FIXTURES / YAML[family], folder)
    (folder / "CosyVoice-BlankEN" / "config.json").write_text(json.dumps(QWEN))
    draw = torch.Generator().manual_seed(1)
    networks = json.loads((SHAPES / f"{family}_official.json").read_text())["networks"]
    for name, table in networks.items():
        tensors = {key: 0.02 * torch.randn(t["shape"], generator=draw) for key, t in table["keys"].items()}
        torch.save(tensors, folder / f"{name}.pt")
        del tensors
    yield family, folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("release", FAMILIES, indirect=True)
def test_released_shapes_load_and_run(release: tuple[str, Path]) -> None:
    _, folder = release
    model = load_checkpoint(folder).model
    lm = TorchTokenModel(model.lm, control_ids(model.config.family, model.config.lm.speech_tokens))
    given = Prompt([1, 2, 3], embedding=np.ones((1, 192), np.float32))
    with torch.inference_mode():
        tokens = list(decode(lm, given, greedy, Limits(0.0, 1.0)))
        mel = torch.randn(1, 80, 4)
        source = model.vocoder.excite(model.vocoder.pitch(mel), torch.rand(1, 4 * 480, 9))
        wave = model.vocoder.decode(mel, source[..., : 4 * model.config.vocoder.samples_per_frame])
    assert len(tokens) <= 3
    assert wave.shape[-1] == 4 * model.config.vocoder.samples_per_frame and torch.isfinite(wave).all()
