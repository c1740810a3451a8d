"""The same path on toys of the CosyVoice family: guidance removal, training with fake quantisation, bundles."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from cosylite.errors import BundleError, InputError
from cosylite.lab.checkpoints import Checkpoint, load_checkpoint
from cosylite.lab.compress import compress, family, family_flow
from cosylite.lab.compress.fake import FakeQuantLinear
from cosylite.lab.compress.recipe import FakeQuantisation, FewSteps, GuidanceRemoval, Training, parse_recipe
from cosylite.lab.models.flow import guided
from cosylite.runtime import load

TOYS = Path(__file__).parents[2] / "golden" / "public"
SHORT = {"steps": 2}


@pytest.fixture(scope="module", params=["v1", "v2", "v3"])
def toy(request: pytest.FixtureRequest) -> Checkpoint:
    return load_checkpoint(TOYS / request.param)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    rows = [
        {"text": " ".join(map(str, rng.integers(1, 90, 6))), "speech_tokens": rng.integers(0, 100, 24).tolist()}
        for _ in range(3)
    ]
    path = tmp_path_factory.mktemp("data") / "manifest.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


def lessons(toy: Checkpoint) -> list[family_flow.Lesson]:
    torch.manual_seed(0)
    size = toy.config.flow.speaker_size
    return [
        family_flow.Lesson(torch.randint(1, 90, (6,)), torch.randint(0, 100, (24,)), torch.randn(size))
        for _ in range(2)
    ]


def guidance_error(toy: Checkpoint, student: Checkpoint, taught: list[family_flow.Lesson]) -> float:
    """How far one row of the student's flow is from the guided rows of the teacher's, on fixed paths."""
    torch.manual_seed(7)
    with torch.no_grad():
        paths = [family_flow.walk(toy.model.flow, lesson, 4) for lesson in taught]
        return sum(float(family_flow.imitate(student.model.flow, path, 0.0, 4)) for path in paths)


def test_a_flow_without_guidance(toy: Checkpoint, tmp_path: Path) -> None:
    single = family_flow.remove_guidance(toy, GuidanceRemoval(Training(steps=2)), lessons(toy), tmp_path, 0)
    assert single.config.flow.guidance == 0 and toy.config.flow.guidance > 0
    assert single.model.flow.encoder is not toy.model.flow.encoder


def test_guidance_removal_learns_what_guidance_gave(tmp_path: Path) -> None:
    toy = load_checkpoint(TOYS / "v3")
    single = family_flow.remove_guidance(toy, GuidanceRemoval(Training(steps=40, rate=5e-4)), lessons(toy), tmp_path, 0)
    assert guidance_error(toy, single, lessons(toy)) < 0.6 * guidance_error(toy, toy, lessons(toy))


def test_fewer_steps_land_closer(tmp_path: Path) -> None:
    toy, taught = load_checkpoint(TOYS / "v3"), lessons(load_checkpoint(TOYS / "v3"))
    quick = family_flow.distil_steps(
        toy, FewSteps(1, teacher_steps=4, training=Training(40, rate=5e-4)), taught, tmp_path, 0
    )
    before = after = 0.0
    torch.manual_seed(3)
    with torch.no_grad():
        for lesson in taught:
            path = family_flow.walk(toy.model.flow, lesson, 4)
            for flow in (toy.model.flow, quick.model.flow):
                velocity = guided(flow.estimator, path.points[0], 0.0, path.given, flow.config.guidance, path.streaming)
                error = float((path.points[0] + velocity - path.points[-1]).square().mean())
                before, after = (before + error, after) if flow is toy.model.flow else (before, after + error)
    assert after < 0.8 * before
    with pytest.raises(InputError, match="average_velocity"):
        family_flow.distil_steps(toy, FewSteps(1, "none"), taught, tmp_path, 0)


def test_fake_quantisation_reaches_language_model_and_flow(toy: Checkpoint, tmp_path: Path) -> None:
    how = FakeQuantisation(Training(steps=2, rate=1e-4), activations="dynamic")
    trained = family.fine_tune(toy, how, lessons(toy), tmp_path, 0)
    for part in ("lm", "flow"):
        old, new = getattr(toy.model, part), getattr(trained.model, part)
        assert not any(isinstance(m, FakeQuantLinear) for m in new.modules())
        assert old.state_dict().keys() == new.state_dict().keys()
        assert any(not torch.equal(v, new.state_dict()[k]) for k, v in old.state_dict().items())
    with pytest.raises(InputError, match="scale per row"):
        family.fine_tune(toy, FakeQuantisation(how.training), lessons(toy), tmp_path, 0)


def test_recipes_on_a_checkpoint(data: Path, tmp_path: Path) -> None:
    recipe = parse_recipe(
        {
            "name": "small",
            "guidance": {"training": SHORT},
            "steps": {"steps": 2, "teacher_steps": 4, "training": SHORT},
            "fake": {"training": SHORT, "activations": "dynamic", "layers": ["lm.*", "flow.estimator.*"]},
            "family_precision": "int8",
        }
    )
    measured = compress(TOYS / "v2", recipe, tmp_path / "out", data=data, work=tmp_path / "work")
    assert measured["differences"]["estimator"]["relative"] < 0.2
    manifest = json.loads((tmp_path / "out" / "bundle.json").read_text("utf-8"))
    assert manifest["flow"]["guidance"] == 0
    assert load(tmp_path / "out", threads=1).lm.decode([5, 6, 7], sampler="greedy")


def test_a_float_bundle_can_be_quantised(tmp_path: Path) -> None:
    compress(TOYS / "v2", parse_recipe({"name": "float"}), tmp_path / "float", work=tmp_path)
    recipe = parse_recipe({"name": "q", "quantise": [{"method": "dynamic", "layers": ["lm.*"]}]})
    compress(tmp_path / "float", recipe, tmp_path / "small", work=tmp_path)
    kinds = [node.op_type for node in onnx.load(str(tmp_path / "small" / "lm.onnx")).graph.node]
    assert kinds.count("MatMulInteger") > 10
    assert load(tmp_path / "small", threads=1).lm.decode([5, 6, 7], sampler="greedy")
    everything = parse_recipe({"name": "q", "quantise": [{"method": "dynamic"}]})
    compress(tmp_path / "float", everything, tmp_path / "all", work=tmp_path)
    with pytest.raises(BundleError, match="quantised already"):
        compress(tmp_path / "all", everything, tmp_path / "again", work=tmp_path)


@pytest.mark.parametrize(
    ("recipe", "problem"),
    [
        ({"prune": {"hidden": 0.5}}, "prune is for nano"),
        ({"quantise": [{"method": "static"}]}, "static int8 is for nano"),
        ({"guidance": {"training": SHORT}}, "needs rows with speech_tokens"),
        ({"quantise": [{"method": "dynamic"}]}, "by family_precision"),
    ],
)
def test_what_a_checkpoint_cannot_have(tmp_path: Path, recipe: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        compress(TOYS / "v2", parse_recipe({"name": "r"} | recipe), tmp_path / "out", work=tmp_path)
