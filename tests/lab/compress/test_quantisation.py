"""Post-training quantisation: graphs are what they claim to be, calibration does what it says, budgets hold."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from cosylite.cli import main
from cosylite.errors import BundleError, InputError
from cosylite.lab.compress import compress, ptq
from cosylite.lab.compress.calibrate import Range, Watched, find_range
from cosylite.lab.compress.data import read_manifest
from cosylite.lab.compress.measure import Reference, fused_nodes
from cosylite.lab.compress.recipe import Calibration, Rule, Selection, parse_recipe
from cosylite.lab.compress.session import with_graphs, with_networks
from cosylite.lab.compress.source import NanoSource, read_graphs
from cosylite.runtime.bundle import load_bundle
from cosylite.runtime.nano import NanoModel

STATIC = {"name": "s", "quantise": [{"method": "static"}], "calibration": {"sentences": 3}}


@pytest.fixture(scope="module")
def graphs(source: NanoSource) -> dict[str, onnx.ModelProto]:
    return read_graphs(source.graphs)


@pytest.fixture(scope="module")
def reference(source: NanoSource) -> Reference:
    return Reference.of(source.model(), source.readings()[:3])


@pytest.fixture(scope="module")
def static(source: NanoSource, graphs: dict[str, onnx.ModelProto]) -> ptq.Plan:
    ranges = ptq.calibrated(source.model(), graphs, source.readings()[:3], Calibration(), 0)
    return ptq.Plan(ptq.methods_of(graphs, (Rule("static"),)), ranges)


def test_layers_have_the_names_of_their_modules(graphs: dict[str, onnx.ModelProto]) -> None:
    names = ptq.layers_of(graphs)
    assert len(set(names)) == len(names)
    assert {"text.layers.0.qkv", "flow.stack.blocks.1.gather", "vocoder.hops.blocks.0.spread"} <= set(names)
    assert "vocoder.envelope" in names


def test_pytorch_and_the_float_bundle_say_the_same(source: NanoSource, reference: Reference) -> None:
    assert source.networks is not None
    assert reference.distance(with_networks(source.bundle(), source.networks)) < 1e-3


@pytest.mark.parametrize("method", ["dynamic", "static"])
def test_int8_is_near_the_float_model(
    source: NanoSource, graphs: dict[str, onnx.ModelProto], reference: Reference, static: ptq.Plan, method: str
) -> None:
    plan = static if method == "static" else ptq.Plan(ptq.methods_of(graphs, (Rule("dynamic"),)))
    small = ptq.apply(graphs, plan)
    assert not ptq.layers_of(small)
    assert sum(g.ByteSize() for g in small.values()) < 0.6 * sum(g.ByteSize() for g in graphs.values())
    assert 0 < reference.distance(with_graphs(source.bundle(), small)) < 0.3


def test_static_products_are_fused_to_integer_ones(graphs: dict[str, onnx.ModelProto], static: ptq.Plan) -> None:
    """Counted in what ONNX Runtime really runs: only the products of one row (the time) stay in float."""
    before, after = fused_nodes(ptq.apply(graphs, static)["flow"])
    assert before["MatMul"] == len(static.ranges["flow"]) and after["MatMul"] == 0
    assert after["MatMulIntegerToFloat"] + after["Gemm"] == before["MatMul"] and after["Gemm"] <= 2
    assert sum(after.values()) < sum(before.values()) - 2 * before["MatMul"]


def test_rules_name_layers(graphs: dict[str, onnx.ModelProto], static: ptq.Plan) -> None:
    rules = (Rule("static"), Rule("fp32", ("vocoder.*",)), Rule("dynamic", ("*.guess.*",)))
    methods = ptq.methods_of(graphs, rules)
    small = ptq.apply(graphs, dataclasses.replace(static, methods=methods))
    assert ptq.layers_of(small) == ptq.layers_of({"vocoder": graphs["vocoder"]})
    kinds = [n.op_type for n in small["flow"].graph.node]
    assert kinds.count("MatMulInteger") == 2 and "QuantizeLinear" in kinds
    with pytest.raises(InputError, match="matches nothing"):
        ptq.methods_of(graphs, (Rule("static", ("wave.*",)),))


def test_calibration_methods() -> None:
    watched = Watched()
    rng = np.random.default_rng(0)
    watched.add(np.append(rng.normal(0, 1, 2000), 40.0).astype(np.float32), rng)
    widest = find_range(watched, Calibration("min_max"))
    assert widest.scale == pytest.approx((40 - watched.low) / 255, rel=1e-5)
    for method in ("percentile", "entropy"):
        levels = find_range(watched, Calibration(method, percentile=99.5))
        assert levels.scale < 0.3 * widest.scale and levels.scale * 255 > 4, method
        assert 60 < levels.zero < 190, method

    def cost(levels: Range) -> float:
        values = watched.values()
        rounded = np.clip(np.rint(values / levels.scale) + levels.zero, 0, 255) - levels.zero
        return float(np.square(rounded * levels.scale - values).mean())

    others = [cost(find_range(watched, Calibration(m))) for m in ("min_max", "percentile", "entropy")]
    assert cost(find_range(watched, Calibration("mse"))) <= min(others)


def test_levels_hit_zero() -> None:
    assert Range.of(0.5, 2.0).zero == 0 and Range.of(-3.0, -1.0).zero == 255
    assert Range.of(0.0, 0.0).scale > 0


def test_selection_keeps_the_worst_layers(
    source: NanoSource, graphs: dict[str, onnx.ModelProto], reference: Reference, static: ptq.Plan
) -> None:
    def build(changed: dict[str, onnx.ModelProto]) -> NanoModel:
        return with_graphs(source.bundle(), changed)

    all_of_it = reference.distance(build(ptq.apply(graphs, static)))
    plan, worst = ptq.select(graphs, static, reference, build, Selection(0.7 * all_of_it, most=0.9))
    kept = [layer for layer, method in plan.methods.items() if method == "fp32"]
    assert kept and set(kept) == set(list(worst)[: len(kept)])
    assert reference.distance(build(ptq.apply(graphs, plan))) <= 0.7 * all_of_it
    with pytest.raises(BundleError, match="above the budget"):
        ptq.select(graphs, static, reference, build, Selection(0.0, most=0.1))


def test_compress_writes_a_measured_bundle_and_equal_seeds_give_equal_graphs(
    work: Path, cache: Path, tmp_path: Path
) -> None:
    first = compress(work, parse_recipe(STATIC), tmp_path / "a", work=cache)
    compress(work, parse_recipe(STATIC), tmp_path / "b", work=cache)
    bundle = load_bundle(tmp_path / "a")
    assert bundle.manifest.revision == load_bundle(tmp_path / "b").manifest.revision
    assert first == bundle.manifest.measured["compression"] or first["size_mb"] > 0
    assert first["ratio"] > 1.5 and 0 < first["mel_distance"] < 0.3 and first["layers_float"] == []
    assert first["recipe"]["name"] == "s"


def test_static_int8_needs_data(source: NanoSource, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs calibration data") as error:
        compress(source.graphs, parse_recipe(STATIC), tmp_path / "out", work=tmp_path)
    assert error.value.code == "no_calibration_data" and not (tmp_path / "out").exists()


def test_a_bundle_and_a_manifest_are_enough_for_static_int8(source: NanoSource, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    rows = [{"text": "Good morning.", "voice": "af_heart", "lang": "en"}, {"text": "你好。", "voice": "zf_xiaoxiao"}]
    data.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    measured = compress(source.graphs, parse_recipe(STATIC), tmp_path / "out", data=data, work=tmp_path)
    assert measured["mel_distance"] < 0.3
    with pytest.raises(BundleError, match="quantised already"):
        compress(tmp_path / "out", parse_recipe(STATIC), tmp_path / "twice", data=data, work=tmp_path)


def test_below_the_budget_nothing_is_written(work: Path, cache: Path, tmp_path: Path) -> None:
    recipe = parse_recipe(STATIC | {"budget": {"mel_distance": 1e-4, "sentences": 2}})
    with pytest.raises(BundleError, match="nothing was written") as error:
        compress(work, recipe, tmp_path / "out", work=cache)
    assert error.value.code == "quality_below_budget" and not (tmp_path / "out").exists()


def test_training_needs_a_checkpoint(source: NanoSource, tmp_path: Path) -> None:
    recipe = parse_recipe({"name": "p", "prune": {"hidden": 0.5, "importance": "magnitude"}})
    with pytest.raises(InputError, match="a bundle is not enough"):
        compress(source.graphs, recipe, tmp_path / "out", work=tmp_path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"voice": "x"}', "with a text"),
        ('{"text": "a", "speaker": "x"}', "unknown key 'speaker'"),
        ("{", "not JSON"),
        ('{"text": "a", "speech_tokens": ["b"]}', "list of numbers"),
        ("", "no rows"),
    ],
)
def test_bad_data(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "d.jsonl").write_text(line, "utf-8")
    with pytest.raises(InputError, match=problem):
        read_manifest(tmp_path / "d.jsonl")


def test_the_command(
    work: Path, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(["compress", str(work), "--recipe", "fp32", "-o", "out", "--work", str(cache)])
    assert code == 0 and "times smaller than float" in capsys.readouterr().out
    assert main(["compress", "nowhere", "--recipe", "fp32", "-o", "out"]) == 3
    assert main(["compress", str(work), "--recipe", "int9", "-o", "out"]) == 2
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert main(["compress", str(work), "--recipe", "fp32", "-o", "full", "--work", str(cache)]) == 5
