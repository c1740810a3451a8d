"""What v1 knows of distances, and what is worked out when a bundle is loaded."""

from pathlib import Path

import numpy as np
import pytest

from cosylite.errors import BundleError
from cosylite.lab.export.family import export_family
from cosylite.lab.models.stages import TorchTokenModel, control_ids
from cosylite.runtime.family.model import USUAL_STEPS, FamilyModel, load_family
from cosylite.runtime.family.places import LEAST, Places

from .golden import checkpoint, close


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("places") / "v1"
    export_family(checkpoint("v1"), path, name="toy-v1")
    return path


@pytest.fixture
def bundle(folder: Path) -> FamilyModel:
    return load_family(folder, threads=1)


def test_far_distances(bundle: FamilyModel) -> None:
    """Beyond the distances that are worked out at first, fed at once and one by one."""
    model = checkpoint("v1").model
    theirs = TorchTokenModel(model.lm, control_ids("v1", model.config.lm.speech_tokens))
    draw = np.random.default_rng(0)
    rows = theirs.speech([int(i) for i in draw.integers(0, model.config.lm.speech_tokens, LEAST + 60)])
    memory, cache = bundle.lm.open(0), theirs.open(len(rows))
    near = LEAST - 2
    close("v1 far distances", bundle.lm.feed(rows[:near], memory), theirs.feed(rows[:near], cache), 1e-4)
    for i in range(near, near + 4):
        close("v1 far distances", bundle.lm.feed(rows[i : i + 1], memory), theirs.feed(rows[i : i + 1], cache), 1e-4)
    close("v1 far distances", bundle.lm.feed(rows[near + 4 :], memory), theirs.feed(rows[near + 4 :], cache), 1e-4)


def test_distances_are_cut_and_grow(bundle: FamilyModel) -> None:
    places = bundle.lm.places
    assert isinstance(places, Places)
    far, near, again = places.feeds(LEAST + 64), places.feeds(64), places.feeds(LEAST + 64)
    for name, values in far.items():
        assert values.shape[-1] == LEAST + 64 and near[name].shape[-1] == 64 and near[name].flags.c_contiguous
        assert np.array_equal(values[..., :64], near[name]) and np.array_equal(values, again[name])


def test_usual_steps_need_no_graph(folder: Path, bundle: FamilyModel) -> None:
    """Its weights would be loaded on top of everything else."""
    mel, spec = np.zeros((1, 0, bundle.flow.spec.mel), np.float32), bundle.flow.spec
    noise = np.zeros((1, spec.mel, 100), np.float32)
    given = np.array([[1, 2, 3, 4]]), np.zeros((1, 0), np.int64), mel, np.ones((1, 192), np.float32), noise
    graph = folder / "time.onnx"
    kept = graph.read_bytes()
    graph.unlink()
    try:
        for steps in USUAL_STEPS:
            assert np.isfinite(bundle.flow(*given, steps=steps)).all()
        with pytest.raises(BundleError, match=r"time\.onnx"):
            bundle.flow(*given, steps=3)
    finally:
        graph.write_bytes(kept)
