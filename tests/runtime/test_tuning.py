"""Engines behind one switch, CUDA-graph replay on buffers of the processor, and remembered settings."""

import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from cosylite.cli import main
from cosylite.errors import BundleError, DeviceError
from cosylite.runtime import openvino_engine, tuning
from cosylite.runtime.bundle import bundles_folder, load_bundle
from cosylite.runtime.cuda_graph import MOST_SHAPES, ReplaySession
from cosylite.runtime.engine import load_engine
from cosylite.runtime.nano import NanoModel, Reading, Voicing, render_batch
from cosylite.runtime.sessions import choose_device
from cosylite.runtime.tuning import Setting, Trial

TINY = Path(__file__).parents[1] / "assets" / "tiny"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("device", ["tensorrt", "cuda", "cuda-graph"])
def test_engines_that_are_not_here_are_refused(device: str) -> None:
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError, match="pip install onnxruntime-gpu"):
        choose_device(device)


def test_openvino_is_refused_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino_engine, "available", lambda: False)
    with pytest.raises(DeviceError, match=r"cosylite\[openvino\]"):
        choose_device("openvino")


@pytest.mark.parametrize("device", ["openvino", "openvino-bf16"])
def test_openvino_says_what_onnx_runtime_says(device: str) -> None:
    pytest.importorskip("openvino")
    bundle = load_bundle(TINY)
    reading = Reading(" həlˈO. ", 0)
    said = []
    for engine in ("cpu", device):
        model = NanoModel(bundle, device=engine, threads=1)
        assert model.flow.device == engine
        said.append(render_batch(model, model.plan([reading]), [Voicing()])[0])
    assert said[0].shape == said[1].shape and np.isfinite(said[1]).all()
    loud = float(np.abs(said[0]).max())
    if device == "openvino":
        assert float(np.abs(said[0] - said[1]).max()) < 1e-3 * loud
    else:  # voicing may flip where the toy is undecided
        assert 0 < float(np.median(np.abs(said[0] - said[1]))) < 0.1 * loud


def test_replay_gives_what_a_plain_session_gives() -> None:
    """The same code with buffers on the processor, where nothing is recorded."""
    path = load_bundle(TINY).file("flow.onnx")
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    replay = ReplaySession(session, "cpu")
    rng = np.random.default_rng(0)
    for round_ in range(3):
        for frames in (3, 7):
            feeds = {
                i.name: rng.normal(
                    size=[s if isinstance(s, int) else (1 if s == "batch" else frames) for s in i.shape]
                ).astype(np.float32)
                for i in session.get_inputs()
            }
            wanted = session.run(["next_state", "velocity"], feeds)
            for a, b in zip(replay.run(["next_state", "velocity"], feeds), wanted, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-6, err_msg=str(round_))
    assert len(replay._recordings) == 2 < MOST_SHAPES


def test_the_fastest_setting_within_the_budget_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = {4: 0.04, 2: 0.02, 1: 0.01}
    sounds = {4: 0.0, 2: 0.1, 1: 0.9}

    def speak(model: NanoModel, readings: object, plans: object) -> tuple[list[np.ndarray], float]:
        steps = len(model.times) - 1
        return [np.full((2, 3), sounds[steps], np.float32)], speeds[steps]

    monkeypatch.setattr(tuning, "_speak", speak)
    bundle = load_bundle(TINY)
    settings = [Setting("cpu", 1, steps) for steps in (4, 2, 1)]
    assert tuning.tune(bundle, settings, 0.2).setting.steps == 2
    assert tuning.tune(bundle, settings, 0.0).setting.steps == 4
    with pytest.raises(BundleError):
        tuning.tune(bundle, settings, -1.0)


def test_a_setting_is_remembered_and_used() -> None:
    bundle = load_bundle(bundles_folder() / "nano")
    assert tuning.remembered(bundle) is None
    path = tuning.remember(bundle, Trial(Setting("cpu", 1, 2), 0.01, 0.02))
    assert tuning.remembered(bundle) == Setting("cpu", 1, 2)
    engine = load_engine("nano")
    assert engine.model.flow.threads == 1 and len(engine.model.times) == 3
    assert load_engine("nano", threads=2).model.flow.threads == 2
    kept = json.loads(path.read_text())
    kept[bundle.manifest.revision] = {"another machine": kept[bundle.manifest.revision].popitem()[1]}
    path.write_text(json.dumps(kept))
    assert tuning.remembered(bundle) is None
    path.write_text("broken")
    assert tuning.remembered(bundle) is None
    for setting in ({"threads": "1"}, {"threads": 1.5}, {"steps": 0}, {"device": ["cpu"]}, {"device": "abacus"}, 3):
        one = {"device": "cpu", "threads": 1, "steps": 2} | setting if isinstance(setting, dict) else setting
        path.write_text(json.dumps({bundle.manifest.revision: {tuning.machine(): {"setting": one}}}))
        assert tuning.remembered(bundle) is None
    path.write_text(json.dumps({bundle.manifest.revision: ["no", "settings"]}))
    assert tuning.remembered(bundle) is None
    tuning.remember(bundle, Trial(Setting("cpu", 1, 2), 0.01, 0.02))
    assert tuning.remembered(bundle) == Setting("cpu", 1, 2)


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tuning, "settings_here", lambda bundle, processors: [Setting("cpu", 1, 4), Setting("cpu", 1, 2)]
    )
    assert main(["tune", "--budget", "5", "--dry-run"]) == 0
    assert "fastest within 5" in capsys.readouterr().out
    assert main(["tune", "--budget", "-1"]) == main(["tune", "--budget", "nan"]) == 2
